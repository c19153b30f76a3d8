"""Server arguments one by one: what is read, what is refused, and what the message tells."""

from __future__ import annotations

import pytest

from configurator.catalog.flag_table import flag_history, flag_table
from configurator.launch.parse import parse


def read(text, table):
    return parse(text.split(), table, history=flag_history)


def problems(command):
    return [(problem.kind, problem.dest, problem.suggestion) for problem in command.problems]


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("--tp 8", {"tp_size": 8}),
        ("--tp=8", {"tp_size": 8}),
        ("--tensor-parallel-size 8", {"tp_size": 8}),
        ("--tp-size=8 --decode-context-parallel-size 4", {"tp_size": 8, "dcp_size": 4}),
        ("--decode-context-parallel-size=4", {"dcp_size": 4}),
        ("--dcp-s 4", {"dcp_size": 4}),
        ("--dcp-c=a2a", {"dcp_comm_backend": "a2a"}),
        ("--dcp-rep", {"dcp_replicate_q_proj": True}),
        ("--no-dcp-replicate-q-proj", {"dcp_replicate_q_proj": False}),
        ("--no-dcp-rep", {"dcp_replicate_q_proj": False}),
        ("--model m --dp 2 --ep 8", {"model_path": "m", "dp_size": 2, "ep_size": 8}),
        ("--nccl-init-addr 10.0.0.1:5000", {"dist_init_addr": "10.0.0.1:5000"}),
        ("--context-length 64k", {"context_length": 64_000}),
        ("--context-length 64Ki", {"context_length": 65_536}),
        ("--mem-fraction-static .85", {"mem_fraction_static": 0.85}),
        ("--mem-fraction-static 1e-1", {"mem_fraction_static": 0.1}),
        ("--numa-node 0 0 1 1", {"numa_node": (0, 0, 1, 1)}),
        ("--lora-paths --tp 2", {"lora_paths": (), "tp_size": 2}),
        ("--model-checksum --tp 2", {"model_checksum": "", "tp_size": 2}),
        ("--model-checksum abc", {"model_checksum": "abc"}),
    ],
)
def test_spellings(text, flags, table):
    command = read(text, table)
    assert dict(command.configuration.flags) == flags
    assert not command.problems


@pytest.mark.parametrize("size", ["0", "-1", "-4", "99999999999999999999", "+8", "1_000", "007"])
@pytest.mark.parametrize("form", ["--dcp-size {}", "--dcp-size={}"])
def test_any_whole_number_is_read_whatever_the_server_says_of_it_later(form, size, table):
    command = read(form.format(size), table)
    assert command.configuration["dcp_size"] == int(size)
    assert not command.refused


@pytest.mark.parametrize(
    ("text", "kind", "dest", "suggestion", "tells"),
    [
        ("--tp eight", "type", "tp_size", "8", r"--tp eight: .* a whole number"),
        ("--tp 8.0", "type", "tp_size", "8", r"--tp 8\.0: .* a whole number"),
        ("--tp=", "type", "tp_size", None, r"--tp \(empty\): .* a whole number"),
        ("--tp", "missing-value", "tp_size", None, r"--tp needs a whole number after it, but nothing follows"),
        ("--tp --dcp-size 4", "missing-value", "tp_size", None, r"--dcp-size follows it, which is a flag itself"),
        ("--numa-node", "missing-value", "numa_node", None, r"--numa-node needs"),
        ("--mem-fraction-static 85%", "type", "mem_fraction_static", None, r"85%: .* a number"),
        ("--context-length 64q", "type", "context_length", None, r"64q: .* such as 64k"),
        ("--preferred-sampling-params {x", "type", "preferred_sampling_params", None, r"\{x: .* JSON text"),
        ("--dcp-comm-backend A2A", "choice", "dcp_comm_backend", "a2a", r"takes ag_rs, a2a, fi_a2a here .* did you mean a2a"),
        ("--kv-cache-dtype fp8-e4m3", "choice", "kv_cache_dtype", "fp8_e4m3", r"did you mean fp8_e4m3\?"),
        ("--attention-backend zzz", "choice", "attention_backend", None, r"and \d+ more here .* take one of these"),
        ("--enable-dp-attention=true", "unexpected-value", "enable_dp_attention", "--enable-dp-attention", r"is a switch"),
        ("--dcp-replicate-q-proj=off", "unexpected-value", "dcp_replicate_q_proj", "--dcp-replicate-q-proj",
         r"--no-dcp-replicate-q-proj turns it off"),
        ("--tp-sise 8", "unknown-flag", None, "--tp-size", r"no such flag .* did you mean --tp-size\?"),
        ("--TP-SIZE 8", "unknown-flag", None, "--tp-size", r"did you mean --tp-size\?"),
        ("--tp_size 8", "unknown-flag", None, "--tp-size", r"did you mean --tp-size\?"),
        ("-tp 8", "unknown-flag", None, "--tp-size", r"did you mean --tp-size\?"),
        ("--max-model-len 4096", "unknown-flag", None, "--context-length", r"did you mean --context-length\?"),
        ("--gpu-memory-utilization 0.9", "unknown-flag", None, "--mem-fraction-static", r"did you mean"),
        ("--xyzzy 1", "unknown-flag", None, None, r"take it out, or choose a release that has it"),
        ("--disaggregation x", "ambiguous", None, None, r"short for several flags .* and \d+ more\), .* in full"),
        ("--tp 8 stray", "positional", None, None, r"stray: .* belongs to no flag"),
        ("\u2014tp-size 8", "positional", None, "--tp-size", r"a dash that is not a hyphen.* write --tp-size"),
        ("--host \u201cx\u201d", "quote", "host", None, r"typographic quotes .* straight"),
        ("--help", "left-out", None, None, r"prints SGLang's help"),
    ],
)  # fmt: skip
def test_problems_name_the_part_and_the_way_out(text, kind, dest, suggestion, tells, table):
    command = read(text, table)
    (problem,) = command.problems
    assert (problem.kind, problem.dest) == (kind, dest)
    if suggestion or kind != "ambiguous":
        assert problem.suggestion == suggestion
    import re

    assert re.search(tells, problem.message), problem.message
    assert problem.refuses == (kind not in ("quote", "left-out"))


def test_a_release_that_had_or_will_have_the_flag_is_named(table):
    message = read("--dcp-comm-backend a2a", flag_table("0.5.16")).problems[0].message
    assert "it appears in 0.5.17" in message
    gone = next(f for f in flag_table("0.5.15").values() if f.primary not in table.spellings and f.action == "store")
    assert "is the last release with it" in parse([gone.primary, "1"], table, history=flag_history).problems[0].message


def test_a_flag_given_twice_the_last_wins_and_it_says_so(table):
    command = read("--tp 4 --dcp-size 2 --tensor-parallel-size=8", table)
    assert command.configuration.flags == {"tp_size": 8, "dcp_size": 2}
    (problem,) = command.problems
    assert problem.kind == "repeated"
    assert not problem.refuses
    assert problem.message == "--tp-size is given 2 times (4, then 8); the last one wins, the others do nothing."


def test_on_and_off_in_one_command_the_last_wins(table):
    command = read("--dcp-replicate-q-proj --no-dcp-replicate-q-proj", table)
    assert command.configuration.flags == {"dcp_replicate_q_proj": False}
    assert "given 2 times" in command.problems[0].message


def test_a_reference_after_a_value_makes_it_unknown_and_the_other_way_round(table):
    command = parse("--tp 8 --tp $TP", table)
    assert (dict(command.configuration.flags), dict(command.references)) == ({}, {"tp_size": "$TP"})
    command = parse("--tp $TP --tp 8", table)
    assert (dict(command.configuration.flags), dict(command.references)) == ({"tp_size": 8}, {})


def test_a_value_that_is_refused_takes_an_earlier_one_with_it(table):
    """The server stops, so neither value holds; showing the first as set would be a lie."""
    command = read("--tp 8 --tp eight", table)
    assert "tp_size" not in command.configuration
    assert command.refused


def test_what_can_be_read_is_loaded_beside_what_cannot(table):
    command = read("--tp eight --dcp-size 4 --frob x --kv-cache-dtype fp9 --dcp-comm-backend a2a stray", table)
    assert command.configuration.flags == {"dcp_size": 4, "dcp_comm_backend": "a2a"}
    assert [kind for kind, _, _ in problems(command)] == ["type", "unknown-flag", "choice", "positional"]


def test_unknown_flags_are_kept_verbatim_and_in_place(table):
    text = "sglang serve m --tp 8 --frob 'a b' c --dcp-size 4 --frob=$X --wibble"
    command = parse(text, table)
    assert command.kept == ("--frob 'a b' c", "--frob=$X", "--wibble")
    assert command.render("as-written") == text
    assert command.lines() == [
        "sglang serve m", "--tp 8", "--frob 'a b' c", "--dcp-size 4", '--frob="$X"', "--wibble",
    ]  # fmt: skip


def test_an_unknown_flag_takes_the_words_after_it_but_no_flag(table):
    command = read("--frob 1 2 -3 --tp 8", table)
    assert command.kept == ("--frob 1 2 -3",)
    assert command.configuration["tp_size"] == 8


def test_two_dashes_end_the_flags(table):
    command = read("--tp 8 -- --dcp-size 4", table)
    assert command.configuration.flags == {"tp_size": 8}
    assert command.refused


def test_sglang_serve_takes_a_bare_model(table):
    command = parse("sglang serve Qwen/Qwen3-32B --tp 8", table)
    assert command.configuration.flags == {"model_path": "Qwen/Qwen3-32B", "tp_size": 8}
    assert command.argv() == ["--model-path", "Qwen/Qwen3-32B", "--tp", "8"]
    assert not command.problems


def test_sglang_serve_has_a_selector_of_its_own(table):
    command = parse("sglang serve --model-type llm Qwen/Qwen3-32B --tp 8", table)
    assert command.configuration.flags == {"model_path": "Qwen/Qwen3-32B", "tp_size": 8}
    assert not command.problems


def test_sglang_serve_took_no_bare_model_in_the_first_release():
    command = parse("sglang serve Qwen/Qwen3-32B --tp 8", flag_table("0.5.15"))
    assert command.refused
    assert command.kept == ("Qwen/Qwen3-32B",)


def test_launch_server_takes_no_bare_model(table):
    command = parse("python -m sglang.launch_server Qwen/Qwen3-32B --tp 8", table)
    assert [p.kind for p in command.problems] == ["positional"]
