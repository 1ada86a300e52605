//! Tables of independent fair bits, whose class is a parity, a majority or a DNF.
//!
//! Before noise, the rows are those that the generator of examples draws for the same target and seed.

use super::sample::{Rows, Sample, Settings};
use crate::bits::{self, BitVector};
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
        (cells.collect(), labels.get(row))
    };
    Rows {
        columns: (1..=settings.n).map(|j| format!("x{j}")).collect(),
        rows: (0..matrix.rows()).map(row).collect(),
    }
}
