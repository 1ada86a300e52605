"""The page Train: a task, its data, its learner and its settings become one request."""

import json
import re
import subprocess
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

TABS_MAX = 150


def tab_to(page, target):
    """Moves the focus to an element with the Tab key only."""
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        if target.count() == 1 and target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"the Tab key does not reach {target}")


def job_of(page, service) -> dict:
    page.wait_for_url(re.compile("#/jobs/job_"))
    return service.get(f"/v1/jobs/{page.url.rsplit('/', 1)[1]}")


def request_shown(page) -> dict:
    """The JSON body in the command for curl."""
    text = page.get_by_role("region", name="The request").locator("pre").inner_text()
    return json.loads(re.search(r"-d '(.*)'\s*$", text, re.S).group(1))


def test_the_keyboard_alone_trains(page, service):
    page.goto("/#/train")
    page.get_by_role("heading", name="Train", exact=True).wait_for()
    page.get_by_role("radio", name="Perceptron perceptron", exact=True).wait_for()
    tab_to(page, page.get_by_role("link", name="Sample", exact=True))
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Use First MONK's problem").wait_for()
    tab_to(page, page.get_by_role("button", name="Use First MONK's problem"))
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Choose other data").wait_for()
    tab_to(page, page.locator("input[name=learner]:checked"))
    for _ in range(len(service.get("/v1/learners")["items"])):
        if page.get_by_role("radio", name=re.compile(" kernel-perceptron$")).is_checked():
            break
        page.keyboard.press("ArrowDown")
    tab_to(page, page.get_by_label("Seed", exact=True))
    page.keyboard.type("7")
    tab_to(page, page.get_by_role("button", name="Train", exact=True))
    page.keyboard.press("Enter")
    job = job_of(page, service)
    assert (job["learner"]["name"], job["seed"]) == ("kernel-perceptron", 7)
    assert service.get(f"/v1/datasets/{job['dataset']}")["name"] == "First MONK's problem"


def test_a_sample_has_its_storage_as_a_command(page, service):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=service.address)
    page.goto("/#/train?from=sample")
    entry = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="First MONK's problem"))
    entry.get_by_role("button", name="Copy as curl").click()
    expect(entry.get_by_role("button", name="Copied")).to_be_visible()
    command = page.evaluate("navigator.clipboard.readText()")
    stored = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
    assert json.loads(stored)["name"] == "First MONK's problem"
    entry.get_by_role("button", name="Copy as Python").click()
    expect(entry.get_by_role("button", name="Copy as Python")).to_have_count(0)
    script = page.evaluate("navigator.clipboard.readText()")
    assert 'client.create_dataset(Content(client.get_sample("monks-1"), "text/csv")' in script


def test_the_url_holds_the_whole_form(page, service, see):
    dataset = service.sample("tic-tac-toe")["id"]
    page.goto(f"/#/train?dataset={dataset}&learner=winnow&p.alpha=1.5&holdout=0.2&stop.max_passes=3&name=first&trace=off")
    expect(page.get_by_role("link", name="tic-tac-toe")).to_be_visible()
    wanted = {"train": {"data": {"dataset": dataset}, "learner": {"name": "winnow", "params": {"alpha": 1.5}}, "holdout": 0.2,
                        "stop": {"max_passes": 3}}, "name": "first"}
    page.get_by_role("region", name="The request").wait_for()
    assert request_shown(page) == wanted
    page.get_by_label("alpha").fill("2.5")
    page.get_by_label("Keep the curve of the mistakes").check()
    page.reload()
    page.get_by_role("region", name="The request").wait_for()
    wanted["train"]["learner"]["params"]["alpha"] = 2.5
    wanted["train"]["trace"] = True
    assert request_shown(page) == wanted
    expect(page.get_by_label("alpha")).to_have_value("2.5")
    see("train")
    page.get_by_role("button", name="Train", exact=True).click()
    job = job_of(page, service)
    assert (job["name"], job["learner"]["params"]["alpha"]) == ("first", 2.5)
    page.go_back()
    expect(page.get_by_label("alpha")).to_have_value("2.5")


def test_the_form_tells_the_default_limits_of_each_learner(page, service):
    dataset = service.sample("monks-2")["id"]
    for learner in service.get("/v1/learners")["items"]:
        page.goto(f"/#/train?dataset={dataset}&learner={learner['name']}")
        stop = learner["default_stop"]
        expect(page.get_by_text(stop["statement"], exact=True)).to_be_visible()
        expect(page.get_by_text("no limit", exact=True)).to_have_count(0)
        for label, name in [("Passes", "max_passes"), ("Mistakes", "max_mistakes"), ("Seconds of computing", "max_seconds")]:
            expect(page.get_by_label(label, exact=True)).to_have_attribute("placeholder", f"default: {f'{stop[name]:g}' if stop[name] else 'no limit'}")
    page.goto(f"/#/train?task=compare&dataset={dataset}&learners=pocket,perceptron&stop.max_passes=9")
    expect(page.get_by_text("Each learner has default stop conditions of its own.")).to_be_visible()
    expect(page.get_by_text("By default a run ends after 10000 mistakes")).to_be_visible()
    expect(page.get_by_label("Mistakes", exact=True)).to_have_attribute("placeholder", "default: of each learner")


@pytest.mark.parametrize("body", [
    {"compare": {"learners": [{"name": "perceptron", "params": {"bias": False}}, {"name": "perceptron", "params": {}}, {"name": "winnow", "params": {}}],
                 "holdout": 0.25, "stop": {"max_passes": 4}, "seed": 3}},
    {"compare": {"learners": [{"name": "pocket", "params": {}}, {"name": "winnow", "params": {}}], "folds": 3, "stop": {}, "seed": 3}, "priority": 4},
    {"grid": {"train": {"learner": {"name": "kernel-perceptron", "params": {"kernel": {"conjunctions": "monotone"}}}, "holdout": 0.3,
                        "stop": {"max_seconds": 60}, "seed": 8},
              "over": {"learner.params.kernel.max_literals": [1, 2], "stop.max_passes": [1, 5], "learner.name": ["kernel-perceptron"]}}, "name": "a grid"},
    {"separability": {"convention": "service", "seed": 1}},
], ids=["compare", "compare-folds", "grid", "separability"])
def test_a_job_is_edited_and_run_again(page, service, body):
    """The request of the form equals the request of the job, so a job that is run again gives the same result."""
    dataset = service.sample("monks-2")["id"]
    task = next(iter(body))
    (body[task].get("train") or body[task])["data"] = {"dataset": dataset}
    job = service.job(**body)
    assert job["status"] == "succeeded", job
    page.goto(f"/#/jobs/{job['id']}")
    page.get_by_role("link", name="Edit and run again").click()
    page.get_by_role("region", name="The request").wait_for()

    def plain(value):
        """A request without fields that are empty."""
        if isinstance(value, list):
            return [plain(part) for part in value]
        return {name: plain(part) for name, part in value.items() if part not in ({}, None, False) or name == "bias"} if isinstance(value, dict) else value

    shown = request_shown(page)
    if task == "grid":
        # The seed is that of the job and stands in its training.
        assert shown["grid"]["over"] == body["grid"]["over"]
    assert plain(shown) == plain(job["request"])


@pytest.mark.faults
def test_a_problem_marks_its_field_and_keeps_the_form(page, service):
    dataset = service.sample("monks-1")["id"]
    page.goto(f"/#/train?dataset={dataset}&learner=directed-drift&p.initial=01&seed=5")
    page.get_by_role("button", name="Train", exact=True).click()
    field = page.get_by_label("initial")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("the bit string has 2 bits").first).to_be_visible()
    expect(page.get_by_label("Seed")).to_have_value("5")
    field.fill("01" * 8)
    expect(field).not_to_have_attribute("aria-invalid", "true")


def test_a_value_outside_its_range_is_told_before_sending(page, service):
    dataset = service.sample("monks-1")["id"]
    page.goto(f"/#/train?dataset={dataset}&learner=perceptron&holdout=3")
    expect(page.get_by_text("The value must be below 1.")).to_be_visible()
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_disabled()


@pytest.mark.parametrize(("task", "verb"), [("compare", "Compare"), ("separability", "Decide"), ("maximum_margin", "Find"),
                                            ("version_space", "Find")])
def test_each_task_becomes_a_job(page, service, task, verb):
    page.goto("/#/train?from=generated&g.n=9&g.count=40&g.target=binary_weights&seed=3")
    page.get_by_role("navigation", name="Parts of the page").first.get_by_role("link").filter(
        has_text=re.compile(task.split("_")[0], re.I)).click()
    page.get_by_role("button", name=verb, exact=True).click()
    job = job_of(page, service)
    assert (job["task"], job["seed"]) == (task, 3)


def test_a_model_is_evaluated(page, service):
    dataset = service.sample("monks-1")["id"]
    trained = service.job(train={"data": {"dataset": dataset}, "learner": {"name": "perceptron"}, "stop": {"max_passes": 2}})
    model = trained["result"]["model"]
    page.goto(f"/#/train?task=evaluate&dataset={dataset}")
    expect(page.get_by_text("Choose the model to evaluate.")).to_be_visible()
    page.get_by_label("Model", exact=True).fill(model)
    page.get_by_role("button", name="Evaluate", exact=True).click()
    assert job_of(page, service)["task"] == "evaluate"


def test_generated_data_name_their_concept(page, service, see):
    page.goto("/#/train")
    page.get_by_role("link", name="Generated", exact=True).click()
    page.get_by_label("Hidden concept").select_option("disjunction")
    page.get_by_label("Literals", exact=True).fill("4")
    page.get_by_label("Features", exact=True).fill("50")
    page.get_by_role("radio", name="Winnow winnow", exact=True).check()
    see("train-generated")
    assert request_shown(page)["train"]["data"]["generated"] == {
        "n": 50, "count": 1000, "sampling": "uniform", "target": {"disjunction": {"size": 4}}}
    page.get_by_role("button", name="Train", exact=True).click()
    assert job_of(page, service)["learner"]["name"] == "winnow"


def test_a_comparison_names_its_learners(page, service, see):
    dataset = service.sample("monks-2")["id"]
    page.goto(f"/#/train?task=compare&dataset={dataset}")
    page.get_by_role("checkbox", name="Winnow winnow", exact=True).check()
    page.get_by_role("checkbox", name="Pocket pocket", exact=True).check()
    page.get_by_label("Folds").fill("3")
    assert request_shown(page)["compare"] == {"data": {"dataset": dataset}, "folds": 3,
                                              "learners": [{"name": "pocket"}, {"name": "winnow"}]}
    see("train-compare")


def test_a_grid_tries_every_combination(page, service, see):
    dataset = service.sample("monks-2")["id"]
    page.goto(f"/#/train?task=grid&dataset={dataset}&learner=winnow&holdout=0.3&stop.max_passes=5")
    expect(page.get_by_text("Write the values to try.")).to_be_visible()
    page.get_by_label("alpha of winnow").fill("1.5, 2")
    page.get_by_label("Seeds").fill("1, 2, 3")
    expect(page.get_by_text("6 trainings")).to_be_visible()
    see("train-grid")
    page.reload()
    page.get_by_role("region", name="The request").wait_for()
    assert request_shown(page)["grid"] == {
        "train": {"data": {"dataset": dataset}, "learner": {"name": "winnow", "params": {}}, "stop": {"max_passes": 5}, "holdout": 0.3},
        "over": {"learner.params.alpha": [1.5, 2], "seed": [1, 2, 3]}}
    page.get_by_role("button", name="Train all").click()
    job = job_of(page, service)
    assert (job["task"], job["parts"]["total"]) == ("grid", 6)


@pytest.mark.faults
def test_a_refused_value_of_a_grid_marks_its_field(page, service):
    dataset = service.sample("monks-2")["id"]
    page.goto(f"/#/train?task=grid&dataset={dataset}&learner=winnow&over.learner.params.alpha=0.5,2")
    page.get_by_role("button", name="Train all").click()
    expect(page.get_by_label("alpha of winnow")).to_have_attribute("aria-invalid", "true")


def test_the_table_tells_which_learners_fit(page, service):
    dataset = service.post("/v1/datasets", {"data": {"half_space": {"examples": ["110", "011", "101"]}}})["id"]
    page.goto(f"/#/train?dataset={dataset}")
    row = page.get_by_role("row").filter(has=page.get_by_role("radio", name="Winnow winnow", exact=True))
    expect(row).to_contain_text("needs labelled examples")
    fitting = page.get_by_role("row").filter(has=page.get_by_role("radio", name="Directed Drift (D) directed-drift", exact=True))
    expect(fitting).to_contain_text("fits")
    expect(page.locator("input[name=learner]:checked")).to_have_accessible_name("Directed Drift (D) directed-drift")


@pytest.mark.faults
def test_a_lost_answer_starts_no_second_job(page, service):
    dataset = service.sample("monks-1")["id"]

    lost = []

    def lose(route):
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/jobs", lose)
    page.goto(f"/#/train?dataset={dataset}&learner=perceptron&name=once")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text("The service does not answer.").last).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    assert job_of(page, service)["name"] == "once"
    assert [job["name"] for job in service.get("/v1/jobs?limit=100")["items"]].count("once") == 1


@pytest.mark.faults
def test_a_dataset_that_is_gone_says_so(page):
    page.goto("/#/train?dataset=ds_0198c1a5e0f77b3c9d2e4f5061728394")
    expect(page.get_by_text("Someone may have deleted the resource")).to_be_visible()
    page.get_by_role("link", name="Choose other data").click()
    page.get_by_role("link", name="Generated", exact=True).wait_for()


def test_markup_in_names_of_a_training_is_shown_as_text(page, service):
    markup = "<img src=x onerror=alert(1)>"
    table = f'"{markup}",class\n1,"{markup}"\n0,b\n'.encode()
    dataset = service.post(f"/v1/datasets?name={quote(markup)}", table, media_type="text/csv")["id"]
    page.goto(f"/#/train?dataset={dataset}&name=%3Cimg%20src%3Dx%3E")
    expect(page.get_by_role("link", name=markup)).to_be_visible()
    assert page.locator("main img").count() == 0
