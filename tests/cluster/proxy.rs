//! One address for all servers: each connection goes to the next one.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// It knows nobody's health: a connection to a server that is down is cut, and its client sees that.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    _accepting: AbortOnDropHandle<()>,
}

impl Proxy {
    pub(crate) async fn to(servers: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let accepting = tokio::spawn(async move {
            for server in servers.into_iter().cycle() {
                let (client, _) = listener.accept().await.expect("it listens");
                tokio::spawn(between(client, server));
            }
        });
        Self { address, _accepting: AbortOnDropHandle::new(accepting) }
    }
}

/// Until either end is gone; the other one's connection is closed with it.
async fn between(mut client: TcpStream, server: SocketAddr) {
    let _ = client.set_nodelay(true);
    let Ok(mut server) = TcpStream::connect(server).await else { return };
    let _ = server.set_nodelay(true);
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}
