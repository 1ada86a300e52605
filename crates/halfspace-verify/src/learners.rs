//! The list of learners, and four of them by their definitions, one example at a time: perceptron, averaged perceptron,
//! bounded perceptron and Directed Drift.

use serde_json::{Value, json};

use crate::examples::Example;
use crate::kernels::KernelPerceptron;
use crate::learner::{Band, Learner, Score, Setup, quotient};
use crate::random::Draws;
use crate::winnow::{KernelWinnow, Winnow};

/// The learner of this name.
pub fn learner(name: &str, setup: &Setup<'_>) -> Result<Box<dyn Learner>, String> {
    let takes_real = ["perceptron", "averaged-perceptron", "bounded-perceptron"];
    if setup.is_real && !takes_real.contains(&name) {
        return Err(format!(
            "{name} needs Boolean examples, but the examples are real"
        ));
    }
    Ok(match name {
        "perceptron" if setup.is_real => Box::new(RealPerceptron::new(setup)?),
        "perceptron" => Box::new(Perceptron::new(setup)?),
        "averaged-perceptron" if setup.is_real => Box::new(RealAverage::new(setup)?),
        "averaged-perceptron" => Box::new(Average::new(setup)?),
        "bounded-perceptron" => Box::new(BoundedPerceptron::new(setup)?),
        "directed-drift" => Box::new(DirectedDrift::new(setup)?),
        "kernel-perceptron" => Box::new(KernelPerceptron::new(setup)?),
        "winnow" => Box::new(Winnow::new(setup)?),
        "kernel-winnow" => Box::new(KernelWinnow::new(setup)?),
        _ => return Err(format!("no receipt exists for the learner {name}")),
    })
}

/// The largest learning rate of a perceptron.
const ETA_MAX: f64 = 1_048_576.0;

/// The learning rate.
fn eta(setup: &Setup<'_>) -> Result<f64, String> {
    let eta = setup.number("eta")?;
    match eta > 0.0 && eta <= ETA_MAX {
        true => Ok(eta),
        false => Err(format!("params.eta is not above 0 and at most {ETA_MAX}")),
    }
}

/// The perceptron on bits, in integers. If the learning rate is fractional, it is the unit of the weights.
struct Perceptron {
    weights: Vec<i64>,
    bias: Option<i64>,
    reading: String,
    step: i64,
    unit: Option<f64>,
    band: Option<Band>,
}

impl Perceptron {
    fn new(setup: &Setup<'_>) -> Result<Self, String> {
        setup.check_initial(Some(0.0))?;
        let eta = eta(setup)?;
        let is_whole = eta.fract() == 0.0;
        let reading = setup.params.get("reading").and_then(Value::as_str);
        Ok(Self {
            weights: vec![0; setup.n],
            bias: setup.flag("bias")?.then_some(0),
            reading: reading.unwrap_or_default().to_owned(),
            step: if is_whole { eta as i64 } else { 1 },
            band: setup.band_of_units(if is_whole { 1.0 } else { eta })?,
            unit: (!is_whole).then_some(eta),
        })
    }

    /// The features whose value is not 0 in this reading, with their values.
    fn values(&self, example: &Example) -> Vec<(usize, i64)> {
        if self.reading == "unsigned" {
            return example.ones().into_iter().map(|j| (j, 1)).collect();
        }
        let sign = |bit| if bit { 1 } else { -1 };
        example.bits().into_iter().map(sign).enumerate().collect()
    }

    fn sum(&self, example: &Example) -> i64 {
        // A true receipt has no sum that wraps.
        let values = self.values(example).into_iter();
        let products = values.map(|(j, x)| self.weights[j].wrapping_mul(x));
        products.fold(self.bias.unwrap_or(0), i64::wrapping_add)
    }

    /// Adds a multiple of the example to the weights.
    fn add(&mut self, example: &Example, amount: i64) {
        for (j, x) in self.values(example) {
            self.weights[j] = self.weights[j].wrapping_add(amount.wrapping_mul(x));
        }
        self.bias = self.bias.map(|bias| bias.wrapping_add(amount));
    }

    fn number(&self, count: i64) -> Value {
        match self.unit {
            None => json!(count),
            Some(unit) => json!(multiple(unit, count)),
        }
    }
}

/// The double nearest to `count` times `unit`, taken as its shortest decimal.
fn multiple(unit: f64, count: i64) -> f64 {
    let (digits, power) = quotient(unit);
    let places = power.to_string().len() - 1;
    let product = format!("{}e-{places}", digits * count);
    product.parse().unwrap_or(f64::NAN)
}

impl Learner for Perceptron {
    fn band(&self) -> Option<&Band> {
        self.band.as_ref()
    }

    fn is_positive(&self, example: &Example) -> bool {
        self.sum(example) >= 0
    }

    fn score(&self, example: &Example) -> Score {
        Score::whole(self.sum(example))
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        self.add(example, if is_positive { self.step } else { -self.step });
    }

    fn hypothesis(&self) -> Value {
        let weights: Vec<Value> = self.weights.iter().map(|&w| self.number(w)).collect();
        let mut document = json!({
            "kind": "linear", "n": weights.len(), "weights": weights,
            "bias": self.bias.map(|bias| self.number(bias)), "reading": self.reading,
        });
        if let Some(unit) = self.unit {
            document["unit"] = json!(unit);
        }
        document
    }
}

/// The perceptron on real values. The learnt weights are multiplied by the learning rate only at the end.
struct RealPerceptron {
    weights: Vec<f64>,
    bias: Option<f64>,
    eta: f64,
    band: Option<Band>,
}

impl RealPerceptron {
    fn new(setup: &Setup<'_>) -> Result<Self, String> {
        setup.check_initial(Some(0.0))?;
        let (eta, tau) = (eta(setup)?, setup.number("thickness")?);
        Ok(Self {
            weights: vec![0.0; setup.n],
            bias: setup.flag("bias")?.then_some(0.0),
            eta,
            band: (tau != 0.0).then(|| Band {
                below: Score::Real(-(tau / eta)),
                above: Score::Real(tau / eta),
            }),
        })
    }

    fn sum(&self, example: &Example) -> f64 {
        // The service adds the products in sixteen lanes, then halves the number of lanes four times.
        let mut lanes = [0.0; 16];
        for &(j, x) in example.nonzero() {
            lanes[j % 16] += self.weights[j] * x;
        }
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
        }
        lanes[0] + self.bias.unwrap_or(0.0)
    }

    fn add(&mut self, example: &Example, amount: f64) {
        for &(j, x) in example.nonzero() {
            self.weights[j] += amount * x;
        }
        self.bias = self.bias.map(|bias| bias + amount);
    }
}

impl Learner for RealPerceptron {
    fn band(&self) -> Option<&Band> {
        self.band.as_ref()
    }

    fn is_positive(&self, example: &Example) -> bool {
        self.sum(example) >= 0.0
    }

    fn score(&self, example: &Example) -> Score {
        Score::Real(self.sum(example))
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        self.add(example, if is_positive { 1.0 } else { -1.0 });
    }

    fn finish(&mut self) {
        for weight in self.weights.iter_mut().chain(&mut self.bias) {
            *weight *= self.eta;
        }
    }

    fn hypothesis(&self) -> Value {
        json!({"kind": "linear", "n": self.weights.len(), "weights": self.weights,
            "bias": self.bias, "reading": null})
    }
}

/// The perceptron on bits, which answers with the mean of its weights after each example.
struct Average {
    last: Perceptron,
    /// Each lesson times the number of examples before it, which this lesson does not count for.
    early: Perceptron,
    presented: u64,
}

impl Average {
    fn new(setup: &Setup<'_>) -> Result<Self, String> {
        Ok(Self {
            last: Perceptron::new(setup)?,
            early: Perceptron::new(setup)?,
            presented: 0,
        })
    }
}

impl Learner for Average {
    fn band(&self) -> Option<&Band> {
        self.last.band()
    }

    fn is_positive(&self, example: &Example) -> bool {
        self.last.is_positive(example)
    }

    fn score(&self, example: &Example) -> Score {
        self.last.score(example)
    }

    fn shown(&mut self, presented: u64) {
        self.presented = presented;
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        self.last.learn(example, is_positive);
        let step = if is_positive {
            self.last.step
        } else {
            -self.last.step
        };
        // A receipt may state any numbers. Wrong sums give another hypothesis.
        self.early
            .add(example, step.wrapping_mul(self.presented as i64));
    }

    fn finish(&mut self) {
        if self.presented == 0 {
            return;
        }
        let sum = |last: i64, early: i64| {
            let all = last.wrapping_mul(self.presented as i64);
            all.wrapping_sub(early)
        };
        let pairs = self.last.weights.iter_mut().zip(&self.early.weights);
        pairs.for_each(|(last, early)| *last = sum(*last, *early));
        let pair = self.last.bias.zip(self.early.bias);
        self.last.bias = pair.map(|(last, early)| sum(last, early));
        let unit = self.last.unit.unwrap_or(1.0);
        // A mean in a unit below the smallest double stays a sum.
        let mean = unit / self.presented as f64;
        let unit = if mean > 0.0 { mean } else { unit };
        self.last.unit = (unit != 1.0).then_some(unit);
    }

    fn hypothesis(&self) -> Value {
        self.last.hypothesis()
    }
}

/// The perceptron on real values, which answers with the mean of its weights after each example. The service computes
/// it from the last weights and the updates, each times the number of examples before its own.
struct RealAverage {
    last: RealPerceptron,
    early: RealPerceptron,
    presented: u64,
}

impl RealAverage {
    fn new(setup: &Setup<'_>) -> Result<Self, String> {
        Ok(Self {
            last: RealPerceptron::new(setup)?,
            early: RealPerceptron::new(setup)?,
            presented: 0,
        })
    }
}

impl Learner for RealAverage {
    fn band(&self) -> Option<&Band> {
        self.last.band()
    }

    fn is_positive(&self, example: &Example) -> bool {
        self.last.is_positive(example)
    }

    fn score(&self, example: &Example) -> Score {
        self.last.score(example)
    }

    fn shown(&mut self, presented: u64) {
        self.presented = presented;
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        let sign = if is_positive { 1.0 } else { -1.0 };
        self.last.add(example, sign);
        self.early.add(example, sign * self.presented as f64);
    }

    fn finish(&mut self) {
        let count = self.presented as f64;
        if self.presented > 0 {
            let early = self.early.weights.iter().chain(&self.early.bias);
            let last = self.last.weights.iter_mut().chain(&mut self.last.bias);
            last.zip(early)
                .for_each(|(last, early)| *last = (count * *last - early) / count);
        }
        self.last.finish();
    }

    fn hypothesis(&self) -> Value {
        self.last.hypothesis()
    }
}

/// The perceptron with weights in [0, 1].
struct BoundedPerceptron {
    weights: Vec<f64>,
    inhibition: f64,
    threshold: f64,
    eta: f64,
}

impl BoundedPerceptron {
    fn new(setup: &Setup<'_>) -> Result<Self, String> {
        setup.check_initial(Some(0.5))?;
        Ok(Self {
            weights: vec![0.5; setup.n],
            inhibition: setup.number("inhibition")?,
            threshold: setup.number("threshold")?,
            eta: setup.number("eta")?,
        })
    }

    fn excess(&self, example: &Example) -> f64 {
        let mut sum = 0.0;
        for &(j, x) in example.nonzero() {
            sum += (self.weights[j] - self.inhibition) * x;
        }
        sum / self.weights.len() as f64 - self.threshold
    }
}

impl Learner for BoundedPerceptron {
    fn is_positive(&self, example: &Example) -> bool {
        self.excess(example) >= 0.0
    }

    fn score(&self, example: &Example) -> Score {
        Score::Real(self.excess(example))
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        let end = if is_positive { 1.0 } else { 0.0 };
        for &(j, x) in example.nonzero() {
            let weight = self.weights[j];
            self.weights[j] = (weight + self.eta * x * (end - weight)).clamp(0.0, 1.0);
        }
    }

    fn hypothesis(&self) -> Value {
        json!({"kind": "bounded", "n": self.weights.len(), "weights": self.weights,
            "inhibition": self.inhibition, "threshold": self.threshold})
    }
}

/// Directed Drift: on a mistake, flips one coordinate among those that differ from the positive example.
struct DirectedDrift {
    weights: Vec<bool>,
    draws: Draws,
}

impl DirectedDrift {
    fn new(setup: &Setup<'_>) -> Result<Self, String> {
        setup.check_initial(None)?;
        let mut draws = Draws::new(setup.seed);
        let weights = draws.bits(setup.n);
        Ok(Self { weights, draws })
    }
}

impl Learner for DirectedDrift {
    fn is_positive(&self, example: &Example) -> bool {
        let pairs = self.weights.iter().zip(example.bits());
        2 * pairs.filter(|(w, x)| **w != *x).count() <= self.weights.len()
    }

    fn score(&self, example: &Example) -> Score {
        let pairs = self.weights.iter().zip(example.bits());
        let signs = pairs.map(|(w, x)| if *w == x { 1 } else { -1 });
        Score::whole(signs.sum::<i64>())
    }

    fn learn(&mut self, example: &Example, is_positive: bool) {
        // A negative example counts as the positive example -x.
        let pairs = self.weights.iter().zip(example.bits()).enumerate();
        let differing = pairs.filter(|(_, (w, x))| (**w != *x) == is_positive);
        let differing: Vec<usize> = differing.map(|(j, _)| j).collect();
        let chosen = differing[self.draws.below(differing.len() as u64) as usize];
        self.weights[chosen] = !self.weights[chosen];
    }

    fn hypothesis(&self) -> Value {
        let bits = self.weights.iter();
        let text: String = bits.map(|&bit| if bit { '1' } else { '0' }).collect();
        json!({"kind": "binary-weights", "n": self.weights.len(), "weights": text})
    }
}
