"""Writing Kubernetes manifests: a Deployment for one node, a LeaderWorkerSet for several, each with a Service."""

from __future__ import annotations

import re
from collections.abc import Sequence

from configurator.core.configuration import Change
from configurator.core.errors import InputError
from configurator.core.flag import FlagTable
from configurator.launch.command import Command
from configurator.launch.containers import environment_words
from configurator.launch.emitted import (
    RENDEZVOUS_PORT,
    EmittedFile,
    Target,
    comment_lines,
    nodes_of,
    program_words,
    variables_of,
)
from configurator.launch.shell_word import pieces_of
from configurator.launch.word import Word
from configurator.launch.yaml_text import YamlValue, dump

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,40}[a-z0-9])?")
_RESOURCES = {
    "cuda": "nvidia.com/gpu",
    "hip": "amd.com/gpu",
    "xpu": "gpu.intel.com/i915",
    "npu": "huawei.com/Ascend910",
}
_DEFAULT_PORT = 30000
_SET_BY_LWS = frozenset(("LWS_LEADER_ADDRESS", "LWS_WORKER_INDEX", "LWS_GROUP_SIZE"))


def kubernetes(command: Command, table: FlagTable, header: Sequence[str], target: Target) -> list[EmittedFile]:
    """Return one manifest for all nodes.

    A variable the command refers to becomes an environment variable of the container with an empty value to fill in.

    Raises:
        InputError: If the name cannot be one of Kubernetes.
    """
    if not _NAME.fullmatch(target.name):
        msg = f"{target.name}: a Kubernetes name is lower-case letters, digits and hyphens; choose another."
        raise InputError(msg, part="name")
    nodes = nodes_of(command)
    if nodes > 1:
        if "dist_init_addr" not in command.configuration and "dist_init_addr" not in command.references:
            pieces = [(True, "LWS_LEADER_ADDRESS"), (False, f":{RENDEZVOUS_PORT}")]
            command = command.with_reference("dist_init_addr", pieces, table)
        command = command.with_reference("node_rank", [(True, "LWS_WORKER_INDEX")], table)
    if "host" not in command.configuration and "host" not in command.references:
        command = command.apply(Change(set={"host": "0.0.0.0"}), table)  # noqa: S104 - a pod is reached from outside itself
    pod = _pod(command, table, target)
    port = _port(command)
    labels: dict[str, YamlValue] = {"app": target.name}
    selector = dict(labels)
    if nodes > 1:
        selector["leaderworkerset.sigs.k8s.io/worker-index"] = "0"
        workload = _leader_worker_set(target.name, nodes, pod, labels)
    else:
        template: YamlValue = {"metadata": {"labels": labels}, "spec": pod}
        spec: YamlValue = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
        workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": target.name}, "spec": spec}
    service: dict[str, YamlValue] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"{target.name}-api"},
        "spec": {"selector": selector, "ports": [{"name": "http", "port": port, "targetPort": port}]},
    }
    notes = comment_lines([*header, *_fill_in_note(command)])
    text = "\n".join([*notes, dump(workload) + "---\n" + dump(service)])
    return [EmittedFile("kubernetes.yaml", None if nodes > 1 else 0, text)]


def _fill_in_note(command: Command) -> list[str]:
    """Return a note on the variables to fill in, without those that LeaderWorkerSet sets itself."""
    names = [name for name in variables_of(command) if name not in _SET_BY_LWS]
    return [f"Fill in these variables, empty under env: {', '.join(names)}."] if names else []


def _leader_worker_set(name: str, nodes: int, pod: YamlValue, labels: YamlValue) -> dict[str, YamlValue]:
    template: YamlValue = {"metadata": {"labels": labels}, "spec": pod}
    group: YamlValue = {
        "size": nodes,
        "restartPolicy": "RecreateGroupOnPodRestart",
        "leaderTemplate": template,
        "workerTemplate": template,
    }
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "leaderWorkerTemplate": group},
    }


def _port(command: Command) -> int:
    port = command.configuration.flags.get("port", _DEFAULT_PORT)
    return port if isinstance(port, int) else _DEFAULT_PORT


def _pod(command: Command, table: FlagTable, target: Target) -> YamlValue:
    words = program_words(command)
    env: list[YamlValue] = [_variable(word) for word in environment_words(command)]
    env.extend({"name": name, "value": ""} for name in variables_of(command) if name not in _SET_BY_LWS)
    container: dict[str, YamlValue] = {
        "name": target.name,
        "image": target.image_for(table.release),
        "command": [kubernetes_text(word) for word in words],
        "env": env,
        "ports": [{"containerPort": _port(command)}],
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - shared memory of the pod, by its fixed path
        "readinessProbe": {
            "httpGet": {"path": "/health", "port": _port(command)},
            "initialDelaySeconds": 60,
            "periodSeconds": 10,
            "failureThreshold": 120,
        },
    }
    if nodes_of(command) > 1:
        del container[
            "readinessProbe"
        ]  # only the leader answers; a probe on every pod would never let workers be ready
    if not env:
        del container["env"]
    resource = _RESOURCES.get(target.platform)
    if resource is not None:
        container["resources"] = {"limits": {resource: target.gpus_for(command)}}
    volumes: YamlValue = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
    return {"hostIPC": False, "containers": [container], "volumes": volumes}


def _variable(word: Word) -> YamlValue:
    name, _, value = kubernetes_text(word).partition("=")
    return {"name": name, "value": value}


def kubernetes_text(word: Word) -> str:
    """Return *word* as a pod reads it: references as ``$(NAME)``, and any other ``$(`` made text by a second dollar."""
    parts = [f"$({text})" if is_name else text.replace("$", "$$") for is_name, text in pieces_of(word)]
    return "".join(parts)
