//! V11: two hosts whose clocks differ by an hour agree, since neither is asked.

use lab::servers::redis::RedisServer;

use crate::{
    other::Other,
    stores::{Place, RETENTION},
};

/// Leases are shorter than the hour, and retentions are: a process that judged by its own clock would end both.
fn hosts_whose_clocks_differ(place: &Place, off: &str) -> [Other; 2] {
    let (mut here, mut there) = (Other::start(place), Other::with_clock(place, off));
    let apart = (there.now() - here.now()).abs();
    assert!((3590..3610).contains(&apart), "the clocks are {apart} s apart");
    assert!(apart > RETENTION.as_secs().cast_signed());
    [here, there]
}

fn they_agree(place: &Place, off: &str) {
    let mut hosts = hosts_whose_clocks_differ(place, off);
    for (n, [holds, asks]) in [[0, 1], [1, 0]].into_iter().enumerate() {
        let (held, lapsed) = (format!("held{off}{n}"), format!("lapsed{off}{n}"));
        assert_eq!(hosts[holds].does(&format!("claim {held} 60")), "granted 1");
        assert_eq!(hosts[asks].does(&format!("claim {held} 60")), "in flight", "no takeover");
        assert_eq!(hosts[holds].does(&format!("renew {held}")), "yes");
        assert_eq!(hosts[asks].does(&format!("claim {held} 60")), "in flight", "nor after a renewal");
        assert_eq!(hosts[holds].does(&format!("complete {held}")), "yes");
        for host in &mut hosts {
            assert_eq!(host.does(&format!("claim {held} 60")), "done", "within its retention");
        }

        // One that has lapsed is taken over, once, and its holder finishes nothing.
        assert_eq!(hosts[holds].does(&format!("claim {lapsed} 0")), "granted 1");
        assert_eq!(hosts[asks].does(&format!("claim {lapsed} 60")), "granted 2");
        assert_eq!(hosts[holds].does(&format!("claim {lapsed} 60")), "in flight");
        for late in ["renew", "complete", "release"] {
            assert_eq!(hosts[holds].does(&format!("{late} {lapsed}")), "no");
        }
        assert_eq!(hosts[asks].does(&format!("complete {lapsed}")), "yes");

        let submitted = format!("submit order{off}{n}");
        assert_eq!(hosts[holds].does(&submitted), "201 false");
        assert_eq!(hosts[asks].does(&submitted), "201 true");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_hosts_whose_clocks_differ_by_an_hour_agree() {
    for off in ["+1h", "-1h"] {
        let place = Place::on_postgres().await;
        tokio::task::block_in_place(|| they_agree(&place, off));
        assert_eq!(place.orders().await, 2, "one commit for each key");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_redis_hosts_whose_clocks_differ_by_an_hour_agree() {
    let server = RedisServer::shared();
    for off in ["+1h", "-1h"] {
        tokio::task::block_in_place(|| they_agree(&Place::on_redis(&server), off));
    }
}
