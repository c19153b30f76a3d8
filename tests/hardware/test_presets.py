"""The presets: all there, consistent in themselves, and every published figure with its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from configurator.core.errors import InputError
from configurator.core.unknown import is_unknown
from configurator.hardware import PRESET_NAMES, list_presets, presets
from configurator.hardware.presets import preset, published_rates

FOLDER = Path(presets.__file__).parent / "presets"
NAMED = (
    "cpu", "a100x8", "h100x8", "h200x8", "h20x8", "b200x8", "b300x8", "gb200-nvl72", "gb300-nvl72", "rtxpro6000x8",
    "mi300x8", "mi355x8", "max1550x8", "arc-b60x4", "ascend910bx8",
)  # fmt: skip
FIGURES = ("memory_gib", "hbm_gbps", "bf16_tflops", "fp8_tflops")
ALL = pytest.mark.parametrize("name", NAMED)


def raw(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def test_the_promised_presets_and_no_other_file():
    assert PRESET_NAMES == NAMED
    assert {path.stem for path in FOLDER.iterdir()} == set(NAMED)
    assert tuple(snapshot.name for snapshot in list_presets()) == NAMED


@ALL
def test_a_preset_is_assumed_and_unmeasured(name):
    snapshot = preset(name)
    assert snapshot.assumed is True
    assert snapshot.gpus == ()
    assert snapshot.taken_at is None
    assert snapshot.problems == ()
    assert not snapshot.to_facts().keys() & {"software.torch", "software.nccl"}


@ALL
def test_every_published_figure_has_a_source(name):
    document = raw(name)
    figures = {key: document[key] for key in FIGURES} | {
        f"link.{key}": document["link"][key] for key in ("gbps", "gbps_per_link") if key in document["link"]
    }
    for key, figure in figures.items():
        if figure is None or "unknown" in figure:
            assert figure is None or figure["unknown"].strip(), key
            continue
        assert set(figure) == {"value", "source"}, key
        assert figure["value"] > 0, key
        assert len(figure["source"]) >= 15, f"{key}: {figure['source']!r} says nothing"
        assert preset(name).sources[key] == figure["source"]


@ALL
def test_nothing_else_in_a_preset_is_a_bare_measure(name):
    document = raw(name)
    counts = {"schema", "sm", "gpus_per_node", "fabric_domain_gpus"}
    assert {
        key for key, value in document.items() if isinstance(value, (int, float)) and not isinstance(value, bool)
    } <= counts
    link_counts = {"generation", "links", "links_total"}
    assert {key for key, value in document["link"].items() if isinstance(value, (int, float))} <= link_counts


@ALL
def test_a_preset_agrees_with_itself(name):
    snapshot = preset(name)
    assert (snapshot.sm is not None) == (snapshot.platform == "cuda")
    assert (snapshot.gfx is not None) == (snapshot.platform == "hip")
    assert (snapshot.gpus_per_node is None) == (snapshot.platform == "cpu")
    assert (snapshot.fabric_domain_gpus is not None) == snapshot.mnnvl
    link = snapshot.link
    if isinstance(link.links, int) and not is_unknown(link.gbps_per_link):
        assert link.gbps == pytest.approx(link.links * link.gbps_per_link)
    if isinstance(snapshot.fp8_tflops, (int, float)):
        assert snapshot.fp8_tflops == pytest.approx(2 * snapshot.bf16_tflops, rel=0.01)
    if snapshot.gpus_per_node is not None:
        assert snapshot.label.startswith(f"{snapshot.gpus_per_node}x ") or snapshot.mnnvl


@pytest.mark.parametrize(
    ("name", "sm", "gfx", "ranks", "tray", "mnnvl"),
    [
        ("a100x8", 80, None, 8, 8, False), ("h100x8", 90, None, 8, 8, False), ("h200x8", 90, None, 8, 8, False),
        ("h20x8", 90, None, 8, 8, False), ("b200x8", 100, None, 8, 8, False), ("b300x8", 103, None, 8, 8, False),
        ("gb200-nvl72", 100, None, 72, 4, True), ("gb300-nvl72", 103, None, 72, 4, True),
        ("rtxpro6000x8", 120, None, 8, 8, False), ("mi300x8", None, "gfx942", 8, 8, False),
        ("mi355x8", None, "gfx950", 8, 8, False), ("max1550x8", None, None, 8, 8, False),
        ("arc-b60x4", None, None, 4, 4, False), ("ascend910bx8", None, None, 8, 8, False),
        ("cpu", None, None, None, None, False),
    ],
)  # fmt: skip
def test_what_the_rules_ask_of_each(name, sm, gfx, ranks, tray, mnnvl):
    facts = preset(name).to_facts()
    assert [facts[f"hardware.{key}"] for key in ("sm", "gfx", "gpus_per_node", "gpus_per_tray", "mnnvl")] == [
        sm, gfx, ranks, tray, mnnvl,
    ]  # fmt: skip


def test_an_unknown_preset_is_an_error():
    with pytest.raises(InputError, match="No hardware preset 'h101x8'"):
        preset("h101x8")


def test_rates_are_given_to_the_same_product_only():
    assert published_rates("NVIDIA H100 80GB HBM3") == (989, 1979)
    bf16, fp8 = published_rates("NVIDIA H100 80GB HBM3 (underclocked)")
    assert is_unknown(bf16)
    assert is_unknown(fp8)
