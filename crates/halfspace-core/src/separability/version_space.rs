//! The version space: every w in {-1, +1}^n that is consistent with a sample, counted by
//! enumeration.
//!
//! To find one such w is NP-complete in general (L. Pitt and L. G. Valiant, 1988), so n is small
//! here. The last nine coordinates of w are treated together: which of their 512 settings an
//! example allows depends on its own bits there and on how often w differs from it before, and
//! stands in a table of bit sets. For each setting of the coordinates before, the sets of the
//! examples are intersected until none is left. Half-space examples are as in
//! [`half_space_limits`]: negative ones are reflected, and a tie is a mistake on them.

use crate::bits::BitVector;
use crate::learners::data::{Data, Features, Labels};
use crate::learners::examples::{Examples, LabelKind};
use crate::learners::hypothesis::half_space_limits;
use crate::learners::run::{Interrupt, Run};

use super::examples::look;
use super::undecided::Undecided;

/// The largest n that is enumerated.
pub const N_MAX: usize = 32;

/// The most hypotheses that are listed.
pub const LIST_MAX: usize = 10_000;

/// Coordinates that are treated together.
const LOW_BITS: usize = 9;

/// Intersections between two looks at the stop flag, eight words each.
const STEPS_BETWEEN_LOOKS: usize = 1 << 18;

/// A set of settings of the low coordinates.
type Settings = [u64; (1 << LOW_BITS) / 64];

/// Why there is no version space to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionSpaceError {
    /// Nothing to be consistent with.
    #[error("unlabelled examples: labels or half-space examples are needed")]
    Unlabelled,
    /// The hypotheses are over bits.
    #[error("the version space is over Boolean examples: values all 0/1 or all -1/1")]
    Real,
    /// Enumeration would not end.
    #[error("n = {n} is too large: the version space is enumerated for n up to {N_MAX}")]
    TooWide { n: usize },
    /// The answer would be too long.
    #[error("at most {LIST_MAX} hypotheses are listed, not {list}")]
    ListTooLong { list: usize },
}

/// What is consistent with a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSpace {
    /// How many hypotheses.
    pub count: u64,
    /// The first of them, in the order of their bit strings.
    pub hypotheses: Vec<BitVector>,
}

impl VersionSpace {
    /// Whether the sample leaves exactly one hypothesis.
    pub fn is_unique(&self) -> bool {
        self.count == 1
    }
}

/// The outcome of an enumeration.
#[derive(Clone, Debug, PartialEq)]
pub enum Enumeration {
    /// It came to its end.
    Complete(VersionSpace),
    /// A limit came first; a count so far would say nothing.
    Undecided(Undecided),
}

/// Checks what can be known before [`enumerate`].
///
/// # Errors
/// What is wrong with the sample or with `list`, the number of hypotheses to list.
pub fn check(examples: &dyn Examples, list: usize) -> Result<(), VersionSpaceError> {
    let shape = examples.shape();
    if shape.labels == LabelKind::Unlabelled {
        return Err(VersionSpaceError::Unlabelled);
    }
    if shape.is_real {
        return Err(VersionSpaceError::Real);
    }
    let n = shape.n;
    if n > N_MAX {
        return Err(VersionSpaceError::TooWide { n });
    }
    if list > LIST_MAX {
        return Err(VersionSpaceError::ListTooLong { list });
    }
    Ok(())
}

/// Counts the consistent hypotheses and lists the first `list`.
///
/// # Errors
/// [`Interrupt::Suspended`] when the run was given up.
///
/// # Panics
/// When [`check`] would refuse the sample.
pub fn enumerate(data: &Data, list: usize, run: &Run) -> Result<Enumeration, Interrupt> {
    assert_eq!(check(data, list), Ok(()), "a checked sample");
    let found = constraints(data, run).and_then(|constraints| {
        let low_bits = data.n().min(LOW_BITS);
        count(data.n(), low_bits, &constraints, list, run)
    });
    match found {
        Ok(space) => Ok(Enumeration::Complete(space)),
        Err(interrupt) => Ok(Enumeration::Undecided(interrupt.try_into()?)),
    }
}

/// An example as a number, coordinate 1 its highest bit: w is right iff it differs from `code` in
/// at most `allowed` coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Constraint {
    code: u32,
    allowed: u32,
}

/// The distinct constraints of a sample.
fn constraints(data: &Data, run: &Run) -> Result<Vec<Constraint>, Interrupt> {
    let Features::Boolean(matrix) = data.features() else {
        unreachable!("a checked sample is Boolean")
    };
    let n = data.n();
    let (used, unused) = (u32::MAX >> (32 - n), 64 - n);
    let mut constraints = Vec::with_capacity(matrix.rows());
    for row in 0..matrix.rows() {
        look(run)?;
        let code = (matrix.row(row).words()[0].reverse_bits() >> unused) as u32;
        let reflected = matches!(data.labels(), Labels::Labelled(labels) if !labels.get(row));
        let (limit, ties) = half_space_limits(n, u64::from(reflected));
        constraints.push(Constraint {
            code: if reflected { !code & used } else { code },
            allowed: limit - ties as u32,
        });
    }
    // Of two with one code the stricter comes first and stays. Then neighbours are torn apart:
    // examples that have little in common leave nothing sooner.
    constraints.sort_unstable();
    constraints.dedup_by_key(|constraint| constraint.code);
    constraints.sort_unstable_by_key(|constraint| constraint.code.wrapping_mul(0x9e37_79b1));
    Ok(constraints)
}

fn count(
    n: usize,
    low_bits: usize,
    constraints: &[Constraint],
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
    /// Counts the settings that are alive after the coordinates of `high`, and lists the first.
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

/// For each setting of an example's own low bits and each slack below `low_bits`, the settings of
/// w that differ from it in no more coordinates than that.
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
