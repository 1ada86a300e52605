//! `separable-fraction`: the share of random dichotomies that a hyperplane through the origin separates, against
//! points per dimension.
//!
//! Cover's count C(P, N) / 2^P is drawn beside the measured shares, as in figure 1 of H. Sompolinsky's lecture on the
//! capacity of the perceptron. Each run draws points and a dichotomy, which `separability::decision` then decides
//! with a proof. Normal points are in general position, as Cover's theorem demands. Points of signs are not always in
//! general position, and then fewer dichotomies are separable.

use serde::{Deserialize, Serialize};

use std::f64::consts::TAU;

use rand::Rng;

use crate::bits::{BitMatrix, BitVector};
use crate::learners::engine::random::random_vector;
use crate::learners::engine::random::{Generator, Purpose, Seed};
use crate::learners::engine::run::{Interrupt, Run, StopFlag};
use crate::learners::linear::linear_weights::Reading;
use crate::learners::sample::data::{Data, Features, Labels, RealMatrix};
use crate::separability::decision::{self, Convention, Verdict, decide};
use crate::theory::cover::dichotomies;

use super::error::ExperimentError;
use super::error::{check_grid, check_list, check_number, check_reals};
use super::parts::PointPlan;
use super::tally::{Observation, PointTally};
use super::{Design, RUNS_MAX};
use crate::figures::chart::{Axis, Chart, Curve, Point, Scale, Series};

/// The name in requests.
pub const NAME: &str = "separable-fraction";

/// The largest number of dimensions, up to which separability is always decided.
const DIMENSIONS_MAX: u64 = 256;

/// The largest number of points per dimension.
const RATIO_MAX: f64 = 16.0;

/// The largest number of points of a theory curve. It keeps charts small and bounds the arithmetic with long
/// integers.
const PLACES_MAX: u64 = 200;

/// Binary places of a coordinate: enough for general position and few enough for exact arithmetic.
const PLACES: i32 = 20;

/// The distribution of the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// Normally distributed coordinates. The points are in general position.
    Normal,
    /// Coordinates -1 and +1. The points are not always in general position, so fewer dichotomies are
    /// separable.
    Signs,
}

/// The share of random dichotomies that a hyperplane through the origin separates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SeparableFractionSpec {
    /// Numbers of dimensions.
    #[schema(min_items = 1)]
    pub dimensions: Vec<u64>,
    /// Points per dimension.
    #[schema(min_items = 1)]
    #[serde(rename = "points_per_dimension")]
    pub ratios: Vec<f64>,
    /// The distribution of the points.
    pub points: Points,
    /// Number of dichotomies per point of the grid.
    #[schema(minimum = 1, maximum = 100_000)]
    pub runs: u64,
}

impl Default for SeparableFractionSpec {
    fn default() -> Self {
        Self {
            dimensions: vec![5, 65],
            ratios: vec![
                0.6, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0, 3.4, 4.0,
            ],
            points: Points::Normal,
            runs: 200,
        }
    }
}

/// The experiment with checked parameters.
#[derive(Debug)]
pub struct SeparableFraction {
    question: SeparableFractionSpec,
}

impl SeparableFraction {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn new(question: SeparableFractionSpec) -> Result<Self, ExperimentError> {
        check_grid(&[question.dimensions.len(), question.ratios.len()])?;
        check_list("dimensions", &question.dimensions, 1..=DIMENSIONS_MAX)?;
        check_reals("points_per_dimension", &question.ratios, (0.0, RATIO_MAX))?;
        check_number("runs", question.runs, 1..=RUNS_MAX)?;
        Ok(Self { question })
    }

    /// Number of points and number of dimensions at an index of the grid.
    fn cell(&self, place: usize) -> (usize, usize) {
        let SeparableFractionSpec {
            dimensions, ratios, ..
        } = &self.question;
        let dimension = dimensions[place / ratios.len()];
        let points = libm::round(ratios[place % ratios.len()] * dimension as f64);
        ((points as usize).max(1), dimension as usize)
    }
}

/// Draws random points of one kind with random labels.
fn draw(points: usize, dimension: usize, kind: Points, random: &mut Generator) -> Data {
    let features = match kind {
        Points::Normal => {
            let values = (0..points * dimension).map(|_| normal(random));
            Features::Real(RealMatrix::from_values(dimension, values.collect()))
        }
        Points::Signs => {
            let mut matrix = BitMatrix::new(dimension);
            for _ in 0..points {
                matrix.push_row(random_vector(dimension, random).words());
            }
            Features::Boolean(matrix)
        }
    };
    let sides: BitVector = random_vector(points, random);
    Data::new(features, Labels::of_signs(sides))
}

/// Draws a number from the normal distribution by the method of Box and Muller, and rounds it to [`PLACES`] binary
/// places.
fn normal(random: &mut Generator) -> f64 {
    let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let radius = libm::sqrt(-2.0 * libm::log(uniform()));
    let value = radius * libm::cos(TAU * uniform());
    let unit = f64::from(1 << PLACES);
    libm::round(value * unit) / unit
}

impl Design for SeparableFraction {
    fn name(&self) -> &'static str {
        NAME
    }

    fn points(&self) -> Vec<PointPlan> {
        let SeparableFractionSpec {
            dimensions,
            ratios,
            runs,
            ..
        } = &self.question;
        let plan = |place| {
            let (points, dimension) = self.cell(place);
            let n = dimension as f64;
            // The proof that no separator exists needs an exact basis.
            let is_hard = points as f64 > 1.8 * n;
            let seconds = if is_hard {
                8e-6 * n * n * (n / 65.0).max(1.0)
            } else {
                1e-7 * n * n
            };
            PointPlan {
                runs: *runs,
                seconds_a_run: 5e-6 + seconds,
            }
        };
        (0..dimensions.len() * ratios.len()).map(plan).collect()
    }

    fn observe(&self, point: usize, seed: Seed, run: &Run) -> Result<Observation, Interrupt> {
        let (points, dimension) = self.cell(point);
        let mut random = seed.generator(Purpose::Examples);
        let data = draw(points, dimension, self.question.points, &mut random);
        let question = decision::SeparabilityQuestion {
            bias: false,
            reading: Reading::Signed,
            convention: Convention::Strict,
        };
        let verdict = decide(&data, &question, run)?;
        Ok(Observation {
            value: u64::from(matches!(verdict, Verdict::Separable(_))),
            is_censored: matches!(verdict, Verdict::Undecided(_)),
        })
    }

    fn chart(&self, tallies: &[PointTally]) -> Chart {
        let SeparableFractionSpec {
            dimensions,
            ratios,
            points,
            ..
        } = &self.question;
        let (mut series, mut theory) = (Vec::new(), Vec::new());
        for (at, tallies) in tallies.chunks(ratios.len()).enumerate() {
            let dimension = dimensions[at];
            let measured = tallies.iter().enumerate().filter_map(|(place, tally)| {
                let (points, dimension) = self.cell(at * ratios.len() + place);
                Point::share(points as f64 / dimension as f64, tally)
            });
            series.push(Series::new(format!("N = {dimension}"), measured));
            let most = ratios.iter().fold(0.0, |most: f64, ratio| most.max(*ratio));
            let most = libm::ceil(most * dimension as f64) as u64;
            let share = |points: u64| {
                let count = dichotomies(points, dimension, &StopFlag::default()).ok()?;
                Some((points as f64 / dimension as f64, count.fraction))
            };
            let label = format!("C(P, N) / 2^P, N = {dimension}");
            let step = most.div_ceil(PLACES_MAX) as usize;
            let places = (1..most).step_by(step).chain([most]);
            theory.push(Curve::new(label, Some(at), places.filter_map(share)));
        }
        let kind = match points {
            Points::Normal => "normal points",
            Points::Signs => "points of signs",
        };
        let censored: u64 = tallies.iter().map(|tally| tally.censored).sum();
        let decided = match censored {
            0 => "Each dichotomy was decided".to_owned(),
            _ => format!(
                "Arrows upwards: {censored} dichotomies were not decided and may be separable. \
                 Each other dichotomy was decided"
            ),
        };
        Chart {
            title: format!("Separable dichotomies of {kind}, and Cover's count"),
            x: Axis::new("points per dimension, P / N", "", Scale::Linear),
            y: Axis::new(
                "separable by a hyperplane through the origin",
                "share",
                Scale::Linear,
            ),
            series,
            theory,
            marks: Vec::new(),
            notes: vec![format!(
                "Shares with Wilson's intervals of 95 %. {decided} with a proof that was checked \
                 in whole numbers."
            )],
        }
    }
}
