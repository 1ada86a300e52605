"""Examples whose features have names: from a file to a dataset, a training, a model and its predictions."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

MARKUP = "<img src=x onerror=alert(1)>"
SENTENCES = [
    (["the", "dog", "barks"], "animal"), (["the", "cat", "sleeps"], "animal"), (["the", "car", "stops"], "thing"),
    (["a", "New York", "stops"], "place"), (["a", "dog", "sleeps"], "animal"), (["a", MARKUP, "burns"], "thing"),
    (["the", "New York", MARKUP], "place"),
]
LINES = "".join(json.dumps({"x": names, "y": kind}) + "\n" for names, kind in SENTENCES)
NDJSON = "application/x-ndjson"


@pytest.fixture(scope="module")
def trained(service):
    """A training of three classes over names."""
    return service.post("/v1/learners/perceptron/train?seed=1&name=Sentences", LINES.encode(), media_type=NDJSON, prefer="wait=60")


@pytest.fixture(scope="module")
def measured(service):
    """A model of two classes over names with values."""
    examples = [({"length": 3.5, "the": 1}, "long"), ({"length": 0.5}, "short"), ({"length": 2.5, "a": 1}, "long")]
    lines = "".join(json.dumps({"x": names, "y": kind}) + "\n" for names, kind in examples)
    job = service.post("/v1/learners/perceptron/train?seed=1&name=Lengths", lines.encode(), media_type=NDJSON, prefer="wait=60")
    return job["result"]["model"]


def fact(page, name: str):
    return page.locator("dl.facts > div").filter(has=page.get_by_text(name, exact=True)).locator("dd").first


@pytest.mark.parametrize("ending", ["ndjson", "libsvm"])
def test_a_file_with_names_becomes_a_dataset(page, see, service, ending):
    words = {"ndjson": LINES, "libsvm": "yes w=the pos=DT\nno w=a length:2.5\n"}[ending]
    page.goto("#/data/new")
    choose = page.get_by_label("Drop a file anywhere on this page, or choose one:").first
    choose.set_input_files({"name": f"names.{ending}", "mimeType": "application/octet-stream", "buffer": words.encode()})
    expect(fact(page, "Features")).to_have_text("11" if ending == "ndjson" else "4")
    expect(page.get_by_role("region", name="First rows of the file")).to_contain_text("the" if ending == "ndjson" else "w=the")
    see(f"data-new-names-{ending}")
    page.get_by_role("button", name=re.compile("^Store ")).click()
    page.wait_for_url(re.compile("#/data/ds_"))
    dataset = service.get(f"/v1/datasets/{page.url.rsplit('/', 1)[1]}")
    assert dataset["vocabulary"] == "open"
    expect(fact(page, "Names of features")).to_have_text(str(dataset["n"]))
    examples = page.get_by_role("region", name="Examples", exact=True).get_by_role("row")
    expect(examples).to_have_count(dataset["examples"] + 1)
    expect(examples.nth(2)).to_contain_text("cat, sleeps, the" if ending == "ndjson" else "length: 2.5, w=a")
    uses = page.get_by_role("region", name="Use these data")
    expect(uses.get_by_role("link", name="Train a learner")).to_be_visible()
    for absent in ("Separability", "Maximum margin", "Version space", "Playground"):
        expect(uses.get_by_role("link", name=absent)).to_have_count(0)
    see(f"data-names-{ending}")


def test_indices_are_names_if_a_person_says_so(page, service):
    page.goto("#/data/new?vocabulary=open")
    choose = page.get_by_label("Drop a file anywhere on this page, or choose one:").first
    choose.set_input_files({"name": "rows.libsvm", "mimeType": "application/octet-stream", "buffer": b"1 7:1 9000:1\n-1 9000:1\n"})
    expect(fact(page, "Features")).to_have_text("2")
    expect(page.get_by_label("Names of features")).to_have_value("open")
    page.get_by_label("Names of features").select_option("")
    expect(fact(page, "Features")).to_have_text("9,000")


def test_a_training_tells_the_heaviest_names_of_each_class(page, see, trained):
    page.goto(f"#/jobs/{trained['id']}")
    terms = page.get_by_role("region", name="Heaviest terms")
    expect(terms).to_contain_text("dog")
    page.get_by_label("Class to explain").select_option("place")
    expect(page.get_by_text(re.compile("The class place claims an example if"))).to_be_visible()
    expect(terms.get_by_role("row").nth(1)).to_contain_text("New York")
    page.get_by_text("All weights").click()
    weights = page.get_by_role("region", name="Hypothesis", exact=True)
    weights.get_by_label("Class", exact=True).select_option(label="place")
    expect(weights.get_by_role("row", name=re.compile(r"New York \d"))).to_be_visible()
    expect(weights.get_by_text(MARKUP)).to_be_visible()
    see("job-names")


def test_typed_names_are_predicted_and_unknown_ones_counted(page, see, service, trained):
    model = trained["result"]["model"]
    page.goto(f"#/models/{model}?tab=predict")
    field = page.get_by_label("Examples", exact=True)
    expect(page.locator(".answer")).to_have_count(1)
    examples: list = [["the", "dog"], ["New York", "wolf"], ["wolf", "fox", "barks"], []]
    field.fill("the dog\n[\"New York\", \"wolf\"]\nwolf  fox\tbarks\n[]")
    found = service.post(f"/v1/models/{model}/predict", {"unlabelled": {"examples": examples}})
    rows = page.get_by_role("region", name="Predictions").get_by_role("row")
    expect(rows).to_have_count(5)
    for index, name in enumerate(found["predicted_classes"]):
        expect(rows.nth(index + 1).locator(".answer")).to_contain_text(f"{name}score {found['scores'][index]}")
        expect(rows.nth(index + 1).get_by_role("cell").nth(2)).to_have_text(str(found["unseen"][index]))
    assert found["unseen"] == [0, 1, 2, 0]
    rows.nth(2).get_by_role("button", name="Why line 2?").click()
    why = page.get_by_role("region", name="Why this prediction")
    expect(why.get_by_text("The class place claims an example if")).to_be_visible()
    expect(why.get_by_role("row").nth(1)).to_contain_text("New York")
    expect(why.get_by_text("1 name of the example is unknown to the model.")).to_be_visible()
    see("model-predict-names")
    link = page.url
    page.goto("#/models")
    page.goto(link)
    expect(field).to_have_value(re.compile("New York"))
    field.fill("the dog\n[\"New")
    expect(page.get_by_text("Line 2: A line that begins with [ or { is JSON, but this one is not complete.")).to_be_visible()


def test_a_typed_text_is_predicted_and_explained(page, see, service):
    texts = [("Win money NOW", "spam"), ("See you at lunch", "ham"), ("A prize, NOW", "spam"), ("At home? See you", "ham")]
    lines = "".join(json.dumps({"x": {"text": text}, "y": kind}) + "\n" for text, kind in texts)
    job = service.post("/v1/learners/winnow/train?seed=1&minimum_count=2", lines.encode(), media_type=NDJSON, prefer="wait=60")
    page.goto(f"#/models/{job['result']['model']}?tab=predict")
    field = page.get_by_label("text", exact=True)
    expect(field).to_have_value("")
    field.fill("You see, now is now")
    expect(page.locator(".answer")).to_contain_text(re.compile("ham|spam"))
    page.get_by_role("button", name="Why?").click()
    why = page.get_by_role("region", name="Why this prediction")
    expect(why.get_by_role("row", name=re.compile("text:now"))).to_be_visible()
    expect(why.get_by_text("1 name of the example is unknown to the model.")).to_be_visible()
    field.fill("lunch")
    expect(why.get_by_text("No term has a weight.")).to_be_visible()
    field.fill("You see, now is now")
    see("model-predict-text")


@pytest.mark.faults
def test_typed_values_of_names_are_predicted_or_refused(page, service, measured):
    page.goto(f"#/models/{measured}?tab=predict")
    field = page.get_by_label("Examples", exact=True)
    field.fill('{"length": 3, "other": true}')
    found = service.post(f"/v1/models/{measured}/predict", {"unlabelled": {"examples": [{"length": 3, "other": True}]}})
    expect(page.locator(".answer")).to_contain_text(f"score {found['scores'][0]:g}")
    field.fill('{"length": [1]}')
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_file_with_names_is_predicted_and_evaluated(page, see, service, trained, tmp_path: Path):
    model = trained["result"]["model"]
    file = tmp_path / "later.ndjson"
    file.write_text('{"x": ["dog", "wolf"]}\n{"x": ["New York"]}\n{"x": ["cat", "sleeps"]}\n')
    page.goto(f"#/models/{model}?tab=predict")
    expect(page.get_by_text("The examples of the file have names, which may be new.")).to_be_visible()
    page.get_by_label("Drop a file here, or choose one:").set_input_files(file)
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_text("3 rows: 2 × animal, 0 × thing, 1 × place.")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("region", name="Predict a file").get_by_role("button", name="CSV").click()
    lines = [line.split(",") for line in saved.value.path().read_text().splitlines()]
    assert lines[0] == ["row", "prediction", "class", "score", "unseen"]
    assert [(line[2], line[4]) for line in lines[1:]] == [("animal", "1"), ("place", "0"), ("animal", "0")]
    see("model-predict-names-file")
    # A dataset of names fits, whatever the number of its names.
    more = service.post("/v1/datasets?name=More", (LINES + '{"x": ["wolf"], "y": "animal"}\n').encode(), media_type=NDJSON)
    page.goto(f"#/models/{model}?tab=evaluate")
    page.get_by_label("Dataset").select_option(more["id"])
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.get_by_role("region", name="Labels and predictions")).to_be_visible()


def test_the_card_of_a_model_lists_names(page, see, trained):
    page.goto(f"#/models/{trained['result']['model']}")
    expect(fact(page, "Names of features")).to_have_text("11")
    page.get_by_text("The hypothesis in numbers").click()
    expect(page.get_by_role("region", name="Weights").get_by_text("New York")).to_be_visible()
    see("model-card-names")
