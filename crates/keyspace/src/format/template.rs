//! The spacing of a key's template: `{ name:type=new }` becomes `{name: type = new}`.
//!
//! Only spaces between the words of a template move. A template that this file does not understand
//! to the last character is left as it was written: what is wrong with it is for the checker to
//! say.

use std::borrow::Cow;

/// Whether the names lead to the key of a collection, a history or an index.
pub(super) fn is_key<Name: AsRef<str>>(path: &[Name]) -> bool {
    let path: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
    matches!(
        path.as_slice(),
        ["collection" | "history", _, "key"] | ["collection", _, "index", _, "key"]
    )
}

/// A quoted template with its spacing settled, or as it was.
pub(super) fn spaced_string(quoted: &str) -> Cow<'_, str> {
    let Some(quote) = quoted.chars().next() else { return Cow::Borrowed(quoted) };
    let template = quoted.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    match template.filter(|template| !template.contains('\\')).and_then(spaced) {
        Some(template) => Cow::Owned(format!("{quote}{template}{quote}")),
        None => Cow::Borrowed(quoted),
    }
}

/// Whether two templates differ in nothing but free space.
pub(super) fn is_same(left: &str, right: &str) -> bool {
    left == right || words(left).is_some_and(|left| words(right).is_some_and(|right| left == right))
}

/// A template with its spacing settled, if it is understood.
fn spaced(template: &str) -> Option<String> {
    let words = words(template)?;
    let mut out = String::with_capacity(template.len());
    let mut last = None;
    let mut inside = false;
    for word in &words {
        if is_spaced(last, word, inside) {
            out.push(' ');
        }
        match *word {
            "{" => inside = true,
            "}" => inside = false,
            _ => {}
        }
        out.push_str(word);
        last = Some(*word);
    }
    Some(out)
}

/// Whether a space stands between two words of a template.
fn is_spaced(last: Option<&str>, word: &str, inside: bool) -> bool {
    let Some(last) = last else { return false };
    match (inside, last, word) {
        // The bar of the group; inside braces a bar parts the values of an enum.
        (false, "|", _) | (false, _, "|") => true,
        (false, ..) => false,
        (true, "{" | "(" | "[" | "|", _) | (true, _, "}" | ")" | "]" | "," | ":" | "|" | "?") => {
            false
        }
        (true, _, "(") => false,
        (true, ..) => true,
    }
}

/// The words of a template, or nothing if a character or a space stands where none is free.
fn words(template: &str) -> Option<Vec<&str>> {
    let mut words: Vec<&str> = Vec::new();
    let mut inside = false;
    let mut spaced = false;
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ' ' => first.len_utf8(),
            '\'' => quoted_length(rest)?,
            '{' | '}' | ':' | '/' | '|' | '=' | '(' | ')' | ',' | '?' | '[' | ']' => 1,
            _ => rest.find(|character| !is_word(character)).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at_checked(length).filter(|(word, _)| !word.is_empty())?;
        if word != " " {
            if spaced && !inside && !is_free(words.last().copied(), word) {
                return None;
            }
            match word {
                "{" if inside => return None,
                "{" => inside = true,
                "}" if !inside => return None,
                "}" => inside = false,
                _ => {}
            }
            words.push(word);
        }
        spaced = word == " ";
        rest = after;
    }
    (!inside).then_some(words)
}

/// Outside braces, space is free only around the bar and the colon, and at the ends.
fn is_free(last: Option<&str>, word: &str) -> bool {
    matches!(last, None | Some("|" | ":")) || matches!(word, "|" | ":")
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

/// The bytes of a quoted text at the start; two quotes inside stand for one.
fn quoted_length(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((offset, character)) = characters.next() {
        if character != '\'' {
            continue;
        }
        if characters.next_if(|(_, next)| *next == '\'').is_none() {
            return Some(offset + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{is_same, spaced};

    #[track_caller]
    fn check(written: &str, expected: &str) {
        assert_eq!(spaced(written).as_deref(), Some(expected));
        assert_eq!(spaced(expected).as_deref(), Some(expected));
        assert!(is_same(written, expected));
    }

    #[test]
    fn spaces_are_settled() {
        check("user:{ id:uuid=new }", "user:{id: uuid = new}");
        check(
            "user:{id :text}|{note:timeuuid  desc=new}",
            "user:{id: text} | {note: timeuuid desc = new}",
        );
        check("head/{log:kel | tel}/{id: text}|", "head/{log: kel|tel}/{id: text} |");
        check("{name:text=new( 'a b' )}", "{name: text = new('a b')}");
        check(
            "geo:{area=geohash( lat,lon , 5 )} | {x}:{y desc}",
            "geo:{area = geohash(lat, lon, 5)} | {x}:{y desc}",
        );
        check("a : {lower(email)desc}", "a:{lower(email) desc}");
        check("| {created_at  desc}", "| {created_at desc}");
        check("x:{state: 'it''s  so'|b='c  d'}", "x:{state: 'it''s  so'|b = 'c  d'}");
    }

    #[test]
    fn what_is_not_understood_is_left() {
        for template in
            ["user {id}", "a:{b", "a}b", "a:{{b}}", "a:{b: text = 'x}", "a:{b\u{e9}}", "a:{b\t}"]
        {
            assert_eq!(spaced(template), None, "{template}");
        }
    }

    #[test]
    fn words_never_join_or_part() {
        assert!(!is_same("a:{b c}", "a:{bc}"));
        assert!(!is_same("a:{b: 'x y'}", "a:{b: 'xy'}"));
        assert!(!is_same("a:{b}", "a:{c}"));
    }
}
