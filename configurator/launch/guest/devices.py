"""Make torch believe in accelerators that are not there.

Only what argument handling asks is answered: availability, count, name, capability, memory, properties, toolkit version.
"""

from __future__ import annotations

import os
import types
from typing import Any

GIB = 1 << 30
VISIBLE_DEVICES = 8


def pretend(device: dict[str, Any]) -> None:
    """Answer torch's device queries as a machine with eight of *device* would, or with as many as its ``count`` says.

    Args:
        device: ``kind`` ("cuda", "hip", "xpu", "npu" or "cpu"), ``name``, ``memory_gib``, and where the kind has them
            ``capability`` (pair of integers) and ``gfx``.
    """
    kind = device["kind"]
    if kind == "cpu":
        os.environ["SGLANG_USE_CPU_ENGINE"] = "1"
        return
    import torch  # noqa: PLC0415 - present in the isolated environment only

    memory = device["memory_gib"] * GIB
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: device.get("count", VISIBLE_DEVICES),
        "current_device": lambda: 0,
        "get_device_name": lambda _device=None: device["name"],
        "mem_get_info": lambda _device=None: (memory, memory),
    }
    properties = types.SimpleNamespace(name=device["name"], total_memory=memory)
    if kind in ("cuda", "hip"):
        major, minor = device["capability"]
        vars(properties).update(
            major=major,
            minor=minor,
            gcnArchName=device.get("gfx", ""),
            multi_processor_count=132,
            warp_size=32,
            shared_memory_per_block_optin=232448,
            L2_cache_size=50 << 20,
        )
        answers |= {
            "is_initialized": lambda: True,
            "get_device_capability": lambda _device=None: (major, minor),
            "set_device": lambda _device: None,
            "synchronize": lambda _device=None: None,
            "empty_cache": lambda: None,
        }
        torch.version.cuda = "13.0" if kind == "cuda" else None
        torch.version.hip = "7.0.0" if kind == "hip" else None
        backend: Any = torch.cuda
    elif kind == "xpu":
        vars(properties).update(
            architecture=0,
            device_id=0,
            driver_version="0",
            gpu_eu_count=512,
            gpu_subslice_count=64,
            has_atomic64=True,
            has_fp16=True,
            has_fp64=True,
            local_mem_size=128 << 10,
            max_compute_units=512,
            max_work_group_size=1024,
            platform_name="",
            sub_group_sizes=[16, 32],
            version="0",
        )
        answers["get_device_capability"] = lambda _device=None: {"architecture": 0}
        backend = torch.xpu
    else:
        backend = torch.npu = types.SimpleNamespace()
    answers["get_device_properties"] = lambda _device=None: properties
    for name, answer in answers.items():
        setattr(backend, name, answer)


def answer_memory(device: dict[str, Any]) -> None:
    """Answer the server's own memory query, which asks the vendor's command-line tool, in MiB."""
    if device["kind"] == "cpu":
        return
    from sglang.srt.utils import common  # noqa: PLC0415 - the release under test

    for name in ("nvgpu", "amdgpu", "xpu", "npu"):
        query = f"get_{name}_memory_capacity"
        if hasattr(common, query):
            setattr(common, query, lambda: device["memory_gib"] << 10)


def answer_flashinfer(*, dcp_decode: bool) -> None:
    """Give FlashInfer's MLA decode its ``enable_dcp`` parameter, or take it away; its signature is inspected."""
    import flashinfer.decode  # noqa: PLC0415 - a stand-in

    def with_dcp(query: Any = None, kv_cache: Any = None, *, enable_dcp: bool = False, causal_seqs: Any = None) -> None:
        """Stand in for a FlashInfer that serves DCP."""

    def without_dcp(query: Any = None, kv_cache: Any = None) -> None:
        """Stand in for an older FlashInfer."""

    flashinfer.decode.trtllm_batch_decode_with_kv_cache_mla = with_dcp if dcp_decode else without_dcp
