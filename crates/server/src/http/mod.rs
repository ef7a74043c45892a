//! Requests and responses.
//!
//! ```text
//! door.rs      host, load, token, rate ─▶ next ─▶ headers, log, meters
//! pattern.rs   one endpoint a pattern: arguments from the query or the body, the answer as JSON
//! body.rs      what is sent, no larger and no later than it may be
//! stream.rs    the same answer as a stream, again whenever it changes
//! own.rs       health, metrics, the description of the endpoints
//! ```
//!
//! A pattern is found by its name; all other addresses by a router. Compression and leave for pages
//! of other sites are layers around everything, for those who ask: to pass through them costs a
//! request more than to find its token.

pub(crate) mod body;
mod conditions;
mod door;
mod in_path;
mod own;
mod pattern;
pub(crate) mod problem;
pub(crate) mod query;
mod stream;

pub use door::Peer;
pub(crate) use door::{Known, Operator};
pub(crate) use in_path::InPath;
pub(crate) use pattern::{Asked, call, is_offered};

use crate::access::Principal;
use crate::service::Service;
use crate::{console, mcp, rooms};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use data::session::Usage;
use problem::Problem;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::runtime::Handle;
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt, service_fn};
use tower_http::compression::CompressionLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Every endpoint of a server.
#[derive(Clone, Debug)]
pub struct Endpoints {
    plain: Arc<Plain>,
    layered: BoxCloneSyncService<Request, Response, Infallible>,
}

/// The endpoints without layers.
#[derive(Debug)]
struct Plain {
    service: Arc<Service>,
    /// All that are no patterns.
    others: Router,
    /// Where those are answered if not here, for some of them take long.
    elsewhere: Option<Handle>,
}

impl Endpoints {
    /// The endpoints of a server, all answered where they are asked.
    pub fn new(service: &Arc<Service>) -> Endpoints {
        Endpoints::with(service, None)
    }

    /// The same, asked in rooms: what may take long is answered by another run time.
    pub(crate) fn in_rooms(service: &Arc<Service>, elsewhere: Handle) -> Endpoints {
        Endpoints::with(service, Some(elsewhere))
    }

    fn with(service: &Arc<Service>, elsewhere: Option<Handle>) -> Endpoints {
        let others = Router::new()
            .route("/health", get(own::health))
            .route("/metrics", get(own::metrics))
            .route("/openapi.json", get(own::openapi))
            .merge(console::router())
            .merge(mcp::router(service))
            .fallback(missing)
            .method_not_allowed_fallback(other_method)
            .with_state(service.clone());
        let plain = Arc::new(Plain { service: service.clone(), others, elsewhere });
        let inner = plain.clone();
        let inner = service_fn(move |mut request: Request| {
            let inner = inner.clone();
            async move {
                let peer = request.extensions().get::<Peer>().copied();
                Ok(door::door(&inner, peer, &mut request).await)
            }
        });
        // Answers of a few rows travel as they are: to compress them would take longer than to
        // send.
        let quality = tower_http::CompressionLevel::Fastest;
        let compressed = CompressionLayer::new().quality(quality).layer(inner);
        let compressed = compressed.map_response(|response| response.map(Body::new));
        let layered = match cors(&service.settings.origins) {
            Some(cors) => BoxCloneSyncService::new(cors.layer(compressed)),
            None => BoxCloneSyncService::new(compressed),
        };
        Endpoints { plain, layered }
    }

    /// Answers a request, which stays where it is: it is large, and many look at it.
    pub async fn answer(&self, peer: Option<Peer>, request: &mut Request) -> Response {
        let is_plain = self.plain.service.settings.origins.is_empty()
            && !request.headers().contains_key(header::ACCEPT_ENCODING);
        if is_plain {
            return door::door(&self.plain, peer, request).await;
        }
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        let Ok(response) = self.layered.clone().oneshot(std::mem::take(request)).await;
        response
    }
}

impl Plain {
    /// Answers a request of somebody who is known, and says what it cost.
    async fn answer(
        &self,
        peer: Option<Peer>,
        principal: Arc<Principal>,
        request: &mut Request,
    ) -> (Response, Usage) {
        let name = request.uri().path().strip_prefix('/').unwrap_or_default();
        if let Some(position) = self.service.positions.get(name).copied() {
            return pattern::answer(&self.service, position, principal, request).await;
        }
        let extensions = request.extensions_mut();
        extensions.insert(Known(principal));
        if let Some(peer) = peer {
            extensions.insert(peer);
        }
        let answering = self.others.clone().oneshot(std::mem::take(request));
        let answered = match &self.elsewhere {
            Some(place) => rooms::elsewhere(place, answering).await,
            None => Some(answering.await),
        };
        let response = answered.map_or_else(|| broken().into_response(), |Ok(response)| response);
        (response, Usage::default())
    }
}

/// Something has panicked, which nothing here does on purpose.
fn broken() -> Problem {
    let title = "the server could not answer";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", title)
}

async fn missing() -> Problem {
    let title = "there is nothing at this address: /openapi.json lists the patterns";
    Problem::new(StatusCode::NOT_FOUND, "no_endpoint", title)
}

/// The router says in `Allow` which methods there are.
async fn other_method() -> Problem {
    let title = "this address is not asked with this method: Allow has those that it takes";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", title)
}

/// Which pages of other sites may ask; none unless they are named.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|name| name.parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let sent = [
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        conditions::IDEMPOTENCY_KEY,
        HeaderName::from_static("mcp-session-id"),
        HeaderName::from_static("mcp-protocol-version"),
    ];
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(sent)
        .expose_headers([header::ETAG, header::RETRY_AFTER]);
    Some(layer.allow_origin(AllowOrigin::list(origins)))
}
