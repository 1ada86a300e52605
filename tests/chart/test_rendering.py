"""The objects fit the schemas of Kubernetes and of the custom resources, and wrong values are refused."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import helm_python
import kubernetes_validate
import pytest
import yaml

from conftest import CHART, NAMES, ROOT

# The oldest supported and the newest known version.
KUBERNETES = ["1.30", "1.37"]
MODELS = {
    "ScaledObject": "@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject",
    "TriggerAuthentication": "@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication",
    "ServiceMonitor": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor",
    "PrometheusRule": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule",
}


def test_the_linter_of_helm_finds_no_fault():
    found = helm_python.lint(CHART, {"image": {"repository": "registry.example/halfspace"}})
    assert "ERROR" not in json.dumps(found) and "WARNING" not in json.dumps(found), found


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("name", NAMES)
def test_objects_fit_the_schemas_of_kubernetes(renderings, name, version):
    checked = [found for found in renderings[name].objects if found["kind"] not in MODELS]
    assert len(checked) >= 8
    for found in checked:
        kubernetes_validate.validate(found, version, strict=True)
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(found | {"specification": {}}, version, strict=True)


def custom_resources(objects: list[dict], tools: Path) -> str:
    """The faults of custom resources: wrong values, and fields that their types do not have."""
    folder = tools / "crds"
    folder.mkdir(exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    imports = [f'import {{ {kind}, type I{kind} }} from "{path}";' for kind, path in MODELS.items()]
    checks = [f"const found{number}: I{found['kind']} = {json.dumps(found)};\n"
              f"new {found['kind']}(found{number}).validate();" for number, found in enumerate(objects)]
    (folder / "objects.ts").write_text("\n".join([*imports, *checks]))
    compiled = subprocess.run([tools / "node_modules/.bin/tsc", "--strict", "--skipLibCheck", "--module", "nodenext",
                               "--target", "es2022", "objects.ts"], cwd=folder, text=True, capture_output=True)
    if compiled.returncode != 0:
        return compiled.stdout
    run = subprocess.run(["node", "objects.js"], cwd=folder, text=True, capture_output=True)
    return run.stderr if run.returncode else ""


@pytest.fixture(scope="module")
def tools(pytestconfig) -> Path:
    return Path(pytestconfig.getoption("--tools"))


def test_custom_resources_fit_their_types_and_schemas(renderings, tools):
    found = [each for rendering in renderings.values() for each in rendering.of_kind(*MODELS)]
    assert {each["kind"] for each in found} == set(MODELS)
    assert custom_resources(found, tools) == ""


@pytest.mark.parametrize("fault, reason", [
    ({"pollInterval": 15}, "pollInterval"), ({"maxReplicaCount": "many"}, "string"), ({"triggers": [{}]}, "metadata")])
def test_faults_of_custom_resources_are_found(renderings, tools, fault, reason):
    scaled = renderings["keda"].one("ScaledObject", "demo-halfspace-worker")
    assert reason in custom_resources([scaled | {"spec": scaled["spec"] | fault}], tools)


@pytest.mark.parametrize("name, overrides, place", [
    ("embedded", {"embedded": {"replicas": 2}}, "replicas"),
    ("embedded", {"replicas": 2}, "replicas"),
    ("embedded", {"replicaCount": 2}, "replicaCount"),
    ("embedded", {"api": {"autoscaling": {"enabled": True}}}, "autoscaling"),
    ("embedded", {"worker": {"keda": {"enabled": True, "existingSecret": "keda"}}}, "keda"),
    ("embedded", {"mode": "cluster"}, "database"),
    ("embedded", {"mode": "single"}, "mode"),
    ("embedded", {"podSecurityContext": {"runAsUser": 0}}, "runAsUser"),
    ("embedded", {"image": {"digest": "sha256:1"}}, "digest"),
    ("embedded", {"settings": {"HALFSPACE_DATABASE_URL": "postgres://u:p@h/d"}}, "HALFSPACE_DATABASE_URL"),
    ("embedded", {"settings": {"HALFSPACE_CALLBACK_SECRET": "whsec_"}}, "HALFSPACE_CALLBACK_SECRET"),
    ("embedded", {"settings": {"LOG": "debug"}}, "LOG"),
    ("embedded", {"embedded": {"resources": {"limits": None}}}, "limits"),
    ("embedded", {"ingress": {"tlsSecret": ""}}, "tlsSecret"),
    ("embedded", {"networkPolicy": {"clients": []}}, "clients"),
    ("embedded", {"terminationGracePeriodSeconds": 5}, "terminationGracePeriodSeconds"),
    ("cluster", {"database": {"existingSecret": ""}}, "existingSecret"),
    ("cluster", {"database": {"url": "postgres://u:p@h/d"}}, "url"),
    ("cluster", {"blobs": {"url": "file:///blobs"}}, "url"),
    ("cluster", {"blobs": {"secretAccessKey": "secret"}}, "secretAccessKey"),
    ("cluster", {"blobs": {"allowHttp": True}}, "allowHttp"),
    ("cluster", {"networkPolicy": {"database": []}}, "database"),
    ("keda", {"worker": {"keda": {"existingSecret": ""}}}, "existingSecret"),
    ("keda", {"worker": {"keda": {"minReplicas": 0}}}, "minReplicas"),
    ("keda", {"worker": {"podDisruptionBudget": {"maxUnavailable": 0}}}, "maxUnavailable"),
])
def test_wrong_chart_values_are_refused_with_their_path(render, name, overrides, place):
    with pytest.raises(helm_python.HelmError, match=place):
        render(name, overrides)


def test_an_image_must_be_named(render):
    with pytest.raises(helm_python.HelmError, match="name the registry and the repository"):
        render("embedded", {"image": {"repository": ""}})


def test_every_value_has_a_schema_and_a_comment_or_a_parent_with_one():
    schema = json.loads((CHART / "values.schema.json").read_text())

    def check(values: dict, node: dict, path: str) -> None:
        while "$ref" in node:
            node = schema["definitions"][node["$ref"].rsplit("/", 1)[1]]
        assert node.get("additionalProperties") is not True, path
        for key, value in values.items():
            if "properties" not in node:
                continue
            assert key in node["properties"], f"{path}{key} has no schema"
            if isinstance(value, dict):
                check(value, node["properties"][key], f"{path}{key}.")

    text = (CHART / "values.yaml").read_text()
    check(yaml.safe_load(text), schema, "")
    blocks = re.split(r"\n\n", text)
    assert all("#" in block for block in blocks)


def test_no_secret_is_rendered(render):
    for name in NAMES:
        rendering = render(name, {"settings": {"HALFSPACE_LOG": "debug"}})
        assert not rendering.of_kind("Secret")
        for component, template in rendering.pods():
            for variable in template["spec"]["containers"][0]["env"]:
                if re.search("DATABASE_URL|PASSWORD|SECRET|ACCESS_KEY|TOKEN", variable["name"]):
                    assert variable["name"].endswith("_FILE"), component
                    assert variable["value"].startswith("/etc/halfspace/secrets/"), component
        assert "HALFSPACE_LOG\n" in rendering.text


def test_object_names_and_labels_fit_and_are_unique(render):
    long = render("cluster", {"fullnameOverride": "a-name-of-a-release-that-is-longer-than-the-usual-ones"})
    for rendering in [long, *map(render, NAMES)]:
        names = [(found["kind"], found["metadata"]["name"]) for found in rendering.objects]
        assert len(set(names)) == len(names)
        assert all(len(name) <= 63 for _, name in names)
        for found in rendering.objects:
            assert found["metadata"]["labels"]["app.kubernetes.io/instance"] == "demo", found["metadata"]["name"]


def test_the_version_is_the_version_of_the_program():
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == cargo


def test_alerts_and_dashboard_are_those_of_the_repository(renderings):
    rules = renderings["cluster"].one("PrometheusRule", "demo-halfspace")["spec"]
    assert rules == yaml.safe_load((ROOT / "deploy/observability/alerts.yaml").read_text())
    data = renderings["embedded"].one("ConfigMap", "demo-halfspace-dashboard")["data"]
    assert data["halfspace.json"] == (ROOT / "deploy/observability/dashboard.json").read_text()


def test_chart_notes_name_existing_objects(renderings):
    for name, kind, target in [("embedded", "StatefulSet", "demo-halfspace"),
                               ("cluster", "Deployment", "demo-halfspace-api")]:
        assert f"{kind.lower()}/{target} -- halfspace keys create" in renderings[name].notes
        renderings[name].one(kind, target)
    renderings["keda"].one("Service", "demo-halfspace")
    assert "service/demo-halfspace 8080:80" in renderings["keda"].notes
