"""The dashboard: Grafana's schema, expressions that parse, and metrics that exist."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from conftest import OBSERVABILITY

DASHBOARD = json.loads((OBSERVABILITY / "dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]


@pytest.fixture(scope="module")
def schema(pytestconfig) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads(Path(pytestconfig.getoption("--dashboard-schema")).read_text()))


def test_the_dashboard_fits_the_schema(schema):
    assert [error.message for error in schema.iter_errors(DASHBOARD)] == []
    for place, value in [("gridPos", {"h": "8", "w": 8, "x": 0, "y": 0}), ("fieldconfig", {}), ("title", 1)]:
        broken = copy.deepcopy(DASHBOARD)
        broken["panels"][1][place] = value
        assert list(schema.iter_errors(broken)), place


def test_panels_have_ids_texts_and_places_of_their_own():
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert len({panel["title"] for panel in PANELS}) == len(PANELS) >= 30
    cells = [(x, y) for panel in DASHBOARD["panels"] for place in [panel["gridPos"]]
             for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])]
    assert len(set(cells)) == len(cells) and max(x for x, _ in cells) < 24
    for panel in PANELS:
        assert panel["description"].endswith(".") and panel["fieldConfig"]["defaults"]["unit"], panel["title"]


def expressions() -> list[str]:
    return [target["expr"] for panel in PANELS for target in panel["targets"]]


def parsed(promtool, folder: Path, found: list[str]):
    """Lets promtool read the expressions as rules."""
    rules = [{"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
             for number, expression in enumerate(found)]
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    return promtool("check", "rules", file)


def test_dashboard_expressions_parse(promtool, tmp_path):
    assert (result := parsed(promtool, tmp_path, expressions())).returncode == 0, result.stdout
    assert parsed(promtool, tmp_path, [*expressions(), "sum by (le"]).returncode != 0


def test_dashboard_expressions_use_existing_metrics_and_labels(check_expression):
    for expression in expressions():
        check_expression(expression)
        assert 'job="halfspace", namespace=~"$namespace", instance=~"$instance"' in expression
    for broken in ["halfspace_queue_depht", "sum by (tsk) (halfspace_queue_depth)", 'halfspace_queue_depth{tsk="a"}']:
        with pytest.raises(AssertionError):
            check_expression(broken)


def test_every_documented_metric_has_a_panel(check_expression, labels):
    """The metrics of the process come from a library, and nobody needs all of them."""
    shown = set().union(*(check_expression(expression) for expression in expressions()))
    assert {name for name in labels if name.startswith("halfspace_")} - shown == set()
