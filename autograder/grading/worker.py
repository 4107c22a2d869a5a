"""A process that judges one submission after another for `autograder grade`: it has a warm launcher of its own, in a
jail of its own.

It is started by exec and speaks JSON, one line per message: its jail on the command line, tasks on its standard
input, answers on its standard output. It ends when its input does, whatever has become of the process that started
it. The same two functions serve an engine of ipyparallel (`on_engine`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
from nbformat import NotebookNode, from_dict

from autograder.course import OVERLAY
from autograder.grading.isolation import WeakIsolation, spec
from autograder.grading.store import DiskFull, Store, code_version
from autograder.grading.submission import rebuilding
from autograder.grading.submission.finishing import FinishedNotebook, Terms, finished
from autograder.grading.submission.reading import HandedIn
from autograder.judging.judge import Runners
from labkit.cells.slicing import Chunk
from labkit.launch.launcher import Launcher, LauncherError, make_jobs

MAY_GROW = 256 << 20  # bytes that the launcher may take on top of what it had at first; then it is started anew


class CannotJudge(RuntimeError):
    """Raised when no submission can be judged here."""


_TRIAL = """
import torch
import torch.distributed as dist

def trial(x):
    x = torch.tensor(x)
    dist.all_reduce(x)
    return int(x)
"""


class SubmissionJudge:
    """Judges submissions in a jail (`autograder.grading.isolation.spec`). Owns a launcher, warm from the first judged
    case to `close`."""

    def __init__(self, jail: dict):
        self.level = jail["level"]
        self.launcher = Launcher(isolation=jail)
        self.runners = Runners(self.launcher)
        self.first_size = 0
        self.sure = False

    def make_sure(self) -> None:
        """Let two ranks add up what they hold. Raises CannotJudge where they do not: better no grades than a class
        full of zeros."""
        if self.sure:
            return
        jobs = make_jobs([Chunk("trial", 1, _TRIAL)], "trial", [(1,), (2,)])
        for _ in range(2):
            with contextlib.suppress(LauncherError):
                outcome = self.launcher.run(jobs)[0]
                found = [rank.value for rank in outcome.ranks]
                break
        else:
            raise CannotJudge("the launcher does not stay alive; `labkit doctor` says more")
        if found != [3, 3]:
            told = "; ".join(f"{rank.state} {rank.error.get('text', '')}".strip() for rank in outcome.ranks)
            raise CannotJudge(f"two ranks that add 1 and 2 get {found} here ({told}); `labkit doctor` says more")
        self.sure = True

    def judge(self, task: dict, keeps: bool = True) -> dict[str, dict]:
        """Judges notebooks as handed in; returns the files to be written into autograded/. Raises CannotJudge,
        DiskFull.

        task: {"unit", "key", "hints", "course": its root, "again": judge what has been judged before, too,
        "notebooks": {name: {"released": text of the notebook, "handed_in": `HandedIn` as JSON}}}.
        keeps: new results in the course's store.
        Returns {name: `FinishedNotebook` as JSON}, or {name: {"failed": why}}.
        """
        terms = Terms(task["unit"], task["key"], task["hints"], self.level, task["again"])
        done = {}
        for name, notebook in task["notebooks"].items():
            try:
                done[name] = self._finish(notebook, terms, Store(task["course"], keeps)).to_json()
            except (CannotJudge, DiskFull):
                raise
            except Exception as error:  # a fault of ours over one submission is not the end of the others
                done[name] = {"failed": f"{type(error).__name__}: {error}"}
        return done

    def _finish(self, notebook: dict, terms: Terms, store: Store) -> FinishedNotebook:
        rebuilt = rebuilding.rebuild_handed_in(
            _released(notebook["released"]), HandedIn.from_json(notebook["handed_in"])
        )
        return finished(rebuilt, terms, store, self._ready)

    @contextlib.contextmanager
    def _ready(self) -> Iterator[Runners]:
        self.make_sure()
        yield self.runners
        self._look_at_memory()

    def _look_at_memory(self) -> None:
        """Nothing should stay in the launcher from one case to the next; should it grow all the same, a new one takes
        its place."""
        now = resident_bytes(self.launcher.pid)
        self.first_size = self.first_size or now
        if now > self.first_size + MAY_GROW:
            self.launcher.close()  # the next case starts another
            self.first_size = 0

    def close(self) -> None:
        """End all processes."""
        self.runners.close()
        self.launcher.close()


@functools.lru_cache(maxsize=8)
def _released(text: str) -> NotebookNode:
    return from_dict(json.loads(text))


def resident_bytes(pid: int | None) -> int:
    """Memory of a process and its descendants; what they share counts for each of them."""
    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in [process, *process.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                total += one.memory_info().rss
    return total


def main() -> None:
    """Judge what is asked for on standard input, until that ends. Answers {"graded": ...}, {"refused": why} or
    {"full": why}."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the command; it closes our input
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever prints does not print into the answers

    def answer(**message) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    tasks: queue.Queue[dict] = queue.Queue()
    try:
        judging = SubmissionJudge(json.loads(sys.argv[1]))
        threading.Thread(target=_listen, args=(tasks, judging), daemon=True).start()
        answer(ready=os.getpid())
        while True:
            answer(graded=judging.judge(tasks.get()), resident=resident_bytes(os.getpid()))
    except CannotJudge as error:
        answer(refused=str(error))
    except DiskFull as error:
        answer(full=str(error))


def _listen(tasks: queue.Queue, judging: SubmissionJudge) -> None:
    """Take tasks as they come. At the end of the input end everything, in the middle of a case too: nobody waits for
    its result."""
    try:
        for line in sys.stdin:
            tasks.put(json.loads(line))
    finally:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the other thread says about it is no news
        with contextlib.suppress(Exception):
            judging.close()
        os._exit(0)


# -- on an engine of ipyparallel --------------------------------------------------------------------------------------

_here: SubmissionJudge | None = None


def prepare_engine(options: dict, course_code: str) -> str:
    """Start the launcher of this engine. Returns why it cannot judge, or "".

    options: {"slot", "weak": as for `isolation.spec`, "overlay": folder}. course_code: `code_version` of whoever asks.
    """
    global _here
    if options["overlay"]:
        os.environ[OVERLAY] = options["overlay"]
    if code_version() != course_code:
        return f"{Path(__file__).resolve().parents[2]} on {os.uname().nodename} is another version of the course"
    try:
        _here = _here or SubmissionJudge(spec(options["slot"], weak=options["weak"]))
        _here.make_sure()
    except (WeakIsolation, CannotJudge) as error:
        return str(error)
    return ""


def on_engine(task: dict) -> dict:
    """`SubmissionJudge.judge` on this engine, where the course's folder need not be. Raises what that raises."""
    return _here.judge(task, keeps=False)


def leave_engine() -> None:
    """End what `prepare_engine` started."""
    global _here
    if _here is not None:
        _here.close()
        _here = None


if __name__ == "__main__":
    main()
