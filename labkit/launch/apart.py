"""A student's function for a harness whose own process must stay free of the student's code: each call is in a process
of its own, and what that has done is looked at from outside."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence

from labkit.cells.slicing import Chunk, execute
from labkit.launch.process import let_look_into
from labkit.launch.saves import Saves, hand_over


class Raised(Exception):
    """The function raised in its process. report: of the exception, as a rank reports its own."""

    def __init__(self, report: dict):
        super().__init__(report["text"])
        self.report = report


class Apart:
    """The stand-in for the function in a harness. The harness forks; only in a child may this be called, which brings
    the student's code into that process, without its way to the relay, and to the memory of the harness."""

    def __init__(self, chunks: Sequence[Chunk], name: str, fileno: int, report_of: Callable[[BaseException], dict]):
        self.chunks, self.name, self.fileno, self.report_of = chunks, name, fileno, report_of
        self.owner, self.printed = os.getpid(), io.StringIO()
        let_look_into(False)

    def __call__(self, *arguments):
        if os.getpid() == self.owner:
            raise RuntimeError("the student's code runs in a child process only")
        let_look_into(True)  # its own /proc/self is a process' own
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, self.fileno)
        os.close(nothing)
        sys.dont_write_bytecode = True  # a file that is none of the function's
        sys.stdout = sys.stderr = self.printed
        namespace = {"__name__": "__main__", "__builtins__": __builtins__}
        execute(self.chunks, namespace)
        if self.name not in namespace:
            raise NameError(f"name '{self.name}' is not defined")
        return namespace[self.name](*arguments)

    def reported(self, prepare: Callable[[], dict], saves: Saves, *arguments) -> dict:
        """The notes that `prepare` returned, in the child in which the function is then called, as they are afterwards.
        saves: looks at that child from here. Prints what the function did. Raises Raised."""
        report = self._followed(prepare, saves, arguments)
        if report is None:
            gone = "the process in which the function was called has ended before it returned"
            report = {"raised": {"type": "ChildProcessError", "text": gone, "rows": []}}
        sys.stdout.write(str(report.get("printed", "")))
        if report.get("raised"):
            raise Raised(report["raised"])
        return report["notes"]

    def ended(self, prepare: Callable[[], dict], saves: Saves, *arguments) -> str:
        """The end of the function in such a child: "killed", "raised" or "returned"."""
        report = self._followed(prepare, saves, arguments)
        return "killed" if report is None else "raised" if report.get("raised") else "returned"

    def _followed(self, prepare: Callable[[], dict], saves: Saves, arguments: tuple) -> dict | None:
        """The words that a child said of itself; None where it has ended before."""
        out, into = os.pipe()
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            os.close(out)
            ours.close()
            let_look_into(True)  # from the harness
            with theirs:
                hand_over(theirs)
            self._report(into, prepare, arguments)
        os.close(into)
        theirs.close()
        with ours, open(out, "rb"):
            said = saves.follow(ours, out)
        os.waitpid(child, 0)
        try:
            report = json.loads(said)
        except ValueError:
            return None
        return report if isinstance(report, dict) else None

    def _report(self, into: int, prepare: Callable[[], dict], arguments: tuple) -> None:
        report: dict = {"raised": None}
        try:
            report["notes"] = prepare()
            self(*arguments)
        except BaseException as error:
            report["raised"] = self.report_of(error)
        finally:
            report["printed"] = self.printed.getvalue()[: 64 << 10]
            with open(into, "wb", closefd=False) as file:
                file.write(json.dumps(report).encode())
            os._exit(0)
