//! Upper bounds on the examples and features of a body, from its bytes and before parsing.
//!
//! This module does not know what the examples are for.

use crate::readers::formats::Format;

/// Features per byte in the densest format, packed bits.
const BITS_IN_A_BYTE: u64 = 8;

/// Bounds on the examples of a whole body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Largest possible number of examples.
    pub examples: u64,
    /// Largest possible number of features per example.
    pub features: u64,
}

/// Bounds the examples of a whole, uncompressed body. `n` is the number of features, if known.
pub fn extent(format: Format, body: &[u8], n: Option<usize>) -> Extent {
    let bytes = body.len() as u64;
    let known = n.map(|n| (n as u64).max(1));
    let lines = || 1 + body.iter().filter(|&&byte| byte == b'\n').count() as u64;
    match format {
        Format::Libsvm => Extent {
            examples: lines(),
            features: known.unwrap_or_else(|| largest_number(body)),
        },
        Format::Arff => Extent {
            examples: lines(),
            // A value of a nominal attribute is a feature and takes at least one byte.
            features: header_bytes(body),
        },
        // The body is compressed.
        Format::Xlsx | Format::Parquet => Extent {
            examples: u64::MAX,
            features: u64::MAX,
        },
        _ => Extent {
            examples: bytes
                .saturating_mul(BITS_IN_A_BYTE)
                .div_ceil(known.unwrap_or(1)),
            features: known.unwrap_or(bytes.saturating_mul(BITS_IN_A_BYTE)),
        },
    }
}

/// The largest whole number anywhere in a text.
fn largest_number(text: &[u8]) -> u64 {
    let numbers = text.split(|byte| !byte.is_ascii_digit());
    let value = |digits: &[u8]| {
        digits.iter().fold(0_u64, |value, digit| {
            let digit = u64::from(digit - b'0');
            value.saturating_mul(10).saturating_add(digit)
        })
    };
    numbers.map(value).max().unwrap_or(0)
}

/// Bounds the bytes of an ARFF body before its rows. The word that ends the header may also be in a comment or a
/// value, so the last occurrence counts. Without it the bound is the whole body.
fn header_bytes(body: &[u8]) -> u64 {
    const DATA: &[u8] = b"@data";
    let found = body
        .windows(DATA.len())
        .rposition(|window| window.eq_ignore_ascii_case(DATA));
    found.unwrap_or(body.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::super::{Options, parse};
    use super::*;

    #[test]
    fn extent_bounds_examples_and_features_of_every_format() {
        let bodies: [(Format, &[u8], Option<usize>); 9] = [
            (Format::Libsvm, b"+1 1:1 9:1\n-1 3:0.5", None),
            (Format::Libsvm, b"+1 1:1 9:1\n-1 3:0.5\n", Some(20)),
            (Format::Csv, b"1,0\n0,1\n1,1", None),
            (Format::Ndjson, b"\"1\"\n\"0\"\n\"1\"\n", None),
            (Format::Octets, &[0b1000_0000; 5], Some(1)),
            (Format::Octets, &[0xFF; 6], Some(16)),
            (
                Format::Json,
                br#"{"half_space": {"examples": ["1", "0"]}}"#,
                None,
            ),
            (
                Format::Arff,
                b"@relation r\n@attribute a {x,y,z}\n@attribute c {0,1}\n@data\n{}\n{0 y}\nz,1\n",
                None,
            ),
            (
                Format::Arff,
                b"@RELATION r\n@ATTRIBUTE a numeric\n@ATTRIBUTE c {0,1}\n@DATA\n{}\n{}\n",
                None,
            ),
        ];
        for (format, body, n) in bodies {
            let options = Options {
                n,
                labels: (format == Format::Csv).then_some(crate::LabelsColumn::First),
                ..Options::default()
            };
            let parsed = parse(format, body, &options).expect("a body").data;
            let bound = extent(format, body, n);
            let (examples, features) = (parsed.examples() as u64, parsed.n() as u64);
            assert!(examples <= bound.examples, "{format:?}: {bound:?}");
            assert!(features <= bound.features, "{format:?}: {bound:?}");
        }
    }

    #[test]
    fn extent_of_libsvm_sees_a_large_index() {
        let bound = extent(Format::Libsvm, b"+1 1048576:0.5\n", None);
        assert_eq!((bound.examples, bound.features), (2, 1_048_576));
        let bound = extent(Format::Libsvm, b"+1 99999999999999999999999:1", None);
        assert_eq!(bound.features, u64::MAX);
    }
}
