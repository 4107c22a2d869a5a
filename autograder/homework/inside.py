"""Programs that open a student's file, run where they can do no harm: in the grader's jail, with an end to their time
and their output.

The file goes in by standard input, the answer comes out by standard output; nothing else is shared. What judges the
numbers in a file needs no jail, but an end to its time as well: `bounded`.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

from labkit.launch import jail as jails

Result = TypeVar("Result")
# of the clock; the programs themselves have a limit of processor time, which a busy machine does not stretch
SECONDS = 60.0
JUDGING = 30  # seconds of processor time; a homework as it is meant takes two
LATE = 6  # times as long by the clock
MOST_OUTPUT = 24 << 20
_LIMITS = {"file_bytes": 32 << 20, "memory_bytes": 2 << 30, "processes": 64}
_PROGRAM = """
import os, runpy, sys
sys.path[:0] = {path!r}
folder, module, *arguments = sys.argv[1:]
file = os.path.join(folder, "handed_in.pdf")
with open(file, "wb") as copy:
    while block := os.read(0, 1 << 20):
        copy.write(block)
sys.argv = [module, *arguments, file]
runpy.run_module(module, run_name="__main__")
"""


class NoAnswer(RuntimeError):
    """The program ended without an answer: says why."""


class Overdue(RuntimeError):
    """A file kept its judge busy for longer than any file should."""


def bounded(function: Callable[..., Result], *given, **named) -> Result:
    """The result of a judge of a student's file, which works in a copy of this process. Raises Overdue where it takes
    too long, and what the judge raises. It must not use a launcher, whose connections are this process's alone."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _work(writing, lambda: function(*given, **named))
    os.close(writing)
    timer = threading.Timer(LATE * JUDGING, os.kill, (child, signal.SIGKILL))
    timer.start()
    try:
        with open(reading, "rb") as file:
            result, error = pickle.load(file)  # by our own program, which runs nothing of a student
    except (EOFError, pickle.UnpicklingError):
        raise Overdue(f"reading it took longer than {JUDGING} s of processor time") from None
    finally:
        timer.cancel()
        timer.join()
        os.waitpid(child, 0)
    if error is not None:
        raise error
    return result


def _work(writing: int, judge: Callable[[], object]) -> NoReturn:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (JUDGING, JUDGING))
        try:
            answer = pickle.dumps((judge(), None))
        except Exception as error:
            answer = pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))
        with open(writing, "wb") as file:
            file.write(answer)
    finally:
        os._exit(0)


def run(module: str, path: Path, *arguments: str, jail: dict | None = None, seconds: float = SECONDS) -> bytes:
    """The standard output of `python -m module ARGUMENTS FILE`, FILE being a copy of `path`.

    jail: as `autograder.grading.isolation.spec` makes it; None where a student looks at files of their own. Raises
    NoAnswer.
    """
    with (
        tempfile.TemporaryDirectory(prefix="inside-") as folder,
        open(path, "rb") as given,
        tempfile.TemporaryFile() as said,
    ):
        command, environment = _command(module, arguments, jail, folder)
        process = subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment,
            cwd="/" if jail else folder,
            start_new_session=True,
        )
        return _answer(process, said, seconds)


def _command(
    module: str, arguments: tuple[str, ...], jail: dict | None, folder: str
) -> tuple[list[str], dict[str, str]]:
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if jail is None:
        root = str(Path(jails.__file__).resolve().parents[2])
        program = _PROGRAM.format(path=[root])
        return [sys.executable, "-c", program, folder, module, *arguments], {**os.environ, **single}
    within = "/tmp" if "namespaces" in jail["protections"] else folder
    if within == folder:
        os.chmod(folder, 0o777)  # another user writes there
    spec = {**jail, "keep": [], "folder": folder, "limits": _LIMITS}
    started = [sys.executable, "-I", "-S", jails.__file__, json.dumps(spec), "run"]
    return [*started, sys.executable, "-c", _PROGRAM.format(path=jail["path"]), within, module, *arguments], {
        **jail["environment"],
        **single,
    }


def _answer(process: subprocess.Popen, said, seconds: float) -> bytes:
    """Its standard output, read no further than is allowed. Whatever happens, it has ended afterwards."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        answer = process.stdout.read(MOST_OUTPUT + 1)
        if len(answer) > MOST_OUTPUT:
            raise NoAnswer("it wrote more than a figure can hold")
        status = process.wait()
    finally:
        process.kill()
        process.wait()
        timer.cancel()
        timer.join()
        process.stdout.close()
    if late.is_set():
        raise NoAnswer(f"it took longer than {seconds:.0f} s")
    if status != 0:
        said.seek(0)
        why = said.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
        raise NoAnswer(why[-1][:200] if why else f"it ended with status {status}")
    return answer
