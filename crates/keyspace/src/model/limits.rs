//! Every size and count with a limit, in one place.
//!
//! The checker refuses what would pass them, the planner calculates with them, and the stores
//! refuse at their door whatever reaches them all the same.

/// Bytes of one encoded key, its collection number included.
pub const KEY_BYTES_MAX: usize = 1_024;
/// Segments of one key.
pub const KEY_SEGMENTS_MAX: usize = 64;
/// Bytes of the text form of one key.
pub const KEY_TEXT_BYTES_MAX: usize = 8_192;
/// Bytes of one value, of one body, or of the fields of one record as they are encoded.
pub const VALUE_BYTES_MAX: u64 = 1 << 20;
/// Bytes of one row as a store keeps it, its key aside: a record and its body, as far as a batch of
/// one row holds both.
pub const ROW_BYTES_MAX: u64 = BATCH_BYTES_MAX - KEY_BYTES_MAX as u64;
/// Writes of one batch, index entries included.
pub const BATCH_WRITES_MAX: u64 = 1_000;
/// Bytes of one batch on a whole-store atomic store.
pub const BATCH_BYTES_MAX: u64 = 2 << 20;
/// Bytes of one batch of plain rows on Cassandra, whose servers refuse more.
pub const CASSANDRA_BATCH_BYTES_MAX: u64 = 50 << 10;
/// Checks of one batch: a claim or a row each.
pub const BATCH_CHECKS_MAX: u64 = 1_000;
/// Rows of one page.
pub const PAGE_ROWS_MAX: u64 = 1_000;
/// Bytes a store reads for one scan before it hands over what it has.
pub const PAGE_BYTES_MAX: usize = 8 << 20;
/// Rows or keys of one call with `many`.
pub const MANY_MAX: u64 = 1_000;
/// Rows read for each row of a page before the page ends early with its cursor.
pub const PAGE_READS_PER_ROW: u64 = 4;
/// Keys of one get, or rows of one scan: the reads of a page, and one to see whether more follow.
pub const READ_ROWS_MAX: u64 = PAGE_READS_PER_ROW * PAGE_ROWS_MAX + 1;
/// Time slices read for one page of a group with a `bucket`.
pub const PAGE_SLICES_MAX: u64 = 8;
/// Entries one record may have in an index with `each`.
pub const EACH_ENTRIES_MAX: u64 = 100;
/// Members of a group kept as a Redis Set; larger groups are sorted sets.
pub const REDIS_SET_ROWS_MAX: u64 = 10_000;
/// Bytes of one Cassandra partition before reads degrade.
pub const CASSANDRA_PARTITION_BYTES_MAX: u64 = 100_000_000;
/// Records of one tree of files, whose order and indexes live in memory.
pub const FILES_RECORDS_MAX: u64 = 1_000_000;
/// Times a conditional write is tried again when its row changed under it.
pub const COMMIT_ATTEMPTS_MAX: u64 = 8;
/// Candidates a `take` may meet in another caller's hands before it answers `busy`.
pub const TAKE_CANDIDATES_MAX: u64 = 16;
/// Cells of one `near` cover: 5 km over geohashes of 5 characters touch 16 at the equator and 100
/// at 85° of latitude.
pub const NEAR_CELLS_MAX: u64 = 128;
/// Entries one `near` may read: cells times what one is expected to hold. All of them are measured
/// before the first row is answered, and a million take a second and some 100 MB.
pub const NEAR_ROWS_MAX: u64 = 1_000_000;
/// Columns of one key on PostgreSQL, whose indexes hold no more (`INDEX_MAX_KEYS`).
pub const POSTGRES_KEY_COLUMNS_MAX: usize = 32;
/// The longest life of a row on Cassandra, in milliseconds: 20 years of 365 days.
pub const CASSANDRA_TTL_MILLISECONDS_MAX: u64 = 630_720_000_000;
/// Steps of one `atomic`.
pub const ATOMIC_STEPS_MAX: usize = 16;
/// Bytes of one keyspace file.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Levels of nesting in one expression or type.
pub const EXPRESSION_DEPTH_MAX: usize = 48;
/// Operators of one expression.
pub const EXPRESSION_OPERATORS_MAX: usize = 200;
/// Fields of one record, or declared arguments of one pattern: PostgreSQL has 1,600 columns.
pub const FIELDS_MAX: usize = 1_000;
/// Indexes of one collection: one write changes its row and an entry of each, at least.
pub const INDEXES_MAX: usize = 64;
/// Words of one enum.
pub const ENUM_WORDS_MAX: usize = 256;
/// Lists and objects inside one another in one JSON value.
pub const JSON_DEPTH_MAX: usize = 64;
/// Characters of a name.
pub const NAME_CHARACTERS_MAX: usize = 48;
/// Bytes of the longest text escape-free segment the checker assumes for an unbounded segment.
pub const TEXT_SEGMENT_BYTES_ASSUMED: u64 = 64;
