"""The console in a browser: a service of its own, a page whose faults fail the test, and pictures of each page.

A test fails if the page reports an error, sends a request to another host, or breaks a rule of WCAG 2.1 AA.
"""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
WIDTHS = (1280, 360)
THEMES = ("light", "dark")
# Charts follow the width and the theme in the next frames.
FRAMES = """() => new Promise(done => {
    let left = 4;
    const frame = () => (left-- > 0 ? requestAnimationFrame(frame) : setTimeout(done));
    frame();
})"""
TIMEOUT = 15_000
# Tests of the long form fill the machine, also for the tests beside them, and a job of one lasts ten minutes.
LONG_TIMEOUT = 60_000
LONG_TEST_SECONDS = 1800


def pytest_addoption(parser):
    parser.addoption("--program", required=True, help="the program under test")
    parser.addoption("--tools", required=True, help="folder of axe-core; the pictures go here too")
    parser.addoption("--browser-path", default="/usr/bin/chromium")
    parser.addoption("--long", action="store_true", help="also run the tests of the long form")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: a test of the long form")
    config.addinivalue_line("markers", "faults: the test causes errors that the browser reports")
    expect.set_options(timeout=timeout_of(config))


def timeout_of(config) -> int:
    """Milliseconds that a test waits for the page."""
    return LONG_TIMEOUT if config.getoption("--long") else TIMEOUT


def pytest_collection_modifyitems(config, items):
    is_long = config.getoption("--long")
    mark = pytest.mark.timeout(LONG_TEST_SECONDS) if is_long else pytest.mark.skip(reason="the long form runs this test")
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(mark)


class Service:
    """A service on a free port with its own data. It ends with its input, also if the tests are killed."""

    def __init__(self, program: str, *arguments: str, port: int = 0):
        self.command = [program, "serve", "--stop-with-input", "--log", "warn", *arguments]
        if "--data-dir" not in arguments:
            self.command.append("--temporary")
        self.start(port)

    def start(self, port: int = 0) -> None:
        self.process = subprocess.Popen([*self.command, "--listen", f"127.0.0.1:{port}"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        first = self.process.stdout.readline()
        assert "http:" in first, f"the service did not start: {first!r}"
        self.address = "http:" + first.split("http:", 1)[1].strip()

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    def stop(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def restart(self) -> None:
        port = self.port
        self.stop()
        self.start(port)

    def send(self, method: str, path: str, body=None, media_type: str = "application/json", key: str = "", **headers: str):
        """Sends a request and returns the JSON of the answer."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None:
            headers["content-type"] = media_type
        if key:
            headers["authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=70) as answer:
            content = answer.read()
            is_json = "json" in answer.headers.get("content-type", "")
            return json.loads(content) if content and is_json else content

    def get(self, path: str, **headers: str):
        return self.send("GET", path, **headers)

    def post(self, path: str, body=None, **options):
        return self.send("POST", path, body, **options)

    def sample(self, name: str, query: str = "") -> dict:
        """Stores a sample as a dataset."""
        return self.post(f"/v1/datasets?name={name}", self.get(f"/v1/samples/{name}{query}"), media_type="text/csv")

    def job(self, wait: int = 60, **request) -> dict:
        """Submits a job and waits for its end."""
        return self.post("/v1/jobs", request, prefer=f"wait={wait}")


@pytest.fixture(scope="session")
def service(request) -> Iterator[Service]:
    """The service that most tests share."""
    service = Service(request.config.getoption("--program"))
    yield service
    service.stop()


@pytest.fixture
def own_service(request, tmp_path) -> Iterator[Service]:
    """A service for one test, which the test may stop and restart. The data outlive a restart."""
    service = Service(request.config.getoption("--program"), "--data-dir", str(tmp_path / "data"))
    yield service
    if service.process.poll() is None:
        service.stop()


@pytest.fixture
def limited(request):
    """A function that starts a service with limits."""
    services = []

    def start(*flags):
        services.append(Service(request.config.getoption("--program"), *flags))
        return services[-1]

    yield start
    for service in services:
        service.stop()


@pytest.fixture(scope="session")
def browser(request) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = request.config.getoption("--browser-path")
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


def watched(page: Page, faults: list[str], may_fail: bool) -> None:
    """Collects the faults of a page: errors of scripts, refused rules of the policy, requests to other hosts."""

    def said(message):
        if message.type == "error" and not (may_fail and "Failed to load resource" in message.text):
            faults.append(f"console: {message.text}")

    def requested(request):
        host = urlsplit(request.url)
        if host.scheme in ("http", "https") and host.hostname != "127.0.0.1":
            faults.append(f"request to another host: {request.url}")

    page.on("console", said)
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("request", requested)


@pytest.fixture
def page(request, browser, service) -> Iterator[Page]:
    """A page in a context of its own. The test fails if the page has a fault."""
    # Services stop after the page, whose requests they answer to the end.
    for name in {"own_service", "limited"}.intersection(request.fixturenames):
        request.getfixturevalue(name)
    context = browser.new_context(base_url=service.address, accept_downloads=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(timeout_of(request.config))
    page = context.new_page()
    faults: list[str] = []
    watched(page, faults, request.node.get_closest_marker("faults") is not None)
    yield page
    context.close()
    assert faults == []


class Look:
    """Looks at a page in both themes and both widths: takes the pictures and checks the rules of accessibility."""

    def __init__(self, tools: Path):
        self.folder = tools / "pictures"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.axe = (tools / "node_modules/axe-core/axe.min.js").read_text()

    def __call__(self, page: Page, name: str) -> None:
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)
                page.evaluate(FRAMES)
                page.screenshot(path=self.folder / f"{name}-{theme}-{width}.png", full_page=True)
                if width == WIDTHS[-1]:
                    # Only the contrast depends on the theme.
                    self.rules(page, f"{name} ({theme})", {"runOnly": AXE_RULES if theme == THEMES[0] else ["color-contrast"]})
            beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert beyond <= 0, f"{name} is {beyond} pixels wider than a window of {width}"
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 900})

    def rules(self, page: Page, name: str, options: dict) -> None:
        if not page.evaluate("typeof axe !== 'undefined'"):
            page.evaluate(self.axe)
        found = page.evaluate("options => axe.run({...options, resultTypes: ['violations']}).then(found => found.violations)", options)
        told = [f"{rule['id']}: {node['html'][:200]} — {node['failureSummary']}" for rule in found for node in rule["nodes"]]
        assert told == [], name


@pytest.fixture(scope="session")
def look(request) -> Look:
    return Look(Path(request.config.getoption("--tools")))


@pytest.fixture
def see(page, look):
    """Looks at the page of the test."""
    return lambda name: look(page, name)
