//! How wide a text will be, and where a key breaks.
//!
//! The fonts a picture is shown with are unknown, so widths are those of a wide one: a text may
//! come out shorter than its box, never longer.

/// The width of one monospaced character, in parts of its size.
const MONOSPACED: f64 = 0.61;

/// The width of a text in the usual, proportional font.
pub(super) fn proportional(text: &str, size: f64) -> f64 {
    text.chars().map(character_width).sum::<f64>() * size
}

/// The width of a text in the monospaced font.
pub(super) fn monospaced(text: &str, size: f64) -> f64 {
    text.chars().map(|character| if is_wide(character) { 1.1 } else { MONOSPACED }).sum::<f64>()
        * size
}

/// Parts of the size, after the widest font that is common on its own.
fn character_width(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | '\'' => 0.30,
        'f' | 't' | 'r' | 'I' | ' ' | '.' | ',' | ':' | ';' | '(' | ')' | '-' | '/' | '|' => 0.41,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        'A'..='Z' | '&' => 0.76,
        other if is_wide(other) => 1.1,
        _ => 0.63,
    }
}

/// Whether a character takes the room of two: the scripts of East Asia, and pictures.
fn is_wide(character: char) -> bool {
    character >= '\u{1100}' && !('\u{2000}'..='\u{22ff}').contains(&character)
}

/// The text, or as much of its beginning as fits with an ellipsis.
pub(super) fn fit(text: &str, width: f64, measure: impl Fn(&str) -> f64) -> String {
    if measure(text) <= width {
        return text.to_string();
    }
    let mut kept = String::new();
    for character in text.chars() {
        let longer = format!("{kept}{character}");
        if measure(&format!("{longer}…")) > width {
            break;
        }
        kept = longer;
    }
    format!("{}…", kept.trim_end())
}

/// A key over as many lines as it needs: whole if it fits, else broken at the bar, else after
/// separators. Later lines of one half stand in a little.
pub(super) fn wrap_key(
    group: &str,
    rest: &str,
    separator: char,
    width: f64,
    size: f64,
) -> Vec<String> {
    let whole = if rest.is_empty() { group.to_string() } else { format!("{group} | {rest}") };
    if monospaced(&whole, size) <= width {
        return vec![whole];
    }
    let mut lines = wrap_half(group, separator, width, size);
    if !rest.is_empty() {
        lines.extend(wrap_half(&format!("| {rest}"), separator, width, size));
    }
    lines
}

fn wrap_half(half: &str, separator: char, width: f64, size: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for chunk in chunks(half, separator) {
        if !line.is_empty() && monospaced(&format!("{line}{chunk}"), size) > width {
            lines.push(std::mem::take(&mut line));
            line.push_str("  ");
        }
        line.push_str(&chunk);
    }
    lines.push(line);
    lines.iter().map(|line| fit(line, width, |text| monospaced(text, size))).collect()
}

/// The pieces of a key between which a line may break: separators inside braces do not count.
fn chunks(half: &str, separator: char) -> Vec<String> {
    let mut chunks = vec![String::new()];
    let mut depth = 0usize;
    for character in half.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(character);
        }
        if character == separator && depth == 0 {
            chunks.push(String::new());
        }
    }
    chunks
}

/// Words over at most `lines_max` lines, the last one cut if more would follow.
pub(super) fn wrap_words(words: &str, width: f64, size: f64, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if monospaced(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    let cut = lines.len() > lines_max;
    lines.truncate(lines_max);
    if let (true, Some(last)) = (cut, lines.last_mut()) {
        last.push_str(" …");
    }
    lines.iter().map(|line| fit(line, width, |text| monospaced(text, size))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_its_room() {
        let measure = |text: &str| monospaced(text, 10.0);
        assert_eq!(fit("read_messages", 100.0, measure), "read_messages");
        let cut = fit("read_messages", 50.0, measure);
        assert_eq!(cut, "read_me…");
        assert!(measure(&cut) <= 50.0);
        assert_eq!(fit("消息消息消息", 40.0, measure), "消息消…");
    }

    #[test]
    fn a_key_breaks_at_its_bar_first() {
        let group = "channel:{channel_id}:messages";
        let rest = "{message_id desc}";
        assert_eq!(wrap_key(group, rest, ':', 400.0, 10.0), [format!("{group} | {rest}")]);
        assert_eq!(wrap_key(group, rest, ':', 200.0, 10.0), [group, "| {message_id desc}"]);
        let narrow = wrap_key(group, rest, ':', 130.0, 10.0);
        assert_eq!(narrow, ["channel:{channel_id}:", "  messages", "| {message_id desc}"]);
    }

    #[test]
    fn every_line_fits() {
        let key = "index:geo:{area = geohash(lat, lon, 5)}";
        let rest = "{point = geohash(lat, lon, 9)}:{location_id}";
        for width in [60.0, 100.0, 180.0, 260.0] {
            for line in wrap_key(key, rest, ':', width, 11.0) {
                assert!(monospaced(&line, 11.0) <= width, "{line} in {width}");
            }
        }
        for line in wrap_words("some words of a file, one by one", 80.0, 11.0, 2) {
            assert!(monospaced(&line, 11.0) <= 80.0);
        }
    }
}
