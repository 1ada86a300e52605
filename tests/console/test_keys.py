"""API keys: entered once, kept in the tab, sent as a header, and never part of an address, the history or a recipe."""

import json
import re
import subprocess

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.faults

TOY = {"train": {"learner": {"name": "perceptron"}, "data": {"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": -1}]}}}}


class Keys:
    """The keys of a service with its own data."""

    def __init__(self, program, service, folder):
        self.program, self.service, self.folder = program, service, folder

    def run(self, *arguments):
        command = [self.program, "keys", *arguments, "--data-dir", str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def create(self, name):
        """The id and the secret of a new key, as soon as the service knows the key."""
        told = self.run("create", "--name", name)
        secret = re.search(r"hsk_\S+", told).group()
        return re.search(r"key_\w+", told).group(), secret


@pytest.fixture
def keys(request, own_service, tmp_path):
    keys = Keys(request.config.getoption("--program"), own_service, tmp_path / "data")
    keys.first, keys.secret = keys.create("ada")
    # A process without keys looks for the first key every two seconds.
    own_service.restart()
    return keys


@pytest.fixture
def requested(page):
    """The addresses of all requests of the page."""
    addresses = []
    page.on("request", lambda sent: addresses.append(sent.url))
    return addresses


def enter(page, secret):
    page.get_by_label("API key").fill(secret)
    page.get_by_role("button", name="Use the key").click()


def form(page):
    return page.get_by_text("This service needs an API key.")


def test_a_key_is_entered_once_and_stays_in_the_tab(page, keys, requested, see):
    address = keys.service.address
    page.goto(address)
    expect(form(page)).to_have_count(1)
    see("key-form")
    enter(page, "hsk_wrong")
    expect(page.get_by_text("The key is unknown or revoked.")).to_be_visible()
    expect(page.get_by_label("API key")).to_be_focused()
    page.get_by_label("API key").fill(keys.secret)
    page.keyboard.press("Enter")
    expect(page.get_by_text("End boards of tic-tac-toe")).to_be_visible()
    expect(form(page)).to_have_count(0)
    for name in ("Data", "Train", "Jobs", "Compare", "Models", "Playground", "Experiments", "Operation"):
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()
        page.locator("h1").wait_for()
        page.wait_for_load_state("networkidle")
        expect(form(page)).to_have_count(0)
    page.reload()
    expect(page.get_by_text("The service accepts the key of this tab.")).to_be_visible()
    assert not [url for url in [*requested, page.url] if keys.secret in url or "hsk_" in url]
    assert page.evaluate("Object.values(sessionStorage)").count(keys.secret) == 1
    assert keys.secret not in json.dumps(page.evaluate("[{...localStorage}, document.cookie, history.state, document.referrer]"))
    assert keys.secret not in page.content()
    other = page.context.new_page()
    other.goto(address)
    expect(form(other)).to_have_count(1)


def test_revoked_key_is_reported_and_another_key_continues(page, keys, see):
    page.goto(keys.service.address)
    enter(page, keys.secret)
    expect(page.get_by_text("No job runs or waits.")).to_be_visible()
    _, next_secret = keys.create("grace")
    keys.run("revoke", keys.first)
    expect(page.get_by_text("The key is unknown or revoked.")).to_be_visible()
    expect(page.get_by_text("No job runs or waits.")).to_be_visible()
    see("key-revoked")
    enter(page, next_secret)
    expect(form(page)).to_have_count(0)
    expect(page.get_by_text("No job has ended yet.")).to_be_visible()


@pytest.mark.parametrize("kind", ["jobs", "models", "data"])
def test_resources_of_another_key_are_explained(page, keys, kind):
    _, other = keys.create("grace")
    job = keys.service.post("/v1/jobs", TOY, key=keys.secret, prefer="wait=60")
    dataset = keys.service.post("/v1/datasets", b"a,b,class\n1,0,yes\n0,1,no\n", media_type="text/csv", key=keys.secret)
    wanted = {"jobs": job["id"], "models": job["result"]["model"], "data": dataset["id"]}[kind]
    page.goto(f"{keys.service.address}/#/{kind}/{wanted}")
    enter(page, other)
    expect(page.get_by_text("another key may own this id")).to_be_visible()
    expect(form(page)).to_have_count(0)


def test_forgetting_the_key_clears_the_page(page, keys):
    named = {"name": "Secret training", **TOY}
    keys.service.post("/v1/jobs", named, key=keys.secret, prefer="wait=60")
    page.goto(keys.service.address)
    enter(page, keys.secret)
    expect(page.get_by_text("Secret training")).to_be_visible()
    page.get_by_role("button", name="Forget the key").click()
    expect(form(page)).to_have_count(1)
    expect(page.get_by_text("Secret training")).to_have_count(0)
    assert page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize("kind", ["job", "jobs", "dataset", "model", "compare"])
def test_a_change_of_the_key_leaves_no_document_behind(page, keys, kind):
    _, other = keys.create("grace")
    dataset = keys.service.post("/v1/datasets?name=Secret", b"a,b,class\n1,0,yes\n0,1,no\n", media_type="text/csv", key=keys.secret)["id"]
    training = {"learner": {"name": "perceptron"}, "data": {"dataset": dataset}, "trace": True}
    job = keys.service.post("/v1/jobs", {"name": "Secret", "train": training}, key=keys.secret, prefer="wait=60")
    place = {"job": f"jobs/{job['id']}", "jobs": "jobs", "dataset": f"data/{dataset}", "model": f"models/{job['result']['model']}",
             "compare": f"compare?jobs={job['id']}"}[kind]
    page.goto(f"{keys.service.address}/#/{place}")
    enter(page, keys.secret)
    main = page.get_by_role("main")
    expect(main.get_by_text("Secret").first).to_be_visible()
    # The page is not loaded anew.
    page.evaluate("window.isSame = true")
    page.get_by_role("button", name="Forget the key").click()
    enter(page, other)
    expect(form(page)).to_have_count(0)
    expect(main.get_by_text("Secret")).to_have_count(0)
    expect(main.get_by_text(re.compile("another key may own this id|No job yet|does not exist any more"))).to_be_visible()
    assert page.evaluate("window.isSame")


def test_recipes_name_the_key_but_do_not_contain_it(page, keys):
    session = keys.service.post("/v1/sessions", {"learner": {"name": "perceptron"}, "n": 3}, key=keys.secret)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=keys.service.address)
    page.goto(f"{keys.service.address}/#/operation?tab=sessions")
    enter(page, keys.secret)
    page.get_by_role("button", name="Delete", exact=True).click()
    for language in ("Python", "curl"):
        page.get_by_role("button", name=f"Copy as {language}").click()
        expect(page.get_by_role("button", name="Copied").last).to_be_visible()
        text = page.evaluate("navigator.clipboard.readText()")
        assert "HALFSPACE_KEY" in text and keys.secret not in text
    subprocess.run(["bash", "-c", text], env={"HALFSPACE_KEY": keys.secret, "PATH": "/usr/bin:/bin"}, check=True)
    sessions = keys.service.get("/v1/sessions", key=keys.secret)
    assert session["id"] not in json.dumps(sessions)


def test_operation_page_replaces_the_key(page, keys, see):
    _, other = keys.create("grace")
    page.goto(f"{keys.service.address}/#/operation")
    enter(page, keys.secret)
    expect(page.get_by_text("The service accepts the key of this tab.")).to_be_visible()
    expect(page.get_by_text("open to everybody")).to_have_count(0)
    page.get_by_role("button", name="Use another key").click()
    see("operation-key")
    enter(page, other)
    expect(page.get_by_text("The service accepts the key of this tab.")).to_be_visible()
    assert page.evaluate("Object.values(sessionStorage)").count(other) == 1
