//! Placeholder: ids arrive with their own change.

use crate::clock::{Milliseconds, Random};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use keyspace::model::Type;
use std::sync::Arc;

/// What makes ids.
#[derive(Debug)]
pub struct Ids(Arc<dyn Random>);

impl Ids {
    /// Ids from this chance.
    pub fn new(random: Arc<dyn Random>) -> Self {
        Ids(random)
    }

    /// A new id of a type.
    pub fn make(&self, of: &Type, prefix: Option<&str>, now: Milliseconds) -> Result<Value> {
        let _ = (of, prefix, now, &self.0);
        Err(Error::new(ErrorKind::Internal, "ids cannot be made yet"))
    }
}
