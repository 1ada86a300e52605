//! ARFF, `.npy` and packed octets through the service: training, storing, prediction and refusals.

use serde_json::{Value, json};

use crate::service::{Answer, Service};

const ARFF: &str = "text/x-arff";
const NPY: &str = "application/x-npy";
const OCTETS: &str = "application/octet-stream";

/// A `.npy` file of version 1.0.
fn npy(dtype: &str, order: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), values].concat()
}

/// The same four labelled examples in every format: media type, query, body. The examples 111 and 110 are
/// positive, and 001 and 000 are negative.
fn same() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let numeric = "@relation r\n@attribute a real\n@attribute b real\n@attribute c real\n\
                   @attribute y {up,down}\n@data\n";
    let dense = format!("{numeric}1,1,1,up\n1,1,0,up\n0,0,1,down\n0,0,0,down\n");
    let sparse = format!("{numeric}{{0 1,1 1,2 1}}\n{{0 1,1 1}}\n{{2 1,3 down}}\n{{3 down}}\n");
    let bools = [1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0];
    let doubles: Vec<u8> = bools
        .iter()
        .flat_map(|&bit| f64::from(bit).to_le_bytes())
        .collect();
    vec![
        (
            "text/x-libsvm",
            "",
            b"1 1:1 2:1 3:1\n1 1:1 2:1\n-1 3:1\n-1\n".to_vec(),
        ),
        (ARFF, "", dense.into_bytes()),
        (ARFF, "labels=y", sparse.into_bytes()),
        (NPY, "", npy("|b1", "False", "(4, 4)", &bools)),
        (
            NPY,
            "labels=last&n=3",
            npy("<f8", "False", "(4, 4)", &doubles),
        ),
        (
            OCTETS,
            "n=3&labels=appended",
            vec![0b1111_0000, 0b1101_0000, 0b0010_0000, 0],
        ),
        (
            OCTETS,
            "n=3&labels=appended&bit_order=little",
            vec![0b1111, 0b1011, 0b0100, 0],
        ),
    ]
}

/// The same examples without labels, for a model that knows n.
fn unlabelled() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let arff = "@relation r\n@attribute a real\n@attribute b real\n@attribute c real\n@data\n\
                1,1,1\n1,1,0\n0,0,1\n0,0,0\n";
    let bools = [1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0];
    vec![
        (ARFF, "", arff.as_bytes().to_vec()),
        (NPY, "", npy("|u1", "False", "(4, 3)", &bools)),
        (OCTETS, "", vec![0b1110_0000, 0b1100_0000, 0b0010_0000, 0]),
        (OCTETS, "bit_order=little&n=3", vec![0b111, 0b011, 0b100, 0]),
    ]
}

async fn train(service: &Service, media_type: &str, query: &str, body: Vec<u8>) -> Answer {
    let path = format!("/v1/learners/perceptron/train?seed=1&{query}");
    service.post_as(&path, media_type, body).await
}

#[tokio::test]
async fn equal_data_in_every_format_are_one_sample() {
    let service = Service::start().await;
    let (mut seen, mut digests) = (None, [const { None }; 2]);
    let mut model = String::new();
    for (media_type, query, body) in same() {
        let job = train(&service, media_type, query, body.clone()).await;
        let job = job.expect(200).json();
        let path = format!("/v1/datasets?{query}");
        let dataset = service.post_as(&path, media_type, body).await;
        let dataset = dataset.expect(201).json();
        assert_eq!(
            job["data_sha256"], dataset["sha256"],
            "{media_type} {query}"
        );
        let figures = json!([
            dataset["n"],
            dataset["class_examples"],
            dataset["values"],
            dataset["zero_bit_value"],
            job["result"]["hypothesis"],
            job["result"]["mistakes"]
        ]);
        assert_eq!(
            *seen.get_or_insert_with(|| figures.clone()),
            figures,
            "{media_type} {query}"
        );
        // The digest has the names of the classes, which ARFF alone gives.
        let digest = &mut digests[usize::from(media_type == ARFF)];
        assert_eq!(
            digest.get_or_insert_with(|| dataset["sha256"].clone()),
            &dataset["sha256"],
            "{media_type} {query}"
        );
        let names = |names: Value| {
            if media_type == ARFF {
                names
            } else {
                Value::Null
            }
        };
        assert_eq!(dataset["features"], names(json!(["a", "b", "c"])));
        assert_eq!(dataset["classes"], names(json!(["down", "up"])));
        let id = dataset["id"].as_str().unwrap();
        let stored = service.get(&format!("/v1/datasets/{id}")).await;
        assert_eq!(stored.expect(200).json(), dataset);
        model = format!(
            "/v1/models/{}/predict",
            job["result"]["model"].as_str().unwrap()
        );
    }
    for (media_type, query, body) in unlabelled() {
        let answer = service
            .post_as(&format!("{model}?{query}"), media_type, body)
            .await;
        let answer = answer.expect(200).json();
        assert_eq!(
            answer["predictions"],
            json!([1, 1, -1, -1]),
            "{media_type} {query}"
        );
    }
    for (media_type, query, body) in same() {
        // A prediction skips the labels if the query says that there are some.
        let labels = match media_type {
            OCTETS => query,
            ARFF | NPY => "labels=last",
            _ => continue,
        };
        let answer = service
            .post_as(&format!("{model}?{labels}"), media_type, body)
            .await;
        let answer = answer.expect(200).json();
        assert_eq!(
            answer["predictions"],
            json!([1, 1, -1, -1]),
            "{media_type} {labels}"
        );
    }
}

#[tokio::test]
async fn values_of_nominal_attributes_are_named_features() {
    let service = Service::start().await;
    let body = "@relation r\n@attribute colour {red,'dark blue'}\n@attribute y {1,0}\n@data\n\
                red,1\n'dark blue',0\n";
    let dataset = service
        .post_as("/v1/datasets", ARFF, body)
        .await
        .expect(201);
    let dataset = dataset.json();
    let names = json!(["colour=dark blue", "colour=red"]);
    assert_eq!(dataset["features"], names);
    // Numeric labels give no class names.
    assert_eq!(dataset["classes"], Value::Null);
}

#[tokio::test]
async fn bad_arff_and_other_bodies_are_refused_at_their_place() {
    let service = Service::start().await;
    let head = "@relation r\n@attribute a {u,v}\n@attribute y {p,q}\n@data\n";
    let arff = |rows: &str| format!("{head}{rows}").into_bytes();
    let of_type = |kind: &str| format!("@relation r\n@attribute a {kind}\n").into_bytes();
    let line = |line: u64, column: u64| json!({"line": line, "column": column});
    let cell = |row: u64, column: u64| json!({"row": row, "column": column});
    let offset = |offset: u64| json!({"offset": offset});
    let plain = |dtype: &str, order: &str, shape: &str| npy(dtype, order, shape, &[0; 64]);
    let nan: Vec<u8> = [1.0, 1.0, f64::NAN, 1.0]
        .into_iter()
        .flat_map(f64::to_le_bytes)
        .collect();
    let cut = plain("<f8", "False", "(9, 1)");
    let cut_at = cut.len() as u64;
    let cases = [
        (ARFF, "", arff("u,p\nu,?\n"), "bad-label", line(6, 3)),
        (ARFF, "", arff("w,p\n"), "bad-value", line(5, 1)),
        (ARFF, "", arff("u,p,{2}\n"), "unsupported", line(5, 5)),
        (ARFF, "", of_type("date"), "unsupported", line(2, 14)),
        (ARFF, "", of_type("date"), "unsupported", line(2, 14)),
        (ARFF, "", of_type("relational"), "unsupported", line(2, 14)),
        (ARFF, "header=true", arff("u,p\n"), "bad-option", json!({})),
        (ARFF, "n=3", arff("u,p\n"), "wrong-shape", json!({})),
        (
            NPY,
            "",
            plain("<f8", "True", "(2, 4)"),
            "unsupported",
            offset(44),
        ),
        (
            NPY,
            "",
            plain(">f8", "False", "(2, 4)"),
            "unsupported",
            offset(20),
        ),
        (
            NPY,
            "",
            plain("|O", "False", "(2, 4)"),
            "unsupported",
            offset(20),
        ),
        (
            NPY,
            "",
            plain("<f8", "False", "(2, 2, 2)"),
            "unsupported",
            offset(60),
        ),
        (
            NPY,
            "",
            plain("<f8", "False", "(8,)"),
            "unsupported",
            offset(60),
        ),
        (NPY, "labels=none", cut, "truncated", offset(cut_at)),
        (
            NPY,
            "",
            npy("<f8", "False", "(2, 2)", &nan),
            "bad-value",
            cell(2, 1),
        ),
        (
            NPY,
            "bit_order=big",
            plain("<f8", "False", "(2, 4)"),
            "bad-option",
            json!({}),
        ),
        (OCTETS, "", vec![0; 4], "bad-option", json!({})),
        (OCTETS, "n=17", vec![0; 4], "wrong-shape", offset(3)),
        (OCTETS, "n=4", vec![0, 1], "bad-value", offset(1)),
        (OCTETS, "n=4&labels=first", vec![0], "bad-option", json!({})),
        (
            OCTETS,
            "n=4&bit_order=middle",
            vec![0],
            "invalid-parameter",
            json!({"parameter": "bit_order"}),
        ),
        (
            "text/csv",
            "bit_order=big",
            b"1,1\n".to_vec(),
            "bad-option",
            json!({}),
        ),
        (
            "text/csv",
            "labels=appended",
            b"1,1\n".to_vec(),
            "bad-option",
            json!({}),
        ),
        (
            "application/x-ndjson",
            "bit_order=big",
            b"1\n".to_vec(),
            "bad-option",
            json!({}),
        ),
    ];
    for (media_type, query, body, code, place) in cases {
        let path = format!("/v1/datasets?{query}");
        let stored = service.post_as(&path, media_type, body.clone()).await;
        let trained = train(&service, media_type, query, body).await;
        for answer in [stored, trained] {
            let mut error = answer.json()["errors"][0].clone();
            error.as_object_mut().unwrap().remove("detail");
            error.as_object_mut().unwrap().remove("repairs");
            assert_eq!(error, place, "{media_type} {query}: {}", answer.text());
            assert_eq!(answer.problem(400), code, "{media_type} {query}");
        }
    }
    for path in ["/v1/datasets", "/v1/jobs", "/v1/models"] {
        assert_eq!(service.get(path).await.json()["items"], json!([]), "{path}");
    }
}
