//! Benchmarks of kernels over blocks of rows.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use halfspace_core::bits::{
    BLOCK_ROWS, BitBlock, BitMatrix, BlockBuffer, Lanes, Tally, disagreements, first_over,
    intersections, rows_over, words_for,
};

use super::compare;
use super::data::{random_matrix, random_vector, random_words, rows_with};

/// Reads memory with almost no computation.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx512vpopcntdq+avx2",
    "x86_64+avx2"
))]
pub fn fold(words: &[u64]) -> u64 {
    let mut sums = [0; 64];
    for words in words.as_chunks::<64>().0 {
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum ^= word;
        }
    }
    sums.into_iter().fold(0, |all, sum| all ^ sum)
}

pub fn agreement() {
    for (place, bytes) in [("L2", 512 << 10), ("DRAM", 256 << 20)] {
        for n in [64, 256, 1024] {
            let matrix = random_matrix(n, bytes * 8 / n);
            let (vector, words) = (random_vector(n, 3), matrix.words());
            let mut out = [0; BLOCK_ROWS];
            compare(
                &format!("agreement n={n} {place}, a word / read bandwidth"),
                (n >= 256).then_some(0.8),
                words.len(),
                || {
                    for block in matrix.blocks() {
                        disagreements(block, &vector, &mut out);
                        black_box(&out);
                    }
                },
                || {
                    black_box(fold(black_box(&words)));
                },
            );
        }
    }
}

pub fn intersection() {
    for n in [64, 1024] {
        let matrix = random_matrix(n, (512 << 13) / n);
        let (vector, words) = (random_vector(n, 3), matrix.words());
        let mut out = [0; BLOCK_ROWS];
        compare(
            &format!("intersections n={n} L2, a word / read bandwidth"),
            None,
            words.len(),
            || {
                for block in matrix.blocks() {
                    intersections(block, &vector, &mut out);
                    black_box(&out);
                }
            },
            || {
                black_box(fold(black_box(&words)));
            },
        );
    }
}

/// Compares a hypothesis with rows and flips one bit per mistake, as directed drift does.
fn drift(
    matrix: &BitMatrix,
    limit: u32,
    find: impl Fn(BitBlock, Range<usize>, &[u64], u32) -> Option<usize>,
) -> usize {
    // A new start per call keeps the processor's branch predictor from learning the mistakes.
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

pub fn hits() {
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

pub fn tally() {
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

pub fn blocks() {
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
        "rows gathered n=256, a block / row by row",
        None,
        1,
        || {
            buffer.clear();
            for row in &chosen {
                buffer.push_row(matrix.block(row / BLOCK_ROWS), row % BLOCK_ROWS);
            }
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
