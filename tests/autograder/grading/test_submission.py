"""Reading, rebuilding and judging submitted notebooks: honest work gets its points however it is arranged, and
nothing else does."""

from __future__ import annotations

import html
import itertools
import json
import math
import os
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbconvert.filters import markdown2html
from nbformat.v4 import new_code_cell, new_markdown_cell
from submissions import (
    ANSWERS,
    POINTS,
    SETUP,
    as_bytes,
    cell_of,
    handed_in,
    marks,
    place_of,
    released_notebook,
    solved,
    stub,
)

import autograder
import labkit
import probes
from autograder.answers import sources
from autograder.grading import store
from autograder.grading.submission import carding, harmless, reading, rebuilding
from autograder.grading.submission import judging as submission
from autograder.grading.submission.finishing import Terms, digest
from autograder.grading.submission.grades import Graded
from autograder.grading.submission.judging import judge
from autograder.grading.submission.reading import Refused, SubmissionFlag, read
from autograder.grading.submission.rebuilding import rebuild
from autograder.judging import judge as judging
from autograder.judging.judge import Runners
from autograder.judging.limit import processor_time
from labkit.cells import slicing
from labkit.cells.slicing import Chunk
from labkit.relay.outcome import Outcome, RankOutcome
from labkit.watch.pace import Pace

FULL = {"check_count_inside": 2, "check_fair_share": 4, "test_twice": 3, "test_twice_partly": 2}
DEEP = b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"


@pytest.fixture(scope="module")
def runners(warm):
    with Runners(warm) as one:
        yield one


def built(notebook) -> rebuilding.Rebuilt:
    return rebuild(released_notebook(), read(as_bytes(notebook)))


def points(runners, notebook) -> dict[str, float]:
    graded = judge(built(notebook), None, runners)
    assert not any(item.fault for item in graded.items), graded
    return {item.grade_id: item.points for item in graded.items}


def kinds(notebook) -> set[str]:
    return {flag.kind for flag in built(notebook).flags}


# -- reading ----------------------------------------------------------------------------------------------------------


def version_3(notebook) -> dict:
    cells = []
    for cell in notebook.cells:
        old = {"cell_type": cell.cell_type, "metadata": cell.metadata}
        old["input" if cell.cell_type == "code" else "source"] = cell.source.splitlines(keepends=True)
        cells.append(old | ({"outputs": [], "language": "python"} if cell.cell_type == "code" else {}))
    return {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells, "metadata": {}}],
    }


def version_4_0(notebook) -> dict:
    data = json.loads(json.dumps(notebook)) | {"nbformat_minor": 0}
    for cell in data["cells"]:
        del cell["id"]
    return data


WAYS_TO_WRITE_IT = {
    "4.5": as_bytes,
    "4.0, without ids": lambda nb: json.dumps(version_4_0(nb)).encode(),
    "3": lambda nb: json.dumps(version_3(nb)).encode(),
    "byte order mark": lambda nb: b"\xef\xbb\xbf" + as_bytes(nb),
    "UTF-16": lambda nb: json.dumps(nb).encode("utf-16"),
    "UTF-16 without a mark": lambda nb: json.dumps(nb).encode("utf-16-le"),
    "UTF-32": lambda nb: json.dumps(nb).encode("utf-32"),
    "UTF-8 without escapes": lambda nb: json.dumps(nb, ensure_ascii=False).encode(),
    "CRLF": lambda nb: as_bytes(nb).replace(b"\\n", b"\\r\\n"),
    "not a number": lambda nb: as_bytes(nb).replace(b'"metadata": {}', b'"metadata": {"took": NaN, "left": -Infinity}'),
    "another kernel": lambda nb: as_bytes(nb).replace(b'"python3"', b'"conda-env-old-py"'),
}


@pytest.mark.parametrize("way", WAYS_TO_WRITE_IT)
def test_a_notebook_is_read_however_it_was_written(way):
    notebook = handed_in()
    cell_of(notebook, "twice").source += '\n\nUNIT = "µs, 千"'
    rebuilt = rebuild(released_notebook(), read(WAYS_TO_WRITE_IT[way](notebook)))
    assert rebuilt.flags == []
    sources = {cell.id: cell.source for cell in rebuilt.notebook.cells}
    assert sources["count_inside"] == solved(ANSWERS["count_inside"])
    assert sources["twice"].endswith('UNIT = "µs, 千"')
    assert rebuilt.stubs == set()
    nbformat.validate(rebuilt.notebook)


REFUSED = {
    "empty": b"  \n",
    "no JSON": b'{"cells": [',
    "a list": b"[1, 2]",
    "no cells": b'{"nbformat": 4}',
    "cells of another kind": b'{"cells": {"a": 1}}',
    "nested too deeply": DEEP,
    "a huge number": b'{"cells": ' + b"9" * 10_000 + b"}",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "too many cells": json.dumps({"cells": [{"cell_type": "code", "source": ""}] * 2001}).encode(),
    "too much text": json.dumps({"cells": [{"cell_type": "code", "source": "#" * 90_000}] * 12}).encode(),
    "too large": b" " * (reading.MAX_BYTES + 1),
    "UTF-16 that is none": b"\xff\xfe{",
    "UTF-32 that is none": b"\xff\xfe\0\0{",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_notebook_is_refused_in_one_sentence(what):
    with pytest.raises(Refused) as refused:
        read(REFUSED[what])
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value) and len(str(refused.value)) < 120


def test_links_pipes_and_folders_are_not_opened(tmp_path):
    secret = tmp_path / "secret.ipynb"
    secret.write_bytes(as_bytes(handed_in()))
    (tmp_path / "link.ipynb").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    for name in ("link", "pipe", "folder", "none"):
        with pytest.raises(Refused):
            read(tmp_path / f"{name}.ipynb")
    assert len(read(secret).cells) == len(handed_in().cells)
    flags = reading.file_flags(tmp_path)
    assert [(flag.kind, flag.needs_person) for flag in flags] == [("file", True), ("file", False)]
    assert "link.ipynb is a link" in flags[0].sentence


def test_cells_that_are_none_are_left_out_and_reported():
    data = json.loads(as_bytes(handed_in()))
    data["cells"] += [None, 3, {"cell_type": "code", "source": [1]}, {"cell_type": "code", "source": "x" * 200_000}]
    data["cells"].append({"cell_type": "code", "source": "x = " + "-" * 60_000 + "1"})
    rebuilt = rebuild(released_notebook(), read(json.dumps(data).encode()))
    assert [flag.kind for flag in rebuilt.flags] == ["unreadable"] and "5 cells" in rebuilt.flags[0].sentence
    assert rebuilt.stubs == set()


def test_more_statements_than_anybody_writes_are_refused():
    notebook = handed_in()
    notebook.cells.append(new_code_cell("a\n" * 5000))
    rebuilt = built(notebook)
    assert "statements" in rebuilt.refused and rebuilt.flags[0].needs_person


def test_a_chain_of_definitions_longer_than_pythons_stack_is_followed():
    notebook = handed_in()
    links = "\n".join(f"def f{k}(x):\n    return f{k + 1}(x)" for k in range(1500))
    notebook.cells.insert(2, new_code_cell(links))
    cell_of(notebook, "twice").source = "def twice(x):\n    return f0(x)"
    rebuilt = built(notebook)
    chunks = rebuilt.chunks_of_test(rebuilt.items[2])
    assert len(chunks) >= 1500


def test_a_long_sum_is_no_trouble():
    notebook = handed_in()
    cell_of(notebook, "twice").source = f"ZERO = {' + '.join(['0'] * 600)}\n\n\ndef twice(x):\n    return 2 * x + ZERO"
    rebuilt = built(notebook)
    assert rebuilt.flags == [] and len(rebuilt.chunks_of_test(rebuilt.items[2])[:-2]) == 2
    assert digest(rebuilt, Terms(None, "k", "how", "full"))


# -- what instructors see ---------------------------------------------------------------------------------------------


def test_of_outputs_only_text_and_pixels_are_kept():
    notebook = handed_in()
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    cell_of(notebook, "look").outputs = [
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"text/html": "<script>1</script>", "text/plain": "a table"},
        },
        {"output_type": "display_data", "metadata": {}, "data": {"application/javascript": "alert(1)"}},
        {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": "<svg onload='alert(1)'/>"}},
        {"output_type": "display_data", "metadata": {}, "data": {"text/markdown": "<img src=x onerror=alert(1)>"}},
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": '"><script>'}},
        {"output_type": "execute_result", "metadata": {}, "execution_count": 1, "data": {"image/png": png}},
        {"output_type": "stream", "name": "stdout", "text": "3\n"},
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u001b[31mred"]},
        "nonsense",
        {"output_type": "stream", "name": 7, "text": {"a": 1}},
    ]
    outputs = cell_of(built(notebook).notebook, "look").outputs
    shown = json.dumps(outputs)
    assert "script" not in shown and "svg" not in shown and "onerror" not in shown
    assert [set(o.data) for o in outputs if o.output_type == "display_data"] == [{"text/plain"}, {"image/png"}]
    assert [o.text for o in outputs if o.output_type == "stream"] == ["3\n", ""]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "text <b onclick='alert(1)'>bold</b>",
        "[click](javascript:alert(1))",
        "[click]( javascript:alert(1))",
        "[click](<javascript:alert(1)>)",
        "[click](&#106;avascript:alert(1))",
        "[click](java\tscript:alert(1))",
        "[click][1]\n\n[1]: javascript:alert(1)",
        "[click][1]\n\n[1]:\n  javascript:alert(1)",
        "![image](data:text/html;base64,PHNjcmlwdD4=)",
        "<javascript:alert(1)>",
        "`<b>` and <svg/onload=alert(1)>",
        "$\\href{javascript:alert(1)}{x}$",
        "\\<script>alert(1)\\</script>",
    ],
)
def test_the_text_of_students_runs_nothing_where_it_is_shown(text):
    shown = markdown2html(harmless.harmless_markdown(text)).lower()
    for bad in ("<script", "<img", "<svg", "<b ", "<a", "\\href"):
        assert bad not in shown, shown


@pytest.mark.parametrize(
    "text",
    [
        '$\\mmlToken{mtext}[href="http:plot.html"]{figure 1}$',
        '$$\\enclose{circle}[href="http:plot.html"]{x} \\bbox[background:url(x)]{y}$$',
        "$\\texttip{x}{y} \\mathtip{x}{y} \\toggle{x}{y}\\endtoggle$",
        '&#36;&#92;mmlToken{mtext}[href="http:plot.html"]{x}&#36;',
        '&dollar;&bsol;mml&#x54;oken{mtext}[href="http:plot.html"]{x}&#36',
        '\\$\\\\mmlToken{mtext}[href="http:plot.html"]{x}\\$',
        "$\\let\\x\\mmlToken \\x{mtext}[href='http:plot.html']{x}$",
    ],
)
def test_the_formulas_of_students_lead_nowhere(text):
    shown = html.unescape(markdown2html(harmless.harmless_markdown(text)))
    assert not re.search(r"\\(mmlToken|enclose|bbox|texttip|mathtip|toggle|let)", shown), shown


def test_ordinary_text_stays_as_it_was():
    text = (
        "**Latency** counts: $t = \\alpha + n \\beta$, `a < b`, see [it](https://example.org/x).\n\n"
        "$\\left(\\begin{aligned} a &= b \\\\ c &lt d \\end{aligned}\\right)$, 2 &lt; 3 &amp; M&uuml;ller &#8594;\n\n| a | b "
        "|\n|---|---|\n| 1 | 2 |"
        "\n\n\\\\[ x \\\\] and \\\\( y_1 \\\\), \\begin{align*} z &= 1 \\\\\\\\ \\begin{array} 1 \\end{array} \\end{align*}"
    )
    assert harmless.harmless_markdown(text) == text


@pytest.mark.parametrize("beginning", ["\\\\[", "\\\\(", "\\begin{a}", "$x", "$$", "[a](", "![", "**a "])
@pytest.mark.parametrize("end", ["", "\\\\\\]", "\\\\\\)"])
def test_formulas_without_an_end_take_no_time(beginning, end):
    text = beginning * (60_000 // len(beginning)) + end
    with processor_time(4.0):
        assert markdown2html(harmless.harmless_markdown(text))


# -- rebuilding -------------------------------------------------------------------------------------------------------


def test_the_rebuilt_notebook_is_the_released_one_with_the_answers_in_it():
    rebuilt = built(handed_in())
    assert [cell.id for cell in rebuilt.notebook.cells] == [cell.id for cell in released_notebook().cells]
    assert cell_of(rebuilt.notebook, "test_twice").source == cell_of(released_notebook(), "test_twice").source
    assert {item.grade_id: item.points for item in rebuilt.items} == POINTS
    assert [item.function for item in rebuilt.items] == ["count_inside", "fair_share", "", ""]
    assert rebuilt.flags == [] and rebuilt.answers == {
        "count_inside": True,
        "fair_share": True,
        "twice": True,
        "why": True,
    }
    assert built(handed_in(right=False)).answers == {
        "count_inside": False,
        "fair_share": False,
        "twice": False,
        "why": False,
    }


def forged(change):
    def edit(notebook):
        change(notebook)
        return notebook

    return edit


def remark(name, **flags):
    return lambda notebook: cell_of(notebook, name).metadata.nbgrader.update(flags)


def remove(name):
    return lambda notebook: notebook.cells.pop(place_of(notebook, name))


def copy_below(name):
    def change(notebook):
        copy = nbformat.from_dict(json.loads(json.dumps(cell_of(notebook, name))))
        copy.id += "-copy"
        notebook.cells.append(copy)

    return change


def write(name, source):
    return lambda notebook: cell_of(notebook, name).update(source=source)


FORGED = {
    "a check edited": ("edited", write("check_fair_share", "print('full marks')")),
    "a hidden test guessed": ("edited", write("test_twice", "twice = lambda x: 4")),
    "a check deleted": ("deleted", remove("check_fair_share")),
    "an answer deleted": ("deleted", remove("fair_share")),
    "a check twice": ("duplicate", copy_below("check_fair_share")),
    "an answer twice": ("duplicate", copy_below("fair_share")),
    "more points": ("points", remark("check_fair_share", points=400)),
    "points that no float holds": ("points", remark("check_fair_share", points=10**400)),
    "points without end": ("points", remark("check_fair_share", points=math.inf)),
    "points of another kind": (
        "points",
        lambda nb: cell_of(nb, "check_fair_share").metadata.nbgrader.update(points="4"),
    ),
    "no longer graded": ("reflagged", remark("check_fair_share", grade=False)),
    "a check as an answer": ("reflagged", remark("check_fair_share", solution=True)),
    "an answer locked": ("reflagged", remark("fair_share", locked=True)),
    "marks removed": ("reflagged", lambda nb: cell_of(nb, "fair_share").metadata.pop("nbgrader")),
    "a check as text": ("type", lambda nb: cell_of(nb, "check_fair_share").update(cell_type="markdown")),
    "a cell of another course": (
        "foreign",
        lambda nb: nb.cells.append(new_code_cell("1", metadata=marks("other_check", grade=True, points=50))),
    ),
}


def test_a_notebook_on_which_rebuilding_fails_is_refused_and_no_more(monkeypatch):
    def fails(*_):
        raise OverflowError

    monkeypatch.setattr(rebuilding, "_readable", fails)
    rebuilt = rebuilding.rebuild_handed_in(released_notebook(), reading.HandedIn(as_bytes(handed_in())))
    assert "OverflowError" in rebuilt.refused and rebuilt.flags[0].needs_person


def test_a_notebook_that_takes_too_long_to_read_is_refused(monkeypatch):
    def endless(cells):
        while cells:
            pass

    monkeypatch.setattr(rebuilding, "_readable", endless)
    monkeypatch.setattr(rebuilding, "MOST_CPU_S", 0.1)
    rebuilt = rebuilding.rebuild_handed_in(released_notebook(), reading.HandedIn(as_bytes(handed_in())))
    assert "too long" in rebuilt.refused and rebuilt.items and rebuilt.flags[0].needs_person


def test_each_cell_is_parsed_once_for_all_checks():
    """A cell with a magic in it, and names that are found one after the other below the check."""
    cells, notebook = 1300, handed_in(right=False)
    cell_of(notebook, "count_inside").source = "def count_inside(x, y):\n    return d0, h0"
    notebook.cells[:0] = [new_code_cell(f"%m\ndef h{k}(a):\n    return h{k + 1}") for k in range(cells)]
    notebook.cells += [new_code_cell(f"def d{k}():\n    return d{k + 1}") for k in range(8)]
    rebuilt = rebuilding.rebuild_handed_in(released_notebook(), reading.HandedIn(as_bytes(notebook)))
    assert not rebuilt.refused
    parsed = []
    for item in [*rebuilt.items[:2], *rebuilt.items[:2]]:
        assert rebuilt.chunks(item, submission.exercise_of(item, None))[0]
        parsed.append((slicing._statements.cache_info().misses, slicing.python_of.cache_info().misses))
    assert parsed[1:] == parsed[1:2] * 3


@pytest.mark.parametrize("what", FORGED)
def test_what_a_notebook_says_of_itself_has_no_effect_and_is_reported(what):
    kind, change = FORGED[what]
    notebook = handed_in()
    change(notebook)
    rebuilt = built(notebook)
    assert kind in {flag.kind for flag in rebuilt.flags}, rebuilt.flags
    for flag in rebuilt.flags:
        assert flag.sentence.endswith(".") and "\n" not in flag.sentence
    honest = {cell.id: cell for cell in released_notebook().cells}
    for cell in rebuilt.notebook.cells:
        if "nbgrader" in cell.metadata:
            assert cell.metadata == honest[cell.id].metadata
            if not cell.metadata.nbgrader.solution:
                assert (cell.source, cell.cell_type) == (honest[cell.id].source, honest[cell.id].cell_type)
    assert {item.grade_id: item.points for item in rebuilt.items} == POINTS
    ids = [cell.metadata.nbgrader.grade_id for cell in rebuilt.notebook.cells if "nbgrader" in cell.metadata]
    assert sorted(ids) == sorted(
        cell.metadata.nbgrader.grade_id for cell in released_notebook().cells if "nbgrader" in cell.metadata
    )
    nbformat.validate(rebuilt.notebook)


def test_an_assignment_from_before_cells_had_ids():
    released, submitted = released_notebook(), handed_in()
    for notebook in (released, submitted):
        notebook.nbformat_minor = 4
        notebook.cells += [new_code_cell(""), new_code_cell("")]
        for cell in notebook.cells:
            del cell["id"]
    rebuilt = rebuild(released, read(as_bytes(submitted)))
    assert rebuilt.flags == [] and rebuilt.stubs == set()
    ids = [cell.id for cell in rebuilt.notebook.cells]
    assert len(set(ids)) == len(ids) == len(released.cells)


def test_a_notebook_of_another_assignment_needs_a_person():
    other = nbformat.v4.new_notebook(cells=[new_code_cell("print(1)"), new_markdown_cell("hello")])
    rebuilt = built(other)
    assert any(flag.kind == "foreign" and flag.needs_person for flag in rebuilt.flags)


# -- honest work, however it is arranged ------------------------------------------------------------------------------


def split(notebook):
    """A solution cell cut in two in Lab: both halves carry its marks."""
    cell = cell_of(notebook, "fair_share")
    head = nbformat.from_dict(json.loads(json.dumps(cell)))
    head.source, head.id = "def larger(rank, rest):\n    return rank < rest", "half"
    cell.source = cell.source.replace("(rank < rest)", "larger(rank, rest)")
    notebook.cells.insert(place_of(notebook, "fair_share"), head)


def helper_below(notebook):
    cell_of(notebook, "fair_share").source = cell_of(notebook, "fair_share").source.replace("divmod(", "cut(")
    notebook.cells.append(new_code_cell("def cut(n, parts):\n    return divmod(n, parts)"))


def helper_redefined_later(notebook):
    cell_of(
        notebook, "count_inside"
    ).source = "def inside(x, y):\n    return np.hypot(x, y) < RADIUS\n\n\ndef count_inside(x, y):\n    return int(inside(x, y).sum())"
    notebook.cells.insert(place_of(notebook, "fair_share"), new_code_cell("def inside(text):\n    return text.strip()"))


def in_a_cell_of_ones_own(notebook):
    cell = cell_of(notebook, "fair_share")
    notebook.cells.insert(place_of(notebook, "check_fair_share"), new_code_cell(cell.source))
    cell.source = stub(ANSWERS["fair_share"])


def below_its_check(notebook):
    cell = cell_of(notebook, "fair_share")
    notebook.cells.append(new_code_cell(cell.source))
    cell.source = stub(ANSWERS["fair_share"])


def answer_deleted_and_written_anew(notebook):
    cell = notebook.cells.pop(place_of(notebook, "fair_share"))
    notebook.cells.insert(place_of(notebook, "check_fair_share"), new_code_cell(cell.source))


def setup_edited(notebook):
    cell = cell_of(notebook, "setup")
    cell.source = cell.source.replace("RADIUS = 0.5", "RADIUS = 1 / 2  # the same\nDIGITS = 3").replace(
        "import numpy as np\n", ""
    )


def noise(notebook):
    notebook.cells.insert(2, new_code_cell("%matplotlib inline\n!pip list\n?print"))
    notebook.cells.insert(
        2, new_code_cell("%%ranks\ndef fair_share(n, rank, world_size):\n    return 'on the ranks only'")
    )
    notebook.cells.insert(2, new_code_cell("this is no Python"))
    notebook.cells.insert(2, new_code_cell("raise RuntimeError('an experiment that failed')"))
    notebook.cells.append(new_code_cell("import warnings\nwarnings.warn('careful')\nprint('x' * 100)"))


def warns(notebook):
    cell = cell_of(notebook, "fair_share")
    cell.source = cell.source.replace(
        "    base", "    import sys, warnings\n    warnings.warn('slow')\n    print('hm', file=sys.stderr)\n    base"
    )


def retyped(notebook):
    """The letter m, pressed in command mode."""
    cell = cell_of(notebook, "fair_share")
    cell.cell_type = "markdown"
    del cell["outputs"], cell["execution_count"]


HONEST = {
    "as it should be": lambda notebook: None,
    "an answer split in two": split,
    "a helper at the very end": helper_below,
    "a helper's name used again later": helper_redefined_later,
    "an answer in a cell of one's own": in_a_cell_of_ones_own,
    "an answer below its check": below_its_check,
    "the cell deleted and written anew": answer_deleted_and_written_anew,
    "the setup edited, an import lost": setup_edited,
    "the setup deleted": remove("setup"),
    "cells moved": lambda notebook: notebook.cells.insert(0, notebook.cells.pop(place_of(notebook, "twice"))),
    "magics, broken cells, prints": noise,
    "warnings and standard error": warns,
    "an answer turned into text": retyped,
    "a check edited": write("check_fair_share", "check(fair_share, hints='why')  # I wanted less"),
    "all ids and marks lost": lambda notebook: [c.metadata.clear() for c in notebook.cells],
    "CRLF": lambda notebook: [c.update(source=c.source.replace("\n", "\r\n")) for c in notebook.cells],
    "a cell magic": lambda notebook: cell_of(notebook, "twice").update(
        source="%%time\n" + cell_of(notebook, "twice").source
    ),
}


@pytest.mark.parametrize("how", HONEST)
def test_honest_work_gets_full_points(how, runners):
    notebook = handed_in()
    HONEST[how](notebook)
    assert points(runners, notebook) == FULL


# -- judging ----------------------------------------------------------------------------------------------------------


DISHONEST = {
    "leaves": "def fair_share(n, rank, world_size):\n    import os\n    os._exit(0)",
    "raises": "def fair_share(n, rank, world_size):\n    raise ValueError('<b>no</b>')",
    "no Python": "def fair_share(n, rank, world_size:\n    return 1",
    "not written": stub(ANSWERS["fair_share"]),
    "nothing": "",
    "at once": "import os\n\nGONE = os._exit(0)\n\n\ndef fair_share(n, rank, world_size):\n    return GONE",
}


@pytest.mark.parametrize("how", DISHONEST)
def test_a_failure_costs_its_own_exercise_only(how, runners):
    notebook = handed_in()
    cell_of(notebook, "fair_share").source = DISHONEST[how]
    graded = judge(built(notebook), None, runners)
    assert {i.grade_id: i.points for i in graded.items} == FULL | {"check_fair_share": 0.0}
    verdict = next(i.verdict for i in graded.items if i.grade_id == "check_fair_share")
    assert verdict == {"leaves": "crashed", "at once": "crashed", "raises": "raised"}.get(how, "missing")


def test_levels_give_partial_points(runners):
    notebook = handed_in()
    cell_of(
        notebook, "count_inside"
    ).source = "def count_inside(x, y):\n    return sum(1 for a, b in zip(x, y) if (a * a + b * b) ** 0.5 < RADIUS)"
    assert points(runners, notebook) == FULL | {"check_count_inside": 1.0}


TESTS = {
    "wrong": ("def twice(x):\n    return x + 2", 0.0, 1 / 2),
    "leaves": ("import os\n\n\ndef twice(x):\n    os._exit(0)", 0.0, 0.0),
    "leaves politely": ("def twice(x):\n    raise SystemExit(0)", 0.0, 0.0),
    "forever": ("def twice(x):\n    while True:\n        pass", 0.0, 0.0),
    "not there": ("", 0.0, 0.0),
    "answers with a test": (
        "class twice:\n    def __init__(self, x):\n        pass\n    def __eq__(self, other):\n        return False",
        0.0,
        0.0,
    ),
}


@pytest.mark.parametrize("how", TESTS)
def test_an_instructors_own_test_has_to_come_to_its_end(how, warm):
    from labkit.launch.launcher import Limits

    source, whole, partly = TESTS[how]
    notebook = handed_in()
    cell_of(notebook, "twice").source = source
    with Runners(warm, Limits(cpu_seconds=1, deadline=30)) as hurried:
        assert points(hurried, notebook) == FULL | {"test_twice": whole, "test_twice_partly": partly}


def test_a_fault_of_ours_costs_nobody_else_and_goes_to_a_person(runners, monkeypatch):
    calls = []

    def fails(runners, exercise, chunks, **about):
        calls.append(exercise.function)
        if exercise.function == "fair_share":
            raise RuntimeError("the judge's own mistake")
        return real(runners, exercise, chunks, **about)

    real = submission.judge_with
    monkeypatch.setattr(submission, "judge_with", fails)
    graded = judge(built(handed_in()), None, runners)
    assert calls == ["count_inside", "fair_share", "fair_share"], "tried once more, from a fresh start"
    assert {i.grade_id: i.points for i in graded.items} == FULL | {"check_fair_share": 0.0}
    assert graded.needs_person and [flag.kind for flag in graded.flags] == ["fault"]
    assert "no fault of yours" in carding.card(graded.items[1])[1]


def test_code_too_large_for_a_job_is_no_fault_of_ours(runners, monkeypatch):
    """It costs what needs it, and nothing waits for a person: the result is kept like others."""
    notebook = handed_in()
    texts = [f"TEXT_{k} = '{chr(0x1F600) * 90_000}'" for k in range(5)]
    for k, text in enumerate(texts):
        notebook.cells.insert(k, new_code_cell(text))
    used = "".join(f"    TEXT_{k}\n" for k in range(5))
    for name in ("fair_share", "twice"):
        cell = cell_of(notebook, name)
        cell.source = re.sub(r"(def .*:\n)", lambda head: head[0] + used, cell.source, count=1)
    assert used in cell_of(notebook, "fair_share").source and used in cell_of(notebook, "twice").source
    ran = []
    monkeypatch.setattr(runners, "run", lambda *about, real=runners.run: ran.append(about) or real(*about))
    graded = judge(built(notebook), None, runners)
    items = {item.grade_id: item for item in graded.items}
    assert items["check_count_inside"].points == 2
    for name in ("check_fair_share", "test_twice", "test_twice_partly"):
        assert (items[name].points, items[name].verdict, items[name].diagnosis) == (0, "missing", "too_large")
        assert not items[name].fault and "too large" in items[name].said[0]
    assert not any(flag.kind == "fault" for flag in graded.flags)
    assert all("TEXT_0" not in chunk.source for about in ran for chunk in about[2]), "none was sent"


def test_an_exercise_that_builds_on_a_failed_one_gets_the_reference(runners):
    """mean_over_ranks of unit 03 may call sum_over_ranks; here through the exercises' own declaration."""
    from autograder.registry import all_exercises

    exercise = next(e for e in all_exercises() if e.uses and e.runtime in ("plain", "torch"))
    used = exercise.uses[0]
    cells = [
        new_code_cell("import numpy as np\nimport torch\nimport torch.distributed as dist", id="setup"),
        new_code_cell("", id=used, metadata=marks(used, solution=True)),
        new_code_cell(
            f"check({used})", id="check_used", metadata=marks("check_used", grade=True, locked=True, points=2)
        ),
        new_code_cell("", id=exercise.function, metadata=marks(exercise.function, solution=True)),
        new_code_cell(
            f"check({exercise.function})", id="check_it", metadata=marks("check_it", grade=True, locked=True, points=2)
        ),
    ]
    released = nbformat.v4.new_notebook(cells=cells)
    submitted = nbformat.from_dict(json.loads(json.dumps(released)))
    cell_of(submitted, used).source = f"def {used}(*arguments):\n    return 'wrong'"
    cell_of(
        submitted, exercise.function
    ).source = f"def {exercise.function}(*arguments):\n    return {used}(*arguments)"
    rebuilt = rebuild(released, read(as_bytes(submitted)))
    chunks, note = rebuilt.chunks(rebuilt.items[1], exercise, {used})
    assert chunks[0] == Chunk(f"reference of {used}", 1, exercise_reference(used))
    graded = judge(rebuilt, exercise.unit, runners)
    assert note == f"Checked with the course's own {used}, because yours does not pass yet."
    assert graded.items[1].result["note"].startswith(note)
    assert note in carding.card(graded.items[1])[1]


def test_a_helper_that_fits_its_own_check_only_does_not_cost_what_builds_on_it(runners):
    """An own global_metrics that mixes data types where losses are float64 and a rank has none: its check has float32
    only."""
    unit, functions = (
        "05_gradient_all_reduce",
        {"global_metrics": "right_weighted_means", "train_step": "right_uses_average_gradients"},
    )
    cells = [new_code_cell("import torch\nimport torch.distributed as dist", id="setup")]
    for name in functions:
        cells.append(new_code_cell("", id=name, metadata=marks(name, solution=True)))
        check = marks(f"check_{name}", grade=True, locked=True, points=3)
        cells.append(new_code_cell(f"check({name})", id=f"check_{name}", metadata=check))
    released = nbformat.v4.new_notebook(cells=cells)
    submitted = nbformat.from_dict(json.loads(json.dumps(released)))
    for name, answer in functions.items():
        cell_of(submitted, name).source = sources(unit, name)[answer]
    graded = judge(rebuild(released, read(as_bytes(submitted))), unit, runners)
    assert [grade.points for grade in graded.items] == [3, 3]
    assert "with yours it does not work" in graded.items[1].result["note"]


# How an answer tells what it has read of the `bubble` that stands in: `text` is its source.
TELLING = {
    "prints": "print(text)",
    "raises": "raise RuntimeError(text)",
    "names an exception": "raise type(text, (Exception,), {})()",
    "names a place": "exec(compile('1 / 0', text, 'exec'))",
    "returns": "return text",
    "returns a number": "return int.from_bytes(text.encode(), 'big')",
    "keeps it": "import builtins; builtins.kept = text; print(text)",
}
READING = """def enough_micro_batches(p, share, v=1):
    import sys
    frame = sys._getframe()
    while frame.f_code.co_name != "run_job":
        frame = frame.f_back
    bubble
    text = frame.f_locals["job"]["chunks"][0][2]
    {}
"""


@pytest.mark.parametrize("how", TELLING)
def test_no_card_shows_a_reference_that_stands_in(runners, how):
    """Whoever has no `bubble` yet must not read the course's off the card of what uses it, or of what comes next."""
    answers = {
        "enough_micro_batches": READING.format(TELLING[how]),
        "partition": "def partition(costs, p):\n    import builtins\n    print(getattr(builtins, 'kept', 'NOTHING'))",
    }
    cells = []
    for name in answers:
        check = marks(f"check_{name}", grade=True, locked=True, points=2)
        cells.append(new_code_cell("", id=name, metadata=marks(name, solution=True)))
        cells.append(new_code_cell(f"check({name})", id=f"check_{name}", metadata=check))
    released = nbformat.v4.new_notebook(cells=cells)
    submitted = nbformat.from_dict(json.loads(json.dumps(released)))
    for name, answer in answers.items():
        cell_of(submitted, name).source = answer
    graded = judge(rebuild(released, read(as_bytes(submitted))), "17_pipeline", runners)
    text = exercise_reference("bubble")
    said = json.dumps([[grade.result, *carding.card(grade)] for grade in graded.items])
    assert "return" in text and graded.items[0].verdict != "passed"
    for secret in (text, text.strip().splitlines()[-1], str(int.from_bytes(text.encode(), "big"))[:40]):
        assert json.dumps(secret)[1:-1] not in said
    assert "is not shown. To see it, solve that first" in graded.items[0].result["note"]
    assert "NOTHING" in said  # what needs no reference says what it likes


def exercise_reference(name):
    from autograder.registry import find

    return find(name).reference


def test_who_sleeps_is_waited_for_once(warm):
    """Otherwise a notebook full of sleepers would hold a worker for a quarter of an hour."""
    waits = []

    class Asleep(Runners):
        def run(self, exercise, case, *arguments):
            waits.append(self.limits.deadline)
            ranks = [RankOutcome("running") for _ in range(case.world_size)]
            return Outcome(ranks, [], [], None, True), [{}] * case.world_size

    clock = itertools.count(step=2 * submission.WAITED_S)
    with Asleep(warm) as runners, pytest.MonkeyPatch.context() as patch:
        patch.setattr(submission, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        graded = judge(built(handed_in()), None, runners, budget=1e6)
        assert runners.limits.deadline == 60
    assert [i.verdict for i in graded.items[:2]] == ["too_slow", "too_slow"]
    assert waits[0] == 60 and waits[-1] == submission.WAITED_S


def test_a_notebook_of_sleepers_is_given_up_when_its_time_is_used_up(warm):
    """Whoever sleeps uses no processor time: only the clock ends it. What is left is not judged, the card says why, a
    person is told."""
    waited = []

    class Asleep(Runners):
        def run(self, exercise, case, *arguments):
            waited.append(round(self.until - clock[0]))
            clock[0] += min(self.until - clock[0], self.limits.deadline)
            ranks = [RankOutcome("running") for _ in range(case.world_size)]
            return Outcome(ranks, [], [], None, True), [{}] * case.world_size

    clock = [0.0]
    with Asleep(warm) as runners, pytest.MonkeyPatch.context() as patch:
        for module in (submission, judging):
            patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        patch.setattr(submission.pace, "now", Pace)
        graded = judge(built(handed_in()), None, runners, budget=100)
        assert runners.until == math.inf
    assert waited[0] == 100 and clock[0] <= 100
    assert [(item.verdict, item.points) for item in graded.items] == [("too_slow", 0)] * 4
    assert [item.diagnosis for item in graded.items[-2:]] == ["budget"] * 2
    assert any("used up" in line for line in graded.items[-1].said)
    assert [flag.needs_person for flag in graded.flags if flag.kind == "budget"] == [True]


def test_an_answer_that_looks_at_its_caller_keeps_its_points_and_is_shown_to_a_person(runners):
    notebook = handed_in()
    name = next(iter(ANSWERS))
    cell_of(notebook, name).source += "\n\n\ndef peek():\n    import sys\n    return sys._getframe(1)\n"
    assert not judge(built(notebook), None, runners).needs_person, "nothing that is checked uses it"
    cell_of(notebook, name).source += f"\n\n_right = {name}\n\n\ndef {name}(*a):\n    peek()\n    return _right(*a)\n"
    graded = judge(built(notebook), None, runners)
    assert graded.points == judge(built(handed_in()), None, runners).points
    assert [flag.kind for flag in graded.flags] == ["looks_around"] and "`_getframe`" in graded.flags[0].sentence


def test_a_module_beside_the_notebook_can_be_imported(runners, tmp_path):
    (tmp_path / "cutting.py").write_text(
        "from sizes import base_and_rest\n\n\ndef first(n, rank, p):\n"
        # fmt: skip
        "    base, rest = base_and_rest(n, p)\n    return rank * base + min(rank, "
        "rest)\n"
    )
    (tmp_path / "sizes.py").write_text("import cutting\n\n\ndef base_and_rest(n, p):\n    return divmod(n, p)\n")
    (tmp_path / "math.py").write_text("raise RuntimeError('in place of the real one')\n")
    (tmp_path / "numpy.py").write_text("raise RuntimeError('in place of the real one')\n")
    (tmp_path / "unused.py").write_text("raise RuntimeError('nobody asked')\n")
    (tmp_path / "broken.py").write_text("def\n")
    (tmp_path / "link.py").symlink_to(tmp_path / "sizes.py")
    modules = reading.modules_of(tmp_path)
    assert set(modules) == {"cutting", "sizes", "unused", "broken"}
    notebook = handed_in()
    cell_of(notebook, "fair_share").source = (
        "import math\nfrom cutting import first\n\n\ndef fair_share(n, rank, p):\n"
        "    return first(n, rank, p), math.floor(first(n, rank + 1, p))"
    )
    cell_of(notebook, "twice").source = "from broken import double\n\n\ndef twice(x):\n    return double(x)"
    graded = judge(rebuild(released_notebook(), read(as_bytes(notebook)), modules), None, runners)
    assert {i.grade_id: i.points for i in graded.items} == FULL | {"test_twice": 0.0, "test_twice_partly": 0.0}
    assert [i.verdict for i in graded.items] == ["passed", "passed", "raised", "raised"]


def test_a_refused_notebook_gets_a_card_that_says_why(runners):
    rebuilt = rebuild(released_notebook(), Refused("The file is empty."))
    graded = judge(rebuilt, None, runners)
    assert graded.points == 0 and graded.max_points == 11 and graded.needs_person
    assert graded.flags == [SubmissionFlag("refused", "The submission was refused: The file is empty.", True)]
    notebook = carding.carded(rebuilt, graded)
    nbformat.validate(notebook)
    assert "The file is empty." in cell_of(notebook, "check_fair_share").outputs[0].data["text/plain"]


def test_results_travel_as_json_and_show_the_same_cards(runners):
    notebook = handed_in()
    cell_of(
        notebook, "fair_share"
    ).source = "def fair_share(n, rank, world_size):\n    print('<i>hm</i>')\n    return 0, n"
    rebuilt = built(notebook)
    graded = judge(rebuilt, None, runners, key="secret")
    again = Graded.from_json(json.loads(json.dumps(graded.to_json())))
    assert again == graded
    for hints in ("verdict", "how"):
        shown = carding.carded(rebuilt, again, hints)
        nbformat.validate(shown)
        assert shown == carding.carded(rebuilt, graded, hints)
        html = cell_of(shown, "check_fair_share").outputs[0].data["text/html"]
        assert "<i>" not in html and "fair_share" in html
        for item in graded.items:
            assert cell_of(shown, item.grade_id).outputs[-1].data["text/plain"] == repr(item.points)
    for damaged in ({}, {"format": 0}, {**graded.to_json(), "items": [{"points": 1}]}):
        with pytest.raises(ValueError):
            Graded.from_json(damaged)


def test_judging_does_not_depend_on_the_thread(runners):
    """The formgrader's button runs in a server."""
    found = []
    thread = threading.Thread(target=lambda: found.append(points(runners, handed_in())))
    thread.start()
    thread.join(120)
    assert found == [FULL]


# -- the cache's key --------------------------------------------------------------------------------------------------


def key_of(notebook, unit=None, key="k", level="full") -> str:
    return digest(built(notebook), Terms(unit, key, "how", level))


def test_only_what_decides_a_result_decides_its_digest():
    first = key_of(handed_in())
    same = handed_in()
    cell_of(same, "look").outputs = [{"output_type": "stream", "name": "stdout", "text": "other\n"}]
    same.cells.append(new_markdown_cell("a note"))
    same.cells.append(new_code_cell("unused = 1"))
    cell_of(same, "why").source = "another essay"
    assert key_of(same) == first
    assert key_of(handed_in(), key="another") != first and key_of(handed_in(), level="weak") != first
    for name, source in (
        ("twice", "def twice(x):\n    return x * 2"),
        ("setup", SETUP + "\nRADIUS = 1"),
        ("count_inside", ""),
    ):
        other = handed_in()
        cell_of(other, name).source = source
        assert key_of(other) != first, name
    forged = handed_in()
    remark("check_fair_share", points=400)(forged)
    assert key_of(forged) != first, "flags are part of a result"


@pytest.mark.parametrize("package", [autograder, labkit, probes], ids=lambda package: package.__name__)
def test_a_change_of_what_judges_changes_every_digest(package, monkeypatch):
    changed, read = sorted(Path(package.__file__).parent.rglob("*.py"))[-1], Path.read_bytes
    before = store.code_version.__wrapped__()
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path == changed))
    assert store.code_version.__wrapped__() != before
