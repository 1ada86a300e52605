//! `GET /v1/jobs/{id}/events`: numbers, resumption and end of server-sent events.

use axum::body::BodyDataStream;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::service::{
    Event, Service, TIMEOUT, assert_numbered, long_job, request, short_job, until,
};

struct Events {
    body: BodyDataStream,
    text: String,
}

impl Events {
    async fn open(service: &Service, job: &str, last: Option<u64>) -> Self {
        let path = format!("{job}/events");
        let last = last.map(|id| id.to_string());
        let headers: Vec<_> = last
            .iter()
            .map(|id| ("last-event-id", id.as_str()))
            .collect();
        let answer = service.open(request("GET", &path, &headers, "")).await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self {
            body: answer.into_body().into_data_stream(),
            text: String::new(),
        }
    }

    /// The next event, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let event = Event::parsed(block);
                self.text = rest.to_owned();
                if event.is_some() {
                    return event;
                }
                continue;
            }
            let frame = timeout(TIMEOUT, self.body.next()).await.unwrap()?;
            self.text
                .push_str(std::str::from_utf8(&frame.unwrap()).unwrap());
        }
    }

    async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

#[tokio::test]
async fn event_stream_reports_a_job_to_its_end() {
    let service = Service::start().await;
    let path = service.submit(&short_job()).await;
    let events = Events::open(&service, &path, None).await.rest().await;
    assert_numbered(&events, 1);
    let told: Vec<(&str, &Value)> = events
        .iter()
        .filter(|event| event.kind != "progress")
        .map(|event| (event.kind.as_str(), &event.data["status"]))
        .collect();
    let (queued, running, done) = (json!("queued"), json!("running"), json!("succeeded"));
    assert_eq!(
        told,
        [
            ("status", &queued),
            ("status", &running),
            ("status", &done),
            ("result", &done)
        ]
    );
    let job = service.get(&path).await.expect(200).json();
    assert_eq!(events.last().unwrap().data["result"], job["result"]);
}

#[tokio::test]
async fn event_stream_resumes_without_gap_or_duplicate() {
    let service = Service::start().await;
    let path = service.submit(&short_job()).await;
    let all = Events::open(&service, &path, None).await.rest().await;
    for seen in 0..=all.len() {
        let rest = Events::open(&service, &path, Some(seen as u64))
            .await
            .rest()
            .await;
        assert_eq!(rest, all[seen..], "after {seen}");
    }
}

#[tokio::test]
async fn event_stream_cut_during_a_job_resumes_where_it_broke() {
    let service = Service::start().await;
    let path = service.submit(&long_job(1)).await;
    let mut stream = Events::open(&service, &path, None).await;
    let mut seen = Vec::new();
    while seen
        .iter()
        .filter(|event: &&Event| event.kind == "progress")
        .count()
        < 2
    {
        seen.push(stream.next().await.unwrap());
    }
    drop(stream);
    service.post(&format!("{path}/cancel")).await.expect(202);
    let last = seen.last().unwrap().id;
    seen.extend(Events::open(&service, &path, Some(last)).await.rest().await);
    assert_numbered(&seen, 1);
    let (status, result) = (&seen[seen.len() - 2], &seen[seen.len() - 1]);
    assert_eq!(
        (status.kind.as_str(), &status.data["status"]),
        ("status", &json!("cancelled"))
    );
    assert_eq!(
        (result.kind.as_str(), &result.data["status"]),
        ("result", &json!("cancelled"))
    );
    let again = Events::open(&service, &path, None).await.rest().await;
    assert_eq!(again, seen);
}

#[tokio::test]
async fn job_answered_at_once_has_all_events() {
    let service = Service::start().await;
    let job = service.run(&short_job()).await;
    let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let events = Events::open(&service, &path, None).await.rest().await;
    assert_numbered(&events, 1);
    let kinds: Vec<&str> = events
        .iter()
        .rev()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(kinds[..2], ["result", "status"]);
    assert_eq!(events.last().unwrap().data["result"], job["result"]);
}

#[tokio::test]
async fn event_stream_ends_when_its_job_is_deleted_or_the_service_stops() {
    let service = Service::idle(&[]).await;
    let path = service.submit(&short_job()).await;
    let mut stream = Events::open(&service, &path, None).await;
    assert_eq!(stream.next().await.unwrap().data["status"], "queued");
    service.post(&format!("{path}/cancel")).await.expect(202);
    let rest = stream.rest().await;
    assert_eq!(rest.last().unwrap().kind, "result");
    service.delete(&path).await.expect(204);

    let path = service.submit(&short_job()).await;
    let mut stream = Events::open(&service, &path, None).await;
    assert_eq!(stream.next().await.unwrap().data["status"], "queued");
    service.stop().await;
    assert_eq!(stream.rest().await, []);
    until("the service to say so", async || {
        let answer = service.get("/readyz").await;
        (answer.problem(503) == "stopping").then_some(())
    })
    .await;
}

#[tokio::test]
async fn event_stream_refuses_a_malformed_last_event_id() {
    let service = Service::idle(&[]).await;
    let path = format!("{}/events", service.submit(&short_job()).await);
    for id in ["-1", "x", "1.5"] {
        let answer = service
            .send(request("GET", &path, &[("last-event-id", id)], ""))
            .await;
        assert_eq!(answer.json()["errors"][0]["parameter"], "Last-Event-ID");
        assert_eq!(answer.problem(400), "invalid-parameter");
    }
}
