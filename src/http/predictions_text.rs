//! The text of an answer to predict, written score by score and never longer than its limit.

use std::fmt::Write;

use crate::learners::hypothesis::{Decision, Score};

/// The largest integer that every JSON reader holds.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

const BEGIN: &str = "{\"predictions\":[";
const BETWEEN: &str = "],\"scores\":[";
const END: &str = "]}";
const WITHOUT_SCORES: &str = "],\"scores\":null}";

/// An answer in the making.
pub struct Writer {
    /// Bytes of the answer.
    pub bytes_max: u64,
    /// All predictions, or all lines.
    text: String,
    kept: Scores,
}

/// Where scores are kept.
enum Scores {
    /// In their lines.
    InLines,
    /// Apart, to follow the predictions.
    Apart(String),
    /// Nowhere: the answer would be too long with them.
    Dropped,
}

impl Writer {
    /// One JSON document, which goes without scores when it would be too long with them.
    pub fn document(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            text: BEGIN.to_owned(),
            kept: Scores::Apart(String::new()),
        }
    }

    /// A JSON object a line.
    pub fn lines(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            text: String::new(),
            kept: Scores::InLines,
        }
    }

    /// Adds the prediction of one example.
    pub fn push(&mut self, decision: &Decision) {
        let Decision { score, is_positive } = decision;
        let prediction = if *is_positive { "1" } else { "-1" };
        if matches!(self.kept, Scores::InLines) {
            self.text.push_str("{\"prediction\":");
            self.text.push_str(prediction);
            self.text.push_str(",\"score\":");
            push_score(&mut self.text, score);
            self.text.push_str("}\n");
            return;
        }
        if self.text.len() > BEGIN.len() {
            self.text.push(',');
        }
        self.text.push_str(prediction);
        if let Scores::Apart(scores) = &mut self.kept {
            if !scores.is_empty() {
                scores.push(',');
            }
            push_score(scores, score);
            let whole = self.text.len() + BETWEEN.len() + scores.len() + END.len();
            if whole as u64 > self.bytes_max {
                self.kept = Scores::Dropped;
            }
        }
    }

    /// Whether no answer can come of it any more.
    pub fn is_too_long(&self) -> bool {
        let end = match &self.kept {
            Scores::InLines => 0,
            Scores::Apart(scores) => BETWEEN.len() + scores.len() + END.len(),
            Scores::Dropped => WITHOUT_SCORES.len(),
        };
        (self.text.len() + end) as u64 > self.bytes_max
    }

    /// The answer; none when it is too long.
    pub fn finish(mut self) -> Option<String> {
        if self.is_too_long() {
            return None;
        }
        match self.kept {
            Scores::InLines => {}
            Scores::Apart(scores) => {
                self.text.push_str(BETWEEN);
                self.text.push_str(&scores);
                self.text.push_str(END);
            }
            Scores::Dropped => self.text.push_str(WITHOUT_SCORES),
        }
        Some(self.text)
    }
}

/// A number, or a decimal string where not every reader would hold the number. JSON has no
/// infinities: a sum of finite products may overflow to one, and is null.
fn push_score(text: &mut String, score: &Score) {
    // Writing to a string does not fail.
    let _ = match score {
        Score::Integer(score) if score.unsigned_abs() <= SAFE_INTEGER_MAX => {
            write!(text, "{score}")
        }
        Score::Integer(score) => write!(text, "\"{score}\""),
        Score::Large(score) => write!(text, "\"{score}\""),
        Score::Fraction {
            numerator,
            denominator,
        } => write!(text, "\"{numerator}/{denominator}\""),
        Score::Real(score) => match serde_json::Number::from_f64(*score) {
            Some(number) => write!(text, "{number}"),
            None => write!(text, "null"),
        },
    };
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::*;

    fn document(decisions: &[Decision], bytes_max: u64) -> Option<String> {
        let mut writer = Writer::document(bytes_max);
        for decision in decisions {
            writer.push(decision);
        }
        writer.finish()
    }

    #[test]
    fn an_answer_is_never_longer_than_its_limit() {
        let scores = [(1_i64 << 53).into(), (-0.5).into(), (-7_i64).into()];
        let whole = r#"{"predictions":[1,-1,-1],"scores":["9007199254740992",-0.5,-7]}"#;
        let bare = r#"{"predictions":[1,-1,-1],"scores":null}"#;
        for bytes_max in 0..80 {
            let expected = [whole, bare]
                .into_iter()
                .find(|text| text.len() as u64 <= bytes_max);
            assert_eq!(document(&scores, bytes_max).as_deref(), expected);
        }
    }

    #[test]
    fn exact_scores_beyond_numbers_are_text() {
        let decision = |score| Decision {
            score,
            is_positive: true,
        };
        let large = Score::from(-BigInt::from(1_u128 << 64));
        let half = Score::Fraction {
            numerator: 1.into(),
            denominator: 2_u32.into(),
        };
        let decisions = [
            decision(Score::from(BigInt::from(-7))),
            decision(large),
            decision(half),
        ];
        assert_eq!(
            document(&decisions, 1000).as_deref(),
            Some(r#"{"predictions":[1,1,1],"scores":[-7,"-18446744073709551616","1/2"]}"#)
        );
    }

    #[test]
    fn lines_are_whole_or_refused() {
        let line = "{\"prediction\":-1,\"score\":-7}\n";
        for (bytes_max, expected) in [(line.len(), Some(line)), (line.len() - 1, None)] {
            let mut writer = Writer::lines(bytes_max as u64);
            writer.push(&(-7_i64).into());
            assert_eq!(writer.finish().as_deref(), expected);
        }
    }
}
