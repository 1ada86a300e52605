"""The mixed load: each function is one task of a client, from the creation of things to their deletion.

Together the tasks call every operation of the OpenAPI document. Each task deletes what it made, so the store stays
small and a growth of memory has no excuse.
"""

import asyncio
import json
import random
import struct
import time

from client import JOB_SECONDS_MAX, Client

ENDED = {"succeeded", "failed", "cancelled"}
N = 9


def label(x: str) -> int:
    """The majority of the first nine features, so that a half-space exists."""
    return 1 if x.count("1") * 2 > len(x) else -1


def rows(chance: random.Random, count: int) -> list[dict]:
    xs = [format(chance.getrandbits(N), f"0{N}b") for _ in range(count)]
    return [{"x": x, "y": label(x)} for x in xs]


def labelled(examples: list[dict]) -> dict:
    return {"labelled": {"examples": examples}}


def generated(n: int, **more) -> dict:
    return {"generated": {"n": n, "target": {"binary_weights": {}}, "sampling": "uniform-positive", **more}}


async def ended(client: Client, job: str) -> dict:
    deadline = time.monotonic() + JOB_SECONDS_MAX
    while time.monotonic() < deadline:
        answer = await client.get("/v1/jobs/{id}", id=job, headers={"prefer": "wait=20"})
        document = answer.json()
        if document["status"] in ENDED:
            return document
    raise client.counts.fail(f"job {job} did not end in {JOB_SECONDS_MAX} s")


async def submitted(client: Client, body: dict) -> str:
    return (await client.post("/v1/jobs", data=body)).json()["id"]


async def succeeded(client: Client, job: str) -> dict:
    document = await ended(client, job)
    if document["status"] != "succeeded":
        raise client.counts.fail(f"job {job}: {document['status']} {document.get('error')}")
    return document


async def training(client: Client) -> None:
    """A training whose client waits, and every use of its model."""
    seed = client.chance.randrange(40)
    data = labelled(rows(random.Random(seed), 60))
    answer = await client.post(
        "/v1/learners/{name}/train", name="perceptron", data=data, query={"seed": str(seed), "trace": "true"}
    )
    job = await succeeded(client, answer.json()["id"])
    result = json.dumps(job["result"]["hypothesis"])
    if client.counts.results.setdefault(f"perceptron {seed}", result) != result:
        raise client.counts.fail(f"seed {seed} gave two results")
    await client.get("/v1/jobs/{id}/trace", id=job["id"])
    model = job["result"]["model"]
    document = (await client.get("/v1/models/{id}", id=model)).json()
    await uses(client, model)
    await inference(client, model)
    copy = (await client.post("/v1/models", data=document)).json()["id"]
    await client.delete("/v1/jobs/{id}", id=job["id"])
    for each in {model, copy}:
        await client.delete("/v1/models/{id}", id=each)


async def uses(client: Client, model: str) -> None:
    examples = rows(client.chance, 40)
    answer = await client.post("/v1/models/{id}/predict", id=model, data=labelled(examples))
    if len(answer.json()["predictions"]) != len(examples):
        raise client.counts.fail("predict: an answer of another length")
    lines = "".join(json.dumps(row) + "\n" for row in examples).encode()
    await client.post(
        "/v1/models/{id}/predict", id=model, body=lines, headers={"content-type": "application/x-ndjson"}
    )
    await client.post("/v1/models/{id}/evaluate", id=model, data=labelled(examples))
    await client.get("/v1/models/{id}/explanation", id=model)
    await client.get("/v1/models/{id}/explanation", id=model, query={"format": "svg"})
    await client.get("/v1/models/{id}/code", id=model, query={"language": "python"})
    await client.get("/v1/models/{id}/weights.npy", id=model)
    await client.get("/v1/models/{id}/receipt", id=model)


async def inference(client: Client, model: str) -> None:
    bits = [client.chance.getrandbits(1) for _ in range(20 * N)]
    tensor = {"name": "x", "datatype": "UINT8", "shape": [20, N]}
    json_body = {"inputs": [{**tensor, "data": bits}]}
    head = {"inputs": [{**tensor, "parameters": {"binary_data_size": len(bits)}}]}
    head_bytes = json.dumps(head).encode()
    binary = {
        "content-type": "application/octet-stream",
        "inference-header-content-length": str(len(head_bytes)),
    }
    for route in ("/v2/models/{id}/infer", "/v2/models/{id}/versions/{version}/infer"):
        answer = await client.post(route, id=model, version="1", data=json_body)
        again = await client.post(
            route, id=model, version="1", body=head_bytes + struct.pack(f"{len(bits)}B", *bits), headers=binary
        )
        if outputs(answer) != outputs(again):
            raise client.counts.fail(f"{route}: the binary form has another answer")
    for route in ("/v2/models/{id}", "/v2/models/{id}/ready"):
        await client.get(route, id=model)
        await client.get(route.replace("{id}", "{id}/versions/{version}"), id=model, version="1")


def outputs(answer) -> object:
    length = answer.headers.get("inference-header-content-length")
    head = answer.body[: int(length)] if length else answer.body
    return json.loads(head)["outputs"]


async def dataset(client: Client) -> None:
    examples = rows(client.chance, client.chance.choice([50, 500, 5000]))
    if client.chance.random() < 0.5:
        kind = "text/csv"
        head = "y," + ",".join(f"f{number}" for number in range(N)) + "\n"
        body = head + "".join(f"{max(row['y'], 0)},{','.join(row['x'])}\n" for row in examples)
    else:
        kind = "application/x-ndjson"
        body = "".join(json.dumps(row) + "\n" for row in examples)
    headers = {"content-type": kind}
    await client.post("/v1/previews", body=body.encode(), headers=headers)
    stored = (await client.post("/v1/datasets", body=body.encode(), headers=headers)).json()
    if stored["examples"] != len(examples):
        raise client.counts.fail(f"a dataset of {stored['examples']} instead of {len(examples)} examples")
    await client.get("/v1/datasets/{id}", id=stored["id"])
    form = client.chance.choice(["json", "ndjson", "csv", "libsvm"])
    await client.get("/v1/datasets/{id}/examples", id=stored["id"], query={"format": form, "limit": "100"})
    learner = {"name": "perceptron", "params": {"order": "shuffled"}}
    job = await submitted(client, {"train": {"learner": learner, "data": {"dataset": stored["id"]}, "seed": 1}})
    document = await succeeded(client, job)
    await client.delete("/v1/jobs/{id}", id=job)
    await client.delete("/v1/models/{id}", id=document["result"]["model"])
    await client.delete("/v1/datasets/{id}", id=stored["id"])


async def session(client: Client) -> None:
    opened = await client.post("/v1/sessions", data={"learner": {"name": "perceptron"}, "n": N, "seed": 7})
    name = opened.json()["id"]
    position = 0
    for batch in range(3):
        position = await learn(client, name, position, rows(client.chance, 30), as_stream=batch > 0)
        xs = [row["x"] for row in rows(client.chance, 10)]
        await client.post("/v1/sessions/{id}/predict", id=name, data={"unlabelled": {"examples": xs}})
    found = (await client.get("/v1/sessions/{id}", id=name)).json()["position"]
    if found != position:
        raise client.counts.fail(f"session {name} is at {found} instead of {position}")
    model = (await client.post("/v1/sessions/{id}/model", id=name)).json()["id"]
    await client.delete("/v1/models/{id}", id=model)
    await client.delete("/v1/sessions/{id}", id=name)


async def learn(client: Client, name: str, position: int, examples: list[dict], as_stream: bool) -> int:
    """Teaches the examples, each of them once. After a lost answer the position tells how many were learnt."""
    target = position + len(examples)
    while position < target:
        left = examples[position - target :]
        headers = {"if-match": f'"{position}"'}
        more: dict = {"data": labelled(left)}
        if as_stream:
            headers["content-type"] = "application/x-ndjson"
            more = {"body": lambda left=left: slowly(left)}
        answer = await client.post(
            "/v1/sessions/{id}/examples", id=name, headers=headers, after_loss={412}, **more
        )
        if as_stream and answer.status == 200 and b'"code"' in answer.body.rpartition(b"\n{")[2]:
            raise client.counts.fail(f"a session's stream ended with {answer.body[-300:]!r}")
        position = (await client.get("/v1/sessions/{id}", id=name)).json()["position"]
    return position


async def slowly(examples: list[dict]):
    for row in examples:
        yield json.dumps(row).encode() + b"\n"
        await asyncio.sleep(0.005)


async def parts(client: Client) -> None:
    """Jobs with parts and the other tasks, followed by their events."""
    data = labelled(rows(client.chance, 40))
    learner = {"name": "perceptron"}
    train = {"data": data, "learner": learner, "seed": 7}
    over = {"learner.params.order": ["cyclic", "shuffled"], "seed": [1, 2]}
    bodies = [
        {"compare": {"data": data, "folds": 2, "learners": [learner, {"name": "pocket"}], "seed": 7}},
        {"grid": {"over": over, "train": train}},
        {"separability": {"data": data}},
        {"maximum_margin": {"data": data}},
        {"version_space": {"data": data}},
    ]
    job = await submitted(client, client.chance.choice(bodies))
    await client.follow(job)
    await succeeded(client, job)
    await discard(client, job)


async def figure(client: Client) -> None:
    params = {"dimensions": [5], "points_per_dimension": [1.0, 2.0], "runs": 20}
    answer = await client.post("/v1/experiments/{figure}", figure="cover-figure-1", data={"params": params, "seed": 7})
    job = answer.json()["id"]
    await succeeded(client, job)
    for form in ("json", "svg", "csv"):
        await client.get("/v1/jobs/{id}/figure", id=job, query={"format": form})
    await client.delete("/v1/jobs/{id}", id=job)


async def events(client: Client) -> None:
    train = {"learner": {"name": "directed-drift"}, "data": generated(201), "seed": client.chance.randrange(9)}
    job = await submitted(client, {"train": {**train, "stop": {"max_examples": 100_000}}})
    kinds = await client.follow(job)
    if kinds[-1] != "result":
        raise client.counts.fail(f"events of {job}: {kinds}")
    await discard(client, job)


async def cancellation(client: Client) -> None:
    job = await submitted(client, long_training(client, 600))
    # A repeated request finds the job cancelled.
    await client.post("/v1/jobs/{id}/cancel", id=job, after_loss={409})
    document = await ended(client, job)
    if document["status"] != "cancelled":
        raise client.counts.fail(f"job {job}: {document['status']} after a cancellation")
    await discard(client, job)


def long_training(client: Client, seconds: float) -> dict:
    train = {"learner": {"name": "directed-drift"}, "data": generated(401), "seed": client.chance.randrange(1000)}
    return {"train": {**train, "stop": {"max_seconds": seconds}}}


async def long_job(client: Client) -> None:
    """A training of 20 seconds of computing. The short jobs of the other tasks go first."""
    job = await submitted(client, long_training(client, 20))
    deadline = time.monotonic() + 1800
    while time.monotonic() < deadline:
        answer = await client.get("/v1/jobs/{id}", id=job, headers={"prefer": "wait=50"})
        if answer.json()["status"] in ENDED:
            break
    await succeeded(client, job)
    await discard(client, job)


async def discard(client: Client, job: str) -> None:
    document = (await client.get("/v1/jobs/{id}", id=job)).json()
    await client.delete("/v1/jobs/{id}", id=job)
    if model := (document.get("result") or {}).get("model"):
        await client.delete("/v1/models/{id}", id=model)


async def constructions(client: Client) -> None:
    bodies = {
        "kernel-perceptron-adversary": {"n": 20, "seed": 7, "size": 2},
        "winnow-counting": {"at_least": 3, "clauses": [[1, 2]], "variables": 2},
        "monotone-cnf": {"satisfying": 5, "variables": 3},
    }
    for name, body in bodies.items():
        await client.post(f"/v1/constructions/{name}", data=body)


def reading(document: dict):
    """Makes a task that calls one operation of the OpenAPI document that needs no thing: a list, a formula, a probe."""
    calls = []
    for route, operations in document["paths"].items():
        parameters = operations.get("get", {}).get("parameters", [])
        if "get" not in operations or "{id}" in route:
            continue
        needed = [parameter for parameter in parameters if parameter.get("required")]
        query = {each["name"]: str(each["example"]) for each in needed if each["in"] == "query"}
        path = {each["name"]: each["example"] for each in needed if each["in"] == "path"}
        calls.append((route, query, path))

    async def read(client: Client) -> None:
        for route, query, path in client.chance.sample(calls, 5):
            await client.get(route, query=query, **path)

    return read


# Each task with its share of the load.
SHARES = [
    (training, 6),
    (dataset, 4),
    (session, 4),
    (parts, 3),
    (events, 3),
    (cancellation, 2),
    (figure, 1),
    (constructions, 1),
]
