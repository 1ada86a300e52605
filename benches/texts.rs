//! Texts made by a rule, as rows of words. The benchmarks of large data share them.

use halfspace_core::learners::engine::random::Seed;

/// Words of all texts, and how many each text has.
pub const WORDS: usize = 300_000;
pub const ACTIVE: usize = 60;

/// The words of a text, ascending and below [`WORDS`]. The logarithm of a word's rank is uniform, so that its frequency
/// falls as in Zipf's law.
pub fn words(text: u64, words: &mut Vec<u32>) {
    words.clear();
    let mut place = 0;
    while words.len() < ACTIVE {
        let uniform = (Seed(text).child(place).0 >> 11) as f64 / (1_u64 << 53) as f64;
        let word = (WORDS as f64).powf(uniform) as u32;
        if !words.contains(&word) {
            words.push(word);
        }
        place += 1;
    }
    words.sort_unstable();
}

/// Whether the random weights of the words have a positive sum.
pub fn is_positive(words: &[u32]) -> bool {
    let weight = |word: &u32| (Seed(0).child((*word).into()).0 as i64) >> 8;
    words.iter().map(weight).sum::<i64>() >= 0
}
