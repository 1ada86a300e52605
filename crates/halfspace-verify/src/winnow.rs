//! Winnow over features and over monotone conjunctions, by their definitions: sums of powers in exact integers.

use std::collections::BTreeMap;

use num_bigint::{BigInt, BigUint};
use serde_json::{Value, json};

use crate::examples::Example;
use crate::kernels::{conjunctions, shown};
use crate::learner::{Band, Learner, Score, Setup, quotient};

/// Largest number of active features of an example.
const ACTIVE_MAX: u64 = 24;

/// The threshold of a sum of powers of alpha = p / q.
struct Threshold {
    alpha: Value,
    p: BigUint,
    q: BigUint,
    theta: String,
    /// Theta is `digits / 10^places`.
    digits: BigUint,
    places: u32,
    band: Option<Band>,
}

impl Threshold {
    fn new(setup: &Setup<'_>, default_theta: BigUint) -> Result<Self, String> {
        let alpha = setup.params.get("alpha").cloned().unwrap_or(json!(2));
        let (p, q) = ratio(&alpha).ok_or("params.alpha is not a number above 1")?;
        let theta = match setup.params.get("theta").and_then(Value::as_str) {
            Some(theta) => theta.to_owned(),
            None => default_theta.to_string(),
        };
        let (digits, places) = decimal(&theta).ok_or("params.theta is not a decimal")?;
        // theta (1 - t) and theta (1 + t) for the share t = p / q.
        let share = setup.number("thickness")?;
        let (above, below) = quotient(share);
        let side = |sign: i32| Score::Exact {
            numerator: BigInt::from(digits.clone()) * (BigInt::from(below.clone()) + &above * sign),
            denominator: &below * BigUint::from(10_u32).pow(places),
        };
        let band = (share != 0.0).then(|| Band {
            below: side(-1),
            above: side(1),
        });
        Ok(Self {
            alpha,
            p,
            q,
            theta,
            digits,
            places,
            band,
        })
    }

    /// The sum of alpha^e over all exponents e, each with its count, as a numerator and a denominator.
    fn sum(&self, counts: &BTreeMap<i32, u64>) -> (BigUint, BigUint) {
        let above = counts.keys().last().map_or(0, |&high| high.max(0));
        let below = counts.keys().next().map_or(0, |&low| (-low).max(0));
        // alpha^e is p^(e + below) q^(above - e) over p^below q^above.
        let terms = counts.iter().map(|(&e, &count)| {
            self.p.pow((e + below) as u32) * self.q.pow((above - e) as u32) * count
        });
        let denominator = self.p.pow(below as u32) * self.q.pow(above as u32);
        (terms.sum(), denominator)
    }

    /// Whether the sum reaches theta.
    fn is_reached(&self, counts: &BTreeMap<i32, u64>) -> bool {
        let (numerator, denominator) = self.sum(counts);
        numerator * BigUint::from(10_u32).pow(self.places) >= &self.digits * denominator
    }

    fn score(&self, counts: &BTreeMap<i32, u64>) -> Score {
        let (numerator, denominator) = self.sum(counts);
        Score::Exact {
            numerator: numerator.into(),
            denominator,
        }
    }
}

/// A decimal as `digits / 10^places`.
fn decimal(text: &str) -> Option<(BigUint, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, u32::try_from(fraction.len()).ok()?))
}

/// Alpha as p / q. A number means its double, and a string its decimal.
fn ratio(alpha: &Value) -> Option<(BigUint, BigUint)> {
    if let Some(text) = alpha.as_str() {
        let (digits, places) = decimal(text)?;
        return Some((digits, BigUint::from(10_u32).pow(places)));
    }
    let mut value = alpha.as_f64().filter(|alpha| *alpha > 1.0)?;
    let mut halvings = 0;
    while value.fract() != 0.0 {
        value *= 2.0;
        halvings += 1;
    }
    Some((
        BigUint::from(value as u128),
        BigUint::from(1_u32) << halvings,
    ))
}

pub struct Winnow {
    threshold: Threshold,
    n: usize,
    exponents: Vec<i32>,
    has_complements: bool,
}

impl Winnow {
    pub fn new(setup: &Setup<'_>) -> Result<Self, String> {
        let has_complements = setup.flag("negated_literals")?;
        let features = if has_complements {
            2 * setup.n
        } else {
            setup.n
        };
        let default = match setup.active_max {
            Some(active) => 4 * active.max(1),
            None => features as u64,
        };
        Ok(Self {
            threshold: Threshold::new(setup, BigUint::from(default))?,
            n: setup.n,
            exponents: vec![0; features],
            has_complements,
        })
    }

    /// The active features of an example, including complements.
    fn active(&self, example: &Example) -> Vec<usize> {
        let mut active = example.ones();
        if self.has_complements {
            let zeros = example.bits().into_iter().enumerate();
            active.extend(zeros.filter(|(_, bit)| !bit).map(|(j, _)| self.n + j));
        }
        active
    }

    /// How many active features have each exponent.
    fn counts(&self, example: &Example) -> BTreeMap<i32, u64> {
        let mut counts = BTreeMap::new();
        for feature in self.active(example) {
            *counts.entry(self.exponents[feature]).or_insert(0) += 1;
        }
        counts
    }
}

impl Learner for Winnow {
    fn band(&self) -> Option<&Band> {
        self.threshold.band.as_ref()
    }

    fn is_positive(&self, example: &Example) -> bool {
        self.threshold.is_reached(&self.counts(example))
    }

    fn score(&self, example: &Example) -> Score {
        self.threshold.score(&self.counts(example))
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        for feature in self.active(example) {
            self.exponents[feature] += if is_positive { 1 } else { -1 };
        }
    }

    fn hypothesis(&self) -> Value {
        json!({
            "kind": "winnow", "n": self.n, "alpha": self.threshold.alpha,
            "theta": self.threshold.theta, "exponents": self.exponents,
            "negated_literals": self.has_complements,
        })
    }
}

pub struct KernelWinnow {
    threshold: Threshold,
    n: usize,
    max_active: u64,
    max_literals: Option<u64>,
    /// The examples with active features in the order of their first mistakes, with promotions minus demotions.
    support: Vec<(Vec<usize>, i32)>,
}

impl KernelWinnow {
    pub fn new(setup: &Setup<'_>) -> Result<Self, String> {
        let max_active = setup.params.get("max_active").and_then(Value::as_u64);
        let max_active = max_active.unwrap_or(20);
        if max_active > ACTIVE_MAX {
            return Err(format!("params.max_active is above {ACTIVE_MAX}"));
        }
        let max_literals = setup.params.get("max_literals").and_then(Value::as_u64);
        let default = match setup.active_max {
            Some(active) => {
                (conjunctions(active.clamp(1, ACTIVE_MAX), max_literals) - 1_u32) * 4_u32
            }
            None => conjunctions(setup.n as u64, max_literals),
        };
        Ok(Self {
            threshold: Threshold::new(setup, default)?,
            n: setup.n,
            max_active,
            max_literals,
            support: Vec::new(),
        })
    }
}

impl KernelWinnow {
    /// How many sets of active features have each exponent. None if the active features are too many, as in no
    /// training.
    fn counts(&self, example: &Example) -> Option<BTreeMap<i32, u64>> {
        let active = example.ones();
        if active.len() as u64 > self.max_active {
            return None;
        }
        // A set of active features is a number below 2^a. The exponent of a set is the sum of the counts of the
        // examples that have all its features.
        let mut exponents = vec![0; 1 << active.len()];
        for (x, net) in &self.support {
            let shared = active
                .iter()
                .enumerate()
                .filter(|(_, feature)| x.binary_search(feature).is_ok());
            exponents[shared.map(|(at, _)| 1 << at).sum::<usize>()] += net;
        }
        for at in 0..active.len() {
            for set in (0..exponents.len()).filter(|set| set >> at & 1 == 0) {
                exponents[set] += exponents[set | 1 << at];
            }
        }
        let mut counts = BTreeMap::new();
        let most = self.max_literals.unwrap_or(u64::MAX);
        let is_counted = |set: usize| (1..=most).contains(&set.count_ones().into());
        for exponent in (0..)
            .zip(&exponents)
            .filter(|(set, _)| is_counted(*set))
            .map(|(_, exponent)| exponent)
        {
            *counts.entry(*exponent).or_insert(0) += 1;
        }
        Some(counts)
    }
}

impl Learner for KernelWinnow {
    fn band(&self) -> Option<&Band> {
        self.threshold.band.as_ref()
    }

    fn is_positive(&self, example: &Example) -> bool {
        let counts = self.counts(example);
        counts.is_some_and(|counts| self.threshold.is_reached(&counts))
    }

    fn score(&self, example: &Example) -> Score {
        let counts = self.counts(example);
        counts.map_or(Score::whole(0), |counts| self.threshold.score(&counts))
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        let x = example.ones();
        if x.is_empty() {
            return;
        }
        let by = if is_positive { 1 } else { -1 };
        match self.support.iter_mut().find(|(known, _)| *known == x) {
            Some((_, net)) => *net += by,
            None => self.support.push((x, by)),
        }
    }

    fn hypothesis(&self) -> Value {
        let support = self
            .support
            .iter()
            .filter(|(_, net)| *net != 0)
            .map(|(x, net)| {
                let mut example = shown(self.n, x);
                example["y"] = json!(net.signum());
                example["count"] = json!(net.unsigned_abs());
                example
            });
        let mut hypothesis = json!({
            "kind": "kernel-winnow", "n": self.n, "alpha": self.threshold.alpha,
            "theta": self.threshold.theta, "max_active": self.max_active,
            "support": support.collect::<Vec<_>>(),
        });
        if let Some(most) = self.max_literals {
            hypothesis["max_literals"] = json!(most);
        }
        hypothesis
    }
}
