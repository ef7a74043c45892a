//! Full case folding: what `lower` does.
//!
//! Texts that differ only in case become one, in every script: `Straße` and `STRASSE` are
//! `strasse`. It is not lower case (Cherokee folds to capitals), not a language's rule (`İ` is `i`
//! and a dot, Turkish or not), and it joins no different spellings of an accent.

use super::fold_table::{SEVERAL, SINGLE};

/// The text, folded.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        match several(character) {
            Some(expansion) => folded.push_str(expansion),
            None => folded.push(single(character)),
        }
    }
    folded
}

fn several(character: char) -> Option<&'static str> {
    let code = u32::from(character);
    let place = SEVERAL.binary_search_by_key(&code, |(known, _)| *known).ok()?;
    SEVERAL.get(place).map(|(_, expansion)| *expansion)
}

fn single(character: char) -> char {
    let code = u32::from(character);
    let after = SINGLE.partition_point(|(first, ..)| *first <= code);
    let run = after.checked_sub(1).and_then(|place| SINGLE.get(place));
    let Some((first, last, step, distance)) = run else { return character };
    if code > *last || !(code - first).is_multiple_of(*step) {
        return character;
    }
    code.checked_add_signed(*distance).and_then(char::from_u32).unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_case_fold_to_one() {
        for (text, folded) in [
            ("Ann@Example.ORG", "ann@example.org"),
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("STRAẞE", "strasse"),
            ("İstanbul", "i\u{307}stanbul"),
            ("ısı", "ısı"),
            ("oﬀer ﬁve ﬄ", "offer five ffl"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
            ("Ὀδυσσεύς", "ὀδυσσεύσ"),
            ("ᾳ ᾼ", "αι αι"),
            ("ᏣᎳᎩ ꮳꮃꭹ ᏸᏽ", "ᏣᎳᎩ ᏣᎳᎩ ᏰᏵ"),
            ("ŉ ǰ ΐ", "ʼn j\u{30c} ι\u{308}\u{301}"),
            ("µ ſ K Å", "μ s k å"),
            ("Ꚁ Ꙁ 𐐀 𞤀 Ꭰ", "ꚁ ꙁ 𐐨 𞤢 Ꭰ"),
            ("日本語 — 123", "日本語 — 123"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    /// FNV-1a over the whole mapping, made from the published file apart from this code.
    #[test]
    fn the_mapping_is_the_published_one() {
        let (mut hash, mut count) = (0xcbf2_9ce4_8422_2325_u64, 0);
        for character in '\0'..=char::MAX {
            let folded = fold(&character.to_string());
            if folded == character.to_string() {
                continue;
            }
            count += 1;
            let mut line = format!("{:x}:", u32::from(character));
            folded.chars().for_each(|c| line.push_str(&format!("{:x},", u32::from(c))));
            line.push(';');
            for byte in line.bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        assert_eq!((count, hash), (1_585, HASH));
    }

    const HASH: u64 = 0x1bc4_d124_58ac_440d;

    #[test]
    fn folding_twice_changes_nothing_more() {
        for character in '\0'..=char::MAX {
            let once = fold(&character.to_string());
            assert_eq!(fold(&once), once, "{character:?}");
        }
    }

    #[test]
    fn the_cases_of_the_standard_library_fold_to_one() {
        if char::UNICODE_VERSION != (17, 0, 0) {
            return;
        }
        // The dotless i has the capital of the other one, and is another letter all the same.
        for character in ('\0'..=char::MAX).filter(|character| *character != 'ı') {
            let folded = fold(&character.to_string());
            assert_eq!(fold(&character.to_uppercase().to_string()), folded, "{character:?}");
            assert_eq!(fold(&character.to_lowercase().to_string()), folded, "{character:?}");
        }
    }
}
