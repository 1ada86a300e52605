//! Which names a hypothesis leaves out, as the sparse network of Winnows does: those that too few examples have, and in
//! the end those of the lightest weights.
//!
//! A. J. Carlson, C. M. Cumby, J. L. Rosen and D. Roth, "The SNoW learning architecture", report UIUCDCS-R-99-2101
//! (1999).

use std::sync::Arc;

use crate::learners::hypothesis::Hypothesis;
use crate::learners::predictor::Predictor;
use crate::learners::sample::selected::Chosen;

/// Why a run that leaves names out has no bound.
pub const NO_BOUND: &str = "the theorem is about all names of an example, and minimum_count and discard may leave some \
                            out";

/// Why the mistakes of a run that leaves names out certify nothing about its hypothesis.
pub const OTHERWISE_CHANGED: &str =
    "minimum_count and discard change the hypothesis where it makes no mistake";

/// The names that a run leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pruning {
    /// A name counts from its appearance in so many examples on.
    pub minimum_count: Option<u32>,
    /// The share of the remaining names that the hypothesis drops in the end, in (0, 1).
    pub discard: Option<f64>,
}

impl Pruning {
    /// The first setting that leaves names out. None if no name is left out.
    pub fn field(self) -> Option<&'static str> {
        let fields = [
            self.minimum_count.map(|_| "minimum_count"),
            self.discard.map(|_| "discard"),
        ];
        fields.into_iter().flatten().next()
    }

    pub fn is_none(self) -> bool {
        self.field().is_none()
    }

    /// Bytes that a run over `n` features takes for the counts and the places of names.
    pub(crate) fn bytes(self, n: u64) -> u64 {
        if self.is_none() { 0 } else { 32 * n }
    }

    /// What the hypothesis of a run keeps of the names that are frequent enough: all but the share of the lightest. The
    /// weight of a name in a committee is its largest over the classes. Of equal weights, the later names are lighter.
    pub(crate) fn applied(self, frequent: Chosen, predictor: &Predictor) -> Pruned {
        let rare = predictor.n() - frequent.features().len();
        let dropped = self.discard.map_or(0, |share| {
            // The product of 0.29 and 100 is just below 29.
            (share * frequent.features().len() as f64 * (1.0 + 1e-12)) as usize
        });
        let chosen = match dropped {
            0 => frequent,
            _ => heaviest(&frequent, dropped, predictor.members()),
        };
        Pruned {
            rare,
            light: dropped,
            chosen: Arc::new(chosen),
        }
    }
}

/// All features but the `dropped` ones of the lightest weights.
///
/// # Panics
/// Panics if the hypotheses have no weights, which the check of a task excludes.
fn heaviest(frequent: &Chosen, dropped: usize, members: &[Hypothesis]) -> Chosen {
    let weights = |member: &Hypothesis| member.magnitudes().expect("a checked task: see `check`");
    let mut largest = weights(&members[0]);
    for member in &members[1..] {
        let own = weights(member);
        largest
            .iter_mut()
            .zip(own)
            .for_each(|(largest, own)| *largest = largest.max(own));
    }
    let mut features = frequent.features().to_vec();
    let weight = |feature: u32| largest[feature as usize];
    features.sort_by(|&one, &next| weight(next).total_cmp(&weight(one)).then(one.cmp(&next)));
    features.truncate(features.len() - dropped);
    features.sort_unstable();
    Chosen::new(largest.len(), |feature| {
        features.binary_search(&feature).is_ok()
    })
}

/// The features that a hypothesis keeps, and how many it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pruned {
    pub chosen: Arc<Chosen>,
    /// The features of too few examples.
    rare: usize,
    /// The dropped ones of the lightest weights.
    light: usize,
}

impl Pruned {
    /// The hypothesis with the features that it keeps, at their places. None if it has no names.
    pub fn hypothesis(&self, predictor: &Predictor) -> Option<Predictor> {
        predictor
            .only(self.chosen.features())
            .map(Predictor::closed)
    }

    /// How many names are left out, for the report.
    pub fn note(&self) -> String {
        let all = self.chosen.features().len() + self.rare + self.light;
        let mut parts = Vec::new();
        if self.rare > 0 {
            parts.push(format!(
                "{} that too few examples have (minimum_count)",
                self.rare
            ));
        }
        if self.light > 0 {
            parts.push(format!("{} of the lightest weights (discard)", self.light));
        }
        match parts.is_empty() {
            true => format!("the hypothesis has all {all} names"),
            false => format!(
                "of {all} names the hypothesis leaves out {}",
                parts.join(" and ")
            ),
        }
    }
}
