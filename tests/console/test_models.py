"""The page Models: list and import, the card, predictions, evaluation and export of one model."""

import json
import re

import pytest
from playwright.sync_api import expect

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def board(service):
    """A model of a table with nominal columns."""
    table = service.get("/v1/samples/tic-tac-toe")
    query = "params.kernel.conjunctions=monotone&seed=1&name=Tic-tac-toe"
    job = service.post(f"/v1/learners/kernel-perceptron/train?{query}", table, media_type="text/csv", prefer="wait=60")
    return job["result"]["model"]


@pytest.fixture(scope="module")
def marked(service):
    """A model of a table with markup in every text, and with columns of each kind."""
    rows = [f"{20 + i % 40},{['red', MARKUP, 'blue'][i % 3]},{['yes', 'no'][i % 2]},{'<b>good</b>' if i % 3 == 1 else 'bad'}" for i in range(120)]
    table = "\n".join(["age,<b>colour</b>,member,class", *rows, ""]).encode()
    query = "numbers=thermometer&positive=%3Cb%3Egood%3C%2Fb%3E&name=%3Cb%3Emarked%3C%2Fb%3E&seed=1"
    job = service.post(f"/v1/learners/perceptron/train?{query}", table, media_type="text/csv", prefer="wait=60")
    return job["result"]["model"]


@pytest.fixture(scope="module")
def bits(service):
    """A model without a table."""
    body = {"generated": {"n": 21, "target": {"binary_weights": {}}, "sampling": "uniform-positive"}}
    job = service.post("/v1/learners/directed-drift-sync/train?seed=1&name=Bits", body, prefer="wait=60")
    return job["result"]["model"]


def test_list_filters_in_the_url_and_leads_to_a_model(page, see, board, bits):
    page.goto("#/models")
    expect(page.get_by_role("link", name="Tic-tac-toe").first).to_be_visible()
    see("models-list")
    page.get_by_label("Hypothesis").select_option("binary-weights")
    expect(page.get_by_role("link", name="Tic-tac-toe")).to_have_count(0)
    expect(page).to_have_url(re.compile("kind=binary-weights"))
    page.reload()
    expect(page.get_by_label("Hypothesis")).to_have_value("binary-weights")
    expect(page.get_by_role("link", name="Tic-tac-toe")).to_have_count(0)
    page.go_back()
    page.get_by_role("link", name="Tic-tac-toe").first.click()
    expect(page.get_by_role("heading", level=1, name="Tic-tac-toe")).to_be_visible()


def test_card_explains_the_model(page, see, service, board):
    page.goto(f"#/models/{board}")
    rule = service.get(f"/v1/models/{board}/explanation?top=5")
    negative, positive = service.get(f"/v1/models/{board}")["classes"]
    begin, condition = "The prediction is 1 if ", rule["rule"].split(". ")[0].rstrip(".")
    assert condition.startswith(begin)
    expect(page.get_by_text(f"Predicts {positive} if {condition.removeprefix(begin)}, and {negative} otherwise.")).to_be_visible()
    expect(page.get_by_text(f"A bar to the right speaks for {positive}")).to_be_visible()
    expect(page.get_by_text(service.get(f"/v1/models/{board}")["data_sha256"])).to_be_visible()
    see("model-card")
    page.get_by_label("Terms to show").select_option("5")
    terms = page.get_by_role("region", name="Heaviest terms").locator("tbody tr")
    expect(terms).to_have_count(5)
    expect(page).to_have_url(re.compile("top=5"))
    first = " and ".join(literal["name"] for literal in rule["terms"][0]["literals"])
    expect(terms.first).to_contain_text(first)
    panel = page.get_by_role("region", name="Explanation")
    with page.expect_download() as table:
        panel.get_by_role("button", name="CSV").click()
    lines = table.value.path().read_text().splitlines()
    assert lines[0] == "term,weight,updates" and len(lines) == 6
    with page.expect_download() as picture:
        panel.get_by_role("button", name="SVG").click()
    assert picture.value.path().read_text().startswith("<svg")


def test_card_is_complete_on_paper(page, service, board):
    page.goto(f"#/models/{board}")
    expect(page.get_by_role("region", name="Heaviest terms")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.get_by_text(service.get(f"/v1/models/{board}")["sha256"])).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)
    cut = page.evaluate("[...document.querySelectorAll('.scroll')].filter(part => part.scrollHeight > part.clientHeight + 2).length")
    assert cut == 0


def test_typed_rows_are_predicted_while_a_person_types(page, see, marked):
    page.goto(f"#/models/{marked}?tab=predict")
    answer = page.locator(".answer")
    expect(answer).to_contain_text("score")
    page.get_by_label("<b>colour</b>").select_option(MARKUP)
    expect(answer.get_by_text("<b>good</b>")).to_be_visible()
    page.get_by_role("button", name="Add a row").click()
    page.get_by_label("<b>colour</b>").nth(1).select_option("red")
    page.get_by_label("member").nth(1).check()
    expect(answer.nth(1).get_by_text("bad")).to_be_visible()
    see("model-predict")
    link = page.url
    page.goto("#/models")
    page.goto(link)
    expect(page.get_by_label("<b>colour</b>")).to_have_count(2)
    expect(page.get_by_label("<b>colour</b>").first).to_have_value(MARKUP)
    expect(page.get_by_label("member").nth(1)).to_be_checked()
    expect(answer.first.get_by_text("<b>good</b>")).to_be_visible()
    page.get_by_role("button", name="Remove row 2").click()
    expect(answer).to_have_count(1)


def test_prediction_equals_the_answer_of_the_service(page, service, marked):
    page.goto(f"#/models/{marked}?tab=predict")
    page.get_by_label("age", exact=True).fill("55")
    row = {"age": 55, "<b>colour</b>": MARKUP, "member": "no"}
    score = service.post(f"/v1/models/{marked}/predict", {"rows": [row]})["scores"][0]
    page.get_by_label("<b>colour</b>").select_option(MARKUP)
    expect(page.locator(".answer")).to_contain_text(f"score {score}")


@pytest.mark.faults
def test_a_value_that_the_service_refuses_is_told(page, marked):
    page.goto(f"#/models/{marked}?tab=predict")
    page.get_by_label("age", exact=True).fill("young")
    expect(page.get_by_text("The value must be a number.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("age")
    page.get_by_label("age", exact=True).fill("30")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator(".answer")).to_contain_text("score")


def test_bits_are_checked_and_predicted(page, see, service, bits):
    page.goto(f"#/models/{bits}?tab=predict")
    field = page.get_by_label("Examples", exact=True)
    field.fill("1" * 20)
    expect(page.get_by_text("20 bits of 21.")).to_be_visible()
    field.fill("1" * 21 + "\n" + "0" * 21)
    scores = service.post(f"/v1/models/{bits}/predict", {"unlabelled": {"examples": ["1" * 21, "0" * 21]}})["scores"]
    for index in (0, 1):
        expect(page.locator(".answer").nth(index)).to_contain_text(f"score {scores[index]}")
    see("model-predict-bits")


def test_file_is_predicted_and_the_table_is_cut(page, see, service, board, tmp_path):
    table = service.get("/v1/samples/tic-tac-toe").decode().splitlines()
    file = tmp_path / "boards.csv"
    file.write_text("\n".join([table[0], *(table[1:] * 2)]) + "\n")
    page.goto(f"#/models/{board}?tab=predict")
    page.get_by_label("Drop a file here, or choose one:").set_input_files(file)
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_text("The first 1,000 rows")).to_be_visible()
    see("model-predict-file")
    with page.expect_download() as saved:
        page.get_by_role("region", name="Predict a file").get_by_role("button", name="CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert lines[0] == "row,prediction,class,score" and len(lines) == 1001
    assert [line.split(",")[2] for line in lines[1:959]] == [line.rsplit(",", 1)[1] for line in table[1:]]


@pytest.mark.faults
def test_file_with_unknown_values_tells_the_row(page, board, tmp_path):
    file = tmp_path / "boards.csv"
    names = "top-left,top-middle,top-right,middle-left,middle-middle,middle-right,bottom-left,bottom-middle,bottom-right"
    file.write_text(f"{names}\nx,x,x,o,o,b,b,b,b\nx,x,x,o,o,b,b,b,q\n")
    page.goto(f"#/models/{board}?tab=predict")
    page.get_by_label("Drop a file here, or choose one:").set_input_files(file)
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("bottom-right")
    page.get_by_label("Unknown values").select_option("zero")
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_text("2 rows: ")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_evaluation_on_a_dataset_and_on_a_file(page, see, service, board, tmp_path):
    table = service.get("/v1/samples/tic-tac-toe")
    dataset = service.post("/v1/datasets?name=Boards", table, media_type="text/csv")["id"]
    page.goto(f"#/models/{board}?tab=evaluate")
    page.get_by_label("Dataset").select_option(dataset)
    page.get_by_label("The examples are", exact=True).select_option("independent")
    page.get_by_label("The examples are new").check()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.get_by_text("0 of 958")).to_be_visible()
    expect(page.get_by_text("the model or its ancestors learnt from these data")).to_be_visible()
    see("model-evaluate")
    page.reload()
    expect(page.get_by_text("0 of 958")).to_be_visible()
    wrong = tmp_path / "wrong.csv"
    lines = table.decode().splitlines()
    swapped = lines[1].replace("positive", "negative")
    wrong.write_text("\n".join([lines[0], swapped, *lines[2:40]]) + "\n")
    page.get_by_role("button", name="A file").click()
    page.get_by_label("Drop a file with labels here, or choose one:").set_input_files(wrong)
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(page.get_by_text("1 of 39")).to_be_visible()
    expect(page.get_by_text("test-set")).to_be_visible()


def test_evaluation_can_be_started_as_a_job(page, service, board):
    dataset = service.post("/v1/datasets?name=Boards", service.get("/v1/samples/tic-tac-toe"), media_type="text/csv")["id"]
    page.goto(f"#/models/{board}?tab=evaluate&dataset={dataset}")
    page.get_by_role("button", name="Evaluate as a job").click()
    expect(page).to_have_url(re.compile("#/jobs/job_"))


@pytest.mark.faults
def test_programs_are_shown_or_refused_with_their_limit(page, see, service, board):
    page.goto(f"#/models/{board}?tab=export")
    program = service.get(f"/v1/models/{board}/code?language=c").decode()
    expect(page.get_by_role("region", name="The program")).to_contain_text("import csv")
    see("model-export")
    page.get_by_role("button", name="C", exact=True).click()
    expect(page).to_have_url(re.compile("language=c"))
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download tic-tac-toe.c").click()
    assert saved.value.path().read_text() == program
    page.get_by_role("button", name="Excel").click()
    expect(page.get_by_text("a formula has at most 8192 characters")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="C", exact=True)).to_have_attribute("aria-pressed", "true")


@pytest.mark.faults
def test_receipt_and_weights_can_be_downloaded(page, service, board, bits):
    page.goto(f"#/models/{board}?tab=export")
    expect(page.get_by_text("halfspace verify tic-tac-toe-receipt.json data.csv")).to_be_visible()
    with page.expect_download() as receipt:
        page.get_by_role("button", name="Download tic-tac-toe-receipt.json").click()
    assert json.loads(receipt.value.path().read_text()) == service.get(f"/v1/models/{board}/receipt")
    page.goto(f"#/models/{bits}?tab=export")
    expect(page.get_by_text("The model has no receipt")).to_be_visible()
    with page.expect_download() as weights:
        page.get_by_role("button", name="Download bits.npy").click()
    assert weights.value.path().read_bytes() == service.get(f"/v1/models/{bits}/weights.npy")


@pytest.mark.faults
def test_model_is_exported_imported_and_deleted(page, board, tmp_path):
    page.goto(f"#/models/{board}?tab=export")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download tic-tac-toe.json").click()
    file = tmp_path / "model.json"
    altered = json.loads(saved.value.path().read_text()) | {"mistakes": 1}
    file.write_text(json.dumps(altered))
    page.goto("#/models")
    choose = page.get_by_label("Drop a model file here, or choose one:")
    choose.set_input_files(file)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    choose.set_input_files({"name": "model.json", "mimeType": "application/json", "buffer": saved.value.path().read_bytes()})
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Tic-tac-toe")).to_be_visible()
    assert board not in page.url
    page.get_by_role("button", name="Delete model").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete model").click()
    expect(page).to_have_url(re.compile("#/models$"))


@pytest.mark.faults
def test_unknown_model_shows_an_alert(page, see):
    page.goto("#/models/mdl_0198c1a5e0f77b3c9d2e4f5061728394")
    expect(page.get_by_role("alert")).to_contain_text("Check the id")
    see("model-missing")


@pytest.mark.faults
def test_page_goes_on_after_the_service_was_away(browser, own_service):
    body = {"labelled": {"examples": [{"x": "110", "y": 1}, {"x": "001", "y": 0}]}}
    model = own_service.post("/v1/learners/perceptron/train?seed=1", body, prefer="wait=60")["result"]["model"]
    page = browser.new_page(base_url=own_service.address)
    page.goto(f"#/models/{model}?tab=predict")
    answer = page.locator(".answer")
    expect(answer).to_contain_text("score")
    own_service.stop()
    page.get_by_label("Examples", exact=True).fill("000")
    expect(page.get_by_text("The service does not answer.").first).to_be_visible()
    own_service.start(own_service.port)
    score = own_service.post(f"/v1/models/{model}/predict", {"unlabelled": {"examples": ["000"]}})["scores"][0]
    expect(answer).to_contain_text(f"score {score}", timeout=20_000)
    page.close()


@pytest.mark.long
def test_model_of_a_million_features_stays_usable(page, service):
    body = {"generated": {"n": 1_000_000, "count": 4, "sampling": "uniform", "target": {"threshold": {}}}}
    model = service.post("/v1/learners/perceptron/train?seed=3&name=Million&stop.max_passes=1", body, prefer="wait=60")["result"]["model"]
    page.goto(f"#/models/{model}")
    expect(page.get_by_text("1,000,000").first).to_be_visible(timeout=30_000)
    expect(page.get_by_role("region", name="Heaviest terms")).to_be_visible()
    page.get_by_text("The hypothesis in numbers").click()
    expect(page.get_by_role("button", name="Show the first 500 of 1,000,000")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('*').length") < 2000
    page.get_by_role("link", name="Predict").click()
    expect(page.get_by_text("too many to type")).to_be_visible()


def test_keyboard_alone_reaches_a_prediction(page, board):
    page.goto(f"#/models/{board}")
    tab = page.get_by_role("link", name="Predict")
    tab.focus()
    page.keyboard.press("Enter")
    field = page.get_by_label("top-left")
    field.focus()
    before = page.locator(".answer").inner_text()
    page.keyboard.press("x")
    expect(field).to_have_value("x")
    expect(page.locator(".answer")).not_to_have_text(before)


def test_a_model_of_three_classes_has_a_matrix_and_an_explanation_per_class(page, see, service):
    rows = [f"{'short' if i % 3 == 0 else 'long'},{'blue' if i % 3 == 2 else 'white'},{('setosa', 'virginica', 'versicolor')[i % 3]}" for i in range(30)]
    table = "\n".join(["petal,colour,species", *rows, ""]).encode()
    job = service.post("/v1/learners/perceptron/train?labels=species&seed=1&name=Irises", table, media_type="text/csv", prefer="wait=60")
    model = job["result"]["model"]
    page.goto(f"#/models/{model}")
    expect(page.get_by_text("One hypothesis per class")).to_be_visible()
    page.get_by_label("Class to explain").select_option("virginica")
    expect(page.get_by_text(re.compile("The class virginica claims an example if"))).to_be_visible()
    see("models-three-classes")
    dataset = service.post("/v1/datasets?labels=species", table, media_type="text/csv")["id"]
    done = service.job(evaluate={"model": model, "data": {"dataset": dataset}})
    page.goto(f"#/jobs/{done['id']}")
    matrix = page.get_by_role("region", name="Labels and predictions")
    expect(matrix.get_by_role("row")).to_have_count(4)
    expect(matrix.get_by_role("row").nth(1).get_by_role("cell")).to_have_text(["10", "0", "0"])
    see("job-evaluate-three-classes")
    page.goto(f"#/data/{dataset}")
    expect(page.get_by_text("versicolor").first).to_be_visible()
    uses = page.get_by_role("region", name="Use these data")
    expect(uses.get_by_role("link", name="Compare learners")).to_be_visible()
    expect(uses.get_by_role("link", name="Separability")).to_have_count(0)
    see("data-three-classes")
    page.goto(f"#/train?dataset={dataset}&learner=perceptron")
    page.get_by_label("More than two classes").select_option("joint")
    page.get_by_label("Hold-out").fill("0.3")
    page.get_by_label("Seed").fill("1")
    page.get_by_label("Share of each class").select_option("true")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_text("joint", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(r"30\s?% of each class"))).to_be_visible()
    page.get_by_text("All weights").click()
    weights = page.get_by_role("region", name="Hypothesis", exact=True)
    expect(weights.get_by_role("row", name=re.compile(r"petal=short \d"))).to_be_visible()
    weights.get_by_label("Class").select_option("virginica")
    expect(weights.get_by_role("row", name=re.compile(r"petal=short -\d"))).to_be_visible()
    see("job-train-joint")
