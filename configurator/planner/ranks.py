"""Where each rank of a server sits, which groups it belongs to, and which rank holds which token.

A DCP group is a contiguous slice of a TP group: TP rank t has DCP rank ``t mod dcp_size``. A request's slots start at a
multiple of the logical page, so position p has the same owner as its slot: ``p mod dcp_size``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from configurator.planner.cell import kv_heads_held
from configurator.planner.deployment import Deployment, MissingFactError, or_unknown

MAX_RANKS = 512
Crossing = Literal["inside a node", "across nodes, on their shared fabric", "across nodes, over the network"]


@dataclass(frozen=True)
class Rank:
    """One GPU of the server.

    Attributes:
        node: Node it sits in.
        gpu: Its number in the node.
        stage: Pipeline stage.
        tp_rank: Rank in its TP group.
        replica: Attention replica.
        dcp_group: DCP group, counted over the whole server.
        dcp_rank: Rank in its DCP group.
        heads: First and last query head it computes after the exchange; ``None`` where that is not known.
        kv_heads: KV heads it holds; ``None`` for a latent cache, or where that is not known.
    """

    node: int
    gpu: int
    stage: int
    tp_rank: int
    replica: int
    dcp_group: int
    dcp_rank: int
    heads: tuple[int, int] | None
    kv_heads: int | None


@dataclass(frozen=True)
class Owner:
    """Which rank of every DCP group holds a position, and where.

    Attributes:
        position: Position in a request whose first page is logical page 1.
        dcp_rank: The rank that holds it.
        slot: Logical slot.
        row: Row on that rank.
        page: Physical page of the row.
        offset: Row within the page.
    """

    position: int
    dcp_rank: int
    slot: int
    row: int
    page: int
    offset: int


@dataclass(frozen=True)
class RankMap:
    """All ranks of a server.

    Attributes:
        ranks: In order of world rank.
        nodes: Nodes.
        tp_size: Ranks of a TP group.
        dcp_size: Ranks of a DCP group.
        page_size: Rows of a physical page.
        replicas: Attention replicas of a TP group.
        stages: Pipeline stages.
        dcp_crossing: What a DCP group's traffic crosses.
        tp_crossing: What a TP group's traffic crosses.
        copies: How many DCP groups hold the same tokens once each.
    """

    ranks: tuple[Rank, ...]
    nodes: int
    tp_size: int
    dcp_size: int
    page_size: int
    replicas: int
    stages: int
    dcp_crossing: Crossing
    tp_crossing: Crossing
    copies: int

    def owner(self, position: int) -> Owner:
        """Return who holds *position* of a request."""
        return owner_of(position, self.dcp_size, self.page_size)


def owner_of(position: int, dcp_size: int, page_size: int) -> Owner:
    """Return who holds *position* of a request whose first page is logical page 1."""
    slot = page_size * dcp_size + position
    row = slot // dcp_size
    return Owner(position, position % dcp_size, slot, row, row // page_size, row % page_size)


def local_length(tokens: int, dcp_size: int, dcp_rank: int) -> int:
    """Return how many of the first *tokens* positions *dcp_rank* holds."""
    return tokens // dcp_size + (dcp_rank < tokens % dcp_size)


@or_unknown
def rank_map(server: Deployment) -> RankMap:
    """Return the ranks of *server*, or an Unknown that says why they cannot be placed."""
    tp, pp, dcp, nodes = server.tp_size, server.pp_size, server.dcp_size, server.nnodes
    world = tp * pp
    if world > MAX_RANKS:
        raise MissingFactError(f"a map of {world} ranks would show nothing; it is drawn up to {MAX_RANKS}")
    if world % nodes:
        raise MissingFactError(f"{world} ranks cannot be shared out over {nodes} nodes evenly")
    per_node, width = world // nodes, server.attn_tp_size
    ranks = tuple(
        Rank(
            node=at // per_node,
            gpu=at % per_node,
            stage=at // tp,
            tp_rank=at % tp,
            replica=at % tp // width,
            dcp_group=at // dcp,
            dcp_rank=at % tp % dcp,
            heads=_heads(server, at % tp % width),
            kv_heads=_kv_heads(server),
        )
        for at in range(world)
    )
    fabric = server.facts.get("hardware.mnnvl") is True
    return RankMap(
        ranks=ranks,
        nodes=nodes,
        tp_size=tp,
        dcp_size=dcp,
        page_size=server.page_size,
        replicas=server.attn_dp_size,
        stages=pp,
        dcp_crossing=_crossing(per_node, dcp, fabric),
        tp_crossing=_crossing(per_node, tp, fabric),
        copies=width // dcp,
    )


def _crossing(per_node: int, size: int, fabric: bool) -> Crossing:
    if per_node % size == 0:
        return "inside a node"
    return "across nodes, on their shared fabric" if fabric else "across nodes, over the network"


def _heads(server: Deployment, attn_tp_rank: int) -> tuple[int, int] | None:
    try:
        local = server.num_local_heads
    except MissingFactError:
        return None
    return attn_tp_rank * local, (attn_tp_rank + 1) * local - 1


def _kv_heads(server: Deployment) -> int | None:
    try:
        return kv_heads_held(server, server.dcp_size) if server.kind == "gqa" else None
    except MissingFactError:
        return None
