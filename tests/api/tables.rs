//! Tables as people have them: synthetic data in the shapes of six well-known data sets, trained, evaluated and
//! predicted as raw rows. The tests encode the expected features themselves, independently of the service.

use std::collections::BTreeSet;
use std::fmt::Write;

use halfspace_core::samples::{self, SampleParameters};
use serde_json::{Value, json};

use crate::service::Service;

const CSV: &str = "text/csv";
const NDJSON: &str = "application/x-ndjson";
const BINS: usize = 8;

/// A table of text cells, and the query that trains on the table.
struct Table {
    query: &'static str,
    /// Names of the columns; empty for a file without a header.
    names: Vec<String>,
    rows: Vec<Vec<String>>,
    label: usize,
    positive: &'static str,
    /// Columns that are no features.
    ignored: Vec<usize>,
    separator: &'static str,
}

/// A fixed sequence of numbers below `bound`.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// 22 nominal columns, one of them with `?`.
fn mushroom() -> Table {
    let mut numbers = Numbers(1);
    let names = (1..=22).map(|number| format!("attribute-{number}"));
    let row = |_| {
        let mut row = texts(&["", numbers.of(&["b", "c", "x", "f", "k", "s"])]);
        row.extend((0..20).map(|at| {
            numbers
                .of(&["a", "b", "c", "d", "e", "w"][..2 + at % 5])
                .to_owned()
        }));
        row.push(numbers.of(&["b", "c", "e", "?"]).to_owned());
        row[0] = if row[5] == "a" && row[22] != "?" || row[1] == "k" {
            "p"
        } else {
            "e"
        }
        .to_owned();
        row
    };
    Table {
        query: "labels=class",
        names: std::iter::once("class".to_owned()).chain(names).collect(),
        rows: (0..812).map(row).collect(),
        label: 0,
        positive: "p",
        ignored: Vec::new(),
        separator: ",",
    }
}

/// 16 votes of y, n or `?`, by party.
fn votes() -> Table {
    let mut numbers = Numbers(2);
    let row = |_| {
        let mut row: Vec<_> = (0..16)
            .map(|_| numbers.of(&["y", "n", "y", "n", "?"]).to_owned())
            .collect();
        let party = if row[3] == "y" {
            "republican"
        } else {
            "democrat"
        };
        row.insert(0, party.to_owned());
        row
    };
    Table {
        query: "positive=democrat",
        names: std::iter::once("Class".to_owned())
            .chain((1..=16).map(|vote| format!("vote {vote}")))
            .collect(),
        rows: (0..435).map(row).collect(),
        label: 0,
        positive: "democrat",
        ignored: Vec::new(),
        separator: ",",
    }
}

/// Nine squares with x, o or b. The class tells whether x has a row, a column or a diagonal.
fn tic_tac_toe() -> Table {
    let sample = samples::find("tic-tac-toe").unwrap();
    let table = sample.table(&SampleParameters::default()).unwrap();
    Table {
        query: "",
        names: table.columns,
        rows: table
            .rows
            .iter()
            .map(|row| row.iter().map(ToString::to_string).collect())
            .collect(),
        label: 9,
        positive: "positive",
        ignored: Vec::new(),
        separator: ",",
    }
}

/// Four lengths and three species.
fn iris() -> Table {
    let mut numbers = Numbers(4);
    let row = |index: u64| {
        let species = index % 3;
        let mut row: Vec<_> = (0..4)
            .map(|_| {
                format!(
                    "{:.1}",
                    1.0 + species as f64 + numbers.below(20) as f64 / 10.0
                )
            })
            .collect();
        row.push(["setosa", "versicolor", "virginica"][species as usize].to_owned());
        row
    };
    Table {
        query: "labels=species&positive=setosa&numbers=thermometer",
        names: texts(&[
            "sepal_length",
            "sepal_width",
            "petal_length",
            "petal_width",
            "species",
        ]),
        rows: (0..150).map(row).collect(),
        label: 4,
        positive: "setosa",
        ignored: Vec::new(),
        separator: ",",
    }
}

/// An id, nine grades from 1 to 10 with `?`, and the classes 2 and 4. The file has no header.
fn breast_cancer() -> Table {
    let mut numbers = Numbers(5);
    let row = |index: u64| {
        let grades: Vec<_> = (0..9).map(|_| 1 + numbers.below(10)).collect();
        let class = if grades[0] + grades[2] > 11 { "4" } else { "2" };
        let mut row = vec![(1_000_025 + 7 * index).to_string()];
        row.extend(grades.iter().map(u64::to_string));
        if index % 40 == 3 {
            row[6] = "?".to_owned();
        }
        row.push(class.to_owned());
        row
    };
    Table {
        query: "labels=last&header=false&ignore=1&numbers=thermometer",
        names: Vec::new(),
        rows: (0..699).map(row).collect(),
        label: 10,
        positive: "4",
        ignored: vec![0],
        separator: ",",
    }
}

/// Nominal and numeric columns, blanks after the commas, and `?`.
fn adult() -> Table {
    let mut numbers = Numbers(6);
    let row = |_| {
        let age = 17 + numbers.below(60);
        let work = numbers.of(&["Private", "State-gov", "Self-emp-not-inc", "?"]);
        let gain = [0, 0, 0, 2174, 14_084][numbers.below(5) as usize];
        let sex = numbers.of(&["Male", "Female"]);
        let income = if age > 40 && gain > 2000 {
            ">50K"
        } else {
            "<=50K"
        };
        texts(&[&age.to_string(), work, &gain.to_string(), sex, income])
    };
    Table {
        query: "labels=income&numbers=thermometer",
        names: texts(&["age", "workclass", "capital-gain", "sex", "income"]),
        rows: (0..400).map(row).collect(),
        label: 4,
        positive: ">50K",
        ignored: Vec::new(),
        separator: ", ",
    }
}

impl Table {
    /// The rows as CSV, with these columns in this order.
    fn csv(&self, rows: &[Vec<String>], columns: &[usize]) -> String {
        let line = |cells: &Vec<String>| {
            columns
                .iter()
                .map(|&at| cells[at].as_str())
                .collect::<Vec<_>>()
                .join(self.separator)
        };
        let header = (!self.names.is_empty()).then(|| line(&self.names));
        header
            .into_iter()
            .chain(rows.iter().map(line))
            .map(|line| line + "\n")
            .collect()
    }

    fn features(&self) -> Vec<usize> {
        (0..self.rows[0].len())
            .filter(|at| *at != self.label && !self.ignored.contains(at))
            .collect()
    }

    /// The bits of each row, encoded by hand.
    fn bits(&self) -> Vec<String> {
        let mut bits = vec![String::new(); self.rows.len()];
        for at in self.features() {
            let cells: Vec<_> = self.rows.iter().map(|row| row[at].as_str()).collect();
            let present: BTreeSet<_> = cells.iter().copied().filter(|cell| *cell != "?").collect();
            let is_number = present.iter().all(|cell| cell.parse::<f64>().is_ok());
            let mut push = |of: &dyn Fn(&str) -> bool| {
                for (bits, cell) in bits.iter_mut().zip(&cells) {
                    bits.push(if of(cell) { '1' } else { '0' });
                }
            };
            if is_number {
                for threshold in thresholds(&cells) {
                    push(&|cell| cell.parse::<f64>().is_ok_and(|number| number >= threshold));
                }
            } else if present == BTreeSet::from(["n", "y"]) {
                push(&|cell| cell == "y");
            } else {
                present
                    .iter()
                    .for_each(|value| push(&|cell| cell == *value));
            }
            if cells.contains(&"?") {
                push(&|cell| cell == "?");
            }
        }
        bits
    }
}

/// The lower quantiles k / 9 of the numbers above their minimum, without repeats.
fn thresholds(cells: &[&str]) -> Vec<f64> {
    let mut numbers: Vec<f64> = cells.iter().filter_map(|cell| cell.parse().ok()).collect();
    numbers.sort_by(f64::total_cmp);
    let mut thresholds: Vec<f64> = (1..=BINS)
        .map(|k| numbers[(numbers.len() - 1) * k / (BINS + 1)])
        .collect();
    thresholds.retain(|&threshold| threshold > numbers[0]);
    thresholds.dedup();
    thresholds
}

async fn trained(service: &Service, query: &str, media_type: &str, body: String) -> Value {
    let path = format!("/v1/learners/perceptron/train?seed=1&stop.max_passes=20&{query}");
    let answer = service.post_as(&path, media_type, body).await;
    answer.expect(200).json()
}

/// A training on raw rows equals the training on bits that are encoded by hand, and raw rows in another column order
/// are predicted with the names of their classes.
async fn is_learnt_and_predicted(table: Table) {
    let service = Service::start().await;
    let all: Vec<usize> = (0..table.rows[0].len()).collect();
    let raw = table.csv(&table.rows, &all);
    let job = trained(&service, table.query, CSV, raw.clone()).await;
    let mut by_hand = String::new();
    for (row, bits) in table.rows.iter().zip(table.bits()) {
        let bits: Vec<String> = bits.chars().map(String::from).collect();
        writeln!(by_hand, "{},{}", row[table.label], bits.join(",")).unwrap();
    }
    // The names of the classes belong to the digest.
    let positive: String = form_urlencoded::byte_serialize(table.positive.as_bytes()).collect();
    let query = format!("labels=first&header=false&positive={positive}");
    let expected = trained(&service, &query, CSV, by_hand).await;
    for field in ["hypothesis", "mistakes", "updates", "training"] {
        assert_eq!(job["result"][field], expected["result"][field], "{field}");
    }
    assert_eq!(job["data_sha256"], expected["data_sha256"]);
    let classes = job["table"]["label"]["classes"].as_array().unwrap();
    assert_eq!(classes.last().unwrap(), table.positive);
    let path = format!("/v1/previews?rows=1&{}", table.query);
    let preview = service.post_as(&path, CSV, raw.clone()).await.expect(200);
    let preview = preview.json();
    assert_eq!(preview["data"]["sha256"], job["data_sha256"]);
    assert_eq!(preview["table"], job["table"]);
    assert_eq!(preview["rows"], json!([table.rows[0]]));
    let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let evaluation = service
        .post_as(&format!("{model}/evaluate"), CSV, raw)
        .await
        .expect(200)
        .json();
    assert_eq!(evaluation["errors"], job["result"]["training"]["errors"]);
    // Without a header the columns keep their order.
    let mut columns = table.features();
    if !table.names.is_empty() {
        columns.reverse();
    } else {
        columns = all.into_iter().filter(|&at| at != table.label).collect();
    }
    let asked = table.csv(&table.rows[..50], &columns);
    let header = if table.names.is_empty() {
        "?header=false"
    } else {
        ""
    };
    let answer = service
        .post_as(&format!("{model}/predict{header}"), CSV, asked)
        .await
        .expect(200)
        .json();
    let classes = answer["predicted_classes"].as_array().unwrap();
    assert_eq!(classes.len(), 50);
    let mut wrong = 0;
    for ((row, class), prediction) in table
        .rows
        .iter()
        .zip(classes)
        .zip(answer["predictions"].as_array().unwrap())
    {
        assert_eq!(*class == table.positive, *prediction == 1);
        let is_positive = row[table.label] == table.positive;
        wrong += i32::from(is_positive != (*prediction == 1));
    }
    assert!(wrong <= 12, "{wrong} of 50");
    assert!(answer["table"]["columns"].is_array());
}

#[tokio::test]
async fn table_of_mushrooms_is_learnt_and_predicted() {
    is_learnt_and_predicted(mushroom()).await;
}

#[tokio::test]
async fn table_of_votes_is_learnt_and_predicted() {
    is_learnt_and_predicted(votes()).await;
}

#[tokio::test]
async fn table_of_tic_tac_toe_is_learnt_and_predicted() {
    is_learnt_and_predicted(tic_tac_toe()).await;
}

#[tokio::test]
async fn table_of_iris_is_learnt_one_species_against_the_rest() {
    is_learnt_and_predicted(iris()).await;
}

#[tokio::test]
async fn table_of_breast_cancer_without_header_is_learnt_and_predicted() {
    is_learnt_and_predicted(breast_cancer()).await;
}

#[tokio::test]
async fn table_of_adult_incomes_is_learnt_and_predicted() {
    is_learnt_and_predicted(adult()).await;
}

const TOYS: &str =
    "class,odor,size,wet\np,foul,2.5,yes\ne,none,1.5,no\ne,none,3.5,yes\np,foul,0.5,\n";

/// A dataset that is encoded as a model or another dataset has the features of that encoding.
#[tokio::test]
async fn upload_takes_the_encoding_of_a_model_or_a_dataset() {
    let service = Service::start().await;
    let job = trained(&service, "numbers=thermometer&bins=2", CSV, TOYS.to_owned()).await;
    let model = job["result"]["model"].as_str().unwrap();
    let stored = service
        .post_as("/v1/datasets?numbers=thermometer&bins=2", CSV, TOYS)
        .await
        .expect(201);
    let other = "wet,odor,size,class,note\nno,none,9,e,a\nyes,none,1,p,b\n";
    let mut digests = BTreeSet::new();
    for id in [model, &stored.id()] {
        let refused = service
            .post_as(&format!("/v1/datasets?encoding={id}"), CSV, other)
            .await;
        assert_eq!(refused.problem(422), "table-option");
        assert!(refused.text().contains("ignore=note"), "{}", refused.text());
        let path = format!("/v1/datasets?encoding={id}&ignore=note");
        let dataset = service.post_as(&path, CSV, other).await.expect(201).json();
        assert_eq!(dataset["encoding_sha256"], stored.json()["encoding_sha256"]);
        assert_eq!(dataset["features"], stored.json()["features"]);
        digests.insert(dataset["sha256"].to_string());
        let by_id = json!({"dataset": dataset["id"]});
        let evaluated = service
            .post_json(&format!("/v1/models/{model}/evaluate"), &by_id)
            .await;
        assert_eq!(evaluated.expect(200).json()["examples"], 2);
    }
    assert_eq!(digests.len(), 1);
    // A dataset with an encoding of its own does not fit the model.
    let own = service
        .post_as("/v1/datasets?ignore=note&numbers=thermometer", CSV, other)
        .await
        .expect(201);
    let by_id = json!({"dataset": own.json()["id"]});
    for route in ["evaluate", "predict"] {
        let refused = service
            .post_json(&format!("/v1/models/{model}/{route}"), &by_id)
            .await;
        assert_eq!(refused.problem(422), "wrong-data");
        assert!(refused.text().contains("`encoding`"), "{}", refused.text());
    }
    for (id, status, code) in [
        ("mdl_01890000000070008000000000000000", 422, "unknown-model"),
        (
            "ds_01890000000070008000000000000000",
            422,
            "unknown-dataset",
        ),
        ("somewhere", 400, "invalid-parameter"),
    ] {
        let refused = service
            .post_as(&format!("/v1/datasets?encoding={id}"), CSV, other)
            .await;
        assert_eq!(refused.problem(status), code, "{id}");
    }
}

/// A refusal names the row, the column and the parameter that helps, and the parameter helps.
#[tokio::test]
async fn table_error_names_the_parameter_that_mends_the_request() {
    let service = Service::start().await;
    for (body, query, remedy) in [
        ("a,b,ill\n1,0,yes\n0,1,no\n", "", "labels=ill"),
        (
            "a,kilos\n1,1.5\n0,2.5\n1,4\n",
            "labels=kilos",
            "positive=1.5",
        ),
        ("a,class\n1.5,x\n,y\n2.5,y\n", "", "missing=drop"),
        ("a,class\n1.5,x\n,y\n2.5,y\n", "", "numbers=thermometer"),
        ("a;class\n1,5;x\n2,5;y\n", "", "decimal=,"),
        (
            "class,a\nx,m\ny,n\nclass,a\n",
            "labels=class&positive=x",
            "header=true",
        ),
    ] {
        let path = format!("/v1/learners/perceptron/train?{query}");
        let refused = service.post_as(&path, CSV, body).await;
        assert_eq!(refused.problem(422), "table-option", "{body}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(&format!("`{remedy}`")), "{detail}");
        let mended = service
            .post_as(&format!("{path}&{remedy}"), CSV, body)
            .await;
        mended.expect(200);
    }
    // Reals are refused by the learner, not by the table.
    let (path, body) = (
        "/v1/learners/directed-drift-sync/train?",
        "a,class\n1.5,x\n2.5,y\n3.5,y\n",
    );
    let refused = service.post_as(path, CSV, body).await;
    assert_eq!(refused.problem(422), "wrong-data");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("numbers=thermometer"), "{detail}");
    let constant = "a,class\n1.5,x\n1.5,y\n";
    let mended = format!("{path}&numbers=thermometer");
    let refused = service.post_as(&mended, CSV, constant).await;
    assert_eq!(refused.problem(400), "empty-data");
    assert!(refused.text().contains("constant"), "{}", refused.text());
    service.post_as(&mended, CSV, body).await.expect(200);
}

/// A session takes the encoding of a model, and columns of its own.
#[tokio::test]
async fn a_session_learns_raw_rows() {
    let service = Service::start().await;
    let job = trained(&service, "numbers=thermometer&bins=2", CSV, TOYS.to_owned()).await;
    let columns = json!({"columns": [
        {"name": "odor", "kind": "nominal", "values": ["foul", "none"]},
        {"name": "size", "kind": "thermometer", "thresholds": [1.5, 2.5]},
        {"name": "wet", "kind": "boolean", "values": ["no", "yes"], "missing": true}],
        "label": {"column": "class", "classes": ["e", "p"]}});
    let mut seen = BTreeSet::new();
    for encoding in [job["result"]["model"].clone(), columns] {
        let asked = json!({"learner": {"name": "perceptron"}, "encoding": encoding, "seed": 1});
        let session = service
            .post_json("/v1/sessions", &asked)
            .await
            .expect(201)
            .json();
        assert_eq!(session["n"], 6);
        let path = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
        let answers = service
            .post_as(&format!("{path}/examples"), CSV, TOYS)
            .await
            .expect(200);
        let classes: Vec<_> = answers
            .text()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["predicted_class"].clone())
            .collect();
        assert!(
            classes.iter().all(|class| *class == "p" || *class == "e"),
            "{classes:?}"
        );
        seen.insert(format!("{classes:?}"));
        let raw = "odor,wet,size\nfoul,,0.5\nnone,no,9\n";
        let predicted = service
            .post_as(&format!("{path}/predict"), CSV, raw)
            .await
            .expect(200)
            .json();
        assert_eq!(predicted["predicted_classes"], json!(["p", "e"]));
        let saved = service.post(&format!("{path}/model")).await.expect(201);
        let predicted = service
            .post_as(&format!("/v1/models/{}/predict", saved.id()), CSV, raw)
            .await;
        assert_eq!(
            predicted.expect(200).json()["predicted_classes"],
            json!(["p", "e"])
        );
    }
    assert_eq!(seen.len(), 1);
    for (encoding, code) in [
        (json!({"columns": []}), "out-of-range"),
        (
            json!({"columns": [{"name": "a", "kind": "nominal", "values": ["x", "x"]}]}),
            "out-of-range",
        ),
        (json!("nowhere"), "out-of-range"),
    ] {
        let asked = json!({"learner": {"name": "perceptron"}, "encoding": encoding});
        assert_eq!(
            service.post_json("/v1/sessions", &asked).await.problem(400),
            code
        );
    }
    let both = json!({"learner": {"name": "perceptron"}, "n": 3, "encoding": {"columns": []}});
    assert_eq!(
        service.post_json("/v1/sessions", &both).await.problem(400),
        "schema"
    );
}

/// An exported model predicts the same raw rows with the same bytes elsewhere.
#[tokio::test]
async fn an_exported_model_keeps_its_encoding() {
    let (here, there) = (Service::start().await, Service::start().await);
    let job = trained(&here, "numbers=thermometer", CSV, TOYS.to_owned()).await;
    let path = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let file = here.get(&path).await.expect(200).json();
    assert_eq!(file["format"], "halfspace-model/1");
    let copy = there.post_json("/v1/models", &file).await.expect(201);
    let raw = "odor,wet,size\nfoul,,0.5\nnone,no,9\n";
    let answer = here
        .post_as(&format!("{path}/predict"), CSV, raw)
        .await
        .expect(200);
    let same = there
        .post_as(&format!("/v1/models/{}/predict", copy.id()), CSV, raw)
        .await;
    assert_eq!(answer.text(), same.expect(200).text());
    for (pointer, value) in [
        ("/table/columns/0/features/1", json!(9)),
        (
            "/table/columns/0/values/0",
            file["table"]["columns"][0]["values"][1].clone(),
        ),
        ("/table/columns/0/index", json!(0)),
    ] {
        let mut altered = file.clone();
        *altered.pointer_mut(pointer).unwrap() = value;
        assert_eq!(
            there.post_json("/v1/models", &altered).await.problem(422),
            "wrong-model"
        );
    }
    let mut altered = file.clone();
    altered["table"]["columns"][0]["name"] = "smell".into();
    assert_eq!(
        there.post_json("/v1/models", &altered).await.problem(422),
        "model-altered"
    );
}

/// The rows of `TOYS` as JSON objects.
fn toys() -> Value {
    json!([
        {"class": "p", "odor": "foul", "size": 2.5, "wet": true},
        {"class": "e", "odor": "none", "size": 1.5, "wet": false},
        {"class": "e", "odor": "none", "size": 3.5, "wet": true},
        {"class": "p", "odor": "foul", "size": 0.5, "wet": null}])
}

/// One table has one digest in CSV, in JSON rows and in lines of objects.
#[tokio::test]
async fn table_rows_in_json_and_ndjson_have_the_digest_of_csv() {
    let service = Service::start().await;
    let stored = service
        .post_as("/v1/datasets?numbers=thermometer", CSV, TOYS)
        .await
        .expect(201)
        .json();
    let lines: String = toys()
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{row}\n"))
        .collect();
    let by_lines = service
        .post_as("/v1/datasets?numbers=thermometer", NDJSON, lines.clone())
        .await;
    let table = json!({"table": {"rows": toys(), "numbers": "thermometer"}});
    let body = json!({"data": table});
    let by_rows = service.post_json("/v1/datasets", &body).await;
    for answer in [by_lines, by_rows] {
        let answer = answer.expect(201).json();
        assert_eq!(answer["sha256"], stored["sha256"]);
        assert_eq!(answer["features"], stored["features"]);
    }
    let job = json!({"train": {"learner": {"name": "perceptron"}, "data": table}});
    let job = service.run(&job).await;
    assert_eq!(job["data_sha256"], stored["sha256"]);
    let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let raw = json!([{"size": 9, "odor": "none", "wet": false}, {"odor": "foul", "size": 1}]);
    let predicted = service
        .post_json(&format!("{model}/predict"), &json!({"rows": raw}))
        .await
        .expect(200)
        .json();
    assert_eq!(predicted["predicted_classes"], json!(["e", "p"]));
    let raw: String = raw
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{row}\n"))
        .collect();
    let predicted = service
        .post_as(&format!("{model}/predict"), NDJSON, raw)
        .await
        .expect(200);
    let classes: Vec<Value> = predicted
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(classes[0]["predicted_class"], "e");
    assert_eq!(classes[1]["predicted_class"], "p");
    let evaluated = service
        .post_as(&format!("{model}/evaluate"), NDJSON, lines.clone())
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&evaluated["errors"], &evaluated["examples"]),
        (&json!(0), &json!(4))
    );
    // A session learns lines of objects one by one.
    let asked = json!({"learner": {"name": "perceptron"}, "encoding": job["result"]["model"]});
    let session = service
        .post_json("/v1/sessions", &asked)
        .await
        .expect(201)
        .id();
    let answers = service
        .post_as(&format!("/v1/sessions/{session}/examples"), NDJSON, lines)
        .await
        .expect(200);
    assert_eq!(answers.text().lines().count(), 4, "{}", answers.text());
    assert!(answers.text().contains("predicted_class"));
    for (body, status, code, place) in [
        (json!({"data": {"rows": []}}), 400, "empty-data", ""),
        (
            json!({"data": {"rows": [{"y": 1, "a": [1]}]}}),
            400,
            "schema",
            "/data/rows/0/a",
        ),
        (
            json!({"data": {"rows": [{"y": 1, "a": 1}, {"y": 0, "b": 1}]}}),
            422,
            "table-option",
            "/data/rows/1/b",
        ),
        (
            json!({"data": {"table": {"rows": [{"y": 1, "a": 1}], "bins": 0}}}),
            400,
            "out-of-range",
            "/data/table/bins",
        ),
        (
            json!({"data": {"table": {"rows": [{"y": 1, "a": 1}], "bin": 3}}}),
            400,
            "schema",
            "/data/table",
        ),
        (
            json!({"data": {"rows": [{"y": 1, "a": 1}], "dataset": "ds_1"}}),
            400,
            "schema",
            "/data",
        ),
        (json!({"data": {"table": {}}}), 400, "schema", "/data/table"),
    ] {
        let refused = service.post_json("/v1/datasets", &body).await;
        assert_eq!(refused.problem(status), code, "{body}");
        let errors = &refused.json()["errors"];
        assert!(
            place.is_empty() || errors[0]["pointer"].as_str().unwrap().starts_with(place),
            "{errors}"
        );
    }
}

/// A model of ARFF data predicts raw rows of CSV.
#[tokio::test]
async fn a_model_of_arff_predicts_raw_rows() {
    let service = Service::start().await;
    let arff = "@relation m\n@attribute odor {foul, none}\n@attribute size numeric\n@attribute class {p, e}\n\
        @data\nfoul,2.5,p\nnone,1.5,e\nnone,3.5,e\nfoul,0.5,p\n";
    let job = trained(&service, "", "text/x-arff", arff.to_owned()).await;
    let model = format!("/v1/models/{}", job["result"]["model"].as_str().unwrap());
    let raw = "size,odor\n9,none\n1,foul\n";
    let predicted = service
        .post_as(&format!("{model}/predict"), CSV, raw)
        .await
        .expect(200)
        .json();
    assert_eq!(predicted["predicted_classes"], json!(["e", "p"]));
}

/// A dataset that is read back as CSV and uploaded again has the same digest.
#[tokio::test]
async fn a_dataset_is_read_back_with_its_names() {
    let service = Service::start().await;
    for (body, query, header) in [
        (
            TOYS.to_owned(),
            "numbers=thermometer&bins=2",
            "label,odor=foul,odor=none,size>=1.5,size>=2.5,wet,wet=?",
        ),
        (
            TOYS.replace("odor", "label"),
            "labels=class&ignore=wet",
            "label,label=foul,label=none,size",
        ),
        (
            TOYS.replace("size", "label"),
            "labels=class&ignore=wet",
            "label_1,odor=foul,odor=none,label",
        ),
        (
            "\"a,b\",\" say \"\"so\"\" \"\n1,0\n0,1\n".to_owned(),
            "labels=none&header=true",
            "\"a,b\",\"say \"\"so\"\"\"",
        ),
    ] {
        let stored = service
            .post_as(&format!("/v1/datasets?{query}"), CSV, body)
            .await
            .expect(201)
            .json();
        let path = format!(
            "/v1/datasets/{}/examples?format=csv",
            stored["id"].as_str().unwrap()
        );
        let text = service.get(&path).await.expect(200).text().to_owned();
        assert_eq!(text.lines().next(), Some(header));
        let labels = if stored["kind"] == "labelled" {
            "first"
        } else {
            "none"
        };
        let path = format!("/v1/datasets?labels={labels}&header=true");
        let again = service.post_as(&path, CSV, text).await.expect(201).json();
        assert_eq!(again["sha256"], stored["sha256"]);
        assert_eq!(again["features"], stored["features"]);
    }
}
