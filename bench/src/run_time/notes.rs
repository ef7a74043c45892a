//! The notes every contender stores, and the questions it is asked: the same for all, from a seed.

/// Notes of one user, as far as they are loaded: ten thousand users of a million notes.
pub const NOTES_PER_USER: u64 = 100;
/// Notes with one tag, on average.
pub const NOTES_PER_TAG: u64 = 20;
/// Metres around a point.
pub const RADIUS: f64 = 10_000.0;
/// A note: about 240 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub author: u64,
    pub note_id: u128,
    pub title: String,
    pub words: String,
    pub tag: String,
    pub lat: f64,
    pub lon: f64,
}

/// Numbers from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The id of the note with this number: the time first, then chance, as in a ULID.
pub fn note_id(number: u64) -> u128 {
    let time = 1_700_000_000_000u128 + u128::from(number);
    (time << 80) | (u128::from(Numbers(number ^ 0x51ed).next()) << 16)
}

/// The note with this number, of `total`.
pub fn note(number: u64, total: u64) -> Note {
    let mut numbers = Numbers(number.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let tags = (total / NOTES_PER_TAG).max(1);
    // Points around one country, so that cells hold as many as towns do.
    let lat = 46.0 + numbers.below(8_000_000) as f64 / 1_000_000.0;
    let lon = 6.0 + numbers.below(9_000_000) as f64 / 1_000_000.0;
    let mut word = || LEXICON[numbers.below(LEXICON.len() as u64) as usize];
    let words: String = (0..20).map(|_| word()).collect();
    // Notes that come later are by anybody.
    let author = match number < total {
        true => number / NOTES_PER_USER,
        false => numbers.below((total / NOTES_PER_USER).max(1)),
    };
    Note {
        author,
        note_id: note_id(number),
        title: format!("note number {number}"),
        words,
        tag: format!("tag-{:07}", numbers.below(tags)),
        lat,
        lon,
    }
}

const LEXICON: [&str; 8] =
    ["harbour ", "lantern ", "meadow ", "copper ", "thistle ", "granite ", "willow ", "ember "];

/// Notes of a list, and whether more follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    pub notes: Vec<Note>,
    pub more: bool,
}

impl Page {
    /// So many notes of those that were found, which are one more if more follow.
    pub fn cut(mut notes: Vec<Note>, rows: usize) -> Page {
        let more = notes.len() > rows;
        notes.truncate(rows);
        Page { notes, more }
    }

    #[allow(dead_code, reason = "only native stores have naive code beside them")]
    /// What code that asks for no more guesses: a full page is not the last.
    pub fn guessed(notes: Vec<Note>, rows: usize) -> Page {
        Page { more: notes.len() == rows, notes }
    }
}

/// The user and id of a note chosen by chance, of `total`.
pub fn any_key(numbers: &mut Numbers, total: u64) -> (u64, u128) {
    let number = numbers.below(total);
    (number / NOTES_PER_USER, note_id(number))
}

/// A point by chance, where notes are.
pub fn any_point(numbers: &mut Numbers) -> (f64, f64) {
    let lat = 46.5 + numbers.below(7_000_000) as f64 / 1_000_000.0;
    let lon = 6.5 + numbers.below(8_000_000) as f64 / 1_000_000.0;
    (lat, lon)
}
