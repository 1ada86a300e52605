//! Sessions with an open vocabulary, whose examples bring new names at any time.

use serde_json::{Value, json};

use crate::open_classes::{answers, opened};
use crate::service::{Program, Service};
use crate::vocabularies::{Example, examples, ndjson};

const NDJSON: &str = "application/x-ndjson";
const LIBSVM: &str = "text/x-libsvm";

async fn learnt(service: &Service, session: &str, body: String) -> Vec<Value> {
    let path = format!("{session}/examples");
    let answer = service.post_as(&path, NDJSON, body).await;
    answers(answer.expect(200).text())
}

async fn session(service: &Service, path: &str) -> Value {
    service.get(path).await.expect(200).json()
}

/// Examples of two of the classes.
fn of_two(all: Vec<Example>) -> Vec<Example> {
    let fits = |(_, class): &Example| *class != "other";
    all.into_iter().filter(fits).collect()
}

/// However the examples come, a session over names is the job over the same examples, and its model is the job's.
#[tokio::test]
async fn session_over_names_equals_the_job_and_its_model() {
    let service = Service::start().await;
    let cyclic = json!({"order": "cyclic"});
    for (learner, params, active, multiclass) in [
        ("perceptron", json!({}), None, "one-vs-rest"),
        ("perceptron", json!({}), None, "joint"),
        ("averaged-perceptron", cyclic, None, "joint"),
        ("winnow", json!({"alpha": 1.5}), Some(5), "one-vs-rest"),
        ("kernel-winnow", json!({}), Some(5), "one-vs-rest"),
        (
            "kernel-perceptron",
            json!({"kernel": {"max_literals": 2}}),
            None,
            "one-vs-rest",
        ),
    ] {
        for classes in [
            json!(["noun", "verb"]),
            json!(["noun", "verb", "other"]),
            json!("open"),
        ] {
            let told = format!("{learner} {multiclass} {classes}");
            let are_two = classes == json!(["noun", "verb"]);
            if are_two && multiclass == "joint" {
                continue;
            }
            let all = match are_two {
                true => of_two(examples(11, 90)),
                false => examples(11, 90),
            };
            let learner = json!({"name": learner, "params": params});
            let mut asked =
                json!({"learner": learner, "vocabulary": "open", "seed": 3, "classes": classes});
            if let Some(active) = active {
                asked["active"] = json!(active);
            }
            let upload = service
                .post_as("/v1/datasets", NDJSON, ndjson(&all, true))
                .await
                .expect(201);
            let mut train = json!({"learner": learner, "seed": 3, "stop": {"max_passes": 1},
                "data": {"dataset": upload.id()}});
            if !are_two {
                asked["multiclass"] = json!(multiclass);
                train["multiclass"] = json!(multiclass);
            }
            if classes == json!("open") {
                train["classes"] = classes;
            }
            let path = opened(&service, &asked).await;
            let mut mistakes = 0;
            for (number, part) in [&all[..10], &all[10..11], &all[11..40], &all[40..]]
                .into_iter()
                .enumerate()
            {
                let found = learnt(&service, &path, ndjson(part, number % 2 == 0)).await;
                mistakes += found.iter().filter(|one| one["mistake"] == true).count();
                service.forget_sessions();
            }
            let job = service.run(&json!({ "train": train })).await;
            let (result, own) = (&job["result"], session(&service, &path).await);
            for member in ["hypothesis", "mistakes", "updates", "examples"] {
                assert_eq!(result[member], own[member], "{told}: {member}");
            }
            assert_eq!(own["mistakes"], mistakes, "{told}");
            assert_eq!(
                (&own["vocabulary"], &own["active"]),
                (&json!("open"), &json!(active))
            );
            let of_job = result["model"].as_str().unwrap();
            let of_job = session(&service, &format!("/v1/models/{of_job}")).await;
            assert_eq!(own["n"], of_job["features"].as_array().unwrap().len());
            assert_eq!(own["features"], of_job["features"], "{told}");
            let saved = service
                .post(&format!("{path}/model"))
                .await
                .expect(201)
                .id();
            let saved = session(&service, &format!("/v1/models/{saved}")).await;
            for member in ["hypothesis", "features", "vocabulary", "classes", "n"] {
                assert_eq!(saved[member], of_job[member], "{told}: {member}");
            }
            // Both predict alike, and count what they have never seen.
            let others = ndjson(&examples(12, 20), false);
            let mut predicted = Vec::new();
            for path in [
                path,
                format!("/v1/models/{}", saved["id"].as_str().unwrap()),
                format!("/v1/models/{}", of_job["id"].as_str().unwrap()),
            ] {
                let answer = service
                    .post_as(&format!("{path}/predict"), NDJSON, others.clone())
                    .await;
                predicted.push(answer.expect(200).text().to_owned());
            }
            assert!(predicted[0].contains("\"unseen\""), "{}", predicted[0]);
            assert!(predicted.iter().all(|one| *one == predicted[0]), "{told}");
        }
    }
}

/// The way in which examples arrive changes neither the sums of reals nor the order of names.
#[tokio::test]
async fn real_values_of_names_are_learnt_alike_in_any_portions() {
    let service = Service::start().await;
    let lines: Vec<String> = (0..60_u32)
        .map(|at| {
            let name = |k: u32| format!("{:x}", at.wrapping_mul(k) % 23);
            let x = json!({name(7): f64::from(at % 5) / 3.0, name(11): -0.7, name(5): 1});
            format!(
                "{}\n",
                json!({"x": x, "y": if at * at % 7 < 3 { 1 } else { -1 }})
            )
        })
        .collect();
    let asked = json!({"learner": {"name": "perceptron", "params": {"eta": 0.3}},
        "vocabulary": "open", "values": "real", "seed": 1});
    let whole = opened(&service, &asked).await;
    let expected = learnt(&service, &whole, lines.concat()).await;
    let single = opened(&service, &asked).await;
    let mut found = Vec::new();
    for line in &lines {
        found.extend(learnt(&service, &single, line.clone()).await);
    }
    assert_eq!(found, expected);
    let (whole, single) = (
        session(&service, &whole).await,
        session(&service, &single).await,
    );
    assert_eq!(whole["hypothesis"], single["hypothesis"]);
    assert_eq!(whole["features"], single["features"]);
}

/// Whichever way examples come, they are predicted as the session would answer them next.
#[tokio::test]
async fn session_over_names_predicts_as_it_answers() {
    let service = Service::start().await;
    let fractions = |at: u32| json!({format!("a{}", at % 37): f64::from(at % 5) / 3.0, format!("b{}", at % 11): -0.7});
    let names = |at: u32| {
        json!([
            format!("a{}", at * at % 97),
            format!("b{}", at % 5),
            format!("c{at}")
        ])
    };
    for (learner, values, multiclass) in [
        (
            json!({"name": "perceptron", "params": {"eta": 0.3}}),
            "real",
            None,
        ),
        (
            json!({"name": "perceptron"}),
            "boolean",
            Some("one-vs-rest"),
        ),
        (
            json!({"name": "averaged-perceptron", "params": {"order": "cyclic"}}),
            "boolean",
            Some("joint"),
        ),
        (json!({"name": "winnow"}), "boolean", Some("one-vs-rest")),
        (json!({"name": "kernel-perceptron"}), "boolean", None),
    ] {
        let mut asked =
            json!({"learner": learner, "vocabulary": "open", "values": values, "seed": 1});
        if learner["name"] == "winnow" {
            asked["active"] = json!(3);
        }
        if let Some(multiclass) = multiclass {
            asked["multiclass"] = json!(multiclass);
            asked["classes"] = json!("open");
        }
        let x = |at: u32| match values {
            "real" => fractions(at),
            _ => names(at),
        };
        let line = |at: u32| {
            let y = match multiclass {
                Some(_) => json!(format!("class {}", at * at % 7)),
                None => json!(if at * at % 7 < 3 { 1 } else { -1 }),
            };
            format!("{}\n", json!({"x": x(at), "y": y}))
        };
        let path = opened(&service, &asked).await;
        learnt(&service, &path, (0..60).map(line).collect()).await;
        let predict = format!("{path}/predict");
        let predicted = async |body: String| {
            let answer = service.post_as(&predict, NDJSON, body).await;
            answers(answer.expect(200).text())
        };
        for at in 60..90 {
            let found = predicted(line(at)).await;
            let document = json!({"unlabelled": {"examples": [x(at)]}});
            let document = service
                .post_json(&predict, &document)
                .await
                .expect(200)
                .json();
            assert_eq!(document["predictions"][0], found[0]["prediction"]);
            assert_eq!(document["scores"][0], found[0]["score"]);
            let answer = learnt(&service, &path, line(at)).await;
            // An average answers with other weights than those that make the mistakes.
            if learner["name"] != "averaged-perceptron" {
                assert_eq!(
                    found[0]["prediction"], answer[0]["prediction"],
                    "{learner} {at}"
                );
            }
            assert_eq!(found[0]["unseen"], answer[0]["unseen"]);
            if at % 10 == 0 {
                service.forget_sessions();
            }
        }
        let few: Vec<Value> = predicted((0..100).map(line).collect()).await;
        let large: String = (0..3_000).map(|at| line(at % 100)).collect();
        assert!(large.len() > 65_536);
        let all = predicted(large.clone()).await;
        let repeated: Vec<Value> = (0..3_000).map(|at| few[at % 100].clone()).collect();
        assert_eq!(all, repeated, "{learner}");
        let dataset = service
            .post_as("/v1/datasets", NDJSON, large)
            .await
            .expect(201)
            .id();
        let stored = service
            .post_json(&predict, &json!({"dataset": dataset}))
            .await;
        let stored = stored.expect(200).json();
        let own: Vec<&Value> = all.iter().map(|one| &one["prediction"]).collect();
        assert_eq!(stored["predictions"], json!(own), "{learner}");
    }
}

#[tokio::test]
async fn only_learnt_examples_add_names() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "winnow"}, "vocabulary": "open", "active": 3});
    let path = opened(&service, &asked).await;
    let new = session(&service, &path).await;
    assert_eq!((&new["n"], &new["features"]), (&json!(0), &json!([])));
    let (learn, predict) = (format!("{path}/examples"), format!("{path}/predict"));
    // Nothing has a name yet.
    let nameless = opened(&service, &asked).await;
    let found = learnt(&service, &nameless, "{\"x\": [], \"y\": -1}\n".to_owned()).await;
    assert_eq!(
        (&found[0]["mistake"], &found[0]["unseen"]),
        (&json!(false), &json!(0))
    );
    let model = service
        .post(&format!("{nameless}/model"))
        .await
        .expect(201)
        .id();
    let model = session(&service, &format!("/v1/models/{model}")).await;
    assert_eq!(model["features"], json!([]));
    let predicted = service
        .post_json(
            &format!("/v1/models/{}/predict", model["id"].as_str().unwrap()),
            &json!({"unlabelled": {"examples": [["x"], []]}}),
        )
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&predicted["predictions"], &predicted["unseen"]),
        (&json!([-1, -1]), &json!([1, 0]))
    );
    let body = "{\"x\": [\"b\", \"a\"], \"y\": 1}\n{\"x\": [\"c\", \"a\", \"b\"], \"y\": -1}\n{\"x\": [], \"y\": 1}\n";
    let found = learnt(&service, &path, body.to_owned()).await;
    let unseen = found.iter().map(|answer| &answer["unseen"]);
    assert_eq!(unseen.collect::<Vec<_>>(), [2, 1, 0]);
    let known = json!(["a", "b", "c"]);
    // A prediction adds no name.
    let asked = json!({"unlabelled": {"examples": [["x", "a"], ["c"], ["y", "z"]]}});
    for _ in 0..2 {
        let answer = service.post_json(&predict, &asked).await.expect(200);
        assert_eq!(answer.json()["unseen"], json!([1, 0, 2]));
    }
    // A document is learnt as a whole or not at all.
    let document =
        json!({"labelled": {"examples": [{"x": ["d"], "y": 1}, {"x": ["e"], "y": "?"}]}});
    let refused = service.post_json(&learn, &document).await;
    refused.problem(400);
    assert_eq!(session(&service, &path).await["features"], known);
    // Of lines, those before the fault are learnt. The broken one has a name, too.
    let body =
        "{\"x\": [\"d\"], \"y\": 1}\n{\"x\": [\"e\", 1], \"y\": 1}\n{\"x\": [\"f\"], \"y\": 1}\n";
    let found = learnt(&service, &path, body.to_owned()).await;
    assert!(
        found.len() == 2 && found[1]["error"] != Value::Null,
        "{found:?}"
    );
    for _ in 0..2 {
        let own = session(&service, &path).await;
        assert_eq!(own["features"], json!(["a", "b", "c", "d"]));
        assert_eq!((&own["n"], &own["position"]), (&json!(4), &json!(4)));
        service.forget_sessions();
    }
    let listed = service.get("/v1/sessions").await.expect(200).json();
    assert_eq!(listed["items"][1]["n"], 4);
    // An example with more than three names is learnt.
    let body = "1 p q r s t:1\n-1 a\n";
    let answer = service.post_as(&learn, LIBSVM, body).await.expect(200);
    assert_eq!(answers(answer.text())[0]["unseen"], 5);
}

/// A session that ends within a request knows the names of the examples that it learnt, and no others.
#[tokio::test]
async fn ended_session_has_the_names_until_its_end() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "perceptron"}, "vocabulary": "open", "seed": 1,
        "stop": {"max_examples": 2}});
    let line = |name: &str, y: i8| format!("{}\n", json!({"x": [name], "y": y}));
    let lines = [line("b", -1), line("a", 1), line("c", 1), line("d", -1)];
    let mut ended = Vec::new();
    for parts in [vec![lines.concat()], lines[..2].to_vec()] {
        let path = opened(&service, &asked).await;
        for part in parts {
            learnt(&service, &path, part).await;
        }
        let own = session(&service, &path).await;
        assert_eq!(own["termination"]["reason"], "limit", "{own}");
        assert_eq!(
            (&own["n"], &own["features"]),
            (&json!(2), &json!(["a", "b"]))
        );
        let asked = json!({"unlabelled": {"examples": [["a", "b"], ["c"]]}});
        let answer = service.post_json(&format!("{path}/predict"), &asked).await;
        ended.push((own["hypothesis"].clone(), answer.expect(200).json()));
    }
    assert_eq!(ended[0], ended[1]);
    assert_eq!(ended[0].1["unseen"], json!([0, 1]));
    // All or nothing: the session would end before the last example.
    let path = opened(&service, &asked).await;
    let all: Vec<Value> = ["a", "b", "c"].map(|x| json!({"x": [x], "y": 1})).into();
    let document = json!({"labelled": {"examples": all}});
    let refused = service
        .post_json(&format!("{path}/examples"), &document)
        .await;
    assert_eq!(refused.problem(409), "wrong-state");
    assert_eq!(session(&service, &path).await["features"], json!([]));
}

#[tokio::test]
async fn sessions_refuse_what_does_not_fit_their_vocabulary() {
    let service = Service::start().await;
    let open = |more: Value| {
        let mut asked = json!({"learner": {"name": "perceptron"}, "vocabulary": "open"});
        let more = more.as_object().unwrap().clone();
        asked.as_object_mut().unwrap().extend(more);
        asked
    };
    for (asked, told) in [
        (open(json!({"n": 3})), "Exactly one of n"),
        (
            json!({"learner": {"name": "perceptron"}}),
            "vocabulary=open",
        ),
        (
            json!({"learner": {"name": "perceptron"}, "n": 3, "active": 2}),
            "leave active out",
        ),
        (open(json!({"active": 2})), "leave active out"),
        (open(json!({"learner": {"name": "winnow"}})), "`active`"),
        (
            open(json!({"learner": {"name": "kernel-winnow"}})),
            "`active`",
        ),
        (open(json!({"learner": {"name": "sbpi"}})), "take names"),
        (
            open(json!({"learner": {"name": "perceptron", "params": {"reading": "signed"}}})),
            "unsigned",
        ),
        (open(json!({"assume": "uniform"})), "assume"),
        (open(json!({"vocabulary": "shut"})), "vocabulary"),
    ] {
        let answer = service.post_json("/v1/sessions", &asked).await;
        let status = answer.status;
        assert!([400, 422].contains(&status.as_u16()), "{asked}: {status}");
        assert!(answer.text().contains(told), "{asked}: {}", answer.text());
    }
    // A threshold needs no declaration.
    let stated = open(json!({"learner": {"name": "winnow", "params": {"theta": "8"}}}));
    opened(&service, &stated).await;
    let named = opened(&service, &open(json!({}))).await;
    let fixed = json!({"learner": {"name": "perceptron"}, "n": 3});
    let fixed = opened(&service, &fixed).await;
    let names = "{\"x\": [\"a\"], \"y\": 1}\n{\"x\": [\"b\"], \"y\": -1}\n";
    let bits = "{\"x\": \"101\", \"y\": 1}\n{\"x\": \"011\", \"y\": -1}\n";
    for (path, query, media_type, body, told) in [
        (&named, "", NDJSON, bits, "names"),
        (&named, "", "text/csv", "y,a\n1,0\n", "kinds=*:nominal"),
        (&named, "?n=3", NDJSON, names, "n = 3"),
        (
            &named,
            "",
            NDJSON,
            "{\"x\": {\"a\": 2}, \"y\": 1}\n",
            "Boolean",
        ),
        (&fixed, "", NDJSON, names, "n = 3"),
        (&fixed, "?vocabulary=open", NDJSON, names, "vocabulary"),
    ] {
        let path = format!("{path}/examples{query}");
        let answer = service.post_as(&path, media_type, body.to_owned()).await;
        let status = answer.status;
        assert!([400, 422].contains(&status.as_u16()), "{told}: {status}");
        assert!(answer.text().contains(told), "{told}: {}", answer.text());
    }
    assert_eq!(session(&service, &named).await["n"], 0);
}

/// A session of 20 classes and 2,000 names, killed after each part, is the undisturbed one.
#[tokio::test]
async fn killed_session_over_names_equals_the_undisturbed_one() {
    let lines: Vec<String> = (0..1_500_u64)
        .map(|at| {
            let mixed = |k: u64| (at * k + 17).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            // Names come one after the other, and the classes, too.
            let name = |k| format!("w={}", mixed(k) % (at * 4 / 3 + 5));
            let class = mixed(1) % (1 + at * 20 / 1_500);
            let x = [name(3), name(5), name(7), format!("of {}", class % 7)];
            format!("{}\n", json!({"x": x, "y": format!("class {class}")}))
        })
        .collect();
    let learner = json!({"name": "averaged-perceptron", "params": {"order": "cyclic"}});
    let asked = json!({"learner": learner, "vocabulary": "open", "classes": "open", "seed": 1,
        "multiclass": "joint"});
    let whole = Service::start().await;
    let path = opened(&whole, &asked).await;
    let undisturbed = learnt(&whole, &path, lines.concat()).await;
    let expected = session(&whole, &path).await;
    assert!(expected["n"].as_u64().unwrap() > 1_000, "{}", expected["n"]);
    let saved = whole.post(&format!("{path}/model")).await.expect(201).id();
    let expected_model = session(&whole, &format!("/v1/models/{saved}")).await;

    let directory = tempfile::tempdir().unwrap();
    let (mut id, mut found) = (None::<String>, Vec::new());
    for part in lines.chunks(300) {
        let program = Program::start(directory.path(), &[]);
        let client = program.client();
        if id.is_none() {
            let opened = client.post("/v1/sessions", &asked, None).await;
            id = Some(opened.unwrap().expect(201).id());
        }
        let examples = format!("/v1/sessions/{}/examples", id.as_ref().unwrap());
        let (headers, body) = ([("content-type", NDJSON)], part.concat());
        let answer = client.send("POST", &examples, &headers, body.as_bytes());
        found.extend(answers(answer.await.unwrap().text()));
        program.kill();
    }
    assert_eq!(found, undisturbed);
    let program = Program::start(directory.path(), &[]);
    let (client, path) = (program.client(), format!("/v1/sessions/{}", id.unwrap()));
    let killed = client.get(&path).await.json();
    for member in [
        "n", "classes", "mistakes", "updates", "position", "features",
    ] {
        assert_eq!(killed[member], expected[member], "{member}");
    }
    let saved = client.tell(&format!("{path}/model")).await;
    let model = client
        .get(&format!("/v1/models/{}", saved.unwrap().expect(201).id()))
        .await
        .json();
    assert_eq!(model["hypothesis"], expected_model["hypothesis"]);
    assert_eq!(model["features"], expected_model["features"]);
    program.kill();
}
