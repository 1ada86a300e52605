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
    pub fn without_band(predicted: u32, class: u32) -> Self {
        Self {
            predicted,
            loses: (predicted != class).then_some(predicted),
        }
    }

    /// The verdict by these scores of all classes on a row of one of them. An equal score of an earlier class wins, as
    /// in a prediction.
    pub fn within(band: &Band, scores: &[Score], predicted: u32, class: u32) -> Self {
        let Some(own) = scores.get(class as usize) else {
            // The class has no member yet, so the prediction is a mistake.
            return Self::without_band(predicted, class);
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
