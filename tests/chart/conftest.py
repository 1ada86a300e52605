"""The rendered chart: Helm's own library renders each value file, with overrides of a test."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import helm_python
import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/helm/halfspace"
VALUES = ROOT / "deploy/helm/values"
NAMES = ["embedded", "cluster", "keda"]
# Kinds that make pods, with the path to the pod.
POD_KINDS = ("Deployment", "StatefulSet", "Job")


def pytest_addoption(parser):
    parser.addoption("--program", required=True, help="the program under test")
    parser.addoption("--tools", required=True, help="folder with node_modules of the models of custom resources")


@dataclass
class Rendering:
    objects: list[dict]
    text: str
    notes: str

    def of_kind(self, *kinds: str) -> list[dict]:
        return [found for found in self.objects if found["kind"] in kinds]

    def one(self, kind: str, name: str) -> dict:
        found = [each for each in self.of_kind(kind) if each["metadata"]["name"] == name]
        assert len(found) == 1, f"{kind} {name}: {len(found)}"
        return found[0]

    def pods(self) -> Iterator[tuple[str, dict]]:
        """The component and the template of each kind of pod."""
        for found in self.of_kind(*POD_KINDS):
            template = found["spec"]["template"]
            yield template["metadata"]["labels"]["app.kubernetes.io/component"], template


def merged(values: dict, overrides: dict) -> dict:
    """The values with overrides, as `--values` after `--values` merges them."""
    result = copy.deepcopy(values)
    for key, value in overrides.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


@pytest.fixture(scope="session")
def render() -> Iterator[Callable[..., Rendering]]:
    """Renders a value file with overrides. Raises an error of Helm if the schema refuses the values."""
    with helm_python.Chart.load(CHART) as chart:
        def run(name: str, overrides: dict | None = None) -> Rendering:
            values = merged(yaml.safe_load((VALUES / f"{name}.yaml").read_text()), overrides or {})
            chart.validate_schema(values)
            files = chart.render(values, name="demo", namespace="learning", is_install=True)
            notes = files.pop("halfspace/templates/NOTES.txt")
            text = "\n---\n".join(files.values())
            return Rendering([found for found in yaml.safe_load_all(text) if found], text, notes)
        yield run


@pytest.fixture(scope="session")
def renderings(render) -> dict[str, Rendering]:
    return {name: render(name) for name in NAMES}


def matches(selector: dict, labels: dict[str, str]) -> bool:
    """Whether a label selector of Kubernetes selects these labels."""
    for expression in selector.get("matchExpressions", []):
        listed = labels.get(expression["key"]) in expression["values"]
        if listed != {"In": True, "NotIn": False}[expression["operator"]]:
            return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
