//! Several servers of an application, each with a connection of its own.

use futures_util::future::join_all;
use lab::servers::redis::RedisServer;
use tower_idempotency::{
    Store,
    store::{Claimed, Held},
};

use crate::{acquire, acquired, lapsing, outcome, request, response, store};

/// V1, V2.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_claims_through_two_connections_have_one_winner_and_no_error() {
    let server = RedisServer::start();
    let stores = [store(&server).await, store(&server).await];
    for round in 0..10 {
        let asked = [request(&format!("new {round}")), request(&format!("lapsed {round}"))];
        acquire(&stores[0], &lapsing(asked[1].key.key())).await;
        for asked in asked {
            let claims = (0..100).map(|n| {
                let (store, asked) = (stores[n % 2].clone(), asked.clone());
                tokio::spawn(async move { store.claim(&asked).await })
            });

            let claimed: Vec<_> = join_all(claims.collect::<Vec<_>>()).await;

            let claimed: Vec<_> = claimed.into_iter().map(|claim| claim.unwrap().expect("no error")).collect();
            let winners = claimed.iter().filter(|claimed| matches!(claimed, Claimed::Acquired { .. })).count();
            let refused = claimed.iter().filter(|claimed| matches!(claimed, Claimed::InFlight { .. })).count();
            assert_eq!((winners, refused), (1, 99), "{:?}", asked.key);
        }
    }
}

/// V4.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn losers_while_the_winner_finishes_see_in_flight_or_the_response() {
    let server = RedisServer::start();
    let (winner, loser) = (store(&server).await, store(&server).await);
    for round in 0..20 {
        let request = request(&format!("race {round}"));
        let token = acquire(&winner, &request).await;
        let losing = (0..10).map(|_| {
            let (loser, request) = (loser.clone(), request.clone());
            tokio::spawn(async move { loser.claim(&request).await.unwrap() })
        });
        let losing: Vec<_> = losing.collect();

        assert_eq!(winner.complete(&token, outcome("made")).await.unwrap(), Held::Yes);

        for claimed in join_all(losing).await {
            match claimed.unwrap() {
                Claimed::InFlight { .. } => {}
                Claimed::Done(it) => assert_eq!(it, response("made")),
                other => panic!("before or after: {other:?}"),
            }
        }
        assert!(matches!(loser.claim(&request).await.unwrap(), Claimed::Done(_)));
    }
}

/// V7: the holder is compared, and the fence.
#[tokio::test]
async fn a_passed_holder_of_another_server_changes_nothing() {
    let server = RedisServer::start();
    let (one, other) = (store(&server).await, store(&server).await);
    let passed = acquire(&one, &lapsing("k")).await;
    let holder = acquired(other.claim(&request("k")).await);

    assert_eq!(one.release(&passed).await.unwrap(), Held::No);
    assert_eq!(one.renew(&passed, crate::LEASE).await.unwrap(), Held::No);
    assert_eq!(one.complete(&passed, outcome("late")).await.unwrap(), Held::No);

    assert_eq!(other.complete(&holder, outcome("made")).await.unwrap(), Held::Yes);
    assert_eq!(crate::replayed(&one, &request("k")).await, response("made"));
}
