//! How the table at the front of a record is written: in the fewest bytes that hold it.

const VERSION: u8 = 2;
const VERSION_BITS: u8 = 0x07;
/// Set in a format where there is a list of nulls.
pub(super) const NULLS: u8 = 0x08;
const ENDS_SHIFT: u32 = 4;
const ENDS_BITS: u8 = 0x03;
const NUMBERS_SHIFT: u32 = 6;

/// How many bytes the parts of an entry have: the fewest that hold those of all entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// 2, or 1, or none where the numbers are 1, 2, 3 and so on.
    number: u8,
    /// 1, 2 or 4.
    end: u8,
}

impl Form {
    /// What a record begins with whose fields are 1 to n, none null, of 255 bytes at most.
    pub(super) const SHORT_FORMAT: u8 = VERSION;
    /// The form of such a record.
    pub(super) const SHORT: Form = Form { number: 0, end: 1 };
    /// The form with two bytes for every part.
    pub(super) const EVEN: Form = Form { number: 2, end: 2 };

    /// The form of a record with so many bytes in fields of these numbers, which ascend.
    pub(super) fn of(numbers: impl Iterator<Item = u16>, bytes: usize) -> Self {
        let (mut count, mut last) = (0u16, 0);
        for number in numbers {
            (count, last) = (count + 1, number);
        }
        Form::new(count, last, bytes)
    }

    /// The same, where only how many fields there are and the largest number are known: as numbers
    /// ascend from 1, none is left out if both are the same.
    #[inline]
    pub(super) fn new(count: u16, last: u16, bytes: usize) -> Self {
        let number = match (u8::try_from(last), count == last) {
            (Ok(_), true) => 0,
            (Ok(_), false) => 1,
            (Err(_), _) => 2,
        };
        let end = match (u8::try_from(bytes), u16::try_from(bytes)) {
            (Ok(_), _) => 1,
            (Err(_), Ok(_)) => 2,
            (Err(_), Err(_)) => 4,
        };
        Form { number, end }
    }

    /// The form that the first byte of a record says.
    #[inline]
    pub(super) fn said(format: u8) -> Option<Self> {
        let (number, end) = (format >> NUMBERS_SHIFT, (format >> ENDS_SHIFT) & ENDS_BITS);
        let is_known = format & VERSION_BITS == VERSION && number <= 2 && end <= 2;
        is_known.then_some(Form { number, end: 1 << end })
    }

    /// The bytes of the front of a record with so many fields and nulls.
    pub(super) fn size(self, fields: usize, nulls: usize) -> usize {
        let nulls = if nulls == 0 { 0 } else { 2 + 2 * nulls };
        self.head() + fields * self.entry() + nulls
    }

    /// The bytes of an entry.
    #[inline]
    pub(super) fn entry(self) -> usize {
        usize::from(self.number + self.end)
    }

    /// The bytes of the format and the number of fields.
    #[inline]
    pub(super) fn head(self) -> usize {
        if self.number < 2 { 2 } else { 3 }
    }

    /// What a record begins with, and how much of it.
    #[inline]
    pub(super) fn write_head(self, fields: u16, has_nulls: bool) -> ([u8; 3], usize) {
        let nulls = if has_nulls { NULLS } else { 0 };
        let ends = (self.end >> 1) << ENDS_SHIFT;
        let format = VERSION | nulls | ends | self.number << NUMBERS_SHIFT;
        let [high, low] = fields.to_be_bytes();
        let head = if self.number < 2 { [format, low, 0] } else { [format, high, low] };
        (head, self.head())
    }

    /// An entry, and how much of it there is.
    #[inline]
    pub(super) fn write_entry(self, number: u16, end: usize) -> ([u8; 6], usize) {
        let ([n0, n1], [e0, e1, e2, e3]) = (number.to_be_bytes(), (end as u32).to_be_bytes());
        let entry = match (self.number, self.end) {
            (0, 1) => [e3, 0, 0, 0, 0, 0],
            (0, 2) => [e2, e3, 0, 0, 0, 0],
            (0, _) => [e0, e1, e2, e3, 0, 0],
            (1, 1) => [n1, e3, 0, 0, 0, 0],
            (1, 2) => [n1, e2, e3, 0, 0, 0],
            (1, _) => [n1, e0, e1, e2, e3, 0],
            (_, 1) => [n0, n1, e3, 0, 0, 0],
            (_, 2) => [n0, n1, e2, e3, 0, 0],
            (_, _) => [n0, n1, e0, e1, e2, e3],
        };
        (entry, self.entry())
    }

    /// The number and the end of the entry at a position.
    #[inline(always)]
    pub(super) fn read_entry(self, entries: &[u8], position: usize) -> Option<(u16, usize)> {
        if self == Form::SHORT {
            return entries.get(position).map(|end| (position as u16 + 1, usize::from(*end)));
        }
        self.read_any(entries, position)
    }

    fn read_any(self, entries: &[u8], position: usize) -> Option<(u16, usize)> {
        let start = position * self.entry();
        let entry = entries.get(start..start + self.entry())?;
        let (number, end) = entry.split_at_checked(usize::from(self.number))?;
        let number = match *number {
            [low] => u16::from(low),
            [high, low] => u16::from_be_bytes([high, low]),
            _ => position as u16 + 1,
        };
        let end = match *end {
            [low] => usize::from(low),
            [high, low] => usize::from(u16::from_be_bytes([high, low])),
            [e0, e1, e2, e3] => usize::try_from(u32::from_be_bytes([e0, e1, e2, e3])).ok()?,
            _ => return None,
        };
        Some((number, end))
    }
}
