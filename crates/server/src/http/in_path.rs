//! What stands in the path of an address, read strictly.

use super::problem::Problem;
use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// The parts of a path that vary. What is no text is a problem like any other.
#[derive(Clone, Debug)]
pub struct InPath<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<InPath<T>, Problem> {
        let Path(read) = Path::from_request_parts(parts, state).await.map_err(|_| {
            let title = "a part of the address is not UTF-8 text";
            Problem::new(StatusCode::BAD_REQUEST, "path", title)
        })?;
        Ok(InPath(read))
    }
}
