"""Running the command line: in this process where that is enough, in one of its own where the process matters."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass

import pytest

from configurator.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one document on standard output; anything beside it is an error."""
        return json.loads(self.out)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def run(capsys, monkeypatch):
    """Run ``dcp-configurator`` with arguments, in this process."""

    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse ends the process itself
            code = end.code if isinstance(end.code, int) else 1
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    return call


@pytest.fixture
def process():
    """Run ``python -m configurator`` as a process of its own; *through* is what bash does with its streams."""

    def call(*arguments, stdin=None, env=None, text=True, through=""):
        words = [sys.executable, "-m", "configurator", *arguments]
        if through:
            words = ["bash", "-c", f'"$@" {through}', "bash", *words]
        done = subprocess.run(
            words,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            check=False,
            timeout=120,
            env={**os.environ, **(env or {})},
        )
        out = done.stdout.decode("utf-8", "surrogateescape") if text else done.stdout
        err = done.stderr.decode("utf-8", "replace")
        assert "Traceback" not in err, err
        return Ran(done.returncode, out, err)

    return call


GOOD = "--model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 --attention-backend flashinfer"
BAD = "--model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"
ON_H200 = ("--hardware", "h200x8")
