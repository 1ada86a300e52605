//! `/v1/theory`: the reference values, the range of every parameter, and the stopping rule `exact`, which rests on
//! these analyses.

use serde_json::{Value, json};

use crate::service::Service;

async fn ask(service: &Service, question: &str) -> Value {
    let path = format!("/v1/theory/{question}");
    service.get(&path).await.expect(200).json()
}

#[track_caller]
fn assert_near(found: &Value, expected: f64, relative: f64) {
    let found = found.as_f64().unwrap();
    let error = (found - expected).abs();
    assert!(error <= relative * expected, "{found}, not {expected}");
}

#[tokio::test]
async fn theory_cover_count_is_exact() {
    let service = Service::start().await;
    let all = ask(&service, "cover?points=70&dimension=70").await;
    assert_eq!(
        all,
        json!({"dichotomies": "1180591620717411303424", "log2": 70.0, "fraction": 1.0,
            "log2_fraction": 0.0})
    );
    let half = ask(&service, "cover?points=10000&dimension=5000").await;
    assert_eq!(half["fraction"], 0.5);
    assert_eq!(half["log2"], 9999.0);
    assert_eq!(half["dichotomies"].as_str().unwrap().len(), 3010);
    let few = ask(&service, "cover?points=4&dimension=2").await;
    assert_eq!(few["dichotomies"], "8");
}

#[tokio::test]
async fn theory_of_directed_drift_is_that_of_the_reference() {
    let service = Service::start().await;
    let found = ask(&service, "directed-drift?n=20&delta=0.05").await;
    let mistakes = &found["expected_mistakes"];
    assert_near(&mistakes["random_start"], 30_063.434_878_230_69, 1e-12);
    assert_near(&mistakes["by_distance"][1], 26_577.342_123_581_66, 1e-12);
    assert_eq!(mistakes["by_distance"].as_array().unwrap().len(), 21);
    let examples = &found["expected_examples"]["random_start"];
    assert_near(examples, 82_419.355_893_749_54, 1e-12);
    assert_near(&found["min_error"]["uniform_positive"], 0.149_802_32, 1e-7);
    assert_eq!(found["per_hypothesis"]["run_length"], 17);
    let rate = &found["per_hypothesis"]["false_stop_probability"];
    assert_near(rate, 0.9783, 1e-4);
    assert_eq!(found["exact"]["run_length"], 46);
    let worst = &found["exact"]["false_stop_probability_worst_start"];
    assert!(worst.as_f64().unwrap() <= 0.05);
    assert_near(&found["anytime"]["false_stop_probability"], 7.9e-5, 5e-3);
    let theorem = &found["theorem_1"];
    assert_near(&theorem["upper"], 1e20, 1e-12);
    assert_near(&theorem["log2_upper"], 66.438_561_9, 1e-8);
    assert_near(&theorem["lower"], 28.7, 1e-2);
    assert_eq!(theorem["lower_holds"], true);
}

#[tokio::test]
async fn theory_bound_past_f64_is_null_beside_its_logarithm() {
    let service = Service::start().await;
    let found = ask(&service, "directed-drift?n=512").await;
    assert_eq!(found["theorem_1"]["upper"], Value::Null);
    assert_eq!(found["theorem_1"]["log2_upper"], 4096.0);
    let random = found["expected_mistakes"]["random_start"].as_f64().unwrap();
    assert!(random > 1e100 && random.is_finite());
    let found = ask(&service, "novikoff?radius=1e200&norm=1e200&margin=1").await;
    assert_eq!(found["mistakes_at_most"], Value::Null);
    assert_near(&found["log2_mistakes_at_most"], 2_657.542_475_9, 1e-9);
}

/// Finds a null in an answer where the document of the API promises a value. Returns its place.
fn broken_promise(document: &Value, schema: &Value, found: &Value, place: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let component = document.pointer(name.trim_start_matches('#')).unwrap();
        return broken_promise(document, component, found, place);
    }
    let types = &schema["type"];
    let may_be_null = types == "null"
        || types
            .as_array()
            .is_some_and(|types| types.contains(&json!("null")))
        || schema["oneOf"].is_array()
        || schema["anyOf"].is_array();
    if found.is_null() && !may_be_null {
        return Some(place.to_owned());
    }
    match found {
        Value::Array(items) => {
            let mut broken = items.iter().enumerate().map(|(index, item)| {
                broken_promise(
                    document,
                    &schema["items"],
                    item,
                    &format!("{place}/{index}"),
                )
            });
            broken.find_map(|broken| broken)
        }
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            broken_promise(
                document,
                &schema["properties"][name],
                member,
                &format!("{place}/{name}"),
            )
        }),
        _ => None,
    }
}

/// Every theory route with all pairs of extreme values: the answer is a refusal, or keeps the promises of the document.
/// The other parameters have a plain value.
#[tokio::test]
async fn theory_has_no_required_null_for_extreme_parameters() {
    let service = Service::start().await;
    let document = service.get("/openapi.json").await.expect(200).json();
    let long = format!("1{}", "0".repeat(400));
    let small = format!("0.{}1", "0".repeat(400));
    let extremes = [
        "0",
        "1",
        "2",
        "3",
        "512",
        "0.5",
        "1e-300",
        "5e-324",
        "1e-17",
        "0.9999999999999999",
        "1e308",
        "4294967296",
        "9007199254740991",
        &long,
        &small,
    ];
    let (mut answered, mut asked) = (0, 0);
    for (path, operations) in document["paths"].as_object().unwrap() {
        if !path.starts_with("/v1/theory/") {
            continue;
        }
        let schema =
            &operations["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let parameters = operations["get"]["parameters"].as_array().unwrap();
        let named = |it: &Value| it["name"].as_str().unwrap().to_owned();
        let names: Vec<String> = parameters.iter().map(named).collect();
        let required = parameters.iter().filter(|it| it["required"] == true);
        let required: Vec<String> = required.map(named).collect();
        for (at, one) in names.iter().enumerate() {
            for other in &names[at..] {
                for first in extremes {
                    for second in extremes {
                        let mut query = vec![format!("{one}={first}")];
                        if one != other {
                            query.push(format!("{other}={second}"));
                        }
                        let plain = required
                            .iter()
                            .filter(|name| *name != one && *name != other);
                        query.extend(plain.map(|name| format!("{name}=3")));
                        let question = format!("{path}?{}", query.join("&"));
                        let answer = service.get(&question).await;
                        asked += 1;
                        if answer.status != 200 {
                            assert!(
                                !answer.status.is_server_error(),
                                "{question}: {}",
                                answer.text()
                            );
                            continue;
                        }
                        answered += 1;
                        let broken = broken_promise(&document, schema, &answer.json(), "");
                        assert_eq!(broken, None, "{question}");
                        if one == other {
                            break;
                        }
                    }
                }
            }
        }
    }
    assert!(answered > 500 && asked > 5_000, "{answered} of {asked}");
}

#[tokio::test]
async fn theory_winnow_bound_below_f64_has_its_logarithm() {
    let service = Service::start().await;
    let theta = format!("1{}", "0".repeat(400));
    let found = ask(&service, &format!("winnow?n=8&relevant=0&theta={theta}")).await;
    assert_eq!(found["mistakes_at_most"], Value::Null);
    let log2 = found["log2_mistakes_at_most"].as_f64().unwrap();
    assert!((log2 + 1_324.771).abs() < 1e-2, "{log2}");
}

#[tokio::test]
async fn theory_run_lengths_are_those_of_the_rules() {
    let service = Service::start().await;
    let found = ask(&service, "stopping?n=20&confidence=0.95").await;
    assert_near(&found["min_error"], 0.149_802_32, 1e-7);
    assert_eq!(found["per_hypothesis"]["run_length"], 17);
    assert_eq!(found["anytime"]["run_length"], 23);
    let path = "stopping?n=20&confidence=0.95&sampling=reflected&hypothesis=1000";
    let found = ask(&service, path).await;
    // The error is C(20, 10) / 2^21, and the run length is the smallest T with (1 - e)^T <= 0.05 / 1,001,000.
    assert_near(&found["min_error"], 184_756.0 / 2_097_152.0, 1e-12);
    assert_eq!(found["anytime"]["run_length"], 183);
}

#[tokio::test]
async fn theory_mistake_bounds_are_those_of_the_theorems() {
    let service = Service::start().await;
    // The bound is 2 + 3 * 3 * (1 + 10).
    let found = ask(&service, "winnow?n=1024&relevant=3").await;
    assert_near(&found["mistakes_at_most"], 101.0, 1e-12);
    let found = ask(&service, "winnow?n=90&relevant=1&alpha=3&theta=9").await;
    assert_near(&found["mistakes_at_most"], 27.0, 1e-12);
    let theta = format!("1{}", "0".repeat(9_999));
    let found = ask(&service, &format!("winnow?n=90&relevant=1&theta={theta}")).await;
    assert_near(
        &found["mistakes_at_most"],
        3.0 * (1.0 + 9_999.0 * 10_f64.log2()),
        1e-12,
    );
    let found = ask(&service, "novikoff?radius=3&norm=2&margin=0.5").await;
    assert_eq!(found["mistakes_at_most"], 144.0);
}

/// Each question has one wrong parameter, which the problem names.
#[tokio::test]
async fn theory_names_the_parameter_out_of_range() {
    let service = Service::limited(&[], |limits| limits.n_max = 1000).await;
    let digits = "1".repeat(10_001);
    let long = format!("winnow?n=5&relevant=1&theta={digits}");
    for (question, parameter, named) in [
        ("cover?points=0&dimension=1", "points", "10000"),
        (
            "cover?points=5&dimension=10001",
            "dimension",
            "dichotomies_max",
        ),
        ("cover?points=-1&dimension=1", "points", ""),
        ("cover?points=five&dimension=1", "points", ""),
        (
            "cover?points=5&points=6&dimension=1",
            "points",
            "more than once",
        ),
        ("directed-drift?n=513", "n", "exact_analysis_n_max = 512"),
        ("directed-drift?n=0", "n", ""),
        ("directed-drift?n=5&delta=0", "delta", ""),
        (
            "directed-drift?n=5&delta=1",
            "delta",
            "greater than 0 and less than 1",
        ),
        ("directed-drift?n=5&delta=NaN", "delta", ""),
        ("stopping?n=1001", "n", "n_max = 1000"),
        ("stopping?n=5&confidence=1.5", "confidence", ""),
        ("stopping?n=5&confidence=nan", "confidence", ""),
        ("stopping?n=5&hypothesis=0", "hypothesis", ""),
        ("stopping?n=5&hypothesis=9007199254740992", "hypothesis", ""),
        (
            "stopping?n=5&sampling=gaussian",
            "sampling",
            "uniform-positive",
        ),
        ("winnow?n=5&relevant=6", "relevant", "n is 5"),
        ("winnow?n=0&relevant=0", "n", ""),
        ("winnow?n=5&relevant=1&alpha=1", "alpha", "above 1"),
        ("winnow?n=5&relevant=1&alpha=inf", "alpha", ""),
        ("winnow?n=5&relevant=1&theta=0", "theta", "positive"),
        ("winnow?n=5&relevant=1&theta=-3", "theta", "plain decimal"),
        ("winnow?n=5&relevant=1&theta=1e5", "theta", "plain decimal"),
        (&long, "theta", "10000"),
        ("novikoff?radius=0&norm=1&margin=1", "radius", "positive"),
        ("novikoff?radius=1&norm=-1&margin=1", "norm", ""),
        ("novikoff?radius=1&norm=1&margin=NaN", "margin", ""),
        ("novikoff?radius=1&norm=1&margin=inf", "margin", ""),
    ] {
        let answer = service.get(&format!("/v1/theory/{question}")).await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{question}");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["parameter"], parameter, "{question}");
        let detail = error["detail"].as_str().unwrap();
        assert!(detail.contains(named), "{question}: {detail}");
    }
    for question in [
        "cover?points=5",
        "novikoff",
        "cover?points=5&dimension=5&colour=1",
    ] {
        let answer = service.get(&format!("/v1/theory/{question}")).await;
        assert_eq!(answer.problem(400), "invalid-parameter", "{question}");
    }
    let answer = service.get("/v1/theory/gardner").await;
    assert_eq!(answer.problem(404), "not-found");
}

#[tokio::test]
async fn limits_route_shows_the_limits_of_theory() {
    let service = Service::start().await;
    let limits = service.get("/v1/limits").await.expect(200).json();
    assert_eq!(limits["exact_analysis_n_max"], 512);
    assert_eq!(limits["dichotomies_max"], 10_000);
    assert_eq!(limits["theta_digits_max"], 10_000);
}

fn training(learner: &str, n: u64, sampling: &str) -> Value {
    json!({"train": {
        "learner": {"name": learner},
        "data": {"generated": {"n": n, "target": {"binary_weights": {}}, "sampling": sampling}},
        "seed": 7,
        "stop": {"confidence": 0.95, "rule": "exact", "max_examples": 100_000}}})
}

#[tokio::test]
async fn exact_rule_accepts_after_the_run_length_of_theory() {
    let service = Service::start().await;
    let job = service
        .run(&training("directed-drift", 15, "uniform-positive"))
        .await;
    let termination = &job["result"]["termination"];
    assert_eq!(termination["reason"], "confident", "{job}");
    assert_eq!(termination["rule"], "exact");
    assert_eq!(termination["run_length"], 29);
    assert_eq!(termination["threshold"], 29);
    assert_eq!(termination["confidence"], 0.95);
    assert_eq!(termination["confidence_detail"], Value::Null);
}

#[tokio::test]
async fn exact_rule_is_refused_where_its_analysis_does_not_hold() {
    let service = Service::start().await;
    for (body, named) in [
        (
            training("directed-drift-sync", 15, "uniform-positive"),
            "anytime, per-hypothesis",
        ),
        (
            training("directed-drift", 15, "reflected"),
            "uniform-positive",
        ),
        (training("directed-drift", 513, "uniform-positive"), "512"),
    ] {
        let answer = service.post_json("/v1/jobs", &body).await;
        assert_eq!(answer.problem(422), "wrong-stop");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["pointer"], "/train/stop/rule", "{error}");
        assert!(error["detail"].as_str().unwrap().contains(named), "{error}");
    }
}

#[tokio::test]
async fn learner_shows_its_confidence_rules() {
    let service = Service::start().await;
    for (learner, rules) in [
        (
            "directed-drift",
            json!(["anytime", "per-hypothesis", "exact"]),
        ),
        ("directed-drift-async", json!(["anytime", "per-hypothesis"])),
        ("perceptron", json!([])),
    ] {
        let path = format!("/v1/learners/{learner}");
        let found = service.get(&path).await.expect(200).json();
        assert_eq!(found["confidence_rules"], rules);
    }
}

/// Three such requests once held every thread of the service for ever.
#[tokio::test]
async fn theory_survival_refuses_too_small_an_error_and_names_one() {
    let service = Service::start().await;
    for error in ["5e-324", "1e-300", "1e-20", "1e-19", "1e-17"] {
        let refused = service
            .get(&format!("/v1/theory/survival?error={error}"))
            .await;
        assert_eq!(refused.problem(400), "invalid-parameter");
        assert_eq!(refused.json()["errors"][0]["parameter"], "error");
    }
    let refused = service.get("/v1/theory/survival?error=1e-300").await.json();
    let detail = refused["detail"].as_str().unwrap();
    let stated = detail.rsplit(' ').next().unwrap();
    let found = ask(&service, &format!("survival?error={stated}")).await;
    let length = found["run_length"].as_u64().unwrap();
    assert!(length > 1 << 52 && length < 1 << 53, "{length}");
    // The bound of this run is the requested error, and one example less does not prove it.
    assert!(found["error_at_most"].as_f64().unwrap() <= stated.parse().unwrap());
}

#[tokio::test]
async fn sessions_and_jobs_refuse_too_small_a_stop_error() {
    let service = Service::start().await;
    let learner = json!({"name": "perceptron"});
    for error in [5e-324, 1e-300, 1e-20, 1e-19] {
        let stop = json!({"error": error});
        let session = json!({"learner": learner, "n": 3, "assume": "independent", "stop": stop});
        let session = service.post_json("/v1/sessions", &session).await;
        assert_eq!(session.problem(422), "wrong-stop");
        assert_eq!(session.json()["errors"][0]["pointer"], "/stop/error");
        let target = json!({"binary_weights": {}});
        let generated = json!({"n": 9, "target": target, "sampling": "uniform"});
        let train = json!({"data": {"generated": generated}, "learner": learner, "stop": stop});
        let job = service
            .post_json("/v1/jobs", &json!({"train": train}))
            .await;
        assert_eq!(job.problem(422), "wrong-stop");
        assert_eq!(job.json()["errors"][0]["pointer"], "/train/stop/error");
    }
    let stop = json!({"error": 1e-15});
    let session = json!({"learner": learner, "n": 3, "assume": "independent", "stop": stop});
    service
        .post_json("/v1/sessions", &session)
        .await
        .expect(201);
}

#[tokio::test]
async fn theory_ends_at_answer_seconds_max_and_names_it() {
    let service = Service::with(&["--answer-seconds-max", "0.0001"]).await;
    for question in [
        "uniqueness?n=1048576",
        "cover?points=10000&dimension=5000",
        "directed-drift?n=512",
    ] {
        let refused = service.get(&format!("/v1/theory/{question}")).await;
        assert_eq!(refused.problem(422), "intractable");
        assert!(
            refused.text().contains("answer_seconds_max"),
            "{}",
            refused.text()
        );
    }
}
