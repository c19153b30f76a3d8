"""What is known of a machine's accelerators, as one frozen value: probed, read from a file, or a preset.

A field holds a value, ``None`` where the machine has none of it, or an
:class:`~configurator.core.unknown.Unknown` with the reason. Bandwidths are in 1e9 bytes per second and per direction,
as nccl-tests counts; memory is in GiB (2**30 bytes); rates are dense, in 1e12 operations per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from configurator.core.unknown import Unknown

Number = float | Unknown
MaybeNumber = float | Unknown | None
MaybeCount = int | Unknown | None
MaybeText = str | Unknown | None
Flag = bool | Unknown
LinkKind = Literal["nvlink", "xgmi", "xelink", "hccs", "pcie", "none"]


@dataclass(frozen=True, kw_only=True)
class LinkInfo:
    """How a GPU reaches the others of its node.

    Attributes:
        kind: The link the collectives would use; ``none`` for a machine without GPUs.
        generation: Generation of the link (NVLink 4, PCIe 5).
        links: Links that are up; lanes for PCIe.
        links_total: Links the GPU has, up or not.
        gbps_per_link: 1e9 bytes/s of one link or lane, one direction.
        gbps: 1e9 bytes/s of all links that are up, one direction.
        peer: What is at the other end.
    """

    kind: LinkKind | Unknown
    generation: MaybeCount = None
    links: MaybeCount = None
    links_total: MaybeCount = None
    gbps_per_link: MaybeNumber = None
    gbps: MaybeNumber = None
    peer: Literal["switch", "gpu"] | Unknown | None = None


@dataclass(frozen=True, kw_only=True)
class FabricInfo:
    """What the driver says of the NVLink fabric a GPU belongs to.

    Attributes:
        state: Where registration stands.
        clique: Number of the set of GPUs that can reach each other.
        cluster: Hexadecimal UUID of the fabric; ``None`` for the fabric of a single node, whose UUID is all zeros.
        healthy: Whether the driver reports full bandwidth and routes; ``None`` where it does not say.
    """

    state: Literal["not supported", "not started", "in progress", "completed"] | Unknown
    clique: MaybeCount = None
    cluster: MaybeText = None
    healthy: Flag | None = None


@dataclass(frozen=True, kw_only=True)
class GpuInfo:
    """One GPU as probed.

    Attributes:
        index: Number the driver gives it.
        name: Product name.
        uuid: The driver's identifier.
        memory_gib: All its memory.
        memory_free_gib: What was free when probed.
        sm: Compute capability without the dot: 90 for 9.0.
        mig: Whether it is split by MIG; ``None`` for a GPU that cannot be.
        link: How it reaches the others.
        pcie_generation: Highest PCIe generation of card and slot; the present one drops when idle.
        pcie_width: Lanes in use.
        p2p_peers: GPUs whose memory it can read directly.
        fabric: Its NVLink fabric; ``None`` where the driver knows no fabric.
        hbm_gbps: Memory bandwidth from memory clock and bus width, in 1e9 bytes/s.
        sm_clock_mhz: Present clock.
        sm_clock_max_mhz: Highest clock.
        throttle: Why the clock is held down, in words; empty when it is not.
        other_processes: Compute processes of others on it.
    """

    index: int
    name: str | Unknown
    uuid: str | Unknown
    memory_gib: Number
    memory_free_gib: Number
    sm: int | Unknown
    mig: Flag | None
    link: LinkInfo
    pcie_generation: int | Unknown
    pcie_width: int | Unknown
    p2p_peers: tuple[int, ...] | Unknown
    fabric: FabricInfo | Unknown | None
    hbm_gbps: Number
    sm_clock_mhz: int | Unknown
    sm_clock_max_mhz: int | Unknown
    throttle: tuple[str, ...] | Unknown
    other_processes: int | Unknown


@dataclass(frozen=True, kw_only=True)
class HardwareSnapshot:
    """The accelerators of one node, and what the rules and planners need to know of them.

    Attributes:
        name: Preset name, ``local``, or what the file was called.
        label: What pages show: ``8x H200 141 GB``.
        platform: SGLang's platform: ``cuda``, ``hip``, ``xpu``, ``npu`` or ``cpu``.
        assumed: Whether this is a preset, not a machine anybody looked at.
        gpu_name: Product name; of the first GPU where they differ.
        sm: Compute capability without the dot, ``None`` off CUDA.
        gfx: AMD architecture, ``None`` off ROCm.
        gpus_per_node: GPUs one operating system sees; ``None`` for a machine without.
        fabric_domain_gpus: GPUs that share one NVLink fabric across nodes; ``None`` where the node is the limit.
        mnnvl: Whether GPUs of several nodes share one NVLink fabric.
        memory_gib: Memory of one GPU, the smallest where they differ.
        link: How GPUs of a node reach each other.
        hbm_gbps: Memory bandwidth of one GPU.
        bf16_tflops: Dense bf16 rate of one GPU.
        fp8_tflops: Dense fp8 rate; ``None`` for a GPU without fp8 units.
        driver: Driver version.
        cuda_driver: Highest CUDA version the driver serves.
        gpus: The single GPUs, for a probed machine.
        software: Versions of installed packages, by the names of ``software.*`` facts; what is not installed is absent.
        sources: Where a number of a preset comes from, by field.
        problems: What is wrong or could not be asked, in words for the user.
        taken_at: When the machine was probed, ISO 8601 in UTC.
    """

    name: str
    label: str
    platform: Literal["cuda", "hip", "xpu", "npu", "cpu"] | Unknown
    assumed: bool
    gpu_name: MaybeText
    sm: MaybeCount
    gfx: MaybeText
    gpus_per_node: MaybeCount
    fabric_domain_gpus: MaybeCount
    mnnvl: Flag
    memory_gib: MaybeNumber
    link: LinkInfo
    hbm_gbps: MaybeNumber
    bf16_tflops: MaybeNumber
    fp8_tflops: MaybeNumber
    driver: MaybeText = None
    cuda_driver: MaybeText = None
    gpus: tuple[GpuInfo, ...] = ()
    software: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    taken_at: str | None = None

    @property
    def launch_gpus_per_node(self) -> MaybeCount:
        """How many ranks a command that says nothing of nodes may place.

        A rack whose trays share one NVLink fabric is described as one machine, so its preset counts the whole fabric:
        72 for GB200 NVL72, though each of its trays, an operating system of its own, has four. A probed machine
        counts what it sees.
        """
        if self.assumed and isinstance(self.fabric_domain_gpus, int):
            return self.fabric_domain_gpus
        return self.gpus_per_node

    def to_facts(self) -> dict[str, object]:
        """Return the facts for rules and planners, as ``hardware.NAME`` and ``software.NAME``.

        ``hardware.gpus_per_node`` is :attr:`launch_gpus_per_node`; ``hardware.gpus_per_tray`` is what one operating
        system sees, and is the smaller one only for racks with a fabric across nodes.
        """
        facts: dict[str, object] = {
            f"hardware.{name}": getattr(self, name)
            for name in (
                "name", "platform", "assumed", "gpu_name", "sm", "gfx", "fabric_domain_gpus", "mnnvl", "memory_gib",
                "hbm_gbps", "bf16_tflops", "fp8_tflops", "driver", "cuda_driver",
            )
        }  # fmt: skip
        facts |= {
            "hardware.gpus_per_node": self.launch_gpus_per_node,
            "hardware.gpus_per_tray": self.gpus_per_node,
            "hardware.link_kind": self.link.kind,
            "hardware.link_gbps": self.link.gbps,
            "hardware.link_peer": self.link.peer,
        }
        return facts | {f"software.{name}": version for name, version in self.software.items()}

    def save(self, path: str) -> None:
        """Write the snapshot as JSON, readable by :func:`configurator.hardware.load_hardware`.

        Raises:
            InputError: The file cannot be written.
        """
        from configurator.hardware.codec import write  # noqa: PLC0415  # JSON is loaded only by those who save

        write(self, path)
