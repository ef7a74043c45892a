//! The door to a keyspace: its patterns as HTTP endpoints and as MCP tools, a console over them,
//! and who may use them.
//!
//! ```text
//! request ─▶ door: host, load, token, rate ─┬─▶ /PATTERN     http/     a call, or a stream of them
//!                                           ├─▶ /mcp         mcp/      the same calls, as tools
//!                                           ├─▶ /-/…         console/  for operators
//!                                           └─▶ /health, /metrics, /openapi.json
//! ```
//!
//! Every pattern is one endpoint, and there is no other way to the data: a caller can ask what the
//! keyspace file lets be asked. Who may is decided by the run time below; this crate only finds out
//! who calls. Nothing here knows a store.

pub mod access;
pub mod console;
pub mod describe;
mod http;
mod listen;
pub mod mcp;
mod meters;
mod rooms;
mod service;
mod settings;
mod traces;

pub use http::{Endpoints, Peer};
pub use listen::{Listening, Tls, listen};
pub use service::Service;
pub use settings::{Callers, Settings};
pub use traces::Traces;
