"""Finds a Chromium or Chrome for the tests that drive a real browser, and installs one where there is none.

The order: the program that ``DCP_BROWSER`` names; an installed Chromium or Chrome; Playwright's own download. With
``--install`` and nothing found: the system's package manager when run as root, then Playwright's download, then a
message that says what to do. A program counts only if it runs and tells its version: Ubuntu, for one, has a
``chromium-browser`` that does nothing but ask for a snap.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: Names a browser, by path or by a name on the PATH; it wins over whatever else is installed.
VARIABLE = "DCP_BROWSER"

#: What distributions call it, best first.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chromium-headless-shell")

#: Where it is when it is not on the PATH.
PLACES = (
    Path("/snap/bin/chromium"),
    Path("/opt/google/chrome/chrome"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
)

#: Playwright's command line, and the question where its own browser is or would be.
PLAYWRIGHT = (sys.executable, "-m", "playwright")
PLAYWRIGHT_PLACE = (
    sys.executable,
    "-c",
    "from playwright.sync_api import sync_playwright\nwith sync_playwright() as p: print(p.chromium.executable_path)",
)

_VERSION = re.compile(r"\b(?:Chromium|Chrome)\b.*\d+\.\d+\.\d+", re.IGNORECASE)
_ANSWER_SECONDS = 30
_INSTALL_SECONDS = 1200


class BrowserError(Exception):
    """No usable browser, with what to do in words."""


@dataclass(frozen=True)
class Manager:
    """A package manager: its program, and the commands that install Chromium without asking."""

    program: str
    commands: tuple[tuple[str, ...], ...]


# Debian's package draws no text without at least one font, which a bare machine does not have.
MANAGERS = (
    Manager(
        "apt-get",
        (
            ("apt-get", "update", "-qq"),
            ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-liberation"),
        ),
    ),
    Manager("dnf", (("dnf", "install", "-y", "-q", "chromium"),)),
    Manager("apk", (("apk", "add", "--no-cache", "chromium"),)),
    Manager("zypper", (("zypper", "--non-interactive", "install", "chromium"),)),
    Manager("pacman", (("pacman", "-Sy", "--noconfirm", "chromium"),)),
)


def find() -> Path | None:
    """Returns a Chromium or Chrome that runs here, or None.

    Raises:
        BrowserError: ``DCP_BROWSER`` is set, and what it names is no browser that runs.
    """
    if named := os.environ.get(VARIABLE):
        found = shutil.which(named)
        if found is None or not runs(Path(found)):
            raise BrowserError(
                f"{VARIABLE} is {named!r}, which is no Chromium or Chrome that runs here. "
                f"Set it to the path of one, or unset it to have one looked for."
            )
        return Path(found)
    installed = (Path(path) for name in NAMES if (path := shutil.which(name)))
    for candidate in (*installed, *PLACES):
        if runs(candidate):
            return candidate
    own = playwright_browser()
    return own if own and runs(own) else None


def runs(browser: Path) -> bool:
    """Returns whether the program starts and says that it is a Chromium or Chrome."""
    if not browser.is_file():
        return False
    try:
        answer = subprocess.run(
            [browser, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and _VERSION.search(answer.stdout) is not None


def playwright_browser() -> Path | None:
    """Returns where Playwright keeps the browser of its own version, downloaded or not; None without Playwright."""
    try:
        answer = subprocess.run(PLAYWRIGHT_PLACE, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    path = answer.stdout.strip()
    return Path(path) if answer.returncode == 0 and path else None


def install(*, root: bool) -> Path:
    """Installs a browser and returns it.

    Args:
        root: Whether the system's package manager may be used.

    Raises:
        BrowserError: Nothing that was tried gave a browser that runs.
    """
    tried: list[str] = []
    manager = next((manager for manager in MANAGERS if shutil.which(manager.program)), None)
    if root and manager:
        for command in manager.commands:
            _run(command, tried)
        if browser := find():
            return browser
    elif root:
        tried.append("no package manager this script knows is on the PATH")
    else:
        tried.append("the system's package manager: not used, since that takes root")
    if root and manager and manager.program == "apt-get":
        _run((*PLAYWRIGHT, "install-deps", "chromium"), tried)
    _run((*PLAYWRIGHT, "install", "chromium"), tried)
    if browser := find():
        return browser
    raise BrowserError(
        "The browser tests need a Chromium or Chrome. None is installed, and none could be installed:\n"
        + "".join(f"  - {line}\n" for line in tried)
        + "Install one with your package manager (for example: sudo apt-get install chromium), "
        f"or name one: {VARIABLE}=/path/to/chrome make test"
    )


def _run(command: tuple[str, ...], tried: list[str]) -> None:
    """Runs an installer, shows what it says on standard error, and notes how it ended."""
    shown = " ".join(command).replace(" ".join(PLAYWRIGHT), "playwright")
    print(f"$ {shown}", file=sys.stderr, flush=True)
    try:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_INSTALL_SECONDS,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        tried.append(f"{shown}: {error}")
        return
    said = [line.strip() for line in answer.stdout.splitlines() if line.strip()]
    if answer.returncode:
        print(answer.stdout, file=sys.stderr)
        # Installers put what went wrong into the first line that says so, and end with remarks.
        wrong = next(
            (line for line in said if re.search("error|fail|unable", line, re.IGNORECASE)), said[-1] if said else ""
        )
        tried.append(f"{shown}: exit status {answer.returncode}. {wrong[:200]}".rstrip())
    else:
        tried.append(f"{shown}: went through, but gave no browser that runs")


def main() -> int:
    """Prints the path of the browser; returns 0, or 1 if there is none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="install a browser where there is none")
    options = parser.parse_args()
    try:
        browser = find()
        if browser is None and options.install:
            browser = install(root=os.geteuid() == 0)
    except BrowserError as error:
        print(error, file=sys.stderr)
        return 1
    if browser is None:
        print("No Chromium or Chrome is installed here; --install gets one.", file=sys.stderr)
        return 1
    print(browser)
    return 0


if __name__ == "__main__":
    sys.exit(main())
