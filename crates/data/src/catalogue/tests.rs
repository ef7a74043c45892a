//! What a changed file may change under rows that are there, rule by rule.

mod numbers;

use super::Catalogue;
use crate::error::{Error, ErrorKind};
use crate::schema::Schema;
use crate::value::Value;
use keyspace::diagnostic::Severity;
use keyspace::model::{Keyspace, StoreKind};
use std::sync::Arc;

const FILE: &str = r#"
[keyspace]
name = "notebook"

[collection.notes]
key = "user:{user_id: uuid}:notes | {note_id: timeuuid = new}"
fields = { title = "text", status = "open|done = 'open'", due = "date?", stars = "i64 = 0" }
index.notes_by_status = { key = "user:{user_id}:{status} | {title}", keep = ["due"] }

[collection.files]
key = "file:{kind: image|sound} | {at: timestamp}:{file_id: text}"
fields = { size = "i64" }
body = "bytes"

[collection.hits]
key = "hits:{page: text}"
value = "counter"

[pattern.add_note]
insert = "notes"

[pattern.notes_of_status]
list = "notes.notes_by_status"
page = 20

[pattern.put_file]
put = "files"

[pattern.get_file]
get = "files"

[pattern.hit]
add = "hits"
"#;

type Edits<'e> = &'e [(&'e str, &'e str)];

/// What a file means, which must be without error.
fn read(text: &str) -> Keyspace {
    let reading = keyspace::read(text);
    let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<&str> = errors.map(|error| error.message.as_str()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    reading.keyspace.unwrap()
}

/// A file with pieces replaced, each of which must be there.
fn edit(file: &str, edits: Edits<'_>) -> String {
    edits.iter().fold(file.to_string(), |file, (from, to)| {
        assert!(file.contains(from), "`{from}` is not in the file");
        file.replace(from, to)
    })
}

/// The catalogue of a store made with the file.
fn stored(file: &str) -> Catalogue {
    Catalogue::open(None, &read(file), &|_| false).unwrap()
}

/// Opens what was stored with another file, all collections full or all empty.
fn reopen(stored: &Catalogue, file: &str, is_empty: bool) -> Result<Catalogue, Error> {
    Catalogue::open(Some(&stored.to_bytes()), &read(file), &|_| is_empty)
}

/// Every reason of a refusal, as it is shown.
fn reasons(error: &Error) -> Vec<String> {
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    error.context().iter().map(|(name, value)| format!("{name} {value}")).collect()
}

#[test]
fn a_new_store_gives_numbers_in_the_order_of_the_file() {
    let catalogue = stored(FILE);
    let spaces: Vec<(&str, u16)> = catalogue.spaces.iter().map(|(n, s)| (n.as_str(), *s)).collect();
    assert_eq!(spaces, [("files", 3), ("hits", 4), ("notes", 1), ("notes.notes_by_status", 2)]);
    let fields: Vec<(&str, u16)> =
        catalogue.fields["notes"].iter().map(|(n, f)| (n.as_str(), *f)).collect();
    assert_eq!(fields, [("due", 3), ("stars", 4), ("status", 2), ("title", 1)]);
    assert_eq!(catalogue, Catalogue::fresh(&read(FILE)));
}

#[test]
fn what_was_stored_comes_back_and_can_be_read_by_people() {
    let catalogue = stored(FILE);
    assert_eq!(reopen(&catalogue, FILE, false).unwrap(), catalogue);
    let text = String::from_utf8(catalogue.to_bytes()).unwrap();
    for line in [r#""format": 1,"#, r#""keyspace": "notebook","#, r#""notes.notes_by_status": 2"#] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

const INDEX: &str =
    r#"index.notes_by_status = { key = "user:{user_id}:{status} | {title}", keep = ["due"] }"#;
const FIXED: &str =
    r#"index.notes_fixed = { key = "user:{user_id}:fixed | {status}", when = "fixed = true" }"#;
const STARS: &str = r#"stars = "i64 = 0""#;

/// What may change under rows.
const FREE: &[(&str, Edits<'_>)] = &[
    ("nothing", &[]),
    (
        "a collection",
        &[(
            "[pattern.hit]",
            "[collection.tags]\nkey = \"tag:{tag: text}\"\n\n\
                 [pattern.put_tag]\nput = \"tags\"\n\n\
                 [pattern.get_tag]\nget = \"tags\"\n\n[pattern.hit]",
        )],
    ),
    ("an optional field", &[(STARS, r#"colour = "text?", stars = "i64 = 0""#)]),
    ("a field with a default", &[(STARS, r#"mood = "text = 'calm'", stars = "i64 = 0""#)]),
    ("an optional field that is filled", &[(STARS, r#"at = "timestamp? = now", stars = "i64""#)]),
    ("a required field made optional", &[(r#"size = "i64""#, r#"size = "i64?""#)]),
    ("a field with a default made optional", &[(STARS, r#"stars = "i64?""#)]),
    ("optional, and with another default", &[(STARS, r#"stars = "i64? = 5""#)]),
    ("a removed field", &[(r#", stars = "i64 = 0""#, "")]),
    ("a word of an enum", &[("open|done", "open|done|later")]),
    ("words in another order", &[("open|done", "done|open")]),
    ("a word of an enum in a key", &[("image|sound", "image|film|sound")]),
    ("another default", &[("= 'open'", "= 'done'")]),
    ("no default", &[("open|done = 'open'", "open|done")]),
    (
        "fields in another order",
        &[("title = \"text\", ", ""), ("due = ", "title = \"text\", due = ")],
    ),
    (
        "words and expectations",
        &[("[collection.files]", "[collection.files]\nnotes = \"F\"\nexpect.row_bytes = 9")],
    ),
    ("an end", &[("[collection.files]", "[collection.files]\nttl = \"30d\"")]),
    ("a cache", &[("[collection.files]", "[collection.files]\ncache = true")]),
    ("a pattern", &[("[pattern.hit]", "[pattern.get_note]\nget = \"notes\"\n\n[pattern.hit]")]),
    ("who may", &[("get = \"files\"", "get = \"files\"\nallow = \"role:admin\"")]),
    ("a bar where the key ends anyway", &[("{page: text}", "{page: text} |")]),
    ("a default in a key", &[("{page: text}", "{page: text = 'home'}")]),
];

#[test]
fn free_changes_keep_every_number() {
    let before = stored(FILE);
    for (what, edits) in FREE {
        let file = edit(FILE, edits);
        let after = reopen(&before, &file, false).unwrap_or_else(|error| panic!("{what}: {error}"));
        for (name, number) in &before.spaces {
            assert_eq!(after.spaces.get(name), Some(number), "{what}: {name}");
        }
        for (name, number) in &before.fields["notes"] {
            assert_eq!(after.fields["notes"].get(name), Some(number), "{what}: {name}");
        }
        assert!(after.dropped.is_empty(), "{what}");
        assert_eq!(reopen(&after, &file, false).unwrap(), after, "{what}: a second time");
        Schema::new(Arc::new(read(&file)), StoreKind::Memory, after).unwrap();
    }
}

/// What changes, how, and why it is refused while there are rows.
const REFUSED: &[(&str, Edits<'_>, &[&str])] = &[
    (
        "the type of a segment",
        &[("{page: text}", "{page: uuid}")],
        &["collection hits: its key was `hits:{page: text} |` and is `hits:{page: uuid} |`"],
    ),
    (
        "the direction of a segment",
        &[("{at: timestamp}", "{at: timestamp desc}")],
        &["collection files: its key was `file:{kind: image|sound} | {at: timestamp}:"],
    ),
    (
        "the end of the group",
        &[("sound} | {at: timestamp}:", "sound}:{at: timestamp} | ")],
        &["`file:{kind: image|sound}:{at: timestamp} | {file_id: text}`"],
    ),
    (
        "another segment",
        &[("{page: text}", "{site: text}:{page: text} |")],
        &["collection hits: its key was"],
    ),
    ("a literal", &[("hits:{", "visits:{")], &["collection hits: its key was"]),
    ("the name of a segment", &[("{page: ", "{site: ")], &["collection hits: its key was"]),
    ("fewer words in a key", &[("image|sound", "image|film")], &["collection files: its key was"]),
    (
        "a bucket",
        &[("body = ", "bucket = { by = \"at\", every = \"10d\" }\nbody = ")],
        &["collection files: its bucket was `none` and is `at every 10d`"],
    ),
    (
        "the type of a field",
        &[(r#"size = "i64""#, r#"size = "u64""#)],
        &["field files.size: its type was `i64` and is `u64`; declare it as it was, give"],
    ),
    (
        "an optional field made required",
        &[(r#"due = "date?""#, r#"due = "date""#)],
        &["field notes.due: its type was `date?` and is `date`; declare it as it was, give"],
    ),
    (
        "optional, and of another type",
        &[(r#"size = "i64""#, r#"size = "u64?""#)],
        &["field files.size: its type was `i64` and is `u64?`; declare"],
    ),
    (
        "a field of an index's key made optional",
        &[(r#"title = "text""#, r#"title = "text?""#)],
        &["field notes.title: its type was `text` and is `text?`, and the entries of \
           `notes_by_status` depend on it; declare"],
    ),
    (
        "fewer words",
        &[("open|done", "open|later")],
        &["field notes.status: its type was `open|done` and is `open|later`; keep all of its"],
    ),
    (
        "a required field",
        &[(r#"size = "i64""#, r#"size = "i64", name = "text""#)],
        &["field files.name: it is new, a `text`, and the rows that are stored lack it; give"],
    ),
    (
        "a field that only a call could fill",
        &[(r#"size = "i64""#, r#"size = "i64", at_first = "timestamp = now""#)],
        &["field files.at_first: it is new"],
    ),
    (
        "another content",
        &[("value = \"counter\"", "value = \"json\""), ("add = ", "put = ")],
        &[
            "collection hits: its content was `counter` and is `json`",
            "collection hits: its mode was `counter` and is `plain`",
        ],
    ),
    (
        "another body",
        &[("body = \"bytes\"", "body = \"text\"")],
        &["collection files: its body was `bytes` and is `text`"],
    ),
    ("no body", &[("body = \"bytes\"", "")], &["its body was `bytes` and is `none`"]),
    (
        "a pattern that makes rows conditional",
        &[("put = \"files\"", "insert = \"files\"")],
        &["collection files: its mode was `plain` and is `conditional: put_file may meet a row"],
    ),
    (
        "the last reason for versions dropped",
        &[
            (INDEX, ""),
            ("insert = \"notes\"", "put = \"notes\""),
            ("list = \"notes.notes_by_status\"", "list = \"notes\""),
        ],
        &["collection notes: its mode was `conditional: "],
    ),
    (
        "a new index",
        &[
            ("body = ", "index.files_by_size = { key = \"sizes:{kind} | {size}\" }\nbody = "),
            ("put = \"files\"", "insert = \"files\""),
            ("get = \"files\"", "list = \"files.files_by_size\"\npage = 9"),
        ],
        &[
            "collection files: its mode was `plain`",
            "index files.files_by_size: it is new, and the rows that are stored have no entries",
        ],
    ),
    (
        "the source of an index's key",
        &[("| {title}", "| {lower(title)}")],
        &["{status} | {title}` and is `user:{user_id}:{status} | {title = lower(title)}`"],
    ),
    (
        "the direction of an index",
        &[("| {title}", "| {title desc}")],
        &["index notes.notes_by_status: its key was"],
    ),
    (
        "what an index keeps",
        &[("keep = [\"due\"]", "keep = [\"due\", \"stars\"]")],
        &["index notes.notes_by_status: what it keeps was `due` and is `due, stars`"],
    ),
    (
        "the condition of an index",
        &[("keep = [", "when = \"due is not null\", keep = [")],
        &["index notes.notes_by_status: its condition was `none` and is `due is not null`"],
    ),
    (
        "a unique index",
        &[("keep = [", "unique = true, keep = [")],
        &["the kind of its keys was `not unique` and is `unique`"],
    ),
    (
        "a collection that is gone",
        &[
            ("[collection.hits]\nkey = \"hits:{page: text}\"\nvalue = \"counter\"\n", ""),
            ("[pattern.hit]\nadd = \"hits\"\n", ""),
        ],
        &["collection hits: it is not declared any more, and holds rows; declare it again or em"],
    ),
    (
        "the separator",
        &[
            ("name = \"notebook\"", "name = \"notebook\"\nseparator = \"/\""),
            (":{", "/{"),
            ("}:notes", "}/notes"),
        ],
        &["keyspace notebook: its separator was `:` and is `/`"],
    ),
];

#[test]
fn what_rows_do_not_fit_is_refused_and_begins_anew_when_there_are_none() {
    let before = stored(FILE);
    for (what, edits, expected) in REFUSED {
        let file = edit(FILE, edits);
        let error = match reopen(&before, &file, false) {
            Err(error) => error,
            Ok(_) => panic!("{what} is accepted"),
        };
        let found = reasons(&error);
        assert_eq!(found.len(), expected.len(), "{what}: {found:?}");
        for (reason, expected) in found.iter().zip(*expected) {
            assert!(reason.contains(expected), "{what}: `{reason}` has `{expected}`");
        }
        let after = reopen(&before, &file, true).unwrap_or_else(|error| panic!("{what}: {error}"));
        for number in after.spaces.values() {
            assert!(!after.dropped.contains_key(number), "{what}: {number} is used again");
        }
        assert_eq!(reopen(&after, &file, false).unwrap(), after, "{what}: a second time");
        Schema::new(Arc::new(read(&file)), StoreKind::Cassandra, after).unwrap();
    }
}

#[test]
fn every_reason_is_said_at_once() {
    let file = edit(
        FILE,
        &[
            ("{page: text}", "{page: uuid}"),
            ("title = \"text\"", "title = \"text?\""),
            ("size = \"i64\"", "size = \"f64\", name = \"text\""),
        ],
    );
    let error = reopen(&stored(FILE), &file, false).unwrap_err();
    assert_eq!(error.message(), "the keyspace file does not fit what is stored");
    let places: Vec<&str> = error.context().iter().map(|(place, _)| *place).collect();
    assert_eq!(places, ["field", "field", "field", "collection"], "{error}");
}

#[test]
fn only_the_collection_that_changes_must_be_empty() {
    let before = stored(FILE);
    let file = edit(FILE, &[("{page: text}", "{page: uuid}")]);
    let hits = before.spaces["hits"];
    let after = Catalogue::open(Some(&before.to_bytes()), &read(&file), &|n| n == hits).unwrap();
    assert_eq!(after.spaces["hits"], 5);
    assert_eq!(after.dropped.get(&hits).map(String::as_str), Some("hits"));
    assert_eq!(after.spaces["notes"], before.spaces["notes"]);
    let all_but = |number| number != hits;
    assert!(Catalogue::open(Some(&before.to_bytes()), &read(&file), &all_but).is_err());
}

#[test]
fn a_store_of_another_keyspace_is_refused() {
    let file = edit(FILE, &[("name = \"notebook\"", "name = \"diary\"")]);
    let error = reopen(&stored(FILE), &file, true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert_eq!(error.value("belongs_to"), Some("notebook"));
    assert!(error.message().contains("open it with that one's file"), "{error}");
    assert_eq!(error.value("given"), Some("diary"));
}

#[test]
fn what_a_newer_version_wrote_is_refused_as_such() {
    let text = String::from_utf8(stored(FILE).to_bytes()).unwrap();
    let newer = text.replace("\"format\": 1", "\"format\": 2, \"unheard\": true");
    let error = Catalogue::open(Some(newer.as_bytes()), &read(FILE), &|_| true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.message().contains("newer version"), "{error}");
    assert_eq!((error.value("format"), error.value("format_known")), (Some("2"), Some("1")));
}

#[test]
fn a_damaged_catalogue_is_never_half_understood() {
    let text = String::from_utf8(stored(FILE).to_bytes()).unwrap();
    let cases = [
        String::new(),
        "[]".to_string(),
        edit(&text, &[("\"format\": 1", "\"format\": 0")]),
        edit(&text, &[("\"format\": 1", "\"format\": \"1\"")]),
        edit(&text, &[("\"format\": 1", "\"format\": 1, \"more\": 1")]),
        edit(&text, &[("\"hits\": 4", "\"hits\": 3")]),
        edit(&text, &[("\"hits\": 4", "\"hits\": 5")]),
        edit(&text, &[("\"hits\": 4,", "")]),
        edit(&text, &[("\"notes.notes_by_status\": 2", "\"notes.another\": 2")]),
        edit(&text, &[("\"size\": 1", "\"size\": 0")]),
        edit(&text, &[("\"title\": 1", "\"title\": 2")]),
        edit(&text, &[("\"title\": 1", "\"name\": 1")]),
        text.chars().take(text.len() / 2).collect(),
    ];
    for damaged in cases {
        let error = Catalogue::open(Some(damaged.as_bytes()), &read(FILE), &|_| true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{damaged}");
    }
}
