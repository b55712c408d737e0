//! Keys in Redis, reports in the file of `--db`.

use lab::bug_tracker::{
    Options, Server, StartError,
    backend::{Address, Beside, Opened, Url},
};
use tower_idempotency::RedisStore;

/// Opens the store, and listens.
pub(crate) async fn start(options: &Options, url: &Url) -> Result<Server, StartError> {
    Server::start_on(options, open(options, url)).await
}

async fn open(options: &Options, url: &Url) -> Result<Opened<Beside<RedisStore>>, StartError> {
    let failed = |error| StartError::Store { store: Address::Redis(url.clone()), source: Box::new(error) };
    let store = RedisStore::open(url.reveal()).await.map_err(failed)?;
    let db = options.file()?;
    let opened = Beside::open(store, &db, &format!("in {url}")).await;
    opened.map_err(|source| StartError::Database { db, source })
}
