//! The decisions behind the layouts of stores of keys, as data: what the prints are made from.

#![allow(clippy::unwrap_used, clippy::panic)]

use keyspace::layout::files::{self, Holds};
use keyspace::layout::indexeddb::{self, Cursor, Element};
use keyspace::layout::redis::{Container, Expires, MemberForm, RedisType, Role, SliceForm};
use keyspace::layout::{self, engine, redis};
use keyspace::model::{FilePart, Key, Keyspace, Part, StoreKind};
use std::path::Path;

/// The applications, and the keyspaces written for these tests.
const ALL: [&str; 8] =
    ["chat", "documents", "keri", "scaffold", "spreadapi", "ledger", "shapes", "types"];

fn read(name: &str) -> Keyspace {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = match name {
        "ledger" | "shapes" | "types" => {
            here.join("tests/golden/layout").join(name).join("keyspace.toml")
        }
        app => here.join("../../apps").join(app).join("keyspace.toml"),
    };
    let reading = keyspace::read(&std::fs::read_to_string(path).unwrap());
    reading.keyspace.unwrap_or_else(|| panic!("{:#?}", reading.diagnostics))
}

fn name(container: &Container) -> String {
    Key::template_of(&container.parts, ':')
}

/// The containers of a collection or index, helpers included: name, type, role.
fn containers_of(keyspace: &Keyspace, served: &str) -> Vec<(String, RedisType, Role)> {
    redis::containers(keyspace, StoreKind::Redis)
        .iter()
        .filter(|container| container.serves.name() == served)
        .map(|container| (name(container), container.redis_type, container.role))
        .collect()
}

fn container(keyspace: &Keyspace, served: &str, role: Role) -> Container {
    let mut all = redis::containers(keyspace, StoreKind::Redis).into_iter();
    all.find(|container| container.serves.name() == served && container.role == role).unwrap()
}

fn same(found: Vec<(String, RedisType, Role)>, expected: &[(&str, RedisType, Role)]) {
    let found: Vec<_> =
        found.iter().map(|(name, kind, role)| (name.as_str(), *kind, *role)).collect();
    assert_eq!(found, expected);
}

#[test]
fn spreadapi_has_the_redis_types_its_authors_chose() {
    let keyspace = read("spreadapi");
    let cases = [
        ("user", "user:{user_id}", RedisType::Hash, Role::Record),
        ("user_by_email", "email:{email}", RedisType::String, Role::Claim),
        ("tenant_users", "tenant:{tenant_id}:users", RedisType::Set, Role::Entries),
        ("user_services", "user:{user_id}:services", RedisType::Set, Role::Entries),
        ("services_published", "tenant:{tenant_id}:published", RedisType::SortedSet, Role::Entries),
        ("api_cache", "service:{service_id}:cache:api", RedisType::String, Role::Value),
        (
            "result_cache",
            "service:{service_id}:cache:result:{hash}",
            RedisType::String,
            Role::Value,
        ),
        ("analytics", "service:{service_id}:analytics", RedisType::Hash, Role::Counters),
        ("rate", "service:{service_id}:rate:{client_id}", RedisType::String, Role::Counter),
    ];
    for (served, name, redis_type, role) in cases {
        same(containers_of(&keyspace, served), &[(name, redis_type, role)]);
    }
    assert_eq!(container(&keyspace, "rate", Role::Counter).expires, Some(Expires::AtEnd));
    assert_eq!(container(&keyspace, "api_cache", Role::Value).expires, Some(Expires::AtEnd));
    assert_eq!(container(&keyspace, "token", Role::Record).expires, Some(Expires::AfterGrace));
}

#[test]
fn bare_keys_are_a_set_a_sorted_set_or_strings() {
    let keyspace = read("shapes");
    let (set, sorted) = (RedisType::Set, RedisType::SortedSet);
    same(containers_of(&keyspace, "likes"), &[("post:{post_id}:likes", set, Role::Keys)]);
    let followers = [("user:{user_id}:followers", sorted, Role::Keys)];
    same(containers_of(&keyspace, "followers"), &followers);
    let invites = [
        ("user:{user_id}:invites:{code}", RedisType::String, Role::Value),
        ("user:{user_id}:invites", sorted, Role::Order),
        ("~x:user:{user_id}:invites", sorted, Role::Expiries),
    ];
    same(containers_of(&keyspace, "invites"), &invites);
    same(
        containers_of(&keyspace, "banned"),
        &[("banned:{user_id}", RedisType::String, Role::Value)],
    );
}

#[test]
fn slices_never_have_the_name_of_a_row() {
    let keyspace = read("shapes");
    let measures = container(&keyspace, "measures", Role::Order);
    assert_eq!(measures.slice, Some(SliceForm::Minute), "a row may end in a date");
    assert_eq!(measures.member, Some(MemberForm::Sortable { reverse: true }));
    let events = container(&keyspace, "events", Role::Order);
    assert_eq!(events.slice, Some(SliceForm::Minute));
    assert_eq!(name(&events), "stream:{stream_id}:{slice}");
    assert_eq!(name(&container(&keyspace, "events", Role::Slices)), "~b:stream:{stream_id}");
    let messages = container(&read("chat"), "messages_by_channel", Role::Order);
    assert_eq!(messages.slice, Some(SliceForm::Day));
}

/// The templates that could be one key, according to the checker.
fn collisions(collections: &str) -> usize {
    let text = format!("[keyspace]\nname = \"t\"\n{collections}");
    keyspace::read(&text).diagnostics.iter().filter(|problem| problem.code.number == 102).count()
}

#[test]
fn the_checker_knows_every_container() {
    let listed = r#"
        [collection.notes]
        key = "user:{user_id: text}:notes | {note_id: text}"
        value = "text"
        [pattern.notes_of]
        list = "notes"
        page = 10
    "#;
    let beside = r#"
        [collection.all_notes]
        key = "user:{user_id: text}:notes"
        value = "text"
        [pattern.all]
        get = "all_notes"
    "#;
    let sliced = r#"
        [collection.log]
        key = "log:{log_id: text} | {at: timestamp}"
        value = "text"
        bucket = { by = "at", every = "1h" }
        [pattern.log_of]
        list = "log"
        page = 10
    "#;
    assert_eq!(collisions(&format!("{listed}{beside}")), 1);
    assert_eq!(collisions(listed) + collisions(beside) + collisions(sliced), 0);
}

#[test]
fn orders_give_way_to_what_has_the_groups_own_name() {
    let keyspace = read("shapes");
    let hits = [
        ("site:{site_id}:hits", RedisType::Hash, Role::Counters),
        ("~k:site:{site_id}:hits", RedisType::SortedSet, Role::Order),
    ];
    same(containers_of(&keyspace, "hits"), &hits);
    let attachments = container(&keyspace, "attachments", Role::Order);
    assert_eq!(name(&attachments), "~k:page:{page_id}:files");
    assert_eq!(attachments.member, Some(MemberForm::Encoded));
    let ledger = read("ledger");
    assert_eq!(name(&container(&ledger, "orders", Role::Order)), "shop:{shop_id}:order");
    assert_eq!(name(&container(&ledger, "lines", Role::Order)), "shop:{shop_id}:order:line");
}

#[test]
fn what_ends_and_is_listed_is_swept() {
    let keyspace = read("shapes");
    let tries = [
        ("site:{site_id}:tries:{client}", RedisType::String, Role::Counter),
        ("site:{site_id}:tries", RedisType::SortedSet, Role::Order),
        ("~x:site:{site_id}:tries", RedisType::SortedSet, Role::Expiries),
    ];
    same(containers_of(&keyspace, "tries"), &tries);
    let quota = [("site:{site_id}:quota:{client}", RedisType::String, Role::Counter)];
    same(containers_of(&keyspace, "quota"), &quota);
}

#[test]
fn a_body_alone_is_a_record() {
    let keyspace = read("shapes");
    same(containers_of(&keyspace, "blobs"), &[("blob:{blob_id}", RedisType::Hash, Role::Record)]);
    assert_eq!(paths(&keyspace, "blobs"), ["blob/{blob_id}"]);
}

#[test]
fn a_body_never_takes_the_name_of_a_field() {
    let keyspace = read("types");
    assert_eq!(layout::body_name(&keyspace, keyspace.collection("down").unwrap()), "_data");
    assert_eq!(layout::body_name(&keyspace, keyspace.collection("fields").unwrap()), "data");
}

#[test]
fn entries_that_keep_fields_are_hashes() {
    let keyspace = read("shapes");
    let claim = [("address:{email}", RedisType::Hash, Role::Claim)];
    same(containers_of(&keyspace, "people_by_email"), &claim);
    let entries = [
        ("team:{team}:{name}:{person_id}", RedisType::Hash, Role::Entry),
        ("team:{team}", RedisType::SortedSet, Role::Order),
    ];
    same(containers_of(&keyspace, "people_by_name"), &entries);
}

#[test]
fn extra_fields_are_there_only_where_they_are_needed() {
    let fields = |keyspace: &Keyspace, name: &str| {
        redis::extra_fields(keyspace, StoreKind::Redis, keyspace.collection(name).unwrap())
    };
    let shapes = read("shapes");
    assert_eq!(fields(&shapes, "events"), [""; 0]);
    assert_eq!(fields(&shapes, "flags"), ["~r"], "a Hash of nulls alone would not exist");
    assert_eq!(fields(&shapes, "people"), ["~v"]);
    assert_eq!(fields(&read("spreadapi"), "token"), ["~v", "~x"]);
}

#[test]
fn containers_of_one_group_have_one_place_on_a_cluster() {
    for app in ALL {
        let keyspace = read(app);
        for container in redis::containers(&keyspace, StoreKind::RedisCluster) {
            let collection = keyspace.collection(&container.serves.collection).unwrap();
            let key = match &container.serves.index {
                Some(name) => &collection.index(name).unwrap().key,
                None => &collection.key,
            };
            let place = container.parts.get(container.tag.clone()).unwrap();
            assert_eq!(place, key.group().get(..place.len()).unwrap(), "{}", name(&container));
            let typed = key.group_segments().count();
            assert_eq!(place.iter().filter_map(Part::segment).count(), typed);
            assert!(typed == 0 || place.last().unwrap().segment().is_some());
        }
    }
}

#[test]
fn only_what_is_shared_has_a_name_twice() {
    for app in ALL {
        let mut seen: Vec<String> = Vec::new();
        for container in redis::containers(&read(app), StoreKind::Redis) {
            let name = name(&container);
            assert!(container.role.is_shared() || !seen.contains(&name), "{app}: {name}");
            seen.push(name);
        }
    }
}

fn paths(keyspace: &Keyspace, served: &str) -> Vec<String> {
    let files = files::files(keyspace).into_iter().filter(|file| file.serves.name() == served);
    let text = |path: Vec<FilePart>| {
        path.iter().fold(String::new(), |text, part| match part {
            FilePart::Literal(literal) => text + literal,
            FilePart::Member(name) => format!("{text}{{{name}}}"),
        })
    };
    files.map(|file| text(file.path)).collect()
}

#[test]
fn keri_has_its_own_paths_on_disk() {
    let keyspace = read("keri");
    let kel = ["kel/{aid}/{said}.{event_type}.cesr", "meta/kel/{said}.json"];
    assert_eq!(paths(&keyspace, "kel"), kel);
    assert_eq!(paths(&keyspace, "acdc"), ["acdc/{said}.json", "meta/acdc/{said}.json"]);
    assert_eq!(paths(&keyspace, "schema"), ["schema/{said}.json"]);
    assert_eq!(paths(&keyspace, "head"), ["head/{log}/{id}", "meta/head/{log}/{id}.json"]);
    assert_eq!(paths(&keyspace, "alias"), ["alias/{scope}/{alias}"]);
    assert_eq!(paths(&keyspace, "kel_by_sn"), ["idx/kel/{aid}/{sn}"]);
    assert_eq!(paths(&keyspace, "kel_next"), ["idx/prev/{prior}"]);
    assert_eq!(paths(&keyspace, "tel_by_time"), ["idx/tel/{registry_id}/{said}"]);
    assert!(paths(&keyspace, "kel_by_said").is_empty());
    let by_sn =
        files::files(&keyspace).into_iter().find(|f| f.serves.name() == "kel_by_sn").unwrap();
    let Holds::Entries(line) = by_sn.holds else { panic!("{by_sn:?}") };
    assert_eq!(Key::template_of(&line, '/'), "{said}");
}

#[test]
fn a_file_never_stands_where_a_directory_could() {
    let keyspace = read("shapes");
    assert_eq!(paths(&keyspace, "pages"), ["page/{page_id}.value", "page/{page_id}.fields.json"]);
    assert_eq!(paths(&keyspace, "attachments"), ["page/{page_id}/files/{path}.value"]);
    assert_eq!(paths(&keyspace, "banned"), ["banned/{user_id}"]);
}

#[test]
fn indexed_db_reads_groups_from_either_end() {
    let keyspace = read("shapes");
    let stores = indexeddb::object_stores(&keyspace);
    let measures = stores.iter().find(|store| store.name == "measures").unwrap();
    assert_eq!(measures.cursor, Cursor::Previous);
    let chat = indexeddb::object_stores(&read("chat"));
    let edits = chat.iter().find(|store| store.name == "revisions").unwrap();
    assert_eq!(edits.elements.last().map(|(_, element)| *element), Some(Element::Encoded));
}

#[test]
fn engine_numbers_follow_the_file() {
    let spaces = engine::spaces(&read("spreadapi"));
    let first: Vec<(u16, &str)> =
        spaces.iter().take(4).map(|space| (space.number, space.serves.name())).collect();
    let expected = [(1, "user"), (2, "user_by_email"), (3, "tenant_users"), (4, "tenant")];
    assert_eq!(first, expected);
}
