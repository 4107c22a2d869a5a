"""Folders of dishonest submissions, as they lie in the exchange or in submitted/: nothing that is not the student's
is read, copied or shown, nothing in them stops a run, and nothing they hold is fetched from elsewhere when a person
looks at it.

`tests/attacks/folders/NNN_name.py` fills such a folder. Its first lines are comments that say how it comes to be
graded ("by: nbgrader collect" or "by: hand", by whatever else an instructor uses), what it must not achieve, and what
comes of it: the submission is taken "as it is", something is "left out", it is "refused", or it comes "not at all".
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from machine import needs
from nbconvert import HTMLExporter
from nbgrader import utils
from nbgrader.api import MissingEntry
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import collect as nbgraders
from submissions import as_bytes, cell_of, handed_in, released_notebook, source_notebook
from traitlets.config import Config
from typer.testing import CliRunner

from autograder import cli
from autograder.course import Course
from autograder.grading import collecting, copying, course_files
from autograder.grading.collecting import Collect
from autograder.grading.submission import reading, rebuilding
from autograder.grading.writer import GradebookWriter, copy_what_is_ordinary
from autograder.reports import results

FOLDERS = sorted((Path(__file__).parents[2] / "attacks" / "folders").glob("[0-9]*.py"))
HIS_OWN = "rivals-own-answer-77"
TIME = "2027-01-02 03:04:05 UTC"
EARLY = "2002-03-04 05:06:07 UTC"
LOADS = {"src", "srcset", "poster", "data", "background", "srcdoc", "style", "xlink:href", "content"}


@dataclass
class Place:
    """A course root with secrets, an exchange, and a rival who has handed in (rival: where)."""

    course: Path
    inbound: Path
    key: Path
    rival: Path
    coursedir: CourseDirectory
    config: Config


@pytest.fixture
def place(tmp_path) -> Place:
    root = tmp_path / "course"
    (root / "source" / "homework").mkdir(parents=True)
    (root / "release" / "homework").mkdir(parents=True)
    (root / "source" / "homework" / "homework.ipynb").write_bytes(as_bytes(source_notebook()))
    (root / "nbgrader_config.py").write_text(
        "from pathlib import Path\nfrom autograder.grading.nbgrader_plugin import configure\nc = get_config()\n"
        "configure(c, Path(__file__).resolve().parent)\nc.CourseDirectory.course_id = 'dl'\n"
    )
    inbound = tmp_path / "exchange" / "dl" / "inbound"
    inbound.mkdir(parents=True)
    key = Course(root).key("homework")
    config = course_files.settings(root, "homework")
    config.Exchange.root = str(tmp_path / "exchange")
    return (
        Place(root, inbound, Course(root).key_file("homework"), root, CourseDirectory(config=config), config)
        if key
        else None
    )


def rivals_notebook() -> bytes:
    notebook = handed_in()
    cell_of(notebook, "why").source = HIS_OWN
    return as_bytes(notebook)


class NoGradebook:
    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def find_assignment(self, name):
        raise MissingEntry(name)


def collect(place: Place, monkeypatch) -> None:
    monkeypatch.setattr(nbgraders, "Gradebook", NoGradebook)
    monkeypatch.chdir(place.course)
    collecting = Collect(coursedir=place.coursedir, parent=None, config=place.config)
    collecting.init_src()
    collecting.copy_files()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: path.stem)
def test_folder(place, monkeypatch, path):
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)  # as where a program is run by its path
    source = path.read_text(encoding="utf-8")
    head = dict(re.findall(r"^# ([a-z ]+): (.*)$", source, re.MULTILINE))
    collected = head["by"] == "nbgrader collect"
    submitted = place.course / "submitted"
    names = {
        who: place.inbound / f"{who}+homework+{TIME}+x" if collected else submitted / who / "homework"
        for who in ("rival", "mallory")
    }
    for folder in names.values():
        folder.mkdir(parents=True)
    place.rival, folder = names["rival"], names["mallory"]
    (place.rival / "homework.ipynb").write_bytes(rivals_notebook())
    (place.rival / "helper.py").write_text(f"note = {HIS_OWN!r}\n")
    namespace: dict = {}
    exec(compile(source, str(path), "exec"), namespace)
    namespace["hand_in"](place, folder, as_bytes(handed_in()))
    if collected:
        collect(place, monkeypatch)
        assert head["comes"] != "not at all" or os.listdir(submitted) == ["rival"]
        assert (submitted / "rival" / "homework" / "homework.ipynb").read_bytes() == rivals_notebook()
        arrived = [path for path in (submitted / "mallory").rglob("*") if path.is_file() or path.is_symlink()]
        assert not [path for path in arrived if path.is_symlink() or path.stat().st_size > reading.MAX_BYTES]
        for secret in (place.key.read_text().strip(), HIS_OWN, "only in the solution"):
            assert not [
                path for path in arrived if secret.encode() in path.read_bytes() and path.name != "homework.ipynb"
            ]
            assert not [path for path in arrived if secret.encode() in path.read_bytes() and path.parent.name == "data"]
    try:
        look_at(place, head["comes"], submitted / "mallory" / "homework")
    finally:
        for shut in place.course.rglob("shut*"):
            shut.chmod(0o700)


def look_at(place: Place, comes: str, folder: Path) -> None:
    """All that grading, reports and nbgrader do with a submission before it is judged, and after."""
    expected = ["rival"] if comes == "not at all" else ["mallory", "rival"]
    assert course_files.submitted_students(place.coursedir, "homework") == expected
    if comes == "not at all":
        assert not os.path.lexists(folder)
        return
    found = course_files.handed_in(place.coursedir, "homework", "mallory", "homework")
    assert (comes == "refused") == bool(found.refused), found.refused
    rebuilt = rebuilding.rebuild_handed_in(released_notebook(), found)
    collected = next(place.inbound.iterdir(), None) is not None
    assert place.coursedir.get_existing_timestamp(str(folder)) == (utils.parse_utc(TIME) if collected else None)
    assert len(course_files.hashes_of_submission(place.coursedir, "homework", "mallory")) < 5000
    copied = copied_files(place)
    said = json.dumps(
        [found.to_json(), found.content.decode(errors="replace"), rebuilt.notebook, [f.sentence for f in rebuilt.flags]]
    )
    for secret in (place.key.read_text().strip(), HIS_OWN, "only in the solution", "SystemExit: in place"):
        assert secret not in said
        assert not [name for name, content in copied.items() if secret.encode() in content]
    assert not [flag for flag in rebuilt.flags if re.search(r"[\x00-\x1f\x7f-\x9f]", flag.sentence)]
    assert not {"torch", "numpy", "labkit", "__main__", "sitecustomize.x"} & set(rebuilt.modules)
    if "BEACON" in said:
        html, _ = HTMLExporter().from_notebook_node(rebuilt.notebook)
        page = Fetched()
        page.feed(html)
        assert not page.found


def copied_files(place: Place) -> dict[str, bytes]:
    """What of mallory's submission arrives in autograded/, by its name."""
    options = Autograde(coursedir=place.coursedir, config=place.config)
    writer = GradebookWriter(place.coursedir, place.config, "homework", NoGradebook(), options)
    writer.copy_files("mallory")
    return {str(path): path.read_bytes() for path in writer.folder("mallory").rglob("*") if not path.is_dir()}


class Fetched(HTMLParser):
    """What a browser fetches by itself from the address BEACON when it shows a page."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        loads = LOADS | ({"href"} if tag in ("link", "image", "use", "base") else set())
        self.found += [
            f"{tag} {name}" for name, value in attributes if name in loads and "beacon" in (value or "").lower()
        ]

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside in ("style", "script") and "BEACON" in data:
            self.found.append(f"{self.inside}: {data[:80]}")


def test_the_page_would_be_found_out():
    page = Fetched()
    page.feed("<img src=https://BEACON/1><style>@import url(//BEACON/2)</style><a href=https://BEACON/3>x</a>")
    assert page.found == ["img src", "style: @import url(//BEACON/2)"]


def test_nbgrader_collects_with_care(place):
    assert place.config.ExchangeFactory.collect == "autograder.grading.collecting.Collect"


@pytest.mark.parametrize("name", ["../../etc", "/etc", "..", "a/b", "-x", "a\nb", ""])
@pytest.mark.parametrize("command", ["grade", "report", "copies", "nonces"])
def test_a_name_that_is_none_is_refused_in_a_line(place, command, name):
    """No traceback, and no key or lock for what is no assignment."""
    before = {path for path in place.course.rglob("*")}
    done = CliRunner().invoke(cli.app, [command, "--course", str(place.course), "--", name])
    assert done.exit_code == 2
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert command == "report" or "is no name of an assignment" in done.output  # a report asks the gradebook first
    assert {path for path in place.course.rglob("*")} - before <= {place.course / "gradebook.db"}


def test_one_folder_that_cannot_be_read_costs_nobody_else_anything(place, monkeypatch):
    (place.course / "submitted" / "mallory" / "homework").mkdir(parents=True)

    def broken(folder):
        raise UnicodeError("a name that nobody has thought of")

    monkeypatch.setattr(reading, "modules_of", broken)
    rebuilt = course_files.load(place.coursedir, place.config, "homework", "mallory", "homework")
    assert "could not be read (UnicodeError)" in rebuilt.refused
    assert [name for _, name, _ in results.answers(place.coursedir, "homework")] == ["homework"]


def test_what_we_may_not_read_is_left_out_and_said(tmp_path, monkeypatch):
    """As an ordinary instructor finds it: root may read everything."""
    (tmp_path / "homework").mkdir()
    (tmp_path / "homework" / "shut.py").write_text("x = 1\n")
    (tmp_path / "homework" / "open.py").write_text("x = 1\n")
    (tmp_path / "homework" / "shut").mkdir()
    opens = os.open

    def shut(path, *rest, **options):
        if Path(path).name.startswith("shut"):
            raise PermissionError(path)
        return opens(path, *rest, **options)

    monkeypatch.setattr(reading.os, "access", lambda path, mode: not Path(path).name.startswith("shut"))
    assert [flag.sentence for flag in reading.file_flags(tmp_path / "homework")] == [
        "The folder shut may not be read: it was left out.",
        "The file shut.py may not be read: it was left out.",
    ]
    monkeypatch.setattr(os, "open", shut)
    copy_what_is_ordinary(tmp_path / "homework", tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["open.py"]


def time_collected(place: Place, monkeypatch, said: str, written: str = "") -> tuple[datetime, list[str]]:
    """(when the submission counts as handed in, what is said of that). said: in the folder's name; written: in its
    timestamp.txt, the same where nothing else is said."""
    folder = place.inbound / f"mallory+homework+{said}+x"
    folder.mkdir()
    for name, content in (("homework.ipynb", as_bytes(handed_in())), ("timestamp.txt", (written or said).encode())):
        (folder / name).write_bytes(content)
        os.utime(folder / name, (1e9, 1e9))
    os.utime(folder, (1e9, 1e9))
    collect(place, monkeypatch)
    submitted = place.course / "submitted" / "mallory" / "homework"
    found = course_files.handed_in(place.coursedir, "homework", "mallory", "homework")
    return place.coursedir.get_existing_timestamp(str(submitted)), [f.sentence for f in found.flags if f.kind == "time"]


def utc(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S.%f} UTC"


@pytest.mark.parametrize("written", ["", "yesterday", "2001-01-01 00:00:00 UTC"])
def test_nothing_is_handed_in_before_its_last_change(place, monkeypatch, written):
    """A folder's name, its timestamp.txt and its files' times of change (mtime) are all the student's to write."""
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=2)  # a file system's clock is coarser
    time, flags = time_collected(place, monkeypatch, EARLY, written)
    assert time >= before
    assert len(flags) == 1 and f"handed in on {EARLY[:16]} UTC" in flags[0] and utc(time)[:16] in flags[0]


def test_a_time_that_fits_the_last_change_is_kept(place, monkeypatch):
    said = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=20)
    assert time_collected(place, monkeypatch, utc(said)) == (said, [])


def test_the_later_of_two_times_counts_also_where_it_is_the_students(place, monkeypatch):
    time, flags = time_collected(place, monkeypatch, EARLY, TIME)
    assert time == utils.parse_utc(TIME) and "2027-01-02 03:04 UTC" in flags[0]


def test_the_note_of_a_time_goes_with_the_next_submission(place, monkeypatch):
    _, flags = time_collected(place, monkeypatch, EARLY)
    place.config.ExchangeCollect.update = True
    said = datetime.now(UTC).replace(tzinfo=None) + timedelta(seconds=20)
    assert flags and time_collected(place, monkeypatch, utc(said)) == (said, [])


def test_a_change_after_the_look_counts(place, monkeypatch):
    """What is copied has its own time: a notebook that is exchanged when the last change has been looked at is late."""
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(seconds=2)
    monkeypatch.setattr(collecting, "last_changed", lambda folder: utils.parse_utc(EARLY))
    time, flags = time_collected(place, monkeypatch, EARLY)
    assert time >= before and len(flags) == 1


@pytest.mark.parametrize("kind", ["folders", "files"])
def test_nothing_is_copied_whose_time_was_not_taken(tmp_path, monkeypatch, kind):
    """Neither behind five hundred folders nor behind as many files."""
    folder, noted = tmp_path / "submission", set()
    folder.mkdir()
    for k in range(reading.MAX_FILES + 1):
        (folder / f"a{k:03}").mkdir() if kind == "folders" else (folder / f"a{k:03}").touch()
    (folder / "homework.ipynb").write_bytes(as_bytes(handed_in()))
    monkeypatch.setattr(copying.Copying, "_note", lambda self, about: noted.add(about.st_ino))
    copied = copying.Copying(tmp_path / "copy").walk(folder)
    arrived = [path for path in (tmp_path / "copy").rglob("*")]
    assert (tmp_path / "copy" / "homework.ipynb") in arrived and len(arrived) == reading.MAX_FILES
    assert all((folder / path.relative_to(tmp_path / "copy")).stat().st_ino in noted for path in arrived)
    assert [why for why in copied.left_out.values()] == ["comes after 500 others, as all that follows it"]
    assert collecting.last_changed(folder) and (folder / "homework.ipynb").stat().st_ino in noted


def hand_in_as(place: Place, name: str, content: str = "{}") -> Path:
    folder = place.inbound / name
    folder.mkdir()
    (folder / "homework.ipynb").write_text(content)
    return folder


def collected_names(place: Place) -> list[str]:
    return sorted(str(path.relative_to(place.course / "submitted")) for path in place.course.glob("submitted/*/*"))


@pytest.mark.parametrize(
    "name", ["mallory+homework+zzz", "mallory+homework+", "+homework+" + TIME + "+x", "a+homework+b+c+d"]
)
def test_a_name_without_a_date_costs_nobody_else_anything(place, monkeypatch, name):
    hand_in_as(place, name)
    hand_in_as(place, f"rival+homework+{TIME}+x")
    collect(place, monkeypatch)
    assert collected_names(place) == ["rival/homework"]


@needs("root")
@pytest.mark.parametrize("check_owner", [True, False])
def test_what_another_handed_in_is_left_out_where_owners_count(place, monkeypatch, check_owner):
    """And does not stand in the place of the student's own, whatever its date. With one account for all it is taken."""
    place.config.ExchangeCollect.check_owner = check_owner
    hand_in_as(place, f"root+homework+{TIME}+x", "her own")
    forged = hand_in_as(place, "root+homework+2099-01-01 00:00:00 UTC+x", "forged")
    for path in (forged, forged / "homework.ipynb"):
        os.chown(path, 61235, 61235)
    collect(place, monkeypatch)
    arrived = (place.course / "submitted" / "root" / "homework" / "homework.ipynb").read_text()
    assert arrived == ("her own" if check_owner else "forged")


def test_who_collects_may_hand_in_for_everybody(place, monkeypatch):
    """So it is on a hub with one account for all, and where an instructor puts a late submission there."""
    hand_in_as(place, f"rival+homework+{TIME}+x")
    collect(place, monkeypatch)
    assert collected_names(place) == ["rival/homework"]


def test_modes_in_a_submission_are_not_taken_over(place, monkeypatch):
    folder = hand_in_as(place, f"mallory+homework+{TIME}+x")
    (folder / "shut").mkdir()
    (folder / "shut" / "file").touch()
    (folder / "shut" / "file").chmod(0o400)
    (folder / "shut").chmod(0o555)
    collect(place, monkeypatch)
    (folder / "shut").chmod(0o755)
    arrived = place.course / "submitted" / "mallory" / "homework" / "shut"
    assert arrived.stat().st_mode & 0o700 == 0o700 and (arrived / "file").stat().st_mode & 0o600 == 0o600
    arrived.chmod(0o555)  # as it was collected by an earlier edition
    copying.remove(arrived.parent)
    assert not arrived.parent.exists()


def test_a_folder_that_cannot_be_replaced_costs_nobody_else_anything(place, monkeypatch):
    old = {name: place.course / "submitted" / name / "homework" for name in ("alice", "mallory", "rival")}
    for name, folder in old.items():
        folder.mkdir(parents=True)
        hand_in_as(place, f"{name}+homework+{TIME}+x", "new")
    place.config.ExchangeCollect.update = True
    removes = shutil.rmtree

    def stubborn(path, *rest, **options):
        if str(path) == str(old["mallory"]):
            raise PermissionError(13, "Permission denied", str(path))
        return removes(path, *rest, **options)

    monkeypatch.setattr(shutil, "rmtree", stubborn)
    collect(place, monkeypatch)
    arrived = {name for name, folder in old.items() if (folder / "homework.ipynb").exists()}
    assert arrived == {"alice", "rival"}
