//! The input of sessions: every format, compressed and plain, and errors within a stream.

use std::io::Write;

use axum::body::BodyDataStream;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::sessions::{answers, examples, lines, of, opened, send, settled};
use crate::service::{Answer, Sending, Service, request, sending};

const N: usize = 12;

async fn send_as(
    service: &Service,
    path: &str,
    query: &str,
    media_type: &str,
    coding: Option<&str>,
    body: Vec<u8>,
) -> Answer {
    let mut headers = vec![("content-type", media_type)];
    headers.extend(coding.map(|coding| ("content-encoding", coding)));
    let path = format!("{path}/examples{query}");
    service.send(request("POST", &path, &headers, body)).await
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// A stream that the test writes into, and the stream of answers.
pub(super) async fn duplex(
    service: &Service,
    path: &str,
    headers: &[(&str, &str)],
) -> (Sending, BodyDataStream) {
    let (sender, body) = sending();
    let mut all = vec![("content-type", "application/x-ndjson")];
    all.extend(headers);
    let asked = request("POST", &format!("{path}/examples"), &all, body);
    let answer = service.open(asked).await;
    assert_eq!(answer.status(), 200);
    (sender, answer.into_body().into_data_stream())
}

#[tokio::test]
async fn session_learns_the_same_from_every_format_and_coding() {
    let service = Service::start().await;
    let all = examples(N, 300, 11);
    let ndjson = lines(&all);
    let table = |separator: &str| -> String {
        let row = |(x, y): &(String, i8)| {
            let bits: Vec<_> = x.chars().map(String::from).collect();
            format!("{}{separator}{y}\n", bits.join(separator))
        };
        all.iter().map(row).collect()
    };
    let names = (1..=N).map(|j| format!("@attribute f{j} {{0, 1}}\n"));
    let arff = format!(
        "@relation r\n{}@attribute class {{-1, 1}}\n@data\n{}",
        names.collect::<String>(),
        table(",")
    );
    let libsvm: String = all
        .iter()
        .map(|(x, y)| {
            let ones = x.bytes().zip(1..).filter(|(bit, _)| *bit == b'1');
            let pairs: Vec<_> = ones.map(|(_, index)| format!("{index}:1")).collect();
            format!("{y} {}\n", pairs.join(" "))
        })
        .collect();
    let octets: Vec<u8> = all
        .iter()
        .flat_map(|(x, y)| {
            let mut bits: Vec<bool> = x.bytes().map(|bit| bit == b'1').collect();
            bits.push(*y == 1);
            bits.resize(16, false);
            let byte = |eight: &[bool]| eight.iter().fold(0, |byte, &bit| 2 * byte + u8::from(bit));
            bits.chunks(8).map(byte).collect::<Vec<_>>()
        })
        .collect();
    let header = format!(
        "{{'descr': '|i1', 'fortran_order': False, 'shape': ({}, {}), }}",
        all.len(),
        N + 1
    );
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    let padded = format!("{header:<117}\n");
    npy.extend((padded.len() as u16).to_le_bytes());
    npy.extend(padded.bytes());
    for (x, y) in &all {
        npy.extend(x.bytes().map(|bit| bit - b'0'));
        npy.push(*y as u8);
    }
    let zstd = zstd::stream::encode_all(ndjson.as_bytes(), 1).unwrap();
    let bodies = [
        (
            "",
            "application/x-ndjson",
            None,
            ndjson.clone().into_bytes(),
        ),
        (
            "",
            "application/x-ndjson",
            Some("gzip"),
            gzip(ndjson.as_bytes()),
        ),
        ("", "application/x-ndjson", Some("zstd"), zstd),
        (
            "?n=12",
            "application/x-ndjson",
            None,
            ndjson.clone().into_bytes(),
        ),
        ("?labels=last", "text/csv", None, table(",").into_bytes()),
        (
            "?labels=last&header=false",
            "text/csv",
            Some("gzip"),
            gzip(table(",").as_bytes()),
        ),
        ("", "text/x-libsvm", None, libsvm.into_bytes()),
        ("", "text/x-arff", None, arff.into_bytes()),
        ("?labels=appended", "application/octet-stream", None, octets),
        ("", "application/x-npy", None, npy),
    ];
    for learner in ["perceptron", "winnow"] {
        let mut first: Option<(Vec<Value>, Value)> = None;
        for (query, media_type, coding, body) in bodies.clone() {
            let path = of(&service, learner, N).await;
            let answer = send_as(&service, &path, query, media_type, coding, body).await;
            let answer = answer.expect(200);
            assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
            let came_to = (answers(&answer), settled(&service, &path).await);
            assert_eq!(
                came_to.0.len(),
                all.len(),
                "{media_type}: {:?}",
                came_to.0.last()
            );
            match &first {
                None => first = Some(came_to),
                Some(first) => assert_eq!(*first, came_to, "{learner} {media_type}{query}"),
            }
        }
    }
}

#[tokio::test]
async fn session_answers_compressed_lines_as_they_arrive() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    let headers = [("content-encoding", "gzip")];
    let (sender, mut answered) = duplex(&service, &path, &headers).await;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for position in 1..=3 {
        encoder.write_all(b"{\"x\": \"101\", \"y\": 1}\n").unwrap();
        encoder.flush().unwrap();
        let piece = std::mem::take(encoder.get_mut());
        sender.send(Ok(piece.into())).unwrap();
        let line = answered.next().await.unwrap().unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(line["position"], position);
    }
    sender.send(Ok(encoder.finish().unwrap().into())).unwrap();
    drop(sender);
    assert!(answered.next().await.is_none());
}

#[tokio::test]
async fn session_stream_skips_compressed_blanks() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    let line = "{\"x\": \"101\", \"y\": 1}\n";
    let body = format!("{line}{}\n{line}", " ".repeat(8 << 20));
    let zstd = zstd::stream::encode_all(body.as_bytes(), 1).unwrap();
    let media_type = "application/x-ndjson";
    let answer = send_as(&service, &path, "", media_type, Some("zstd"), zstd).await;
    let all = answers(&answer.expect(200));
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[1]["position"], 2);
}

#[tokio::test]
async fn session_stream_refuses_mixed_lines_across_pieces() {
    let service = Service::start().await;
    for (second, code, column) in [
        ("{\"x\": \"101\", \"y\": 0}\n", "bad-label", 19),
        ("{\"x\": [1, -1, 1], \"y\": 1}\n", "wrong-data", 11),
        ("\"101\"\n", "bad-label", 1),
        ("{\"x\": \"10\", \"y\": 1}\n", "wrong-data", 8),
    ] {
        let path = of(&service, "perceptron", 3).await;
        let (sender, mut answered) = duplex(&service, &path, &[]).await;
        let first = "{\"x\": \"100\", \"y\": -1}\n";
        sender
            .send(Ok(Bytes::from_static(first.as_bytes())))
            .unwrap();
        let line = answered.next().await.unwrap().unwrap();
        assert!(line.starts_with(b"{\"position\":1,"), "{line:?}");
        sender
            .send(Ok(Bytes::from_static(second.as_bytes())))
            .unwrap();
        let last = answered.next().await.unwrap().unwrap();
        let problem = serde_json::from_slice::<Value>(&last).unwrap()["error"].clone();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["errors"][0]["line"], 2, "{problem}");
        assert_eq!(problem["errors"][0]["column"], column, "{problem}");
        assert_eq!(problem["position"], 1, "{problem}");
        drop(sender);
        assert_eq!(settled(&service, &path).await["position"], 1);
    }
}

#[tokio::test]
async fn session_stream_names_an_unlearnable_line() {
    let service = Service::start().await;
    let path = of(&service, "kernel-winnow", 40).await;
    let few = format!("{{\"x\": \"11{}\", \"y\": 1}}\n", "0".repeat(38));
    let many = format!("{{\"x\": \"{}\", \"y\": 1}}\n", "1".repeat(40));
    let text = format!("{few}\n{few}{many}{few}");
    let all = answers(&send(&service, &path, &text, None).await.expect(200));
    assert_eq!(all.len(), 3, "{all:?}");
    let problem = &all[2]["error"];
    assert_eq!(problem["code"], "intractable", "{problem}");
    assert_eq!(problem["errors"][0]["line"], 4, "{problem}");
    assert_eq!(problem["position"], 2, "{problem}");
    // If the session has learnt no line, the error is the whole answer.
    for (learner, text, status, code) in [
        ("perceptron", "\n\"101\"\n", 422, "wrong-data"),
        ("perceptron", "\n{\"x\": \"101\"}\n", 422, "wrong-data"),
        (
            "perceptron",
            "\n{\"x\": \"10\", \"y\": 1}\n",
            422,
            "wrong-data",
        ),
        (
            "directed-drift",
            "\n{\"x\": \"101\", \"z\": 1}\n",
            400,
            "schema",
        ),
    ] {
        let path = of(&service, learner, 3).await;
        let refused = send(&service, &path, text, None).await;
        assert_eq!(refused.problem(status), code, "{text}");
        assert_eq!(refused.json()["errors"][0]["line"], 2, "{text}");
        assert_eq!(refused.json()["position"], 0, "{text}");
    }
}

#[tokio::test]
async fn session_learns_nothing_from_a_bad_table_body() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    for (query, media_type, body, status, code) in [
        (
            "",
            "text/csv",
            "1,1,0,1\n-1,0,1,1\n0,1,1,1\n",
            422,
            "table-option",
        ),
        ("", "text/csv", "1,1,0,1\n1,1,0\n", 422, "wrong-data"),
        ("", "text/csv", "1,1,0,1,1\n", 422, "wrong-data"),
        ("", "text/csv", "1,1,0,0.5\n", 422, "wrong-data"),
        ("?labels=none", "text/csv", "1,0,1\n", 422, "wrong-data"),
        (
            "?labels=middle",
            "text/csv",
            "1,0,1,1\n",
            422,
            "table-option",
        ),
        (
            "?label=last",
            "text/csv",
            "1,0,1,1\n",
            400,
            "invalid-parameter",
        ),
        ("?n=4", "text/x-libsvm", "1 1:1\n", 422, "wrong-data"),
        ("", "text/x-libsvm", "1 4:1\n", 400, "bad-index"),
        ("", "text/x-libsvm", "1 2:0.5\n", 422, "wrong-data"),
        ("", "text/x-libsvm", "", 400, "empty-data"),
        (
            "?header=true",
            "application/x-ndjson",
            "",
            400,
            "bad-option",
        ),
        (
            "?assume=uniform",
            "application/x-ndjson",
            "",
            400,
            "invalid-parameter",
        ),
        ("?n=4", "application/x-ndjson", "", 422, "wrong-data"),
        ("", "application/x-npy", "no array", 400, "syntax"),
        ("", "application/octet-stream", "\u{ff}", 400, "bad-value"),
    ] {
        let answer = send_as(&service, &path, query, media_type, None, body.into()).await;
        assert_eq!(
            answer.problem(status),
            code,
            "{media_type}{query} {body}: {}",
            answer.text()
        );
    }
    let cut = &gzip(b"1,1,0,1\n")[..12];
    let answer = send_as(&service, &path, "", "text/csv", Some("gzip"), cut.to_vec()).await;
    assert_eq!(answer.problem(400), "truncated");
    let answer = send_as(
        &service,
        &path,
        "",
        "application/x-ndjson",
        Some("br"),
        vec![],
    )
    .await;
    assert_eq!(answer.problem(415), "unsupported-media-type");
    assert_eq!(settled(&service, &path).await["position"], 0);
}

#[tokio::test]
async fn session_stream_with_a_damaged_coding_keeps_earlier_lines() {
    let service = Service::start().await;
    let text = lines(&examples(3, 50, 1));
    let gzip = gzip(text.as_bytes());
    for (body, code) in [
        (gzip[..gzip.len() - 4].to_vec(), "truncated"),
        ([&gzip[..gzip.len() - 8], &[0; 8]].concat(), "syntax"),
        ([&gzip[..], b"no gzip at all"].concat(), "syntax"),
    ] {
        let path = of(&service, "perceptron", 3).await;
        let media_type = "application/x-ndjson";
        let answer = send_as(&service, &path, "", media_type, Some("gzip"), body).await;
        let all = answers(&answer.expect(200));
        let (last, learnt) = all.split_last().unwrap();
        assert_eq!(last["error"]["code"], code, "{last}");
        assert_eq!(last["error"]["position"], learnt.len(), "{last}");
        assert_eq!(settled(&service, &path).await["position"], learnt.len());
    }
}

#[tokio::test]
async fn session_that_ends_within_a_file_names_the_row() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "perceptron"}, "n": 2, "stop": {"max_mistakes": 1}});
    let path = opened(&service, &asked).await;
    let body = "1,1,1\n-1,0,0\n1,1,0\n1,1,1\n";
    let answer = send_as(&service, &path, "", "text/csv", None, body.into()).await;
    let all = answers(&answer.expect(200));
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(all[1]["terminated"], true);
    assert_eq!(all[2]["error"]["code"], "wrong-state");
    let detail = all[2]["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("max_mistakes"), "{detail}");
    assert_eq!(
        settled(&service, &path).await["termination"]["detail"],
        "max_mistakes"
    );
}

#[tokio::test]
async fn session_stream_has_a_maximum_of_lines() {
    let service = Service::start().await;
    let path = of(&service, "perceptron", 3).await;
    let line = "{\"x\": \"101\", \"y\": 1}\n";
    for (text, learnt) in [
        (format!("{}{line}{line}", "\n".repeat(999_998)), 2),
        (format!("{line}{}{line}", "\n".repeat(999_998)), 2),
        (format!("{line}{}{line}", "\n".repeat(999_999)), 1),
        (format!("{line}{}", "\n".repeat(1_000_000)), 1),
    ] {
        let is_too_long = text.lines().count() > 1_000_000;
        let all = answers(&send(&service, &path, &text, None).await.expect(200));
        assert_eq!(
            all.len(),
            learnt + usize::from(is_too_long),
            "{:?}",
            all.last()
        );
        if is_too_long {
            assert_eq!(all[learnt]["error"]["code"], "too-large");
        }
    }
}

#[tokio::test]
async fn session_scores_like_its_saved_model() {
    let service = Service::start().await;
    let all = examples(N, 200, 5);
    for learner in [
        "directed-drift",
        "perceptron",
        "winnow",
        "kernel-perceptron",
    ] {
        let path = of(&service, learner, N).await;
        send(&service, &path, &lines(&all), None).await.expect(200);
        let saved = service.post(&format!("{path}/model")).await.expect(201);
        let model = saved.header("location").unwrap().to_owned();
        let table: String = all.iter().map(|(x, _)| format!("{x}\n")).collect();
        let csv = "1,0,1,0,1,0,1,0,1,0,1,0\n0,1,1,1,1,1,1,1,1,1,1,1\n";
        let some = json!({"unlabelled": {"examples": ["101010101010", "000000000001"]}});
        for (media_type, body) in [
            ("application/x-ndjson", table.as_str()),
            ("text/csv", csv),
            ("text/x-libsvm", "0\n1 3:1 12:1\n"),
            ("application/json", &some.to_string()),
        ] {
            let mut said = Vec::new();
            for from in [&path, &model] {
                let target = format!("{from}/predict");
                let answer = service.post_as(&target, media_type, body.to_owned()).await;
                let answer = answer.expect(200);
                assert!(answer.text().contains("score"), "{}", answer.text());
                said.push(answer.text().to_owned());
            }
            assert_eq!(said[0], said[1], "{learner} {media_type}");
        }
        for (body, status, code) in [
            (
                json!({"unlabelled": {"examples": ["1"]}}),
                422,
                "wrong-data",
            ),
            (
                json!({"unlabelled": {"examples": [vec![0.5; N]]}}),
                422,
                "wrong-data",
            ),
            (json!({"unlabelled": {"examples": []}}), 400, "empty-data"),
        ] {
            let answer = service.post_json(&format!("{path}/predict"), &body).await;
            assert_eq!(answer.problem(status), code, "{learner} {body}");
        }
    }
}
