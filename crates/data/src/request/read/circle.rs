//! The circle of a search around a point, and what lies in it.

use crate::error::{Error, ErrorKind, Result};
use crate::geo;
use crate::request::inputs::Inputs;
use crate::request::prepare::Prepared;
use crate::value::Value;
use keyspace::model::Type;

/// A circle on the earth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circle {
    /// Of its middle, in degrees.
    pub latitude: f64,
    /// Of its middle, in degrees.
    pub longitude: f64,
    /// In metres.
    pub radius: f64,
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
        let circle = Circle {
            latitude: number("lat")?,
            longitude: number("lon")?,
            radius: number("radius")?,
        };
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

    /// How far away a point is; nothing outside of the circle.
    pub fn reaches(&self, (latitude, longitude): (f64, f64)) -> Option<f64> {
        let distance = geo::distance(self.latitude, self.longitude, latitude, longitude);
        (distance <= self.radius).then_some(distance)
    }
}
