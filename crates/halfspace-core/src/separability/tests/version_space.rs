//! Tests version spaces against a plain enumeration.

use rand::{RngExt, SeedableRng};

use crate::bits::{BitMatrix, BitVector};
use crate::learners::engine::random::Generator;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::sample::data::{Data, Features, Labels};
use crate::separability::box_certificate::{Exclusion, exclude_binary_weights};
use crate::separability::undecided::Undecided;
use crate::separability::version_space::{
    Enumeration, LIST_MAX, VersionSpace, VersionSpaceError, check, enumerate,
};

use super::samples::{half_space, labelled, random, real};

#[track_caller]
fn space(data: &Data, list: usize) -> VersionSpace {
    match enumerate(data, list, &Run::default()).unwrap() {
        Enumeration::Complete(space) => space,
        other => panic!("{other:?}"),
    }
}

/// All bit strings of length n, in order, whose plain signed sums predict every label.
fn plain(data: &Data) -> Vec<String> {
    let n = data.n();
    let Features::Boolean(matrix) = data.features() else {
        panic!("real")
    };
    let sign = |bit| if bit { 1 } else { -1 };
    let strings = (0..1_u32 << n).map(|code| format!("{code:0n$b}"));
    let is_right = |text: &String| {
        let weights = BitVector::from_bit_string(text.as_bytes()).unwrap();
        (0..data.examples()).all(|index| {
            let row = matrix.row(index);
            let sum: i32 = (0..n)
                .map(|j| sign(weights.get(j)) * sign(row.get(j)))
                .sum();
            let expected = match data.labels() {
                Labels::Labelled(labels) => labels.get(index) == 1,
                _ => true,
            };
            (sum >= 0) == expected
        })
    };
    strings.filter(is_right).collect()
}

#[test]
fn version_space_matches_plain_enumeration() {
    let mut generator = Generator::seed_from_u64(7);
    let mut found = 0;
    for n in (1..=11).chain([12, 13]) {
        for _ in 0..12 {
            let data = random(n, generator.random_range(1..=6), false, &mut generator);
            let half_space = Data::new(data.features().clone(), Labels::HalfSpace);
            for data in [data, half_space] {
                let expected = plain(&data);
                let space = space(&data, 5);
                assert_eq!(space.count, expected.len() as u64, "{data:?}");
                assert_eq!(space.is_unique(), expected.len() == 1);
                let listed = space.hypotheses.iter().map(BitVector::to_bit_string);
                assert!(listed.eq(expected.iter().take(5).cloned()), "{data:?}");
                found += expected.len();
            }
        }
    }
    assert!(found > 1000);
}

#[test]
fn version_space_counts_hypotheses_in_every_word() {
    // One positive example leaves all ties and half of the other hypotheses.
    for (n, expected) in [(15, 1 << 14), (16, (1 << 15) + 12_870 / 2)] {
        let row = "1".repeat(n);
        assert_eq!(space(&half_space(&[&row]), 0).count, expected);
        // A negative example excludes its ties.
        let negative = labelled(&[(&row, false)]);
        assert_eq!(space(&negative, 0).count, (1 << n) - expected);
    }
}

#[test]
fn version_space_refuses_wide_data_and_long_lists() {
    let wide = half_space(&["1".repeat(513).as_str()]);
    assert_eq!(check(&wide, 1), Err(VersionSpaceError::TooWide { n: 513 }));
    let error = check(&wide, 1).unwrap_err().to_string();
    assert!(error.contains("513") && error.contains("32"), "{error}");
    let narrow = half_space(&["1".repeat(32).as_str()]);
    assert_eq!(check(&narrow, LIST_MAX), Ok(()));
    let list = LIST_MAX + 1;
    assert_eq!(
        check(&narrow, list),
        Err(VersionSpaceError::ListTooLong { list })
    );
    let unlabelled = Data::new(narrow.features().clone(), Labels::Unlabelled);
    assert_eq!(check(&unlabelled, 1), Err(VersionSpaceError::Unlabelled));
    assert_eq!(
        check(&real(&[(&[0.5], true)]), 1),
        Err(VersionSpaceError::Real)
    );
}

#[test]
fn stop_flag_leaves_the_version_space_undecided() {
    let run = Run::default();
    run.stop.raise(Interrupt::Cancelled);
    let mut matrix = BitMatrix::new(32);
    matrix.push_row(&[0xffff]);
    let data = Data::new(Features::Boolean(matrix), Labels::HalfSpace);
    let cancelled = Enumeration::Undecided(Undecided::Cancelled);
    assert_eq!(enumerate(&data, 1, &run), Ok(cancelled));
    run.stop.raise(Interrupt::Suspended);
    assert_eq!(enumerate(&data, 1, &run), Err(Interrupt::Suspended));
}

/// Checks multipliers with plain sums: sum y_i b_i > | sum y_i u_i |_1.
#[track_caller]
fn assert_excludes(data: &Data, exclusion: &Exclusion) {
    let (n, Features::Boolean(matrix)) = (data.n(), data.features()) else {
        panic!("real")
    };
    let mut sum = vec![0_i128; n];
    let mut least = 0_i128;
    for multiplier in &exclusion.multipliers {
        let weight: i128 = (&multiplier.weight).try_into().expect("a small multiplier");
        assert!(weight > 0);
        let is_negative =
            matches!(data.labels().signs(), Some(labels) if !labels.get(multiplier.example));
        let row = matrix.row(multiplier.example);
        for (at, sum) in sum.iter_mut().enumerate() {
            *sum += if row.get(at) == is_negative {
                -weight
            } else {
                weight
            };
        }
        least += weight
            * if n % 2 == 1 {
                1
            } else if is_negative {
                2
            } else {
                0
            };
    }
    let norm: i128 = sum.iter().map(|value| value.abs()).sum();
    assert!(least > norm, "{least} {norm}");
    assert_eq!(exclusion.excludes_real_weights, norm == 0);
}

/// Uniform examples of n bits. The labels are random, or those of hidden binary weights.
fn sample(n: usize, count: usize, is_planted: bool, seed: u64) -> Data {
    let mut random = Generator::seed_from_u64(seed);
    let mut bits = |count: usize| {
        (0..count)
            .map(|_| random.random_bool(0.5))
            .collect::<Vec<_>>()
    };
    let target = bits(n);
    let rows: Vec<(String, bool)> = (0..count)
        .map(|_| {
            let row = bits(n);
            let agreeing = row
                .iter()
                .zip(&target)
                .filter(|(one, other)| one == other)
                .count();
            let label = if is_planted {
                2 * agreeing >= n
            } else {
                bits(1)[0]
            };
            (
                row.iter().map(|&bit| if bit { '1' } else { '0' }).collect(),
                label,
            )
        })
        .collect();
    let rows: Vec<(&str, bool)> = rows
        .iter()
        .map(|(row, label)| (row.as_str(), *label))
        .collect();
    labelled(&rows)
}

#[test]
fn exclusion_proof_implies_an_empty_version_space() {
    let (mut excluded, mut box_alone, mut open) = (0, 0, 0);
    for seed in 0..120 {
        let n = 5 + seed as usize % 8;
        let data = sample(n, 2 * n, false, seed);
        let count = space(&data, 0).count;
        match exclude_binary_weights(&data, &Run::default()).expect("a proof") {
            Some(exclusion) => {
                assert_eq!(count, 0, "seed {seed}");
                assert_excludes(&data, &exclusion);
                excluded += 1;
                box_alone += u32::from(!exclusion.excludes_real_weights);
            }
            None => open += u32::from(count == 0),
        }
    }
    println!("{excluded} excluded, {box_alone} by the box alone, {open} open without weights");
    assert!(excluded > 10 && box_alone > 5, "{excluded} {box_alone}");
}

#[test]
fn wide_samples_are_excluded_or_undecided() {
    let outcome = |data: &Data| enumerate(data, 1, &Run::default()).expect("an answer");
    for n in [100, 101] {
        let many = sample(n, 5 * n / 2, false, 3);
        let Enumeration::Excluded(exclusion) = outcome(&many) else {
            panic!("n = {n}")
        };
        assert_excludes(&many, &exclusion);
        for data in [sample(n, n / 2, false, 3), sample(n, 3 * n, true, 3)] {
            let open = Undecided::NotExcluded { n, n_max: 32 };
            assert_eq!(outcome(&data), Enumeration::Undecided(open));
        }
    }
    // The smallest proofs: a contradiction excludes all weights, and a tie only those of a negative example.
    let row = "10".repeat(25);
    let Enumeration::Excluded(exclusion) = outcome(&labelled(&[(&row, true), (&row, false)]))
    else {
        panic!("a contradiction")
    };
    assert!(exclusion.excludes_real_weights);
}
