//! Packed bits in the layout of other programs, such as NumPy: rows padded to whole bytes, most or least significant
//! bit first.
//!
//! This module reads the JSON form `packed`, and unpacks the rows of octet bodies.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use halfspace_core::bits::{WORD_BITS, last_word_mask};

use halfspace_core::learners::engine::assume::Assume;

use crate::building::parsed::Parsed;
use crate::building::sample_builder::SampleBuilder;
use crate::error::{Fault, FormatErrorKind};
use crate::options::{BitOrder, ParseLimits, UnlabelledMeans};
use crate::readers::json::fields::{check_assume, feature_count};
use crate::readers::json::scope;

/// Content of the JSON form `packed`.
pub(crate) struct PackedSample {
    pub(crate) parsed: Parsed,
    pub(crate) assume: Option<Assume>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackedFields {
    #[serde(deserialize_with = "feature_count")]
    n: usize,
    rows: Base64,
    labels: Option<Base64>,
    #[serde(default)]
    bit_order: BitOrder,
    assume: Option<Assume>,
}

impl<'de> Deserialize<'de> for PackedSample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = PackedFields::deserialize(deserializer)?;
        let sample = fields.read(&scope::limits());
        sample.map_err(|(below, fault)| scope::raise_below(fault, below))
    }
}

impl PackedFields {
    /// Builds the sample. A fault carries the JSON pointer of its field.
    fn read(self, limits: &ParseLimits) -> Result<PackedSample, (&'static str, Fault)> {
        let allowed = Assume::allowed(self.labels.is_some());
        let assume = self
            .assume
            .map(|assume| check_assume(assume, allowed))
            .transpose();
        let assume = assume.map_err(|fault| ("/assume", fault))?;
        let rows = count_rows(&self.rows.0, self.n).map_err(|fault| ("/rows", fault))?;
        let mut label_words = Vec::new();
        if let Some(Base64(labels)) = &self.labels {
            let unpacked = unpack(labels, rows, self.bit_order, &mut label_words);
            unpacked.map_err(|fault| ("/labels", fault))?;
        }
        let labels = self.labels.is_some().then_some(label_words.as_slice());
        let parsed = read_rows(&self.rows.0, self.n, labels, self.bit_order, limits);
        let parsed = parsed.map_err(|fault| ("/rows", fault))?;
        Ok(PackedSample { parsed, assume })
    }
}

fn count_rows(bytes: &[u8], n: usize) -> Result<usize, Fault> {
    let row_bytes = n.div_ceil(8);
    if bytes.is_empty() {
        let detail = "The data have no examples; send at least one.";
        return Err(Fault::new(FormatErrorKind::EmptyData, detail));
    }
    if !bytes.len().is_multiple_of(row_bytes) {
        let detail = format!(
            "The string has {} bytes, which is not a whole number of rows; a row of n = {n} bits \
             takes {row_bytes} bytes.",
            bytes.len()
        );
        return Err(Fault::new(FormatErrorKind::UnequalLength, detail));
    }
    Ok(bytes.len() / row_bytes)
}

fn read_rows(
    bytes: &[u8],
    n: usize,
    labels: Option<&[u64]>,
    order: BitOrder,
    limits: &ParseLimits,
) -> Result<Parsed, Fault> {
    let mut builder = SampleBuilder::new(limits, Some(n), None)?;
    let mut words = Vec::new();
    for (row, bytes) in bytes.chunks_exact(n.div_ceil(8)).enumerate() {
        unpack(bytes, n, order, &mut words).map_err(|fault| {
            let detail = format!("Row {}: {}", row + 1, fault.detail);
            Fault::new(fault.kind, detail)
        })?;
        let label = labels.map(|labels| (labels[row / WORD_BITS] >> (row % WORD_BITS) & 1) as u32);
        builder.packed_row(&words, label)?;
    }
    Ok(builder.finish(UnlabelledMeans::HalfSpace)?.in_memory())
}

/// Converts `n` bits in bytes to words of the packed layout.
pub(crate) fn unpack(
    bytes: &[u8],
    n: usize,
    order: BitOrder,
    words: &mut Vec<u64>,
) -> Result<(), Fault> {
    if bytes.len() != n.div_ceil(8) {
        let (found, expected) = (bytes.len(), n.div_ceil(8));
        let detail = format!("The string has {found} bytes, but {n} bits take {expected}.");
        return Err(Fault::new(FormatErrorKind::UnequalLength, detail));
    }
    words.clear();
    words.extend(bytes.chunks(size_of::<u64>()).map(|chunk| {
        let mut eight = [0; size_of::<u64>()];
        eight[..chunk.len()].copy_from_slice(chunk);
        let word = u64::from_le_bytes(eight);
        match order {
            BitOrder::Little => word,
            // Reverses the bits of each byte and leaves the bytes in place.
            BitOrder::Big => word.swap_bytes().reverse_bits(),
        }
    }));
    if words
        .last()
        .is_some_and(|last| last & !last_word_mask(n) != 0)
    {
        let detail =
            format!("A padding bit after the first {n} bits is 1; padding bits must be 0.");
        return Err(Fault::new(FormatErrorKind::BadBit, detail));
    }
    Ok(())
}

/// Bytes sent as base64 (RFC 4648, section 4).
struct Base64(Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Base64Visitor)
    }
}

struct Base64Visitor;

impl Visitor<'_> for Base64Visitor {
    type Value = Base64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a base64 string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Base64, E> {
        let limit = scope::limits().state_bytes_max;
        let bytes = text.len() as u64 / 4 * 3;
        if bytes > limit {
            let what = format!("The string holds {bytes} bytes");
            return Err(scope::raise(Fault::too_large(
                &what,
                "state_bytes_max",
                limit,
            )));
        }
        STANDARD.decode(text).map(Base64).map_err(|error| {
            let detail = format!(
                "The string is not base64: {error}. Write it in the standard alphabet of RFC 4648, \
                 with padding."
            );
            scope::raise(Fault::new(FormatErrorKind::BadBase64, detail))
        })
    }
}
