//! The version space: the number of binary weight vectors w in {-1, +1}^n that are consistent with a sample, and the
//! first of them.
//!
//! Finding one such w is NP-complete in general (L. Pitt and L. G. Valiant, 1988), so vectors are enumerated for n up
//! to 32 only. For n up to 512, [`box_certificate`] seeks a proof that no w is consistent.
//!
//! The last nine coordinates of w are processed together. Which of their 512 settings an example allows depends on its
//! own bits there and on the number of earlier coordinates in which w differs from it, and a table holds these sets as
//! bits. For each setting of the earlier coordinates, the enumeration intersects the sets of the examples, and stops
//! early if no setting remains.
//!
//! Half-space examples follow [`half_space_limits`]: negative examples are reflected, and a tie on them is a mistake.

use crate::bits::BitVector;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::sample::block::half_space_limits;
use crate::learners::sample::data::Data;
use crate::learners::sample::examples::{Examples, LabelKind, MANY_CLASSES};

use super::box_certificate::{self, Exclusion, exclude_binary_weights};
use super::examples::look;
use super::undecided::Undecided;

/// Largest n for an enumeration.
pub const N_MAX: usize = 32;

/// Largest number of hypotheses in a list.
pub const LIST_MAX: usize = 10_000;

/// Coordinates that are processed together.
const LOW_BITS: usize = 9;

/// Intersections of eight words each between two polls of the stop flag.
const STEPS_BETWEEN_LOOKS: usize = 1 << 18;

/// A set of settings of the low coordinates.
type Settings = [u64; (1 << LOW_BITS) / 64];

/// Errors of [`check`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionSpaceError {
    /// The examples have no labels.
    #[error("the examples are unlabelled; send labelled or half-space examples")]
    Unlabelled,
    /// The examples have more than two classes.
    #[error("{MANY_CLASSES}")]
    ManyClasses,
    /// The examples are real, but the hypotheses are over bits.
    #[error("the version space needs Boolean examples: values all 0/1 or all -1/1")]
    Real,
    /// n exceeds [`box_certificate::N_MAX`].
    #[error(
        "n = {n} is too large; the version space is enumerated for n up to {N_MAX}, and excluded \
         for n up to {}",
        box_certificate::N_MAX
    )]
    TooWide { n: usize },
    /// The list exceeds [`LIST_MAX`] hypotheses.
    #[error("list is {list}, but at most {LIST_MAX} hypotheses are listed")]
    ListTooLong { list: usize },
}

/// The hypotheses that are consistent with a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSpace {
    /// Number of consistent hypotheses.
    pub count: u64,
    /// The first hypotheses in the order of their bit strings.
    pub hypotheses: Vec<BitVector>,
}

impl VersionSpace {
    /// Whether exactly one hypothesis is consistent with the sample.
    pub fn is_unique(&self) -> bool {
        self.count == 1
    }
}

/// Result of an enumeration.
#[derive(Clone, Debug, PartialEq)]
pub enum Enumeration {
    /// The enumeration is complete.
    Complete(VersionSpace),
    /// There are no binary weights. Beyond [`N_MAX`] we seek only this proof.
    Excluded(Exclusion),
    /// A limit came first, and no partial count is reported.
    Undecided(Undecided),
}

/// Checks that the arguments are valid for [`enumerate`].
///
/// # Errors
/// Returns an error for an unsuitable sample, or if `list`, the number of hypotheses to list, is too large.
pub fn check(examples: &dyn Examples, list: usize) -> Result<(), VersionSpaceError> {
    let shape = examples.shape();
    if shape.labels == LabelKind::Unlabelled {
        return Err(VersionSpaceError::Unlabelled);
    }
    if shape.labels.has_many_classes() {
        return Err(VersionSpaceError::ManyClasses);
    }
    if shape.is_real {
        return Err(VersionSpaceError::Real);
    }
    let n = shape.n;
    if n > box_certificate::N_MAX {
        return Err(VersionSpaceError::TooWide { n });
    }
    if list > LIST_MAX {
        return Err(VersionSpaceError::ListTooLong { list });
    }
    Ok(())
}

/// Counts the consistent hypotheses and lists the first `list` of them. Beyond [`N_MAX`] features, you get a proof
/// that there are none, or no decision.
///
/// # Errors
/// Returns the interrupt if the run was suspended, the examples were unreadable, or memory ran out.
///
/// # Panics
/// Panics if [`check`] rejects the sample.
pub fn enumerate(data: &Data, list: usize, run: &Run) -> Result<Enumeration, Interrupt> {
    assert_eq!(check(data, list), Ok(()), "a checked sample");
    let n = data.n();
    let found = if n > N_MAX {
        let excluded = exclude_binary_weights(data, run);
        let open = Enumeration::Undecided(Undecided::NotExcluded { n, n_max: N_MAX });
        excluded.map(|excluded| excluded.map_or(open, Enumeration::Excluded))
    } else {
        let found = constraints(data, run)
            .and_then(|constraints| count(n, n.min(LOW_BITS), &constraints, list, run));
        found.map(Enumeration::Complete)
    };
    match found {
        Ok(found) => Ok(found),
        Err(interrupt) => Ok(Enumeration::Undecided(interrupt.try_into()?)),
    }
}

/// An example as a number with coordinate 1 as the highest bit. A hypothesis w is right iff it differs from
/// `code` in at most `allowed` coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CodedExample {
    code: u32,
    allowed: u32,
}

/// The distinct constraints of a sample.
fn constraints(data: &Data, run: &Run) -> Result<Vec<CodedExample>, Interrupt> {
    let (features, n) = (data.features(), data.n());
    let (used, unused) = (u32::MAX >> (32 - n), 64 - n);
    let mut constraints = Vec::with_capacity(features.rows());
    for row in 0..features.rows() {
        look(run)?;
        let bits = features.bits(row).expect("a checked sample is Boolean");
        let code = (bits.words()[0].reverse_bits() >> unused) as u32;
        let reflected = matches!(data.labels().signs(), Some(labels) if !labels.get(row));
        let (limit, ties) = half_space_limits(n, u64::from(reflected));
        constraints.push(CodedExample {
            code: if reflected { !code & used } else { code },
            allowed: limit - ties as u32,
        });
    }
    // Of two constraints with the same code, the stricter comes first and is kept. The last sort then separates
    // similar codes, because examples with little in common empty the intersection sooner.
    constraints.sort_unstable();
    constraints.dedup_by_key(|constraint| constraint.code);
    constraints.sort_unstable_by_key(|constraint| constraint.code.wrapping_mul(0x9e37_79b1));
    Ok(constraints)
}

fn count(
    n: usize,
    low_bits: usize,
    constraints: &[CodedExample],
    list: usize,
    run: &Run,
) -> Result<VersionSpace, Interrupt> {
    let table = table(low_bits);
    let low_mask = (1_u32 << low_bits) - 1;
    let mut space = VersionSpace {
        count: 0,
        hypotheses: Vec::new(),
    };
    let mut steps = 0;
    for high in 0..1_u64 << (n - low_bits) {
        let mut alive = every_setting(low_bits);
        for constraint in constraints {
            steps += 1;
            let differing = (high as u32 ^ (constraint.code >> low_bits)).count_ones();
            let Some(slack) = constraint.allowed.checked_sub(differing) else {
                alive = Settings::default();
                break;
            };
            if slack as usize >= low_bits {
                continue;
            }
            let place = (constraint.code & low_mask) as usize * low_bits + slack as usize;
            let allowed = &table[place];
            let mut any = 0;
            for (alive, allowed) in alive.iter_mut().zip(allowed) {
                *alive &= allowed;
                any |= *alive;
            }
            if any == 0 {
                break;
            }
        }
        space.take(n, high << low_bits, &alive, list);
        if steps >= STEPS_BETWEEN_LOOKS {
            look(run)?;
            steps = 0;
        }
    }
    Ok(space)
}

impl VersionSpace {
    /// Counts the remaining settings after the coordinates of `high`, and lists the first of them.
    fn take(&mut self, n: usize, high: u64, alive: &Settings, list: usize) {
        for (word, &alive) in (0..).zip(alive) {
            self.count += u64::from(alive.count_ones());
            let mut left = alive;
            while left != 0 && self.hypotheses.len() < list {
                let code = high | (64 * word + u64::from(left.trailing_zeros()));
                let words = vec![code.reverse_bits() >> (64 - n)];
                self.hypotheses.push(BitVector::from_words(n, words));
                left &= left - 1;
            }
        }
    }
}

/// Returns, for each setting of an example's own low bits and each slack below `low_bits`, the settings of w
/// that differ in at most `slack` coordinates.
fn table(low_bits: usize) -> Vec<Settings> {
    let mut table = vec![Settings::default(); low_bits << low_bits];
    for own in 0..1_usize << low_bits {
        for weights in 0..1_usize << low_bits {
            let differing = (own ^ weights).count_ones() as usize;
            for slack in differing..low_bits {
                table[own * low_bits + slack][weights / 64] |= 1 << (weights % 64);
            }
        }
    }
    table
}

fn every_setting(low_bits: usize) -> Settings {
    let mut settings = Settings::default();
    (0..1_usize << low_bits).for_each(|low| settings[low / 64] |= 1 << (low % 64));
    settings
}
