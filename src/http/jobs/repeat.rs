//! The request that repeats a job.
//!
//! The store keeps the task as it was requested, and data and seed elsewhere. This module puts them together again.
//! Rows that came inside the request are not kept; the new request then has no `data`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::records::Job;
use crate::records::task::TaskSpec;

/// The body for `POST /v1/jobs` that repeats a job. There is none for a part of an experiment, nor for a training
/// that holds out a fold, because no request makes those.
pub fn request(job: &Job) -> Option<Value> {
    // The rest of the stored form may be long, since it names every feature.
    let mut request = job.spec.get("task")?.clone();
    let spec = TaskSpec::deserialize(&request).ok()?;
    let task = request.get_mut(spec.name())?;
    let is_fold = job.spec.pointer("/data/among/fold").is_some();
    match &spec {
        TaskSpec::ExperimentPart(_) => return None,
        TaskSpec::Train(_) if is_fold => return None,
        TaskSpec::Grid(_) => add_data(task.get_mut("train")?.as_object_mut()?, job),
        TaskSpec::Experiment(_) => task["seed"] = job.seed.into(),
        TaskSpec::Import(_) => {}
        _ => add_data(task.as_object_mut()?, job),
    }
    leave_out_nulls(&mut request);
    if let Some(text) = &job.name {
        request["name"] = text.as_str().into();
    }
    if job.priority != 0 {
        request["priority"] = job.priority.into();
    }
    Some(request)
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
