//! A block of up to 64 examples in the form in which a rule reads them: the features, the labels, and a mask of the
//! negative examples whose signs were reversed to make positive ones of them (reflected).

use crate::bits::{self, BLOCK_ROWS, BitBlock, SparseBlock, SparseRow, WORD_BITS};

use crate::learners::sample::classes::BlockCodes;

/// Up to 64 examples with their labels.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Features of the rows.
    pub features: BlockFeatures<'a>,
    /// Bit `r` is set if row `r` has the label +1. A reflected row counts as positive.
    pub positives: u64,
    /// Bit `r` is set if row `r` is a negative example that was reflected (u <- -u). A tie on such a row is a
    /// mistake, because sgn(0) = +1.
    pub reflected: u64,
    /// The class codes, if there are more than two classes. No row has a label of +1 or -1 then.
    pub codes: Option<BlockCodes>,
    /// The steps that rules take from the rows. None if all of them are whole.
    pub steps: Option<Steps<'a>>,
}

/// The steps that rules take from the rows of a block, as parts of a whole step: see
/// [`Weights`](crate::learners::sample::weights::Weights).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps<'a> {
    /// The number of parts from each row.
    pub of_rows: &'a [u32],
    /// The parts of a whole step.
    pub parts: u32,
}

/// Features of a block.
#[derive(Clone, Copy, Debug)]
pub enum BlockFeatures<'a> {
    /// Packed bits in word-major order.
    Boolean(BitBlock<'a>),
    /// Real values in row-major order, `n` per row.
    Real { n: usize, values: &'a [f64] },
    /// The active features of each row, Boolean or real.
    Sparse(SparseBlock<'a>),
}

/// The bits of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowBits<'a> {
    /// Packed words.
    Packed(&'a [u64]),
    /// The places of the ones, ascending from 0.
    Listed(&'a [u32]),
}

/// A copy of the bits of one row.
#[derive(Clone, Debug)]
pub enum OwnedRowBits {
    Packed(Vec<u64>),
    Listed(Vec<u32>),
}

impl From<RowBits<'_>> for OwnedRowBits {
    fn from(bits: RowBits<'_>) -> Self {
        match bits {
            RowBits::Packed(words) => Self::Packed(words.to_vec()),
            RowBits::Listed(places) => Self::Listed(places.to_vec()),
        }
    }
}

impl OwnedRowBits {
    pub fn as_bits(&self) -> RowBits<'_> {
        match self {
            Self::Packed(words) => RowBits::Packed(words),
            Self::Listed(places) => RowBits::Listed(places),
        }
    }
}

impl<'a> RowBits<'a> {
    /// The words of a packed row and the places of another, of which one is empty.
    fn parts(self) -> (&'a [u64], &'a [u32]) {
        match self {
            Self::Packed(words) => (words, &[]),
            Self::Listed(places) => (&[], places),
        }
    }

    /// The places of the ones, ascending from 0.
    pub fn ones(self) -> impl Iterator<Item = usize> + Clone + use<'a> {
        let (words, places) = self.parts();
        let packed = words
            .iter()
            .enumerate()
            .flat_map(|(at, &word)| places_of(at, word));
        packed.chain(places.iter().map(|&place| place as usize))
    }

    /// The places of the zeros of a row of `n` bits, ascending from 0.
    pub fn zeros(self, n: usize) -> impl Iterator<Item = usize> + Clone + use<'a> {
        let (words, mut ones) = self.parts();
        let packed = words.iter().enumerate().flat_map(move |(at, &word)| {
            let is_last = at + 1 == bits::words_for(n);
            places_of(
                at,
                !word
                    & if is_last {
                        bits::last_word_mask(n)
                    } else {
                        u64::MAX
                    },
            )
        });
        let listed = match self {
            Self::Packed(_) => 0..0,
            Self::Listed(_) => 0..n,
        };
        let is_zero = move |&place: &usize| match ones.split_first() {
            Some((&first, others)) if first as usize == place => {
                ones = others;
                false
            }
            _ => true,
        };
        packed.chain(listed.filter(is_zero))
    }

    /// The packed words of a row of `n` bits. `words` is memory for those of a listed row.
    pub fn packed<'b>(self, n: usize, words: &'b mut Vec<u64>) -> &'b [u64]
    where
        'a: 'b,
    {
        match self {
            Self::Packed(packed) => packed,
            Self::Listed(ids) => {
                words.resize(bits::words_for(n), 0);
                SparseRow { ids, values: None }.pack(words);
                words
            }
        }
    }

    /// The places of the ones. `places` is memory for those of a packed row.
    pub fn listed<'b>(self, places: &'b mut Vec<u32>) -> &'b [u32]
    where
        'a: 'b,
    {
        match self {
            Self::Listed(listed) => listed,
            Self::Packed(_) => {
                places.clear();
                places.extend(self.ones().map(|place| place as u32));
                places
            }
        }
    }

    /// The number of ones.
    pub fn count_ones(self) -> usize {
        let (words, places) = self.parts();
        words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum::<usize>()
            + places.len()
    }

    /// The row without the ones from place `n` on, and the number of those.
    pub fn split_at(self, n: usize) -> (Self, usize) {
        match self {
            Self::Listed(places) if places.last().is_some_and(|&last| last as usize >= n) => {
                let (below, others) =
                    places.split_at(places.partition_point(|&it| (it as usize) < n));
                (Self::Listed(below), others.len())
            }
            row => (row, 0),
        }
    }

    /// The sum of the weights whose bit is 1.
    ///
    /// # Panics
    /// Panics if the row has a bit without a weight.
    pub fn sum(self, weights: &[i64]) -> i64 {
        match self {
            Self::Packed(words) => bits::selected_sum(weights, words),
            Self::Listed(places) => bits::listed_sum(weights, places),
        }
    }
}

/// The most bits that a document always shows, because people read them.
const BITS_SHOWN_MAX: usize = 1_024;

/// The characters of a number in a list.
const NUMBER_CHARACTERS: usize = 8;

/// Whether a document lists the ones of an example of `n` bits instead of showing all bits.
pub fn lists_ones(n: usize, ones: usize) -> bool {
    n > BITS_SHOWN_MAX && NUMBER_CHARACTERS * ones < n
}

/// The characters of an example in a document.
pub fn characters(n: usize, ones: usize) -> usize {
    match lists_ones(n, ones) {
        true => NUMBER_CHARACTERS * ones,
        false => n,
    }
}

fn places_of(at: usize, word: u64) -> impl Iterator<Item = usize> + Clone {
    bits::ones_of(word).map(move |place| at * WORD_BITS + place)
}

impl BlockFeatures<'_> {
    /// Number of rows, at most 64.
    pub fn rows(&self) -> usize {
        match self {
            Self::Boolean(bits) => bits.rows(),
            Self::Real { n, values } => values.len() / n,
            Self::Sparse(rows) => rows.rows(),
        }
    }
}

impl<'a> Block<'a> {
    /// Rows of two classes, none of which is reflected.
    pub fn of(features: BlockFeatures<'a>, positives: u64) -> Self {
        Self {
            features,
            positives,
            reflected: 0,
            codes: None,
            steps: None,
        }
    }

    /// The code of the class of row `row`. With two classes, +1 has code 1.
    pub fn class(&self, row: usize) -> u32 {
        match &self.codes {
            Some(codes) => codes.get(row),
            None => self.is_positive(row).into(),
        }
    }

    /// The class codes of the rows from `first` on.
    pub fn codes_from(&self, first: usize) -> BlockCodes {
        let mut codes = match self.codes {
            Some(codes) => codes,
            None => BlockCodes::of_signs(self.positives),
        };
        for word in codes.words_mut() {
            *word >>= first;
        }
        codes
    }

    /// The rows as a member of a committee sees them: those of its class have the label +1, all others -1.
    #[must_use]
    pub fn of_class(&self, code: u32) -> Self {
        let codes = self.codes;
        let own = codes
            .unwrap_or_else(|| BlockCodes::of_signs(self.positives))
            .mask(code);
        Self {
            positives: own & row_mask(self.rows()),
            codes: None,
            ..*self
        }
    }

    /// Number of rows, at most 64.
    pub fn rows(&self) -> usize {
        self.features.rows()
    }

    /// Upper bound on the words of work of a learner with one weight per feature on all rows.
    pub fn words_of_work(&self) -> usize {
        match self.features {
            BlockFeatures::Boolean(bits) => bits.words_per_row() * WORD_BITS * bits.rows(),
            BlockFeatures::Real { values, .. } => values.len(),
            BlockFeatures::Sparse(rows) => rows.entries(),
        }
    }

    /// The packed bits of a block of Boolean data.
    ///
    /// # Panics
    /// Panics if the block contains real values or sparse rows. Learners that cannot read them never get any: the
    /// catalogue refuses real data for them, and sparse rows are packed.
    pub fn bits(&self) -> BitBlock<'a> {
        match self.features {
            BlockFeatures::Boolean(bits) => bits,
            BlockFeatures::Real { .. } | BlockFeatures::Sparse(_) => {
                unreachable!("rows in another form before a learner of bits")
            }
        }
    }

    /// The bits of row `row`. `words` is memory for its packed words, which a sparse row does not need.
    ///
    /// # Panics
    /// Panics if the block contains real values.
    pub fn row_bits<'b>(&self, row: usize, words: &'b mut Vec<u64>) -> RowBits<'b>
    where
        'a: 'b,
    {
        match self.features {
            BlockFeatures::Sparse(rows) => RowBits::Listed(rows.row(row).ids),
            _ => {
                words.resize(self.bits().words_per_row(), 0);
                self.bits().copy_row(row, words);
                RowBits::Packed(words)
            }
        }
    }

    /// The step from row `row`, if a whole step is `whole`. Exact if `whole` is a multiple of the parts.
    pub fn step(&self, row: usize, whole: f64) -> f64 {
        self.steps.map_or(whole, |steps| {
            whole * f64::from(steps.of_rows[row]) / f64::from(steps.parts)
        })
    }

    /// What the rows of a mask count together, in parts of a whole row.
    pub fn weight(&self, mask: u64) -> u64 {
        match self.steps {
            None => mask.count_ones().into(),
            Some(steps) => bits::ones_of(mask)
                .map(|row| u64::from(steps.of_rows[row]))
                .sum(),
        }
    }

    /// Whether row `row` has the label +1.
    pub fn is_positive(&self, row: usize) -> bool {
        self.positives >> row & 1 == 1
    }

    /// Whether row `row` had the label +1 before any reflection.
    pub fn own_label(&self, row: usize) -> bool {
        (self.positives ^ self.reflected) >> row & 1 == 1
    }
}

/// The size of a part of a sample: a multiple of [`BLOCK_ROWS`], so that each part begins with a whole block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WholeBlocks(usize);

impl WholeBlocks {
    /// The most whole blocks with at most `rows` rows, and at least one block.
    pub fn within(rows: usize) -> Self {
        Self((rows / BLOCK_ROWS).max(1) * BLOCK_ROWS)
    }

    /// The fewest whole blocks with at least `rows` rows, and at least one block.
    pub fn covering(rows: usize) -> Self {
        Self::within(rows.saturating_add(BLOCK_ROWS - 1))
    }

    /// The number of rows.
    pub fn rows(self) -> usize {
        self.0
    }
}

/// A mask of the first `rows` rows.
pub fn row_mask(rows: usize) -> u64 {
    match rows {
        BLOCK_ROWS.. => u64::MAX,
        rows => (1 << rows) - 1,
    }
}

/// The limit and the tie mask that decide when binary weights make a mistake on a half-space example: row `r` is a
/// mistake iff its Hamming distance to the weights plus bit `r` of the tie mask exceeds the limit.
///
/// <w, u> = n - 2 d, so a positive example is a mistake iff 2 d > n. A reflected negative example is a mistake also
/// at 2 d = n, which is possible only for even n.
pub fn half_space_limits(n: usize, reflected: u64) -> (u32, u64) {
    let ties = if n.is_multiple_of(2) { reflected } else { 0 };
    ((n / 2) as u32, ties)
}
