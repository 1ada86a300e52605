//! Tests the property behind `classes.rs`: once a set of classes has named the labels, every later body is read by
//! these names, in every format, spelling and order, and whichever of the classes it contains.
//!
//! 9,000 random cases call the readers directly. More than 1,000 others pass through the router: every learner that
//! takes the data, evaluations of bodies, datasets and jobs, warm starts and sessions.

use halfspace::records::Names;
use halfspace_core::learners::catalogue::CATALOGUE;
use halfspace_core::learners::engine::random::Generator;
use halfspace_core::learners::sample::data::Data;
use halfspace_formats::{
    DataForm, Format, FormatError, FormatErrorKind, LabelRule, Options, Parsed, occurring, read,
};
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::service::{Answer, Service};

/// Cases that call the readers directly.
const CASES: usize = 9_000;

/// Classes with the value of +1 that a request states, if it states one.
const CLASSES: [(&[&str], Option<&str>); 17] = [
    (&["1", "2"], None),
    (&["0", "3"], None),
    (&["-1", "2"], None),
    (&["2", "10"], None),
    (&["1.5", "2.5"], None),
    (&["0", "1"], None),
    (&["-1", "1"], None),
    (&["1", "2"], Some("1")),
    (&["no", "yes"], None),
    (&["False", "True"], None),
    (&["a", "b"], None),
    (&["\u{e4}", "\u{f6}"], None),
    (&["1a", "2b"], None),
    (&["ill", "well"], Some("ill")),
    (&["1", "2", "3"], Some("3")),
    (&["0", "1", "2"], Some("1")),
    (&["setosa", "virginica", "other"], Some("setosa")),
];

/// The ways to write labelled examples of two bits.
const FORMATS: [(Format, Form); 10] = [
    (Format::Csv, Form::Table),
    (Format::Tsv, Form::Table),
    (Format::Arff, Form::Nominal),
    (Format::Arff, Form::Table),
    (Format::Libsvm, Form::Table),
    (Format::Json, Form::Table),
    (Format::Ndjson, Form::Table),
    (Format::Json, Form::Examples),
    (Format::Ndjson, Form::Examples),
    (Format::Npy, Form::Examples),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Rows of a table, or lines of LIBSVM, whose labels are values.
    Table,
    /// Rows of ARFF whose class declares its values.
    Nominal,
    /// Examples with a label beside them.
    Examples,
}

impl Form {
    /// Whether new data of this form may have these labels.
    fn begins(self, format: Format, values: &[&str]) -> bool {
        match (format, self) {
            (_, Form::Examples) => false,
            (Format::Libsvm, _) => values.iter().all(|value| is_number(value)),
            (Format::Arff, Form::Table) => values.iter().all(|value| is_number(value)),
            _ => true,
        }
    }

    /// Whether a body of this form can hold the label.
    fn holds(self, format: Format, label: &str) -> bool {
        match (format, self) {
            (Format::Npy, _) | (Format::Arff, Form::Table) => is_number(label),
            _ => true,
        }
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// A spelling of the same label.
fn spelled(label: &str, random: &mut Generator) -> String {
    if !is_number(label) {
        return label.to_owned();
    }
    let zeros = if label.contains('.') { "0" } else { ".0" };
    match random.random_range(0..3) {
        0 => format!("{label}{zeros}"),
        1 => format!("{label}e0"),
        _ => label.to_owned(),
    }
}

/// A label and the bits of the two features.
type Row = (String, [u8; 2]);

/// Writes a body.
fn body(format: Format, form: Form, rows: &[Row]) -> Vec<u8> {
    let json_label = |label: &str| match is_number(label) && label.len() % 2 == 1 {
        true => label.to_owned(),
        false => json!(label).to_string(),
    };
    let lines = |line: &dyn Fn(&Row) -> String| rows.iter().map(line).collect::<Vec<_>>();
    let object =
        |(label, [a, b]): &Row| format!("{{\"class\":{},\"a\":{a},\"b\":{b}}}", json_label(label));
    let example =
        |(label, [a, b]): &Row| format!("{{\"x\":\"{a}{b}\",\"y\":{}}}", json_label(label));
    let text = match (format, form) {
        (Format::Csv, _) => {
            let line = |(label, [a, b]): &Row| format!("{a},{label},{b}\n");
            format!("a,class,b\n{}", lines(&line).concat())
        }
        (Format::Tsv, _) => {
            let line = |(label, [a, b]): &Row| format!("{label}\t{a}\t{b}\n");
            format!("class\ta\tb\n{}", lines(&line).concat())
        }
        (Format::Arff, form) => {
            let mut values: Vec<&str> = rows.iter().map(|(label, _)| label.as_str()).collect();
            values.sort_unstable();
            values.dedup();
            let kind = match form {
                Form::Nominal => format!("{{{}}}", values.join(",")),
                _ => "numeric".to_owned(),
            };
            let line = |(label, [a, b]): &Row| format!("{a},{b},{label}\n");
            format!(
                "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute class {kind}\n@data\n{}",
                lines(&line).concat()
            )
        }
        (Format::Libsvm, _) => {
            let line = |(label, [a, b]): &Row| format!("{label} 1:{a} 2:{b}\n");
            lines(&line).concat()
        }
        (Format::Json, Form::Examples) => {
            format!(
                "{{\"labelled\":{{\"examples\":[{}]}}}}",
                lines(&example).join(",")
            )
        }
        (Format::Json, _) => format!("{{\"rows\":[{}]}}", lines(&object).join(",")),
        (Format::Ndjson, Form::Examples) => lines(&example).join("\n"),
        (Format::Ndjson, _) => lines(&object).join("\n"),
        _ => return npy(rows),
    };
    text.into_bytes()
}

/// A `.npy` file of doubles, the label last.
fn npy(rows: &[Row]) -> Vec<u8> {
    let header = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 3), }}",
        rows.len()
    );
    let header = format!("{header:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    for (label, [a, b]) in rows {
        let label: f64 = label.parse().expect("a number");
        for value in [f64::from(*a), f64::from(*b), label] {
            file.extend(value.to_le_bytes());
        }
    }
    file
}

fn parsed(
    format: Format,
    body: &[u8],
    rule: LabelRule,
    positive: Option<&str>,
) -> Result<Parsed, FormatError> {
    let mut options = Options {
        label_rule: rule,
        n: (format == Format::Libsvm).then_some(2),
        ..Options::default()
    };
    options.table.positive = positive.map(str::to_owned);
    match read(format, body, &options)? {
        DataForm::Sample { parsed, .. } => Ok(parsed),
        form => panic!("no examples: {form:?}"),
    }
}

fn labels(data: &Data) -> Vec<bool> {
    let Some(labels) = data.labels().signs() else {
        panic!("no labels")
    };
    (0..labels.n()).map(|row| labels.get(row)).collect()
}

/// A random subset of the values, with at least one.
fn some<'v>(values: &[&'v str], random: &mut Generator) -> Vec<&'v str> {
    let mut some: Vec<&str> = values.iter().copied().filter(|_| random.random()).collect();
    if some.is_empty() {
        some.push(values[random.random_range(0..values.len())]);
    }
    some
}

fn rows(values: &[&str], count: usize, random: &mut Generator) -> Vec<Row> {
    let one = |at: usize| {
        let value = match values.get(at) {
            Some(value) => value,
            None => values[random.random_range(0..values.len())],
        };
        let bits = [0, 1].map(|_| u8::from(random.random::<bool>()));
        (spelled(value, random), bits)
    };
    let mut rows: Vec<Row> = (0..count.max(values.len())).map(one).collect();
    let turn = random.random_range(0..rows.len());
    rows.rotate_left(turn);
    rows
}

/// The value that a spelling stands for.
fn value<'v>(spelling: &str, values: &[&'v str]) -> &'v str {
    let is = |value: &&str| match is_number(value) && is_number(spelling) {
        true => value.parse::<f64>().ok() == spelling.parse::<f64>().ok(),
        false => *value == spelling,
    };
    values.iter().copied().find(is).expect("a value")
}

#[test]
fn bodies_are_read_by_the_names_of_the_classes() {
    let mut random = Generator::seed_from_u64(38);
    let (mut read_by_dataset, mut read_later, mut refused) = (0, 0, 0);
    for case in 0..CASES {
        let (values, stated) = CLASSES[case % CLASSES.len()];
        let begin = |(format, form): &&(Format, Form)| form.begins(*format, values);
        let first: Vec<_> = FORMATS.iter().filter(begin).collect();
        let (format, form) = *first[random.random_range(0..first.len())];
        let begun = rows(values, 6, &mut random);
        let begun = parsed(format, &body(format, form, &begun), LabelRule::New, stated);
        let names = Names::of(&begun.unwrap_or_else(|error| panic!("{case}: {error}")));
        let positive = names
            .classes
            .clone()
            .expect("classes")
            .positive()
            .to_owned();
        if let Some(stated) = stated {
            assert_eq!(positive, stated);
        }
        let is_positive = |label: &str| value(label, values) == value(&positive, values);

        let later = some(values, &mut random);
        let count = 1 + random.random_range(0..5);
        let mut sent = rows(&later, count, &mut random);
        let hold = |(format, form): &&(Format, Form)| {
            sent.iter().all(|(label, _)| form.holds(*format, label))
        };
        let all: Vec<_> = FORMATS.iter().filter(hold).collect();
        let (format, form) = *all[random.random_range(0..all.len())];
        let expected: Vec<bool> = sent.iter().map(|(label, _)| is_positive(label)).collect();
        let text = body(format, form, &sent);
        let shown = || {
            format!(
                "{case}: {names:?} {format:?} {}",
                String::from_utf8_lossy(&text)
            )
        };

        // Read by the names at once.
        let known = parsed(format, &text, names.label_rule(), None);
        let known = known.unwrap_or_else(|error| panic!("{}: {error}", shown()));
        assert_eq!(labels(&known.data), expected, "{}", shown());
        let own = names.recoding(&Names::of(&known), &occurring(&known.data));
        assert!(own.expect("its own classes").is_identity(), "{}", shown());

        // Read as new data, as a dataset is, or before the model is known, and then by the names.
        for rule in [LabelRule::New, LabelRule::Later] {
            match parsed(format, &text, rule.clone(), None) {
                Ok(new) => {
                    *(if rule == LabelRule::New {
                        &mut read_by_dataset
                    } else {
                        &mut read_later
                    }) += 1;
                    let map = names.recoding(&Names::of(&new), &occurring(&new.data));
                    let map = map.unwrap_or_else(|detail| panic!("{}: {detail}", shown()));
                    assert_eq!(labels(&map.of(new.data)), expected, "{}", shown());
                }
                Err(error) => {
                    let is_told = error.detail.contains("positive=")
                        || matches!(
                            error.kind,
                            FormatErrorKind::BadLabel
                                | FormatErrorKind::UnknownLabel
                                | FormatErrorKind::MixedLabels
                        );
                    assert!(is_told, "{}: {error}", shown());
                }
            }
        }

        // A label that no class has.
        let is_rest = names
            .classes
            .as_ref()
            .is_some_and(|classes| classes.is_against_rest());
        if !is_rest && random.random_range(0..3) == 0 {
            let at = random.random_range(0..sent.len());
            sent[at].0 = "77".to_owned();
            let error = parsed(format, &body(format, form, &sent), names.label_rule(), None);
            let error = error.expect_err("a strange label");
            assert_eq!(error.kind, FormatErrorKind::UnknownLabel, "{}", shown());
            assert!(
                error.place.is_some() && error.detail.contains("77"),
                "{error}"
            );
            refused += 1;
        }
    }
    assert!(
        read_by_dataset > CASES / 3 && read_later > CASES / 3 && refused > CASES / 8,
        "{read_by_dataset} {read_later} {refused}"
    );
}

/// A service with a counter of its answers.
struct Asked {
    service: Service,
    cases: usize,
}

impl Asked {
    async fn post(&mut self, path: &str, format: Format, body: Vec<u8>) -> Answer {
        self.cases += 1;
        self.service.post_as(path, format.media_type(), body).await
    }

    /// The names of the predicted classes.
    async fn predicted(&mut self, of: &str, format: Format, body: Vec<u8>) -> Vec<String> {
        let query = match format {
            Format::Npy => "?labels=last",
            Format::Csv | Format::Tsv | Format::Arff => "?labels=class",
            _ => "",
        };
        let path = format!("{of}/predict{query}");
        let answer = self.post(&path, format, body).await.expect(200);
        let names = |answer: &Value| match answer.get("predicted_class") {
            Some(name) => vec![name.as_str().unwrap().to_owned()],
            None => serde_json::from_value(answer["predicted_classes"].clone()).unwrap(),
        };
        let lines = answer
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines.flat_map(|line: Value| names(&line)).collect()
    }
}

/// The classes of the trainings through the router, with the name of -1.
const TRAINED: [(&[&str], &str, &str); 3] = [
    (&["1", "2"], "", "1"),
    (&["ill", "well"], "&positive=ill", "well"),
    (&["1", "2", "3"], "&positive=3", "not 3"),
];

#[tokio::test]
async fn learners_and_routes_read_by_the_names_of_the_classes() {
    let mut asked = Asked {
        service: Service::start().await,
        cases: 0,
    };
    let mut random = Generator::seed_from_u64(39);
    let mut learners = 0;
    for entry in CATALOGUE {
        for (values, query, negative) in TRAINED {
            let begun: Vec<Row> = (0..12)
                .map(|row| {
                    (
                        values[row % values.len()].to_owned(),
                        [u8::from(row % 2 == 0), u8::from(row % 3 == 0)],
                    )
                })
                .collect();
            let path = format!("/v1/learners/{}/train?seed=1{query}", entry.name);
            let text = body(Format::Csv, Form::Table, &begun);
            let answer = asked.post(&path, Format::Csv, text).await;
            let Some(model) = answer.json()["result"]["model"].as_str().map(str::to_owned) else {
                continue;
            };
            learners += 1;
            let truth = |label: &str| match (values.len(), value(label, values)) {
                (2, value) => value.to_owned(),
                (_, "3") => "3".to_owned(),
                _ => negative.to_owned(),
            };
            let of = format!("/v1/models/{model}");
            for (format, form) in FORMATS {
                let later = some(values, &mut random);
                let sent = rows(&later, 3, &mut random);
                if !sent.iter().all(|(label, _)| form.holds(format, label)) {
                    continue;
                }
                let text = body(format, form, &sent);
                let predicted = asked.predicted(&of, format, text.clone()).await;
                let wrong = predicted
                    .iter()
                    .zip(&sent)
                    .filter(|(name, (label, _))| **name != truth(label));
                let errors = wrong.count() as u64;
                let evaluated = asked
                    .post(&format!("{of}/evaluate"), format, text.clone())
                    .await;
                let shown = format!(
                    "{} {format:?} {}",
                    entry.name,
                    String::from_utf8_lossy(&text)
                );
                assert_eq!(evaluated.expect(200).json()["errors"], errors, "{shown}");

                // By the id of a dataset that was stored without the model.
                let stored = asked.post("/v1/datasets", format, text.clone()).await;
                if stored.status == 201 {
                    let data = json!({"dataset": stored.id()});
                    let path = format!("{of}/evaluate");
                    let evaluated = asked.service.post_json(&path, &data).await.expect(200);
                    assert_eq!(evaluated.json()["errors"], errors, "{shown}");
                    asked.cases += 1;
                }
                warm_start(&mut asked, entry.name, &model, (format, text), &shown).await;
            }
        }
    }
    assert!(learners >= 24, "{learners}");
    assert!(asked.cases >= 1_000, "{}", asked.cases);
}

/// Trains on from the model, if the learner can, and checks the names of the new model.
async fn warm_start(
    asked: &mut Asked,
    learner: &str,
    model: &str,
    (format, text): (Format, Vec<u8>),
    shown: &str,
) {
    let path = format!("/v1/learners/{learner}/train?seed=1&warm_start={model}");
    let answer = asked.post(&path, format, text).await;
    assert_ne!(answer.json()["code"], "bad-label", "{shown}");
    if let Some(warm) = answer.json()["result"]["model"].as_str() {
        let named = async |model: &str| {
            let path = format!("/v1/models/{model}");
            let file = asked.service.get(&path).await.expect(200).json();
            (file["classes"].clone(), file["one_against_rest"].clone())
        };
        assert_eq!(named(warm).await, named(model).await, "{shown}");
    }
}

#[tokio::test]
async fn pages_of_a_dataset_are_read_by_the_names_of_its_classes() {
    let mut asked = Asked {
        service: Service::start().await,
        cases: 0,
    };
    for values in [
        ["1", "2"],
        ["0", "3"],
        ["-1", "2"],
        ["1.5", "2.5"],
        ["0", "1"],
        ["no", "yes"],
    ] {
        let row = |at: usize| {
            (
                values[at / 2].to_owned(),
                [u8::from(at < 2), (at % 2) as u8],
            )
        };
        let four: Vec<Row> = (0..4).map(row).collect();
        let text = body(Format::Csv, Form::Table, &four);
        let trained = asked
            .post(
                "/v1/learners/perceptron/train?seed=1",
                Format::Csv,
                text.clone(),
            )
            .await;
        let model = trained.json()["result"]["model"]
            .as_str()
            .unwrap()
            .to_owned();
        let stored = asked
            .post("/v1/datasets", Format::Csv, text)
            .await
            .expect(201)
            .id();
        for (format, name, query) in [
            (Format::Csv, "csv", "labels=first&header=true"),
            (Format::Libsvm, "libsvm", "n=2"),
            (Format::Ndjson, "ndjson", ""),
            (Format::Json, "json", ""),
        ] {
            for (offset, limit) in [(0, 4), (0, 2), (2, 2), (3, 1)] {
                let path = format!(
                    "/v1/datasets/{stored}/examples?offset={offset}&limit={limit}&format={name}"
                );
                let page = asked.service.get(&path).await.expect(200);
                let page = match format {
                    Format::Json => {
                        let examples = &page.json()["items"];
                        json!({"labelled": {"examples": examples}}).to_string()
                    }
                    _ => page.text().to_owned(),
                };
                let path = format!("/v1/models/{model}/evaluate?{query}");
                let evaluated = asked
                    .post(&path, format, page.clone().into_bytes())
                    .await
                    .expect(200);
                assert_eq!(evaluated.json()["errors"], 0, "{values:?}: {page}");
            }
        }
    }
}

#[tokio::test]
async fn sessions_read_by_the_names_of_their_classes() {
    let mut asked = Asked {
        service: Service::start().await,
        cases: 0,
    };
    let mut random = Generator::seed_from_u64(40);
    for learner in ["perceptron", "winnow", "kernel-perceptron"] {
        for (values, query, negative) in TRAINED {
            let opened = json!({"learner": {"name": learner}, "n": 2});
            let opened = asked
                .service
                .post_json("/v1/sessions", &opened)
                .await
                .expect(201);
            let of = format!("/v1/sessions/{}", opened.id());
            let path = format!("{of}/examples?{}", query);
            let text = body(Format::Csv, Form::Table, &rows(values, 6, &mut random));
            asked.post(&path, Format::Csv, text).await.expect(200);
            let path = format!("{of}/examples");
            for (format, form) in FORMATS.into_iter().cycle().take(30) {
                let later = some(values, &mut random);
                let sent = rows(&later[..1], 1, &mut random);
                // Without an encoding the lines of a stream are examples.
                let is_row = (format, form) == (Format::Ndjson, Form::Table);
                if is_row || !form.holds(format, &sent[0].0) {
                    continue;
                }
                let text = body(format, form, &sent);
                let predicted = asked.predicted(&of, format, text.clone()).await.remove(0);
                let shown = format!("{learner} {format:?} {}", String::from_utf8_lossy(&text));
                let learnt = asked.post(&path, format, text).await.expect(200).json();
                let learnt = learnt.pointer("/answers/0").unwrap_or(&learnt).clone();
                if learnt["prediction"].is_null() {
                    continue;
                }
                let truth = match (values.len(), value(&sent[0].0, values)) {
                    (2, value) => value.to_owned(),
                    (_, "3") => "3".to_owned(),
                    _ => negative.to_owned(),
                };
                assert_eq!(learnt["mistake"], predicted != truth, "{shown}: {learnt}");
                asked.service.forget_sessions();
            }
        }
    }
    assert!(asked.cases >= 300, "{}", asked.cases);
}
