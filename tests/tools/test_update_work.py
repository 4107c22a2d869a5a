"""tools/update_work.py: what the course brings, and what stays the student's."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import update_work  # noqa: E402

LESSON = "01_topic/topic.ipynb"


@pytest.fixture
def course(tmp_path):
    """A course with one notebook and one figure, and the folder work/ it was copied to."""
    root = tmp_path / "course with spaces"
    put(root / "notebooks" / LESSON, "version 1")
    put(root / "images/ring.svg", "<svg/>")
    put(root / "images/ring.py", "draw()")
    update_work.update(root, root / "work")
    return root


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def tree(folder: Path) -> dict[str, str]:
    """Every file under `folder` but the record, with its text."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != update_work.RECORD]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def test_first_copy_brings_notebooks_and_figures_but_no_scripts(course):
    assert tree(course / "work") == {LESSON: "version 1", "images/ring.svg": "<svg/>"}


def test_nothing_new_says_nothing_and_writes_nothing(course):
    before = {path: path.stat().st_mtime_ns for path in (course / "work").rglob("*")}
    assert update_work.update(course, course / "work") == []
    assert {path: path.stat().st_mtime_ns for path in (course / "work").rglob("*")} == before


def test_an_untouched_file_is_updated(course):
    put(course / "notebooks" / LESSON, "version 2")
    assert update_work.update(course, course / "work") == ["work/: 1 updated files"]
    assert tree(course / "work")[LESSON] == "version 2"


def notebook(source: str, **metadata) -> str:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [], "source": [source]}
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize("record", ["as written today", "as earlier releases wrote it"])
def test_a_notebook_that_lab_only_opened_is_nobodys_change(course, record):
    put(course / "notebooks" / LESSON, notebook("x = 1", kernelspec={"name": "python3"}))
    update_work.update(course, course / "work")
    if record == "as earlier releases wrote it":
        old = hashlib.sha256((course / "work" / LESSON).read_bytes()).hexdigest()
        (course / "work" / update_work.RECORD).write_text(json.dumps({"copied": {LESSON: old}, "offered": {}}))
        update_work.update(course, course / "work")
    opened = json.loads(notebook("x = 1", language_info={"version": "3.13.5", "codemirror_mode": {"name": "ipython"}}))
    opened["cells"][0]["metadata"] = {"trusted": True}
    opened["cells"][0]["source"] = "x = 1"
    put(course / "work" / LESSON, json.dumps(opened, indent=1) + "\n")
    put(course / "notebooks" / LESSON, notebook("x = 2"))
    assert update_work.update(course, course / "work") == ["work/: 1 updated files"]
    assert tree(course / "work")[LESSON] == notebook("x = 2")


@pytest.mark.parametrize("what", ["source", "outputs"])
def test_a_notebook_in_which_somebody_worked_is_theirs(course, what):
    put(course / "notebooks" / LESSON, notebook("x = 1"))
    update_work.update(course, course / "work")
    mine = json.loads(notebook("x = 1"))
    mine["cells"][0][what] = {"source": "x = 5", "outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}]}[
        what
    ]
    put(course / "work" / LESSON, json.dumps(mine))
    put(course / "notebooks" / LESSON, notebook("x = 2"))
    assert "has your changes" in update_work.update(course, course / "work")[-1]
    assert json.loads(tree(course / "work")[LESSON]) == mine


def test_a_changed_file_stays_and_the_new_version_is_put_beside_it_and_said_once(course):
    put(course / "work" / LESSON, "my answer")
    assert update_work.update(course, course / "work") == []  # nothing new in the course, nothing to say
    put(course / "notebooks" / LESSON, "version 2")
    (said,) = update_work.update(course, course / "work")
    assert LESSON in said and "topic.new.ipynb" in said and "\n" not in said
    assert tree(course / "work")[LESSON] == "my answer"
    assert tree(course / "work")["01_topic/topic.new.ipynb"] == "version 2"
    assert update_work.update(course, course / "work") == []


def test_a_later_version_replaces_an_offer_nobody_touched(course):
    put(course / "work" / LESSON, "my answer")
    for version in ("version 2", "version 3"):
        put(course / "notebooks" / LESSON, version)
        assert len(update_work.update(course, course / "work")) == 1
    assert tree(course / "work")["01_topic/topic.new.ipynb"] == "version 3"


def test_an_offer_the_student_works_in_is_not_overwritten_either(course):
    put(course / "work" / LESSON, "my answer")
    put(course / "notebooks" / LESSON, "version 2")
    update_work.update(course, course / "work")
    put(course / "work/01_topic/topic.new.ipynb", "my second answer")
    put(course / "notebooks" / LESSON, "version 3")
    update_work.update(course, course / "work")
    assert tree(course / "work") == {
        LESSON: "my answer",
        "01_topic/topic.new.ipynb": "my second answer",
        "01_topic/topic.new2.ipynb": "version 3",
        "images/ring.svg": "<svg/>",
    }


def test_an_adopted_version_is_followed_again(course):
    put(course / "work" / LESSON, "my answer")
    put(course / "notebooks" / LESSON, "version 2")
    update_work.update(course, course / "work")
    os.replace(course / "work/01_topic/topic.new.ipynb", course / "work" / LESSON)
    put(course / "notebooks" / LESSON, "version 3")
    update_work.update(course, course / "work")
    assert tree(course / "work")[LESSON] == "version 3"


def test_a_deleted_file_comes_back(course):
    (course / "work" / LESSON).unlink()
    update_work.update(course, course / "work")
    assert tree(course / "work")[LESSON] == "version 1"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"copied": 3, "offered": {}}', None])
def test_without_its_record_nothing_is_lost(course, damage):
    record = course / "work" / update_work.RECORD
    record.unlink() if damage is None else record.write_text(damage)
    put(course / "work" / LESSON, "my answer")
    put(course / "notebooks" / LESSON, "version 2")
    update_work.update(course, course / "work")
    assert tree(course / "work")[LESSON] == "my answer"
    assert tree(course / "work")["01_topic/topic.new.ipynb"] == "version 2"


def test_interrupted_between_file_and_record(course, monkeypatch):
    put(course / "notebooks" / LESSON, "version 2")
    replace = update_work.replace

    def stop_at_the_record(path, content):
        if path.name == update_work.RECORD:
            raise KeyboardInterrupt
        replace(path, content)

    monkeypatch.setattr(update_work, "replace", stop_at_the_record)
    with pytest.raises(KeyboardInterrupt):
        update_work.update(course, course / "work")
    monkeypatch.undo()
    assert update_work.update(course, course / "work") == []
    assert tree(course / "work")[LESSON] == "version 2"


def test_a_write_that_fails_leaves_the_old_file_and_no_rubbish(course, monkeypatch):
    put(course / "notebooks" / LESSON, "version 2")
    monkeypatch.setattr(update_work.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    assert update_work.main(["--course", str(course)]) == 1
    assert tree(course / "work") == {LESSON: "version 1", "images/ring.svg": "<svg/>"}


def test_from_the_command_line_without_any_package(course):
    put(course / "work" / LESSON, "my answer")
    put(course / "notebooks" / LESSON, "version 2")
    command = [sys.executable, "-I", "-S", str(ROOT / "tools/update_work.py"), "--course", str(course)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1 and "topic.new.ipynb" in done.stdout
    assert set(json.loads((course / "work" / update_work.RECORD).read_text())) == {"copied", "offered"}


def test_a_file_where_the_folder_should_be_is_one_clear_line(course, capsys):
    put(course / "elsewhere", "a file")
    assert update_work.main(["--course", str(course), str(course / "elsewhere")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "elsewhere" in error and "Nothing of yours was changed" in error
