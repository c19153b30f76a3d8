"""What no file of the project may hold, and who may import whom."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.packaging.conftest import ROOT, texts, tracked_files

HERE = "tests/packaging/test_tree.py"
MACHINE_PATH = re.compile(r"(?<![\w.$}\])*:-])/(?:work|root|tmp|home/(?!me\b)\w+)(?=$|[/\s\"'`);,])", re.MULTILINE)
#: The home of the user inside SGLang's images, where emitted files put its cache of models.
INSIDE_A_CONTAINER = "/root/.cache/huggingface"
REGISTRY = re.compile(
    r"\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs\.org|download\.pytorch\.org|anaconda\.org|artifactory\S*|"
    r"jsdelivr\.net|unpkg\.com|cdnjs\.\w+)\b|--(?:extra-)?index-url\b",
    re.IGNORECASE,
)
LINK = re.compile(r"(?:https?:)?//(?!www\.w3\.org/(?:2000/svg|1999/xhtml)\b)[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)


def found(pattern, allowed=lambda _name, _line: False, files=None):
    return [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in (texts() if files is None else files)
        if name != HERE
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line) and not allowed(name, line)
    ]


def test_no_file_names_a_path_of_a_machine():
    def allowed(_name, line):
        return not MACHINE_PATH.search(line.replace(INSIDE_A_CONTAINER, ""))

    assert found(MACHINE_PATH, allowed) == []


def test_no_file_names_a_package_registry_or_a_cdn():
    assert found(REGISTRY) == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MACHINE_PATH, "see /work/shared/x"), (MACHINE_PATH, "cd /root"), (MACHINE_PATH, '"/tmp/a"'),
        (MACHINE_PATH, "/home/alice/x"), (REGISTRY, "--index-url x"), (REGISTRY, "https://pypi.org/simple"),
        (LINK, '<script src="//cdn.example.com/x.js">'), (LINK, "@import url(https://fonts.example.org/x)"),
    ],
)  # fmt: skip
def test_the_searches_above_find_what_they_look_for(pattern, text):
    assert found(pattern, files=[("x", text)]) == [f"x:1: {text}"]


def test_what_the_page_is_made_of_links_to_no_other_host():
    files = texts(".css", ".js", ".html", ".j2", ".svg")
    assert len(files) > 10
    assert found(LINK, files=files) == []


def test_scripts_and_styles_of_the_page_import_nothing():
    bare = re.compile(r"^\s*(?:@import|import\s.*\bfrom\b|import\s*[\"'])")
    assert found(bare, files=texts(".css", ".js")) == []


def notebooks():
    return [path for path in tracked_files() if path.suffix == ".ipynb"]


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.name)
def test_notebooks_are_stripped(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert "version" not in notebook["metadata"]["language_info"]


def test_files_are_text_with_newlines_at_their_ends():
    wrong = [name for name, text in texts() if text and (not text.endswith("\n") or "\r" in text)]
    assert wrong == []


# --- imports --------------------------------------------------------------------------------------------------------


def imports_of(path):
    """Return every module that the file imports, at its top or inside a function, with where it does."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield ".", node.lineno


def importers(*packages):
    return {
        path.relative_to(ROOT / "configurator").as_posix()
        for path in sources()
        for module, _ in imports_of(path)
        if module.partition(".")[0] in packages
    }


def sources():
    return sorted((ROOT / "configurator").rglob("*.py"))


def test_the_import_contracts_are_kept():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_nvml_is_imported_in_one_place():
    assert importers("pynvml") == {"hardware/nvml.py"}


def test_torch_is_imported_for_workers_only():
    """The benchmark's ranks, and what ``preflight`` runs with the Python that has SGLang."""
    assert {Path(name).parent.as_posix() for name in importers("torch", "flashinfer")} == {"bench", "launch/guest"}


def test_widgets_are_imported_for_the_page_only():
    assert {Path(name).parts[0] for name in importers("ipywidgets", "traitlets", "anywidget")} == {"ui"}


def test_the_servers_packages_are_imported_for_the_server_only():
    assert {Path(name).parts[0] for name in importers("voila", "tornado", "jupyter_server")} == {"voila"}


def test_the_core_imports_the_standard_library_only():
    outside = {
        f"{path.name}: {module}"
        for path in (ROOT / "configurator" / "core").rglob("*.py")
        for module, _ in imports_of(path)
        if module.partition(".")[0] not in sys.stdlib_module_names and not module.startswith("configurator.core")
    }
    assert outside <= {"unknown.py: typing_extensions"}  # for the type checker alone


def test_imports_are_absolute():
    assert [path.name for path in sources() if "." in {module for module, _ in imports_of(path)}] == []


def test_user_input_is_never_checked_by_assert():
    asserting = [
        f"{path.name}:{node.lineno}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert asserting == []


def test_no_exception_is_caught_without_a_name():
    bare = [
        f"{path.name}:{node.lineno}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ]
    assert bare == []


# --- hooks ----------------------------------------------------------------------------------------------------------


def test_the_commit_hooks_run_the_tools_of_the_environment_and_pass():
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert repo["repo"] == "local"
    hooks = {hook["id"]: hook["entry"].split() for hook in repo["hooks"]}
    assert set(hooks) == {"ruff-check", "ruff-format", "mypy", "nbstripout"}
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")
        assert Path(sys.executable).with_name(hook["entry"].split()[0].removeprefix(".venv/bin/")).is_file()
    command = [Path(sys.executable).with_name("nbstripout"), *hooks["nbstripout"][1:], *notebooks()]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0
