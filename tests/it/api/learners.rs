//! `/v1/learners`: the catalogue.

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
async fn parameters_are_a_schema_that_takes_the_defaults_and_nothing_unknown() {
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
async fn an_unknown_learner_is_not_found() {
    let service = Service::start().await;
    let answer = service.get("/v1/learners/perceptrom").await;
    assert_eq!(answer.problem(404), "not-found");
}
