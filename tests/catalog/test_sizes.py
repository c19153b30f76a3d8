"""Zero, negative and huge numbers: never called fine, and refused where all nine servers were seen to refuse."""

from __future__ import annotations

import shlex

import pytest

from configurator import check

from .everything import RELEASES

REFUSED = shlex.split("""
--page-size=0 --page-size=-5 --page-size=99999999999 --context-length=99999999999 --dcp-size=0 --dcp-size=-1 --nnodes=0
--moe-dp-size=0 --moe-dp-size=-1 --moe-dense-tp-size=0 --moe-dense-tp-size=-1 --moe-dense-tp-size=3
--schedule-conservativeness=-1 --base-gpu-id=-1 --gpu-id-step=0 --gpu-id-step=-1 --tokenizer-worker-num=0
--swa-full-tokens-ratio=0 --swa-full-tokens-ratio=-1 --max-loras-per-batch=0
""")
BREAKS = shlex.split("""
--context-length=0 --context-length=-1 --context-length=1 --dp-size=3 --dp-size=99999999999 --tp-size=0 --tp-size=-1
--tp-size=99999999999 --dcp-size=99999999999 --pp-size=0 --pp-size=99 --ep-size=0 --ep-size=16 --ep-size=99999999999
--attn-cp-size=0 --max-total-tokens=0 --max-total-tokens=-1 --mem-fraction-static=0 --mem-fraction-static=-0.5
--mem-fraction-static=7 --port=-1 --port=65536 --port=99999999
""")
DOUBTFUL = shlex.split("""
--page-size=-1 --dp-size=0 --dp-size=-1 --ep-size=-1 --ep-size=3 --attn-cp-size=-1 --max-running-requests=0
--max-running-requests=-1 --max-queued-requests=0 --max-prefill-tokens=0 --mem-fraction-static=1 --port=0
--chunked-prefill-size=0 --chunked-prefill-size=-7 --stream-interval=0 --node-rank=-1 --node-rank=5 --nccl-port=99999999
""")
FINE = shlex.split("""
--page-size=64 --context-length=32768 --dp-size=1 --ep-size=8 --max-running-requests=64 --mem-fraction-static=0.85
--port=30000 --chunked-prefill-size=8192 --chunked-prefill-size=-1 --max-total-tokens=100000 --node-rank=0 --moe-dense-tp-size=8
--moe-dense-tp-size=1 --swa-full-tokens-ratio=1 --base-gpu-id=0 --nccl-port=20000
""")


def told(word: str, version: str):
    tp_size = "" if word.startswith("--tp-size") else "--tp-size 8"
    return check(f"--model-path deepseek-ai/DeepSeek-V3.1 {tp_size} {word}", release=version, hardware="h200x8")


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("word", REFUSED)
def test_refused(word, version):
    assert any(f.breaks and f.rule.effect.value == "refuses" for f in told(word, version).findings)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("word", BREAKS)
def test_breaks_later(word, version):
    assert told(word, version).verdict == "error"


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("word", DOUBTFUL)
def test_not_called_fine(word, version):
    assert told(word, version).verdict in ("warn", "error")


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("word", FINE)
def test_a_plain_number_is_fine(word, version):
    assert told(word, version).verdict in ("ok", "warn")
    assert not [f.message for f in told(word, version).findings if f.rule.code.startswith("REL9")]
