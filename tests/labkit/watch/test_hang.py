"""Verdicts on ranks that do not move, from their states alone."""

from __future__ import annotations

import pytest

from labkit.watch import hang
from labkit.watch.events import RankState
from labkit.watch.hang import KINDS, RULES, describe, explain


def wait(rank, kind, peer=None, **more):
    return RankState(rank, "waiting", kind, peer, line=f"cell 1, line {rank + 1}", **more)


def done(rank):
    return RankState(rank, "returned")


def runs(rank, kind="", **more):
    return RankState(rank, "running", kind, **more)


@pytest.mark.parametrize(
    ("states", "kind", "words"),
    [
        ([wait(0, "recv", 1), wait(1, "recv", 0)], "deadlock", "(0 -> 1 -> 0)"),
        ([wait(0, "recv", 2), wait(1, "recv", 0), wait(2, "recv", 1)], "deadlock", "(0 -> 2 -> 1 -> 0)"),
        ([wait(0, "Send", 1), wait(1, "Ssend", 0)], "unsafe_send", "All of them wait in a send"),
        ([wait(0, "send", 1), wait(1, "send", 2), wait(2, "recv", 0)], "deadlock", "They wait for each other"),
        ([wait(0, "recv", 1, tag=1), wait(1, "send", 0, tag=2)], "mismatched_tag", "tag 1, but rank 1 uses tag 2"),
        ([wait(0, "recv", 1), done(1)], "returned_early", "Rank 1 has returned"),
        ([wait(0, "recv"), done(1), done(2)], "returned_early", "nobody is left to send one"),
        ([wait(0, "all_reduce"), done(1), done(2)], "missing_rank", "ranks 1 and 2: they have returned"),
        ([wait(0, "barrier"), wait(1, "recv", 0)], "missing_rank", "it is somewhere else"),
        ([wait(0, "barrier"), wait(1, "all_reduce")], "mismatched_collective", "rank 1 called all_reduce"),
        ([wait(0, "bcast", 0), wait(1, "bcast", 1)], "mismatched_collective", "different roots"),
        ([wait(0, "all_reduce", shape=(2,)), wait(1, "all_reduce", shape=(3,))], "mismatched_shape", "rank 1: [3]"),
        (
            [wait(0, "all_reduce", dtype="int64"), wait(1, "all_reduce", dtype="float32")],
            "mismatched_dtype",
            "float32, int64",
        ),
        (
            [wait(0, "barrier"), RankState(1, "dead", detail="SIGKILL")],
            "rank_died",
            "Rank 1 is dead, while rank 0 waits",
        ),
        (
            [wait(0, "barrier"), RankState(1, "raised", detail="ValueError: no")],
            "raised",
            "Rank 1 raised ValueError: no",
        ),
        ([wait(0, "recv", 1), runs(1)], "busy", "rank 1 is still running"),
        ([wait(0, "barrier"), runs(1)], "busy", "rank 1 is still running and has not called it yet"),
        ([wait(0, "barrier"), runs(1), runs(2)], "busy", "ranks 1 and 2 are still running and have not called it"),
        ([runs(0), runs(1)], "busy", "outside communication"),
        ([runs(0, "Irecv", peer=1, detail="polled 90 times"), done(1)], "endless_poll", "Rank 0 polls"),
        ([runs(0, "irecv", peer=1), wait(1, "recv", 0)], "endless_poll", "nobody else is doing anything"),
        ([runs(0, "irecv", peer=1), runs(1)], "busy", ""),
        ([wait(0, "recv", 1), wait(1, "recv", 0), runs(2)], "deadlock", "(0 -> 1 -> 0)"),
    ],
)
def test_the_verdict(states, kind, words):
    report = explain(states)
    assert report.kind == kind and words in report.sentence
    assert kind not in KINDS or KINDS[kind] in report.sentence
    assert len(report.rows) == len(states)


RING = [wait(0, "recv", 1), wait(1, "recv", 0)]
ALONE = {  # rule -> states that it has something to say of, and states of which it has not
    hang.mismatched_tag: (
        [wait(0, "recv", 1, tag=1), wait(1, "send", 0, tag=2)],
        [wait(0, "recv", 1), wait(1, "send", 0)],
    ),
    hang.returned_early: ([wait(0, "send", 1), done(1)], [wait(0, "recv"), done(1)]),
    hang.nobody_left_to_send: ([wait(0, "recv"), wait(1, "recv"), done(2)], [wait(0, "recv"), wait(1, "recv")]),
    hang.still_running: ([wait(0, "recv", 1), runs(1)], [*RING, runs(2)]),
    hang.unsafe_send: ([wait(0, "send", 0)], RING),
    hang.deadlock: (RING, None),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_says_what_it_knows_and_nothing_else(rule):
    def said(states):
        return rule({s.rank: s for s in states}, [s for s in states if s.state == "waiting"])

    known, unknown = ALONE[rule]
    kind, sentence = said(known)
    assert explain(known).sentence.startswith(sentence) and explain(known).kind == kind
    assert unknown is None or said(unknown) is None


def test_the_first_rule_speaks():
    """Rank 1 has returned, and ranks 0 and 2 wait in a circle, and rank 3 runs."""
    states = [wait(0, "send", 2), wait(2, "send", 0), runs(3)]
    assert explain(states).kind == "unsafe_send"
    assert explain([*states, wait(4, "recv", 1), done(1)]).kind == "returned_early"
    assert (
        explain([wait(0, "recv", 2, tag=1), wait(2, "send", 0, tag=3), wait(4, "recv", 1), done(1)]).kind
        == "mismatched_tag"
    )


def test_rows_say_what_is_waited_for_and_where():
    assert (
        describe(wait(0, "recv", 3, tag=7, dtype="float32", shape=(2, 3)))
        == "rank 0  recv from 3, tag 7, float32[2, 3]   cell 1, line 1"
    )
    assert describe(wait(2, "broadcast", 1, group=(1, 2))) == "rank 2  broadcast, root 1, group [1, 2]   cell 1, line 3"
    assert describe(runs(1, "Irecv", peer=0)) == "rank 1  polls Irecv from 0"
    assert describe(done(1)) == "rank 1  has returned"


def test_nothing_to_explain():
    with pytest.raises(ValueError, match="no rank waits"):
        explain([done(0), done(1)])
