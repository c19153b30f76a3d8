"""How a GPU reaches the others: NVLink or PCIe, peers, and the fabric, asked of the NVML binding that is handed in.

Link speeds follow NVIDIA's generations: NVLink 3 and 4 carry 25e9 bytes/s per link and direction, NVLink 5 carries 50e9.
"""

from __future__ import annotations

import ctypes
from typing import Any

from configurator.core.unknown import Unknown, is_unknown
from configurator.hardware.answers import NOT_SUPPORTED, UNKNOWN_QUESTION, ask
from configurator.hardware.snapshot import FabricInfo, GpuInfo, LinkInfo

_LINK_GBPS = {1: 20.0, 2: 25.0, 3: 25.0, 4: 25.0, 5: 50.0}
_NVLINK_GENERATION = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 5, 8: 6}
"""NVML's enumeration of link versions, to the generation people speak of."""
_MAX_LINKS = 36
_FABRIC_STATES = ("not supported", "not started", "in progress", "completed")
_CAPS_READ = 0
"""NVML_P2P_CAPS_INDEX_READ. nvidia-ml-py 13.615.71 has a stray comma behind its 0, which makes it a tuple."""
_HEALTH_BITS = (0, 2, 4, 6)
"""Where the two-bit answers on bandwidth, route recovery, routes and access recovery stand; 1 is trouble, 0 no answer."""
_CONFIGURATION_BITS = 8
"""Where the four-bit answer on the fabric's configuration stands; 1 is right, more is wrong, 0 no answer."""


def link_of(nvml: Any, handle: Any) -> LinkInfo:
    """Return the NVLink of a GPU where any is up, else its PCIe."""
    up, total, version = 0, 0, None
    switch = False
    for link in range(_MAX_LINKS):
        state = ask(nvml.nvmlDeviceGetNvLinkState, handle, link)
        if is_unknown(state):
            if link == 0 and state.reason not in (NOT_SUPPORTED, UNKNOWN_QUESTION):
                return LinkInfo(kind=Unknown(state.reason))
            break
        total += 1
        if state:
            up += 1
            version = ask(nvml.nvmlDeviceGetNvLinkVersion, handle, link) if version is None else version
            remote = ask(nvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link)
            switch = switch or remote == nvml.NVML_NVLINK_DEVICE_TYPE_SWITCH
    if not up:
        return _pcie(nvml, handle)
    if not isinstance(version, int):
        reason = version if is_unknown(version) else Unknown("the driver does not tell the link version")
        return LinkInfo(
            kind="nvlink", generation=reason, links=up, links_total=total, gbps_per_link=reason, gbps=reason
        )
    generation = _NVLINK_GENERATION.get(version, version)
    speed: float | Unknown = _LINK_GBPS.get(generation, Unknown(f"no speed is on file for NVLink {generation}"))
    return LinkInfo(
        kind="nvlink",
        generation=generation,
        links=up,
        links_total=total,
        gbps_per_link=speed,
        gbps=speed if is_unknown(speed) else speed * up,
        peer="switch" if switch else "gpu",
    )


def _pcie(nvml: Any, handle: Any) -> LinkInfo:
    generation = ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle)
    width = ask(nvml.nvmlDeviceGetCurrPcieLinkWidth, handle)
    if is_unknown(generation) or is_unknown(width):
        reason = generation if is_unknown(generation) else width
        return LinkInfo(kind="pcie", generation=generation, links=width, gbps_per_link=reason, gbps=reason)
    lane = 0.25 * 2 ** (generation - 1) if generation < 3 else 0.985 * 2 ** (generation - 3)
    return LinkInfo(kind="pcie", generation=generation, links=width, gbps_per_link=lane, gbps=lane * width)


def peers_of(nvml: Any, handle: Any, index: int) -> tuple[int, ...] | Unknown:
    """Return the GPUs whose memory this one can read directly."""
    count = ask(nvml.nvmlDeviceGetCount)
    if is_unknown(count):
        return count
    peers = []
    for other in range(count):
        if other == index:
            continue
        handle2 = ask(nvml.nvmlDeviceGetHandleByIndex, other)
        if is_unknown(handle2):
            continue
        status = ask(nvml.nvmlDeviceGetP2PStatus, handle, handle2, _CAPS_READ)
        if is_unknown(status):
            return status
        if status == nvml.NVML_P2P_STATUS_OK:
            peers.append(other)
    return tuple(peers)


def fabric_of(nvml: Any, handle: Any) -> FabricInfo | Unknown | None:
    """Return what the driver says of a GPU's NVLink fabric, ``None`` where it knows no fabric."""
    info = nvml.c_nvmlGpuFabricInfoV_t()
    info.version = nvml.nvmlGpuFabricInfo_v2
    answer = ask(nvml.nvmlDeviceGetGpuFabricInfoV, handle, ctypes.byref(info))
    if is_unknown(answer):
        if answer.reason == NOT_SUPPORTED:
            return None
        return answer
    state = info.state & 0xFF  # one byte in the driver's interface, four in the binding; the rest is padding
    if not 0 <= state < len(_FABRIC_STATES):
        return Unknown(f"the driver reports fabric state {state}")
    # Read from the structure's memory: ctypes ends character arrays at the first zero byte.
    uuid = bytes(info)[type(info).clusterUuid.offset :][:16]
    failed = _FABRIC_STATES[state] == "completed" and info.status != nvml.NVML_SUCCESS
    return FabricInfo(
        # type: one of the literals by construction
        state=Unknown("failed") if failed else _FABRIC_STATES[state],  # type: ignore[arg-type]
        clique=int(info.cliqueId),
        cluster=uuid.hex() if any(uuid) else None,
        healthy=_healthy(int(info.healthMask)),
    )


def _healthy(mask: int) -> bool | None:
    """Return what the fabric's health mask amounts to, ``None`` where it says nothing."""
    answers = [mask >> bit & 0b11 for bit in _HEALTH_BITS]
    configuration = mask >> _CONFIGURATION_BITS & 0b1111
    if 1 in answers or configuration > 1:
        return False
    return True if any(answers) or configuration else None


def mnnvl_of(gpu: GpuInfo) -> bool | Unknown:
    """Tell whether the GPU shares a fabric across nodes: registered with a cluster that has an identity."""
    if isinstance(gpu.fabric, Unknown):
        # Before NVLink 4 there is no fabric to ask about, and old drivers have no such question.
        return False if isinstance(gpu.sm, int) and gpu.sm < 90 else gpu.fabric
    if gpu.fabric is None or gpu.fabric.state == "not supported":
        return False
    if is_unknown(gpu.fabric.state):
        return Unknown("the fabric's registration failed")
    if gpu.fabric.state != "completed":
        return Unknown(f"the fabric's registration is {gpu.fabric.state}")
    return gpu.fabric.cluster is not None


def link_problems(gpus: tuple[GpuInfo, ...]) -> list[str]:
    """Return what is wrong with links and fabrics, in words for the user."""
    problems = []
    for gpu in gpus:
        up, total = gpu.link.links, gpu.link.links_total
        if isinstance(up, int) and isinstance(total, int) and up < total:
            problems.append(f"GPU {gpu.index} has {up} of {total} NVLink links up.")
    states: dict[str, list[str]] = {}
    for gpu in gpus:
        if isinstance(gpu.fabric, FabricInfo):
            state = gpu.fabric.state
            if is_unknown(state) or state in ("not started", "in progress"):
                words = "failed" if is_unknown(state) else f"is {state}"
                what = f"the registration with the NVLink fabric {words}; see whether nvidia-fabricmanager runs"
                states.setdefault(what, []).append(str(gpu.index))
            elif gpu.fabric.healthy is False:
                states.setdefault("the driver reports that the NVLink fabric is degraded", []).append(str(gpu.index))
    problems += [f"GPU {', '.join(where)}: {what}." for what, where in states.items()]
    return problems
