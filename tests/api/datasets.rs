//! `/v1/datasets`: store, list, read back, delete; and jobs that read datasets.

use serde_json::{Value, json};

use crate::service::{Answer, Service, long_job, request};

const NDJSON: &str = "application/x-ndjson";
const LIBSVM: &str = "text/x-libsvm";
const CSV: &str = "text/csv";
const JSON: &str = "application/json";

/// The same five labelled examples in every format: media type, query, body. The last example repeats the
/// first, and the fourth contradicts the second.
pub(super) const SAME: [(&str, &str, &str); 6] = [
    (
        LIBSVM,
        "",
        "1 1:1 3:1\n-1 2:1\n1 1:1 2:1 3:1\n1 2:1\n1 1:1 3:1\n",
    ),
    (
        CSV,
        "labels=first",
        "1,1,0,1\n0,0,1,0\n1,1,1,1\n1,0,1,0\n1,1,0,1\n",
    ),
    (
        CSV,
        "labels=class&header=true",
        "a,b,c,class\n1,0,1,1\n0,1,0,0\n1,1,1,1\n0,1,0,1\n1,0,1,1\n",
    ),
    (
        NDJSON,
        "n=3",
        "{\"x\":\"101\",\"y\":1}\n{\"x\":[0,1,0],\"y\":-1}\n{\"y\":1,\"x\":\"111\"}\n\
         {\"x\":\"010\",\"y\":1}\n{\"x\":\"101\",\"y\":1}\n",
    ),
    (
        JSON,
        "",
        r#"{"name": null, "data": {"labelled": {"examples": [{"x": "101", "y": 1},
            {"x": "010", "y": 0}, {"x": [1, 1, 1], "y": 1}, {"x": "010", "y": 1},
            {"x": "101", "y": 1}]}}}"#,
    ),
    // Rows 101, 010, 111, 010, 101 and labels 10111, most significant bit first.
    (
        JSON,
        "",
        r#"{"data": {"packed": {"n": 3, "rows": "oEDgQKA=", "labels": "uA=="}}}"#,
    ),
];

/// Four labelled examples that a hyperplane separates.
const SEPARABLE: &str = r#"{"labelled": {"examples": [{"x": "111", "y": 1}, {"x": "110", "y": 1},
    {"x": "001", "y": -1}, {"x": "000", "y": -1}]}}"#;

async fn store(service: &Service, media_type: &str, query: &str, body: &str) -> Answer {
    let path = format!("/v1/datasets?{query}");
    service.post_as(&path, media_type, body.to_owned()).await
}

async fn stored(service: &Service, data: &Value) -> String {
    let answer = service
        .post_json("/v1/datasets", &json!({"data": data}))
        .await;
    answer.expect(201).id()
}

fn separable() -> Value {
    serde_json::from_str(SEPARABLE).unwrap()
}

fn train(learner: &str, data: &Value) -> Value {
    json!({"train": {"learner": {"name": learner}, "data": data, "seed": 5}})
}

fn by_id(id: &str) -> Value {
    json!({"dataset": id})
}

#[tokio::test]
async fn equal_data_in_every_format_are_described_alike() {
    let service = Service::start().await;
    let mut seen: Option<Value> = None;
    for (media_type, query, body) in SAME {
        let answer = store(&service, media_type, query, body).await.expect(201);
        let mut dataset = answer.json();
        let path = format!("/v1/datasets/{}", answer.id());
        assert_eq!(answer.header("location"), Some(path.as_str()));
        assert_eq!(service.get(&path).await.expect(200).json(), dataset);
        let names = if query.contains("class") {
            json!(["a", "b", "c"])
        } else {
            Value::Null
        };
        assert_eq!(dataset["features"], names);
        let first_index = (media_type == LIBSVM).then_some(1);
        assert_eq!(dataset["first_index"], json!(first_index));
        for own in [
            "id",
            "created_at",
            "features",
            "first_index",
            "table",
            "encoding_sha256",
        ] {
            dataset.as_object_mut().unwrap().remove(own);
        }
        let same = seen.get_or_insert_with(|| dataset.clone());
        assert_eq!(*same, dataset, "{media_type} {query}");
    }
    let described = seen.unwrap();
    for (field, value) in [
        ("n", json!(3)),
        ("kind", json!("labelled")),
        ("values", json!("boolean")),
        ("zero_bit_value", json!(0)),
        ("examples", json!(5)),
        ("class_examples", json!([1, 4])),
        ("duplicates", json!(1)),
        ("contradictions", json!(1)),
        ("classes", Value::Null),
        ("assume", Value::Null),
    ] {
        assert_eq!(described[field], value, "{field}");
    }
    // A job over the same data has the same digest.
    let data = json!({"packed": {"n": 3, "rows": "oEDgQKA=", "labels": "uA=="}});
    let job = service.run(&train("pocket", &data)).await;
    assert_eq!(job["data_sha256"], described["sha256"]);
    assert_eq!(job["dataset"], Value::Null);
}

#[tokio::test]
async fn datasets_of_every_kind_describe_their_data() {
    let service = Service::start().await;
    let cases = [
        (
            json!({"half_space": {"examples": [[-1, 1], [1, 1]], "assume": "reflected"}}),
            json!({"kind": "half-space", "values": "boolean", "zero_bit_value": -1, "n": 2,
                "assume": "reflected", "class_examples": [0, 2], "contradictions": null}),
        ),
        (
            json!({"unlabelled": {"examples": ["10", "10", "10"]}}),
            json!({"kind": "unlabelled", "class_examples": null, "duplicates": 2,
                "contradictions": null}),
        ),
        (
            json!({"labelled": {"examples": [{"x": [0.5, -1], "y": 1}, {"x": [1, 0], "y": -1}]}}),
            json!({"kind": "labelled", "values": "real", "zero_bit_value": null, "duplicates": 0,
                "contradictions": 0}),
        ),
    ];
    for (data, expected) in cases {
        let body = json!({"name": "a name", "data": data});
        let answer = service.post_json("/v1/datasets", &body).await.expect(201);
        let dataset = answer.json();
        assert_eq!(dataset["name"], "a name");
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&dataset[field], value, "{field} of {data}");
        }
    }
}

#[tokio::test]
async fn datasets_are_listed_newest_first() {
    let service = Service::start().await;
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        let query = format!("name={name}&header=true");
        let answer = store(&service, CSV, &query, "y,a,b\n1,0,1\n").await;
        ids.insert(0, answer.expect(201).id());
    }
    let page = service.get("/v1/datasets?limit=2").await.expect(200).json();
    let listed = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed(&page), ids[..2]);
    assert_eq!(page["items"][0]["name"], "three");
    // Lists omit feature names, which can be long.
    assert!(page["items"][0].get("features").is_none());
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = service.get(&format!("/v1/datasets?cursor={cursor}")).await;
    assert_eq!(listed(&rest.expect(200).json()), ids[2..]);
}

/// The job without the members that may differ between two runs.
fn without_own(job: &Value) -> Value {
    let mut job = job.clone();
    for own in ["id", "created_at", "started_at", "finished_at", "dataset"] {
        job.as_object_mut().unwrap().remove(own);
    }
    // Rows inside a request are no part of the request in the answer.
    if let Some(training) = job["request"]["train"].as_object_mut() {
        training.remove("data");
    }
    let result = job["result"].as_object_mut().unwrap();
    result.remove("model");
    result.remove("seconds");
    job
}

#[tokio::test]
async fn training_on_a_dataset_id_equals_training_on_its_data() {
    training_by_id(&Service::start().await).await;
    // This service reads even small data block by block.
    training_by_id(&Service::with(&["--resident-bytes-max", "1"]).await).await;
}

async fn training_by_id(service: &Service) {
    let real = json!({"labelled": {"examples": [{"x": [0.5, -1.25], "y": 1},
        {"x": [-0.5, 2], "y": -1}, {"x": [3, 0.25], "y": 1}]}});
    let drawn = json!({"half_space": {"assume": "uniform-positive",
        "examples": (0..200_u32).map(|row| {
            let bits = format!("{:011b}", row.wrapping_mul(2_654_435_761) >> 21);
            let ones = bits.matches('1').count();
            if ones > 5 { bits } else { bits.replace('1', "_").replace('0', "1").replace('_', "0") }
        }).collect::<Vec<_>>()}});
    let signed = json!({"labelled": {"examples": [{"x": [-1, 1, 1], "y": 1},
        {"x": [1, -1, -1], "y": 0}]}});
    for (learner, data) in [
        ("perceptron", separable()),
        ("pocket", separable()),
        ("perceptron", real),
        ("directed-drift", drawn),
        ("perceptron", signed),
    ] {
        let id = stored(service, &data).await;
        let inline = service.run(&train(learner, &data)).await;
        let named = service.run(&train(learner, &by_id(&id))).await;
        assert_eq!(inline["status"], "succeeded", "{inline}");
        assert_eq!(named["dataset"], id.as_str());
        assert_eq!(without_own(&inline), without_own(&named), "{learner}");
        // A background job reads its stored data.
        let path = service.submit(&train(learner, &by_id(&id))).await;
        let queued = service.until_status(&path, "succeeded").await;
        assert_eq!(without_own(&inline), without_own(&queued), "{learner}");
        let path = format!("/v1/learners/{learner}/train?seed=5");
        let posted = service.post_json(&path, &by_id(&id)).await.expect(200);
        assert_eq!(
            without_own(&inline),
            without_own(&posted.json()),
            "{learner}"
        );
        service
            .delete(&format!("/v1/datasets/{id}"))
            .await
            .expect(204);
    }
}

/// A client may declare data as fresh when it stores the data or when it uses them.
#[tokio::test]
async fn a_declaration_comes_with_the_dataset_or_with_the_request() {
    let service = Service::start().await;
    // The positive rows of five bits in rotation, so that each row is as frequent as in uniform data.
    let rows = (0..32_u32).filter(|row| row.count_ones() > 2);
    let rows: Vec<String> = rows.map(|row| format!("{row:05b}")).collect();
    let rows: Vec<_> = (0..300).map(|at| &rows[at * 7 % 16]).collect();
    let examples = json!({"half_space": {"examples": rows}});
    let mut fresh = examples.clone();
    fresh["half_space"]["assume"] = json!("uniform-positive");
    let confidence = async |id: &str, query: &str| {
        let path = format!("/v1/learners/directed-drift/train?seed=1&{query}");
        let job = service
            .post_json(&path, &by_id(id))
            .await
            .expect(200)
            .json();
        job["result"]["termination"]["confidence"].clone()
    };
    let plain = stored(&service, &examples).await;
    let fresh = stored(&service, &fresh).await;
    assert_eq!(confidence(&plain, "").await, Value::Null);
    assert_eq!(confidence(&fresh, "").await, json!(0.99));
    assert_eq!(
        confidence(&plain, "assume=uniform-positive").await,
        json!(0.99)
    );
    let path = "/v1/learners/directed-drift/train?assume=uniform";
    let answer = service.post_json(path, &by_id(&plain)).await;
    assert_eq!(answer.problem(422), "wrong-stop");
}

#[tokio::test]
async fn predictions_of_a_dataset_id_equal_those_of_its_data() {
    let service = Service::start().await;
    let real = json!({"labelled": {"examples": [{"x": [0.5, -1.25], "y": 1},
        {"x": [-0.5, 2], "y": -1}]}});
    for (data, examples) in [
        (
            separable(),
            json!({"unlabelled": {"examples": ["101", "010"]}}),
        ),
        (real.clone(), real.clone()),
        // A model of real weights reads bits as the values that were sent.
        (real, json!({"half_space": {"examples": [[-1, 1], [1, 1]]}})),
    ] {
        let job = service.run(&train("perceptron", &data)).await;
        let model = job["result"]["model"].as_str().unwrap();
        let path = format!("/v1/models/{model}/predict");
        let id = stored(&service, &examples).await;
        let inline = service.post_json(&path, &examples).await.expect(200);
        let named = service.post_json(&path, &by_id(&id)).await.expect(200);
        assert_eq!(inline.json(), named.json());
        let unknown = by_id(&id.replace("ds_0", "ds_f"));
        let answer = service.post_json(&path, &unknown).await;
        assert_eq!(answer.problem(422), "unknown-dataset");
        assert_eq!(answer.json()["errors"][0]["pointer"], "/dataset");
        let wide = stored(&service, &json!({"unlabelled": {"examples": ["10101"]}})).await;
        let answer = service.post_json(&path, &by_id(&wide)).await;
        assert_eq!(answer.problem(422), "wrong-data");
    }
}

#[tokio::test]
async fn a_dataset_in_use_is_not_deleted() {
    let service = Service::with(&["--workers", "1"]).await;
    // The long job occupies the only worker.
    let busy = service.submit(&long_job(1)).await;
    service.until_status(&busy, "running").await;
    let id = stored(&service, &separable()).await;
    let path = format!("/v1/datasets/{id}");
    let job = service.submit(&train("perceptron", &by_id(&id))).await;
    let refused = service.delete(&path).await;
    assert_eq!(refused.problem(409), "wrong-state");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    let job_id = job.rsplit('/').next().unwrap();
    assert!(
        detail.contains(job_id) && detail.contains("cancel"),
        "{detail}"
    );
    service.get(&path).await.expect(200);
    service.post(&format!("{job}/cancel")).await.expect(202);
    service.delete(&path).await.expect(204);
    assert_eq!(service.get(&path).await.problem(404), "not-found");
    assert_eq!(service.delete(&path).await.problem(404), "not-found");
    let examples = service.get(&format!("{path}/examples")).await;
    assert_eq!(examples.problem(404), "not-found");
    service.post(&format!("{busy}/cancel")).await.expect(202);
    // The deleted dataset still appears in the job's document, but new requests cannot read it.
    let ended = service.get(&job).await.expect(200).json();
    assert_eq!(ended["dataset"], id.as_str());
    for (path, body, pointer) in [
        (
            "/v1/jobs",
            train("perceptron", &by_id(&id)),
            "/train/data/dataset",
        ),
        ("/v1/learners/perceptron/train", by_id(&id), "/dataset"),
    ] {
        let answer = service.post_json(path, &body).await;
        assert_eq!(answer.problem(422), "unknown-dataset");
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer);
    }
}

async fn examples(service: &Service, id: &str, query: &str, accept: &str) -> Answer {
    let path = format!("/v1/datasets/{id}/examples?{query}");
    service
        .send(request("GET", &path, &[("accept", accept)], ""))
        .await
}

#[tokio::test]
async fn dataset_examples_are_read_by_range() {
    let service = Service::start().await;
    let lines: Vec<String> = (0..150)
        .map(|row| format!("{{\"x\":\"{:08b}\",\"y\":{}}}\n", row, 1 - 2 * (row % 2)))
        .collect();
    let answer = store(&service, NDJSON, "", &lines.concat())
        .await
        .expect(201);
    let id = answer.id();
    let page = async |query: &str| examples(&service, &id, query, NDJSON).await.expect(200);
    for (query, range) in [
        ("", 0..100),
        ("limit=1", 0..1),
        ("offset=63&limit=2", 63..65),
        ("offset=10&limit=120", 10..130),
        ("offset=149&limit=10000", 149..150),
        ("offset=150", 150..150),
        ("offset=18446744073709551615", 0..0),
    ] {
        assert_eq!(page(query).await.text(), lines[range].concat(), "{query}");
    }
    let answer = examples(&service, &id, "offset=148&limit=1", JSON)
        .await
        .expect(200);
    assert_eq!(
        answer.json(),
        json!({"items": [{"x": "10010100", "y": 1}], "next_offset": 149})
    );
    let last = service
        .get(&format!("/v1/datasets/{id}/examples?offset=60"))
        .await;
    let last = last.expect(200).json();
    assert_eq!(last["items"].as_array().unwrap().len(), 90);
    assert_eq!(last["next_offset"], Value::Null);
}

#[tokio::test]
async fn dataset_examples_read_back_are_the_same_data() {
    let service = Service::start().await;
    let real = "{\"x\":[0.5,0,-1e300],\"y\":1}\n{\"x\":[1,0.1,0],\"y\":-1}\n";
    let signed = "{\"x\":[-1,1,1]}\n{\"x\":[1,1,-1]}\n";
    let bits = "\"0000\"\n\"1000\"\n";
    for (body, back) in [
        (real, "&labels=first"),
        (signed, "&labels=none"),
        (bits, "&labels=none"),
    ] {
        let first = store(&service, NDJSON, "", body).await.expect(201);
        let dataset = first.json();
        let n = &dataset["n"];
        for (media_type, query) in [
            (NDJSON, format!("n={n}")),
            (CSV, format!("n={n}{back}")),
            (
                LIBSVM,
                format!("n={n}{}", back.replace("&labels=first", "")),
            ),
        ] {
            let page = examples(&service, &first.id(), "", media_type)
                .await
                .expect(200);
            assert_eq!(page.header("content-type"), Some(media_type));
            let again = store(&service, media_type, &query, page.text()).await;
            let again = again.expect(201).json();
            assert_eq!(again["sha256"], dataset["sha256"], "{media_type} {body}");
        }
    }
}

#[tokio::test]
async fn pages_of_dataset_examples_are_bounded() {
    let service = Service::start().await;
    let row = format!("{{\"x\":\"{}\"}}\n", "10".repeat(100_000));
    let answer = store(&service, NDJSON, "", &row.repeat(100))
        .await
        .expect(201);
    let id = answer.id();
    let answer = examples(&service, &id, "", NDJSON).await;
    assert_eq!(answer.problem(422), "answer-too-long");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("answer_bytes_max"), "{detail}");
    // The number of values is within the limit, but CSV takes two characters per value.
    let answer = examples(&service, &id, "limit=80", CSV).await;
    assert_eq!(answer.problem(422), "answer-too-long");
    let page = examples(&service, &id, "limit=80", NDJSON)
        .await
        .expect(200);
    assert_eq!(page.text(), row.repeat(80));
    for (query, accept, status, code) in [
        ("limit=0", JSON, 400, "invalid-parameter"),
        ("limit=10001", JSON, 400, "invalid-parameter"),
        ("offset=-1", JSON, 400, "invalid-parameter"),
        ("from=1", JSON, 400, "invalid-parameter"),
        ("", "image/png", 406, "not-acceptable"),
    ] {
        let answer = examples(&service, &id, query, accept).await;
        assert_eq!(answer.problem(status), code, "{query} {accept}");
    }
}

#[tokio::test]
async fn bad_datasets_are_refused_and_nothing_is_stored() {
    let service = Service::start().await;
    let generated = r#"{"data": {"generated": {"n": 3, "target": {"parity": {}},
        "sampling": "uniform"}}}"#;
    let long = "x".repeat(257);
    let long_json = format!(r#"{{"name": "{long}", "data": {SEPARABLE}}}"#);
    let cases: [(&str, &str, &str, u16, &str); 20] = [
        (JSON, "", SEPARABLE, 400, "schema"),
        (JSON, "", "{}", 400, "schema"),
        (
            JSON,
            "",
            r#"{"data": {"labelled": {"examples": []}}}"#,
            400,
            "empty-data",
        ),
        (
            JSON,
            "",
            r#"{"data": {"dataset": "ds_x"}}"#,
            422,
            "wrong-data",
        ),
        (JSON, "", generated, 422, "wrong-data"),
        (
            JSON,
            "",
            r#"{"data": {"unlabelled": {"examples": ["1"]}}, "seed": 5}"#,
            422,
            "wrong-data",
        ),
        (JSON, "", &long_json, 400, "out-of-range"),
        (
            JSON,
            "name=x",
            r#"{"data": {"unlabelled": {"examples": ["1"]}}}"#,
            400,
            "invalid-parameter",
        ),
        (
            JSON,
            "",
            r#"{"data": {"unlabelled": {"examples": ["1"], "assume": "uniform"}}}"#,
            400,
            "out-of-range",
        ),
        (NDJSON, "", "\"10\"\n\"1\"\n", 400, "wrong-shape"),
        (NDJSON, "", "", 400, "empty-data"),
        (NDJSON, "assume=uniform", "\"10\"\n", 400, "bad-option"),
        (
            NDJSON,
            "assume=reflected",
            "{\"x\":\"1\",\"y\":1}\n",
            400,
            "bad-option",
        ),
        (NDJSON, "assume=never", "\"10\"\n", 400, "invalid-parameter"),
        (CSV, "n=x", "1,1\n", 400, "invalid-parameter"),
        (CSV, "colour=red", "1,1\n", 400, "invalid-parameter"),
        (CSV, "name=a&name=b", "1,1\n", 400, "invalid-parameter"),
        (LIBSVM, "n=2", "1 3:1\n", 400, "bad-index"),
        (
            LIBSVM,
            &format!("name={long}"),
            "1 3:1\n",
            400,
            "out-of-range",
        ),
        ("text/plain", "", "10", 415, "unsupported-media-type"),
    ];
    for (media_type, query, body, status, code) in cases {
        let answer = store(&service, media_type, query, body).await;
        assert_eq!(answer.problem(status), code, "{media_type} {query} {body}");
    }
    let list = service.get("/v1/datasets").await.expect(200).json();
    assert_eq!(list["items"], json!([]));
    // A malformed id names no dataset on any route.
    for id in ["", "ds_", "job_018bcfe5680070003333333333333333", "DS_1"] {
        let answer = service
            .post_json("/v1/jobs", &train("perceptron", &by_id(id)))
            .await;
        assert_eq!(answer.problem(422), "unknown-dataset", "{id}");
    }
    let query = "/v1/learners/perceptron/train?n=3";
    let answer = service.post_json(query, &by_id("ds_x")).await;
    assert_eq!(answer.problem(400), "bad-option");
    assert_eq!(
        service.get("/v1/datasets/ds_x").await.problem(404),
        "not-found"
    );
}

#[tokio::test]
async fn generated_data_are_stored_as_a_job_of_that_seed_draws_them() {
    let service = Service::start().await;
    let plan = json!({"generated": {"n": 12, "target": {"disjunction": {"size": 2}},
        "sampling": "uniform", "density": 0.3, "count": 500}});
    let body = json!({"name": "drawn", "data": plan, "seed": 11}).to_string();
    let dataset = service
        .post_as("/v1/datasets", JSON, body)
        .await
        .expect(201)
        .json();
    assert_eq!(dataset["examples"], 500);
    let mut results = Vec::new();
    for data in [json!({"dataset": dataset["id"]}), plan] {
        let job = json!({"train": {"learner": {"name": "winnow"}, "data": data, "seed": 11}});
        let result = service.run(&job).await["result"].clone();
        results.push((result["mistakes"].clone(), result["hypothesis"].clone()));
    }
    assert_eq!(results[0], results[1]);
}

#[tokio::test]
async fn declared_dataset_can_be_used_in_a_version_space_job() {
    let service = Service::start().await;
    let body = json!({"data": {"half_space": {"examples": ["111", "110", "101"],
        "assume": "uniform-positive"}}});
    let answer = service
        .post_as("/v1/datasets", JSON, body.to_string())
        .await;
    let id = answer.expect(201).json()["id"].clone();
    let job = json!({"version_space": {"data": {"dataset": id}}});
    assert_eq!(service.run(&job).await["result"]["count"], "1");
}
