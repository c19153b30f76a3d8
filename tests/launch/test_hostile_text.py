"""No text crashes the reader, none makes it slow, and whatever it reads it can write again."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configurator.core.configuration import Configuration
from configurator.core.errors import InputError
from configurator.launch.emit import FORMATS, emit
from configurator.launch.parse import MAX_CHARACTERS, parse
from configurator.launch.problem import MAX_PROBLEMS

from .strategies import AWKWARD

COMMANDS = [
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4",
    "python3 -m sglang.launch_server \\\n  --model-path $MODEL \\\n  --tp 8 \\\n  --json-model-override-args '{\"a\": [1]}'",
    "SGLANG_X=1 sglang serve Qwen/Qwen3-32B --tp=8 --host 0.0.0.0 2>&1 | tee log.txt &",
    'docker run --gpus all -e A=1 -v "$HOME:/root" lmsysorg/sglang:v0.5.23 python -m sglang.launch_server --tp 8',
    "export NCCL_DEBUG=INFO\ncd /opt && bash -c 'exec sglang serve m --tp 8'",
    "```bash\n$ sglang serve m \\\n    --dcp-comm-backend a2a --dcp-replicate-q-proj\n```",
    "--tp-size 8 --dcp-size 4 --no-dcp-replicate-q-proj",
    "services:\n  s:\n    command: [sglang, serve, m, --tp, '8']\n",
    "[Service]\nExecStart=/usr/bin/env python -m sglang.launch_server --tp 8\n",
]
HOSTILE_TEXTS = {
    "nothing but blanks": "   \t \n ",
    "a newline": "\n",
    "unclosed single quote": "sglang serve m --host 'abc",
    "unclosed double quote": 'sglang serve m --host "abc',
    "unclosed backtick": "sglang serve m --host `abc",
    "unclosed substitution": "sglang serve m --host $(abc",
    "unclosed brace": "sglang serve m --host ${abc",
    "unclosed ansi quote": "sglang serve m --host $'abc",
    "a quote alone": "'",
    "a double quote alone": '"',
    "a backtick alone": "`",
    "a backslash alone": "\\",
    "a dollar alone": "$",
    "a nul": "\0",
    "nuls in a command": "sglang\0serve m --tp\0 8 --host \0",
    "a byte order mark": "\ufeffsglang serve m --tp 8",
    "half a surrogate": "sglang serve m --host \ud800 --api-key \udcff",
    "right to left": "sglang serve \u202em --tp 8\u202c",
    "every control character": "sglang serve m --host " + "".join(map(chr, range(1, 32))),
    "combining characters": "sglang serve m --host a" + "\u0301" * 3000,
    "typographic dashes": "sglang serve m \u2014tp-size 8 \u2013\u2013dcp-size 4",
    "typographic quotes": "sglang serve m --host \u201cx\u201d --api-key \u2018y\u2019",
    "a fork bomb": ":(){ :|:& };:",
    "only operators": ";;&&||||;&|>>><<<(())",
    "a here-document": "sglang serve m --tp 8 <<EOF\n--dcp-size 4\nEOF\n",
    "deep substitution": "sglang serve m --host " + "$(" * 20_000 + ")" * 20_000,
    "deep braces": "sglang serve m --host " + "${" * 20_000 + "}" * 20_000,
    "deep unclosed": "sglang serve m --host " + "$(" * 30_000,
    "quotes in quotes": "sglang serve m --host " + "\"'" * 30_000,
    "deep json": "sglang serve m --json-model-override-args '" + "[" * 60_000 + "'",
    "many quotes": "sglang serve m " + "''" * 30_000,
    "many backslashes": "sglang serve m " + "\\" * 60_001,
    "many continuations": "sglang serve m " + "\\\n" * 30_000 + "--tp 8",
    "many newlines": "\n" * 60_000 + "sglang serve m --tp 8",
    "many operators": "a;" * 30_000 + "sglang serve m --tp 8",
    "many flags": "sglang serve m" + " --tp 8" * 9_000,
    "many unknown flags": "sglang serve m" + "".join(f" --x{i} 1" for i in range(6_000)),
    "many near flags": "sglang serve m" + "".join(f" --tp-siz{i} 1" for i in range(3_000)),
    "many strays": "sglang serve m" + " x" * 30_000,
    "many references": "sglang serve m --host " + "$A" * 20_000,
    "many redirections": "sglang serve m" + " >a" * 20_000,
    "many pipes": "sglang serve m" + " | tee a" * 8_000,
    "many comments": "# x\n" * 15_000 + "sglang serve m --tp 8",
    "many exports": "export A=1\n" * 6_000 + "sglang serve m --tp 8",
    "many serves": "sglang serve " * 5_000,
    "many shells": "bash -c '" * 6_000,
    "one long word": "sglang serve " + "m" * 60_000,
    "one long flag": "sglang serve m --" + "x" * 60_000,
    "one long number": "sglang serve m --tp " + "9" * 60_000,
    "one long float": "sglang serve m --mem-fraction-static 1e" + "9" * 60_000,
    "long human number": "sglang serve m --context-length " + "9" * 60_000 + "Ki",
    "human number with digits": "sglang serve m --context-length 1." + "1" * 60_000 + "k",
    "a megabyte of a": "a" * 2**20,
    "a megabyte of a command": "sglang serve m" + " --host x" * 120_000,
    "a megabyte of quotes": "sglang serve m '" + "x\n" * 2**19 + "'",
    "a yaml bomb": "k0: &k0 [x]\n" + "".join(f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 9)}]\n" for i in range(1, 12)),
    "yaml of many keys": "".join(f"k{i}: 1\n" for i in range(7_000)),
    "yaml of many services": "services:\n" + "  s: {command: [sglang, serve, m]}\n" * 900,
    "yaml of merges": "k: &k {x: 1}\n" + "k: &k {<<: *k}\n" * 2_000,
    "deep yaml": "command: " + "[" * 30_000,
    "deep yaml mapping": "".join(f"{' ' * i}k:\n" for i in range(300)),
    "yaml with a tag": "command: !!python/object/apply:os.system ['touch pwned']\n",
    "a unit with nothing": "[Service]\nExecStart=\n",
    "a unit that never ends": "[Service]\nExecStart=/usr/bin/env sglang serve m \\\n" * 2_000,
}  # fmt: skip


def read_and_write(text, table):
    """Read *text*; whatever was read must be a consistent value that can be written again in every format."""
    command = parse(text, table)
    assert len(command.problems) <= MAX_PROBLEMS + 1
    for problem in command.problems:
        assert problem.message
        assert "\n" not in problem.message
        assert len(problem.message) < 1500, problem.message
    for style in ("one-flag-per-line", "as-written", "single-line"):
        assert isinstance(command.render(style), str)
    if not command.is_launch:
        assert not command.words
        return command
    assert 0 <= command.start <= command.end <= len(command.words)
    for form in FORMATS:
        try:
            emit(command, table, form)
        except InputError:
            continue
    return command


@pytest.mark.parametrize("name", HOSTILE_TEXTS)
def test_hostile_text(name, table):
    started = time.process_time()
    command = parse(HOSTILE_TEXTS[name], table)
    command.render()
    took = time.process_time() - started
    assert took < 5.0, f"{took:.2f} s of CPU"
    if len(HOSTILE_TEXTS[name]) < 2_000:
        read_and_write(HOSTILE_TEXTS[name], table)


TOLD = {
    "nothing but blanks": "not-a-command",
    "unclosed single quote": "quote",
    "unclosed double quote": "quote",
    "unclosed backtick": "quote",
    "unclosed substitution": "quote",
    "unclosed brace": "quote",
    "unclosed ansi quote": "quote",
    "a quote alone": "quote",
    "a fork bomb": "not-a-command",
    "only operators": "not-a-command",
    "typographic dashes": "positional",
    "typographic quotes": "quote",
    "nuls in a command": "not-a-command",
    "a here-document": "left-out",
    "deep substitution": "substitution",
    "deep unclosed": "quote",
    "many flags": "repeated",
    "many unknown flags": "unknown-flag",
    "many strays": "positional",
    "many operators": "left-out",
    "one long flag": "unknown-flag",
    "one long number": "type",
    "long human number": "type",
    "a megabyte of a command": "not-a-command",
    "a yaml bomb": "not-a-command",
    "yaml with a tag": "not-a-command",
    "a unit with nothing": "not-a-command",
}


@pytest.mark.parametrize("name", TOLD)
def test_hostile_text_is_told_what_is_the_matter(name, table):
    assert TOLD[name] in {problem.kind for problem in parse(HOSTILE_TEXTS[name], table).problems}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1))
def test_any_text(text, table):
    read_and_write(text, table)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.one_of(st.text(max_size=8), AWKWARD, st.sampled_from(["--tp", "--host", "8"])), min_size=1))
def test_any_words(words, table):
    read_and_write(words, table)


@st.composite
def mutated(draw):
    """A real command with pieces taken out, put in, doubled and swapped."""
    text = draw(st.sampled_from(COMMANDS))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        to = draw(st.integers(at, min(len(text), at + 12)))
        piece = draw(st.one_of(AWKWARD, st.text(max_size=3), st.just(""), st.just(text[at:to] * 2)))
        text = text[:at] + piece + text[to:]
    return text or "x"


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=mutated())
def test_mutated_commands(text, table):
    command = read_and_write(text, table)
    again = parse(command.render(), table) if command.is_launch and command.words else None
    if again is not None and again.is_launch and "\0" not in text and not any(w.role == "tail" for w in command.words):
        assert again.configuration.flags == command.configuration.flags
        assert again.references == command.references


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.one_of(mutated(), st.text(min_size=1)))
def test_written_as_it_stood_it_reads_the_same(text, table):
    """The layout of the user is kept: as-written text gives the same flags, references and environment again."""
    command = parse(text, table)
    if not command.words or "\0" in text or any(word.role == "tail" for word in command.words):
        return
    again = parse(command.render("as-written"), table)
    assert again.configuration == command.configuration
    assert again.references == command.references


@pytest.mark.parametrize("as_words", [False, True])
def test_of_input_beyond_the_limit_no_part_is_read(as_words, table):
    longest = "--tp 8 ".ljust(MAX_CHARACTERS - 1, "x") + "y"
    assert parse(longest.split() if as_words else longest, table).configuration["tp_size"] == 8
    command = parse((longest + "z").split() if as_words else longest + "z", table)
    assert not command.is_launch
    assert command.configuration == Configuration()
    (problem,) = command.problems
    assert problem.refuses
    assert problem.message == (
        "The input has 65,537 characters, and no launch command has more than 65,536, so nothing of it is read; "
        "paste the command alone."
    )


def test_a_byte_order_mark_before_any_kind_of_text_is_no_part_of_it(table):
    for text in COMMANDS:
        assert parse("\ufeff" + text, table) == parse(text, table)


@pytest.mark.parametrize("source", ["", []])
def test_nothing_at_all_is_an_error_that_says_what_to_give(source, table):
    with pytest.raises(InputError, match=r"There is no command: .*arguments alone"):
        parse(source, table)


def test_more_problems_than_anyone_reads_are_counted(table):
    command = parse([f"--x{i}" for i in range(500)], table)
    assert len(command.problems) == MAX_PROBLEMS + 1
    assert command.problems[-1].message == f"{500 - MAX_PROBLEMS} more problems of this command are not listed."
    assert command.problems[-1].refuses
