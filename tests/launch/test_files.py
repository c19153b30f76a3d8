"""Commands in files that are no shell text: compose, Kubernetes, systemd, and the config file of ``--config``."""

from __future__ import annotations

import pytest

from configurator.catalog import NEWEST
from configurator.catalog.flag_table import flag_table
from configurator.core.configuration import Change
from configurator.launch.emit import FORMATS, emit
from configurator.launch.parse import parse

from .test_formats import hostile

TABLE = flag_table(NEWEST)
FLAGS = {"model_path": "m", "tp_size": 8}


def read(text):
    return parse(text, TABLE)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("nodes", [1, 2])
def test_what_is_emitted_reads_back_with_its_variables(form, nodes):
    text = (
        "A='x y' python -m sglang.launch_server --model-path m --tp 16 --dcp-size 4 --api-key '$x \"y\" %h' "
        f"--trust-remote-code --json-model-override-args '{{\"a\": [1]}}' --nnodes {nodes} --served-model-name $NAME"
    )
    command = read(text)
    for file in emit(command, TABLE, form):
        again = read(file.text)
        expected = dict(command.configuration.flags)
        if form == "kubernetes":
            expected["host"] = "0.0.0.0"  # noqa: S104 - a pod is reached from outside itself
        found = dict(again.configuration.flags)
        found.pop("node_rank", None)
        assert found == expected
        if form == "yaml":  # the file holds flags; the rest is on the command line in its comment
            continue
        assert again.references["served_model_name"] == "$NAME"
        assert again.configuration.env == {"A": "x y"}
        assert not again.refused


@pytest.mark.parametrize("form", ["compose", "kubernetes", "systemd"])
def test_hostile_words_come_back_unchanged(form):
    command = hostile()
    (file,) = emit(command, TABLE, form)
    again = read(file.text)
    assert again.argv() == command.argv()
    assert again.references == command.references
    assert again.configuration.env == command.configuration.env


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  s:\n    image: lmsysorg/sglang\n    command: python -m sglang.launch_server --model-path m --tp-size 8\n",
        "services:\n  s:\n    command: [sglang, serve, m, --tp-size, 8]\n",
        "services:\n  s:\n    entrypoint: python3 -m sglang.launch_server\n    command: --model-path m --tp-size 8\n",
        "services:\n  s:\n    image: sglang\n    command:\n      - --model-path\n      - m\n      - --tp-size=8\n",
        'services:\n  s:\n    command: >\n      bash -c "sglang serve m\n      --tp-size 8"\n',
        "services:\n  a: {image: redis, command: [redis-server, --port, '1']}\n  s: {command: sglang serve m --tp-size 8}\n",
        "# mine\n---\nservices:\n  s:\n    command: |\n      sglang serve m\n        --tp-size 8\n",
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: x/sglang:1\n    args: [--model-path, m, --tp-size, '8']\n",
        "containers:\n- command: [bash, -c]\n  args:\n  - |\n    set -e\n    exec sglang serve m \\\n      --tp-size 8\n",
        '{"apiVersion": "v1", "spec": {"containers": [{"command": ["sglang", "serve", "m", "--tp-size", "8"]}]}}',
        "containers:\n- name: s\n  command: [python, -m, sglang.launch_server]\n  args: [--model-path, m, --tp-size, '8']\n",
        "model-path: m\ntp-size: 8\n",
        "model: m\ntp: 8\ntrust-remote-code: false\n",
        "[Service]\nExecStart=/usr/bin/python3 -m sglang.launch_server --model-path m --tp-size 8\n",
        "[Unit]\nDescription=x\n[Service]\nExecStart=\nExecStart=-/usr/bin/env sglang serve m \\\n  --tp-size 8\nRestart=always\n",
        "[Service]\nExecStart=/bin/bash -lc 'exec sglang serve m --tp-size 8'\n",
        "[Service]\r\nExecStart = sglang serve m --tp-size 8\r\n",
    ],
)
def test_ways_of_writing_it(text):
    command = read(text)
    found = {dest: value for dest, value in command.configuration.flags.items() if dest != "trust_remote_code"}
    assert found == FLAGS
    assert not command.refused
    assert any(p.message.startswith("The command and its variables are read from a") for p in command.problems)
    assert parse(command.render(), TABLE).configuration == command.configuration
    assert parse(command.render("as-written"), TABLE).configuration == command.configuration


def test_variables_of_compose():
    command = read(
        "services:\n  s:\n    command: [sglang, serve, '${MODEL}', --host, $HOST, --api-key, $$x]\n"
        "    environment:\n      A: 1\n      B: 'x y'\n      C: true\n      D: $E\n      F:\n"
    )
    assert command.references == {"model_path": "$MODEL", "host": "$HOST", "env.D": "$E"}
    assert command.configuration["api_key"] == "$x"
    assert command.configuration.env == {"A": "1", "B": "x y", "C": "true"}
    command = read("services:\n  s:\n    command: sglang serve m\n    environment: [A=1, B, 'C=x=y']\n")
    assert command.configuration.env == {"A": "1", "C": "x=y"}


def test_variables_of_kubernetes():
    command = read(
        "containers:\n  - command: [sglang, serve, $(MODEL), --host, $(POD_IP), --api-key, $$(x), --tp, $(TP)]\n"
        "    env:\n    - {name: MODEL, value: m}\n    - {name: TP, value: '8'}\n"
        "    - name: POD_IP\n      valueFrom: {fieldRef: {fieldPath: status.podIP}}\n"
    )
    assert command.configuration.flags == {"model_path": "m", "tp_size": 8, "api_key": "$(x)"}
    assert command.references == {"host": "$POD_IP"}
    assert command.configuration.env == {"MODEL": "m", "TP": "8"}


def test_variables_of_a_unit():
    command = read(
        '[Service]\nEnvironment="A=x y" B=1\nEnvironment=C=50%%\nExecStart=sglang serve ${MODEL} --host $HOST --api-key "$$x %%" '
        "--served-model-name 'a\\x41\\tb'\n"
    )
    assert command.configuration.env == {"A": "x y", "B": "1", "C": "50%"}
    assert command.references == {"model_path": "$MODEL", "host": "$HOST"}
    assert command.configuration.flags == {"api_key": "$x %", "served_model_name": "aA\tb"}


def test_a_config_file_is_read_as_the_server_reads_it():
    """YAML 1.1, switches that are on only, lists for flags of several values, JSON for objects."""
    command = read(
        "model-path: m\ntp-size: 010\ntrust-remote-code: yes\nenable-dp-attention: no\nnuma-node: [0, 1]\n"
        "json-model-override-args: {a: [1]}\nlora-paths: []\nmem-fraction-static: 0.8\n"
    )
    assert command.configuration.flags == {
        "model_path": "m", "tp_size": 8, "trust_remote_code": True, "numa_node": (0, 1),
        "json_model_override_args": '{"a": [1]}', "mem_fraction_static": 0.8,
    }  # fmt: skip


def test_an_on_off_pair_in_a_config_file_is_refused():
    """SGLang's reader stops at such a key: it takes flags with values and switches that turn on."""
    command = read("model-path: m\ndcp-replicate-q-proj: true\n")
    assert command.refused
    assert command.problems[-1].dest == "dcp_replicate_q_proj"


def test_keys_with_underscores_are_no_flags_and_get_the_right_spelling():
    command = read("model_path: m\ntp-size: 8\n")
    assert command.problems[-1].suggestion == "--model-path"


def test_unknown_keys_of_a_config_file_are_unknown_flags():
    command = read("model-path: m\nfrob: 1\ntp-size: eight\n")
    assert [p.kind for p in command.problems] == ["left-out", "unknown-flag", "type"]
    assert command.kept == ("--frob 1",)


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  web:\n    image: nginx\n    command: [nginx, -g, 'daemon off;']\n",
        "services:\n  web:\n    image: nginx\n    command: [-g, x]\n",
        "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n",
        "name: me\nversion: 1\n",
        "- a\n- b\n",
        "{}",
        "[Service]\nExecStart=/usr/bin/true\n",
        "[Unit]\nDescription=ExecStart\n",
    ],
)
def test_files_without_a_command(text):
    assert not read(text).is_launch


def test_yaml_that_cannot_be_read_says_where():
    command = read("services:\n  s:\n    command: [sglang, serve\n    image: x: y\n")
    assert not command.is_launch
    problem = next(p for p in command.problems if p.kind == "left-out")
    assert "looks like YAML, but cannot be read as such at line 4" in problem.message
    assert problem.message.endswith("Correct it, or paste the command alone.")


def test_a_log_line_with_a_colon_is_still_shell_text():
    command = read("INFO: sglang serve m --tp-size 8")
    assert command.configuration.flags == FLAGS


def test_two_different_commands_are_told_and_two_equal_ones_are_not():
    two = "services:\n  p: {command: sglang serve m --tp-size 8}\n  d: {command: sglang serve m --tp-size 4}\n"
    command = read(two)
    assert command.configuration.flags == FLAGS
    assert any(
        "A compose file holds 2 different SGLang commands; the first is read." in p.message for p in command.problems
    )
    assert not any("different" in p.message for p in read(two.replace("size 4", "size 8")).problems)


def test_a_command_from_a_file_can_be_changed_and_written():
    command = read("services:\n  s:\n    command: [sglang, serve, m, --tp-size, '8']\n    environment: {A: 1}\n")
    after = command.apply(Change({"dcp_size": 4}), TABLE)
    assert after.render("single-line") == "A=1 sglang serve m --tp-size 8 --dcp-size 4"


def test_yaml_is_loaded_only_for_what_looks_like_it():
    import subprocess
    import sys

    code = (
        "import sys\nfrom configurator.catalog.flag_table import flag_table\nfrom configurator.launch.parse import parse\n"
        "parse('sglang serve m --tp 8', flag_table('0.5.23'))\nprint('ruamel.yaml' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert out.strip() == "False"
