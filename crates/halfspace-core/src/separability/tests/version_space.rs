//! Compares version spaces with a plain enumeration.

use rand::{RngExt, SeedableRng};

use crate::bits::{BitMatrix, BitVector};
use crate::learners::engine::random::Generator;
use crate::learners::engine::run::{Interrupt, Run};
use crate::learners::sample::data::{Data, Features, Labels};
use crate::separability::undecided::Undecided;
use crate::separability::version_space::{
    Enumeration, LIST_MAX, VersionSpace, VersionSpaceError, check, enumerate,
};

use super::samples::{half_space, labelled, random, real};

#[track_caller]
fn space(data: &Data, list: usize) -> VersionSpace {
    match enumerate(data, list, &Run::default()).unwrap() {
        Enumeration::Complete(space) => space,
        Enumeration::Undecided(why) => panic!("{why}"),
    }
}

/// Returns all bit strings of length n, in order, whose plain signed sums predict every label.
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
                Labels::Labelled(labels) => labels.get(index),
                _ => true,
            };
            (sum >= 0) == expected
        })
    };
    strings.filter(is_right).collect()
}

#[test]
fn counts_and_lists_are_those_of_plain_enumeration() {
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
fn every_word_of_the_table_is_reached() {
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
fn what_cannot_be_enumerated_is_refused() {
    let wide = half_space(&["1".repeat(33).as_str()]);
    assert_eq!(check(&wide, 1), Err(VersionSpaceError::TooWide { n: 33 }));
    let error = check(&wide, 1).unwrap_err().to_string();
    assert!(error.contains("33") && error.contains("32"), "{error}");
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
fn a_raised_flag_leaves_no_count() {
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
