"""The page Operation: health, the queue and the processes, the key and its use, sessions, limits."""

import re

import pytest
from playwright.sync_api import expect

from test_home import LONG_TRAINING

NOT_FOUND = {"type": "/problems/not-found", "title": "The resource does not exist", "status": 404,
             "detail": "There is no such path.", "instance": "/", "code": "not-found", "request_id": "req_1", "errors": []}


def fact(page, name):
    return page.locator("dl > div").filter(has_text=re.compile(f"^{name}")).locator("dd")


def test_operation_page_shows_health_and_version(page, service):
    page.goto("/#/operation")
    expect(fact(page, "Alive")).to_have_text("yes")
    expect(fact(page, "Ready for work")).to_have_text("yes")
    expect(fact(page, "Version")).to_have_text(service.get("/version")["version"])
    expect(page.get_by_role("link", name="Metrics")).to_have_attribute("href", f"{service.address}/metrics")
    expect(page.get_by_text("This service is open to everybody.")).to_be_visible()


def test_operation_page_shows_the_queue_and_the_processes(page, own_service, see):
    workers = own_service.get("/v1/workers")["items"][0]["workers"]
    jobs = [own_service.post("/v1/jobs", LONG_TRAINING, prefer="wait=0")["id"] for _ in range(workers + 2)]
    try:
        page.goto(f"{own_service.address}/#/operation")
        queue = page.get_by_role("region", name="Queue", exact=True)
        expect(fact(queue, "Waiting")).to_have_text("2")
        expect(fact(queue, "Running")).to_have_text(str(workers))
        row = queue.get_by_role("row").filter(has=page.get_by_role("rowheader", name="everybody"))
        expect(row.get_by_role("cell")).to_have_text(["2", str(workers), "0"])
        waiting = page.get_by_role("region", name="Your waiting jobs").get_by_role("link", name="Long training")
        expect(waiting).to_have_count(2)
        assert {link.get_attribute("href") for link in waiting.all()} <= {f"#/jobs/{job}" for job in jobs}
        processes = page.get_by_role("region", name="The processes of the service")
        expect(processes.get_by_role("cell", name=f"{workers} of {workers}")).to_be_visible()
        see("operation")
    finally:
        for job in jobs:
            own_service.post(f"/v1/jobs/{job}/cancel")
    expect(fact(queue, "Waiting")).to_have_text("0")
    expect(page.get_by_text("No job waits.")).to_be_visible()


@pytest.mark.faults
def test_operation_page_shows_a_stopping_service_as_not_ready(page):
    stopping = {**NOT_FOUND, "status": 503, "title": "The service is not ready", "detail": "The process stops.", "code": "not-ready"}
    page.route("**/readyz", lambda route: route.fulfill(status=503, json=stopping, content_type="application/problem+json"))
    page.goto("/#/operation")
    expect(fact(page, "Ready for work")).to_have_text("no")
    expect(page.get_by_text("The process stops.")).to_be_visible()
    page.unroute("**/readyz")
    expect(fact(page, "Ready for work")).to_have_text("yes")


def test_operation_page_says_that_no_process_computes(page):
    page.route("**/v1/workers", lambda route: route.fulfill(json={"items": [], "next_cursor": None}))
    page.goto("/#/operation")
    expect(page.get_by_text("No process computes jobs.")).to_be_visible()


def test_use_near_a_limit_is_a_warning(page, limited, see):
    service = limited("--sessions-max", "2")
    for _ in range(2):
        service.post("/v1/sessions", {"learner": {"name": "perceptron"}, "n": 3})
    page.goto(f"{service.address}/#/operation")
    expect(page.get_by_text("2 of 2", exact=True)).to_be_visible()
    expect(page.get_by_text("100 % used")).to_be_visible()
    see("operation-full")


def test_sessions_are_listed_and_deleted_by_keyboard(page, own_service, see):
    kept, other = (own_service.post("/v1/sessions", {"learner": {"name": name}, "n": 4})["id"] for name in ("winnow", "perceptron"))
    own_service.post(f"/v1/sessions/{kept}/examples", {"labelled": {"examples": [{"x": "1100", "y": 1}]}})
    page.goto(f"{own_service.address}/#/operation?tab=sessions")
    rows = page.get_by_role("region", name="Sessions, newest first").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="winnow").get_by_role("cell").nth(3)).to_have_text("1")
    see("operation-sessions")
    rows.filter(has_text="perceptron").get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("Delete the session of perceptron with 0 examples?")
    question.get_by_role("button", name="Keep").press("Enter")
    expect(question).to_have_count(0)
    delete = rows.filter(has_text="perceptron").get_by_role("button", name="Delete")
    expect(delete).to_be_focused()
    delete.press("Enter")
    question.get_by_role("button", name="Delete").press("Enter")
    expect(rows).to_have_count(2)
    assert [session["id"] for session in own_service.get("/v1/sessions")["items"]] == [kept] != [other]
    own_service.send("DELETE", f"/v1/sessions/{kept}")
    expect(page.get_by_text("There is no session.")).to_be_visible()
    see("operation-no-sessions")


def test_limits_are_searched_and_the_search_stands_in_the_url(page, service, see):
    page.goto("/#/operation")
    page.get_by_role("link", name="Limits").click()
    rows = page.get_by_role("region", name="Limits", exact=True).get_by_role("row")
    numbers = [name for name, value in service.get("/v1/limits").items() if isinstance(value, (int, float))]
    expect(rows).to_have_count(len(numbers) + 1)
    see("operation-limits")
    page.get_by_label("Search the limits").fill("nested arrays")
    expect(rows).to_have_count(2)
    page.reload()
    expect(page.get_by_label("Search the limits")).to_have_value("nested arrays")
    expect(rows.nth(1)).to_have_text(re.compile("^json_depth_max.*Depth of nested arrays and objects.*32", re.DOTALL))
    page.get_by_label("Search the limits").fill("<b>none")
    expect(page.get_by_text("No limit contains “<b>none”.")).to_be_visible()
