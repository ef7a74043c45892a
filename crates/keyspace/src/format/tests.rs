//! The formatter on small files, and on the real ones shaken at random.

use super::compare::comments;
use super::lines::{Piece, pieces};
use super::{FormatError, format};
use toml_parser::lexer::TokenKind;

#[track_caller]
fn check(written: &str, expected: &str) {
    let formatted = format(written).unwrap();
    assert_eq!(formatted, expected);
    assert_eq!(format(&formatted).unwrap(), formatted);
}

#[test]
fn tables_stand_one_blank_line_apart() {
    check(
        "\n\n# head\n\n\n[a]\n\nx=1\n[b]\ny = 2\n\n\n\n# about c\n[c]\n[d]  # d\n\n\n",
        "# head\n\n[a]\nx = 1\n\n[b]\ny = 2\n\n# about c\n[c]\n\n[d]  # d\n",
    );
}

#[test]
fn comments_stay_with_what_follows() {
    check(
        "[a]\nx = 1\n# about b\n# and more\n[b]\n# about y\ny = 1\n# last\n",
        "[a]\nx = 1\n\n# about b\n# and more\n[b]\n# about y\ny = 1\n# last\n",
    );
}

#[test]
fn equals_signs_stand_under_each_other() {
    check(
        "[a]\nkey=1\nfields = 2\n# here too\nttl   =  3\n\nx = 1\n",
        "[a]\nkey    = 1\nfields = 2\n# here too\nttl    = 3\n\nx = 1\n",
    );
}

#[test]
fn dotted_and_very_long_keys_have_their_own_column() {
    check(
        "[a]\nkey = 1\nfields = 1\nindex.one = 1\nindex . three = 1\n",
        "[a]\nkey    = 1\nfields = 1\nindex.one   = 1\nindex.three = 1\n",
    );
    check(
        "name = 1\nrequests_allowed_each_day = 1\nrequests_allowed_a_minute = 1\nuser_id = 1\n",
        "name    = 1\nrequests_allowed_each_day = 1\nrequests_allowed_a_minute = 1\nuser_id = 1\n",
    );
}

#[test]
fn inline_tables_and_arrays_are_spaced() {
    check(
        "a = {x=1,y . z = [ 1,2 ,3 ],w={ }}\nb = [ ]\nc = [ {a=1} , [ ] ]\n",
        "a = { x = 1, y.z = [1, 2, 3], w = {} }\nb = []\nc = [{ a = 1 }, []]\n",
    );
    check(
        "d = 1979-05-27 07:32:00\ne=  -1.5e+3 # f\n",
        "d = 1979-05-27 07:32:00\ne = -1.5e+3 # f\n",
    );
}

#[test]
fn broken_lines_stay_broken() {
    check(
        "a = [ # first\n'x',# one\n\n\n  # alone\n {b = 1,c = [\n2\n]},\n\n]\nlonger = 1\n",
        concat!(
            "a      = [ # first\n    'x', # one\n\n    # alone\n",
            "    { b = 1, c = [\n        2\n    ] },\n]\nlonger = 1\n",
        ),
    );
}

#[test]
fn comments_keep_their_column_where_they_fit() {
    check("a=1    # x\nb  =   22    # y\n", "a = 1  # x\nb = 22       # y\n");
    check("[a]\nlonger=1 # x\nb=1  # y\n", "[a]\nlonger = 1 # x\nb      = 1 # y\n");
    check(
        "a =  1   # x\n         # goes on\n  # not\n",
        "a = 1    # x\n         # goes on\n# not\n",
    );
}

#[test]
fn line_ends_and_spaces_at_ends() {
    check(
        "\u{feff}a = 1   \r\n# x \t\r\n\r\nb = \"\"\"x \r\n y\"\"\"",
        "a = 1\n# x\n\nb = \"\"\"x \r\n y\"\"\"\n",
    );
    check("", "");
    check("\n \n", "");
}

#[test]
fn templates_are_spaced_in_keys_alone() {
    check(
        "[collection.a]\nkey='x:{a:text=new}'\nfields = { key = 'a | b' }\n",
        "[collection.a]\nkey    = 'x:{a: text = new}'\nfields = { key = 'a | b' }\n",
    );
    check(
        "[collection.a]\nindex.b = { key = \"y:{ a }|\" }\n",
        "[collection.a]\nindex.b = { key = \"y:{a} |\" }\n",
    );
    check("[collection.a]\nkey = ['x:{a:text}']\n", "[collection.a]\nkey = ['x:{a:text}']\n");
    check("[[collection.a]]\nkey = 'x:{a:text}'\n", "[[collection.a]]\nkey = 'x:{a: text}'\n");
    check("[pattern.a]\nkey = 'x:{a:text}'\n", "[pattern.a]\nkey = 'x:{a:text}'\n");
    check("[collection.a]\nkey = \"x\\u007b\"\n", "[collection.a]\nkey = \"x\\u007b\"\n");
}

#[test]
fn what_is_not_toml_is_refused_with_its_place() {
    let Err(FormatError::NotToml(problems)) = format("a = 1\nb = = 2\n") else {
        panic!("it was formatted");
    };
    assert_eq!(problems.first().map(|problem| problem.span().start), Some(10));
    for text in ["a", "[a", "a = [", "a = {", "a = \"", "a = 1 b = 2", "a = 1\na = 2", "\u{0}"] {
        let Err(FormatError::NotToml(problems)) = format(text) else { panic!("{text}") };
        assert!(!problems.is_empty(), "{text}");
    }
}

/// Random numbers that are the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The same file with space and comments put in, taken out or changed wherever that is legal.
fn shaken(text: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut open: Vec<TokenKind> = Vec::new();
    let mut is_header = false;
    let mut line_start = true;
    for piece in pieces(text) {
        if line_start {
            push_lines(&mut out, random);
            is_header = piece.kind == TokenKind::LeftSquareBracket;
        }
        line_start = piece.kind == TokenKind::Newline && open.is_empty();
        match piece.kind {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => open.push(piece.kind),
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                push_space(&mut out, random, &open, is_header);
                open.pop();
            }
            _ => {}
        }
        push_piece(&mut out, &piece, random);
        if !matches!(piece.kind, TokenKind::Newline | TokenKind::Comment) {
            push_space(&mut out, random, &open, is_header);
        }
    }
    out
}

fn push_lines(out: &mut String, random: &mut Random) {
    match random.below(12) {
        0 => out.push('\n'),
        1 => out.push_str("  \t\n\n\r\n"),
        2 => out.push_str("# put in\n"),
        3 => out.push_str("   #put in with space  \r\n\n"),
        _ => {}
    }
}

fn push_piece(out: &mut String, piece: &Piece<'_>, random: &mut Random) {
    match piece.kind {
        TokenKind::Whitespace if random.below(3) == 0 => {
            out.push_str(&" ".repeat(random.below(4) as usize));
        }
        TokenKind::Newline => match random.below(8) {
            0 => out.push_str(" # at the end\n"),
            1 => out.push_str("  \r\n"),
            _ => out.push('\n'),
        },
        _ => out.push_str(piece.text),
    }
}

fn push_space(out: &mut String, random: &mut Random, open: &[TokenKind], is_header: bool) {
    let in_array = open.last() == Some(&TokenKind::LeftSquareBracket) && !is_header;
    match random.below(16) {
        0 if !(is_header && open.len() != 1) => out.push(' '),
        1 if !is_header => out.push('\t'),
        2 if in_array => out.push_str("\n\n"),
        3 if in_array => out.push_str(" # in an array\n"),
        4 if in_array => out.push_str("\r\n      # alone \n"),
        _ => {}
    }
}

/// The text of every application and of the starter.
fn real_files() -> Vec<(String, String)> {
    let apps = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(apps).unwrap() {
        let path = entry.unwrap().path().join("keyspace.toml");
        if let Ok(text) = std::fs::read_to_string(&path) {
            files.push((path.display().to_string(), text));
        }
    }
    assert!(files.len() >= 5, "the five applications are there");
    files
}

#[test]
fn the_real_files_are_formatted() {
    for (path, text) in real_files() {
        let formatted = format(&text).unwrap();
        let differs = text.lines().zip(formatted.lines()).find(|(left, right)| left != right);
        assert!(text == formatted, "{path}: run `keyway format` on it; first: {differs:?}");
    }
}

#[test]
fn shaken_files_keep_their_values_and_comments() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut formatted_files = 0;
    for (path, text) in real_files() {
        for _ in 0..60 {
            let shaken = shaken(&text, &mut random);
            let formatted =
                format(&shaken).unwrap_or_else(|error| panic!("{path}: {error}\n{shaken}"));
            assert_eq!(comments(&shaken), comments(&formatted));
            assert_eq!(format(&formatted).unwrap(), formatted, "{path}\n{shaken}");
            formatted_files += 1;
        }
    }
    assert!(formatted_files >= 300);
}

#[test]
fn no_text_makes_it_panic() {
    let mut random = Random(7);
    let alphabet: Vec<char> = "a.=,[]{}\"'# \n\r\t\\1-|:é".chars().collect();
    for _ in 0..20_000 {
        let length = random.below(24);
        let text: String =
            (0..length).map(|_| alphabet[random.below(alphabet.len() as u64) as usize]).collect();
        if let Ok(formatted) = format(&text) {
            assert_eq!(format(&formatted).unwrap(), formatted, "{text:?}");
        } else {
            assert_ne!(format(&text), Err(FormatError::Bug), "{text:?}");
        }
    }
    assert!(format(&"[".repeat(100_000)).is_err());
    assert!(format(&format!("a = {}", "[".repeat(100_000))).is_err());
}
