//! V1, V2: a hundred claims of one key, from two processes with two connections or pools each.

use lab::servers::redis::RedisServer;

use crate::{other::Other, stores::Place};

fn one_of_a_hundred_is_granted(place: &Place) {
    let mut hosts = [Other::start(place), Other::start(place)];
    for round in 0..20 {
        let lapses = round % 2 == 1;
        if lapses {
            assert_eq!(hosts[round % 2].does(&format!("claim k{round} 0")), "granted 1");
        }
        for host in &mut hosts {
            host.begins(&format!("race k{round}"));
        }
        let ends: Vec<String> = hosts.iter_mut().map(Other::hear).collect();
        let ends: Vec<&str> = ends.iter().flat_map(|told| told.split(", ")).collect();

        let granted = if lapses { "granted 2" } else { "granted 1" };
        let count = |end: &str| ends.iter().filter(|it| **it == end).count();
        assert_eq!((count(granted), count("in flight")), (1, 99), "round {round}: {ends:?}");
    }
}

/// While it is finished by its holder, and beside a repeat that asks the layer.
fn losers_see_in_flight_or_done(place: &Place) {
    let mut hosts = [Other::start(place), Other::start(place)];
    for round in 0..20 {
        assert_eq!(hosts[0].does(&format!("claim f{round} 60")), "granted 1");
        hosts[1].begins(&format!("race f{round}"));
        assert_eq!(hosts[0].does(&format!("complete f{round}")), "yes");
        let told = hosts[1].hear();

        assert!(told.split(", ").all(|end| matches!(end, "in flight" | "done")), "round {round}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_one_of_a_hundred_claims_from_two_processes_is_granted_and_none_is_an_error() {
    let place = Place::on_postgres().await;
    tokio::task::block_in_place(|| {
        one_of_a_hundred_is_granted(&place);
        losers_see_in_flight_or_done(&place);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_redis_one_of_a_hundred_claims_from_two_processes_is_granted_and_none_is_an_error() {
    let server = RedisServer::shared();
    tokio::task::block_in_place(|| {
        let place = Place::on_redis(&server);
        one_of_a_hundred_is_granted(&place);
        losers_see_in_flight_or_done(&place);
    });
}
