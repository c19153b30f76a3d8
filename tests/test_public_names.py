"""``import configurator``: what it offers, and how little it costs."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

import pytest

import configurator

PUBLIC = {"Configuration", "Configurator", "__version__", "check", "emit", "explain", "fix", "parse", "probe"}


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout


def test_the_public_names_are_these():
    assert set(configurator.__all__) == PUBLIC
    assert set(dir(configurator)) >= PUBLIC


def test_every_lazy_name_has_a_home_and_nothing_else_has():
    assert set(configurator._HOME) == PUBLIC - {"__version__"}


@pytest.mark.parametrize("name", sorted(PUBLIC - {"Configurator", "__version__"}))
def test_each_name_is_the_one_of_its_module(name):
    from importlib import import_module

    assert getattr(configurator, name) is getattr(import_module(configurator._HOME[name]), name)


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert configurator.__version__ == version("dcp-configurator")


def test_a_name_nobody_promised_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        _ = configurator.chekc


def test_the_widget_without_its_packages_says_what_to_install():
    out = run(
        "import sys\n"
        "sys.modules['ipywidgets'] = sys.modules['anywidget'] = sys.modules['traitlets'] = None\n"
        "import configurator\n"
        "try: configurator.Configurator\n"
        "except ImportError as error: print(error)"
    )
    assert "pip install 'dcp-configurator[app]'" in out


def test_the_widget_is_the_page_and_brings_no_torch():
    out = run(
        "from configurator import Configurator; import sys; print(Configurator.__module__, 'torch' in sys.modules)"
    )
    assert out.split() == ["configurator.ui.app", "False"]


def test_import_brings_neither_torch_nor_widgets_nor_any_part_of_ours():
    out = run(
        "import configurator, sys\n"
        "heavy = {'torch', 'ipywidgets', 'anywidget', 'traitlets', 'pynvml', 'numpy', 'IPython', 'ruamel', 'json'}\n"
        "print(sorted(heavy & set(sys.modules)), sorted(m for m in sys.modules if m.startswith('configurator.')))"
    )
    assert out.strip() == "[] []"


def test_checking_brings_neither_torch_nor_widgets():
    out = run(
        "import configurator, sys\n"
        "configurator.check(['--model-path', 'deepseek-ai/DeepSeek-V3.1', '--tp-size', '8'], hardware='h200x8')\n"
        "print(sorted({'torch', 'ipywidgets', 'anywidget', 'traitlets', 'numpy', 'IPython'} & set(sys.modules)))"
    )
    assert out.strip() == "[]"


def test_import_stays_far_under_150_ms():
    code = "import time; t = time.perf_counter(); import configurator; print((time.perf_counter() - t) * 1e3)"  # fresh each time
    assert median(float(run(code)) for _ in range(5)) < 75
