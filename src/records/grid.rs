//! A grid: one training for every combination of listed values, and the results of these trainings.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::id::JobId;
use super::intervals::{ErrorInterval, ErrorIntervals, Simultaneous};
use super::job::{PARTS_REQUEST_BYTES_MAX, Status, SubjobOutcome};
use halfspace_core::certificates::{CONFIDENCE, Certificates};
use halfspace_core::learners::engine::outcome::Training;
use halfspace_formats::json;

use super::train::{Seconds, SeedNumber, Share, TrainResult, TrainSpec};
use super::written;

/// The largest number of trainings of a grid.
pub const TRAININGS_MAX: u32 = 10_000;

/// The largest number of names in the path of a field. No learner's parameters are nested deeper, and
/// unlimited nesting would overflow the stack of the parser.
const PATH_NAMES_MAX: usize = 8;

/// The largest number of fields of a grid. Each field is replaced separately in every training.
const FIELDS_MAX: usize = 32;

/// The field with the time limit of a training.
const MAX_SECONDS: &str = "stop.max_seconds";

/// The fields of a training that a grid may replace.
const FIELDS: &str = "`seed`, `holdout`, `stratify`, `minimum_count`, `discard`, `multiclass`, \
                      `class_weight`, `learner.name`, or \
                      below `learner.params` or `stop`";

/// Trains over the product of lists of values. Each training is a part of the job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = GridRequest)]
pub struct GridSpec {
    /// The training before its fields are replaced. All trainings share its data, which you send once. The
    /// training can have neither `warm_start` nor `trace`.
    #[serde(deserialize_with = "json::object")]
    pub train: TrainSpec,
    /// Lists of values for fields of the training. The fields are `seed`, `holdout`, `stratify`, `minimum_count`,
    /// `discard`, `multiclass`, `class_weight`, `learner.name`, and dotted names below `learner.params` and `stop`.
    #[serde(deserialize_with = "written::over")]
    #[schema(value_type = Object, example = json!({"seed": [1, 2, 3], "learner.params.eta": [1, 2]}))]
    pub over: BTreeMap<String, Vec<Value>>,
}

/// One training of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCell {
    /// The replaced fields and their values.
    pub over: Map<String, Value>,
    pub train: TrainSpec,
    /// The seed of the training, if the grid sets it.
    pub seed: Option<u64>,
    /// The index of each value in the list of its field.
    places: BTreeMap<String, usize>,
}

/// The largest number of characters that a message shows of the replaced fields.
const SHOWN_MAX: usize = 200;

impl GridCell {
    /// JSON pointer, relative to `over`, to the value that the grid gives to a field of the training. The grid may
    /// set the field itself or an object that contains it.
    pub fn pointer(&self, field: &str) -> Option<String> {
        let is_part = |of: &str| {
            let below = field.strip_prefix(of);
            below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
        };
        // If both are set, the longer path was replaced last.
        let (own, place) = self.places.iter().rfind(|(own, _)| is_part(own))?;
        Some(pointer(own, Some(*place)))
    }

    /// The replaced fields as JSON, cut off after 200 characters.
    pub fn shown(&self) -> String {
        let text = serde_json::to_string(&self.over).unwrap_or_default();
        match text.char_indices().nth(SHOWN_MAX) {
            None => text,
            Some((end, _)) => format!("{} ..", &text[..end]),
        }
    }
}

/// The reason why a grid is rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub struct GridError {
    /// JSON pointer to the fault, relative to `over`.
    pub pointer: String,
    pub detail: String,
}

impl GridSpec {
    /// Counts the trainings of the grid.
    ///
    /// # Errors
    /// The grid has no training or more than [`TRAININGS_MAX`], repeats a value, has too many fields, or its requests
    /// together exceed the limit in bytes.
    pub fn trainings(&self) -> Result<u32, GridError> {
        let whole = |detail| GridError {
            pointer: String::new(),
            detail,
        };
        if self.over.is_empty() {
            return Err(whole(
                "the grid needs at least one field with its values".to_owned(),
            ));
        }
        if self.over.len() > FIELDS_MAX {
            let fields = self.over.len();
            return Err(whole(format!(
                "the grid has {fields} fields, more than {FIELDS_MAX}"
            )));
        }
        if let Some((field, _)) = self.over.iter().find(|(_, values)| values.is_empty()) {
            return Err(GridError {
                pointer: pointer(field, None),
                detail: "the list needs at least one value".to_owned(),
            });
        }
        // Equal trainings could not be told apart, and the choice of the best one would be arbitrary.
        for (field, values) in &self.over {
            let mut seen = HashSet::new();
            let again = values
                .iter()
                .position(|value| !seen.insert(value.to_string()));
            if let Some(place) = again {
                return Err(GridError {
                    pointer: pointer(field, Some(place)),
                    detail: "the value occurs twice in the list".to_owned(),
                });
            }
        }
        let lengths = self.over.values().map(|values| values.len() as u64);
        let count = lengths.fold(1_u64, u64::saturating_mul);
        let trainings = match u32::try_from(count) {
            Ok(count) if count <= TRAININGS_MAX => count,
            _ => {
                return Err(whole(format!(
                    "the grid has {count} trainings, more than grid_trainings_max: {TRAININGS_MAX}"
                )));
            }
        };
        let bytes = count.saturating_mul(self.training_bytes());
        if bytes > PARTS_REQUEST_BYTES_MAX {
            return Err(whole(format!(
                "the requests of the {count} trainings take up to {bytes} bytes in total, more \
                 than parts_request_bytes_max: {PARTS_REQUEST_BYTES_MAX}"
            )));
        }
        Ok(trainings)
    }

    /// The largest size of the request of one training in bytes, without the description of the data.
    pub fn training_bytes(&self) -> u64 {
        let longest = |values: &Vec<Value>| values.iter().map(bytes).max().unwrap_or(0);
        let values = self.over.iter();
        let values = values.map(|(field, values)| field.len() as u64 + longest(values));
        bytes(&self.train) + values.sum::<u64>()
    }

    /// The training with this index, from 0. The values of the last field change fastest.
    ///
    /// # Errors
    /// A field that a training does not have, or a value that the field does not accept.
    pub fn cell(&self, number: u32) -> Result<GridCell, GridError> {
        let mut rest = number as usize;
        let mut places = Vec::with_capacity(self.over.len());
        for (field, values) in self.over.iter().rev() {
            places.push((field, rest % values.len().max(1)));
            rest /= values.len().max(1);
        }
        let mut cell = GridCell {
            over: Map::new(),
            train: self.train.clone(),
            seed: None,
            places: BTreeMap::new(),
        };
        for (field, place) in places.into_iter().rev() {
            let value = self.over[field].get(place).unwrap_or(&Value::Null);
            let replaced = replace(&mut cell, field, value);
            replaced.map_err(|detail| GridError {
                pointer: pointer(field, Some(place)),
                detail,
            })?;
            cell.over.insert(field.clone(), value.clone());
            cell.places.insert(field.clone(), place);
        }
        Ok(cell)
    }

    /// The longest time limit of the trainings in seconds, if the client set a limit.
    pub fn seconds_max(&self) -> Option<Seconds> {
        let Some(values) = self.over.get(MAX_SECONDS) else {
            return self.train.stop.max_seconds;
        };
        let seconds = values.iter().filter_map(Value::as_f64);
        let seconds = seconds.filter_map(|seconds| Seconds::try_from(seconds).ok());
        seconds.max_by(|one, other| one.get().total_cmp(&other.get()))
    }

    /// The confidence of all trainings together: of the request, unless the trainings differ in it.
    fn confidence(&self) -> f64 {
        let is_common = !self.over.contains_key("stop.confidence");
        let asked = self.train.stop.confidence.filter(|_| is_common);
        asked.map_or(CONFIDENCE, Share::get)
    }

    /// JSON pointer, relative to `over`, to the first time limit above `seconds_max`. `None` if the grid has
    /// no list of time limits.
    pub fn longer_than(&self, seconds_max: f64) -> Option<String> {
        let values = self.over.get(MAX_SECONDS)?;
        let is_longer = |value: &Value| value.as_f64().is_some_and(|seconds| seconds > seconds_max);
        Some(pointer(MAX_SECONDS, values.iter().position(is_longer)))
    }
}

/// The size of a value as JSON, in bytes.
pub(super) fn bytes(value: &impl Serialize) -> u64 {
    serde_json::to_string(value).map_or(u64::MAX, |text| text.len() as u64)
}

/// Replaces one field of a training.
fn replace(cell: &mut GridCell, field: &str, value: &Value) -> Result<(), String> {
    if field == "seed" {
        let seed = SeedNumber::deserialize(value).map_err(|error| error.to_string())?;
        cell.seed = Some(seed.get());
        return Ok(());
    }
    let is_known = matches!(
        field,
        "holdout"
            | "stratify"
            | "minimum_count"
            | "discard"
            | "multiclass"
            | "class_weight"
            | "learner.name"
    ) || ["learner.params.", "stop."].iter().any(|above| {
        field
            .strip_prefix(above)
            .is_some_and(|name| !name.is_empty())
    });
    if !is_known {
        return Err(format!("a grid can vary only {FIELDS}"));
    }
    if field.split('.').count() > PATH_NAMES_MAX {
        return Err(format!("a field has at most {PATH_NAMES_MAX} nested names"));
    }
    let mut train = serde_json::to_value(&cell.train).map_err(|error| error.to_string())?;
    let mut place = &mut train;
    for name in field.split('.') {
        let Value::Object(members) = place else {
            return Err("the enclosing value is not an object".to_owned());
        };
        let member = members.entry(name).or_insert_with(|| Map::new().into());
        place = member;
    }
    *place = value.clone();
    cell.train = serde_json::from_value(train).map_err(|error| error.to_string())?;
    Ok(())
}

fn pointer(field: &str, place: Option<usize>) -> String {
    let field = field.replace('~', "~0").replace('/', "~1");
    place.map_or_else(|| format!("/{field}"), |place| format!("/{field}/{place}"))
}

/// The result of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GridResult {
    /// All trainings. The values of the last field change first.
    pub trainings: Vec<GridTraining>,
    /// Index of the best training, from 0. The best training has the smallest share of errors on the held-out
    /// examples, or on its sample if none were held out. Fewer mistakes decide between equal shares, then the
    /// smaller index.
    pub best: Option<u32>,
    /// What the intervals of the trainings say. Null if no examples were held out.
    pub intervals: Option<ErrorIntervals>,
}

/// The result of one training of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GridTraining {
    /// The replaced fields and their values.
    #[schema(value_type = Object)]
    pub over: Map<String, Value>,
    /// The job of the training. The job has the full result.
    pub job: JobId,
    /// The final status of the job.
    pub status: Status,
    /// Examples that the current hypothesis predicted wrongly.
    pub mistakes: Option<u64>,
    /// Examples read.
    pub examples: Option<u64>,
    /// The reason why the training ended.
    pub reason: Option<String>,
    /// Errors on the sample.
    pub training: Option<Training>,
    /// Errors on the held-out examples.
    pub holdout: Option<Training>,
    /// Interval of the error, as `intervals` states it. Null if no examples were held out.
    pub interval: Option<ErrorInterval>,
    #[serde(flatten)]
    pub certified: Certificates,
}

impl GridResult {
    /// Combines the results of the trainings in their order.
    ///
    /// # Errors
    /// The grid is invalid.
    pub fn gather(spec: &GridSpec, subjobs: &[SubjobOutcome]) -> Result<Self, GridError> {
        let mut intervals = Simultaneous::new("trainings", spec.trainings()?, spec.confidence());
        let training = |subjob: &SubjobOutcome| {
            let result = subjob.result.as_ref();
            let result = result.and_then(|result| TrainResult::deserialize(result).ok());
            let held_out = result
                .as_ref()
                .and_then(|result| Some((result.holdout?, &result.certified)));
            Ok(GridTraining {
                over: spec.cell(subjob.index)?.over,
                job: subjob.job,
                status: subjob.status,
                mistakes: result.as_ref().map(|result| result.mistakes),
                examples: result.as_ref().map(|result| result.examples),
                training: result.as_ref().and_then(|result| result.training),
                holdout: held_out.map(|(holdout, _)| holdout),
                interval: held_out
                    .and_then(|(holdout, certified)| intervals.interval(holdout, certified)),
                reason: result
                    .as_ref()
                    .map(|result| result.termination.reason.clone()),
                certified: result.map(|result| result.certified).unwrap_or_default(),
            })
        };
        let trainings: Vec<_> = subjobs.iter().map(training).collect::<Result<_, _>>()?;
        let judged = trainings.iter().zip(0..).filter_map(|(training, number)| {
            let counted = training.holdout.or(training.training)?;
            Some((counted, training.mistakes, number))
        });
        let best = best(judged);
        Ok(Self {
            trainings,
            best,
            intervals: intervals.stated(),
        })
    }
}

/// The index of the smallest share of errors, then of the fewest mistakes, among errors with mistakes and an index.
pub(super) fn best(judged: impl Iterator<Item = (Training, Option<u64>, u32)>) -> Option<u32> {
    // Shares are compared as fractions, without rounding.
    let best = judged.min_by(|(one, one_mistakes, _), (other, other_mistakes, _)| {
        let product = |errors: u64, examples: u64| u128::from(errors) * u128::from(examples.max(1));
        let shares = product(one.errors, other.examples).cmp(&product(other.errors, one.examples));
        shares.then(one_mistakes.cmp(other_mistakes))
    });
    best.map(|(_, _, number)| number)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use serde_json::json;

    use super::*;

    fn grid(over: Value) -> GridSpec {
        let train = json!({"learner": {"name": "perceptron"}, "stop": {}, "trace": false});
        serde_json::from_value(json!({"train": train, "over": over})).unwrap()
    }

    #[test]
    fn grid_varies_the_last_field_first() {
        let spec = grid(json!({"seed": [7, 8], "learner.params.eta": [1, 2, 3]}));
        assert_eq!(spec.trainings(), Ok(6));
        let cell = |number| {
            let cell = spec.cell(number).unwrap();
            (cell.train.learner.params["eta"].clone(), cell.seed)
        };
        assert_eq!(cell(0), (json!(1), Some(7)));
        assert_eq!(cell(1), (json!(1), Some(8)));
        assert_eq!(cell(5), (json!(3), Some(8)));
        let over = json!({"seed": 7, "learner.params.eta": 2});
        assert_eq!(Value::from(spec.cell(2).unwrap().over), over);
    }

    #[test]
    fn grid_creates_missing_nested_fields() {
        let spec = grid(json!({"learner.params.kernel.max_literals": [2], "stop.max_passes": [9]}));
        let train = spec.cell(0).unwrap().train;
        assert_eq!(train.learner.params["kernel"], json!({"max_literals": 2}));
        assert_eq!(train.stop.max_passes.map(|passes| passes.get()), Some(9));
    }

    #[test]
    fn grid_points_at_malformed_fields() {
        for (over, pointer) in [
            (json!({}), ""),
            (json!({"seed": []}), "/seed"),
            (json!({"seed": (0..10_001).collect::<Vec<_>>()}), ""),
            (json!({"holdout": [0.5], "seed": [1, 2, 1]}), "/seed/2"),
        ] {
            assert_eq!(grid(over).trainings().unwrap_err().pointer, pointer);
        }
        for (over, pointer) in [
            (json!({"data": [1]}), "/data/0"),
            (json!({"seed": [-1]}), "/seed/0"),
            (json!({"holdout": [2]}), "/holdout/0"),
            (json!({"stop.never": [1]}), "/stop.never/0"),
            (json!({"stop.": [1]}), "/stop./0"),
            (json!({"learner.params": [{}]}), "/learner.params/0"),
        ] {
            assert_eq!(grid(over).cell(0).unwrap_err().pointer, pointer);
        }
    }

    #[test]
    fn grid_cell_points_at_the_value_of_a_field() {
        let spec =
            grid(json!({"learner.params.kernel": [{}, {"max_literals": 1}], "seed": [1, 2]}));
        let cell = spec.cell(2).unwrap();
        let pointer = |field| cell.pointer(field);
        let own = Some("/learner.params.kernel/1".to_owned());
        assert_eq!(pointer("learner.params.kernel"), own);
        assert_eq!(pointer("learner.params.kernel.max_literals"), own);
        assert_eq!(pointer("seed"), Some("/seed/0".to_owned()));
        assert_eq!(pointer("learner.params.kernels"), None);
        assert_eq!(pointer("learner.name"), None);
        let (kernel, literals) = (
            "learner.params.kernel",
            "learner.params.kernel.max_literals",
        );
        let cell = grid(json!({kernel: [{}], literals: [1]})).cell(0).unwrap();
        assert_eq!(cell.pointer(literals), Some(format!("/{literals}/0")));
        assert_eq!(cell.pointer(kernel), Some(format!("/{kernel}/0")));
    }

    #[test]
    fn grid_max_seconds_replaces_that_of_the_training() {
        let mut spec = grid(json!({"stop.max_seconds": [1, 50, 2]}));
        spec.train.stop.max_seconds = Seconds::try_from(1e6).ok();
        assert_eq!(spec.seconds_max().map(|seconds| seconds.get()), Some(50.0));
        assert_eq!(
            spec.longer_than(9.0),
            Some("/stop.max_seconds/1".to_owned())
        );
        spec.over.clear();
        assert_eq!(spec.seconds_max().map(|seconds| seconds.get()), Some(1e6));
        assert_eq!(spec.longer_than(9.0), None);
    }

    #[test]
    fn grid_cell_label_is_cut() {
        let spec = grid(json!({"learner.params.initial": ["\u{e9}".repeat(1_000)]}));
        let shown = spec.cell(0).unwrap().shown();
        assert_eq!(shown.chars().count(), SHOWN_MAX + 3, "{shown}");
    }

    #[test]
    fn grid_refuses_a_field_of_too_many_names() {
        let field = format!("learner.params{}", ".a".repeat(100_000));
        let refused = grid(json!({field.clone(): [1]})).cell(0).unwrap_err();
        assert_eq!(refused.pointer, format!("/{field}/0"));
        let deepest = format!("learner.params{}", ".a".repeat(PATH_NAMES_MAX - 2));
        assert!(grid(json!({deepest: [1]})).cell(0).is_ok());
    }

    #[test]
    fn grid_refuses_too_much_text_over_all_trainings() {
        // A request has at most 4 MiB of text, and 2 x 10 trainings of 3 MiB still fit.
        let initial = "0".repeat(3 << 20);
        let over = |seeds: Range<u32>| {
            let seeds: Vec<u32> = seeds.collect();
            json!({"seed": seeds, "learner.params.initial": [initial, 0]})
        };
        assert_eq!(grid(over(0..10)).trainings(), Ok(20));
        let refused = grid(over(0..11)).trainings().unwrap_err();
        assert_eq!(refused.pointer, "");
        assert!(refused.detail.contains("parts_request_bytes_max: 67108864"));
    }

    #[test]
    fn best_training_has_the_fewest_errors_then_the_fewest_mistakes() {
        let judged = |list: &[(u64, u64, u64)]| {
            let numbered = list.iter().zip(0..);
            let judged = numbered.map(|(&(errors, examples, mistakes), number)| {
                (Training { errors, examples }, Some(mistakes), number)
            });
            best(judged)
        };
        let trainings = [(2, 10, 1), (3, 20, 9), (3, 20, 8), (3, 20, 8)];
        assert_eq!(judged(&trainings), Some(2));
        assert_eq!(judged(&[]), None);
    }
}
