"""Reads a Dockerfile and a .dockerignore: enough for the course's own."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stage:
    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)  # (instruction, rest of the line)

    def all(self, instruction: str) -> list[str]:
        return [rest for what, rest in self.steps if what == instruction]


def read(path: Path) -> list[Stage]:
    """The stages of a Dockerfile. Comments are left out, also between continued lines; no here-documents."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#")]
    stages: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name))
        else:
            stages[-1].steps.append((instruction, rest.strip()))
    return stages


def copies(stage: Stage) -> list[tuple[list[str], str]]:
    """(sources, destination) of each COPY from the build context."""
    found = []
    for rest in stage.all("COPY"):
        words = shlex.split(rest)
        if not any(word.startswith("--from=") for word in words):
            words = [word for word in words if not word.startswith("--")]
            found.append((words[:-1], words[-1]))
    return found


def environment(stage: Stage) -> dict[str, str]:
    """What ENV sets: NAME=VALUE ..."""
    return dict(pair.split("=", 1) for rest in stage.all("ENV") for pair in shlex.split(rest))


def command(stage: Stage) -> list[str]:
    """CMD, in its JSON form."""
    return json.loads(stage.all("CMD")[-1])


def is_ignored(name: str, patterns: list[str]) -> bool:
    """Whether a file, relative to the build context, is kept out of the build. patterns: the lines of .dockerignore.

    A pattern means a file or a folder with all that is in it; ** stands for any number of folders, and ! makes an
    exception. The last pattern that fits decides.
    """
    parts = Path(name).parts
    heads = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    fits = [pattern for pattern in patterns if any(re.fullmatch(_as_regex(pattern), head) for head in heads)]
    return bool(fits) and not fits[-1].startswith("!")


def _as_regex(pattern: str) -> str:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.lstrip("!").strip("/"))
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(piece, re.escape(piece)) for piece in pieces)


def ignore_patterns(path: Path) -> list[str]:
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]
