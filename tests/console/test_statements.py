"""The statements that the console writes by itself: numbers that claim no more than they are, and the limits and defaults
of its forms, which are those of the API document."""

import re

import pytest

# Each form of the page Train with the schema of its request.
REQUESTS = {"train": "TrainRequest", "compare": "CompareRequest", "grid": "TrainRequest", "separability": "SeparabilityRequest",
            "maximum_margin": "MaximumMarginRequest", "version_space": "VersionSpaceRequest", "evaluate": "EvaluateRequest"}
# Defaults of the forms that say what happens instead of a value.
WORDS = {"none", "drawn"}


@pytest.fixture
def texts(page):
    """Calls a function of view/numbers.mjs."""
    page.goto("/#/operation")
    return lambda name, *given: page.evaluate("([name, given]) => import(`${location.origin}/console/view/numbers.mjs`).then((module) => module[name](...given))",
                                              [name, list(given)])


@pytest.mark.parametrize(("name", "given", "text"), [
    ("confidence", [0.95], "95 %"), ("confidence", [0.99], "99 %"), ("confidence", [0.29], "29 %"), ("confidence", [0.99995], "99.995 %"),
    ("confidence", [1 - 0.05 / 3], "98.333333 %"), ("confidence", [0.999999999999], "over 99.999999 %"), ("confidence", [1], "over 99.999999 %"),
    ("percent", [0], "0 %"), ("percent", [1], "100 %"), ("percent", [1e-6], "under 0.01 %"), ("percent", [0.999999], "over 99.99 %"),
    ("percent", [0.1234567], "12.35 %"), ("span", [0.40604, 0.52301], "40.6 % – 52.31 %"), ("span", [0, 1], "0 % – 100 %"), ("span", [0.29, 0.57], "29 % – 57 %"),
])
def test_statements_claim_no_more_than_their_numbers(texts, name, given, text):
    assert texts(name, *given) == text


def resolved(document: dict, schema: dict) -> dict:
    """A schema without references and without the choice of null."""
    while "$ref" in schema or "oneOf" in schema:
        found = schema.get("oneOf") and next(choice for choice in schema["oneOf"] if choice.get("type") != "null")
        schema = {**schema, **found} if found else {**document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]],
                                                     **{name: part for name, part in schema.items() if name != "$ref"}}
        schema.pop("oneOf", None) if found else None
    return schema


def test_the_forms_have_the_limits_and_defaults_of_the_api_document(page, service):
    document = service.get("/openapi.json")
    page.goto("/#/operation")
    tasks = page.evaluate("import(`${location.origin}/console/pages/train/tasks.mjs`).then(({ TASKS, JOB }) => ({ tasks: TASKS, job: JOB.properties }))")
    fields = [(task["name"], REQUESTS[task["name"]], name, field) for task in tasks["tasks"] for name, field in task["fields"].items()]
    fields += [("job", "JobRequest", name, field) for name, field in tasks["job"].items()]
    checked = 0
    for task, request, name, field in fields:
        told = resolved(document, document["components"]["schemas"][request]["properties"][name])
        for limit in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if limit in told or limit in field:
                assert field.get(limit) == told.get(limit), f"{task}.{name}: {limit}"
        default = field.get("default")
        if default is None or isinstance(default, bool) or default in WORDS:
            continue
        text = told.get("description", "")
        is_told = re.search(rf"(?<![\w.-]){re.escape(str(default).lower())}(?![\w-])", text.lower())
        assert told.get("default") == default or is_told, f"{task}.{name}: {default} in {text!r}"
        checked += 1
    assert checked >= 10
