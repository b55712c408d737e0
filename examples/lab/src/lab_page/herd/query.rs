//! What a query asks for.

use std::time::Duration;

use super::MOST_CLIENTS;
use crate::{
    herd::{Clients, Grid, Pace, Runs, Strategy},
    lab_page::query::once,
};

/// One run with each strategy: each is run 0 of its cell, as `herd_simulator --runs 1` plays it with this seed.
pub(super) fn grid(query: &str) -> Result<Grid, String> {
    let (mut clients, mut base, mut cap, mut seed, mut strategies) = (None, None, None, None, None);
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "clients" => once(&name, &mut clients, number(&name, &value, MOST_CLIENTS.into()))?,
            "base_ms" => once(&name, &mut base, milliseconds(&name, &value))?,
            "cap_ms" => once(&name, &mut cap, milliseconds(&name, &value))?,
            "seed" => once(&name, &mut seed, any_number(&name, &value))?,
            "strategies" => once(&name, &mut strategies, list(&name, &value))?,
            _ => return Err("Only clients, base_ms, cap_ms, seed and strategies are known here.".into()),
        }
    }
    let clients = clients.ok_or("clients is missing: how many there are.")?;
    let base = base.ok_or("base_ms is missing: what the waits begin with.")?;
    let cap = cap.ok_or("cap_ms is missing: what the waits grow to.")?;
    if cap < base {
        return Err(format!("cap_ms is below base_ms: {} and {}.", cap.as_millis(), base.as_millis()));
    }
    let pace = Pace::new(base, cap)?;
    let seed = seed.ok_or("seed is missing: any whole number below 2^64.")?;
    let strategies: Vec<Strategy> = strategies.ok_or_else(|| format!("strategies is missing: {}.", names()))?;
    let clients = Clients::new(u32::try_from(clients).map_err(|error| error.to_string())?)?;
    Ok(Grid { cells: Grid::cells(&strategies, &[clients]), runs: Runs::new(1)?, pace, seed, planted: None })
}

/// From 1 to `most`, in digits alone.
fn number(name: &str, value: &str, most: u64) -> Result<u64, String> {
    let number = digits(value).filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("{name} is a whole number from 1 to {most}."))
}

fn milliseconds(name: &str, value: &str) -> Result<Duration, String> {
    let longest = Pace::LONGEST.as_millis().try_into().expect("an hour");
    number(name, value, longest).map(Duration::from_millis)
}

fn any_number(name: &str, value: &str) -> Result<u64, String> {
    digits(value).ok_or_else(|| format!("{name} is a whole number from 0 to {}.", u64::MAX))
}

/// A sign would be read too.
fn digits(value: &str) -> Option<u64> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit());
    value.parse().ok().filter(|_| plain)
}

/// Each once, and so at most all of them.
fn list(name: &str, value: &str) -> Result<Vec<Strategy>, String> {
    let mut strategies = Vec::new();
    for word in value.split(',') {
        let strategy = word.parse().map_err(|_| format!("{name} is a list of {}, with commas.", names()))?;
        if strategies.contains(&strategy) {
            return Err(format!("{name} has {strategy} twice."));
        }
        strategies.push(strategy);
    }
    Ok(strategies)
}

fn names() -> String {
    Strategy::ALL.map(Strategy::name).join(", ")
}
