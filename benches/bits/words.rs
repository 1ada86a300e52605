//! Benchmarks of kernels over one row or one sequence of words.

use std::hint::black_box;

use halfspace_core::bits::{
    Lanes, add_selected, add_signed, pack_ascii, select_bit, selected_sum, words_for,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::compare;
use super::data::{random_words, rows_with};

pub fn fill() {
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

pub fn text() {
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

fn selected(row: &[u64], mut visit: impl FnMut(usize)) {
    for (index, &word) in row.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            visit(index * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

pub fn weights() {
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

pub fn places() {
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
