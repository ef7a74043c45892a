//! The marker `~keyway`: which keyspace a database belongs to, its numbers, and its places.
//!
//! ```text
//! ~keyway   keyspace  chat
//!           catalogue {"format": 1, …}        numbers and what they were given for
//!           layout    {"users": {…}, …}       where the rows of each collection are
//!           secret    …                       seals the cursors of all processes
//! ```
//!
//! The catalogue knows what decides about a row's bytes; where a row lies in Redis depends on more:
//! on who lists it, how it ends, how names are shown. A file that would look for rows elsewhere
//! than they are is refused as long as there are rows.

use super::RedisStore;
use super::answers::Questions;
use super::commit::question;
use super::connection::Connection;
use super::error::{failed, foreign, unexpected};
use super::protocol::{Part, Reader};
use super::script::Arguments;
use data::catalogue::Catalogue;
use data::{Error, ErrorKind, Result};
use keyspace::key::text::{parse_scalar, scalar_text};
use keyspace::key::{self, KeyType};
use keyspace::layout::redis::{Container, MARKER, MARKER_FIELDS, containers, extra_fields};
use keyspace::layout::{Serves, body_name};
use keyspace::model::{Collection, Key, Keyspace, StoreKind};
use redis::Value;
use serde_json::{Map, Value as Json, json};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// How often another process may have been faster.
const ATTEMPTS_MAX: usize = 16;

/// What the marker holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Marker {
    catalogue: Option<Vec<u8>>,
    layout: Option<Vec<u8>>,
}

impl RedisStore {
    /// The numbers the database has for a keyspace; those that are new are written first.
    pub(super) async fn take_in(&self, keyspace: &Keyspace) -> Result<Catalogue> {
        for _ in 0..ATTEMPTS_MAX {
            let marker = self.marker().await?;
            let (catalogue, written) = self.compared(keyspace, &marker).await?;
            if marker == written || self.mark(keyspace, &marker, &written).await? {
                return Ok(catalogue);
            }
        }
        Err(Error::new(ErrorKind::Busy, "other processes open the store again and again"))
    }

    /// Whether the database says of itself that a keyspace is in it.
    pub(super) async fn is_marked(&self) -> Result<bool> {
        Ok(self.marker().await?.catalogue.is_some())
    }

    async fn marker(&self) -> Result<Marker> {
        let mut questions = Questions::default();
        let [_, catalogue, layout, _] = MARKER_FIELDS;
        let name = self.marker_name();
        questions.ask("HMGET", &name, &[catalogue.as_bytes(), layout.as_bytes()]);
        let answered = self.answers(questions).await?;
        let mut answers = answered.read();
        let Part::Many(2) = answers.next()? else { return Err(unexpected()) };
        let catalogue = answers.text_or_nothing()?.map(<[u8]>::to_vec);
        let layout = answers.text_or_nothing()?.map(<[u8]>::to_vec);
        Ok(Marker { catalogue, layout })
    }

    /// The secret that the marker keeps: the one that is there, or this one.
    pub(super) async fn shared_secret(&self, fresh: [u8; 32]) -> Result<[u8; 32]> {
        let [.., field] = MARKER_FIELDS;
        let (name, fresh) = (self.marker_name(), key::Value::bytes(&fresh));
        let fresh = scalar_text(&fresh)?.into_owned();
        let mut questions = Questions::default();
        // The one write outside the scripts: it can only succeed once.
        questions.ask("HSETNX", &name, &[field.as_bytes(), fresh.as_bytes()]);
        questions.ask("HGET", &name, &[field.as_bytes()]);
        let answered = self.answers(questions).await?;
        let mut answers = answered.read();
        answers.number()?;
        let text = answers.bytes()?.ok_or_else(unexpected)?;
        let wrong = || Error::new(ErrorKind::Corrupt, "the secret in ~keyway cannot be read");
        let text = std::str::from_utf8(text).map_err(|_| wrong())?;
        match parse_scalar(KeyType::Bytes, text) {
            Ok(key::Value::Bytes(bytes)) => bytes.as_ref().try_into().map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    pub(super) fn marker_name(&self) -> Vec<u8> {
        format!("{}{MARKER}", self.options.prefix).into_bytes()
    }

    /// The catalogue for a keyspace, and the marker that goes with it.
    async fn compared(&self, keyspace: &Keyspace, marker: &Marker) -> Result<(Catalogue, Marker)> {
        let known = stored_places(marker.layout.as_deref())?;
        let stored = marker.catalogue.as_deref();
        let (first, is_asked) = opened_blindly(stored, keyspace);
        let moved = moved(keyspace, self.kind(), &known);
        let catalogue = match (is_asked, moved.is_empty()) {
            (false, true) => first?,
            // Something has changed that only matters if there are rows.
            _ => {
                let filled = self.filled(&known).await?;
                let numbers: BTreeSet<u16> = match stored {
                    Some(_) => numbers_of(stored, &filled),
                    None => BTreeSet::new(),
                };
                let catalogue =
                    Catalogue::open(stored, keyspace, &|number| !numbers.contains(&number))?;
                refuse_moved(moved, &filled)?;
                catalogue
            }
        };
        let places = serde_json::to_vec_pretty(&Json::Object(places(keyspace, self.kind())));
        let layout = places.map_err(|error| {
            Error::new(ErrorKind::Internal, "a layout cannot be written").caused_by(error)
        })?;
        let written = Marker { catalogue: Some(catalogue.to_bytes()), layout: Some(layout) };
        Ok((catalogue, written))
    }

    /// Writes the marker, unless another process has changed it meanwhile.
    async fn mark(&self, keyspace: &Keyspace, was: &Marker, is: &Marker) -> Result<bool> {
        let mut call = Arguments::default();
        call.key(self.marker_name(), b'h');
        call.values.push(was.catalogue.clone().unwrap_or_default());
        let values = [
            Some(keyspace.name.value.clone().into_bytes()),
            is.catalogue.clone(),
            is.layout.clone(),
        ];
        for (name, value) in MARKER_FIELDS.iter().zip(values) {
            call.values.push(*name);
            call.values.push(value.unwrap_or_default());
        }
        let until = tokio::time::Instant::now() + super::Within::of_reads().0;
        let answer = self.mark_script.run(&self.servers, &call, until).await.map_err(failed)?;
        match Reader::new(&answer).part() {
            Some(Part::Number(done)) => Ok(done == 1),
            Some(Part::Text(found)) => {
                let found = String::from_utf8_lossy(found);
                Err(foreign(&self.marker_name(), &found, "hash"))
            }
            _ => Err(unexpected()),
        }
    }

    /// The collections that have rows, by where their rows were.
    async fn filled(&self, known: &BTreeMap<String, Places>) -> Result<BTreeSet<String>> {
        let mut filled = BTreeSet::new();
        for master in self.servers.masters() {
            self.add_filled(&master, known, &mut filled).await?;
        }
        Ok(filled)
    }

    async fn add_filled(
        &self,
        master: &Connection,
        known: &BTreeMap<String, Places>,
        filled: &mut BTreeSet<String>,
    ) -> Result<()> {
        let mut cursor = Some(b"0".to_vec());
        while let Some(from) = cursor {
            let glob = [self.glob_prefix(), b"*".to_vec()].concat();
            let mut command = redis::Cmd::new();
            command.arg("SCAN").arg(&from).arg("MATCH").arg(&glob);
            command.arg("COUNT").arg(1_000);
            let (next, names) = scanned(question(master, &command).await?)?;
            for name in names {
                let name = name.strip_prefix(self.options.prefix.as_bytes()).unwrap_or_default();
                let mut name = String::from_utf8_lossy(name).into_owned();
                // Braces of values are escaped: those that are there mark the slot.
                name.retain(|letter| !matches!(letter, '{' | '}'));
                let holds = |places: &Places| is_of(&places.rows, places.separator, &name);
                let of = known.iter().filter(|(_, places)| holds(places));
                filled.extend(of.map(|(collection, _)| collection.clone()));
            }
            cursor = next;
        }
        Ok(())
    }
}

/// The catalogue, and whether it depends on which collections have rows.
fn opened_blindly(stored: Option<&[u8]>, keyspace: &Keyspace) -> (Result<Catalogue>, bool) {
    let is_asked = Cell::new(false);
    let ask = |_| {
        is_asked.set(true);
        false
    };
    let catalogue = Catalogue::open(stored, keyspace, &ask);
    (catalogue, is_asked.get())
}

/// Where to go on, if there is more, and names of keys.
type Scanned = (Option<Vec<u8>>, Vec<Vec<u8>>);

fn scanned(answer: Value) -> Result<Scanned> {
    let Value::Array(parts) = answer else { return Err(unexpected()) };
    let mut parts = parts.into_iter();
    let (Some(Value::BulkString(next)), Some(Value::Array(names))) = (parts.next(), parts.next())
    else {
        return Err(unexpected());
    };
    let names = names.into_iter().filter_map(|name| match name {
        Value::BulkString(name) => Some(name),
        _ => None,
    });
    Ok(((next != b"0").then_some(next), names.collect()))
}

/// The numbers of collections that have rows, and of all that belongs to them.
fn numbers_of(stored: Option<&[u8]>, filled: &BTreeSet<String>) -> BTreeSet<u16> {
    let document: Option<Json> = stored.and_then(|stored| serde_json::from_slice(stored).ok());
    let spaces = document.as_ref().and_then(|document| document.get("spaces")?.as_object());
    let of = spaces.into_iter().flatten().filter_map(|(name, number)| {
        let collection = name.split(['.', '/']).next()?;
        let number = u16::try_from(number.as_u64()?).ok()?;
        filled.contains(collection).then_some(number)
    });
    of.collect()
}

/// Where the rows of a collection were, and all that decides about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Places {
    /// The template of the rows' names.
    rows: String,
    separator: char,
    /// Everything of it in Redis, one line each.
    containers: BTreeSet<String>,
    /// Its fields, and the names they have in a Hash.
    fields: BTreeMap<String, String>,
}

/// The places of a keyspace, as the marker keeps them.
fn places(keyspace: &Keyspace, store: StoreKind) -> Map<String, Json> {
    let all = containers(keyspace, store);
    let of = |collection: &Collection| {
        let places = places_of((keyspace, store), collection, &all);
        json!({
            "rows": places.rows,
            "separator": places.separator.to_string(),
            "containers": places.containers,
            "fields": places.fields,
        })
    };
    let each = keyspace.collections.iter();
    each.map(|collection| (collection.name.value.clone(), of(collection))).collect()
}

fn places_of(
    (keyspace, store): (&Keyspace, StoreKind),
    collection: &Collection,
    all: &[Container],
) -> Places {
    let name = &collection.name.value;
    let own: Vec<&Container> = all.iter().filter(|c| c.serves.collection == *name).collect();
    let template = |container: &Container| Key::template_of(&container.parts, keyspace.separator);
    let rows = own.iter().find(|c| c.serves.index.is_none() && !c.role.is_helper());
    let line = |container: &&Container| {
        let Container { redis_type, role, serves, member, expires, slice, .. } = container;
        let Serves { index, .. } = serves;
        let of = index.as_deref().unwrap_or("rows");
        // What a slice or an order is for is in its name already.
        let shape = (member, expires, slice);
        format!("{redis_type} {} for {of}: {role:?} {shape:?}", template(container))
    };
    let extra = extra_fields(keyspace, store, collection).join(" ");
    let mut fields: BTreeMap<String, String> = collection
        .fields()
        .iter()
        .map(|field| (field.name.clone(), keyspace.shown(&field.name)))
        .collect();
    if collection.body.is_some() {
        fields.insert("body".to_string(), body_name(keyspace, collection).to_string());
    }
    let mut containers: BTreeSet<String> = own.iter().map(line).collect();
    // Which nulls are named depends on fields that may be added, and is read either way.
    containers.insert(format!("extra fields: {}", extra.replace("~n", "").trim()));
    Places {
        rows: rows.map(|container| template(container)).unwrap_or_default(),
        separator: keyspace.separator,
        containers,
        fields,
    }
}

/// The places that a marker holds.
fn stored_places(stored: Option<&[u8]>) -> Result<BTreeMap<String, Places>> {
    let Some(stored) = stored else { return Ok(BTreeMap::new()) };
    let wrong = || Error::new(ErrorKind::Corrupt, "the marker ~keyway cannot be read");
    let document: BTreeMap<String, Json> =
        serde_json::from_slice(stored).map_err(|error| wrong().caused_by(error))?;
    let read = |(name, of): (String, Json)| {
        let text = |name: &str| Some(of.get(name)?.as_str()?.to_string());
        let lines = of.get("containers")?.as_array()?.iter();
        let fields = of.get("fields")?.as_object()?.iter();
        let places = Places {
            rows: text("rows")?,
            separator: text("separator")?.chars().next()?,
            containers: lines
                .map(|line| line.as_str().map(str::to_string))
                .collect::<Option<_>>()?,
            fields: fields
                .map(|(name, shown)| Some((name.clone(), shown.as_str()?.to_string())))
                .collect::<Option<_>>()?,
        };
        Some((name, places))
    };
    document.into_iter().map(|one| read(one).ok_or_else(wrong)).collect()
}

/// What of a collection would be looked for elsewhere: its name, what was, what is.
type Moved = (String, String);

/// Everything that lies elsewhere than a changed file says.
fn moved(keyspace: &Keyspace, store: StoreKind, known: &BTreeMap<String, Places>) -> Vec<Moved> {
    let all = containers(keyspace, store);
    let mut found = Vec::new();
    for collection in &keyspace.collections {
        let name = &collection.name.value;
        let was = known.get(name).or_else(|| known.get(collection.was.as_ref()?));
        let Some(was) = was else { continue };
        let is = places_of((keyspace, store), collection, &all);
        let gone =
            was.containers.difference(&is.containers).map(|line| format!("no longer {line}"));
        let new = is.containers.difference(&was.containers).map(|line| format!("now {line}"));
        let renamed = was.fields.iter().filter_map(|(field, was)| {
            let is = is.fields.get(field).filter(|is| *is != was)?;
            Some(format!("`{was}` is `{is}` now"))
        });
        let differences: Vec<String> = gone.chain(new).chain(renamed).collect();
        if !differences.is_empty() {
            found.push((name.clone(), differences.join("; ")));
        }
    }
    found
}

fn refuse_moved(moved: Vec<Moved>, filled: &BTreeSet<String>) -> Result<()> {
    let mut moved = moved.into_iter().filter(|(name, _)| filled.contains(name)).peekable();
    if moved.peek().is_none() {
        return Ok(());
    }
    let refused = Error::new(
        ErrorKind::Mismatch,
        "the keyspace file looks for stored rows elsewhere than they are: undo the change, or \
         export, empty the database and import",
    );
    Err(moved
        .fold(refused, |error, (name, what)| error.with("collection", format!("{name}: {what}"))))
}

/// Whether a name is one of a template, by its parts.
fn is_of(template: &str, separator: char, name: &str) -> bool {
    let parts: Vec<&str> = template.split(separator).collect();
    let names: Vec<&str> = name.split(separator).collect();
    // A path at the end has any number of parts; without types, one that may be one is taken for
    // it.
    let fits = |(part, name): (&&str, &&str)| part.starts_with('{') || part == name;
    parts.len() <= names.len() + 1
        && parts.iter().zip(&names).all(fits)
        && (parts.len() == names.len() || parts.last().is_some_and(|last| last.starts_with('{')))
}
