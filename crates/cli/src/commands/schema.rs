//! `keyway schema`: the JSON Schema of keyspace files.

use crate::answer::Answer;
use crate::json;

/// Prints the schema.
pub(crate) fn run() -> Answer {
    Answer::done(json::text(&keyspace::schema::schema()))
}
