"""The PDFs of a homework, read in the jail, and their pages for the student's."""

from __future__ import annotations

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from autograder.homework.folder import Homework
from autograder.homework.rubric import PartResult, shown


class Figures:
    """Reads each PDF once, and all of them side by side. Called with a path it gives the
    `probes.figure.types.Figure`."""

    def __init__(self, homework: Homework, jail: dict | None):
        self.homework, self.jail = homework, jail
        self.roles = [role for role in sorted(homework.files) if role.endswith(".pdf")]
        self._read = functools.cache(self._read_one)

    def __call__(self, path: Path):
        return self._read(Path(path))

    def read_all(self, roles: list[str]) -> None:
        with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
            list(pool.map(lambda role: self(self.homework.files[role]), roles))

    def _read_one(self, path: Path):
        import autograder.homework.inside as inside
        from probes.figure.types import Figure

        name = self.homework.names.get(path.name, path.name)
        try:
            figure = Figure.from_json(inside.run("probes.figure.figure", path, jail=self.jail).decode("utf-8"))
        except inside.NoAnswer as error:
            figure = Figure().needs_person("unread", f"It could not be read: {error}.")
        except ValueError as error:  # no JSON, or not of a figure
            figure = Figure().needs_person("unread", f"It could not be read ({type(error).__name__}).")
        figure.source = shown(name)
        return figure

    def add_overlays(self, result: PartResult, roles: list[str]) -> None:
        """facts["overlays"]: file -> the page with what was read from it. A page that cannot be drawn is left out."""
        import autograder.homework.inside as inside
        import autograder.homework.overlay as overlay

        def drawn(role: str) -> tuple[str, dict | None]:
            path = self.homework.files[role]
            try:
                return role, overlay.draw(path, self(path), self.jail)
            except (inside.NoAnswer, ValueError, ArithmeticError, OSError):
                return role, None

        wanted = [role for role in roles if role in self.homework.files]
        with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
            made = dict(pool.map(drawn, wanted))
        result.facts["overlays"] = {role: one for role, one in made.items() if one is not None}
