//! The circle of a search around a point, and what lies in it.

use crate::error::{Error, ErrorKind, Result};
use crate::geo;
use crate::record::RecordShape;
use crate::request::inputs::Inputs;
use crate::request::prepare::Prepared;
use crate::schema::IndexSchema;
use crate::value::Value;
use keyspace::model::{Expression, ExpressionKind, Type};
use keyspace::plan::EARTH_RADIUS;

/// What a frame is wider than its circle, in degrees: a tenth of a millimetre, which is far more
/// than rounding can move a point.
const PADDING: f64 = 1e-9;

/// A circle on the earth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circle {
    /// Of its middle, in degrees.
    pub latitude: f64,
    /// Of its middle, in degrees.
    pub longitude: f64,
    /// In metres.
    pub radius: f64,
    /// How far it goes from its middle to the north and to the south, in degrees.
    across: f64,
    /// The same to the east and to the west.
    along: f64,
}

impl Circle {
    /// The circle that a call names.
    pub fn of(prepared: &Prepared, inputs: &dyn Inputs) -> Result<Circle> {
        let number = |name: &'static str| match inputs.argument(name, Some(&Type::F64))? {
            Some(Value::F64(number)) => Ok(number),
            Some(Value::I64(number)) => Ok(number as f64),
            Some(Value::U64(number)) => Ok(number as f64),
            _ => Err(Error::new(ErrorKind::Argument, "an argument is not of its type")
                .with("argument", name)
                .with("type", Type::F64)),
        };
        let circle = Circle::new((number("lat")?, number("lon")?), number("radius")?);
        let most = prepared.pattern.radius_max.unwrap_or(0.0);
        // A comparison with what is no number is false.
        if !(0.0..=most).contains(&circle.radius) {
            return Err(Error::new(
                ErrorKind::Argument,
                "a radius is from 0 to the pattern's most",
            )
            .with("argument", "radius")
            .with("radius", circle.radius)
            .with("max_radius", most));
        }
        Ok(circle)
    }

    /// A circle around a point.
    fn new((latitude, longitude): (f64, f64), radius: f64) -> Circle {
        let reach = radius / EARTH_RADIUS;
        let across = reach.to_degrees();
        // Around a pole it goes all the way.
        let along = match latitude.abs() + across < 89.9 {
            true => (reach.sin() / latitude.to_radians().cos()).asin().to_degrees(),
            false => 180.0,
        };
        Circle { latitude, longitude, radius, across: across + PADDING, along: along + PADDING }
    }

    /// The same of a point that may not be known.
    #[inline]
    pub fn reaches_some(&self, point: Option<(f64, f64)>) -> Option<f64> {
        point.and_then(|point| self.reaches(point))
    }

    /// How far away a point is; nothing outside of the circle.
    #[inline]
    pub fn reaches(&self, (latitude, longitude): (f64, f64)) -> Option<f64> {
        let east = (longitude - self.longitude).abs();
        // Most of the points that lie outside are outside of its frame too, which is soon seen.
        if (latitude - self.latitude).abs() > self.across || east.min(360.0 - east) > self.along {
            return None;
        }
        let distance = geo::distance(self.latitude, self.longitude, latitude, longitude);
        (distance <= self.radius).then_some(distance)
    }
}

/// The expression of an index's cell.
pub(super) fn point_of(index: &IndexSchema) -> Option<&Expression> {
    let segment = index.model.key.segments().find(|segment| segment.is_geographic())?;
    segment.source.as_ref()
}

/// The fields of a record that hold the point of an index, where both are floats by themselves.
pub(super) fn point_in(
    index: &IndexSchema,
    record: &RecordShape,
    slot_of: impl Fn(&str) -> Option<usize>,
) -> Option<(usize, usize)> {
    let ExpressionKind::Call(_, parts) = &point_of(index)?.kind else { return None };
    let [latitude, longitude, ..] = parts.as_slice() else { return None };
    let held = |part: &Expression| {
        let ExpressionKind::Member(name) = &part.kind else { return None };
        let slot = slot_of(name)?;
        let field = record.fields.get(slot)?;
        (*field.field_type.required() == Type::F64).then_some(slot)
    };
    held(latitude).zip(held(longitude))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SeededRandom;
    use std::f64::consts::TAU;

    /// The point so far from another, in radians, in a direction.
    fn destination(from: (f64, f64), reach: f64, bearing: f64) -> (f64, f64) {
        let (latitude, longitude) = (from.0.to_radians(), from.1.to_radians());
        let north = latitude.sin() * reach.cos() + latitude.cos() * reach.sin() * bearing.cos();
        let east = (bearing.sin() * reach.sin() * latitude.cos())
            .atan2(reach.cos() - latitude.sin() * north);
        let turned = (longitude + east).to_degrees();
        let turned = if turned > 180.0 { turned - 360.0 } else { turned };
        let turned = if turned < -180.0 { turned + 360.0 } else { turned };
        (north.clamp(-1.0, 1.0).asin().to_degrees(), turned)
    }

    #[test]
    fn the_frame_of_a_circle_leaves_nothing_out() {
        let random = SeededRandom::new(20_261_116);
        let share = || (random.number() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut inside = 0;
        for _ in 0..200_000 {
            let middle = (180.0 * share() - 90.0, 360.0 * share() - 180.0);
            let radius = 10_f64.powf(9.0 * share() - 2.0).min(20_000_000.0);
            let circle = Circle::new(middle, radius);
            // Most of them at the border, where rounding decides.
            let part = if share() < 0.7 { 1.0 } else { 1.2 * share() };
            let point = destination(middle, radius / EARTH_RADIUS * part, TAU * share());
            let distance = geo::distance(middle.0, middle.1, point.0, point.1);
            let expected = (distance <= radius).then_some(distance);
            assert_eq!(circle.reaches(point), expected, "{point:?} of {circle:?}");
            inside += u64::from(expected.is_some());
        }
        assert!((50_000..150_000).contains(&inside), "{inside}");
    }
}
