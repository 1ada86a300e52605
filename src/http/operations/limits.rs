//! `GET /v1/limits`: the limits of the service, and how much of the limits per key the caller uses.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::answer::Json;
use crate::http::app_state::App;
use crate::http::extract::{Caller, NoQuery};
use crate::http::limits::Limits;
use crate::http::problem::Problem;

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
    let standing = app.jobs.store.usage(&owner).await?;
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
