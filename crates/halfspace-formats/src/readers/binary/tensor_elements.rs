//! Reads elements of a tensor in JSON straight from the bytes, without the JSON parser.
//!
//! Only plain elements are read here: whole numbers of at most 15 characters, numbers with a fraction or an exponent,
//! `true` and `false`. The JSON parser reads all others and reports the faults of the text. A plain element must be
//! followed by a comma and the beginning of another element. Otherwise `[1,]` would lose its 1 and its comma, and the
//! parser would accept the rest as a list.

use halfspace_core::bits::WORD_BITS;

use crate::numbers::{four_bits, number_prefix};
use crate::readers::binary::tensor_datatype::Written;

/// Digits of a whole number that a double always represents.
const DIGITS_MAX: usize = 15;

/// Reads a plain element and the comma after it, and returns the element and the bytes of both.
#[inline]
pub(crate) fn element(text: &[u8]) -> Option<(Written, usize)> {
    let start = blanks(text);
    let (written, length) = match &text[start..] {
        [b't', b'r', b'u', b'e', ..] => (Written::Truth(true), 4),
        [b'f', b'a', b'l', b's', b'e', ..] => (Written::Truth(false), 5),
        rest => number(rest)?,
    };
    let end = start + length;
    let comma = end + blanks(&text[end..]);
    let is_followed = text.get(comma) == Some(&b',') && continues(&text[comma + 1..]);
    is_followed.then_some((written, comma + 1))
}

/// Whether the text after a comma is known to begin with another element.
fn continues(text: &[u8]) -> bool {
    let next = text.get(blanks(text));
    next.is_some_and(|&byte| byte != b']')
}

/// The number of blanks at the beginning of a text.
pub(crate) fn blanks(text: &[u8]) -> usize {
    let is_blank = |byte: &&u8| matches!(**byte, b' ' | b'\n' | b'\r' | b'\t');
    text.iter().take_while(is_blank).count()
}

/// Reads a plain number as JSON spells it.
fn number(text: &[u8]) -> Option<(Written, usize)> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_started = match digits {
        [b'0', next, ..] => !next.is_ascii_digit(),
        [first, ..] => first.is_ascii_digit(),
        [] => false,
    };
    if !is_started {
        return None;
    }
    let (value, length) = number_prefix(text)?;
    let token = &text[..length];
    let point = token
        .iter()
        .position(|byte| !matches!(byte, b'-' | b'0'..=b'9'));
    match point {
        None if length <= DIGITS_MAX => Some((Written::Number(value), length)),
        None => None,
        Some(at) => {
            let has_fraction =
                token[at] != b'.' || token.get(at + 1).is_some_and(u8::is_ascii_digit);
            has_fraction.then_some((Written::Number(value), length))
        }
    }
}

/// Packs at most `count` elements that are 0, 1, 0.0 or 1.0 and end with a comma. With `has_words` they may also be
/// `true` or `false`. Returns the bits, their number and the bytes of the elements.
pub(crate) fn short_bits(text: &[u8], count: usize, has_words: bool) -> (u64, usize, usize) {
    let (mut word, mut packed, mut at, mut last) = (0, 0, 0, 0);
    while packed < count {
        let blank = usize::from(text.get(at) == Some(&b' '));
        let (bit, bytes) = match &text[at + blank..] {
            [digit @ (b'0' | b'1'), b',', ..] => (digit & 1, 2),
            [digit @ (b'0' | b'1'), b'.', b'0', b',', ..] => (digit & 1, 4),
            rest => match truth(rest).filter(|_| has_words) {
                Some(read) => read,
                None => break,
            },
        };
        word |= u64::from(bit) << packed;
        packed += 1;
        last = at;
        at += blank + bytes;
    }
    if packed > 0 && !continues(&text[at..]) {
        packed -= 1;
        at = last;
        word &= (1 << packed) - 1;
    }
    (word, packed, at)
}

/// Reads `true` or `false` and the comma, if at least eight bytes are left, and returns the bit and the bytes of
/// both.
///
/// It does not branch on the word, because with random words the branch would be mispredicted half of the time.
fn truth(text: &[u8]) -> Option<(u8, usize)> {
    let eight = u64::from_le_bytes(*text.first_chunk()?);
    let is_true = eight << 24 == u64::from_le_bytes(*b"\0\0\0true,");
    let is_false = eight << 16 == u64::from_le_bytes(*b"\0\0false,");
    (is_true | is_false).then_some((u8::from(is_true), 6 - usize::from(is_true)))
}

/// Packs 64 elements that are `0` or `1` and end with a comma, with or without one blank before each. Returns the bits
/// and the bytes of the elements.
pub(crate) fn bits(text: &[u8]) -> Option<(u64, usize)> {
    close_or_spaced_bits(text).filter(|(_, bytes)| continues(&text[*bytes..]))
}

fn close_or_spaced_bits(text: &[u8]) -> Option<(u64, usize)> {
    const CLOSE: u64 = u64::from_le_bytes(*b"0,0,0,0,");
    if let Some((eights, _)) = text.split_at_checked(2 * WORD_BITS) {
        let (mut word, mut strange) = (0, 0);
        for (place, &eight) in eights.as_chunks::<8>().0.iter().enumerate() {
            let (bits, other) = four_bits(eight, CLOSE);
            strange |= other;
            word |= bits << (4 * place);
        }
        if strange == 0 {
            return Some((word, 2 * WORD_BITS));
        }
    }
    // The blank may be before or after the first digit, because the reader may stop on either side of a blank.
    match text.first() {
        Some(b' ') => spaced_bits(text, [*b" 0, 0, 0", *b", 0, 0, ", *b"0, 0, 0,"], 1),
        _ => spaced_bits(text, [*b"0, 0, 0,", *b" 0, 0, 0", *b", 0, 0, "], 0),
    }
}

/// Packs 64 elements like [`bits`]. Eight elements with their commas and blanks have these 24 bytes, apart from the
/// ones. The first digit is byte `first`.
fn spaced_bits(text: &[u8], spelling: [[u8; 8]; 3], first: usize) -> Option<(u64, usize)> {
    const EACH: u64 = u64::MAX / 0xff;
    let spelling = spelling.map(u64::from_le_bytes);
    // Only bit 0 of a digit may differ, and only digits have bit 4.
    let ones = spelling.map(|eight| eight >> 4 & EACH);
    // The digits are at different places in the three words: digit k is byte (first + 3 k) % 8.
    let gather = (0..8).fold(0_u64, |sum, digit| {
        sum | 1 << (56 + digit - 8 * ((first + 3 * digit) % 8))
    });
    let (bytes, _) = text.split_at_checked(3 * WORD_BITS)?;
    let (mut word, mut strange) = (0, 0);
    for (place, &bytes) in bytes.as_chunks::<24>().0.iter().enumerate() {
        let mut digits = 0;
        for (index, &eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let seen = u64::from_le_bytes(eight) ^ spelling[index];
            strange |= seen & !ones[index];
            digits |= seen;
        }
        word |= (digits.wrapping_mul(gather) >> 56) << (8 * place);
    }
    (strange == 0).then_some((word, 3 * WORD_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(text: &str) -> Option<(f64, usize)> {
        element(text.as_bytes()).map(|(written, length)| (written.value(), length))
    }

    #[test]
    fn tensor_elements_are_read_with_their_comma() {
        let good = [
            ("0,", 0.0),
            ("1,", 1.0),
            (" 1 ,", 1.0),
            ("true,", 1.0),
            ("\n false,", 0.0),
            ("-7,", -7.0),
            ("0.5,", 0.5),
            ("1e3,", 1e3),
            ("1.5e-3,", 1.5e-3),
            ("123456789012345,", 123_456_789_012_345.0),
        ];
        for (text, value) in good {
            let read = number_of(&format!("{text} 0"));
            assert_eq!(read, Some((value, text.len())), "{text}");
            for last in ["", "]", " ", " ]"] {
                assert_eq!(number_of(&format!("{text}{last}")), None, "{text}");
            }
        }
    }

    #[test]
    fn tensor_elements_of_other_forms_are_left_to_the_parser() {
        let others = [
            "",
            "1",
            "1]",
            "01,",
            "-,",
            "+1,",
            ".5,",
            "5.,",
            "5.e1,",
            "1e,",
            "1e999,",
            "nan,",
            "inf,",
            "\"1\",",
            "[1],",
            "null,",
            "truth,",
            "1234567890123456,",
            "-01,",
            "1x,",
        ];
        for text in others {
            assert_eq!(number_of(&format!("{text} 0")), None, "{text}");
        }
    }

    #[test]
    fn tensor_bits_are_packed_in_every_spelling() {
        let word = 0x8123_4567_89ab_cdef_u64;
        let bit = |at: usize| if word >> at & 1 == 1 { "1" } else { "0" };
        for blanks in [["", ""], ["", " "], [" ", ""]] {
            let [before, after] = blanks;
            let text: String = (0..64)
                .map(|at| format!("{before}{},{after}", bit(at)))
                .collect();
            assert_eq!(bits(text.as_bytes()), None);
            let (text, bytes) = (format!("{text}0"), text.len());
            assert_eq!(bits(text.as_bytes()), Some((word, bytes)), "{blanks:?}");
            assert_eq!(bits(&text.as_bytes()[1..]), None);
            for at in 0..bytes {
                let mut other = text.clone().into_bytes();
                other[at] ^= 2;
                assert_eq!(bits(&other), None);
            }
        }
    }
}
