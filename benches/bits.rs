//! How fast the bit-vector kernels are, as ratios to a baseline timed in the same run.
//!
//! `cargo bench --bench bits`. On a machine that other work shares, seconds mean little: here the
//! kernel and its baseline take turns, each is timed once a round, and the median of the ratios
//! of the rounds is printed. The two columns of time are medians as well.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use halfspace::bits::{
    BLOCK_ROWS, BitBlock, BitMatrix, BlockBuffer, Lanes, Tally, add_selected, add_signed,
    disagreements_all, first_over, gather_rows, last_word_mask, pack_ascii, rows_over, select_bit,
    selected_sum, words_for,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const ROUNDS: usize = 25;
/// The shortest timed stretch; a kernel is repeated until it lasts as long.
const STRETCH: Duration = Duration::from_millis(2);

fn main() {
    println!(
        "{:<52} {:>12} {:>12} {:>8} {:>8}",
        "kernel / baseline", "kernel", "baseline", "ratio", "target"
    );
    agreement();
    hits();
    tally();
    fill();
    text();
    weights();
    places();
    blocks();
}

/// Prints one line: how many times faster `kernel` is than `baseline`, both doing `units` units.
fn compare(
    name: &str,
    target: Option<f64>,
    units: usize,
    mut kernel: impl FnMut(),
    mut baseline: impl FnMut(),
) {
    let (kernel_runs, baseline_runs) = (runs(&mut kernel), runs(&mut baseline));
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|_| {
            (
                seconds(&mut kernel, kernel_runs),
                seconds(&mut baseline, baseline_runs),
            )
        })
        .collect();
    let mut median = |key: fn(&(f64, f64)) -> f64| {
        rounds.sort_by(|a, b| key(a).total_cmp(&key(b)));
        key(&rounds[ROUNDS / 2])
    };
    let (ratio, kernel, baseline) = (
        median(|round| round.1 / round.0),
        median(|round| round.0),
        median(|round| round.1),
    );
    let nanoseconds = |seconds: f64| format!("{:.3} ns", seconds * 1e9 / units as f64);
    let target = target.map_or(String::new(), |target| format!(">= {target}"));
    println!(
        "{name:<52} {:>12} {:>12} {ratio:>8.2} {target:>8}",
        nanoseconds(kernel),
        nanoseconds(baseline)
    );
}

fn runs(work: &mut impl FnMut()) -> u32 {
    let mut runs = 1;
    while seconds(work, runs) * f64::from(runs) < STRETCH.as_secs_f64() {
        runs *= 2;
    }
    runs
}

/// Seconds a run.
fn seconds(work: &mut impl FnMut(), runs: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..runs {
        work();
    }
    start.elapsed().as_secs_f64() / f64::from(runs)
}

fn random_words(count: usize) -> Vec<u64> {
    let mut words = vec![0; count.next_multiple_of(8)];
    Lanes::from_seed(1).fill(&mut words);
    words.truncate(count);
    words
}

fn random_vector(n: usize, seed: u64) -> Vec<u64> {
    let mut words = vec![0; words_for(n).next_multiple_of(8)];
    Lanes::from_seed(seed).fill(&mut words);
    words.truncate(words_for(n));
    if let Some(last) = words.last_mut() {
        *last &= last_word_mask(n);
    }
    words
}

fn random_matrix(n: usize, rows: usize) -> BitMatrix {
    let (mut matrix, mut buffer, mut lanes) =
        (BitMatrix::new(n), BlockBuffer::new(n), Lanes::from_seed(2));
    while matrix.rows() < rows {
        buffer.draw(BLOCK_ROWS.min(rows - matrix.rows()), &mut lanes);
        matrix.push_block(buffer.as_block());
    }
    matrix
}

/// Reads memory and does next to nothing with it.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx512vpopcntdq+avx2",
    "x86_64+avx2"
))]
fn fold(words: &[u64]) -> u64 {
    let mut sums = [0; 64];
    for words in words.as_chunks::<64>().0 {
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum ^= word;
        }
    }
    sums.into_iter().fold(0, |all, sum| all ^ sum)
}

fn agreement() {
    for (place, bytes) in [("L2", 512 << 10), ("DRAM", 256 << 20)] {
        for n in [64, 256, 1024] {
            let matrix = random_matrix(n, bytes * 8 / n);
            let (vector, words) = (random_vector(n, 3), matrix.words());
            let mut out = vec![0; matrix.rows()];
            compare(
                &format!("agreement n={n} {place}, a word / read bandwidth"),
                (n >= 256).then_some(0.8),
                words.len(),
                || {
                    disagreements_all(&matrix, &vector, &mut out);
                    black_box(&out);
                },
                || {
                    black_box(fold(black_box(&words)));
                },
            );
        }
    }
}

/// A hypothesis meets rows, and moves by a bit at each that it gets wrong, as drift does.
fn drift(
    matrix: &BitMatrix,
    limit: u32,
    find: impl Fn(BitBlock, Range<usize>, &[u64], u32) -> Option<usize>,
) -> usize {
    // Another start each time, or the processor's branch predictor learns the mistakes by heart.
    static STARTS: AtomicU64 = AtomicU64::new(0);
    let mut vector = random_vector(matrix.n(), STARTS.fetch_add(1, Ordering::Relaxed));
    let mut mistakes = 0;
    for block in matrix.blocks() {
        let mut row = 0;
        while let Some(mistake) = find(block, row..block.rows(), &vector, limit) {
            mistakes += 1;
            vector[0] ^= 1 << (block.word(0, mistake) & 15);
            row = mistake + 1;
        }
    }
    mistakes
}

fn one_by_one(
    block: BitBlock,
    mut rows: Range<usize>,
    vector: &[u64],
    limit: u32,
) -> Option<usize> {
    rows.find(|&row| {
        let distance = |(word, bits): (usize, &u64)| (block.word(word, row) ^ bits).count_ones();
        vector.iter().enumerate().map(distance).sum::<u32>() > limit
    })
}

fn hits() {
    for (n, limit) in [
        (25, 12),
        (25, 16),
        (25, 25),
        (126, 63),
        (1024, 512),
        (1024, 1024),
    ] {
        let matrix = random_matrix(n, (256 << 13) / n.next_multiple_of(64));
        let found = |block: BitBlock<'_>, rows, vector: &[u64], limit| {
            first_over(block, rows, vector, limit, 0)
        };
        let mistakes = drift(&matrix, limit, found);
        let rows_a_hit = matrix.rows() as f64 / mistakes.max(1) as f64;
        let rarity = if mistakes == 0 {
            "no hit".to_owned()
        } else {
            format!("a hit in {rows_a_hit:.1}")
        };
        compare(
            &format!("first_over n={n}, {rarity}, a row / row by row"),
            None,
            matrix.rows(),
            || {
                black_box(drift(&matrix, limit, found));
            },
            || {
                black_box(drift(&matrix, limit, one_by_one));
            },
        );
    }
    let matrix = random_matrix(256, 16_384);
    let vector = random_vector(256, 5);
    compare(
        "rows_over n=256, a row / row by row",
        None,
        matrix.rows(),
        || {
            for block in matrix.blocks() {
                black_box(rows_over(block, &vector, 128, 0));
            }
        },
        || {
            for block in matrix.blocks() {
                let over = |row: &usize| one_by_one(block, *row..row + 1, &vector, 128).is_some();
                black_box(
                    (0..block.rows())
                        .filter(over)
                        .fold(0_u64, |mask, row| mask | 1 << row),
                );
            }
        },
    );
}

fn tally() {
    for (rows, target) in [(1_000, None), (100_000, Some(40.0))] {
        let matrix = random_matrix(1024, rows);
        let mut tally = Tally::new(1024);
        let mut counts = vec![0_u32; 1024];
        compare(
            &format!("tally n=1024, {rows} rows, a row / bit by bit"),
            target,
            rows,
            || {
                tally.clear();
                for block in matrix.blocks() {
                    tally.add(block, 0..block.rows());
                }
                black_box(tally.counts());
            },
            || {
                counts.fill(0);
                for block in matrix.blocks() {
                    for row in 0..block.rows() {
                        for (j, count) in counts.iter_mut().enumerate() {
                            *count += (block.word(j / 64, row) >> (j % 64) & 1) as u32;
                        }
                    }
                }
                black_box(&counts);
            },
        );
    }
}

fn fill() {
    let mut words = vec![0; 4096];
    let mut other = words.clone();
    let mut lanes = Lanes::from_seed(6);
    let mut one = Xoshiro256PlusPlus::seed_from_u64(6);
    compare(
        "fill, a word / one generator",
        None,
        words.len(),
        || {
            lanes.fill(&mut words);
            black_box(&words);
        },
        || {
            other.iter_mut().for_each(|word| *word = one.next_u64());
            black_box(&other);
        },
    );
}

fn text() {
    for n in [25, 1024] {
        let text: Vec<u8> = random_words(n)
            .iter()
            .map(|word| b'0' + (word >> 63) as u8)
            .collect();
        let (mut words, mut other) = (vec![0; words_for(n)], vec![0; words_for(n)]);
        compare(
            &format!("pack_ascii n={n}, a character / byte by byte"),
            None,
            n,
            || {
                let _ = black_box(pack_ascii(black_box(&text), &mut words));
                black_box(&words);
            },
            || {
                other.fill(0);
                for (position, &byte) in black_box(&text).iter().enumerate() {
                    if byte & !1 != b'0' {
                        black_box(position);
                        break;
                    }
                    other[position / 64] |= u64::from(byte & 1) << (position % 64);
                }
                black_box(&other);
            },
        );
    }
}

/// Rows of `n` bits of which about `set` are 1.
fn rows_with(n: usize, set: usize) -> Vec<Vec<u64>> {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(7);
    let row = |_| {
        let mut row = vec![0; words_for(n)];
        for _ in 0..set {
            let j = (generator.next_u64() % n as u64) as usize;
            row[j / 64] |= 1 << (j % 64);
        }
        row
    };
    (0..4096).map(row).collect()
}

fn selected(row: &[u64], mut visit: impl FnMut(usize)) {
    for (index, &word) in row.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            visit(index * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

fn weights() {
    for (n, set) in [(25, 12), (126, 22), (1024, 700)] {
        let rows = rows_with(n, set);
        let values: Vec<i64> = random_words(n)
            .iter()
            .map(|word| (word >> 40) as i64)
            .collect();
        compare(
            &format!("selected_sum n={n}, a row / set bit by set bit"),
            None,
            rows.len(),
            || {
                rows.iter().for_each(|row| {
                    black_box(selected_sum(&values, row));
                })
            },
            || {
                rows.iter().for_each(|row| {
                    let mut sum = 0;
                    selected(row, |j| sum += values[j]);
                    black_box(sum);
                })
            },
        );
        let (mut kept, mut other) = (values.clone(), values.clone());
        compare(
            &format!("add_selected n={n}, a row / set bit by set bit"),
            None,
            rows.len(),
            || {
                rows.iter()
                    .for_each(|row| add_selected(black_box(&mut kept), row, 3))
            },
            || {
                rows.iter()
                    .for_each(|row| selected(row, |j| black_box(&mut other)[j] += 3))
            },
        );
        compare(
            &format!("add_signed n={n}, a row / bit by bit"),
            None,
            rows.len(),
            || {
                rows.iter()
                    .for_each(|row| add_signed(black_box(&mut kept), row, 3))
            },
            || {
                rows.iter().for_each(|row| {
                    for (j, weight) in black_box(&mut other).iter_mut().enumerate() {
                        *weight += if row[j / 64] >> (j % 64) & 1 == 1 {
                            3
                        } else {
                            -3
                        };
                    }
                })
            },
        );
    }
}

fn places() {
    for n in [64, 1024] {
        let rows = rows_with(n, n);
        let ones: Vec<u64> = rows
            .iter()
            .map(|row| row.iter().map(|word| u64::from(word.count_ones())).sum())
            .collect();
        let draws = random_words(rows.len());
        let wanted = || {
            rows.iter()
                .zip(&ones)
                .zip(&draws)
                .map(|((row, ones), draw)| (row, draw % ones))
        };
        compare(
            &format!("select_bit n={n} / bit by bit"),
            None,
            rows.len(),
            || {
                wanted().for_each(|(row, k)| {
                    black_box(select_bit(row, k));
                })
            },
            || {
                wanted().for_each(|(row, k)| {
                    let set = (0..n).filter(|j| row[j / 64] >> (j % 64) & 1 == 1);
                    black_box(set.into_iter().nth(k as usize));
                })
            },
        );
    }
}

fn blocks() {
    let (n, mut lanes) = (256, Lanes::from_seed(8));
    let mut buffer = BlockBuffer::new(n);
    buffer.draw(BLOCK_ROWS, &mut lanes);
    let masks = random_words(512);
    let copy = || buffer.as_block().words().to_vec();
    let (mut reflected, mut other) = (buffer.clone(), copy());
    compare(
        "reflect_rows n=256, a block / row by row",
        None,
        masks.len(),
        || {
            masks
                .iter()
                .for_each(|&mask| black_box(&mut reflected).reflect_rows(mask))
        },
        || {
            masks.iter().for_each(|&mask| {
                for row in (0..BLOCK_ROWS).filter(|row| mask >> row & 1 == 1) {
                    black_box(&mut other)
                        .iter_mut()
                        .skip(row)
                        .step_by(BLOCK_ROWS)
                        .for_each(|word| *word = !*word);
                }
            })
        },
    );
    let (mut retained, mut other, mut same) = (buffer.clone(), copy(), lanes.clone());
    compare(
        "draw and retain_rows n=256, a block / draw alone",
        None,
        masks.len(),
        || {
            masks.iter().for_each(|&mask| {
                retained.draw(BLOCK_ROWS, &mut lanes);
                retained.retain_rows(mask);
                black_box(&retained);
            })
        },
        || {
            masks.iter().for_each(|_| {
                same.fill(&mut other);
                black_box(&other);
            });
        },
    );
    for n in [25, 1024] {
        let rows = rows_with(n, n / 2);
        compare(
            &format!("push_row n={n}, a row / copied row by row"),
            None,
            rows.len(),
            || {
                let mut matrix = BitMatrix::new(n);
                rows.iter().for_each(|row| matrix.push_row(row));
                black_box(&matrix);
            },
            || {
                let mut words = Vec::new();
                rows.iter().for_each(|row| words.extend_from_slice(row));
                black_box(&words);
            },
        );
    }
    let matrix = random_matrix(n, 65_536);
    let chosen: Vec<usize> = random_words(BLOCK_ROWS)
        .iter()
        .map(|word| (word >> 48) as usize)
        .collect();
    let mut copied = vec![0; words_for(n)];
    compare(
        "gather_rows n=256, a block / row by row",
        None,
        1,
        || {
            gather_rows(&matrix, &chosen, &mut buffer);
            black_box(&buffer);
        },
        || {
            chosen.iter().for_each(|&row| {
                matrix
                    .block(row / BLOCK_ROWS)
                    .copy_row(row % BLOCK_ROWS, &mut copied);
                black_box(&copied);
            })
        },
    );
}
