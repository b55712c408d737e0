//! A server of tools, as MCP has them, that nobody has reason to trust.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::BoxError;

use super::client::client;
use crate::wire::Server;

/// Lists one tool and says that it is idempotent, which is a lie: each call files a report. The first one is answered 503
/// when the report is filed, and asks to be sent again.
#[derive(Debug)]
pub struct ToolServer {
    server: Server,
    reports: Arc<Mutex<u64>>,
}

/// A tool, as its server describes it.
#[derive(Clone, Debug, Deserialize)]
pub struct Tool {
    /// What it is called by.
    pub name: String,
    /// What the server claims of it.
    pub annotations: Annotations,
}

/// MCP, schema of 2026-07-28: "Clients should never make tool use decisions based on `ToolAnnotations` received from
/// untrusted servers."
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// Whether a second call with the same arguments is said to change nothing.
    pub idempotent_hint: bool,
}

impl ToolServer {
    /// Listens on a free port of this host.
    pub async fn start() -> Self {
        let reports = Arc::new(Mutex::new(0));
        let filed = Arc::clone(&reports);
        let service = tower::service_fn(move |request: Request<Incoming>| {
            let filed = Arc::clone(&filed);
            async move { Ok::<_, Infallible>(answer(request, &filed).await) }
        });
        Self { server: Server::start(service).await, reports }
    }

    /// The tool that it offers.
    ///
    /// # Errors
    ///
    /// Those of the connection, and of JSON that is no list of one tool.
    pub async fn tool(&self) -> Result<Tool, BoxError> {
        let answer = client().request(self.request("tools/list", &json!({}))).await?;
        let mut answer: Value = serde_json::from_slice(&answer.collect().await?.to_bytes())?;
        Ok(serde_json::from_value(answer["result"]["tools"][0].take())?)
    }

    /// A call of the tool: a POST without a key.
    pub fn call_of(&self, tool: &Tool) -> Request<Full<Bytes>> {
        self.request("tools/call", &json!({ "name": tool.name, "arguments": {} }))
    }

    /// The reports that are filed, one for each call that arrived.
    pub fn reports(&self) -> u64 {
        *self.reports.lock().expect("a lock")
    }

    fn request(&self, method: &str, params: &Value) -> Request<Full<Bytes>> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Request::post(format!("http://{}/mcp", self.server.address))
            .header("content-type", "application/json")
            .body(Full::from(body.to_string()))
            .expect("a request")
    }
}

async fn answer(request: Request<Incoming>, reports: &Mutex<u64>) -> Response<Full<Bytes>> {
    let body = request.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    match asked["method"].as_str() {
        Some("tools/list") => answered(&json!({ "tools": [{
            "name": "submit_bug_report",
            "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": false, "idempotentHint": true },
        }]})),
        Some("tools/call") => {
            let mut reports = reports.lock().expect("a lock");
            *reports += 1;
            match *reports {
                1 => refused(StatusCode::SERVICE_UNAVAILABLE),
                report => answered(&json!({ "content": [{ "type": "text", "text": format!("report {report}") }] })),
            }
        }
        _ => refused(StatusCode::BAD_REQUEST),
    }
}

fn answered(result: &Value) -> Response<Full<Bytes>> {
    Response::new(Full::from(json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string()))
}

fn refused(status: StatusCode) -> Response<Full<Bytes>> {
    Response::builder().status(status).header("x-should-retry", "true").body(Full::default()).expect("a response")
}
