//! What an explanation says, and what a request can ask of it.

use num_bigint::BigUint;
use num_integer::Integer;
use serde::Serialize;
use serde_json::Number;

use super::example::ExplainedExample;
use crate::learners::engine::bound::ratio;

/// The most terms of an explanation.
pub const TERMS_MAX: usize = 100;

/// The most characters of a name in an explanation.
pub const NAME_CHARACTERS_MAX: usize = 200;

/// Words of work that every supported machine does in a second.
pub const WORDS_PER_SECOND: f64 = (1 << 28) as f64;

/// The subject and the limits of an explanation.
#[derive(Clone, Copy, Debug)]
pub struct ExplanationRequest<'a> {
    /// The names of the features. Features without names are called x1, x2 and so on.
    pub names: Option<&'a [String]>,
    /// The example whose decision is explained. None to explain the hypothesis.
    pub example: Option<&'a ExplainedExample>,
    /// Terms to show.
    pub top: usize,
    /// Words of work. See [`WORDS_PER_SECOND`].
    pub words_max: u64,
}

/// The heaviest terms of a hypothesis.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Explanation {
    /// The decision rule in words.
    pub(super) rule: String,
    /// The heaviest terms.
    pub(super) terms: Vec<Term>,
    /// The constant of the sum; null if the hypothesis has none.
    pub(super) bias: Option<TermWeight>,
    /// The most literals of the compared conjunctions; null if the terms are features.
    pub(super) max_literals: Option<usize>,
    /// The squared weights of the shown terms in relation to the squared weights of all terms without the
    /// bias. For `kernel`, the latter is the sum of `y_i y_j K(x_i, x_j)` over the support vectors. Null if the
    /// weights are not integers, if all weights are 0, or for the reason in `detail`.
    pub(super) share: Option<Share>,
    /// Why conjunctions of more literals or the share are missing.
    pub(super) detail: Option<String>,
    /// Whether the terms are those of one example.
    #[serde(skip)]
    pub(super) of_example: bool,
}

/// A term of a sum: a feature or a conjunction.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[schema(as = ExplanationTerm)]
pub struct Term {
    /// The literals of the conjunction. The empty conjunction is always true.
    pub(super) literals: Vec<Literal>,
    pub(super) weight: TermWeight,
    /// Value of the feature in the explained example, which multiplies the weight. Null for a model, and for examples
    /// without values.
    pub(super) value: Option<f64>,
    /// Updates of the training that changed the weight: the support vectors that satisfy the conjunction. Null
    /// if the hypothesis does not keep them, and for an example.
    pub(super) uses: Option<u64>,
}

/// A feature or its complement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[schema(as = ExplanationLiteral)]
pub struct Literal {
    /// Number of the feature, from 1.
    #[schema(minimum = 1)]
    pub(super) feature: usize,
    /// Name of the feature, or `x1`, `x2` and so on. A name is cut after 200 characters.
    pub(super) name: String,
    /// Whether the literal is true if the feature is 0.
    pub(super) negated: bool,
}

/// The weight of a term.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum TermWeight {
    /// An exact integer, or a double. A double is real by definition, or the double nearest to a multiple of
    /// the learning rate.
    #[schema(value_type = f64)]
    Number(Number),
    /// A power such as `2^5`.
    #[schema(value_type = String)]
    Power(Power),
}

impl From<i64> for TermWeight {
    fn from(weight: i64) -> Self {
        Self::Number(weight.into())
    }
}

impl From<f64> for TermWeight {
    fn from(weight: f64) -> Self {
        Self::Number(Number::from_f64(weight).expect("weights are finite"))
    }
}

/// A power of a base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Power {
    /// The exact base as a decimal.
    pub(super) base: String,
    pub(super) exponent: i64,
}

impl From<Power> for String {
    fn from(Power { base, exponent }: Power) -> Self {
        format!("{base}^{exponent}")
    }
}

/// A share of squared weights.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[schema(as = ExplanationShare)]
pub struct Share {
    /// The exact fraction in lowest terms, such as `2/3`.
    pub(super) fraction: String,
    /// The fraction as a number.
    pub(super) decimal: f64,
}

impl Share {
    /// The share of `shown` in `all`. None if `all` is 0.
    pub(super) fn new(shown: &BigUint, all: &BigUint) -> Option<Self> {
        if *all == BigUint::ZERO {
            return None;
        }
        let divisor = shown.gcd(all);
        Some(Self {
            fraction: format!("{}/{}", shown / &divisor, all / &divisor),
            decimal: ratio(shown, all).0?,
        })
    }
}

/// The sum of the squares of some integers.
pub(super) fn squares(weights: impl IntoIterator<Item = i64>) -> BigUint {
    let squares = weights
        .into_iter()
        .map(|weight| u128::from(weight.unsigned_abs()).pow(2));
    squares.map(BigUint::from).sum()
}

/// The beginning of the rule of two classes.
const RULE_BEGIN: &str = "The prediction is 1 if ";

impl Explanation {
    /// The explanation of the member of a committee that tells `class` from all others.
    #[must_use]
    pub fn of_member(self, class: &str) -> Self {
        let begin = format!("The class {class} claims an example if ");
        let rule = self.rule.replacen(RULE_BEGIN, &begin, 1);
        Self {
            rule: format!("{rule} The prediction is the class with the largest sum."),
            ..self
        }
    }

    /// The same terms, as those of one example.
    #[must_use]
    pub(super) fn of_example(self) -> Self {
        Self {
            of_example: true,
            ..self
        }
    }

    /// Gives the literals the numbers that they have in the model. `uses` goes: support vectors that differ only in
    /// other features were merged, so their updates cannot be told apart.
    #[must_use]
    pub(super) fn renumbered(mut self, features: &[u32]) -> Self {
        // Without known features the hypothesis has one that stands for nothing; only the empty conjunction stays.
        self.terms
            .retain(|term| term.literals.is_empty() || !features.is_empty());
        for term in &mut self.terms {
            term.uses = None;
            for literal in &mut term.literals {
                literal.feature = features[literal.feature - 1] as usize + 1;
            }
        }
        self
    }
}

impl ExplanationRequest<'_> {
    /// Whether a feature or its negation is true for the example. Without an example, every term is shown. A hypothesis
    /// without names still has one feature, which stands for nothing and is not shown.
    pub(super) fn is_shown(&self, feature: usize, negated: bool) -> bool {
        self.names.is_none_or(|names| !names.is_empty())
            && self
                .example
                .is_none_or(|example| example.has(feature) != negated)
    }

    /// The literal of a feature, counted from 0.
    pub(super) fn literal(&self, feature: usize, negated: bool) -> Literal {
        let name = match self.names.and_then(|names| names.get(feature)) {
            Some(name) => name.chars().take(NAME_CHARACTERS_MAX).collect(),
            None => format!("x{}", feature + 1),
        };
        Literal {
            feature: feature + 1,
            name,
            negated,
        }
    }
}
