//! Tells those who listen that a report may have been filed by this process.

use axum::{extract::State, response::Response};
use tokio::sync::watch;

/// Told after each request for `/reports` that was handled, however it ended: a server that failed may have filed its
/// report before. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Filed(watch::Sender<()>);

impl Filed {
    /// Is told from now on.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}

/// Stands inside of the idempotency layer, where the requests are whose clients have left.
pub(super) async fn tell(State(filed): State<Filed>, response: Response) -> Response {
    filed.0.send_replace(());
    response
}
