//! What the cells of an answer become, found out once: a page asks it of every row.

use super::tables::Named;
use super::view::{KeyPart, View};
use data::record::RecordField;
use keyspace::key;
use keyspace::layout::cql::CqlType;
use keyspace::model::Type;

/// The cell of a field.
#[derive(Clone, Debug)]
pub(super) struct FieldCell {
    /// Where it is in an answer, which leaves the columns of the partition out.
    pub(super) place: usize,
    /// The type of what is there.
    pub(super) of: Type,
    pub(super) is_optional: bool,
}

/// What a cell that orders rows becomes in a key.
#[derive(Clone, Debug)]
pub(super) enum OrderCell {
    /// Nothing: it is in the front already.
    Known,
    /// The number of a slice of this length.
    Slice(i64),
    /// A segment.
    Segment(key::Segment, CqlType, Type),
    /// Segments that are encoded already.
    Rest,
}

impl View {
    /// The cells of the record that rows are.
    pub(super) fn field_cells(&self) -> Vec<FieldCell> {
        let fields = self.direct.iter().flat_map(|record| &record.fields).zip(&self.content);
        let cell = |(field, place): (&RecordField, &usize)| {
            let place = place.checked_sub(self.table.partition)?;
            let (of, is_optional) = (&field.field_type, field.field_type.is_optional());
            Some(FieldCell { place, of: of.required().clone(), is_optional })
        };
        fields.filter_map(cell).collect()
    }

    /// The cells that order rows.
    pub(super) fn order_cells(&self) -> Vec<OrderCell> {
        let parts = self.parts.iter().zip(&self.table.columns).skip(self.table.partition);
        let cell = |(part, column): (&KeyPart, &Named)| match part {
            KeyPart::Text(_) => Some(OrderCell::Known),
            KeyPart::Rest => Some(OrderCell::Rest),
            KeyPart::Slice => {
                let every = self.shape().slices.as_ref().map_or(1, |slices| slices.every);
                Some(OrderCell::Slice(every))
            }
            KeyPart::Segment(number) => {
                let (segment, of) =
                    (self.shape().segments.get(*number)?, self.shape().types.get(*number)?);
                Some(OrderCell::Segment(*segment, column.native.clone(), of.clone()))
            }
        };
        parts.filter_map(cell).collect()
    }
}
