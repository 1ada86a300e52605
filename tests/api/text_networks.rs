//! What makes a network of words: names that are left out, the bound of a session, and explanations of texts.

use serde_json::{Value, json};

use crate::open_classes::opened;
use crate::service::{Service, request};

const NDJSON: &str = "application/x-ndjson";

/// Texts of three classes. Each has a frequent word of its class and a word that no other text has.
fn texts(count: usize) -> String {
    let line = |row: usize| {
        let (class, word) = [("a", "apple"), ("b", "banana"), ("c", "cherry")][row % 3];
        format!(
            "{}\n",
            json!({"x": {"text": format!("the {word} rare{row}")}, "y": class})
        )
    };
    (0..count).map(line).collect()
}

async fn trained(service: &Service, learner: &str, query: &str, body: String) -> Value {
    let path = format!("/v1/learners/{learner}/train?seed=1&{query}");
    let job = service
        .post_as(&path, NDJSON, body)
        .await
        .expect(200)
        .json();
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

async fn model(service: &Service, job: &Value) -> Value {
    let id = job["result"]["model"].as_str().expect("a model");
    service
        .get(&format!("/v1/models/{id}"))
        .await
        .expect(200)
        .json()
}

#[tokio::test]
async fn names_of_too_few_examples_are_left_out_of_the_model() {
    let service = Service::start().await;
    for learner in [
        "winnow",
        "perceptron",
        "averaged-perceptron",
        "kernel-perceptron",
    ] {
        let job = trained(&service, learner, "minimum_count=2", texts(30)).await;
        let model = model(&service, &job).await;
        let names = ["text:apple", "text:banana", "text:cherry", "text:the"];
        assert_eq!(model["features"], json!(names), "{learner}");
        assert_eq!(model["n"], 4);
        let result = &job["result"];
        assert_eq!(result["bound"], Value::Null);
        assert!(
            result["bound_detail"]
                .as_str()
                .unwrap()
                .contains("minimum_count")
        );
        let detail = result["termination"]["detail"].as_str().unwrap();
        assert!(
            detail.contains("leaves out 30 that too few examples have"),
            "{detail}"
        );
        assert_eq!(result["training"]["errors"], 0, "{learner}");
        let path = format!("/v1/models/{}", model["id"].as_str().unwrap());
        // A name that was left out counts as little as one that no example had.
        let lines = ["the apple", "the apple rare0", "the apple rare0 other more"];
        let body = json!({"unlabelled": {"examples": lines.map(|text| json!({"text": text}))}});
        let predicted = service
            .post_json(&format!("{path}/predict"), &body)
            .await
            .expect(200)
            .json();
        assert_eq!(predicted["unseen"], json!([0, 1, 3]));
        assert_eq!(predicted["predicted_classes"], json!(["a", "a", "a"]));
        let scores = predicted["scores"].as_array().unwrap();
        assert!(
            scores.iter().all(|score| score == &scores[0]),
            "{learner}: {predicted}"
        );
        // The model reads a dataset with all names, and its own document.
        let dataset = service
            .post_as("/v1/datasets", NDJSON, texts(30))
            .await
            .expect(201)
            .json();
        let asked = json!({"dataset": dataset["id"]});
        let evaluated = service
            .post_json(&format!("{path}/evaluate"), &asked)
            .await
            .expect(200)
            .json();
        assert_eq!(evaluated["errors"], 0, "{evaluated}");
        let imported = service
            .post_json("/v1/models", &model)
            .await
            .expect(201)
            .json();
        let path = format!("/v1/models/{}/predict", imported["id"].as_str().unwrap());
        let again = service.post_json(&path, &body).await.expect(200).json();
        assert_eq!(again, predicted);
    }
}

#[tokio::test]
async fn light_names_are_dropped_and_requests_that_cannot_are_refused() {
    let service = Service::start().await;
    let job = trained(&service, "averaged-perceptron", "discard=0.8", texts(30)).await;
    let model = model(&service, &job).await;
    let names = model["features"].as_array().unwrap();
    assert_eq!(names.len(), 34 - 27);
    for name in ["text:apple", "text:banana", "text:cherry"] {
        assert!(names.contains(&json!(name)), "{names:?}");
    }
    let id = model["id"].as_str().unwrap();
    let receipt = service.get(&format!("/v1/models/{id}/receipt")).await;
    assert!(receipt.problem(422) == "inexpressible" && receipt.text().contains("discard"));
    let warm = format!("minimum_count=2&warm_start={id}");
    let drawn = "positive=a&minimum_count=2&params.order=random";
    let claimed = "discard=0.5&stop.error=0.1&assume=independent";
    for (learner, query, refusal, words) in [
        (
            "perceptron",
            "minimum_count=0",
            (400, "invalid-parameter"),
            "minimum_count",
        ),
        (
            "perceptron",
            "discard=1",
            (400, "invalid-parameter"),
            "discard",
        ),
        (
            "perceptron",
            drawn,
            (422, "wrong-data"),
            "set another order",
        ),
        ("perceptron", &warm, (422, "wrong-data"), "first hypothesis"),
        (
            "kernel-perceptron",
            "discard=0.5",
            (422, "wrong-data"),
            "no weight per name",
        ),
        (
            "perceptron",
            claimed,
            (422, "wrong-data"),
            "claims no confidence",
        ),
    ] {
        let path = format!("/v1/learners/{learner}/train?seed=1&{query}");
        let answer = service.post_as(&path, NDJSON, texts(9)).await;
        assert_eq!(answer.problem(refusal.0), refusal.1, "{query}");
        assert!(answer.text().contains(words), "{query}: {}", answer.text());
    }
    let path = "/v1/learners/perceptron/train?discard=0.5";
    let answer = service
        .post_as(path, "text/csv", "a,b,label\n1,0,1\n0,1,0\n".to_owned())
        .await;
    assert!(
        answer.problem(422) == "wrong-data" && answer.text().contains("names"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn session_states_the_bound_that_its_counts_allow() {
    let service = Service::start().await;
    let learner = json!({"name": "winnow", "params": {"relevant": 2}});
    let asked = json!({"learner": learner, "vocabulary": "open", "active": 3, "extraction": {}, "seed": 1,
        "classes": ["a", "b", "c"]});
    let path = opened(&service, &asked).await;
    let learn = async |body: String| {
        let path = format!("{path}/examples");
        service.post_as(&path, NDJSON, body).await.expect(200);
        service.forget_sessions();
        service
            .get(&path.replace("/examples", ""))
            .await
            .expect(200)
            .json()
    };
    let document = learn(texts(30)).await;
    // 6 k (3 + log2 a) for each of the classes is the bound at the default threshold.
    let bound = document["bound"]["mistakes_at_most"].as_f64().unwrap();
    let one = 2.0 * (1.0 + 12_f64.log2()) * (1.0 + 15.0 / 3.0);
    assert!((bound - 3.0 * one).abs() < 1e-6, "{bound}");
    assert!(document["mistakes"].as_f64().unwrap() <= bound);
    assert_eq!(document["bound"]["respected"], Value::Null);
    assert_eq!(document["bound_detail"], Value::Null);
    let document =
        learn("{\"x\":{\"text\":\"one two three four\"},\"y\":\"a\"}\n".to_owned()).await;
    assert_eq!(document["bound"], Value::Null);
    let detail = document["bound_detail"].as_str().unwrap();
    assert!(
        detail.contains("active = 3") && detail.contains("had 4"),
        "{detail}"
    );
    // Nobody said how many names an example may have.
    let learner = json!({"name": "winnow", "params": {"relevant": 2, "theta": 40}});
    let asked = json!({"learner": learner, "vocabulary": "open"});
    let path = opened(&service, &asked).await;
    let document = service.get(&path).await.expect(200).json();
    let detail = document["bound_detail"].as_str().unwrap();
    assert!(
        document["bound"].is_null() && detail.contains("active"),
        "{document}"
    );
    let asked = json!({"learner": {"name": "perceptron"}, "n": 3});
    let path = opened(&service, &asked).await;
    let document = service.get(&path).await.expect(200).json();
    assert!(
        document["bound_detail"]
            .as_str()
            .unwrap()
            .contains("separator")
    );
}

#[tokio::test]
async fn text_is_explained_by_its_own_names() {
    let service = Service::start().await;
    let explained = async |model: &Value, query: &str, body: &Value| {
        let path = format!(
            "/v1/models/{}/explanation{query}",
            model["id"].as_str().unwrap()
        );
        service.post_json(&path, body).await
    };
    let terms = |document: &Value| -> Vec<(String, Value, Value)> {
        let all = document["terms"].as_array().unwrap().iter();
        let term = |term: &Value| {
            let name = term["literals"][0]["name"].as_str().unwrap().to_owned();
            (name, term["weight"].clone(), term["value"].clone())
        };
        all.map(term).collect()
    };
    let body = json!({"unlabelled": {"examples": [{"text": "The cherry and rare2"}]}});
    let job = trained(&service, "winnow", "words=1", texts(30)).await;
    let winnow = model(&service, &job).await;
    let document = explained(&winnow, "", &body).await.expect(200).json();
    assert_eq!(document["predicted_class"], "c");
    assert_eq!(document["unseen"], 1);
    assert!(
        document["rule"]
            .as_str()
            .unwrap()
            .starts_with("The class c claims")
    );
    let found = terms(&document);
    assert_eq!(found[0].0, "text:cherry");
    let names: Vec<&str> = found.iter().map(|it| it.0.as_str()).collect();
    assert!(
        names.len() == 3 && names.contains(&"text:the") && names.contains(&"text:rare2"),
        "{names:?}"
    );
    // The literals have the numbers that they have in the model.
    let place = document["terms"][0]["literals"][0]["feature"]
        .as_u64()
        .unwrap() as usize;
    assert_eq!(winnow["features"][place - 1], "text:cherry");
    let of_other = explained(&winnow, "?class=a&top=1", &body)
        .await
        .expect(200)
        .json();
    assert!(
        of_other["rule"]
            .as_str()
            .unwrap()
            .starts_with("The class a claims")
    );
    assert_eq!(of_other["terms"].as_array().unwrap().len(), 1);
    // The weights of all terms and the bias are the score.
    let job = trained(&service, "perceptron", "occurrences=counts", texts(30)).await;
    let counts = model(&service, &job).await;
    let twice = json!({"unlabelled": {"examples": [{"text": "the the the cherry"}]}});
    let document = explained(&counts, "", &twice).await.expect(200).json();
    let products = terms(&document)
        .into_iter()
        .map(|(_, weight, value)| weight.as_f64().unwrap() * value.as_f64().unwrap_or(1.0));
    let sum = products.sum::<f64>() + document["bias"].as_f64().unwrap();
    assert_eq!(Some(sum), document["score"].as_f64(), "{document}");
    let job = trained(
        &service,
        "kernel-perceptron",
        "params.kernel.max_literals=2",
        texts(30),
    )
    .await;
    let kernel = model(&service, &job).await;
    let document = explained(&kernel, "", &body).await.expect(200).json();
    let known = ["text:the", "text:cherry", "text:rare2"];
    let terms = document["terms"].as_array().unwrap();
    let literals = |term: &Value| term["literals"].as_array().unwrap().clone();
    let of_cherry = |term: &Value| {
        literals(term)
            .iter()
            .any(|own| own["name"] == "text:cherry")
    };
    assert!(terms.iter().any(of_cherry), "{document}");
    for literal in terms.iter().flat_map(literals) {
        assert!(
            known.contains(&literal["name"].as_str().unwrap()),
            "{literal}"
        );
    }
}

/// Trains on texts with these labels, and returns the path of the explanation of the model.
async fn explanation_of(service: &Service, texts: String) -> String {
    let job = trained(service, "perceptron", "", texts).await;
    let model = job["result"]["model"].as_str().unwrap();
    format!("/v1/models/{model}/explanation")
}

const APPLE: &str = "{\"x\":{\"text\":\"the apple\"}}\n";

#[tokio::test]
async fn explanation_of_a_text_is_text_or_svg() {
    let service = Service::start().await;
    let path = explanation_of(&service, texts(30)).await;
    let drawn = async |accept: &str| {
        let headers = [("content-type", NDJSON), ("accept", accept)];
        let asked = request("POST", &path, &headers, APPLE.to_owned());
        service.send(asked).await.expect(200)
    };
    let text = drawn("text/plain").await;
    let begin = "Predicted: a, with the score ";
    assert!(text.text().starts_with(begin), "{}", text.text());
    assert!(text.text().contains("text:apple"));
    let svg = drawn("image/svg+xml").await;
    assert!(svg.text().starts_with("<svg") && svg.text().contains("terms of the example"));
}

#[tokio::test]
async fn explanation_is_of_one_class_and_one_example() {
    let service = Service::start().await;
    let path = explanation_of(&service, texts(30)).await;
    let explained = async |query: &str, body: &str| {
        let path = format!("{path}{query}");
        service.post_as(&path, NDJSON, body.to_owned()).await
    };
    let two = format!("{APPLE}{}", APPLE.replace("apple", "banana"));
    for (query, class) in [("", "a"), ("?example=0", "a"), ("?example=1", "b")] {
        let document = explained(query, &two).await.expect(200).json();
        assert_eq!(document["predicted_class"], class);
    }
    let refused = explained("?example=2", &two).await;
    assert!(refused.problem(400) == "invalid-parameter" && refused.text().contains("not below 2"));
    let unknown = "{\"x\":{\"text\":\"nothing known\"}}\n";
    let document = explained("", unknown).await.expect(200).json();
    let found = (&document["terms"], &document["unseen"]);
    assert_eq!(found, (&json!([]), &json!(2)));
    // A class that the model does not have is refused, also if it tells two apart.
    let of_two = explanation_of(&service, texts(30).replace("\"c\"", "\"a\"")).await;
    for path in [&path, &of_two] {
        let path = format!("{path}?class=z");
        let refused = service.post_as(&path, NDJSON, APPLE.to_owned()).await;
        assert_eq!(refused.problem(400), "invalid-parameter");
        assert!(refused.text().contains("the classes are"));
    }
    let stored = json!({"dataset": "ds_0"});
    let refused = service.post_json(&path, &stored).await;
    assert!(refused.problem(422) == "wrong-data" && refused.text().contains("/dataset"));
}

/// Bits are read as signs, so that an absent feature speaks too. A kernel over all conjunctions has no such terms.
#[tokio::test]
async fn explanation_of_signed_bits_adds_up_to_the_score() {
    let service = Service::start().await;
    let explained = async |learner: &str| {
        let train = format!("/v1/learners/{learner}/train?seed=1");
        let table = "a,b,label\n1,0,1\n0,1,0\n".to_owned();
        let job = service.post_as(&train, "text/csv", table).await;
        let job = job.expect(200).json();
        let model = job["result"]["model"].as_str().unwrap().to_owned();
        let path = format!("/v1/models/{model}/explanation");
        let row = "a,b\n1,0\n".to_owned();
        service.post_as(&path, "text/csv", row).await
    };
    let document = explained("perceptron").await.expect(200).json();
    let terms = document["terms"].as_array().unwrap().iter();
    let sum: i64 = terms.map(|term| term["weight"].as_i64().unwrap()).sum();
    let bias = document["bias"].as_i64().unwrap_or(0);
    assert_eq!(document["score"], sum + bias, "{document}");
    let refused = explained("kernel-perceptron").await;
    assert!(refused.problem(422) == "inexpressible" && refused.text().contains("negated"));
}

/// A program takes the names of an example, and would silently miss their conjunctions.
#[tokio::test]
async fn program_of_conjunctions_is_refused() {
    let service = Service::start().await;
    for (query, status) in [("conjunctions=2", 422), ("", 200)] {
        let job = trained(&service, "perceptron", query, texts(9)).await;
        let model = job["result"]["model"].as_str().unwrap();
        let path = format!("/v1/models/{model}/code?language=python");
        let answer = service.get(&path).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        if status == 422 {
            assert!(
                answer.problem(422) == "inexpressible"
                    && answer.text().contains("max_literals = 2")
            );
        }
    }
}

/// The options of texts stand in the query of a JSON body, and are refused where they change nothing.
#[tokio::test]
async fn options_of_texts_are_for_listed_texts() {
    let service = Service::start().await;
    let examples = json!([{"x": {"text": "a b"}, "y": 1}, {"x": {"text": "b c"}, "y": -1}]);
    let listed = json!({"data": {"labelled": {"examples": examples}}});
    let stored = service.post_json("/v1/datasets?words=1-2", &listed).await;
    let stored = stored.expect(201).json();
    let id = stored["id"].as_str().unwrap();
    let train = "/v1/learners/perceptron/train?seed=1";
    let job = service.post_json(train, &json!({"dataset": id})).await;
    assert_eq!(job.expect(200).json()["result"]["hypothesis"]["n"], 5);
    let table = json!({"data": {"rows": [{"a": 1, "label": 1}, {"a": 0, "label": -1}]}});
    for (path, body, code) in [
        ("/v1/datasets?words=1-2", &table, "bad-option"),
        ("/v1/datasets?kinds=a:number", &listed, "invalid-parameter"),
        ("/v1/datasets?words=0", &listed, "invalid-parameter"),
    ] {
        let refused = service.post_json(path, body).await;
        assert_eq!(refused.problem(400), code, "{path}");
    }
    let drawn = json!({"generated": {"n": 9, "target": {"disjunction": {"variables": [1]}},
        "sampling": "uniform", "count": 9, "noise": 0}});
    for body in [json!({"dataset": id}), drawn] {
        for option in [
            "words=1-2",
            "characters=3",
            "window=2",
            "conjunctions=2",
            "occurrences=counts",
            "lower_case=false",
            "vocabulary=open",
        ] {
            let refused = service.post_json(&format!("{train}&{option}"), &body).await;
            let name = option.split('=').next().unwrap();
            assert_eq!(refused.problem(400), "bad-option", "{body} {option}");
            assert!(refused.text().contains(name), "{}", refused.text());
        }
    }
}
