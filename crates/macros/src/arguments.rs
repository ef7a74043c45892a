//! How arguments are given in Rust: the type of a parameter, and what it becomes in a call.
//!
//! ```text
//! title: text    ─▶ title: impl Into<String>        text(title)
//! state: a|b     ─▶ state: NoteState                value(state)
//! limit: u64 (optional) ─▶ .limit(impl Optional<u64>)   optional::<u64>(limit)
//! ```

use crate::naming::Naming;
use keyspace::model::{Argument, ArgumentRole, Type};

/// An argument as a parameter of a function.
pub struct Parameter {
    /// Its type, as written in a signature.
    pub rust: String,
    /// What makes something given of it: the name of a function in `::keyway::typed`.
    pub maker: String,
}

impl Parameter {
    /// The expression that gives a variable or field.
    pub fn given(&self, variable: &str) -> String {
        format!("::keyway::typed::{}({variable})", self.maker)
    }
}

const TEXTS: &str =
    "impl ::std::iter::IntoIterator<Item = impl ::std::convert::Into<::std::string::String>>";

/// An argument that a call must give; what may be null is an `Option`.
pub fn required(naming: &Naming, member: &str, of: &Type) -> Parameter {
    let into = |rust: &str| format!("impl ::std::convert::Into<{rust}>");
    let (rust, maker) = match of {
        Type::Text => (into("::std::string::String"), "text"),
        Type::Bytes => (into("::keyway::Bytes"), "bytes"),
        Type::Json => (into("::keyway::Json"), "json"),
        Type::Path => (TEXTS.to_string(), "path"),
        Type::List(inner) if **inner == Type::Text => (TEXTS.to_string(), "texts"),
        Type::List(inner) => {
            let inner = naming.rust(member, inner);
            (format!("impl ::std::iter::IntoIterator<Item = {inner}>"), "list")
        }
        other => (naming.rust(member, other), "value"),
    };
    Parameter { rust, maker: maker.to_string() }
}

/// An argument that a call may leave out: `None` leaves it out.
pub fn optional(naming: &Naming, argument: &Argument) -> Parameter {
    let member = argument.name.as_str();
    if argument.role == ArgumentRole::Version {
        return Parameter {
            rust: "impl ::keyway::typed::Optional<::keyway::Version>".to_string(),
            maker: "version".to_string(),
        };
    }
    match argument.argument_type.required() {
        is_made @ (Type::Bytes | Type::Json | Type::Path | Type::List(_)) => {
            required(naming, member, is_made)
        }
        plain => {
            let rust = naming.rust(member, plain);
            Parameter {
                maker: format!("optional::<{rust}>"),
                rust: format!("impl ::keyway::typed::Optional<{rust}>"),
            }
        }
    }
}

/// An argument as a field of a row of a call with `many`.
pub fn field(naming: &Naming, argument: &Argument) -> Parameter {
    let of = &argument.argument_type;
    let rust = naming.rust(&argument.name, of);
    if argument.required {
        return Parameter { rust, maker: required(naming, &argument.name, of).maker };
    }
    // Null clears what is there, and leaving out keeps it: two kinds of nothing.
    let clears = is_clearable(argument);
    let inner = if clears { of } else { of.required() };
    let maker = match inner {
        Type::Path => "optional_path".to_string(),
        _ => format!("optional::<{}>", naming.rust(&argument.name, inner)),
    };
    let rust = naming.rust(&argument.name, inner);
    Parameter { rust: format!("::std::option::Option<{rust}>"), maker }
}

/// Whether null is something else than leaving the argument out.
pub fn is_clearable(argument: &Argument) -> bool {
    argument.role == ArgumentRole::Change && argument.argument_type.is_optional()
}
