//! Reads a line of a table in one pass over its bytes, if all its feature cells are plain numbers or all are single
//! letters or digits.
//!
//! The reader of cells handles every other line, because it alone knows the faults and the spellings. So a line is
//! refused here if it has a blank, a quote, a missing cell or a leading zero.

use halfspace_core::bits::{WORD_BITS, words_for};
use memchr::{memchr, memchr2, memrchr};

use crate::numbers::{are_respelled, four_bits, number_prefix};

/// The bytes of eight characters in which every second one is a `0`.
const ZEROS: u64 = u64::from_le_bytes([b'0', 0, b'0', 0, b'0', 0, b'0', 0]);
/// The bytes of eight characters in which every second one may be a delimiter.
const BETWEEN: u64 = u64::from_le_bytes([0, 1, 0, 1, 0, 1, 0, 1]);

/// The position of the label in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelPlace {
    None,
    First,
    Last,
}

/// The cells of a line, of which one may be the label.
#[derive(Clone, Copy)]
pub(crate) struct BareLine<'l> {
    pub(crate) label: Option<&'l [u8]>,
    features: &'l [u8],
    delimiter: u8,
}

impl<'l> BareLine<'l> {
    /// Separates the label from the features. None if the line must be read cell by cell.
    pub(crate) fn split(line: &'l [u8], delimiter: u8, place: LabelPlace) -> Option<Self> {
        let (label, features) = match place {
            LabelPlace::None => (None, line),
            LabelPlace::First => {
                let end = memchr(delimiter, line)?;
                (Some(&line[..end]), &line[end + 1..])
            }
            LabelPlace::Last => {
                let end = memrchr(delimiter, line)?;
                (Some(&line[end + 1..]), &line[..end])
            }
        };
        // A delimiter inside quotes would make this split wrong.
        let is_bare = |text: &[u8]| {
            memchr2(b'"', b'\'', text).is_none() && text.trim_ascii().len() == text.len()
        };
        label.is_none_or(is_bare).then_some(Self {
            label,
            features,
            delimiter,
        })
    }

    /// Packs `n` cells that are `0` or `1`. Returns whether the line has these cells.
    pub(crate) fn bits(&self, n: usize, words: &mut Vec<u64>) -> bool {
        if self.features.len() + 1 != 2 * n {
            return false;
        }
        let pattern = ZEROS | BETWEEN.wrapping_mul(self.delimiter.into());
        let (eights, rest) = self.features.as_chunks::<8>();
        words.clear();
        words.resize(words_for(n), 0);
        let mut strange = 0;
        let mut pack = |index: usize, eight: [u8; 8]| {
            let (bits, other) = four_bits(eight, pattern);
            strange |= other;
            let place = 4 * index;
            words[place / WORD_BITS] |= bits << (place % WORD_BITS);
        };
        for (index, &eight) in eights.iter().enumerate() {
            pack(index, eight);
        }
        let mut last = pattern.to_le_bytes();
        last[..rest.len()].copy_from_slice(rest);
        pack(eights.len(), last);
        strange == 0
    }

    /// The `n` cells, if each is one letter or digit. None if the line has other cells.
    pub(crate) fn letters(&self, n: usize) -> Option<impl Iterator<Item = u8>> {
        let (pairs, last) = self.features.as_chunks::<2>();
        let is_pair =
            |[cell, mark]: &[u8; 2]| cell.is_ascii_alphanumeric() & (*mark == self.delimiter);
        let are_pairs = pairs.iter().fold(true, |all, pair| all & is_pair(pair));
        match last {
            [last] if are_pairs && last.is_ascii_alphanumeric() && pairs.len() + 1 == n => {
                Some(pairs.iter().map(|[cell, _]| *cell).chain([*last]))
            }
            _ => None,
        }
    }

    /// Whether one of these numbers may be written longer in the line than its shortest text.
    pub(crate) fn are_respelled(&self, values: &[f64]) -> bool {
        are_respelled(self.features, values)
    }

    /// Reads `n` numbers. Returns whether the line has exactly these cells.
    pub(crate) fn numbers(&self, n: usize, values: &mut Vec<f64>) -> bool {
        values.clear();
        let mut rest = self.features;
        // A leading zero may belong to a code such as 007, whose spelling must be kept.
        while !matches!(rest, [b'0', b'0'..=b'9', ..])
            && let Some((value, length)) = number_prefix(rest)
        {
            values.push(value);
            match rest.get(length) {
                Some(&byte) if byte == self.delimiter && values.len() < n => {
                    rest = &rest[length + 1..]
                }
                end => return end.is_none() && values.len() == n,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numbers::parse_number;

    fn split(line: &str, place: LabelPlace) -> Option<BareLine<'_>> {
        BareLine::split(line.as_bytes(), b',', place)
    }

    #[test]
    fn bare_line_leaves_lines_with_other_cells() {
        let refused = [
            "",
            "1",
            "1,2,",
            ",1,2",
            "1,,2",
            "1,2,3,4",
            "1,2, 3",
            "1 ,2,3",
            "1,\"2\",3",
            "1,2,x",
            "1,07,3",
            "1,nan,2",
            "1,1e999,2",
            "1,2,3e",
            "1,2;3",
            "1,2,3 ",
        ];
        for line in refused {
            let line = split(line, LabelPlace::None).unwrap();
            assert!(!line.numbers(3, &mut Vec::new()));
            assert!(!line.bits(3, &mut Vec::new()));
        }
        let mut values = Vec::new();
        let line = split("-1.5,.5,1e3", LabelPlace::None).unwrap();
        assert!(line.numbers(3, &mut values) && values == [-1.5, 0.5, 1000.0]);
    }

    #[test]
    fn bare_line_takes_the_label_from_the_first_or_last_cell() {
        for (line, place, label) in [
            ("a,1,0", LabelPlace::First, Some("a")),
            ("1,0,a b", LabelPlace::Last, Some("a b")),
            ("1,0", LabelPlace::None, None),
        ] {
            let line = split(line, place).unwrap();
            let mut words = Vec::new();
            assert_eq!(line.label, label.map(str::as_bytes));
            assert!(line.bits(2, &mut words) && words == [0b01]);
        }
        for line in ["\"a\",1", "\"a,b\",1", " a,1", "a ,1", "'a',1", "a"] {
            assert!(split(line, LabelPlace::First).is_none(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn bare_line_packs_bits_at_every_length(
            bits in prop::collection::vec(any::<bool>(), 1..300),
            stranger in 0_usize..600,
        ) {
            let cells: Vec<&str> = bits.iter().map(|&bit| if bit { "1" } else { "0" }).collect();
            let mut line = cells.join(",").into_bytes();
            let mut expected = vec![0; words_for(bits.len())];
            for (at, _) in bits.iter().enumerate().filter(|(_, bit)| **bit) {
                expected[at / WORD_BITS] |= 1_u64 << (at % WORD_BITS);
            }
            let mut words = Vec::new();
            let read = BareLine::split(&line, b',', LabelPlace::None).unwrap();
            prop_assert!(read.bits(bits.len(), &mut words));
            prop_assert_eq!(words, expected);
            if let Some(byte) = line.get_mut(stranger) {
                *byte ^= 2;
                let read = BareLine::split(&line, b',', LabelPlace::None).unwrap();
                prop_assert!(!read.bits(bits.len(), &mut Vec::new()));
            }
        }

        #[test]
        fn bare_line_numbers_are_those_of_single_cells(
            cells in prop::collection::vec("[-+]?[0-9]{0,20}[.]?[0-9]{0,20}([eE][-+]?[0-9]{1,3})?", 1..6),
        ) {
            let line = cells.join(",");
            let mut values = Vec::new();
            let read = split(&line, LabelPlace::None).unwrap().numbers(cells.len(), &mut values);
            let each: Result<Vec<f64>, _> = cells.iter().map(|cell| parse_number(cell.as_bytes())).collect();
            let is_code = cells.iter().any(|cell| matches!(cell.as_bytes(), [b'0', b'0'..=b'9', ..]));
            prop_assert_eq!(read, each.is_ok() && !is_code);
            if read {
                prop_assert_eq!(Ok(values), each);
            }
        }
    }
}
