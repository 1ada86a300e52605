//! The MONK's problems: three concepts over 432 robots.
//!
//! S. B. Thrun et al., "The MONK's problems: a performance comparison of different learning algorithms" (1991),
//! report CMU-CS-91-197.

use std::borrow::Cow;

use super::sample::{CLASSES, Rows, Sample, Settings};
use crate::learners::kernel::kernel_perceptron;

pub(super) const FIRST: Sample = problem(
    "monks-1",
    "First MONK's problem",
    "All 432 robots. The class is positive if head and body have the same shape or the jacket is red.",
    |_| robots(|[head, body, _, _, jacket, _]| head == body || jacket == 0),
);

pub(super) const SECOND: Sample = problem(
    "monks-2",
    "Second MONK's problem",
    "All 432 robots. The class is positive if exactly two of the six attributes have their first value: round head, \
     round body, smiling, holding a sword, red jacket, tie.",
    |_| robots(|robot| robot.iter().filter(|&&value| value == 0).count() == 2),
);

pub(super) const THIRD: Sample = problem(
    "monks-3",
    "Third MONK's problem",
    "All 432 robots. The class is positive if the jacket is green and the robot holds a sword, or if the jacket is \
     not blue and the body is not an octagon. The training set of the report has noise 0.05.",
    |_| {
        robots(|[_, body, _, holding, jacket, _]| {
            jacket == 2 && holding == 0 || jacket != 3 && body != 2
        })
    },
);

const fn problem(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    rows: fn(&Settings) -> Rows,
) -> Sample {
    Sample {
        name,
        title,
        description,
        source: "S. B. Thrun et al., \"The MONK's problems: a performance comparison of different learning \
                 algorithms\", report CMU-CS-91-197 (1991).",
        classes: &CLASSES,
        options: &[],
        parameters: &["noise", "seed"],
        learner: kernel_perceptron::ENTRY.name,
        learner_parameters: &[],
        rows,
    }
}

/// The attributes with their values.
const ATTRIBUTES: [(&str, &[&str]); 6] = [
    ("head_shape", &["round", "square", "octagon"]),
    ("body_shape", &["round", "square", "octagon"]),
    ("is_smiling", &["yes", "no"]),
    ("holding", &["sword", "balloon", "flag"]),
    ("jacket_color", &["red", "yellow", "green", "blue"]),
    ("has_tie", &["yes", "no"]),
];

/// All robots, each as a list of indices of values. The last attribute varies fastest.
fn robots(is_positive: fn([usize; 6]) -> bool) -> Rows {
    let mut robots = vec![[0; 6]];
    for (attribute, (_, values)) in ATTRIBUTES.iter().enumerate() {
        let with_values = |robot: [usize; 6]| {
            (0..values.len()).map(move |value| {
                let mut robot = robot;
                robot[attribute] = value;
                robot
            })
        };
        robots = robots.into_iter().flat_map(with_values).collect();
    }
    let row = |robot: [usize; 6]| {
        let values = ATTRIBUTES.iter().zip(robot);
        let texts = values.map(|((_, values), value)| values[value]);
        (
            texts.map(Cow::from).collect(),
            usize::from(is_positive(robot)),
        )
    };
    Rows {
        columns: ATTRIBUTES.map(|(name, _)| name.to_owned()).to_vec(),
        rows: robots.into_iter().map(row).collect(),
    }
}
