"""An HTTP client for a running service that needs only urllib.

The script that imports it gets the address of the service as its first argument.
"""

import json
import sys
import urllib.error
import urllib.request

ADDRESS = sys.argv[1].rstrip("/")
SECONDS_MAX = 60

# The service is on this machine, so requests must not use a proxy.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(method, path, body=None, media_type=None, headers=None):
    """Sends a request. Returns the status and the document of the response."""
    headers = dict(headers or {})
    if media_type is not None:
        headers["content-type"] = media_type
    request = urllib.request.Request(ADDRESS + path, data=body, method=method, headers=headers)
    try:
        with OPENER.open(request, timeout=SECONDS_MAX) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.loads(refusal.read())


def expect(status, method, path, body=None, media_type=None, headers=None):
    """Sends a request whose response must have this status. Returns the document."""
    found, document = call(method, path, body, media_type, headers)
    assert found == status, f"{method} {path}: {found} {document}"
    return document


def train(learner, body, media_type, query):
    """Trains on a body of data and waits for the end. Returns the result of the job."""
    path = f"/v1/learners/{learner}/train?{query}"
    job = expect(200, "POST", path, body, media_type, {"prefer": "wait=30"})
    assert job["status"] == "succeeded", job
    return job["result"]
