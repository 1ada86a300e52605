"""The NetworkPolicies: everything is denied except the traffic that the service needs."""

import pytest

from conftest import NAMES, Rendering, matches

DNS = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
MONITORING = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
DATABASE, BUCKET = {"ipBlock": {"cidr": "10.1.2.3/32"}}, {"ipBlock": {"cidr": "0.0.0.0/0"}}
NAMESPACE = {"podSelector": {}}


def allowed(rendering: Rendering, component: str, direction: str) -> dict[tuple[str, str | int], list[dict]] | None:
    """The peers of a pod by protocol and port; None if no policy isolates the pod in this direction."""
    labels = dict(rendering.pods())[component]["metadata"]["labels"]
    isolated, result = False, {}
    for policy in rendering.of_kind("NetworkPolicy"):
        spec = policy["spec"]
        if not matches(spec["podSelector"], labels) or direction not in spec["policyTypes"]:
            continue
        isolated = True
        peers = {"Ingress": "from", "Egress": "to"}[direction]
        for rule in spec.get(direction.lower(), []):
            # A rule without peers or ports permits everything.
            assert rule.get(peers) and rule.get("ports"), policy["metadata"]["name"]
            for port in rule["ports"]:
                found = result.setdefault((port["protocol"], port["port"]), [])
                found += [peer for peer in rule[peers] if peer not in found]
    return result if isolated else None


@pytest.mark.parametrize("name", NAMES)
def test_every_pod_is_isolated_in_both_directions(render, name):
    rendering = render(name)
    for component, _ in rendering.pods():
        for direction in ("Ingress", "Egress"):
            assert allowed(rendering, component, direction) is not None, (component, direction)
    # One policy alone denies everything, whatever the others permit.
    spec = rendering.one("NetworkPolicy", "demo-halfspace")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"] and not {"ingress", "egress"} & set(spec)
    assert all(matches(spec["podSelector"], template["metadata"]["labels"]) for _, template in rendering.pods())
    off = render(name, {"networkPolicy": {"enabled": False}})
    assert all(allowed(off, component, "Egress") is None for component, _ in off.pods())


def test_network_policies_of_the_cluster_allow_only_needed_traffic(renderings):
    cluster = renderings["cluster"]
    clients = [NAMESPACE, {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}}]
    assert allowed(cluster, "api", "Ingress") == {("TCP", "http"): clients, ("TCP", "ops"): [MONITORING]}
    # Nobody sends requests to a worker.
    assert allowed(cluster, "worker", "Ingress") == {("TCP", "ops"): [MONITORING]}
    for component in ("api", "worker"):
        egress = allowed(cluster, component, "Egress")
        assert egress[("UDP", 53)] == egress[("TCP", 53)] == [DNS]
        assert egress[("TCP", 5432)] == [DATABASE]
        assert BUCKET in egress[("TCP", 443)]
        assert set(egress) == {("UDP", 53), ("TCP", 53), ("TCP", 5432), ("TCP", 443), ("TCP", 80)}
    egress = allowed(cluster, "migrate", "Egress")
    assert egress == {("UDP", 53): [DNS], ("TCP", 53): [DNS], ("TCP", 5432): [DATABASE]}


def test_callbacks_reach_the_internet_but_no_private_network(render):
    on = {"callbacks": {"existingSecret": "callbacks", "allow": ["10.9.0.0/16"], "ports": [8443]}}
    for name, component in [("keda", "api"), ("embedded", "embedded")]:
        assert ("TCP", 80) not in allowed(render(name), component, "Egress")
        peers = allowed(render(name, on), component, "Egress")[("TCP", 8443)]
        public = next(peer["ipBlock"] for peer in peers if peer["ipBlock"]["cidr"] == "0.0.0.0/0")
        assert {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"} <= set(public["except"])
        assert {"ipBlock": {"cidr": "10.9.0.0/16"}} in peers
        assert ("UDP", 53) in allowed(render(name, on), component, "Egress")


def test_network_policy_of_the_embedded_pod_forbids_egress(renderings):
    assert allowed(renderings["embedded"], "embedded", "Egress") == {}
    assert allowed(renderings["embedded"], "embedded", "Ingress") == {
        ("TCP", "http"): [NAMESPACE], ("TCP", "ops"): [MONITORING]}


def test_the_migration_may_reach_the_database_before_the_chart_is_installed(renderings):
    policy = renderings["cluster"].one("NetworkPolicy", "demo-halfspace-migrate")
    job = renderings["cluster"].one("Job", "demo-halfspace-migrate")
    notes = policy["metadata"]["annotations"], job["metadata"]["annotations"]
    assert all(note["helm.sh/hook"] == "pre-install,pre-upgrade" for note in notes)
    assert int(notes[0]["helm.sh/hook-weight"]) < int(notes[1]["helm.sh/hook-weight"])
    # Alone, as before the first installation.
    only = Rendering([policy, job], "", "")
    assert set(allowed(only, "migrate", "Egress")) == {("UDP", 53), ("TCP", 53), ("TCP", 5432)}


def test_network_policies_do_not_select_other_pods(renderings):
    for policy in renderings["cluster"].of_kind("NetworkPolicy"):
        selector = policy["spec"]["podSelector"]
        assert not matches(selector, {"app.kubernetes.io/name": "halfspace", "app.kubernetes.io/instance": "other"})
        assert not matches(selector, {"app.kubernetes.io/name": "postgresql", "app.kubernetes.io/instance": "demo"})


@pytest.mark.parametrize("name", NAMES)
def test_network_policy_allows_traces_to_the_collector_only(render, name):
    peer = {"podSelector": {"matchLabels": {"app": "collector"}}}
    endpoint = "http://collector.tracing:4318"
    rendering = render(name, {"traces": {"endpoint": endpoint}, "networkPolicy": {"collector": [peer]}})
    for component, template in rendering.pods():
        variables = {each["name"]: each.get("value") for each in template["spec"]["containers"][0]["env"]}
        is_traced = component != "migrate"
        assert variables.get("OTEL_EXPORTER_OTLP_ENDPOINT") == (endpoint if is_traced else None), component
        assert (allowed(rendering, component, "Egress").get(("TCP", 4318)) == [peer]) == is_traced, component
    with pytest.raises(Exception, match="collector"):
        render(name, {"traces": {"endpoint": endpoint}})
