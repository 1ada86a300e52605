//! What the members of a committee, and the committee itself, decide on a row, and who learns from it.

use crate::learners::decision::Score;
use crate::learners::engine::thickness::Band;

/// What a member decided on a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stand {
    /// Whether it decided wrongly.
    pub is_mistake: bool,
    /// Whether it learns from the row by itself.
    pub is_lesson: bool,
}

impl Stand {
    /// The stand of a member with this band and score on a row of its own class or of another.
    pub fn of(is_positive: bool, score: &Score, is_own: bool, band: Option<&Band>) -> Self {
        let is_mistake = is_positive != is_own;
        Self {
            is_mistake,
            is_lesson: is_mistake || band.is_some_and(|band| band.teaches(score, is_own)),
        }
    }
}

/// What a committee decided on a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub predicted: u32,
    /// The class that loses the row if the members learn jointly. None if they do not learn from it.
    pub loses: Option<u32>,
}

impl Verdict {
    /// The verdict on a row of a class for which `predicted` was predicted. A band needs the scores of all classes, of
    /// which an equal one of an earlier class wins, as in a prediction.
    pub fn of(predicted: u32, class: u32, scores: &[Score], band: Option<&Band>) -> Self {
        // A class that has no member yet has no score, and the prediction is a mistake.
        let Some((band, own)) = band.zip(scores.get(class as usize)) else {
            let loses = (predicted != class).then_some(predicted);
            return Self { predicted, loses };
        };
        let others = (0..).zip(scores).filter(|(code, _)| *code != class);
        let is_above = |one: &(u32, &Score), other: &(u32, &Score)| one.1.compare(other.1).is_gt();
        let rival = others.reduce(|best, next| if is_above(&next, &best) { next } else { best });
        let loses = rival.and_then(|(code, rival)| {
            let is_lesson = match code < class {
                true => band.teaches(&rival.minus(own), false),
                false => band.teaches(&own.minus(rival), true),
            };
            is_lesson.then_some(code)
        });
        Self { predicted, loses }
    }
}
