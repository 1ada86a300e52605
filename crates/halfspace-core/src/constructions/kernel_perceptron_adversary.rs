//! A sequence of examples of one conjunction on which the kernel perceptron over monotone conjunctions makes a mistake
//! every time.
//!
//! The construction is Theorem 4 and Lemma 6 of R. Khardon, D. Roth and R. A. Servedio, "Efficiency versus convergence
//! of Boolean kernels for on-line learning algorithms" (2005). The target is the conjunction of all n variables. The
//! sequence starts with the negative example 0^n and the positive example 1^n, and a set S of negative examples
//! follows. Each member of S has n/20 ones, and any two members have at most n/80 ones in common.
//!
//! Under the monotone kernel, example i of S is a mistake iff 2^(n/20) - 1 >= sum over j < i of 2^|x_i and x_j|. The
//! theorem holds for large n. For the n that you ask for, this module checks the size of the sequence instead:
//! `(|S| - 1) 2^floor(n/80)` must not exceed `2^(n/20) - 1`.
//!
//! S is built by a greedy search. A random vector joins it unless it has too many ones in common with an earlier
//! member. The search fails after 100 draws per wanted member.

use rand::RngExt;

use crate::bits::{BLOCK_ROWS, BitMatrix, BitVector, WORD_BITS, intersections, words_for};
use crate::learners::engine::random::{Generator, Purpose, Seed};
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::sample::data::{Data, Features, Labels};

/// Largest number of bits of a sequence.
pub const BITS_MAX: u64 = 1 << 33;

/// Random vectors to try per member of the set.
const DRAWS_EACH: u64 = 100;

/// Words to compare between two polls of the stop flag.
const WORDS_BETWEEN_LOOKS: usize = 1 << 20;

/// Errors of [`build`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdversaryError {
    /// n is not a positive multiple of 20.
    #[error("n is {n}, but must be a positive multiple of 20")]
    WrongN { n: usize },
    /// The set is empty.
    #[error("size is 0, but must be at least 1")]
    Empty,
    /// The set is so large that the last examples may not be mistakes.
    #[error("size is {size}, but for n = {n} at most {most} examples are certain to be mistakes")]
    TooMany { n: usize, size: u64, most: u64 },
    /// The sequence exceeds [`BITS_MAX`].
    #[error("{size} examples of {n} bits have more than {BITS_MAX} bits in total")]
    TooLarge { n: usize, size: u64 },
    /// The search ended without enough vectors.
    #[error(
        "only {found} of {size} vectors were found in {draws} draws; try a smaller size, a larger \
         n or another seed"
    )]
    NotFound { size: u64, found: u64, draws: u64 },
    /// The stop flag was raised.
    #[error("the search was stopped")]
    Interrupted(Interrupt),
}

/// Builds the sequence for a set S of `size` examples of `n` bits. It has `size` + 2 labelled examples.
///
/// # Errors
/// Returns an error if no such sequence exists, the search fails, or the stop flag of `run` is raised.
pub fn build(n: usize, size: u64, seed: u64, run: &Run) -> Result<Data, AdversaryError> {
    check(n, size)?;
    let mut random = Seed(seed).generator(Purpose::Examples);
    let draws_max = size.saturating_mul(DRAWS_EACH);
    let set = find(n, size, draws_max, &mut random, run)?;
    let mut examples = BitMatrix::for_rows(n, set.rows() + 2);
    let all = BitVector::from_words(n, vec![u64::MAX; words_for(n)]);
    examples.push_row(BitVector::zeros(n).words());
    examples.push_row(all.words());
    set.blocks().for_each(|block| examples.push_block(block));
    let mut labels = BitVector::zeros(examples.rows());
    labels.set(1, true);
    Ok(Data::new(
        Features::Boolean(examples),
        Labels::of_signs(labels),
    ))
}

/// Checks the parameters without a search.
///
/// # Errors
/// Returns an error if the parameters allow no such sequence.
pub fn check(n: usize, size: u64) -> Result<(), AdversaryError> {
    if n == 0 || !n.is_multiple_of(20) {
        return Err(AdversaryError::WrongN { n });
    }
    if size == 0 {
        return Err(AdversaryError::Empty);
    }
    // (size - 1) 2^b <= 2^a - 1 is equivalent to size <= 2^(a - b), because b <= a.
    let most = 1_u64.checked_shl((n / 20 - n / 80) as u32);
    if let Some(most) = most.filter(|&most| size > most) {
        return Err(AdversaryError::TooMany { n, size, most });
    }
    if size.saturating_add(2).saturating_mul(n as u64) > BITS_MAX {
        return Err(AdversaryError::TooLarge { n, size });
    }
    Ok(())
}

/// Finds `size` vectors of n/20 ones, any two with at most n/80 ones in common.
fn find(
    n: usize,
    size: u64,
    draws_max: u64,
    random: &mut Generator,
    run: &Run,
) -> Result<BitMatrix, AdversaryError> {
    let mut set = BitMatrix::for_rows(n, usize::try_from(size).unwrap_or(usize::MAX));
    let mut vector = vec![0; words_for(n)];
    for _ in 0..draws_max {
        draw(n, &mut vector, random);
        if is_apart(&set, &vector, (n / 80) as u32, run)? {
            set.push_row(&vector);
            if set.rows() as u64 == size {
                return Ok(set);
            }
        }
    }
    Err(AdversaryError::NotFound {
        size,
        found: set.rows() as u64,
        draws: draws_max,
    })
}

/// Draws a uniform subset of n/20 of the n places.
fn draw(n: usize, vector: &mut [u64], random: &mut Generator) {
    vector.fill(0);
    // R. W. Floyd's method: draw one of the places up to `last`. If this place is already taken, take `last`,
    // which is still free.
    for last in n - n / 20..n {
        let place = random.random_range(0..=last as u64) as usize;
        let is_taken = vector[place / WORD_BITS] >> (place % WORD_BITS) & 1 == 1;
        let place = if is_taken { last } else { place };
        vector[place / WORD_BITS] |= 1 << (place % WORD_BITS);
    }
}

/// Whether every member of the set has at most `limit` ones in common with the vector.
fn is_apart(
    set: &BitMatrix,
    vector: &[u64],
    limit: u32,
    run: &Run,
) -> Result<bool, AdversaryError> {
    let blocks_between_looks = (WORDS_BETWEEN_LOOKS / (BLOCK_ROWS * vector.len())).max(1);
    let mut common = [0; BLOCK_ROWS];
    for (index, block) in set.blocks().enumerate() {
        if index.is_multiple_of(blocks_between_looks)
            && let Some(interrupt) = run.stop.raised()
        {
            return Err(AdversaryError::Interrupted(interrupt));
        }
        intersections(block, vector, &mut common);
        if common.iter().any(|&ones| ones > limit) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::catalogue;
    use crate::learners::engine::input::Input;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::run::RunLimits;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use serde_json::json;

    /// The mistakes of the monotone kernel perceptron in one pass.
    fn mistakes(data: &Data) -> u64 {
        let entry = catalogue::find("kernel-perceptron").expect("a learner");
        let params = json!({"kernel": {"conjunctions": "monotone"}});
        let object = params.as_object().expect("an object");
        let task = Task {
            parameters: Parameters::from_json(entry.parameters, object).expect("parameters"),
            limits: RunLimits {
                max_passes: Some(1),
                ..RunLimits::default()
            },
            ..Task::of(entry, Seed(0))
        };
        let input = Input::Sample { data, assume: None };
        let outcome = train(&task, input, &Run::default()).expect("nobody suspends it");
        outcome.counts.mistakes
    }

    fn rows(data: &Data) -> Vec<BitVector> {
        let Features::Boolean(matrix) = data.features() else {
            unreachable!("bits")
        };
        (0..matrix.rows()).map(|row| matrix.row(row)).collect()
    }

    #[test]
    fn every_example_of_every_sequence_is_a_mistake() {
        for (n, size) in [
            (20, 1),
            (20, 2),
            (40, 4),
            (60, 8),
            (80, 8),
            (100, 16),
            (400, 2000),
        ] {
            let data = build(n, size, 7, &Run::default()).expect("a sequence");
            assert_eq!(data.examples() as u64, size + 2);
            assert_eq!(mistakes(&data), size + 2, "n = {n}");
        }
    }

    #[test]
    fn the_sequence_is_labelled_by_one_conjunction_and_its_set_is_spread() {
        let data = build(160, 60, 3, &Run::default()).expect("a sequence");
        let rows = rows(&data);
        let ones = |row: &BitVector| (0..160).filter(|&j| row.get(j)).count();
        assert_eq!((ones(&rows[0]), ones(&rows[1])), (0, 160));
        let Some(labels) = data.labels().signs() else {
            unreachable!("labels")
        };
        for (row, x) in rows.iter().enumerate() {
            assert_eq!(labels.get(row), ones(x) == 160);
        }
        for (i, x) in rows.iter().enumerate().skip(2) {
            assert_eq!(ones(x), 8);
            for y in &rows[2..i] {
                assert!((0..160).filter(|&j| x.get(j) && y.get(j)).count() <= 2);
            }
        }
        assert_eq!(build(160, 60, 3, &Run::default()), Ok(data.clone()));
        assert_ne!(build(160, 60, 4, &Run::default()), Ok(data));
    }

    #[test]
    fn adversary_refuses_an_n_or_size_without_a_sequence() {
        let refused = |n, size| build(n, size, 1, &Run::default()).expect_err("no sequence");
        for n in [0, 10, 30, 401] {
            assert_eq!(refused(n, 2), AdversaryError::WrongN { n });
        }
        assert_eq!(refused(20, 0), AdversaryError::Empty);
        for (n, most) in [(20, 2), (80, 8), (400, 32_768)] {
            let size = most + 1;
            assert_eq!(refused(n, size), AdversaryError::TooMany { n, size, most });
        }
        let (n, size) = (10_000, u64::MAX);
        assert_eq!(refused(n, size), AdversaryError::TooLarge { n, size });
    }

    #[test]
    fn adversary_search_ends_after_its_draws_or_a_cancel() {
        let (mut random, run) = (Seed(1).generator(Purpose::Examples), Run::default());
        // Sixty places have room for at most twenty disjoint triples.
        let found = find(60, 21, 5_000, &mut random, &run);
        let Err(AdversaryError::NotFound { size, found, draws }) = found else {
            panic!("{found:?}");
        };
        assert_eq!((size, draws), (21, 5_000));
        assert!(found > 5 && found <= 20);
        run.stop.raise(Interrupt::Cancelled);
        let stopped = build(400, 100, 1, &run);
        assert_eq!(
            stopped,
            Err(AdversaryError::Interrupted(Interrupt::Cancelled))
        );
    }
}
