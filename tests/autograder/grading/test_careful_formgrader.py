"""The formgrader's pages write names as text, and a student's file has no rights of the instructor's."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from jinja2 import Environment, FileSystemLoader
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.server_extensions.formgrader import handlers

from autograder.grading.formgrader import careful_formgrader
from autograder.shown import MOST_SHOWN

SCRIPT = "<img src=x onerror=alert(1)>"


@pytest.fixture
def handler():
    careful_formgrader()
    careful_formgrader()
    environment = Environment(loader=FileSystemLoader([handlers.template_path]))
    environment.get_template("manage_students_assignments.tpl")  # as it was read before
    headers = {"Content-Security-Policy": "img-src 'self'"}
    return SimpleNamespace(
        settings={"nbgrader_jinja2_env": environment, "headers": headers, "nbgrader_exporter": Told()}
    )


class Told:
    def from_notebook_node(self, notebook, resources):
        return {**resources, "cells": [cell.source for cell in notebook.cells]}, {}


def test_a_name_is_text_on_the_pages_of_the_formgrader(handler):
    page = handlers.BaseHandler.render(
        handler, "manage_students_assignments.tpl", student_id=SCRIPT, base_url="/services/dl"
    )
    assert "<img" not in page and "&lt;img src=x" in page
    assert '<script src="/services/dl/formgrader/static/js/manage_students_assignments.js"></script>' in page
    page = handlers.BaseHandler.render(
        handler, "manage_submissions.tpl", assignment_id="u", base_url="", course_dir=Path("/c")
    )
    assert '<table class="table table-hover">' in page and 'cd "/c"' in page


def test_a_name_is_text_above_a_submission_and_its_cells_are_short(handler, tmp_path):
    file = tmp_path / "x.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("' \n" * 30_000 + "x = 1"), new_code_cell(" " * 99_000)]), file)
    exporter = handlers.BaseHandler.exporter.fget(handler)
    told, _ = exporter.from_filename(str(file), resources={"last_name": SCRIPT, "first_name": None, "index": 3})
    assert all(len(cell) < MOST_SHOWN + 100 for cell in told.pop("cells"))
    assert told.pop("metadata") == {"name": "x", "path": str(tmp_path)}
    assert told == {"last_name": "&lt;img src=x onerror=alert(1)&gt;", "first_name": None, "index": 3}


def test_a_students_file_is_a_page_of_its_own_origin(handler):
    policy = handlers.SubmissionFilesHandler.content_security_policy.fget(handler)
    assert policy.split("; ") == ["img-src 'self'", "sandbox"]


def test_the_scripts_of_its_tables_write_names_as_text():
    """jQuery takes a text for HTML in `html`, and in `append` where it is put together. The one place left puts the name
    of a notebook there, which is the instructor's."""
    scripts = {path.name: path.read_text() for path in (Path(handlers.__file__).parent / "static" / "js").glob("*.js")}
    assert "manage_submissions.js" in scripts
    texts = {(name, told) for name, script in scripts.items() for told in re.findall(r"\.html\((.*?)\)", script)}
    assert {told for _, told in texts} == {'"&times;"'}
    put = r"\.(?:append|prepend|before|after|replaceWith)\(((?!\$\()[^()\n]*\+[^\n]*)\);"
    found = [(name, told) for name, script in scripts.items() for told in re.findall(put, script)]
    assert found == [("manage_students_notebook_submissions.js", 'name + " (file missing)"')]
    written = {told for script in scripts.values() for told in re.findall(r"(?:inner|outer)HTML = (.*);", script)}
    assert written <= {'"Show All Names"', '"Hide All Names"'}
