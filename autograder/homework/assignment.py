"""The description of one homework: everything in which it differs from another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.homework.figures import Figures
from autograder.homework.folder import CollectedFiles, Homework
from autograder.homework.rubric import Flag, PartResult, Report, Rubric
from labkit.launch.launcher import Launcher


@dataclass(frozen=True)
class JudgeRequest:
    """A judge's arguments. homework: the files. key: where data, seeds and meshes are drawn from. nonce: the code given
    to this student, "" if none was. launcher: starts ranks, in the jail if there is one; None where nothing is to be
    started. jail: for whatever else opens a student's file (`inside.run`). figures: reads the PDFs, each once.
    """

    homework: Homework
    key: str
    nonce: str
    launcher: Launcher | None
    jail: dict | None
    figures: Figures


@dataclass(frozen=True)
class JudgedParts:
    """Parts that one judge decides together. parts: names; the first is the one to ask for. judge: its findings are on
    lines of all these parts; lines it leaves out wait for a person, and if it raises, all do. starts: it runs what a
    student wrote. draws: whether the page shows this PDF's curves (given its role) below the first part. missing:
    a sentence where this machine lacks what these files need, else ""; a check in a notebook shows it and ends.
    frameworks: what the processes that it starts import, once for all of them.
    """

    parts: tuple[str, ...]
    judge: Callable[[JudgeRequest], PartResult]
    starts: bool = False
    draws: Callable[[str], bool] = lambda role: False
    missing: Callable[[Homework], str] = lambda homework: ""
    frameworks: Callable[[Homework], Sequence[str]] = lambda homework: ("torch",)


@dataclass(frozen=True)
class Assignment:
    """One homework. name: of the assignment, its folder and its notebook. title: of the page. judges: in the order in
    which they work. not_judged: roles of files that only a person reads: a word changed there judges nothing again.

    beside: HTML below a part's card, "" for none. compare: flags that only all reports of a class show, by student.
    """

    name: str
    title: str
    rubric: Rubric
    files: CollectedFiles
    judges: tuple[JudgedParts, ...]
    not_judged: frozenset[str] = frozenset()
    beside: Callable[[PartResult], str] = lambda result: ""
    compare: Callable[[Mapping[str, Report]], dict[str, list[Flag]]] = field(default=lambda reports: {})

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts to ask for, one of each judge: the others come with them."""
        return tuple(judging.parts[0] for judging in self.judges)

    def judging_of(self, part: str) -> JudgedParts:
        """The judge of this part. Raises KeyError."""
        for judging in self.judges:
            if part in judging.parts:
                return judging
        raise KeyError(part)
