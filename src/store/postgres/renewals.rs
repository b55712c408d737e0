//! Renewals: on a connection of their own, and all that wait in one round trip.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use sqlx::{PgPool, postgres::PgConnectOptions};
use tokio::sync::{Mutex as Turn, oneshot};

use super::{
    records::{Asked, Records, Renewal},
    store::Lent,
};
use crate::store::{Held, StoreError};

type Answer = oneshot::Sender<Result<Asked<Held>, Arc<StoreError>>>;

/// Holders renew while their handlers hold every connection of the application's pool: they must not wait for one.
///
/// Whoever has the turn sends all that waits. It may be dropped meanwhile; those whose renewals it had ask again.
#[derive(Debug)]
pub(super) struct Renewals {
    waiting: Mutex<VecDeque<(Renewal, Answer)>>,
    connection: Turn<Connection>,
}

#[derive(Debug)]
struct Connection {
    of: PgPool,
    own: PgPool,
    options: Arc<PgConnectOptions>,
}

impl Renewals {
    /// One batch; the next is sent when it is answered.
    const BATCH: usize = 1000;

    pub(super) fn new(of: &PgPool) -> Self {
        let options = of.connect_options();
        // Its hooks, its patience and its idea of a stale connection, but not its size. (A pool with a parent, as `#[sqlx::test]`
        // makes one, still shares its parent's permits.)
        let own = of.options().clone().max_connections(1).min_connections(0);
        let own = own.connect_lazy_with((*options).clone());
        Self { waiting: Mutex::default(), connection: Turn::new(Connection { of: of.clone(), own, options }) }
    }

    pub(super) async fn renew(
        &self,
        records: &Records,
        renewal: impl Fn() -> Renewal,
    ) -> Result<Asked<Held>, StoreError> {
        loop {
            let (answer, answered) = oneshot::channel();
            self.waiting().push_back((renewal(), answer));
            tokio::pin!(answered);
            let told = tokio::select! {
                biased;
                told = &mut answered => told,
                mut connection = self.connection.lock() => {
                    // Sends until its own is among those that were sent: it may wait behind a full batch.
                    loop {
                        if let Ok(told) = answered.try_recv() {
                            break Ok(told);
                        }
                        if !self.send_waiting(&mut connection, records).await {
                            break answered.await;
                        }
                    }
                }
            };
            match told {
                Ok(Ok(held)) => return Ok(held),
                Ok(Err(error)) => return Err(shared(error)),
                // Whoever had it was dropped.
                Err(_) => {}
            }
        }
    }

    /// Tells whether anything waited.
    async fn send_waiting(&self, connection: &mut Connection, records: &Records) -> bool {
        let (asked, answers): (Vec<_>, Vec<_>) = {
            let mut waiting = self.waiting();
            // One that was given up needs no renewal.
            waiting.retain(|(_, answer)| !answer.is_closed());
            let batch = waiting.len().min(Self::BATCH);
            waiting.drain(..batch).unzip()
        };
        if asked.is_empty() {
            return false;
        }
        let renewed = async {
            let mut lent = Lent::of(connection.pool()).await?;
            let answer = records.renew(&mut lent.connection, &asked).await;
            lent.back(answer)
        };
        match renewed.await {
            Ok(held) => held.into_iter().zip(answers).for_each(|(held, answer)| drop(answer.send(Ok(held)))),
            Err(error) => {
                let error = Arc::new(error);
                answers.into_iter().for_each(|answer| drop(answer.send(Err(Arc::clone(&error)))));
            }
        }
        true
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<(Renewal, Answer)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Opened with what the application's pool would open one with now: a password may have been changed.
    fn pool(&mut self) -> &PgPool {
        let options = self.of.connect_options();
        if !Arc::ptr_eq(&options, &self.options) {
            self.own.set_connect_options((*options).clone());
            self.options = options;
        }
        &self.own
    }
}

/// An error that a whole batch has.
fn shared(error: Arc<StoreError>) -> StoreError {
    if error.is_transient() { StoreError::transient(error) } else { StoreError::permanent(error) }
}
