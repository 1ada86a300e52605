"""Markup in names, features, labels, values and errors appears as text on every page, and creates no element."""

import json
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from conftest import Service

IMAGE = '<img src=x onerror="window.isHacked=1">'
SCRIPT = '"><script>window.isHacked=1</script>'
LINK = "javascript:window.isHacked=1"
TEXT = f"{IMAGE}{SCRIPT}{LINK}"

# Reports each element that only hostile text can have made. The policy would stop its script, but not its creation.
WATCH = """
window.foreign = [];
const hostile = '[onerror], [onload]:not(body), img[src="x"], iframe, object, script:not([src]), a[href^="javascript:" i]';
new MutationObserver((records) => {
  for (const { addedNodes, target } of records) {
    for (const node of [...addedNodes, target]) {
      if (!(node instanceof Element)) continue;
      for (const found of [node, ...node.querySelectorAll("*")]) if (found.matches(hostile)) window.foreign.push(found.outerHTML);
    }
  }
}).observe(document, { subtree: true, childList: true, attributes: true });
"""


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"'


class Hostile:
    """A service whose every text is markup."""

    def __init__(self, service):
        self.service = service
        values = [f"{TEXT}{number}" for number in range(3)]
        labels = [f"{IMAGE}yes", f"{SCRIPT}no"]
        header = ",".join(quoted(f"{TEXT}{column}") for column in range(3)) + "," + quoted(f"{LINK}class")
        rows = [",".join([*(quoted(values[(row * (column + 1)) % 3]) for column in range(3)), quoted(labels[row % 3 > 0])])
                for row in range(12)]
        table = "\n".join([header, *rows, ""]).encode()
        self.dataset = service.post(f"/v1/datasets?labels=4&name={quote(TEXT, safe='')}", table, media_type="text/csv")["id"]
        learner = {"name": "kernel-perceptron"}
        train = {"learner": learner, "data": {"dataset": self.dataset}, "trace": True}
        self.jobs = [service.job(name=f"{TEXT} {number}", train=train) for number in range(2)]
        self.job = self.jobs[0]["id"]
        self.model = self.jobs[0]["result"]["model"]
        linear = service.job(name=TEXT, train={**train, "learner": {"name": "pocket"}, "stop": {"max_passes": 3}})
        self.linear = linear["result"]["model"]
        document = service.get(f"/v1/models/{self.linear}")
        imported = service.post("/v1/models", {**document, "name": f"{TEXT} imported"})
        self.imported = imported["id"]
        self.compare = service.job(name=TEXT, compare={"data": {"dataset": self.dataset}, "folds": 2,
                                                       "learners": [{"name": "perceptron"}, {"name": "winnow"}]})["id"]
        self.evaluation = service.job(name=TEXT, evaluate={"model": self.imported, "data": {"dataset": self.dataset}})["id"]


@pytest.fixture(scope="module")
def hostile(request):
    service = Service(request.config.getoption("--program"))
    yield Hostile(service)
    service.stop()


# The places, and whether the page shows a text of the data there.
PLACES = {
    "home": ("", True),
    "data": ("data", True),
    "dataset": ("data/{dataset}", True),
    "train": ("train?dataset={dataset}&learner=kernel-perceptron", True),
    "jobs": ("jobs", True),
    "job": ("jobs/{job}", True),
    "comparison": ("jobs/{compare}", True),
    "evaluation": ("jobs/{evaluation}", True),
    "compare": ("compare?jobs={job},{other}", True),
    "models": ("models", True),
    "model": ("models/{model}", True),
    "linear-model": ("models/{linear}", True),
    "imported-model": ("models/{imported}", True),
    "playground": ("playground?dataset={dataset}&learner=perceptron", False),
    "experiments": ("experiments", False),
    "operation": ("operation", False),
}


@pytest.fixture
def watched_page(page):
    page.add_init_script(WATCH)
    return page


def settle(page):
    page.locator("h1").wait_for()
    expect(page.get_by_text("Loading…")).to_have_count(0)


def assert_harmless(page):
    assert page.evaluate("[window.foreign, window.isHacked ?? null]") == [[], None]


@pytest.mark.parametrize("name", PLACES)
def test_markup_in_data_is_shown_as_text_on_every_page(watched_page, hostile, name):
    place, has_text = PLACES[name]
    address = place.format(**vars(hostile), other=hostile.jobs[1]["id"])
    watched_page.goto(f"{hostile.service.address}/#/{address}")
    settle(watched_page)
    if has_text:
        expect(watched_page.locator("main").get_by_text("<img src=x onerror=").filter(visible=True).first).to_be_visible()
    # Parts that are closed at first have texts too.
    watched_page.evaluate("document.querySelectorAll('main details').forEach((details) => { details.open = true; })")
    settle(watched_page)
    assert_harmless(watched_page)


@pytest.mark.faults
@pytest.mark.parametrize("place", [
    "jobs/{text}", "jobs?status={text}&learner={text}", "data/{text}", "models/{text}", "compare?jobs={text}", "compare?job={text}",
    "train?learner={text}&dataset={text}&p.alpha={text}&seed={text}", "playground?learner={text}&dataset={text}&position={text}",
    "experiments?tab={text}&figure={text}", "operation?tab={text}", "operation?tab=limits&search={text}", "{text}"])
def test_markup_in_the_url_is_shown_as_text(watched_page, hostile, place):
    watched_page.goto(f"{hostile.service.address}/#/{place.format(text=quote(TEXT, safe=''))}")
    settle(watched_page)
    assert_harmless(watched_page)


@pytest.mark.faults
def test_markup_in_errors_is_shown_as_text(watched_page, hostile):
    problem = {"type": f"{LINK}/problems/{TEXT}", "title": TEXT, "status": 422, "detail": TEXT, "instance": TEXT, "code": TEXT,
               "request_id": TEXT, "errors": [{"pointer": TEXT, "detail": TEXT, "parameter": TEXT, "line": 1, "row": 1, "column": 1}]}
    watched_page.route("**/v1/**", lambda route: route.fulfill(status=422, body=json.dumps(problem), content_type="application/problem+json"))
    for place in ("", "data", "jobs", f"jobs/{hostile.job}", "models", "operation", "experiments", "train", "playground"):
        watched_page.goto(f"{hostile.service.address}/#/{place}")
        settle(watched_page)
        expect(watched_page.get_by_text("<img src=x onerror=").first).to_be_visible()
        assert_harmless(watched_page)
