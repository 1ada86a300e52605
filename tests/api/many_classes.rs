//! More than two classes: from a table to a committee, its predictions, evaluation, file, tensors and explanation.

use serde_json::{Value, json};

use crate::service::{Service, request};

const CSV: &str = "text/csv";

const NDJSON: &str = "application/x-ndjson";

/// Three classes that a perceptron separates: the place of the one says the class. The order of first rows is b, a, c.
const TABLE: &str = "x1,x2,x3,class\n0,1,0,b\n1,0,0,a\n0,0,1,c\n0,1,0,b\n1,0,0,a\n1,0,0,a\n";

async fn trained(service: &Service, learner: &str, query: &str) -> Value {
    let path = format!("/v1/learners/{learner}/train?labels=class&seed=1{query}");
    service.post_as(&path, CSV, TABLE).await.expect(200).json()
}

fn model(job: &Value) -> String {
    job["result"]["model"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_table_of_three_classes_needs_nothing_but_its_label_column() {
    let service = Service::start().await;
    let dataset = service
        .post_as("/v1/datasets?labels=class", CSV, TABLE)
        .await
        .expect(201)
        .json();
    assert_eq!(dataset["classes"], json!(["b", "a", "c"]));
    assert_eq!(dataset["class_examples"], json!([2, 3, 1]));
    assert_eq!(dataset["table"]["label"]["classes"], json!(["b", "a", "c"]));
    for learner in ["perceptron", "winnow", "kernel-perceptron", "kernel-winnow"] {
        let job = trained(&service, learner, "").await;
        let result = &job["result"];
        assert_eq!(result["hypothesis"]["kind"], "committee", "{learner}");
        assert_eq!(result["training"]["errors"], 0, "{learner}");
        let members = result["members"].as_array().unwrap();
        let classes: Vec<_> = members.iter().map(|member| &member["class"]).collect();
        assert_eq!(classes, ["b", "a", "c"], "{learner}");
        let sum = |of: &str| -> f64 {
            let each = members.iter().map(|member| &member["bound"][of]);
            each.filter_map(Value::as_f64).sum()
        };
        let together: u64 = members
            .iter()
            .map(|member| member["mistakes"].as_u64().unwrap())
            .sum();
        assert!(
            result["mistakes"].as_u64().unwrap() <= together,
            "{learner}"
        );
        if let Some(bound) = result["bound"]["mistakes_at_most"].as_f64() {
            assert_eq!(bound, sum("mistakes_at_most"), "{learner}");
            assert!(together as f64 <= bound, "{learner}");
            assert_eq!(result["bound"]["respected"], true, "{learner}");
        }
        let evaluated = format!("/v1/models/{}/evaluate", model(&job));
        let found = service.post_as(&evaluated, CSV, TABLE).await.expect(200);
        let found = found.json();
        assert_eq!(
            found["confusion"],
            json!([[2, 0, 0], [0, 3, 0], [0, 0, 1]]),
            "{learner}"
        );
    }
}

/// One class against the rest, three times by hand, has the weights and the mistakes of the members.
#[tokio::test]
async fn members_of_a_committee_equal_trainings_of_one_class_against_the_rest() {
    let service = Service::start().await;
    for learner in ["perceptron", "winnow", "kernel-perceptron"] {
        let job = trained(&service, learner, "").await;
        for (at, class) in ["b", "a", "c"].into_iter().enumerate() {
            let alone = trained(&service, learner, &format!("&positive={class}")).await;
            let (alone, member) = (&alone["result"], &job["result"]["members"][at]);
            assert_eq!(
                alone["hypothesis"], job["result"]["hypothesis"]["members"][at],
                "{learner} {class}"
            );
            assert_eq!(alone["mistakes"], member["mistakes"], "{learner} {class}");
            assert_eq!(alone["bound"], member["bound"], "{learner} {class}");
        }
    }
}

#[tokio::test]
async fn a_committee_predicts_class_names_and_survives_its_file() {
    let service = Service::start().await;
    let job = trained(&service, "perceptron", "").await;
    let id = model(&job);
    let predict = async |id: &str| {
        let path = format!("/v1/models/{id}/predict");
        let rows = json!({"rows": [{"x1": 1, "x2": 0, "x3": 0}, {"x1": 0, "x2": 0, "x3": 1},
            {"x1": 0, "x2": 1, "x3": 0}]});
        service.post_json(&path, &rows).await.expect(200).json()
    };
    let found = predict(&id).await;
    assert_eq!(found["predictions"], json!([1, 2, 0]));
    assert_eq!(found["predicted_classes"], json!(["a", "c", "b"]));
    let file = service.get(&format!("/v1/models/{id}")).await.expect(200);
    let imported = service.post_json("/v1/models", &file.json()).await;
    let imported = imported.expect(201).id();
    assert_eq!(predict(&imported).await["scores"], found["scores"]);
    // A file whose committee and classes differ in number, or whose members differ in kind.
    for (pointer, value) in [
        ("/classes", json!(["a", "b"])),
        ("/hypothesis/members/1/reading", json!(null)),
        ("/hypothesis/members", json!([])),
        ("/hypothesis/members/0", file.json()["hypothesis"].clone()),
    ] {
        let mut changed = file.json();
        *changed.pointer_mut(pointer).unwrap() = value;
        let answer = service.post_json("/v1/models", &changed).await;
        assert_eq!(answer.problem(422), "wrong-model", "{pointer}");
    }
}

/// Sessions and comparisons learn jointly too, and refuse it with two classes or learners that cannot.
#[tokio::test]
async fn sessions_and_comparisons_learn_jointly() {
    let service = Service::start().await;
    let open = |classes: &[&str], name: &str| {
        let learner = json!({"name": name});
        json!({"learner": learner, "n": 3, "classes": classes, "multiclass": "joint"})
    };
    let request = open(&["b", "a", "c"], "averaged-perceptron");
    let session = service.post_json("/v1/sessions", &request).await;
    let path = format!("/v1/sessions/{}", session.expect(201).id());
    let lines = |table: &str| -> String {
        let line = |line: &str| {
            let (x, class) = line.rsplit_once(',').unwrap();
            format!("{}\n", json!({"x": x.replace(',', ""), "y": class}))
        };
        table.lines().skip(1).map(line).collect()
    };
    let learnt = service
        .post_as(
            &format!("{path}/examples"),
            "application/x-ndjson",
            lines(TABLE),
        )
        .await;
    assert_eq!(learnt.expect(200).text().lines().count(), 6);
    let session = service.get(&path).await.expect(200).json();
    let one_pass = "&multiclass=joint&stop.max_passes=1&params.order=cyclic";
    let job = trained(&service, "averaged-perceptron", one_pass).await;
    assert_eq!(session["mistakes"], job["result"]["mistakes"]);
    let saved = service.post(&format!("{path}/model")).await;
    let saved = service
        .get(&format!("/v1/models/{}", saved.expect(201).id()))
        .await;
    assert_eq!(
        saved.expect(200).json()["hypothesis"],
        job["result"]["hypothesis"]
    );
    for refused in [
        open(&["a", "b"], "perceptron"),
        open(&["a", "b", "c"], "winnow"),
    ] {
        let answer = service.post_json("/v1/sessions", &refused).await;
        assert_eq!(answer.problem(422), "wrong-data");
        assert!(answer.text().contains("multiclass"), "{}", answer.text());
    }
    let answer = service
        .post_as("/v1/datasets?labels=class", CSV, TABLE)
        .await;
    let dataset = answer.expect(201).id();
    let compare =
        json!({"compare": {"data": {"dataset": dataset}, "folds": 2, "multiclass": "joint"}});
    let job = service.run(&compare).await;
    let fit: Vec<&str> = job["result"]["learners"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|learner| learner["unfit"].is_null())
        .map(|learner| learner["name"].as_str().unwrap())
        .collect();
    assert_eq!(fit, ["perceptron", "averaged-perceptron"], "{job}");
}

/// Scores of all classes, their ranking and the margin are those of the members.
#[tokio::test]
async fn predictions_of_a_committee_have_the_scores_that_were_asked_for() {
    let service = Service::start().await;
    let job = trained(&service, "perceptron", "&multiclass=joint").await;
    let members = job["result"]["hypothesis"]["members"].as_array().unwrap();
    let score = |member: &Value, x: [i64; 3]| {
        let weights = member["weights"].as_array().unwrap().iter().zip(x);
        let sum: i64 = weights
            .map(|(w, x)| w.as_i64().unwrap() * (2 * x - 1))
            .sum();
        sum + member["bias"].as_i64().unwrap()
    };
    let rows = [[1, 0, 0], [0, 0, 1], [0, 1, 1]];
    let body = "x1,x2,x3\n1,0,0\n0,0,1\n0,1,1\n";
    let path = format!("/v1/models/{}/predict", model(&job));
    let answer = async |query: &str| {
        let answer = service.post_as(&format!("{path}{query}"), CSV, body).await;
        answer.expect(200).json()
    };
    let (all, top) = (answer("?scores=all").await, answer("?scores=top=2").await);
    for (row, x) in rows.into_iter().enumerate() {
        let scores: Vec<i64> = members.iter().map(|member| score(member, x)).collect();
        assert_eq!(all["class_scores"][row], json!(scores));
        let mut ranking: Vec<usize> = (0..3).collect();
        ranking.sort_by_key(|&class| -scores[class]);
        assert_eq!(all["predictions"][row], ranking[0]);
        assert_eq!(all["scores"][row], scores[ranking[0]]);
        assert_eq!(all["margins"][row], scores[ranking[0]] - scores[ranking[1]]);
        let name = |class: usize| ["b", "a", "c"][class];
        let place = |class: usize| json!({"class": name(class), "score": scores[class]});
        assert_eq!(
            top["ranking"][row],
            json!([place(ranking[0]), place(ranking[1])])
        );
    }
    let usual = answer("").await;
    assert_eq!(
        (&usual["scores"], &usual["margins"]),
        (&all["scores"], &all["margins"])
    );
    assert_eq!(
        (usual.get("ranking"), usual.get("class_scores")),
        (None, None)
    );
    let none = answer("?scores=none").await;
    assert_eq!((&none["scores"], none.get("margins")), (&Value::Null, None));
    assert_eq!(none["predictions"], usual["predictions"]);
    let headers = [("content-type", CSV), ("accept", "application/x-ndjson")];
    let lines = service
        .send(request(
            "POST",
            &format!("{path}?scores=all"),
            &headers,
            body,
        ))
        .await;
    let first: Value =
        serde_json::from_str(lines.expect(200).text().lines().next().unwrap()).unwrap();
    assert_eq!(first["class_scores"], all["class_scores"][0]);
    assert_eq!(first["margin"], all["margins"][0]);
    for wrong in ["top=0", "top=", "top=-1", "most", "All"] {
        let answer = service
            .post_as(&format!("{path}?scores={wrong}"), CSV, body)
            .await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{wrong}");
    }
}

/// The array of the weights has a row per class, and every language states the model.
#[tokio::test]
async fn committees_are_exported_as_programs_and_as_an_array() {
    let service = Service::start().await;
    let job = trained(&service, "perceptron", "").await;
    let path = format!("/v1/models/{}", model(&job));
    let array = service
        .get(&format!("{path}/weights.npy"))
        .await
        .expect(200);
    let header = String::from_utf8_lossy(&array.body[..128]).into_owned();
    assert!(
        header.contains("'<i8'") && header.contains("'shape': (3, 4)"),
        "{header}"
    );
    for language in ["python", "c", "rust", "sqlite", "postgresql", "excel"] {
        let answer = service
            .get(&format!("{path}/code?language={language}"))
            .await;
        let answer = answer.expect(200);
        let source = answer.text();
        for class in ["b", "a", "c"] {
            let quote = if language.contains("sql") { '\'' } else { '"' };
            assert!(
                source.contains(&format!("{quote}{class}{quote}")),
                "{language}: {source}"
            );
        }
    }
}

#[tokio::test]
async fn inference_answers_the_index_and_the_name_of_the_class() {
    let service = Service::start().await;
    let id = model(&trained(&service, "perceptron", "").await);
    let about = service.get(&format!("/v2/models/{id}")).await.expect(200);
    let about = about.json();
    assert_eq!(about["outputs"][0]["datatype"], "INT32");
    assert_eq!(about["outputs"][2]["name"], "class");
    let asked = json!({"inputs": [{"name": "x", "datatype": "BOOL", "shape": [2, 3],
        "data": [false, false, true, true, false, false]}]});
    let path = format!("/v2/models/{id}/infer");
    let found = service.post_json(&path, &asked).await.expect(200).json();
    assert_eq!(found["outputs"][0]["data"], json!([2, 1]));
    assert_eq!(found["outputs"][2]["data"], json!(["c", "a"]));
    // Labels 1 and -1 without names have no third output.
    let plain = json!({"labelled": {"examples": [{"x": "1", "y": 1}, {"x": "0", "y": -1}]}});
    let path = "/v1/learners/perceptron/train";
    let job = service.post_json(path, &plain).await.expect(200).json();
    let id = model(&job);
    let mut asked = json!({"inputs": [{"name": "x", "datatype": "BOOL", "shape": [1, 1],
        "data": [true]}]});
    let path = format!("/v2/models/{id}/infer");
    let found = service.post_json(&path, &asked).await.expect(200).json();
    assert_eq!(found["outputs"].as_array().unwrap().len(), 2);
    assert_eq!(found["outputs"][0]["datatype"], "INT8");
    asked["outputs"] = json!([{"name": "class"}]);
    let answer = service.post_json(&path, &asked).await;
    assert_eq!(answer.problem(400), "schema");
}

/// The Open Inference Protocol and an imported copy answer 10,000 rows as a prediction does.
#[tokio::test]
async fn ten_thousand_rows_have_one_answer_on_every_way() {
    const ROWS: usize = 10_000;
    const N: usize = 12;
    let service = Service::start().await;
    let mut state = 1_u64;
    let mut bit = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 63 == 1
    };
    let rows: Vec<Vec<bool>> = (0..ROWS).map(|_| (0..N).map(|_| bit()).collect()).collect();
    let cells = |row: &Vec<bool>| {
        row.iter()
            .map(|bit| if *bit { "1" } else { "0" })
            .collect::<Vec<_>>()
            .join(",")
    };
    let class = |row: &Vec<bool>| row[..6].iter().filter(|bit| **bit).count() % 5;
    let labelled = rows[..300]
        .iter()
        .map(|row| format!("{},c{}\n", cells(row), class(row)));
    let header: Vec<String> = (1..=N).map(|j| format!("x{j}")).collect();
    let table = format!(
        "{},class\n{}",
        header.join(","),
        labelled.collect::<String>()
    );
    let lines: Vec<String> = rows.iter().map(cells).collect();
    let body = format!("{}\n{}\n", header.join(","), lines.join("\n"));
    let bits: Vec<bool> = rows.iter().flatten().copied().collect();
    for (learner, query) in [
        ("perceptron", "&multiclass=joint"),
        ("averaged-perceptron", ""),
        ("winnow", ""),
        ("kernel-perceptron", "&params.kernel.max_literals=2"),
    ] {
        let path =
            format!("/v1/learners/{learner}/train?labels=class&seed=1&stop.max_passes=3{query}");
        let job = service
            .post_as(&path, CSV, table.clone())
            .await
            .expect(200)
            .json();
        let id = model(&job);
        let predict = async |id: &str| {
            let path = format!("/v1/models/{id}/predict");
            service
                .post_as(&path, CSV, body.clone())
                .await
                .expect(200)
                .json()
        };
        let found = predict(&id).await;
        assert_eq!(found["predictions"].as_array().unwrap().len(), ROWS);
        let file = service
            .get(&format!("/v1/models/{id}"))
            .await
            .expect(200)
            .json();
        let copy = service
            .post_json("/v1/models", &file)
            .await
            .expect(201)
            .id();
        assert_eq!(predict(&copy).await, found, "{learner}");
        let asked = json!({"inputs": [{"name": "x", "datatype": "BOOL", "shape": [ROWS, N], "data": bits}],
            "outputs": [{"name": "prediction"}, {"name": "class"}]});
        let path = format!("/v2/models/{id}/infer");
        let inferred = service.post_json(&path, &asked).await.expect(200).json();
        assert_eq!(
            inferred["outputs"][0]["data"], found["predictions"],
            "{learner}"
        );
        assert_eq!(
            inferred["outputs"][1]["data"], found["predicted_classes"],
            "{learner}"
        );
        // Several classes are predicted, or the comparison would say little.
        let names = found["predicted_classes"].as_array().unwrap();
        let different: std::collections::BTreeSet<_> = names.iter().map(Value::to_string).collect();
        assert!(different.len() > 2, "{learner}: {different:?}");
    }
}

#[tokio::test]
async fn one_class_of_a_committee_is_explained() {
    let service = Service::start().await;
    let id = model(&trained(&service, "perceptron", "").await);
    let path = format!("/v1/models/{id}/explanation");
    for wrong in ["", "?class=d"] {
        let answer = service.get(&format!("{path}{wrong}")).await;
        assert_eq!(answer.problem(400), "invalid-parameter");
        assert!(answer.text().contains("the classes are b, a, c"), "{wrong}");
    }
    let found = service.get(&format!("{path}?class=a")).await.expect(200);
    let rule = found.json()["rule"].as_str().unwrap().to_owned();
    assert!(
        rule.starts_with("The class a claims an example if "),
        "{rule}"
    );
}

#[tokio::test]
async fn learners_and_tasks_of_two_classes_say_so() {
    let service = Service::start().await;
    for learner in ["directed-drift", "pocket", "sbpi", "auto"] {
        let path = format!("/v1/learners/{learner}/train?labels=class");
        let answer = service.post_as(&path, CSV, TABLE).await;
        assert_eq!(answer.problem(422), "wrong-data", "{learner}");
    }
    let answer = service
        .post_as("/v1/datasets?labels=class", CSV, TABLE)
        .await;
    let dataset = answer.expect(201).id();
    let body = json!({"separability": {"data": {"dataset": dataset}}});
    let answer = service.post_json("/v1/jobs", &body).await;
    assert_eq!(answer.problem(422), "wrong-data");
    // A model of two classes does not know the third.
    let two = "x1,x2,x3,class\n0,1,0,b\n1,0,0,a\n";
    let path = "/v1/learners/perceptron/train?labels=class";
    let job = service.post_as(path, CSV, two).await.expect(200).json();
    let path = format!("/v1/models/{}/evaluate", model(&job));
    let answer = service.post_as(&path, CSV, TABLE).await;
    assert_eq!(answer.problem(400), "bad-label");
    assert!(answer.text().contains("`c`"), "{}", answer.text());
}

/// The joint perceptron by its definition: the true class gains a mistaken example, and the predicted class loses it.
#[tokio::test]
async fn a_joint_committee_equals_its_definition() {
    let service = Service::start().await;
    // Six bits, and the class whose pair of bits weighs most. Examples with two such classes are left out.
    let mut rows = Vec::new();
    for bits in 0_usize..64 {
        let weight = |pair: usize| 2 * (bits >> (2 * pair) & 1) + (bits >> (2 * pair + 1) & 1);
        let weights = [0, 1, 2].map(weight);
        let most = *weights.iter().max().unwrap();
        if weights.iter().filter(|weight| **weight == most).count() == 1 {
            let class = weights.iter().position(|weight| *weight == most).unwrap();
            // The signed reading, and the constant of the bias.
            let sign = |at: usize| if bits >> at & 1 == 1 { 1 } else { -1 };
            rows.push(((0..6).map(sign).chain([1]).collect::<Vec<i64>>(), class));
        }
    }
    // Class codes are in the order of the first rows.
    let mut order = Vec::new();
    for (_, class) in &mut rows {
        let place = order.iter().position(|known| known == class);
        *class = place.unwrap_or_else(|| {
            order.push(*class);
            order.len() - 1
        });
    }
    let line = |(x, class): &(Vec<i64>, usize)| {
        let bits: Vec<String> = x[..6]
            .iter()
            .map(|x| u8::from(*x > 0).to_string())
            .collect();
        format!("{},c{class}\n", bits.join(","))
    };
    let table: String = rows.iter().map(line).collect();
    let path = "/v1/learners/perceptron/train?labels=last&header=false&multiclass=joint&seed=1";
    let job = service.post_as(path, CSV, table).await.expect(200).json();
    let (mut weights, mut mistakes, mut passes) = (vec![vec![0; 7]; 3], 0, 0);
    loop {
        passes += 1;
        let before = mistakes;
        for (x, class) in &rows {
            let score = |w: &Vec<i64>| w.iter().zip(x).map(|(w, x)| w * x).sum::<i64>();
            let scores: Vec<i64> = weights.iter().map(score).collect();
            let most = *scores.iter().max().unwrap();
            let predicted = scores.iter().position(|score| *score == most).unwrap();
            if predicted != *class {
                mistakes += 1;
                for (at, x) in x.iter().enumerate() {
                    weights[*class][at] += x;
                    weights[predicted][at] -= x;
                }
            }
        }
        if mistakes == before {
            break;
        }
    }
    let result = &job["result"];
    assert_eq!(result["mistakes"], mistakes);
    assert_eq!(result["passes"], passes);
    for (member, weights) in weights.iter().enumerate() {
        let member = &result["hypothesis"]["members"][member];
        assert_eq!(member["weights"], json!(weights[..6]));
        assert_eq!(member["bias"], weights[6]);
    }
    assert_eq!(result["bound"]["respected"], true, "{}", result["bound"]);
    assert!(result["bound"]["mistakes_at_most"].as_f64().unwrap() >= mistakes as f64);
    for (learner, query) in [("winnow", ""), ("perceptron", "&positive=a")] {
        let path = format!("/v1/learners/{learner}/train?labels=class&multiclass=joint{query}");
        let answer = service.post_as(&path, CSV, TABLE).await;
        assert_eq!(answer.problem(422), "wrong-data", "{learner}");
        assert!(answer.text().contains("multiclass"), "{}", answer.text());
    }
}

/// A session that knows the classes equals one pass over the same rows.
#[tokio::test]
async fn a_session_of_three_classes_equals_one_pass() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "perceptron"}, "n": 3, "seed": 1,
        "classes": ["b", "a", "c"]});
    let opened = service.post_json("/v1/sessions", &asked).await.expect(201);
    let path = format!("/v1/sessions/{}", opened.id());
    let rows = TABLE.lines().skip(1).map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        json!({"x": cells[..3].concat(), "y": cells[3]}).to_string()
    });
    let lines: String = rows.map(|row| row + "\n").collect();
    let examples = format!("{path}/examples");
    let answer = service.post_as(&examples, NDJSON, lines.clone()).await;
    let answer = answer.expect(200);
    let first: Value = serde_json::from_str(answer.text().lines().next().unwrap()).unwrap();
    // All scores are 0, and the first class wins a tie.
    assert_eq!(first["prediction"], 0);
    assert_eq!(first["predicted_class"], "b");
    let session = service.get(&path).await.expect(200).json();
    let job = trained(&service, "perceptron", "&stop.max_passes=1").await;
    assert_eq!(session["hypothesis"], job["result"]["hypothesis"]);
    assert_eq!(session["mistakes"], job["result"]["mistakes"]);
    let saved = service.post(&format!("{path}/model")).await.expect(201);
    let file = service.get(&format!("/v1/models/{}", saved.id())).await;
    assert_eq!(file.expect(200).json()["classes"], json!(["b", "a", "c"]));
    // One example per request: most requests have none of the later classes.
    let opened = service.post_json("/v1/sessions", &asked).await.expect(201);
    let single = format!("/v1/sessions/{}", opened.id());
    for (at, line) in lines.lines().enumerate() {
        let (media_type, body) = match at % 2 {
            0 => (NDJSON, line.to_owned()),
            _ => (
                "application/json",
                format!("{{\"labelled\":{{\"examples\":[{line}]}}}}"),
            ),
        };
        let path = format!("{single}/examples");
        service.post_as(&path, media_type, body).await.expect(200);
    }
    let single = service.get(&single).await.expect(200).json();
    assert_eq!(single["hypothesis"], session["hypothesis"]);
    let unknown = json!({"labelled": {"examples": [{"x": "100", "y": "d"}]}});
    let answer = service.post_json(&examples, &unknown).await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert!(answer.text().contains("classes=open"), "{}", answer.text());
    for (classes, of) in [
        (json!(["a"]), "two classes or more"),
        (json!(["1", "1.0"]), "same labels"),
        (json!(vec!["x"; 5000]), "classes_max"),
    ] {
        let asked = json!({"learner": {"name": "perceptron"}, "n": 3, "classes": classes});
        let answer = service.post_json("/v1/sessions", &asked).await;
        assert_eq!(answer.problem(400), "out-of-range");
        assert!(answer.text().contains(of), "{}", answer.text());
    }
}

/// Data with some of the classes are read as data with all of them: as a dataset, in a training and in an evaluation.
#[tokio::test]
async fn data_with_some_of_the_classes_belong_to_all() {
    let service = Service::start().await;
    let job = trained(&service, "perceptron", "").await;
    let model = model(&job);
    let some = "colour,b,c,class\nred,0,0,b\nblue,1,0,b\n".to_owned();
    let stated = "/v1/learners/perceptron/train?labels=class&seed=1&classes=b,a,c";
    let answer = service.post_as(stated, "text/csv", some.clone()).await;
    let members = answer.expect(200).json()["result"]["members"].clone();
    assert_eq!(members.as_array().unwrap().len(), 3);
    let rows = "x1,x2,x3,class\n1,0,0,b\n0,1,0,b\n".to_owned();
    let upload = format!("/v1/datasets?labels=class&encoding={model}");
    let stored = service.post_as(&upload, "text/csv", rows.clone()).await;
    let stored = json!({"dataset": stored.expect(201).id()});
    let evaluate = format!("/v1/models/{model}/evaluate");
    let found = service.post_json(&evaluate, &stored).await.expect(200);
    let sent = service
        .post_as(&format!("{evaluate}?labels=class"), "text/csv", rows)
        .await;
    let matrix = json!([[1, 1, 0], [0, 0, 0], [0, 0, 0]]);
    assert_eq!(found.json()["confusion"], matrix);
    assert_eq!(sent.expect(200).json()["confusion"], matrix);
    let answer = service.post_json("/v1/learners/perceptron/train", &stored);
    let members = answer.await.expect(200).json()["result"]["members"].clone();
    assert_eq!(members.as_array().unwrap().len(), 3);
}

/// What goes wrong with classes is told with the remedy, and odd names pass through every answer.
#[tokio::test]
async fn odd_classes_are_learnt_or_refused_with_a_remedy() {
    let service = Service::start().await;
    let train = async |body: String, query: &str| {
        let path = format!("/v1/learners/perceptron/train?seed=1{query}");
        service.post_as(&path, NDJSON, body).await
    };
    let line = |at: usize, class: &Value| {
        let bits: String = (0..4)
            .map(|j| if at >> j & 1 == 1 { '1' } else { '0' })
            .collect();
        json!({"x": bits, "y": class}).to_string() + "\n"
    };
    // 1, 1.0 and "1" are one class.
    let numbers = [json!(1), json!(1.0), json!("1"), json!(2), json!("3")];
    let labels: String = (0..15).map(|at| line(at, &numbers[at % 5])).collect();
    let job = train(labels, "").await.expect(200).json();
    let members = job["result"]["members"].as_array().unwrap();
    let classes: Vec<_> = members.iter().map(|member| &member["class"]).collect();
    assert_eq!(classes, ["1", "2", "3"]);
    // One class against the rest is not learnt jointly.
    let three: String = (0..9)
        .map(|at| line(at, &json!(["a", "b", "c"][at / 3])))
        .collect();
    let answer = train(three.clone(), "&positive=a&multiclass=joint").await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert!(
        answer.text().contains("leave multiclass out"),
        "{}",
        answer.text()
    );
    // A learner without committees.
    let path = "/v1/learners/pocket/train";
    let answer = service.post_as(path, NDJSON, three).await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert!(answer.text().contains("two classes"), "{}", answer.text());
    // Names of any text.
    let odd = [
        "x".repeat(1_024),
        "\"quoted\",\n'lines'".to_owned(),
        "\u{1f600} \u{e9}".to_owned(),
    ];
    let lines: String = (0..24).map(|at| line(at, &json!(odd[at % 3]))).collect();
    let job = train(lines.clone(), "").await.expect(200).json();
    let path = format!("/v1/models/{}", model(&job));
    let file = service.get(&path).await.expect(200).json();
    assert_eq!(file["classes"], json!(odd));
    let found = service
        .post_as(&format!("{path}/evaluate"), NDJSON, lines)
        .await
        .expect(200)
        .json();
    assert_eq!(found["classes"].as_array().unwrap().len(), 3);
    let receipt = service
        .get(&format!("{path}/receipt"))
        .await
        .expect(200)
        .json();
    assert_eq!(receipt["members"][1]["class"], json!(odd[1]));
    for language in [
        "c",
        "rust",
        "python",
        "javascript",
        "sqlite",
        "postgresql",
        "excel",
    ] {
        let answer = service
            .get(&format!("{path}/code?language={language}"))
            .await;
        let answered = [200, 400, 422].contains(&answer.status.as_u16());
        assert!(answered, "{language}: {}", answer.text());
    }
}

/// One class of a stored dataset against all others equals the same choice for the table itself, in every task.
#[tokio::test]
async fn one_class_of_a_stored_dataset_is_told_from_the_others() {
    let service = Service::start().await;
    let dataset = service
        .post_as("/v1/datasets?labels=class", CSV, TABLE)
        .await
        .expect(201)
        .id();
    for learner in ["perceptron", "pocket"] {
        let path = format!("/v1/learners/{learner}/train?labels=class&positive=a&seed=1");
        let sent = service.post_as(&path, CSV, TABLE).await.expect(200).json();
        let by_query = format!("/v1/learners/{learner}/train?positive=a&seed=1");
        let by_query = service
            .post_json(&by_query, &json!({"dataset": dataset}))
            .await;
        let by_query = by_query.expect(200).json();
        let in_body = json!({"dataset": {"id": dataset, "positive": "a", "assume": "independent"}});
        let path = format!("/v1/learners/{learner}/train?seed=1");
        let in_body = service.post_json(&path, &in_body).await.expect(200).json();
        for member in ["hypothesis", "mistakes", "training"] {
            assert_eq!(
                by_query["result"][member], sent["result"][member],
                "{learner}"
            );
            assert_eq!(
                in_body["result"][member], sent["result"][member],
                "{learner}"
            );
        }
        let file = service
            .get(&format!("/v1/models/{}", model(&by_query)))
            .await;
        let own = service.get(&format!("/v1/models/{}", model(&sent))).await;
        assert_eq!(
            file.expect(200).json()["classes"],
            own.expect(200).json()["classes"]
        );
    }
    let data = json!({"dataset": {"id": dataset, "positive": "c"}});
    let job = service.run(&json!({"separability": {"data": data}})).await;
    assert_eq!(job["result"]["separable"], true, "{job}");
    let job = service
        .run(&json!({"maximum_margin": {"data": data}}))
        .await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let grid = json!({"grid": {"train": {"learner": {"name": "pocket"}, "data": data,
        "stop": {"max_passes": 3}}, "over": {"seed": [1, 2]}}});
    assert_eq!(service.run(&grid).await["status"], "succeeded");
    let train = "/v1/learners/perceptron/train";
    for (query, data, detail) in [
        (
            "",
            json!({"dataset": {"id": dataset, "positive": "d"}}),
            "`a`",
        ),
        (
            "?positive=b",
            json!({"dataset": {"id": dataset, "positive": "c"}}),
            "state it once",
        ),
        (
            "?classes=a,b,c",
            json!({"dataset": {"id": dataset, "positive": "c"}}),
            "leave `positive` out",
        ),
        (
            "?multiclass=joint",
            json!({"dataset": {"id": dataset, "positive": "c"}}),
            "leave multiclass out",
        ),
    ] {
        let answer = service.post_json(&format!("{train}{query}"), &data).await;
        assert!(
            (400..=422).contains(&answer.status.as_u16()),
            "{}",
            answer.text()
        );
        assert!(answer.text().contains(detail), "{}", answer.text());
    }
}

/// The trainings of a grid have the classes that it lists, and vary the way in which they learn.
#[tokio::test]
async fn grids_list_classes_and_vary_multiclass() {
    let service = Service::start().await;
    let dataset = service
        .post_as("/v1/datasets?labels=class", CSV, TABLE)
        .await
        .expect(201)
        .id();
    let grid = |classes: Value| {
        json!({"grid": {"train": {"learner": {"name": "perceptron"}, "classes": classes, "data": {"dataset": dataset},
            "seed": 1, "stop": {"max_passes": 9}}, "over": {"multiclass": ["one-vs-rest", "joint"]}}})
    };
    let job = service.run(&grid(json!(["c", "a", "b"]))).await;
    let trainings = job["result"]["trainings"].as_array().unwrap().clone();
    assert_eq!(trainings.len(), 2, "{job}");
    let mut mistakes = Vec::new();
    for training in trainings {
        let path = format!("/v1/jobs/{}", training["job"].as_str().unwrap());
        let result = service.get(&path).await.expect(200).json()["result"].take();
        let members = result["members"].as_array().unwrap().iter();
        let classes: Vec<_> = members.map(|member| &member["class"]).collect();
        assert_eq!(classes, ["c", "a", "b"]);
        mistakes.push(result["members"].to_string());
    }
    assert_ne!(mistakes[0], mistakes[1]);
    let answer = service.post_json("/v1/jobs", &grid(json!(["a"]))).await;
    assert_eq!(answer.problem(400), "out-of-range");
    let generated = json!({"generated": {"n": 5, "count": 90, "target": {"binary_weights": {}},
        "sampling": "uniform"}});
    let path = "/v1/learners/perceptron/train?classes=a,b,c";
    let answer = service.post_json(path, &generated).await;
    assert_eq!(answer.problem(400), "out-of-range");
    assert!(
        answer.text().contains("leave `classes` out"),
        "{}",
        answer.text()
    );
}

/// Labels 1 and -1 without names are no classes of a model or a list of three.
#[tokio::test]
async fn labels_without_names_are_none_of_many_classes() {
    let service = Service::start().await;
    let trained = trained(&service, "perceptron", "").await;
    let model = model(&trained);
    let generated = json!({"generated": {"n": 3, "count": 20, "target": {"threshold": {}},
        "sampling": "uniform"}});
    let packed = json!({"packed": {"n": 3, "rows": "oEA=", "labels": "gA=="}});
    let stored = service
        .post_json("/v1/datasets", &json!({"data": generated}))
        .await;
    let stored = json!({"dataset": stored.expect(201).id()});
    let train = "/v1/learners/perceptron/train";
    for data in [&generated, &packed, &stored] {
        for query in ["classes=a,b,c".to_owned(), format!("warm_start={model}")] {
            let answer = service.post_json(&format!("{train}?{query}"), data).await;
            assert!(
                (400..=422).contains(&answer.status.as_u16()),
                "{query} {data}: {}",
                answer.text()
            );
        }
        let evaluate = json!({"evaluate": {"model": model, "data": data}});
        let answer = service.post_json("/v1/jobs", &evaluate).await;
        assert_eq!(answer.problem(422), "wrong-data", "{data}");
    }
    for data in [&packed, &stored] {
        let answer = service
            .post_json(&format!("/v1/models/{model}/evaluate"), data)
            .await;
        assert_eq!(answer.problem(422), "wrong-data", "{data}");
    }
    let open = json!({"learner": {"name": "perceptron"}, "n": 3, "classes": "open"});
    let opened = service.post_json("/v1/sessions", &open).await.expect(201);
    let path = format!("/v1/sessions/{}", opened.id());
    let answer = service
        .post_json(&format!("{path}/examples"), &packed)
        .await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert_eq!(service.get(&path).await.expect(200).json()["position"], 0);
}

/// A session of many classes and features is refused before its weights are made.
#[tokio::test]
async fn session_of_too_many_weights_is_refused_at_once() {
    let service = Service::start().await;
    let classes: Vec<String> = (0..4096).map(|at| format!("k{at}")).collect();
    let asked = json!({"learner": {"name": "perceptron"}, "n": 1_048_576, "classes": classes});
    let answer = service.post_json("/v1/sessions", &asked).await;
    assert!((400..=422).contains(&answer.status.as_u16()));
    assert!(
        answer.text().contains("model_entries_max"),
        "{}",
        answer.text()
    );
}

/// Tasks of two classes refuse more, declarations are refuted by any two labels of a row, and names have no blanks
/// around them.
#[tokio::test]
async fn three_classes_are_told_apart_wherever_labels_are_read() {
    let service = Service::start().await;
    let dataset = service
        .post_as("/v1/datasets", CSV, TABLE)
        .await
        .expect(201)
        .id();
    let by_id = json!({"dataset": dataset});
    for task in ["version_space", "separability", "maximum_margin"] {
        let answer = service
            .post_json("/v1/jobs", &json!({task: {"data": by_id}}))
            .await;
        assert_eq!(answer.problem(422), "wrong-data", "{task}");
    }
    let mut rows = "class,f,g\n".to_owned();
    for (at, class) in ["a", "b", "c"].into_iter().cycle().take(24).enumerate() {
        rows += &format!("{class},{},{}\n", at % 2, at / 2 % 2);
    }
    let path = "/v1/learners/perceptron/train?assume=uniform&holdout=0.3&seed=1";
    let result = service.post_as(path, CSV, rows).await.expect(200).json()["result"].take();
    assert_eq!(result["certificates"], json!([]), "{result}");
    assert!(
        result["certificates_withheld"]
            .to_string()
            .contains("rows with both labels")
    );
    let path = "/v1/learners/perceptron/train?labels=class&classes=a,%20b,%20c";
    let job = service.post_as(path, CSV, TABLE).await.expect(200).json();
    let file = service.get(&format!("/v1/models/{}", model(&job))).await;
    assert_eq!(file.expect(200).json()["classes"], json!(["a", "b", "c"]));
    let numbers = "class,a,b,c\n2,1,0,0\nx,0,1,0\n1,0,0,1\n";
    let stored = service
        .post_as("/v1/datasets", CSV, numbers)
        .await
        .expect(201)
        .id();
    let page = format!("/v1/datasets/{stored}/examples?format=libsvm");
    let text = service.get(&page).await.expect(200).text().to_owned();
    assert_eq!(text, "2 1:1\nx 2:1\n1 3:1\n");
}
