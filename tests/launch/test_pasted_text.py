"""Commands as people paste them: launchers, prompts, fences, exports, pipes, containers, lost backslashes."""

from __future__ import annotations

import pytest

from configurator.launch.parse import parse

FLAGS = {"model_path": "m", "tp_size": 8}
ARGUMENTS = "--model-path m --tp-size 8"


@pytest.mark.parametrize(
    "launcher",
    [
        "python -m sglang.launch_server",
        "python3 -m sglang.launch_server",
        "python3.11 -u -m sglang.launch_server",
        "/opt/venv/bin/python -m sglang.launch_server",
        "python -msglang.launch_server",
        "uv run python -m sglang.launch_server",
        "numactl -N 0 python -m sglang.launch_server",
        "nohup python -m sglang.launch_server",
        "sudo -E env A=1 python -m sglang.launch_server",
        "exec python -m sglang.launch_server",
        "torchrun --nproc-per-node 8 -m sglang.launch_server",
        "sglang serve",
        "/opt/venv/bin/sglang serve",
        "uvx sglang serve",
        "python sglang/launch_server.py",
        "python -m sglang_router.launch_server",
        "docker run --gpus all lmsysorg/sglang:v0.5.23 python -m sglang.launch_server",
        "podman run --rm -it -e A=1 img sglang serve",
        "kubectl exec pod -- python -m sglang.launch_server",
        "srun -N 1 python -m sglang.launch_server",
        "",
    ],
)
def test_launchers(launcher, table):
    command = parse(f"{launcher} {ARGUMENTS}".strip(), table)
    assert command.configuration.flags == FLAGS
    assert " ".join(command.launcher) == launcher
    assert not command.problems


@pytest.mark.parametrize(
    "text",
    [
        f"$ sglang serve {ARGUMENTS}",
        f"user@host:~$ sglang serve {ARGUMENTS}",
        f"(venv) user@host:~# sglang serve {ARGUMENTS}",
        f"root@3f2a:/workspace# sglang serve {ARGUMENTS}",
        f"% sglang serve {ARGUMENTS}",
        f"\u276f sglang serve {ARGUMENTS}",
        f"!sglang serve {ARGUMENTS}",
        f"```\nsglang serve {ARGUMENTS}\n```",
        f"```bash\nsglang serve {ARGUMENTS}\n```\n",
        f"```sh\n$ sglang serve {ARGUMENTS}",
        f"\ufeffsglang serve {ARGUMENTS}\n",
        f"\n\n  sglang serve {ARGUMENTS}  \n\n",
        "sglang serve \\\r\n  --model-path m \\\r\n  --tp-size 8\r\n",
        "sglang serve \\\n\t--model-path m \\\n\t--tp-size 8",
        f"sglang serve {ARGUMENTS} # on eight GPUs",
        f"# how I start it\nsglang serve {ARGUMENTS}",
        f"#!/bin/bash\nset -e\nsglang serve {ARGUMENTS}",
        f"set -ex; cd /opt && sglang serve {ARGUMENTS}",
        f"sglang serve {ARGUMENTS} &",
        f"sglang serve {ARGUMENTS} > log.txt 2>&1 &",
        f"sglang serve {ARGUMENTS} 2>&1 | tee log.txt",
        f"bash -c 'sglang serve {ARGUMENTS}'",
        f'bash -lc "exec sglang serve {ARGUMENTS}"',
        f"docker run img bash -c 'sglang serve {ARGUMENTS}'",
    ],
)
def test_ways_of_pasting(text, table):
    command = parse(text, table)
    assert command.configuration.flags == FLAGS
    assert not command.refused


def test_lines_that_lost_their_backslash_are_joined_and_it_says_so(table):
    command = parse("sglang serve\n  --model-path m\n  --tp-size 8\n", table)
    assert command.configuration.flags == FLAGS
    (problem,) = command.problems
    assert problem.message.startswith(
        "2 lines of the text begin with a flag, but the line before does not end in a backslash"
    )
    assert command.render() == "sglang serve \\\n  --model-path m \\\n  --tp-size 8"


def test_a_blank_after_the_backslash_is_told(table):
    command = parse("sglang serve \\ \n  --model-path m \\  # the model\n  --tp-size 8", table)
    assert command.configuration.flags == FLAGS
    assert [p.kind for p in command.problems] == ["joined", "joined"]
    assert "after the backslash at line 1, column 14" in command.problems[0].message


@pytest.mark.parametrize(
    ("text", "env"),
    [
        (f"A=1 B='x y' sglang serve {ARGUMENTS}", {"A": "1", "B": "x y"}),
        (f"export A=1\nsglang serve {ARGUMENTS}", {"A": "1"}),
        (f"export A=1 B=2; sglang serve {ARGUMENTS}", {"A": "1", "B": "2"}),
        (f"export A=1 && sglang serve {ARGUMENTS}", {"A": "1"}),
        (f"export A=1\nA=2 sglang serve {ARGUMENTS}", {"A": "2"}),
        (f"env A=1 sglang serve {ARGUMENTS}", {"A": "1"}),
        (f"A=1 {ARGUMENTS}", {"A": "1"}),
        (f"docker run -e A=1 --env B=2 --env=C=3 img sglang serve {ARGUMENTS}", {"A": "1", "B": "2", "C": "3"}),
        (f"export A=1\nbash -c 'sglang serve {ARGUMENTS}'", {"A": "1"}),
        (f"A=1 bash -c 'B=2 sglang serve {ARGUMENTS}'", {"A": "1", "B": "2"}),
        (f"docker run -e A=1 img bash -c 'B=2 sglang serve {ARGUMENTS}'", {"A": "1", "B": "2"}),
    ],
)
def test_variables_that_reach_the_server(text, env, table):
    command = parse(text, table)
    assert command.configuration.env == env
    assert command.configuration.flags == FLAGS


def test_a_variable_without_export_does_not_reach_the_server(table):
    command = parse(f"A=1\nsglang serve {ARGUMENTS}", table)
    assert command.configuration.env == {}
    assert "A is set on a line of its own without export" in command.problems[0].message
    assert "export A=..." in command.problems[0].message


def test_a_variable_without_export_that_the_command_uses_is_no_mistake(table):
    command = parse("MODEL=m\nsglang serve --model-path $MODEL --tp-size 8", table)
    assert not command.problems
    assert command.references == {"model_path": "$MODEL"}
    assert command.render().startswith("MODEL=m\n")


def test_a_variable_whose_value_is_a_reference_is_not_known(table):
    command = parse(f"A=$X sglang serve {ARGUMENTS}", table)
    assert command.configuration.env == {}
    assert command.references == {"env.A": "$X"}


def test_what_is_no_part_of_the_command_is_left_out_and_named(table):
    command = parse(f"pip install sglang\nsglang serve {ARGUMENTS}\ncurl localhost:30000/health", table)
    assert command.left_out == ("pip install sglang", "curl localhost:30000/health")
    (problem,) = command.problems
    assert problem.message == (
        "Left out, since it is no part of the SGLang command: pip install sglang; curl localhost:30000/health."
    )


def test_a_second_command_is_named(table):
    command = parse(f"sglang serve {ARGUMENTS}\nsglang serve other --tp 4", table)
    assert command.configuration.flags == FLAGS
    assert "There is a second SGLang command among it" in command.problems[0].message


def test_a_pipe_into_a_program_that_is_no_log_filter_is_left_out(table):
    command = parse(f"sglang serve {ARGUMENTS} | sh", table)
    assert "sh" in command.left_out
    assert "| sh" not in command.render()


def test_a_log_filter_stays(table):
    text = f"sglang serve {ARGUMENTS} 2>&1 | tee log.txt"
    assert parse(text, table).render("single-line") == text


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("sglang serve m --tp 8 --host 'abc", "single quote", "line 1, column 30"),
        ('sglang serve m \\\n  --tp 8 \\\n  --host "abc', "double quote", "line 3, column 10"),
        ("sglang serve m --tp 8 --host `abc", "backtick", "line 1, column 30"),
        ("sglang serve m --tp 8 --host $(abc", r"$(", "line 1, column 30"),
    ],
)
def test_an_open_quote_is_told_with_its_place_and_the_rest_is_read(text, what, where, table):
    command = parse(text, table)
    assert command.configuration["tp_size"] == 8
    problem = next(p for p in command.problems if p.kind == "quote")
    assert what in problem.message
    assert where in problem.message
    assert "; close it. What stands before" in problem.message
    assert command.refused


def test_what_the_shell_would_fill_in_is_kept_as_text(table):
    command = parse("sglang serve $(cat model) --tp $(nproc) --host `hostname`", table)
    assert command.configuration["model_path"] == "$(cat model)"
    assert command.configuration["host"] == "`hostname`"
    assert "tp_size" not in command.configuration
    assert [p.kind for p in command.problems] == ["substitution"] * 3 + ["type"]
    assert all("never run" in p.message for p in command.problems[:3])


@pytest.mark.parametrize(
    "text",
    ["hello", "ls -l", "vllm serve m", "pip install sglang", "import sglang", "8", "{}", "<html>", "$FLAGS --tp 8"],
)
def test_what_is_no_command_says_what_is_missing(text, table):
    command = parse(text, table)
    assert not command.is_launch
    assert command.words == ()
    assert command.left_out == (text,)
    (problem,) = command.problems
    assert "no 'python -m sglang.launch_server' and no 'sglang serve' in it" in problem.message
    assert problem.message.endswith("paste a launch command, or its arguments alone.")


def test_layout_and_spelling_of_the_user_are_kept(table):
    text = (
        "# the big one\nexport NCCL_DEBUG=INFO\nA=1 python3 -m sglang.launch_server \\\n"
        '    --model "deepseek-ai/DeepSeek-V3.1" \\\n    --tp=8 --trust-remote-code \\\n'
        "    --json-model-override-args '{\"a\": 1}'"
    )
    assert parse(text, table).render("as-written") == text


def test_a_command_inside_a_shell_inside_a_container(table):
    command = parse(
        "export X=1\ndocker run -e A=$B --gpus all img bash -c 'C=2 exec sglang serve m --tp 8'\necho done", table
    )
    assert command.configuration.env == {"X": "1", "C": "2"}
    assert command.references == {"env.A": "$B"}
    assert command.left_out == ("echo done", "docker run -e A=$B --gpus all img")
    assert "what starts the shell is left out" in command.problems[-1].message
    assert parse(command.render(), table).configuration == command.configuration
    assert parse(command.render("as-written"), table).configuration == command.configuration


@pytest.mark.parametrize(
    ("text", "excerpt", "left_out"),
    [
        ('sglang serve --model-path "m --tp 8', '(--model-path ")', ('"m --tp 8',)),
        ("cd /x; sglang serve m --host='0.0", "(m --host=')", ("cd /x", "'0.0")),
        ('sglang serve m --host "', '(--host ")', ('"',)),
        (f"sglang serve {'x' * 70}'a", f"(serve ...{'x' * 39}')", ("'a",)),
    ],
)
def test_an_open_quote_is_shown_with_whole_words_and_once(text, excerpt, left_out, table):
    command = parse(text, table)
    (said,) = [p.message for p in command.problems if p.kind == "quote"]
    assert excerpt in said
    assert command.left_out == left_out
    others = [p.message for p in command.problems if p.kind == "left-out"]
    assert others == (["Left out, since it is no part of the SGLang command: cd /x."] if "cd" in text else [])
