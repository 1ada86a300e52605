//! The document that a callback sends when a job has ended, in the shape of Standard Webhooks 1.0.
//!
//! It says how the job ended and is always small. Results can take megabytes, so a receiver that wants one fetches
//! the job.

use serde::Serialize;

use crate::records::{Job, JobError, JobId, ModelId, Status, Timestamp};

/// The largest number of characters of an error's detail in a callback. The job has the full detail.
const DETAIL_CHARACTERS_MAX: usize = 500;

/// The document that a callback sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallbackDocument {
    /// The type of the event.
    #[serde(rename = "type")]
    kind: CallbackKind,
    /// Time of the event. A header of the request has the time of the delivery.
    timestamp: Timestamp,
    data: CallbackData,
}

/// The types of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum CallbackKind {
    #[serde(rename = "job.succeeded")]
    Succeeded,
    #[serde(rename = "job.failed")]
    Failed,
    #[serde(rename = "job.cancelled")]
    Cancelled,
}

/// The part of the job that the document contains, under the names of the job's own members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct CallbackData {
    id: JobId,
    task: String,
    status: Status,
    name: Option<String>,
    learner: Option<String>,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Timestamp,
    model: Option<ModelId>,
    error: Option<JobError>,
}

impl CallbackDocument {
    /// The document for a job; `None` before the job has ended.
    #[must_use]
    pub fn of(job: &Job) -> Option<Self> {
        let kind = match job.status {
            Status::Queued | Status::Running => return None,
            Status::Succeeded => CallbackKind::Succeeded,
            Status::Failed => CallbackKind::Failed,
            Status::Cancelled => CallbackKind::Cancelled,
        };
        let finished_at = job.finished_at?;
        let error = job.error.as_ref().map(|error| JobError {
            code: error.code.clone(),
            detail: error.detail.chars().take(DETAIL_CHARACTERS_MAX).collect(),
        });
        Some(Self {
            kind,
            timestamp: finished_at,
            data: CallbackData {
                id: job.id,
                task: job.task.clone(),
                status: job.status,
                name: job.name.clone(),
                learner: job.learner.clone(),
                created_at: job.created_at,
                started_at: job.started_at,
                finished_at,
                model: job.model,
                error,
            },
        })
    }

    /// The document as the bytes to sign and to send.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("the document has string keys")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::records::Owner;
    use crate::records::id::Id;

    fn job(status: Status) -> Job {
        let at = |milliseconds: i64| Timestamp::from_milliseconds(1_700_000_000_000 + milliseconds);
        Job {
            learner: Some("perceptron".to_owned()),
            name: Some("a name".to_owned()),
            attempt: 1,
            started_at: Some(at(1)),
            finished_at: status.is_ended().then(|| at(2)),
            result: Some(json!({"hypothesis": "0".repeat(1_000_000)})),
            status,
            ..Job::queued(
                Id::new(at(0), [3; 10]),
                Owner::anonymous(),
                "train",
                json!({"much": "more"}),
                7,
                at(0),
            )
        }
    }

    #[test]
    fn callback_document_exists_only_for_ended_jobs() {
        for (status, kind) in [
            (Status::Succeeded, "job.succeeded"),
            (Status::Failed, "job.failed"),
            (Status::Cancelled, "job.cancelled"),
        ] {
            let job = job(status);
            let told = CallbackDocument::of(&job).unwrap().to_json();
            let told: Value = serde_json::from_str(&told).unwrap();
            let expected = json!({
                "type": kind,
                "timestamp": "2023-11-14T22:13:20.002Z",
                "data": {
                    "id": job.id, "task": "train", "status": status, "name": "a name",
                    "learner": "perceptron", "created_at": "2023-11-14T22:13:20.000Z",
                    "started_at": "2023-11-14T22:13:20.001Z",
                    "finished_at": "2023-11-14T22:13:20.002Z", "model": null, "error": null,
                },
            });
            assert_eq!(told, expected);
        }
        for status in [Status::Queued, Status::Running] {
            assert_eq!(CallbackDocument::of(&job(status)), None);
        }
    }

    #[test]
    fn callback_document_is_small_for_any_job() {
        let mut job = job(Status::Failed);
        // JSON needs the most bytes for this character, and the name has the largest length.
        job.name = Some("\u{1}".repeat(256));
        job.error = Some(JobError {
            code: "internal".to_owned(),
            detail: "\u{1}".repeat(1_000_000),
        });
        let told = CallbackDocument::of(&job).unwrap().to_json();
        assert!(told.len() < 6 * (256 + 500) + 1000, "{} bytes", told.len());
    }
}
