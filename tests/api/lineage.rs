//! A model remembers the data that it and all models before it learnt from: an evaluation on any of these data is not
//! certified, whatever the client declares.

use serde_json::{Value, json};

use crate::service::{Service, train};

/// Labelled rows of eight features: every number from `from` to `to` in a mixed order.
fn rows(from: u32, to: u32) -> Value {
    let examples = (from..to).map(|index| {
        let bits = index * 181 % 256;
        let y = if (bits & 0b11111).count_ones() >= 3 {
            1
        } else {
            -1
        };
        json!({"x": format!("{bits:08b}"), "y": y})
    });
    json!({"labelled": {"examples": examples.collect::<Vec<_>>()}})
}

/// The same rows as lines of CSV, in which a label is 0 or 1.
fn csv(data: &Value) -> String {
    let examples = data["labelled"]["examples"].as_array().unwrap().iter();
    let lines = examples.map(|example| {
        let x = example["x"].as_str().unwrap().chars();
        let label = if example["y"] == 1 { '1' } else { '0' };
        let cells = std::iter::once(label).chain(x);
        cells.map(String::from).collect::<Vec<_>>().join(",")
    });
    lines.map(|line| line + "\n").collect()
}

async fn learnt(service: &Service, data: &Value, from: Option<&str>) -> String {
    let mut job = train(json!({"name": "perceptron"}), data.clone());
    if let Some(model) = from {
        job["train"]["warm_start"] = json!(model);
    }
    let job = service.run(&job).await;
    let model = job["result"]["model"].as_str();
    model.unwrap_or_else(|| panic!("{job}")).to_owned()
}

/// The reason why an evaluation on data that are declared fresh and independent has no certificate.
async fn withheld(service: &Service, model: &str, data: &Value) -> Option<String> {
    let path = format!("/v1/models/{model}/evaluate?assume=independent&fresh=true");
    let answer = service.post_json(&path, data).await.expect(200).json();
    let by_route = reason(&answer);
    // As text, and as a job.
    let answer = service.post_as(&path, "text/csv", csv(data)).await;
    assert_eq!(reason(&answer.expect(200).json()), by_route);
    let mut declared = data.clone();
    declared["labelled"]["assume"] = json!("independent");
    let job = json!({"evaluate": {"model": model, "data": declared, "fresh": true}});
    assert_eq!(reason(&service.run(&job).await["result"]), by_route);
    by_route
}

fn reason(answer: &Value) -> Option<String> {
    let withheld = &answer["certificates_withheld"][0]["reason"];
    assert_ne!(
        answer["certificates"][0].is_null(),
        withheld.is_null(),
        "{answer}"
    );
    withheld.as_str().map(str::to_owned)
}

const LEARNT: &str = "the model or its ancestors learnt from these data";

#[tokio::test]
async fn evaluations_on_data_of_ancestors_are_not_certified() {
    let service = Service::start().await;
    let [x, y, z, other] = [rows(0, 40), rows(40, 80), rows(80, 120), rows(120, 160)];
    let parent = learnt(&service, &x, None).await;
    let child = learnt(&service, &y, Some(&parent)).await;
    let grandchild = learnt(&service, &z, Some(&child)).await;
    service.delete(&format!("/v1/models/{parent}")).await;
    for (model, known) in [(&child, vec![&x, &y]), (&grandchild, vec![&x, &y, &z])] {
        for data in known {
            assert_eq!(
                withheld(&service, model, data).await.as_deref(),
                Some(LEARNT)
            );
        }
        assert_eq!(withheld(&service, model, &other).await, None);
    }
    // Another order and a part of the rows have other digests, so the declaration alone decides.
    assert_eq!(withheld(&service, &child, &rows(0, 39)).await, None);

    // The lineage travels with a file.
    let path = format!("/v1/models/{grandchild}");
    let mut file = service.get(&path).await.expect(200).json();
    let copy = service
        .post_json("/v1/models", &file)
        .await
        .expect(201)
        .id();
    for data in [&x, &y, &z] {
        assert_eq!(
            withheld(&service, &copy, data).await.as_deref(),
            Some(LEARNT)
        );
    }
    let next = learnt(&service, &other, Some(&copy)).await;
    for data in [&x, &other] {
        assert_eq!(
            withheld(&service, &next, data).await.as_deref(),
            Some(LEARNT)
        );
    }
    assert_eq!(
        file["learnt_from"]["sha256"].as_array().map(Vec::len),
        Some(3)
    );
    file["learnt_from"]["sha256"] = json!([]);
    let refused = service.post_json("/v1/models", &file).await;
    assert_eq!(refused.problem(422), "model-altered");
    file["learnt_from"]["sha256"] = json!(["no digest"]);
    let refused = service.post_json("/v1/models", &file).await;
    assert_eq!(refused.problem(400), "out-of-range");
}

#[tokio::test]
async fn evaluations_on_data_of_a_comparison_or_a_maximum_margin_are_not_certified() {
    let service = Service::start().await;
    let [x, y] = [rows(0, 60), rows(60, 120)];
    let compare = json!({"compare": {"data": x, "holdout": 0.3, "seed": 1,
        "learners": [{"name": "perceptron"}, {"name": "winnow"}]}});
    let margin = json!({"maximum_margin": {"data": x}});
    for job in [compare, margin] {
        let job = service.run(&job).await;
        let model = job["result"]["model"]
            .as_str()
            .unwrap_or_else(|| panic!("{job}"));
        let child = learnt(&service, &y, Some(model)).await;
        for model in [model, &child] {
            assert_eq!(withheld(&service, model, &x).await.as_deref(), Some(LEARNT));
        }
        assert_eq!(withheld(&service, model, &y).await, None);
    }
}

#[tokio::test]
async fn evaluations_on_data_of_a_session_are_not_certified() {
    let service = Service::start().await;
    let [x, y, z] = [rows(0, 40), rows(40, 80), rows(80, 120)];
    let session = json!({"learner": {"name": "perceptron"}, "n": 8});
    let session = service
        .post_json("/v1/sessions", &session)
        .await
        .expect(201)
        .id();
    let path = format!("/v1/sessions/{session}");
    for (data, is_forgotten) in [(&x, true), (&y, false)] {
        let learn = service
            .post_as(&format!("{path}/examples"), "text/csv", csv(data))
            .await;
        learn.expect(200);
        if is_forgotten {
            // The session is restored from its log.
            service.forget_sessions();
        }
    }
    let saved = service.post(&format!("{path}/model")).await;
    let model = saved.expect(201).id();
    let child = learnt(&service, &z, Some(&model)).await;
    for (model, known) in [(&model, vec![&x, &y]), (&child, vec![&x, &y, &z])] {
        for data in known {
            assert_eq!(
                withheld(&service, model, data).await.as_deref(),
                Some(LEARNT)
            );
        }
    }
    assert_eq!(withheld(&service, &model, &z).await, None);
    // A snapshot holds the lineage too: many examples, and then the restored session.
    let many: String = (0..120).map(|_| csv(&rows(0, 40))).collect();
    let learn = service
        .post_as(&format!("{path}/examples"), "text/csv", many)
        .await;
    learn.expect(200);
    service.forget_sessions();
    let saved = service.post(&format!("{path}/model")).await;
    let model = saved.expect(201).id();
    assert_eq!(
        withheld(&service, &model, &y).await.as_deref(),
        Some(LEARNT)
    );
}

#[tokio::test]
async fn evaluations_on_a_seed_of_an_ancestor_are_not_certified_after_other_data() {
    let service = Service::start().await;
    let drawn = json!({"generated": {"n": 8, "target": {"binary_weights": {}}, "sampling": "uniform", "count": 50}});
    let mut job = train(json!({"name": "perceptron"}), drawn.clone());
    job["train"]["seed"] = json!(7);
    let first = service.run(&job).await["result"]["model"].take();
    // The child learns from sent data too, after which the list of seeds used to be lost.
    let child = learnt(&service, &rows(0, 40), first.as_str()).await;
    for (seed, known) in [(7, true), (8, false)] {
        let job = json!({"evaluate": {"model": child, "data": drawn, "seed": seed, "fresh": true}});
        let found = reason(&service.run(&job).await["result"]);
        assert_eq!(found.is_some(), known, "{found:?}");
        let job = json!({"evaluate": {"model": child, "data": drawn, "seed": seed}});
        assert!(reason(&service.run(&job).await["result"]).is_some());
    }
}
