"""Which homework a folder is, and that another one is entered by one object."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder import cli
from autograder.check import check_homework
from autograder.grading.submission import rebuilding
from autograder.homework import handed_in, judge, page, registry
from autograder.homework.assignment import Assignment, JudgedParts, JudgeRequest
from autograder.homework.folder import CollectedFiles
from autograder.homework.mnist import SCALING_MNIST
from autograder.homework.rubric import Flag, PartResult, Rubric, RubricLine

ESSAY = Rubric(
    {"essay": "The essay", "sums": "The sums", "bonus": "Bonus"},
    (
        RubricLine("essay", "long", "It has three words", 3),
        RubricLine("sums", "right", "The sums are right", 2),
        RubricLine("bonus", "short", "It has no more than ten", 1),
    ),
)


def judged(asked: JudgeRequest) -> PartResult:
    words = len(asked.homework.files["essay.txt"].read_text().split())
    long = (
        ESSAY.full("long") if words >= 3 else ESSAY.lost("long", "too_short", f"It has {words} words.", "Write more.")
    )
    return PartResult("essay", [long, ESSAY.full("short")], [Flag("key", asked.key)], {"words": words})


ESSAYS = Assignment(
    name="write_an_essay",
    title="An essay",
    rubric=ESSAY,
    files=CollectedFiles(
        "write_an_essay", lambda path: (path, 0) if path.endswith("essay.txt") else ("", 0), lambda _: 100, {}
    ),
    judges=(JudgedParts(("essay", "bonus"), judged), JudgedParts(("sums",), lambda asked: 1 / 0)),
    beside=lambda result: f"<b>{result.facts['words']} words</b>" if "words" in result.facts else "",
)


@pytest.fixture(autouse=True)
def two(monkeypatch, warm):
    monkeypatch.setattr(registry, "ASSIGNMENTS", {one.name: one for one in (SCALING_MNIST, ESSAYS)})


def folder(place: Path, *names: str) -> Path:
    place.mkdir()
    for name in names:
        (place / name).write_text("one two three")
    return place


def test_by_its_name_its_parts_or_its_files(tmp_path):
    assert registry.find(["write_an_essay"]) is ESSAYS
    assert registry.find(["mine"], ["plots"]) is SCALING_MNIST
    assert registry.find(folder=folder(tmp_path / "a", "essay.txt")) is ESSAYS
    assert registry.find(["a"], ["bonus"], folder(tmp_path / "b", "run_1.jsonl", "run_2.jsonl", "essay.txt")) is (
        SCALING_MNIST
    )
    assert registry.find(["write_an_essay"], ["plots"]) is SCALING_MNIST, "a part that the named one does not have"


@pytest.mark.parametrize(
    ("names", "said"), [((), "no file of"), (("essay.txt", "run_1.jsonl"), "fit scaling_mnist and write_an_essay")]
)
def test_what_nobody_can_tell_is_said(tmp_path, names, said):
    place = folder(tmp_path / "mine", *names)
    with pytest.raises(registry.UnknownHomework, match=said):
        registry.find(folder=place)
    run = CliRunner().invoke(cli.app, ["homework", str(place)])
    assert run.exit_code == 2 and "--homework NAME" in run.output
    run = CliRunner().invoke(cli.app, ["homework", str(place), "--homework", "essays"])
    assert run.exit_code == 2 and "choose one of scaling_mnist, write_an_essay" in run.output
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        check_homework("bonus", place)
        check_homework("poem", place)
    assert said in out.getvalue() and "no homework has the part poem" in out.getvalue()


def test_another_homework_is_judged_as_it_says(tmp_path):
    report = judge(folder(tmp_path / "write_an_essay", "essay.txt"), key="k")
    assert [(part.part, part.score, part.needs_person) for part in report.parts] == [
        ("essay", 3, True),
        ("sums", 0, True),
        ("bonus", 1, False),
    ]
    assert (report.assignment, report.max_score, report.open_points) == ("write_an_essay", 5, 2)
    assert report.parts[1].facts == {"fault": "ZeroDivisionError: division by zero"}
    shown = page.render(report)
    assert "An essay" in shown and "The sums" in shown and "<b>3 words</b>" in shown


def test_it_travels_and_gets_its_own_card(tmp_path):
    packed = json.loads(json.dumps(handed_in.packed(folder(tmp_path / "x", "essay.txt", "run_1.jsonl"), ESSAYS)))
    assert set(packed["files"]) == {"essay.txt"} and packed["assignment"] == "write_an_essay"
    judging = handed_in.HomeworkJudge(packed, launcher=type("Nobody", (), {"isolation": None})(), key="k")
    assert judging.part("bonus").share == 1 and judging.part("essay").earned == 3
    with pytest.raises(handed_in.Fault):
        judging.part("sums")
    html, text = handed_in.card(judging.part("essay").json, "how")
    assert "3 words" in html and "The essay" in text
    assert handed_in.shared_runs([("ada", judging.part("essay").json)]) == {"ada": []}


def test_its_checks_are_known_in_a_notebook():
    assert rebuilding.checked_part('check_homework("essay", homework="write_an_essay")') == "essay"


def test_a_command_for_another_homework(tmp_path):
    run = CliRunner().invoke(cli.app, ["homework", str(folder(tmp_path / "x", "essay.txt")), "--json"])
    assert run.exit_code == 1 and json.loads(run.stdout)["assignment"] == "write_an_essay", run.output
