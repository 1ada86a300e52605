//! `GET /v1/jobs/{id}/trace`: the mistake curve as JSON, as CSV and as a picture.

use crate::service::{Answer, Service, request, short_job};

async fn traced(service: &Service) -> (String, serde_json::Value) {
    let mut body = short_job();
    body["train"]["trace"] = true.into();
    let job = service.run(&body).await;
    (
        format!("/v1/jobs/{}/trace", job["id"].as_str().unwrap()),
        job,
    )
}

async fn accept(service: &Service, path: &str, accept: &str) -> Answer {
    service
        .send(request("GET", path, &[("accept", accept)], ""))
        .await
}

#[tokio::test]
async fn trace_ends_at_the_counts_of_the_result() {
    let service = Service::start().await;
    let (path, job) = traced(&service).await;
    let curve = service.get(&path).await.expect(200).json();
    let points = curve["points"].as_array().unwrap();
    let last = points.last().unwrap();
    assert_eq!(last["mistakes"], job["result"]["mistakes"]);
    assert_eq!(last["examples"], job["result"]["examples"]);
    let rises = |field: &str| points.is_sorted_by_key(|point| point[field].as_u64().unwrap());
    assert!(rises("mistakes") && rises("examples"));
}

#[tokio::test]
async fn trace_media_type_is_chosen_by_accept() {
    let service = Service::start().await;
    let (path, _) = traced(&service).await;
    let json = service.get(&path).await.expect(200);
    assert_eq!(json.header("content-type"), Some("application/json"));
    for any in ["*/*", "application/json", "image/png, application/*;q=0.5"] {
        assert_eq!(accept(&service, &path, any).await.body, json.body, "{any}");
    }
    let csv = accept(&service, &path, "text/csv").await.expect(200);
    assert_eq!(csv.header("content-type"), Some("text/csv"));
    let mut lines = csv.text().lines();
    assert_eq!(lines.next(), Some("examples,mistakes"));
    let points = json.json()["points"].as_array().unwrap().clone();
    let expected: Vec<String> = points
        .iter()
        .map(|point| format!("{},{}", point["examples"], point["mistakes"]))
        .collect();
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    assert_eq!(
        accept(&service, &path, "image/png").await.problem(406),
        "not-acceptable"
    );
}

#[tokio::test]
async fn trace_parameter_format_means_the_same_as_accept() {
    let service = Service::start().await;
    let (path, _) = traced(&service).await;
    let csv = format!("{path}?format=csv");
    let answer = service.get(&csv).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("text/csv"));
    // Headers of curl, of a browser, and a range with a wildcard leave the choice to the parameter.
    for open in [
        "*/*",
        "text/html,application/xml;q=0.9,*/*;q=0.8",
        "image/*",
    ] {
        let answer = accept(&service, &csv, open).await.expect(200);
        assert_eq!(answer.header("content-type"), Some("text/csv"), "{open}");
    }
    let specific = accept(&service, &csv, "*/*;q=0.1, image/svg+xml").await;
    assert_eq!(specific.header("content-type"), Some("image/svg+xml"));
    let refused = accept(&service, &csv, "text/html").await;
    assert_eq!(refused.problem(406), "not-acceptable");
    let unknown = service.get(&format!("{path}?format=ndjson")).await;
    assert_eq!(unknown.problem(400), "invalid-parameter");
    assert!(unknown.text().contains("json, csv, svg"));
}

#[tokio::test]
async fn trace_picture_shows_the_curve_beside_its_bound() {
    let service = Service::start().await;
    let body = serde_json::json!({"train": {
        "learner": {"name": "perceptron", "params": {"bias": false}},
        "data": {"generated": {"n": 9, "count": 200, "sampling": "uniform",
                               "target": {"binary_weights": {}}}},
        "seed": 3, "trace": true}});
    let job = service.run(&body).await;
    let bound = job["result"]["bound"]["mistakes_at_most"].as_f64().unwrap();
    let path = format!("/v1/jobs/{}/trace", job["id"].as_str().unwrap());
    let svg = accept(&service, &path, "image/svg+xml").await.expect(200);
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    let text = svg.text();
    assert!(text.starts_with("<svg ") && text.contains("Mistakes of perceptron"));
    let mistakes = &job["result"]["mistakes"];
    let examples = &job["result"]["examples"];
    assert!(
        text.contains(&format!("{mistakes} at {examples}.")),
        "{text}"
    );
    assert!(
        text.contains(&format!("at most {bound} mistakes")),
        "{text}"
    );
}

#[tokio::test]
async fn a_job_that_asked_for_no_trace_has_none() {
    let service = Service::start().await;
    let job = service.run(&short_job()).await;
    let path = format!("/v1/jobs/{}/trace", job["id"].as_str().unwrap());
    assert_eq!(service.get(&path).await.problem(404), "not-found");
}
