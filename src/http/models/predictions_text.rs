//! The text of predictions: one JSON document within a limit of bytes, or one line per example.

use std::fmt::Write as _;
use std::io::Write;
use std::str::FromStr;

use halfspace_core::learners::decision::{Decision, Score, ScoresOf};

use crate::records::evaluation::score_value;
use crate::records::names::label_number;

const BEGIN: &str = "{\"predictions\":[";
const CLASSES: &str = "],\"predicted_classes\":";
const NO_SCORES: &str = ",\"scores\":null";
const UNSEEN: &str = ",\"unseen\":";
const TABLE: &str = ",\"table\":";
const END: &str = "}";

/// The scores that a request asks for with the parameter `scores`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedScores {
    /// `none`.
    None,
    /// `predicted`: the scores of the predicted classes and, of more than two, their margins.
    #[default]
    Predicted,
    /// `all`: those and the scores of all classes.
    All,
    /// `top=K`: those and the K largest scores.
    Top(usize),
}

impl FromStr for AskedScores {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORMS: &str = "the scores are none, predicted, all or top=K with a number K above 0";
        match text {
            "none" => Ok(Self::None),
            "predicted" => Ok(Self::Predicted),
            "all" => Ok(Self::All),
            _ => {
                let count = text
                    .strip_prefix("top=")
                    .and_then(|count| count.parse().ok());
                count.filter(|&count| count > 0).map(Self::Top).ok_or(FORMS)
            }
        }
    }
}

/// A part of a prediction.
struct ScoreItem {
    /// The name in a line.
    name: &'static str,
    /// The name of the list in a document.
    list: &'static str,
    /// The value as JSON.
    text: String,
}

impl AskedScores {
    /// The scores that each decision needs.
    pub fn of_decision(self) -> ScoresOf {
        match self {
            Self::None | Self::Predicted => ScoresOf::Leaders,
            Self::All | Self::Top(_) => ScoresOf::All,
        }
    }

    /// The score, the margin and the scores of several classes, as far as they are asked for and exist.
    fn of(self, decision: &Decision, classes: Option<&ClassTexts>) -> Vec<ScoreItem> {
        if self == Self::None {
            return Vec::new();
        }
        let text = |score: &Score| score_value(score).to_string();
        let item = |name, list, text| ScoreItem { name, list, text };
        let mut items = vec![item("score", "scores", text(&decision.score))];
        items.extend(
            decision
                .margin()
                .map(|margin| item("margin", "margins", text(&margin))),
        );
        let (Some(classes), false) = (classes, decision.scores.is_empty()) else {
            return items;
        };
        let (name, several): (_, Vec<String>) = match self {
            Self::Top(count) => {
                let ranking = decision.ranking().into_iter().take(count);
                let place = |code: u32| {
                    let (class, score) = (&classes[code as usize], &decision.scores[code as usize]);
                    format!("{{\"class\":{class},\"score\":{}}}", text(score))
                };
                ("ranking", ranking.map(place).collect())
            }
            _ => ("class_scores", decision.scores.iter().map(text).collect()),
        };
        items.push(item(name, name, format!("[{}]", several.join(","))));
        items
    }
}

/// The names of the classes as JSON.
pub type ClassTexts = Vec<String>;

pub fn class_texts(names: &[String]) -> ClassTexts {
    let names = names.iter();
    names
        .map(|name| serde_json::Value::from(name.as_str()).to_string())
        .collect()
}

/// A JSON document of predictions under construction. If it would exceed the limit, all scores are left out, and then
/// the table.
pub struct PredictionsText {
    /// Largest number of bytes in the document.
    pub bytes_max: u64,
    /// The document up to the latest prediction.
    text: String,
    /// The text of the class names, and the name of each label.
    classes: Option<(String, ClassTexts)>,
    asked: AskedScores,
    /// The lists of scores with their names. `None` once they exceed the limit.
    scores: Option<Vec<(&'static str, String)>>,
    /// The numbers of unknown names, if features have names.
    unseen: Option<String>,
    /// The encoding of the table that was read, as JSON.
    table: Option<String>,
}

/// Appends the prediction of one example as a line. `unseen` is the number of its names that the model does not know,
/// if features have names.
pub fn push_line(
    text: &mut Vec<u8>,
    decision: &Decision,
    classes: Option<&ClassTexts>,
    asked: AskedScores,
    unseen: Option<u32>,
) {
    let prediction = label_number(decision.class, classes.map_or(2, Vec::len));
    // Writing to memory does not fail.
    let _ = write!(text, "{{\"prediction\":{prediction}");
    if let Some(classes) = classes {
        let class = &classes[decision.class as usize];
        let _ = write!(text, ",\"predicted_class\":{class}");
    }
    for item in asked.of(decision, classes) {
        let _ = write!(text, ",\"{}\":{}", item.name, item.text);
    }
    if let Some(unseen) = unseen {
        let _ = write!(text, ",\"unseen\":{unseen}");
    }
    text.extend_from_slice(b"}\n");
}

impl PredictionsText {
    /// Creates an empty document of at most `bytes_max` bytes, with the names of the classes if there are any.
    pub fn new(bytes_max: u64, classes: Option<ClassTexts>, asked: AskedScores) -> Self {
        Self {
            bytes_max,
            text: BEGIN.to_owned(),
            classes: classes.map(|names| (String::new(), names)),
            asked,
            scores: (asked != AskedScores::None).then(|| vec![("scores", String::new())]),
            unseen: None,
            table: None,
        }
    }

    /// Names the classes of the next predictions, which begin with those that had names before.
    pub fn rename_classes(&mut self, names: Option<ClassTexts>) {
        let text = self.classes.take().map(|(text, _)| text);
        self.classes = names.map(|names| (text.unwrap_or_default(), names));
    }

    /// Adds the encoding of the table that was read, if there is room for it.
    pub fn set_table(&mut self, table: String) {
        self.table = Some(table);
        if self.bytes() > self.bytes_max {
            self.table = None;
        }
    }

    /// Adds the prediction of an example, with the number of its names that the model does not know, if features have
    /// names.
    pub fn push(&mut self, decision: &Decision, unseen: Option<u32>) {
        if let Some(unseen) = unseen {
            let list = self.unseen.get_or_insert_default();
            push_item(list, &unseen.to_string(), 0);
        }
        let classes = self.classes.as_ref().map_or(2, |(_, names)| names.len());
        let prediction = label_number(decision.class, classes).to_string();
        push_item(&mut self.text, &prediction, BEGIN.len());
        if let Some((text, names)) = &mut self.classes {
            push_item(text, &names[decision.class as usize], 0);
        }
        if let Some(lists) = &mut self.scores {
            let classes = self.classes.as_ref().map(|(_, names)| names);
            for ScoreItem { list, text, .. } in self.asked.of(decision, classes) {
                let place = lists.iter().position(|(known, _)| *known == list);
                let place = place.unwrap_or_else(|| {
                    lists.push((list, String::new()));
                    lists.len() - 1
                });
                push_item(&mut lists[place].1, &text, 0);
            }
            if self.bytes() > self.bytes_max {
                self.scores = None;
            }
        }
    }

    /// Whether the document exceeds its limit for good: further predictions only make it longer.
    pub fn is_too_long(&self) -> bool {
        self.bytes() > self.bytes_max
    }

    /// The size of the document.
    fn bytes(&self) -> u64 {
        let list = |text: Option<&String>| text.map_or("null".len(), |text| text.len() + 2);
        let classes = list(self.classes.as_ref().map(|(text, _)| text));
        let table = self
            .table
            .as_ref()
            .map_or(0, |table| TABLE.len() + table.len());
        // A name has two quotes, a comma and a colon, and a list its brackets.
        let scores = self.scores.as_ref().map_or(NO_SCORES.len(), |lists| {
            lists
                .iter()
                .map(|(name, text)| name.len() + text.len() + 6)
                .sum()
        });
        let unseen = self.unseen.as_ref();
        let unseen = unseen.map_or(0, |list| UNSEEN.len() + list.len() + 2);
        (self.text.len() + CLASSES.len() + classes + scores + unseen + table + END.len()) as u64
    }

    /// The text of the document, or `None` if it is too long.
    pub fn finish(self) -> Option<String> {
        if self.is_too_long() {
            return None;
        }
        let list =
            |text: Option<String>| text.map_or("null".to_owned(), |text| format!("[{text}]"));
        let mut whole = self.text;
        whole.push_str(CLASSES);
        whole.push_str(&list(self.classes.map(|(text, _)| text)));
        match self.scores {
            None => whole.push_str(NO_SCORES),
            Some(lists) => {
                for (name, text) in lists {
                    let _ = write!(whole, ",\"{name}\":[{text}]");
                }
            }
        }
        if let Some(unseen) = self.unseen {
            let _ = write!(whole, "{UNSEEN}[{unseen}]");
        }
        if let Some(table) = self.table {
            whole.push_str(TABLE);
            whole.push_str(&table);
        }
        whole.push_str(END);
        Some(whole)
    }
}

/// Adds an item to a list whose items begin at byte `begin`.
fn push_item(list: &mut String, item: &str, begin: usize) {
    if list.len() > begin {
        list.push(',');
    }
    list.push_str(item);
}

#[cfg(test)]
mod tests {
    use halfspace_core::learners::decision::Score;
    use num_bigint::BigInt;

    use super::*;

    fn document(decisions: &[Decision], bytes_max: u64) -> Option<String> {
        let mut writer = PredictionsText::new(bytes_max, None, AskedScores::default());
        for decision in decisions {
            writer.push(decision, None);
        }
        writer.finish()
    }

    #[test]
    fn predictions_are_never_longer_than_their_limit() {
        let scores = [(1_i64 << 53).into(), (-0.5).into(), (-7_i64).into()];
        let whole = r#"{"predictions":[1,-1,-1],"predicted_classes":null,"scores":["9007199254740992",-0.5,-7]}"#;
        let bare = r#"{"predictions":[1,-1,-1],"predicted_classes":null,"scores":null}"#;
        for bytes_max in 0..110 {
            let expected = [whole, bare]
                .into_iter()
                .find(|text| text.len() as u64 <= bytes_max);
            assert_eq!(document(&scores, bytes_max).as_deref(), expected);
        }
    }

    #[test]
    fn predictions_write_scores_beyond_numbers_as_text() {
        let decision = |score| Decision::new(score, true);
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
            Some(
                r#"{"predictions":[1,1,1],"predicted_classes":null,"scores":[-7,"-18446744073709551616","1/2"]}"#
            )
        );
    }

    #[test]
    fn predictions_name_classes_and_state_the_table_if_it_fits() {
        let names = class_texts(&["not \"so\"".to_owned(), "so".to_owned()]);
        let whole = r#"{"predictions":[1,-1],"predicted_classes":["so","not \"so\""],"scores":[2,-3],"table":{}}"#;
        for (bytes_max, expected) in [
            (whole.len(), whole),
            (whole.len() - 1, &whole.replace(r#","table":{}"#, "")),
        ] {
            let mut writer = PredictionsText::new(
                bytes_max as u64,
                Some(names.clone()),
                AskedScores::default(),
            );
            writer.push(&2_i64.into(), None);
            writer.push(&(-3_i64).into(), None);
            writer.set_table("{}".to_owned());
            assert_eq!(writer.finish().as_deref(), Some(expected));
        }
        let mut line = Vec::new();
        push_line(
            &mut line,
            &(-7_i64).into(),
            Some(&names),
            AskedScores::default(),
            None,
        );
        let expected = "{\"prediction\":-1,\"predicted_class\":\"not \\\"so\\\"\",\"score\":-7}\n";
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    /// The lists of all classes count towards the limit too.
    #[test]
    fn predictions_of_several_classes_fit_their_limit_exactly() {
        let names = class_texts(&["a", "b", "c"].map(str::to_owned));
        let mut decision: Decision = 5_i64.into();
        decision.class = 0;
        decision.scores = [5, -70, 3].map(Score::Integer).to_vec();
        decision.raise(1, Score::Integer(-70));
        decision.raise(2, Score::Integer(3));
        for (asked, scores) in [
            (
                AskedScores::All,
                r#""scores":[5,5],"margins":[2,2],"class_scores":[[5,-70,3],[5,-70,3]]"#,
            ),
            (
                AskedScores::Top(1),
                r#""scores":[5,5],"margins":[2,2],"ranking":[[{"class":"a","score":5}],[{"class":"a","score":5}]]"#,
            ),
            (AskedScores::None, r#""scores":null"#),
        ] {
            let whole =
                format!(r#"{{"predictions":[0,0],"predicted_classes":["a","a"],{scores}}}"#);
            let document = |bytes_max: usize| {
                let mut writer = PredictionsText::new(bytes_max as u64, Some(names.clone()), asked);
                (0..2).for_each(|_| writer.push(&decision, None));
                writer.finish()
            };
            assert_eq!(document(whole.len()), Some(whole.clone()));
            let less = document(whole.len() - 1);
            let bare = whole.replace(scores, r#""scores":null"#);
            assert_eq!(less, (asked != AskedScores::None).then_some(bare));
        }
    }

    #[test]
    fn prediction_line_is_a_json_object() {
        let mut text = Vec::new();
        let asked = AskedScores::default();
        push_line(&mut text, &(-7_i64).into(), None, asked, None);
        push_line(&mut text, &0.5.into(), None, asked, Some(3));
        let expected =
            "{\"prediction\":-1,\"score\":-7}\n{\"prediction\":1,\"score\":0.5,\"unseen\":3}\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
