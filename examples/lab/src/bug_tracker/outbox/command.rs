//! A worker in a process of its own.

use std::{future, io, path::PathBuf};

use futures_util::FutureExt;
use http::Uri;

use super::{
    sender::{RowKey, Sender, notify_url},
    worker::{Until, Worker},
};
use crate::bug_tracker::{StartError, table};

/// Delivers the notifications that wait in a bug tracker's file, beside its server or without one.
#[derive(Clone, Debug, clap::Args)]
pub struct Deliver {
    /// The SQLite file of the bug tracker
    #[arg(long)]
    pub db: PathBuf,

    /// Where to POST each notification
    #[arg(long, value_parser = notify_url)]
    pub notify_url: Uri,

    /// End when no notification waits
    #[arg(long)]
    pub until_empty: bool,

    /// Whether each notification is sent under its key
    #[arg(long, value_enum, default_value_t)]
    pub row_key: RowKey,

    /// After the first delivery, before its record: say so, and wait to be killed
    #[arg(long)]
    pub hang_before_record: bool,
}

impl Deliver {
    /// Delivers until nothing waits, or until it is dropped.
    pub async fn run(&self) -> Result<(), StartError> {
        if !self.db.exists() {
            // Opening would make it, and a typo would look like an empty outbox.
            let source = io::Error::from(io::ErrorKind::NotFound).into();
            return Err(StartError::Database { db: self.db.clone(), source });
        }
        let (pool, _) = match table::open(&self.db).await {
            Ok(opened) => opened,
            Err(source) => return Err(StartError::Database { db: self.db.clone(), source }),
        };
        let worker = Worker::new(pool, Sender::new(self.notify_url.clone(), self.row_key));
        let worker = if self.hang_before_record {
            worker.with_before_record(|row| {
                println!("delivered {}, not recorded: kill this process now", row.key);
                future::pending().boxed()
            })
        } else {
            worker
        };
        println!("delivering what waits in {} to {}", self.db.display(), self.notify_url);
        worker.run(if self.until_empty { Until::Empty } else { Until::Dropped }).await;
        Ok(())
    }
}
