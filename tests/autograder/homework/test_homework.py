"""The homework as a whole: which file is what, how the parts come together, and the page that a student reads."""

from __future__ import annotations

import base64
import io
import json
import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from typer.testing import CliRunner

from autograder import cli, homework
from autograder.grading import isolation
from autograder.homework import folder, inside, judge_files, mnist, overlay, rubric
from autograder.homework.mnist_rubric import RUBRIC
from probes.figure import figure as pdf_figure


def put(root, *names: str, text: str = "x") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def handed_in(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "copies").mkdir()
    return tmp_path / "in"


def collect(handed_in) -> folder.Homework:
    return folder.collect(handed_in, handed_in.parent / "copies", mnist.SCALING_MNIST.files)


# -- the rubric --------------------------------------------------------------------------------------------------------


def test_points_of_the_parts():
    assert {part: RUBRIC.points_of(part) for part in RUBRIC.parts} == {
        "port": 50,
        "scaling": 25,
        "plots": 25,
        "bonus": 5,
    }
    assert len({line.name for line in RUBRIC.lines}) == len(RUBRIC.lines)


def test_a_report_is_the_same_after_json():
    findings = [RUBRIC.full("runs"), RUBRIC.lost("speedup", "inverted", "It was 0.5.", "Divide.", earned=2.5)]
    scaling = rubric.PartResult("scaling", findings, [rubric.Flag("altered_log", "Look.")], {"sizes": [1, 2]})
    report = rubric.Report(
        [scaling, RUBRIC.unjudged("bonus", "no ranks here")], {"script": "a.py"}, ["a note"], "scaling_mnist"
    )
    assert rubric.Report.from_json(report.to_json()) == report
    assert (report.score, report.max_score, report.open_points, report.needs_person) == (7.5, 10, 0, True)
    assert [finding.verdict for finding in report.findings] == ["passed", "partly", "needs_person"]


def test_a_students_text_is_shortened_and_cannot_steer_a_terminal():
    assert rubric.shown("a\x1b[31mb\nc\u202e") == "a\\x1b[31mb c\\u202e"
    assert rubric.shown("x" * 10_000, 20) == "x" * 16 + " ..."
    rubric.shown("\udcff" * 50).encode()


# -- which file is what ------------------------------------------------------------------------------------------------


def test_the_names_that_were_asked_for(handed_in):
    put(handed_in, "tensorflow2_mnist_hvd.py", "scaling_mnist.ipynb", "discussion.md", "scaling.csv", "scaling.pdf")
    put(handed_in, *(f"run_{p}.jsonl" for p in (1, 2, 4, 8, 16)), *(f"accuracy_{p}.pdf" for p in (1, 2, 4, 8)))
    found = collect(handed_in)
    roles = {"script", "notebook", "discussion", "scaling.csv", "scaling.pdf", *(f"run_{p}" for p in (1, 2, 4, 8, 16))}
    assert set(found.files) == roles | {f"accuracy_{p}.pdf" for p in (1, 2, 4, 8)}
    assert found.sizes == [1, 2, 4, 8, 16] and not found.notes and not found.refused
    assert found.files["run_16"].name == "run_16.jsonl" and all(
        path.read_text() == "x" for path in found.files.values()
    )


@pytest.mark.parametrize(
    "name, role",
    [
        ("Accuracy_2.PDF", "accuracy_2.pdf"),
        ("accuracy-04.pdf", "accuracy_4.pdf"),
        ("plots/acc 8 ranks.pdf", "accuracy_8.pdf"),
        ("accuracy_np1.pdf", "accuracy_1.pdf"),
        ("logs/run_2.jsonl", "run_2"),
        ("logs/Run-4-ranks.jsonl", "run_4"),
        ("metrics_8.dat", "run_8"),
        ("run_log_16.json", "run_16"),
        ("Scaling.pdf", "scaling.pdf"),
        ("scaling_test.csv", "scaling.csv"),
        ("homework/tensorflow2-mnist-hvd.py", "script"),
        ("mnist_horovod.py", "script"),
        ("Discussion.txt", "discussion"),
        ("accuracy_3.pdf", ""),
        ("accuracy.pdf", ""),
        ("run_1.py", ""),
        ("tensorflow2_mnist.py", ""),
        (".run_1.jsonl", ""),
        ("a/b/c/d/run_1.jsonl", ""),
        ("venv/run_1.jsonl", ""),
    ],
)
def test_names_as_people_vary_them(handed_in, name, role):
    put(handed_in, name)
    found = collect(handed_in)
    assert found.names == ({role: name} if role else {})


def test_of_two_files_for_one_role_the_usual_name_is_taken_and_it_is_said(handed_in):
    put(handed_in, "old/run_2.jsonl", "run_2.jsonl", "metrics_2.dat", "my_horovod.py", "tensorflow2_mnist_hvd.py")
    found = collect(handed_in)
    assert found.names == {"run_2": "run_2.jsonl", "script": "tensorflow2_mnist_hvd.py"}
    assert found.notes == [
        "`run_2.jsonl` was taken, not `old/run_2.jsonl`, `metrics_2.dat`.",
        "`tensorflow2_mnist_hvd.py` was taken, not `my_horovod.py`.",
    ]


def test_what_is_no_pdf_is_named_where_the_pdf_is_missing(handed_in):
    put(handed_in, "accuracy_2.png", "accuracy_4.svg", "accuracy_4.pdf", "scaling.html")
    found = collect(handed_in)
    assert set(found.files) == {"accuracy_4.pdf"} and set(found.refused) == {"accuracy_2.pdf", "scaling.pdf"}
    assert found.absent("accuracy_2.pdf", "accuracy_2.pdf").startswith(
        "There is no accuracy_2.pdf; `accuracy_2.png` is no PDF"
    )
    assert found.absent("run_1", "run_1.jsonl") == "There is no run_1.jsonl."


def test_only_plain_files_within_limits_are_taken(handed_in):
    secret = handed_in.parent / "secret"
    put(handed_in.parent, "secret", "elsewhere/accuracy_1.pdf")
    (handed_in / "run_1.jsonl").symlink_to(secret)
    (handed_in / "plots").symlink_to(handed_in.parent / "elsewhere")
    os.mkfifo(handed_in / "run_2.jsonl")
    (handed_in / "run_4.jsonl").mkdir()
    with open(handed_in / "run_8.jsonl", "wb") as large:
        large.truncate(mnist.CAPS["run"] + 1)
    put(handed_in, "scaling.csv")
    found = collect(handed_in)
    assert set(found.files) == {"scaling.csv"}
    assert found.refused == {
        "run_1": "`run_1.jsonl` was not taken: it is a link.",
        "run_2": "`run_2.jsonl` was not taken: it is not a plain file.",
        "run_8": "`run_8.jsonl` was not taken: it is larger than 16 MiB.",
    }


def test_a_folder_with_too_many_files_is_not_looked_through(handed_in, monkeypatch):
    monkeypatch.setattr(folder, "MOST_ENTRIES", 3)
    put(handed_in, *(f"a{k}" for k in range(5)), "run_1.jsonl")
    found = collect(handed_in)
    assert not found.files and found.notes == ["The folder holds more than 3 files: the rest was not looked at."]


def test_a_name_that_is_no_text_is_shown_escaped(handed_in):
    with open(os.fsencode(handed_in) + b"/log\xff_1.jsonl", "w"):
        pass
    put(handed_in, "run_1.jsonl")
    assert collect(handed_in).names == {"run_1": "run_1.jsonl"}


def test_no_folder(tmp_path):
    with pytest.raises(NotADirectoryError):
        folder.collect(tmp_path / "none", tmp_path, mnist.SCALING_MNIST.files)


# -- the parts together ------------------------------------------------------------------------------------------------


def small_pdf(path) -> None:
    """A figure that `probes.figure.figure` reads: two curves over four epochs."""
    axes = Figure(figsize=(3, 2)).subplots()
    axes.plot([1, 2, 3, 4], [0.5, 0.7, 0.8, 0.85], "o-", label="training accuracy")
    axes.plot([1, 2, 3, 4], [0.5, 0.6, 0.7, 0.75], "s--", label="validation accuracy")
    axes.set(xlabel="epoch", ylabel="accuracy", title="<script>alert(1)</script>")
    axes.legend()
    axes.figure.savefig(path, format="pdf")


def test_an_empty_folder_is_a_report_and_no_error(handed_in):
    report = homework.judge(handed_in, assignment="scaling_mnist", launcher=object())
    assert [part.part for part in report.parts] == ["port", "scaling", "plots", "bonus"]
    assert (report.score, report.max_score, report.needs_person, report.passed) == (0, 100, False, False)
    assert {finding.line for finding in report.findings} == set(RUBRIC.lines)
    assert {finding.diagnosis for finding in report.findings} == {"missing_file"}
    assert all(finding.sentence and finding.teach for finding in report.findings)


def test_a_judge_that_fails_leaves_its_part_to_a_person(handed_in, monkeypatch):
    put(handed_in, "tensorflow2_mnist_hvd.py")

    def fails(*_, **__):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("autograder.homework.port.judge.judge", fails)
    report = homework.judge(handed_in, parts=("port",), launcher=object())
    assert [(part.part, part.score, part.max_score) for part in report.parts] == [("port", 0, 50), ("bonus", 0, 5)]
    assert all(finding.earned is None for finding in report.findings) and report.open_points == 50
    assert report.parts[0].facts == {"fault": "ZeroDivisionError: a fault of ours"}
    assert "Traceback" not in homework.page.report_text(report)


def test_lines_that_a_judge_forgets_need_a_person(handed_in, monkeypatch):
    put(handed_in, "tensorflow2_mnist_hvd.py")
    some = rubric.PartResult("port", [RUBRIC.full("init"), RUBRIC.full("warmup")])
    monkeypatch.setattr("autograder.homework.port.judge.judge", lambda *_, **__: some)
    port, bonus = homework.judge(handed_in, parts=("port",), launcher=object()).parts
    assert (port.score, port.max_score, port.needs_person) == (4, 50, True)
    assert (bonus.score, bonus.max_score, bonus.needs_person) == (5, 5, False)


def unescaped(page) -> str:
    return re.sub(r"<[^>]*>", "", page.read_text())


def test_the_command_says_the_same_in_text_in_json_and_on_a_page(handed_in):
    small_pdf(handed_in / "accuracy_2.pdf")
    put(handed_in, "scaling.pdf", text="no PDF")
    page = handed_in.parent / "page.html"
    run = CliRunner().invoke(cli.app, ["homework", str(handed_in), "--no-port", "--json", "--page", str(page)])
    report = rubric.Report.from_json(json.loads(run.stdout))
    assert run.exit_code == 1 and report.files == {"accuracy_2.pdf": "accuracy_2.pdf", "scaling.pdf": "scaling.pdf"}
    assert "overlays" not in report.parts[1].facts, "pictures are for the page"
    assert page.read_text().count("<polyline") == 2 and page.read_text().count("data:image/png") == 1
    assert "training accuracy, 4 points" in unescaped(page) and "validation accuracy, 4 points" in unescaped(page)
    said = homework.page.report_text(report)
    assert "Accuracy curves" in said and "to read" in said


def test_the_curves_lie_where_the_page_has_them(tmp_path):
    """Pixels of the page under the points that were read are those of the curve."""
    path = tmp_path / "figure.pdf"
    axes = Figure(figsize=(3, 2)).subplots()
    axes.plot([1, 2, 3, 4], [5, 6, 7, 9], "s", color="black", markersize=8)
    axes.figure.savefig(path, format="pdf")
    made = overlay.draw(path, pdf_figure.read(path))
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(made["png"]))).convert("L")).astype(int)
    assert picture.shape == (made["height"], made["width"])
    points = made["curves"][0]["points"]
    assert len(points) == 4
    for x, y in points:
        assert picture[round(y) - 3 : round(y) + 4, round(x) - 3 : round(x) + 4].max() < 200, "a black square, faded"
    assert np.median(picture) == 255


def test_no_folder_for_the_command(tmp_path):
    run = CliRunner().invoke(cli.app, ["homework", str(tmp_path / "none")])
    assert run.exit_code == 2 and "no folder" in run.output


# -- programs that open a student's file -------------------------------------------------------------------------------


@pytest.mark.parametrize("weak", [False, True])
def test_what_a_program_writes_comes_back(tmp_path, weak):
    small_pdf(tmp_path / "a.pdf")
    jail = None if weak else isolation.spec(weak=True)
    head, _, pixels = inside.run("probes.figure.pixels", tmp_path / "a.pdf", "100", jail=jail).partition(b"\n")
    pages, height, width = map(int, head.split())
    assert (pages, width) == (1, 100) and len(pixels) == height * width * 3


@pytest.mark.parametrize(
    "content", [b"", b"%PDF-1.4\n", b"<svg></svg>", b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R >>\nendobj\n"]
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(tmp_path, content):
    (tmp_path / "a.pdf").write_bytes(content)
    with pytest.raises(inside.NoAnswer, match="cannot be drawn"):
        inside.run("probes.figure.pixels", tmp_path / "a.pdf", "100")


def test_a_program_is_ended_when_its_time_is_up(tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"x")
    with pytest.raises(inside.NoAnswer, match="longer than"):
        inside.run("probes.figure.pixels", tmp_path / "a.pdf", "100", seconds=0.01)


def test_no_more_is_read_than_a_figure_can_hold(tmp_path, monkeypatch):
    small_pdf(tmp_path / "a.pdf")
    monkeypatch.setattr(inside, "MOST_OUTPUT", 1000)
    with pytest.raises(inside.NoAnswer, match="wrote more"):
        inside.run("probes.figure.pixels", tmp_path / "a.pdf", "400")


# -- the page ----------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """All tags and attributes of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


EVIL = "<script>alert(1)</script>'\"><img src=x onerror=alert(2)>\x1b[31m`\udcff"


def hostile_report() -> rubric.Report:
    findings = [RUBRIC.lost(line.name, EVIL, EVIL, EVIL) for line in RUBRIC.lines_of("scaling")]
    picture = {
        "png": base64.b64encode(b"\x89PNG" + EVIL.encode("utf-8", "replace")).decode(),
        "width": 10,
        "height": 10,
        "alt": EVIL,
    }
    picture["curves"] = [{"name": EVIL, "count": 2, "points": [[1, 2], [3, 4]]}]
    row = {
        "ranks": 2,
        "images_per_second": [1.0, 1e300],
        "speedup": [0.1, 2],
        "efficiency": [0.05, 1],
        "claimed": {"speedup": 1e308},
    }
    facts = {"overlays": {EVIL: picture, "b.pdf": {**picture, "png": EVIL}}, "rows": [row], "hardware": {"1": EVIL}}
    facts["rerun"] = {"done": False, "why": EVIL}
    part = rubric.PartResult("scaling", findings, [rubric.Flag("x", EVIL)], facts, "scaling_mnist")
    return rubric.Report([part], {"script": EVIL}, [EVIL], "scaling_mnist")


def test_nothing_of_a_student_acts_on_the_page():
    report = hostile_report()
    text = homework.page.render(report)
    found = Tags(text)
    assert not found.tags & {"script", "img", "iframe", "object", "embed", "link", "form", "a", "base"}
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    addresses = [value for name, value in found.attributes if name in ("href", "src", "xlink:href")]
    assert len(addresses) == 1 and addresses[0].startswith("data:image/png;base64,")
    assert "Content-Security-Policy" in text and "\x1b" not in text
    text.encode()
    said = homework.page.report_text(report)
    assert "\x1b" not in said and said.encode()


def part(name: str, *findings: rubric.LineResult) -> rubric.PartResult:
    return rubric.PartResult(name, list(findings), assignment="scaling_mnist")


def test_hints_can_be_kept_back():
    finding = RUBRIC.lost("speedup", "inverse_speedup", "It was 0.5.", "It is upside down.")
    result = rubric.PartResult("scaling", [finding], [rubric.Flag("x", "Look at this.")], {}, "scaling_mnist")
    for hints, shown in {
        "verdict": (),
        "differs": ("It was",),
        "why": ("It was", "upside"),
        "how": ("It was", "upside"),
    }.items():
        for card in (homework.page.part_html(result, hints), homework.page.part_text(result, hints)):
            assert [words for words in ("It was", "upside") if words in card] == list(shown)
            assert ("Look at this" in card) == (hints != "verdict")


def test_nobody_is_wrong_who_leaves_the_bonus_alone():
    bonus = part("bonus", RUBRIC.lost("warmup", "no_warmup", "The rate is the same in all steps.", "Let it climb."))
    for card in (homework.page.part_text(bonus), homework.page.part_html(bonus)):
        assert "not yet" in card and "wrong" not in card


def test_full_marks_and_waiting_lines_are_told_apart():
    passed = part("bonus", RUBRIC.full("warmup"))
    waiting = part("bonus", RUBRIC.needs_person("warmup", "Nobody could tell."))
    assert "5 of 5 points" in homework.page.part_text(passed) and "wait for a person" not in homework.page.part_html(
        passed
    )
    assert "5 wait for a person" in homework.page.part_html(waiting) and "to read" in homework.page.part_text(waiting)


def _endless(*anything, **named):
    while True:
        pass


def test_a_judge_of_a_file_ends(monkeypatch):
    """A file decides how long its judge takes: a grader's worker must not be held by one."""
    assert inside.bounded(sorted, [2, 1], reverse=True) == [2, 1]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        inside.bounded(lambda: 1 / 0)
    monkeypatch.setattr(inside, "JUDGING", 1)
    with pytest.raises(inside.Overdue):
        inside.bounded(_endless)


@pytest.mark.parametrize(
    ("assignment", "judge"),
    [
        ("scaling_mnist", "autograder.homework.plots.judge.judge"),
        ("scaling_mnist", "autograder.homework.scaling.judge._figure"),
        ("scaling_mnist", "autograder.homework.port.source._parsed"),
        ("train_a_mesh", "autograder.homework.mesh.figures.judge"),
    ],
)
def test_what_takes_too_long_to_judge_is_a_finding_and_no_fault(assignment, judge, monkeypatch, tmp_path):
    monkeypatch.setattr(inside, "JUDGING", 1)
    monkeypatch.setattr(judge, _endless)
    script = tmp_path / "torch_mnist_ddp.py"
    script.write_text(f"import torch.distributed\n# {judge}\n")
    files = {"script": script} if assignment == "scaling_mnist" else {}
    names = {script.name: script.name}
    part = {"plots": "plots", "scaling": "scaling", "port": "port", "mesh": "figures"}[judge.split(".")[2]]
    report = judge_files(folder.Homework(files, names, assignment=assignment), parts=(part,), launcher=object())
    (result, *_) = [one for one in report.parts if one.part == part]
    assert "fault" not in result.facts and not any(finding.diagnosis == "fault" for finding in result.findings)
    assert any("took longer than 1 s" in finding.sentence for finding in result.findings)
