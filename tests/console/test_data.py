"""The page Data: the list, samples, the reading of a file before its upload, the upload, and one dataset."""

import gzip
import io
import json
import re
import zipfile
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

MARKUP = "<img src=x onerror=alert(1)>"
CHOOSE = "Drop a file anywhere on this page, or choose one:"
PATIENTS = "id,age,odor,ill\n" + "".join(
    f"{number},{20 + number % 50}.5,{['foul', 'none', '?'][number % 3]},{['sick', 'well', 'dead'][number % 3]}\n" for number in range(60))


def bring(page, name: str, content: str | bytes) -> None:
    """Chooses a file on the page that is open."""
    data = content.encode() if isinstance(content, str) else content
    page.get_by_label(CHOOSE).first.set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": data})
    page.get_by_role("heading", name=name, exact=True).wait_for()


def previews_of(page) -> list[tuple[str, bytes]]:
    """The previews that the page asks for: their addresses and bodies."""
    sent: list[tuple[str, bytes]] = []

    def note(route):
        sent.append((route.request.url, route.request.post_data_buffer or b""))
        route.continue_()

    page.route("**/v1/previews*", note)
    return sent


def stored(page, service) -> dict:
    page.wait_for_url(re.compile("#/data/ds_"))
    return service.get(f"/v1/datasets/{page.url.rsplit('/', 1)[1]}")


def fact(page, name: str):
    return page.locator("dl.facts > div").filter(has=page.get_by_text(name, exact=True)).locator("dd").first


def test_the_list_leads_to_datasets_and_trainings(page, service, see):
    service.post(f"/v1/datasets?name={quote(MARKUP)}", b"a,class\n1,yes\n0,no\n", media_type="text/csv")
    dataset = service.sample("monks-3")["id"]
    page.goto("/#/data")
    row = page.get_by_role("row").filter(has_text="monks-3").first
    expect(row).to_contain_text("432")
    expect(page.get_by_role("link", name=MARKUP, exact=True).first).to_be_visible()
    see("data")
    row.get_by_role("link", name="Train on monks-3").click()
    page.wait_for_url(re.compile(f"#/train\\?dataset={dataset}"))
    page.go_back()
    row.get_by_role("link", name="monks-3", exact=True).click()
    page.get_by_role("heading", name="monks-3").wait_for()


def test_a_sample_is_stored_with_its_parameters(page, service):
    page.goto("/#/data?sample=parity&p.n=6&p.m=40")
    card = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Parity of n bits"))
    expect(card.get_by_label("n", exact=True)).to_have_value("6")
    card.get_by_label("m", exact=True).fill("50")
    expect(page).to_have_url(re.compile(r"p\.m=50"))
    card.get_by_role("button", name="Store").click()
    dataset = stored(page, service)
    assert (dataset["n"], dataset["examples"]) == (6, 50)


def test_a_sample_trains_in_one_click(page):
    page.goto("/#/data")
    card = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Majority of n bits"))
    card.get_by_role("button", name="Train").click()
    page.wait_for_url(re.compile("#/jobs/job_"))


def test_a_dataset_shows_its_columns_and_pages_of_examples(page, service, see):
    dataset = service.sample("tic-tac-toe")["id"]
    page.goto(f"/#/data/{dataset}")
    expect(fact(page, "Examples")).to_have_text("958")
    expect(page.get_by_text("positive: 626 (65.3 %)")).to_be_visible()
    columns = page.get_by_role("region", name="Columns of the table")
    expect(columns.get_by_role("row").filter(has_text="top-left")).to_contain_text("b, o, x")
    see("dataset")
    for ending, beginning in (("CSV", "label,class,examples,share"), ("SVG", "<svg")):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Balance as {ending}").click()
        assert download.value.path().read_text().startswith(beginning)
    page.get_by_role("link", name="Last").click()
    expect(page.get_by_text("941 to 958 of 958")).to_be_visible()
    page.reload()
    expect(page.get_by_text("941 to 958 of 958")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("1 to 20 of 958")).to_be_visible()
    page.get_by_role("link", name="Separability").click()
    expect(page.get_by_role("link", name="tic-tac-toe")).to_be_visible()
    expect(page).to_have_url(re.compile("task=separability"))


@pytest.mark.faults
def test_a_table_is_read_in_another_way_without_its_file(page, service, see):
    table = b"size,weight,kind,y\n1.5,100,a,yes\n,200,b,no\n2.5,,a,yes\n4,400,c,no\n"
    first = service.post("/v1/datasets?missing=drop", table, media_type="text/csv")
    page.goto(f"/#/data/{first['id']}")
    page.get_by_role("heading", name="Read the table in another way").wait_for()
    page.get_by_label("Scale of numbers").select_option("standard")
    page.get_by_label("Missing cells").select_option("median")
    page.get_by_label("Columns left out").fill("kind")
    page.get_by_label("Name of the new dataset").fill("scaled")
    page.get_by_role("button", name="Store as a new dataset").click()
    page.get_by_role("heading", name="scaled", exact=True).wait_for()
    dataset = stored(page, service)
    assert dataset["features"] == ["size.scaled", "weight.scaled"]
    assert [column["fill"] for column in dataset["table"]["columns"]] == ["2.5", "200"]
    expect(page.get_by_role("row").filter(has_text="size").first).to_contain_text("number, scaled")
    expect(page.get_by_role("row").filter(has_text="size").first).to_contain_text("missing: 2.5")
    see("data-encoded")
    page.get_by_label("Numbers", exact=True).select_option("thermometer")
    expect(page.get_by_label("Scale of numbers")).to_have_count(0)
    page.get_by_label("Label column").fill("nothing")
    page.get_by_role("button", name="Store as a new dataset").click()
    expect(page.get_by_text("names the column `nothing`").first).to_be_visible()


@pytest.mark.faults
def test_a_dataset_in_use_names_the_job_that_holds_it(page, service):
    dataset = service.sample("parity")["id"]
    job = service.post("/v1/jobs", {"train": {"data": {"dataset": dataset}, "learner": {"name": "perceptron"},
                                        "stop": {"max_passes": 10**12, "max_seconds": 600}}})["id"]
    page.goto(f"/#/data/{dataset}")
    page.get_by_role("button", name="Delete the dataset").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the dataset").click()
    link = page.get_by_role("link", name="Open the job that holds the dataset")
    expect(link).to_have_attribute("href", f"#/jobs/{job}")
    service.post(f"/v1/jobs/{job}/cancel")
    service.get(f"/v1/jobs/{job}", prefer="wait=30")
    page.get_by_role("button", name="Delete the dataset").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the dataset").click()
    page.get_by_role("heading", name="Data", exact=True).wait_for()
    page.goto(f"/#/data/{dataset}")
    expect(page.get_by_text("Someone may have deleted the resource")).to_be_visible()


def test_clicks_change_how_a_file_is_read(page, service, see):
    sent = previews_of(page)
    page.goto("/#/data")
    bring(page, "patients.csv", PATIENTS)
    expect(page.get_by_text("No column is named label, class, target or y")).to_be_visible()
    expect(page.get_by_role("button", name="Store 1")).to_be_disabled()
    see("file-refused")
    page.get_by_label("Label column").select_option("ill")
    expect(page.get_by_label("Value that means +1")).to_contain_text("automatic: 3 classes")
    page.get_by_label("Value that means +1").select_option("sick")
    expect(page.get_by_text("40 (66.7 %)")).to_be_visible()
    expect(page.get_by_text("the column counts the rows")).to_be_visible()
    page.get_by_label("Numbers", exact=True).select_option("thermometer")
    page.get_by_label("Thresholds per column").fill("3")
    ages = page.get_by_role("region", name="Columns of the file").get_by_role("row").filter(has_text="age")
    expect(ages).to_contain_text("≥")
    expect(page.get_by_role("region", name="First rows of the file").get_by_role("row")).to_have_count(21)
    see("file")
    assert {body for _, body in sent} == {PATIENTS.encode()}
    page.get_by_label("Name of the dataset").fill("my patients")
    page.get_by_role("button", name="Store 1").click()
    dataset = stored(page, service)
    assert (dataset["name"], dataset["class_examples"][1], dataset["examples"]) == ("my patients", 20, 60)
    assert [column["kind"] for column in dataset["table"]["columns"]] == ["thermometer", "nominal"]
    assert dataset["table"]["ignored"][0]["column"] == "id"
    expect(page.get_by_role("link", name="Train on these data")).to_have_attribute("href", f"#/train?dataset={dataset['id']}")


@pytest.mark.faults
def test_a_refusal_leads_to_its_control(page):
    page.goto("/#/data/new")
    bring(page, "patients.csv", PATIENTS)
    refusal = page.get_by_role("alert")
    expect(refusal).to_contain_text("Name the label column, as in Label column: “ill”")
    expect(refusal).not_to_contain_text("labels=")
    page.get_by_label("Label column").select_option("ill")
    expect(refusal).to_have_count(0)
    page.goto("/#/data/new?unknown=zero&labels=ill")
    page.reload()
    bring(page, "patients.csv", PATIENTS)
    expect(refusal).to_contain_text("is only for a table with a given Encoding of")
    refusal.get_by_role("button", name="Go to “Encoding of”").click()
    expect(page.get_by_label("Encoding of")).to_be_focused()


def test_a_click_mends_each_fault_of_a_file(page, service, see):
    rows = [f"{'n.d.' if row == 7 else row * 3 + 1},\"{row},5\",{'ab'[row % 2]}" for row in range(40)]
    page.goto("/#/data/new")
    bring(page, "prices.csv", "\n".join(["size,price,kind", *rows]))
    refusal = page.get_by_role("alert")
    expect(refusal).to_contain_text("4 things stand in the way.")
    see("file-repairs")
    refusal.get_by_role("button", name="The column “kind” holds the labels").click()
    expect(refusal).to_contain_text("3 things stand in the way.")
    expect(page).to_have_url(re.compile("labels=kind"))
    refusal.get_by_role("button", name="Take the first choice of each").click()
    expect(refusal).to_have_count(0)
    page.get_by_role("button", name=re.compile("^Store")).click()
    assert stored(page, service)["examples"] == 39


def test_advice_leaves_out_a_column_that_names_the_rows(page):
    rows = [f"name-{row},{'uv'[row % 2]},{row % 2}" for row in range(40)]
    page.goto("/#/data/new")
    bring(page, "names.csv", "\n".join(["who,kind,label", *rows]))
    expect(page.get_by_text("so it seems to name the rows")).to_be_visible()
    page.get_by_role("button", name="The column “who” is left out").click()
    expect(page.get_by_text("so it seems to name the rows")).to_have_count(0)
    expect(page.get_by_text("the request ignores the column")).to_be_visible()


@pytest.mark.faults
@pytest.mark.parametrize(("name", "content", "told"), [("garbage.csv", b"\x00\xff\x01\x02\n\xfe", "is not UTF-8"), ("nothing.csv", b"", "send at least one"),
                                                      ("broken.csv.gz", b"abc", "its compression is damaged"), ("broken.xlsx", b"abc", "not a workbook")])
def test_broken_file_is_refused_without_a_retry(page, see, name, content, told):
    page.goto("/#/data/new")
    bring(page, name, content)
    expect(page.get_by_text(told)).to_have_count(1)
    expect(page.get_by_role("button", name=re.compile("^Store"))).to_be_disabled()
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    if name == "garbage.csv":
        see("file-broken")


@pytest.mark.faults
def test_a_refused_upload_is_sent_again_only_after_a_change(page):
    refused = {"type": "/problems/bad-value", "title": "A value is not a finite number", "status": 400, "detail": "line 9, column 1: The value is text.",
               "instance": "", "code": "bad-value", "request_id": "", "errors": [{"line": 9, "column": 1, "detail": "The value is text."}]}
    page.route("**/v1/datasets?*", lambda route: route.fulfill(status=400, json=refused, content_type="application/problem+json"))
    page.goto("/#/data/new")
    bring(page, "toy.csv", "a,class\n1,yes\n0,no\n")
    store = page.get_by_role("button", name="Store")
    store.click()
    expect(page.get_by_role("alert")).to_contain_text("Line 9, column 1: The value is text.")
    expect(store).to_be_disabled()
    page.get_by_label("Missing cells").select_option("drop")
    expect(store).to_be_enabled()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_url_keeps_the_choices_for_the_file(page, service):
    page.goto("/#/data/new?labels=ill&positive=well&ignore=id&missing=drop")
    expect(page.get_by_text("The choices apply to the file that you bring.")).to_be_visible()
    bring(page, "patients.csv", PATIENTS)
    expect(page.get_by_label("Value that means +1")).to_have_value("well")
    expect(page.get_by_label("Missing cells")).to_have_value("drop")
    page.get_by_role("button", name="Store 1").click()
    dataset = stored(page, service)
    assert (dataset["class_examples"][1], dataset["table"]["missing"]["rows_dropped"]) == (20, 20)


def test_the_label_is_chosen_in_the_table_of_columns(page):
    page.goto("/#/data/new")
    bring(page, "toy.csv", "a,class,b\n1,yes,1\n0,no,0\n")
    use = page.get_by_label("Use of the column class")
    expect(use).to_have_value("label")
    page.get_by_label("Use of the column b").select_option("label")
    expect(page.get_by_label("Label column")).to_have_value("b")
    expect(use).to_have_value("")
    use.select_option("ignored")
    expect(fact(page, "Features")).to_have_text("1")
    page.get_by_label("Use of the column b").select_option("")
    expect(page).to_have_url(re.compile("ignore=class"))


def test_a_reload_asks_for_the_file_again(page, see):
    page.goto("/#/data/new")
    bring(page, "patients.csv", PATIENTS)
    page.get_by_label("Label column").select_option("ill")
    page.reload()
    expect(page.get_by_text("Choose the file patients.csv again.")).to_be_visible()
    see("file-lost")
    bring(page, "patients.csv", PATIENTS)
    expect(page.get_by_label("Label column")).to_have_value("ill")


def test_only_the_beginning_of_a_large_file_is_previewed(page):
    lines = b"".join(b"%d,%d,%d\n" % (number % 2, number % 3 == 0, number % 5 == 0) for number in range(300_000))
    table = b"class,a,b\n" + lines
    sent = previews_of(page)
    page.goto("/#/data/new")
    bring(page, "large.csv", table)
    expect(page.get_by_text("The preview reads only the first lines")).to_be_visible()
    expect(fact(page, "Features")).to_have_text("2")
    first = sent[0][1]
    assert len(first) <= 1 << 20 and table.startswith(first) and first.endswith(b"\n") and len(first) > 1_000_000


def test_a_packed_file_is_unpacked_for_the_preview_and_sent_packed(page, service):
    sent = previews_of(page)
    page.goto("/#/data/new")
    bring(page, "toy.csv.gz", gzip.compress(b"a,class\n1,yes\n0,no\n"))
    expect(fact(page, "Examples")).to_have_text("2")
    assert sent[0][1] == b"a,class\n1,yes\n0,no\n"
    page.get_by_role("button", name="Store").click()
    dataset = stored(page, service)
    assert (dataset["name"], dataset["examples"]) == ("toy", 2)


@pytest.mark.parametrize(("name", "content", "examples"), [
    ("toy.svm", "1 1:1\n-1 2:1\n1 1:1 2:1\n", "3"), ("toy.ndjson", '{"a": 1, "class": "x"}\n{"a": 0, "class": "y"}\n', "2"),
    ("toy.arff", "@relation r\n@attribute a {x, y}\n@attribute c {p, n}\n@data\nx,p\ny,n\n", "2"), ("toy.tsv", "a\tclass\n1\tyes\n0\tno\n", "2")])
def test_preview_reads_other_formats(page, name, content, examples):
    page.goto("/#/data/new")
    bring(page, name, content)
    expect(fact(page, "Examples")).to_have_text(examples)


def workbook(rows: list[list[str]]) -> bytes:
    """A workbook with one sheet of texts."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    cells = "".join("<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>" for row in rows)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
                               f'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
                               f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" '
                       'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="toys" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/worksheet" '
                                      'Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def zstd(content: bytes) -> bytes:
    """A frame of Zstandard with the content as one raw block (RFC 8878)."""
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(content)]) + (len(content) << 3 | 1).to_bytes(3, "little") + content


@pytest.mark.parametrize(("name", "content"), [("toy.xlsx", workbook([["a", "class"], ["x", "yes"], ["y", "no"]])),
                                               ("toy.csv.zst", zstd(b"a,class\nx,yes\ny,no\n"))])
def test_workbooks_and_zstd_are_previewed_and_stored(page, service, name, content):
    page.goto("/#/data/new")
    bring(page, name, content)
    expect(fact(page, "Examples")).to_have_text("2")
    page.get_by_role("button", name="Store").click()
    dataset = stored(page, service)
    assert (dataset["name"], dataset["examples"], dataset["classes"]) == ("toy", 2, ["no", "yes"])


def test_a_name_without_a_format_asks_for_the_format(page):
    page.goto("/#/data/new")
    bring(page, "patients", PATIENTS)
    expect(page.get_by_text("does not tell the format")).to_be_visible()
    page.get_by_label("Format").select_option("csv")
    expect(page.get_by_role("region", name="Columns of the file")).to_be_visible()
    expect(page).to_have_url(re.compile("format=csv"))


def test_a_large_array_has_no_preview_and_says_why(page, tmp_path):
    file = tmp_path / "large.npy"
    file.write_bytes(bytes(17 << 20))
    sent = previews_of(page)
    page.goto("/#/data/new")
    page.get_by_label(CHOOSE).set_input_files(file)
    expect(page.get_by_text("the file is larger than 16 MiB")).to_be_visible()
    expect(page.get_by_role("button", name="Store 17 MiB")).to_be_enabled()
    assert sent == []


def test_a_file_is_dropped_and_chosen_by_keyboard(page):
    # The browser reports choosers from the beginning, before the key is pressed.
    page.on("filechooser", lambda _: None)
    page.goto("/#/data")
    page.get_by_label(CHOOSE).focus()
    expect(page.get_by_label(CHOOSE)).to_be_focused()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files({"name": "one.csv", "mimeType": "text/csv", "buffer": b"a,class\n1,yes\n0,no\n"})
    page.get_by_role("heading", name="one.csv").wait_for()
    page.evaluate("""() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["a,b,class\\n1,1,yes\\n0,1,no\\n"], "two.csv"));
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true}));
    }""")
    page.get_by_role("heading", name="two.csv").wait_for()
    expect(page.get_by_label("Use of the column b")).to_be_visible()


def test_an_upload_is_cancelled(page):
    page.route("**/v1/datasets?*", lambda route: None)
    page.goto("/#/data/new")
    bring(page, "toy.csv", "a,class\n1,yes\n0,no\n")
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
    page.get_by_role("button", name="Cancel the upload").click()
    expect(page.get_by_role("button", name="Store")).to_be_enabled()


@pytest.mark.faults
def test_a_file_that_changes_before_its_upload_is_chosen_again(page, service, tmp_path):
    file = tmp_path / "toy.csv"
    file.write_text("a,class\n1,yes\n0,no\n")
    page.goto("/#/data/new")
    page.get_by_label(CHOOSE).set_input_files(file)
    store = page.get_by_role("button", name="Store")
    expect(store).to_be_enabled()
    expect(fact(page, "Examples")).to_have_text("2")
    file.unlink()
    store.click()
    expect(page.get_by_role("alert")).to_contain_text("Choose the file again.")


@pytest.mark.faults
def test_a_full_quota_tells_how_to_proceed_and_the_upload_is_repeated(page, service):
    problem = {"type": "/problems/quota", "title": "A quota is used up", "status": 429, "detail": "Your key may store no more bytes.", "instance": "",
               "code": "quota", "request_id": "", "errors": []}
    keys = []

    def refuse(route):
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            return route.fulfill(status=429, content_type="application/problem+json", body=json.dumps(problem))
        return route.continue_()

    page.route("**/v1/datasets?*", refuse)
    page.goto("/#/data/new")
    bring(page, "toy.csv", "a,class\n1,yes\n0,no\n")
    page.get_by_role("button", name="Store").click()
    expect(page.get_by_text("Delete what you no longer need")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    assert stored(page, service)["examples"] == 2
    assert keys[0] == keys[1]


def test_markup_in_a_file_is_text(page, service):
    page.goto("/#/data/new")
    bring(page, "markup.csv", f'"{MARKUP}",class\n"a{MARKUP}",yes\nb,"{MARKUP}"\n')
    cells = page.get_by_role("region", name="First rows of the file")
    expect(cells.get_by_text(f"a{MARKUP}", exact=True)).to_be_visible()
    expect(page.get_by_label(f"Use of the column {MARKUP}")).to_be_visible()
    page.get_by_role("button", name="Store").click()
    stored(page, service)
    expect(page.get_by_role("columnheader", name=f"{MARKUP}=b")).to_be_visible()
    assert page.locator("main img").count() == 0


def test_a_deleted_dataset_leaves_the_lists_of_other_tabs(page, service):
    """At once in the tabs of one browser, and at the next look in others."""
    datasets = [service.post(f"/v1/datasets?name=shared {number}".replace(" ", "%20"), b"a,class\n1,yes\n0,no\n", media_type="text/csv")["id"]
                for number in range(2)]
    job = service.job(name="on shared data", train={"data": {"dataset": datasets[0]}, "learner": {"name": "perceptron"}})
    places = ["data", "train?from=stored", "jobs"]
    tabs = [page.context.new_page() for _ in places]
    for tab, place in zip(tabs, places):
        tab.goto(f"/#/{place}")
        expect(tab.get_by_text("shared 0").first).to_be_visible()
    page.goto(f"/#/data/{datasets[0]}")
    page.get_by_role("button", name=re.compile("^Delete")).first.click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Delete")).click()
    for tab in tabs:
        expect(tab.get_by_text("shared 0")).to_have_count(0, timeout=2_000)
    expect(tabs[2].get_by_role("row").filter(has_text=job["name"]).get_by_text(f"deleted …{datasets[0][-6:]}")).to_be_visible()
    service.send("DELETE", f"/v1/datasets/{datasets[1]}")
    expect(tabs[1].get_by_text("shared 1")).to_have_count(0, timeout=20_000)
    for tab in tabs:
        tab.close()
