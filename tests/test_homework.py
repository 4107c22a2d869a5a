"""The homework as a whole: which file is what, how the parts come together, and the page that a student reads."""

from __future__ import annotations

import os

import pytest

from autograder.homework import folder, rubric


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
    return folder.collect(handed_in, handed_in.parent / "copies")


# -- the rubric -------------------------------------------------------------------------------------------------------------------------


def test_points_of_the_parts():
    assert {part: rubric.points_of(part) for part in rubric.PARTS} == {"port": 50, "scaling": 25, "plots": 25, "bonus": 5}
    assert len({line.name for line in rubric.LINES}) == len(rubric.LINES)


def test_a_report_is_the_same_after_json():
    findings = [rubric.full("runs"), rubric.lost("speedup", "inverted", "It was 0.5.", "Divide.", earned=2.5)]
    scaling = rubric.PartResult("scaling", findings, [rubric.Flag("edited_log", "Look.")], {"sizes": [1, 2]})
    report = rubric.Report([scaling, rubric.unjudged("bonus", "no ranks here")], {"script": "a.py"}, ["a note"])
    assert rubric.Report.from_json(report.to_json()) == report
    assert (report.score, report.max_score, report.open_points, report.needs_person) == (7.5, 10, 0, True)
    assert [finding.verdict for finding in report.findings] == ["passed", "partly", "needs_person"]


def test_a_students_text_is_shortened_and_cannot_steer_a_terminal():
    assert rubric.shown("a\x1b[31mb\nc\u202e") == "a\\x1b[31mb c\\u202e"
    assert rubric.shown("x" * 10_000, 20) == "x" * 16 + " ..."
    rubric.shown("\udcff" * 50).encode()


# -- which file is what -----------------------------------------------------------------------------------------------------------------


def test_the_names_that_were_asked_for(handed_in):
    put(handed_in, "tensorflow2_mnist_hvd.py", "scaling_mnist.ipynb", "discussion.md", "scaling.csv", "scaling.pdf")
    put(handed_in, *(f"run_{p}.jsonl" for p in (1, 2, 4, 8, 16)), *(f"accuracy_{p}.pdf" for p in (1, 2, 4, 8)))
    found = collect(handed_in)
    roles = {"script", "notebook", "discussion", "scaling.csv", "scaling.pdf", *(f"run_{p}" for p in (1, 2, 4, 8, 16))}
    assert set(found.files) == roles | {f"accuracy_{p}.pdf" for p in (1, 2, 4, 8)}
    assert found.sizes == [1, 2, 4, 8, 16] and not found.notes and not found.refused
    assert found.files["run_16"].name == "run_16.jsonl" and all(path.read_text() == "x" for path in found.files.values())


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
    assert found.absent("accuracy_2.pdf", "accuracy_2.pdf").startswith("There is no accuracy_2.pdf; `accuracy_2.png` is no PDF")
    assert found.absent("run_1", "run_1.jsonl") == "There is no run_1.jsonl."


def test_only_plain_files_within_limits_are_taken(handed_in):
    secret = handed_in.parent / "secret"
    put(handed_in.parent, "secret", "elsewhere/accuracy_1.pdf")
    (handed_in / "run_1.jsonl").symlink_to(secret)
    (handed_in / "plots").symlink_to(handed_in.parent / "elsewhere")
    os.mkfifo(handed_in / "run_2.jsonl")
    (handed_in / "run_4.jsonl").mkdir()
    with open(handed_in / "run_8.jsonl", "wb") as large:
        large.truncate(folder.CAPS["run"] + 1)
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
        folder.collect(tmp_path / "none", tmp_path)
