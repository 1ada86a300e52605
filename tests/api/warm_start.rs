//! Warm starts: trainings that begin from a model, the claims that they may make, and models that do not fit.

use serde_json::{Value, json};

use crate::service::{Service, request, train};

/// Labelled examples of six features. An example is positive if two of its first three features are set.
fn sample(from: u32, to: u32) -> Value {
    let examples = (from..to).map(|index| {
        let bits = index * 37 % 64;
        let y = if (bits & 0b111).count_ones() >= 2 {
            1
        } else {
            -1
        };
        let x: String = (0..6)
            .map(|j| if bits >> j & 1 == 1 { '1' } else { '0' })
            .collect();
        json!({"x": x, "y": y})
    });
    json!({"labelled": {"examples": examples.collect::<Vec<_>>()}})
}

fn real(from: u32, to: u32) -> Value {
    let mut data = sample(from, to);
    for example in data["labelled"]["examples"].as_array_mut().unwrap() {
        let bits = example["x"].as_str().unwrap().to_owned();
        let values = bits.chars().map(|bit| if bit == '1' { 0.9 } else { 0.1 });
        example["x"] = json!(values.collect::<Vec<f64>>());
    }
    data
}

/// A job with further fields, which begins from the model if there is one.
fn job(learner: &Value, data: Value, model: Option<&Value>, more: &Value) -> Value {
    let mut job = train(learner.clone(), data);
    if let Some(model) = model {
        job["train"]["warm_start"] = model.clone();
    }
    for (name, value) in more.as_object().unwrap() {
        job["train"][name] = value.clone();
    }
    job
}

async fn trained(service: &Service, job: &Value) -> Value {
    let job = service.run(job).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    job
}

async fn model(service: &Service, body: &Value) -> Value {
    trained(service, body).await["result"]["model"].clone()
}

#[tokio::test]
async fn warm_start_continues_where_a_training_left_off() {
    let service = Service::start().await;
    let once = json!({"stop": {"max_passes": 1}});
    for (learner, data) in [
        (
            json!({"name": "perceptron"}),
            sample as fn(u32, u32) -> Value,
        ),
        (
            json!({"name": "perceptron", "params": {"reading": "unsigned", "bias": false}}),
            sample,
        ),
        (
            json!({"name": "perceptron", "params": {"eta": 0.5}}),
            sample,
        ),
        (json!({"name": "perceptron"}), real),
        (json!({"name": "winnow"}), sample),
        (
            json!({"name": "winnow", "params": {"alpha": 1.5, "theta": "2.5",
                "negated_literals": true}}),
            sample,
        ),
        (json!({"name": "kernel-perceptron"}), sample),
        (
            json!({"name": "kernel-perceptron", "params": {"kernel": {"conjunctions": "monotone",
                "max_literals": 2}}}),
            sample,
        ),
        (json!({"name": "kernel-winnow"}), sample),
        (json!({"name": "bounded-perceptron"}), sample),
        (json!({"name": "bounded-perceptron"}), real),
    ] {
        let first = trained(&service, &job(&learner, data(0, 40), None, &once)).await;
        let second = job(
            &learner,
            data(40, 64),
            Some(&first["result"]["model"]),
            &once,
        );
        let second = trained(&service, &second).await;
        let whole = trained(&service, &job(&learner, data(0, 64), None, &once)).await;
        let of = |job: &Value, name: &str| job["result"][name].clone();
        assert_eq!(
            of(&second, "hypothesis"),
            of(&whole, "hypothesis"),
            "{learner}"
        );
        // The counts of a warm-started run begin at 0.
        for name in ["mistakes", "updates", "examples"] {
            let sum = of(&first, name).as_u64().unwrap() + of(&second, name).as_u64().unwrap();
            assert_eq!(of(&whole, name), sum, "{learner} {name}");
        }
        assert_eq!(second["warm_start"], first["result"]["model"]);
        assert_eq!(whole["warm_start"], Value::Null);
    }
}

#[tokio::test]
async fn warm_start_works_for_randomised_learners() {
    let service = Service::start().await;
    // Each example is consistent with the first hypothesis, so the learner keeps that hypothesis.
    let weights = "110100101";
    let consistent = json!({"half_space": {"examples": [weights, "110100111"]}});
    for name in [
        "directed-drift",
        "directed-drift-async",
        "directed-drift-sync",
        "sbpi",
        "clipped-perceptron",
        "amp",
        "reinforced-amp",
        "auto",
    ] {
        let first = json!({"name": "directed-drift", "params": {"initial": weights}});
        let first = model(&service, &train(first, consistent.clone())).await;
        let next = json!({"name": name});
        let next = job(&next, consistent.clone(), Some(&first), &json!({"seed": 5}));
        let next = trained(&service, &next).await;
        assert_eq!(next["result"]["hypothesis"]["weights"], weights);
        assert_eq!(next["result"]["mistakes"], 0);
    }
    let perceptron = json!({"name": "perceptron"});
    let first = trained(&service, &train(perceptron, sample(0, 64))).await;
    let model = &first["result"]["model"];
    for learner in [
        json!({"name": "pocket"}),
        json!({"name": "perceptron", "params": {"order": "random"}}),
        // A learner of real weights accepts whole weights.
        json!({"name": "perceptron", "params": {"eta": 0.25}}),
    ] {
        let next = job(&learner, sample(0, 64), Some(model), &json!({}));
        let next = trained(&service, &next).await;
        assert_eq!(next["result"]["mistakes"], 0, "{learner}");
        let weights = |job: &Value| {
            let weights = job["result"]["hypothesis"]["weights"]
                .as_array()
                .unwrap()
                .clone();
            weights
                .iter()
                .map(|w| w.as_f64().unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(weights(&next), weights(&first), "{learner}");
    }
}

#[tokio::test]
async fn warm_start_has_a_bound_from_any_start_or_no_verdict() {
    let service = Service::start().await;
    for learner in [
        json!({"name": "perceptron"}),
        json!({"name": "kernel-perceptron"}),
        json!({"name": "winnow", "params": {"relevant": 3, "theta": 4}}),
    ] {
        let few = json!({"stop": {"max_mistakes": 3}});
        let first = model(&service, &job(&learner, sample(0, 64), None, &few)).await;
        let next = job(&learner, sample(0, 64), Some(&first), &json!({}));
        let bound = trained(&service, &next).await["result"]["bound"].clone();
        let detail = bound["detail"].as_str().unwrap();
        if learner["name"] == "perceptron" {
            assert_eq!(bound["respected"], true);
            assert!(detail.contains("2 |w_0| |u| / (eta xi)"), "{detail}");
            continue;
        }
        assert_eq!(bound["respected"], Value::Null, "{learner}");
        assert!(detail.starts_with("assumption not met: the weights did not start"));
    }
    // From zero weights the run satisfies the assumption of the theorem.
    let zero = json!({"name": "perceptron"});
    let positive = json!({"labelled": {"examples": [{"x": "111111", "y": 1}]}});
    let zero_model = model(&service, &train(zero.clone(), positive)).await;
    let next = job(&zero, sample(0, 64), Some(&zero_model), &json!({}));
    assert_eq!(
        trained(&service, &next).await["result"]["bound"]["respected"],
        true
    );
}

#[tokio::test]
async fn warm_start_confidence_needs_examples_fresh_to_the_model() {
    let service = Service::start().await;
    let drift = json!({"name": "directed-drift"});
    let target = json!({"binary_weights": {"weights": "10110"}});
    let drawn = |count: Option<u32>| {
        let mut data = json!({"generated": {"n": 5, "target": target,
            "sampling": "uniform-positive"}});
        if let Some(count) = count {
            data["generated"]["count"] = json!(count);
        }
        data
    };
    let seeded = |seed: u32| json!({"seed": seed});
    let first = json!({"seed": 7, "stop": {"max_mistakes": 1}});
    let first = model(&service, &job(&drift, drawn(Some(1000)), None, &first)).await;
    // On other examples the run may claim the same confidence as any run.
    let next = job(&drift, drawn(None), Some(&first), &seeded(8));
    let next = trained(&service, &next).await;
    assert_eq!(next["result"]["termination"]["reason"], "confident");
    assert_eq!(next["result"]["termination"]["confidence"], 0.99);
    let mut exact = job(&drift, drawn(None), Some(&first), &seeded(8));
    exact["train"]["stop"] = json!({"confidence": 0.95, "rule": "exact"});
    let exact = trained(&service, &exact).await;
    assert_eq!(exact["result"]["termination"]["confidence"], 0.95);
    // On the same examples the run claims nothing, so it needs another stopping condition.
    let again = job(&drift, drawn(Some(1000)), Some(&first), &seeded(7));
    let again = trained(&service, &again).await;
    let termination = &again["result"]["termination"];
    assert_eq!(termination["confidence"], Value::Null);
    let detail = termination["confidence_detail"].as_str().unwrap();
    assert!(detail.contains("the initial model"), "{detail}");
    let endless = job(&drift, drawn(None), Some(&first), &seeded(7));
    let answer = service.post_json("/v1/jobs", &endless).await;
    assert_eq!(answer.problem(422), "wrong-stop");
    // The seeds of all ancestors are known. Examples of a third seed are fresh to the model, and those of the
    // ancestors' seeds are not.
    let second = &next["result"]["model"];
    let path = format!("/v1/models/{}", second.as_str().unwrap());
    let file = service.get(&path).await.expect(200).json();
    let lineage = &file["learnt_from"];
    assert_eq!(lineage["seeds"], json!([7, 8]));
    assert_eq!(lineage["all_generated"], true);
    for (seed, claims) in [(9, true), (7, false), (8, false)] {
        let third = job(&drift, drawn(Some(1000)), Some(second), &seeded(seed));
        let third = trained(&service, &third).await;
        let confidence = &third["result"]["termination"]["confidence"];
        assert_eq!(confidence.is_f64(), claims, "{seed}");
    }
    // A file proves nothing about its past, so only examples that are drawn for the run itself are fresh to an
    // imported model.
    let imported = service.post_json("/v1/models", &file).await.expect(201);
    let imported = imported.json()["id"].clone();
    for (more, claims) in [(seeded(9), false), (json!({}), true)] {
        let next = job(&drift, drawn(Some(1000)), Some(&imported), &more);
        let next = trained(&service, &next).await;
        let confidence = &next["result"]["termination"]["confidence"];
        assert_eq!(confidence.is_f64(), claims, "{more}");
        let path = format!("/v1/models/{}", next["result"]["model"].as_str().unwrap());
        let model = service.get(&path).await.expect(200).json();
        let lineage = &model["learnt_from"];
        assert_eq!(lineage["all_generated"], false, "an ancestor is unknown");
    }
}

#[tokio::test]
async fn warm_start_sample_is_never_fresh_whatever_is_declared() {
    let service = Service::start().await;
    let drift = json!({"name": "directed-drift"});
    let sample = |text: &str| {
        json!({"half_space": {"examples": [text, "10111"],
        "assume": "uniform-positive"}})
    };
    let declared = trained(&service, &train(drift.clone(), sample("10110"))).await;
    assert!(declared["result"]["termination"]["confidence"].is_f64());
    let declared = declared["result"]["model"].clone();
    let drawn = json!({"generated": {"n": 5, "target": {"binary_weights": {}},
        "sampling": "uniform-positive", "count": 50}});
    let of_drawn = job(&drift, drawn.clone(), None, &json!({"seed": 7}));
    let of_drawn = model(&service, &of_drawn).await;
    for (model, text) in [
        (&declared, "10110"),
        (&declared, "10010"),
        (&of_drawn, "10110"),
    ] {
        let next = job(&drift, sample(text), Some(model), &json!({}));
        let next = trained(&service, &next).await;
        let termination = &next["result"]["termination"];
        assert_eq!(termination["confidence"], Value::Null);
        assert!(termination["confidence_detail"].is_string());
    }
    // Generated examples may equal the declared ones, unless the service drew their seed for this run.
    for (more, claims) in [(json!({"seed": 3}), false), (json!({}), true)] {
        let next = job(&drift, drawn.clone(), Some(&declared), &more);
        let next = trained(&service, &next).await;
        let confidence = &next["result"]["termination"]["confidence"];
        assert_eq!(confidence.is_f64(), claims, "{more}");
    }
    // A generated dataset has a seed, like a stream of generated examples.
    let stored = async |seed: u64| {
        let request = json!({"data": drawn, "seed": seed});
        let answer = service.post_json("/v1/datasets", &request).await;
        let dataset = answer.expect(201).json();
        assert_eq!(dataset["assume"], "uniform-positive");
        assert_eq!(dataset["seed"], seed);
        json!({"dataset": dataset["id"]})
    };
    let first = trained(&service, &train(drift.clone(), stored(7).await)).await;
    assert!(first["result"]["termination"]["confidence"].is_f64());
    for (seed, claims) in [(7, false), (8, true)] {
        for model in [&of_drawn, &first["result"]["model"]] {
            let next = job(&drift, stored(seed).await, Some(model), &json!({}));
            let next = trained(&service, &next).await;
            let confidence = &next["result"]["termination"]["confidence"];
            assert_eq!(confidence.is_f64(), claims, "{seed}");
        }
    }
}

#[tokio::test]
async fn initial_weights_give_no_ground_for_a_claim() {
    let service = Service::start().await;
    let learner = json!({"name": "directed-drift", "params": {"initial": "10110"}});
    let sample = json!({"half_space": {"examples": ["10110", "10111"],
        "assume": "uniform-positive"}});
    let drawn = json!({"generated": {"n": 5, "target": {"binary_weights": {}},
        "sampling": "uniform-positive", "count": 500}});
    for (data, more, claims) in [
        (sample, json!({}), false),
        (drawn.clone(), json!({"seed": 5}), false),
        (drawn.clone(), json!({}), true),
    ] {
        let run = trained(&service, &job(&learner, data, None, &more)).await;
        let termination = &run["result"]["termination"];
        assert_eq!(termination["confidence"].is_f64(), claims, "{more}");
        let detail = termination["confidence_detail"].as_str();
        assert_eq!(detail.is_some_and(|it| it.contains("was given")), !claims);
        // The origin of the weights is unknown, and so is the past of a model that began from them.
        let path = format!("/v1/models/{}", run["result"]["model"].as_str().unwrap());
        let model = service.get(&path).await.expect(200).json();
        assert_eq!(model["learnt_from"]["all_generated"], false);
    }
    // A grid that lists seeds determines the examples.
    let exact = json!({"seed": [1, 2]});
    let mut train = job(&learner, drawn, None, &json!({}))["train"].clone();
    train["stop"] = json!({"confidence": 0.9, "rule": "exact"});
    let grid = json!({"grid": {"train": train, "over": exact}});
    let answer = service.post_json("/v1/jobs", &grid).await;
    assert_eq!(answer.problem(422), "wrong-stop");
    let grid = json!({"grid": {"train": train, "over": {"stop.confidence": [0.8, 0.9]}}});
    service.post_json("/v1/jobs", &grid).await.expect(202);
}

#[tokio::test]
async fn warm_start_from_an_unfit_model_is_refused() {
    let service = Service::start().await;
    let of = async |learner: Value| model(&service, &train(learner, sample(0, 9))).await;
    let perceptron = of(json!({"name": "perceptron"})).await;
    let winnow = of(json!({"name": "winnow"})).await;
    let kernel = of(json!({"name": "kernel-perceptron"})).await;
    let kernel_winnow = of(json!({"name": "kernel-winnow"})).await;
    let bounded = of(json!({"name": "bounded-perceptron"})).await;
    let over_reals = train(json!({"name": "perceptron"}), real(0, 9));
    let over_reals = model(&service, &over_reals).await;
    for (learner, start, named) in [
        (
            json!({"name": "directed-drift"}),
            &perceptron,
            "binary weights",
        ),
        (
            json!({"name": "directed-drift-sync"}),
            &perceptron,
            "binary weights",
        ),
        (json!({"name": "sbpi"}), &perceptron, "binary weights"),
        (json!({"name": "amp"}), &perceptron, "binary weights"),
        (json!({"name": "auto"}), &perceptron, "binary weights"),
        (json!({"name": "perceptron"}), &winnow, "linear weights"),
        (json!({"name": "pocket"}), &kernel, "linear weights"),
        (
            json!({"name": "winnow"}),
            &kernel_winnow,
            "weights of Winnow",
        ),
        (json!({"name": "kernel-winnow"}), &winnow, "kernel Winnow"),
        (
            json!({"name": "kernel-perceptron"}),
            &perceptron,
            "kernel model",
        ),
        (
            json!({"name": "bounded-perceptron"}),
            &perceptron,
            "bounded weights",
        ),
        (
            json!({"name": "perceptron", "params": {"reading": "unsigned"}}),
            &perceptron,
            "reading = signed",
        ),
        (
            json!({"name": "perceptron", "params": {"bias": false}}),
            &perceptron,
            "bias = true",
        ),
        (json!({"name": "perceptron"}), &over_reals, "real-valued"),
        (
            json!({"name": "perceptron", "params": {"initial": 1}}),
            &perceptron,
            "initial",
        ),
        (
            json!({"name": "winnow", "params": {"alpha": 3}}),
            &winnow,
            "alpha = 2",
        ),
        (
            json!({"name": "winnow", "params": {"theta": 5}}),
            &winnow,
            "theta = 6",
        ),
        (
            json!({"name": "winnow", "params": {"theta": 6, "negated_literals": true}}),
            &winnow,
            "negated_literals = false",
        ),
        (
            json!({"name": "kernel-winnow", "params": {"theta": 5}}),
            &kernel_winnow,
            "theta = 64",
        ),
        (
            json!({"name": "kernel-perceptron", "params": {"kernel": {"max_literals": 2}}}),
            &kernel,
            "kernel",
        ),
        (
            json!({"name": "bounded-perceptron", "params": {"threshold": 0.5}}),
            &bounded,
            "threshold = 0",
        ),
    ] {
        let body = job(&learner, sample(0, 9), Some(start), &json!({}));
        let answer = service.post_json("/v1/jobs", &body).await;
        assert_eq!(answer.problem(422), "wrong-start", "{learner}");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["pointer"], "/train/warm_start");
        assert!(error["detail"].as_str().unwrap().contains(named), "{error}");
    }
    let wide = json!({"labelled": {"examples": [{"x": "101", "y": 1}]}});
    let body = job(
        &json!({"name": "perceptron"}),
        wide,
        Some(&perceptron),
        &json!({}),
    );
    let answer = service.post_json("/v1/jobs", &body).await;
    assert_eq!(answer.problem(422), "wrong-start");
    let gone = json!("mdl_018bcfe568007000b333333333333333");
    let body = job(
        &json!({"name": "perceptron"}),
        sample(0, 9),
        Some(&gone),
        &json!({}),
    );
    let answer = service.post_json("/v1/jobs", &body).await;
    assert_eq!(answer.problem(422), "unknown-model");
    assert_eq!(answer.json()["errors"][0]["pointer"], "/train/warm_start");
}

#[tokio::test]
async fn train_query_accepts_warm_start() {
    let service = Service::start().await;
    let csv = "1,1,1,0\n-1,0,0,1\n1,1,0,1\n";
    let path = "/v1/learners/perceptron/train?seed=1&labels=first";
    let first = service.post_as(path, "text/csv", csv).await.expect(200);
    let first = first.json()["result"]["model"].as_str().unwrap().to_owned();
    let next = format!("{path}&warm_start={first}");
    let next = service
        .post_as(&next, "text/csv", csv)
        .await
        .expect(200)
        .json();
    assert_eq!(next["warm_start"], first);
    assert_eq!(next["result"]["mistakes"], 0);
    for (id, status, code) in [
        ("mdl_x", 400, "invalid-parameter"),
        ("mdl_018bcfe568007000b333333333333333", 422, "unknown-model"),
    ] {
        let bad = format!("{path}&warm_start={id}");
        let answer = service.post_as(&bad, "text/csv", csv).await;
        assert_eq!(answer.problem(status), code);
        assert_eq!(answer.json()["errors"][0]["parameter"], "warm_start");
    }
    let winnow = format!("/v1/learners/winnow/train?labels=first&warm_start={first}");
    let answer = service.post_as(&winnow, "text/csv", csv).await;
    assert_eq!(answer.problem(422), "wrong-start");
    assert_eq!(answer.json()["errors"][0]["parameter"], "warm_start");
}

#[tokio::test]
async fn model_shows_the_model_of_its_warm_start() {
    let service = Service::start().await;
    let perceptron = json!({"name": "perceptron"});
    let first = model(&service, &train(perceptron.clone(), sample(0, 30))).await;
    let next = job(&perceptron, sample(30, 64), Some(&first), &json!({}));
    let next = model(&service, &next).await;
    let path = format!("/v1/models/{}", next.as_str().unwrap());
    let file = service.get(&path).await.expect(200);
    assert_eq!(file.json()["warm_start"], first);
    // The exported file holds `warm_start`, and the digest of the file covers it.
    let imported = service.post_json("/v1/models", &file.json()).await;
    assert_eq!(imported.expect(201).json()["warm_start"], first);
    let mut altered = file.json();
    altered["warm_start"] = next.clone();
    let answer = service.post_json("/v1/models", &altered).await;
    assert_eq!(answer.problem(422), "model-altered");
    let path = format!("/v1/models/{}", first.as_str().unwrap());
    let first = service.get(&path).await.expect(200).json();
    assert!(first.get("warm_start").is_none());
}

#[tokio::test]
async fn queued_warm_start_keeps_its_model_unless_it_is_deleted() {
    let service = Service::idle(&["--workers", "1"]).await;
    let body = job(
        &json!({"name": "perceptron"}),
        sample(0, 20),
        None,
        &json!({"seed": 3}),
    );
    // The service computes a waited job at once, even where no worker runs.
    let first = trained(&service, &body).await["result"]["model"].clone();
    let next = job(
        &json!({"name": "perceptron"}),
        sample(20, 64),
        Some(&first),
        &json!({"seed": 4}),
    );
    let waited = trained(&service, &next).await;
    let queued = service.submit(&next).await;
    service.compute();
    let queued = service.until_status(&queued, "succeeded").await;
    for name in ["hypothesis", "mistakes", "examples", "passes"] {
        assert_eq!(queued["result"][name], waited["result"][name]);
    }
    let other = Service::idle(&["--workers", "1"]).await;
    let first = trained(&other, &body).await["result"]["model"].clone();
    let next = job(
        &json!({"name": "perceptron"}),
        sample(20, 64),
        Some(&first),
        &json!({}),
    );
    let headers = [("content-type", "application/json")];
    let answer = other.send(request("POST", "/v1/jobs", &headers, next.to_string()));
    let path = answer
        .await
        .expect(202)
        .header("location")
        .unwrap()
        .to_owned();
    let model = format!("/v1/models/{}", first.as_str().unwrap());
    other.delete(&model).await.expect(204);
    other.compute();
    let failed = other.until_status(&path, "failed").await;
    assert_eq!(failed["error"]["code"], "model-missing");
}
