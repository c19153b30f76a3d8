"""Every output format says what was asked: read by the rules of whoever reads it, it gives the same words and variables."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from configurator.catalog import NEWEST
from configurator.catalog.flag_table import flag_table
from configurator.core.configuration import Change
from configurator.core.errors import InputError
from configurator.launch.emit import FORMATS, emit
from configurator.launch.emitted import MAX_NODES, Target
from configurator.launch.parse import parse
from configurator.launch.yaml_text import dump

from .test_real_bash import HOSTILE

TABLE = flag_table(NEWEST)
WORDS = [word for word in HOSTILE if not any("\ud800" <= c <= "\udfff" for c in word)]
ENV = {"HOST": "10.0.0.1", "MASTER_ADDR": "n0", "KEY": "k$x", "LWS_LEADER_ADDRESS": "leader", "LWS_WORKER_INDEX": "1"}


def hostile():
    """A command whose values hold every hostile word, and one reference."""
    command = parse(
        ["python", "-m", "sglang.launch_server", "--model-path", "m", *(f"--api-key={w}" for w in WORDS)], TABLE
    )
    command = command.apply(Change({"tp_size": 8}, env={"SECRET": "$(touch x) 'a' \"b\" `c` % $HOME\n"}), TABLE)
    return command.with_reference("host", [(False, "pre-"), (True, "HOST")], TABLE)


def expected(command, env):
    """Return the words of *command* with its references filled in."""
    return [
        "python", "-m", "sglang.launch_server",
        *(word.replace("pre-$HOST", f"pre-{env['HOST']}") if word.startswith("pre-") else word for word in command.argv()),
    ]  # fmt: skip


def one(command, form, **more):
    (file,) = emit(command, TABLE, form, **more)
    return file


def compose_expand(text, env):
    """Fill in a string as compose does. Source: compose specification, Interpolation."""
    return re.sub(r"\$(?:(\$)|\{([A-Za-z_]\w*)\})", lambda m: "$" if m[1] else env[m[2]], text)


def kubernetes_expand(text, env):
    """Fill in a string as a kubelet does. Source: kubernetes, third_party/forked/golang/expansion."""
    return re.sub(r"\$(?:(\$)|\(([^)]*)\))", lambda m: "$" if m[1] else env.get(m[2], m[0]), text)


def systemd_split(line, env):
    """Split a command line as systemd does. Source: systemd.service(5), Command lines; systemd.syntax(7), Quoting."""
    words, at = [], 0
    named = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "s": " "}
    while at < len(line):
        if line[at] == " ":
            at += 1
            continue
        word, quoted = "", False
        while at < len(line) and (quoted or line[at] != " "):
            char = line[at]
            if char == '"':
                quoted = not quoted
            elif char == "\\" and line[at + 1] == "x":
                word += chr(int(line[at + 2 : at + 4], 16))
                at += 3
            elif char == "\\":
                word += named[line[at + 1]]
                at += 1
            elif line[at : at + 2] in ("%%", "$$"):
                word += char
                at += 1
            elif char == "$":
                name = re.match(r"\$\{(\w+)\}", line[at:])
                word += env[name[1]]
                at += len(name[0]) - 1
            else:
                assert char != "%", "a specifier would be filled in"
                assert quoted or char not in "';", "unquoted"
                word += char
            at += 1
        words.append(word)
    return words


def config_arguments(text):
    """Turn a config file into arguments as SGLang does.

    Source: sglang/srt/utils/server_args_config_parser.py, ``ConfigArgumentMerger`` (0.5.23).
    """
    argv = []
    for key, value in yaml.safe_load(text).items():
        if isinstance(value, bool):
            argv += [f"--{key}"] if value else []
        elif isinstance(value, list):
            argv += [f"--{key}", *map(str, value)]
        else:
            argv += [f"--{key}", str(value)]
    return argv


def test_compose_gives_the_container_the_same_words_and_variables():
    command = hostile()
    document = yaml.safe_load(one(command, "compose", header=["a\n- b: c", "# d"]).text)
    (service,) = document["services"].values()
    assert [compose_expand(word, ENV) for word in service["command"]] == expected(command, ENV)
    given = dict(compose_expand(item, ENV).split("=", 1) for item in service["environment"] if "=" in item)
    assert given == {"SECRET": command.configuration.env["SECRET"]}
    assert service["image"] == f"lmsysorg/sglang:v{NEWEST}"


def test_kubernetes_gives_the_container_the_same_words_and_variables():
    command = hostile()
    deployment, service = yaml.safe_load_all(one(command, "kubernetes", header=["a\n- b: c"]).text)
    assert (deployment["kind"], service["kind"]) == ("Deployment", "Service")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    env = {item["name"]: kubernetes_expand(item["value"], {}) for item in container["env"]}
    assert env == {"SECRET": command.configuration.env["SECRET"], "HOST": ""}
    assert [kubernetes_expand(word, ENV) for word in container["command"]] == expected(command, ENV)
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 8}}
    assert service["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


def test_systemd_gives_the_server_the_same_words_and_variables():
    command = hostile()
    lines = one(command, "systemd", header=["a\nExecStart=/bin/false"]).text.split("\n")
    starts = [line for line in lines if line.startswith("ExecStart=")]
    assert len(starts) == 1
    assert systemd_split(starts[0].removeprefix("ExecStart="), ENV) == ["/usr/bin/env", *expected(command, ENV)]
    variables = [line.removeprefix("Environment=") for line in lines if line.startswith("Environment=")]
    assert [systemd_split(v.replace("$", "$$"), {}) for v in variables] == [
        ["SECRET=" + command.configuration.env["SECRET"]]
    ]


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_the_same_text_for_two_readers_of_yaml(text):
    written = dump({"k": text, "l": [text, {text or "x": text}]})
    wanted = {"k": text, "l": [text, {text or "x": text}]}
    assert yaml.safe_load(written) == wanted
    assert YAML(typ="safe", pure=True).load(written) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "Yes",
        "on",
        "null",
        "~",
        "1",
        "1e3",
        "0x1f",
        "1:30",
        "2024-01-01",
        ".5",
        ".inf",
        "=",
        "<<",
        "",
        "- a",
        "a: b",
    ],
)
def test_texts_that_yaml_takes_for_something_else_stay_texts(text):
    assert yaml.safe_load(dump({"k": text})) == {"k": text}


@pytest.mark.parametrize("value", [None, True, False, 0, -3, 1.5, [], {}, [1, [2, "x"]]])
def test_other_values_of_yaml(value):
    assert yaml.safe_load(dump({"k": value})) == {"k": value}


def test_half_a_surrogate_has_no_yaml():
    with pytest.raises(InputError, match="YAML cannot hold"):
        emit(parse(["--host", "\udcff"], TABLE), TABLE, "compose")


def test_a_config_file_and_the_command_beside_it_say_the_whole():
    command = parse(
        "A=1 sglang serve m --tp 8 --dcp-size 4 --host $HOST --trust-remote-code --no-dcp-replicate-q-proj --frob x "
        "--mem-fraction-static 1e-1 --numa-node 0 1 --served-model-name=-x --api-key '' --json-model-override-args '{\"a\": 1}' "
        "--lora-paths --context-length 64k --preferred-sampling-params '{\"b\": 2}'",
        TABLE,
    )
    text = one(command, "yaml").text
    comment = [line.removeprefix("#").removeprefix(" ") for line in text.split("\n") if line.startswith("#")]
    rest = parse("\n".join(comment[comment.index("Start with:") + 1 :]), TABLE)
    assert rest.configuration["config"] == "sglang.yaml"
    moved = parse(config_arguments(text), TABLE)
    assert not moved.refused
    together = {**moved.configuration.flags, **rest.configuration.flags}
    del together["config"]
    assert together == command.configuration.flags
    assert rest.configuration.env == {"A": "1"}
    assert rest.references == {"host": "$HOST"}
    assert rest.kept == ("--frob x",)
    assert set(moved.configuration.flags).isdisjoint(
        {"dcp_replicate_q_proj", "served_model_name", "api_key", "lora_paths"}
    )


@pytest.mark.parametrize("form", ["shell", "docker", "compose", "systemd", "yaml"])
def test_each_node_gets_its_own_file_and_rank(form):
    command = parse("python -m sglang.launch_server --model-path m --tp 16 --nnodes 2 --dist-init-addr n0:5000", TABLE)
    files = emit(command, TABLE, form)
    assert [file.node_rank for file in files] == [0, 1]
    assert len({file.name for file in files}) == 2
    for rank, file in enumerate(files):
        found = re.search(r'node-rank[" ,:\n-]+(\d+)', file.text)
        assert found is not None
        assert int(found[1]) == rank
        assert "n0:5000" in file.text


@pytest.mark.parametrize("form", FORMATS)
def test_without_an_address_the_nodes_meet_at_a_variable(form):
    command = parse("python -m sglang.launch_server --model-path m --tp 16 --nnodes 2", TABLE)
    for file in emit(command, TABLE, form):
        expected = "LWS_LEADER_ADDRESS" if form == "kubernetes" else "MASTER_ADDR"
        assert expected in file.text


def test_kubernetes_of_several_nodes_is_a_leader_worker_set():
    command = parse(
        "python -m sglang.launch_server --model-path m --tp 16 --nnodes 2 --port 8000 --api-key $KEY", TABLE
    )
    file = one(command, "kubernetes")
    assert file.node_rank is None
    workload, service = yaml.safe_load_all(file.text)
    assert workload["kind"] == "LeaderWorkerSet"
    group = workload["spec"]["leaderWorkerTemplate"]
    assert group["size"] == 2
    (container,) = group["workerTemplate"]["spec"]["containers"]
    words = [kubernetes_expand(word, ENV) for word in container["command"]]
    read = parse(words, TABLE).configuration
    assert read.flags == {
        "model_path": "m", "tp_size": 16, "nnodes": 2, "port": 8000, "api_key": "k$x", "host": "0.0.0.0",  # noqa: S104
        "dist_init_addr": "leader:5000", "node_rank": 1,
    }  # fmt: skip
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 8
    assert service["spec"]["ports"][0]["port"] == 8000
    notes = [line for line in file.text.split("\n") if line.startswith("#")]
    assert notes == ["# Fill in these variables, empty under env: KEY."]


@pytest.mark.parametrize("form", FORMATS)
def test_more_nodes_than_anyone_has_are_refused(form):
    with pytest.raises(InputError, match=rf"at most {MAX_NODES} nodes"):
        emit(parse(f"--model-path m --nnodes {MAX_NODES + 1}", TABLE), TABLE, form)


@pytest.mark.parametrize(
    ("platform", "form", "shows"),
    [
        ("hip", "docker", "--device /dev/kfd"),
        ("hip", "kubernetes", "amd.com/gpu: 8"),
        ("hip", "compose", "/dev/kfd"),
        ("xpu", "docker", "--device /dev/dri"),
        ("xpu", "kubernetes", "gpu.intel.com/i915: 8"),
        ("npu", "docker", "--privileged"),
        ("npu", "kubernetes", "huawei.com/Ascend910: 8"),
        ("cuda", "docker", "--gpus all"),
        ("cuda", "slurm", "--gpus-per-node=8"),
    ],
)
def test_platforms_ask_for_their_own_devices(platform, form, shows):
    file = one(parse("--model-path m --tp 8", TABLE), form, target=Target(image="mine", platform=platform))
    assert shows in file.text
    assert "nvidia" not in file.text or platform == "cuda"


def test_a_machine_without_gpus_asks_for_none():
    for form in ("docker", "compose", "kubernetes", "slurm"):
        assert "gpu" not in one(parse("--model-path m", TABLE), form, target=Target(platform="cpu")).text


def test_a_platform_without_a_known_image_asks_for_its_name():
    with pytest.raises(InputError, match="name the image you use"):
        emit(parse("--model-path m", TABLE), TABLE, "docker", target=Target(platform="hip"))


@pytest.mark.parametrize(("form", "name"), [("kubernetes", "A_B"), ("slurm", "a b"), ("systemd", "../x")])
def test_names_that_cannot_be(form, name):
    with pytest.raises(InputError, match="choose another"):
        emit(parse("--model-path m", TABLE), TABLE, form, target=Target(name=name))


def test_a_format_that_does_not_exist_names_those_that_do():
    with pytest.raises(InputError, match="shell, docker, compose, kubernetes, slurm, systemd, yaml"):
        emit(parse("--model-path m", TABLE), TABLE, "toml")


def test_what_is_no_command_is_not_written():
    with pytest.raises(InputError, match="There is no SGLang command to write"):
        emit(parse("ls", TABLE), TABLE, "shell")


@pytest.mark.parametrize("form", FORMATS)
def test_headers_stay_comments(form):
    """Whatever is in a header, taking out all comment lines takes it out."""
    header = ["one\ntwo", "three\r\nfour", "five\u2028six", "seven\x00\x1b[31m", "'\"`$(x)"]
    plain = one(parse("--model-path m", TABLE), form)
    file = one(parse("--model-path m", TABLE), form, header=header)
    without = [line for line in file.text.split("\n") if not line.startswith("# ") or line in plain.text.split("\n")]
    assert without == plain.text.split("\n")
    assert not re.search(r"[\x00-\x08\x0e-\x1f]", file.text)


def test_a_container_command_keeps_its_own_options():
    text = "docker run --rm -v /data:/data my/image:1 python -m sglang.launch_server --model-path m --tp 8"
    file = one(parse(text, TABLE), "docker")
    assert "-v /data:/data my/image:1" in file.text
    assert file.text.count("docker run") == 1


def test_a_container_is_unwrapped_for_other_formats():
    text = "docker run --rm -e A=1 my/image:1 python -m sglang.launch_server --model-path m --tp 8"
    (service,) = yaml.safe_load(one(parse(text, TABLE), "compose").text)["services"].values()
    assert service["command"][0] == "python"
    assert "A=1" in service["environment"]


def test_bare_arguments_get_a_launcher():
    assert "python -m sglang.launch_server \\\n  --model-path m" in one(parse("--model-path m", TABLE), "shell").text
