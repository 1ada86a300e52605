//! Each option of a request about labels is either obeyed or refused.

use serde_json::{Value, json};

use crate::service::{Answer, Service, request};

const CSV: &str = "text/csv";
const LIBSVM: &str = "text/x-libsvm";
const NDJSON: &str = "application/x-ndjson";
const OCTETS: &str = "application/octet-stream";

async fn trained(service: &Service, query: &str, media_type: &str, body: &str) -> Answer {
    let path = format!("/v1/learners/perceptron/train?seed=1{query}");
    service.post_as(&path, media_type, body.to_owned()).await
}

fn model_of(answer: Answer) -> String {
    let model = answer.expect(200).json()["result"]["model"].clone();
    model.as_str().expect("a model").to_owned()
}

#[tokio::test]
async fn trainings_name_classes_by_the_positive_value_in_every_form() {
    let service = Service::start().await;
    let points = "{\"x\":\"10\",\"y\":\"a\"}\n{\"x\":\"01\",\"y\":\"b\"}\n";
    let labelled = r#"{"labelled":{"examples":[{"x":"10","y":"a"},{"x":"01","y":"b"}]}}"#;
    for (media_type, body) in [(NDJSON, points), ("application/json", labelled)] {
        let model = model_of(trained(&service, "&positive=a", media_type, body).await);
        let path = format!("/v1/models/{model}");
        let model = service.get(&path).await.expect(200).json();
        assert_eq!(model["classes"], json!(["b", "a"]));
        let answer = trained(&service, "&positive=c", media_type, body).await;
        assert_eq!(answer.problem(422), "table-option");
    }
    for (query, media_type, body) in [
        ("&kinds=1:nominal", LIBSVM, "1 1:1\n-1 2:1\n"),
        ("&missing=drop", NDJSON, "{\"x\":\"10\",\"y\":1}\n"),
        ("&n=2&labels=appended&positive=0", OCTETS, "\u{20}"),
    ] {
        let answer = trained(&service, query, media_type, body).await;
        assert_eq!(answer.problem(400), "bad-option", "{query}");
    }
    // A warm start from a model without names knows no value that no label has.
    let plain = model_of(trained(&service, "", LIBSVM, "1 1:1\n-1 2:1\n").await);
    let query = format!("&warm_start={plain}&positive=nope");
    let answer = trained(&service, &query, CSV, "y,a,b\nfoo,1,0\nbar,0,1\n").await;
    assert_eq!(answer.problem(422), "table-option");
    let detail = answer.json()["detail"].to_string();
    assert!(detail.contains("`foo` (1), `bar` (1)"), "{detail}");
}

#[tokio::test]
async fn evaluations_refuse_examples_without_labels_if_classes_have_names() {
    let service = Service::start().await;
    let table = "y,a,b\nyes,1,0\nno,0,1\n";
    let named = model_of(trained(&service, "", CSV, table).await);
    let plain = model_of(trained(&service, "", LIBSVM, "1 1:1\n-1 2:1\n").await);
    let evaluate = async |model: &str, query: &str, media_type: &str, body: &str| {
        let path = format!("/v1/models/{model}/evaluate{query}");
        service.post_as(&path, media_type, body.to_owned()).await
    };
    let line = evaluate(&named, "", NDJSON, "{\"x\":\"10\"}\n").await;
    assert_eq!(line.problem(400), "bad-label");
    assert_eq!(line.json()["errors"][0]["line"], 1);
    for (query, media_type, body) in [
        ("?labels=none", CSV, "a,b\n1,0\n"),
        ("?labels=none", LIBSVM, "1:1\n"),
        ("", OCTETS, "@"),
    ] {
        let answer = evaluate(&named, query, media_type, body).await;
        assert_eq!(answer.problem(400), "bad-option", "{media_type}");
        evaluate(&plain, query, media_type, body).await.expect(200);
    }
    let half_space = json!({"half_space": {"examples": ["10"]}}).to_string();
    let answer = evaluate(&named, "", "application/json", &half_space).await;
    assert_eq!(answer.problem(400), "bad-label");
    let answer = service
        .post_as("/v1/datasets", NDJSON, "10\n".to_owned())
        .await;
    let dataset = json!({"dataset": answer.expect(201).id()});
    let answer = evaluate(&named, "", "application/json", &dataset.to_string()).await;
    assert_eq!(answer.problem(422), "wrong-data");
    let job = json!({"evaluate": {"model": named, "data": dataset}});
    assert_eq!(
        service.post_json("/v1/jobs", &job).await.problem(422),
        "wrong-data"
    );
}

#[tokio::test]
async fn an_encoding_gives_its_n_to_every_body() {
    let service = Service::start().await;
    let model = model_of(trained(&service, "", LIBSVM, "1 1:1\n2 3:1\n").await);
    let table = model_of(trained(&service, "", CSV, "y,a,b,c\n1,1,0,0\n2,0,0,1\n").await);
    let store = async |query: &str, media_type: &str, body: &str| {
        let path = format!("/v1/datasets?{query}");
        service.post_as(&path, media_type, body.to_owned()).await
    };
    for encoding in [&model, &table] {
        let query = format!("encoding={encoding}");
        let stored = store(&query, LIBSVM, "2 1:1\n").await.expect(201).json();
        assert_eq!(
            (&stored["n"], &stored["class_examples"]),
            (&json!(3), &json!([0, 1]))
        );
        let stored = store(&query, OCTETS, "@\u{20}").await.expect(201).json();
        assert_eq!((&stored["n"], &stored["examples"]), (&json!(3), &json!(2)));
        let short = "{\"x\":\"10\",\"y\":1}\n";
        assert_eq!(
            store(&query, NDJSON, short).await.problem(400),
            "wrong-shape"
        );
        let answer = store(&format!("{query}&n=4"), LIBSVM, "2 1:1\n").await;
        assert_eq!(answer.problem(422), "wrong-data");
        let trained = trained(&service, &format!("&{query}"), LIBSVM, "2 1:1\n1 2:1\n").await;
        let trained: Value = trained.expect(200).json();
        assert_eq!(trained["result"]["hypothesis"]["n"], 3, "{trained}");
    }
}

#[tokio::test]
async fn exports_in_csv_quote_class_names_with_line_breaks() {
    let service = Service::start().await;
    let rows = json!([{"a": 1, "b": 0, "y": "one\ntwo"}, {"a": 0, "b": 1, "y": "three"}]);
    let upload = json!({"data": {"rows": rows}});
    let upload = service.post_json("/v1/datasets", &upload).await.expect(201);
    let path = format!("/v1/datasets/{}/examples", upload.id());
    let asked = request("GET", &path, &[("accept", CSV)], "");
    let text = service.send(asked).await.expect(200).text().to_owned();
    let again = service.post_as("/v1/datasets", CSV, text.clone()).await;
    assert_eq!(
        again.expect(201).json()["sha256"],
        upload.json()["sha256"],
        "{text}"
    );
}
