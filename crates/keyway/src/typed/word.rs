//! Enums of a keyspace file as enums of Rust.

use super::value::unexpected;
use data::{Error, ErrorKind, Result, Value};

/// An enum of a keyspace file.
pub trait Word: Copy + PartialEq + 'static {
    /// The member it is the type of, for messages.
    const NAME: &'static str;
    /// Every variant with its word.
    const ALL: &'static [(Self, &'static str)];

    /// The word of a variant.
    fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(variant, _)| *variant == self);
        found.map(|(_, word)| *word).unwrap_or_default()
    }

    /// The variant of a word.
    fn from_word(word: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == word);
        found.map(|(variant, _)| *variant).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|(_, known)| *known).collect();
            Error::new(ErrorKind::Argument, "a value is none of its words")
                .with("member", Self::NAME)
                .with("given", word.chars().take(64).collect::<String>())
                .with("words", known.join(", "))
        })
    }

    /// The variant of a stored value.
    fn from_stored(value: Value) -> Result<Self> {
        match value {
            Value::Text(word) => Self::from_stored_word(&word),
            other => Err(unexpected("enum", &other)),
        }
    }

    /// The variant of a stored word.
    fn from_stored_word(word: &str) -> Result<Self> {
        Self::from_word(word).map_err(|error| {
            Error::new(ErrorKind::Mismatch, "a stored word is not in the keyspace file")
                .caused_by(error)
        })
    }
}

/// The way to text and back, for an enum of a keyspace file.
#[doc(hidden)]
#[macro_export]
macro_rules! typed_word {
    ($name:ident) => {
        impl $name {
            /// The word, as the keyspace file has it.
            #[allow(dead_code)]
            pub fn as_str(self) -> &'static str {
                $crate::typed::Word::word(self)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.pad($crate::typed::Word::word(*self))
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(word: &str) -> $crate::Result<Self> {
                $crate::typed::Word::from_word(word)
            }
        }

        impl ::std::convert::From<$name> for $crate::Value {
            fn from(value: $name) -> Self {
                $crate::Value::from($crate::typed::Word::word(value))
            }
        }

        impl $crate::typed::FromValue for $name {
            const IS_PLAIN: bool = true;

            fn from_value(value: $crate::Value) -> $crate::Result<Self> {
                $crate::typed::Word::from_stored(value)
            }

            #[inline]
            fn from_segment(
                key: &mut $crate::typed::SegmentReader<'_>,
            ) -> ::std::option::Option<Self> {
                key.text($crate::typed::Word::from_stored_word)
            }

            #[inline]
            fn from_field(
                fields: &mut impl $crate::typed::FieldReader,
            ) -> ::std::option::Option<Self> {
                fields.text($crate::typed::Word::from_stored_word)
            }
        }
    };
}
