"""What we write is what bash reads: every word arrives byte for byte, references alone are live, nothing is run."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configurator.core.errors import InputError
from configurator.launch.emit import FORMATS, emit
from configurator.launch.parse import parse
from configurator.launch.shell_word import pieces_of
from configurator.launch.word import quote

from .real_shell import Recorder, bash, is_well_formed, printed_words
from .strategies import AWKWARD, STRINGS

HOSTILE = [
    "", " ", "\n", "\t", "\r", "\r\n", "a\nb", "a\\\nb", "'", '"', "''", '""', "'\"'", "it's", 'say "hi"', "\\", "\\\\",
    "\\n", "a\\", "$", "$$", "$HOME", "${HOME}", "${HOME", "$(touch pwned)", "`touch pwned`", "$((1+1))",
    "${x:=$(touch pwned)}", "$'a\\nb'", '$"x"', "$1", "$@", "$?", "$!", "!", "!!", "!$", "!touch", "^a^b", "~", "~root",
    "*", "?", "[a-z]", "{a,b}", "{1..3}", "a*b", ";", "; touch pwned", "&", "& touch pwned", "&&", "|", "| touch pwned",
    "||", ">", "> pwned", "<", "<<", "<<EOF", "<(true)", "(", ")", "(touch pwned)", "#", "# no", "a#b", "=", "x=y",
    "--flag=x y", "--flag='x'", "X=$(touch pwned)", "%", "%s", "%%", "\\x41", "-n", "-", "--", "-e", "if", "then", "done",
    "{", "}", "[[", "\xe9", "\u65e5\u672c\u8a9e", "\U0001f600", "\u202e", "\u2028", "\x85", "\xa0", "\x01", "\x07",
    "\x1b[31m", "\x7f", "\ufeff", "\udcff", "a" * 5000, "'" * 300, "\\" * 301, "$(" * 100, "`" * 7,
]  # fmt: skip
SENTINEL = "pwned"


@pytest.fixture
def folder(tmp_path):
    """An empty working folder; a test fails if anything appears in it."""
    place = tmp_path / "work"
    place.mkdir()
    yield place
    assert not list(place.iterdir()), "something in the text was run"


def test_every_hostile_word_arrives_byte_for_byte(folder):
    assert printed_words(" ".join(quote(word) for word in HOSTILE), cwd=folder) == HOSTILE


def test_hostile_words_survive_history_expansion(folder):
    """An interactive shell expands ``!`` inside double quotes; what is pasted into one must not change."""
    words = [word for word in HOSTILE if "\r" not in word]
    text = "printf '%s\\0' " + " ".join(quote(word) for word in words)
    code, out, errors = bash(f"set -o history -o histexpand\n{text}\n", cwd=folder)
    assert (code, errors) == (0, "")
    assert out.split("\0")[:-1] == words


def test_hostile_values_of_a_command_arrive_in_all_layouts(folder, table):
    argv = ["--served-model-name", "x", "--host"]
    for word in HOSTILE:
        given = [*argv[:2], f"--host={word}", "--api-key", word if word[:1] != "-" else "k"]
        command = parse(given, table)
        for style in ("one-flag-per-line", "single-line", "as-written"):
            assert printed_words(command.render(style), cwd=folder) == given, (word, style)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.one_of(STRINGS, st.text(st.characters(exclude_characters="\0"))), min_size=1, max_size=12))
def test_any_words_arrive(words, folder):
    words = [word.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for word in words]
    assert printed_words(" ".join(quote(word) for word in words), cwd=folder) == words


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(st.one_of(AWKWARD, st.sampled_from(["a", " ", "--host ", "'x y'", '"$HOME"', "\\ "]))).map("".join)
)
def test_pasted_text_is_written_again_as_bash_would_read_it(text, folder, table):
    """Whatever the text: our own spelling of what we read of it is well formed, and running it runs nothing."""
    command = parse(f"python -m sglang.launch_server --host {text}", table)
    arguments = command.words[command.start : command.end]
    written = " ".join(word.safe for word in arguments)
    assert is_well_formed(written)[0], written
    words = printed_words(written, cwd=folder, env={"HOME": "/home/me"})
    assert words == [_at_home(word) for word in arguments]


def _at_home(word):
    """Return what a shell with only HOME set makes of *word*."""
    if not word.live:
        return word.value.replace("\0", "")
    return "".join(
        "/home/me" if is_name and text == "HOME" else "" if is_name else text for is_name, text in pieces_of(word)
    )


def test_plain_text_means_to_us_what_it_means_to_bash(folder, table):
    """Quotes, escapes, continuations and references, checked against bash's own reading."""
    texts = [
        """--host 'a b' --api-key "c d" --served-model-name e\\ f""",
        """--host a'b'"c"d --api-key 'it'"'"'s'""",
        '--host "a\\"b\\\\c\\$d\\`e\\f" --api-key "x\\\ny"',
        "--host $'a\\tb\\n\\x41\\u00e9\\101\\'\\e' --api-key a\\\nb",
        "--host \\\n  x \\\n\\\n --api-key y",
        '--host "$HOME/x" --api-key ${HOME}y --served-model-name pre$HOME-post',
        "--host ~ --api-key ~/models --served-model-name a~b",
        "--host a#b --api-key '#c' # the rest is a comment",
        "--host \"$HOME\"'$HOME'\\$HOME",
        """--json-model-override-args '{"a": {"b": [1, 2]}}'""",
        "--host x=$HOME --api-key=$HOME/k --served-model-name=~",
        "--host \"a'b\" --api-key 'a\"b' --served-model-name \\'\\\"",
        "--host $ --api-key a$ --served-model-name $/x",
    ]
    env = {"HOME": "/home/me"}
    for text in texts:
        command = parse(text, table)
        assert not [p for p in command.problems if p.kind not in ("left-out", "joined")], text
        written = command.render().removeprefix("# the rest is a comment\n")  # comments go on lines of their own
        assert printed_words(written, cwd=folder, env=env) == printed_words(text, cwd=folder, env=env), text


def test_references_stay_live_and_nothing_else_does(folder, table):
    text = (
        'python -m sglang.launch_server --model-path $MODEL --host ${HOST} --api-key "pre-$KEY.x" '
        "--served-model-name '$QUOTED' --reasoning-parser $(touch pwned) --tool-call-parser `touch pwned` "
        "--log-level ${X:-$(touch pwned)} --tokenizer-path $1$2"
    )
    command = parse(text, table)
    assert command.references == {"model_path": "$MODEL", "host": "$HOST", "api_key": "pre-$KEY.x"}
    assert command.configuration["served_model_name"] == "$QUOTED"
    env = {"MODEL": "m 1", "HOST": "h*", "KEY": "k", "QUOTED": "wrong", "X": "wrong"}
    words = printed_words(command.render(), cwd=folder, env=env)
    assert words[3:] == [
        "--model-path", "m 1", "--host", "h*", "--api-key", "pre-k.x", "--served-model-name", "$QUOTED", "--reasoning-parser",
        "$(touch pwned)", "--tool-call-parser", "`touch pwned`", "--log-level", "${X:-$(touch pwned)}", "--tokenizer-path", "$1$2",
    ]  # fmt: skip


def test_a_dollar_in_argv_is_a_dollar_sign(folder, table):
    command = parse(["--model-path", "$MODEL", "--host", "${HOST}"], table)
    assert command.references == {}
    assert command.configuration["model_path"] == "$MODEL"
    words = printed_words(command.render(), cwd=folder, env={"MODEL": "wrong", "HOST": "wrong"})
    assert words == ["--model-path", "$MODEL", "--host", "${HOST}"]


def hostile_command(table):
    words = [word for word in HOSTILE if word.isprintable() and word and len(word) < 400]
    argv = ["python", "-m", "sglang.launch_server", "--model-path", "m", "--tp-size", "8"]
    for word in words:
        argv += [f"--api-key={word}"]
    command = parse(argv, table)
    from configurator.core.configuration import Change

    return command.apply(Change(env={"SECRET": "$(touch pwned) 'x' \"y\" `touch pwned`"}), table)


@pytest.mark.parametrize("form", ["shell", "docker", "slurm"])
def test_scripts_are_well_formed_whatever_the_values(form, table):
    command = hostile_command(table)
    for nodes in (1, 2):
        from configurator.core.configuration import Change

        files = emit(
            command.apply(Change({"nnodes": nodes}), table), table, form, header=["$(touch pwned)\ntouch pwned", "'"]
        )
        for file in files:
            good, why = is_well_formed(file.text)
            assert good, why


def test_the_script_gives_the_server_what_was_asked(folder, tmp_path, table):
    command = hostile_command(table)
    (file,) = emit(command, table, "shell", header=["$(touch pwned)\ntouch pwned", "`touch pwned`"])
    (call,) = Recorder(tmp_path, "python").run(file.text, cwd=folder)
    assert call["argv"] == ["-m", "sglang.launch_server", *command.argv()]
    assert call["env"]["SECRET"] == command.configuration.env["SECRET"]


def test_docker_gets_the_same_arguments_and_variables(folder, tmp_path, table):
    command = hostile_command(table)
    (file,) = emit(command, table, "docker", header=["$(touch pwned)\ntouch pwned"])
    (call,) = Recorder(tmp_path, "docker").run(file.text, cwd=folder)
    given = call["argv"]
    at = given.index("python")
    assert given[at:] == ["python", "-m", "sglang.launch_server", *command.argv()]
    assert given[:2] == ["run", "--rm"]
    assert given[at - 1].startswith("lmsysorg/sglang:v")
    assert "SECRET=" + command.configuration.env["SECRET"] in given[:at]
    assert "/home/me/.cache/huggingface:/root/.cache/huggingface" in given[:at]


def test_slurm_starts_each_task_with_its_own_rank(folder, tmp_path, table):
    from configurator.core.configuration import Change

    command = hostile_command(table).apply(Change({"nnodes": 2}), table)
    (file,) = emit(command, table, "slurm")
    recorder = Recorder(tmp_path, "srun", "python")
    (recorder.bin / "scontrol").write_text("#!/bin/sh\necho first\necho second\n", encoding="utf-8")
    (recorder.bin / "scontrol").chmod(0o755)
    (task,) = recorder.run(file.text, cwd=folder, env={"SLURM_JOB_NODELIST": "n[1-2]"})
    assert task["argv"][1:3] == ["bash", "-c"]
    (call,) = recorder.run(
        "bash -c " + quote(task["argv"][3]) + "\n",
        cwd=folder,
        env={"MASTER_ADDR": task["env"]["MASTER_ADDR"], "SLURM_NODEID": "1"},
    )
    expected = [*command.argv(), "--dist-init-addr", "first:5000", "--node-rank", "1"]
    assert sorted(call["argv"][2:]) == sorted(expected)
    assert call["argv"][call["argv"].index("--node-rank") + 1] == "1"
    assert task["env"]["SECRET"] == command.configuration.env["SECRET"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_nul_is_refused_in_every_format(form, table):
    command = parse(["--model-path", "a\0b"], table)
    assert command.refused
    with pytest.raises(InputError, match="NUL"):
        emit(command, table, form)


@pytest.mark.parametrize(
    "operator", [">", ">>", ">|", ">&", "1>&", "2>&", "&>", "&>>", "2>", "<", "<&", "<>", "<<<", "3>&"]
)
def test_the_file_of_a_redirection_is_never_expanded_again(operator, table, tmp_path):
    targets = ("'log$(touch pwned)'", '"log\\$(touch pwned)"', "'log`touch pwned`'", "log\\$\\(touch\\ pwned\\)")
    for target in targets:
        for gap in ("", " "):
            command = parse(f"python -m sglang.launch_server --model-path m {operator}{gap}{target}", table)
            for style in ("one-flag-per-line", "single-line", "as-written"):
                text = command.render(style)
                bash(f"python() {{ :; }}\n{text}\n", cwd=tmp_path)
                assert not (tmp_path / SENTINEL).exists(), text


def test_both_streams_still_go_to_the_file(table, tmp_path):
    command = parse("python -m sglang.launch_server --model-path m >& 'my log'", table)
    code, out, errors = bash(f"python() {{ echo out; echo err >&2; }}\n{command.render()}\n", cwd=tmp_path)
    assert (code, out, errors) == (0, "", "")
    assert (tmp_path / "my log").read_text(encoding="utf-8").split() == ["out", "err"]


@pytest.mark.parametrize("kept", ["2>&1", ">&2", "2>&-", "1>&2", "3>&1"])
def test_descriptors_stay_as_they_are(kept, table):
    assert (
        parse(f"python -m sglang.launch_server --model-path m {kept}", table).render("single-line").endswith(f" {kept}")
    )
