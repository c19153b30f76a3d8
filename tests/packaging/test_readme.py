"""What README and CONTRIBUTING tell people to type exists, and works."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from configurator.cli import COMMANDS, build_parser
from tests.packaging.conftest import ROOT

DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(p.relative_to(ROOT).as_posix() for p in ROOT.glob("docs/**/*.md")),
)
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def blocks(text):
    """Return the indented and fenced lines of a document: what people copy."""
    fenced = re.findall(r"```(?:bash|sh|console)?\n(.*?)```", text, re.DOTALL)
    return [line.strip() for line in [*re.findall(r"^    \S.*$", text, re.MULTILINE), *"\n".join(fenced).splitlines()]]


def test_the_two_commands_come_first():
    commands = blocks(README)
    assert commands[0].startswith("make app ")
    assert commands[1].startswith("make test ")


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_make_target_exists(text):
    named = set(re.findall(r"\bmake ([a-z-]+)", "\n".join([*blocks(text), *re.findall(r"`(make [^`]+)`", text)])))
    assert named
    assert named <= TARGETS


def test_make_shows_what_each_target_would_do():
    for target in sorted(TARGETS - {"clean"}):
        done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{target}: {done.stderr}"


def test_every_subcommand_is_named_and_every_named_one_exists():
    named = set(re.findall(r"^dcp-configurator ([a-z]+)", "\n".join(blocks(README)), re.MULTILINE))
    assert named == {command.name for command in COMMANDS}


@pytest.mark.parametrize("command", [line for line in blocks(README) if line.startswith("dcp-configurator ")])
def test_the_options_of_each_named_command_exist(command):
    words = command.partition("#")[0].partition(" -- ")[0].removesuffix("\\").split()[1:]
    if words[-1] == "--":
        words.pop()
    build_parser(words[0]).parse_args(words)


def test_the_python_of_the_readme_runs():
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "check(" in block]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("error\n")
    assert "refuses" in done.stdout


def test_the_readme_names_the_releases_there_are():
    from configurator import catalog

    assert f"SGLang {catalog.VERSIONS[0]} to {catalog.VERSIONS[-1]}" in README


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_documents_name_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    folder = (ROOT / name).parent
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    missing = [link for link in links if not (folder / link).exists()]
    assert missing == []
    named = re.findall(r"`((?:configurator|docs|tests|tools|notebooks)/[\w./-]+)`", text)
    assert [path for path in named if "NAME" not in path and not (ROOT / path).exists()] == []


def test_every_decision_is_listed():
    index = (ROOT / "docs/adr/README.md").read_text(encoding="utf-8")
    files = sorted(path.name for path in (ROOT / "docs/adr").glob("0*.md"))
    assert files
    assert re.findall(r"\((0[^)]+)\)", index) == files


def test_the_python_example_runs(capsys):
    (code, *_) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - the very text that people copy
    out = capsys.readouterr().out
    assert out.startswith("error\nDCP")
    assert "Use --dcp-comm-backend a2a -> python -m sglang.launch_server " in out


def test_where_the_command_is_after_make_is_said():
    assert "`.venv/bin/dcp-configurator`" in README
    assert "dcp-configurator = " in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
