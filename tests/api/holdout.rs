//! `holdout`: examples that the service keeps back from the learner, to evaluate its hypothesis on them.

use serde_json::{Value, json};

use crate::service::{Service, train};

/// Examples of seven bits. The label is the majority of the bits, inverted in every tenth example.
fn examples(count: u32) -> Value {
    let examples: Vec<_> = (0..count)
        .map(|row| {
            let bits = format!("{:07b}", row.wrapping_mul(2_654_435_761) >> 25);
            let is_positive = (bits.matches('1').count() > 3) != (row % 10 == 9);
            json!({"x": bits, "y": if is_positive { 1 } else { -1 }})
        })
        .collect();
    json!({"labelled": {"examples": examples}})
}

fn parted(learner: &str, data: &Value, share: f64) -> Value {
    let mut job = train(json!({"name": learner}), data.clone());
    job["train"]["seed"] = json!(3);
    job["train"]["stop"] = json!({"max_passes": 20});
    job["train"]["holdout"] = json!(share);
    job
}

/// The part of the result that is equal for each run of a job.
fn result(job: &Value) -> Value {
    assert_eq!(job["status"], "succeeded", "{job}");
    let mut result = job["result"].clone();
    result["model"].take();
    result["seconds"].take();
    result
}

#[tokio::test]
async fn holdout_is_the_same_for_every_form_of_the_examples() {
    let service = Service::with(&["--resident-bytes-max", "1"]).await;
    let data = examples(200);
    let dataset = json!({"data": data});
    let stored = service.post_json("/v1/datasets", &dataset).await;
    let by_id = json!({"dataset": stored.expect(201).id()});
    for learner in ["perceptron", "pocket", "directed-drift"] {
        let inline = service.run(&parted(learner, &data, 0.25)).await;
        let found = result(&inline);
        assert_eq!(found["holdout"]["examples"], 50, "{learner}");
        assert_eq!(found["training"]["examples"], 150, "{learner}");
        let named = service.run(&parted(learner, &by_id, 0.25)).await;
        assert_eq!(result(&named), found, "{learner}");
        // A background job reads its stored data.
        let path = service.submit(&parted(learner, &data, 0.25)).await;
        let queued = service.until_status(&path, "succeeded").await;
        assert_eq!(result(&queued), found, "{learner}");
        let path = format!("/v1/learners/{learner}/train?seed=3&stop.max_passes=20&holdout=0.25");
        let posted = service.post_json(&path, &data).await.expect(200).json();
        assert_eq!(result(&posted), found, "{learner}");
        // The errors of both parts add up to the errors on the whole sample.
        let model = inline["result"]["model"].as_str().unwrap();
        let document = service.get(&format!("/v1/models/{model}")).await;
        let document = document.expect(200).json();
        assert_eq!(document["held_out"], 50);
        // An imported copy of the model has the same count.
        let moved = service.post_json("/v1/models", &document).await;
        assert_eq!(moved.expect(201).json()["held_out"], 50);
        let path = format!("/v1/models/{model}/evaluate");
        let all = service.post_json(&path, &data).await.expect(200).json();
        let errors = |part: &str| found[part]["errors"].as_u64().unwrap();
        if learner == "perceptron" || learner == "pocket" {
            assert_eq!(all["errors"], errors("training") + errors("holdout"));
        }
        let mut other = parted(learner, &data, 0.25);
        other["train"]["holdout"] = Value::Null;
        assert_eq!(result(&service.run(&other).await)["holdout"], Value::Null);
    }
}

/// Sent and stored examples have the same stratified parts, and no certificate rests on them.
#[tokio::test]
async fn stratified_parts_are_equal_for_sent_and_stored_examples() {
    let service = Service::with(&["--resident-bytes-max", "1"]).await;
    let examples: Vec<Value> = (0_u32..200)
        .map(|row| {
            let bits = format!("{:08b}", row.wrapping_mul(2_654_435_761) >> 24);
            let class = match row {
                77 => "once",
                _ if row.wrapping_mul(40_503) % 10 == 3 => "rare",
                _ => "common",
            };
            json!({"x": bits, "y": class})
        })
        .collect();
    let data = json!({"labelled": {"examples": examples}});
    let dataset = json!({"data": data});
    let stored = service.post_json("/v1/datasets", &dataset).await;
    let by_id = json!({"dataset": stored.expect(201).id()});
    let query = "seed=3&stop.max_passes=2&holdout=0.25&stratify=true";
    let path = format!("/v1/learners/perceptron/train?{query}");
    let inline = service.post_json(&path, &data).await.expect(200).json();
    let named = service.post_json(&path, &by_id).await.expect(200).json();
    let found = result(&inline);
    assert_eq!(result(&named), found);
    assert_eq!(found["holdout"]["examples"], 50);
    for withheld in ["test-set", "survival", "progressive", "compression"] {
        let each = found["certificates_withheld"].as_array().unwrap();
        let own = each.iter().find(|own| own["kind"] == withheld).unwrap();
        let reason = own["reason"].as_str().unwrap();
        assert!(reason.contains("stratify"), "{reason}");
    }
    let job = json!({"compare": {"data": by_id, "seed": 1, "folds": 4, "stratify": true,
        "learners": [{"name": "perceptron"}]}});
    let compared = service.run(&job).await;
    assert_eq!(compared["status"], "succeeded", "{compared}");
    let mut counts = compared["result"]["learners"][0]["folds"].clone();
    assert_eq!(counts.as_array_mut().unwrap().len(), 4);
    // One class of a single example each: none is held out, and the reason is told.
    let single: Vec<Value> = (0..10)
        .map(|row| json!({"x": format!("{row:04b}"), "y": format!("c{row}")}))
        .collect();
    let single = json!({"labelled": {"examples": single}});
    let answer = service.post_json(&path, &single).await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert!(
        answer.text().contains("one example of each class"),
        "{}",
        answer.text()
    );
    for (query, detail) in [
        ("perceptron/train?labels=last&stratify=true", "set holdout"),
        (
            "directed-drift/train?labels=none&stratify=true&holdout=0.5",
            "no labels",
        ),
    ] {
        let path = format!("/v1/learners/{query}");
        let csv = "a,b\n1,0\n0,1\n1,1\n";
        let answer = service.post_as(&path, "text/csv", csv).await;
        assert_eq!(answer.problem(422), "wrong-data");
        assert!(answer.text().contains(detail), "{}", answer.text());
    }
    let generated = json!({"generated": {"n": 5, "count": 90, "target": {"binary_weights": {}},
        "sampling": "uniform"}});
    let answer = service.post_json(&path, &generated).await;
    assert_eq!(answer.problem(422), "wrong-data");
    assert!(
        answer.text().contains("leave stratify out"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn confidence_of_a_training_with_holdout_holds_on_the_rest() {
    let service = Service::start().await;
    let data = json!({"generated": {"n": 15, "target": {"binary_weights": {}},
        "sampling": "uniform-positive", "count": 40000}});
    let mut job = parted("directed-drift", &data, 0.5);
    job["train"]["stop"] = json!({"confidence": 0.9});
    let found = result(&service.run(&job).await);
    assert_eq!(found["termination"]["reason"], "confident", "{found}");
    assert_eq!(found["termination"]["confidence"], 0.9);
    assert_eq!(found["holdout"], json!({"errors": 0, "examples": 20000}));
}

#[tokio::test]
async fn holdout_of_unfit_data_is_refused_at_its_pointer() {
    let service = Service::start().await;
    let endless = json!({"generated": {"n": 15, "target": {"binary_weights": {}},
        "sampling": "uniform-positive"}});
    let few = json!({"generated": {"n": 15, "target": {"binary_weights": {}},
        "sampling": "uniform-positive", "count": 4}});
    let cases = [
        ("directed-drift", &endless, json!(0.5), 422),
        ("directed-drift", &few, json!(0.1), 422),
        ("directed-drift", &few, json!(0.9), 422),
        ("perceptron", &examples(1), json!(0.5), 422),
        ("perceptron", &examples(9), json!(0), 400),
        ("perceptron", &examples(9), json!(1), 400),
        ("perceptron", &examples(9), json!("0.5"), 400),
    ];
    for (learner, data, share, status) in cases {
        let mut job = parted(learner, data, 0.5);
        job["train"]["holdout"] = share.clone();
        let problem = service.post_json("/v1/jobs", &job).await.expect(status);
        let problem = problem.json();
        assert_eq!(
            problem["errors"][0]["pointer"], "/train/holdout",
            "{problem}"
        );
        if share.is_number() {
            let path = format!("/v1/learners/{learner}/train?holdout={share}");
            let problem = service.post_json(&path, data).await;
            let status = if status == 400 { 400 } else { 422 };
            let problem = problem.expect(status).json();
            assert_eq!(problem["errors"][0]["parameter"], "holdout", "{problem}");
        }
    }
}
