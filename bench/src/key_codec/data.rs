//! The keys that are measured: many different ones of each kind, the same in every run.
//!
//! They must look like keys of real applications, and never be made to suit one codec.

/// Enough keys that no branch can be learnt by heart, few enough to stay in the cache.
const KEYS: usize = 256;

pub struct Random(u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// Letters and digits.
    pub fn text(&mut self, shortest: u64, longest: u64) -> String {
        let letters = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let length = self.between(shortest, longest);
        (0..length).map(|_| char::from(letters[self.next() as usize % letters.len()])).collect()
    }

    /// Long text with a NUL after every few letters.
    pub fn text_with_zeros(&mut self) -> String {
        let mut text = String::new();
        while text.len() < 350 {
            text.push_str(&self.text(2, 40));
            text.push('\0');
        }
        text
    }

    /// Numbers of every size, small ones as often as large ones.
    pub fn integer(&mut self) -> i64 {
        let shift = self.next() % 63;
        (self.next() as i64) >> shift
    }

    pub fn uuid(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    pub fn time_uuid(&mut self) -> u128 {
        let uuid = self.uuid() & !(0xf << 76) & !(0x3 << 62);
        uuid | 0x1 << 76 | 0x2 << 62
    }
}

pub fn many<T>(seed: u64, mut draw: impl FnMut(&mut Random) -> T) -> Vec<T> {
    let mut random = Random(seed);
    (0..KEYS).map(|_| draw(&mut random)).collect()
}
