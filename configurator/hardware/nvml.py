"""Probe this machine over NVML. The only importer of ``pynvml`` (distribution ``nvidia-ml-py``).

Every query yields a value, or an Unknown with the reason in words; the state of the machine never raises. Link speeds
follow NVIDIA's generations: NVLink 3 and 4 carry 25e9 bytes/s per link and direction, NVLink 5 carries 50e9.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, TypeVar

from configurator.core.unknown import Unknown, is_unknown
from configurator.hardware.snapshot import FabricInfo, GpuInfo, HardwareSnapshot, LinkInfo

T = TypeVar("T")

_WORDS = {
    "NVMLError_NotSupported": "this GPU or driver does not tell",
    "NVMLError_NoPermission": "permission denied",
    "NVMLError_GpuIsLost": "the GPU has fallen off the bus",
    "NVMLError_FunctionNotFound": "the driver is too old to tell",
    "NVMLError_Timeout": "the driver did not answer in time",
    "NVMLError_LibraryNotFound": "no NVIDIA driver is installed",
    "NVMLError_DriverNotLoaded": "the NVIDIA driver is not loaded",
    "NVMLError_LibRmVersionMismatch": "driver and driver library are of different versions; restart the machine",
    "NVMLError_ResetRequired": "the GPU must be reset",
    "NVMLError_InvalidArgument": "the driver does not know this question",
}
_THROTTLE = {
    0x4: "power limit of the software",
    0x8: "slowdown by the hardware",
    0x20: "temperature limit of the software",
    0x40: "temperature limit of the hardware",
    0x80: "power brake of the hardware",
}
_LINK_GBPS = {1: 20.0, 2: 25.0, 3: 25.0, 4: 25.0, 5: 50.0}
_NVLINK_GENERATION = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 5, 8: 6}
"""NVML's enumeration of link versions, to the generation people speak of."""
_MAX_LINKS = 36
_FABRIC_STATES = ("not supported", "not started", "in progress", "completed")
_SOFTWARE = {
    "flashinfer": ("flashinfer-python", "flashinfer"),
    "sglang_kernel": ("sglang-kernel", "sgl-kernel"),
    "sglang": ("sglang",),
    "aiter": ("amd-aiter", "aiter"),
    "nccl": ("nvidia-nccl-cu13", "nvidia-nccl-cu12"),
    "torch": ("torch",),
}


def probe() -> HardwareSnapshot:
    """Return what this machine tells of its NVIDIA GPUs. Never raises for the machine's state."""
    try:
        import pynvml  # noqa: PLC0415 - loaded only to probe
    except ImportError:
        return _no_gpus("the package nvidia-ml-py is not installed; pip install nvidia-ml-py")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return _no_gpus(_reason(error))
    try:
        return _read(pynvml)
    finally:
        _ask(pynvml.nvmlShutdown)


def _reason(error: Exception) -> str:
    return _WORDS.get(type(error).__name__, f"the driver answered: {error}")


def _ask(function: Callable[..., T], *args: Any) -> T | Unknown:
    """Return the answer of one NVML query, or why there is none."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - a driver may fail in any way, and each is an answer
        return Unknown(_reason(error))


def _text(value: object) -> str | Unknown:
    if is_unknown(value):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _no_gpus(reason: str) -> HardwareSnapshot:
    unknown = Unknown(reason)
    return HardwareSnapshot(
        name="local",
        label="this machine",
        platform=unknown,
        assumed=False,
        gpu_name=unknown,
        sm=unknown,
        gfx=None,
        gpus_per_node=unknown,
        fabric_domain_gpus=None,
        mnnvl=unknown,
        memory_gib=unknown,
        link=LinkInfo(kind=unknown),
        hbm_gbps=unknown,
        bf16_tflops=unknown,
        fp8_tflops=unknown,
        software=installed_software(),
        problems=(f"No GPU is visible: {reason}.",),
        taken_at=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(nvml: Any) -> HardwareSnapshot:
    count = _ask(nvml.nvmlDeviceGetCount)
    if is_unknown(count):
        return _no_gpus(count.reason)
    if not count:
        return _no_gpus("the driver lists no GPU")
    found, problems = [], []
    for index in range(count):
        handle = _ask(nvml.nvmlDeviceGetHandleByIndex, index)
        if is_unknown(handle):
            problems.append(f"GPU {index} cannot be asked: {handle.reason}.")
        else:
            found.append(_gpu(nvml, handle, index))
    gpus = tuple(found)
    if not gpus:
        return _no_gpus("; ".join(problems))
    problems += [f"GPU {gpu.index} is split by MIG; SGLang sees its slices." for gpu in gpus if gpu.mig is True]
    for gpu in gpus:
        if isinstance(gpu.throttle, tuple) and gpu.throttle:
            problems.append(f"GPU {gpu.index} is held down: {', '.join(gpu.throttle)}.")
    first = gpus[0]
    memory = [gpu.memory_gib for gpu in gpus if not is_unknown(gpu.memory_gib)]
    names = {gpu.name for gpu in gpus if isinstance(gpu.name, str)}
    if len(names) > 1:
        problems.append(f"The GPUs differ: {', '.join(sorted(names))}.")
    bf16, fp8 = _rates(first.name)
    cuda = _ask(nvml.nvmlSystemGetCudaDriverVersion_v2)
    return HardwareSnapshot(
        name="local",
        label=f"{len(gpus)}x {first.name if isinstance(first.name, str) else 'GPU'}, this machine",
        platform="cuda",
        assumed=False,
        gpu_name=first.name,
        sm=first.sm,
        gfx=None,
        gpus_per_node=len(gpus),
        fabric_domain_gpus=None,
        mnnvl=_mnnvl(first),
        memory_gib=min(memory) if memory else Unknown("no GPU tells its memory"),
        link=first.link,
        hbm_gbps=first.hbm_gbps,
        bf16_tflops=bf16,
        fp8_tflops=fp8,
        driver=_text(_ask(nvml.nvmlSystemGetDriverVersion)),
        cuda_driver=cuda if is_unknown(cuda) else f"{cuda // 1000}.{cuda % 1000 // 10}",
        gpus=gpus,
        software=installed_software(),
        problems=tuple(problems),
        taken_at=_now(),
    )


def _rates(name: str | Unknown) -> tuple[float | Unknown | None, float | Unknown | None]:
    if is_unknown(name):
        return name, name
    from configurator.hardware.presets import published_rates  # noqa: PLC0415 - reads files

    return published_rates(name)


def _mnnvl(gpu: GpuInfo) -> bool | Unknown:
    """Tell whether the GPU shares a fabric across nodes: registered with a cluster that has an identity."""
    if isinstance(gpu.fabric, Unknown):
        # Before NVLink 4 there is no fabric to ask about, and old drivers have no such question.
        return False if isinstance(gpu.sm, int) and gpu.sm < 90 else gpu.fabric
    if gpu.fabric is None or gpu.fabric.state == "not supported":
        return False
    if gpu.fabric.state != "completed":
        return Unknown(f"the fabric's registration is {gpu.fabric.state}")
    return gpu.fabric.cluster is not None


def _gpu(nvml: Any, handle: Any, index: int) -> GpuInfo:
    memory = _ask(nvml.nvmlDeviceGetMemoryInfo, handle)
    capability = _ask(nvml.nvmlDeviceGetCudaComputeCapability, handle)
    processes = _ask(nvml.nvmlDeviceGetComputeRunningProcesses, handle)
    return GpuInfo(
        index=index,
        name=_text(_ask(nvml.nvmlDeviceGetName, handle)),
        uuid=_text(_ask(nvml.nvmlDeviceGetUUID, handle)),
        memory_gib=memory if is_unknown(memory) else memory.total / 2**30,
        memory_free_gib=memory if is_unknown(memory) else memory.free / 2**30,
        sm=capability if is_unknown(capability) else 10 * capability[0] + capability[1],
        mig=_mig(nvml, handle),
        link=_link(nvml, handle),
        pcie_generation=_ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        pcie_width=_ask(nvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
        p2p_peers=_peers(nvml, handle, index),
        fabric=_fabric(nvml, handle),
        hbm_gbps=_memory_bandwidth(nvml, handle),
        sm_clock_mhz=_ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        sm_clock_max_mhz=_ask(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        throttle=_throttle(nvml, handle),
        other_processes=processes if is_unknown(processes) else len(processes),
    )


def _mig(nvml: Any, handle: Any) -> bool | Unknown | None:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    except nvml.NVMLError_NotSupported:
        return None
    except nvml.NVMLError as error:
        return Unknown(_reason(error))


def _link(nvml: Any, handle: Any) -> LinkInfo:
    up, total, version = 0, 0, None
    switch = False
    for link in range(_MAX_LINKS):
        state = _ask(nvml.nvmlDeviceGetNvLinkState, handle, link)
        if is_unknown(state):
            if link == 0 and state.reason not in (
                _WORDS["NVMLError_NotSupported"],
                _WORDS["NVMLError_InvalidArgument"],
            ):
                return LinkInfo(kind=Unknown(state.reason))
            break
        total += 1
        if state:
            up += 1
            version = _ask(nvml.nvmlDeviceGetNvLinkVersion, handle, link) if version is None else version
            remote = _ask(nvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link)
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
    generation = _ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle)
    width = _ask(nvml.nvmlDeviceGetCurrPcieLinkWidth, handle)
    if is_unknown(generation) or is_unknown(width):
        reason = generation if is_unknown(generation) else width
        return LinkInfo(kind="pcie", generation=generation, links=width, gbps_per_link=reason, gbps=reason)
    lane = 0.25 * 2 ** (generation - 1) if generation < 3 else 0.985 * 2 ** (generation - 3)
    return LinkInfo(kind="pcie", generation=generation, links=width, gbps_per_link=lane, gbps=lane * width)


def _peers(nvml: Any, handle: Any, index: int) -> tuple[int, ...] | Unknown:
    count = _ask(nvml.nvmlDeviceGetCount)
    if is_unknown(count):
        return count
    peers = []
    for other in range(count):
        if other == index:
            continue
        handle2 = _ask(nvml.nvmlDeviceGetHandleByIndex, other)
        if is_unknown(handle2):
            continue
        status = _ask(nvml.nvmlDeviceGetP2PStatus, handle, handle2, nvml.NVML_P2P_CAPS_INDEX_READ)
        if is_unknown(status):
            return status
        if status == nvml.NVML_P2P_STATUS_OK:
            peers.append(other)
    return tuple(peers)


def _fabric(nvml: Any, handle: Any) -> FabricInfo | Unknown | None:
    info = nvml.c_nvmlGpuFabricInfoV_t()
    info.version = nvml.nvmlGpuFabricInfo_v2
    answer = _ask(nvml.nvmlDeviceGetGpuFabricInfoV, handle, ctypes.byref(info))
    if is_unknown(answer):
        if answer.reason == _WORDS["NVMLError_NotSupported"]:
            return None
        return answer
    state = info.state
    if not 0 <= state < len(_FABRIC_STATES):
        return Unknown(f"the driver reports fabric state {state}")
    # Read from the structure's memory: ctypes ends character arrays at the first zero byte.
    uuid = bytes(info)[type(info).clusterUuid.offset :][:16]
    return FabricInfo(
        state=_FABRIC_STATES[state],  # type: ignore[arg-type]  # one of the literals by construction
        clique=int(info.cliqueId),
        cluster=uuid.hex() if any(uuid) else None,
    )


def _memory_bandwidth(nvml: Any, handle: Any) -> float | Unknown:
    """Return 1e9 bytes/s from the memory clock and the bus width; memory transfers twice in each clock."""
    clock = _ask(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM)
    width = _ask(nvml.nvmlDeviceGetMemoryBusWidth, handle)
    if is_unknown(clock):
        return clock
    if is_unknown(width):
        return width
    value = 2.0 * clock * 1e6 * width / 8 / 1e9
    return value if math.isfinite(value) else Unknown("the driver's figures make no sense")


def _throttle(nvml: Any, handle: Any) -> tuple[str, ...] | Unknown:
    reasons = _ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
    if is_unknown(reasons):
        return reasons
    return tuple(words for bit, words in _THROTTLE.items() if reasons & bit)


def installed_software() -> dict[str, str]:
    """Return versions of the packages that rules ask about; what is not installed is absent."""
    found: dict[str, str] = {}
    for name, distributions in _SOFTWARE.items():
        for distribution in distributions:
            try:
                found[name] = metadata.version(distribution)
                break
            except metadata.PackageNotFoundError:
                continue
    return found
