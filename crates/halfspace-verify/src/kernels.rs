//! The kernel perceptron by its definition: a sum of kernel values over all earlier mistakes.

use num_bigint::{BigInt, BigUint};
use serde_json::{Value, json};

use crate::examples::Example;
use crate::learner::{Band, Learner, Score, Setup};

pub struct KernelPerceptron {
    n: usize,
    is_monotone: bool,
    max_literals: Option<u64>,
    /// The number of conjunctions of c literals within the limit, for all c that examples have in common so far.
    values: Vec<BigInt>,
    support: Vec<(Vec<usize>, bool)>,
    band: Option<Band>,
}

impl KernelPerceptron {
    pub fn new(setup: &Setup<'_>) -> Result<Self, String> {
        let kernel = setup.params.get("kernel").and_then(Value::as_object);
        let kernel = kernel.ok_or("params.kernel is not an object")?;
        let max_literals = kernel.get("max_literals").and_then(Value::as_u64);
        Ok(Self {
            n: setup.n,
            is_monotone: kernel.get("conjunctions") == Some(&json!("monotone")),
            max_literals,
            values: Vec::new(),
            support: Vec::new(),
            band: setup.band_of_units(1.0)?,
        })
    }
}

/// The sum of the binomials C(c, l) over l up to the limit.
pub(crate) fn conjunctions(c: u64, max_literals: Option<u64>) -> BigUint {
    if max_literals.is_none_or(|most| most >= c) {
        return BigUint::from(1_u32) << c;
    }
    let (mut binomial, mut sum) = (BigUint::from(1_u32), BigUint::from(1_u32));
    for l in 1..=c.min(max_literals.unwrap_or(c)) {
        binomial = binomial * (c - l + 1) / l;
        sum += &binomial;
    }
    sum
}

/// How many features both lists have, which ascend.
fn both(one: &[usize], other: &[usize]) -> usize {
    let (mut at, mut count) = (0, 0);
    for j in one {
        while other.get(at).is_some_and(|next| next < j) {
            at += 1;
        }
        count += usize::from(other.get(at) == Some(j));
    }
    count
}

impl KernelPerceptron {
    /// The sum of the kernel values over the support.
    fn sum(&self, example: &Example) -> BigInt {
        let (mut score, ones) = (BigInt::ZERO, example.ones());
        for (x, is_positive) in &self.support {
            let both = both(x, &ones);
            let common = match self.is_monotone {
                true => both,
                // The ones and the zeros that both have.
                false => both + self.n - (x.len() + ones.len() - both),
            };
            let value = &self.values[common];
            match is_positive {
                true => score += value,
                false => score -= value,
            }
        }
        score
    }
}

impl Learner for KernelPerceptron {
    fn band(&self) -> Option<&Band> {
        self.band.as_ref()
    }

    fn is_positive(&self, example: &Example) -> bool {
        self.sum(example) >= BigInt::ZERO
    }

    fn score(&self, example: &Example) -> Score {
        Score::whole(self.sum(example))
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        let x = example.ones();
        let most = if self.is_monotone { x.len() } else { self.n };
        let known = self.values.len()..=most;
        let new = known.map(|c| conjunctions(c as u64, self.max_literals).into());
        self.values.extend(new);
        self.support.push((x, is_positive));
    }

    fn hypothesis(&self) -> Value {
        let vectors = self.support.iter().map(|(x, is_positive)| {
            let mut vector = shown(self.n, x);
            vector["y"] = json!(if *is_positive { 1 } else { -1 });
            vector
        });
        let conjunctions = if self.is_monotone { "monotone" } else { "all" };
        json!({
            "kind": "kernel", "n": self.n, "support": vectors.collect::<Vec<_>>(),
            "kernel": {"conjunctions": conjunctions, "max_literals": self.max_literals},
        })
    }
}

/// The bits of an example of n features in a document. A long example of few ones is the list of their places.
pub(crate) fn shown(n: usize, ones: &[usize]) -> Value {
    if n > 1_024 && 8 * ones.len() < n {
        return json!({"ones": ones});
    }
    let bit = |j| {
        if ones.binary_search(&j).is_ok() {
            '1'
        } else {
            '0'
        }
    };
    json!({"x": (0..n).map(bit).collect::<String>()})
}
