"""Dishonest submissions: none gets what it wants, and honest ones beside it and after it are graded as ever."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from html.parser import HTMLParser

import nbformat
import numpy as np
import ordinary_user
import pytest
from attack_course import ATTACKS, ROOT, Range, Report, all_attacks
from machine import FULL, needs, some
from nbconvert import HTMLExporter
from nbgrader.plugins.zipcollect import ExtractorPlugin
from submissions import handed_in, released_notebook

from autograder.compare import difference, show
from autograder.exercise import Opaque, Tensor
from autograder.grading.submission import carding, judging, reading, rebuilding
from autograder.grading.submission.reading import Refused
from autograder.judging.judge import Runners
from labkit.launch.launcher import Limits
from labkit.relay import wire
from labkit.relay.network import Relay

ALL = all_attacks()
# Attacks that the machine has to withstand in another way where an ordinary user grades: files, processes, rights, what
# ranks hear of each other. Those left out end by a limit or a signal of the attacker's own process, or are the judge's
# matter.
NUMBERS = {attack.name: int(attack.name.split("_")[0]) for attack in ALL}
MACHINE = [attack for attack in ALL if NUMBERS[attack.name] < 18 or 50 <= NUMBERS[attack.name] < 67 or 120 <= NUMBERS[attack.name] < 128
           or NUMBERS[attack.name] in (24, 25, 69, 72, 73, 74, 76, 83, 96, 97, 98, 99, 134, 135, 260, 261, 262, 264)]  # fmt: skip
# One for each protection: the others fail and hold together with it. `make test-all` runs them all.
ONE_EACH = {
    "files": "01_read_sources",
    "a home": "06_read_the_home",
    "memory of others": "12_memory_of_processes",
    "descriptors": "15_descriptors",
    "rights": "17_become_root",
    "folders of ranks": "50_around_files",
    "namespaces of ranks": "55_around_system_v",
    "locks": "56_around_file_locks",
    "number of processes": "60_fork_bomb",
    "memory": "63_memory_of_children",
    "disk": "65_disk",
    "the end": "74_background_process",
    "network": "76_network",
    "limits": "83_raises_its_limits",
    "libraries": "97_changes_the_libraries",
    "mpiexec": "99_under_mpi",
    "inherited memory": "120_inherited_memory",
    "counters": "121_counters_of_the_kernel",
    "system calls": "123_free_space_of_another",
    "counted by user": "124_signals_of_the_user",
    "ranks of MPI": "262_mpi_signs_to_others",
}
if not FULL:
    MACHINE = [attack for attack in MACHINE if attack.name in ONE_EACH.values()]
# By root `make test-cluster` tries these and every second one of the others.
OTHERS = [attack for attack in ALL if attack.name not in ONE_EACH.values()]
BY_ROOT = [attack for attack in ALL if attack not in OTHERS] + some(OTHERS, 2)
SUBMISSIONS = sorted((ATTACKS / "submissions").glob("[0-9]*.py"))
FIELDS = [
    {"op": "broadcast", "root": {"a": 1}},
    {"op": "broadcast", "root": "zero"},
    {"op": "broadcast", "root": 7},
    {"op": "all_reduce", "dtype": "object", "reduce": "sum"},
    {"op": "all_reduce", "dtype": "float32", "reduce": "__import__"},
    {"op": "recv", "peer": 0, "shape": [2**62, 2**62], "dtype": "float32"},
    {"op": "recv", "peer": 0, "shape": [1] * 100, "dtype": "float32"},
    {"op": "recv", "peer": 9, "shape": [1], "dtype": "float32"},
    {"op": "recv", "peer": 0, "tag": 10**300, "shape": [1], "dtype": "float32"},
    {"op": "scatter", "sizes": [-1, 2**70], "root": 0},
    {"op": "scatter", "sizes": [0] * 10_000, "root": 0},
    {"op": "all_to_all", "sizes": [1e308, 5]},
    {"op": "reduce_scatter", "sizes": [0, 0], "shape": [7], "dtype": "int8", "reduce": "sum"},
    {"op": "barrier", "members": []},
    {"op": "barrier", "members": [0, 0, 0, 1]},
    {"op": "barrier", "members": [0, 1, 2]},
    {"op": "barrier", "ticket": 1e400},
    {"op": None, "group": None, "line": None, "tag": None},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with Range(tmp_path_factory.mktemp("range")) as place:
        yield place


def test_each_says_what_it_must_not_achieve():
    assert all(attack.must_not and attack.verdict for attack in ALL)
    assert len({attack.name.split("_", 1)[0] for attack in ALL}) == len(ALL)
    assert set(ONE_EACH.values()) <= {attack.name for attack in MACHINE}


@needs("root")
@pytest.mark.parametrize("attack", BY_ROOT, ids=lambda attack: attack.name)
def test_attack(place, attack):
    report = place.run(attack)
    assert not report.problems(attack), report


@pytest.fixture(scope="module")
def reports_of_an_ordinary_user(tmp_path_factory) -> dict[str, Report]:
    names = [attack.name for attack in MACHINE]
    command = [sys.executable, str(ROOT / "tests" / "support" / "attack_course.py"), *names]
    command = ordinary_user.command(command) if os.geteuid() == 0 else command
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=440)
    assert done.returncode == 0, done.stderr[-3000:]
    return {report.name: report for report in (Report(**json.loads(line)) for line in done.stdout.splitlines())}


@needs("jail")
@pytest.mark.timeout(480)
@pytest.mark.parametrize("attack", MACHINE, ids=lambda attack: attack.name)
def test_attack_as_an_ordinary_user(reports_of_an_ordinary_user, attack):
    report = reports_of_an_ordinary_user[attack.name]
    assert report.level.startswith("user:")
    assert not report.problems(attack), report


def test_without_a_jail_the_attacks_reach_what_they_are_after(tmp_path):
    """Otherwise the tests above would prove nothing. Some move data between ranks by hitting a moment: on a busy
    machine they may miss.
    """
    with Range(tmp_path, "none") as place:
        for attack in (attack for attack in ALL if attack.reaches):
            assert any(place.run(attack).got for _ in range(4)), attack.name


# -- the wire ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", FIELDS, ids=lambda fields: f"{fields['op']}-{sorted(fields)[0]}")
def test_a_hostile_operation_ends_its_rank_and_nothing_else(fields):
    """Whatever a rank posts, the relay comes to its end in order, and says that this rank broke the rules or that
    nobody can move.
    """
    pairs = [socket.socketpair() for _ in range(2)]
    operation = {"ticket": 1, "group": "0", "members": [0, 1], **fields}

    def rank(r: int) -> None:
        sock = pairs[r][1]
        wire.receive(sock)
        sock.sendall(
            _record(wire.POST, operation if r == 0 else {**operation, "op": "barrier", "ticket": 1, "members": [0, 1]})
        )
        sock.sendall(_record(wire.WAIT, {"ticket": 1}))

    threads = [threading.Thread(target=rank, args=(r,)) for r in range(2)]
    for thread in threads:
        thread.start()
    outcome = Relay([a for a, _ in pairs], [({}, b"")] * 2, deadline=5).run()
    for thread in threads:
        thread.join()
    for sock in (sock for pair in pairs for sock in pair):
        sock.close()
    assert outcome.ranks[0].error.get("type") == "protocol" or outcome.hang is not None
    assert not outcome.too_slow


def _record(kind: int, meta: dict) -> bytes:
    text = json.dumps(meta).encode()
    return b"LKR1" + bytes([kind]) + len(text).to_bytes(4, "little") + bytes(8) + text


def test_keys_of_one_hash_are_refused():
    """A dict of 16,000 such keys takes more than a second, and ten times as many a hundred times as long."""
    same = [["i", str(k * (2**61 - 1))] for k in range(1, 16_000)]
    for value in (["l", same], ["d", [[key, ["n"]] for key in same]]):
        with pytest.raises(wire.WireError, match="integers beyond"):
            wire.decode(value, b"")
    assert len(wire.decode(["l", [["i", str(2**53)]] * 16_000], b"")) == 16_000


def test_the_same_bytes_are_not_taken_twice():
    array = ["a", "uint8", [8], 0, 8]
    assert wire.decode(array, b"12345678").tolist() == list(b"12345678")
    with pytest.raises(wire.WireError, match="overlap"):
        wire.decode(["l", [array, array]], b"12345678")


@pytest.mark.parametrize(
    "value",
    [
        np.ones(20, dtype=bool),
        np.full(20, 1j),
        np.full(20, np.nan, dtype=np.float16),
        np.full(20, 2**64 - 1, dtype=np.uint64),
        np.full((0, 5, 0), np.inf),
        Tensor(np.ones(20, dtype=bool), "bool"),
        Tensor(np.array(5j), "complex128"),
        Opaque("a\x1b[2J"),
        [[[float("nan")] * 3] * 3, "x" * (1 << 20), -(10**99), {("a", None): [True]}],
        "x" * (1 << 20),
        10**99,
        float("-inf"),
        {1: 2, "1": 3, None: []},
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize(
    "expected",
    [
        np.arange(20.0),
        Tensor(np.arange(20, dtype=np.int64), "int64"),
        [2.5] * 20,
        (1, 2),
        {"a": 1.0},
        7,
        7.5,
        "text",
        None,
    ],
    ids=lambda expected: type(expected).__name__,
)
def test_comparing_never_fails_and_tells_little(expected, value):
    """Whatever a rank returns, it is compared and shown without an error, in a few lines."""
    found = difference(expected, value, 1e-6, 1e-9)
    assert found is not None
    assert len(found.text) < 2000
    assert len(show(value)) < 20_000


# -- whole submissions -------------------------------------------------------------------------------------------------


@needs("jail")
@pytest.mark.parametrize("path", SUBMISSIONS, ids=lambda path: path.stem)
def test_submission(place, tmp_path, path):
    """Read, rebuilt, judged and shown: the points are those of the answers alone, and nothing of the student's runs
    where it is shown.
    """
    source = path.read_text(encoding="utf-8").replace("@HOME@", str(place.outside.home))
    points, of = map(float, re.search(r"^# points: (\d+) of (\d+)$", source, re.MULTILINE).groups())
    namespace: dict = {}
    exec(compile(source, str(path), "exec"), namespace)
    folder = tmp_path / "homework"
    folder.mkdir()
    namespace["hand_in"](folder, json.loads(nbformat.writes(handed_in())))
    try:
        submitted = reading.read(folder / "homework.ipynb")
    except Refused as refused:
        submitted = refused
    rebuilt = rebuilding.rebuild(released_notebook(), submitted)
    rebuilt.flags += reading.file_flags(folder)
    with Runners(place.launchers[0], Limits(cpu_seconds=8, deadline=30)) as runners:
        graded = judging.judge(rebuilt, None, runners, key=place.outside.key)
    assert (graded.points, graded.max_points) == (points, of), [
        (item.grade_id, item.verdict, item.said) for item in graded.items
    ]
    assert not [item.fault for item in graded.items if item.fault]
    shown = carding.carded(rebuilt, graded)
    nbformat.validate(shown)
    html, _ = HTMLExporter().from_notebook_node(shown)
    elements = Elements()
    elements.feed(html)
    assert not elements.bad
    assert not (place.outside.disturbed() or place.left())


def test_an_archive_stays_in_its_folder(tmp_path):
    """Files that students upload elsewhere come through `nbgrader zip_collect`: none leaves its folder, by dots, by an
    absolute name, by a link, or under a name of its own making.
    """
    archives, extracted = tmp_path / "archive", tmp_path / "course" / "extracted"
    archives.mkdir()
    extracted.mkdir(parents=True)
    names = ["../../pwned", f"{tmp_path}/absolute", "..\\..\\pwned", "link/pwned", "a/../../../pwned", "good.ipynb"]
    with zipfile.ZipFile(archives / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    with tarfile.open(archives / "b.tar.gz", "w:gz") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"x"))
    shutil.copy(archives / "a.zip", archives / "c.zip")
    ExtractorPlugin().extract(str(archives), str(extracted))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "course"]
    assert [path.name for path in (tmp_path / "course").iterdir()] == ["extracted"]
    assert any(path.name == "good.ipynb" for path in extracted.rglob("*"))
    assert not [path for path in extracted.rglob("*") if path.is_symlink()]


class Elements(HTMLParser):
    """What a browser would run of the student's: text is harmless, a script, an attribute of an event or an address of
    a script is not.
    """

    def __init__(self):
        super().__init__()
        self.bad: list[str] = []
        self.inside, self.pre = "", 0

    def handle_endtag(self, tag):
        self.pre -= tag == "pre"

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        self.pre += tag == "pre"
        for name, value in attributes:
            address = re.sub(r"[\x00-\x20]", "", value or "").lower()
            if (
                name.startswith("on")
                or name == "srcdoc"
                or address.startswith(("javascript:", "vbscript:", "data:text"))
            ):
                self.bad.append(f"{tag} {name}={value}")

    def handle_data(self, data):
        if self.inside in ("script", "style") and "ATTACK" in data:
            self.bad.append(f"{self.inside}: {data[:80]}")
        if not self.pre and "\\href{" in data:  # MathJax makes links of such formulas, except in preformatted text
            self.bad.append(f"a formula with a link: {data[:80]}")
