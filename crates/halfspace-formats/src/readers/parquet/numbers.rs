//! The texts and the values of numbers that Parquet does not store as doubles.

use crate::numbers::{EXACT_MAX, parse_number};

/// Numbers with texts, where the texts say more than the values.
#[derive(Default)]
pub(super) struct SpelledNumbers {
    /// NaN where a value is missing or no finite number.
    pub(super) values: Vec<f64>,
    texts: Vec<u8>,
    /// The end of each text, which may be empty.
    ends: Vec<usize>,
}

impl SpelledNumbers {
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.texts.clear();
        self.ends.clear();
    }

    /// The text of a number, or nothing if it is the shortest one.
    #[inline]
    pub(super) fn text(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[start..self.ends[row]]
    }

    pub(super) fn push_missing(&mut self) {
        self.push(f64::NAN);
    }

    fn push(&mut self, value: f64) {
        self.values.push(value);
        self.ends.push(self.texts.len());
    }

    /// Adds an integer. If doubles do not have all integers of its size, its text is kept.
    pub(super) fn push_integer(&mut self, number: i128) {
        if number.unsigned_abs() >= u128::from(EXACT_MAX) {
            self.texts.extend(number.to_string().bytes());
        }
        self.push(number as f64);
    }

    /// Adds a number with `scale` digits after the point.
    pub(super) fn push_decimal(&mut self, number: i128, scale: usize) {
        if scale == 0 {
            return self.push_integer(number);
        }
        let start = self.texts.len();
        if number < 0 {
            self.texts.push(b'-');
        }
        let digits = format!("{:0width$}", number.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.as_bytes().split_at(digits.len() - scale);
        self.texts.extend_from_slice(whole);
        self.texts.push(b'.');
        self.texts.extend_from_slice(fraction);
        let value = parse_number(&self.texts[start..]).unwrap_or(f64::NAN);
        self.push(value);
    }
}

/// The integer of big-endian bytes in two's complement, unless it has more than 128 bits.
pub(super) fn big_endian(bytes: &[u8]) -> Option<i128> {
    let is_negative = bytes.first().is_some_and(|&byte| byte >= 0x80);
    let filling = if is_negative { 0xff } else { 0 };
    let (more, last) = bytes.split_at(bytes.len().saturating_sub(16));
    let is_short = more.iter().all(|&byte| byte == filling);
    let mut word = [filling; 16];
    word[16 - last.len()..].copy_from_slice(last);
    let number = i128::from_be_bytes(word);
    (is_short && (number < 0) == is_negative).then_some(number)
}

/// The text of a UUID.
pub(super) fn uuid(bytes: &[u8], text: &mut Vec<u8>) {
    for (at, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push(b'-');
        }
        text.extend(format!("{byte:02x}").bytes());
    }
}

/// The value of a floating-point number of 16 bits.
pub(super) fn half(bytes: &[u8]) -> f64 {
    let bytes = bytes.first_chunk().copied().unwrap_or_default();
    half::f16::from_le_bytes(bytes).to_f64()
}
