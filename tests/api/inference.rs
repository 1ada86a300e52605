//! `/v2`: the Open Inference Protocol over models.

use serde_json::{Value, json};

use crate::service::{Answer, Service, request, short_job, train};

/// Header with the length of the JSON, after which binary tensors begin.
const JSON_LENGTH: &str = "inference-header-content-length";

async fn learnt(service: &Service, data: Value) -> String {
    let job = service
        .run(&train(json!({"name": "perceptron"}), data))
        .await;
    job["result"]["model"].as_str().unwrap().to_owned()
}

/// A model of Boolean data with n = 3.
async fn boolean(service: &Service) -> String {
    let job = service.run(&short_job()).await;
    job["result"]["model"].as_str().unwrap().to_owned()
}

/// A model of real data with n = 2.
async fn real(service: &Service) -> String {
    let data = json!({"labelled": {"examples": [
        {"x": [0.5, -1.25], "y": 1}, {"x": [-0.5, 2], "y": -1}, {"x": [3, 0.25], "y": 1}]}});
    learnt(service, data).await
}

fn infer_path(model: &str) -> String {
    format!("/v2/models/{model}/infer")
}

/// A request with one tensor of four examples: all combinations of the last two of three features.
fn corners() -> Value {
    json!({"id": "a", "inputs": [{"name": "x", "shape": [4, 3], "datatype": "UINT8",
        "data": [0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1]}]})
}

/// Sets the value at `pointer` in `corners`, or removes it.
fn spoilt(pointer: &str, value: Option<Value>) -> Value {
    let mut body = corners();
    let (above, name) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(above).unwrap();
    match (parent, value) {
        (Value::Object(members), None) => {
            members.remove(name);
        }
        (parent, Some(value)) => parent[name] = value,
        _ => panic!("nothing to take away at {pointer}"),
    }
    body
}

/// Predictions of the model's own route: the expected values of both tensors.
async fn predicted(service: &Service, model: &str, examples: Value) -> (Value, Value) {
    let body = json!({"unlabelled": {"examples": examples}});
    let path = format!("/v1/models/{model}/predict");
    let answer = service.post_json(&path, &body).await.expect(200).json();
    let scores = answer["scores"].as_array().unwrap().iter();
    let texts = scores.map(|score| json!(score.to_string()));
    (answer["predictions"].clone(), texts.collect())
}

fn tensor<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let outputs = answer["outputs"].as_array().unwrap();
    outputs
        .iter()
        .find(|tensor| tensor["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {answer}"))
}

#[tokio::test]
async fn inference_metadata_describes_server_and_models() {
    let service = Service::start().await;
    let model = boolean(&service).await;
    let server = service.get("/v2").await.expect(200).json();
    assert_eq!(server["name"], "halfspace");
    assert_eq!(server["extensions"], json!(["binary_tensor_data"]));
    let live = service.get("/v2/health/live").await.expect(200).json();
    assert_eq!(live, json!({"live": true}));
    let ready = service.get("/v2/health/ready").await.expect(200).json();
    assert_eq!(ready, json!({"live": true, "ready": true}));
    for version in ["", "/versions/1"] {
        let path = format!("/v2/models/{model}{version}");
        let metadata = service.get(&path).await.expect(200).json();
        let expected = json!({"name": model, "versions": ["1"], "platform": "halfspace",
            "inputs": [{"name": "x", "datatype": "BOOL", "shape": [-1, 3]}],
            "outputs": [{"name": "prediction", "datatype": "INT8", "shape": [-1]},
                {"name": "score", "datatype": "BYTES", "shape": [-1]}]});
        assert_eq!(metadata, expected);
        let ready = service.get(&format!("{path}/ready")).await.expect(200);
        assert_eq!(ready.json(), json!({"name": model, "ready": true}));
    }
    let model = real(&service).await;
    let metadata = service.get(&format!("/v2/models/{model}")).await.json();
    let expected = json!([{"name": "x", "datatype": "FP64", "shape": [-1, 2]}]);
    assert_eq!(metadata["inputs"], expected);
}

#[tokio::test]
async fn inference_readiness_fails_while_the_service_stops() {
    let service = Service::start().await;
    service.stop().await;
    let answer = service.get("/v2/health/ready").await;
    assert_eq!(answer.json()["error"], answer.json()["detail"]);
    assert_eq!(answer.problem(503), "stopping");
    service.get("/v2/health/live").await.expect(200);
}

#[tokio::test]
async fn inference_accepts_every_encoding_of_a_tensor() {
    let service = Service::start().await;
    let model = boolean(&service).await;
    let bits = json!(["000", "001", "010", "111"]);
    let (predictions, scores) = predicted(&service, &model, bits).await;
    let truths = json!([
        false, false, false, false, false, true, false, true, false, true, true, true
    ]);
    let signs = json!([-1, -1, -1, -1, -1, 1, -1, 1, -1, 1, 1, 1]);
    let nested = json!([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 1]]);
    let flat = corners()["inputs"][0]["data"].clone();
    let mut ways = vec![("BOOL", truths), ("BOOL", nested.clone())];
    for datatype in [
        "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP32",
        "FP64",
    ] {
        ways.push((datatype, flat.clone()));
    }
    ways.extend(["INT8", "INT64", "FP32", "FP64"].map(|datatype| (datatype, signs.clone())));
    ways.push(("FP64", nested));
    for (datatype, data) in ways {
        let mut body = spoilt("/inputs/0/data", Some(data.clone()));
        body["inputs"][0]["datatype"] = json!(datatype);
        for version in ["", "/versions/1"] {
            let path = format!("/v2/models/{model}{version}/infer");
            let answer = service.post_json(&path, &body).await.expect(200).json();
            assert_eq!(answer["model_name"], *model);
            assert_eq!(answer["model_version"], "1");
            assert_eq!(answer["id"], "a");
            let prediction = tensor(&answer, "prediction");
            assert_eq!(prediction["data"], predictions, "{datatype} {data}");
            assert_eq!(prediction["shape"], json!([4]));
            assert_eq!(prediction["datatype"], "INT8");
            let score = tensor(&answer, "score");
            assert_eq!(score["data"], scores, "{datatype} {data}");
            assert_eq!(score["datatype"], "BYTES");
        }
    }
}

#[tokio::test]
async fn inference_accepts_members_in_any_order() {
    let service = Service::start().await;
    let model = boolean(&service).await;
    let body = format!(
        r#"{{"inputs": [{{"data": [[true, true, true]], "datatype": "BOOL", "name": "x",
            "parameters": {{"content_type": "np"}}, "shape": [1, 3]}}], "model_name": "{model}",
            "model_version": "1", "outputs": [{{"name": "prediction"}}],
            "parameters": {{"content_type": "np"}}}}"#
    );
    let answer = service
        .post_as(&infer_path(&model), "application/json", body)
        .await
        .expect(200)
        .json();
    assert_eq!(answer["outputs"].as_array().unwrap().len(), 1);
    assert_eq!(tensor(&answer, "prediction")["data"], json!([1]));
    assert_eq!(answer.get("id"), None);
    // A single example needs no batch dimension, and a client may omit `Content-Type`.
    let body = json!({"inputs": [{"name": "x", "shape": [3], "datatype": "BOOL",
        "data": [true, true, true]}], "outputs": [{"name": "score"}, {"name": "prediction"}]});
    let request = request("POST", &infer_path(&model), &[], body.to_string());
    let answer = service.send(request).await.expect(200).json();
    assert_eq!(answer["outputs"][0]["name"], "score");
    assert_eq!(answer["outputs"][1]["data"], json!([1]));
}

#[tokio::test]
async fn inference_rounds_floats_to_their_datatype() {
    let service = Service::start().await;
    let model = real(&service).await;
    let (_, narrow) = predicted(&service, &model, json!([[f64::from(0.1_f32), 1.5]])).await;
    let (_, wide) = predicted(&service, &model, json!([[0.1, 1.5]])).await;
    assert_ne!(narrow, wide);
    for (datatype, expected) in [("FP32", narrow), ("FP64", wide)] {
        let list = json!({"inputs": [{"name": "x", "shape": [1, 2], "datatype": datatype,
            "data": [0.1, 1.5]}]});
        let answer = service.post_json(&infer_path(&model), &list).await;
        assert_eq!(
            tensor(&answer.expect(200).json(), "score")["data"],
            expected
        );
        let octets = match datatype {
            "FP32" => [0.1_f32, 1.5]
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect(),
            _ => [0.1_f64, 1.5]
                .iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<u8>>(),
        };
        let answer = binary(&service, &model, datatype, &[1, 2], &octets).await;
        assert_eq!(
            tensor(&answer.expect(200).json(), "score")["data"],
            expected
        );
    }
}

/// Sends a tensor as octets after the JSON.
async fn binary(
    service: &Service,
    model: &str,
    datatype: &str,
    shape: &[u64],
    octets: &[u8],
) -> Answer {
    let head = json!({"inputs": [{"name": "x", "shape": shape, "datatype": datatype,
        "parameters": {"binary_data_size": octets.len()}}]});
    send_binary(service, model, &head, octets).await
}

async fn send_binary(service: &Service, model: &str, head: &Value, octets: &[u8]) -> Answer {
    let head = head.to_string();
    let length = head.len().to_string();
    let body = [head.as_bytes(), octets].concat();
    let headers = [(JSON_LENGTH, length.as_str())];
    let request = request("POST", &infer_path(model), &headers, body);
    service.send(request).await
}

#[tokio::test]
async fn inference_binary_tensors_work_in_both_directions() {
    let service = Service::start().await;
    let model = boolean(&service).await;
    let corners = [0_u8, 0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1];
    let (predictions, scores) =
        predicted(&service, &model, json!(["000", "001", "010", "111"])).await;
    let widened = |bytes: usize| -> Vec<u8> {
        let wide = |bit: &u8| {
            let mut value = vec![0; bytes];
            value[0] = *bit;
            value
        };
        corners.iter().flat_map(wide).collect()
    };
    for (datatype, octets) in [
        ("BOOL", widened(1)),
        ("UINT8", widened(1)),
        ("INT16", widened(2)),
        ("UINT32", widened(4)),
        ("INT64", widened(8)),
    ] {
        let answer = binary(&service, &model, datatype, &[4, 3], &octets).await;
        let answer = answer.expect(200).json();
        assert_eq!(
            tensor(&answer, "prediction")["data"],
            predictions,
            "{datatype}"
        );
        assert_eq!(tensor(&answer, "score")["data"], scores, "{datatype}");
    }
    let head = json!({"inputs": [{"name": "x", "shape": [4, 3], "datatype": "BOOL",
        "parameters": {"binary_data_size": 12}}], "parameters": {"binary_data_output": true},
        "outputs": [{"name": "score"}, {"name": "prediction"}]});
    let answer = send_binary(&service, &model, &head, &corners)
        .await
        .expect(200);
    assert_eq!(
        answer.header("content-type"),
        Some("application/octet-stream")
    );
    let length: usize = answer.header(JSON_LENGTH).unwrap().parse().unwrap();
    let (document, octets) = answer.body.split_at(length);
    let document: Value = serde_json::from_slice(document).unwrap();
    let size = |name: &str| {
        let size = &tensor(&document, name)["parameters"]["binary_data_size"];
        usize::try_from(size.as_u64().unwrap()).unwrap()
    };
    let (texts, signs) = octets.split_at(size("score"));
    assert_eq!(signs.len(), size("prediction"));
    let found: Value = signs.iter().map(|&sign| json!(sign as i8)).collect();
    assert_eq!(found, predictions);
    assert_eq!(Value::from(texts_of(texts)), scores);
    // One output tensor may be octets and the other a list.
    let mut head = head;
    head["outputs"][0]["parameters"] = json!({"binary_data": false});
    let answer = send_binary(&service, &model, &head, &corners)
        .await
        .expect(200);
    let length: usize = answer.header(JSON_LENGTH).unwrap().parse().unwrap();
    let document: Value = serde_json::from_slice(&answer.body[..length]).unwrap();
    assert_eq!(tensor(&document, "score")["data"], scores);
    assert_eq!(answer.body.len() - length, 4);
}

/// Elements of a BYTES tensor.
fn texts_of(mut octets: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some((length, rest)) = octets.split_first_chunk::<4>() {
        let (text, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        texts.push(String::from_utf8(text.to_vec()).unwrap());
        octets = rest;
    }
    texts
}

/// A name, the pointer and the value to set there, and the expected status, code and pointer.
type Case = (
    &'static str,
    &'static str,
    Option<Value>,
    u16,
    &'static str,
    &'static str,
);

fn bad_requests() -> Vec<Case> {
    let long = "x".repeat(300);
    vec![
        ("no inputs", "/inputs", None, 400, "schema", ""),
        (
            "an empty list",
            "/inputs",
            Some(json!([])),
            400,
            "schema",
            "/inputs",
        ),
        (
            "an unknown member",
            "/colour",
            Some(json!(1)),
            400,
            "schema",
            "/colour",
        ),
        (
            "a long id",
            "/id",
            Some(json!(long)),
            400,
            "out-of-range",
            "/id",
        ),
        (
            "an id that is a number",
            "/id",
            Some(json!(7)),
            400,
            "schema",
            "/id",
        ),
        (
            "another model",
            "/model_name",
            Some(json!("m")),
            400,
            "out-of-range",
            "/model_name",
        ),
        (
            "another version",
            "/model_version",
            Some(json!("2")),
            400,
            "schema",
            "/model_version",
        ),
        (
            "another name",
            "/inputs/0/name",
            Some(json!("y")),
            400,
            "schema",
            "/inputs/0/name",
        ),
        (
            "no name",
            "/inputs/0/name",
            None,
            400,
            "schema",
            "/inputs/0",
        ),
        (
            "no datatype",
            "/inputs/0/datatype",
            None,
            400,
            "schema",
            "/inputs/0",
        ),
        (
            "FP16",
            "/inputs/0/datatype",
            Some(json!("FP16")),
            400,
            "schema",
            "/inputs/0/datatype",
        ),
        (
            "BYTES",
            "/inputs/0/datatype",
            Some(json!("BYTES")),
            400,
            "schema",
            "/inputs/0/datatype",
        ),
        (
            "no shape",
            "/inputs/0/shape",
            None,
            400,
            "schema",
            "/inputs/0",
        ),
        (
            "a negative shape",
            "/inputs/0/shape",
            Some(json!([-1, 3])),
            400,
            "schema",
            "/inputs/0/shape/0",
        ),
        (
            "no dimension",
            "/inputs/0/shape",
            Some(json!([])),
            400,
            "out-of-range",
            "/inputs/0/shape",
        ),
        (
            "three dimensions",
            "/inputs/0/shape",
            Some(json!([4, 3, 1])),
            400,
            "out-of-range",
            "/inputs/0/shape",
        ),
        (
            "another n",
            "/inputs/0/shape",
            Some(json!([3, 4])),
            422,
            "wrong-data",
            "/inputs/0/shape",
        ),
        (
            "another n, one row",
            "/inputs/0/shape",
            Some(json!([12])),
            422,
            "wrong-data",
            "/inputs/0/shape",
        ),
        (
            "no rows",
            "/inputs/0/shape",
            Some(json!([0, 3])),
            400,
            "empty-data",
            "/inputs/0/shape",
        ),
        (
            "too many rows",
            "/inputs/0/shape",
            Some(json!([5, 3])),
            400,
            "wrong-shape",
            "/inputs/0/data",
        ),
        (
            "rows beyond counting",
            "/inputs/0/shape",
            Some(json!([u64::MAX, 3])),
            400,
            "wrong-shape",
            "/inputs/0/data",
        ),
        (
            "no data",
            "/inputs/0/data",
            None,
            400,
            "schema",
            "/inputs/0",
        ),
        (
            "null data",
            "/inputs/0/data",
            Some(Value::Null),
            400,
            "schema",
            "/inputs/0",
        ),
        (
            "data that are text",
            "/inputs/0/data",
            Some(json!("0101")),
            400,
            "schema",
            "/inputs/0/data",
        ),
        (
            "empty data",
            "/inputs/0/data",
            Some(json!([])),
            400,
            "wrong-shape",
            "/inputs/0/data",
        ),
        (
            "a part of a row",
            "/inputs/0/data",
            Some(json!([0, 1, 0, 1])),
            400,
            "wrong-shape",
            "/inputs/0/data",
        ),
        (
            "a text",
            "/inputs/0/data",
            Some(json!([0, "1", 0])),
            400,
            "schema",
            "/inputs/0/data/1",
        ),
        (
            "null",
            "/inputs/0/data",
            Some(json!([[0, 1, null]])),
            400,
            "schema",
            "/inputs/0/data/0/2",
        ),
        (
            "true in UINT8",
            "/inputs/0/data",
            Some(json!([0, 1, true])),
            400,
            "bad-value",
            "/inputs/0/data/2",
        ),
        (
            "-1 in UINT8",
            "/inputs/0/data",
            Some(json!([[0, 1, 1], [-1, 1, 1]])),
            400,
            "bad-value",
            "/inputs/0/data/1/0",
        ),
        (
            "256 in UINT8",
            "/inputs/0/data",
            Some(json!([0, 1, 256])),
            400,
            "bad-value",
            "/inputs/0/data/2",
        ),
        (
            "0.5 in UINT8",
            "/inputs/0/data",
            Some(json!([0.5, 1, 0])),
            400,
            "bad-value",
            "/inputs/0/data/0",
        ),
        (
            "2 to a Boolean model",
            "/inputs/0/data",
            Some(json!([0, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1])),
            422,
            "wrong-data",
            "/inputs/0/data/4",
        ),
        (
            "a short row",
            "/inputs/0/data",
            Some(json!([[0, 1, 1], [0, 1], [0, 1, 1], [0, 1, 1]])),
            400,
            "wrong-shape",
            "/inputs/0/data/1",
        ),
        (
            "a long row",
            "/inputs/0/data",
            Some(json!([[0, 1, 1], [0, 1, 1, 1], [0, 1, 1], [0, 1]])),
            400,
            "wrong-shape",
            "/inputs/0/data/1",
        ),
        (
            "an empty row",
            "/inputs/0/data",
            Some(json!([[], [], [], []])),
            400,
            "wrong-shape",
            "/inputs/0/data/0",
        ),
        (
            "rows too few",
            "/inputs/0/data",
            Some(json!([[0, 1, 1]])),
            400,
            "wrong-shape",
            "/inputs/0/data",
        ),
        (
            "a number among rows",
            "/inputs/0/data",
            Some(json!([[0, 1, 1], 1])),
            400,
            "wrong-shape",
            "/inputs/0/data/1",
        ),
        (
            "a row among numbers",
            "/inputs/0/data",
            Some(json!([1, [0, 1, 1]])),
            400,
            "wrong-shape",
            "/inputs/0/data/1",
        ),
        (
            "too deep",
            "/inputs/0/data",
            Some(json!([[[0, 1, 1]]])),
            400,
            "wrong-shape",
            "/inputs/0/data/0/0",
        ),
        (
            "an unknown parameter",
            "/parameters",
            Some(json!({"priority": 1})),
            400,
            "schema",
            "/parameters/priority",
        ),
        (
            "another content type",
            "/parameters",
            Some(json!({"content_type": "pd"})),
            400,
            "schema",
            "/parameters/content_type",
        ),
        (
            "a size, and data",
            "/inputs/0/parameters",
            Some(json!({"binary_data_size": 12})),
            400,
            "schema",
            "/inputs/0/data",
        ),
        (
            "an unknown output",
            "/outputs",
            Some(json!([{"name": "weights"}])),
            400,
            "schema",
            "/outputs/0/name",
        ),
        (
            "an output twice",
            "/outputs",
            Some(json!([{"name": "score"}, {"name": "score"}])),
            400,
            "schema",
            "/outputs/1/name",
        ),
    ]
}

#[tokio::test]
async fn bad_inference_requests_are_refused_at_their_pointer() {
    let service = Service::start().await;
    let model = boolean(&service).await;
    let mut faults = Vec::new();
    for (name, pointer, value, status, code, at) in bad_requests() {
        let body = spoilt(pointer, value);
        let answer = service.post_json(&infer_path(&model), &body).await;
        let problem = answer.json();
        let found = problem["errors"][0]["pointer"].as_str();
        let is_right = answer.status.as_u16() == status
            && problem["code"] == code
            && found == Some(at)
            && problem["error"] == problem["detail"];
        if !is_right {
            faults.push(format!("{name}: not {status} {code} at {at:?}: {problem}"));
        }
    }
    let two = json!({"inputs": [corners()["inputs"][0], corners()["inputs"][0]]});
    let answer = service.post_json(&infer_path(&model), &two).await;
    assert_eq!(answer.json()["errors"][0]["pointer"], "/inputs");
    assert_eq!(answer.problem(400), "schema");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn inference_refuses_numbers_outside_their_datatype() {
    let service = Service::start().await;
    let model = real(&service).await;
    let beyond = (1_u64 << 53) + 1;
    for (datatype, value) in [
        ("BOOL", json!(-1)),
        ("BOOL", json!(2)),
        ("INT8", json!(128)),
        ("INT8", json!(-129)),
        ("UINT16", json!(65_536)),
        ("INT32", json!(1.5)),
        ("INT64", json!(beyond)),
        ("UINT64", json!(beyond)),
        ("INT64", json!(-(beyond as i64))),
        ("FP32", json!(1e39)),
        ("FP64", json!(true)),
    ] {
        // The datatype may come before or after the numbers.
        for body in [
            format!(r#"{{"name":"x","shape":[2],"datatype":"{datatype}","data":[0,{value}]}}"#),
            format!(r#"{{"name":"x","shape":[2],"data":[0,{value}],"datatype":"{datatype}"}}"#),
        ] {
            let body = format!(r#"{{"inputs":[{body}]}}"#);
            let answer = service
                .post_as(&infer_path(&model), "application/json", body)
                .await;
            let pointer = answer.json()["errors"][0]["pointer"].clone();
            assert_eq!(pointer, "/inputs/0/data/1", "{datatype} {value}");
            assert_eq!(answer.problem(400), "bad-value", "{datatype} {value}");
        }
    }
    let body = r#"{"inputs":[{"name":"x","shape":[2],"datatype":"FP64","data":[0,NaN]}]}"#;
    let answer = service
        .post_as(&infer_path(&model), "application/json", body)
        .await;
    assert_eq!(answer.json()["errors"][0]["line"], 1);
    assert_eq!(answer.problem(400), "syntax");
}

#[tokio::test]
async fn inference_points_at_bad_binary_tensors() {
    let service = Service::start().await;
    let model = real(&service).await;
    let doubles = |values: &[f64]| -> Vec<u8> {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect()
    };
    let nan = binary(
        &service,
        &model,
        "FP64",
        &[1, 2],
        &doubles(&[0.0, f64::NAN]),
    )
    .await;
    let error = nan.json()["errors"][0].clone();
    assert_eq!((&error["row"], &error["column"]), (&json!(1), &json!(2)));
    assert_eq!(nan.problem(400), "bad-value");
    let large = (1_i64 << 53) + 1;
    let octets = [0, large].map(i64::to_le_bytes).concat();
    let answer = binary(&service, &model, "INT64", &[2], &octets).await;
    assert_eq!(answer.problem(400), "bad-value");
    let answer = binary(&service, &model, "BOOL", &[1, 2], &[0, 2]).await;
    assert_eq!(answer.problem(400), "bad-value");
    // The shape needs more octets than `binary_data_size` says.
    let answer = binary(&service, &model, "FP64", &[2, 2], &doubles(&[0.0, 1.0])).await;
    let pointer = answer.json()["errors"][0]["pointer"].clone();
    assert_eq!(pointer, "/inputs/0/parameters/binary_data_size");
    assert_eq!(answer.problem(400), "wrong-shape");
    // The octets that follow are fewer, or more, than `binary_data_size` says.
    let head = json!({"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64",
        "parameters": {"binary_data_size": 16}}]});
    for (values, code) in [(&[0.0][..], "truncated"), (&[0.0, 1.0, 2.0], "syntax")] {
        let answer = send_binary(&service, &model, &head, &doubles(values)).await;
        assert_eq!(answer.problem(400), code);
    }
    let with_data = json!({"inputs": [{"name": "x", "shape": [2], "datatype": "FP64",
        "data": [0, 0.5]}]});
    send_binary(&service, &model, &with_data, b"")
        .await
        .expect(200);
    let answer = send_binary(&service, &model, &with_data, b"1").await;
    assert_eq!(answer.problem(400), "syntax");
    let answer = service.post_json(&infer_path(&model), &head).await;
    assert_eq!(
        answer.json()["errors"][0]["parameter"],
        "Inference-Header-Content-Length"
    );
    assert_eq!(answer.problem(400), "invalid-parameter");
}

type Headers = Vec<(&'static str, &'static str)>;

#[tokio::test]
async fn bad_inference_headers_and_paths_are_refused() {
    let service = Service::start().await;
    let model = boolean(&service).await;
    let path = infer_path(&model);
    let body = corners().to_string();
    let length = body.len().to_string();
    let json = ("content-type", "application/json");
    let octets = ("content-type", "application/octet-stream");
    let cases: [(Headers, u16, &str); 8] = [
        (vec![json, (JSON_LENGTH, "x")], 400, "invalid-parameter"),
        (vec![json, (JSON_LENGTH, "-1")], 400, "invalid-parameter"),
        (vec![json, (JSON_LENGTH, "5")], 400, "truncated"),
        (vec![json, (JSON_LENGTH, "9999999999")], 413, "too-large"),
        (vec![octets], 400, "invalid-parameter"),
        (
            vec![("content-type", "text/csv")],
            415,
            "unsupported-media-type",
        ),
        (
            vec![("content-type", "text/plain")],
            415,
            "unsupported-media-type",
        ),
        (
            vec![json, ("content-encoding", "deflate")],
            415,
            "unsupported-media-type",
        ),
    ];
    for (headers, status, code) in cases {
        let answer = service
            .send(request("POST", &path, &headers, body.clone()))
            .await;
        assert_eq!(answer.json()["error"], answer.json()["detail"]);
        assert_eq!(answer.problem(status), code, "{headers:?}");
    }
    let headers = [octets, (JSON_LENGTH, length.as_str())];
    service
        .send(request("POST", &path, &headers, body.clone()))
        .await
        .expect(200);
    let missing = "mdl_01a1f8857c607000abcd36b85fbaafef";
    for path in [
        infer_path(missing),
        infer_path("mnist"),
        format!("/v2/models/{model}/versions/2/infer"),
        format!("/v2/models/{missing}/versions/1/infer"),
    ] {
        let answer = service.post_json(&path, &corners()).await;
        assert!(answer.json()["error"].is_string());
        assert_eq!(answer.problem(404), "not-found", "{path}");
    }
    for path in [
        format!("/v2/models/{missing}"),
        format!("/v2/models/{missing}/ready"),
        format!("/v2/models/{model}/versions/2"),
        format!("/v2/models/{model}/versions/x/ready"),
        "/v2/repository/index".to_owned(),
    ] {
        let answer = service.get(&path).await;
        assert!(answer.json()["error"].is_string());
        assert_eq!(answer.problem(404), "not-found", "{path}");
    }
    let answer = service
        .post_json(&format!("{path}?colour=1"), &corners())
        .await;
    assert_eq!(answer.problem(400), "invalid-parameter");
    // Only errors below `/v2` have the member `error`.
    assert_eq!(service.get("/v1/nothing").await.json().get("error"), None);
}
