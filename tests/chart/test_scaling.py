"""Services, scalers, disruption budgets and monitors select the pods that they name, and the migration comes first."""

import pytest

from conftest import NAMES, Rendering, matches


def selected(rendering: Rendering, selector: dict) -> set[str]:
    """The components of the pods that a selector selects."""
    return {component for component, template in rendering.pods() if matches(selector, template["metadata"]["labels"])}


@pytest.mark.parametrize("name", NAMES)
def test_controllers_and_budgets_select_their_own_pods(renderings, name):
    rendering = renderings[name]
    for found in rendering.of_kind("Deployment", "StatefulSet", "PodDisruptionBudget"):
        component = found["metadata"]["labels"]["app.kubernetes.io/component"]
        assert selected(rendering, found["spec"]["selector"]) == {component}, found["metadata"]["name"]
    budgets = {found["metadata"]["name"] for found in rendering.of_kind("PodDisruptionBudget")}
    # A budget of the only pod would block every drain.
    assert budgets == (set() if name == "embedded" else {"demo-halfspace-api", "demo-halfspace-worker"})


@pytest.mark.parametrize("name", NAMES)
def test_services_and_monitors_reach_their_pods(render, name):
    rendering = render(name, {"monitoring": {"serviceMonitor": {"enabled": True}}})
    service = rendering.one("Service", "demo-halfspace")
    answering = {"embedded": {"embedded"}}.get(name, {"api"})
    assert selected(rendering, {"matchLabels": service["spec"]["selector"]}) == answering
    ops = rendering.one("Service", "demo-halfspace-ops")
    computing = {"embedded": set()}.get(name, {"worker"})
    assert selected(rendering, {"matchLabels": ops["spec"]["selector"]}) - {"migrate"} == answering | computing
    monitor = rendering.one("ServiceMonitor", "demo-halfspace")["spec"]
    services = rendering.of_kind("Service")
    assert [found for found in services if matches(monitor["selector"], found["metadata"]["labels"])] == [ops]
    endpoint = monitor["endpoints"][0]
    port = next(port for port in ops["spec"]["ports"] if port["name"] == endpoint["port"])
    for found in rendering.of_kind("Service"):
        for _, template in [pod for pod in rendering.pods() if pod[0] in answering]:
            names = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
            assert {port["targetPort"] for port in found["spec"]["ports"]} <= names
    assert (endpoint["path"], port["targetPort"]) == ("/metrics", "ops")
    # The alerts select by job and component.
    assert {label["targetLabel"] for label in endpoint["relabelings"]} == {"job", "component"}


def test_a_scaler_sets_the_replicas_of_its_deployment(render, renderings):
    for name, kind, component in [("cluster", "HorizontalPodAutoscaler", "api"), ("keda", "ScaledObject", "worker")]:
        rendering = renderings[name]
        deployment = rendering.one("Deployment", f"demo-halfspace-{component}")
        target = rendering.of_kind(kind)[0]["spec"]["scaleTargetRef"]["name"]
        assert target == deployment["metadata"]["name"]
        # Each upgrade would undo the scaler otherwise.
        assert "replicas" not in deployment["spec"]
    assert renderings["keda"].one("Deployment", "demo-halfspace-api")["spec"]["replicas"] == 2
    assert renderings["cluster"].one("Deployment", "demo-halfspace-worker")["spec"]["replicas"] == 2
    fixed = render("keda", {"worker": {"keda": {"enabled": False}, "replicas": 5}})
    assert fixed.one("Deployment", "demo-halfspace-worker")["spec"]["replicas"] == 5


def test_keda_reads_the_address_from_its_secret(renderings):
    scaled = renderings["keda"].one("ScaledObject", "demo-halfspace-worker")["spec"]
    trigger = scaled["triggers"][0]
    login = renderings["keda"].one("TriggerAuthentication", trigger["authenticationRef"]["name"])["spec"]
    assert login["secretTargetRef"] == [{"parameter": "connection", "name": "halfspace-keda", "key": "connection"}]
    assert not {"connection", "password", "host"} & set(trigger["metadata"])
    worker = dict(renderings["keda"].pods())["worker"]["spec"]["containers"][0]
    jobs = next(variable["value"] for variable in worker["env"] if variable["name"] == "HALFSPACE_WORKERS")
    assert trigger["metadata"]["targetQueryValue"] == jobs


def test_the_migration_runs_before_the_chart_and_needs_nothing_of_it(renderings):
    job = renderings["cluster"].one("Job", "demo-halfspace-migrate")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"] == ["migrate"] and pod["restartPolicy"] == "Never"
    installed = {(found["kind"], found["metadata"]["name"]) for found in renderings["cluster"].objects
                 if "helm.sh/hook" not in found["metadata"].get("annotations", {})}
    needed = {("ServiceAccount", pod["serviceAccountName"])}
    for volume in pod["volumes"]:
        needed |= {("ConfigMap", volume.get("configMap", {}).get("name"))}
        needed |= {("Secret", source["secret"]["name"]) for source in volume.get("projected", {}).get("sources", [])}
    assert not needed & installed
    # The other pods take the same account from the chart.
    assert ("ServiceAccount", dict(renderings["cluster"].pods())["api"]["spec"]["serviceAccountName"]) in installed


def test_embedded_rendering_has_no_migration_job(renderings):
    assert not renderings["embedded"].of_kind("Job", "Deployment")


def test_the_ingress_leads_to_the_service(renderings):
    for name in ("embedded", "cluster"):
        ingress = renderings[name].one("Ingress", "demo-halfspace")["spec"]
        hosts = [rule["host"] for rule in ingress["rules"]]
        assert hosts == ingress["tls"][0]["hosts"] and ingress["tls"][0]["secretName"]
        for rule in ingress["rules"]:
            backend = rule["http"]["paths"][0]["backend"]["service"]
            service = renderings[name].one("Service", backend["name"])
            assert backend["port"]["name"] in {port["name"] for port in service["spec"]["ports"]}
