"""`check(f)` in a real kernel, and the autograder command: what a student and an instructor's script see."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from machine import needs
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from autograder.answers import sources

ROOT = Path(__file__).resolve().parents[2]

CELLS = {
    "set-up": "import os\nfrom autograder import check\nimport torch, torch.distributed as dist",
    "missing": "check('ring_pass')",
    "unknown": "def no_exercise():\n    pass\ncheck(no_exercise)",
    "called": "check(3)",
    "stub": (
        "def right_neighbour(rank, world_size):\n    raise NotImplementedError('write this "
        "function')\ncheck(right_neighbour)"
    ),
    "helper": "STEP = 1\ndef wrapped(k, size):\n    return k % size",
    "experiment": "data = [wrapped(k, 3) for k in range(5)]\nopen('ran', 'a').write('once ')",
    "right": "def right_neighbour(rank, world_size):\n    return wrapped(rank + STEP, world_size)\ncheck(right_neighbour)",
    "broken": "def right_neighbour(rank, world_size:\n    return 0",
    "after broken": "check('right_neighbour')",
    "lambda": "right_neighbour = lambda rank, world_size: (rank + 1) % world_size\ncheck('right_neighbour')",
    "wrong": (
        "def right_neighbour(rank, world_size):\n    print('looking right')\n    return rank + "
        "1\ncheck(right_neighbour)"
    ),
    "raises": "def right_neighbour(rank, world_size):\n    return rank / 0\n\ncheck(right_neighbour)",
    "exits": "def right_neighbour(rank, world_size):\n    os._exit(3)\ncheck(right_neighbour)",
    "slow": "import time\ndef right_neighbour(rank, world_size):\n    time.sleep(1.6 * (rank == 0))\n"
    "    return (rank + 1) % world_size\ncheck(right_neighbour)",
    "hints": "def right_neighbour(rank, world_size):\n    return rank + 1\ncheck(right_neighbour, hints='verdict')",
    "level": "check(right_neighbour, hints='everything')",
    "hang": "def ring_pass(x):\n    buffer = torch.empty_like(x)\n    size = dist.get_world_size()\n"
    "    dist.recv(buffer, (dist.get_rank() - 1) % size)\n"
    "    dist.send(x, (dist.get_rank() + 1) % size)\n    return torch.stack([x] * size)\ncheck(ring_pass)",
    "alive": "print('the kernel is alive,', open('ran').read())",
    "nbgrader": "os.environ['NBGRADER_EXECUTION'] = 'validate'\ncheck(right_neighbour)",
    "nbgrader missing": "check('nobody_wrote_this')",
    "nbgrader right": "def right_neighbour(rank, world_size):\n    return (rank + 1) % world_size\ncheck(right_neighbour)",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """One kernel, all cells in order: name -> (text, html, error)."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in CELLS.values()])
    folder = tmp_path_factory.mktemp("notebook")
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    nbformat.validate(notebook)
    found = {}
    for name, cell in zip(CELLS, notebook.cells, strict=True):
        text = "".join(o.get("text", "") + o.get("data", {}).get("text/plain", "") for o in cell.outputs)
        html = "".join(o.get("data", {}).get("text/html", "") for o in cell.outputs)
        error = "\n".join("\n".join(o.traceback) for o in cell.outputs if o.output_type == "error")
        found[name] = (text, html, error)
    return found


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("missing", ["0 of 3 points", "There is no such function"]),
        ("unknown", ["no exercise called no_exercise", "there are", "ring_pass"]),
        ("called", ["check takes a function of this notebook"]),
        ("stub", ["This function is still to be written"]),
        ("right", ["passed"]),
        ("slow", ["passed"]),
        ("after broken", ["passed", "defines right_neighbour, but it is no valid Python"]),
        ("lambda", ["passed"]),
        ("wrong", ["wrong", "returned", "expected", "printed:", "looking right"]),
        ("raises", ["raised", "ZeroDivisionError", "line 2", "return rank / 0"]),
        ("exits", ["crashed", "exit status 3"]),
        ("level", ["choose one of verdict, differs, why, how"]),
        ("hang", ["hung", "recv from 3", "line 4", "rank 0"]),
        ("alive", ["the kernel is alive, once "]),
        ("nbgrader right", ["passed"]),
    ],
)
def test_what_the_student_reads(outputs, cell, words):
    text, _, error = outputs[cell]
    assert not error
    for word in words:
        assert word in text
    assert "Traceback" not in text and "AssertionError" not in text


def test_a_check_that_takes_longer_says_that_it_works_and_the_card_takes_its_place(outputs):
    text, html, _ = outputs["slow"]
    assert "still running" not in text and html.count('role="group"') == 1


def test_hints_hold_back_what_the_instructor_wants(outputs):
    text, html, _ = outputs["hints"]
    assert "wrong" in text and "returned" not in text and "expected" not in html and "rank + 1" not in text


def test_a_hang_is_drawn(outputs):
    _, html, _ = outputs["hang"]
    assert "<svg" in html and "waits for rank" in html


def test_cards_escape_what_students_print(outputs):
    from autograder.judging.cards import html_card
    from autograder.verdict import CaseResult, LevelResult, Result

    nasty = "<script>alert(1)</script>"
    case = CaseResult(nasty, nasty, 2, "wrong", "x", [nasty], nasty, nasty, [nasty], nasty)
    html = html_card(Result("u", nasty, nasty, 1, [LevelResult(nasty, 1, 0, "wrong", [case])], nasty))
    assert "<script" not in html and html.count("&lt;script") >= 7


def test_cards_can_be_sent_whatever_students_print():
    from autograder.judging.cards import html_card, text_card
    from autograder.verdict import CaseResult, LevelResult, Result

    case = CaseResult("one", "", 2, "wrong", "x", ["\ud800"], "\ud800", "", ["\ud800"], "")
    result = Result("u", "f", "f", 1, [LevelResult("one", 1, 0, "wrong", [case])], "")
    for card in (html_card(result), text_card(result)):
        assert "\\ud800" in card.encode("utf-8").decode()


def test_under_nbgrader_a_failed_check_is_one_line(outputs):
    text, _, error = outputs["nbgrader"]
    assert "wrong" in text
    assert error == "CheckFailed: right_neighbour: wrong (forgets_to_wrap), 0 of 0 points" or error.startswith(
        "CheckFailed: right_neighbour: wrong ("
    )
    assert "\n" not in error
    assert outputs["nbgrader missing"][2].startswith("CheckFailed: ")
    assert not outputs["nbgrader right"][2]


def autograder(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", "from autograder.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
    )


def test_try_prints_the_documented_json(tmp_path):
    right = tmp_path / "right.py"
    right.write_text(next(iter(sources("02_point_to_point", "ring_pass").values())))
    done = autograder("try", "02_point_to_point", "ring_pass", str(right), "--json", "--seed", "another")
    result = json.loads(done.stdout)
    assert done.returncode == 0
    assert {"exercise", "verdict", "score", "max_score", "diagnosis", "hint", "levels", "cases"} <= set(result)
    assert (result["verdict"], result["score"]) == ("passed", result["max_score"])
    (tmp_path / "broken.py").write_text("def ring_pass(x:\n")
    done = autograder("try", "02", "ring_pass", str(tmp_path / "broken.py"), "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["verdict"], result["score"]) == (1, "missing", 0) and "line 1" in result["note"]


@needs("jail")
def test_a_file_that_is_tried_cannot_touch_what_is_yours(tmp_path):
    """Without a jail it can, which shows that the file would."""
    place = tmp_path / "00_start_here" / "right_neighbour"
    place.mkdir(parents=True)
    touched, answer = tmp_path / "touched", place / "right_touches.py"
    answer.write_text(
        "# verdict: passed\n"
        "def right_neighbour(rank, world_size):\n"
        "    try:\n"
        f"        open({str(touched)!r}, 'w').close()\n"
        "    except OSError:\n"
        "        pass\n"
        "    return (rank + 1) % world_size\n"
    )
    bank = ("bank", "--folder", str(tmp_path))
    for command in (("try", "00", "right_neighbour", str(answer)), bank):
        done = autograder(*command)
        assert done.returncode == 0 and not done.stderr and not touched.exists(), done
    assert autograder(*bank, "--no-jail").returncode == 0 and touched.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("try", "02", "ring_pas", "x.py"), "no exercise called ring_pas in unit 02; there are: "),
        (("try", "77", "ring_pass", "x.py"), "units are: 00_start_here"),
        (("try", "02", "ring_pass", "nowhere.py"), "there is no file nowhere.py"),
        (("try", "02", "ring_pass", sys.executable), "cannot be read as text"),
    ],
)
def test_bad_input_is_one_clear_line(arguments, words):
    done = autograder(*arguments)
    assert done.returncode == 2 and words in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_exercises_lists_everything_a_program_needs():
    rows = json.loads(autograder("exercises", "--json").stdout)
    ring = next(row for row in rows if row["exercise"] == "ring_pass")
    assert {"unit", "exercise", "signature", "points", "levels", "diagnoses"} <= set(ring)
    assert sum(level["points"] for level in ring["levels"]) == ring["points"]


def test_a_bank_that_falls_short_is_an_error(tmp_path):
    place = tmp_path / "00_start_here" / "right_neighbour"
    place.mkdir(parents=True)
    (place / "wrong_but_right.py").write_text(
        "# verdict: wrong, diagnosis: turns_left\ndef right_neighbour(rank, world_size):\n    return (rank + 1) % "
        "world_size\n"
    )
    done = autograder("bank", "--folder", str(tmp_path), "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["wrong"], report["wrong_caught"]) == (1, 1, 0)
    (place / "wrong_but_right.py").write_text("def right_neighbour(rank, world_size):\n    return 1\n")
    done = autograder("bank", "--folder", str(tmp_path))
    assert done.returncode == 2 and "begin it with" in done.stderr


def test_answers_go_into_files_of_their_own_and_come_back(tmp_path):
    done = autograder("bank", "00", "--write", str(tmp_path / "own"))
    files = sorted((tmp_path / "own" / "00_start_here" / "right_neighbour").glob("*.py"))
    assert done.stdout == f"00_start_here/right_neighbour: {len(files)} answers\n" and len(files) > 6
    done = autograder("bank", "--read", str(tmp_path / "own"), "--folder", str(tmp_path / "bank"))
    assert done.returncode == 0, done.stderr
    kept = (ROOT / "units/00_start_here/answers/right_neighbour.py").read_text()
    given = (tmp_path / "bank/00_start_here/right_neighbour.py").read_text()
    assert re.sub(", levels [01 ]+", "", kept) == given
    done = autograder("bank", "03", "--read", str(tmp_path / "own"))
    assert done.returncode == 2 and "no answers to 03; there are: 00_start_here" in done.stderr


@pytest.mark.parametrize(
    ("which", "there"), [("nothing", "00_start_here, 01_mpi_pi"), ("03/nothing", "ring_all_reduce")]
)
def test_a_bank_that_is_not_there_is_named(which, there):
    done = autograder("bank", which)
    assert done.returncode == 2 and f"no answers to {which}; there are: " in done.stderr and there in done.stderr


def test_the_environment_does_not_leak_into_ranks(warm, tmp_path):
    """A rank has no standard input, writes nothing to our terminal, and has no network address to talk to."""
    from autograder.judging.bank import try_file
    from autograder.registry import find

    (tmp_path / "curious.py").write_text(
        "import os, sys, socket\n"
        "def right_neighbour(rank, world_size):\n"
        "    assert sys.stdin is None or os.read(0, 1) == b''\n"
        "    os.write(1, b'NOISE')\n    os.write(2, b'NOISE')\n"
        "    assert not [f for f in os.listdir('/proc/self/fd') if 'socket' in os.readlink('/proc/self/fd/' + f)][1:]\n"
        "    return (rank + 1) % world_size\n"
    )
    assert os.path.exists("/proc/self/fd")
    result = try_file(find("right_neighbour"), tmp_path / "curious.py", warm)
    assert result.verdict in ("passed", "raised"), result.to_json()
    assert "AssertionError" not in result.diagnosis, result.cases[0].differs


def test_a_card_tells_one_cause_once():
    """The same exception on two and on four ranks; the same hang at the same line."""
    from autograder.judging.cards import text_card
    from autograder.verdict import CaseResult, LevelResult, Result

    def card(verdict, *rows):
        cases = [
            CaseResult(f"level {k}", f"case {k}", k, verdict, "name", [row], f"Why {row}", "How.")
            for k, row in enumerate(rows, 2)
        ]
        return text_card(
            Result("u", "f", "f", 2, [LevelResult(case.level, 1, 0, verdict, [case]) for case in cases], "")
        )

    assert (
        card("raised", "ranks 0 and 1: NameError: name 'x'", "ranks 0, 1 and 2: NameError: name 'x'").count("NameError")
        == 2
    )
    assert card("raised", "rank 0: NameError: name 'x'", "rank 0: NameError: name 'y'").count("NameError") == 4
    assert (
        card("hung", "rank 0  recv from 1   cell 7, line 3", "rank 0  recv from 2   cell 7, line 3").count("recv") == 2
    )
    assert (
        card("hung", "rank 0  recv from 1   cell 7, line 3", "rank 0  recv from 1   cell 7, line 4").count("recv") == 4
    )


@pytest.mark.parametrize("rows", [[], ["cell 3, line 2, in f: return x[9]"]])
@pytest.mark.parametrize("text", ["f() takes 0 positional arguments but 1 was given", "too bad.", ""])
def test_a_card_says_the_text_of_an_exception_once(rows, text):
    """Where a line of the student's is known, the sentence below names it and says the text once more."""
    from autograder.exercise import Case
    from autograder.judging.cards import html_card, text_card
    from autograder.judging.case import judge_case
    from autograder.registry import find
    from autograder.verdict import LevelResult, Result
    from labkit.relay.outcome import Outcome, RankOutcome

    ranks = [RankOutcome("raised", error={"type": "TypeError", "text": text, "rows": rows}) for _ in range(2)]
    case = judge_case(find("mean_over_ranks"), Case("all", 2, ()), Outcome(ranks, [], [], None, False), [])
    result = Result("u", "f", "f", 2, [LevelResult("all", 1, 0, "raised", [case])], "")
    for card in (text_card(result), html_card(result)):
        assert card.count("TypeError") == 1 + bool(rows)
        assert card.count(text) >= 1 + bool(rows)
    assert text_card(result, "differs").count("TypeError") == 1


def test_what_moved_is_said_with_its_case():
    from autograder.judging.cards import html_card, text_card
    from autograder.verdict import CaseResult, LevelResult, Result

    cases = [
        CaseResult("one", "n = 4", 2, "passed", moved="2 messages"),
        CaseResult("one", "n = 9", 3, "wrong", "x", moved="5 messages"),
    ]
    result = Result("u", "f", "f", 1, [LevelResult("one", 1, 0, "wrong", cases)], "")
    assert "5 messages (n = 9)" in text_card(result) and "5 messages (n = 9)" in html_card(result)
