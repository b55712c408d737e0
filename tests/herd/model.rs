//! The rules of the model, seen in the writes of a run.

use std::{collections::BTreeMap, time::Duration};

use lab::herd::{Arrival, Defect, Herd, Outcome, Strategy, Written, simulate};

use crate::{herd, pace};

/// Rule 1.
#[test]
fn each_client_wins_once_with_its_last_write() {
    for strategy in Strategy::ALL {
        let writes = by_client(&simulate(&herd(strategy, 20, 1)));

        assert_eq!(writes.len(), 20, "{strategy}");
        for (client, writes) in writes {
            let (last, before) = writes.split_last().unwrap();
            assert_eq!(last.end, Written::Won, "{strategy}, client {client}");
            assert!(before.iter().all(|write| write.end == Written::Conflicted), "{strategy}, client {client}");
        }
    }
}

/// Rule 1: between the read and the write of a winner nobody won. A read comes less than 40 ms before its write, and a
/// write that conflicts had a winner in that time.
#[test]
fn a_write_conflicts_where_another_one_won_since_its_read() {
    let outcome = simulate(&herd(Strategy::Full, 50, 1));
    let wins: Vec<f64> =
        outcome.arrivals.iter().filter(|write| write.end == Written::Won).map(|write| write.at).collect();

    for Arrival { at, .. } in outcome.arrivals.iter().filter(|write| write.end == Written::Conflicted) {
        assert!(wins.iter().any(|win| win < at && at - win < 40.0), "{at}: {wins:?}");
    }
}

/// Rule 2: three ways until the write, one more until its answer.
#[test]
fn a_single_client_writes_once_after_three_ways_and_is_done_after_four() {
    let outcomes: Vec<_> = (0..200).map(|seed| simulate(&herd(Strategy::Exponential, 1, seed))).collect();
    let mean = |time: fn(&Outcome) -> f64| outcomes.iter().map(time).sum::<f64>() / 200.0;

    assert!(outcomes.iter().all(|outcome| outcome.calls() == 1));
    // Five standard errors.
    assert!((mean(|outcome| outcome.arrivals[0].at) - 30.0).abs() < 5.0 * (3.0 * 4.0_f64 / 200.0).sqrt());
    assert!((mean(|outcome| outcome.elapsed) - 40.0).abs() < 5.0 * (4.0 * 4.0_f64 / 200.0).sqrt());
}

/// Rule 3.
#[test]
fn the_run_ends_one_way_after_the_last_write() {
    let outcome = simulate(&herd(Strategy::Full, 20, 1));
    let last = outcome.arrivals.last().unwrap().at;

    assert!(outcome.arrivals.is_sorted_by(|one, next| one.at <= next.at));
    assert!((outcome.elapsed - last) > 0.0 && (outcome.elapsed - last) < 20.0, "{outcome:?}");
}

/// Rule 4: from write to write there are four ways and the wait, which doubles from twice the base up to the cap.
#[test]
fn the_first_wait_is_twice_the_base_and_each_next_one_double_up_to_the_cap() {
    let outcome = simulate(&Herd { pace: pace(secs(1), secs(8)), ..herd(Strategy::Exponential, 30, 1) });

    let gaps = gaps(&outcome);
    assert!(gaps.iter().any(|gaps| gaps.len() > 4), "{gaps:?}");
    for gaps in gaps {
        for (gap, wait) in gaps.into_iter().zip([2000.0, 4000.0, 8000.0, 8000.0, 8000.0]) {
            assert!((gap - wait - 40.0).abs() < 20.0, "{gap}, {wait}");
        }
    }
}

/// Rule 5.
#[test]
fn the_tenth_of_proportional_comes_on_top_of_the_cap() {
    let at_the_cap = pace(secs(1000), secs(1000));
    let waits: Vec<f64> = (0..20)
        .map(|seed| simulate(&Herd { pace: at_the_cap, ..herd(Strategy::Proportional, 30, seed) }))
        .flat_map(|outcome| gaps(&outcome).concat())
        .map(|gap| gap / 1e6)
        .collect();

    assert!(waits.iter().all(|wait| (0.9..1.1001).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait < 0.91) && waits.iter().any(|wait| *wait > 1.09), "{waits:?}");
}

/// Rule 6: microseconds.
#[test]
fn times_are_not_whole_milliseconds() {
    let real = simulate(&herd(Strategy::None, 20, 1));
    let planted = simulate(&Herd { planted: Some(Defect::WholeMilliseconds), ..herd(Strategy::None, 20, 1) });
    let whole = |outcome: &Outcome| outcome.arrivals.iter().filter(|write| write.at.fract() == 0.0).count();

    assert!(whole(&real) * 20 < real.calls(), "{real:?}");
    assert_eq!(whole(&planted), planted.calls());
}

/// Beyond the article's sizes, whatever number of attempts it takes.
#[test]
fn a_large_herd_ends() {
    let outcome = simulate(&herd(Strategy::Exponential, 200, 1));

    assert_eq!(outcome.arrivals.iter().filter(|write| write.end == Written::Won).count(), 200);
}

fn by_client(outcome: &Outcome) -> BTreeMap<u32, Vec<Arrival>> {
    let mut writes = BTreeMap::<_, Vec<_>>::new();
    for write in &outcome.arrivals {
        writes.entry(write.client).or_default().push(*write);
    }
    writes
}

/// From each write of a client to its next one.
fn gaps(outcome: &Outcome) -> Vec<Vec<f64>> {
    let of = |writes: &Vec<Arrival>| writes.windows(2).map(|two| two[1].at - two[0].at).collect();
    by_client(outcome).values().map(of).collect()
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
