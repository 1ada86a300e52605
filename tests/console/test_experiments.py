"""The page Experiments: ready-made figures, past runs, own experiments, theory calculators and constructions."""

import json
import re

import pytest
from playwright.sync_api import expect

SMALL = {"n": [3, 5], "learners": ["directed-drift", "directed-drift-sync"], "runs": 20}
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def ended(service):
    """An ended experiment whose name is markup."""
    job = service.job(experiment={"name": "mistake-bound-sweep", "params": SMALL, "seed": 1}, name=MARKUP)
    assert job["status"] == "succeeded"
    return job["id"]


def test_newcomer_reproduces_table_1(page, see, service):
    page.goto("")
    page.get_by_role("link", name="Experiments", exact=True).click()
    expect(page.get_by_role("heading", level=2, name="Reproduce Table 1 of the paper")).to_be_visible()
    figures = service.get("/v1/experiments")["items"]
    expect(page.get_by_role("article")).to_have_count(len(figures) - 1)
    see("experiments-figures")
    page.get_by_role("button", name="Reproduce Table 1").click()
    expect(page).to_have_url(re.compile("#/jobs/job_"))
    job = service.get("/v1/jobs/" + page.url.rsplit("/", 1)[1])
    table = next(figure for figure in figures if figure["name"] == "fang-venkatesh-table-1")
    assert job["task"] == "experiment" and job["name"] == table["title"]
    service.post(f"/v1/jobs/{job['id']}/cancel")


def test_figure_with_other_parameters(page, see, service):
    page.goto("#/experiments")
    page.get_by_role("link", name=re.compile("Change parameters: Directed Drift: mistakes against n")).click()
    page.get_by_label("n", exact=True).fill("3, 5")
    page.get_by_label("runs").fill("20")
    page.get_by_label("seed").fill("7")
    see("experiments-parameters")
    page.reload()
    expect(page.get_by_label("n", exact=True)).to_have_value("3, 5")
    page.get_by_role("button", name="Run the figure").click()
    expect(page).to_have_url(re.compile("#/jobs/job_"))
    job = service.get("/v1/jobs/" + page.url.rsplit("/", 1)[1], prefer="wait=60")
    assert (job["status"], job["seed"]) == ("succeeded", 7)
    assert {point["x"] for series in job["result"]["series"] for point in series["points"]} == {3, 5}


@pytest.mark.faults
def test_refused_parameters_are_told(page):
    page.goto("#/experiments?tab=own&kind=separable-fraction&p.dimensions=0")
    page.get_by_role("button", name="Run the experiment").click()
    expect(page.get_by_role("alert")).to_contain_text("dimensions")
    page.get_by_label("runs").fill("0")
    expect(page.get_by_text("The value must be at least 1.")).to_be_visible()
    expect(page.get_by_role("button", name="Run the experiment")).to_be_disabled()


def test_own_experiment_takes_learners_by_name(page, see, service):
    page.goto("#/experiments?tab=own")
    page.get_by_role("link", name=re.compile("Sample complexity")).click()
    page.get_by_label("learners").fill("perceptron, sbpi")
    page.get_by_label("n", exact=True).fill("11")
    page.get_by_label("runs").fill("2")
    page.get_by_label("examples_per_dimension").fill("2 4")
    page.get_by_label("max_passes").fill("5")
    see("experiments-own")
    page.get_by_role("button", name="Run the experiment").click()
    expect(page).to_have_url(re.compile("#/jobs/job_"))
    job = service.get("/v1/jobs/" + page.url.rsplit("/", 1)[1], prefer="wait=60")
    assert [series["label"] for series in job["result"]["series"]] == ["perceptron, n = 11", "sbpi, n = 11"]


def test_gallery_shows_the_picture_of_an_ended_run(page, see, ended):
    page.goto("#/experiments?tab=runs")
    card = page.get_by_role("article").filter(has=page.get_by_role("link", name=MARKUP, exact=True))
    picture = card.get_by_role("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") > 100
    expect(card.get_by_text("succeeded")).to_be_visible()
    see("experiments-runs")
    card.get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"#/jobs/{ended}"))


def test_calculators_answer_while_a_person_types(page, see, service):
    page.goto("#/experiments?tab=theory")
    expect(page.get_by_role("img", name=re.compile("Chart of expected number"))).to_be_visible()
    see("experiments-theory")
    page.get_by_role("link", name="Test set").click()
    page.get_by_label("errors").fill("3")
    page.get_by_label("examples").fill("100")
    page.get_by_label("confidence").fill("0.9")
    limits = service.get("/v1/theory/test-set?errors=3&examples=100&confidence=0.9")
    expect(page.get_by_text(f"{limits['at_most'] * 100:.4f}".rstrip("0") + " %")).to_be_visible()
    page.reload()
    expect(page.get_by_label("errors")).to_have_value("3")
    page.get_by_label("confidence").fill("2")
    expect(page.get_by_text("The answer follows as soon as every value is right.")).to_be_visible()


@pytest.mark.parametrize("name", ["stopping", "uniqueness", "survival", "progressive", "compression", "winnow", "novikoff"])
def test_each_calculator_answers_with_its_defaults(page, name):
    page.goto(f"#/experiments?tab=theory&of={name}")
    expect(page.locator(".answer-box dd strong").first).to_have_text(re.compile(r"\d"))


def test_share_of_cover_is_drawn(page, see, service):
    page.goto("#/experiments?tab=theory&of=cover&p.dimension=6")
    page.get_by_role("button", name="Draw the share against the points").click()
    expect(page.get_by_role("img", name=re.compile("at 24[.]"))).to_be_visible()
    see("experiments-cover")
    page.get_by_role("button", name="Table").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name="18", exact=True))
    share = service.get("/v1/theory/cover?points=18&dimension=6")["fraction"]
    expect(row).to_contain_text(f"{share:.6g}")


@pytest.mark.faults
def test_constructions_store_a_dataset(page, see, service):
    page.goto("#/experiments?tab=constructions")
    page.get_by_label("size").fill("1000")
    page.get_by_role("button", name="Build and store").click()
    expect(page.get_by_role("alert")).to_contain_text("at most")
    page.get_by_label("size").fill("3")
    page.get_by_label("seed").fill("1")
    page.get_by_role("button", name="Build and store").click()
    link = page.get_by_role("link", name="Open the dataset")
    expect(link).to_be_visible()
    see("experiments-constructions")
    dataset = service.get("/v1/datasets/" + str(link.get_attribute("href")).rsplit("/", 1)[1])
    assert dataset["examples"] == 5
    assert f"dataset={dataset['id']}" in str(page.get_by_role("link", name="Train kernel-perceptron on it").get_attribute("href"))


def test_formula_leads_to_its_counting(page):
    page.goto("#/experiments?tab=constructions&of=monotone-cnf&p.variables=3&p.satisfying=5")
    page.get_by_role("button", name="Build").click()
    page.get_by_role("link", name="Count its assignments by Winnow").click()
    expect(page.get_by_role("heading", level=2, name="Counting by Winnow")).to_be_visible()
    clauses = json.loads(page.get_by_label("clauses").input_value())
    assignments = [{v + 1: bits >> v & 1 for v in range(3)} for bits in range(8)]
    assert sum(all(any(a[v] for v in clause) for clause in clauses) for a in assignments) == 5


def test_keyboard_alone_runs_a_calculator(page):
    page.goto("#/experiments")
    page.get_by_role("link", name="Theory").focus()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Novikoff's bound").focus()
    page.keyboard.press("Enter")
    page.get_by_label("margin").focus()
    page.keyboard.type("0.5")
    expect(page.locator(".answer-box dd strong").first).to_have_text("4")
