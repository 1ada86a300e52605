//! `/v1/previews`: data are read as for a dataset, and nothing is stored.

use halfspace::http::limits::Limits;
use serde_json::{Value, json};

use super::datasets::SAME;
use crate::service::contract::DOCUMENT;
use crate::service::{Service, request, until};

const CSV: &str = "text/csv";
const TSV: &str = "text/tab-separated-values";
const NDJSON: &str = "application/x-ndjson";
const LIBSVM: &str = "text/x-libsvm";
const ARFF: &str = "text/x-arff";
const JSON: &str = "application/json";

/// A table whose label column needs no name.
const TOYS: &str = "class,odor,size,wet\np,foul,2.5,yes\ne,none,1.5,no\ne,none,3.5,yes\n";

/// A header and rows with the attributes of `TOYS`.
const TOYS_ARFF: &str = "@relation toys\n@attribute odor {foul, none}\n@attribute size numeric\n\
    @attribute class {p, e}\n@data\nfoul,2.5,p\nnone,1.5,e\n";

type Asked<'a> = (&'a str, &'a str, &'a str);

async fn preview(service: &Service, (media_type, query, body): Asked<'_>) -> Value {
    let path = format!("/v1/previews?{query}");
    let answer = service.post_as(&path, media_type, body.to_owned()).await;
    answer.expect(200).json()
}

/// Previews data and uploads the same data. Both routes accept or refuse the data alike. Returns the preview, or null
/// if the data have none.
async fn agreed(service: &Service, (media_type, query, body): Asked<'_>) -> Value {
    let path = format!("/v1/datasets?{query}");
    let stored = service.post_as(&path, media_type, body.to_owned()).await;
    let path = format!("/v1/previews?{query}");
    let answer = service.post_as(&path, media_type, body.to_owned()).await;
    let said = format!("{media_type} {query} {body}: {}", answer.text());
    let (dataset, shown) = (stored.json(), answer.json());
    if answer.status != 200 {
        assert_eq!(answer.status, stored.status, "{said}");
        for member in ["code", "detail", "errors"] {
            assert_eq!(shown[member], dataset[member], "{said}");
        }
        return Value::Null;
    }
    if stored.status == 201 {
        assert_eq!(shown["refusal"], Value::Null, "{said}");
        let data = shown["data"].as_object().expect(&said);
        assert_eq!(data.len(), 15);
        for (member, value) in data {
            assert_eq!(*value, dataset[member], "{member}: {said}");
        }
        assert_eq!(shown["table"], dataset["table"], "{said}");
        return shown;
    }
    assert_eq!(
        (&shown["data"], &shown["table"]),
        (&Value::Null, &Value::Null),
        "{said}"
    );
    let refusal = shown["refusal"].as_object().expect(&said);
    assert_eq!(refusal.len(), 5);
    for (member, value) in refusal {
        assert_eq!(*value, dataset[member], "{member}: {said}");
    }
    shown
}

#[tokio::test]
async fn a_preview_is_the_dataset_that_an_upload_would_make() {
    let service = Service::start().await;
    for asked in SAME {
        let shown = agreed(&service, asked).await;
        assert_eq!(shown["data"]["examples"], 5);
        assert_eq!(shown["rows"].as_array().unwrap().len(), 5);
    }
    let semicolons = TOYS.replace(',', ";").replace('.', ",");
    let tabs = TOYS.replace(',', "\t");
    for asked in [
        (CSV, "", TOYS),
        (CSV, "name=toys&assume=uniform", TOYS),
        (CSV, "numbers=thermometer&bins=2", TOYS),
        (CSV, "decimal=,", semicolons.as_str()),
        (CSV, "kinds=odor:ignored&positive=e", TOYS),
        (CSV, "labels=none&header=false", "1,0,1\n0,1,1\n"),
        (CSV, "labels=wet&missing=drop", &TOYS.replace("1.5", "?")),
        (TSV, "", tabs.as_str()),
        (ARFF, "", TOYS_ARFF),
        (LIBSVM, "positive=3", "1 1:0.5\n2 2:1\n3 1:1\n"),
        (LIBSVM, "n=70&labels=none", "1:1 70:1\n2:1\n"),
        (
            NDJSON,
            "",
            "{\"a\": \"x\", \"y\": 1}\n{\"a\": \"z\", \"y\": 0}\n",
        ),
        (
            JSON,
            "",
            r#"{"data": {"rows": [{"a": "x", "y": 1}, {"a": null, "y": 0}]}}"#,
        ),
        (
            JSON,
            "",
            r#"{"data": {"table": {"rows": [{"a": "x", "b": 1}], "labels": "none"}}}"#,
        ),
        (
            JSON,
            "",
            r#"{"name": "n", "data": {"unlabelled": {"examples": ["10", "01"]}}}"#,
        ),
        (
            JSON,
            "",
            r#"{"seed": 7, "data": {"generated": {"n": 5, "target": {"binary_weights": {}},
            "sampling": "uniform-positive", "count": 40}}}"#,
        ),
    ] {
        assert_ne!(
            agreed(&service, asked).await["data"],
            Value::Null,
            "{asked:?}"
        );
    }
}

/// The refusal of a table and the problem of an upload are the same, and so are the problems of other data.
#[tokio::test]
async fn a_preview_refuses_what_an_upload_would_refuse() {
    let service = Service::start().await;
    let many: String = (0..300)
        .map(|row| format!("name {row},{}\n", row % 2))
        .collect();
    let many = format!("who,class\n{many}");
    for asked in [
        (CSV, "", "a,b,ill\n1,0,yes\n0,1,no\n"),
        (CSV, "labels=ill", "a,b\n1,0\n"),
        (CSV, "ignore=nothing", TOYS),
        (CSV, "kinds=odor:number", TOYS),
        (CSV, "labels=odor", "odor,a\nx,1\ny,0\nz,1\n"),
        (CSV, "positive=q", TOYS),
        (CSV, "labels=1", "a,b\n?,1\nx,0\n"),
        (CSV, "missing=refuse", "a,y\n1,1\n,0\n"),
        (CSV, "", "a,y\n1.5,1\n,0\n"),
        (CSV, "", "a;y\n1,5;1\n2,5;0\n"),
        (CSV, "", "a,y\n1,1\n1\n"),
        (CSV, "", "a,y\n1,1\n\"1,1\n"),
        (CSV, "", "a,y\n"),
        (CSV, "n=7", TOYS),
        (CSV, "", many.as_str()),
        (ARFF, "", &TOYS_ARFF.replace("2.5", "big")),
        (ARFF, "", &TOYS_ARFF.replace("foul,2", "musty,2")),
        (NDJSON, "", "{\"a\": 1, \"y\": 1}\n{\"b\": 1, \"y\": 0}\n"),
        (LIBSVM, "", "1 1:1\n2 1:1\n3 1:1\n"),
        (
            JSON,
            "",
            r#"{"data": {"rows": [{"y": 1, "a": "b"}, {"y": 0, "c": 1}]}}"#,
        ),
        (
            JSON,
            "",
            r#"{"data": {"rows": [{"u": 1, "a": "b"}, {"u": 0, "a": 1}]}}"#,
        ),
    ] {
        let shown = agreed(&service, asked).await;
        let seen = [&shown["columns"], &shown["label_values"]];
        assert!(seen.iter().any(|member| member.is_array()), "{asked:?}");
    }
    for asked in [
        (CSV, "", ""),
        (CSV, "header=true", "a,a\n1,1\n"),
        (CSV, "bins=3", TOYS),
        (CSV, "label=class", TOYS),
        (CSV, "encoding=ds_01890000000070008000000000000000", TOYS),
        (CSV, "assume=reflected", TOYS),
        (LIBSVM, "", "1 1:x\n"),
        (NDJSON, "", "{\"x\": \"102\", \"y\": 1}\n"),
        (ARFF, "", "@relation r\n@attribute a date\n@data\nx\n"),
        (
            JSON,
            "",
            r#"{"data": {"labelled": {"examples": [{"x": "1", "y": 3}]}}}"#,
        ),
        (
            JSON,
            "",
            r#"{"data": {"dataset": "ds_01890000000070008000000000000000"}}"#,
        ),
        (
            JSON,
            "",
            r#"{"data": {"table": {"rows": [{"y": 1, "a": 1}], "bins": 0}}}"#,
        ),
        (
            JSON,
            "",
            r#"{"seed": 7, "data": {"rows": [{"y": 1, "a": "b"}]}}"#,
        ),
        ("text/plain", "", "1\n"),
    ] {
        assert_eq!(agreed(&service, asked).await, Value::Null, "{asked:?}");
    }
}

/// The choices of a page: the label, the positive class, a kind, and a column to ignore. Each mends the refusal.
#[tokio::test]
async fn preview_choices_mend_the_request() {
    let service = Service::start().await;
    let body =
        "id,size,odor,species\nx1,2.5,foul,setosa\nx2,?,none,virginica\nx3,1,foul,versicolor\n";
    let shown = preview(&service, (CSV, "", body)).await;
    assert_eq!(shown["refusal"]["code"], "table-option");
    assert_eq!(shown["label_values"], Value::Null);
    assert_eq!(shown["names"], json!(["id", "size", "odor", "species"]));
    assert_eq!(shown["rows"][1], json!(["x2", "?", "none", "virginica"]));
    let query = "labels=species";
    let shown = preview(&service, (CSV, query, body)).await;
    let values = shown["label_values"].as_array().unwrap();
    assert_eq!(values.len(), 3);
    assert_eq!(shown["columns"][3]["role"], "label");
    let query = format!("{query}&positive={}", values[1]["value"].as_str().unwrap());
    let shown = preview(&service, (CSV, &query, body)).await;
    assert_eq!(shown["columns"][1]["kind"], "number");
    assert_eq!(shown["columns"][1]["detail"], shown["refusal"]["detail"]);
    let kind = shown["columns"][1]["kinds"][0].as_str().unwrap();
    let query = format!("{query}&kinds=size:{kind}&ignore=id");
    let shown = agreed(&service, (CSV, &query, body)).await;
    assert_eq!(
        (&shown["refusal"], &shown["data"]["class_examples"][1]),
        (&Value::Null, &json!(1))
    );
    assert_eq!(shown["columns"][0]["role"], "ignored");
    assert_eq!(shown["columns"][1]["missing"], 1);
}

#[tokio::test]
async fn preview_has_the_requested_number_of_rows() {
    let service = Service::start().await;
    let body: String = (0..300).map(|row| format!("{},{row}\n", row % 2)).collect();
    for (query, rows) in [("", 20), ("rows=0", 0), ("rows=7", 7), ("rows=100", 100)] {
        let shown = preview(&service, (CSV, query, &body)).await;
        assert_eq!(shown["rows"].as_array().unwrap().len(), rows, "{query}");
        assert_eq!(
            (&shown["row_count"], &shown["header"]),
            (&json!(300), &json!(false))
        );
    }
    let labelled =
        r#"{"data": {"labelled": {"examples": [{"x": "1", "y": 1}, {"x": "0", "y": 0}]}}}"#;
    let shown = preview(&service, (JSON, "rows=1", labelled)).await;
    assert_eq!(
        (&shown["names"], &shown["rows"]),
        (&json!(["label", "x1"]), &json!([["1", "1"]]))
    );
    for rows in ["101", "-1", "few"] {
        let path = format!("/v1/previews?rows={rows}");
        let answer = service.post_as(&path, CSV, TOYS).await;
        assert_eq!(answer.problem(400), "invalid-parameter");
        assert_eq!(answer.json()["errors"][0]["parameter"], "rows");
    }
}

/// Names of many features are cut. Their number is known.
#[tokio::test]
async fn data_of_many_features_have_short_previews() {
    let service = Service::start().await;
    let shown = preview(&service, (LIBSVM, "", "1 1048576:1\n-1 1:1\n")).await;
    assert_eq!(shown["data"]["n"], 1 << 20);
    assert_eq!(shown["rows"][0].as_array().unwrap().len(), 1001);
    let names: Vec<_> = (0..3000).map(|at| format!("c{at}")).collect();
    let body = format!(
        "y,{}\n1{}\n0{}\n",
        names.join(","),
        ",1".repeat(3000),
        ",0".repeat(3000)
    );
    let shown = preview(&service, (CSV, "", &body)).await;
    assert_eq!(
        (&shown["data"]["n"], &shown["column_count"]),
        (&json!(3000), &json!(3001))
    );
    for list in ["/data/features", "/columns", "/names"] {
        assert_eq!(
            shown.pointer(list).unwrap().as_array().unwrap().len(),
            1000,
            "{list}"
        );
    }
}

/// Neither a dataset nor a file stays, also if the data were spooled. A spooled preview needs the quota of its data,
/// and a small one needs none.
#[tokio::test]
async fn preview_stores_nothing() {
    let settings = ["--stored-bytes-per-key-max", "100000"];
    let small = |limits: &mut Limits| limits.upload_memory_bytes_max = 65_536;
    let service = Service::limited(&settings, small).await;
    let rows = "1,1,0,1\n".repeat(8_000);
    let shown = preview(&service, (CSV, "labels=first", &rows)).await;
    assert_eq!(shown["data"]["examples"], 8_000);
    let wide: String = (0..400)
        .map(|row| format!("{},{}\n", row % 2, "0.5,".repeat(99) + "1"))
        .collect();
    let answer = service
        .post_as("/v1/previews?labels=first", CSV, wide)
        .await;
    assert_eq!(answer.problem(413), "too-large");
    assert!(
        answer.text().contains("stored_bytes_per_key_max"),
        "{}",
        answer.text()
    );
    let list = service.get("/v1/datasets").await.expect(200).json();
    assert_eq!(list["items"], json!([]));
    let scratch = service.directory().join("scratch");
    let left = std::fs::read_dir(scratch).map_or(0, |files| files.count());
    assert_eq!(left, 0);
    // A small preview needs no quota.
    let small = "1,1,0\n".repeat(3000);
    let mut refused = 0;
    for _ in 0..6 {
        let stored = service
            .post_as("/v1/datasets?labels=first", CSV, small.clone())
            .await;
        refused += u32::from(stored.status != 201);
    }
    assert!((1..6).contains(&refused), "{refused}");
    preview(&service, (CSV, "labels=first", &small)).await;
}

#[tokio::test]
async fn a_preview_is_under_the_limits_of_an_upload() {
    let service = Service::with(&[
        "--body-bytes-max",
        "300000",
        "--memory-bytes-max",
        "134217728",
    ])
    .await;
    let long = service
        .post_as("/v1/previews?labels=first", CSV, "1,0\n".repeat(80_000))
        .await;
    assert_eq!(long.problem(413), "too-large");
    let headers = [("content-type", CSV), ("content-encoding", "gzip")];
    let broken = service
        .send(request(
            "POST",
            "/v1/previews",
            &headers,
            "this text is no gzip stream",
        ))
        .await;
    assert_eq!(broken.problem(400), "syntax");
    until("the memory to come back", async || {
        let text = service.get("/metrics").await.expect(200).text().to_owned();
        text.contains("halfspace_memory_taken_bytes 0\n")
            .then_some(())
    })
    .await;
}

/// A form and a compressed body are read like the plain body. A refusal leaves the connection usable, because the
/// whole body was read.
#[tokio::test]
async fn forms_and_compressed_bodies_have_previews() {
    let service = Service::start().await;
    let plain = preview(&service, (CSV, "labels=wet", TOYS)).await;
    let form = format!(
        "--b\r\ncontent-disposition: form-data; name=\"labels\"\r\n\r\nwet\r\n--b\r\ncontent-disposition: \
         form-data; name=\"file\"; filename=\"toys.csv\"\r\n\r\n{TOYS}\r\n--b--\r\n"
    );
    let shown = preview(&service, ("multipart/form-data; boundary=b", "", &form)).await;
    assert_eq!(shown, plain);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, TOYS.as_bytes()).unwrap();
    let headers = [("content-type", CSV), ("content-encoding", "gzip")];
    let packed = encoder.finish().unwrap();
    let path = "/v1/previews?labels=wet";
    let answer = service.send(request("POST", path, &headers, packed)).await;
    assert_eq!(answer.expect(200).json(), plain);
}

/// The document describes each member of a preview.
#[tokio::test]
async fn openapi_describes_the_members_of_a_preview() {
    let service = Service::start().await;
    let shown = preview(&service, (CSV, "", TOYS)).await;
    let schemas = &DOCUMENT["components"]["schemas"];
    let mut described = 0;
    for (name, part) in [
        ("PreviewContent", &shown),
        ("PreviewColumn", &shown["columns"][0]),
        ("LabelCount", &shown["label_values"][0]),
        ("DataFacts", &shown["data"]),
    ] {
        for (member, schema) in schemas[name]["properties"].as_object().unwrap() {
            assert!(
                schema["description"].is_string()
                    || schema["oneOf"].is_array()
                    || schema["$ref"].is_string()
            );
            assert!(part.get(member).is_some(), "{name}: {member}");
            described += 1;
        }
    }
    assert!(described > 25, "{described}");
}
