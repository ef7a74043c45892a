//! Numbers of spaces and fields, and what old rows answer, over several changes of a file.

use super::*;

#[test]
fn a_rename_keeps_the_numbers() {
    let before = stored(FILE);
    let file = edit(
        FILE,
        &[
            ("[collection.notes]", "[collection.memos]\nwas = \"notes\""),
            ("insert = \"notes\"", "insert = \"memos\""),
            ("list = \"notes.notes_by_status\"", "list = \"memos.memos_by_status\""),
            ("index.notes_by_status = {", "index.memos_by_status = { was = \"notes_by_status\","),
        ],
    );
    let after = reopen(&before, &file, false).unwrap();
    assert_eq!(after.spaces["memos"], before.spaces["notes"]);
    assert_eq!(after.spaces["memos.memos_by_status"], before.spaces["notes.notes_by_status"]);
    assert_eq!(after.fields["memos"], before.fields["notes"]);
    assert_eq!(after.spaces.len(), before.spaces.len());
    assert!(after.dropped.is_empty() && !after.fields.contains_key("notes"));
    // `was` may stay in the file.
    assert_eq!(reopen(&after, &file, false).unwrap(), after);
    // Without it, the rows would be left behind.
    let file = edit(&file, &[("was = \"notes\"\n", "")]);
    let found = reasons(&reopen(&before, &file, false).unwrap_err());
    assert!(found[0].starts_with("collection notes: it is not declared any more"), "{found:?}");
    assert!(found[0].contains("`was = \"notes\"`"), "{found:?}");
}

const NO_INDEX: Edits<'_> =
    &[(INDEX, ""), ("list = \"notes.notes_by_status\"", "list = \"notes\"")];

#[test]
fn a_dropped_index_never_gets_its_number_back() {
    let before = stored(FILE);
    let without = edit(FILE, NO_INDEX);
    let dropped = reopen(&before, &without, false).unwrap();
    assert_eq!(dropped.dropped.get(&2).map(String::as_str), Some("notes.notes_by_status"));
    assert!(!dropped.spaces.contains_key("notes.notes_by_status"));
    let found = reasons(&reopen(&dropped, FILE, false).unwrap_err());
    assert!(found[0].starts_with("index notes.notes_by_status: it is new"), "{found:?}");
    // Without rows it is added, and the collection stays what it is.
    let again = reopen(&dropped, FILE, true).unwrap();
    assert_eq!(again.spaces["notes.notes_by_status"], 5);
    assert_eq!(again.spaces["notes"], 1);
    assert!(again.dropped.contains_key(&2));
}

#[test]
fn numbers_of_dropped_spaces_are_remembered_when_they_were_the_last() {
    let without = edit(
        FILE,
        &[
            ("[collection.hits]\nkey = \"hits:{page: text}\"\nvalue = \"counter\"\n", ""),
            ("[pattern.hit]\nadd = \"hits\"\n", ""),
        ],
    );
    let dropped = reopen(&stored(FILE), &without, true).unwrap();
    assert_eq!(reopen(&dropped, FILE, false).unwrap().spaces["hits"], 5);
}

#[test]
fn a_removed_field_gets_its_number_back_if_its_type_is_the_same() {
    let stars = ", stars = \"i64 = 0\"";
    let without = edit(FILE, &[(stars, "")]);
    let removed = reopen(&stored(FILE), &without, false).unwrap();
    // A field added in between gets another number.
    let other = edit(FILE, &[(stars, ", mood = \"text?\"")]);
    let with_other = reopen(&removed, &other, false).unwrap();
    assert_eq!(with_other.fields["notes"]["mood"], 5);
    assert_eq!(reopen(&with_other, FILE, false).unwrap().fields["notes"]["stars"], 4);
    let changed = edit(FILE, &[(stars, ", stars = \"text?\"")]);
    let found = reasons(&reopen(&removed, &changed, false).unwrap_err());
    assert!(found[0].contains("its type was `i64`, before it was removed"), "{found:?}");
}

#[test]
fn a_required_field_that_comes_back_must_answer_for_the_rows_written_without_it() {
    let size = "fields = { size = \"i64\" }";
    let without = edit(FILE, &[(size, "fields = { name = \"text?\" }")]);
    let removed = reopen(&stored(FILE), &without, false).unwrap();
    let found = reasons(&reopen(&removed, FILE, false).unwrap_err());
    assert!(found[0].starts_with("field files.size: it is new, a `i64`"), "{found:?}");
    let with_default = edit(FILE, &[(size, "fields = { size = \"i64 = 7\" }")]);
    let back = reopen(&removed, &with_default, false).unwrap();
    assert_eq!(missing(&back, &with_default, "files", "size"), Value::I64(7));
    assert_eq!(back.fields["files"]["size"], 1);
}

/// What records without a field answer.
fn missing(catalogue: &Catalogue, file: &str, collection: &str, field: &str) -> Value {
    let keyspace = read(file);
    let field = keyspace.collection(collection).unwrap().field(field).unwrap().clone();
    catalogue.missing(collection, &field)
}

#[test]
fn what_old_rows_answer_does_not_change_with_a_default() {
    let mood = |default: &str| {
        edit(FILE, &[("due = \"date?\"", &format!("due = \"date?\", mood = \"text?{default}\""))])
    };
    let calm = reopen(&stored(FILE), &mood(" = 'calm'"), false).unwrap();
    assert_eq!(missing(&calm, &mood(" = 'calm'"), "notes", "mood"), Value::Text("calm".into()));
    for default in [" = 'glad'", ""] {
        let later = reopen(&calm, &mood(default), false).unwrap();
        assert_eq!(missing(&later, &mood(default), "notes", "mood"), Value::Text("calm".into()));
    }
    // A null that a record left out must not turn into a default that came later.
    let none = reopen(&stored(FILE), &mood(""), false).unwrap();
    let later = reopen(&none, &mood(" = 'calm'"), false).unwrap();
    assert_eq!(missing(&later, &mood(" = 'calm'"), "notes", "mood"), Value::Null);
}

#[test]
fn rows_are_read_through_every_change_of_their_fields() {
    let schema = |catalogue: &Catalogue, file: &str| {
        Schema::new(Arc::new(read(file)), StoreKind::Memory, catalogue.clone()).unwrap()
    };
    let before = stored(FILE);
    let old = schema(&before, FILE);
    let values = [Value::Text("a".into()), Value::Text("done".into()), Value::Null, Value::I64(3)];
    let row = old.collection("notes").unwrap().encode(&values).unwrap();
    let file = edit(
        FILE,
        &[
            ("title = \"text\", ", ""),
            (", stars = \"i64 = 0\"", ", mood = \"text = 'calm'\", title = \"text\""),
            ("open|done", "later|open|done"),
        ],
    );
    let new = schema(&reopen(&before, &file, false).unwrap(), &file);
    let read = new.collection("notes").unwrap().decode(&row).unwrap();
    let [status, due, mood, title] = read.as_slice() else { panic!("{read:?}") };
    assert_eq!((status, due), (&Value::Text("done".into()), &Value::Null));
    assert_eq!((mood, title), (&Value::Text("calm".into()), &Value::Text("a".into())));
}

#[test]
fn a_field_made_optional_holds_nulls_beside_what_was_stored() {
    let before = stored(FILE);
    let schema = |catalogue: &Catalogue, file: &str| {
        Schema::new(Arc::new(read(file)), StoreKind::Memory, catalogue.clone()).unwrap()
    };
    let row = |stars: Value| {
        [Value::Text("a".into()), Value::Text("open".into()), Value::Null, stars].to_vec()
    };
    let old = schema(&before, FILE).collection("notes").unwrap().encode(&row(Value::I64(3)));
    // A row that was written before the field was added answers its default for good.
    let older = edit(FILE, &[(", stars = \"i64 = 0\"", "")]);
    let without = stored(&older);
    let oldest =
        schema(&without, &older).collection("notes").unwrap().encode(&row(Value::Null)[..3]);
    let between = reopen(&without, FILE, false).unwrap();
    let file = edit(FILE, &[(STARS, r#"stars = "i64?""#)]);
    let after = reopen(&between, &file, false).unwrap();
    let new = schema(&after, &file);
    let notes = new.collection("notes").unwrap();
    assert_eq!(notes.decode(&old.unwrap()).unwrap(), row(Value::I64(3)));
    assert_eq!(notes.decode(&oldest.unwrap()).unwrap(), row(Value::I64(0)));
    let null = notes.encode(&row(Value::Null)).unwrap();
    assert_eq!(notes.decode(&null).unwrap(), row(Value::Null));
    // There may be nulls now, so there is no way back.
    let found = reasons(&reopen(&after, FILE, false).unwrap_err());
    assert!(found[0].contains("its type was `i64?` and is `i64`"), "{found:?}");
}

#[test]
fn what_entries_or_items_depend_on_is_not_made_optional() {
    let base = edit(
        FILE,
        &[
            (STARS, r#"fixed = "bool = false", links = "[text] = []""#),
            (INDEX, &format!("{INDEX}\n{FIXED}")),
            (
                "[pattern.put_file]",
                "[pattern.fixed]\nlist = \"notes.notes_fixed\"\npage = 9\n\n[pattern.put_file]",
            ),
        ],
    );
    let before = stored(&base);
    for (from, to, reason) in [
        (
            "bool = false",
            "bool?",
            "its type was `bool` and is `bool?`, and the entries of `notes_fixed` depend on it",
        ),
        ("[text] = []", "[text?] = []", "its type was `[text]` and is `[text?]`; declare"),
    ] {
        let found = reasons(&reopen(&before, &edit(&base, &[(from, to)]), false).unwrap_err());
        assert!(found[0].contains(reason), "{found:?}");
    }
    let kept = edit(&base, &[(r#"links = "[text] = []""#, r#"links = "[text]?""#)]);
    reopen(&before, &kept, false).unwrap();
}

#[test]
fn numbers_run_out_with_a_word_and_not_silently() {
    let mut last = stored(FILE);
    last.last_space = u16::MAX;
    let file = edit(FILE, &[("{page: text}", "{page: uuid}")]);
    assert_eq!(reopen(&last, &file, true).unwrap_err().kind(), ErrorKind::TooLarge);
    let mut last = stored(FILE);
    last.collections.get_mut("files").unwrap().last_field = u16::MAX - 1;
    let file = edit(FILE, &[("size = \"i64\"", "size = \"i64\", name = \"text?\"")]);
    assert_eq!(reopen(&last, &file, false).unwrap_err().kind(), ErrorKind::TooLarge);
}
