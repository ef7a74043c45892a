//! Arguments that may be left out: a value gives one, an `Option` decides when the program runs.

use data::request::Cursor;

/// A `T`, or perhaps one. `None` leaves the argument out.
///
/// `.limit(20)`, `.limit(Some(20))` and `.cursor(page.next)` are all calls with it.
#[diagnostic::on_unimplemented(
    message = "the argument is a `{T}`, and may be left out",
    label = "this is neither a `{T}` nor an `Option<{T}>`"
)]
pub trait Optional<T> {
    /// The value, if there is one.
    fn into_optional(self) -> Option<T>;
}

impl<T> Optional<T> for T {
    fn into_optional(self) -> Option<T> {
        Some(self)
    }
}

impl<T> Optional<T> for Option<T> {
    fn into_optional(self) -> Option<T> {
        self
    }
}

impl Optional<String> for Cursor {
    fn into_optional(self) -> Option<String> {
        Some(self.into())
    }
}

impl Optional<String> for Option<Cursor> {
    fn into_optional(self) -> Option<String> {
        self.map(String::from)
    }
}

impl Optional<String> for &str {
    fn into_optional(self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Optional<String> for &String {
    fn into_optional(self) -> Option<String> {
        Some(self.clone())
    }
}

impl Optional<String> for Option<&str> {
    fn into_optional(self) -> Option<String> {
        self.map(str::to_string)
    }
}

impl Optional<String> for Option<&String> {
    fn into_optional(self) -> Option<String> {
        self.cloned()
    }
}
