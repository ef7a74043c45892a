//! Buckets: a group cut in time slices.
//!
//! Slices follow each other in time, so that a list reads them one after the other. That is the
//! order of the key only if the time comes first after the bar.

use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Bucket, Key, Type};
use crate::parse::BucketTree;

/// The shortest slice: names of slices are exact to the second.
const SECOND_MILLISECONDS: u64 = 1_000;
/// The shortest slice of a calendar day.
const DAY_MILLISECONDS: u64 = 86_400_000;

/// A bucket; none if the group cannot be cut so.
pub fn bucket(
    written: Option<&BucketTree>,
    key: &Key,
    problems: &mut Vec<Diagnostic>,
) -> Option<Bucket> {
    let written = written?;
    let by = &written.by;
    let first = key.rest_segments().next();
    let segment = key.rest_segments().find(|segment| segment.name == by.value);
    let problem = |message: String| {
        Diagnostic::new(&codes::BAD_BUCKET, by.span, message).also(key.span, "the key that is cut")
    };
    let time = first.filter(|segment| segment.segment_type.is_time());
    let refused = match (segment, first) {
        (None, _) => problem(format!("`{}` is no segment after the bar", by.value)),
        (Some(segment), _) if !segment.segment_type.is_time() => {
            problem(format!("`{}` is `{}`, which holds no time", by.value, segment.segment_type))
        }
        (Some(segment), Some(first)) if segment.name != first.name => {
            let message = format!("`{}` is not the first segment after the bar", by.value);
            problem(message).effect(format!(
                "rows are sorted by `{}`, and each slice would hold some of every value",
                first.name
            ))
        }
        (Some(segment), _)
            if segment.segment_type == Type::Date && written.every.value < DAY_MILLISECONDS =>
        {
            problem(format!("`{}` is a day, and a slice is shorter", by.value))
                .fix("cut by whole days: `every = \"1d\"`")
        }
        _ if written.every.value < SECOND_MILLISECONDS => {
            problem("a slice is shorter than a second".to_string())
                .fix("cut so that a slice holds many rows: `every = \"1h\"`, or `\"10d\"`")
        }
        _ => {
            let every = written.every.value;
            return Some(Bucket { by: by.value.clone(), every, span: written.span });
        }
    };
    problems.push(match time.filter(|time| time.name != by.value) {
        Some(time) => refused.replace("cut by", by.span, time.name.clone()),
        None if refused.fixes.is_empty() => refused
            .fix("put a time first after the bar: `| {message_id: timeuuid = new}`")
            .fix("or leave `bucket` out, and say how large a group gets: `expect`"),
        None => refused,
    });
    None
}
