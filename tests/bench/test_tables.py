"""A document as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io

import pytest

from configurator.bench import tables

from .conftest import tiny
from .one_process import run


@pytest.fixture(scope="module")
def document():
    return run(tiny(time_budget_s=0.05))[-1]["document"]


def test_the_steps_name_correctness_before_time(document):
    table = tables.step_table(document)
    assert table.columns.index("#wrong") < table.columns.index("p50_us")
    assert [row[:2] for row in table.rows] == [("tp_only", "-"), ("ag_rs", "off"), ("a2a", "off"), ("a2a", "on")]


def test_headings_are_comments_and_columns_align(document):
    lines = tables.as_text(tables.step_table(document)).splitlines()
    assert [line.startswith("# ") for line in lines] == [True, True, False, False, False, False]
    assert {len(line.split()) for line in lines[2:]} == {len(lines[1].split()) - 1}
    assert len({line.index(" 0  ") for line in lines[2:]}) == 1


def test_every_stage_is_listed(document):
    names = [row[2] for row in tables.stage_table(document).rows if row[0] == "ag_rs"]
    assert names == ["q_proj", "gather_q", "attention", "gather_lse", "pack", "reduce_scatter", "combine"]


def test_markdown_has_a_table_for_each_part_and_the_warning(document):
    text = tables.as_markdown(document)
    assert text.count("\n| --- | ---") == len(tables.tables(document)) == 2
    assert "Gloo over loopback, not a prediction of GPUs" in text


def test_csv_keeps_numbers_whole_and_names_the_run(document):
    rows = list(csv.DictReader(io.StringIO(tables.as_csv(document))))
    assert {row["label"] for row in rows} == {"functional"}
    a2a = next(row for row in rows if row["backend"] == "a2a" and row["replicate_q"] == "off")
    entry = next(c for c in document["cases"] if c["backend"] == "a2a" and not c["replicate_q"])
    assert float(a2a["p50_us"]) == entry["p50_us"]
