//! What stands behind the `?` of an address, read strictly.

use super::problem::Problem;
use axum::http::StatusCode;
use percent_encoding::percent_decode;
use std::borrow::Cow;

/// Parameters of one request, at most.
const PARAMETERS_MAX: usize = 1_000;

/// A parameter: its name and its value, where they stand if nothing in them is undone.
pub type Parameter<'q> = (Cow<'q, str>, Cow<'q, str>);

/// The parameters of a query, in their order.
pub fn read(query: &str) -> Result<Vec<Parameter<'_>>, Problem> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let mut read = Vec::new();
    for part in parts {
        if read.len() == PARAMETERS_MAX {
            let title = "a request has too many parameters";
            return Err(
                Problem::new(StatusCode::BAD_REQUEST, "query", title).with("most", PARAMETERS_MAX)
            );
        }
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        read.push((text(name)?, text(value)?));
    }
    Ok(read)
}

/// Percent signs and pluses undone, as browsers write them.
fn text(written: &str) -> Result<Cow<'_, str>, Problem> {
    if !written.bytes().any(|byte| matches!(byte, b'+' | b'%')) {
        return Ok(Cow::Borrowed(written));
    }
    let spaced = written.replace('+', " ");
    let decoded = percent_decode(spaced.as_bytes()).decode_utf8();
    decoded.map(|text| Cow::Owned(text.into_owned())).map_err(|_| {
        let title = "a parameter is not UTF-8 text";
        Problem::new(StatusCode::BAD_REQUEST, "query", title)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_browsers_write_it() {
        let read = read("a=1&b=x+y%26%3D&c&=d&&e=%C3%A9").unwrap();
        let pairs: Vec<(&str, &str)> =
            read.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
        assert_eq!(pairs, [("a", "1"), ("b", "x y&="), ("c", ""), ("", "d"), ("e", "é")]);
    }

    #[test]
    fn text_that_is_none_is_refused() {
        assert!(read("a=%ff").is_err());
        assert!(read("a=%C0%AF").is_err());
        assert!(read(&"a=1&".repeat(PARAMETERS_MAX + 1)).is_err());
    }
}
