"""Running what is emitted: real ``bash``, with programs in the path that only write down what they were given."""

from __future__ import annotations

import os
import subprocess
import sys

_RECORDER = """#!{python}
import json, os, sys
with open({log!r}, "a", encoding="utf-8", errors="surrogateescape") as log:
    json.dump({{"program": {name!r}, "argv": sys.argv[1:], "env": dict(os.environ)}}, log)
    log.write("\\n")
"""


def bash(text, *, env=None, cwd=None, options=()):
    """Run *text* as a script and return what it prints, as text; its words may hold any bytes."""
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", *options],
        input=text.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **(env or {})},
        timeout=60,
    )
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace")


def printed_words(text, **more):
    """Return the words that bash makes of *text*, in order."""
    code, out, errors = bash(f"printf '%s\\0' {text}\n", **more)
    assert code == 0, errors
    assert not errors, errors
    return out.split("\0")[:-1]


def is_well_formed(text):
    """Tell whether ``bash -n`` accepts *text*, and what it says if not."""
    code, _, errors = bash(text, options=("-n",))
    return code == 0 and not errors, errors


class Recorder:
    """Stand-ins for programs; each call is a line of JSON in a log."""

    def __init__(self, folder, *names):
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log.jsonl"
        for name in names:
            path = self.bin / name
            path.write_text(_RECORDER.format(python=sys.executable, log=str(self.log), name=name), encoding="utf-8")
            path.chmod(0o755)

    def run(self, script, *, cwd, env=None):
        """Run *script* with the stand-ins first in the path; return the calls they recorded."""
        import json

        self.log.unlink(missing_ok=True)
        path = f"{self.bin}:{os.environ['PATH']}"
        code, _, errors = bash(script, cwd=cwd, env={"HOME": "/home/me", **(env or {}), "PATH": path})
        assert code == 0, errors
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
