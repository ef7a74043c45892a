//! Every key of the notation, with its shape and what it means.
//!
//! One list serves three readers: the parser, which refuses what is not on it; the JSON Schema,
//! which gives editors completion; and the reference, whose test asks that every key is explained.

/// A table of the notation.
#[derive(Debug)]
pub struct KnownTable {
    /// How people call it.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [KnownKey],
}

/// A key of a table.
#[derive(Debug)]
pub struct KnownKey {
    /// Its name.
    pub name: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// What it means, in a sentence.
    pub about: &'static str,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Free text.
    Text,
    /// A name of the notation.
    Name,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A key template.
    Template,
    /// An expression.
    Expression,
    /// A length of time: `"30d"`.
    Duration,
    /// A length of time, or the name of a field.
    DurationOrName,
    /// A length of time, `"all"`, or a number of versions.
    Keep,
    /// `true` or `false`.
    Boolean,
    /// A whole number from 1 up to a limit.
    Integer(u64),
    /// A number.
    Number,
    /// A list of names.
    Names,
    /// A list of words.
    Words(&'static [&'static str]),
    /// Names and types.
    Types,
    /// Names and expressions.
    Expressions,
    /// A table.
    Table(&'static KnownTable),
    /// Tables by name.
    Tables(&'static KnownTable),
    /// The steps of an `atomic`.
    Steps(&'static KnownTable),
    /// A word, or a membership.
    Allow(&'static KnownTable),
}

const fn key(name: &'static str, shape: Shape, about: &'static str) -> KnownKey {
    KnownKey { name, shape, about }
}

use Shape::*;

/// The names of stores.
pub const STORES: &[&str] = &[
    "memory",
    "engine",
    "files",
    "sqlite",
    "postgres",
    "redis",
    "redis-cluster",
    "cassandra",
    "scylla",
    "indexeddb",
];

/// The whole file.
pub static FILE: KnownTable = KnownTable {
    name: "a keyspace file",
    keys: &[
        key("keyspace", Table(&KEYSPACE), "Names the keyspace and what holds for all of it."),
        key("collection", Tables(&COLLECTION), "Rows that share one key template."),
        key("history", Tables(&HISTORY), "Versioned documents: snapshots and updates."),
        key("pattern", Tables(&PATTERN), "A question or change the application makes, by name."),
        key("deferred", Tables(&DEFERRED), "A question that waits, and why; for the documents."),
    ],
};

/// `[keyspace]`.
pub static KEYSPACE: KnownTable = KnownTable {
    name: "[keyspace]",
    keys: &[
        key("name", Name, "The keyspace's name: a schema, a directory, a database."),
        key("about", Text, "What it is for, in a sentence."),
        key("separator", Word(&[":", "/"]), "What joins the parts of a key; `:` unless set."),
        key(
            "names",
            Word(&["camelCase"]),
            "How names are shown in JSON, HTTP, MCP, files and Redis.",
        ),
        key(
            "stores",
            Words(STORES),
            "The stores it is meant for: what one of them refuses is an error.",
        ),
    ],
};

/// `[collection.NAME]`.
pub static COLLECTION: KnownTable = KnownTable {
    name: "a collection",
    keys: &[
        key("key", Template, "The key template: literals and typed segments, the group up to `|`."),
        key(
            "fields",
            Types,
            "The record's fields: `{ title = \"text\", tags = \"[text] = []\" }`.",
        ),
        key(
            "value",
            Word(&["json", "text", "bytes", "counter", "window"]),
            "A single value instead of fields.",
        ),
        key("limit", Integer(1_000_000_000), "What a window lets through in one period."),
        key("per", Duration, "How long a window's period is."),
        key("body", Word(&["bytes", "text"]), "Raw content beside the fields, kept byte for byte."),
        key("immutable", Boolean, "Rows are never changed; the same again is accepted."),
        key(
            "ttl",
            DurationOrName,
            "When a row ends: so long after it is written, or at the instant in a field.",
        ),
        key("cache", Boolean, "Rows may be evicted by the store at any time."),
        key(
            "owner",
            Name,
            "The segment or field that holds whose row it is; filled from the caller.",
        ),
        key("tenant", Name, "The segment or field that holds the tenant; filled from the caller."),
        key(
            "bucket",
            Table(&BUCKET),
            "Cuts a group in time slices, so that it never grows without end.",
        ),
        key("expect", Table(&EXPECT), "What the checker calculates with."),
        key("file", Template, "The file's name on disk, below the group's directory."),
        key("fields_file", Template, "The name of the file with the fields, beside a body."),
        key("table", Name, "The table's name on SQL and Cassandra."),
        key("was", Name, "The name it had before: a rename keeps the rows."),
        key("notes", Text, "Words for the generated documents."),
        key("index", Tables(&INDEX), "Other keys for the same records."),
    ],
};

/// `index.NAME`.
pub static INDEX: KnownTable = KnownTable {
    name: "an index",
    keys: &[
        key("key", Template, "Another key for the same record, of its fields and segments."),
        key("unique", Boolean, "One live owner a value."),
        key("keep", Names, "Fields copied into the entry, so that a listing needs no second read."),
        key("when", Expression, "Only records for which this holds have an entry."),
        key("bucket", Table(&BUCKET), "Cuts a group of entries in time slices."),
        key("expect", Table(&EXPECT), "What the checker calculates with."),
        key("file", Template, "The file's name on disk, one entry a line."),
        key("was", Name, "The name it had before."),
        key("notes", Text, "Words for the generated documents."),
    ],
};

/// `bucket`.
pub static BUCKET: KnownTable = KnownTable {
    name: "a bucket",
    keys: &[
        key("by", Name, "The key segment whose time decides the slice."),
        key("every", Duration, "The length of a slice."),
    ],
};

/// `expect`.
pub static EXPECT: KnownTable = KnownTable {
    name: "expect",
    keys: &[
        key("rows_per_group", Integer(1_000_000_000_000), "Rows of the largest group."),
        key("rows_per_day", Integer(1_000_000_000_000), "Rows the busiest group gains a day."),
        key("row_bytes", Integer(1 << 20), "Bytes of a usual row."),
    ],
};

/// `[history.NAME]`.
pub static HISTORY: KnownTable = KnownTable {
    name: "a history",
    keys: &[
        key("key", Template, "The document's key; its snapshots and updates stand below it."),
        key("keep", Keep, "What `collect` leaves: \"all\", an age, or a number of versions."),
        key(
            "compact_when",
            Word(&["updates >= snapshot"]),
            "Fold updates into a snapshot once they outweigh it.",
        ),
        key("owner", Name, "The segment that holds whose document it is; filled from the caller."),
        key("tenant", Name, "The segment that holds the tenant; filled from the caller."),
        key("expect", Table(&EXPECT), "What the checker calculates with."),
        key("table", Name, "The table's name on SQL and Cassandra."),
        key("was", Name, "The name it had before."),
        key("notes", Text, "Words for the generated documents."),
    ],
};

/// `[pattern.NAME]`.
pub static PATTERN: KnownTable = KnownTable {
    name: "a pattern",
    keys: &[
        key("id", Text, "The id it has in the application's documents."),
        key("about", Text, "What it is for, in a sentence; makes it an MCP tool."),
        key("notes", Text, "Words for the generated documents."),
        key("get", Name, "One row by its whole key, or by a unique index's key."),
        key("list", Name, "A group's rows in key order, a page at a time."),
        key("near", Name, "Rows within a radius of a point, nearest first."),
        key("insert", Name, "A new row; a conflict if it is there."),
        key("put", Name, "Creates or replaces a whole row."),
        key("update", Name, "Changes some fields of a row."),
        key("delete", Name, "Removes a row; removing it again changes nothing."),
        key("add", Name, "Adds to a counter, a window or an integer field; answers the total."),
        key(
            "take",
            Name,
            "The first row for which `if` holds, changed and returned in one commit.",
        ),
        key("atomic", Steps(&STEP), "Several patterns in one batch: all or none."),
        key("append", Name, "Adds an update to a history."),
        key("load", Name, "Reads a history, or its snapshots, or its updates."),
        key("compact", Name, "Writes a snapshot that covers updates."),
        key("fork", Name, "Starts a branch of a history."),
        key("collect", Name, "Removes what a history no longer keeps."),
        key("by", Names, "The arguments that fix the key, where they are not the usual ones."),
        key("bind", Expressions, "Arguments fixed to expressions; callers cannot give them."),
        key("arguments", Types, "Further arguments, for expressions."),
        key("set", Names, "The fields a call of an update may change."),
        key("compute", Expressions, "The fields the pattern itself changes."),
        key("if", Expression, "A condition on the stored record, judged in the commit."),
        key("if_version", Boolean, "The caller may give the version it read."),
        key("page", Integer(1_000), "The most rows of one answer."),
        key("many", Integer(1_000), "The most keys or rows of one call."),
        key("order", Text, "What the answer is sorted by, asserted: `created_at desc`."),
        key("fields", Names, "The fields that are answered; all unless set."),
        key("existing", Word(&["return"]), "An insert that meets its row answers it."),
        key("missing", Word(&["create"]), "An update of a missing row creates it."),
        key("max_radius", Number, "Metres a call of near may ask for."),
        key("allow", Allow(&MEMBER), "Who may: owner, user, role:NAME, public, step, or members."),
    ],
};

/// A step of an `atomic`.
pub static STEP: KnownTable = KnownTable {
    name: "a step",
    keys: &[
        key("run", Name, "The pattern the step runs."),
        key("check", Name, "A row the step only looks at, as it was before the batch."),
        key("as", Name, "The name by which later steps use its row."),
        key("bind", Expressions, "Arguments of the step fixed to expressions."),
        key("if", Expression, "A condition on the row of a check."),
    ],
};

/// `allow = { member = … }`.
pub static MEMBER: KnownTable = KnownTable {
    name: "a membership",
    keys: &[
        key("member", Name, "The collection that holds the caller's row."),
        key("caller", Name, "The segment of its key that is the caller."),
        key("if", Expression, "A condition on that row."),
    ],
};

/// `[deferred.ID]`.
pub static DEFERRED: KnownTable = KnownTable {
    name: "a deferred pattern",
    keys: &[key("about", Text, "The question."), key("reason", Text, "Why it waits.")],
};

/// What is left for later: keys people will try, and what to do instead.
pub static LATER: &[(&str, &str)] = &[
    ("aggregate", "keep a counter beside the rows and `add` to it in the same `atomic`"),
    ("count", "keep a counter beside the rows and `add` to it in the same `atomic`"),
    ("sum", "keep a counter beside the rows and `add` to it in the same `atomic`"),
    ("join", "keep the fields in the index (`keep`), or ask two patterns"),
    ("fan_out", "write one row a reader with `many`, from the application"),
    ("rank", "list an index ordered by the score and count in the application"),
    ("shard", "add a segment to the group that spreads the rows, chosen by the application"),
    ("sequence", "use a `timeuuid` or `ulid` segment: ordered, without a counter"),
    ("capped", "give the rows a `ttl`"),
    ("overlaps", "index the start and ask a range that begins one longest interval earlier"),
    ("filter", "make the condition part of an index: `when`, or a segment"),
    ("where", "make the condition part of an index: `when`, or a segment"),
    ("offset", "pages go on from a cursor; rows are never counted off"),
];

/// Words of other tools, and the key that is meant.
pub static OTHER_WORDS: &[(&str, &str)] = &[
    ("upsert", "put"),
    ("replace", "put"),
    ("save", "put"),
    ("create", "insert"),
    ("remove", "delete"),
    ("increment", "add"),
    ("incr", "add"),
    ("find", "get"),
    ("lookup", "get"),
    ("select", "list"),
    ("query", "list"),
    ("scan", "list"),
    ("dequeue", "take"),
    ("claim", "take"),
    ("transaction", "atomic"),
    ("batch", "atomic"),
    ("order_by", "order"),
    ("sort", "order"),
    ("limit", "page"),
    ("page_size", "page"),
    ("condition", "if"),
    ("unless_exists", "existing"),
    ("if_exists", "existing"),
    ("description", "about"),
    ("primary_key", "key"),
    ("columns", "fields"),
    ("indexes", "index"),
    ("indices", "index"),
    ("expires", "ttl"),
    ("expire", "ttl"),
    ("params", "arguments"),
    ("role", "allow"),
];

#[cfg(test)]
mod tests {
    #[test]
    fn the_stores_are_those_there_are() {
        assert_eq!(super::STORES, crate::model::StoreKind::ALL.map(|store| store.name()));
    }
}
