"""The page Compare: jobs by ticks, a comparison and a grid, and a comparison of a thousand jobs."""

import csv
import io
import re
import threading

import pytest
from playwright.sync_api import expect

MARKUP = "<img src=x onerror=alert(1)>"
DATA = {"generated": {"n": 31, "target": {"binary_weights": {}}, "sampling": "uniform", "count": 500}}


def train(service, learner="perceptron", **options):
    name = options.pop("name", None)
    return service.job(name=name, train={"learner": {"name": learner}, "data": DATA, "holdout": 0.3, "trace": True, "seed": 5, "stop": {"max_passes": 5}, **options})


def panel(page, title):
    return page.get_by_role("region", name=title, exact=True)


def cells(page, column):
    """The texts of a column of the table, from the top."""
    table = page.get_by_role("region", name="Compared jobs").or_(page.get_by_role("region", name="Learners").get_by_role("region"))
    heads = [text.strip(" ▲▼\n") for text in table.first.get_by_role("columnheader").all_inner_texts()]
    at = heads.index(column)
    return [row.get_by_role("cell").nth(at).inner_text() for row in table.first.get_by_role("row").all()[1:]]


def test_ticked_trainings_are_compared(page, service, see):
    names = ["perceptron", "pocket", "winnow"]
    jobs = [train(service, learner, name=f"compared {learner}") for learner in names]
    page.goto("/#/compare")
    for learner in names:
        page.get_by_role("checkbox", name=f"Tick compared {learner}").check()
    see("compare-choice")
    page.get_by_role("link", name="Compare 3 jobs").click()
    expect(page.get_by_role("heading", name="Compare 3 jobs")).to_be_visible()
    curves = panel(page, "Mistake curves")
    expect(curves.get_by_role("listitem")).to_have_text([f"compared {learner}" for learner in names])
    see("compare-jobs")
    with page.expect_download() as download:
        curves.get_by_role("button", name="CSV").click()
    rows = list(csv.reader(io.StringIO(download.value.path().read_text())))
    for job in jobs:
        trace = service.get(f"/v1/jobs/{job['id']}/trace")["points"]
        shown = [[int(row[1]), int(row[2])] for row in rows if row[0] == job["name"]]
        assert shown == [[0, 0], *([point["examples"], point["mistakes"]] for point in trace)]
    with page.expect_download() as download:
        curves.get_by_role("button", name="SVG").click()
    svg = download.value.path().read_text()
    assert all(f">compared {learner}<" in svg for learner in names)


def test_intervals_are_those_of_the_service(page, service):
    declared = train(service, name="declared")
    dataset = service.sample("monks-1")
    undeclared = train(service, name="undeclared", data={"dataset": dataset["id"]})
    certificate = next(found for found in declared["result"]["certificates"] if found["kind"] == "test-set")
    holdout = undeclared["result"]["holdout"]
    limits = service.get(f"/v1/theory/test-set?errors={holdout['errors']}&examples={holdout['examples']}&confidence=0.95")
    page.goto(f"/#/compare?jobs={declared['id']},{undeclared['id']}")
    errors = panel(page, "Errors")
    errors.get_by_role("button", name="Table").click()
    expect(errors.get_by_role("row", name="undeclared")).to_contain_text(f"{limits['high']:.6g}"[:8])
    expect(errors.get_by_role("row", name="declared").first).to_be_visible()
    expect(page.get_by_text("certified")).to_have_count(1)
    assert f"{certificate['high'] * 100:.1f}"[:3] in cells(page, "interval")[0]


def newest(service, task: str) -> str:
    return service.get(f"/v1/jobs?task={task}")["items"][0]["id"]


def intervals_shown(page) -> dict[str, tuple[float, float]]:
    """The intervals of the chart by name."""
    errors = panel(page, "Errors")
    with page.expect_download() as download:
        errors.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    return {list(row.values())[1]: (float(row["low"]), float(row["high"])) for row in rows}


@pytest.mark.parametrize("assume", ["", "&assume=independent"], ids=["undeclared", "declared"])
def test_the_intervals_of_a_comparison_hold_at_once(page, service, assume):
    """The service states the intervals and what they say, with the error of 5 % shared by all candidates."""
    table = service.get("/v1/samples/monks-2")
    dataset = service.post(f"/v1/datasets?name=candidates{assume}", table, media_type="text/csv")["id"]
    names = ["perceptron", "pocket", "winnow", "kernel-perceptron"]
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/v1/theory/" in request.url else None)
    stop = {"max_passes": 3}
    compare = service.job(compare={"data": {"dataset": dataset}, "holdout": 0.3, "seed": 3, "stop": stop, "learners": [{"name": name} for name in names]})["result"]
    grid = service.job(grid={"train": {"data": {"dataset": dataset}, "learner": {"name": "perceptron"}, "holdout": 0.3, "stop": stop},
                             "over": {"seed": [1, 2, 3, 4]}})
    for job, candidates in [(compare, {one["name"]: (one["errors"], one["examples"], one["interval"]) for one in compare["learners"]}),
                            (grid["result"], {str(one["over"]["seed"]): (*one["holdout"].values(), one["interval"]) for one in grid["result"]["trainings"]})]:
        page.goto(f"/#/compare?job={newest(service, job['task'])}")
        statement = job["intervals"]["statement"]
        expect(panel(page, "Errors").get_by_text(statement)).to_be_visible()
        assert "all 4 " in statement and (("does not know" in statement) == (assume == "")), statement
        shown = intervals_shown(page)
        assert shown.keys() == candidates.keys()
        for name, (errors, examples, interval) in candidates.items():
            assert shown[name] == (interval["low"], interval["high"])
            limits = service.get(f"/v1/theory/test-set?errors={errors}&examples={examples}&confidence={1 - 0.05 / 4}")
            assert abs(limits["low"] - interval["low"]) < 1e-9 and abs(limits["high"] - interval["high"]) < 1e-9
        expect(page.get_by_text("certified", exact=True)).to_have_count(4 if assume else 0)
    assert asked == [], "the console asks for no intervals of its own"


def test_compare_page_claims_no_confidence_for_folds(page, service):
    job = service.job(compare={"data": DATA, "folds": 3, "seed": 3, "stop": {"max_passes": 3}, "learners": [{"name": "perceptron"}, {"name": "winnow"}]})
    page.goto(f"/#/compare?job={job['id']}")
    expect(panel(page, "Errors").get_by_text("the line is no confidence interval")).to_be_visible()
    rates = [fold["errors"] / fold["examples"] for fold in job["result"]["learners"][0]["folds"]]
    assert intervals_shown(page)["perceptron"] == (min(rates), max(rates))


def test_ticked_jobs_claim_nothing_about_the_best(page, service):
    jobs = [train(service, name=f"alone {seed}", seed=seed) for seed in (1, 2)]
    page.goto(f"/#/compare?jobs={','.join(job['id'] for job in jobs)}")
    expect(panel(page, "Errors").get_by_text("Each holds by itself, and not for the best of several jobs")).to_be_visible()
    expect(page.get_by_text("at once, so")).to_have_count(0)


def test_the_chart_of_a_large_grid_shows_the_best(page, service, see):
    job = service.job(grid={"train": {"data": DATA, "learner": {"name": "perceptron"}, "holdout": 0.3, "stop": {"max_passes": 1}},
                            "over": {"seed": list(range(120))}})
    while job["status"] in ("queued", "running"):
        job = service.get(f"/v1/jobs/{job['id']}", prefer="wait=60")
    result = job["result"]
    page.goto(f"/#/jobs/{job['id']}")
    expect(panel(page, "Errors").get_by_text("The chart shows 40 of 120 trainings: those with the smallest share of held-out errors.")).to_be_visible()
    shown = intervals_shown(page)
    order = sorted(result["trainings"], key=lambda training: training["holdout"]["errors"] / training["holdout"]["examples"])
    worst_shown = order[39]["holdout"]["errors"]
    assert str(result["trainings"][result["best"]]["over"]["seed"]) in shown
    assert {str(training["over"]["seed"]) for training in order if training["holdout"]["errors"] < worst_shown} <= shown.keys()
    see("compare-large-grid")
    page.get_by_role("checkbox", name=re.compile("^Show ")).first.click()
    expect(panel(page, "Errors").get_by_text("those that are ticked in the table")).to_be_visible()


def test_the_charts_of_many_jobs_show_the_best_and_say_so(page, service):
    jobs = [train(service, seed=seed, stop={"max_passes": 1}) for seed in range(15)]
    page.goto(f"/#/compare?jobs={','.join(job['id'] for job in jobs)}")
    expect(page.get_by_text("The chart shows 12 of 15 jobs: those with the smallest share of held-out errors.").first).to_be_visible()
    order = sorted(jobs, key=lambda job: job["result"]["holdout"]["errors"])
    for job in order[:12]:
        if job["result"]["holdout"]["errors"] < order[12]["result"]["holdout"]["errors"]:
            expect(panel(page, "Mistake curves").get_by_role("listitem").filter(has_text=str(job["seed"]))).not_to_have_count(0)


def test_only_differences_and_order_stand_in_the_url(page, service):
    jobs = [train(service, learner) for learner in ("perceptron", "pocket", "winnow")]
    page.goto(f"/#/compare?jobs={','.join(job['id'] for job in jobs)}")
    table = page.get_by_role("region", name="Compared jobs")
    expect(table.get_by_role("columnheader", name="seed")).to_be_visible()
    page.get_by_label("Only differences").check()
    expect(table.get_by_role("columnheader", name="seed")).to_have_count(0)
    expect(table.get_by_role("columnheader", name="learner")).to_be_visible()
    expect(page.locator("p", has_text="Equal in all 3 rows:")).to_contain_text("seed 5")
    table.get_by_role("button", name="mistakes").click()
    table.get_by_role("button", name="mistakes").click()
    mistakes = sorted((job["result"]["mistakes"] for job in jobs), reverse=True)
    expect(table.get_by_role("columnheader", name="mistakes")).to_have_attribute("aria-sort", "descending")
    assert cells(page, "mistakes") == [f"{count:,}" for count in mistakes]
    page.reload()
    expect(page.get_by_label("Only differences")).to_be_checked()
    expect(table.get_by_role("columnheader", name="mistakes")).to_have_attribute("aria-sort", "descending")


def test_ticks_choose_the_curves_by_keyboard(page, service):
    first, second = train(service, name="kept"), train(service, "winnow", name="left out")
    page.goto(f"/#/compare?jobs={first['id']},{second['id']}")
    legend = panel(page, "Mistake curves").get_by_role("listitem")
    expect(legend).to_have_count(2)
    page.get_by_role("checkbox", name="Show left out in the charts").focus()
    page.keyboard.press("Space")
    expect(legend).to_have_text(["kept"])
    page.reload()
    expect(legend).to_have_text(["kept"])


def test_a_comparison_by_the_service_shows_its_best_learner(page, service, see):
    job = service.job(compare={"data": DATA, "holdout": 0.3, "stop": {"max_passes": 5}, "seed": 3,
                               "learners": [{"name": name, "params": {}} for name in ("perceptron", "pocket", "winnow", "perspectron")]})
    result = job["result"]
    page.goto("/#/compare")
    panel(page, "Comparisons by the service").get_by_role("link", name="Comparison …").first.click()
    best = result["learners"][result["best"]]
    tied = [learner["name"] for learner in result["learners"] if learner["errors"] == best["errors"]]
    assert tied == [best["name"]], "the seed of this test gives one best learner"
    expect(page.get_by_text(f"Best: {best['name']}.")).to_be_visible()
    page.goto(f"/#/compare?job={job['id']}")
    expect(page.get_by_role("link", name="Model …").first).to_have_attribute("href", f"#/models/{result['model']}")
    expect(page.get_by_text("certified")).to_have_count(4)
    page.get_by_text("The figure as the API draws it").click()
    expect(page.get_by_role("img", name="Figure of Comparison")).to_be_visible()
    see("compare-task")
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG of the API").click()
    assert download.value.path().read_bytes() == service.get(f"/v1/jobs/{job['id']}/figure?format=svg")


def test_compare_page_calls_a_tie_a_tie(page, service):
    learners = [{"name": name} for name in ("perceptron", "pocket", "winnow")]
    job = service.job(compare={"data": {"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": -1}] * 30}}, "holdout": 0.5,
                               "learners": learners, "seed": 3})
    assert {learner["errors"] for learner in job["result"]["learners"]} == {0}
    page.goto(f"/#/compare?job={job['id']}")
    expect(page.get_by_text("Tie for best: perceptron, pocket and winnow.")).to_be_visible()
    expect(page.get_by_text("tie for best", exact=True)).to_have_count(3)
    page.goto("/#/jobs?task=compare")
    expect(page.get_by_text("tie for best: perceptron, pocket and winnow").first).to_be_visible()


@pytest.mark.faults
def test_a_deleted_job_can_be_left_out(page, service):
    kept, gone = train(service, name="stays"), train(service)
    service.send("DELETE", f"/v1/jobs/{gone['id']}")
    page.goto(f"/#/compare?jobs={kept['id']},{gone['id']}")
    expect(page.get_by_text("1 job of this comparison does not exist any more.")).to_be_visible()
    page.get_by_role("button", name="Leave out").click()
    expect(page.get_by_role("heading", name="Compare 1 job")).to_be_visible()
    expect(page).not_to_have_url(re.compile(gone["id"]))


def test_markup_in_job_names_is_shown_as_text(page, service):
    jobs = [train(service, name=MARKUP), train(service, "winnow", name=f"{MARKUP} 2")]
    page.on("dialog", lambda dialog: pytest.fail("a name ran as a script"))
    page.goto(f"/#/compare?jobs={','.join(job['id'] for job in jobs)}")
    expect(panel(page, "Mistake curves").get_by_role("listitem").first).to_have_text(MARKUP)
    expect(page.get_by_role("link", name=MARKUP).first).to_be_visible()
    assert page.locator("img[src='x']").count() == 0


def test_a_comparison_prints_all_rows(page, service):
    jobs = [train(service, seed=seed) for seed in range(30)]
    page.goto(f"/#/compare?jobs={','.join(job['id'] for job in jobs)}&differences=yes")
    table = page.get_by_role("region", name="Compared jobs")
    expect(table.get_by_role("row").nth(1)).to_be_visible()
    page.emulate_media(media="print")
    expect(table.get_by_role("row")).to_have_count(31)
    expect(panel(page, "Mistake curves").get_by_role("img", name="Mistakes by examples read", exact=True)).to_be_visible()


@pytest.mark.long
def test_a_thousand_jobs_are_compared(own_service, page):
    ids = [""] * 1000

    def submit(numbers):
        for number in numbers:
            ids[number] = train(own_service, seed=number, stop={"max_passes": 1})["id"]

    lanes = [threading.Thread(target=submit, args=(range(lane, 1000, 4),)) for lane in range(4)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    traces = []
    page.on("request", lambda request: traces.append(request.url) if request.url.endswith("/trace") else None)
    page.goto(f"{own_service.address}/#/compare?jobs={','.join(ids)}")
    expect(page.get_by_role("region", name="Compared jobs")).to_be_visible()
    expect(page.get_by_text("of 1,000 jobs loaded")).to_have_count(0, timeout=60_000)
    expect(panel(page, "Mistake curves").get_by_role("listitem")).to_have_count(12)
    assert len(set(traces)) == 12
    assert page.get_by_role("region", name="Compared jobs").get_by_role("row").count() < 60
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def script() -> float:
        return next(metric["value"] for metric in session.send("Performance.getMetrics")["metrics"] if metric["name"] == "ScriptDuration")

    before = script()
    page.get_by_role("region", name="Compared jobs").get_by_role("button", name="mistakes").click()
    expect(page.get_by_role("columnheader", name="mistakes")).to_have_attribute("aria-sort", "ascending")
    assert script() - before < 0.3
