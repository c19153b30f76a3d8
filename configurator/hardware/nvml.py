"""Probe this machine over NVML. The only importer of ``pynvml`` (distribution ``nvidia-ml-py``).

Every query yields a value, or an Unknown with the reason in words; the state of the machine never raises.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from configurator.core.unknown import Unknown, is_unknown
from configurator.hardware.answers import ask, ask_text, reason_of
from configurator.hardware.links import fabric_of, link_of, link_problems, mnnvl_of, peers_of
from configurator.hardware.snapshot import GpuInfo, HardwareSnapshot, LinkInfo

_THROTTLE = {
    0x4: "power limit of the software",
    0x8: "slowdown by the hardware",
    0x20: "temperature limit of the software",
    0x40: "temperature limit of the hardware",
    0x80: "power brake of the hardware",
}
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
        return _no_gpus(reason_of(error))
    try:
        return _read(pynvml)
    finally:
        ask(pynvml.nvmlShutdown)


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
    count = ask(nvml.nvmlDeviceGetCount)
    if is_unknown(count):
        return _no_gpus(count.reason)
    if not count:
        return _no_gpus("the driver lists no GPU")
    found, problems = [], []
    for index in range(count):
        handle = ask(nvml.nvmlDeviceGetHandleByIndex, index)
        if is_unknown(handle):
            problems.append(f"GPU {index} cannot be asked: {handle.reason}.")
        else:
            gpu = _gpu(nvml, handle, index)
            if is_unknown(gpu.name) and is_unknown(gpu.sm) and is_unknown(gpu.memory_gib):
                problems.append(f"GPU {index} cannot be asked: {gpu.memory_gib.reason}.")
            else:
                found.append(gpu)
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
    problems += link_problems(gpus)
    if len(names) > 1:
        problems.append(f"The GPUs differ: {', '.join(sorted(names))}.")
    bf16, fp8 = _rates(first.name)
    cuda = ask(nvml.nvmlSystemGetCudaDriverVersion_v2)
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
        mnnvl=mnnvl_of(first),
        memory_gib=min(memory) if memory else Unknown("no GPU tells its memory"),
        link=first.link,
        hbm_gbps=first.hbm_gbps,
        bf16_tflops=bf16,
        fp8_tflops=fp8,
        driver=ask_text(nvml.nvmlSystemGetDriverVersion),
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


def _gpu(nvml: Any, handle: Any, index: int) -> GpuInfo:
    memory = ask(nvml.nvmlDeviceGetMemoryInfo, handle)
    capability = ask(nvml.nvmlDeviceGetCudaComputeCapability, handle)
    processes = ask(nvml.nvmlDeviceGetComputeRunningProcesses, handle)
    return GpuInfo(
        index=index,
        name=ask_text(nvml.nvmlDeviceGetName, handle),
        uuid=ask_text(nvml.nvmlDeviceGetUUID, handle),
        memory_gib=memory if is_unknown(memory) else memory.total / 2**30,
        memory_free_gib=memory if is_unknown(memory) else memory.free / 2**30,
        sm=capability if is_unknown(capability) else 10 * capability[0] + capability[1],
        mig=_mig(nvml, handle),
        link=link_of(nvml, handle),
        pcie_generation=ask(nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        pcie_width=ask(nvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
        p2p_peers=peers_of(nvml, handle, index),
        fabric=fabric_of(nvml, handle),
        hbm_gbps=_memory_bandwidth(nvml, handle),
        sm_clock_mhz=ask(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
        sm_clock_max_mhz=ask(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        throttle=_throttle(nvml, handle),
        other_processes=processes if is_unknown(processes) else len(processes),
    )


def _mig(nvml: Any, handle: Any) -> bool | Unknown | None:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    except nvml.NVMLError_NotSupported:
        return None
    except nvml.NVMLError as error:
        return Unknown(reason_of(error))


def _memory_bandwidth(nvml: Any, handle: Any) -> float | Unknown:
    """Return 1e9 bytes/s from the memory clock and the bus width; memory transfers twice in each clock."""
    clock = ask(nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_MEM)
    width = ask(nvml.nvmlDeviceGetMemoryBusWidth, handle)
    if is_unknown(clock):
        return clock
    if is_unknown(width):
        return width
    value = 2.0 * clock * 1e6 * width / 8 / 1e9
    return value if math.isfinite(value) else Unknown("the driver's figures make no sense")


def _throttle(nvml: Any, handle: Any) -> tuple[str, ...] | Unknown:
    reasons = ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle)
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
