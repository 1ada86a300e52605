"""Prepares a Postman collection for newman: each request gets its own model, dataset, job or session, and a test that
the answer is a success."""

import json
import re
import sys
import urllib.request

SUCCESS = "pm.test('success', () => pm.expect(pm.response.code).to.be.within(200, 299));"
EXAMPLES = {"labelled": {"examples": [{"x": "110", "y": 1}, {"x": "001", "y": -1}, {"x": "011", "y": 1}]}}


class Service:
    """A service at an address."""

    def __init__(self, address: str) -> None:
        self.address = address

    def post(self, path: str, body: object) -> dict:
        headers = {"content-type": "application/json", "prefer": "wait=20"}
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def dataset(self) -> str:
        return self.post("/v1/datasets", {"data": EXAMPLES})["id"]

    def training(self) -> dict:
        return self.post("/v1/learners/perceptron/train?trace=true", EXAMPLES)

    def model(self) -> str:
        return self.training()["result"]["model"]

    def comparison(self) -> str:
        compare = {"data": EXAMPLES, "folds": 2, "learners": [{"name": "perceptron"}]}
        return self.post("/v1/jobs", {"compare": compare})["id"]

    def waiting(self) -> str:
        """A job that does not end by itself for a while."""
        data = {"generated": {"n": 1001, "target": {"binary_weights": {}}, "sampling": "uniform-positive"}}
        stop = {"max_seconds": 60, "max_examples": 10**12}
        train = {"learner": {"name": "directed-drift"}, "data": data, "stop": stop}
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.address + "/v1/jobs", json.dumps({"train": train}).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["id"]

    def session(self) -> str:
        return self.post("/v1/sessions", {"learner": {"name": "perceptron"}, "n": 3})["id"]

    def thing(self, kind: str, method: str, path: str) -> str:
        """A new thing of the kind that an id names."""
        if kind == "job":
            if path.endswith("cancel"):
                return self.waiting()
            return self.comparison() if path.endswith("figure") else self.training()["id"]
        return {"ds": self.dataset, "mdl": self.model, "ses": self.session}[kind]()


def prepare(item: dict, service: Service) -> None:
    request = item["request"]
    url = request["url"]
    path = "/".join(url["path"])

    def replace(match: re.Match) -> str:
        return service.thing(match[1], request["method"], path)

    request["url"] = json.loads(re.sub(r"\b(ds|mdl|job|ses)_[0-9a-f]{32}\b", replace, json.dumps(url)))
    body = request.get("body") or {}
    if "raw" in body:
        body["raw"] = re.sub(r"\b(ds|mdl|job|ses)_[0-9a-f]{32}\b", replace, body["raw"])
    item["event"] = [{"listen": "test", "script": {"type": "text/javascript", "exec": [SUCCESS]}}]


def main(source: str, target: str, address: str) -> None:
    with open(source) as file:
        collection = json.load(file)
    service = Service(address)
    pending, count = [collection], 0
    while pending:
        node = pending.pop()
        for item in node["item"]:
            if "item" in item:
                pending.append(item)
            else:
                prepare(item, service)
                count += 1
    collection["variable"] = [{"key": "baseUrl", "value": address}]
    with open(target, "w") as file:
        json.dump(collection, file)
    print(f"postman: {count} requests")


main(*sys.argv[1:4])
