//! Errors name the nearest name, the permitted names and the remedy.

use serde_json::json;

use crate::service::{Service, request};

#[tokio::test]
async fn names_that_do_not_exist_are_answered_with_the_nearest_and_all() {
    let service = Service::start().await;
    for path in ["/v1/learners/perceptrom", "/v1/learners/perceptrom/train"] {
        let answer = match path.ends_with("train") {
            true => service.post_as(path, "text/csv", "a,y\n1,1\n").await,
            false => service.get(path).await,
        };
        let detail = answer.expect(404).json()["detail"].to_string();
        assert!(detail.contains("did you mean `perceptron`?"), "{detail}");
        assert!(detail.contains("winnow"), "{detail}");
    }
    let path = "/v1/learners/perceptron/train?etta=2";
    let answer = service.post_as(path, "text/csv", "a,y\n1,1\n").await;
    let detail = answer.expect(400).json()["detail"].to_string();
    assert!(
        detail.contains("did you mean `params.eta`?") && detail.contains("stop.max_passes"),
        "{detail}"
    );
    let data = json!({"half_space": {"examples": ["101"]}});
    let job = |learner| json!({"train": {"learner": learner, "data": data}});
    let wrong = job(json!({"name": "sbpi", "params": {"ordr": "cyclic"}}));
    let detail = service
        .post_json("/v1/jobs", &wrong)
        .await
        .expect(400)
        .json()["detail"]
        .to_string();
    assert!(
        detail.contains("ordr: unknown parameter (did you mean `order`?)"),
        "{detail}"
    );
    let wrong = json!({"train": {"lerner": {"name": "sbpi"}, "data": data}});
    let detail = service
        .post_json("/v1/jobs", &wrong)
        .await
        .expect(400)
        .json()["detail"]
        .to_string();
    assert!(detail.contains("did you mean `learner`?"), "{detail}");
}

#[tokio::test]
async fn errors_describe_values_in_json_terms() {
    let service = Service::start().await;
    let path = "/v1/learners/perceptron/train?stop.max_passes=many";
    let answer = service.post_as(path, "text/csv", "a,y\n1,1\n").await;
    let detail = answer.expect(400).json()["detail"].take();
    assert_eq!(
        detail,
        "stop.max_passes: the text \"many\" is not a whole number of at least 0"
    );
}

#[tokio::test]
async fn the_default_type_of_curl_and_a_wrong_method_are_answered_with_the_remedy() {
    let service = Service::start().await;
    let form = "application/x-www-form-urlencoded";
    let answer = service
        .post_as("/v1/learners/winnow/train", form, "a,y\n1,1\n")
        .await;
    let detail = answer.expect(415).json()["detail"].to_string();
    assert!(detail.contains("-H 'content-type: text/csv'"), "{detail}");
    let answer = service.send(request("PUT", "/v1/jobs", &[], "")).await;
    let problem = answer.expect(405).json();
    assert_eq!(problem["detail"], "The path supports GET, HEAD, POST.");
}

#[tokio::test]
async fn problem_pages_have_cause_remedy_and_example() {
    let service = Service::start().await;
    let index = service.get("/problems").await.expect(200);
    let index = index.text().to_owned();
    for code in ["not-found", "bad-label"] {
        assert!(
            index.contains(&format!("href=\"problems/{code}\"")),
            "{index}"
        );
        let page = service.get(&format!("/problems/{code}")).await.expect(200);
        for part in [
            "<h2>Cause</h2>",
            "<h2>Remedy</h2>",
            "<h2>Example</h2>",
            code,
        ] {
            assert!(page.text().contains(part), "{code}: {part}");
        }
    }
}
