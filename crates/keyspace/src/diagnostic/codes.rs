//! Every rule's code, title and usual effect: the list that `keyway why` prints.
//!
//! Numbers are for ever: a rule that goes takes its number with it. Hundreds are classes: 0 the
//! file and its templates, 1 keys, groups and stores, 3 contents, 4 indexes, 5 patterns,
//! 6 expressions, 7 owners and callers, 8 histories. Each code has a page in `docs/errors`.

use super::Severity;
use std::fmt;

/// A rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Its number: 103 is shown as KW103.
    pub number: u16,
    /// What is wrong, in general.
    pub title: &'static str,
    /// How bad it usually is.
    pub severity: Severity,
    /// What would happen, on every store, where the problem itself does not say.
    pub effect: &'static str,
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KW{:03}", self.number)
    }
}

impl Code {
    /// The code written as `KW103`, `kw103` or `103`.
    pub fn from_text(text: &str) -> Option<&'static Code> {
        let digits = text.trim().trim_start_matches(['K', 'k', 'W', 'w']);
        let number: u16 = digits.parse().ok()?;
        CODES.iter().copied().find(|code| code.number == number)
    }
}

macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $number:literal $severity:ident $title:literal, $effect:literal;)*) => {
        $(
            #[doc = $title]
            pub static $name: Code = Code {
                number: $number,
                title: $title,
                severity: Severity::$severity,
                effect: $effect,
            };
        )*
        /// Every code, in the order of its number.
        pub static CODES: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    NOT_TOML = 1 Error "the file is not TOML", "nothing is opened: the file cannot be read";
    UNKNOWN_KEY = 2 Error "a key the notation does not have", "nothing is opened: a misspelt key would silently do nothing";
    WRONG_KIND = 3 Error "a value of the wrong kind", "nothing is opened: the value cannot be understood";
    MISSING_KEY = 4 Error "a required key is missing", "nothing is opened: the declaration is not complete";
    BAD_NAME = 5 Error "a name that stores cannot hold", "some store would refuse, fold or cut the name";
    RESERVED_NAME = 6 Error "a name the notation keeps for itself", "calls and answers could not tell the two apart";
    DUPLICATE_NAME = 7 Error "one name for two things", "two tables of one name cannot be created";
    FILE_TOO_LARGE = 8 Error "the file is too large", "nothing is opened: a keyspace of this size is a mistake";
    DUPLICATE_ID = 9 Error "two patterns with one id", "documents and OpenAPI would describe one of them only";
    SHOWN_ALIKE = 10 Error "two names that are shown alike", "one would overwrite the other in JSON, Redis and files";
    EMPTY_KEYSPACE = 11 Error "a keyspace without collections or patterns", "there is nothing to store and nothing to ask";
    UNKNOWN_STORE = 12 Error "a store that does not exist", "nothing can be checked for it";
    OUT_OF_RANGE = 13 Error "a number outside its limits", "calls would be refused at the door";
    DOES_NOT_GO_WITH = 14 Error "two settings that exclude each other", "one of the two would silently do nothing";
    LEFT_FOR_LATER = 15 Error "something that is left for later", "no store can do it yet, and none pretends to";
    TOML_TOO_NEW = 16 Error "a form that TOML 1.0 does not have", "other tools that read TOML 1.0 would refuse the file";
    BAD_TEMPLATE = 20 Error "a template that cannot be read", "no key can be made from it";
    LITERAL_TOUCHES = 21 Error "a literal touches a segment", "an id could not be told from the text around it";
    SEGMENT_TYPE = 22 Error "a segment with a type missing, or one too many", "the key could not be encoded in order";
    UNKNOWN_TYPE = 23 Error "a type that does not exist", "values could not be encoded";
    SEGMENT_TWICE = 24 Error "a segment that occurs twice in one key", "one argument would stand in two places of the key";
    MISSING_BAR = 25 Error "a key with several segments and no bar", "nobody could say what is atomic and what lives together";
    BAD_BAR = 26 Error "a bar in the wrong place", "the group could not be made out";
    BAD_PATH = 27 Error "a path that is not the last segment, after the bar", "the end of the path could not be made out";
    NOT_A_KEY_TYPE = 28 Error "a type that cannot stand in a key", "the values have no one order";
    STARTS_WITH_SEGMENT = 29 Error "a key that begins with a segment", "its rows could take the place of any other key";
    BAD_DEFAULT = 30 Error "a default that does not fit", "rows would be created with a value of another type";
    BAD_ENUM = 32 Error "an enum that cannot be used", "two words could not be told apart";
    GROUPS_CROSSED = 101 Error "a batch that crosses groups", "the batch could not be one atomic step";
    KEYS_COLLIDE = 102 Error "two templates that can render to the same key", "one row would overwrite the other";
    GROUP_UNBOUNDED = 103 Error "a group that grows without end", "the group would outgrow every store that keeps it in one place";
    ONE_GROUP = 104 Error "a bar that puts everything in one group", "every row would live, and wait, in one place";
    BIG_SET = 105 Note "a group that Redis would keep as a sorted set", "listing stays ordered, at 128 bytes a row more";
    BY_TIME_OF_UUID = 107 Note "a uuid after a bar must be random", "uuids of another version would sort differently";
    KEY_TOO_LONG = 108 Error "a key that is too long for a store", "the row would be refused when it is written";
    SHORT_TTL = 110 Warning "a very short life on a store without one clock", "rows may end seconds early or late";
    BATCH_TOO_LARGE = 111 Error "a batch larger than a store takes", "the store would refuse the batch";
    TWO_TYPES = 112 Error "one name with two types", "the same id would be two different keys";
    PARTITION_TOO_LARGE = 113 Note "a group too large for one partition", "reads of the partition would degrade";
    CASE_OF_UNIQUE = 115 Warning "unique text that is not folded", "`Ann@x.org` and `ann@x.org` would be two different values";
    TOO_MANY_FILES = 116 Note "more records than a tree of files holds", "opening would take minutes and gigabytes";
    CHANGING_INDEX = 117 Warning "an index whose entries change at every write", "every write removes an entry and adds one";
    BAD_BUCKET = 118 Error "a bucket that cannot be cut", "the slice of a row could not be told from its key";
    UNLIKE_TEMPLATES = 119 Warning "two spellings of one namespace", "people would look for rows under the wrong one";
    ID_ONLY_IN_VALUE = 120 Warning "an id that is kept only in values", "rows that hold it could never be found by it";
    BAD_FILE_NAME = 121 Error "a file name that does not tell rows apart", "on disk one row would overwrite another";
    SHARED_FILE_NAME = 122 Warning "a file name that two rows can share", "the second row would be refused when it is written";
    LOST_BY_FAILOVER = 123 Note "commits that a failover may lose", "the last acknowledged commits of a node may be gone when its replica takes over";
    UNDECLARED_FIELD = 301 Error "a field that is not declared", "there is nothing to read or write under that name";
    UNKNOWN_NAME = 302 Error "a name that is not declared", "there is nothing of that name";
    FIELD_TWICE = 303 Error "a field with the name of a key segment", "a record would hold two values under one name";
    BAD_TTL = 304 Error "a ttl that cannot be used", "nobody could say when a row ends";
    BAD_WINDOW = 305 Error "a window without its limit", "calls would be counted against nothing";
    CACHE_INDEXED = 306 Error "an index on a cache", "entries would outlive rows that the store evicts";
    IMMUTABLE_CHANGED = 307 Error "a change of immutable rows", "the call could never succeed";
    NO_CONTENT_FOR_INDEX = 308 Error "an index on rows without a record", "there is no record the entry could stand for";
    UNASKED_COLLECTION = 310 Error "a collection that no pattern asks for", "rows would be kept that nobody reads or writes";
    UNASKED_INDEX = 311 Error "an index that no pattern asks for", "every write would pay for an answer nobody wants";
    KEPT_UNUSED = 312 Warning "a kept field that no pattern uses", "every entry carries bytes that nobody reads";
    NEVER_WRITTEN = 313 Warning "a collection that no pattern writes", "it stays empty unless rows are imported";
    UNKNOWN_FUNCTION = 401 Error "a function that does not exist", "the segment could not be computed";
    FUNCTION_ARGUMENTS = 402 Error "arguments a function does not take", "the value could not be computed";
    EACH_MISUSED = 403 Error "each, where one value is needed", "one record would need several keys";
    SAME_AS_KEY = 406 Warning "an index that repeats the key", "the collection itself gives the same order";
    NO_KEY_SERVES = 501 Error "a pattern that no key serves", "it could only be answered by reading everything, which Keyway never does";
    ORDER_NOT_GIVEN = 502 Error "an order the key cannot give", "rows would come back in another order than promised";
    LIST_WITHOUT_BOUND = 503 Error "a list without a bound", "one call could read a whole group";
    VERBS = 504 Error "a pattern without a verb, or with two", "there is nothing to run";
    VERB_AND_TARGET = 505 Error "a verb that does not fit what it is used on", "the call could never succeed";
    BAD_SET = 506 Error "a field that an update cannot set", "the call could never succeed";
    NEVER_COMPLETE = 507 Error "a required field that no call can give", "every call would be refused";
    BAD_BIND = 508 Error "a binding to something that is no argument", "the value would go nowhere";
    BAD_STEP = 509 Error "a step that cannot be part of a batch", "the batch could never run";
    ARGUMENT_TWICE = 510 Error "one argument for two things", "a call could give only one value for both";
    IF_ON_READ = 511 Error "a condition on a read", "rows would be read and thrown away";
    TAKE_UNBOUNDED = 512 Error "a take whose condition does not bound the index", "finding nothing could mean reading the whole group";
    NEAR_WITHOUT_BOUND = 513 Error "a near without its bounds", "one call could read any number of rows";
    NEAR_TOO_WIDE = 514 Error "a circle that holds too much", "one call would read too many cells or rows";
    UNUSED_ARGUMENT = 515 Warning "a declared argument that nothing uses", "callers would be asked for something without effect";
    SIMILAR_ARGUMENTS = 516 Warning "two arguments that differ by a letter", "a call would have to give both, and the two may not be the same";
    NO_VERSION = 517 Error "a version of rows that have none", "there is nothing to compare with";
    MADE_AND_ASKED = 518 Warning "an id that one step makes and another asks for", "a call could attach the rows to something else";
    NOT_HELD = 519 Error "a value that no commit can hold", "it could have changed between the read and the commit";
    BIND_CIRCLE = 520 Error "an argument that is bound to itself", "nobody could give it a value";
    BAD_EXPRESSION = 601 Error "an expression that cannot be read", "the condition or value could not be computed";
    UNKNOWN_IN_EXPRESSION = 602 Error "an unknown name in an expression", "the condition or value could not be computed";
    TYPE_MISMATCH = 603 Error "types that do not go together", "the comparison or value would be an error at every call";
    NOT_A_CONDITION = 604 Error "an expression that is no condition", "it is neither true nor false";
    NULL_COMPARED = 606 Error "a comparison with null", "any comparison with null is false";
    OWNER_NOT_FIRST = 701 Error "an owner that is not first in its group", "one caller's rows would lie among another's";
    BAD_OWNER = 702 Error "an owner that is no segment or field", "rows would belong to nobody";
    OWNER_MISSING = 703 Warning "rows that hold an owner and declare none", "any caller could read and change everybody's rows";
    INDEX_WITHOUT_OWNER = 704 Error "an index that leads past the owner", "a caller would see the entries of others";
    BAD_ALLOW = 705 Error "an allow that cannot be understood", "nobody, or anybody, could call the pattern";
    PUBLIC_WRITE = 706 Error "a write that is public", "anybody could change the data";
    WRITE_WITHOUT_ALLOW = 707 Warning "a write that does not say who may", "any caller with a token could do it";
    BAD_MEMBER = 708 Error "a membership that cannot be looked up", "the caller's row could not be found";
    UNUSED_STEP = 709 Error "a step that no atomic runs", "nobody could ever call it";
    BAD_HISTORY = 801 Error "a history that cannot be kept so", "versions could not be stored or removed as declared";
}
