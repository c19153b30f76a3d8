"""The page's server as a real process, for tests that talk to it over HTTP or with a browser."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
MARK = "DCP_TEST_SERVER"
START_SECONDS = 60
STOP_SECONDS = 15


class RunningApp:
    """``python -m configurator app`` on a free port of 127.0.0.1.

    Attributes:
        url: The address it printed, with a slash at its end.
        port: Its TCP port.
        pid: Its process id.
    """

    def __init__(self, folder, *arguments, env=None):
        """Starts the server and waits until it accepts connections.

        Args:
            folder: An empty folder, for Jupyter's own files and the server's log.
            *arguments: More arguments of ``app``.
            env: More environment variables.
        """
        self._mark = uuid.uuid4().hex
        self._log = folder / "server.log"
        own = {
            MARK: self._mark,
            # Nothing that this machine's user keeps for Jupyter takes part.
            "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            "IPYTHONDIR": str(folder / "ipython"),
        }
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "configurator", "app", "--port", "0", *arguments],
                cwd=ROOT,
                env={**os.environ, **own, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self.pid = self.process.pid
        try:
            self.announced = self._first_line()
            self.url = re.search(r"http://127\.0\.0\.1:\d+/\S*", self.announced)[0]
            self.port = int(re.search(r":(\d+)/", self.url)[1])
        except BaseException:
            self.stop()
            raise

    def _first_line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], START_SECONDS)
        line = self.process.stdout.readline().decode() if ready else ""
        if not line:
            raise AssertionError(f"the server did not announce its address; its log says:\n{self.log()}")
        return line.rstrip("\n")

    def log(self):
        """Returns what the server and its kernels have said on standard error."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def processes(self):
        """Returns every living process that the server started, whatever became of its parents, and itself."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get(MARK) == self._mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def kernels(self):
        """Returns the server's kernels, as processes."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if any("ipykernel" in word for word in process.cmdline()):
                    found.append(process)
        return found

    def stop(self, how=signal.SIGTERM):
        """Stops the server as a user would, and returns the command lines of processes it left behind.

        What is left is ended, so that one failing test does not burden the rest.
        """
        if self.process.poll() is None:
            self.process.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_SECONDS)
        wait_until(lambda: not self.processes(), STOP_SECONDS)
        left = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                left.append(" ".join(process.cmdline()))
                process.kill()
        self.process.wait(STOP_SECONDS)
        self.process.stdout.close()
        return left


def wait_until(condition, seconds, step=0.1):
    """Returns whether the condition became true within the time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True
