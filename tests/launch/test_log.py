"""What a pasted log tells besides the error: the command, and the version."""

from __future__ import annotations

import pytest

from configurator.launch.log import command_in, release_in

MODELLED = frozenset({"tp_size", "dcp_size", "dcp_comm_backend", "dcp_replicate_q_proj", "attention_backend"})
DUMP = (
    "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3.1', tokenizer_path='x', "
    "tp_size=8, dcp_size=4, dcp_comm_backend='a2a', dcp_replicate_q_proj=None, attention_backend='flashinfer', random_seed=4711, "
    "cuda_graph_bs=[1, 2], enable_x=<object at 0x7f>, pp_size=1)\nTraceback (most recent call last):\n"
)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("sglang==0.5.21", "0.5.21"),
        ("Successfully installed sglang-0.5.20 torch-2.9", "0.5.20"),
        ("docker run lmsysorg/sglang:v0.5.19 sglang serve m", "0.5.19"),
        ("SGLang version: 0.5.23", "0.5.23"),
        ("sglang v0.5.22 started", "0.5.22"),
        ("{'sglang_version': '0.5.18'}", "0.5.18"),
        ("site-packages/sglang-0.5.17.post1.dist-info", "0.5.17.post1"),
        ("sglang-kernel 0.3.1, torch 2.9.0", None),
        ("flashinfer==0.6.1", None),
        ("", None),
    ],
)
def test_the_version(text, version):
    assert release_in(text) == version


@pytest.mark.parametrize(
    "text",
    [
        "+ python -m sglang.launch_server --model-path m --tp-size 8",
        "INFO 10:00 Running: /usr/bin/python3 -m sglang.launch_server --model-path m --tp-size 8",
        "root  1234  0.0 python3 -m sglang.launch_server --model-path m --tp-size 8",
        "$ sglang serve m --tp-size 8\nTraceback (most recent call last):\nAssertionError: x",
        "noise\n$ python -m sglang.launch_server \\\n   --model-path m \\\n   --tp-size 8\nmore noise --dcp-size 4",
        'File "/x/sglang/launch_server.py", line 5, in f\n+ sglang serve m --tp-size 8',
    ],
)
def test_a_command_line_in_a_log(text, table):
    assert command_in(text, table, MODELLED).configuration.flags == {"model_path": "m", "tp_size": 8}


def test_the_arguments_the_server_prints(table):
    """The model and what rules read; seeds and lists of sizes are the server's own."""
    assert command_in(DUMP, table, MODELLED).configuration.flags == {
        "model_path": "deepseek-ai/DeepSeek-V3.1", "tp_size": 8, "dcp_size": 4, "dcp_comm_backend": "a2a",
        "attention_backend": "flashinfer",
    }  # fmt: skip


def test_a_command_line_wins_over_what_the_server_prints(table):
    assert command_in(f"{DUMP}\n+ sglang serve m --tp-size 2", table, MODELLED).configuration["tp_size"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "", "all is well", 'Traceback (most recent call last):\n  File "/x/sglang/launch_server.py", line 5',
        "Use `sglang serve` instead.", "Please use sglang serve instead", "sglang serve takes --tp-size and more",
        "ServerArgs(", "ServerArgs(tp_size=8)", "ServerArgs(model_path=None)",
        "python -m sglang.launch_server", "x" * 100_000, "sglang serve " * 3_000, "ServerArgs(" + "a='" * 20_000,
        "python " * 5_000 + "sglang.launch_server", "python x \\\n" * 5_000,
    ],
)  # fmt: skip
def test_texts_without_a_command(text, table):
    assert command_in(text, table, MODELLED) is None
