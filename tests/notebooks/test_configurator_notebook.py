"""The page's notebook, executed by a real kernel: no error, and the widget in its output."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks" / "configurator.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"

pytestmark = pytest.mark.notebook

#: What a reader of the notebook would do next: read the widget, change it, read it again.
READ = """
import json
import configurator

widget = Configurator("python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 "
                      "--dcp-comm-backend ag_rs --dcp-replicate-q-proj", hardware="h200x8")
print(json.dumps({"command": widget.command, "verdict": widget.report.verdict,
                  "asked": widget.configuration["dcp_size"], "slug": widget.report.findings[0].rule.slug}))
"""
STAYS_LIGHT = """
import sys
print(sorted({"torch", "numpy", "pandas", "pynvml", "voila"} & set(sys.modules)))
"""


def execute(notebook, folder):
    """Execute *notebook* in *folder*, which is not the checkout, as a user's is not."""
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell(READ), nbformat.v4.new_code_cell(STAYS_LIGHT)]
    return execute(notebook, tmp_path_factory.mktemp("notebook"))


def outputs(notebook, kind):
    return [output for cell in notebook.cells for output in cell.get("outputs", ()) if output.output_type == kind]


def streams(notebook, name):
    return "".join(output.text for output in outputs(notebook, "stream") if output.name == name)


def test_no_cell_fails_or_warns(executed):
    assert outputs(executed, "error") == []
    assert streams(executed, "stderr") == ""


def test_the_last_cell_shows_the_widget(executed):
    (shown,) = [output for output in outputs(executed, "execute_result") if WIDGET in output.data]
    assert shown.data[WIDGET]["model_id"] in executed.metadata.widgets[STATE]["state"]


def test_the_widgets_need_no_package_beside_ipywidgets_and_anywidget(executed):
    state = executed.metadata.widgets[STATE]["state"].values()
    modules = {model["model_module"] for model in state}
    assert modules <= {"anywidget", "@jupyter-widgets/base", "@jupyter-widgets/controls", "@jupyter-widgets/output"}
    assert "anywidget" in modules


def test_the_widget_is_read_as_the_readme_says(executed):
    import json

    said = json.loads(streams(executed, "stdout").splitlines()[0])
    assert said["verdict"] == "error"
    assert said["slug"] == "replicate-q-needs-a2a"
    assert said["asked"] == 4
    assert said["command"].startswith("python -m sglang.launch_server")


def test_the_kernel_stays_light(executed):
    # The driver's binding is loaded to ask for a GPU; torch is for the benchmark's workers.
    assert streams(executed, "stdout").splitlines()[1] in ("[]", "['pynvml']")


def test_the_notebook_has_three_cells_and_names_a_kernel_everybody_has():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code", "code"]
    assert notebook.metadata.kernelspec.name == "python3"
