"""Nbgrader's formgrader, with care: what a student has named or handed in runs nothing in the instructor's browser.

nbgrader puts names into its pages as they are, lists whatever folder lies in submitted/, and sends a file of a
submission as a page of its own. There is no setting for any of that, so methods of its handlers are replaced, where
they are loaded: in a server with the formgrader.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from markupsafe import escape
from nbconvert.exporters import HTMLExporter
from nbgrader.apps.api import NbGraderAPI

from autograder.grading import course_files
from autograder.grading.feedback import short_notebook

_nbgraders_students = NbGraderAPI.get_submitted_students


def careful_formgrader() -> None:
    """Makes the formgrader of this process write names as text, and show a student's files without the instructor's
    rights. Nothing is done where there is none; it may be done again."""
    NbGraderAPI.get_submitted_students = _submitted_students
    handlers = sys.modules.get("nbgrader.server_extensions.formgrader.handlers")
    if handlers is not None:
        handlers.BaseHandler.render = _render
        handlers.BaseHandler.exporter = property(_exporter)
        handlers.SubmissionFilesHandler.content_security_policy = property(_policy_of_files)


def _submitted_students(self, assignment_id: str) -> set[str]:
    return {name for name in _nbgraders_students(self, assignment_id) if course_files.is_student(name)}


def _render(self, name: str, **values) -> str:
    """A page of a handler, with all values as text."""
    environment = self.settings["nbgrader_jinja2_env"]
    if environment.autoescape is not True:
        environment.autoescape = True
        environment.cache.clear()
    return environment.get_template(name).render(**values)


class _Escaping:
    """nbgrader's exporter, given names as text and cells that are short: its own template cannot escape, most of what
    it shows is HTML."""

    def __init__(self, exporter: HTMLExporter):
        self.exporter = exporter

    def from_filename(self, filename: str, resources: dict) -> tuple[str, dict]:
        """(page, resources)"""
        told = {name: str(escape(value)) if isinstance(value, str) else value for name, value in resources.items()}
        told["metadata"] = {"name": Path(filename).stem, "path": str(Path(filename).parent)}
        return self.exporter.from_notebook_node(short_notebook(nbformat.read(filename, as_version=4)), told)


def _exporter(self) -> _Escaping:
    return _Escaping(self.settings["nbgrader_exporter"])


def _policy_of_files(self) -> str:
    """The server's policy, and an origin of its own for what a student has handed in."""
    handlers = sys.modules["nbgrader.server_extensions.formgrader.handlers"]
    return f"{handlers.BaseHandler.content_security_policy.fget(self)}; sandbox"
