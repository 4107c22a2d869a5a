"""Known mistakes in the numbers of a table: what each would give for rates, speedups and efficiencies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise

from autograder.homework.scaling.measured import MAIN, ScalingLogs, Speed, images_of

# name -> (what it gives for each size, in each way to compute; the lesson)
Mistakes = dict[str, tuple[list[dict[int, float]], str]]

LOGARITHM = "This is a logarithm of it. A logarithmic axis shows the numbers themselves; a table has no axis."


def _rates(speeds: Mapping[int, Speed]) -> list[dict[int, float]]:
    """size -> images per second, in each of the usual ways to compute them."""
    return [
        {p: found.rates[way] for p, found in speeds.items()}
        for way in MAIN
        if all(way in s.rates for s in speeds.values())
    ]


def _each(ways: list[dict[int, float]], change: Callable[[int, float], float]) -> list[dict[int, float]]:
    return [{p: change(p, value) for p, value in way.items()} for way in ways]


def rate_mistakes(runs: ScalingLogs, speeds: Mapping[int, Speed]) -> Mistakes:
    """The throughputs that known mistakes give."""
    rates = _rates(speeds)
    batches = {p: runs.usable[p].global_batch_size or math.nan for p in speeds}
    images = {p: images_of(runs.usable[p]) for p in speeds}
    return {
        "rate_of_one_rank": (
            _each(rates, lambda p, r: r / p),
            "That is what one rank does: throughput counts the images of all ranks together.",
        ),
        "multiplied_twice": (
            _each(rates, lambda p, r: r * p),
            "The samples of all ranks were multiplied by the number of ranks once more.",
        ),
        "seconds_not_rate": (
            _each(rates, lambda p, r: images[p] / r),
            "These are seconds for an epoch: divide the images of an epoch by them.",
        ),
        "logarithm": (_logarithms(rates), LOGARITHM),
        "steps_not_images": (
            _each(rates, lambda p, r: r / batches[p]),
            "These are steps per second: a step on p ranks has p times the local batch in it.",
        ),
    }


def _logarithms(ways: list[dict[int, float]]) -> list[dict[int, float]]:
    return [
        {p: math.log(value) / math.log(of) for p, value in way.items() if value > 0}
        for way in ways
        for of in (2.0, math.e, 10.0)
    ]


def speedup_mistakes(runs: ScalingLogs, speeds: Mapping[int, Speed], base: int) -> Mistakes:
    """The speedups over `base` ranks that known mistakes give."""
    rates = _rates(speeds)
    images = {p: images_of(runs.usable[p]) for p in speeds}
    gains = [{p: r / way[base] * base for p, r in way.items()} for way in rates]
    # A run over itself is 1 and says nothing, but who takes the run on 2 ranks as the baseline writes it down.
    others = [
        {p: r / way[q] * of for p, r in way.items() if p != q or q == 2}
        for way in rates
        for q in way
        if q != base
        for of in (q, 1)
    ]
    steps = [{q: way[q] / way[p] for p, q in pairwise(sorted(way))} for way in rates]
    return {
        "inverse_speedup": (
            _each(gains, lambda p, s: 1 / s),
            "The ratio is upside down: speedup is time on 1 rank / time on p ranks.",
        ),
        "divided_by_ranks": (
            _each(gains, lambda p, s: s / p),
            "This is the efficiency: the speedup is not divided by p.",
        ),
        "multiplied_by_ranks": (
            _each(gains, lambda p, s: s * p),
            "The ratio of total throughputs is the speedup already: do not multiply it by the number of ranks.",
        ),
        "other_baseline": (others + steps, "The baseline of every speedup is the run on 1 rank."),
        "logarithm": (_logarithms(gains), LOGARITHM),
        "seconds_not_speedup": (
            _each(rates, lambda p, r: images[p] / r),
            "These are seconds for an epoch: speedup is the time on 1 rank over the time on p ranks, a number without"
            " a unit.",
        ),
        "rate_not_speedup": (rates, "These are images per second: divide them by those of 1 rank."),
    }


def efficiency_mistakes(speeds: Mapping[int, Speed], base: int) -> Mistakes:
    """The efficiencies over `base` ranks that known mistakes give."""
    shares = [{p: r / way[base] * base / p for p, r in way.items()} for way in _rates(speeds)]
    return {
        "not_divided": (_each(shares, lambda p, e: e * p), "This is the speedup: divide it by the number of ranks."),
        "logarithm": (
            _logarithms([{p: e * p for p, e in way.items()} for way in shares])
            + [{p: math.log(e * p) / math.log(p) for p, e in way.items() if p > 1} for way in shares]
            + [{p: math.log2(e * p) / p for p, e in way.items()} for way in shares],
            LOGARITHM,
        ),
        "divided_twice": (_each(shares, lambda p, e: e / p), "The speedup was divided by the number of ranks twice."),
        "inverse_efficiency": (
            _each(shares, lambda p, e: 1 / e),
            "The ratio is upside down: efficiency is speedup / ranks.",
        ),
        "complement": (
            _each(shares, lambda p, e: 1 - e),
            "This is what was lost: efficiency is what is left of a perfect speedup.",
        ),
    }
