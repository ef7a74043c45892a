//! A record behind other bytes, its fields written by whoever has them: for stores that keep fields
//! in forms of their own, so that a row is put together in one place and copied nowhere.

use super::front::Front;
use super::{RecordField, RecordShape, payload};
use crate::catalogue::BODY_NUMBER;
use crate::error::Result;
use crate::store::door::check_value;

impl RecordShape {
    /// Adds the bytes of a record to others. `write` is asked for each slot, in the order of their
    /// numbers: it adds the field as it is written, see [`Payload`](super::Payload), and says so,
    /// or adds nothing where it is null. After an error nothing was added.
    #[inline]
    pub fn encode_behind(
        &self,
        record: &mut Vec<u8>,
        mut write: impl FnMut(usize, &RecordField, &mut Vec<u8>) -> Result<bool>,
    ) -> Result<()> {
        let start = record.len();
        let fields = self.fields.iter().enumerate();
        let written = match self.fields.is_sorted_by_key(|field| field.number) {
            true => write_fields(fields, record, &mut write),
            false => {
                let mut sorted: Vec<(usize, &RecordField)> = fields.collect();
                sorted.sort_unstable_by_key(|(_, field)| field.number);
                write_fields(sorted.into_iter(), record, &mut write)
            }
        };
        if written.is_err() {
            record.truncate(start);
        }
        written
    }
}

/// Adds a record whose fields come in the order of their numbers.
#[inline]
fn write_fields<'f>(
    fields: impl ExactSizeIterator<Item = (usize, &'f RecordField)>,
    record: &mut Vec<u8>,
    write: &mut impl FnMut(usize, &RecordField, &mut Vec<u8>) -> Result<bool>,
) -> Result<()> {
    let start = record.len();
    let mut front = Front::new(fields.len(), record);
    let mut body = 0;
    for (slot, field) in fields {
        let before = front.bytes(record);
        let has_value =
            write(slot, field, record).map_err(|error| error.with("field", field.number))?;
        if has_value {
            front.ends(field.number, record);
            // The number of a body is the last there is.
            if field.number == BODY_NUMBER {
                body = front.bytes(record) - before;
            }
        } else if !field.field_type.is_optional() {
            return Err(payload::wrong_kind(&field.field_type).with("field", field.number));
        } else if !field.missing.is_null() {
            front.null(field.number);
        }
    }
    front.finish(record);
    check_value("a body is too large", body)?;
    check_value("a record is too large", record.len() - start - body)
}
