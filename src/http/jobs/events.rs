//! `GET /v1/jobs/{id}/events`: the events of a job as server-sent events.
//!
//! The store numbers them, so a client that lost the connection resumes after the last number it received, without
//! gaps or duplicates.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use tokio::sync::broadcast;

use crate::records::id::JobKind;
use crate::records::{Event, EventKind, JobId, Owner};

use crate::http::app_state::App;
use crate::http::document::declared::{IN_PATH, problems};
use crate::http::extract::{Caller, NoQuery, PathId};
use crate::http::jobs::document::tag_result;
use crate::http::permits::OwnerPermit;
use crate::http::problem::{Code, Problem};

/// Events read from the store at once.
const BATCH: u32 = 100;

/// Streams the events of a job: `status`, `progress` and finally `result`. Each event has an id.
///
/// Send `Last-Event-ID` to resume after that event. The stream ends after the `result` event. The stream also
/// ends when the service stops; then reconnect. One key may follow as
/// many jobs at once as `event_streams_max` leaves it.
#[utoipa::path(get, path = "/v1/jobs/{id}/events", tag = "jobs",
    params(("id" = JobId, Path, description = "The job"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that the client \
                                                               received")),
    responses((status = 200, description = "The stream of events", content_type = "text/event-stream",
        body = String)),
    extensions(("x-problems" = json!(problems(&[IN_PATH, &[Code::TOO_MANY_AT_ONCE]])))))]
pub async fn follow_job(
    State(app): State<App>,
    Caller(owner): Caller,
    _: NoQuery,
    PathId(id): PathId<JobKind>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, Problem> {
    let last = last_event_id(&headers)?;
    let permit = app.permits.event_streams.try_take(&owner)?;
    // Subscribing comes before the first read, so that no change in between is missed.
    let changes = app.jobs.queue.subscribe();
    let task = app.jobs.queue.job(&owner, id).await?.task;
    let follower = Follower {
        app,
        owner,
        id,
        task,
        last,
        changes,
        ready: VecDeque::new(),
        is_over: false,
        _permit: permit,
    };
    let events = stream::unfold(follower, |mut follower| async {
        let mut event = follower.next().await?;
        if let Some(result) = event.body.get_mut("result") {
            tag_result(result, &follower.task);
        }
        Some((Ok(written(&event)), follower))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

fn last_event_id(headers: &HeaderMap) -> Result<i64, Problem> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(0);
    };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.filter(|&number: &i64| number >= 0).ok_or_else(|| {
        let detail = "not the number of an event";
        Problem::parameter(Code::INVALID_PARAMETER, "Last-Event-ID", detail)
    })
}

fn written(event: &Event) -> sse::Event {
    sse::Event::default()
        .id(event.sequence.to_string())
        .event(event.kind.as_str())
        .data(event.body.to_string())
}

/// Reads the events of one job as the store receives them.
struct Follower {
    app: App,
    owner: Owner,
    id: JobId,
    task: String,
    last: i64,
    changes: broadcast::Receiver<JobId>,
    ready: VecDeque<Event>,
    is_over: bool,
    _permit: OwnerPermit,
}

impl Follower {
    /// The next event, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.last = event.sequence;
                self.is_over = event.kind == EventKind::Result;
                return Some(event);
            }
            if self.is_over || self.app.jobs.stopping.is_cancelled() {
                return None;
            }
            let store = &self.app.jobs.store;
            match store
                .events(Some(&self.owner), self.id, self.last, BATCH)
                .await
            {
                Ok(events) if events.is_empty() => {
                    if self.has_ended().await {
                        return None;
                    }
                    self.app
                        .jobs
                        .queue
                        .changed(&mut self.changes, self.id)
                        .await;
                }
                Ok(events) => self.ready.extend(events),
                // The client reconnects and resumes after the last event that arrived.
                Err(error) => {
                    tracing::warn!(job = %self.id, %error, "the event stream ends because the \
                                                            events cannot be read");
                    return None;
                }
            }
        }
    }

    /// Whether no further event can follow: the client has all events, or the job was deleted.
    async fn has_ended(&self) -> bool {
        match self.app.jobs.queue.job(&self.owner, self.id).await {
            Ok(job) if job.status.is_ended() => {
                let store = &self.app.jobs.store;
                let more = store.events(Some(&self.owner), self.id, self.last, 1).await;
                more.is_ok_and(|events| events.is_empty())
            }
            Ok(_) => false,
            Err(_) => true,
        }
    }
}
