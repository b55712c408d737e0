//! On Redis, which holds the keys and cannot write reports: these are in a SQLite file that the three servers share.
//!
//! # What can be promised
//!
//! A report and the completion of its key are two steps here. A server that is killed in between leaves a report whose
//! key is unfinished; after the lease a repeat runs again. So does one whose server was stopped for longer than its lease
//! between the claim and the write: it goes on beside the one that took over. **A handler runs more than once for such
//! keys, and no store of keys alone can prevent it.** What is asserted is what the bug tracker builds on top: the write is
//! idempotent by a key derived from the client's, unique and in one transaction with the report. So each report is still
//! filed once, under the number that was acknowledged, and the second runs are counted and printed: they are the
//! reports that would be there twice without it.
//!
//! Redis writes each command to its disk before it answers (`appendfsync always`), so that a `kill -9` of it loses nothing
//! that was acknowledged.

use lab::{process::in_folder, servers::redis::RedisServer};
use rusqlite::Connection;
use tokio::sync::Mutex;

use crate::{
    chaos::{self, Ended, StoreServer},
    ledger::Reports,
    office::Office,
    size::Size,
};

/// Two cores are few for two clusters.
pub(crate) static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// All records, those without an end, and those that were taken over.
const COUNT: &str = "local all, unfinished, taken = 0, 0, 0
for _, key in ipairs(redis.call('KEYS', 'idempotency:*:r:*')) do
  local kept = redis.call('HMGET', key, 'ended', 'attempt')
  all = all + 1
  if not kept[1] then unfinished = unfinished + 1 end
  if tonumber(kept[2]) > 1 then taken = taken + 1 end
end
return {all, unfinished, taken}";

impl StoreServer for RedisServer {
    fn kill(&mut self) {
        Self::kill(self);
    }

    fn start(&mut self) {
        self.start_again();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_report_is_filed_once_though_servers_and_redis_are_killed() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let size = Size::from_env();
    let folder = tempfile::tempdir().unwrap();
    let db = in_folder(folder.path(), "bugs.db");
    let server = RedisServer::start();
    let office = Office::open(&["--store", &server.url(), "--db", &db]).await;

    let Ended { ledger, office, store } = chaos::run("redis", size, office, server).await;

    let connection = Connection::open(&db).unwrap();
    let mut reports = Reports::new();
    let mut query = connection.prepare("SELECT title, id FROM reports ORDER BY id").unwrap();
    for row in query.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap() {
        let (title, id): (String, i64) = row.unwrap();
        reports.entry(title).or_default().push(id);
    }
    assert_eq!(ledger.broken(&reports), Vec::<String>::new());

    let counted = store.cli(["eval", COUNT, "0"]);
    let [all, unfinished, taken_over] = counted.lines().map(|line| line.parse().unwrap()).collect::<Vec<usize>>()[..]
    else {
        panic!("it says {counted:?}");
    };
    assert_eq!((all, unfinished), (ledger.len(), 0), "each key is done, and there is no other");
    let again = "SELECT count(*), coalesce(max(runs), 0) FROM filed WHERE runs > 1";
    let (again, most): (i64, i64) = connection.query_row(again, (), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    println!(
        "redis: {taken_over} keys were taken over; {again} handlers wrote again what was there, {most} times at most"
    );
    assert!(taken_over > 0, "a server was killed with a key in its hands");
    office.assert_done(size);
}
