//! Receipts: for the learners that change their state only on mistakes, a second implementation replays trainings and
//! refuses altered receipts.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Output;

use halfspace::jobs::draw;
use halfspace_formats::{Format, GeneratedSpec, LabelsColumn, Options, Parsed, parse};
use halfspace_verify::{Check, DataSource, HeldOut, Receipt, verify};
use serde_json::{Value, json};

use crate::service::{Service, program, request};

/// Learners with a query of parameters each.
const LEARNERS: [(&str, &str); 26] = [
    ("perceptron", ""),
    ("perceptron", "&params.order=shuffled"),
    (
        "perceptron",
        "&params.order=shuffled&params.eta=0.3&params.reading=unsigned",
    ),
    ("perceptron", "&params.eta=3&params.bias=false"),
    ("perceptron", "&params.thickness=2.5"),
    (
        "perceptron",
        "&params.eta=0.1&params.thickness=0.3&params.order=shuffled",
    ),
    (
        "averaged-perceptron",
        "&params.order=cyclic&params.thickness=4",
    ),
    ("averaged-perceptron", ""),
    ("averaged-perceptron", "&params.order=shuffled"),
    ("averaged-perceptron", "&params.order=cyclic"),
    (
        "averaged-perceptron",
        "&params.eta=0.3&params.reading=unsigned",
    ),
    ("winnow", ""),
    (
        "winnow",
        "&params.alpha=1.5&params.theta=2.25&params.negated_literals=true",
    ),
    ("winnow", "&params.alpha=1.1"),
    ("winnow", "&params.thickness=0.25"),
    (
        "winnow",
        "&params.theta=3.5&params.alpha=1.5&params.thickness=0.1",
    ),
    ("kernel-perceptron", ""),
    (
        "kernel-perceptron",
        "&params.order=shuffled&params.kernel.conjunctions=monotone",
    ),
    ("kernel-perceptron", "&params.kernel.max_literals=2"),
    ("kernel-perceptron", "&params.thickness=9"),
    ("kernel-winnow", ""),
    ("kernel-winnow", "&params.alpha=3&params.theta=7.5"),
    ("kernel-winnow", "&params.thickness=0.4"),
    ("kernel-winnow", "&params.max_literals=2"),
    ("directed-drift", ""),
    ("bounded-perceptron", "&params.threshold=0.01"),
];

const LIMITS: [&str; 3] = [
    "&stop.max_passes=7",
    "&stop.max_mistakes=23",
    "&stop.max_examples=150&stop.max_passes=50",
];

/// One training: its request, and its data as CSV unless they are generated.
struct Case {
    path: String,
    table: Option<String>,
    generated: Value,
}

/// The training of this number. The learners take turns, and limits, splits, kinds of data and classes are drawn
/// independently of each other.
fn case(number: u64) -> Case {
    let (learner, params) = LEARNERS[number as usize % LEARNERS.len()];
    let turn = number / LEARNERS.len() as u64;
    // The finaliser of SplitMix64.
    let mut drawn = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    drawn ^= drawn >> 31;
    let mut below = |count: u64| {
        let one = drawn % count;
        drawn /= count;
        one
    };
    let limit = LIMITS[below(3) as usize];
    let holdout = ["", "&holdout=0.2", "&holdout=0.2&stratify=true"][below(3) as usize];
    let is_generated = below(5) == 4 && !holdout.contains("stratify");
    let is_real = below(2) == 1 && learner.contains("perceptron") && !learner.starts_with("kernel");
    let is_real = is_real && !params.contains("reading");
    let classes = match below(2) {
        1 if !is_generated && learner != "directed-drift" => 3 + below(4),
        _ => 2,
    };
    let joint = match learner.trim_start_matches("averaged-") {
        "perceptron" if classes > 2 && below(2) == 1 => "&multiclass=joint",
        _ => "",
    };
    let is_cyclic = match learner {
        "averaged-perceptron" => params.contains("cyclic"),
        _ => !params.contains("shuffled"),
    };
    let can_open = is_cyclic && holdout.is_empty() && classes > 2;
    let open = match can_open && below(2) == 1 {
        true => "&classes=open",
        false => "",
    };
    let labels = if is_generated { "" } else { "&labels=first" };
    let path = format!(
        "/v1/learners/{learner}/train?seed={number}{labels}{params}{limit}{holdout}{joint}{open}"
    );
    let n = 5 + turn % 5;
    let generated = json!({"generated": {"n": n, "count": 90, "noise": 0.1,
        "target": {"binary_weights": {}}, "sampling": "uniform"}});
    Case {
        path,
        table: (!is_generated).then(|| table(number, n, is_real, classes)),
        generated,
    }
}

/// Pseudo-random rows, the label first: the majority of the features, with noise. More than two classes share the
/// range of the sum of the features.
fn table(seed: u64, n: u64, is_real: bool, classes: u64) -> String {
    let mut state = seed.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
    let mut below = |count: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % count
    };
    let mut text = String::new();
    for _ in 0..80 {
        let most = if is_real { 16 } else { 1 };
        let values: Vec<u64> = (0..n).map(|_| below(most + 1)).collect();
        let sum = values.iter().sum::<u64>();
        let is_noisy = below(10) == 0;
        let _ = match classes {
            2 => write!(
                text,
                "{}",
                if (2 * sum > n * most) != is_noisy {
                    1
                } else {
                    -1
                }
            ),
            _ => {
                let class = (sum * classes / (n * most + 1) + u64::from(is_noisy)) % classes;
                write!(text, "class \u{e9}{class}")
            }
        };
        for value in values {
            let _ = write!(text, ",{}", value as f64 / most as f64);
        }
        text.push('\n');
    }
    text
}

/// The options of [`table`].
fn labels_first() -> Options {
    Options {
        labels: Some(LabelsColumn::First),
        ..Options::default()
    }
}

/// Trains and returns the path of the model.
async fn train(service: &Service, case: &Case) -> String {
    let (media_type, body) = match &case.table {
        Some(table) => ("text/csv", table.clone()),
        None => ("application/json", case.generated.to_string()),
    };
    let headers = [("content-type", media_type), ("prefer", "wait=60")];
    let answer = service
        .send(request("POST", &case.path, &headers, body))
        .await;
    let job = answer.expect(200).json();
    assert_eq!(job["status"], "succeeded", "{}: {job}", case.path);
    format!("/v1/models/{}", job["result"]["model"].as_str().unwrap())
}

async fn receipt(service: &Service, model: &str) -> Receipt {
    let answer = service.get(&format!("{model}/receipt")).await;
    serde_json::from_value(answer.expect(200).json()).unwrap()
}

fn data(case: &Case, receipt: &Receipt) -> Parsed {
    match (&case.table, &receipt.data) {
        (Some(table), _) => parse(Format::Csv, table.as_bytes(), &labels_first()).unwrap(),
        (None, DataSource::Generated { spec: generated }) => {
            let spec: GeneratedSpec = serde_json::from_value(generated.clone()).unwrap();
            Parsed::of(draw(&spec, receipt.seed, 1 << 20).unwrap().0)
        }
        (None, DataSource::Rows { .. }) => panic!("the data were generated"),
    }
}

fn difference(checks: &[Check]) -> Option<&'static str> {
    checks
        .iter()
        .find(|check| check.outcome.is_err())
        .map(|check| check.name)
}

/// Trains and replays this number of cases. Returns the seconds of training and of the replay.
async fn replay_all(cases: u64) -> (f64, f64) {
    let service = Service::start().await;
    let (mut trained, mut replayed) = (0.0, 0.0);
    for number in 0..cases {
        let case = case(number);
        let begin = tokio::time::Instant::now();
        let model = train(&service, &case).await;
        trained += begin.elapsed().as_secs_f64();
        let receipt = receipt(&service, &model).await;
        let data = data(&case, &receipt);
        let begin = tokio::time::Instant::now();
        let checks = verify(&receipt, &data);
        replayed += begin.elapsed().as_secs_f64();
        assert_eq!(
            difference(&checks),
            None,
            "{}: {checks:?}\n{receipt:?}",
            case.path
        );
        assert!(checks.iter().any(|check| check.name == "hypothesis digest"));
    }
    (trained, replayed)
}

#[tokio::test]
async fn receipts_of_every_training_of_the_grid_are_replayed() {
    replay_all(204).await;
}

/// Whether the script in Python replays a receipt: the weights are whole, and the data are a table.
fn is_whole(case: &Case, receipt: &Receipt) -> bool {
    let is_whole = |table: &String| !table.contains('.') && !case.path.contains("params.eta=0.3");
    case.table.as_ref().is_some_and(is_whole) && receipt.learner != "bounded-perceptron"
}

/// Replays `receipt.json` on `data.csv` in this directory.
#[track_caller]
fn replay_in_python(directory: &Path, case: &Case) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/replay_receipt.py");
    let mut python = std::process::Command::new("python3");
    python.current_dir(directory).arg(&script);
    let replayed = python.args(["receipt.json", "data.csv"]).output().unwrap();
    assert!(replayed.status.success(), "{}: {replayed:?}", case.path);
}

#[tokio::test]
#[ignore = "prints seconds, for a release build"]
async fn receipts_of_a_thousand_trainings_are_replayed() {
    let (trained, replayed) = replay_all(1000).await;
    println!("1,000 trainings: {trained:.2} s over the service, {replayed:.2} s of replay");
    let (service, directory) = (Service::start().await, tempfile::tempdir().unwrap());
    let begin = tokio::time::Instant::now();
    let mut in_python = 0;
    for case in (0..1000).map(case) {
        let receipt = receipt(&service, &train(&service, &case).await).await;
        if is_whole(&case, &receipt) {
            let write = |name, text: &str| fs::write(directory.path().join(name), text).unwrap();
            write("receipt.json", &serde_json::to_string(&receipt).unwrap());
            write("data.csv", case.table.as_deref().unwrap());
            replay_in_python(directory.path(), &case);
            in_python += 1;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{in_python} of them are whole: {seconds:.2} s of training and replay in Python");
}

/// The receipt with each digit of its text altered, one at a time, as far as the text is still a receipt.
fn altered(text: &str) -> impl Iterator<Item = (usize, Receipt)> {
    let digits = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| byte.is_ascii_digit());
    digits.filter_map(move |(at, digit)| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = b'0' + (digit - b'0' + 1) % 10;
        let receipt = serde_json::from_slice(&bytes).ok()?;
        Some((at, receipt))
    })
}

#[tokio::test]
async fn a_receipt_with_any_digit_altered_is_refused() {
    let service = Service::start().await;
    let joint = |case: &Case| case.path.contains("averaged") && case.path.contains("joint");
    let joint = (0..).map(case).find(joint).expect("one of many");
    for case in (0..LEARNERS.len() as u64).map(case).chain([joint]) {
        let receipt = receipt(&service, &train(&service, &case).await).await;
        let data = data(&case, &receipt);
        let text = serde_json::to_string(&receipt).unwrap();
        for (at, altered) in altered(&text) {
            assert!(
                difference(&verify(&altered, &data)).is_some(),
                "{at} of {text}"
            );
        }
    }
}

/// The replay finds each false fact by itself if the digest of the receipt was computed again.
#[tokio::test]
async fn receipt_with_a_false_fact_and_a_new_digest_is_refused() {
    let service = Service::start().await;
    let is_two = |case: &Case| {
        let path = &case.path;
        let is_two = case
            .table
            .as_ref()
            .is_some_and(|table| !table.contains("class"));
        is_two
            && path.contains("shuffled&")
            && path.contains("holdout")
            && path.contains("/perceptron")
    };
    let is_joint = |case: &Case| {
        let path = &case.path;
        path.contains("averaged") && path.contains("joint") && path.contains("holdout")
    };
    let [two, joint] = [&is_two as &dyn Fn(&Case) -> bool, &is_joint]
        .map(|is_wanted| (0..).map(case).find(is_wanted).expect("one of many"));
    let case = two;
    let own = receipt(&service, &train(&service, &case).await).await;
    let data = self::data(&case, &own);
    type Change = fn(&mut Receipt);
    let cases: [(&str, Change); 15] = [
        ("version", |it| it.version = 1),
        ("generator", |it| it.generator = "chacha8".to_owned()),
        ("order", |it| it.order = "cyclic".to_owned()),
        ("examples", |it| it.examples += 1),
        ("data digest", |it| {
            it.data = DataSource::Rows {
                sha256: "00".to_owned(),
            }
        }),
        ("holdout", |it| held_out(it).share = 0.001),
        ("kept examples", |it| it.members[0].kept.reverse()),
        ("learner", |it| it.learner = "pocket".to_owned()),
        ("mistakes", |it| it.members[0].kept.truncate(1)),
        ("mistakes", |it| it.mistakes += 1),
        ("classes", |it| it.members[0].class.push('x')),
        ("hypothesis digest", |it| it.hypothesis_sha256.clear()),
        ("training errors", |it| it.training_errors = Some(80)),
        ("holdout errors", |it| held_out(it).errors = Some(16)),
        ("kept examples", |it| it.members[0].kept.push(80)),
    ];
    for (name, alter) in cases {
        let mut receipt = own.clone();
        alter(&mut receipt);
        let found = difference(&verify(&receipt.sealed(), &data));
        assert_eq!(found, Some(name));
    }
    let own = receipt(&service, &train(&service, &joint).await).await;
    let data = self::data(&joint, &own);
    let cases: [(&str, Change); 9] = [
        ("kept examples", |it| held_out(it).stratified ^= true),
        ("mistakes", |it| it.members.swap(0, 1)),
        ("kept examples", |it| it.members[1].kept.reverse()),
        ("mistakes", |it| it.members[1].kept.truncate(1)),
        ("mistakes", |it| it.members[2].mistakes += 1),
        ("mistakes", |it| it.presented = 1),
        ("mistakes", |it| it.presented = 1 << 63),
        ("hypothesis digest", |it| it.presented += 1),
        ("learner", |it| it.multiclass = None),
    ];
    for (name, alter) in cases {
        let mut receipt = own.clone();
        alter(&mut receipt);
        let found = difference(&verify(&receipt.sealed(), &data));
        assert_eq!(found, Some(name));
    }
}

fn held_out(receipt: &mut Receipt) -> &mut HeldOut {
    receipt.holdout.as_mut().expect("a run with a hold-out")
}

/// Errors on held-out examples have no place in a receipt without such examples, so no replay can overlook them.
#[tokio::test]
async fn a_receipt_states_holdout_errors_only_beside_a_holdout() {
    let service = Service::start().await;
    let own = receipt(&service, &train(&service, &case(0)).await).await;
    assert_eq!(own.holdout, None);
    let mut document = serde_json::to_value(&own).unwrap();
    document["holdout_errors"] = json!(0);
    assert!(serde_json::from_value::<Receipt>(document.clone()).is_err());
    document.as_object_mut().unwrap().remove("holdout_errors");
    document["holdout"] = json!({"errors": 0});
    assert!(serde_json::from_value::<Receipt>(document).is_err());
}

#[tokio::test]
async fn models_without_a_receipt_say_why() {
    let service = Service::start().await;
    let table = table(1, 5, false, 2);
    let mut models = Vec::new();
    for (path, reason) in [
        (
            "pocket/train?labels=first&stop.max_passes=3",
            "no list of mistaken examples",
        ),
        (
            "perceptron/train?labels=first&params.order=random&stop.max_passes=3",
            "random",
        ),
        (
            "perceptron/train?labels=first&params.initial=2&stop.max_passes=3",
            "first hypothesis",
        ),
    ] {
        let case = Case {
            path: format!("/v1/learners/{path}"),
            table: Some(table.clone()),
            generated: Value::Null,
        };
        models.push((train(&service, &case).await, reason));
    }
    let exported = train(&service, &case(0)).await;
    let file = service.get(&exported).await.expect(200).json();
    assert_eq!(file.get("receipt"), None);
    let copy = service
        .post_json("/v1/models", &file)
        .await
        .expect(201)
        .id();
    models.push((format!("/v1/models/{copy}"), "file"));
    for (model, reason) in models {
        let answer = service.get(&format!("{model}/receipt")).await;
        assert!(answer.text().contains(reason), "{}", answer.text());
        assert_eq!(answer.problem(422), "inexpressible");
    }
}

fn run_verify(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = program();
    command
        .current_dir(directory)
        .args(["verify", "--param", "labels=first"])
        .args(arguments);
    command.output().unwrap()
}

#[tokio::test]
async fn verify_command_and_script_replay_a_receipt() {
    let service = Service::start().await;
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("other.csv", &table(99, 5, false, 2));
    write("none.json", "{}");
    let is_two = |case: &Case| {
        let two = case.table.as_ref().filter(|table| !table.contains("class"));
        two.is_some()
    };
    let two = (0..).map(case).find(is_two);
    let mut stratified = 0;
    // The receipt of two classes stays for the tests after the loop.
    for case in (0..30).map(case).chain(two) {
        let receipt = receipt(&service, &train(&service, &case).await).await;
        write("receipt.json", &serde_json::to_string(&receipt).unwrap());
        let Some(table) = &case.table else {
            continue;
        };
        write("data.csv", table);
        let good = run_verify(directory.path(), &["receipt.json", "data.csv"]);
        assert_eq!(good.status.code(), Some(0), "{good:?}");
        if is_whole(&case, &receipt) {
            replay_in_python(directory.path(), &case);
            stratified += u32::from(table.contains("class") && case.path.contains("stratify"));
        }
    }
    assert!(stratified > 0);
    let other = run_verify(directory.path(), &["receipt.json", "other.csv"]);
    let text = String::from_utf8(other.stdout).unwrap();
    assert_eq!(other.status.code(), Some(1));
    assert!(text.contains("differs data digest"), "{text}");
    for unreadable in [
        ["receipt.json", "missing.csv"],
        ["none.json", "other.csv"],
        ["receipt.json", "none.json"],
    ] {
        let refused = run_verify(directory.path(), &unreadable);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

/// A receipt names its classes, so it holds for the table whatever the order of the classes in the dataset is.
#[tokio::test]
async fn receipts_of_a_stored_dataset_are_replayed_from_its_table() {
    let service = Service::start().await;
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let table = table(7, 6, false, 4);
    write("data.csv", &table);
    let path = "/v1/datasets?labels=first&header=false";
    let stored = service.post_as(path, "text/csv", table.clone()).await;
    let stored = stored.expect(201).json();
    let id = stored["id"].as_str().unwrap();
    let mut names: Vec<&str> = stored["classes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(names.len(), 4);
    let positive = json!({"dataset": {"id": id, "positive": names[2]}});
    names.reverse();
    let listed = names.join(",").replace(' ', "%20");
    let listed = format!("&classes=absent,{listed}");
    let by_id = json!({"dataset": id});
    for (data, query) in [
        (&positive, ""),
        (&positive, "&holdout=0.3&stratify=true"),
        (&by_id, listed.as_str()),
        (
            &by_id,
            &format!("{listed}&holdout=0.3&stratify=true&multiclass=joint"),
        ),
        (&by_id, "&classes=open"),
    ] {
        let path = format!("/v1/learners/perceptron/train?seed=4&stop.max_passes=5{query}");
        let job = service.post_json(&path, data).await.expect(200).json();
        let model = job["result"]["model"].as_str().unwrap();
        let receipt = service.get(&format!("/v1/models/{model}/receipt")).await;
        write("receipt.json", receipt.expect(200).text());
        let arguments = ["--param", "header=false", "receipt.json", "data.csv"];
        let good = run_verify(directory.path(), &arguments);
        assert_eq!(good.status.code(), Some(0), "{query}: {good:?}");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/replay_receipt.py");
        let mut python = std::process::Command::new("python3");
        python.current_dir(directory.path()).arg(&script);
        let replayed = python.args(["receipt.json", "data.csv"]).output().unwrap();
        assert!(replayed.status.success(), "{query}: {replayed:?}");
    }
}

/// The features of a table with held-out rows are those that the other rows decide, and the command decides them again.
#[tokio::test]
async fn verify_command_encodes_a_table_for_the_shown_rows() {
    let service = Service::start().await;
    let row = |row: u32| {
        let number = row.wrapping_mul(2_654_435_761) >> 22;
        let gap = if row % 9 == 4 {
            String::new()
        } else {
            format!("{number}.5")
        };
        let word = if row == 7 {
            "once"
        } else {
            ["u", "v", "w"][row as usize % 3]
        };
        let class = ["p", "q", "r"][(number / 342) as usize % 3];
        format!("{class},{gap},{word}\n")
    };
    let data: String = (0..60).map(row).collect();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("data.csv"), &data).unwrap();
    for split in ["holdout=0.5&seed=2", "holdout=0.5&seed=2&stratify=true"] {
        for fits in ["missing=mean&scale=standard", "numbers=thermometer&bins=3"] {
            let path = format!("/v1/learners/perceptron/train?labels=first&{split}&{fits}");
            let case = Case {
                path,
                table: Some(data.clone()),
                generated: Value::Null,
            };
            let model = train(&service, &case).await;
            let own = service.get(&format!("{model}/receipt")).await.expect(200);
            std::fs::write(directory.path().join("receipt.json"), own.text()).unwrap();
            let parameters: Vec<&str> = fits.split('&').flat_map(|fit| ["--param", fit]).collect();
            let arguments = [&["receipt.json", "data.csv"][..], &parameters].concat();
            let good = run_verify(directory.path(), &arguments);
            let told = String::from_utf8_lossy(&good.stdout).into_owned();
            assert!(good.status.success(), "{split} {fits}: {told}");
        }
    }
}

#[tokio::test]
async fn verify_command_draws_generated_examples_again() {
    let service = Service::start().await;
    let directory = tempfile::tempdir().unwrap();
    let case = Case {
        path: "/v1/learners/directed-drift/train?seed=5&stop.max_examples=400".to_owned(),
        table: None,
        generated: json!({"generated": {"n": 15, "target": {"binary_weights": {}},
            "sampling": "uniform-positive"}}),
    };
    let receipt = receipt(&service, &train(&service, &case).await).await;
    fs::write(
        directory.path().join("receipt.json"),
        serde_json::to_string(&receipt).unwrap(),
    )
    .unwrap();
    let good = run_verify(directory.path(), &["receipt.json"]);
    assert_eq!(good.status.code(), Some(0), "{good:?}");
}

/// The receipt of a training on two examples that contradict each other, which goes on for ever, with so many mistakes.
fn contradiction(directory: &Path, mistakes: u64, presented: u64) -> Receipt {
    let table = "1,1\n-1,1\n";
    fs::write(directory.join("data.csv"), table).unwrap();
    let parsed = parse(Format::Csv, table.as_bytes(), &labels_first());
    let parsed = parsed.unwrap();
    let digest = parsed.digest();
    let params = json!({"order": "cyclic", "bias": true, "eta": 1, "initial": 0, "reading": "signed", "thickness": 0});
    let receipt = json!({"version": 2, "learner": "perceptron", "params": params, "seed": 1,
        "generator": "xoshiro256++", "order": "cyclic", "holdout": null, "examples": 2,
        "presented": presented, "mistakes": mistakes, "training_errors": null,
        "data": {"kind": "rows", "sha256": hex::encode(digest)}, "hypothesis_sha256": "",
        "members": [{"class": "1", "mistakes": mistakes, "kept": [0, 1]}], "sha256": ""});
    serde_json::from_value::<Receipt>(receipt).unwrap().sealed()
}

#[test]
fn a_replay_without_end_is_given_up_after_max_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let write = |receipt: &Receipt| {
        let text = serde_json::to_string(receipt).unwrap();
        fs::write(path.join("receipt.json"), text).unwrap();
    };
    // With few mistakes the replay reaches the digest of the hypothesis.
    write(&contradiction(path, 3, 4));
    let ended = run_verify(path, &["receipt.json", "data.csv"]);
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.contains("differs hypothesis digest"), "{text}");
    write(&contradiction(path, u64::MAX, u64::MAX));
    let line = ["receipt.json", "data.csv", "--max-seconds", "1"];
    let given_up = run_verify(path, &line);
    assert_eq!(given_up.status.code(), Some(2), "{given_up:?}");
    let told = String::from_utf8(given_up.stderr).unwrap();
    assert!(
        told.contains("within 1 s") && told.contains("--max-seconds"),
        "{told}"
    );
}

#[test]
fn a_receipt_cannot_steer_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let evil = "\u{1b}[2Jequal\nequal   receipt digest: ok\u{9b}0m\u{202e}";
    type Change = fn(&mut Receipt, &str);
    let changes: [(Change, &str); 4] = [
        (|it, evil| it.generator = evil.to_owned(), "generator"),
        (|it, evil| it.order = evil.to_owned(), "order"),
        (
            |it, evil| it.hypothesis_sha256 = evil.to_owned(),
            "hypothesis digest",
        ),
        (|it, evil| it.learner = evil.to_owned(), "learner"),
    ];
    for (change, name) in changes {
        let mut receipt = contradiction(path, 3, 4);
        change(&mut receipt, evil);
        let text = serde_json::to_string(&receipt.sealed()).unwrap();
        fs::write(path.join("receipt.json"), text).unwrap();
        let told = run_verify(path, &["receipt.json", "data.csv"]);
        let told = String::from_utf8(told.stdout).unwrap();
        let last = told.lines().last().unwrap();
        assert!(last.starts_with(&format!("differs {name}: ")), "{told}");
        assert!(last.contains("\\u001b[2J"), "{told}");
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!told.contains(steers), "{told:?}");
    }
    // The error of the parser quotes the file too.
    let text = serde_json::to_string(&json!({(evil): 1})).unwrap();
    fs::write(path.join("receipt.json"), text).unwrap();
    let told = run_verify(path, &["receipt.json", "data.csv"]);
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(
        told.contains("\\u001b[2J") && !told.contains('\u{1b}'),
        "{told:?}"
    );
}
