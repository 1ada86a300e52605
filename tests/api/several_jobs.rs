//! `POST /v1/jobs/cancel` and `POST /v1/jobs/delete`: outcomes per job, bounds, and jobs of other keys.

use serde_json::{Value, json};

use crate::service::{Answer, Service, long_job, request, short_job};

use super::keys::{Caller, named};

const ROUTES: [&str; 2] = ["/v1/jobs/cancel", "/v1/jobs/delete"];

const MISSING: &str = "job_0198c1a5e0f77b3c9d2e4f5061728394";

fn id_of(path: &str) -> &str {
    path.strip_prefix("/v1/jobs/").unwrap()
}

/// The ids, the statuses and the codes of an answer, which has one item per job of the request.
fn outcomes(answer: Answer) -> Vec<(String, Value, Value)> {
    let document = answer.expect(200).json();
    let items = document["items"].as_array().unwrap().iter();
    let outcomes = items.map(|item| {
        let id = item["id"].as_str().unwrap().to_owned();
        let detail = &item["refusal"]["detail"];
        assert_eq!(detail.is_null(), item["refusal"].is_null());
        (id, item["status"].clone(), item["refusal"]["code"].clone())
    });
    outcomes.collect()
}

#[tokio::test]
async fn a_mass_cancel_answers_for_each_job_in_the_order_of_the_ids() {
    let service = Service::with(&["--workers", "1"]).await;
    let ended = service.run(&short_job()).await["id"].clone();
    let running = service.submit(&long_job(1)).await;
    service.until_status(&running, "running").await;
    let queued = service.submit(&long_job(2)).await;
    let ids = json!([
        id_of(&queued),
        ended,
        MISSING,
        id_of(&running),
        id_of(&queued)
    ]);
    let answer = service
        .post_json("/v1/jobs/cancel", &json!({"ids": ids}))
        .await;
    let outcomes = outcomes(answer);
    let told: Vec<_> = outcomes.iter().map(|(id, ..)| json!(id)).collect();
    assert_eq!(json!(told), ids);
    assert_eq!(outcomes[0].1, "cancelled");
    assert_eq!(outcomes[1].2, "wrong-state");
    assert_eq!(outcomes[2].2, "not-found");
    assert!(outcomes[3].2.is_null(), "{outcomes:?}");
    assert!(outcomes[4].2.is_null(), "a second cancel is no error");
    service.until_status(&running, "cancelled").await;
    service.until_status(&queued, "cancelled").await;
}

#[tokio::test]
async fn a_mass_delete_deletes_ended_jobs_and_names_the_others() {
    let service = Service::with(&["--workers", "1"]).await;
    let first = service.run(&short_job()).await["id"].clone();
    let second = service.run(&short_job()).await["id"].clone();
    let running = service.submit(&long_job(1)).await;
    service.until_status(&running, "running").await;
    let body = json!({"ids": [first, id_of(&running), second]});
    let codes = |answer| {
        let codes = outcomes(answer).into_iter().map(|(_, _, code)| code);
        codes.collect::<Vec<_>>()
    };
    let answer = service.post_json("/v1/jobs/delete", &body).await;
    assert_eq!(
        codes(answer),
        [Value::Null, json!("wrong-state"), Value::Null]
    );
    let left = service.get("/v1/jobs").await.expect(200).json();
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    let again = service.post_json("/v1/jobs/delete", &body).await;
    assert_eq!(codes(again), ["not-found", "wrong-state", "not-found"]);
}

#[tokio::test]
async fn jobs_of_another_key_are_neither_cancelled_nor_deleted() {
    let service = Service::idle(&[]).await;
    let one = Caller::new(&service, named("one")).await;
    let other = Caller::new(&service, named("other")).await;
    // A request that waits would compute the job.
    let headers = [
        ("content-type", "application/json"),
        ("authorization", one.authorization.as_deref().unwrap()),
    ];
    let submit = request("POST", "/v1/jobs", &headers, short_job().to_string());
    let submitted = service.send(submit).await;
    let path = format!("/v1/jobs/{}", submitted.id());
    let body = json!({"ids": [submitted.id()]});
    for route in ROUTES {
        let outcomes = outcomes(other.post(route, &body).await);
        assert_eq!(outcomes[0].2, "not-found", "{route}");
        let job = service.send(request("GET", &path, &headers[1..], "")).await;
        assert_eq!(job.expect(200).json()["status"], "queued");
    }
    let cancelled = outcomes(one.post(ROUTES[0], &body).await);
    assert_eq!(cancelled[0].1, "cancelled");
    let deleted = outcomes(one.post(ROUTES[1], &body).await);
    assert_eq!(deleted[0].2, Value::Null);
    assert_eq!(one.get(&path).await.problem(404), "not-found");
}

#[tokio::test]
async fn a_mass_request_has_from_one_to_job_ids_max_ids() {
    let service = Service::idle(&[]).await;
    let limits = service.get("/v1/limits").await.expect(200).json();
    let most = usize::try_from(limits["job_ids_max"].as_u64().unwrap()).unwrap();
    for route in ROUTES {
        let body = json!({"ids": vec![MISSING; most]});
        let answered = outcomes(service.post_json(route, &body).await);
        assert_eq!(answered.len(), most);
        for (count, named) in [(0, "at least one"), (most + 1, "job_ids_max: 1000")] {
            let body = json!({"ids": vec![MISSING; count]});
            let refused = service.post_json(route, &body).await;
            assert!(refused.text().contains(named), "{}", refused.text());
            assert!(refused.status.is_client_error());
        }
        for body in [
            json!({}),
            json!({"ids": "job_1"}),
            json!({"ids": ["job_1"]}),
            json!({"ids": [MISSING], "status": "queued"}),
        ] {
            let refused = service.post_json(route, &body).await;
            assert_eq!(refused.problem(400), "schema", "{body}");
        }
    }
}
