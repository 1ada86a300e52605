//! `GET /v1/queue`: the load of the queue.
//!
//! A key sees its own entry in full. Of other keys it sees only the numbers of jobs, which explain a wait, but not the
//! id, the name, the weight or the virtual seconds. Virtual seconds never fall, so two answers would show which entries
//! belong to the same key.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::records::queue::{JobCounts, OwnerLoad};
use crate::records::{JobId, Owner};

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::extract::{Caller, NoQuery};
use crate::http::problem::Problem;

/// Owners per answer.
const OWNERS_MAX: u32 = 100;

/// The load of the queue.
#[derive(Serialize, ToSchema)]
pub struct Queue {
    /// Jobs of all keys together.
    #[serde(flatten)]
    all: JobCounts,
    /// Age of the oldest queued job; null if no job is queued.
    #[schema(minimum = 0)]
    oldest_age_seconds: Option<f64>,
    /// Keys with jobs in the queue, those with the most jobs first. The list has your own key and at most 99 others.
    #[schema(max_items = 100)]
    owners: Vec<QueueOwner>,
}

/// The jobs of one key in the queue.
#[derive(Serialize, ToSchema)]
struct QueueOwner {
    /// Id of your key, or `anonymous` on a service without keys. Null for another key.
    #[schema(value_type = Option<String>)]
    owner: Option<Owner>,
    /// Whether this is your key.
    own: bool,
    #[serde(flatten)]
    jobs: JobCounts,
    /// Weight of your key; null for another key.
    weight: Option<f64>,
    /// Computed seconds of your key, divided by the weight. The key with the fewest goes first. A new key has a
    /// credit, so the number can be negative. Null for another key.
    virtual_seconds: Option<f64>,
}

impl QueueOwner {
    fn seen_by(caller: &Owner, load: OwnerLoad) -> Self {
        let own = load.owner == *caller;
        Self {
            own,
            jobs: load.jobs,
            weight: own.then_some(load.weight),
            virtual_seconds: own.then_some(load.virtual_seconds),
            owner: own.then_some(load.owner),
        }
    }
}

/// Returns the load of the queue: queued, running and parked jobs, in all and by key.
///
/// You see your own key in full. Other keys have counts, but neither an id nor a name.
#[utoipa::path(get, path = "/v1/queue", tag = "jobs",
    responses((status = 200, description = "The load of the queue", body = Queue)))]
pub async fn get_queue(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
) -> Result<Json<Queue>, Problem> {
    let load = app.jobs.store.queue_load(&owner, OWNERS_MAX).await?;
    let age = |oldest: JobId| {
        let age_ms = app.jobs.ids.now().milliseconds() - oldest.made_at().milliseconds();
        age_ms.max(0) as f64 / 1_000.0
    };
    let owners = load.owners.into_iter();
    Ok(Json(Queue {
        all: load.all,
        oldest_age_seconds: load.oldest.map(age),
        owners: owners
            .map(|load| QueueOwner::seen_by(&owner, load))
            .collect(),
    }))
}
