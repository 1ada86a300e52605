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
    let refused = async |learner: &str, query: &str, words: &str| {
        let path = format!("/v1/learners/{learner}/train?seed=1&{query}");
        let answer = service.post_as(&path, NDJSON, texts(9)).await;
        assert!((400..500).contains(&answer.status.as_u16()), "{query}");
        assert!(answer.text().contains(words), "{query}: {}", answer.text());
    };
    refused("perceptron", "minimum_count=0", "minimum_count").await;
    refused("perceptron", "discard=1", "discard").await;
    refused(
        "perceptron",
        "positive=a&minimum_count=2&params.order=random",
        "set another order",
    )
    .await;
    refused(
        "perceptron",
        &format!("minimum_count=2&warm_start={id}"),
        "warm_start",
    )
    .await;
    refused("kernel-perceptron", "discard=0.5", "no weight per name").await;
    refused(
        "perceptron",
        "discard=0.5&stop.error=0.1&assume=independent",
        "claims no confidence",
    )
    .await;
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
    for term in document["terms"].as_array().unwrap() {
        for literal in term["literals"].as_array().unwrap() {
            assert!(known.contains(&literal["name"].as_str().unwrap()), "{term}");
        }
    }
}

#[tokio::test]
async fn explanation_of_a_text_is_a_text_too_and_of_one_example_only() {
    let service = Service::start().await;
    let job = trained(&service, "perceptron", "", texts(30)).await;
    let path = format!(
        "/v1/models/{}/explanation",
        job["result"]["model"].as_str().unwrap()
    );
    let line = "{\"x\":{\"text\":\"the apple\"}}\n".to_owned();
    let drawn = async |accept: &str| {
        let headers = [("content-type", NDJSON), ("accept", accept)];
        service
            .send(request("POST", &path, &headers, line.clone()))
            .await
            .expect(200)
    };
    let text = drawn("text/plain").await;
    assert!(
        text.text().starts_with("Predicted: a, with the score "),
        "{}",
        text.text()
    );
    assert!(text.text().contains("text:apple"));
    let svg = drawn("image/svg+xml").await;
    assert!(svg.text().starts_with("<svg"));
    // A class that the model does not have is refused, also if it tells two apart.
    let two_classes = texts(30).replace("\"c\"", "\"a\"");
    let job = trained(&service, "perceptron", "", two_classes).await;
    let of_two = format!(
        "/v1/models/{}/explanation?class=z",
        job["result"]["model"].as_str().unwrap()
    );
    let refused = service.post_as(&of_two, NDJSON, line.clone()).await;
    assert!(
        refused.problem(400) == "invalid-parameter" && refused.text().contains("the classes are")
    );
    // Of several examples one is explained.
    let two = format!("{line}{}", line.replace("apple", "banana"));
    for (query, class) in [("", "a"), ("?example=0", "a"), ("?example=1", "b")] {
        let answer = service
            .post_as(&format!("{path}{query}"), NDJSON, two.clone())
            .await;
        assert_eq!(answer.expect(200).json()["predicted_class"], class);
    }
    let refused = service
        .post_as(&format!("{path}?example=2"), NDJSON, two)
        .await;
    assert!(refused.problem(400) == "invalid-parameter" && refused.text().contains("2 examples"));
    let none = "{\"x\":{\"text\":\"nothing known\"}}\n".to_owned();
    let document = service
        .post_as(&path, NDJSON, none)
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&document["terms"], &document["unseen"]),
        (&json!([]), &json!(2))
    );
    // Bits are read as signs, so that an absent feature speaks too. A kernel over all conjunctions has no such terms.
    for (learner, refused) in [("perceptron", false), ("kernel-perceptron", true)] {
        let train = format!("/v1/learners/{learner}/train?seed=1");
        let table = "a,b,label\n1,0,1\n0,1,0\n".to_owned();
        let job = service
            .post_as(&train, "text/csv", table)
            .await
            .expect(200)
            .json();
        let path = format!(
            "/v1/models/{}/explanation",
            job["result"]["model"].as_str().unwrap()
        );
        let answer = service
            .post_as(&path, "text/csv", "a,b\n1,0\n".to_owned())
            .await;
        if refused {
            assert!(answer.problem(422) == "inexpressible" && answer.text().contains("negated"));
            continue;
        }
        let document = answer.expect(200).json();
        let terms = document["terms"].as_array().unwrap().iter();
        let sum: i64 = terms.map(|term| term["weight"].as_i64().unwrap()).sum();
        let bias = document["bias"].as_i64().unwrap_or(0);
        assert_eq!(document["score"], sum + bias, "{document}");
    }
}
