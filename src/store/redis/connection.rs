//! A connection that all calls share.

use std::{fmt, time::Duration};

#[cfg(feature = "redis-cluster")]
use ::redis::cluster_async::ClusterConnection;
use ::redis::{
    Client, Cmd, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisResult, Value,
    aio::{ConnectionManager, ConnectionManagerConfig},
    io::tcp::TcpSettings,
};

use super::error::OpenError;

/// A connection to one server, or to a Cluster (feature `redis-cluster`). Made of a `ConnectionManager` or a
/// `ClusterConnection`; a clone shares it.
#[derive(Clone)]
pub struct Connection(Kind);

#[derive(Clone)]
enum Kind {
    Server(ConnectionManager),
    #[cfg(feature = "redis-cluster")]
    Cluster(ClusterConnection),
}

impl Connection {
    /// Connects to one server, without a time limit for answers: the layer limits each call and tries again, so what
    /// waited here would only hide that the server is away.
    ///
    /// # Errors
    ///
    /// [`OpenError`], if the server is not there or does not let us in.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn open(address: impl IntoConnectionInfo) -> Result<Self, OpenError> {
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(None)
            .set_min_delay(Duration::from_millis(50))
            .set_max_delay(Duration::from_millis(500))
            .set_number_of_retries(2);
        let connected = async {
            let client = Client::open(settled(address.into_connection_info()?))?;
            ConnectionManager::new_with_config(client, config).await
        };
        connected.await.map(Self::from).map_err(OpenError::connecting)
    }

    /// Sends a command to the server of its keys, or to every master if it has none.
    pub(super) async fn ask(&self, command: &Cmd) -> RedisResult<Value> {
        match &self.0 {
            Kind::Server(connection) => command.query_async(&mut connection.clone()).await,
            #[cfg(feature = "redis-cluster")]
            Kind::Cluster(connection) => command.query_async(&mut connection.clone()).await,
        }
    }
}

impl From<ConnectionManager> for Connection {
    fn from(connection: ConnectionManager) -> Self {
        Self(Kind::Server(connection))
    }
}

#[cfg(feature = "redis-cluster")]
impl From<ClusterConnection> for Connection {
    fn from(connection: ClusterConnection) -> Self {
        Self(Kind::Cluster(connection))
    }
}

/// Never the address, which may hold a password.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Server(_) => "Connection::Server",
            #[cfg(feature = "redis-cluster")]
            Kind::Cluster(_) => "Connection::Cluster",
        })
    }
}

/// With RESP3 the end of a connection is noticed at once, not by the next call.
fn settled(address: ConnectionInfo) -> ConnectionInfo {
    let protocol = address.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    address.set_redis_settings(protocol).set_tcp_settings(tcp())
}

/// A peer that vanished without a word is given up after so long; there is no other limit on an answer.
fn tcp() -> TcpSettings {
    let settings = TcpSettings::default().set_nodelay(true);
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    let settings = settings.set_user_timeout(Duration::from_secs(10));
    settings
}
