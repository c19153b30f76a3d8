"""Groups and owners: the published worked example, and groups against brute force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configurator.core.unknown import is_unknown
from configurator.planner.ranks import local_length, owner_of, rank_map


@pytest.mark.parametrize(
    ("position", "slot", "owner", "row", "page", "offset"),
    [
        (0, 8, 0, 4, 1, 0), (1, 9, 1, 4, 1, 0), (2, 10, 0, 5, 1, 1), (3, 11, 1, 5, 1, 1), (7, 15, 1, 7, 1, 3),
        (8, 16, 0, 8, 2, 0), (9, 17, 1, 8, 2, 0), (10, 18, 0, 9, 2, 1),
    ],
)  # fmt: skip
def test_the_worked_example(position, slot, owner, row, page, offset):
    found = owner_of(position, dcp_size=2, page_size=4)
    assert (found.slot, found.dcp_rank, found.row, found.page, found.offset) == (slot, owner, row, page, offset)


@pytest.mark.parametrize(("tokens", "dcp", "held"), [(11, 2, [6, 5]), (11, 4, [3, 3, 3, 2]), (3, 4, [1, 1, 1, 0])])
def test_how_many_tokens_each_rank_holds(tokens, dcp, held):
    assert [local_length(tokens, dcp, rank) for rank in range(dcp)] == held


@given(st.integers(0, 500), st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([1, 16, 64]))
def test_owners_and_lengths_agree(tokens, dcp, page):
    owners = [owner_of(p, dcp, page).dcp_rank for p in range(tokens)]
    assert [owners.count(rank) for rank in range(dcp)] == [local_length(tokens, dcp, rank) for rank in range(dcp)]
    places = {(owner_of(p, dcp, page).dcp_rank, owner_of(p, dcp, page).row) for p in range(tokens)}
    assert len(places) == tokens, "no two positions share a row of a rank"


def test_groups_are_contiguous_slices_of_the_tp_group(serve):
    found = rank_map(serve("deepseek-v3.1", dcp_size=4))
    assert [r.dcp_group for r in found.ranks] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [r.dcp_rank for r in found.ranks] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert [r.heads for r in found.ranks][:2] == [(0, 15), (16, 31)]
    assert found.ranks[7].heads == (112, 127)
    assert found.copies == 2
    assert found.dcp_crossing == "inside a node"


def test_attention_replicas_hold_tokens_of_their_own(serve):
    found = rank_map(serve("deepseek-v3.1", dcp_size=2, dp_size=2, enable_dp_attention=True))
    assert [r.replica for r in found.ranks] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [r.dcp_group for r in found.ranks] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [r.heads for r in found.ranks][:5] == [(0, 31), (32, 63), (64, 95), (96, 127), (0, 31)]
    assert (found.replicas, found.copies) == (2, 2)


def test_groups_that_leave_their_node(serve):
    network = rank_map(serve("deepseek-v3.1", tp_size=16, nnodes=2, dcp_size=16))
    assert (network.dcp_crossing, network.tp_crossing) == ("across nodes, over the network",) * 2
    assert [r.node for r in network.ranks] == [0] * 8 + [1] * 8
    fabric = rank_map(serve("deepseek-v3.1", "gb200-nvl72", tp_size=16, nnodes=4, dcp_size=4))
    assert fabric.dcp_crossing == "inside a node"
    assert fabric.tp_crossing == "across nodes, on their shared fabric"


def test_pipeline_stages_have_tp_groups_of_their_own(serve):
    found = rank_map(serve("deepseek-v3.1", tp_size=4, pp_size=2, dcp_size=2))
    assert [r.stage for r in found.ranks] == [0] * 4 + [1] * 4
    assert [r.dcp_group for r in found.ranks] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_what_cannot_be_placed_says_why(serve):
    assert "groups of 3" in rank_map(serve("deepseek-v3.1", dcp_size=3)).reason
    assert is_unknown(rank_map(serve("deepseek-v3.1", tp_size=8, nnodes=3)))
    assert is_unknown(rank_map(serve("deepseek-v3.1", tp_size=1024)))


def test_gqa_ranks_hold_the_heads_of_their_group(serve):
    assert rank_map(serve("qwen3-235b-a22b", dcp_size=8)).ranks[0].kv_heads == 4
    assert rank_map(serve("deepseek-v3.1")).ranks[0].kv_heads is None
