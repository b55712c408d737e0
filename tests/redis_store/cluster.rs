//! Three masters that share the slots.

use lab::servers::redis::{RedisCluster, RedisServer};
use tower_idempotency::{
    RedisStore, Store,
    store::{
        Claimed, Held, Status,
        redis::{
            OpenErrorKind,
            redis::{cluster::ClusterClient, cluster_async::ClusterConnection},
        },
    },
};

use crate::{LEASE, acquire, lapsing, outcome, replayed, request, response};

async fn connection(cluster: &RedisCluster) -> ClusterConnection {
    let nodes: Vec<_> = cluster.masters().iter().map(RedisServer::url).collect();
    ClusterClient::new(nodes).unwrap().get_async_connection().await.unwrap()
}

#[tokio::test]
async fn each_verb_works_on_every_master() {
    let cluster = RedisCluster::start();
    let store = RedisStore::builder(connection(&cluster).await).open().await.unwrap();
    for n in 0..60 {
        let (key, asked) = (n.to_string(), request(&n.to_string()));
        let passed = acquire(&store, &lapsing(&key)).await;
        let token = acquire(&store, &asked).await;
        assert!(token.fence() > passed.fence());
        assert!(matches!(store.claim(&asked).await.unwrap(), Claimed::InFlight { .. }));
        assert_eq!(store.complete(&passed, outcome("late")).await.unwrap(), Held::No);
        assert_eq!(store.renew(&token, LEASE).await.unwrap(), Held::Yes);
        assert!(matches!(store.status(token.key()).await.unwrap(), Status::InProgress { .. }));
        assert_eq!(store.complete(&token, outcome(&key)).await.unwrap(), Held::Yes);
        assert_eq!(replayed(&store, &asked).await, response(&key));
        assert_eq!(store.forget(token.key()).await.unwrap(), Held::Yes);
        let token = acquire(&store, &asked).await;
        assert_eq!(store.release(&token).await.unwrap(), Held::Yes);
        let token = acquire(&store, &asked).await;
        assert_eq!(store.force_release(token.key()).await.unwrap(), Held::Yes);
    }
    for master in cluster.masters() {
        assert_ne!(master.cli(["dbsize"]), "0", "each master has its share");
    }
}

#[tokio::test]
async fn a_cluster_with_one_master_that_evicts_is_refused() {
    let cluster = RedisCluster::start();
    cluster.masters()[1].cli(["config", "set", "maxmemory-policy", "allkeys-random"]);

    let error = RedisStore::builder(connection(&cluster).await).open().await.expect_err("one of them evicts");

    assert_eq!(error.kind(), &OpenErrorKind::Evicts("allkeys-random".into()));
}
