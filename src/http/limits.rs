//! `/v1/limits`: everything that is bounded, and by how much.

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

/// The limits in force. Every refusal names its limit as here.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Limits {
    /// Features an example.
    pub n_max: u64,
    /// Bytes of a body after decompression, in a line format.
    pub body_bytes_max: u64,
    /// Bytes of a JSON body after decompression.
    pub json_body_bytes_max: u64,
    /// Bytes that one byte of a compressed body may become on average, once the body has become more
    /// than `decompressed_bytes_free`.
    pub decompression_ratio_max: u64,
    /// Bytes that any compressed body may become at any ratio.
    pub decompressed_bytes_free: u64,
    /// Nested arrays and objects in JSON.
    pub json_depth_max: u32,
    /// Bytes in a line.
    pub line_bytes_max: u64,
    /// Bytes that the examples of a dataset may take stored, packed or as doubles. Those sent in
    /// JSON are held in memory, so `state_bytes_max` holds for them too.
    pub dataset_bytes_max: u64,
    /// Bytes of the packed data of a job, and of its state beside them.
    pub state_bytes_max: u64,
    /// Bytes of memory that one request or job may take, while no other has any.
    pub memory_bytes_max: u64,
    /// Bytes of stored data that a job holds in memory as a whole; of more it reads parts as it
    /// needs them.
    pub resident_bytes_max: u64,
    /// Seconds of computing that a job may ask for.
    pub seconds_max: f64,
    /// Seconds of one core that an experiment may be estimated to take, all its parts together.
    pub experiment_seconds_max: f64,
    /// Points of the grid of an experiment.
    pub experiment_points_max: u64,
    /// Runs at a point of an experiment.
    pub experiment_runs_max: u64,
    /// Trainings of a grid.
    pub grid_trainings_max: u32,
    /// Bytes of the requests of all parts of a job: of each training of a grid, or part of an
    /// experiment, its own.
    pub parts_request_bytes_max: u64,
    /// Jobs that wait at once, of all keys.
    pub jobs_queued_max: u64,
    /// Jobs that wait at once, of one key.
    pub jobs_queued_per_key_max: u64,
    /// Bytes stored, of all keys: datasets, data of jobs that have not ended, models, and the
    /// states and logs of sessions.
    pub stored_bytes_max: u64,
    /// Bytes stored, of one key.
    pub stored_bytes_per_key_max: u64,
    /// Pairs in the query of a URL.
    pub query_pairs_max: u64,
    /// Concurrent large bodies of all keys. A key takes one more only while it has fewer than are free,
    /// and so half of them at most; an open service, which has no keys, takes all. Each may use
    /// `state_bytes_max` of memory, except for that of a dataset.
    pub uploads_max: u64,
    /// Bytes that the examples of a dataset take in memory while they come in; more wait on disk.
    pub upload_memory_bytes_max: u64,
    /// Concurrent predictions line by line, shared out as `uploads_max` is.
    pub streams_max: u64,
    /// Concurrent event streams, shared out as `uploads_max` is.
    pub event_streams_max: u64,
    /// Concurrent event streams of one key. On an open service only `event_streams_max` holds.
    pub event_streams_per_key_max: u64,
    /// Sessions of one key.
    pub sessions_max: u64,
    /// Lines of one stream into a session.
    pub session_lines_max: u64,
    /// Seconds after which a stream into a session that brings nothing loses its turn.
    pub session_idle_seconds: u64,
    /// Concurrent constructions, shared out as `uploads_max` is.
    pub constructions_max: u64,
    /// Connections at once.
    pub connections_max: u64,
    /// Characters of a name.
    pub name_characters_max: u32,
    /// Seconds that `Prefer: wait` may ask for.
    pub wait_seconds_max: u64,
    /// Seconds of computing that an answer to predict, as a document, or to evaluate may take.
    pub answer_seconds_max: f64,
    /// Bytes of an answer to predict, and of the data of a construction that are answered: a
    /// document goes without scores when it would be longer with them; what is too long even so is
    /// refused. Of an answer in lines so many bytes wait for a client that does not read them yet.
    pub prediction_bytes_max: u64,
    /// Bytes of a model to be imported, after decompression.
    pub model_bytes_max: u64,
    /// Bytes of a page of examples of a dataset, and values in it.
    pub examples_page_bytes_max: u64,
    /// Points of a mistake curve.
    pub trace_points_max: u64,
    /// Deaths of processes after which a job that ran alone in each of them fails; attempts to read the data.
    pub attempts_max: u32,
    /// Features for which the exact analysis of Directed Drift is worked out, and for which there
    /// is the stopping rule `exact`.
    pub exact_analysis_n_max: u64,
    /// Points, and dimensions, whose dichotomies are counted.
    pub dichotomies_max: u64,
    /// Digits of a theta.
    pub theta_digits_max: u64,
    /// Features for which a version space is enumerated.
    pub version_space_n_max: u64,
    /// Active features of an example that `max_active` of kernel Winnow may allow.
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
            trace_points_max: halfspace_core::learners::trace::TRACE_POINTS_MAX as u64,
            attempts_max: 5,
            exact_analysis_n_max: halfspace_core::learners::drift_chain::N_MAX as u64,
            dichotomies_max: halfspace_core::theory::cover::DICHOTOMIES_MAX,
            theta_digits_max: halfspace_core::learners::decimal::DIGITS_MAX as u64,
            version_space_n_max: halfspace_core::separability::version_space::N_MAX as u64,
            active_max: halfspace_core::learners::kernel_winnow_weights::ACTIVE_MAX,
        }
    }
}

impl Limits {
    /// What owners may have.
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

    /// What the readers of a line format keep to.
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

    /// What the readers of a line format keep to when the examples go to a dataset.
    pub fn of_datasets(&self) -> halfspace_formats::Limits {
        halfspace_formats::Limits {
            state_bytes_max: self.dataset_bytes_max,
            state_limit_name: "dataset_bytes_max",
            ..self.of_lines()
        }
    }

    /// What the readers of JSON keep to.
    pub fn of_json(&self) -> halfspace_formats::Limits {
        halfspace_formats::Limits {
            body_bytes_max: self.json_body_bytes_max,
            body_limit_name: "json_body_bytes_max",
            ..self.of_lines()
        }
    }
}

/// The limits in force, and what the caller has.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitsAnswer {
    #[serde(flatten)]
    limits: Limits,
    /// The caller's own limits, which may differ from those of others, and their use.
    own: OwnUse,
}

/// What a key has and may have.
#[derive(Debug, Serialize, ToSchema)]
pub struct OwnUse {
    /// Jobs that wait.
    jobs_queued: Use,
    /// Bytes stored.
    stored_bytes: Use,
    /// Sessions.
    sessions: Use,
}

/// A limit and its use.
#[derive(Debug, Serialize, ToSchema)]
pub struct Use {
    /// More than `max` where a job that was accepted left more than there was room for.
    used: u64,
    max: u64,
}

/// Everything that is bounded, and by how much.
#[utoipa::path(get, path = "/v1/limits", tag = "service",
    responses((status = 200, description = "The limits in force", body = LimitsAnswer)))]
pub async fn limits(
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
