//! `POST /v1/models/{id}/evaluate`, and the task `evaluate`.

use serde_json::{Value, json};

use crate::service::{Service, endless, short_job, train};

/// A model of `short_job`. The model computes the majority of three bits, except that 011 is negative.
async fn model(service: &Service) -> String {
    let job = service.run(&short_job()).await;
    job["result"]["model"].as_str().unwrap().to_owned()
}

fn path(model: &str) -> String {
    format!("/v1/models/{model}/evaluate")
}

/// The model is right on four examples and wrong on the third and the last.
const EXAMPLES: &str = r#"{"labelled": {"examples": [{"x": "111", "y": 1}, {"x": "000", "y": -1},
    {"x": "001", "y": 1}, {"x": "110", "y": 1}, {"x": "101", "y": 1}, {"x": "111", "y": -1}]}}"#;

fn assert_counts(result: &Value) {
    assert_eq!(result["errors"], 2, "{result}");
    assert_eq!(result["examples"], 6);
    assert_eq!(result["accuracy"], 4.0 / 6.0);
    // The rows are the labels -1 and 1, the columns the predictions -1 and 1.
    assert_eq!(result["confusion"], json!([[1, 1], [1, 3]]));
    assert_eq!(
        result["classes"],
        json!([
            {"name": "-1", "examples": 2, "predicted": 2, "correct": 1, "precision": 0.5, "recall": 0.5, "f1": 0.5},
            {"name": "1", "examples": 4, "predicted": 4, "correct": 3, "precision": 0.75, "recall": 0.75,
                "f1": 0.75},
        ])
    );
    assert_eq!(result["macro_f1"], 0.625);
    assert_eq!(result["baseline"], 4.0 / 6.0);
    assert_eq!(result["complete"], true);
    let wrong = result["wrong"].as_array().unwrap();
    let named: Vec<_> = wrong
        .iter()
        .map(|wrong| (&wrong["index"], &wrong["label"], &wrong["prediction"]))
        .collect();
    let (one, minus) = (&json!(1), &json!(-1));
    assert_eq!(named, [(&json!(2), one, minus), (&json!(5), minus, one)]);
}

#[tokio::test]
async fn evaluation_is_the_same_for_every_form_of_examples() {
    let service = Service::start().await;
    let id = model(&service).await;
    let lines = "{\"x\":\"111\",\"y\":1}\n{\"x\":\"000\",\"y\":0}\n{\"x\":\"001\",\"y\":1}\n\
        {\"x\":\"110\",\"y\":1}\n{\"x\":\"101\",\"y\":1}\n{\"x\":\"111\",\"y\":0}\n";
    let bodies = [
        ("", "application/json", EXAMPLES),
        ("", "application/x-ndjson", lines),
        (
            "",
            "text/csv",
            "1,1,1,1\n0,0,0,0\n1,0,0,1\n1,1,1,0\n1,1,0,1\n0,1,1,1\n",
        ),
        (
            "?labels=last&header=true",
            "text/csv",
            "a,b,c,y\n1,1,1,1\n0,0,0,-1\n0,0,1,1\n1,1,0,1\n1,0,1,1\n1,1,1,-1\n",
        ),
        (
            "",
            "text/x-libsvm",
            "1 1:1 2:1 3:1\n-1\n1 3:1\n1 1:1 2:1\n1 1:1 3:1\n-1 1:1 2:1 3:1\n",
        ),
    ];
    let mut seen = None;
    for (query, media_type, body) in bodies {
        let to = path(&id) + query;
        let answer = service.post_as(&to, media_type, body).await;
        let mut result = answer.expect(200).json();
        assert_counts(&result);
        let table = result.as_object_mut().unwrap().remove("table");
        assert_eq!(table.is_some(), media_type == "text/csv");
        let first = seen.get_or_insert_with(|| result.clone());
        assert_eq!(*first, result, "{media_type}");
    }
    // The scores equal those of a prediction.
    let predicted = service
        .post_as(
            &format!("/v1/models/{id}/predict"),
            "application/json",
            EXAMPLES,
        )
        .await;
    let scores = predicted.expect(200).json()["scores"].clone();
    let wrong = &seen.unwrap()["wrong"];
    assert_eq!(wrong[0]["score"], scores[2]);
    assert_eq!(wrong[1]["score"], scores[5]);
}

#[tokio::test]
async fn evaluation_as_a_job_equals_the_route() {
    let service = Service::start().await;
    let id = model(&service).await;
    let data: Value = serde_json::from_str(EXAMPLES).unwrap();
    let by_route = service
        .post_json(&path(&id), &data)
        .await
        .expect(200)
        .json();
    let job = service
        .run(&json!({"evaluate": {"model": id, "data": data}}))
        .await;
    assert_eq!(job["task"], "evaluate");
    assert_eq!(job["result"], by_route);
    assert_eq!(job["progress"]["examples"], 6);
    let stored = service
        .post_json("/v1/datasets", &json!({"data": data}))
        .await
        .expect(201)
        .json();
    let named = json!({"dataset": stored["id"]});
    let of_stored = service.post_json(&path(&id), &named).await.expect(200);
    assert_eq!(of_stored.json(), by_route);
    let job = service
        .run(&json!({"evaluate": {"model": id, "data": named}}))
        .await;
    assert_eq!(job["result"], by_route);
}

#[tokio::test]
async fn evaluation_takes_half_space_and_generated_examples() {
    let service = Service::start().await;
    let id = model(&service).await;
    let data = json!({"half_space": {"examples": ["111", "000"]}});
    let result = service
        .post_json(&path(&id), &data)
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&result["errors"], &result["examples"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(result["confusion"], json!([[0, 0], [1, 1]]));
    let drift = train(json!({"name": "directed-drift-sync"}), endless(15));
    let drift = service.run(&drift).await;
    assert_eq!(drift["result"]["target"]["recovered"], true);
    let mut data = endless(15);
    data["generated"]["count"] = json!(1000);
    let target = drift["result"]["hypothesis"]["weights"].clone();
    data["generated"]["target"]["binary_weights"] = json!({"weights": target});
    data["generated"]["sampling"] = json!("uniform");
    let task = json!({"evaluate": {"model": drift["result"]["model"], "data": data, "seed": 3}});
    let job = service.run(&task).await;
    assert_eq!(job["result"]["errors"], 0, "{job}");
    assert_eq!(job["result"]["examples"], 1000);
    assert_eq!(job["seed"], 3);
}

/// A model of real weights reads a 0 bit as the value that was sent, 0 or -1, in a job too.
#[tokio::test]
async fn evaluation_by_real_weights_distinguishes_0_from_minus_1() {
    let service = Service::start().await;
    let data = json!({"labelled": {"examples": [{"x": [0.5, -1.25], "y": 1},
        {"x": [-0.5, 2], "y": -1}, {"x": [3, 0.25], "y": 1}]}});
    let trained = service
        .run(&train(json!({"name": "perceptron"}), data))
        .await;
    let id = trained["result"]["model"].as_str().unwrap();
    for rows in [json!([[0, 1], [1, 0]]), json!([[-1, 1], [1, -1]])] {
        let examples: Vec<Value> = rows
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|x| [json!({"x": x, "y": 1}), json!({"x": x, "y": -1})])
            .collect();
        let data = json!({"labelled": {"examples": examples}});
        let by_route = service.post_json(&path(id), &data).await.expect(200).json();
        let stored = service
            .post_json("/v1/datasets", &json!({"data": data}))
            .await;
        let named = json!({"dataset": stored.expect(201).json()["id"]});
        for data in [data, named] {
            let job = json!({"evaluate": {"model": id, "data": data}});
            assert_eq!(service.run(&job).await["result"], by_route, "{rows}");
        }
    }
}

#[tokio::test]
async fn evaluation_refuses_unfit_models_and_data() {
    let service = Service::start().await;
    let id = model(&service).await;
    let missing = "mdl_00000000000070008000000000000000";
    let unlabelled = json!({"unlabelled": {"examples": ["101"]}});
    let wide = json!({"half_space": {"examples": ["1011"]}});
    let real = json!({"labelled": {"examples": [{"x": [0.5, 1, 0], "y": 1}]}});
    let mut counted = endless(3);
    counted["generated"]["count"] = json!(5);
    for (data, status, code) in [
        (&unlabelled, 422, "wrong-data"),
        (&wide, 422, "wrong-data"),
        (&real, 422, "wrong-data"),
        (&counted, 422, "wrong-data"),
        (&json!({"dataset": "ds_none"}), 422, "unknown-dataset"),
        (&json!({"labelled": {"examples": []}}), 400, "empty-data"),
        (
            &json!({"labelled": {"examples": [{"x": "101", "y": 2}]}}),
            400,
            "bad-label",
        ),
    ] {
        let answer = service.post_json(&path(&id), data).await;
        assert_eq!(answer.problem(status), code, "{data}");
    }
    for (query, media_type, body, status, code) in [
        ("?no=1", "text/csv", "1,1,1,1\n", 400, "invalid-parameter"),
        ("", "text/plain", "1,1,1,1\n", 415, "unsupported-media-type"),
        ("", "text/csv", "1,1,1\n", 422, "wrong-data"),
        ("", "text/csv", "1,1,1,1\n1,1,x,1\n", 400, "bad-value"),
    ] {
        let answer = service
            .post_as(&(path(&id) + query), media_type, body)
            .await;
        assert_eq!(answer.problem(status), code, "{query} {body}");
    }
    let answer = service.post_json(&path(missing), &wide).await;
    assert_eq!(answer.problem(404), "not-found");
    for (task, status, code, pointer) in [
        (
            json!({"model": missing, "data": wide}),
            422,
            "unknown-model",
            "/evaluate/model",
        ),
        (
            json!({"model": "mdl_1", "data": wide}),
            400,
            "schema",
            "/evaluate/model",
        ),
        (json!({"data": wide}), 400, "schema", "/evaluate"),
        (
            json!({"model": id, "data": wide}),
            422,
            "wrong-data",
            "/evaluate/data",
        ),
        (
            json!({"model": id, "data": unlabelled}),
            422,
            "wrong-data",
            "/evaluate/data",
        ),
        (
            json!({"model": id, "data": endless(3)}),
            422,
            "wrong-data",
            "/evaluate/data",
        ),
        (
            json!({"model": id, "data": real}),
            422,
            "wrong-data",
            "/evaluate/data/labelled/examples/0/x/0",
        ),
    ] {
        let answer = service
            .post_json("/v1/jobs", &json!({"evaluate": task}))
            .await;
        assert_eq!(answer.problem(status), code, "{task}");
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer, "{task}");
    }
}
