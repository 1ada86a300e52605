//! `/v1/learners`: the catalogue, and the learners that fit a dataset.

use serde_json::{Value, json};

use crate::service::Service;

#[tokio::test]
async fn the_catalogue_lists_every_learner_and_shows_each() {
    let service = Service::start().await;
    let list = service.get("/v1/learners").await.expect(200).json();
    assert!(list["next_cursor"].is_null());
    let items = list["items"].as_array().unwrap();
    assert!(items.len() >= 5);
    for item in items {
        let name = item["name"].as_str().unwrap();
        let one = service
            .get(&format!("/v1/learners/{name}"))
            .await
            .expect(200);
        assert_eq!(one.json(), *item);
        for text in ["title", "learns", "reading", "mode", "source"] {
            assert!(!item[text].as_str().unwrap().is_empty(), "{name}: {text}");
        }
        for text in ["theorem", "bound"] {
            assert!(
                !item["guarantee"][text].as_str().unwrap().is_empty(),
                "{name}: {text}"
            );
        }
    }
}

#[tokio::test]
async fn learner_parameter_schema_accepts_defaults_and_nothing_unknown() {
    let service = Service::start().await;
    let list = service.get("/v1/learners").await.expect(200).json();
    for item in list["items"].as_array().unwrap() {
        let schema = &item["parameters"];
        let validator = jsonschema::draft202012::new(schema).unwrap();
        assert!(validator.is_valid(&serde_json::json!({})), "{item}");
        assert!(
            !validator.is_valid(&serde_json::json!({"no-such": 1})),
            "{item}"
        );
        let properties = schema["properties"].as_object().unwrap();
        for (name, property) in properties {
            let Some(default) = property.get("default") else {
                continue;
            };
            let mut given = serde_json::Map::new();
            given.insert(name.clone(), default.clone());
            assert!(validator.is_valid(&given.into()), "{name}: {default}");
        }
    }
}

#[tokio::test]
async fn default_stop_names_the_limits_that_end_a_run() {
    let service = Service::start().await;
    // No hyperplane separates equal examples of both classes, so only a limit ends a run.
    let example = |x: &str, y: i8| json!({"x": x, "y": y});
    let examples: Vec<_> = (0..4)
        .flat_map(|_| [example("01", 1), example("01", -1), example("10", 1)])
        .collect();
    let data = json!({"labelled": {"examples": examples}});
    let list = service.get("/v1/learners").await.expect(200).json();
    let mut limited = 0;
    for learner in list["items"].as_array().unwrap() {
        let (name, stop) = (&learner["name"], &learner["default_stop"]);
        let request = json!({"train": {"data": data, "learner": {"name": name}, "seed": 1}});
        let job = service.run(&request).await;
        assert_eq!(job["status"], "succeeded", "{name}: {job}");
        let end = job["result"]["termination"]["detail"].as_str();
        for (limit, count) in [("max_passes", "passes"), ("max_mistakes", "mistakes")] {
            let Some(most) = stop[limit].as_u64() else {
                assert_ne!(end, Some(limit), "{name}");
                continue;
            };
            limited += 1;
            assert!(job["result"][count].as_u64() <= Some(most), "{name}: {job}");
            if end == Some(limit) {
                assert_eq!(job["result"][count], most, "{name}");
            }
            let statement = stop["statement"].as_str().unwrap();
            let words = match most {
                1 => "one pass".to_owned(),
                _ => most.to_string(),
            };
            assert!(statement.contains(&words), "{name}: {statement}");
        }
    }
    assert!(limited >= 10, "{limited}");
}

#[tokio::test]
async fn default_stop_follows_the_limit_of_seconds() {
    let service = Service::idle(&["--seconds-max", "60"]).await;
    let learner = service.get("/v1/learners/winnow").await.expect(200).json();
    let stop = &learner["default_stop"];
    assert_eq!(stop["max_seconds"], 60.0);
    let statement = stop["statement"].as_str().unwrap();
    assert!(statement.contains("after 60 seconds"), "{statement}");
}

#[tokio::test]
async fn an_unknown_learner_is_not_found() {
    let service = Service::start().await;
    let answer = service.get("/v1/learners/perceptrom").await;
    assert_eq!(answer.problem(404), "not-found");
}

/// The reason of each learner under these data, by name. A learner fits exactly if it has no reason.
async fn reasons(service: &Service, data: &Value) -> Vec<(String, Value)> {
    let stored = service
        .post_json("/v1/datasets", &json!({"data": data}))
        .await;
    let path = format!("/v1/learners?dataset={}", stored.expect(201).id());
    let list = service.get(&path).await.expect(200).json();
    let items = list["items"].as_array().unwrap();
    let reason = |item: &Value| {
        assert_eq!(item["fits"], item["unfit"].is_null(), "{item}");
        (
            item["name"].as_str().unwrap().to_owned(),
            item["unfit"].clone(),
        )
    };
    items.iter().map(reason).collect()
}

/// The reasons are those of a comparison and of the trainings themselves.
#[tokio::test]
async fn learner_list_states_which_learners_fit_a_dataset() {
    let service = Service::start().await;
    let labelled = |x: [Value; 4]| {
        let examples = x.into_iter().zip([1, -1, 1, -1]);
        let examples: Vec<_> = examples.map(|(x, y)| json!({"x": x, "y": y})).collect();
        json!({"labelled": {"examples": examples}})
    };
    let bits = labelled(["1101", "0010", "1100", "0011"].map(Value::from));
    let reals = labelled([0.5, -1.5, 2.5, -0.5].map(|x| json!([x, 1])));
    let positive = json!({"half_space": {"examples": ["1101", "1110", "1011", "0111"]}});
    let mut seen = Vec::new();
    for data in [bits, reals, positive] {
        let reasons = reasons(&service, &data).await;
        for (name, reason) in &reasons {
            let train = json!({"train": {"learner": {"name": name}, "data": data,
                "stop": {"max_examples": 1}}});
            let answer = service.post_json("/v1/jobs", &train).await;
            match reason.as_str() {
                None => assert_eq!(answer.status, 202, "{name}: {}", answer.text()),
                Some(reason) => assert_eq!(answer.expect(422).json()["detail"], reason, "{name}"),
            }
        }
        seen.push(reasons);
        if data["half_space"].is_object() {
            continue;
        }
        let compare = json!({"compare": {"data": data, "folds": 2, "stop": {"max_examples": 4}}});
        let job = service.run(&compare).await;
        let compared = job["result"]["learners"].as_array().unwrap();
        let compared: Vec<_> = compared
            .iter()
            .map(|learner| learner["unfit"].clone())
            .collect();
        let told = seen[seen.len() - 1]
            .iter()
            .map(|(_, reason)| reason.clone());
        assert_eq!(compared, told.collect::<Vec<_>>());
    }
    // Every learner accepts labelled bits.
    for (reasons, is_any_unfit) in seen.iter().zip([false, true, true]) {
        assert!(reasons.iter().any(|(_, reason)| reason.is_null()));
        let mut unfit = reasons.iter().filter(|(_, reason)| reason.is_string());
        assert_eq!(unfit.next().is_some(), is_any_unfit);
    }
    let thermometer =
        |(_, reason): &(String, Value)| reason.to_string().contains("numbers=thermometer");
    assert!(seen[1].iter().any(thermometer));
}

#[tokio::test]
async fn learner_list_needs_a_dataset_of_the_caller() {
    let service = Service::start().await;
    let list = service.get("/v1/learners").await.expect(200).json();
    for item in list["items"].as_array().unwrap() {
        assert_eq!(
            (&item["fits"], &item["unfit"]),
            (&Value::Null, &Value::Null)
        );
    }
    for (query, status, code) in [
        (
            "dataset=ds_01890000000070008000000000000000",
            422,
            "unknown-dataset",
        ),
        ("dataset=somewhere", 400, "invalid-parameter"),
        ("data=1", 400, "invalid-parameter"),
    ] {
        let answer = service.get(&format!("/v1/learners?{query}")).await;
        assert_eq!(answer.problem(status), code, "{query}");
    }
}
