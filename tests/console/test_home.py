"""The page Home: a sample becomes a model with one click, a file reaches the Data page, ids open, work is live."""

import json
import re
import subprocess
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

LONG_TRAINING = {"name": "Long training", "train": {
    "learner": {"name": "directed-drift"}, "seed": 1, "stop": {"max_seconds": 300},
    "data": {"generated": {"n": 401, "target": {"binary_weights": {}}, "sampling": "uniform-positive"}}}}


def sample(page, title):
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=title))


def train(page, title):
    """Trains a sample from Home and returns the id of the job."""
    page.goto("/#/")
    sample(page, title).get_by_role("button", name="Train").click()
    page.wait_for_url(re.compile(r"#/jobs/job_\w+"))
    return urlsplit(page.url).fragment.split("/")[2]


def test_one_click_makes_a_sample_a_model(page, service):
    first = train(page, "End boards of tic-tac-toe")
    job = service.get(f"/v1/jobs/{first}", prefer="wait=60")
    assert (job["status"], job["result"]["training"]["errors"]) == ("succeeded", 0)
    assert job["result"]["model"].startswith("mdl_")
    again = service.get(f"/v1/jobs/{train(page, 'End boards of tic-tac-toe')}")
    assert again["id"] != first
    assert again["dataset"] == job["dataset"], "a second click stores the sample again"


@pytest.mark.faults
def test_a_sample_that_was_deleted_is_stored_again(page, service):
    first = service.get(f"/v1/jobs/{train(page, 'Majority of n bits')}", prefer="wait=60")
    service.send("DELETE", f"/v1/datasets/{first['dataset']}")
    again = service.get(f"/v1/jobs/{train(page, 'Majority of n bits')}", prefer="wait=60")
    assert again["status"] == "succeeded" and again["dataset"] != first["dataset"]


def test_the_copied_commands_train_the_sample(page, service):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/")
    entry = sample(page, "Monotone DNF of n bits")
    entry.get_by_text("About these data").click()
    entry.get_by_role("button", name="Copy as curl").click()
    expect(entry.get_by_role("button", name="Copied")).to_be_visible()
    answer = subprocess.run(["bash", "-c", page.evaluate("navigator.clipboard.readText()")], capture_output=True, check=True)
    job = json.loads(answer.stdout)
    assert (job["status"], job["name"]) == ("succeeded", "Monotone DNF of n bits")
    entry.get_by_role("button", name="Copy as Python").click()
    expect(entry.get_by_role("button", name="Copied")).to_have_count(2)
    script = page.evaluate("navigator.clipboard.readText()")
    compile(script, "script", "exec")
    assert 'client.train_learner("kernel-perceptron", Content(client.get_sample("dnf"), "text/csv")' in script
    assert 'name_="Monotone DNF of n bits"' in script and "trace=True" in script


def test_a_chosen_file_reaches_the_data_page(page):
    page.goto("/")
    file = {"name": "toys.csv", "mimeType": "text/csv", "buffer": b"a,b,class\n1,0,yes\n0,1,no\n"}
    page.get_by_label("Drop a file anywhere on this page").set_input_files(file)
    page.wait_for_url("**/#/data/new*")
    expect(page.get_by_text("toys.csv").first).to_be_visible()


def test_a_dropped_file_reaches_the_data_page(page):
    page.goto("/")
    page.get_by_role("heading", name="Bring a file").wait_for()
    files = page.evaluate_handle("""() => {
        const files = new DataTransfer();
        files.items.add(new File(["a,b,class\\n1,0,yes\\n0,1,no\\n"], "dropped.csv", {type: "text/csv"}));
        return files;
    }""")
    page.dispatch_event("main", "dragover", {"dataTransfer": files})
    expect(page.get_by_text("Release the file here")).to_be_visible()
    page.dispatch_event("main", "drop", {"dataTransfer": files})
    page.wait_for_url("**/#/data/new*")
    expect(page.get_by_text("dropped.csv").first).to_be_visible()


def test_an_id_or_a_link_opens_by_keyboard(page, service):
    job = service.job(**{"train": {"learner": {"name": "perceptron"}, "data": {"labelled": {"examples": [
        {"x": "10", "y": 1}, {"x": "01", "y": -1}]}}}})
    model = job["result"]["model"]
    wanted = {f"  {job['id']} ": f"#/jobs/{job['id']}", model: f"#/models/{model}",
              f"{service.address}/?x#/jobs/{job['id']}?tab=trace": f"#/jobs/{job['id']}"}
    for text, place in wanted.items():
        page.goto("/#/")
        page.get_by_label("Id or link").fill(text)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{place}")
        page.go_back()
    page.get_by_label("Id or link").fill("my job")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This text contains no id.")).to_be_visible()
    expect(page).to_have_url(re.compile("#/$"))


def test_home_shows_running_jobs_live(page, service, see):
    page.goto("/")
    running = page.get_by_role("region", name="Running and waiting")
    job = service.post("/v1/jobs", LONG_TRAINING, prefer="wait=0")
    try:
        link = running.get_by_role("link", name="Long training")
        expect(link).to_have_attribute("href", f"#/jobs/{job['id']}")
        expect(running.get_by_role("progressbar", name="Progress of Long training")).to_be_visible()
        expect(page.get_by_role("link", name="job running")).to_have_attribute("href", "#/jobs?status=running")
        see("home-running")
    finally:
        service.post(f"/v1/jobs/{job['id']}/cancel")
    ended = page.get_by_role("region", name="Recently ended").get_by_role("listitem").filter(has=page.get_by_text("Long training"))
    expect(ended.get_by_text("cancelled", exact=True)).to_be_visible()
    expect(link).to_have_count(0)


def test_home_of_a_new_service(page, own_service, see):
    page.goto(own_service.address)
    expect(page.get_by_text("No job has ended yet.")).to_be_visible()
    expect(page.get_by_text("No job runs or waits.")).to_be_visible()
    sample(page, "Parity of n bits").get_by_text("About these data").click()
    see("home-new")
