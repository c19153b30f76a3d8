"""Snapshots as JSON: they come back as they went, and nothing else passes for one."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown
from configurator.hardware import PRESET_NAMES, codec, list_presets, load_hardware
from configurator.hardware.presets import preset
from configurator.hardware.snapshot import LinkInfo
from tests.hardware.conftest import H100

REMEDY = "dcp-configurator probe --json"


def through_json(snapshot):
    return codec.decode(json.loads(json.dumps(codec.encode(snapshot), allow_nan=False)))


@pytest.mark.parametrize("name", PRESET_NAMES)
def test_every_preset_comes_back(name):
    assert through_json(preset(name)) == preset(name)


def test_a_probed_machine_comes_back(machine):
    here = machine(
        H100 + "fail.1 nvmlDeviceGetFabricInfoV 3\nfail.2 nvmlDeviceGetClockInfo 4\nmig.3 1\nthrottle.4 0x4\n"
    )
    assert len(here.gpus) == 8
    assert through_json(here) == here


def test_a_machine_without_gpus_comes_back(machine):
    here = machine(driver="none")
    assert through_json(here) == here


def test_a_saved_machine_is_loaded_under_the_name_of_its_file(machine, tmp_path):
    here = machine(H100)
    path = tmp_path / "büro.json"
    here.save(str(path))
    assert load_hardware(path) == dataclasses.replace(here, name="büro.json")
    assert load_hardware(path).assumed is False


def test_unknown_and_none_stay_two_things():
    snapshot = dataclasses.replace(preset("h100x8"), sm=Unknown("not asked"), gfx=None)
    document = codec.encode(snapshot)
    assert document["sm"] == {"unknown": "not asked"}
    assert document["gfx"] is None
    assert codec.decode(document).sm == Unknown("not asked")


def test_a_later_version_may_say_more():
    assert codec.decode({**codec.encode(preset("h100x8")), "cooling": "water"}) == preset("h100x8")


def test_what_may_be_left_out_takes_its_default():
    document = codec.encode(preset("cpu"))
    for key in ("driver", "cuda_driver", "gpus", "software", "sources", "problems", "taken_at"):
        del document[key]
    assert codec.decode(document) == dataclasses.replace(preset("cpu"), sources={})


@pytest.mark.parametrize(
    "document", [[], "h100x8", None, 7, {}, {"schema": 1}, {"kind": "something", "schema": 1}, [{"kind": codec.KIND}]]
)
def test_what_is_no_snapshot_is_refused(document):
    with pytest.raises(InputError, match="is no hardware snapshot") as refused:
        codec.decode(document, part="mine.json")
    assert str(refused.value).startswith("mine.json")
    assert REMEDY in str(refused.value)


@pytest.mark.parametrize("schema", [0, 2, "1", None, True])
def test_another_schema_is_refused_and_named(schema):
    with pytest.raises(InputError, match=r"has schema .*; this version reads schema 1") as refused:
        codec.decode({**codec.encode(preset("h100x8")), "schema": schema})
    assert repr(schema) in str(refused.value)


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(type(preset("cpu"))) if f.default is dataclasses.MISSING
                                   and f.default_factory is dataclasses.MISSING])  # fmt: skip
def test_a_missing_field_is_named(field):
    document = codec.encode(preset("h100x8"))
    del document[field]
    with pytest.raises(InputError, match=f'has no "{field}"') as refused:
        codec.decode(document)
    assert refused.value.part == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sm", "90"), ("sm", 90.5), ("sm", True), ("sm", -1), ("memory_gib", "80 GB"), ("memory_gib", math.inf),
        ("memory_gib", math.nan), ("memory_gib", -80), ("memory_gib", True), ("platform", "vulkan"), ("platform", None),
        ("assumed", 1), ("mnnvl", None), ("gpus", {}), ("gpus", [1]), ("problems", "all is well"), ("software", ["torch"]),
        ("software", {"torch": 2}), ("link", None), ("link", "nvlink"), ("name", None), ("gpu_name", {"unknown": 3}),
        ("gpus_per_node", [8]),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_named(field, value):
    with pytest.raises(InputError, match=field) as refused:
        codec.decode({**codec.encode(preset("h100x8")), field: value})
    assert REMEDY in str(refused.value)


def test_a_wrong_value_deep_inside_is_named_by_its_path(machine):
    document = codec.encode(machine(H100))
    document["gpus"][2]["link"]["links"] = "many"
    with pytest.raises(InputError, match=r"gpus\[2\], link, links is 'many'"):
        codec.decode(document)


def test_a_link_without_its_kind_is_refused():
    with pytest.raises(InputError, match='link has no "kind"'):
        codec.decode({**codec.encode(preset("h100x8")), "link": {}})


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is no JSON, or cut off"),
        (b'{"schema": 1, "kind": "hardware-sn', "is no JSON, or cut off"),
        (b"\xff\xfe\x00", "is no JSON, or cut off"),
        (b"[" * 100_000, "is no JSON, or cut off"),
        (b"{}", "is no hardware snapshot"),
        (b"null", "is no hardware snapshot"),
        (b" " * (4 * 2**20 + 1), "is larger than any snapshot"),
    ],
    ids=["empty", "cut off", "bytes", "deep", "object", "null", "large"],
)
def test_a_file_that_cannot_be_read_says_why_and_what_to_do(tmp_path, content, why):
    path = tmp_path / "mine.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=why) as refused:
        load_hardware(path)
    assert str(refused.value).startswith(str(path))
    assert REMEDY in str(refused.value)
    assert len(str(refused.value)) < 500 + len(str(path))


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "mine.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(codec.encode(preset("h20x8"))).encode())
    assert load_hardware(path).label == preset("h20x8").label


def test_a_place_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(InputError, match=r"cannot be written: .* Choose another place"):
        preset("cpu").save(str(tmp_path / "absent" / "mine.json"))


def test_defaults_are_not_written_away():
    document = codec.encode(list_presets()[0])
    assert set(document) == {"schema", "kind", *(field.name for field in dataclasses.fields(type(list_presets()[0])))}
    assert set(document["link"]) == {field.name for field in dataclasses.fields(LinkInfo)}
