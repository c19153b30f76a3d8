"""One benchmark per machine at a time: two would measure each other."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from configurator.core.errors import InputError

FOLDER_VARIABLE = "DCP_CONFIGURATOR_LOCK_DIR"
"""Names another folder for the lock; for tests, and for machines that several containers share."""
_FILE = "dcp-configurator-bench.lock"


class MachineLock:
    """A lock that the operating system gives up with its owner, whatever ends it.

    The file stays when the lock is released: removing it would let one process lock a file that another has
    just unlinked. Its text says who owns the lock, for those who wait.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder or Path(os.environ.get(FOLDER_VARIABLE) or tempfile.gettempdir())) / _FILE
        self._descriptor: int | None = None

    def acquire(self, about: str, started_at: str) -> bool:
        """Take the lock if it is free.

        Args:
            about: What the owner measures, for those who wait.
            started_at: When, ISO 8601.

        Returns:
            Whether it was free. It is never waited for here.

        Raises:
            InputError: The file cannot be opened.
        """
        try:
            descriptor = self._open()
        except OSError as error:
            raise InputError(
                f"A benchmark takes a lock, so that no other one runs beside it - {self.path} cannot be opened "
                f"({error.strerror}) - set {FOLDER_VARIABLE} to a folder that can be written.",
                part=str(self.path),
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        owner = {"pid": os.getpid(), "user": _user(), "about": about, "started_at": started_at}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(owner).encode(), 0)
        self._descriptor = descriptor
        return True

    def _open(self) -> int:
        # The folder may be everybody's: a link that somebody put there must not lead to a file of ours.
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        # Without O_CREAT where it exists: Linux refuses that flag on another user's file in such a folder.
        with contextlib.suppress(FileNotFoundError):
            return os.open(self.path, flags)
        descriptor = os.open(self.path, flags | os.O_CREAT, 0o666)
        with contextlib.suppress(PermissionError):  # somebody else was faster, and it is theirs
            os.fchmod(descriptor, 0o666)  # the lock is the machine's, not its first user's
        return descriptor

    def owner(self) -> Mapping[str, Any]:
        """Return what the lock's owner says of itself: ``pid``, ``user``, ``about``, ``started_at``; empty if unreadable."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}  # just being written, or damaged: who it is matters less than that there is one
        return found if isinstance(found, dict) else {}

    def release(self) -> None:
        """Give the lock up, if it is held."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())  # a container's user without a name
