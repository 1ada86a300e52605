"""The pages Jobs and Job: the list with its filters and ticks, and a job queued, running, ended and failed."""

import re
import threading
from urllib.error import HTTPError

import pytest
from playwright.sync_api import expect

MARKUP = "<img src=x onerror=alert(1)>"
GENERATED = {"generated": {"n": 31, "target": {"binary_weights": {}}, "sampling": "uniform", "count": 2000}}
SMALL = {"generated": {"n": 9, "target": {"binary_weights": {}}, "sampling": "uniform", "count": 40}}
# Runs until a test cancels the job: labels with noise let no pass end without a mistake.
ENDLESS = {"learner": {"name": "perceptron"}, "stop": {"max_passes": 10**9, "max_seconds": 3000}, "data": {"generated": {
    "n": 101, "target": {"binary_weights": {}}, "sampling": "uniform", "count": 1000, "noise": 0.2}}}


def train(service, **options):
    """Trains a perceptron that ends at once."""
    name = options.pop("name", None)
    return service.job(name=name, train={"learner": {"name": "perceptron"}, "data": GENERATED, "holdout": 0.2, "trace": True, **options})


def start(service, **request):
    return service.post("/v1/jobs", request)


def fill_workers(service):
    """Starts two endless jobs more than the service has workers. Returns their ids."""
    workers = service.get("/v1/workers")["items"][0]["workers"]
    return [start(service, name=f"endless {number}", priority=10, train=ENDLESS)["id"] for number in range(workers + 2)]


def panel(page, title):
    return page.get_by_role("region", name=title, exact=True)


def fact(page, name):
    return page.locator("dl.facts > div", has=page.locator("dt", has_text=re.compile(f"^{re.escape(name)}$"))).locator("dd").first


def test_filters_and_ticks_stand_in_the_url(page, service, see):
    first, second = train(service, name="ticked one"), train(service, name="ticked two")
    service.job(name="other task", separability={"data": SMALL})
    page.goto("/#/jobs")
    expect(page.get_by_role("link", name="other task")).to_be_visible()
    page.get_by_label("Task", exact=True).select_option("train")
    expect(page.get_by_role("link", name="other task")).to_have_count(0)
    page.get_by_label("Learner", exact=True).select_option("perceptron")
    page.get_by_role("checkbox", name="Tick ticked one").check()
    page.get_by_role("checkbox", name="Tick ticked two").check()
    page.reload()
    expect(page.get_by_label("Task", exact=True)).to_have_value("train")
    expect(page.get_by_role("checkbox", name="Tick ticked one")).to_be_checked()
    see("jobs")
    page.get_by_role("link", name="Compare 2").click()
    expect(page.get_by_role("heading", name="Compare 2 jobs")).to_be_visible()
    for job in (first, second):
        expect(page).to_have_url(re.compile(job["id"]))
    page.go_back()
    expect(page.get_by_text("2 jobs ticked")).to_be_visible()


def test_an_empty_list_says_how_to_begin(own_service, page, look):
    page.goto(f"{own_service.address}/#/jobs")
    expect(page.get_by_text("No job yet.")).to_be_visible()
    look(page, "jobs-empty")
    page.goto(f"{own_service.address}/#/jobs?status=failed")
    expect(page.get_by_text("No job matches.")).to_be_visible()


def test_ticked_jobs_are_cancelled_and_deleted(page, service):
    running = [start(service, name=f"to cancel {number}", train=ENDLESS)["id"] for number in range(2)]
    ended = train(service, name="to delete")["id"]
    page.goto(f"/#/jobs?ticked={','.join([*running, ended])}")
    page.get_by_role("button", name="Cancel 2", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 2").click()
    page.get_by_role("button", name="Delete 3", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete 3").click()
    expect(page.get_by_role("link", name="to delete")).to_have_count(0)
    expect(page.get_by_text("Tick jobs to compare")).to_be_visible()
    for job in [*running, ended]:
        with pytest.raises(HTTPError, match="404"):
            service.get(f"/v1/jobs/{job}")


def test_many_jobs_are_deleted_with_one_request_and_refusals_are_told(page, service):
    jobs = [service.job(name=f"one of many {number}", separability={"data": SMALL})["id"] for number in range(12)]
    refused = jobs[3]
    asked = []

    def answer(route):
        ids = route.request.post_data_json["ids"]
        asked.append(ids)
        response = route.fetch(post_data={"ids": [job for job in ids if job != refused]})
        refusal = {"id": refused, "refusal": {"code": "wrong-state", "detail": "The job has not ended."}}
        route.fulfill(response=response, json={"items": [*response.json()["items"], refusal]})

    page.route("**/v1/jobs/delete", answer)
    page.goto(f"/#/jobs?ticked={','.join(jobs)}")
    page.get_by_role("button", name="Delete 12", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete 12").click()
    told = page.get_by_role("alert")
    expect(told).to_contain_text(f"1 job refused. …{refused[-8:]}: The job has not ended.")
    assert [sorted(ids) for ids in asked] == [sorted(jobs)]
    for job in jobs:
        if job != refused:
            with pytest.raises(HTTPError, match="404"):
                service.get(f"/v1/jobs/{job}")
    row = page.get_by_role("link", name="one of many 3", exact=True)
    expect(row).to_be_visible()
    service.send("DELETE", f"/v1/jobs/{refused}")
    # The list is read at once when the page is shown again.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(row).to_have_count(0)
    expect(told).to_be_visible()


def test_new_jobs_appear_without_moving_the_rows_in_view(own_service, page):
    for number in range(60):
        own_service.job(name=f"row {number}", separability={"data": SMALL})
    page.goto(f"{own_service.address}/#/jobs")
    rows = page.get_by_role("region", name="Jobs, the newest first")
    expect(rows.get_by_role("link", name="row 59")).to_be_visible()
    rows.evaluate("element => element.scrollTo(0, 800)")
    row = rows.get_by_role("link", name="row 35", exact=True)
    expect(row).to_be_visible()
    before = row.bounding_box()
    for number in range(3):
        own_service.job(name=f"later {number}", separability={"data": SMALL})
    # A page that is shown again reads the list at once.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_text("63 shown")).to_be_visible()
    after = row.bounding_box()
    assert before and after and abs(before["y"] - after["y"]) < 2


def test_a_training_shows_errors_features_and_its_curve(page, service, see):
    dataset = service.sample("tic-tac-toe")
    job = service.job(name="boards", train={"data": {"dataset": dataset["id"]}, "holdout": 0.3, "trace": True,
                                            "learner": {"name": "kernel-perceptron", "params": {"kernel": {"conjunctions": "monotone"}}}})
    page.goto(f"/#/jobs/{job['id']}")
    expect(page.get_by_role("heading", name="boards")).to_be_visible()
    expect(page.get_by_text("Converged: a whole pass had no mistake.")).to_be_visible()
    expect(fact(page, "Errors on held-out examples")).to_contain_text(f"{job['result']['holdout']['errors']} of 287")
    explained = service.get(f"/v1/models/{job['result']['model']}/explanation")
    heaviest = " and ".join(literal["name"] for literal in explained["terms"][0]["literals"])
    uses = panel(page, "What the hypothesis uses")
    expect(uses.get_by_role("rowheader", name=heaviest, exact=True)).to_be_visible()
    expect(uses.get_by_text("Predicts positive if")).to_be_visible()
    with page.expect_download() as download:
        uses.get_by_role("button", name="CSV").click()
    assert heaviest in download.value.path().read_text()
    with page.expect_download() as download:
        uses.get_by_role("button", name="SVG").click()
    assert download.value.path().read_text().startswith("<svg")
    curve = panel(page, "Mistake curve")
    curve.get_by_role("button", name="Table").click()
    last = service.get(f"/v1/jobs/{job['id']}/trace")["points"][-1]
    expect(curve.get_by_role("row").last).to_contain_text(f"{last['mistakes']}")
    curve.get_by_role("button", name="Table").click()
    expect(panel(page, "Certificates").get_by_text("test-set")).to_be_visible()
    see("job-train")
    href = page.get_by_role("link", name="Edit and run again").get_attribute("href")
    assert href and f"dataset={dataset['id']}" in href and "p.kernel.conjunctions=monotone" in href and f"seed={job['seed']}" in href
    page.get_by_label("Language of the program").select_option("c")
    page.reload()
    expect(page.get_by_label("Language of the program")).to_have_value("c")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download program").click()
    assert download.value.path().read_text() == service.get(f"/v1/models/{job['result']['model']}/code?language=c").decode()


def test_a_job_shows_the_request_as_it_ran(page, service, see):
    job = service.job(train={"data": GENERATED, "learner": {"name": "winnow", "params": {"alpha": 1.5}}, "holdout": 0.25, "trace": True, "seed": 4,
                             "stop": {"max_passes": 7, "max_seconds": 20}})
    page.goto(f"/#/jobs/{job['id']}")
    about = panel(page, "About this job")
    for name, text in [("Hold-out", "25 % of the examples"), ("Mistake curve", "kept"), ("Passes", "7"), ("Seconds of computing", "20"), ("alpha", "1.5")]:
        expect(about.locator("dl.facts > div", has=page.locator("dt", has_text=re.compile(f"^{name}$"))).locator("dd")).to_have_text(text)
    learner = service.get("/v1/learners/winnow")
    expect(about.get_by_text(learner["default_stop"]["statement"])).to_be_visible()
    others = [name for name in learner["parameters"]["properties"] if name != "alpha"]
    expect(about.get_by_text("default", exact=True)).to_have_count(len(others))
    expect(about.get_by_text("All parameters have their defaults")).to_have_count(0)
    grid = service.job(grid={"train": {"data": GENERATED, "learner": {"name": "perceptron"}, "holdout": 0.2, "stop": {"max_passes": 3}}, "over": {"seed": [5, 6]}})
    page.goto(f"/#/jobs/{grid['id']}")
    expect(about.get_by_text("20 % of the examples")).to_be_visible()
    expect(about.get_by_text("5, 6", exact=True)).to_be_visible()
    # A part shows its own request, and the part of a fold says where to look.
    part = service.get(f"/v1/jobs?parent={grid['id']}")["items"][0]["id"]
    page.goto(f"/#/jobs/{part}")
    expect(about.get_by_text("20 % of the examples")).to_be_visible()
    learners = [{"name": "perceptron"}, {"name": "perceptron", "params": {"bias": False}}]
    compare = service.job(compare={"data": GENERATED, "folds": 2, "learners": learners, "stop": {"max_passes": 3}})
    page.goto(f"/#/jobs/{compare['id']}")
    expect(about.get_by_text('perceptron and perceptron {"bias":false}')).to_be_visible()
    see("job-about-compare")
    page.goto(f"/#/jobs/{compare['result']['learners'][0]['jobs'][0]}")
    expect(about.get_by_role("link", name="the whole job")).to_have_attribute("href", f"#/jobs/{compare['id']}")


def without_a_claim(kind, **numbers):
    return {"kind": kind, "confidence": 0.95, "assumes": ["independent"], "source": "a source", "statement": f"{kind} says that the error is at most 1", **numbers}


VACUOUS = [without_a_claim("survival", error_at_most=1.0, run_length=0, hypothesis=9), without_a_claim("progressive", mean_error_at_most=1.0, mistakes=9, examples=9),
           without_a_claim("test-set", errors=0, examples=0, error_rate=0.0, at_most=1.0, low=0.0, high=1.0),
           without_a_claim("compression", error_at_most=1.0, kept=9, errors=0, examples=9),
           without_a_claim("unique", log10_doubt=0.0, examples=3, sampling="uniform")]


def test_a_certificate_without_a_claim_is_never_green(page, service):
    job = train(service)

    def answer(route):
        response = route.fetch()
        document = response.json()
        document["result"].update(certificates=VACUOUS, certificates_withheld=[])
        route.fulfill(response=response, json=document)

    page.route(f"**/v1/jobs/{job['id']}", answer)
    page.goto(f"/#/jobs/{job['id']}")
    certificates = panel(page, "Certificates")
    expect(certificates.get_by_text("5 certificates withheld")).to_be_visible()
    expect(certificates.locator(".good")).to_have_count(0)
    expect(certificates.get_by_text("is at most 1")).to_have_count(0)


REQUESTS = [
    ("separability", {"separability": {"data": SMALL}}, "A hyperplane separates the examples."),
    ("inseparable", {"separability": {"data": {"labelled": {"examples": [{"x": "0", "y": 1}, {"x": "0", "y": -1}]}}}}, "no strict separator exists"),
    ("maximum-margin", {"maximum_margin": {"data": SMALL}}, "These examples alone have the same largest margin."),
    ("version-space", {"version_space": {"data": SMALL}}, "Weight vectors"),
    ("experiment", {"experiment": {"name": "mistake-bound-sweep", "params": {"n": [5, 9], "learners": ["directed-drift", "directed-drift-sync"], "runs": 20}}},
     "Mistakes until the hypothesis is the target"),
    ("grid", {"grid": {"train": {"data": GENERATED, "learner": {"name": "perceptron"}, "holdout": 0.2}, "over": {"seed": [1, 2], "learner.name": ["perceptron", "pocket"]}}},
     "the smallest share of 4 trainings"),
    ("compare", {"compare": {"data": GENERATED, "holdout": 0.3, "learners": [{"name": "perceptron", "params": {}}, {"name": "pocket", "params": {}}], "stop": {"max_passes": 5}}},
     "the smallest share of 2 learners"),
]


# The pages of the other exact questions look like that of the maximum margin.
PICTURED = {"maximum-margin", "experiment", "grid", "compare"}


@pytest.mark.parametrize(("name", "request_body", "text"), REQUESTS, ids=[name for name, _, _ in REQUESTS])
def test_each_task_shows_its_result(page, service, see, name, request_body, text):
    job = service.job(**request_body)
    assert job["status"] == "succeeded", job
    page.goto(f"/#/jobs/{job['id']}")
    expect(page.get_by_text(text).first).to_be_visible()
    if name in PICTURED:
        see(f"job-{name}")


def test_an_evaluation_shows_the_wrong_examples(page, service, see):
    model = train(service)["result"]["model"]
    job = service.job(evaluate={"model": model, "data": GENERATED, "seed": 99})
    page.goto(f"/#/jobs/{job['id']}")
    confusion = job["result"]["confusion"]
    rows = panel(page, "Result").get_by_role("region", name="Labels and predictions").get_by_role("row")
    for row, counts in zip((rows.nth(1), rows.nth(2)), confusion, strict=True):
        expect(row.get_by_role("cell")).to_have_text([str(count) for count in counts])
    expect(panel(page, "Result").get_by_role("table", name="Classes")).to_contain_text("recall")
    expect(panel(page, "Wrong predictions").get_by_role("row")).not_to_have_count(0)
    see("job-evaluate")


def test_a_running_job_is_live_and_cancelled_by_keyboard(page, service, see):
    job = start(service, name="live", train={**ENDLESS, "trace": True})
    page.goto(f"/#/jobs/{job['id']}")
    examples = fact(page, "Examples")
    expect(examples).to_be_visible()
    first = examples.inner_text()
    expect(examples).not_to_have_text(first)
    expect(panel(page, "Progress").get_by_role("img", name="Chart of mistakes against examples read")).to_be_visible()
    see("job-running")
    page.get_by_role("button", name="Cancel job").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Cancelled: the service kept the hypothesis so far.")).to_be_visible()
    page.get_by_role("button", name="Delete job").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete job").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()


def test_a_waiting_job_says_why_and_a_failed_job_says_what_to_do(own_service, page, look):
    model = train(own_service)["result"]["model"]
    blockers = fill_workers(own_service)
    job = start(own_service, name="waits", priority=-10, evaluate={"model": model, "data": GENERATED})
    queue = own_service.get(f"/v1/jobs/{job['id']}")["queue"]
    assert queue["ahead"] > 0
    page.goto(f"{own_service.address}/#/jobs/{job['id']}")
    workers = own_service.get("/v1/workers")["items"][0]["workers"]
    expect(page.get_by_text(re.compile("^[0-9,]+ jobs? runs? before this job.$"))).to_be_visible()
    expect(page.get_by_text(f"Other jobs go first. {workers} of {workers} worker")).to_be_visible()
    look(page, "job-queued")
    own_service.send("DELETE", f"/v1/models/{model}")
    for blocker in blockers:
        own_service.post(f"/v1/jobs/{blocker}/cancel")
    expect(page.get_by_text("The job failed.")).to_be_visible()
    expect(page.get_by_text("Import the model or train it again.")).to_be_visible()
    look(page, "job-failed")


def test_a_large_hypothesis_comes_from_the_model(page, service):
    data = {"generated": {"n": 300_001, "target": {"binary_weights": {}}, "sampling": "uniform", "count": 10}}
    job = service.job(train={"learner": {"name": "perceptron"}, "data": data, "trace": True})
    assert job["result"]["hypothesis"] is None
    page.goto(f"/#/jobs/{job['id']}")
    expect(page.get_by_text("larger than 256 KiB")).to_be_visible()
    page.get_by_text("Load the hypothesis from the model").click()
    expect(panel(page, "Hypothesis").get_by_role("row")).to_have_count(25)


def test_parts_of_a_grid_are_counted_and_filtered(page, service):
    job = service.job(grid={"train": {"data": SMALL, "learner": {"name": "perceptron"}, "holdout": 0.2}, "over": {"seed": list(range(130))}})
    page.goto(f"/#/jobs/{job['id']}")
    parts = panel(page, "Parts")
    expect(fact(page, "Ended")).to_have_text("130")
    assert parts.get_by_role("row").count() < 40
    parts.get_by_role("region").evaluate("element => element.scrollTo(0, element.scrollHeight)")
    expect(parts.get_by_text("130 shown")).to_be_visible()
    parts.get_by_label("Status").select_option("failed")
    expect(parts.get_by_text("No part is failed.")).to_be_visible()
    expect(page).to_have_url(re.compile("status=failed"))


def test_parts_of_a_grid_are_reloaded_at_its_end(page, service):
    seeds = list(range(104))
    job = start(service, grid={"train": {"data": SMALL, "learner": {"name": "perceptron"}, "holdout": 0.2}, "over": {"seed": seeds}})
    page.goto(f"/#/jobs/{job['id']}")
    expect(page.get_by_text("the smallest share of 104 trainings")).to_be_visible()
    parts = panel(page, "Parts")
    expect(parts.get_by_role("row").filter(has_text="queued").or_(parts.get_by_role("row").filter(has_text="running"))).to_have_count(0)
    parts.get_by_role("region").evaluate("element => element.scrollTo(0, element.scrollHeight)")
    expect(parts.get_by_text("104 shown")).to_be_visible()
    expect(parts.get_by_role("row").filter(has_text="succeeded")).not_to_have_count(0)


def test_jobs_show_the_names_of_their_datasets(page, service):
    kept, gone = service.sample("monks-1"), service.sample("monks-2")
    jobs = [service.job(name=f"on {data['id']}", train={"data": {"dataset": data["id"]}, "learner": {"name": "perceptron"}, "trace": True, "stop": {"max_passes": 2}})
            for data in (kept, gone)]
    service.send("DELETE", f"/v1/datasets/{gone['id']}")
    page.goto("/#/jobs")
    rows = page.get_by_role("region", name="Jobs, the newest first").get_by_role("row")
    link = rows.filter(has_text=f"on {kept['id']}").get_by_role("link", name="monks-1", exact=True)
    expect(link).to_have_attribute("href", f"#/data/{kept['id']}")
    expect(link).to_have_attribute("title", f"monks-1, {kept['id']}")
    beyond = page.get_by_role("region", name="Jobs, the newest first").evaluate("element => element.scrollWidth - element.clientWidth")
    assert beyond <= 0, f"the table is {beyond} pixels wider than its frame"
    expect(rows.filter(has_text=f"on {gone['id']}")).to_contain_text(f"deleted …{gone['id'][-6:]}")
    page.goto(f"/#/compare?jobs={jobs[0]['id']},{jobs[1]['id']}")
    expect(page.get_by_role("region", name="Compared jobs").get_by_role("link", name="monks-1", exact=True)).to_be_visible()
    page.goto(f"/#/jobs/{jobs[0]['id']}")
    expect(fact(page, "Data").get_by_role("link", name="monks-1", exact=True)).to_be_visible()
    page.goto(f"/#/jobs/{train(service)['id']}")
    expect(fact(page, "Data")).to_have_text("generated: n = 31, binary weights, uniform, 2,000 examples")


@pytest.mark.long
def test_ten_thousand_parts_are_usable(own_service, page):
    job = own_service.job(name="ten thousand", grid={"train": {"data": SMALL, "learner": {"name": "perceptron"}, "holdout": 0.2},
                                                     "over": {"seed": list(range(10_000))}})
    page.goto(f"{own_service.address}/#/jobs/{job['id']}")
    expect(page.get_by_text("the smallest share of 10,000 trainings")).to_be_visible(timeout=900_000)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = script_seconds(session)
    trainings = page.get_by_role("region", name="Trainings of the grid").get_by_role("region")
    trainings.get_by_role("button", name="mistakes").click()
    expect(trainings.get_by_role("columnheader", name="mistakes")).to_have_attribute("aria-sort", "ascending")
    assert script_seconds(session) - before < 0.3
    assert page.evaluate("document.querySelectorAll('*').length") < 5000
    parts = panel(page, "Parts")
    for page_of_rows in range(2, 6):
        parts.get_by_role("region").evaluate("element => element.scrollTo(0, element.scrollHeight)")
        expect(parts.get_by_text(f"{page_of_rows * 100:,} shown")).to_be_visible()


def test_markup_in_jobs_and_data_is_shown_as_text(page, service):
    table = f"{MARKUP},b,class\n" + "".join(f"{number % 2},{number % 3},{'yes' if number % 2 else 'no'}\n" for number in range(40))
    dataset = service.post("/v1/datasets?name=markup", table.encode(), media_type="text/csv")
    job = service.job(name=MARKUP, train={"learner": {"name": "perceptron"}, "data": {"dataset": dataset["id"]}, "trace": True})
    page.on("dialog", lambda dialog: pytest.fail("a name ran as a script"))
    page.goto(f"/#/jobs/{job['id']}")
    expect(page.get_by_role("heading", name=MARKUP)).to_be_visible()
    expect(panel(page, "What the hypothesis uses").get_by_role("rowheader", name=MARKUP).first).to_be_visible()
    page.goto("/#/jobs")
    expect(page.get_by_role("link", name=MARKUP).first).to_be_visible()
    assert page.locator("img[src='x']").count() == 0


@pytest.mark.faults
def test_a_job_that_does_not_exist_is_an_error_with_a_way_back(page, see):
    page.goto("/#/jobs/job_00000000000000000000000000000000")
    expect(page.get_by_role("alert")).to_contain_text("does not exist")
    see("job-missing")
    page.get_by_role("main").get_by_role("link", name="Jobs").click()
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()


def test_a_training_without_a_curve_says_how_to_get_one(page, service):
    job = train(service, trace=False)
    page.goto(f"/#/jobs/{job['id']}")
    expect(panel(page, "Mistake curve")).to_contain_text("This job kept no curve.")


@pytest.mark.faults
def test_the_page_follows_a_job_through_a_restart(own_service, page):
    job = start(own_service, train=ENDLESS)
    page.goto(f"{own_service.address}/#/jobs/{job['id']}")
    examples = fact(page, "Examples")
    expect(examples).to_be_visible()
    port = own_service.port
    own_service.stop()
    expect(page.get_by_text("The page shows the last state")).to_be_visible()
    expect(examples).to_be_visible()
    own_service.start(port)
    expect(page.get_by_text("The page shows the last state")).to_have_count(0, timeout=30_000)
    last = examples.inner_text()
    expect(examples).not_to_have_text(last, timeout=30_000)
    own_service.post(f"/v1/jobs/{job['id']}/cancel")
    expect(page.get_by_text("Cancelled: the service kept the hypothesis so far.")).to_be_visible()


def test_a_job_prints_without_controls_and_with_its_figure(page, service):
    job = train(service, name="printed")
    page.goto(f"/#/jobs/{job['id']}")
    expect(panel(page, "Mistake curve").get_by_role("img", name="Chart of mistakes against examples read")).to_be_visible()
    page.emulate_media(media="print")
    expect(panel(page, "Mistake curve").get_by_role("img", name="Mistakes by examples read", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Delete job")).to_be_hidden()
    expect(page.get_by_role("navigation")).to_be_hidden()


def script_seconds(session) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "ScriptDuration")


@pytest.mark.long
def test_a_thousand_jobs_are_painted_within_300_ms_of_script(own_service, page):
    def submit(numbers):
        for number in numbers:
            own_service.job(name=f"job {number}", separability={"data": SMALL})

    lanes = [threading.Thread(target=submit, args=(range(lane, 1000, 4),)) for lane in range(4)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # Time of other programs does not count.
    page.goto(f"{own_service.address}/#/jobs")
    expect(page.get_by_text("100 shown; more appear as you scroll")).to_be_visible()
    seconds = script_seconds(session)
    assert seconds < 0.3, f"{seconds:.3f} s of script until the first rows"
    rows = page.get_by_role("region", name="Jobs, the newest first")
    for page_of_rows in range(2, 11):
        rows.evaluate("element => element.scrollTo(0, element.scrollHeight)")
        expect(page.get_by_text(f"{page_of_rows * 100:,} shown")).to_be_visible()
    assert rows.get_by_role("row").count() < 60


# Keeps the ids of the events that reach the page, before the page reads them.
RECORD_EVENTS = """
  window.eventIds = [];
  window.streams = 0;
  const fetchOfBrowser = window.fetch;
  window.fetch = async (...request) => {
    const answer = await fetchOfBrowser(...request);
    if (!(answer.headers.get("content-type") ?? "").startsWith("text/event-stream") || !answer.ok) return answer;
    window.streams += 1;
    document.documentElement.dataset.streams = window.streams;
    let rest = "";
    const decoder = new TextDecoder();
    const body = answer.body.pipeThrough(new TransformStream({ transform(chunk, out) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split("\\n\\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const id = /^id: (\\d+)$/m.exec(block);
        if (id) window.eventIds.push(Number(id[1]));
      }
      document.documentElement.dataset.hundreds = Math.floor(window.eventIds.length / 100);
      out.enqueue(chunk);
    } }));
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
"""


@pytest.mark.long
@pytest.mark.faults
def test_a_job_of_ten_minutes_is_followed_through_a_restart_without_a_gap(own_service, page):
    job = start(own_service, train={**ENDLESS, "stop": {"max_passes": 10**9, "max_seconds": 600}})
    page.add_init_script(RECORD_EVENTS)
    page.goto(f"{own_service.address}/#/jobs/{job['id']}")
    # The policy of the page forbids functions that wait inside the page, so its root tells the counts.
    expect(page.locator("html")).to_have_attribute("data-hundreds", re.compile("^[1-9]"), timeout=120_000)
    own_service.restart()
    expect(page.locator("html")).to_have_attribute("data-hundreds", re.compile(r"^([3-9]|\d\d)"), timeout=240_000)
    expect(page.locator("html")).not_to_have_attribute("data-streams", "1")
    expect(panel(page, "Progress").get_by_role("img", name="Chart of mistakes against examples read")).to_be_visible()
    expect(page.get_by_text("Limit: the run ended at max_seconds.")).to_be_visible(timeout=900_000)
    ids = page.evaluate("window.eventIds")
    assert ids == list(range(1, ids[-1] + 1))
    assert page.evaluate("window.streams") >= 2
