"""What the manifests must say, beyond what schemas know. Reads one file of YAML that kustomize built.

PyYAML comes with kubernetes-validate, so this runs with the Python that has it.
"""

import sys

import yaml

STARTED = ("startupProbe", "/healthz", "http", "HTTPS")
LISTEN = {"keima-coordinator": ("KEIMA_LISTEN", "KEIMA_HTTP"), "keima-worker": ("KEIMA_WORKER_LISTEN", "KEIMA_WORKER_HTTP")}
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def size_bytes(text):
    """Bytes of a size of Kubernetes (`8Gi`) or keima (`7GiB`)."""
    digits = "".join(c for c in text if c.isdigit())
    return int(digits) * UNITS[text[len(digits):]]


def faults(objects):
    """All that is wrong, in words."""
    by_name = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    variables = {name[1].rsplit("-", 1)[0]: one["data"] for name, one in by_name.items() if name[0] == "ConfigMap"}
    for part in ("keima-coordinator", "keima-worker"):
        one = by_name["StatefulSet", part]
        pod = one["spec"]["template"]["spec"]
        container = pod["containers"][0]
        labels = one["spec"]["template"]["metadata"]["labels"]
        service = by_name["Service", one["spec"]["serviceName"]]
        ports = {port["name"] for port in container["ports"]}
        asked = {(name, (get := container[name]["httpGet"])["path"], get["port"], get["scheme"])
                 for name in ("startupProbe", "livenessProbe", "readinessProbe") if name in container}
        claim = one["spec"]["volumeClaimTemplates"][0]
        mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        folder = next(word for word in container["args"] if word.startswith(mounted[claim["metadata"]["name"]] + "/"))
        security = container["securityContext"]
        checks = {
            "its service is headless": service["spec"].get("clusterIP") == "None",
            "its service publishes pods before they are ready": service["spec"].get("publishNotReadyAddresses") is True,
            "its service selects its pods": service["spec"]["selector"].items() <= labels.items(),
            "its set selects its pods": one["spec"]["selector"]["matchLabels"].items() <= labels.items(),
            # /readyz of a worker wants its coordinator, whose outage must not restart workers.
            "it is alive by /healthz alone, and ready by /readyz, over HTTPS": asked - {STARTED} == {
                ("livenessProbe", "/healthz", "http", "HTTPS"), ("readinessProbe", "/readyz", "http", "HTTPS")},
            "its ports are those of its service": ports == {port["targetPort"] for port in service["spec"]["ports"]},
            "it listens on its ports": {f":{port['containerPort']}" for port in container["ports"]} ==
                                       {":" + variables[part][name].rpartition(":")[2] for name in LISTEN[part]},
            "it keeps its files in its claim": folder is not None,
            "it is not root": pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0,
            "it cannot write to its image": security["readOnlyRootFilesystem"] is True,
            "it has no capabilities": security["capabilities"] == {"drop": ["ALL"]},
            "it has time to leave": pod["terminationGracePeriodSeconds"] >= 60,
            "it has limits": "memory" in container["resources"]["limits"],
            "it is never insecure": "INSECURE" not in str(one) and "--insecure" not in container["args"],
            "its variables are there": container["envFrom"][0]["configMapRef"]["name"] in
                                       {name for kind, name in by_name if kind == "ConfigMap"},
        }
        if part == "keima-worker":
            limit = size_bytes(container["resources"]["limits"]["memory"])
            room = size_bytes(claim["spec"]["resources"]["requests"]["storage"])
            checks["keima's memory is below the limit"] = size_bytes(variables[part]["KEIMA_MEMORY"]) < limit
            checks["keima's disk is below the claim"] = size_bytes(variables[part]["KEIMA_DISK"]) < room
            own = {one["name"]: one.get("value") for one in container["env"]}["KEIMA_ADVERTISE"]
            checks["others reach it by its pod's name"] = own == (
                f"https://$(POD_NAME).{one['spec']['serviceName']}:{container['ports'][0]['containerPort']}")
            budget = by_name["PodDisruptionBudget", part]["spec"]
            checks["the budget is about it"] = budget["selector"]["matchLabels"].items() <= labels.items()
        else:
            checks["there is one"] = one["spec"]["replicas"] == 1
        yield from (f"{part}: not so: {what}" for what, holds in checks.items() if not holds)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = list(faults([one for one in yaml.safe_load_all(file) if one]))
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
