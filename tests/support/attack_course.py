"""What the attacks are after, and running them: a course full of secrets, an honest neighbour, and what each attack
got.

`tests/attacks/NN_name.py` is what a dishonest student hands in for one exercise. Its first lines are comments that say
how it is run and what must come of it:

    # exercise: count_inside
    # must not: read the secret key of the assignment
    # verdict: anything but passed          (or a verdict)
    # without a jail: reaches               (it prints "GOT ..." there: proof that the attack is one)
    # beside an honest neighbour            (who is judged at the same time, in another slot)
    # memory: 256 MB, # processor time: 1 s, # deadline: 2  (limits other than the usual ones)

An attack says what it reached by printing lines that begin with GOT. @COURSE@, @HOME@, @PROJECT@, @PORT@, @ABSTRACT@,
@PID@ and @ADDRESS@ (of a secret in the grader's memory) are put in. `python tests/support/attack_course.py` runs them
all and prints one JSON object a line.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import re
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from autograder.course import Course
from autograder.exercise import rng_for
from autograder.grading import isolation
from autograder.inputs.unseen import unseen
from autograder.judging import cards
from autograder.judging.judge import Runners, chunks_of_file, judge_with
from autograder.registry import find
from autograder.verdict import Result
from labkit.launch.launcher import Launcher, Limits

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = ROOT / "tests" / "attacks"
SECRET = "the-instructors-secret-5d1c"
SLOT, NEIGHBOURS_SLOT = 3900, 3901  # nobody else's users
HONEST = """
import numpy as np


def count_inside(x, y):
    return int(np.count_nonzero(x * x + y * y < 0.25))
"""
USUAL = Limits(cpu_seconds=4, memory_bytes=1 << 30, file_bytes=64 << 20, deadline=12.0)


# -- an attack ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attack:
    """One file of tests/attacks. reaches: without a jail it gets what it wants. beside: run it beside an honest
    neighbour.
    """

    name: str
    exercise: str
    must_not: str
    verdict: str
    source: str
    reaches: bool = False
    beside: bool = False
    limits: Limits = USUAL

    def agrees(self, verdict: str) -> bool:
        return verdict != "passed" if self.verdict == "anything but passed" else verdict == self.verdict


def read_attack(path: Path) -> Attack:
    source = path.read_text(encoding="utf-8")
    head = dict(re.findall(r"^# ([a-z ]+?)(?:: (.*))?$", source.split("\n\n")[0], re.MULTILINE))

    def number(name: str, usual: float) -> float:
        return float(head[name].split()[0]) if name in head else usual

    limits = Limits(
        cpu_seconds=int(number("processor time", USUAL.cpu_seconds)),
        memory_bytes=int(number("memory", USUAL.memory_bytes >> 20)) << 20,
        file_bytes=USUAL.file_bytes,
        deadline=number("deadline", USUAL.deadline),
    )
    wire = (path.parent / "wire.py").read_text(encoding="utf-8")
    source = re.sub(r"^from wire import .*$", lambda _: wire, source, flags=re.MULTILINE)
    reaches, beside = head.get("without a jail") == "reaches", "beside an honest neighbour" in head
    return Attack(path.stem, head["exercise"], head["must not"], head["verdict"], source, reaches, beside, limits)


def all_attacks() -> list[Attack]:
    return [read_attack(path) for path in sorted(ATTACKS.glob("[0-9]*.py"))]


# -- what they are after -----------------------------------------------------------------------------------------------


class Outside:
    """A course root, an instructor's home, two listening sockets and a secret in memory; `disturbed` says what was
    changed or reached.
    """

    def __init__(self, folder: Path):
        self.course, self.home = folder / "course", folder / "home"
        for path, text in {
            "source/03_collectives/collectives.ipynb": "{}",
            "submitted/rival/03_collectives/collectives.ipynb": "{}",
            "overlay/exercises/unit_90_own.py": "",
        }.items():
            (self.course / path).parent.mkdir(parents=True)
            (self.course / path).write_text(f"{SECRET}\n{text}")
        self.key = Course(self.course).key("03_collectives")
        with contextlib.closing(sqlite3.connect(self.course / "gradebook.db")) as gradebook:
            gradebook.execute("CREATE TABLE grade (auto_score REAL, note TEXT)")
            gradebook.execute("INSERT INTO grade VALUES (1.0, ?)", (SECRET,))
            gradebook.commit()
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / ".ssh" / "id").write_text(SECRET)
        self.buffer = ctypes.create_string_buffer(SECRET.encode())
        self.inet, self.abstract = socket.socket(), socket.socket(socket.AF_UNIX)
        self.name = f"course-{os.urandom(8).hex()}"
        self.inet.bind(("127.0.0.1", 0))
        self.abstract.bind(f"\0{self.name}")
        for sock in (self.inet, self.abstract):
            sock.listen()
            sock.setblocking(False)
        self.before = self._state()

    def source_of(self, attack: Attack) -> str:
        """The attack with the addresses of what it is after."""
        answers = {}
        if "@PUBLIC_" in attack.source:
            exercise = find(attack.exercise)
            for case in exercise.cases(rng_for(exercise)):
                answers[f"PUBLIC_{len(case.arguments_of(0)[0])}"] = exercise.expected(case)[0]
        places = {
            "COURSE": self.course,
            "HOME": self.home,
            "PROJECT": ROOT,
            "PORT": self.inet.getsockname()[1],
            "PID": os.getpid(),
        }
        places |= {"ABSTRACT": self.name, "ADDRESS": ctypes.addressof(self.buffer), **answers}
        return re.sub(r"@(\w+)@", lambda found: str(places[found[1]]), attack.source)

    def secrets(self) -> list[str]:
        return [SECRET, self.key]

    def disturbed(self) -> list[str]:
        """What has changed, and who has called."""
        found = [] if self._state() == self.before else ["the course or the home was changed"]
        for name, sock in (("loopback", self.inet), ("the abstract socket", self.abstract)):
            with contextlib.suppress(BlockingIOError):
                sock.accept()[0].close()
                found.append(f"a connection over {name}")
        return found

    def _state(self) -> dict[str, str]:
        folders = (self.course, self.home)
        paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

    def close(self) -> None:
        self.inet.close()
        self.abstract.close()


# -- running them ------------------------------------------------------------------------------------------------------


@dataclass
class Report:
    """What came of one attack. got: what it says it has reached. secrets: those found in the result or the cards. left:
    what still runs.
    """

    name: str
    verdict: str
    diagnosis: str
    printed: list[str]
    got: list[str]
    secrets: list[str]
    unclean: list[str]
    disturbed: list[str]
    left: list[str]
    neighbour: str
    seconds: float
    level: str = ""
    trouble: list[str] = field(default_factory=list)

    def problems(self, attack: Attack) -> list[str]:
        """Everything that must not have come of it."""
        found = (
            []
            if attack.agrees(self.verdict)
            else [f"the verdict is {self.verdict}, not {attack.verdict} ({self.diagnosis})"]
        )
        found += [
            *self.got,
            *(f"in the result: {secret}" for secret in self.secrets),
            *self.unclean,
            *self.disturbed,
            *self.left,
        ]
        found += self.trouble
        return found if self.neighbour == "passed" else [*found, f"an honest neighbour: {self.neighbour}"]


class Range:
    """Where attacks are run: a jailed launcher for them, one for the neighbour, and the outside."""

    def __init__(self, folder: Path, level: str = "jail"):
        os.environ["COURSE_SECRET"] = SECRET
        self.outside = Outside(folder)
        jailed = level == "jail"
        specs = [isolation.spec(slot) if jailed else None for slot in (SLOT, NEIGHBOURS_SLOT)]
        self.level = specs[0]["level"] if jailed else "none"
        self.launchers = [Launcher(isolation=spec) for spec in specs[: 2 if jailed else 1]]

    def __enter__(self) -> Range:
        for launcher in self.launchers:
            launcher.start()
        for launcher in self.launchers:
            launcher.wait_until_ready()
        return self

    def __exit__(self, *exc) -> None:
        for launcher in self.launchers:
            launcher.close()
        self.outside.close()
        os.environ.pop("COURSE_SECRET", None)

    def run(self, attack: Attack) -> Report:
        start = time.monotonic()
        trouble: list[str] = []
        results: list[Result] = []

        def attacked() -> None:
            try:
                results.append(
                    self._judge(0, attack.exercise, self.outside.source_of(attack), attack.name, attack.limits)
                )
            except Exception as error:  # whatever an attack does, the judge must not end with it
                trouble.append(f"the judge failed: {type(error).__name__}: {error}")

        if attack.beside:
            thread = threading.Thread(target=attacked)
            thread.start()
            neighbours = []
            # honest work, again and again, for as long as the attack goes on
            while not neighbours or thread.is_alive():
                neighbours.append(self._neighbour(1))
            thread.join()
            neighbour = next((verdict for verdict in neighbours if verdict != "passed"), "passed")
        else:
            attacked()
            neighbour = "passed"
        if neighbour == "passed" and self.level != "none":
            neighbour = self._neighbour(0)  # honest work after it, where the attack has been
        seconds = round(time.monotonic() - start, 3)
        result = results[0] if results else None
        if self.level == "none":
            _remove_files_of_attacks()
        return self._report(attack, result, neighbour, trouble, seconds)

    def _judge(self, which: int, function: str, source: str, name: str, limits: Limits) -> Result:
        with Runners(self.launchers[which], limits) as runners:
            exercise = find(function)
            chunks, key = chunks_of_file(source, function, name), self.outside.key
            return judge_with(runners, exercise, chunks, key=key, unseen=unseen(exercise, key))

    def _neighbour(self, which: int) -> str:
        result = self._judge(which, "count_inside", HONEST, "honest", Limits(cpu_seconds=20))
        return result.verdict if result.verdict == "passed" else f"{result.verdict} ({result.diagnosis}) {result.hint}"

    def _report(
        self, attack: Attack, result: Result | None, neighbour: str, trouble: list[str], seconds: float
    ) -> Report:
        text, html = (cards.text_card(result), cards.html_card(result)) if result else ("", "")
        said = json.dumps(result.to_json()) if result else ""
        printed = [line for case in result.cases for line in case.printed] if result else []
        return Report(
            attack.name,
            result.verdict if result else "none",
            result.diagnosis if result else "",
            printed[:20],
            [line for line in printed if re.match(r"(rank \d+: )?GOT", line)],
            [secret for secret in self.outside.secrets() if secret in said + text + html],
            unclean(text, html),
            self.outside.disturbed(),
            self.left(),
            neighbour,
            seconds,
            self.level,
            trouble,
        )

    def left(self) -> list[str]:
        """Processes of the launchers that are more than the launchers themselves; given a moment to go."""
        end = time.monotonic() + 3
        while True:
            found = [
                text
                for launcher in self.launchers
                for text in _descendants(launcher.pid)[1 if self.level != "none" else 0 :]
            ]
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.02)


def _remove_files_of_attacks() -> None:
    """Where no compartment goes with them: files by which ranks met, of a rank that was ended before it removed them."""
    for folder in ("/dev/shm", "/tmp", "/var/tmp"):
        for path in Path(folder).glob("attack-[0-9]*"):
            with contextlib.suppress(OSError):
                path.unlink()


def _descendants(pid: int | None) -> list[str]:
    found = []
    with contextlib.suppress(psutil.Error):
        for process in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"still running: {process.pid} of user {process.uids().real}")
    return found


_HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")


def unclean(text: str, html: str) -> list[str]:
    """What no card may hold: control characters of terminals, characters that turn the direction of text, elements that
    run something.
    """
    found = [
        f"the {name} holds {sorted(set(_HARMFUL.findall(card)))}"
        for name, card in (("text", text), ("HTML", html))
        if _HARMFUL.search(card)
    ]
    if re.search(r"<(script|img|iframe|object|embed|link|meta|base|form)\b", html, re.IGNORECASE):
        found.append("the HTML holds an element of the student's")
    return found


def run_all(folder: Path, names: Sequence[str] = (), level: str = "jail") -> Iterator[Report]:
    """Run the attacks of these names, or all."""
    with Range(folder, level) as place:
        for attack in all_attacks():
            if not names or attack.name in names:
                yield place.run(attack)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="attacks-") as scratch:
        for report in run_all(Path(scratch), sys.argv[1:]):
            print(json.dumps(asdict(report)), flush=True)
