//! The traffic of this moment, from the meters.

use super::sent::answered;
use crate::http::Operator;
use crate::meters::quantiles;
use crate::service::Service;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

/// What a moment is: as long as a page waits before it asks again, and a little more.
const MOMENT: Duration = Duration::from_millis(2_500);

/// Counts since the server started, and latencies and bounds of the last moment.
pub async fn now(State(service): State<Arc<Service>>, _: Operator) -> Response {
    let meters = &service.meters;
    let (mut answered_count, mut failed_count) = (0, 0);
    let (mut latest, mut bounds) = (Vec::new(), Vec::new());
    let mut patterns = Vec::new();
    let names = service.keyway.runtime().patterns().iter().map(|prepared| prepared.name());
    for (name, pattern) in names.zip(meters.patterns()) {
        let (answered, failed) = (pattern.answered.get(), pattern.failed.get());
        if answered + failed == 0 {
            continue;
        }
        answered_count += answered;
        failed_count += failed;
        let tally = pattern.tally();
        let mut bound_now = None;
        for call in tally.within(MOMENT) {
            latest.push(call.microseconds);
            bounds.push(u32::from(call.bound_percent));
            bound_now = bound_now.max(Some(call.bound_percent));
        }
        let (times, bound) = tally.quantiles().unwrap_or_default();
        drop(tally);
        patterns.push(json!({
            "name": name,
            "answered": answered,
            "failed": failed,
            "microseconds": times,
            "bound_percent": bound,
            "bound_percent_now": bound_now,
        }));
    }
    let problems: Map<String, Json> = meters
        .problems()
        .into_iter()
        .map(|(name, count)| (name.to_string(), count.into()))
        .collect();
    answered(&json!({
        "answered": answered_count,
        "failed": failed_count,
        "microseconds": quantiles(latest),
        "bound_percent": highest(bounds),
        "under_way": meters.under_way(),
        "watchers": meters.watchers.get(),
        "swept": service.keyway.swept(),
        "problems": problems,
        "patterns": patterns,
    }))
}

/// How much of the rows in their bounds half, nineteen of twenty, and all calls did not pass.
fn highest(percents: Vec<u32>) -> Option<[u32; 3]> {
    let most = percents.iter().copied().max()?;
    let [half, many, _] = quantiles(percents)?;
    Some([half, many, most])
}
