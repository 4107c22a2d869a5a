"""Unit 21, puzzles: seven small pipelines, each with its own bottleneck, whose orders are written by hand or by a
program and scored by time and by memory.
"""

from __future__ import annotations

from autograder.exercises.readings.puzzles import PuzzleExercise, records_of

PARTS = {"forward": 1.0, "backward": 1.0, "weights": 1.0}
# With "W" to do, the rank that has sent a gradient works on while the next one begins.
WITH_PARTS = [mistake for mistake in PuzzleExercise.mistakes if mistake.name != "one_at_a_time"]


class TwoAlive(PuzzleExercise):
    """Memory for two"""

    signature = "two_alive() -> list[str]"
    most, enough, slots = 2, 54, 51
    mistakes = PuzzleExercise.mistakes


class ThreeAlive(PuzzleExercise):
    """Memory for three"""

    signature = "three_alive() -> list[str]"
    most, enough, slots = 3, 45, 39
    mistakes = PuzzleExercise.mistakes


class SlowStage(PuzzleExercise):
    """A slow stage"""

    signature = "slow_stage() -> list[str]"
    machine = {"forward": [1.0, 2.0, 1.0, 1.0], "backward": [2.0, 4.0, 2.0, 2.0]}
    most, enough, slots = 4, 54, 51
    mistakes = PuzzleExercise.mistakes


class SlowLinks(PuzzleExercise):
    """Slow links"""

    signature = "slow_links() -> list[str]"
    machine = {"hop": 1.0}
    most, enough, slots = 6, 49, 39
    mistakes = PuzzleExercise.mistakes


class ThreeParts(PuzzleExercise):
    """Weights later"""

    signature = "three_parts() -> list[str]"
    machine = PARTS
    most, enough, slots = 5, 30, 27
    mistakes = WITH_PARTS


class HeavyHead(PuzzleExercise):
    """A heavy head"""

    signature = "heavy_head() -> list[str]"
    machine = {part: [1.0, 1.0, 1.0, 2.0] for part in PARTS}
    most, enough, slots = 2, 57, 51
    mistakes = WITH_PARTS


class TwoChunks(PuzzleExercise):
    """Two chunks on each rank"""

    signature = "two_chunks() -> list[str]"
    machine = {"v": 2}
    most, enough, slots = 8, 60, 57
    mistakes = PuzzleExercise.mistakes


ROUND_TRIPS = "a micro-batch is back on rank 0 after 12 slots, and only then may another one begin in its place."
TwoAlive.records = records_of(TwoAlive, 7, ROUND_TRIPS)
ThreeAlive.records = records_of(ThreeAlive, 9, ROUND_TRIPS)
SlowStage.records = records_of(
    SlowStage, 11, "rank 1 begins after 1 slot, works for 48, and rank 0 needs 2 for the last backward pass."
)
SlowLinks.records = records_of(
    SlowLinks, 15, "the last rank begins after 3 forward passes and hops, works for 24, and 3 hops and passes follow."
)
ThreeParts.records = records_of(ThreeParts, 16, "the last rank begins after 3 slots and works for 24.")
HeavyHead.records = records_of(HeavyHead, 8, "the last rank begins after 3 slots and works for 48.")
TwoChunks.records = records_of(
    TwoChunks, 26, "the last rank begins after 3 slots, works for 48, and 3 backward passes of 2 slots follow."
)
