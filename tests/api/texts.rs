//! Texts and conjunctions through the service: the same model from every form of a body, kernels beside listed
//! conjunctions, sessions, and the lines of Vowpal Wabbit in and out.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

use crate::open_classes::{answers, opened};
use crate::service::Service;

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const VW: &str = "text/x-vw";

/// Short messages of two classes, which some of their words tell apart.
fn messages(seed: u64, count: usize) -> Vec<(String, &'static str)> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let words = [
        "you",
        "we",
        "at",
        "the",
        "Now",
        "can't",
        "na\u{ef}ve",
        "10.30",
    ];
    let message = |row: usize| {
        let (class, own) = match row % 2 {
            0 => ("spam", ["Win", "money", "prize"]),
            _ => ("ham", ["lunch", "tomorrow", "Thanks"]),
        };
        let mut text = own[random.random_range(0..3)].to_owned();
        for _ in 0..random.random_range(0..6) {
            text += [" ", ", ", " \u{2014} "][random.random_range(0..3)];
            text += words[random.random_range(0..words.len())];
        }
        (text, class)
    };
    (0..count).map(message).collect()
}

fn ndjson(messages: &[(String, &str)]) -> String {
    let line =
        |(text, class): &(String, &str)| format!("{}\n", json!({"x": {"text": text}, "y": class}));
    messages.iter().map(line).collect()
}

fn csv(messages: &[(String, &str)]) -> String {
    let line = |(text, class): &(String, &str)| format!("{class},\"{text}\"\n");
    let lines: String = messages.iter().map(line).collect();
    format!("class,text\n{lines}")
}

async fn uploaded(service: &Service, query: &str, media_type: &str, body: String) -> Value {
    let path = format!("/v1/datasets?{query}");
    service
        .post_as(&path, media_type, body)
        .await
        .expect(201)
        .json()
}

async fn model(service: &Service, dataset: &Value, learner: Value) -> Value {
    let train = json!({"learner": learner, "seed": 1, "data": {"dataset": dataset["id"]}});
    let job = service.run(&json!({ "train": train })).await;
    job["result"].clone()
}

#[tokio::test]
async fn texts_give_one_model_in_every_form() {
    let service = Service::start().await;
    let all = messages(1, 60);
    let options = "words=1-2&occurrences=counts";
    let row = |(text, class): &(String, &str)| json!({"text": text, "class": class});
    let rows: Vec<Value> = all.iter().map(row).collect();
    let table =
        json!({"rows": rows, "kinds": "text:text", "words": "1-2", "occurrences": "counts"});
    let json_body = json!({"data": {"table": table}}).to_string();
    let forms = [
        (NDJSON, options.to_owned(), ndjson(&all)),
        (CSV, format!("{options}&kinds=text:text"), csv(&all)),
        ("application/json", String::new(), json_body),
    ];
    let mut seen: Option<(Value, Value)> = None;
    for (media_type, query, body) in forms {
        let dataset = uploaded(&service, &query, media_type, body).await;
        assert_eq!(
            dataset["table"]["extraction"]["words"],
            json!([1, 2]),
            "{media_type}"
        );
        let result = model(&service, &dataset, json!({"name": "averaged-perceptron"})).await;
        let path = format!("/v1/models/{}", result["model"].as_str().unwrap());
        let document = service.get(&path).await.expect(200).json();
        let facts = (dataset["sha256"].clone(), document["hypothesis"].clone());
        assert_eq!(*seen.get_or_insert(facts.clone()), facts, "{media_type}");
        for (media_type, body) in [
            (NDJSON, "{\"x\":{\"text\":\"WIN now, wolf\"}}\n"),
            (NDJSON, "{\"text\":\"WIN now, wolf\"}\n"),
            (CSV, "text\n\"WIN now, wolf\"\n"),
            (
                "application/json",
                "{\"unlabelled\":{\"examples\":[{\"text\":\"WIN now, wolf\"}]}}",
            ),
            (
                NDJSON,
                "{\"x\":[\"text:win\",\"text:now\",\"text:wolf\",\"text:win now\",\"text:now wolf\"]}\n",
            ),
        ] {
            let answer = service
                .post_as(&format!("{path}/predict"), media_type, body.to_owned())
                .await
                .expect(200);
            let found = match media_type {
                NDJSON => answers(answer.text()).remove(0),
                _ => answer.json(),
            };
            let (class, unseen) = match media_type {
                NDJSON => (&found["predicted_class"], &found["unseen"]),
                _ => (&found["predicted_classes"][0], &found["unseen"][0]),
            };
            assert_eq!(class, "spam", "{body}");
            // The word "wolf" is new, and "now wolf" is.
            assert!(unseen.as_u64() >= Some(2), "{body}: {found}");
        }
        let wrong = format!("{path}/predict?words=1");
        let line = "{\"x\":{\"text\":\"a\"}}".to_owned();
        let wrong = service.post_as(&wrong, NDJSON, line).await;
        assert_eq!(wrong.problem(400), "bad-option");
        let evaluate = format!("{path}/evaluate");
        let evaluation = service
            .post_as(&evaluate, NDJSON, ndjson(&all))
            .await
            .expect(200)
            .json();
        assert_eq!(evaluation["errors"], result["training"]["errors"]);
    }
}

/// A perceptron or Winnow over listed conjunctions is the kernel learner over the same names.
#[tokio::test]
async fn listed_conjunctions_equal_the_kernels() {
    let service = Service::start().await;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    for case in 0..300 {
        let most = random.random_range(1..=3);
        let count = random.random_range(6..30);
        let mut lines = String::new();
        for row in 0..count {
            let names: Vec<&str> = ["a", "b&", "c\\", "d", "e", "f=g"]
                .into_iter()
                .filter(|_| random.random_range(0..5) < 2)
                .collect();
            let class = if row < 2 {
                row
            } else {
                random.random_range(0..2)
            };
            lines += &format!("{}\n", json!({"x": names, "y": class}));
        }
        let stop = json!({"max_passes": 4});
        let pair = match case % 3 {
            0 => [
                (json!({"bias": true, "reading": "unsigned"}), "perceptron"),
                (
                    json!({"kernel": {"max_literals": most}}),
                    "kernel-perceptron",
                ),
            ],
            1 => [
                (
                    json!({"bias": true, "reading": "unsigned", "thickness": 2}),
                    "perceptron",
                ),
                (
                    json!({"kernel": {"max_literals": most}, "thickness": 2}),
                    "kernel-perceptron",
                ),
            ],
            _ => [
                (json!({"alpha": 2, "theta": 6}), "winnow"),
                (
                    json!({"alpha": 2, "theta": 6, "max_literals": most}),
                    "kernel-winnow",
                ),
            ],
        };
        let mut found = Vec::new();
        for (at, (params, name)) in pair.into_iter().enumerate() {
            let query = if at == 0 {
                format!("vocabulary=open&conjunctions={most}")
            } else {
                "vocabulary=open".to_owned()
            };
            let dataset = uploaded(&service, &query, NDJSON, lines.clone()).await;
            let learner = json!({"name": name, "params": params});
            let train = json!({"learner": learner, "seed": 1, "stop": stop, "data": {"dataset": dataset["id"]}});
            let job = service.run(&json!({ "train": train })).await;
            assert_eq!(job["status"], "succeeded", "{job}");
            let result = &job["result"];
            let path = format!("/v1/models/{}/predict", result["model"].as_str().unwrap());
            let predicted = service
                .post_as(&path, NDJSON, lines.clone())
                .await
                .expect(200);
            let classes: Vec<Value> = answers(predicted.text())
                .iter()
                .map(|one| one["prediction"].clone())
                .collect();
            let counts = ["mistakes", "updates", "passes"].map(|member| result[member].clone());
            found.push((counts, classes));
        }
        assert_eq!(found[0], found[1], "case {case}, {most} names\n{lines}");
    }
}

#[tokio::test]
async fn session_over_texts_equals_the_job() {
    let service = Service::start().await;
    let all = messages(3, 40);
    let classes = json!(["ham", "spam"]);
    let learner = json!({"name": "winnow", "params": {"alpha": 1.5}});
    let asked = json!({"learner": learner, "vocabulary": "open", "active": 30, "seed": 3, "classes": classes,
        "extraction": {"words": [1, 2], "conjunctions": 2}});
    let path = opened(&service, &asked).await;
    for part in [&all[..1], &all[1..15], &all[15..]] {
        let learnt = service
            .post_as(&format!("{path}/examples"), NDJSON, ndjson(part))
            .await
            .expect(200);
        assert_eq!(answers(learnt.text()).len(), part.len());
        service.forget_sessions();
    }
    let own = service.get(&path).await.expect(200).json();
    let dataset = uploaded(&service, "words=1-2&conjunctions=2", NDJSON, ndjson(&all)).await;
    let train = json!({"learner": {"name": "winnow", "params": {"alpha": 1.5, "theta": 120}}, "seed": 3,
        "stop": {"max_passes": 1}, "data": {"dataset": dataset["id"]}});
    let job = service.run(&json!({ "train": train })).await;
    assert_eq!(own["hypothesis"], job["result"]["hypothesis"]);
    assert_eq!(own["mistakes"], job["result"]["mistakes"]);
    // The model of a session reads texts, and another session goes on with its extraction.
    let saved = service
        .post(&format!("{path}/model"))
        .await
        .expect(201)
        .id();
    let line = "{\"x\":{\"text\":\"win MONEY\"}}\n".to_owned();
    let predict = async |path: String| {
        let path = format!("{path}/predict");
        let answer = service.post_as(&path, NDJSON, line.clone()).await;
        answers(answer.expect(200).text()).remove(0)
    };
    let of_model = predict(format!("/v1/models/{saved}")).await;
    let own = predict(path).await;
    assert_eq!(own["score"], of_model["score"]);
    assert_eq!(own["unseen"], of_model["unseen"]);
    let asked = json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "encoding": saved});
    let path = opened(&service, &asked).await;
    let learnt = service
        .post_as(&format!("{path}/examples"), NDJSON, ndjson(&all[..4]))
        .await
        .expect(200);
    assert_eq!(answers(learnt.text()).len(), 4);
    let document = service.get(&path).await.expect(200).json();
    let names = document["features"].as_array().unwrap();
    assert!(
        names
            .iter()
            .any(|name| name.as_str().unwrap().contains('&')),
        "{names:?}"
    );
}

/// A training that starts from a model keeps what its texts become.
#[tokio::test]
async fn warm_start_keeps_the_extraction() {
    let service = Service::start().await;
    for (query, names) in [
        ("words=2", json!(["text:a b"])),
        ("conjunctions=2", json!(["text:win", "text:money"])),
    ] {
        let dataset = uploaded(&service, query, NDJSON, ndjson(&messages(5, 20))).await;
        let first = model(&service, &dataset, json!({"name": "perceptron"})).await["model"].clone();
        let first = first.as_str().unwrap();
        let body = format!(
            "{}\n{}\n",
            json!({"x": names, "y": "spam"}),
            json!({"x": ["other"], "y": "ham"})
        );
        let path = format!("/v1/learners/perceptron/train?seed=1&warm_start={first}");
        let job = service
            .post_as(&path, NDJSON, body)
            .await
            .expect(200)
            .json();
        let second = job["result"]["model"].as_str().unwrap();
        let of = async |id: &str| {
            service
                .get(&format!("/v1/models/{id}"))
                .await
                .expect(200)
                .json()
        };
        let (first, second) = (of(first).await, of(second).await);
        assert_eq!(second["table"]["extraction"], first["table"]["extraction"]);
        let path = format!("/v1/models/{}/predict", second["id"].as_str().unwrap());
        let line = "{\"x\":{\"text\":\"win money\"}}\n".to_owned();
        service.post_as(&path, NDJSON, line).await.expect(200);
    }
}

#[tokio::test]
async fn session_of_counts_reads_values() {
    let service = Service::start().await;
    let learner = json!({"name": "perceptron"});
    let asked =
        json!({"learner": learner, "vocabulary": "open", "extraction": {"occurrences": "counts"}});
    let path = opened(&service, &asked).await;
    let line = "{\"x\":{\"text\":\"a a b\"},\"y\":1}\n".to_owned();
    service
        .post_as(&format!("{path}/examples"), NDJSON, line)
        .await
        .expect(200);
    let document = service.get(&path).await.expect(200).json();
    assert_eq!(document["values"], "real");
    assert_eq!(document["table"]["extraction"]["occurrences"], "counts");
}

/// A model over conjunctions reads a dataset only if its names are joined too.
#[tokio::test]
async fn datasets_and_models_have_the_same_extraction() {
    let service = Service::start().await;
    let texts = ndjson(&messages(5, 20));
    let names = "{\"x\":[\"a\",\"b\"],\"y\":\"spam\"}\n{\"x\":[\"c\"],\"y\":\"ham\"}\n".to_owned();
    let mut made = Vec::new();
    for (query, body) in [
        ("", &texts),
        ("words=2", &texts),
        ("conjunctions=2", &texts),
        ("", &names),
        ("conjunctions=2", &names),
    ] {
        let dataset = uploaded(&service, query, NDJSON, body.clone()).await;
        let result = model(&service, &dataset, json!({"name": "perceptron"})).await;
        made.push((
            dataset["id"].clone(),
            result["model"].clone(),
            dataset["encoding_sha256"].clone(),
        ));
    }
    for (own, (_, model, _)) in made.iter().enumerate() {
        for (other, (dataset, ..)) in made.iter().enumerate() {
            let path = format!("/v1/models/{}", model.as_str().unwrap());
            let asked = json!({"dataset": dataset});
            let predicted = service.post_json(&format!("{path}/predict"), &asked).await;
            let evaluated = service.post_json(&format!("{path}/evaluate"), &asked).await;
            // Names without texts and without conjunctions fit any texts without conjunctions.
            let fits =
                own == other || matches!((own, other), (0 | 1, 3) | (3, 0 | 1) | (2, 4) | (4, 2));
            for answer in [predicted, evaluated] {
                assert_eq!(
                    answer.status.as_u16(),
                    if fits { 200 } else { 422 },
                    "{own} {other}: {}",
                    answer.text()
                );
            }
        }
    }
    assert_ne!(made[0].2, made[1].2);
}

#[tokio::test]
async fn sessions_refuse_texts_that_they_cannot_read() {
    let service = Service::start().await;
    let learner = json!({"name": "perceptron"});
    for (asked, code) in [
        (
            json!({"learner": learner, "n": 3, "extraction": {}}),
            "schema",
        ),
        (
            json!({"learner": learner, "vocabulary": "open", "extraction": {"window": 0}}),
            "out-of-range",
        ),
        (
            json!({"learner": learner, "vocabulary": "open", "extraction": {"words": [3, 2]}}),
            "schema",
        ),
        (
            json!({"learner": learner, "vocabulary": "open", "extraction": {"version": "text/2"}}),
            "schema",
        ),
        (
            json!({"learner": learner, "vocabulary": "open", "extraction": {"stem": true}}),
            "schema",
        ),
    ] {
        let problem = service.post_json("/v1/sessions", &asked).await;
        assert!((400..500).contains(&problem.status.as_u16()), "{asked}");
        assert!(problem.text().contains(code), "{asked}: {}", problem.text());
    }
    let path = opened(&service, &json!({"learner": learner, "vocabulary": "open"})).await;
    let line = "{\"x\":{\"text\":\"a b\"},\"y\":1}\n".to_owned();
    let refused = service
        .post_as(&format!("{path}/examples"), NDJSON, line)
        .await;
    assert!(refused.expect(400).text().contains("extraction"));
}

#[tokio::test]
async fn lines_of_vowpal_wabbit_come_in_and_go_out() {
    let service = Service::start().await;
    let body = "noun |w the cat |pos DT:2\nverb 'tag |w runs\nnoun |w the\nother |\n";
    let first = uploaded(&service, "", VW, body.to_owned()).await;
    let path = format!("/v1/datasets/{}/examples", first["id"].as_str().unwrap());
    let written = service.get(&format!("{path}?format=vw")).await.expect(200);
    assert_eq!(
        written.text(),
        "noun |pos DT:2.0 |w cat the\nverb |w runs\nnoun |w the\nother |\n"
    );
    let again = uploaded(&service, "", VW, written.text().to_owned()).await;
    assert_eq!(again["sha256"], first["sha256"]);
    let names = "{\"x\":{\"w^the\":1,\"w^cat\":1,\"pos^DT\":2},\"y\":\"noun\"}\n\
        {\"x\":{\"w^runs\":1},\"y\":\"verb\"}\n{\"x\":{\"w^the\":1},\"y\":\"noun\"}\n{\"x\":{},\"y\":\"other\"}\n";
    let named = uploaded(&service, "", NDJSON, names.to_owned()).await;
    assert_eq!(named["sha256"], first["sha256"]);
    let text = uploaded(&service, "", NDJSON, ndjson(&messages(1, 4))).await;
    let path = format!("/v1/datasets/{}/examples", text["id"].as_str().unwrap());
    let unwritable = service.get(&format!("{path}?format=vw")).await;
    assert!(unwritable.expect(406).text().contains("text:"));
    let bits = uploaded(
        &service,
        "",
        NDJSON,
        "{\"x\":\"10\",\"y\":1}\n{\"x\":\"01\",\"y\":0}\n".to_owned(),
    )
    .await;
    let path = format!("/v1/datasets/{}/examples", bits["id"].as_str().unwrap());
    assert!(
        service
            .get(&format!("{path}?format=vw"))
            .await
            .expect(406)
            .text()
            .contains("no names")
    );
    let result = model(&service, &first, json!({"name": "perceptron"})).await;
    let path = format!("/v1/models/{}/predict", result["model"].as_str().unwrap());
    let predicted = service
        .post_as(&path, VW, "|w runs fast\n".to_owned())
        .await
        .expect(200);
    assert_eq!(predicted.json()["predicted_classes"][0], "verb");
    let shared = service
        .post_as("/v1/datasets", VW, "shared | a\n1:0.5 | b\n".to_owned())
        .await;
    let text = shared.text().to_owned();
    assert!(
        text.contains("line 1, column 1") || text.contains("\"line\":1"),
        "{text}"
    );
}
