//! Spans of requests, for whoever collects them by OTLP.
//!
//! They are sent from a thread of their own, in batches: a collector that is slow or gone costs a
//! server some spans and nothing else.

use async_trait::async_trait;
use axum::http::{HeaderMap, Request, Response};
use bytes::Bytes;
use data::{Error, ErrorKind, Result};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use std::time::Duration;
use tokio::runtime::Runtime;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt};
use tracing_subscriber::registry::LookupSpan;

/// How long a collector may take.
const SENT_WITHIN: Duration = Duration::from_secs(5);

/// Where spans go.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends spans to a collector, such as `http://localhost:4318`.
    pub fn to(collector: &str) -> Result<Traces> {
        let refused = |reason: String| {
            Error::new(ErrorKind::Argument, "traces cannot be sent there")
                .with("collector", collector)
                .with("reason", reason)
        };
        if !collector.starts_with("http://") {
            let reason = "the address of a collector begins with http://".to_string();
            return Err(refused(reason));
        }
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| refused(error.to_string()))?;
        let client = HyperClient::with_default_connector(SENT_WITHIN, None);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(format!("{}/v1/traces", collector.trim_end_matches('/')))
            .with_timeout(SENT_WITHIN)
            .with_http_client(Sender { client, runtime: Some(runtime) })
            .build()
            .map_err(|error| refused(error.to_string()))?;
        let resource = Resource::builder().with_service_name("keyway").build();
        let provider = SdkTracerProvider::builder().with_resource(resource);
        Ok(Traces(provider.with_batch_exporter(exporter).build()))
    }

    /// What takes part in logging.
    pub fn layer<S: Subscriber + for<'s> LookupSpan<'s>>(&self) -> OpenTelemetryLayer<S, Tracer> {
        tracing_opentelemetry::layer().with_tracer(self.0.tracer("keyway"))
    }

    /// Sends what is left.
    pub fn end(self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// A client that works from a thread without a run time.
#[derive(Debug)]
struct Sender {
    client: HyperClient,
    runtime: Option<Runtime>,
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let runtime = self.runtime.as_ref().ok_or("the server ends")?;
        runtime.spawn(async move { client.send_bytes(request).await }).await?
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // A run time may be dropped where another one waits, but not wait there itself.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Makes a span part of the trace that a request belongs to.
pub fn join(span: &Span, headers: &HeaderMap) {
    if span.is_disabled() || !headers.contains_key("traceparent") {
        return;
    }
    let parent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
    // A parent that makes no sense is none.
    let _ = span.set_parent(parent);
}
