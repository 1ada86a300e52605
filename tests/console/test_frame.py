"""The frame of the console: first load, policy, theme, menu, pages that do not exist."""

import gzip
import urllib.request

MENU = ["Home", "Data", "Train", "Jobs", "Compare", "Models", "Playground", "Experiments", "Operation"]
TRANSFER_BYTES_MAX = 150 * 1024


def test_each_page_opens_by_its_link(page):
    page.goto("/")
    for name in MENU:
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()
        page.locator("h1").wait_for()
        assert page.locator("a[aria-current=page]").inner_text() == name


def test_the_first_load_is_small(page, service):
    loaded = []
    page.on("response", lambda answer: loaded.append(answer))
    page.goto("/")
    page.locator("h1").wait_for()
    files = [answer for answer in loaded if "/v1/" not in answer.url]
    sizes = {answer.url: answer.request.sizes()["responseBodySize"] for answer in files}
    assert len(files) > 10
    assert all(answer.header_value("content-encoding") == "gzip" for answer in files if len(answer.body()) > 1024)
    assert sum(sizes.values()) <= TRANSFER_BYTES_MAX, sizes


def test_the_api_document_is_loaded_once(page):
    loads = []
    page.on("request", lambda sent: loads.append(sent.url) if sent.url.endswith("/openapi.json") else None)
    page.goto("/#/operation?tab=limits")
    limits = page.get_by_text("Depth of nested arrays")
    limits.wait_for()
    page.get_by_role("link", name="State", exact=True).click()
    page.get_by_role("heading", name="Health").wait_for()
    page.get_by_role("link", name="Limits", exact=True).click()
    limits.wait_for()
    assert len(loads) == 1


def test_files_are_asked_for_again_but_sent_once(service):
    address = f"{service.address}/console/console.mjs"
    request = urllib.request.Request(address, headers={"accept-encoding": "gzip"})
    with urllib.request.urlopen(request) as answer:
        tag, policy = answer.headers["etag"], answer.headers["content-security-policy"]
        assert b"render" in gzip.decompress(answer.read())
        assert answer.headers["cache-control"] == "no-cache"
    assert "unsafe-" not in policy and "default-src 'self'" in policy
    again = urllib.request.Request(address, headers={"if-none-match": tag})
    try:
        urllib.request.urlopen(again)
        raise AssertionError("the file was sent again")
    except urllib.error.HTTPError as answer:
        assert answer.code == 304


def test_the_theme_is_kept(page):
    page.goto("/")
    page.get_by_role("button", name="Dark theme").click()
    page.reload()
    page.get_by_role("button", name="Light theme").wait_for()
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_a_page_that_does_not_exist_says_so(page, see):
    page.goto("/#/nowhere")
    page.get_by_role("heading", name="There is no such page").wait_for()
    see("no-page")


def test_the_console_works_below_a_path(request, browser, look):
    from conftest import Service, watched

    service = Service(request.config.getoption("--program"), "--base-path", "/learn/here")
    try:
        page = browser.new_page()
        faults: list[str] = []
        watched(page, faults, may_fail=False)
        outside = []
        page.on("request", lambda sent: outside.append(sent.url) if "/learn/here/" not in sent.url else None)
        page.goto(f"{service.address}/learn/here/")
        page.get_by_role("link", name="Jobs", exact=True).click()
        page.locator("h1").wait_for()
        page.close()
        assert (faults, outside) == ([], [])
    finally:
        service.stop()
