"""The pods: the restricted Pod Security Standard, probes, termination, resources and settings of the program."""

import copy
import re

import pytest

from conftest import NAMES, ROOT

# Seconds from SIGTERM to the end: five to return jobs to the queue, three to close connections.
DRAIN_SECONDS = 5 + 3
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
UNITS = {"": 1, "m": 1e-3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def restricted_faults(pod: dict) -> list[str]:
    """The rules of the restricted Pod Security Standard that a pod breaks."""
    faults = [f"hostX: {key}" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.get(key)]
    faults += [f"volume {volume['name']}" for volume in pod.get("volumes", []) if not VOLUMES & set(volume)]
    of_pod = pod.get("securityContext", {})
    for container in [*pod["containers"], *pod.get("initContainers", []), *pod.get("ephemeralContainers", [])]:
        own = container.get("securityContext", {})
        both = of_pod | own
        rules = {
            "privileged": not own.get("privileged"),
            "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
            "runAsNonRoot": both.get("runAsNonRoot") is True,
            "runAsUser": both.get("runAsUser") != 0,
            "seccompProfile": both.get("seccompProfile", {}).get("type") in ("RuntimeDefault", "Localhost"),
            "capabilities.drop": "ALL" in own.get("capabilities", {}).get("drop", []),
            "capabilities.add": set(own.get("capabilities", {}).get("add", [])) <= {"NET_BIND_SERVICE"},
            "procMount": own.get("procMount", "Default") == "Default",
            "seLinuxOptions": not {"user", "role"} & set(both.get("seLinuxOptions", {})),
            "appArmor": both.get("appArmorProfile", {"type": "RuntimeDefault"})["type"] != "Unconfined",
            "windowsOptions": not both.get("windowsOptions", {}).get("hostProcess"),
            "hostPort": not any(port.get("hostPort") for port in container.get("ports", [])),
            "probeHost": not any((container.get(probe) or {}).get("httpGet", {}).get("host") for probe in
                                 ("startupProbe", "readinessProbe", "livenessProbe")),
        }
        faults += [rule for rule, holds in rules.items() if not holds]
    faults += ["sysctls"] if of_pod.get("sysctls") else []
    return faults


@pytest.mark.parametrize("name", NAMES)
def test_pods_are_restricted(renderings, name):
    pods = dict(renderings[name].pods())
    assert set(pods) == ({"embedded"} if name == "embedded" else {"api", "worker", "migrate"})
    for component, template in pods.items():
        pod = template["spec"]
        assert restricted_faults(pod) == [], component
        # Rules of the chart beyond the standard.
        assert pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
        writable = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]
                    if not mount.get("readOnly")}
        assert writable == {"data": "/data", "tmp": "/tmp"}
    accounts = renderings[name].of_kind("ServiceAccount")
    assert all(account["automountServiceAccountToken"] is False for account in accounts)


@pytest.mark.parametrize("path, value, fault", [
    (("hostNetwork",), True, "hostX: hostNetwork"),
    (("volumes", 0), {"name": "root", "hostPath": {"path": "/"}}, "volume root"),
    (("securityContext", "runAsNonRoot"), False, "runAsNonRoot"),
    (("securityContext", "runAsUser"), 0, "runAsUser"),
    (("securityContext", "seccompProfile"), {"type": "Unconfined"}, "seccompProfile"),
    (("securityContext", "sysctls"), [{"name": "kernel.shm_rmid_forced", "value": "1"}], "sysctls"),
    (("containers", 0, "securityContext", "privileged"), True, "privileged"),
    (("containers", 0, "securityContext", "allowPrivilegeEscalation"), True, "allowPrivilegeEscalation"),
    (("containers", 0, "securityContext", "capabilities"), {}, "capabilities.drop"),
    (("containers", 0, "securityContext", "capabilities", "add"), ["NET_RAW"], "capabilities.add"),
    (("containers", 0, "securityContext", "procMount"), "Unmasked", "procMount"),
    (("containers", 0, "ports", 0, "hostPort"), 8080, "hostPort"),
])
def test_restricted_faults_finds_each_broken_pod(renderings, path, value, fault):
    pod = copy.deepcopy(dict(renderings["cluster"].pods())["api"]["spec"])
    place = pod
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert restricted_faults(pod) == [fault]


def test_pods_run_as_any_user_and_group(render):
    for component, template in render("keda").pods():
        context = template["spec"]["securityContext"]
        assert not {"runAsUser", "runAsGroup", "fsGroup"} & set(context), component
        secrets = [volume for volume in template["spec"]["volumes"] if volume["name"] == "secrets"]
        # Without a group of the pod, only a file that all users may read is readable.
        assert secrets[0]["projected"]["defaultMode"] == 0o444
    own = {"podSecurityContext": {"runAsUser": 1000690000, "runAsGroup": 0o7, "fsGroup": 1000690000}}
    for component, template in render("cluster", own).pods():
        assert template["spec"]["securityContext"]["runAsUser"] == 1000690000
        assert template["spec"]["securityContext"]["fsGroup"] == 1000690000
        assert [volume["projected"]["defaultMode"] for volume in template["spec"]["volumes"]
                if volume["name"] == "secrets"] == [0o440]


@pytest.mark.parametrize("name", NAMES)
def test_probes_ask_the_operations_port(renderings, name):
    for component, template in renderings[name].pods():
        container = template["spec"]["containers"][0]
        if component == "migrate":
            continue
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        variables = {variable["name"]: variable["value"] for variable in container["env"]}
        assert variables["HALFSPACE_OPS_LISTEN"] == f"0.0.0.0:{ports['ops']}"
        assert variables["HALFSPACE_LISTEN"] == f"0.0.0.0:{ports['http']}"
        for probe, path in [("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/livez")]:
            assert container[probe]["httpGet"] == {"path": path, "port": "ops"}, (component, probe)
        start = container["startupProbe"]
        assert start["periodSeconds"] * start["failureThreshold"] >= 300


@pytest.mark.parametrize("name", NAMES)
def test_pods_have_time_to_end(renderings, name):
    for component, template in renderings[name].pods():
        pod = template["spec"]
        if component != "migrate":
            before = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
            assert 1 <= before and before + 2 * DRAIN_SECONDS <= pod["terminationGracePeriodSeconds"]


def quantity(text: str) -> float:
    number, unit = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", text).groups()
    return float(number) * UNITS[unit]


@pytest.mark.parametrize("name", NAMES)
def test_resources_have_requests_and_limits_and_volumes_fit(renderings, name):
    for component, template in renderings[name].pods():
        container = template["spec"]["containers"][0]
        limits, requests = container["resources"]["limits"], container["resources"]["requests"]
        assert set(limits) == set(requests) == {"cpu", "memory", "ephemeral-storage"}
        assert all(quantity(requests[key]) <= quantity(limits[key]) for key in limits)
        # The process uses 70 % of the memory and needs 128 MiB.
        assert 0.7 * quantity(limits["memory"]) >= 128 * 2**20
        volumes = template["spec"]["volumes"]
        sizes = [quantity(volume["emptyDir"]["sizeLimit"]) for volume in volumes if "emptyDir" in volume]
        assert sum(sizes) <= quantity(limits["ephemeral-storage"]), component
        variables = {variable["name"]: variable["value"] for variable in container["env"]}
        if "HALFSPACE_BLOB_CACHE_BYTES_MAX" in variables:
            # The cache holds the largest blob and leaves space for uploads.
            assert 4 * 2**30 <= int(variables["HALFSPACE_BLOB_CACHE_BYTES_MAX"]) <= max(sizes) / 1.5


@pytest.mark.parametrize("name", NAMES)
def test_pod_variables_are_settings_of_the_program(renderings, name):
    table = (ROOT / "docs/reference/settings.md").read_text()
    settings = set(re.findall(r"^\| `--\S+` \| `(\w+)` \|", table, re.MULTILINE))
    assert "HALFSPACE_LISTEN" in settings
    for component, template in renderings[name].pods():
        for variable in template["spec"]["containers"][0]["env"]:
            assert variable["name"].removesuffix("_FILE") in settings, (component, variable["name"])


def test_pods_spread_over_nodes_and_zones(renderings):
    for component, template in renderings["cluster"].pods():
        spread = template["spec"].get("topologySpreadConstraints", [])
        assert bool(spread) == (component != "migrate")
        for constraint in spread:
            selected = constraint["labelSelector"]["matchLabels"]
            assert selected.items() <= template["metadata"]["labels"].items()
            assert selected["app.kubernetes.io/component"] == component


def test_the_embedded_pod_is_alone_with_its_volume(render):
    stateful = render("embedded").one("StatefulSet", "demo-halfspace")
    assert stateful["spec"]["replicas"] == 1
    claim = stateful["spec"]["volumeClaimTemplates"][0]
    assert claim["metadata"]["name"] == "data" and claim["spec"]["resources"]["requests"]["storage"] == "50Gi"
    assert stateful["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Retain"
    claims = {"existingClaim": "learnt", "backupClaim": "copies"}
    own = render("embedded", {"embedded": {"persistence": claims}}).one("StatefulSet", "demo-halfspace")
    assert "volumeClaimTemplates" not in own["spec"]
    volumes = {volume["name"]: volume for volume in own["spec"]["template"]["spec"]["volumes"]}
    assert volumes["data"]["persistentVolumeClaim"]["claimName"] == "learnt"
    assert volumes["backups"]["persistentVolumeClaim"]["claimName"] == "copies"
    mounts = own["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert {"name": "backups", "mountPath": "/backups"} in mounts
