"""The page Experiments: ready-made figures, past runs, own experiments, theory calculators and constructions."""

import json
import re

import pytest
from playwright.sync_api import expect

SMALL = {"n": [3, 5], "learners": ["directed-drift", "directed-drift-sync"], "runs": 20}
MARKUP = "<img src=x onerror=alert(1)>"


def panel(page, title: str):
    return page.get_by_role("region", name=title, exact=True)


@pytest.fixture(scope="module")
def ended(service):
    """An ended experiment whose name is markup."""
    job = service.job(experiment={"name": "mistake-bound-sweep", "params": SMALL, "seed": 1}, name=MARKUP)
    assert job["status"] == "succeeded"
    return job["id"]


def test_table_1_is_started_as_an_experiment_by_one_button(page, see, service):
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


SMALL_FIGURES = {
    "fang-venkatesh-table-1": "p.n=3,5,11&p.runs=10",
    "fang-venkatesh-figure-1": "p.n=5,11&p.normalised_batch_sizes=0.2,1&p.runs=5",
    "cover-figure-1": "p.dimensions=5&p.points_per_dimension=1,2,3&p.runs=10",
    "false-stops": "p.n=5,10&p.deltas=0.05,0.5&p.runs=10",
    "coverage-test-set": "p.deltas=0.1,0.5&p.runs=10",
    "coverage-sessions": "p.deltas=0.1,0.5&p.runs=10",
    "coverage-learners": "p.deltas=0.1,0.5&p.runs=5",
    "coverage-samples": "p.deltas=0.1,0.5&p.runs=5",
    "sample-complexity": "p.n=11&p.examples_per_dimension=2,4&p.runs=2&p.max_passes=5",
}


def test_every_figure_has_small_parameters(service):
    assert {figure["name"] for figure in service.get("/v1/experiments")["items"]} == set(SMALL_FIGURES)


@pytest.mark.parametrize("name", SMALL_FIGURES)
def test_the_result_of_each_figure_opens(page, see, name):
    page.goto(f"#/experiments?figure={name}&seed=1&{SMALL_FIGURES[name]}")
    page.get_by_role("button", name="Run the figure").click()
    expect(page.get_by_text("succeeded").first).to_be_visible(timeout=60_000)
    figure = panel(page, "Figure")
    expect(figure.get_by_role("img", name=re.compile("^Chart of"))).to_be_visible()
    table = figure.get_by_role("button", name="Table", exact=True)
    if table.get_attribute("aria-pressed") == "false":
        table.click()
    expect(figure.get_by_role("row").nth(2)).to_be_visible()
    assert not re.search("NaN|Infinity|undefined|null", figure.inner_text())
    if name == "fang-venkatesh-table-1":
        see("experiments-table-1")


def test_numbers_of_every_size_are_formatted(page):
    page.goto("#/experiments")
    values = [0, -0.0, 1, 999_999, 1e14, 1e15, 2e15, -3.5e15, 9007199254740993, 9.996e15, 1e21, 1.7e308, 5e-324, 9.999e-5, 1 / 3, 123456.789]
    texts = page.evaluate("async values => { const { number } = await import(new URL('console/view/numbers.mjs', location.href)); "
                          "return [...values.map(value => number(value)), number('1' + '0'.repeat(40)), number(Infinity), number(NaN)]; }", values)
    assert texts == ["0", "0", "1", "999,999", "100,000,000,000,000", "1.00 × 10¹⁵", "2.00 × 10¹⁵", "-3.50 × 10¹⁵", "9.01 × 10¹⁵", "1.00 × 10¹⁶",
                     "1.00 × 10²¹", "1.70 × 10³⁰⁸", "4.94 × 10⁻³²⁴", "1.00 × 10⁻⁴", "0.3333", "123,457", "10," + ",".join(["000"] * 13), "∞", "–"]


@pytest.mark.parametrize("of", ["directed-drift&p.n=400", "cover&p.points=10000&p.dimension=1000", "winnow&p.n=1000000&p.relevant=1000000&p.theta=1"])
def test_calculators_show_numbers_beyond_10_to_the_15(page, of):
    page.goto(f"#/experiments?tab=theory&of={of}")
    expect(page.locator(".answer-box dd").first).to_have_text(re.compile(r"\d"))
    assert not re.search("NaN|Infinity|undefined|null", page.locator("#main").inner_text())


def test_theorem_1_concerns_algorithm_d(page):
    page.goto("#/experiments")
    expect(page.get_by_text("concern algorithm D only and hold from n = 4 on")).to_be_visible()
    page.goto("#/experiments?tab=theory&p.n=3")
    expect(page.locator(".answer-box")).to_contain_text("Theorem 1 for D, upper bound")
    expect(page.locator(".answer-box")).to_contain_text("3.375 (does not hold at this n)")


@pytest.mark.faults
def test_refused_parameters_of_an_experiment_are_shown(page):
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


def test_monotone_cnf_links_to_its_counting_by_winnow(page):
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
