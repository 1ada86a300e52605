//! Sessions that are disturbed: dropped from the cache, deleted, ended, or written by two processes at once.

use axum::body::BodyDataStream;
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::session_streams::duplex;
use super::sessions::{answers, body, of, opened, send, send_json, settled, write_together};
use crate::service::{Sending, Service};

const LINE: &str = "{\"x\": \"101\", \"y\": 1}\n";

struct Open {
    sender: Sending,
    answers: BodyDataStream,
}

impl Open {
    async fn into(service: &Service, path: &str) -> Self {
        let (sender, answers) = duplex(service, path, &[]).await;
        Self { sender, answers }
    }

    /// Sends a line and waits for its answer.
    async fn learn(&mut self) -> Value {
        self.sender
            .send(Ok(Bytes::from_static(LINE.as_bytes())))
            .unwrap();
        let line = self.answers.next().await.unwrap().unwrap();
        serde_json::from_slice(&line).unwrap()
    }
}

#[tokio::test]
async fn a_session_is_not_forgotten_while_a_stream_is_open() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    let mut stream = Open::into(&service, &path).await;
    for position in 1..=5 {
        assert_eq!(stream.learn().await["position"], position);
        service.forget_sessions();
        // A reader sees the position that the stream has answered.
        assert_eq!(settled(&service, &path).await["position"], position);
    }
    // Another writer waits until the open stream ends.
    let (other, ()) = tokio::join!(send(&service, &path, LINE, None), async {
        service.forget_sessions();
        assert_eq!(stream.learn().await["position"], 6);
        service.forget_sessions();
        assert_eq!(stream.learn().await["position"], 7);
        drop(stream);
    });
    assert_eq!(answers(&other.expect(200))[0]["position"], 8);
}

#[tokio::test]
async fn session_stream_ends_when_its_session_is_deleted() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    let mut stream = Open::into(&service, &path).await;
    assert_eq!(stream.learn().await["position"], 1);
    service.delete(&path).await.expect(204);
    let last = stream.learn().await;
    assert_eq!(last["error"]["code"], "not-found", "{last}");
    assert_eq!(service.get(&path).await.problem(404), "not-found");
    let late = send(&service, &path, LINE, None).await;
    assert_eq!(late.problem(404), "not-found");
}

#[tokio::test]
async fn session_stream_ends_when_another_process_writes() {
    let (one, other) = Service::two().await;
    let path = of(&one, "perceptron", 3).await;
    let mut stream = Open::into(&one, &path).await;
    assert_eq!(stream.learn().await["position"], 1);
    let answer = send(&other, &path, LINE, None).await.expect(200);
    assert_eq!(answers(&answer)[0]["position"], 2);
    // The stream is one request, so another process's write makes its position stale.
    let last = stream.learn().await;
    assert_eq!(last["error"]["code"], "stale-position", "{last}");
    assert_eq!(last["error"]["position"], 2, "{last}");
    assert_eq!(settled(&one, &path).await["position"], 2);
}

#[tokio::test]
async fn session_writers_in_two_processes_lose_no_update() {
    let (one, other) = Service::two().await;
    write_together(&[&one, &other], 8, 25).await;
}

#[tokio::test]
async fn session_end_is_reported_and_final() {
    let service = Service::start().await;
    let drift = json!({"name": "directed-drift"});
    let perceptron = json!({"name": "perceptron"});
    // All positive examples of the target 111, so that no example contradicts the declaration.
    let half_space = "\"111\"\n\"110\"\n\"101\"\n\"011\"\n".repeat(40);
    let labelled = "{\"x\": \"000\", \"y\": -1}\n{\"x\": \"000\", \"y\": 1}\n".repeat(20);
    for (learner, assume, stop, text, reason, detail) in [
        (
            &perceptron,
            None,
            json!({"max_mistakes": 3}),
            &labelled,
            "limit",
            "max_mistakes",
        ),
        (
            &perceptron,
            None,
            json!({"max_examples": 7}),
            &labelled,
            "limit",
            "max_examples",
        ),
        (
            &drift,
            Some("reflected"),
            json!({"confidence": 0.9}),
            &half_space,
            "confident",
            "",
        ),
        (
            &drift,
            Some("uniform-positive"),
            json!({"confidence": 0.9, "rule": "exact"}),
            &half_space,
            "confident",
            "",
        ),
        (
            &drift,
            Some("uniform-positive"),
            json!({"confidence": 0.9, "rule": "per-hypothesis"}),
            &half_space,
            "confident",
            "",
        ),
    ] {
        let asked = json!({"learner": learner, "n": 3, "seed": 7, "assume": assume, "stop": stop});
        let path = opened(&service, &asked).await;
        let all = answers(&send(&service, &path, text, None).await.expect(200));
        let (error, learnt) = all.split_last().unwrap();
        assert_eq!(error["error"]["code"], "wrong-state", "{asked}");
        assert_eq!(learnt.last().unwrap()["terminated"], true, "{asked}");
        let ended = settled(&service, &path).await;
        let termination = &ended["termination"];
        assert_eq!(termination["reason"], reason, "{asked}");
        assert_eq!(
            termination["detail"].as_str().unwrap_or_default(),
            detail,
            "{asked}"
        );
        service.forget_sessions();
        assert_eq!(settled(&service, &path).await, ended, "{asked}");
        // The ended session refuses further examples and states the reason.
        let line = text.split_inclusive('\n').next().unwrap();
        for more in [
            send(&service, &path, line, None).await,
            service
                .post_as(&format!("{path}/examples"), "text/x-libsvm", "1 1:1\n")
                .await,
            send_json(&service, &path, &body(&[("110".to_owned(), 1)]), "*").await,
        ] {
            assert_eq!(more.problem(409), "wrong-state", "{asked}");
            assert_eq!(more.json()["position"], learnt.len(), "{asked}");
            let why = if reason == "limit" {
                detail
            } else {
                "confident"
            };
            assert!(more.text().contains(why), "{}", more.text());
        }
        let is_papers = asked["stop"]["rule"] == "per-hypothesis";
        let lacks = termination["confidence_detail"].as_str();
        assert_eq!(
            lacks.is_some_and(|text| text.contains("fixed in advance")),
            is_papers
        );
        assert_eq!(
            termination["per_hypothesis_confidence"].is_number(),
            is_papers
        );
    }
    for (stop, assume, pointer) in [
        (
            json!({"max_passes": 1}),
            Some("uniform-positive"),
            "/stop/max_passes",
        ),
        (
            json!({"max_seconds": 1}),
            Some("uniform-positive"),
            "/stop/max_seconds",
        ),
        (
            json!({"confidence": 0.9, "rule": "exact"}),
            Some("reflected"),
            "/stop/rule",
        ),
    ] {
        let asked = json!({"learner": {"name": "directed-drift"}, "n": 3, "assume": assume,
            "stop": stop});
        let answer = service.post_json("/v1/sessions", &asked).await;
        assert_eq!(answer.problem(422), "wrong-stop", "{asked}");
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{asked}");
    }
}
