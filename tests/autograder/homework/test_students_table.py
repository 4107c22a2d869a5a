"""Students' tables as the spreadsheets of several countries save them: the finished work of both homeworks keeps its
points.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from autograder.homework import folder
from autograder.homework import students_table as tables
from autograder.homework.folder import collect
from autograder.homework.mesh import measured
from autograder.homework.mesh.entry import TRAIN_A_MESH
from autograder.homework.mnist import SCALING_MNIST
from autograder.homework.scaling import judge as scaling
from labkit import runlog

SOLUTIONS = Path(__file__).resolve().parents[3] / "solutions"
# name -> decimal mark, between thousands, between columns, encoding, whether columns of whole numbers are grouped
HABITS = {
    "a German Excel's CSV": (",", ".", ";", "cp1252"),
    "a German Excel's Unicode text": (",", ".", "\t", "utf-16"),
    "a German Excel's CSV UTF-8": (",", ".", ";", "utf-8-sig"),
    "a French one": (",", "\u202f", ";", "utf-16"),
    "a French one, older": (",", "\u00a0", ";", "cp1252"),
    "a Swiss one": (".", "\u2019", ";", "utf-8-sig"),
    "an English one": (".", ",", ",", "cp1252"),
    "a Swedish one": (",", " ", "\t", "utf-8"),
    "not grouped": (",", "", ";", "cp1252"),
}


def saved(source: Path, target: Path, habit: str, rounded: bool) -> None:
    """The table in `source`, as a spreadsheet would save it; rounded: whole numbers where they are large."""
    decimal, thousands, mark, encoding = HABITS[habit]

    def written(cell: str) -> str:
        try:
            value = float(cell)
        except ValueError:
            return cell
        digits = len(cell.partition(".")[2])
        text = f"{value:,.{0 if rounded and abs(value) >= 1000 else digits}f}"
        return text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)

    with open(source, newline="") as file:
        rows = [[written(cell) for cell in row] for row in csv.reader(file)]
    with open(target, "w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=mark, lineterminator="\r\n").writerows(rows)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("habit", HABITS)
def test_the_table_of_meshes_keeps_its_points(habit, rounded, tmp_path):
    handed_in, copies = tmp_path / "in", tmp_path / "copies"
    handed_in.mkdir()
    copies.mkdir()
    for path in (SOLUTIONS / "train_a_mesh").glob("run_*.jsonl"):
        (handed_in / path.name).write_bytes(path.read_bytes())
    saved(SOLUTIONS / "train_a_mesh" / "meshes.csv", handed_in / "meshes.csv", habit, rounded)
    found = {
        one.line.name: one for one in measured.judge(collect(handed_in, copies, TRAIN_A_MESH.files), "", None).findings
    }
    for name in ("times", "bytes"):
        assert found[name].verdict == "passed", (found[name], (handed_in / "meshes.csv").read_bytes()[:300])


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("habit", HABITS)
def test_the_table_of_scaling_keeps_its_points(habit, rounded, tmp_path):
    handed_in, copies = tmp_path / "in", tmp_path / "copies"
    handed_in.mkdir()
    copies.mkdir()
    for name in ("run_1.jsonl", "run_2.jsonl", "run_4.jsonl", "run_8.jsonl"):
        (handed_in / name).write_bytes((SOLUTIONS / "scaling_mnist" / name).read_bytes())
    saved(SOLUTIONS / "scaling_mnist" / "scaling.csv", handed_in / "scaling.csv", habit, rounded)
    homework = folder.collect(handed_in, copies, SCALING_MNIST.files)
    logs = {p: runlog.read(homework.files[f"run_{p}"], p) for p in homework.sizes}
    found = scaling.judge(homework, logs, no_figure, broken={}).findings
    judged = {one.line.name: one.verdict for one in found}
    assert {judged[name] for name in ("throughput", "speedup", "efficiency")} == {"passed"}, found


def no_figure(path: Path):
    """In place of the reader of figures: none is handed in."""
    raise AssertionError(f"{path} is not there")


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1.234", "0,5"], ","),
        (["1.234", "13.989.008"], ","),
        (["1.234,5"], ","),
        (["1,234", "0.5"], "."),
        (["1,234,567"], "."),
        (["1,234.5 ± 2"], "."),
        (["1.234", "12", "text", ""], ""),
        (["0.5", "0,5"], ""),
    ],
)
def test_the_other_numbers_tell_the_decimal_mark(cells, mark):
    assert tables.decimal_mark(cells) == mark


@pytest.mark.parametrize(
    ("text", "decimal", "value", "other"),
    [
        ("1.234", "", 1.234, 1234),
        ("1.234", ",", 1234, math.nan),
        ("1.234", ".", 1.234, math.nan),
        ("1,234", ".", 1234, math.nan),
        ("~ 12,5 %", "", 12.5, math.nan),
        ("13 989 008", "", 13989008, math.nan),
        ("1,5e3 images/s", ",", 1500, math.nan),
    ],
)
def test_a_number_as_it_is_written(text, decimal, value, other):
    found = tables.number(text, decimal)
    assert found.value == value and (found.other == other or math.isnan(other) and math.isnan(found.other))
    assert found.percent == ("%" in text)


@pytest.mark.parametrize("content", [b"\x00\x01\x02", b"x" * (2 << 20)])
def test_what_is_no_table_is_refused_in_a_sentence(content, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(tables.TableError, match="not text|larger"):
        tables.read_rows(tmp_path / "t.csv")


def test_a_reading_that_only_the_log_can_tell(tmp_path):
    """Nothing in this table shows whether its point is a decimal's: the log does."""
    from autograder.homework.mesh import table

    (tmp_path / "t.csv").write_text("data;tensor;pipeline;tokens_per_second\n1;1;1;13.861\n2;1;1;20.036\n")
    found = table.read(tmp_path / "t.csv")
    found.settle({(1, 1, 1, 1): {"tokens": 13860.7}, (2, 1, 1, 1): {"tokens": 20.1}})
    assert [row["tokens"] for row in found.rows.values()] == [13861, 20.036]


def test_a_cell_that_an_expression_would_search_for_hours_is_cut(tmp_path):
    """Found by an attack: 8 kB in one cell of a table held the grader for minutes."""
    (tmp_path / "meshes.csv").write_text("mesh,seconds\n" + "d" * 200 + " " * 8000 + "x,1\n")
    (head, row) = tables.read_rows(tmp_path / "meshes.csv")
    assert head == ["mesh", "seconds"] and len(row[0]) == tables.LONGEST_CELL
