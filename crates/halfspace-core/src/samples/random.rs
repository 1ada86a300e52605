//! Drawn tables of bits: parity, majority and DNF with two classes, a plurality with three, and the digits of a display
//! with ten.
//!
//! Before noise, the rows of two classes are those that the generator of examples draws for the same target and seed.

use std::borrow::Cow;

use super::sample::{CLASSES, Rows, Sample, Settings};
use crate::bits::{self, BitVector};
use rand::RngExt;

use crate::learners::engine::random::{Generator, Purpose};
use crate::learners::engine::run::Run;
use crate::learners::engine::stopping::Sampling;
use crate::learners::kernel::kernel_perceptron;
use crate::learners::linear::perceptron;
use crate::learners::sample::data::Features;
use crate::learners::sample::generate::{Generated, Plan};
use crate::learners::sample::target::{Draw, Literals, Target};

/// Literals of a term of a DNF, if there are that many features.
const TERM_LITERALS: usize = 3;

pub(super) const PARITY: Sample = Sample {
    name: "parity",
    title: "Parity of n bits",
    description: "m rows of n fair bits. The class is positive if the number of ones is odd.",
    source: "Every variable belongs to the parity. No hyperplane separates the classes if all rows occur and n > 1.",
    classes: &CLASSES,
    options: &[],
    parameters: &["n", "m", "noise", "seed"],
    learner: kernel_perceptron::ENTRY.name,
    learner_parameters: &[],
    rows: |settings| {
        let ones = vec![u64::MAX; settings.n.div_ceil(bits::WORD_BITS)];
        drawn(
            settings,
            Target::Parity(BitVector::from_words(settings.n, ones)),
        )
    },
};

pub(super) const MAJORITY: Sample = Sample {
    name: "majority",
    title: "Majority of n bits",
    description: "m rows of n fair bits. The class is positive if more than half of the bits are ones.",
    source: "A half-space whose weights are all 1.",
    classes: &CLASSES,
    options: &[],
    parameters: &["n", "m", "noise", "seed"],
    learner: perceptron::ENTRY.name,
    learner_parameters: &[],
    rows: |settings| {
        let weights = vec![1; settings.n];
        let theta = settings.n as i64 / 2 + 1;
        drawn(settings, Target::Threshold { weights, theta })
    },
};

pub(super) const DNF: Sample = Sample {
    name: "dnf",
    title: "Monotone DNF of n bits",
    description: "m rows of n fair bits. The class is positive if all bits of at least one term are ones. The seed \
                  draws the terms, each a set of 3 bits.",
    source: "A disjunction of conjunctions. The kernel over monotone conjunctions makes the concept a half-space.",
    classes: &CLASSES,
    options: &[],
    parameters: &["n", "m", "terms", "noise", "seed"],
    learner: kernel_perceptron::ENTRY.name,
    learner_parameters: &[("kernel.conjunctions", "monotone")],
    rows: |settings| {
        let mut draw = Draw::new(settings.n, settings.seed);
        let size = TERM_LITERALS.min(settings.n);
        let terms = (0..settings.terms).map(|_| Literals::new(&draw.variables(size)));
        let terms = terms.collect();
        drawn(
            settings,
            Target::Dnf {
                n: settings.n,
                terms,
            },
        )
    },
};

pub(super) const PLURALITY: Sample = Sample {
    name: "plurality",
    title: "Plurality of three parties",
    description: "m rows of n fair bits, each the vote of a voter for the own party: red, green and blue in turns. The \
                  class is the party with the most votes, and the first of several.",
    source: "A committee of three half-spaces tells the classes apart jointly, but no half-space tells one class from \
             both others if all rows occur and n > 8.",
    classes: &["red", "green", "blue"],
    options: &[],
    parameters: &["n", "m", "noise", "seed"],
    learner: kernel_perceptron::ENTRY.name,
    learner_parameters: &[],
    rows: |settings| {
        let class = |bits: &[bool]| {
            let votes = |party| {
                bits.iter()
                    .skip(party)
                    .step_by(3)
                    .filter(|bit| **bit)
                    .count()
            };
            // The last of several largest is the first party.
            (0..3).rev().max_by_key(|party| votes(*party)).unwrap_or(0)
        };
        of_bits(settings, bit_names(settings.n).collect(), class, |random| {
            (0..settings.n).map(|_| random.random()).collect()
        })
    },
};

/// The lit segments of the digits from 0 to 9: top, upper left and right, middle, lower left and right, bottom.
const DIGITS: [[u8; 7]; 10] = [
    [1, 1, 1, 0, 1, 1, 1],
    [0, 0, 1, 0, 0, 1, 0],
    [1, 0, 1, 1, 1, 0, 1],
    [1, 0, 1, 1, 0, 1, 1],
    [0, 1, 1, 1, 0, 1, 0],
    [1, 1, 0, 1, 0, 1, 1],
    [1, 1, 0, 1, 1, 1, 1],
    [1, 0, 1, 0, 0, 1, 0],
    [1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 0, 1, 1],
];

const SEGMENTS: [&str; 7] = [
    "top",
    "upper_left",
    "upper_right",
    "middle",
    "lower_left",
    "lower_right",
    "bottom",
];

/// Further bits of a display, which say nothing about the digit.
const OTHER_BITS: usize = 17;

pub(super) const DISPLAY: Sample = Sample {
    name: "display",
    title: "Digits of a seven-segment display",
    description: "m rows of the seven segments of a drawn digit and 17 fair bits that say nothing about it. The class \
                  is the digit.",
    source: "The digits of L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone, Classification and Regression Trees \
             (1984), section 2.6, with intact segments.",
    classes: &[
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    ],
    options: &[],
    parameters: &["m", "noise", "seed"],
    learner: perceptron::ENTRY.name,
    learner_parameters: &[],
    rows: |settings| {
        let class = |bits: &[bool]| {
            let is_lit =
                |digit: &[u8; 7]| digit.iter().zip(bits).all(|(lit, bit)| (*lit == 1) == *bit);
            DIGITS.iter().position(is_lit).unwrap_or(0)
        };
        let segments = SEGMENTS.map(str::to_owned).into_iter();
        let names = segments.chain(bit_names(OTHER_BITS)).collect();
        of_bits(settings, names, class, |random| {
            let digit = DIGITS[random.random_range(0..DIGITS.len())];
            let lit = digit.map(|lit| lit == 1).into_iter();
            lit.chain((0..OTHER_BITS).map(|_| random.random()))
                .collect()
        })
    },
};

/// Rows of drawn bits with their classes.
fn of_bits(
    settings: &Settings,
    columns: Vec<String>,
    class: impl Fn(&[bool]) -> usize,
    draw: impl Fn(&mut Generator) -> Vec<bool>,
) -> Rows {
    let mut random = settings.seed.generator(Purpose::Examples);
    let row = |_| {
        let bits = draw(&mut random);
        let cells = bits.iter().map(|bit| if *bit { "1" } else { "0" });
        (cells.map(Cow::from).collect(), class(&bits))
    };
    Rows {
        columns,
        rows: (0..settings.m).map(row).collect(),
    }
}

fn bit_names(n: usize) -> impl Iterator<Item = String> {
    (1..=n).map(|j| format!("x{j}"))
}

fn drawn(settings: &Settings, target: Target) -> Rows {
    let plan = Plan {
        count: Some(settings.m),
        ..Plan::endless(target, Sampling::Uniform)
    };
    let data = Generated::materialise(plan, settings.seed, &Run::default());
    let (Features::Boolean(matrix), Some(labels)) = (data.features(), data.labels().signs()) else {
        unreachable!("the sampling draws labelled bits");
    };
    let row = |row| {
        let bits = matrix.row(row);
        let cells = (0..settings.n).map(|j| if bits.get(j) { "1" } else { "0" });
        (cells.map(Cow::from).collect(), usize::from(labels.get(row)))
    };
    Rows {
        columns: bit_names(settings.n).collect(),
        rows: (0..matrix.rows()).map(row).collect(),
    }
}
