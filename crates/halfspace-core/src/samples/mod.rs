//! Small labelled tables for first trials, each generated from its definition.
//!
//! A table has named columns of text values, and the last column is `class`. This module does not know how tables are
//! written or encoded as examples.

mod messages;
mod monks;
mod random;
mod sample;
mod tic_tac_toe;

pub use sample::{
    CLASSES, M_MAX, N_MAX, NOISE_MAX, Sample, SampleParameters, SampleTable, TERMS_MAX,
};

/// All samples.
pub static SAMPLES: [Sample; 10] = [
    tic_tac_toe::SAMPLE,
    monks::FIRST,
    monks::SECOND,
    monks::THIRD,
    random::PARITY,
    random::MAJORITY,
    random::DNF,
    random::PLURALITY,
    random::DISPLAY,
    messages::SAMPLE,
];

/// The sample of this name.
pub fn find(name: &str) -> Option<&'static Sample> {
    SAMPLES.iter().find(|sample| sample.name == name)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn table(name: &str, given: SampleParameters) -> SampleTable {
        let sample = find(name).expect(name);
        sample.table(&given).expect(name)
    }

    fn positives(table: &SampleTable) -> usize {
        let is_positive = |row: &&Vec<_>| row.last().is_some_and(|class| class == CLASSES[1]);
        table.rows.iter().filter(is_positive).count()
    }

    #[test]
    fn monks_and_tic_tac_toe_have_the_known_counts() {
        for (name, columns, rows, expected) in [
            ("tic-tac-toe", 10, 958, 626),
            ("monks-1", 7, 432, 216),
            ("monks-2", 7, 432, 142),
            ("monks-3", 7, 432, 228),
        ] {
            let table = table(name, SampleParameters::default());
            assert_eq!(table.columns.len(), columns, "{name}");
            assert_eq!(table.rows.len(), rows, "{name}");
            assert_eq!(positives(&table), expected, "{name}");
            let features: Vec<_> = table.rows.iter().map(|row| &row[..columns - 1]).collect();
            let different: std::collections::BTreeSet<_> = features.iter().collect();
            assert_eq!(different.len(), rows, "{name}");
            assert!(table.rows.iter().all(|row| row.len() == columns));
        }
    }

    #[test]
    fn tic_tac_toe_boards_are_legal_end_positions() {
        for row in table("tic-tac-toe", SampleParameters::default()).rows {
            let count = |value| row.iter().filter(|cell| *cell == value).count();
            let (x, o) = (count("x"), count("o"));
            // Only the player of the last move can have a line of three.
            assert!(x == o + 1 || x == o && row[9] == CLASSES[0], "{row:?}");
        }
    }

    #[test]
    fn first_rows_of_tic_tac_toe_and_monks_2_are_fixed() {
        let first = |name| table(name, SampleParameters::default()).rows[0].join(",");
        assert_eq!(first("tic-tac-toe"), "b,b,b,b,o,o,x,x,x,positive");
        assert_eq!(first("monks-2"), "round,round,yes,sword,red,yes,negative");
    }

    #[test]
    fn parity_and_majority_rows_have_the_class_of_their_bits() {
        let given = SampleParameters {
            n: Some(9),
            m: Some(300),
            seed: Some(5),
            ..SampleParameters::default()
        };
        for name in ["parity", "majority"] {
            let table = table(name, given);
            assert_eq!((table.columns.len(), table.rows.len()), (10, 300));
            assert_eq!(table.columns[8], "x9");
            for row in &table.rows {
                let ones = row.iter().filter(|cell| *cell == "1").count();
                let is_positive = if name == "parity" {
                    ones % 2 == 1
                } else {
                    ones > 4
                };
                assert_eq!(row[9], CLASSES[usize::from(is_positive)], "{row:?}");
            }
        }
    }

    #[test]
    fn plurality_and_display_rows_have_the_class_of_their_bits() {
        let given = SampleParameters {
            n: Some(7),
            m: Some(400),
            seed: Some(4),
            ..SampleParameters::default()
        };
        let plurality = table("plurality", given);
        assert_eq!((plurality.columns.len(), plurality.rows.len()), (8, 400));
        for row in &plurality.rows {
            let votes = |party: usize| (0..7).filter(|j| j % 3 == party && row[*j] == "1").count();
            let most = (0..3).map(votes).max().expect("three");
            let first = (0..3).find(|party| votes(*party) == most).expect("one");
            assert_eq!(row[7], ["red", "green", "blue"][first], "{row:?}");
        }
        let display = table("display", SampleParameters { n: None, ..given });
        assert_eq!((display.columns.len(), display.rows.len()), (25, 400));
        let mut faces = std::collections::BTreeMap::new();
        for row in &display.rows {
            let face = faces
                .entry(row[24].clone())
                .or_insert_with(|| row[..7].to_vec());
            assert_eq!(*face, row[..7], "{row:?}");
        }
        assert_eq!(faces.len(), 10);
        let lit = |digit| faces[digit].iter().filter(|cell| **cell == "1").count();
        assert_eq!(["one", "seven", "four", "eight"].map(lit), [2, 3, 4, 7]);
        let noisy = SampleParameters {
            noise: Some(0.3),
            ..SampleParameters { n: None, ..given }
        };
        let noisy = table("display", noisy);
        let changed = noisy
            .rows
            .iter()
            .zip(&display.rows)
            .filter(|(a, b)| a[24] != b[24]);
        let changed = changed.count();
        assert!((80..160).contains(&changed), "{changed} of 400");
        assert!(
            noisy
                .rows
                .iter()
                .zip(&display.rows)
                .all(|(a, b)| a[..24] == b[..24])
        );
    }

    /// A row whose ones are ones of a negative row is negative.
    #[test]
    fn dnf_sample_is_monotone_and_depends_on_the_seed() {
        let given = |seed| SampleParameters {
            n: Some(6),
            m: Some(1000),
            terms: Some(2),
            seed: Some(seed),
            ..SampleParameters::default()
        };
        let drawn = table("dnf", given(2));
        assert_eq!(drawn, table("dnf", given(2)));
        assert_ne!(drawn, table("dnf", given(3)));
        assert!((1..1000).contains(&positives(&drawn)));
        let ones = |row: &[Cow<str>]| {
            (0..6)
                .filter(|&j| row[j] == "1")
                .fold(0_u8, |all, j| all | 1 << j)
        };
        let rows: Vec<_> = drawn
            .rows
            .iter()
            .map(|row| (ones(row), row[6].clone()))
            .collect();
        for (upper, _) in rows.iter().filter(|(_, class)| *class == CLASSES[0]) {
            let mut below = rows.iter().filter(|(lower, _)| lower & !upper == 0);
            assert!(below.all(|(_, class)| *class == CLASSES[0]));
        }
    }

    #[test]
    fn monks_3_noise_flips_its_share_of_classes_only() {
        let noisy = |seed| SampleParameters {
            noise: Some(0.05),
            seed: Some(seed),
            ..SampleParameters::default()
        };
        let clean = table("monks-3", SampleParameters::default());
        let flipped = |table: &SampleTable| {
            let mut flipped = Vec::new();
            for (at, (a, b)) in table.rows.iter().zip(&clean.rows).enumerate() {
                assert_eq!(a[..6], b[..6]);
                flipped.extend((a[6] != b[6]).then_some(at));
            }
            flipped
        };
        let (first, second) = (table("monks-3", noisy(1)), table("monks-3", noisy(2)));
        assert_eq!(first, table("monks-3", noisy(1)));
        assert_ne!(flipped(&first), flipped(&second));
        // The mean is 21.6 and the standard deviation is 4.5.
        assert!(
            (4..40).contains(&flipped(&first).len()),
            "{:?}",
            flipped(&first)
        );
    }

    #[test]
    fn parameters_out_of_range_are_refused_by_name() {
        let refused = |name, given| {
            let sample = find(name).expect(name);
            sample.table(&given).expect_err("out of range").to_string()
        };
        let mut given = SampleParameters {
            n: Some(51),
            ..SampleParameters::default()
        };
        assert_eq!(refused("parity", given), "n: 51 is not from 1 to 50");
        let detail = "n: the sample monks-1 has no such parameter; the parameters are: noise, seed";
        assert_eq!(refused("monks-1", given), detail);
        given.n = None;
        given.noise = Some(0.6);
        assert_eq!(
            refused("tic-tac-toe", given),
            "noise: 0.6 is not from 0 to 0.5"
        );
        given.noise = Some(f64::NAN);
        assert_eq!(refused("dnf", given), "noise: NaN is not from 0 to 0.5");
    }

    #[test]
    fn dnf_sample_accepts_its_largest_and_smallest_parameters() {
        let given = SampleParameters {
            n: Some(N_MAX),
            m: Some(M_MAX),
            ..SampleParameters::default()
        };
        let most = table(
            "dnf",
            SampleParameters {
                terms: Some(TERMS_MAX),
                ..given
            },
        );
        assert_eq!(
            (most.rows.len() as u64, most.columns.len() as u64),
            (M_MAX, N_MAX + 1)
        );
        let one = SampleParameters {
            n: Some(1),
            m: Some(1),
            ..given
        };
        assert_eq!(
            table(
                "dnf",
                SampleParameters {
                    terms: Some(1),
                    ..one
                }
            )
            .rows
            .len(),
            1
        );
    }
}
