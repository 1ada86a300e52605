//! Evidence against the declared sampling of a session, collected example by example in bounded memory.
//!
//! The module keeps the first rows, up to `ROWS_MAX` distinct ones, and compares later examples with them. A hit is
//! an example that repeats a kept row. If the examples are uniform over N, the next one hits one of k kept rows with
//! probability at most k / N, and the sum of these probabilities is known before each example. Therefore the number
//! of hits reaches d, while that sum is at most mu, with probability at most `exp(d - mu - d ln(d / mu))`. Each d has
//! the share `1 / (d (d + 1))` of [`FALSE_ALARM`], so the declaration may be judged after any example.
//!
//! Too few hits are suspicious as well. If each kept row has a probability of at least 1 / K, then
//! `exp(-l H) / prod(1 - p_i (1 - exp(-l)))` is a supermartingale in the hits H for l > 0. By Ville's inequality the
//! hits are at most d, while the sum of the k / K is at least mu > d, with probability at most the same
//! `exp(d - mu - d ln(d / mu))`. Without any hit, the product of the 1 - k / K is the exact probability. Rows in order
//! are counted too: see [`super::even_draws`].

use std::collections::HashMap;
use std::f64::consts::LN_2;

use sha2::{Digest, Sha256};

use crate::learners::engine::even_draws::{
    RowOrder, ln_all_distinct, ln_population_at_most, population,
};
use crate::learners::engine::evidence::{FALSE_ALARM, is_off_balance, ln_population, ln_so_many};
use crate::learners::engine::snapshot::{SnapshotError, SnapshotReader, SnapshotWriter};
use crate::learners::engine::stopping::Sampling;

/// The largest number of kept rows, at 16 bytes each.
const ROWS_MAX: usize = 1024;

/// Counts over the examples so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recurrences {
    /// The digests of the first rows with their labels.
    kept: HashMap<u128, bool>,
    examples: u64,
    hits: u64,
    /// The sum, over all examples, of the number of rows kept before the example.
    chances: u64,
    contradictions: u64,
    ones: u64,
    order: RowOrder,
}

impl Recurrences {
    /// Counts an example, given by its packed words and its label.
    pub fn note(&mut self, row: &[u64], label: bool) {
        let bytes: Vec<u8> = row.iter().flat_map(|word| word.to_le_bytes()).collect();
        let key = row_key(&bytes);
        self.chances = self.chances.saturating_add(self.kept.len() as u64);
        self.examples += 1;
        self.order.note(row);
        self.ones += row
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum::<u64>();
        match self.kept.get(&key) {
            Some(known) => {
                self.hits += 1;
                self.contradictions += u64::from(*known != label);
            }
            None if self.kept.len() < ROWS_MAX => {
                self.kept.insert(key, label);
            }
            None => {}
        }
    }

    /// Why examples of `n` features contradict the declared sampling, if they do.
    pub fn against(&self, sampling: Sampling, n: usize) -> Option<String> {
        let refuted = |what: String| {
            let name = sampling.name();
            Some(format!("the examples refute assume = {name}: {what}"))
        };
        if self.contradictions > 0 {
            return refuted("a row has both labels".to_owned());
        }
        let share = |count: f64| libm::log(count) + libm::log(count + 1.0) - libm::log(FALSE_ALARM);
        if self.hits > 0 {
            let hits = self.hits as f64;
            let ln_mu = libm::log(self.chances as f64) - ln_population(sampling, n);
            if ln_so_many(hits, ln_mu) < -share(hits) {
                return refuted(format!(
                    "{} of {} examples repeat one of the first {}",
                    self.hits,
                    self.examples,
                    self.kept.len()
                ));
            }
        }
        if self.ln_so_few_hits(sampling, n) < -share(self.hits as f64 + 1.0) {
            return refuted(format!(
                "only {} of {} examples repeat one of the first {}; a list of all examples is not a \
                 draw",
                self.hits,
                self.examples,
                self.kept.len()
            ));
        }
        let examples = self.examples as f64;
        let bits = examples * n as f64;
        let ln_rarity = LN_2 + share(examples);
        let RowOrder { pairs, ascents, .. } = self.order;
        if self.examples > 0 && is_off_balance(ascents, pairs as f64, ln_rarity) {
            return refuted(format!(
                "the second example is the larger one in {ascents} of {pairs} pairs; sorted examples \
                 are not a draw"
            ));
        }
        if sampling == Sampling::Uniform
            && self.examples > 0
            && is_off_balance(self.ones, bits, ln_rarity)
        {
            return refuted(format!("{} of {bits} bits are 1", self.ones));
        }
        None
    }

    /// The logarithm of a bound on the probability of so few hits.
    fn ln_so_few_hits(&self, sampling: Sampling, n: usize) -> f64 {
        // A reflected example on the hyperplane is half as probable as any other.
        let ln_each = match sampling {
            Sampling::Reflected if n.is_multiple_of(2) => n as f64 * LN_2,
            _ => ln_population_at_most(sampling, n),
        };
        let ln_mu = libm::log(self.chances.max(1) as f64) - ln_each;
        // No number of hits is too few yet.
        if ln_mu < 0.0 {
            return 0.0;
        }
        let (mu, hits) = (libm::exp(ln_mu), self.hits as f64);
        if self.hits > 0 {
            return match hits < mu {
                true => hits - mu + hits * (ln_mu - libm::log(hits)),
                false => 0.0,
            };
        }
        let (kept, population) = (self.kept.len() as f64, population(ln_each));
        if kept > population {
            return f64::NEG_INFINITY;
        }
        let later = self.examples as f64 - kept;
        let ln_missed = match later > 0.0 {
            true => later * libm::log1p(-kept / population),
            false => 0.0,
        };
        ln_all_distinct(kept, population) + ln_missed
    }

    /// Writes the counts and the kept rows.
    pub fn write(&self, snapshot: &mut SnapshotWriter) {
        snapshot.numbers([
            self.examples,
            self.hits,
            self.chances,
            self.contradictions,
            self.ones,
        ]);
        snapshot.numbers(self.order.numbers());
        snapshot.number(self.kept.len() as u64);
        let mut kept: Vec<_> = self.kept.iter().collect();
        kept.sort_unstable();
        for (key, label) in kept {
            // A key has 127 bits, so the label fits into the lowest bit.
            let marked = key << 1 | u128::from(*label);
            snapshot.numbers([(marked >> 64) as u64, marked as u64]);
        }
    }

    /// Reads the bytes of [`Self::write`].
    ///
    /// # Errors
    /// An error if the bytes end too early or hold more than `ROWS_MAX` rows.
    pub fn read(snapshot: &mut SnapshotReader<'_>) -> Result<Self, SnapshotError> {
        let mut read = Self {
            examples: snapshot.number()?,
            hits: snapshot.number()?,
            chances: snapshot.number()?,
            contradictions: snapshot.number()?,
            ones: snapshot.number()?,
            order: RowOrder::default(),
            kept: HashMap::new(),
        };
        let mut numbers = [0; 4];
        for number in &mut numbers {
            *number = snapshot.number()?;
        }
        read.order = RowOrder::from_numbers(numbers);
        let count = snapshot.count()?;
        if count > ROWS_MAX {
            return Err(SnapshotError);
        }
        for _ in 0..count {
            let marked = u128::from(snapshot.number()?) << 64 | u128::from(snapshot.number()?);
            read.kept.insert(marked >> 1, marked & 1 == 1);
        }
        Ok(read)
    }
}

/// The first 127 bits of the SHA-256 digest of a row, in the lower bits. Snapshots contain these keys.
fn row_key(row: &[u8]) -> u128 {
    let digest: [u8; 32] = Sha256::digest(row).into();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    u128::from_be_bytes(first) >> 1
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::learners::engine::random::{Purpose, Seed};

    /// Uniform rows of `n <= 64` bits. The first bit of a row is its label.
    fn rows(n: u32, count: usize, seed: u64) -> Vec<u64> {
        let mut random = Seed(seed).generator(Purpose::Examples);
        (0..count)
            .map(|_| random.random_range(0..=u64::MAX >> (64 - n)))
            .collect()
    }

    fn noted(rows: &[u64]) -> Recurrences {
        let mut noted = Recurrences::default();
        rows.iter()
            .for_each(|&row| noted.note(&[row], row & 1 == 1));
        noted
    }

    #[test]
    fn recurrences_notice_repeated_examples() {
        let n = 40;
        // More rows than are kept. The second pass repeats the first rows.
        let once = rows(n, 5_000, 1);
        assert_eq!(noted(&once).against(Sampling::Uniform, n as usize), None);
        let mut twice = once.clone();
        twice.extend(&once[..3]);
        let doubt = noted(&twice).against(Sampling::Uniform, n as usize);
        assert!(
            doubt
                .expect("sent again")
                .contains("3 of 5003 examples repeat")
        );
    }

    /// Judges after every example, like a session.
    #[test]
    fn recurrences_believe_honest_examples_at_every_step() {
        for n in [1, 3, 8, 12, 20, 64] {
            for seed in 0..20 {
                let mut noted = Recurrences::default();
                for row in rows(n, 3_000, seed) {
                    noted.note(&[row], row & 1 == 1);
                    assert_eq!(noted.against(Sampling::Uniform, n as usize), None, "{n}");
                }
            }
        }
    }

    #[test]
    fn recurrences_notice_few_rows_repeated_at_small_n() {
        // 100 of the 1,024 rows of ten bits, repeated many times.
        let few = rows(10, 100, 2);
        let many: Vec<u64> = few.iter().cycle().take(2_000).copied().collect();
        assert!(noted(&many).against(Sampling::Uniform, 10).is_some());
    }

    /// A session that is sent every row once, or once and again, as an enumeration or shuffled.
    #[test]
    fn recurrences_notice_lists_of_all_rows() {
        for n in [5, 9, 10] {
            let all: Vec<u64> = (0..1_u64 << n).collect();
            // Multiplication by an odd number permutes the rows.
            let shuffled: Vec<u64> = all.iter().map(|row| row * 181 % (1 << n)).collect();
            for list in [&all, &shuffled] {
                let doubt = noted(list).against(Sampling::Uniform, n);
                assert!(
                    doubt.is_some_and(|doubt| doubt.contains("not a draw")),
                    "{n}"
                );
            }
            let positive = &shuffled[..1 << (n - 1)];
            let doubt = noted(positive).against(Sampling::UniformPositive, n);
            assert_eq!(doubt.is_some(), n > 5, "{n}");
        }
        // Sorted rows of a true sample are no draws either, nor are they in the opposite order.
        let mut sorted = rows(40, 300, 9);
        sorted.sort_by_key(|row| row.reverse_bits());
        let doubt = noted(&sorted).against(Sampling::Reflected, 41);
        assert!(doubt.is_some_and(|doubt| doubt.contains("sorted")));
        sorted.reverse();
        assert!(noted(&sorted).against(Sampling::Reflected, 41).is_some());
    }

    #[test]
    fn recurrences_notice_ones_and_contradictions() {
        let sparse: Vec<u64> = rows(60, 1_000, 3)
            .iter()
            .map(|row| row & row >> 1)
            .collect();
        let noted_sparse = noted(&sparse);
        assert!(noted_sparse.against(Sampling::Uniform, 60).is_some());
        assert_eq!(noted_sparse.against(Sampling::Reflected, 60), None);
        let mut both = Recurrences::default();
        both.note(&[5], true);
        both.note(&[5], false);
        let doubt = both.against(Sampling::Uniform, 60).expect("one is enough");
        assert!(doubt.contains("both labels"), "{doubt}");
    }

    #[test]
    fn recurrences_survive_a_snapshot() {
        for count in [0, 10, 3_000] {
            let noted = noted(&rows(16, count, 4));
            let mut snapshot = SnapshotWriter::default();
            noted.write(&mut snapshot);
            let bytes = snapshot.finish();
            let mut reader = SnapshotReader::new(&bytes);
            assert_eq!(Recurrences::read(&mut reader), Ok(noted));
            reader.end().expect("no more");
            if count > 0 {
                let mut cut = SnapshotReader::new(&bytes[..bytes.len() - 8]);
                assert!(Recurrences::read(&mut cut).is_err());
            }
        }
    }
}
