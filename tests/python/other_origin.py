"""A web page of another origin, in Chromium: python3 other_origin.py ADDRESS

The page sends each kind of request that a browser sends without a preflight (forms, images, requests of `no-cors`), and
requests with a preflight. None of them may change anything in the service. The service's own API reference must load
without an error under its policy.
"""

import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

from service import ADDRESS, SECONDS_MAX, call, expect

CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--enable-logging=stderr", "--log-level=0"]

TRAIN = {"train": {"learner": {"name": "perceptron"},
                   "data": {"labelled": {"examples": [{"x": "10", "y": 1}, {"x": "01", "y": -1}]}}}}

PAGE = """<!doctype html><title>another origin</title><iframe name="hidden"></iframe><script>
const service = %(service)s, job = %(job)s, model = %(model)s, train = %(train)s;
const told = [];
async function attempt(name, path, options) {
  try {
    const answer = await fetch(service + path, options);
    told.push([name, answer.type, answer.status]);
  } catch (error) {
    told.push([name, 'refused', 0]);
  }
}
(async () => {
  const simple = {method: 'POST', mode: 'no-cors'};
  await attempt('experiment', '/v1/experiments/fang-venkatesh-table-1', simple);
  await attempt('cancel', '/v1/jobs/' + job + '/cancel', simple);
  await attempt('job as text', '/v1/jobs', {...simple, body: train});
  await attempt('job as a form', '/v1/jobs', {...simple, body: new URLSearchParams({train})});
  await attempt('dataset', '/v1/datasets', {...simple, body: new Blob(['1,0\\n'], {type: 'text/plain'})});
  await attempt('job as JSON', '/v1/jobs',
    {method: 'POST', body: train, headers: {'content-type': 'application/json'}});
  await attempt('delete', '/v1/models/' + model, {method: 'DELETE'});
  await attempt('read', '/v1/models', {});
  const form = document.createElement('form');
  Object.assign(form, {method: 'post', target: 'hidden', action: service + '/v1/jobs/' + job + '/cancel'});
  document.body.append(form);
  form.submit();
  const image = new Image();
  image.src = service + '/v1/jobs/' + job;
  await new Promise(resolve => { image.onerror = image.onload = resolve; });
  await fetch('/told', {method: 'POST', body: JSON.stringify(told)});
})();
</script>"""


class Site(http.server.BaseHTTPRequestHandler):
    """The web site of the page. Its port makes it another origin."""

    page = b""
    told = None
    has_told = threading.Event()

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        Site.told = json.loads(body)
        self.send_response(204)
        self.end_headers()
        Site.has_told.set()

    def log_message(self, *_):
        pass


def things():
    """Everything that a page could create, change or delete."""
    lists = {kind: call("GET", f"/v1/{kind}")[1]["items"] for kind in ("jobs", "datasets", "models", "sessions")}
    for job in lists["jobs"]:
        # The job is running, so its progress changes.
        job.pop("progress")
    return lists


def main():
    long = {**TRAIN["train"], "learner": {"name": "directed-drift"},
            "data": {"generated": {"n": 401, "target": {"binary_weights": {}}, "sampling": "uniform-positive"}},
            "stop": {"max_seconds": 300}}
    job = expect(202, "POST", "/v1/jobs", json.dumps({"train": long}).encode(), "application/json")["id"]
    trained = expect(200, "POST", "/v1/jobs", json.dumps(TRAIN).encode(), "application/json", {"prefer": "wait=30"})
    while call("GET", f"/v1/jobs/{job}")[1]["status"] != "running":
        pass
    before = things()
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    Site.page = (PAGE % {"service": json.dumps(ADDRESS), "job": json.dumps(job), "train": json.dumps(json.dumps(TRAIN)),
                         "model": json.dumps(trained["result"]["model"])}).encode()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [*CHROMIUM, f"--user-data-dir={profile}", "--remote-debugging-port=0"]
        browser = subprocess.Popen([*command, f"http://127.0.0.1:{site.server_port}/"], stderr=subprocess.DEVNULL)
        try:
            assert Site.has_told.wait(SECONDS_MAX), "the page said nothing"
        finally:
            browser.terminate()
            browser.wait()
    assert len(Site.told) == 8, Site.told
    # A `no-cors` request hides the status from the page. Every other attempt fails.
    for name, kind, status in Site.told:
        assert kind in ("opaque", "refused") and status == 0, (name, kind, status)
    after = things()
    assert after == before, (before, after)
    # The same requests take effect without a page.
    expect(202, "POST", f"/v1/jobs/{job}/cancel")
    print(f"another origin: {len(Site.told) + 2} attempts of a page in Chromium changed nothing")

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        shown = pathlib.Path(profile, "docs.png")
        command = [*CHROMIUM, f"--user-data-dir={profile}", "--virtual-time-budget=20000", "--window-size=1200,900",
                   f"--screenshot={shown}", "--dump-dom", f"{ADDRESS}/docs/"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
        if len(sys.argv) > 2:
            shown.rename(sys.argv[2])
    assert "/v1/jobs" in ran.stdout, "the API reference shows no operation"
    errors = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    print("API reference: loaded in Chromium under its policy without an error")


main()
