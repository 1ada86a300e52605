//! A grid: one training over the product of lists of values, and what came of it.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::id::JobId;
use super::job::{PARTS_REQUEST_BYTES_MAX, PartOutcome, Status};
use super::train::{Seconds, SeedNumber, TrainResult, TrainSpec, TrainingDocument};

/// The most trainings of a grid.
pub const TRAININGS_MAX: u32 = 10_000;

/// The most names in the path of a field: the parameters of a learner are not nested deeper, and
/// what is nested without bound overflows the stack of whoever reads it.
const PATH_NAMES_MAX: usize = 8;

/// The most fields that a grid is over: each is replaced by itself, in every training.
const FIELDS_MAX: usize = 32;

/// The field that limits how long a training computes.
const MAX_SECONDS: &str = "stop.max_seconds";

/// What may be replaced in a training.
const FIELDS: &str = "`seed`, `holdout`, `learner.name`, or below `learner.params` or `stop`";

/// A training, and what is replaced in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridSpec {
    /// The training as it is before.
    pub train: TrainSpec,
    /// Fields, by their path with dots, and the values that each takes.
    pub over: BTreeMap<String, Vec<Value>>,
}

/// One training of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridCell {
    /// What was replaced.
    pub over: Map<String, Value>,
    /// The training.
    pub train: TrainSpec,
    /// Its seed, where the grid says so.
    pub seed: Option<u64>,
    /// The places of its values in their lists.
    places: BTreeMap<String, usize>,
}

/// The most characters of what was replaced in a training that a sentence about it holds.
const SHOWN_MAX: usize = 200;

impl GridCell {
    /// Where the value stands that a field of the training has from the grid, as a JSON pointer below
    /// `over`: the field's own, or that of the field that it is a part of.
    pub fn pointer(&self, field: &str) -> Option<String> {
        let is_part = |of: &str| {
            let below = field.strip_prefix(of);
            below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
        };
        // Of two, the longer one was replaced last.
        let (own, place) = self.places.iter().rfind(|(own, _)| is_part(own))?;
        Some(pointer(own, Some(*place)))
    }

    /// What was replaced, as JSON that is cut where it gets long.
    pub fn shown(&self) -> String {
        let text = serde_json::to_string(&self.over).unwrap_or_default();
        match text.char_indices().nth(SHOWN_MAX) {
            None => text,
            Some((end, _)) => format!("{} ..", &text[..end]),
        }
    }
}

/// Why there is no such grid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{detail}")]
pub struct GridError {
    /// Where the fault stands below `over`, as a JSON pointer.
    pub pointer: String,
    /// What is wrong.
    pub detail: String,
}

impl GridSpec {
    /// How many trainings it has.
    ///
    /// # Errors
    /// None at all, more than [`TRAININGS_MAX`], of more bytes than parts may have together, one twice, or
    /// over too many fields.
    pub fn trainings(&self) -> Result<u32, GridError> {
        let whole = |detail| GridError {
            pointer: String::new(),
            detail,
        };
        if self.over.is_empty() {
            return Err(whole("name at least one field, with its values".to_owned()));
        }
        if self.over.len() > FIELDS_MAX {
            let fields = self.over.len();
            return Err(whole(format!(
                "the grid is over {fields} fields, more than {FIELDS_MAX}"
            )));
        }
        if let Some((field, _)) = self.over.iter().find(|(_, values)| values.is_empty()) {
            return Err(GridError {
                pointer: pointer(field, None),
                detail: "give at least one value".to_owned(),
            });
        }
        // Two equal trainings would be told apart by nothing, and one of them be the best by chance.
        for (field, values) in &self.over {
            let mut seen = HashSet::new();
            let again = values
                .iter()
                .position(|value| !seen.insert(value.to_string()));
            if let Some(place) = again {
                return Err(GridError {
                    pointer: pointer(field, Some(place)),
                    detail: "this value is in the list already".to_owned(),
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
                "the requests of the {count} trainings take up to {bytes} bytes together, more than \
                 parts_request_bytes_max: {PARTS_REQUEST_BYTES_MAX}"
            )));
        }
        Ok(trainings)
    }

    /// The most bytes that the request of one of its trainings takes, without what is known of the data.
    pub fn training_bytes(&self) -> u64 {
        let longest = |values: &Vec<Value>| values.iter().map(bytes).max().unwrap_or(0);
        let values = self.over.iter();
        let values = values.map(|(field, values)| field.len() as u64 + longest(values));
        bytes(&self.train) + values.sum::<u64>()
    }

    /// The training of this number, from 0; the values of the last field change first.
    ///
    /// # Errors
    /// A field that is none of a training, or a value that it does not take.
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

    /// The longest that one of its trainings may compute, in seconds, if the client said so.
    pub fn seconds_max(&self) -> Option<Seconds> {
        let Some(values) = self.over.get(MAX_SECONDS) else {
            return self.train.stop.max_seconds;
        };
        let seconds = values.iter().filter_map(Value::as_f64);
        let seconds = seconds.filter_map(|seconds| Seconds::try_from(seconds).ok());
        seconds.max_by(|one, other| one.get().total_cmp(&other.get()))
    }

    /// Where the first limit of more seconds than these stands, as a JSON pointer below `over`, if the
    /// grid is over limits of seconds.
    pub fn longer_than(&self, seconds_max: f64) -> Option<String> {
        let values = self.over.get(MAX_SECONDS)?;
        let is_longer = |value: &Value| value.as_f64().is_some_and(|seconds| seconds > seconds_max);
        Some(pointer(MAX_SECONDS, values.iter().position(is_longer)))
    }
}

/// The bytes of something as JSON.
fn bytes(value: &impl Serialize) -> u64 {
    serde_json::to_string(value).map_or(u64::MAX, |text| text.len() as u64)
}

/// Replaces one field of a training.
fn replace(cell: &mut GridCell, field: &str, value: &Value) -> Result<(), String> {
    if field == "seed" {
        let seed = SeedNumber::deserialize(value).map_err(|error| error.to_string())?;
        cell.seed = Some(seed.get());
        return Ok(());
    }
    let is_known = matches!(field, "holdout" | "learner.name")
        || ["learner.params.", "stop."].iter().any(|above| {
            field
                .strip_prefix(above)
                .is_some_and(|name| !name.is_empty())
        });
    if !is_known {
        return Err(format!("a grid is over {FIELDS}"));
    }
    if field.split('.').count() > PATH_NAMES_MAX {
        return Err(format!(
            "nothing is nested in more than {PATH_NAMES_MAX} names"
        ));
    }
    let mut train = serde_json::to_value(&cell.train).map_err(|error| error.to_string())?;
    let mut place = &mut train;
    for name in field.split('.') {
        let Value::Object(members) = place else {
            return Err("what it is a part of is no object".to_owned());
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

/// What came of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GridResult {
    /// Every training; the values of the last field change first.
    pub trainings: Vec<GridTraining>,
    /// The number of the best, from 0: of the fewest errors on the examples held out, or where none
    /// were on its sample, as a share; of several the one of the fewest mistakes, then the first.
    pub best: Option<u32>,
}

/// What came of one training of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GridTraining {
    /// What was replaced in it.
    #[schema(value_type = Object)]
    pub over: Map<String, Value>,
    /// Its job, with the whole of its result.
    pub job: JobId,
    /// How it ended.
    pub status: Status,
    /// Tests of the current hypothesis that it failed.
    pub mistakes: Option<u64>,
    /// Examples read.
    pub examples: Option<u64>,
    /// Why it ended.
    pub reason: Option<String>,
    /// Errors on its sample.
    pub training: Option<TrainingDocument>,
    /// Errors on the examples held out.
    pub holdout: Option<TrainingDocument>,
}

impl GridResult {
    /// Puts together what came of the trainings, in their order.
    ///
    /// # Errors
    /// The grid is none.
    pub fn gather(spec: &GridSpec, parts: &[PartOutcome]) -> Result<Self, GridError> {
        let training = |part: &PartOutcome| {
            let result = part.result.as_ref();
            let result = result.and_then(|result| TrainResult::deserialize(result).ok());
            Ok(GridTraining {
                over: spec.cell(part.part)?.over,
                job: part.job,
                status: part.status,
                mistakes: result.as_ref().map(|result| result.mistakes),
                examples: result.as_ref().map(|result| result.examples),
                training: result.as_ref().and_then(|result| result.training),
                holdout: result.as_ref().and_then(|result| result.holdout),
                reason: result.map(|result| result.termination.reason),
            })
        };
        let trainings: Vec<_> = parts.iter().map(training).collect::<Result<_, _>>()?;
        let best = best(&trainings);
        Ok(Self { trainings, best })
    }
}

fn best(trainings: &[GridTraining]) -> Option<u32> {
    let judged = trainings.iter().zip(0..).filter_map(|(training, number)| {
        let counted = training.holdout.or(training.training)?;
        Some((counted, training.mistakes, number))
    });
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
    use serde_json::json;

    use super::*;

    fn grid(over: Value) -> GridSpec {
        let train = json!({"learner": {"name": "perceptron"}, "stop": {}, "trace": false});
        serde_json::from_value(json!({"train": train, "over": over})).unwrap()
    }

    #[test]
    fn the_values_of_the_last_field_change_first() {
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
    fn nested_fields_are_made_where_there_are_none() {
        let spec = grid(json!({"learner.params.kernel.max_literals": [2], "stop.max_passes": [9]}));
        let train = spec.cell(0).unwrap().train;
        assert_eq!(train.learner.params["kernel"], json!({"max_literals": 2}));
        assert_eq!(train.stop.max_passes.map(|passes| passes.get()), Some(9));
    }

    #[test]
    fn what_is_no_grid_is_refused_at_its_place() {
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
    fn what_a_field_has_from_the_grid_is_pointed_at() {
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
    fn limits_of_seconds_take_the_place_of_the_one_of_the_training() {
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
    fn a_long_training_is_shown_in_short() {
        let spec = grid(json!({"learner.params.initial": ["\u{e9}".repeat(1_000)]}));
        let shown = spec.cell(0).unwrap().shown();
        assert_eq!(shown.chars().count(), SHOWN_MAX + 3, "{shown}");
    }

    #[test]
    fn a_field_of_many_names_is_refused_before_it_is_nested() {
        let field = format!("learner.params{}", ".a".repeat(100_000));
        let refused = grid(json!({field.clone(): [1]})).cell(0).unwrap_err();
        assert_eq!(refused.pointer, format!("/{field}/0"));
        let deepest = format!("learner.params{}", ".a".repeat(PATH_NAMES_MAX - 2));
        assert!(grid(json!({deepest: [1]})).cell(0).is_ok());
    }

    #[test]
    fn long_requests_of_many_trainings_are_refused_together() {
        let initial = "0".repeat(17 << 20);
        let over = |seeds: &[u32]| json!({"seed": seeds, "learner.params.initial": [initial, 0]});
        assert_eq!(grid(over(&[1])).trainings(), Ok(2));
        let refused = grid(over(&[1, 2])).trainings().unwrap_err();
        assert_eq!(refused.pointer, "");
        assert!(refused.detail.contains("parts_request_bytes_max: 67108864"));
    }

    #[test]
    fn the_best_has_the_smallest_share_of_errors_then_the_fewest_mistakes() {
        let training = |errors, examples, mistakes| GridTraining {
            over: Map::new(),
            job: JobId::new(super::super::Timestamp::from_milliseconds(1), [1; 10]),
            status: Status::Succeeded,
            mistakes: Some(mistakes),
            examples: None,
            reason: None,
            training: Some(TrainingDocument { errors, examples }),
            holdout: None,
        };
        let trainings = [
            training(2, 10, 1),
            training(3, 20, 9),
            training(3, 20, 8),
            training(3, 20, 8),
        ];
        assert_eq!(best(&trainings), Some(2));
        assert_eq!(best(&[]), None);
    }
}
