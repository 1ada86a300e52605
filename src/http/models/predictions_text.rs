//! The text of predictions: one JSON document within a limit of bytes, or one line per example.

use std::io::Write;

use halfspace_core::learners::hypothesis::Decision;

use crate::records::evaluation::score_value;

const BEGIN: &str = "{\"predictions\":[";
const BETWEEN: &str = "],\"scores\":[";
const END: &str = "]}";
const WITHOUT_SCORES: &str = "],\"scores\":null}";

/// A JSON document of predictions under construction, without scores if the scores would exceed the limit.
pub struct PredictionsText {
    /// Largest number of bytes in the document.
    pub bytes_max: u64,
    /// The document up to the latest prediction.
    text: String,
    /// The text of the scores, which follow the predictions. `None` once the scores exceed the limit.
    scores: Option<String>,
}

/// Appends the prediction of one example as a line.
pub fn push_line(text: &mut Vec<u8>, decision: &Decision) {
    let Decision { score, is_positive } = decision;
    let prediction = if *is_positive { "1" } else { "-1" };
    let score = score_value(score);
    // Writing to memory does not fail.
    let _ = writeln!(text, "{{\"prediction\":{prediction},\"score\":{score}}}");
}

impl PredictionsText {
    /// Creates an empty document of at most `bytes_max` bytes.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            text: BEGIN.to_owned(),
            scores: Some(String::new()),
        }
    }

    /// Adds the prediction of one example.
    pub fn push(&mut self, decision: &Decision) {
        let Decision { score, is_positive } = decision;
        let prediction = if *is_positive { "1" } else { "-1" };
        if self.text.len() > BEGIN.len() {
            self.text.push(',');
        }
        self.text.push_str(prediction);
        if let Some(scores) = &mut self.scores {
            if !scores.is_empty() {
                scores.push(',');
            }
            scores.push_str(&score_value(score).to_string());
            let whole = self.text.len() + BETWEEN.len() + scores.len() + END.len();
            if whole as u64 > self.bytes_max {
                self.scores = None;
            }
        }
    }

    /// Returns whether the document exceeds its limit, after which no further prediction can help.
    pub fn is_too_long(&self) -> bool {
        let end = match &self.scores {
            Some(scores) => BETWEEN.len() + scores.len() + END.len(),
            None => WITHOUT_SCORES.len(),
        };
        (self.text.len() + end) as u64 > self.bytes_max
    }

    /// Returns the text of the document, or `None` if the document is too long.
    pub fn finish(mut self) -> Option<String> {
        if self.is_too_long() {
            return None;
        }
        match self.scores {
            Some(scores) => {
                self.text.push_str(BETWEEN);
                self.text.push_str(&scores);
                self.text.push_str(END);
            }
            None => self.text.push_str(WITHOUT_SCORES),
        }
        Some(self.text)
    }
}

#[cfg(test)]
mod tests {
    use halfspace_core::learners::hypothesis::Score;
    use num_bigint::BigInt;

    use super::*;

    fn document(decisions: &[Decision], bytes_max: u64) -> Option<String> {
        let mut writer = PredictionsText::new(bytes_max);
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
    fn a_line_is_an_object() {
        let mut text = Vec::new();
        push_line(&mut text, &(-7_i64).into());
        push_line(&mut text, &0.5.into());
        let expected = "{\"prediction\":-1,\"score\":-7}\n{\"prediction\":1,\"score\":0.5}\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
