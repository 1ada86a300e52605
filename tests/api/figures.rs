//! `POST /v1/figures`: charts, bars and heat maps that a client describes.

use serde_json::{Value, json};

use crate::service::Service;

const FIGURES: &str = "/v1/figures";

async fn drawn(service: &Service, figure: &Value) -> String {
    let answer = service.post_json(FIGURES, figure).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("image/svg+xml"));
    answer.text().to_owned()
}

#[tokio::test]
async fn the_chart_of_an_experiment_is_drawn_as_the_job_draws_it() {
    let service = Service::start().await;
    let params =
        json!({"learners": ["directed-drift-async"], "n": [5], "batch_sizes": [1], "runs": 3});
    let experiment = json!({"name": "mistake-bound-sweep", "params": params, "seed": 7});
    let job = service.run(&json!({"experiment": experiment})).await;
    let path = format!("/v1/jobs/{}/figure?format=svg", job["id"].as_str().unwrap());
    let expected = service.get(&path).await.expect(200).text().to_owned();
    let chart = &job["result"];
    assert_eq!(drawn(&service, &json!({"chart": chart})).await, expected);
    let mut renamed = chart.clone();
    renamed["title"] = json!("Mistakes & \"bounds\"");
    let svg = drawn(&service, &json!({"chart": renamed})).await;
    assert!(svg.contains("Mistakes &amp; &quot;bounds&quot;"));
}

#[tokio::test]
async fn figure_route_draws_bars_and_heat_maps() {
    let service = Service::start().await;
    let bars =
        json!([{"label": "warm", "value": 2.5, "text": "5/2", "low": 2, "high": 3, "before": 1}]);
    let svg = drawn(
        &service,
        &json!({"bars": {"title": "W", "axis": "weight", "bars": bars}}),
    )
    .await;
    for class in ["bar", "interval", "before"] {
        assert!(svg.contains(&format!("class=\"{class}\"")), "{class}");
    }
    let maps = json!([{"label": "now", "columns": 2, "values": [1, -1, 0, 0.5]}]);
    let svg = drawn(
        &service,
        &json!({"heat_maps": {"title": "W", "maps": maps}}),
    )
    .await;
    assert!(svg.contains("2 rows of 2 values from -1 to 1."));
}

#[tokio::test]
async fn a_figure_that_cannot_be_drawn_is_refused_at_its_place() {
    let service = Service::start().await;
    let maps = |columns: u32, values: usize| {
        let map = json!({"label": "", "columns": columns, "values": vec![1; values]});
        json!({"heat_maps": {"title": "", "maps": [map]}})
    };
    let beside = |beside: u64| {
        let axis = json!({"label": "", "unit": "", "scale": "linear"});
        let series = json!([{"label": "", "points": []}]);
        let theory = json!([{"label": "", "beside": beside, "points": []}]);
        json!({"chart": {"title": "", "x": axis, "y": axis, "series": series, "theory": theory,
            "marks": [], "notes": []}})
    };
    for (figure, code, pointer) in [
        (json!({}), "schema", ""),
        (
            json!({"bars": {"title": "", "axis": "", "bars": []}, "chart": null}),
            "",
            "",
        ),
        (maps(3, 4), "out-of-range", "/heat_maps/maps/0/columns"),
        (maps(0, 4), "out-of-range", "/heat_maps/maps/0/columns"),
        (maps(1, 600_000), "out-of-range", "/heat_maps/maps"),
        (json!({"picture": {}}), "schema", "/picture"),
        (
            beside(1_u64 << 63),
            "out-of-range",
            "/chart/theory/0/beside",
        ),
        (beside(1), "out-of-range", "/chart/theory/0/beside"),
        (
            json!({"bars": {"title": "", "axis": "", "bars": [{"label": ""}]}}),
            "schema",
            "/bars/bars/0",
        ),
    ] {
        let answer = service.post_json(FIGURES, &figure).await;
        if code.is_empty() {
            answer.expect(200);
            continue;
        }
        assert_eq!(answer.problem(400), code, "{figure}");
        let errors = answer.json()["errors"].clone();
        assert_eq!(
            errors[0]["pointer"].as_str().unwrap_or_default(),
            pointer,
            "{errors}"
        );
    }
}

#[tokio::test]
async fn an_unknown_member_of_a_chart_is_refused_at_its_place() {
    let service = Service::start().await;
    let chart = json!({
        "title": "", "notes": [], "marks": [{"x": 1, "label": ""}],
        "x": {"label": "", "unit": "", "scale": "linear"}, "y": {"label": "", "unit": "", "scale": "linear"},
        "series": [{"label": "", "points": [{"x": 1, "y": 1, "runs": 1, "censored": 0}]}],
        "theory": [{"label": "", "points": [{"x": 1, "y": 1}]}],
    });
    drawn(&service, &json!({"chart": chart})).await;
    for place in [
        "/x",
        "/series/0",
        "/series/0/points/0",
        "/theory/0",
        "/theory/0/points/0",
        "/marks/0",
    ] {
        let mut misspelt = chart.clone();
        misspelt.pointer_mut(place).unwrap()["colour"] = json!("red");
        let answer = service
            .post_json(FIGURES, &json!({"chart": misspelt}))
            .await;
        assert_eq!(answer.problem(400), "schema", "{place}");
        let pointer = &answer.json()["errors"][0]["pointer"];
        assert_eq!(*pointer, format!("/chart{place}/colour"));
    }
    let mut misspelt = chart.clone();
    let title = misspelt.as_object_mut().unwrap().remove("title").unwrap();
    misspelt["titel"] = title;
    let answer = service
        .post_json(FIGURES, &json!({"chart": misspelt}))
        .await;
    assert_eq!(answer.problem(400), "schema");
}

#[tokio::test]
async fn a_figure_that_takes_more_than_an_answer_is_refused() {
    let service = Service::limited(&[], |limits| limits.answer_bytes_max = 500).await;
    let bars = |name: &str| {
        let bars = json!([{"label": name, "value": 1, "text": "1"}]);
        json!({"bars": {"title": "", "axis": "", "bars": bars}})
    };
    for (figure, status, code) in [
        (bars(&"a".repeat(500)), 413, "too-large"),
        (bars("a"), 422, "answer-too-long"),
    ] {
        let answer = service.post_json(FIGURES, &figure).await;
        assert_eq!(answer.problem(status), code);
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("answer_bytes_max"), "{detail}");
    }
}

#[tokio::test]
async fn drawing_takes_its_memory_from_the_budget() {
    let service = Service::with(&["--memory-bytes-max", "134217728"]).await;
    // Each text of three bytes is parsed into a string of 24 bytes in a list that doubles.
    let notes = vec![""; 4 << 20];
    let figure = json!({"bars": {"title": "", "axis": "", "bars": [], "notes": notes}});
    let answer = service.post_json(FIGURES, &figure).await;
    assert_eq!(answer.problem(413), "too-large");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("memory_bytes_max"), "{detail}");
    let title = "&".repeat(5 << 20);
    let figure = json!({"bars": {"title": title, "axis": "", "bars": []}});
    let answer = service.post_json(FIGURES, &figure).await;
    assert_eq!(answer.problem(422), "answer-too-long");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("shorten the title"), "{detail}");
}
