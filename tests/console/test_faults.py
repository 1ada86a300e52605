"""Faults in the middle: a service that goes away and returns, and quotas that are used up. No page needs a reload."""

import re
import time
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from conftest import watched
from test_home import LONG_TRAINING, sample

pytestmark = pytest.mark.faults

AWAY = "continues as soon as the service is back"
TABLE = b"a,b,class\n1,0,yes\n0,1,no\n1,1,yes\n0,0,no\n"


@pytest.fixture
def places(own_service):
    """One place of each page, with things to show."""
    dataset = own_service.post("/v1/datasets?name=toys", TABLE, media_type="text/csv")["id"]
    jobs = [own_service.job(name="Toy", train={"learner": {"name": name}, "data": {"dataset": dataset}, "trace": True})
            for name in ("perceptron", "pocket")]
    model = jobs[0]["result"]["model"]
    return ["", "data", f"data/{dataset}", f"train?dataset={dataset}", "jobs", f"jobs/{jobs[0]['id']}",
            f"compare?jobs={jobs[0]['id']},{jobs[1]['id']}", "models", f"models/{model}", "playground", "experiments",
            "operation", "operation?tab=sessions", "operation?tab=limits"]


def opened(page, address, place):
    """Another tab of the browser at a place. The faults of all tabs are collected in one list."""
    tab = page.context.new_page()
    tab.goto(f"{address}/#/{place}")
    return tab


def settled(tab):
    tab.locator("h1").wait_for()
    expect(tab.get_by_text("Loading…")).to_have_count(0)
    return tab.locator("h1").inner_text()


def test_each_page_outlasts_a_restart_of_the_service(page, own_service, places):
    faults: list[str] = []
    page.context.on("page", lambda tab: watched(tab, faults, may_fail=True))
    tabs = {place: opened(page, own_service.address, place) for place in places}
    titles = {place: settled(tab) for place, tab in tabs.items()}
    loads: list[str] = []
    for place, tab in tabs.items():
        tab.on("load", lambda _, place=place: loads.append(place))
    port = own_service.port
    own_service.stop()
    for tab in tabs.values():
        expect(tab.get_by_text(AWAY)).to_be_visible()
    # The last state stays.
    assert {place: settled(tab) for place, tab in tabs.items()} == titles
    own_service.start(port)
    for tab in tabs.values():
        expect(tab.get_by_text(AWAY)).to_have_count(0)
    assert {place: settled(tab) for place, tab in tabs.items()} == titles
    assert (loads, faults) == ([], [])


@pytest.mark.long
def test_pages_that_open_while_the_service_is_away_load_later(page, own_service, places):
    faults: list[str] = []
    page.context.on("page", lambda tab: watched(tab, faults, may_fail=True))
    tabs = {place: opened(page, own_service.address, "operation?tab=limits") for place in places}
    for tab in tabs.values():
        settled(tab)
    port = own_service.port
    own_service.stop()
    for place, tab in tabs.items():
        tab.evaluate("place => { location.hash = `#/${place}`; }", place)
        expect(tab.get_by_text(AWAY)).to_be_visible()
        # A page loads its module when it is first opened, so it has no heading yet.
        expect(tab.locator("h1").or_(tab.get_by_text("Loading…")).first).to_be_visible()
    own_service.start(port)
    for tab in tabs.values():
        expect(tab.get_by_text(AWAY)).to_have_count(0)
        settled(tab)
    expect(tabs["jobs"].get_by_role("link", name="Toy").first).to_be_visible()
    assert faults == []


def test_an_action_while_the_service_is_away_can_be_repeated(page, own_service):
    page.goto(own_service.address)
    entry = sample(page, "Majority of n bits")
    button = entry.get_by_role("button", name="Train")
    expect(button).to_be_enabled()
    port = own_service.port
    own_service.stop()
    button.click()
    expect(entry.get_by_role("alert")).to_contain_text("The service does not answer.")
    own_service.start(port)
    expect(page.get_by_text(AWAY)).to_have_count(0)
    entry.get_by_role("button", name="Try again").click()
    page.wait_for_url(re.compile(r"#/jobs/job_\w+"))
    job = own_service.get(f"/v1/jobs/{urlsplit(page.url).fragment.split('/')[2]}", prefer="wait=60")
    assert job["status"] == "succeeded"


def test_a_full_queue_tells_how_to_proceed(page, limited, see):
    service = limited("--jobs-queued-per-key-max", "1", "--workers", "1")
    running = service.post("/v1/jobs", LONG_TRAINING, prefer="wait=0")["id"]
    # The first job leaves the queue as soon as the worker takes it.
    while service.get(f"/v1/jobs/{running}", prefer="wait=1")["status"] == "queued":
        pass
    waiting = service.post("/v1/jobs", LONG_TRAINING, prefer="wait=0")["id"]
    page.goto(service.address)
    entry = sample(page, "Majority of n bits")
    entry.get_by_role("button", name="Train").click()
    alert = entry.get_by_role("alert")
    expect(alert).to_contain_text("A quota of your key is used up.")
    expect(alert).to_contain_text("jobs_queued_per_key_max")
    expect(alert.get_by_role("link", name="About the code")).to_have_attribute("href", re.compile("/problems/"))
    see("home-full-queue")
    service.post(f"/v1/jobs/{waiting}/cancel")
    alert.get_by_role("button", name="Try again").click()
    page.wait_for_url(re.compile(r"#/jobs/job_\w+"))


def test_full_storage_tells_how_to_proceed(page, limited):
    service = limited("--stored-bytes-per-key-max", "14000")
    dataset = service.sample("tic-tac-toe")
    page.goto(service.address)
    entry = sample(page, "First MONK's problem")
    entry.get_by_role("button", name="Train").click()
    alert = entry.get_by_role("alert")
    expect(alert).to_contain_text("stored_bytes_per_key_max")
    expect(alert).to_contain_text("Delete what you no longer need")
    service.send("DELETE", f"/v1/datasets/{dataset['id']}")
    alert.get_by_role("button", name="Try again").click()
    page.wait_for_url(re.compile(r"#/jobs/job_\w+"))


def test_data_beyond_the_whole_quota_are_told_as_such(page, limited):
    service = limited("--stored-bytes-per-key-max", "1000")
    page.goto(service.address)
    entry = sample(page, "End boards of tic-tac-toe")
    entry.get_by_role("button", name="Train").click()
    expect(entry.get_by_role("alert")).to_contain_text("stored_bytes_per_key_max is 1000")
    expect(entry.get_by_role("alert")).to_contain_text("An operator can raise the limit")


def test_a_busy_service_tells_when_to_try_again(page, service):
    busy = {"type": "/problems/too-many-jobs", "title": "The service is full", "status": 503, "detail": "The queue of all keys is full.",
            "instance": "/v1/datasets", "code": "too-many-jobs", "request_id": "req_1", "errors": []}
    page.route("**/v1/datasets*", lambda route: route.fulfill(status=503, json=busy, content_type="application/problem+json",
                                                              headers={"retry-after": "7"}))
    page.goto("/")
    entry = sample(page, "Majority of n bits")
    entry.get_by_role("button", name="Train").click()
    expect(entry.get_by_role("alert")).to_contain_text("You can try again in 7 s.")


def test_a_full_disk_tells_how_to_proceed(page):
    full = {"type": "/problems/storage-full", "title": "The disk is full", "status": 507, "detail": "The service cannot store the data.",
            "instance": "/v1/datasets", "code": "storage-full", "request_id": "req_1", "errors": []}
    page.route("**/v1/datasets*", lambda route: route.fulfill(status=507, json=full, content_type="application/problem+json"))
    page.goto("/")
    entry = sample(page, "Majority of n bits")
    entry.get_by_role("button", name="Train").click()
    expect(entry.get_by_role("alert")).to_contain_text("Deleting jobs, datasets and models still works.")
    page.unroute("**/v1/datasets*")
    entry.get_by_role("alert").get_by_role("button", name="Try again").click()
    page.wait_for_url(re.compile(r"#/jobs/job_\w+"))


@pytest.mark.parametrize("status", [502, 504])
def test_a_proxy_without_its_service_is_told_as_such(page, status):
    page.goto("/#/jobs")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    answers = "**/{v1,livez}**"
    page.route(answers, lambda route: route.fulfill(status=status, body="<h1>Bad gateway</h1>", content_type="text/html"))
    expect(page.get_by_text(AWAY)).to_be_visible()
    expect(page.get_by_text("Bad gateway")).to_have_count(0)
    page.unroute(answers)
    expect(page.get_by_text(AWAY)).to_have_count(0)


# The clock of the browser goes a day ahead of the service.
CLOCK_AHEAD = """
  const Clock = Date, ahead = 24 * 3600 * 1000;
  window.Date = class extends Clock {
    constructor(...given) { if (given.length > 0) super(...given); else super(Clock.now() + ahead); }
    static now() { return Clock.now() + ahead; }
  };
"""
NONSENSE = re.compile(r"NaN|Infinity|undefined|Invalid|[-−]\d+(\.\d+)? (ms|s|min|h|d)\b|\b(23|24) h\b|\b\d+ d\b")


def test_a_clock_ahead_by_a_day_shows_nothing_nonsensical(page, own_service):
    page.add_init_script(CLOCK_AHEAD)
    workers = own_service.get("/v1/workers")["items"][0]["workers"]
    jobs = [own_service.post("/v1/jobs", LONG_TRAINING, prefer="wait=0")["id"] for _ in range(workers + 1)]
    page.goto(f"{own_service.address}/#/jobs/{jobs[0]}")
    expect(page.get_by_role("progressbar", name="Progress of the job")).to_be_visible()
    assert page.evaluate("Date.now() / 1000") > time.time() + 80_000
    main = page.get_by_role("main")
    assert not NONSENSE.search(main.inner_text()), main.inner_text()
    page.goto(f"{own_service.address}/#/jobs/{jobs[-1]}")
    expect(page.get_by_role("heading", name="In the queue")).to_be_visible()
    assert not NONSENSE.search(main.inner_text()), main.inner_text()
    page.goto(f"{own_service.address}/#/operation")
    expect(page.get_by_role("region", name="The processes of the service").get_by_role("row")).to_have_count(2)
    expect(page.get_by_role("region", name="Your waiting jobs").get_by_role("link", name="Long training")).to_be_visible()
    assert not NONSENSE.search(main.inner_text()), main.inner_text()
    for job in jobs:
        own_service.post(f"/v1/jobs/{job}/cancel")
    page.goto(f"{own_service.address}/#/jobs/{jobs[0]}")
    expect(page.get_by_text("Cancelled: the service kept the hypothesis so far.")).to_be_visible()
    assert not NONSENSE.search(main.inner_text()), main.inner_text()
