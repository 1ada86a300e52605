//! Repairs of data: every route that reads a table proposes the same ones, and a request with them works.

use serde_json::{Value, json};

use crate::service::Service;

const CSV: &str = "text/csv";

/// A table with faults in two columns and without a named label.
fn damaged() -> String {
    let mut table = "size,price,kind\n".to_owned();
    for row in 0..40 {
        let size = if row == 7 { "n.d." } else { "12" };
        table += &format!("{size}{row},\"{row},5\",{}\n", ["a", "b"][row % 2]);
    }
    table
}

/// The first repair of each error, pasted behind a query.
fn pasted(query: &str, problem: &Value) -> String {
    let errors = problem["errors"].as_array().expect("errors");
    let repairs = errors
        .iter()
        .map(|error| error["repairs"][0]["query"].as_str());
    let repairs: Vec<&str> = repairs.map(|query| query.expect("a repair")).collect();
    [&[query], &*repairs].concat().join("&")
}

/// The id of a model that a table trained.
async fn trained(service: &Service, table: &'static str) -> String {
    let path = "/v1/learners/perceptron/train";
    let job = service.post_as(path, CSV, table).await.expect(200).json();
    job["result"]["model"].as_str().expect("a model").to_owned()
}

#[tokio::test]
async fn repairs_of_every_route_with_data_work_when_pasted() {
    let service = Service::start().await;
    let table = damaged();
    let mut seen = Vec::new();
    for (path, status) in [
        ("/v1/datasets?name=x", 201),
        ("/v1/learners/perceptron/train?seed=1", 200),
        ("/v1/previews?rows=3", 200),
    ] {
        let refused = service.post_as(path, CSV, table.clone()).await;
        let problem = match path.starts_with("/v1/previews") {
            true => refused.expect(200).json()["refusal"].take(),
            false => refused.expect(422).json(),
        };
        let repaired = service
            .post_as(&pasted(path, &problem), CSV, table.clone())
            .await;
        let answer = repaired.expect(status).json();
        if path.starts_with("/v1/previews") {
            assert_eq!(answer["refusal"], Value::Null);
        }
        seen.push(problem["errors"].clone());
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
    let shape = &seen[0][0]["repairs"][0]["shape"];
    assert_eq!(shape["examples"], 39, "{seen:?}");
}

#[tokio::test]
async fn repairs_of_rows_in_json_are_a_query_or_members() {
    let service = Service::start().await;
    let rows = json!([{"a": 1, "b": 2, "kind": "x"}, {"a": 2, "b": 3, "kind": "y"}]);
    let alone = json!({"data": {"rows": rows}});
    let refused = service.post_json("/v1/datasets", &alone).await;
    let problem = refused.expect(422).json();
    let repair = &problem["errors"][0]["repairs"][0];
    assert_eq!(repair["query"], "labels=kind", "{problem}");
    assert_eq!(
        repair["shape"],
        json!({"examples": 2, "n": 2, "classes": 2})
    );
    let path = "/v1/datasets?labels=kind";
    service.post_json(path, &alone).await.expect(201);
    let members = json!({"data": {"table": {"rows": rows, "labels": "kind"}}});
    service
        .post_json("/v1/datasets", &members)
        .await
        .expect(201);
    // A repair replaces what a member states.
    let wrong = json!({"data": {"table": {"rows": rows, "labels": "nope", "ignore": "a"}}});
    let refused = service.post_json("/v1/datasets", &wrong).await;
    let problem = refused.expect(422).json();
    let repair = &problem["errors"][0]["repairs"][0];
    assert_eq!(repair["query"], "labels=kind", "{problem}");
    let stored = service.post_json(path, &wrong).await.expect(201).json();
    assert_eq!(stored["n"], 1);
    let path = "/v1/datasets?labels=kind&missing_values=%22a&missing_values=b%22";
    let detail = service.post_json(path, &alone).await.expect(400).json()["detail"].to_string();
    assert!(detail.contains("a quote is not closed"), "{detail}");
}

#[tokio::test]
async fn repairs_of_an_evaluation_name_the_labels_that_it_needs() {
    let service = Service::start().await;
    let model = trained(&service, "size,weight,y\n1,2,p\n2,1,e\n").await;
    let path = format!("/v1/models/{model}/evaluate");
    let rows = "size,weight,kind\n1,2,p\n2,1,e\n";
    let refused = service.post_as(&path, CSV, rows).await;
    let problem = refused.expect(422).json();
    let repairs = problem["errors"][0]["repairs"].as_array().expect("repairs");
    let queries: Vec<_> = repairs.iter().map(|repair| &repair["query"]).collect();
    assert_eq!(queries, ["labels=kind"], "{problem}");
    let path = format!("{path}?labels=kind");
    service.post_as(&path, CSV, rows).await.expect(200);
}

#[tokio::test]
async fn repairs_of_a_prediction_know_the_encoding_of_the_model() {
    let service = Service::start().await;
    let model = trained(&service, "odor,size,y\nfoul,1,p\nnone,2,e\n").await;
    let path = format!("/v1/models/{model}/predict");
    let refused = service.post_as(&path, CSV, "odor,size\nsweet,1\n").await;
    let problem = refused.expect(422).json();
    let repair = &problem["errors"][0]["repairs"][0];
    assert_eq!(repair["query"], "unknown=zero", "{problem}");
    let path = format!("{path}?unknown=zero");
    service
        .post_as(&path, CSV, "odor,size\nsweet,1\n")
        .await
        .expect(200);
}

#[tokio::test]
async fn repairs_of_a_long_body_were_not_tried() {
    let service = Service::start().await;
    let mut table = "a,b,kind\n".to_owned();
    while table.len() <= halfspace_formats::TRIED_BYTES_MAX {
        table += "0.5,1.25,x\n1.5,2.25,y\n";
    }
    let refused = service.post_as("/v1/datasets", CSV, table).await;
    let repair = refused.expect(422).json()["errors"][0]["repairs"][0].take();
    assert_eq!(
        repair,
        json!({"query": "labels=kind", "sentence": "The column `kind` holds the labels.", "shape": null})
    );
}

#[tokio::test]
async fn lists_of_data_options_may_come_in_several_pairs() {
    let service = Service::start().await;
    let table = "a,b,c,y\n1,?,x,p\n2,3,u,e\n";
    let path = "/v1/datasets?ignore=a&missing_values=u&ignore=b&missing_values=v";
    let dataset = service.post_as(path, CSV, table).await.expect(201).json();
    let ignored = dataset["table"]["ignored"].as_array().expect("columns");
    assert_eq!(ignored.len(), 2, "{dataset}");
    let path = "/v1/datasets?labels=y&labels=y";
    service.post_as(path, CSV, table).await.expect(400);
}
