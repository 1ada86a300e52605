//! `GET /v1/limits`: every limit of the service, and the caller's use of the limits per key.
//!
//! [`Limits`] holds the values and their defaults. Its methods derive the quotas for the store and the
//! limits for the readers of request bodies.

use axum::Json;
use axum::extract::State;
use halfspace_core::memory::Budget;
use serde::Serialize;
use utoipa::ToSchema;

use crate::storage::{Quotas, Usage};

use super::App;
use super::extract::{Caller, NoQuery, QUERY_PAIRS_MAX, WAIT_SECONDS_MAX};
use super::problem::Problem;
use super::session_examples::LINES_MAX;

/// Limits in force. The error of a refused request names its limit as here.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Limits {
    /// Features per example.
    pub n_max: u64,
    /// Bytes of a decompressed body in any format except JSON.
    pub body_bytes_max: u64,
    /// Bytes of a decompressed JSON body.
    pub json_body_bytes_max: u64,
    /// Average number of decompressed bytes per compressed byte. The limit applies to bodies with more than
    /// `decompressed_bytes_free` decompressed bytes.
    pub decompression_ratio_max: u64,
    /// Decompressed bytes that any compressed body may have at any ratio.
    pub decompressed_bytes_free: u64,
    /// Depth of nested arrays and objects in JSON.
    pub json_depth_max: u32,
    /// Bytes per line.
    pub line_bytes_max: u64,
    /// Stored bytes of the examples of a dataset, packed or as doubles. Examples in JSON are held in
    /// memory, so `state_bytes_max` limits them too.
    pub dataset_bytes_max: u64,
    /// Bytes of the packed data of a job. The same number limits the state of the job besides its data.
    pub state_bytes_max: u64,
    /// Bytes of memory for one request or job while no other request or job uses memory.
    pub memory_bytes_max: u64,
    /// Bytes of stored data that a job loads into memory as a whole. A job reads larger data in parts.
    pub resident_bytes_max: u64,
    /// Seconds of computing that a job may ask for.
    pub seconds_max: f64,
    /// Estimated seconds of one core for an experiment, summed over all its parts.
    pub experiment_seconds_max: f64,
    /// Points of the grid of an experiment.
    pub experiment_points_max: u64,
    /// Runs per point of an experiment.
    pub experiment_runs_max: u64,
    /// Trainings per grid.
    pub grid_trainings_max: u32,
    /// Bytes of the requests of all parts of a job. Each training of a grid and each part of an experiment
    /// has a request of its own.
    pub parts_request_bytes_max: u64,
    /// Waiting jobs of all keys together.
    pub jobs_queued_max: u64,
    /// Waiting jobs per key.
    pub jobs_queued_per_key_max: u64,
    /// Stored bytes of all keys together: datasets, data of jobs that have not ended, models, and the
    /// states and logs of sessions.
    pub stored_bytes_max: u64,
    /// Stored bytes per key.
    pub stored_bytes_per_key_max: u64,
    /// Parameters in the query of a URL.
    pub query_pairs_max: u64,
    /// Concurrent large bodies of all keys together. A key may begin another one only while the key holds
    /// fewer permits than are free. One key therefore holds at most half of the permits, rounded up.
    /// Callers of an open service, which has no keys, may hold all permits. Each body may use up to
    /// `state_bytes_max` of memory; dataset uploads spill to disk instead.
    pub uploads_max: u64,
    /// Bytes of memory for the examples of an incoming dataset. Further examples spill to disk.
    pub upload_memory_bytes_max: u64,
    /// Concurrent predictions that are answered line by line. Keys share them as `uploads_max` describes.
    pub streams_max: u64,
    /// Concurrent event streams of all keys together. Keys share them as `uploads_max` describes.
    pub event_streams_max: u64,
    /// Concurrent event streams per key. On an open service only `event_streams_max` applies.
    pub event_streams_per_key_max: u64,
    /// Sessions per key.
    pub sessions_max: u64,
    /// Lines of one NDJSON stream into a session. In other formats except JSON, the examples of one
    /// request.
    pub session_lines_max: u64,
    /// Seconds without data after which a stream into a session ends. Other requests can then write to the
    /// session.
    pub session_idle_seconds: u64,
    /// Concurrent constructions. Keys share them as `uploads_max` describes.
    pub constructions_max: u64,
    /// Concurrent connections.
    pub connections_max: u64,
    /// Characters per name.
    pub name_characters_max: u32,
    /// Seconds that `Prefer: wait` may ask for.
    pub wait_seconds_max: u64,
    /// Seconds of computing for one answer: an evaluation, or predictions in one JSON document.
    pub answer_seconds_max: f64,
    /// Bytes of a document of predictions, and of the data that a construction returns. Predictions come
    /// without scores when the scores would exceed the limit. A longer answer is refused. In an answer of
    /// lines, the limit applies to the bytes that the client has not read yet.
    pub prediction_bytes_max: u64,
    /// Bytes of an imported model after decompression.
    pub model_bytes_max: u64,
    /// Bytes of a page of dataset examples. The same number limits the values on the page.
    pub examples_page_bytes_max: u64,
    /// Points per mistake curve.
    pub trace_points_max: u64,
    /// Deaths of worker processes after which a job fails. A death counts only if the job ran alone in the
    /// process. The same number limits the attempts to read the data of a job.
    pub attempts_max: u32,
    /// Features up to which the exact analysis of Directed Drift and the stopping rule `exact` are
    /// available.
    pub exact_analysis_n_max: u64,
    /// Points, and also dimensions, in the count of separable dichotomies.
    pub dichotomies_max: u64,
    /// Digits of a `theta`.
    pub theta_digits_max: u64,
    /// Features up to which a version space is enumerated.
    pub version_space_n_max: u64,
    /// Largest `max_active` of kernel Winnow, the number of active features per example.
    pub active_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            n_max: 1 << 20,
            body_bytes_max: 4 << 30,
            json_body_bytes_max: 256 << 20,
            decompression_ratio_max: 1000,
            decompressed_bytes_free: 16 << 20,
            json_depth_max: 32,
            line_bytes_max: 32 << 20,
            dataset_bytes_max: 4 << 30,
            state_bytes_max: 1 << 30,
            memory_bytes_max: Budget::unlimited().bytes_max(),
            resident_bytes_max: 64 << 20,
            seconds_max: 86_400.0,
            experiment_seconds_max: 14_400.0,
            experiment_points_max: halfspace_core::experiments::POINTS_MAX,
            experiment_runs_max: halfspace_core::experiments::RUNS_MAX,
            grid_trainings_max: crate::records::grid::TRAININGS_MAX,
            parts_request_bytes_max: crate::records::job::PARTS_REQUEST_BYTES_MAX,
            jobs_queued_max: 100_000,
            jobs_queued_per_key_max: 20_000,
            stored_bytes_max: 1 << 40,
            stored_bytes_per_key_max: 1 << 38,
            query_pairs_max: QUERY_PAIRS_MAX,
            uploads_max: 8,
            upload_memory_bytes_max: 16 << 20,
            streams_max: 64,
            event_streams_max: 256,
            event_streams_per_key_max: 64,
            sessions_max: 10_000,
            session_lines_max: LINES_MAX,
            session_idle_seconds: 30,
            constructions_max: 2,
            connections_max: 1024,
            name_characters_max: 256,
            wait_seconds_max: WAIT_SECONDS_MAX,
            answer_seconds_max: 60.0,
            prediction_bytes_max: 16 << 20,
            model_bytes_max: 32 << 20,
            examples_page_bytes_max: 16 << 20,
            trace_points_max: halfspace_core::learners::engine::trace::TRACE_POINTS_MAX as u64,
            attempts_max: 5,
            exact_analysis_n_max: halfspace_core::learners::drift::drift_chain::N_MAX as u64,
            dichotomies_max: halfspace_core::theory::cover::DICHOTOMIES_MAX,
            theta_digits_max: halfspace_core::learners::arithmetic::decimal::DIGITS_MAX as u64,
            version_space_n_max: halfspace_core::separability::version_space::N_MAX as u64,
            active_max: halfspace_core::learners::kernel::kernel_winnow_weights::ACTIVE_MAX,
        }
    }
}

impl Limits {
    /// Returns the quotas of all owners together and of each owner.
    pub fn quotas(&self) -> Quotas {
        Quotas {
            in_all: Usage {
                jobs_queued: self.jobs_queued_max,
                stored_bytes: self.stored_bytes_max,
                ..Usage::ENDLESS
            },
            per_owner: Usage {
                jobs_queued: self.jobs_queued_per_key_max,
                stored_bytes: self.stored_bytes_per_key_max,
                sessions: self.sessions_max,
            },
        }
    }

    /// Returns the limits for readers of every format except JSON.
    pub fn of_lines(&self) -> halfspace_formats::Limits {
        let whole = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        halfspace_formats::Limits {
            n_max: whole(self.n_max),
            line_bytes_max: whole(self.line_bytes_max),
            state_bytes_max: self.state_bytes_max,
            state_limit_name: "state_bytes_max",
            body_bytes_max: self.body_bytes_max,
            body_limit_name: "body_bytes_max",
            decompression_ratio_max: self.decompression_ratio_max,
            decompressed_bytes_free: self.decompressed_bytes_free,
            json_depth_max: self.json_depth_max as usize,
        }
    }

    /// Returns the limits for readers whose examples are stored as a dataset, in every format except JSON.
    pub fn of_datasets(&self) -> halfspace_formats::Limits {
        halfspace_formats::Limits {
            state_bytes_max: self.dataset_bytes_max,
            state_limit_name: "dataset_bytes_max",
            ..self.of_lines()
        }
    }

    /// Returns the limits for readers of JSON.
    pub fn of_json(&self) -> halfspace_formats::Limits {
        halfspace_formats::Limits {
            body_bytes_max: self.json_body_bytes_max,
            body_limit_name: "json_body_bytes_max",
            ..self.of_lines()
        }
    }
}

/// Limits in force, and the caller's use of the limits per key.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitsAnswer {
    #[serde(flatten)]
    limits: Limits,
    /// The caller's own limits and their use. The limits may differ from those of other keys.
    own: OwnUse,
}

/// Limits of one key, each with its use.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnUse {
    /// Waiting jobs.
    jobs_queued: Use,
    /// Stored bytes.
    stored_bytes: Use,
    /// Sessions.
    sessions: Use,
}

/// A limit and its use.
#[derive(Debug, Serialize, ToSchema)]
pub struct Use {
    /// Current use. The use may exceed `max`, because the results of an accepted job are always stored.
    used: u64,
    max: u64,
}

/// Returns the limits of the service and your use of the limits per key.
///
/// A request over a limit is refused with a problem that names the limit.
#[utoipa::path(get, path = "/v1/limits", tag = "service",
    responses((status = 200, description = "The limits in force", body = LimitsAnswer)))]
pub async fn get_limits(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
) -> Result<Json<LimitsAnswer>, Problem> {
    let standing = app.jobs.usage(&owner).await?;
    let (own, own_max) = (standing.own, standing.own_max);
    let of = |used, max| Use { used, max };
    Ok(Json(LimitsAnswer {
        limits: Limits::clone(&app.limits),
        own: OwnUse {
            jobs_queued: of(own.jobs_queued, own_max.jobs_queued),
            stored_bytes: of(own.stored_bytes, own_max.stored_bytes),
            sessions: of(own.sessions, own_max.sessions),
        },
    }))
}
