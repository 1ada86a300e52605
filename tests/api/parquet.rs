//! Parquet through the service: equal digests with CSV, predictions, previews and refusals.

use serde_json::{Value, json};

use crate::service::Service;

const PARQUET: &str = "application/vnd.apache.parquet";

/// 60 rows of numbers, words, truth values and gaps, compressed with zstd.
const TABLE: &[u8] =
    include_bytes!("../../crates/halfspace-formats/src/tests/parquet_files/zstd.parquet");

/// The same rows as CSV.
fn csv() -> String {
    let row = |row: usize| {
        let amount = match row % 7 {
            3 => String::new(),
            _ => (row as f64 * 0.25).to_string(),
        };
        let color = match row % 11 {
            5 => "",
            _ => ["red", "green", "blue"][row % 3],
        };
        let label = ["no", "yes"][row % 2];
        format!(
            "{amount},{color},{},{},{label}\n",
            row * row,
            row.is_multiple_of(4)
        )
    };
    let rows: String = (0..60).map(row).collect();
    format!("amount,color,count,flag,label\n{rows}")
}

#[tokio::test]
async fn parquet_is_stored_and_predicted_like_the_same_csv() {
    let service = Service::start().await;
    let path = "/v1/datasets?missing=drop&labels=label";
    let stored = |media_type, body: Vec<u8>| service.post_as(path, media_type, body);
    let parquet = stored(PARQUET, TABLE.to_vec()).await.expect(201).json();
    let text = stored("text/csv", csv().into_bytes())
        .await
        .expect(201)
        .json();
    assert_eq!(parquet["sha256"], text["sha256"]);
    assert_eq!(
        (&parquet["features"], &parquet["classes"]),
        (&text["features"], &text["classes"])
    );
    let train = "/v1/learners/perceptron/train?labels=label&missing=drop&stop.max_passes=3";
    let trained = service.post_as(train, PARQUET, TABLE.to_vec()).await;
    let model = trained.expect(200).json()["result"]["model"].clone();
    let path = format!(
        "/v1/models/{}/predict?labels=label&missing=drop",
        model.as_str().unwrap()
    );
    let mut answers = Vec::new();
    for (media_type, body) in [(PARQUET, TABLE.to_vec()), ("text/csv", csv().into_bytes())] {
        let answer = service.post_as(&path, media_type, body).await;
        answers.push(answer.expect(200).json()["predictions"].clone());
    }
    assert_eq!(answers[0], answers[1]);
    let preview = service
        .post_as("/v1/previews?rows=1", PARQUET, TABLE.to_vec())
        .await;
    let preview = preview.expect(200).json();
    assert_eq!(preview["rows"], json!([["0", "red", "0", "true", "no"]]));
}

#[tokio::test]
async fn bad_parquet_is_refused_and_arrow_is_sent_to_parquet() {
    let service = Service::start().await;
    let cases: [(&str, &str, &[u8], u16, &str); 5] = [
        ("", PARQUET, &TABLE[..500], 400, "is truncated"),
        ("", PARQUET, b"a,b\n1,2\n", 400, "is not a Parquet file"),
        ("?charset=latin1", PARQUET, TABLE, 400, "`charset`"),
        (
            "",
            "application/vnd.apache.arrow.file",
            b"ARROW1",
            415,
            "Write a table of Arrow as Parquet.",
        ),
        (
            "",
            "application/vnd.apache.arrow.stream",
            b"",
            415,
            "Write a table of Arrow as Parquet.",
        ),
    ];
    for (query, media_type, body, status, said) in cases {
        let path = format!("/v1/datasets{query}");
        let answer = service.post_as(&path, media_type, body.to_vec()).await;
        let problem: Value = answer.expect(status).json();
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(said), "{detail}");
    }
}
