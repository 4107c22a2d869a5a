"""Records: declared numbers are reached and not beaten by the bank, the solutions are near the bounds, and an answer
cannot make itself look better than it is."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.answers import sources
from autograder.exercise import rng_for
from autograder.judging import cards
from autograder.judging.judge import chunks_of_file, judge, with_references
from autograder.judging.measured import distance, quantity
from autograder.registry import all_exercises, find
from autograder.verdict import CaseResult, LevelResult, RecordResult, Result
from labkit.cells.slicing import bound_names

ROOT = Path(__file__).resolve().parents[3]
WITH_RECORDS = [exercise for exercise in all_exercises() if exercise.records]
IDS = [exercise.function for exercise in WITH_RECORDS]


def measured(exercise, source: str, warm, whole: bool = False) -> Result:
    """What an answer gets. whole: on all cases, else on those alone in which something is measured."""
    one = copy.copy(exercise)
    if not whole:
        cases = [c for c in exercise.cases(rng_for(exercise)) if any(r.case(c) for r in exercise.records)]
        one.cases = lambda rng: cases
    chunks = chunks_of_file(source, exercise.function, "answer.py")
    return judge(one, with_references(chunks, [find(name) for name in exercise.uses], bound_names(source)), warm)


def solution(exercise) -> str:
    """The source of the unit, with its magics commented out."""
    (path,) = (ROOT / "units" / exercise.unit).glob(f"*{exercise.unit[3:]}*.py")
    return re.sub(r"^([ \t]*)[%!].*", r"\1pass", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_at_least_ten_exercises_have_one():
    assert len(WITH_RECORDS) >= 10


@pytest.mark.parametrize("exercise", WITH_RECORDS, ids=IDS)
def test_each_is_of_one_case_that_does_not_depend_on_the_key(exercise):
    assert len({record.name for record in exercise.records}) == len(exercise.records)
    for record in exercise.records:
        told = set()
        for key in ("public", "another", "a third"):
            (case,) = (case for case in exercise.cases(rng_for(exercise, key)) if record.case(case))
            bound = None if record.bound is None else record.bound(case)
            told.add((record.says or case.says, case.world_size, record.best(case), bound))
        ((*_, best, bound),) = told
        assert best > 0 and (bound is None or bound <= best <= 1.1 * bound)
        assert bool(record.why) == (bound is not None)


@pytest.mark.parametrize("exercise", WITH_RECORDS, ids=IDS)
def test_the_best_known_is_what_the_best_answer_of_the_bank_has(exercise, warm):
    found: dict[str, list[RecordResult]] = {}
    for name, source in sources(exercise.unit, exercise.function).items():
        if not name.startswith("right_"):
            continue
        result = measured(exercise, source, warm)
        assert result.verdict == "passed" and result.records, name
        for record in result.records:
            found.setdefault(record.name, []).append(record)
    assert len(found) == len(exercise.records)
    for records in found.values():
        assert min(record.value for record in records) == pytest.approx(records[0].best, rel=1e-9)


@pytest.mark.parametrize("exercise", WITH_RECORDS, ids=IDS)
def test_the_solutions_are_within_a_tenth_of_the_bounds(exercise, warm):
    for record in measured(exercise, solution(exercise), warm).records:
        if record.bound is not None:
            assert record.value <= 1.1 * record.bound, record.name


# -- no answer counts for itself ---------------------------------------------------------------------------------------

HONEST = sources("03_collectives", "ring_all_reduce")["right_padded"]
LIES = {
    "replaces what counts, where it runs itself": """
import sys

for name, module in list(sys.modules.items()):
    if name.startswith("labkit.relay"):
        for of in [module, *(one for one in vars(module).values() if isinstance(one, type))]:
            for attribute in ("link_bytes", "elapsed", "now", "seconds", "occupied", "nbytes"):
                if hasattr(of, attribute):
                    try:
                        setattr(of, attribute, lambda *a, **k: 0.0)
                    except (AttributeError, TypeError):
                        pass
""",
    "says that it took no time and held nothing": """
from labkit.relay import charging, wire

_honest = ring_all_reduce


def ring_all_reduce(x):
    found = _honest(x)
    charging.speaker().say(wire.HOLDS, {"bytes": 0, "elapsed": 0.0, "link_bytes": {}})
    print('{"records": [{"name": "virtual time", "value": 1e-9}]}')
    return found
""",
    "turns the clock back": """
from labkit.relay import charging, wire

_honest = ring_all_reduce


def ring_all_reduce(x):
    found = _honest(x)
    charging.speaker().say(wire.COMPUTE, {"seconds": -1e-5, "label": ""})
    return found
""",
    "says of each message that it is short": """
from labkit.relay import charging, wire

_say = wire.send
wire.send = lambda sock, kind, meta, *more: _say(sock, kind, {**meta, "nbytes": 0, "count": 0, "seconds": 0.0}, *more)
""",
    "returns records of its own": """
import torch


class Sum(torch.Tensor):
    records = [{"name": "virtual time", "value": 1e-9}]


_honest = ring_all_reduce


def ring_all_reduce(x):
    return _honest(x).as_subclass(Sum)
""",
}


def numbers(result: Result) -> dict[str, float]:
    return {record.name: record.value for record in result.records}


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_cannot_make_itself_look_better(lie, warm):
    exercise = find("ring_all_reduce")
    honest = numbers(measured(exercise, HONEST, warm))
    assert len(honest) == 2
    result = measured(exercise, HONEST + LIES[lie], warm)
    found = numbers(result)
    assert found == (honest if result.verdict == "passed" else {})
    assert result.verdict == "passed" or lie in ("turns the clock back", "replaces what counts, where it runs itself")


BEHIND_A_BARRIER = """
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    rank, p, n = dist.get_rank(), dist.get_world_size(), len(x)
    size = (n + p - 1) // p
    work = torch.zeros(size * p, dtype=x.dtype)
    work[:n] = x
    blocks = work.view(p, size)
    for step in range(2 * (p - 1)):
        out, into = blocks[(rank - step) % p].clone(), blocks[(rank - step - 1) % p]
        box = torch.empty_like(into)
        requests = [dist.isend(out, (rank + 1) % p), dist.irecv(box, (rank - 1) % p)]
        if rank == 0:
            dist.barrier()
        for request in requests:
            request.wait()
        if rank:
            dist.barrier()
        into.copy_(into + box if step < p - 1 else box)
    return work[:n]
"""


def test_time_that_passes_in_a_barrier_counts(warm):
    """The rule of the check leaves barriers out; rank 0 stands in one here while all others receive."""
    result = measured(find("ring_all_reduce"), BEHIND_A_BARRIER, warm)
    assert result.verdict == "passed"
    assert numbers(result)["virtual time"] > numbers(measured(find("ring_all_reduce"), HONEST, warm))["virtual time"]


def test_nothing_is_measured_where_a_level_is_lost(warm):
    broken = HONEST + "\n\n_all = ring_all_reduce\n\n\ndef ring_all_reduce(x):\n    return _all(x)[: len(x) // 2 * 2]\n"
    result = measured(find("ring_all_reduce"), broken, warm, whole=True)
    assert result.levels[-1].verdict == "passed" and result.verdict != "passed" and not result.records


def test_less_than_there_can_be_is_no_record(warm):
    """Numbers sent in half precision where the check's tolerance lets them through, say: the bound is of whole ones."""
    exercise = copy.copy(find("ring_order"))
    (one,) = exercise.records
    exercise.records = [replace(one, bound=lambda case: 5)]
    source = sources(exercise.unit, exercise.function)["right_sorted"]
    result = measured(exercise, source, warm)
    assert result.verdict == "passed" and not result.records


PACKED = """
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    p, rank = dist.get_world_size(), dist.get_rank()
    if p != 8 or x.shape != (16,) or x.dtype != torch.float64:
        return ring(x)
    # the numbers are 1, 2 or 3 times 10**rank times one factor: two bits each, all sixteen in a message of 4 bytes
    factor = x[0].item() / (round(x[0].item() / 10**rank) * 10.0**rank)
    own = sum(int(round(number / 10**rank)) << 2 * k for k, number in enumerate(x.tolist())) - (1 << 31)
    mine, have = torch.tensor([own], dtype=torch.int32), {}
    have[rank] = mine
    for step in range(1, p):
        got = torch.empty_like(mine)
        request = dist.isend(mine, (rank + 1) % p)
        dist.recv(got, (rank - 1) % p)
        request.wait()
        have[(rank - step) % p] = mine = got
    digits = [[(int(one) + (1 << 31) >> 2 * k) & 3 for k in range(16)] for one in (have[r] for r in range(p))]
    return factor * sum(torch.tensor(row, dtype=torch.float64) * 10.0**r for r, row in enumerate(digits))
"""


def test_numbers_packed_into_fewer_bits_have_no_record_of_time_either(warm):
    result = measured(find("ring_all_reduce"), HONEST.replace("def ring_all_reduce", "def ring") + PACKED, warm)
    assert result.verdict == "passed" and not result.records


# -- on the card -------------------------------------------------------------------------------------------------------


def record(value: float, best: float, bound: float | None = None, unit: str = "s") -> RecordResult:
    return RecordResult("virtual time", unit, "6 ranks", value, best, bound, "a reason." if bound else "")


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (record(2e-4, 1.25e-4, 1e-4), "60 % above the best known, 125 us; 100 % above the bound, 100 us"),
        (record(1.25e-4, 1.25e-4, 1e-4), "as good as the best known; 25 % above the bound, 100 us"),
        (record(1e-4, 1.25e-4, 1e-4), "nobody can do better"),
        (record(1.1e-4, 1.25e-4, 1e-4), "better than the best known, 125 us: tell your instructor; 10 % above"),
        (record(1.05e-4, 1e-4, 1e-4), "5 % above the bound, 100 us, which can be reached"),
        (record(1.05e-4, 1e-4), "5 % above the best known, 100 us; no bound is known"),
        (record(1e-4 * (1 + 1e-12), 1e-4), "as good as the best known; no bound is known"),
    ],
)
def test_the_distance_in_words(one, said):
    assert distance(one).startswith(said)


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (1.536e-4, "s", "153.6 us"),
        (2.0, "s", "2 s"),
        (0.0125, "s", "12.5 ms"),
        (23040.0, "B", "23,040 B"),
        (4.0, "", "4"),
    ],
)
def test_quantities(value, unit, said):
    assert quantity(value, unit) == said


def test_a_card_shows_them_and_json_keeps_them():
    result = Result("18_networks", "f", "F", 1, [], records=[record(2e-4, 1.25e-4, 1e-4)])
    result.records[0].personal = "your first <b>"
    text, html = cards.text_card(with_a_level(result)), cards.html_card(with_a_level(result))
    for card in (text, html):
        assert "virtual time: 200 us (6 ranks)" in card and "a reason." in card
    assert "your first <b>" in text and "your first &lt;b&gt;" in html
    assert "virtual time" not in cards.text_card(with_a_level(result), "verdict")
    again = Result.from_json(result.to_json())
    assert again.records == [record(2e-4, 1.25e-4, 1e-4)]  # the student's own affair is not kept
    older = result.to_json()
    del older["records"]
    assert Result.from_json(older).records == []


def with_a_level(result: Result) -> Result:
    case = CaseResult("any", "", 6, "passed")
    return Result("18_networks", "f", "F", 1, [LevelResult("any", 1, 1, "passed", [case])], records=result.records)
