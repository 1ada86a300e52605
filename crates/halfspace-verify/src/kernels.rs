//! The kernel perceptron by its definition: a sum of kernel values over all earlier mistakes.

use num_bigint::BigInt;
use serde_json::{Value, json};

use crate::examples::Example;
use crate::learner::{Band, Learner, Score, Setup};

pub struct KernelPerceptron {
    n: usize,
    is_monotone: bool,
    max_literals: Option<u64>,
    /// The number of conjunctions of c literals within the limit, for c = 0..=n.
    values: Vec<BigInt>,
    support: Vec<(Vec<bool>, bool)>,
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
            values: values(setup.n as u64, max_literals),
            support: Vec::new(),
            band: setup.band_of_units(1.0)?,
        })
    }
}

/// The sum of the binomials C(c, l) over l up to the limit, for c = 0..=n.
fn values(n: u64, max_literals: Option<u64>) -> Vec<BigInt> {
    let of = |c: u64| {
        let (mut binomial, mut sum) = (BigInt::from(1), BigInt::from(1));
        for l in 1..=c.min(max_literals.unwrap_or(c)) {
            binomial = binomial * (c - l + 1) / l;
            sum += &binomial;
        }
        sum
    };
    (0..=n).map(of).collect()
}

impl KernelPerceptron {
    /// The sum of the kernel values over the support.
    fn sum(&self, example: &Example) -> BigInt {
        let mut score = BigInt::ZERO;
        for (x, is_positive) in &self.support {
            let pairs = x.iter().zip(example.bits());
            let common = pairs.filter(|(a, b)| if self.is_monotone { **a && **b } else { a == b });
            let value = &self.values[common.count()];
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
        self.support.push((example.bits().to_vec(), is_positive));
    }

    fn hypothesis(&self) -> Value {
        let vectors = self.support.iter().map(|(x, is_positive)| {
            let mut vector = shown(x);
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

/// The bits of an example in a document. A long example of few ones is the list of their places.
pub(crate) fn shown(x: &[bool]) -> Value {
    let ones: Vec<usize> = (0..x.len()).filter(|&j| x[j]).collect();
    if x.len() > 1_024 && 8 * ones.len() < x.len() {
        return json!({"ones": ones});
    }
    let bits: String = x.iter().map(|&bit| if bit { '1' } else { '0' }).collect();
    json!({"x": bits})
}
