//! Predictions as a stream of lines, with late errors and without a limit of length, and the limits of predictions
//! and evaluations as documents.

use std::io::Error;

use axum::body::{BodyDataStream, Bytes};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::service::{Answer, Program, Service, request, sending, short_job, train, until};

const NDJSON: &str = "application/x-ndjson";

/// Trains the model of `short_job`, which takes three bits, and returns its path for predictions.
async fn linear(service: &Service) -> String {
    predict_path(&service.run(&short_job()).await)
}

fn predict_path(job: &Value) -> String {
    let model = job["result"]["model"].as_str().unwrap();
    format!("/v1/models/{model}/predict")
}

/// The expected lines for each of the eight examples of three bits.
async fn lines_by_example(service: &Service, path: &str) -> Vec<String> {
    let examples: Vec<_> = (0..8).map(|bits| format!("{bits:03b}")).collect();
    let body = json!({"unlabelled": {"examples": examples}});
    let answer = service.post_json(path, &body).await.expect(200).json();
    let pairs = (0..8).map(|at| (&answer["predictions"][at], &answer["scores"][at]));
    pairs
        .map(|(prediction, score)| format!("{{\"prediction\":{prediction},\"score\":{score}}}"))
        .collect()
}

fn frame(text: &str) -> Result<Bytes, Error> {
    Ok(Bytes::copy_from_slice(text.as_bytes()))
}

/// Reads the next piece of the answer, which ends with a line.
async fn next_line(answers: &mut BodyDataStream) -> String {
    let piece = answers.next().await.unwrap().unwrap();
    String::from_utf8(piece.to_vec()).unwrap()
}

async fn ask(service: &Service, path: &str, media_type: &str, accept: &str, body: &str) -> Answer {
    let headers = [("content-type", media_type), ("accept", accept)];
    service
        .send(request("POST", path, &headers, body.to_owned()))
        .await
}

#[tokio::test]
async fn predict_answers_each_line_before_the_next_is_sent() {
    let service = Service::start().await;
    let path = linear(&service).await;
    let expected = lines_by_example(&service, &path).await;
    let (sender, body) = sending();
    let headers = [("content-type", NDJSON)];
    // Two pieces of one line: the service answers a line when the line is complete.
    sender.send(frame("{\"x\": \"00")).unwrap();
    sender.send(frame("0\"}\n")).unwrap();
    let answer = service.open(request("POST", &path, &headers, body)).await;
    assert_eq!(answer.headers()["content-type"], NDJSON);
    let mut answers = answer.into_body().into_data_stream();
    assert_eq!(next_line(&mut answers).await, format!("{}\n", expected[0]));
    for round in 1..300 {
        let bits = round % 8;
        sender.send(frame(&format!("{bits:03b}\n"))).unwrap();
        assert_eq!(
            next_line(&mut answers).await,
            format!("{}\n", expected[bits])
        );
    }
    drop(sender);
    assert!(answers.next().await.is_none());
}

#[tokio::test]
async fn predict_answers_many_lines_in_order() {
    const LINES: usize = 120_000;
    let service = Service::start().await;
    let path = linear(&service).await;
    let by_example = lines_by_example(&service, &path).await;
    let example = |line: usize| line * line % 8;
    let sent: String = (0..LINES)
        .map(|line| format!("{:03b}\n", example(line)))
        .collect();
    let expected: String = (0..LINES)
        .map(|line| format!("{}\n", by_example[example(line)]))
        .collect();
    // The client sends the whole body before it reads.
    let answer = service.post_as(&path, NDJSON, sent.clone()).await;
    assert_eq!(answer.expect(200).text(), expected);
    // The client sends pieces that cut lines, and reads concurrently.
    let (sender, body) = sending();
    let pieces = sent.as_bytes().chunks(10_007).map(Bytes::copy_from_slice);
    for piece in pieces {
        sender.send(Ok(piece)).unwrap();
    }
    drop(sender);
    let headers = [("content-type", NDJSON)];
    let answer = service.open(request("POST", &path, &headers, body)).await;
    let mut answers = answer.into_body().into_data_stream();
    let mut read = Vec::new();
    while let Some(piece) = answers.next().await {
        read.extend_from_slice(&piece.unwrap());
    }
    assert!(read == expected.as_bytes());
}

#[tokio::test]
async fn predict_ends_with_a_late_error_and_its_place() {
    let service = Service::start().await;
    let path = linear(&service).await;
    let expected = lines_by_example(&service, &path).await;
    for (bad, code, column) in [
        ("{\"x\": \"10z\"}", "bad-value", 10),
        ("{\"x\": [1, 0.5, 0]}", "wrong-data", 11),
        ("10", "wrong-data", 1),
        ("nonsense", "bad-value", 1),
    ] {
        let (sender, body) = sending();
        sender.send(frame("101\n")).unwrap();
        let headers = [("content-type", NDJSON)];
        let answer = service.open(request("POST", &path, &headers, body)).await;
        let mut answers = answer.into_body().into_data_stream();
        assert_eq!(next_line(&mut answers).await, format!("{}\n", expected[5]));
        // The error comes while the body is still open.
        sender.send(frame(&format!("\n111\n{bad}\n000\n"))).unwrap();
        let mut text = next_line(&mut answers).await;
        while !text.contains("\"error\"") {
            text.push_str(&next_line(&mut answers).await);
        }
        drop(sender);
        assert!(answers.next().await.is_none());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], expected[7], "{bad}");
        let last: Value = serde_json::from_str(lines[1]).unwrap();
        let error = &last["error"];
        assert_eq!(error["code"], code, "{bad}: {error}");
        let place = (&error["errors"][0]["line"], &error["errors"][0]["column"]);
        assert_eq!(place, (&json!(4), &json!(column)), "{bad}: {error}");
        assert_eq!(error["instance"], path);
        assert_eq!(lines.len(), 2);
    }
}

#[tokio::test]
async fn predict_error_before_the_first_answer_is_a_problem() {
    let service = Service::start().await;
    let path = linear(&service).await;
    for (body, status, code) in [
        ("10z\n111\n", 400, "bad-value"),
        ("", 400, "empty-data"),
        ("\n\n", 400, "empty-data"),
        ("1010\n", 422, "wrong-data"),
        ("{\"x\": [0.5, 1, 0]}\n", 422, "wrong-data"),
    ] {
        let answer = service.post_as(&path, NDJSON, body).await;
        assert_eq!(answer.problem(status), code, "{body:?}");
    }
    let headed = format!("{path}?header=true");
    let answer = service.post_as(&headed, NDJSON, "101").await;
    assert_eq!(answer.problem(400), "bad-option");
    let answer = ask(&service, &path, "text/csv", "text/html", "1,0,1").await;
    assert_eq!(answer.problem(406), "not-acceptable");
}

#[tokio::test]
async fn predict_reads_each_line_on_its_own() {
    let service = Service::start().await;
    let path = linear(&service).await;
    let expected = lines_by_example(&service, &path).await;
    let body = "101\n{\"x\": [1, -1, 1], \"y\": -1}\n{\"x\": [1, 0, 1], \"y\": 0}\n\
                \"101\"\r\n\n{\"x\": \"101\"}";
    let answer = service.post_as(&path, NDJSON, body).await.expect(200);
    assert_eq!(answer.text(), format!("{}\n", expected[5]).repeat(5));
}

#[tokio::test]
async fn predict_answers_every_body_in_lines_on_request() {
    let service = Service::start().await;
    let path = linear(&service).await;
    let by_example = lines_by_example(&service, &path).await;
    let data = json!({"unlabelled": {"examples": ["111", "000", "001"]}});
    let stored = service
        .post_json("/v1/datasets", &json!({"data": data}))
        .await;
    let id = stored.expect(201).json()["id"].clone();
    let expected = format!("{}\n{}\n{}\n", by_example[7], by_example[0], by_example[1]);
    for (media_type, body) in [
        ("application/json", data.to_string()),
        ("application/json", json!({"dataset": id}).to_string()),
        ("text/csv", "1,1,1\n0,0,0\n0,0,1\n".to_owned()),
        ("text/x-libsvm", "1 1:1 2:1 3:1\n1\n1 3:1\n".to_owned()),
    ] {
        let answer = ask(&service, &path, media_type, NDJSON, &body).await;
        assert_eq!(answer.header("content-type"), Some(NDJSON));
        assert_eq!(answer.expect(200).text(), expected, "{body}");
    }
    let unknown = json!({"dataset": "ds_018bcfe568007000b333333333333333"}).to_string();
    let answer = ask(&service, &path, "application/json", NDJSON, &unknown).await;
    assert_eq!(answer.problem(422), "unknown-dataset");
}

#[tokio::test]
async fn predict_reads_a_large_dataset_in_parts() {
    const EXAMPLES: usize = 40_000;
    let service = Service::start().await;
    // The rows are so wide that the dataset does not fit into memory as a whole.
    let n = 2048;
    let row = |index: usize| {
        let bits = (0..n).map(|j| if j % (index % 7 + 2) == 0 { '1' } else { '0' });
        bits.collect::<String>()
    };
    let rows: Vec<_> = (0..7).map(row).collect();
    let labelled: Vec<_> = (0..7)
        .map(|index| json!({"x": rows[index], "y": if index % 2 == 0 { 1 } else { -1 }}))
        .collect();
    let job = train(
        json!({"name": "perceptron"}),
        json!({"labelled": {"examples": labelled}}),
    );
    let path = predict_path(&service.run(&job).await);
    let examples = (0..EXAMPLES).map(|index| format!("{}\n", rows[index % 7]));
    let stored = service
        .post_as("/v1/datasets", NDJSON, examples.collect::<String>())
        .await;
    let by_id = json!({"dataset": stored.expect(201).json()["id"]}).to_string();
    let sent = json!({"unlabelled": {"examples": rows}}).to_string();
    let seven = ask(&service, &path, "application/json", NDJSON, &sent).await;
    let seven = seven.expect(200).text().to_owned();
    let seven: Vec<_> = seven.lines().collect();
    let expected: String = (0..EXAMPLES)
        .map(|index| format!("{}\n", seven[index % 7]))
        .collect();
    let lines = ask(&service, &path, "application/json", NDJSON, &by_id).await;
    assert!(lines.expect(200).text() == expected);
    let document = ask(&service, &path, "application/json", "*/*", &by_id).await;
    let document = document.expect(200).json();
    assert_eq!(document["predictions"].as_array().unwrap().len(), EXAMPLES);
    for index in [0, 1, 6, 39_999] {
        let line: Value = serde_json::from_str(seven[index % 7]).unwrap();
        assert_eq!(document["predictions"][index], line["prediction"]);
        assert_eq!(document["scores"][index], line["score"]);
    }
}

#[tokio::test]
async fn predict_does_not_take_a_broken_connection_for_the_end() {
    let service = Service::with(&["--streams-max", "1"]).await;
    let path = linear(&service).await;
    let (sender, body) = sending();
    sender.send(frame("101\n11")).unwrap();
    let headers = [("content-type", NDJSON)];
    let answer = service.open(request("POST", &path, &headers, body)).await;
    let mut answers = answer.into_body().into_data_stream();
    next_line(&mut answers).await;
    sender.send(Err(Error::other("gone"))).unwrap();
    let last: Value = serde_json::from_str(&next_line(&mut answers).await).unwrap();
    assert_eq!(last["error"]["code"], "unreadable");
    // The failed stream has released its permit.
    let answer = service.post_as(&path, NDJSON, "101\n").await;
    assert_eq!(answer.expect(200).text().lines().count(), 1);
}

#[tokio::test]
async fn predict_streams_are_limited_to_streams_max() {
    let service = Service::limited(&["--streams-max", "1"], |limits| limits.uploads_max = 1).await;
    let path = linear(&service).await;
    let (sender, body) = sending();
    sender.send(frame("101\n")).unwrap();
    let headers = [("content-type", NDJSON)];
    let answer = service.open(request("POST", &path, &headers, body)).await;
    let mut answers = answer.into_body().into_data_stream();
    next_line(&mut answers).await;
    let other = service.post_as(&path, NDJSON, "101\n".repeat(20_000)).await;
    assert_eq!(other.problem(503), "queue-full");
    assert!(other.json()["detail"].to_string().contains("streams_max"));
    // A small body that comes at once needs no permit, and other formats have other permits.
    let small = service.post_as(&path, NDJSON, "101\n").await;
    assert_eq!(small.expect(200).text().lines().count(), 1);
    let table = service.post_as(&path, "text/csv", "1,0,1\n").await;
    assert_eq!(table.expect(200).json()["predictions"], json!([1]));
    drop(sender);
    assert!(answers.next().await.is_none());
}

#[tokio::test]
async fn predict_frees_its_permit_when_the_client_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &["--streams-max", "1"]);
    let client = program.client();
    let headers = [("content-type", "application/json"), ("prefer", "wait=30")];
    let job = short_job().to_string();
    let job = client.send("POST", "/v1/jobs", &headers, job.as_bytes());
    let path = predict_path(&job.await.unwrap().expect(200).json());
    for _ in 0..3 {
        let mut stream = TcpStream::connect(client.address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {NDJSON}\r\n\
             transfer-encoding: chunked\r\n\r\n4\r\n101\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, b"HTTP/1.1 200");
        drop(stream);
        until("the turn of who left", async || {
            let body = "101\n111\n".repeat(10_000);
            let headers = [("content-type", NDJSON)];
            let answer = client.send("POST", &path, &headers, body.as_bytes());
            let answer = answer.await.unwrap();
            (answer.status == 200).then(|| assert_eq!(answer.text().lines().count(), 20_000))
        })
        .await;
    }
}

#[tokio::test]
async fn predict_stops_computing_when_the_client_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let program = Program::start(directory.path(), &["--uploads-max", "2"]);
    let client = program.client();
    let headers = [("content-type", "application/json"), ("prefer", "wait=30")];
    let data = json!({"labelled": {"examples": [
        {"x": "1".repeat(20), "y": 1}, {"x": "0".repeat(20), "y": -1}]}});
    let job = train(json!({"name": "kernel-winnow"}), data).to_string();
    let job = client.send("POST", "/v1/jobs", &headers, job.as_bytes());
    let predict = predict_path(&job.await.unwrap().expect(200).json());
    let row = ["1"; 20].join(",");
    // Each row takes about 2^24 steps, so the whole body would take half a minute or more.
    let heavy = format!("{row}\n").repeat(3000);
    for path in [
        &predict,
        &predict.replace("/predict", "/evaluate?labels=none"),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\n\
             content-length: {}\r\n\r\n{heavy}",
            heavy.len()
        );
        // Both permits.
        let mut left = Vec::new();
        for _ in 0..2 {
            let mut stream = TcpStream::connect(client.address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            left.push(stream);
        }
        drop(left);
        until("the permit of who left", async || {
            let headers = [("content-type", "text/csv")];
            let answer = client.send("POST", &predict, &headers, row.as_bytes());
            (answer.await.unwrap().status == 200).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn predict_and_evaluate_end_at_answer_seconds_max() {
    let service = Service::with(&["--answer-seconds-max", "0.05"]).await;
    let data = json!({"labelled": {"examples": [
        {"x": "1".repeat(20), "y": 1}, {"x": "0".repeat(20), "y": -1}]}});
    let job = train(json!({"name": "kernel-winnow"}), data);
    let path = predict_path(&service.run(&job).await);
    let limits = service.get("/v1/limits").await.expect(200).json();
    assert_eq!(limits["answer_seconds_max"], 0.05);
    // Each row takes about 2^24 steps.
    let rows = format!("{}\n", ["1"; 20].join(",")).repeat(400);
    let answer = service.post_as(&path, "text/csv", rows.clone()).await;
    assert_eq!(answer.problem(422), "intractable");
    let detail = answer.json()["detail"].to_string();
    assert!(detail.contains("answer_seconds_max") && detail.contains("0.05"));
    let evaluate = path.replace("/predict", "/evaluate?labels=none");
    let answer = service.post_as(&evaluate, "text/csv", rows).await;
    assert_eq!(answer.problem(422), "intractable");
    // Predictions as lines have no such limit.
    let rows = format!("{}\n", "1".repeat(20)).repeat(3);
    let answer = service.post_as(&path, NDJSON, rows).await.expect(200);
    assert_eq!(answer.text().lines().count(), 3);
}

/// A `.npy` file of version 1.0 with unsigned bytes.
fn npy(rows: &[[u8; 3]]) -> Vec<u8> {
    let shape = format!("({}, 3)", rows.len());
    let head = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}");
    let head = format!("{head:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((head.len() as u16).to_le_bytes());
    file.extend(head.as_bytes());
    file.extend(rows.iter().flatten());
    file
}

#[tokio::test]
async fn predict_accepts_unlabelled_examples_in_every_format() {
    let service = Service::start().await;
    let path = linear(&service).await;
    let lines = "{\"prediction\":1,\"score\":2}\n".to_owned()
        + &"{\"prediction\":-1,\"score\":-2}\n".repeat(2);
    let attributes = "@attribute a numeric\n@attribute b numeric\n@attribute c numeric\n";
    let arff = format!("@relation r\n{attributes}@data\n1,1,1\n0,0,0\n0,0,1\n");
    let table = "1,1,1\n0,0,0\n0,0,1\n";
    let bodies: Vec<(&str, &str, Vec<u8>)> = vec![
        (
            "application/json",
            "",
            br#"{"unlabelled": {"examples": ["111", [0, 0, 0], "001"]}}"#.to_vec(),
        ),
        (
            "application/json",
            "",
            br#"{"packed": {"n": 3, "rows": "4AAg"}}"#.to_vec(),
        ),
        (
            NDJSON,
            "",
            b"{\"x\": \"111\"}\n{\"x\": [0, 0, 0]}\n{\"x\": \"001\"}\n".to_vec(),
        ),
        (NDJSON, "", b"111\n\"000\"\n001".to_vec()),
        ("text/csv", "", table.into()),
        ("text/csv", "?labels=none", table.into()),
        (
            "text/x-libsvm",
            "?labels=none",
            b"1:1 2:1 3:1\n1:0\n3:1\n".to_vec(),
        ),
        ("text/x-arff", "", arff.clone().into()),
        ("text/x-arff", "?labels=none", arff.into()),
        (
            "application/x-npy",
            "",
            npy(&[[1, 1, 1], [0, 0, 0], [0, 0, 1]]),
        ),
        (
            "application/x-npy",
            "?labels=none",
            npy(&[[1, 1, 1], [0, 0, 0], [0, 0, 1]]),
        ),
        ("application/octet-stream", "", vec![0xe0, 0, 0x20]),
        (
            "application/octet-stream",
            "?labels=none",
            vec![0xe0, 0, 0x20],
        ),
    ];
    for (media_type, query, body) in bodies {
        let answer = service
            .post_as(&format!("{path}{query}"), media_type, body)
            .await;
        let answer = answer.expect(200);
        if media_type == NDJSON {
            assert_eq!(answer.text(), lines);
            continue;
        }
        let expected = json!({"predictions": [1, -1, -1], "predicted_classes": null,
            "scores": [2, -2, -2]});
        let mut answer = answer.json();
        answer.as_object_mut().unwrap().remove("table");
        assert_eq!(answer, expected, "{media_type} {query}");
    }
}
