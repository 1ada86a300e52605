//! Thresholds on the number of examples per weight: for samples that hidden binary weights label, and for random
//! labels. From them, the remark about a run says whether its sample determines the weights and whether a learner can
//! be expected to find them.
//!
//! More than about 1.245 n uniform examples determine the hidden weights. This is a result of statistical physics: G.
//! Gyorgyi, "First-order transition to perfect generalization in a neural network with binary synapses", Phys. Rev. A
//! 41 (1990) 7097-7100. The rigorous annealed bound is 1.448 n. Message passing finds the weights from about 1.493 n
//! examples on. Between 1.245 n and 1.493 n, no efficient method is known.
//!
//! Random labels have consistent binary weights up to about 0.833 n examples. J. Ding and N. Sun proved this lower
//! bound; the matching upper bound holds under a numerical hypothesis (B. Huang, arXiv 2404.18902). The unconditional
//! upper bound is 0.847 n (arXiv 2401.15092).

use crate::learners::engine::reason::Reason;

/// The number of examples per dimension that determines hidden weights.
pub const DETERMINED: f64 = 1.245;
/// The number of examples per dimension from which message passing finds the hidden weights.
pub const FOUND: f64 = 1.493;
/// The proved lower bound on the examples per dimension up to which random labels have consistent weights.
const CAPACITY: f64 = 0.833;
/// The proved number of examples per dimension from which random labels have no consistent weights.
const CAPACITY_AT_MOST: f64 = 0.847;

/// A remark about a run that ended for this reason on `examples` examples of `n` features.
pub fn remark(n: usize, reason: Reason, examples: u64) -> Option<String> {
    let density = examples as f64 / n as f64;
    let said = match reason {
        Reason::Consistent | Reason::Converged if density < DETERMINED => format!(
            "other weights may also be consistent; uniform examples determine their weights from \
             about {DETERMINED} examples per dimension on"
        ),
        Reason::Limit(_) if density < CAPACITY => "no consistent weights were found".to_owned(),
        Reason::Limit(_) if density < DETERMINED => format!(
            "no consistent weights were found: random labels provably have consistent weights up \
             to {CAPACITY} examples per dimension and none from {CAPACITY_AT_MOST} on; uniform \
             examples determine their weights from about {DETERMINED} on"
        ),
        Reason::Limit(_) if density < FOUND => format!(
            "no consistent weights were found: this is the hard region between about {DETERMINED} \
             and {FOUND} examples per dimension, where uniform examples determine their weights, \
             but no efficient method to find the weights is known"
        ),
        Reason::Limit(_) => "no consistent weights were found, although so many uniform examples \
                             usually reveal their weights; perhaps no consistent weights exist, n \
                             is small, or the examples are not uniform"
            .to_owned(),
        _ => return None,
    };
    Some(format!("{density:.3} examples per dimension; {said}"))
}

/// Test samples and streams for the learners of binary weights.
#[cfg(test)]
pub(crate) mod samples {
    use crate::bits::{BLOCK_ROWS, BitMatrix, BlockBuffer};
    use crate::learners::engine::check::check;
    use crate::learners::engine::entry::LearnerEntry;
    use crate::learners::engine::input::Input;
    use crate::learners::engine::outcome::RunOutcome;
    use crate::learners::engine::parameters::Parameters;
    use crate::learners::engine::random::{Purpose, Seed};
    use crate::learners::engine::run::Run;
    use crate::learners::engine::stopping::Sampling;
    use crate::learners::engine::task::Task;
    use crate::learners::engine::train::train;
    use crate::learners::sample::data::{Data, Features, Labels};
    use crate::learners::sample::generate::Plan;
    use serde_json::Value;

    fn run(
        entry: &'static LearnerEntry,
        params: &Value,
        seed: u64,
        input: Input<'_>,
    ) -> RunOutcome {
        let object = params.as_object().expect("an object");
        let task = Task {
            parameters: Parameters::from_json(entry.parameters, object).expect("parameters"),
            trace: true,
            ..Task::of(entry, Seed(seed))
        };
        check(&task, input, u64::MAX).expect("a valid task");
        train(&task, input, &Run::default()).expect("nobody suspends it")
    }

    /// The outcome on `count` uniform examples of hidden weights, or on a stream of them.
    pub fn hidden(
        entry: &'static LearnerEntry,
        params: &Value,
        (n, count): (usize, Option<u64>),
        seed: u64,
    ) -> RunOutcome {
        let plan = Plan {
            count,
            ..Plan::endless(
                Plan::random_target(n, Seed(seed)),
                Sampling::UniformPositive,
            )
        };
        run(entry, params, seed, Input::Generated(&plan))
    }

    /// How many of `seeds` samples with hidden weights let the learner recover the weights.
    pub fn recovered(
        entry: &'static LearnerEntry,
        params: &Value,
        (n, count): (usize, u64),
        seeds: u64,
    ) -> usize {
        let is_recovered = |&seed: &u64| {
            let outcome = hidden(entry, params, (n, Some(count)), seed);
            outcome.target.expect("hidden").recovered
        };
        (1..=seeds).filter(is_recovered).count()
    }

    /// Whether the learner classifies `count` random examples without labels correctly.
    pub fn stored(
        entry: &'static LearnerEntry,
        params: &Value,
        n: usize,
        count: usize,
        seed: u64,
    ) -> bool {
        let mut lanes = Seed(seed).lanes(Purpose::Examples);
        let (mut matrix, mut buffer) = (BitMatrix::new(n), BlockBuffer::new(n));
        while matrix.rows() < count {
            buffer.draw(BLOCK_ROWS.min(count - matrix.rows()), &mut lanes);
            matrix.push_block(buffer.as_block());
        }
        let data = Data::new(Features::Boolean(matrix), Labels::HalfSpace);
        let input = Input::Sample {
            data: &data,
            assume: None,
        };
        let training = run(entry, params, seed, input).training;
        training.expect("counted").errors == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planted_remark_depends_on_examples_per_dimension() {
        let said = |reason, examples| remark(1000, reason, examples).unwrap_or_default();
        let limit = Reason::Limit("restarts");
        assert!(said(limit, 1400).starts_with("1.400 examples per dimension; "));
        assert!(said(limit, 1400).contains("hard region"));
        assert!(!said(limit, 1240).contains("hard region"));
        assert!(!said(limit, 1500).contains("hard region"));
        assert!(said(limit, 1240).contains("0.833") && said(limit, 1240).contains("0.847"));
        assert!(!said(limit, 800).contains("0.833"));
        assert!(said(Reason::Consistent, 1240).contains("other weights"));
        assert_eq!(remark(1000, Reason::Consistent, 1250), None);
        assert_eq!(remark(1000, Reason::Cancelled, 1400), None);
    }
}
