"""Finding and installing a browser, against folders of stand-in programs."""

from __future__ import annotations

import sys

import pytest

from tools import find_browser

CHROMIUM = "echo 'Chromium 156.0.8078.114 built on Debian'"


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with nothing on its PATH; call it to put a program there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv(find_browser.VARIABLE, raising=False)
    monkeypatch.setattr(find_browser, "PLACES", ())
    monkeypatch.setattr(find_browser, "PLAYWRIGHT", (str(folder / "playwright"),))
    monkeypatch.setattr(find_browser, "PLAYWRIGHT_PLACE", (str(folder / "playwright"), "place"))

    def program(name, script, folder=folder):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    program.log = tmp_path / "log"
    return program


def installer(machine, name, script=""):
    return machine(name, f"echo '{name}' \"$*\" >> {machine.log}\n{script}")


def creates(path):
    """Shell text that puts a working browser at ``path`` once a command installs something."""
    return (
        f"case \"$*\" in *chromium*) printf '#!/bin/sh\\necho Chromium 150.0.1.2\\n' > '{path}'; "
        f"/bin/chmod 755 '{path}';; esac"
    )


def lines(machine):
    return machine.log.read_text(encoding="utf-8").splitlines() if machine.log.exists() else []


def run(monkeypatch, *arguments, root=True):
    monkeypatch.setattr(sys, "argv", ["find_browser.py", *arguments])
    monkeypatch.setattr("os.geteuid", lambda: 0 if root else 1000)
    return find_browser.main()


@pytest.mark.usefixtures("machine")
def test_nothing_there():
    assert find_browser.find() is None


@pytest.mark.parametrize("name", find_browser.NAMES)
def test_every_name_is_found(machine, name):
    program = machine(name, CHROMIUM)
    assert find_browser.find() == program


def test_chromium_comes_before_chrome(machine):
    machine("google-chrome", "echo 'Google Chrome 140.0.1.2'")
    chromium = machine("chromium", CHROMIUM)
    assert find_browser.find() == chromium


@pytest.mark.parametrize(
    "script",
    [
        "echo 'Command requires the chromium snap to be installed.'; exit 10",
        "echo 'Command requires the chromium snap to be installed.'",
        "echo 'error while loading shared libraries: libnss3.so' >&2; exit 127",
        "echo 'Mozilla Firefox 150.0.1'",
    ],
    ids=["snap, exit 10", "snap, exit 0", "library missing", "another browser"],
)
def test_a_program_that_is_no_working_chromium_is_passed_over(machine, script):
    machine("chromium", script)
    assert find_browser.find() is None
    chrome = machine("google-chrome", "echo 'Google Chrome 140.0.1.2'")
    assert find_browser.find() == chrome


def test_a_browser_off_the_path_is_found(machine, monkeypatch, tmp_path):
    chrome = machine("Google Chrome", "echo 'Google Chrome 140.0.1.2'", tmp_path)
    monkeypatch.setattr(find_browser, "PLACES", (tmp_path / "absent", chrome))
    assert find_browser.find() == chrome


def test_the_variable_wins(machine, monkeypatch, tmp_path):
    machine("chromium", CHROMIUM)
    mine = machine("mine", CHROMIUM, tmp_path)
    monkeypatch.setenv(find_browser.VARIABLE, str(mine))
    assert find_browser.find() == mine


def test_a_variable_that_names_no_browser_is_an_error_and_not_passed_over(machine, monkeypatch, capsys):
    machine("chromium", CHROMIUM)
    monkeypatch.setenv(find_browser.VARIABLE, "/nowhere/chrome")
    assert run(monkeypatch) == 1
    err = capsys.readouterr().err
    assert "DCP_BROWSER is '/nowhere/chrome'" in err
    assert "unset it" in err


def test_playwrights_own_browser_is_found(machine, tmp_path):
    own = machine("chrome", CHROMIUM, tmp_path)
    machine("playwright", f"[ \"$1\" = place ] && echo '{own}'")
    assert find_browser.find() == own


def test_a_browser_is_not_installed_twice(machine, monkeypatch, capsys):
    browser = machine("chromium", CHROMIUM)
    installer(machine, "apt-get")
    assert run(monkeypatch, "--install") == 0
    assert capsys.readouterr().out == f"{browser}\n"
    assert lines(machine) == []


def test_without_install_nothing_is_installed(machine, monkeypatch, capsys):
    installer(machine, "apt-get")
    assert run(monkeypatch) == 1
    assert "--install" in capsys.readouterr().err
    assert lines(machine) == []


@pytest.mark.parametrize("manager", [manager.program for manager in find_browser.MANAGERS])
def test_root_uses_the_systems_package_manager(machine, monkeypatch, capsys, tmp_path, manager):
    installer(machine, manager, creates(tmp_path / "bin" / "chromium"))
    installer(machine, "playwright", "exit 1")
    assert run(monkeypatch, "--install") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'bin' / 'chromium'}\n"
    installs = [line for line in lines(machine) if line.startswith(manager) and "chromium" in line]
    assert len(installs) == 1
    assert not [line for line in lines(machine) if line.startswith("playwright install")]


def test_a_package_manager_that_fails_leaves_it_to_playwright(machine, monkeypatch, capsys, tmp_path):
    own = tmp_path / "own-chrome"
    installer(machine, "apt-get", "echo 'E: Unable to locate package chromium'; exit 100")
    installer(machine, "playwright", f"[ \"$1\" = place ] && echo '{own}'\n{creates(own)}")
    assert run(monkeypatch, "--install") == 0
    assert capsys.readouterr().out == f"{own}\n"
    calls = lines(machine)
    assert calls.index("playwright install-deps chromium") < calls.index("playwright install chromium")


def test_others_than_root_leave_the_package_manager_alone(machine, monkeypatch, capsys, tmp_path):
    own = tmp_path / "own-chrome"
    installer(machine, "apt-get", creates(tmp_path / "bin" / "chromium"))
    installer(machine, "playwright", f"[ \"$1\" = place ] && echo '{own}'\n{creates(own)}")
    assert run(monkeypatch, "--install", root=False) == 0
    assert capsys.readouterr().out == f"{own}\n"
    assert not [line for line in lines(machine) if line.startswith("apt-get") or "install-deps" in line]


def test_when_everything_fails_the_message_says_what_was_tried_and_what_to_do(machine, monkeypatch, capsys):
    installer(machine, "apt-get", "echo 'E: Unable to locate package chromium'; echo 'see the manual'; exit 100")
    installer(machine, "playwright", "echo 'Error: Download failed: server returned code 403'; exit 1")
    assert run(monkeypatch, "--install") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "exit status 100. E: Unable to locate package chromium" in err
    assert "exit status 1. Error: Download failed: server returned code 403" in err
    assert "DCP_BROWSER=/path/to/chrome make test" in err


@pytest.mark.usefixtures("machine")
def test_a_bare_machine_fails_with_the_same_message(monkeypatch, capsys):
    assert run(monkeypatch, "--install") == 1
    err = capsys.readouterr().err
    assert "no package manager this script knows" in err
    assert "sudo apt-get install chromium" in err


def test_the_browser_of_this_machine_is_found_for_real():
    browser = find_browser.find()
    assert browser is not None, "make test installs a browser before it runs the tests"
    assert find_browser.runs(browser)
