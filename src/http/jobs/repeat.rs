//! The request that repeats a job, rebuilt from the stored form of its task.
//!
//! The store keeps the fields of a request as they came, beside some facts that submission added. This module takes the
//! added facts away and puts data and seed back. Rows that came inside the request are not kept, so their request has
//! no `data`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::records::Job;
use crate::records::task::TaskSpec;

/// Returns the body for `POST /v1/jobs` that repeats a job; `None` for a part of an experiment and for a training that
/// holds out a fold, which no request makes.
pub fn request(job: &Job) -> Option<Value> {
    // The rest of the stored form may be long, since it names every feature.
    let mut stored = job.spec.get("task")?.clone();
    let spec = TaskSpec::deserialize(&stored).ok()?;
    let name = spec.name();
    let mut task = match stored.get_mut(name)?.take() {
        Value::Object(task) => task,
        _ => return None,
    };
    match &spec {
        TaskSpec::ExperimentPart(_) => return None,
        TaskSpec::Train(train) if train.among.is_some_and(|among| among.fold.is_some()) => {
            return None;
        }
        TaskSpec::Train(_) => as_training(&mut task),
        TaskSpec::Grid(_) => {
            if let Some(Value::Object(training)) = task.get_mut("train") {
                as_training(training);
                add_data(training, job);
            }
        }
        TaskSpec::Compare(_) => as_comparison(&mut task),
        _ => {}
    }
    match &spec {
        TaskSpec::Grid(_) => {}
        TaskSpec::Experiment(_) => {
            task.insert("seed".to_owned(), job.seed.into());
        }
        _ => add_data(&mut task, job),
    }
    let mut request = json!({ name: task });
    leave_out_nulls(&mut request);
    if let Some(text) = &job.name {
        request["name"] = text.as_str().into();
    }
    if job.priority != 0 {
        request["priority"] = job.priority.into();
    }
    Some(request)
}

/// Takes away what submission adds to a training.
fn as_training(task: &mut Map<String, Value>) {
    task.remove("among");
    if let Some(start) = task.get_mut("warm_start") {
        *start = start["model"].take();
    }
}

/// Takes away the reasons why learners do not fit, and writes the split as one field.
fn as_comparison(task: &mut Map<String, Value>) {
    let learners = task.get_mut("learners").and_then(Value::as_array_mut);
    for compared in learners.into_iter().flatten() {
        *compared = compared["learner"].take();
    }
    if let Some(Value::Object(split)) = task.remove("split") {
        task.extend(split);
    }
}

fn add_data(task: &mut Map<String, Value>, job: &Job) {
    let generated = job.spec.pointer("/data/generated");
    let data = match (
        &job.dataset,
        generated.filter(|generated| !generated.is_null()),
    ) {
        (Some(dataset), _) => json!({"dataset": dataset}),
        (None, Some(generated)) => json!({"generated": generated}),
        (None, None) => Value::Null,
    };
    if !data.is_null() {
        task.insert("data".to_owned(), data);
    }
    task.insert("seed".to_owned(), job.seed.into());
}

/// Takes away the fields that the request left out.
fn leave_out_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(leave_out_nulls);
    }
}
