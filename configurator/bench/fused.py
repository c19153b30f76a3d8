"""FlashInfer's all-to-all kernel for the partial outputs of a DCP group, behind SGLang's ``fi_a2a``.

The kernel writes into its peers' memory, so all ranks of a group share one workspace in one address space. It is made
once for a process, before anything is captured in a graph: making it synchronises and talks to the other ranks.

Source: FlashInfer 0.6.11 and later, ``flashinfer/comm/dcp_alltoall.py`` (usage protocol); SGLang 0.5.23, ``sglang/srt/layers/dcp``
(layout of the tensors). Both restated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
import torch.utils.dlpack
from torch import Tensor

from configurator.bench.fabric import DistributedFabric
from configurator.bench.inputs import RankState
from configurator.bench.session import Session


@dataclass(frozen=True)
class _Kernel:
    """The kernel, ready to be called by this rank."""

    call: Callable[..., tuple[Any, Any]]
    workspace: Any
    rank: int
    ranks: int


_READY: list[_Kernel] = []
"""The process's kernel once :func:`prepare` has been called; a process belongs to one DCP group."""


class _Group:
    """A process group in the manner of MPI, which is what FlashInfer asks of those who set its memory up.

    Splitting returns the group itself: FlashInfer splits by context-parallel rank, which would leave each rank alone.
    """

    def __init__(self, group: Any) -> None:
        self._group = group

    def Get_rank(self) -> int:  # noqa: N802 - the names are MPI's
        return dist.get_rank(self._group)

    def Get_size(self) -> int:  # noqa: N802
        return dist.get_world_size(self._group)

    def allgather(self, data: Any) -> list[Any]:
        gathered: list[Any] = [None] * self.Get_size()
        dist.all_gather_object(gathered, data, group=self._group)
        return gathered

    def bcast(self, data: Any, root: int = 0) -> Any:
        box = [data]
        # MPI numbers ranks within the group, torch numbers the source among all ranks.
        dist.broadcast_object_list(box, src=dist.get_global_rank(self._group, root), group=self._group)
        return box[0]

    def barrier(self) -> None:
        dist.barrier(group=self._group)

    def Split(self, _color: int, _key: int) -> _Group:  # noqa: N802
        return self


def prepare(session: Session) -> str:
    """Make the kernel ready on every rank of the group.

    Returns:
        Why it cannot be, or nothing. Every rank returns something where one does.
    """
    why = ""
    try:
        _READY[:] = [_make(session)]
    except Exception as error:  # noqa: BLE001 - a missing compiler, driver or fabric shows in many ways, and all mean the same
        why = f"FlashInfer's kernel cannot be made ready here: {type(error).__name__}: {error}"
    failed = session.total([float(bool(why))])[0]
    return why or ("FlashInfer's kernel cannot be made ready on another rank" if failed else "")


def _make(session: Session) -> _Kernel:
    from flashinfer.comm import dcp_alltoall  # noqa: PLC0415 - optional, and compiles when first used
    from flashinfer.comm.mapping import Mapping  # noqa: PLC0415
    from flashinfer.comm.mnnvl import MnnvlConfig  # noqa: PLC0415

    if not isinstance(session.fabric, DistributedFabric):
        raise TypeError("the ranks of the group are not processes of their own")
    group, ranks, rank = session.fabric.group, session.fabric.ranks, session.played[0]
    mapping = Mapping(
        world_size=ranks, rank=rank, gpus_per_node=torch.cuda.device_count(), cp_size=ranks, tp_size=1, pp_size=1
    )
    config = MnnvlConfig(comm_backend=_Group(group))
    workspace = dcp_alltoall.decode_cp_a2a_allocate_mnnvl_workspace(mapping, mnnvl_config=config)
    dcp_alltoall.decode_cp_a2a_init_workspace(workspace, rank, ranks)
    dist.barrier(group=group)  # a rank that calls before its peers have cleared their memory waits for ever
    return _Kernel(dcp_alltoall.decode_cp_a2a_alltoall, workspace, rank, ranks)


def exchange(state: RankState) -> None:
    """Exchange ``outputs`` ``[B, h, c, D]`` and ``stats`` ``[B, h, c, 2]`` into ``received_outputs`` and ``received_stats``.

    What a rank put at place p of the third dimension arrives at rank p, at this rank's place.
    """
    kernel = _READY[0]
    outputs, stats = kernel.call(
        state.tensors["outputs"], state.tensors["stats"], kernel.workspace, kernel.rank, kernel.ranks
    )
    state.tensors["received_outputs"], state.tensors["received_stats"] = _tensor(outputs), _tensor(stats)


def _tensor(value: Any) -> Tensor:
    """Return torch's tensor: some releases of FlashInfer return another library's."""
    if isinstance(value, Tensor):
        return value
    tensor: Tensor = torch.utils.dlpack.from_dlpack(value)
    return tensor
