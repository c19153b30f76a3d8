"""Problems from facts and choices, and what is refused."""

from __future__ import annotations

import json

import pytest

from configurator.bench import inputs
from configurator.bench.problem import Problem
from configurator.core.errors import InputError
from configurator.core.unknown import Unknown

LLAMA = {
    "model.name": "llama-3.1-70b",
    "model.attention_kind": "gqa",
    "model.num_heads": 64,
    "model.num_kv_heads": 8,
    "model.head_dim": 128,
    "model.v_head_dim": 128,
    "model.hidden_size": 8192,
    "model.num_layers": 80,
}


def test_heads_follow_the_deployment():
    problem = Problem.from_facts(tp_size=8, dcp_size=4)
    assert (problem.num_local_heads, problem.num_heads, problem.num_groups) == (16, 64, 2)


def test_the_small_problem_keeps_the_heads_of_a_rank_of_the_command():
    problem = Problem.small(command_tp_size=16)
    assert (problem.tp_size, problem.num_local_heads, problem.num_heads) == (2, 8, 16)


def test_gqa_groups_hold_their_share_of_kv_heads():
    problem = Problem.from_facts(LLAMA, tp_size=4, dcp_size=2)
    assert (problem.num_kv_heads, problem.lse_base, problem.query_dim) == (4, "e", 128)
    assert problem.kv_token_elements == 4 * 256


def test_json_brings_the_same_problem_back():
    problem = Problem.from_facts(LLAMA, dcp_size=2, ragged=True, backends=("a2a",))
    assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem


@pytest.mark.parametrize(
    ("facts", "choices", "part"),
    [
        (None, {"tp_size": 4, "dcp_size": 3}, "--dcp-size"),
        (None, {"tp_size": 3}, "--tp-size"),
        (None, {"tp_size": 0}, "--tp-size"),
        (None, {"context_length": 0}, "--context"),
        (None, {"batch_size": 2**50}, "--batch"),
        (None, {"dtype": "int4"}, "--dtype"),
        (None, {"backends": ()}, "--backends"),
        (None, {"time_budget_s": float("nan")}, "time_budget_s"),
        (LLAMA | {"model.head_dim": Unknown("not in the config")}, {}, "--model"),
        (LLAMA | {"model.attention_kind": None}, {}, "--model"),
        (LLAMA, {"tp_size": 48, "dcp_size": 4}, "--dcp-size"),
    ],
)
def test_what_cannot_be_run_names_its_part(facts, choices, part):
    with pytest.raises(InputError) as caught:
        Problem.from_facts(facts, **choices)
    assert caught.value.part == part


def test_an_unknown_field_is_refused():
    with pytest.raises(InputError, match="no field 'tpsize'"):
        Problem.from_json({"tpsize": 2})


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_shards_are_interleaved_and_complete(ranks):
    for tokens in range(12):
        assert [inputs.shard_length(tokens, r, ranks) for r in range(ranks)] == [
            len(range(r, tokens, ranks)) for r in range(ranks)
        ]


def test_the_check_batch_has_empty_shards_and_unequal_requests():
    lengths = inputs.ragged_lengths(Problem())
    assert lengths[-1] == 1
    assert len(set(lengths)) == len(lengths)
