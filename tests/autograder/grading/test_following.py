"""One mistake costs once: where two exercises share a wrong helper, the second says so and a person decides; nothing is
given by itself, and a mistake of its own is nobody else's."""

from __future__ import annotations

import dataclasses
import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from submissions import as_bytes, cell_of, marks

from autograder.grading.submission import carding, rebuilding
from autograder.grading.submission.finishing import Terms, digest
from autograder.grading.submission.grades import Graded
from autograder.grading.submission.judging import judge
from autograder.grading.submission.reading import read
from autograder.judging.following import Judged, follows_from
from autograder.judging.judge import Runners
from autograder.verdict import CaseResult, LevelResult, Result
from labkit.cells.slicing import Chunk

UNIT = "03_collectives"
POINTS = {"sum_over_ranks": 4.0, "server_all_reduce": 6.0}
IN_PLACE = "def plus(total, part):\n    return total.add_(part)\n\n\n"
RIGHT = "def plus(total, part):\n    return total + part\n\n\n"
RAISES = "def plus(total, part):\n    return total + part.no_such_thing\n\n\n"
SUM = """def sum_over_ranks(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    total = x
    for rank, part in enumerate(parts):
        if rank != dist.get_rank():
            total = plus(total, part)
    return total
"""
SERVER = """def server_all_reduce(x):
    total, box = x, torch.empty_like(x)
    if dist.get_rank() > 0:
        dist.send(x, 0)
        dist.recv(box, 0)
        return box
    for other in range(1, dist.get_world_size()):
        dist.recv(box, other)
        total = plus(total, box)
    for other in range(1, dist.get_world_size()):
        dist.send(total, other)
    return total
"""
WRITTEN_OUT = {name: text.replace("plus(total, ", "total.add_(") for name, text in (("sum", SUM), ("server", SERVER))}


@pytest.fixture(scope="module")
def runners(warm):
    with Runners(warm) as one:
        yield one


def built(first: str, second: str, *added: str, setup: str = "") -> rebuilding.Rebuilt:
    """A notebook of two exercises, rebuilt. added: cells of the student's between the two; setup: given to everybody."""
    cells = [new_code_cell(f"import torch\nimport torch.distributed as dist\n\n\n{setup}", id="setup")]
    for name, points in POINTS.items():
        cells.append(new_code_cell("", id=name, metadata=marks(name, solution=True)))
        check = marks(f"check_{name}", grade=True, locked=True, points=points)
        cells.append(new_code_cell(f"check({name})", id=f"check_{name}", metadata=check))
    released = new_notebook(cells=cells)
    submitted = nbformat.from_dict(json.loads(json.dumps(released)))
    cell_of(submitted, "sum_over_ranks").source = first
    cell_of(submitted, "server_all_reduce").source = second
    submitted.cells[1:1] = [new_code_cell(source) for source in added]
    return rebuilding.rebuild(released, read(as_bytes(submitted)))


def told(graded: Graded) -> list[str]:
    return [flag.sentence for flag in graded.flags if flag.kind == "follows"]


def test_a_wrong_helper_of_two_exercises_is_named_and_its_points_are_a_persons_to_give(runners):
    graded = judge(built(IN_PLACE + SUM, SERVER), UNIT, runners)
    first, second = graded.items
    assert (first.diagnosis, second.diagnosis) == ("modifies_input", "modifies_input")
    assert (first.points, second.points) == (0, 0), "nothing is given by itself"
    assert (first.follows, second.follows) == ("", "sum_over_ranks")
    (sentence,) = told(graded)
    assert graded.needs_person and "follows from sum_over_ranks" in sentence
    assert "plus, which both use" in sentence and "earns 6 points in place of 0" in sentence
    for text in carding.card(second):
        assert "This follows from sum_over_ranks, if the mistake lies in plus" in text
    assert "follows" not in carding.card(first)[1]
    overview = carding.carded(built(IN_PLACE + SUM, SERVER), graded).cells[0].source
    assert "follows from sum_over_ranks" in overview.replace("\\", "")
    assert Graded.from_json(json.loads(json.dumps(graded.to_json()))).items[1].follows == "sum_over_ranks"


def test_an_exception_inside_of_the_helper_is_one_mistake(runners):
    graded = judge(built(RAISES + SUM, SERVER), UNIT, runners)
    assert [item.follows for item in graded.items] == ["", "sum_over_ranks"] and len(told(graded)) == 1


OWN_MISTAKES = {
    "the helper is right, the mistakes are two": (RIGHT + SUM.replace("total = x", "total = 2 * x"), SERVER[:-13] + ""),
    "the helper is right, and so is the first": (RIGHT + SUM, SERVER.replace("total, box = x,", "total, box = 2 * x,")),
    "one mistake made twice, no helper": (WRITTEN_OUT["sum"], WRITTEN_OUT["server"]),
    "the second does not use the helper": (IN_PLACE + SUM, WRITTEN_OUT["server"]),
    "an exception of its own": (
        RIGHT + SUM.replace("total = x", "total = x.no_such_thing"),
        SERVER.replace("total, box = x,", "total, box = x.no_such_thing,"),
    ),
}


@pytest.mark.parametrize("how", OWN_MISTAKES)
def test_a_mistake_of_its_own_follows_from_nothing(runners, how):
    graded = judge(built(*OWN_MISTAKES[how]), UNIT, runners)
    assert graded.items[1].verdict != "passed", "or there is nothing to excuse"
    assert not told(graded) and not any(item.follows for item in graded.items)


def test_where_the_helper_stands_earns_no_point(runners):
    """In a cell of one's own it is the student's helper all the same; one that everybody was given is nobody's mistake."""
    own = judge(built(SUM, SERVER, IN_PLACE), UNIT, runners)
    given = judge(built(SUM, SERVER, setup=IN_PLACE), UNIT, runners)
    assert [item.points for item in (*own.items, *given.items)] == [0, 0, 0, 0]
    assert len(told(own)) == 1 and not told(given)


def test_whose_the_helper_is_decides_what_is_kept():
    """A result that is kept for a helper of the student's is none for the same text in a cell that was given."""
    own, given = built(SUM, SERVER, IN_PLACE), built(SUM, SERVER, IN_PLACE)
    given.own.clear()
    terms = Terms(UNIT, "key", "how", "none")
    assert digest(own, terms) != digest(given, terms)


# -- by parts, nothing is run ------------------------------------------------------------------------------------------

HELPER = Chunk("cell 4", 1, "def order(m):\n    return m")


def judged(function: str, *cases: CaseResult, chunks: tuple[Chunk, ...] = (HELPER,)) -> Judged:
    levels = [LevelResult(case.level, 2, 2 * (case.verdict == "passed"), case.verdict, [case]) for case in cases]
    result = Result("17_pipeline", function, function, 2 * len(levels), levels)
    return Judged(function, result, (Chunk("cell 4", 5, f"def {function}():\n    order(1)"), *chunks))


def hung(level: str, line: int, kind: str = "returned_early") -> CaseResult:
    return CaseResult(
        level, "", 2, "hung", kind, [f"rank 0  recv from 1   cell 4, line {line}", "rank 1  has returned"]
    )


def wrong(level: str, name: str) -> CaseResult:
    return CaseResult(level, "", 2, "wrong", name, ["rank 0 returned 3"])


def test_points_are_those_of_the_levels_that_fail_in_the_same_way():
    cause = judged("gpipe", wrong("a", "sum_of_means"))
    found = follows_from(judged("one_f_one_b", wrong("a", "sum_of_means"), wrong("b", "holds_too_many")), [cause])
    assert (found.function, found.helpers, found.points) == ("gpipe", ("order",), 2)


@pytest.mark.parametrize("line, follows", [(2, True), (6, False)])
def test_a_hang_is_the_same_at_one_line_of_the_helper(line, follows):
    found = follows_from(judged("one_f_one_b", hung("a", line)), [judged("gpipe", hung("a", line))])
    assert bool(found) is follows


@pytest.mark.parametrize("name", ["unrecognised", "holds_too_many"])
def test_without_the_name_of_one_mistake_nothing_is_said(name):
    first = wrong("a", "unrecognised")
    assert follows_from(judged("one_f_one_b", wrong("a", name)), [judged("gpipe", first)]) is None


def test_an_exceptions_own_text_names_no_place():
    """Its last line is what the student's code says of itself."""
    lies = CaseResult("a", "", 2, "raised", "ValueError", ["cell 4, line 6, in gpipe", "ValueError: cell 4, line 2"])
    assert follows_from(judged("one_f_one_b", lies), [judged("gpipe", dataclasses.replace(lies))]) is None


@pytest.mark.parametrize("shared", [Chunk("cell 2", 1, "import torch"), Chunk("cell 2", 1, "SIZE = 4")])
def test_an_import_or_a_constant_is_no_helper(shared):
    both = (shared,)
    cause = judged("gpipe", wrong("a", "sum_of_means"), chunks=both)
    assert follows_from(judged("one_f_one_b", wrong("a", "sum_of_means"), chunks=both), [cause]) is None
