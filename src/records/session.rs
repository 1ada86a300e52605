//! A stored session: its request, its position, its last snapshot and the examples since then.

use serde::{Deserialize, Serialize};

use halfspace_core::bits::{BitMatrix, BitVector, SparseMatrix, SparseRow, words_for};
use halfspace_core::learners::engine::committee::Multiclass;
use halfspace_core::learners::sample::classes::ClassCodes;
use halfspace_core::learners::sample::data::{Data, Features, Labels, RealMatrix};
use halfspace_formats::{Assume, Classes, LabelRule, RowsKind, Vocabulary};

use super::id::SessionId;
use super::names::Names;
use super::owner::Owner;
use super::time::Timestamp;
use super::train::{LearnerSpec, StopSpec, is_false};

/// The most weights of a session of more than two classes: features times classes.
pub const MODEL_ENTRIES_MAX: u64 = 1 << 24;

/// Checks that a session may have so many classes of `n` features.
///
/// # Errors
/// Too many weights, with the limit.
pub fn check_entries(classes: usize, n: u64) -> Result<(), String> {
    let entries = (classes as u64).saturating_mul(n);
    match classes > 2 && entries > MODEL_ENTRIES_MAX {
        false => Ok(()),
        true => Err(format!(
            "{classes} classes of {n} features have {entries} weights, more than model_entries_max: {MODEL_ENTRIES_MAX}"
        )),
    }
}

/// The most names of features of a session.
pub const SESSION_NAMES_MAX: u64 = 1 << 22;

/// Checks that a session may know so many names.
///
/// # Errors
/// Too many names, with the limit.
pub fn check_names(names: u64) -> Result<(), String> {
    match names > SESSION_NAMES_MAX {
        false => Ok(()),
        true => Err(format!(
            "with these examples the session would know {names} names, more than session_names_max: \
             {SESSION_NAMES_MAX}"
        )),
    }
}

/// The request of a session. With the examples, it suffices to repeat the training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionSpec {
    /// The learner and its parameters.
    pub learner: LearnerSpec,
    /// Number of features. With an open vocabulary, the number of names so far, which the counts of the session hold.
    pub n: u64,
    /// The largest number of names of an example, as the client declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<u64>,
    /// The names of features and classes, and the encoding of raw rows.
    #[serde(default)]
    pub names: Names,
    /// How more than two classes are learnt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiclass: Option<Multiclass>,
    /// Whether each class joins when its first example comes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
    /// The kind of the features.
    pub values: RowsKind,
    /// The declared distribution of the examples.
    pub assume: Option<Assume>,
    /// The seed of all random choices.
    pub seed: u64,
    /// The stopping conditions.
    pub stop: StopSpec,
}

/// A session without its state.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRecord {
    pub id: SessionId,
    pub owner: Owner,
    pub spec: SessionSpec,
    /// Number of examples learnt.
    pub position: u64,
    /// The counts at this position.
    pub tally: SessionTally,
    pub created_at: Timestamp,
}

/// The counts of a session at a position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTally {
    pub position: u64,
    /// Tests that the hypothesis failed.
    pub mistakes: u64,
    /// Whether the session has ended.
    pub terminated: bool,
    /// Time of the last examples; `None` before the first example.
    pub written_at: Option<Timestamp>,
    /// The classes that the examples named, if they were labelled and the request of the session named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Classes>,
    /// The number of names of features, if the vocabulary is open. The names themselves are part of the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<u64>,
}

impl SessionTally {
    /// The counts of a session without examples.
    pub const NEW: Self = Self {
        position: 0,
        mistakes: 0,
        terminated: false,
        written_at: None,
        classes: None,
        names: None,
    };
}

impl SessionRecord {
    /// Whether the next labelled examples name the classes.
    pub fn is_unnamed(&self) -> bool {
        self.position == 0 && self.spec.names.classes.is_none()
    }

    /// The names of the classes so far, for an answer. Plain labels have none, unless each is a class that joined.
    pub fn class_names(&self) -> Option<Vec<String>> {
        let names = &self.spec.names;
        match (self.spec.open, &names.classes) {
            (true, Some(classes)) => Some(classes.each().flatten().map(str::to_owned).collect()),
            (true, None) => Some(Vec::new()),
            (false, _) => names.class_names(),
        }
    }

    /// The rule by which a body for the session reads labels.
    pub fn label_rule(&self) -> LabelRule {
        match (self.spec.open, self.is_unnamed()) {
            (true, _) => LabelRule::Open,
            (false, true) => LabelRule::New,
            (false, false) => self.spec.names.label_rule(),
        }
    }
}

/// A session with everything that is needed to restore it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    pub record: SessionRecord,
    /// The state at some position; `None` if the log begins with the first example.
    pub snapshot: Option<Vec<u8>>,
    /// The packed examples since the snapshot, in order: see [`pack`].
    pub log: Vec<Vec<u8>>,
}

/// Examples that a session has learnt and the store has not written yet.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionAppend {
    pub id: SessionId,
    /// Position of the session before these examples. If the stored position differs, nothing is written.
    pub position: u64,
    /// The counts after these examples.
    pub tally: SessionTally,
    /// The examples, or the state after them.
    pub entry: LogEntry,
}

/// The form in which the store keeps the learnt examples.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEntry {
    /// The packed examples, which are learnt again when the session is restored.
    Examples(Vec<u8>),
    /// The state after the examples, which replaces the log so far.
    Snapshot(Vec<u8>),
}

/// The digest of the data that a client sent.
pub type SentDigest = [u8; 32];

/// Bits of the byte for the kind. The upper four bits are the number of bit planes of the class codes, less one.
const LABELLED: u8 = 1;
const REAL: u8 = 2;
const DIGEST: u8 = 4;
const SPARSE: u8 = 8;
const PLANES_SHIFT: u32 = 4;

/// Packs the first `rows` examples of some data as bytes, with the digest of all data of the request, if it is kept.
/// For an open vocabulary, `names` are those that are new with the examples, as [`Vocabulary::bytes_from`] gives them.
///
/// The bytes are the kind (1 byte), the number of examples (4 bytes), the digest (32 bytes, if the kind says so), with
/// an open vocabulary the length of the new names (4 bytes) and the names, then the class codes (1 bit each in each
/// plane) and the rows. Dense rows are bits in bytes, or doubles. A sparse row is the number of its active features,
/// their indices (4 bytes each), and their values as doubles unless the rows are Boolean. All numbers are
/// little-endian.
#[must_use]
pub fn pack(data: &Data, rows: usize, sent: Option<&SentDigest>, names: Option<&[u8]>) -> Vec<u8> {
    let codes = match data.labels() {
        Labels::Labelled(codes) => Some(codes),
        Labels::HalfSpace | Labels::Unlabelled => None,
    };
    let planes = codes.map_or(0, ClassCodes::planes);
    let is_real = data.features().is_real();
    let kinds = [
        (codes.is_some(), LABELLED),
        (is_real, REAL),
        (matches!(data.features(), Features::Sparse(_)), SPARSE),
        (sent.is_some(), DIGEST),
    ];
    let kind: u8 = kinds
        .iter()
        .map(|&(is_set, bit)| u8::from(is_set) * bit)
        .sum();
    let mut bytes = vec![kind | (planes.saturating_sub(1) as u8) << PLANES_SHIFT];
    bytes.extend_from_slice(&(rows as u32).to_le_bytes());
    bytes.extend(sent.into_iter().flatten());
    if let Some(names) = names {
        push_part(&mut bytes, names);
    }
    for plane in 0..planes {
        let mut kept = BitVector::zeros(rows);
        let code = |row| codes.map_or(0, |codes| codes.get(row));
        (0..rows).for_each(|row| kept.set(row, code(row) >> plane & 1 == 1));
        push_bits(&mut bytes, &kept);
    }
    match data.features() {
        Features::Boolean(matrix) => {
            (0..rows).for_each(|row| push_bits(&mut bytes, &matrix.row(row)));
        }
        Features::Real(matrix) => push_reals(&mut bytes, &matrix.values()[..rows * matrix.n()]),
        Features::Sparse(matrix) => {
            for row in (0..rows).map(|row| matrix.row(row)) {
                bytes.extend((row.ids.len() as u32).to_le_bytes());
                bytes.extend(row.ids.iter().flat_map(|id| id.to_le_bytes()));
                push_reals(&mut bytes, row.values.unwrap_or_default());
            }
        }
    }
    bytes
}

/// Appends a part of some bytes with its length.
pub fn push_part(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u32).to_le_bytes());
    bytes.extend(part);
}

/// Takes a part that [`push_part`] appended; `None` if there is none.
pub fn take_part<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(part)
}

fn push_reals(bytes: &mut Vec<u8>, values: &[f64]) {
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Number of examples that [`pack`] packed; `None` if the bytes are not packed examples.
#[must_use]
pub fn packed_rows(bytes: &[u8]) -> Option<u64> {
    let (rows, _) = bytes.get(1..)?.split_first_chunk()?;
    Some(u32::from_le_bytes(*rows).into())
}

fn push_bits(bytes: &mut Vec<u8>, bits: &BitVector) {
    let words = bits.words().iter().flat_map(|word| word.to_le_bytes());
    bytes.extend(words.take(bits.n().div_ceil(8)));
}

/// The examples that [`pack`] packed, for rows of `n` features, and the digest stored with them; `None` if the bytes
/// are not packed examples. The names of the examples are added to an open vocabulary, which then gives their n.
#[must_use]
pub fn unpack(
    n: usize,
    vocabulary: Option<&mut Vocabulary>,
    bytes: &[u8],
) -> Option<(Data, Option<SentDigest>)> {
    let (&kind, rest) = bytes.split_first()?;
    let (rows, mut rest) = rest.split_first_chunk()?;
    let rows = u32::from_le_bytes(*rows) as usize;
    let planes = (kind >> PLANES_SHIFT) + 1;
    if rows == 0 || planes > 1 && kind & LABELLED == 0 {
        return None;
    }
    let sent = match kind & DIGEST {
        0 => None,
        _ => {
            let (sent, after) = rest.split_first_chunk()?;
            rest = after;
            Some(*sent)
        }
    };
    let n = match vocabulary {
        None => n,
        Some(vocabulary) => {
            vocabulary.add_bytes(take_part(&mut rest)?)?;
            // Examples without any name have one feature.
            vocabulary.len().max(1)
        }
    };
    let labels = match kind & LABELLED {
        0 => Labels::HalfSpace,
        _ => {
            let planes = (0..planes).map(|_| take_bits(&mut rest, rows));
            Labels::Labelled(ClassCodes::of_planes(planes.collect::<Option<_>>()?))
        }
    };
    let is_real = kind & REAL != 0;
    let features = if kind & SPARSE != 0 {
        let mut matrix = SparseMatrix::new(n, is_real);
        for _ in 0..rows {
            take_sparse(&mut rest, &mut matrix)?;
        }
        Features::Sparse(matrix)
    } else if is_real {
        Features::Real(RealMatrix::from_values(
            n,
            take_reals(&mut rest, rows.checked_mul(n)?)?,
        ))
    } else {
        let mut matrix = BitMatrix::new(n);
        for _ in 0..rows {
            matrix.push_row(take_bits(&mut rest, n)?.words());
        }
        Features::Boolean(matrix)
    };
    rest.is_empty().then(|| (Data::new(features, labels), sent))
}

fn take_reals(bytes: &mut &[u8], count: usize) -> Option<Vec<f64>> {
    let (values, rest) = bytes.split_at_checked(count.checked_mul(8)?)?;
    *bytes = rest;
    let (values, _) = values.as_chunks();
    Some(
        values
            .iter()
            .map(|eight| f64::from_le_bytes(*eight))
            .collect(),
    )
}

/// Takes a sparse row and appends it.
fn take_sparse(bytes: &mut &[u8], matrix: &mut SparseMatrix) -> Option<()> {
    let (count, rest) = bytes.split_first_chunk()?;
    let count = u32::from_le_bytes(*count) as usize;
    let (ids, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
    *bytes = rest;
    let ids: Vec<u32> = ids
        .as_chunks()
        .0
        .iter()
        .map(|four| u32::from_le_bytes(*four))
        .collect();
    let is_below_n = ids.last().is_none_or(|&last| (last as usize) < matrix.n());
    if !is_below_n || !ids.is_sorted_by(|one, next| one < next) {
        return None;
    }
    let values = match matrix.is_real() {
        true => Some(take_reals(bytes, count)?),
        false => None,
    };
    matrix.push_row(SparseRow {
        ids: &ids,
        values: values.as_deref(),
    });
    Some(())
}

fn take_bits(bytes: &mut &[u8], n: usize) -> Option<BitVector> {
    let (bits, rest) = bytes.split_at_checked(n.div_ceil(8))?;
    *bytes = rest;
    let mut words = vec![0_u64; words_for(n)];
    for (index, byte) in bits.iter().enumerate() {
        words[index / 8] |= u64::from(*byte) << (8 * (index % 8));
    }
    Some(BitVector::from_words(n, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_examples_survive_packing() {
        for n in [1, 7, 8, 9, 64, 65, 130] {
            let mut matrix = BitMatrix::new(n);
            let mut values = Vec::new();
            let rows = 11;
            for row in 0..rows {
                let mut bits = BitVector::zeros(n);
                (0..n).for_each(|j| bits.set(j, (row * 7 + j * j) % 3 == 1));
                matrix.push_row(bits.words());
                values.extend((0..n).map(|j| (row as f64) / 3.0 - j as f64));
            }
            let labels = BitVector::from_words(rows, vec![0b101_1001_0110]);
            let others = BitVector::from_words(rows, vec![0b011_0000_1111]);
            let codes = ClassCodes::of_planes(vec![labels.clone(), labels.clone(), others]);
            let real = RealMatrix::from_values(n, values);
            let mut sparse = [false, true].map(|is_real| SparseMatrix::new(n, is_real));
            for row in 0..rows {
                let bits = matrix.row(row);
                let ids: Vec<u32> = (0..n as u32).filter(|&j| bits.get(j as usize)).collect();
                let values: Vec<f64> = ids.iter().map(|&j| 0.5 - f64::from(j)).collect();
                for (matrix, values) in sparse.iter_mut().zip([None, Some(&*values)]) {
                    matrix.push_row(SparseRow { ids: &ids, values });
                }
            }
            let sparse = sparse.map(Features::Sparse);
            for features in sparse
                .into_iter()
                .chain([Features::Boolean(matrix), Features::Real(real)])
            {
                for labels in [
                    Labels::HalfSpace,
                    Labels::of_signs(labels.clone()),
                    Labels::Labelled(codes.clone()),
                ] {
                    let data = Data::new(features.clone(), labels);
                    for sent in [None, Some([7; 32])] {
                        let bytes = pack(&data, rows, sent.as_ref(), None);
                        assert_eq!(unpack(n, None, &bytes), Some((data.clone(), sent)));
                        assert_eq!(unpack(n, None, &bytes[..bytes.len() - 1]), None);
                    }
                    let (first, _) = unpack(n, None, &pack(&data, 1, None, None)).expect("one row");
                    assert_eq!(first.examples(), 1);
                }
            }
        }
        assert_eq!(unpack(3, None, &[]), None);
    }

    #[test]
    fn packed_examples_bring_their_new_names() {
        let all = Vocabulary::of_names(["b", "a", "\u{e9}"]).expect("names");
        let mut rows = SparseMatrix::new(3, false);
        rows.push_row(SparseRow {
            ids: &[0, 2],
            values: None,
        });
        let labels = Labels::of_signs(BitVector::zeros(1));
        let data = Data::new(Features::Sparse(rows), labels);
        let bytes = pack(&data, 1, None, Some(&all.bytes_from(1)));
        let mut own = Vocabulary::of_names(["b"]).expect("a name");
        assert_eq!(unpack(0, Some(&mut own), &bytes), Some((data, None)));
        assert_eq!(own, all);
        // They are new once only.
        assert_eq!(unpack(0, Some(&mut own), &bytes), None);
        // Without the other names, the row has a feature that nobody named.
        let mut none = Vocabulary::default();
        assert_eq!(unpack(0, Some(&mut none), &bytes), None);
    }
}
