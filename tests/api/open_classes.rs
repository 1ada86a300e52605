//! Sessions and trainings whose classes join when their first examples come.

use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::service::{Program, Service};

const NDJSON: &str = "application/x-ndjson";
const N: usize = 12;

/// Lines of examples whose classes appear one by one. A name can be a number, a sign or any text.
fn lines(classes: usize, count: usize) -> Vec<String> {
    let random = &mut StdRng::seed_from_u64(1);
    let mut names: Vec<String> = [
        "1",
        "-1",
        "two words",
        "d\u{e9}j\u{e0} \u{1f600}",
        "\"quoted\"\n",
    ]
    .map(str::to_owned)
    .to_vec();
    names.extend((names.len()..classes).map(|number| format!("class {number}")));
    names.truncate(classes);
    names.shuffle(random);
    (0..count)
        .map(|at| {
            let known = (1 + at * classes / count.max(1)).min(classes);
            let class = match at * classes % count < classes {
                // The first example of the next class.
                true => known - 1,
                false => random.random_range(0..known),
            };
            let bit =
                |j: usize| random.random_bool(if class >> (j % 6) & 1 == 1 { 0.9 } else { 0.2 });
            let bits: String = (0..N)
                .map(bit)
                .map(|bit| if bit { '1' } else { '0' })
                .collect();
            format!("{}\n", json!({"x": bits, "y": names[class]}))
        })
        .collect()
}

fn opening(learner: &str, multiclass: &str) -> Value {
    json!({"learner": {"name": learner, "params": {"order": "cyclic", "reading": "unsigned"}},
        "n": N, "seed": 1, "classes": "open", "multiclass": multiclass})
}

pub async fn opened(service: &Service, asked: &Value) -> String {
    let opened = service.post_json("/v1/sessions", asked).await.expect(201);
    format!("/v1/sessions/{}", opened.id())
}

pub fn answers(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The members of a session that do not depend on when and where it was opened.
fn lasting(mut session: Value) -> Value {
    let members = session.as_object_mut().unwrap();
    members.retain(|name, _| !["id", "created_at"].contains(&name.as_str()));
    session
}

#[tokio::test]
async fn killed_session_of_fifty_open_classes_equals_the_undisturbed_and_the_job() {
    let lines = lines(50, 600);
    let whole = Service::start().await;
    for (learner, multiclass) in [
        ("perceptron", "one-vs-rest"),
        ("averaged-perceptron", "joint"),
    ] {
        let asked = opening(learner, multiclass);
        let path = opened(&whole, &asked).await;
        let examples = format!("{path}/examples");
        let answer = whole
            .post_as(&examples, NDJSON, lines.concat())
            .await
            .expect(200);
        let undisturbed = answers(answer.text());
        assert_eq!(undisturbed.len(), lines.len());
        assert_eq!(undisturbed[0]["prediction"], Value::Null);
        assert_eq!(undisturbed[0]["mistake"], true);
        let session = whole.get(&path).await.expect(200).json();
        assert_eq!(session["classes"].as_array().unwrap().len(), 50);

        let directory = tempfile::tempdir().unwrap();
        let (mut id, mut found) = (None::<String>, Vec::new());
        for part in lines.chunks(100) {
            let program = Program::start(directory.path(), &[]);
            let client = program.client();
            if id.is_none() {
                let headers = [("content-type", "application/json")];
                let body = asked.to_string();
                let opened = client.send("POST", "/v1/sessions", &headers, body.as_bytes());
                id = Some(opened.await.unwrap().expect(201).id());
            }
            let examples = format!("/v1/sessions/{}/examples", id.as_ref().unwrap());
            let (headers, body) = ([("content-type", NDJSON)], part.concat());
            let answer = client.send("POST", &examples, &headers, body.as_bytes());
            found.extend(answers(answer.await.unwrap().text()));
            program.kill();
        }
        assert_eq!(found, undisturbed, "{learner}");
        let program = Program::start(directory.path(), &[]);
        let path = format!("/v1/sessions/{}", id.unwrap());
        let killed = program
            .client()
            .send("GET", &path, &[], b"")
            .await
            .unwrap()
            .json();
        let (mut killed, mut session) = (lasting(killed), lasting(session));
        (killed["written_at"], session["written_at"]) = (Value::Null, Value::Null);
        assert_eq!(killed, session, "{learner}");
        program.kill();

        let dataset = whole
            .post_as("/v1/datasets", NDJSON, lines.concat())
            .await
            .expect(201)
            .json();
        assert_eq!(dataset["classes"], session["classes"]);
        let train = json!({"learner": asked["learner"], "classes": "open", "multiclass": multiclass,
            "data": {"dataset": dataset["id"]}, "seed": 1, "stop": {"max_passes": 1}});
        let job = whole.run(&json!({ "train": train })).await;
        let result = &job["result"];
        assert_eq!(result["hypothesis"], session["hypothesis"], "{learner}");
        for count in ["mistakes", "updates", "examples"] {
            assert_eq!(result[count], session[count], "{learner} {count}");
        }
    }
}

#[tokio::test]
async fn open_session_predicts_once_it_knows_three_classes() {
    let service = Service::start().await;
    let asked = opening("winnow", "one-vs-rest");
    let asked = json!({"learner": {"name": "winnow"}, "n": 3, "classes": asked["classes"]});
    let path = opened(&service, &asked).await;
    let session = service.get(&path).await.expect(200).json();
    assert_eq!(
        (&session["classes"], &session["open"]),
        (&json!([]), &json!(true))
    );
    assert_eq!(session["hypothesis"], Value::Null);
    let (examples, predict) = (format!("{path}/examples"), format!("{path}/predict"));
    let rows = json!({"unlabelled": {"examples": ["100", "010"]}});
    let known = ["no class", "b", "a", "2"];
    for seen in 0..3 {
        let answer = service.post_json(&predict, &rows).await;
        assert_eq!(answer.problem(409), "wrong-state");
        assert!(
            answer.text().contains(&format!("seen so far: {seen}")),
            "{}",
            answer.text()
        );
        let saved = service.post(&format!("{path}/model")).await;
        assert_eq!(saved.problem(409), "wrong-state");
        let mut x = ["0"; 3];
        x[seen] = "1";
        let example = json!({"labelled": {"examples": [{"x": x.concat(), "y": known[seen + 1]}]}});
        let answer = service.post_json(&examples, &example).await.expect(200);
        assert_eq!(answer.json()["answers"][0]["mistake"], true);
    }
    let answer = service.post_json(&predict, &rows).await.expect(200).json();
    assert_eq!(answer["predictions"].as_array().unwrap().len(), 2);
    let session = service.get(&path).await.expect(200).json();
    assert_eq!(session["classes"], json!(["b", "a", "2"]));
    // A number that names a known class is that class.
    let again = "{\"x\": \"001\", \"y\": 2.0}\n{\"x\": \"100\", \"y\": \"b\"}\n";
    let answer = service.post_as(&examples, NDJSON, again).await.expect(200);
    assert_eq!(answers(answer.text()).len(), 2);
    let session = service.get(&path).await.expect(200).json();
    assert_eq!(session["classes"], json!(["b", "a", "2"]));
}

/// A model that was saved from a session of open classes goes every way that a model goes.
#[tokio::test]
async fn model_of_open_classes_equals_its_session() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "perceptron"}, "n": 4, "classes": "open"});
    let path = opened(&service, &asked).await;
    let mut text = String::new();
    for at in 0..40_u32 {
        let bits = at * 7 % 16;
        let class = ["none", "few", "few", "many", "many"][bits.count_ones() as usize];
        writeln!(text, "{}", json!({"x": format!("{bits:04b}"), "y": class})).unwrap();
    }
    service
        .post_as(&format!("{path}/examples"), NDJSON, text.clone())
        .await
        .expect(200);
    let saved = service
        .post(&format!("{path}/model"))
        .await
        .expect(201)
        .id();
    let rows: Vec<String> = (0..16).map(|bits| format!("{bits:04b}")).collect();
    let rows = json!({"unlabelled": {"examples": rows}});
    let of_session = service
        .post_json(&format!("{path}/predict"), &rows)
        .await
        .expect(200)
        .json();
    let of_model = service
        .post_json(&format!("/v1/models/{saved}/predict"), &rows)
        .await
        .expect(200);
    assert_eq!(of_model.json(), of_session);
    let file = service
        .get(&format!("/v1/models/{saved}"))
        .await
        .expect(200)
        .json();
    assert_eq!(file["hypothesis"]["kind"], "committee");
    let copy = service
        .post_json("/v1/models", &file)
        .await
        .expect(201)
        .id();
    let of_copy = service
        .post_json(&format!("/v1/models/{copy}/predict"), &rows)
        .await
        .expect(200);
    assert_eq!(of_copy.json(), of_session);
    let evaluated = service
        .post_as(&format!("/v1/models/{saved}/evaluate"), NDJSON, text)
        .await;
    let evaluated = evaluated.expect(200).json();
    let confusion = evaluated["confusion"].as_array().unwrap();
    assert_eq!(confusion.len(), 3, "{evaluated}");
    let program = service
        .get(&format!("/v1/models/{saved}/code?language=python"))
        .await
        .expect(200);
    assert!(program.text().contains("many"), "{}", program.text());
}

#[tokio::test]
async fn open_classes_are_refused_where_they_have_no_meaning() {
    // The many classes take long in a debug build.
    let service = Service::with(&["--answer-seconds-max", "600"]).await;
    for (change, code, of) in [
        (
            json!({"classes": "closed"}),
            "out-of-range",
            "the word open",
        ),
        (json!({"classes": 3}), "schema", "the text open"),
        (
            json!({"classes": "open", "assume": "independent"}),
            "wrong-stop",
            "claims no confidence",
        ),
        (
            json!({"classes": "open", "learner": {"name": "pocket"}}),
            "not-on-line",
            "whole sample",
        ),
        (
            json!({"classes": "open", "multiclass": "joint", "learner": {"name": "winnow"}}),
            "wrong-data",
            "jointly",
        ),
    ] {
        let mut asked = json!({"learner": {"name": "perceptron"}, "n": 3});
        for (name, value) in change.as_object().unwrap() {
            asked[name] = value.clone();
        }
        let answer = service.post_json("/v1/sessions", &asked).await;
        assert_eq!(answer.json()["code"], code, "{}", answer.text());
        assert!(answer.text().contains(of), "{}", answer.text());
    }
    let asked = json!({"learner": {"name": "perceptron"}, "n": 3, "classes": "open"});
    let path = opened(&service, &asked).await;
    let examples = format!("{path}/examples");
    for (line, status, code) in [
        ("{\"x\": \"100\"}", 422, "wrong-data"),
        ("{\"x\": \"100\", \"y\": \"\"}", 400, "bad-label"),
        ("\"100\"", 422, "wrong-data"),
    ] {
        let answer = service.post_as(&examples, NDJSON, line.to_owned()).await;
        assert_eq!(answer.problem(status), code);
    }
    let positive = format!("{examples}?positive=a");
    let answer = service
        .post_as(&positive, NDJSON, "{\"x\": \"100\", \"y\": \"a\"}")
        .await;
    assert!(answer.text().contains("positive"), "{}", answer.text());
    // One class more than there may be.
    let many: String = (0..4097)
        .map(|class| format!("{{\"x\": \"100\", \"y\": \"c{class}\"}}\n"))
        .collect();
    let answer = service.post_as(&examples, NDJSON, many).await.expect(200);
    let last = answers(answer.text()).pop().unwrap();
    assert!(
        last["error"]["detail"]
            .as_str()
            .unwrap()
            .contains("classes_max"),
        "{last}"
    );
    let session = service.get(&path).await.expect(200).json();
    assert_eq!(
        session["classes"].as_array().unwrap().len() as u64,
        session["position"]
    );
    // Classes that the session has count once, and lines before the first one too many are learnt.
    let path = opened(&service, &asked).await;
    let examples = format!("{path}/examples");
    let line = |class: u32| format!("{{\"x\": \"100\", \"y\": \"c{class}\"}}\n");
    for (classes, learnt, refused) in [(0..2, 2, None), (1..4200, 4097, Some(4096))] {
        let body: String = classes.map(line).collect();
        let answer = service.post_as(&examples, NDJSON, body).await.expect(200);
        let last = answers(answer.text()).pop().unwrap();
        assert_eq!(
            last["error"]["errors"][0]["line"].as_u64(),
            refused,
            "{last}"
        );
        let session = service.get(&path).await.expect(200).json();
        assert_eq!(session["position"], learnt);
    }
}

/// A training by a list of classes reads the labels by it, in this order.
#[tokio::test]
async fn listed_classes_of_a_training_order_its_members() {
    let service = Service::start().await;
    let table = "x1,x2,class\n0,1,b\n1,0,a\n0,1,b\n1,0,a\n";
    let dataset = service
        .post_as("/v1/datasets?labels=class", "text/csv", table)
        .await
        .expect(201)
        .id();
    let job = |classes: Value| {
        let data = json!({ "dataset": dataset });
        json!({"train": {"learner": {"name": "perceptron"}, "classes": classes, "data": data}})
    };
    let done = service.run(&job(json!(["c", "b", "a"]))).await;
    let members = done["result"]["members"].as_array().unwrap();
    let names: Vec<_> = members.iter().map(|member| &member["class"]).collect();
    assert_eq!(names, ["c", "b", "a"]);
    let answer = service.post_json("/v1/jobs", &job(json!(["c", "b"]))).await;
    assert_eq!(answer.problem(422), "wrong-data");
    let answer = service.post_json("/v1/jobs", &job(json!(["b"]))).await;
    assert_eq!(answer.problem(400), "out-of-range");
    // In a query the list is one text.
    let path = "/v1/learners/perceptron/train?labels=class&classes=c,b,a";
    let of_query = service.post_as(path, "text/csv", table).await.expect(200);
    let of_query = of_query.json();
    assert_eq!(of_query["result"]["members"], done["result"]["members"]);
    // Nothing is ignored, and two classes have no committee.
    let third = format!("{table}1,1,c\n");
    for (query, status, of) in [
        ("classes=open&positive=a", 422, "positive"),
        ("classes=a,b,c&positive=b", 422, "contradicts"),
        ("classes=a,b", 400, "`c` is not a label"),
        ("classes=a,b,c,?", 400, "missing label"),
        ("classes=a,,b,c", 400, "missing label"),
    ] {
        let path = format!("/v1/learners/perceptron/train?labels=class&{query}");
        let answer = service.post_as(&path, "text/csv", third.clone()).await;
        assert_eq!(answer.status.as_u16(), status, "{query}: {}", answer.text());
        assert!(answer.text().contains(of), "{query}: {}", answer.text());
    }
    let path = "/v1/learners/perceptron/train?labels=class&classes=open";
    let answer = service.post_as(path, "text/csv", table).await;
    assert_eq!(answer.problem(422), "wrong-data");
    // Numbers that are stated or joined are names of classes.
    let numbers = "x1,x2,class\n0,1,0.5\n1,0,1.5\n1,1,2.5\n";
    for classes in ["0.5,1.5,2.5", "open"] {
        let path = format!("/v1/learners/perceptron/train?labels=class&classes={classes}");
        let job = service
            .post_as(&path, "text/csv", numbers)
            .await
            .expect(200)
            .json();
        assert_eq!(
            job["table"]["label"]["classes"],
            json!(["0.5", "1.5", "2.5"])
        );
    }
    let path = "/v1/learners/perceptron/train?labels=class&classes=c,b,a";
    let job = service
        .post_as(path, "text/csv", third)
        .await
        .expect(200)
        .json();
    assert_eq!(job["table"]["label"]["classes"], json!(["c", "b", "a"]));
}

/// A session that ends before a class of its body knows only the others.
#[tokio::test]
async fn class_of_an_example_that_was_not_learnt_has_not_joined() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "perceptron"}, "n": 2, "classes": "open", "stop": {"max_mistakes": 1}});
    let path = opened(&service, &asked).await;
    let body = "{\"x\": \"10\", \"y\": \"a\"}\n{\"x\": \"01\", \"y\": \"b\"}\n";
    let answer = service
        .post_as(&format!("{path}/examples"), NDJSON, body)
        .await
        .expect(200);
    assert_eq!(answers(answer.text()).len(), 2, "{}", answer.text());
    let session = service.get(&path).await.expect(200).json();
    assert_eq!(
        (&session["position"], &session["classes"]),
        (&json!(1), &json!(["a"]))
    );
}

/// So many weights of a session would not fit a model.
#[tokio::test]
async fn open_classes_are_bounded_by_the_weights_of_a_model() {
    let service = Service::start().await;
    let asked = json!({"learner": {"name": "perceptron"}, "n": 1 << 20, "classes": "open"});
    let path = opened(&service, &asked).await;
    let lines: String = (0..17)
        .map(|class| format!("c{class} {}:1\n", class + 1))
        .collect();
    let answer = service
        .post_as(&format!("{path}/examples"), "text/x-libsvm", lines)
        .await
        .expect(200);
    let answers = answers(answer.text());
    let last = answers.last().unwrap();
    let detail = last["error"]["detail"].as_str().unwrap();
    assert!(detail.contains("model_entries_max"), "{last}");
    assert_eq!(answers.len(), 17);
}

/// Raw rows of an encoded session keep their own labels, whether they come in one body or one by one.
#[tokio::test]
async fn rows_of_an_encoding_join_by_their_own_labels() {
    let service = Service::start().await;
    let encoding = json!({"columns": [
        {"name": "colour", "kind": "nominal", "values": ["red", "blue"]},
        {"name": "size", "kind": "nominal", "values": ["s", "l"]}]});
    let asked = json!({"learner": {"name": "perceptron"}, "encoding": encoding, "classes": "open", "seed": 1});
    let rows = [
        "red,s,a", "blue,s,b", "red,l,c", "blue,l,a", "red,s,a", "blue,s,b",
    ]
    .map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        json!({"colour": cells[0], "size": cells[1], "y": cells[2]}).to_string() + "\n"
    });
    let mut sessions = Vec::new();
    for parts in [1, rows.len()] {
        let path = opened(&service, &asked).await;
        for part in rows.chunks(rows.len() / parts) {
            let examples = format!("{path}/examples");
            service
                .post_as(&examples, NDJSON, part.concat())
                .await
                .expect(200);
        }
        let session = service.get(&path).await.expect(200).json();
        assert_eq!(session["classes"], json!(["a", "b", "c"]));
        sessions.push([session["hypothesis"].clone(), session["mistakes"].clone()]);
    }
    assert_eq!(sessions[0], sessions[1]);
}

/// A stored dataset may list its classes in another order than that of their first examples.
#[tokio::test]
async fn classes_join_in_the_order_of_their_examples() {
    let service = Service::start().await;
    let train = "/v1/learners/perceptron/train?labels=y&seed=1&stop.max_passes=3";
    let first = "u,v,y\n1,0,a\n0,1,b\n1,1,c\n".to_owned();
    let model = service
        .post_as(train, "text/csv", first)
        .await
        .expect(200)
        .json();
    let model = model["result"]["model"].as_str().unwrap().to_owned();
    let rows = "u,v,y\n1,1,c\n1,0,a\n0,1,b\n1,1,c\n0,1,b\n1,0,a\n".to_owned();
    let upload = format!("/v1/datasets?labels=y&encoding={model}");
    let stored = service
        .post_as(&upload, "text/csv", rows.clone())
        .await
        .expect(201)
        .json();
    assert_eq!(stored["classes"], json!(["a", "b", "c"]));
    let path = format!("{}&classes=open", train.replace("labels=y&", ""));
    let by_id = json!({"dataset": stored["id"]});
    let from_dataset = service.post_json(&path, &by_id).await.expect(200).json();
    let sent = service
        .post_as(&format!("{train}&classes=open"), "text/csv", rows)
        .await;
    let sent = sent.expect(200).json();
    for member in ["hypothesis", "mistakes", "members", "bound"] {
        assert_eq!(
            from_dataset["result"][member], sent["result"][member],
            "{member}"
        );
    }
    assert_eq!(sent["result"]["members"][0]["class"], "c");
}
