"""Tries extreme values for every number of every route and of every field of a JSON body.

The numbers come from the OpenAPI document, so new parameters are tried without a change here. Every answer must come
within 5 s and must not be a defect, every accepted job must end, and all the while new connections that ask for
`/livez` must be answered within 100 ms. Prints the number of requests, the longest answer, and the times of `/livez`.

usage: sweep.py ADDRESS [--long]. The service should have `--seconds-max 0.2`. Each value is first tried alone, and then
some pairs of numbers are tried together, or all of them with `--long`.
"""

import copy
import http.client
import itertools
import json
import multiprocessing
import random
import sys
import time
import urllib.parse

import liveness
from extreme_values import is_decimal, is_number, values

SECONDS_MAX = 5
PAIRS = 1500
JOBS_END_WITHIN = 120
CSV = b"a,b,class\n1.5,2,1\n0.5,3,0\n2.5,1,1\n3.5,0,0\n"

address = urllib.parse.urlsplit(sys.argv[1])
is_long = "--long" in sys.argv[2:]


class Number:
    """A number in a JSON document with its exact text."""

    def __init__(self, text):
        self.text = text


def text_of(document):
    """Writes a JSON document with its numbers as they stand."""
    numbers = []

    def mark(value):
        numbers.append(value.text)
        return f"\0{len(numbers) - 1}\0"

    text = json.dumps(document, default=mark)
    for index, number in enumerate(numbers):
        text = text.replace(f'"\\u0000{index}\\u0000"', number)
    return text.encode()


class Client:
    """Sends requests over one connection and keeps the longest answer."""

    def __init__(self):
        self.connection = None
        self.requests, self.longest, self.failures = 0, (0.0, ""), []
        self.statuses = {}

    def send(self, method, path, body=None, headers=None):
        """Returns the status and the bytes of the answer, or None."""
        self.requests += 1
        begun = time.monotonic()
        told = f"{method} {path[:200]} {(body or b'')[:300]!r}"
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(address.netloc, timeout=SECONDS_MAX)
            self.connection.request(method, path, body, headers or {})
            answer = self.connection.getresponse()
            status, content = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection = None
            self.failures.append(f"{error!r}: {told}")
            return None
        seconds = time.monotonic() - begun
        self.longest = max(self.longest, (seconds, told))
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if seconds > SECONDS_MAX or status == 500:
            self.failures.append(f"{status} after {seconds:.1f} s: {told} {content[:300]!r}")
        return status, content

    def json(self, method, path, document=None, body=None, media_type="application/json"):
        """Sends a request that must succeed. Returns the document."""
        body = body if document is None else json.dumps(document).encode()
        answer = self.send(method, path, body, {"content-type": media_type})
        assert answer and answer[0] < 300, f"{method} {path}: {answer}"
        return json.loads(answer[1] or b"null")


def probe(stop, times):
    """Asks for /livez until the end, and passes on how long the answers took."""
    times.put(liveness.probe(sys.argv[1], stop))


class Document:
    """The OpenAPI document: instances of its schemas, and the numbers in them."""

    def __init__(self, document):
        self.document = document

    def resolve(self, schema):
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].split("/")[-1]]
        return schema

    def choices(self, schema):
        """Returns the alternatives of a schema."""
        schema = self.resolve(schema)
        parts = [part for name in ("oneOf", "anyOf") for part in schema.get(name, [])]
        return [choice for part in parts for choice in self.choices(part)] or [schema]

    def instance(self, schema, depth=0):
        """Returns a small instance of a schema."""
        schema = self.resolve(schema)
        for name in ("example", "default", "const"):
            if name in schema:
                return copy.deepcopy(schema[name])
        if "enum" in schema:
            return schema["enum"][0]
        if "oneOf" in schema or "anyOf" in schema:
            found = [part for part in self.choices(schema) if part.get("type") != "null"]
            return self.instance(found[0], depth + 1)
        kinds = schema.get("type", "object")
        kind = kinds if isinstance(kinds, str) else kinds[0]
        if kind == "object" and depth < 8:
            properties = schema.get("properties", {})
            return {name: self.instance(properties[name], depth + 1) for name in schema.get("required", [])}
        if kind == "array" and depth < 8:
            return [self.instance(schema.get("items", {}), depth + 1)] * max(1, schema.get("minItems", 1))
        if kind == "integer":
            return max(1, schema.get("minimum", 1))
        return {"number": 0.5, "boolean": True, "string": "1", "null": None}.get(kind)

    def numbers(self, schema, place=(), seen=()):
        """Yields the place and the schema of every number. A place is a list of steps: an object and its member."""
        for choice in self.choices(schema):
            if is_number(choice) or is_decimal(choice):
                yield place, choice
            if id(choice) in seen:
                continue
            inner = (*seen, id(choice))
            for name, member in choice.get("properties", {}).items():
                yield from self.numbers(member, (*place, (choice, name)), inner)
            if isinstance(choice.get("items"), dict):
                yield from self.numbers(choice["items"], (*place, (choice, 0)), inner)

    def planted(self, base, place, number):
        """Returns a body with the number at a place. Objects of another kind on the way are replaced."""
        if not place:
            return number
        (schema, name), rest = place[0], place[1:]
        if name == 0:
            if not isinstance(base, list) or not base:
                base = [self.instance(schema["items"])]
            return [self.planted(base[0], rest, number), *base[1:]]
        if not self.fits(base, schema):
            base = self.instance(schema)
        base = dict(base) if isinstance(base, dict) else {}
        base[name] = self.planted(base.get(name), rest, number)
        return base

    def fits(self, value, schema):
        """Tells whether an object may be an instance of a schema."""
        if not isinstance(value, dict):
            return False
        properties = schema.get("properties", {})
        if any(name not in value for name in schema.get("required", [])):
            return False
        for name, member in value.items():
            if name not in properties:
                return False
            allowed = self.resolve(properties[name]).get("enum")
            if allowed and member not in allowed:
                return False
        return True


class Field:
    """One number of an operation: of its query, its headers or its body."""

    def __init__(self, kind, name, schema, place=()):
        self.kind, self.name, self.schema, self.place = kind, name, schema, place


def operations(document, things):
    """Yields the method, the path, the base requests and the numbers of every operation."""
    for path, methods in document.document["paths"].items():
        for method, operation in methods.items():
            if method not in ("get", "post"):
                continue
            fields, query = [], {}
            for parameter in operation.get("parameters", []):
                schema = document.choices(parameter["schema"])
                of_number = [part for part in schema if is_number(part) or is_decimal(part)]
                if parameter["in"] in ("query", "header") and of_number:
                    fields.append(Field(parameter["in"], parameter["name"], of_number[0]))
                if parameter.get("required") and parameter["in"] == "query":
                    query[parameter["name"]] = str(parameter.get("example", document.instance(parameter["schema"])))
            content = operation.get("requestBody", {}).get("content", {})
            bodies = []
            if "application/json" in content:
                own = content["application/json"]
                examples = [one["value"] for one in own.get("examples", {}).values()]
                bodies = [own["example"]] if "example" in own else examples
                for place, schema in document.numbers(own["schema"]):
                    name = ".".join(str(step[1]) for step in place)
                    fields.append(Field("body", name, schema, place))
            names = [name for name, kind in ((p["name"], p["in"]) for p in operation.get("parameters", [])) if kind == "path"]
            filled = path
            for name in names:
                filled = filled.replace("{" + name + "}", things.get((path.split("/")[2], name), things.get(name, "1")))
            yield method.upper(), filled, query, bodies, fields, "text/csv" in content


def requests_of(document, operation, chosen):
    """Yields the requests of an operation with some of its numbers set."""
    method, path, query, bodies, _, takes_csv = operation
    # A training waits for its end, which may be behind other jobs.
    query, headers = dict(query), {"prefer": "wait=1"}
    of_body = []
    for field, text in chosen:
        if field.kind == "query":
            query[field.name] = text
        elif field.kind == "header":
            headers[field.name] = text
        else:
            of_body.append((field, text))
    encoded = path + "?" + urllib.parse.urlencode(query) if query else path
    for base in bodies if of_body else bodies[:1] or [None]:
        if of_body and len(bodies) > 1 and of_body[0][0].place[0][1] not in base:
            continue
        body = base
        for field, text in of_body:
            number = text if is_decimal(field.schema) else Number(text)
            body = document.planted(body, field.place, number)
        if body is None:
            yield method, encoded, None, headers
        else:
            yield method, encoded, text_of(body), {**headers, "content-type": "application/json"}
    if takes_csv and not of_body:
        labelled = encoded + ("&" if query else "?") + "labels=class"
        yield method, labelled, CSV, {**headers, "content-type": "text/csv"}


def learner_requests(client):
    """Yields trainings with extreme values of each learner's own parameters."""
    examples = [{"x": f"{row:05b}", "y": row % 2} for row in range(1, 20)]
    for learner in client.json("GET", "/v1/learners")["items"]:
        parameters = learner["parameters"].get("properties", {})
        for name, schema in parameters.items():
            if not (is_number(schema) or is_decimal(schema)):
                continue
            for text in values(schema):
                value = text if is_decimal(schema) else Number(text)
                path = name.split(".")
                params = {path[0]: value} if len(path) == 1 else {path[0]: {path[1]: value}}
                spec = {"name": learner["name"], "params": params}
                data = {"labelled": {"examples": examples}}
                body = text_of({"train": {"data": data, "learner": spec, "seed": 1}})
                yield "POST", "/v1/jobs", body, {"content-type": "application/json"}


def made_things(client):
    """Makes one thing of each kind, so that the routes of existing things are reached."""
    query = "labels=class&numbers=thermometer&trace=true&seed=1"
    job = client.json("POST", f"/v1/learners/perceptron/train?{query}", body=CSV, media_type="text/csv")
    dataset = client.json("POST", "/v1/datasets?labels=class&numbers=thermometer", body=CSV, media_type="text/csv")
    session = client.json("POST", "/v1/sessions", {"learner": {"name": "perceptron"}, "n": 3})
    return {
        ("jobs", "id"): job["id"],
        ("models", "id"): job["result"]["model"],
        ("datasets", "id"): dataset["id"],
        ("sessions", "id"): session["id"],
        ("learners", "name"): "perceptron",
        ("samples", "name"): "dnf",
        "code": "schema",
        "figure": "cover-figure-1",
        "version": "1",
    }


def jobs_ended(client):
    """Waits until every job has ended. Returns those that have not, and those that failed by a defect."""
    deadline = time.monotonic() + JOBS_END_WITHIN
    while time.monotonic() < deadline:
        left = [job for status in ("queued", "running") for job in client.json("GET", f"/v1/jobs?status={status}")["items"]]
        if not left:
            break
        time.sleep(0.2)
    failures = [f"the job has not ended: {json.dumps(job)[:600]}" for job in left]
    cursor = ""
    while cursor is not None:
        page = client.json("GET", f"/v1/jobs?status=failed&limit=100{cursor}")
        for job in page["items"]:
            if (job.get("error") or {}).get("code") == "internal":
                failures.append(f"the job failed by a defect: {json.dumps(job)[:600]}")
        cursor = page["next_cursor"] and f"&cursor={page['next_cursor']}"
    return failures


def sweep(client, document, things):
    """Sends all requests."""
    everything = [(operation, field) for operation in operations(document, things) for field in operation[4]]
    for operation, field in everything:
        for text in values(field.schema):
            for request in requests_of(document, operation, [(field, text)]):
                client.send(*request)
    for request in learner_requests(client):
        client.send(*request)
    print(f"alone: {len(everything)} numbers, {client.requests} requests", flush=True)
    for operation, fields in itertools.islice(pairs(document, things), None if is_long else PAIRS):
        for request in requests_of(document, operation, fields):
            client.send(*request)


def pairs(document, things):
    """Yields an operation with values for two of its numbers: all pairs, or drawn ones without an end."""
    found = [operation for operation in operations(document, things) if len(operation[4]) > 1]
    if is_long:
        for operation in found:
            for fields in itertools.combinations(operation[4], 2):
                for texts in itertools.product(*(values(field.schema) for field in fields)):
                    yield operation, list(zip(fields, texts))
        return
    drawn = random.Random(1)
    while True:
        operation = drawn.choice(found)
        fields = drawn.sample(operation[4], 2)
        yield operation, [(field, drawn.choice(values(field.schema))) for field in fields]


def main():
    stop, times = multiprocessing.Event(), multiprocessing.Queue()
    prober = multiprocessing.Process(target=probe, args=(stop, times))
    prober.start()
    client = Client()
    try:
        document = Document(client.json("GET", "/openapi.json"))
        sweep(client, document, made_things(client))
        client.failures += jobs_ended(client)
    finally:
        stop.set()
        taken = times.get()
        prober.join()
    seconds, told = client.longest
    print(f"{client.requests} requests, statuses {dict(sorted(client.statuses.items()))}")
    print(f"longest answer {seconds * 1000:.0f} ms: {told[:200]}")
    is_live = liveness.told(taken)
    for failure in client.failures[:20]:
        print(f"FAILED {failure}")
    assert not client.failures, f"{len(client.failures)} failures"
    assert is_live, "/livez was too slow"


if __name__ == "__main__":
    main()
