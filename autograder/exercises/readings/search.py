"""Searches for unit 14's exercises in plain Python and numpy, each also with one thing done otherwise."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np

# -- configurations ----------------------------------------------------------------------------------------------------

SPACE = {
    "lr": ["log", 1e-6, 1.0],
    "momentum": ["uniform", 0.0, 0.95],
    "layers": ["int", 1, 4],
    "activation": ["choice", ["relu", "tanh", "gelu"]],
}


def is_in(space: dict, configuration: Any) -> bool:
    """True if it has a value for every name of the space, and each where it may be."""
    if not isinstance(configuration, dict) or set(configuration) != set(space):
        return False
    for name, (kind, *limits) in space.items():
        value = configuration[name]
        if kind == "choice":
            fits = value in limits[0]
        elif kind == "int":
            fits = type(value) is int and limits[0] <= value <= limits[1]
        else:
            fits = type(value) is float and limits[0] <= value <= limits[1]
        if not fits:
            return False
    return True


def counted(configurations: list[dict]) -> Counter:
    """The number of times that each occurs."""
    return Counter(repr(sorted(one.items())) for one in configurations)


def shape_of_draws(configurations: list[dict]) -> str | None:
    """The mistake in the distribution of many configurations from `SPACE`: the name of a mistake, or None. The
    limits lie four standard deviations or more from what is right.
    """
    rates = np.array([one["lr"] for one in configurations])
    momenta = np.array([one["momentum"] for one in configurations])
    layers = Counter(one["layers"] for one in configurations)
    low, high = SPACE["lr"][1:]
    n = len(configurations)
    if min(len(set(one.tolist())) for one in (rates, momenta)) < 0.9 * n:
        return "few_values"
    if np.mean(rates < math.sqrt(low * high)) < 0.3:
        return "linear_draw_for_a_rate"
    if abs(np.corrcoef(np.log(rates), momenta)[0, 1]) > 0.5:
        return "parameters_move_together"
    if not layers[4]:
        return "never_the_upper_end"
    places = np.log(rates / low) / math.log(high / low), momenta / SPACE["momentum"][2]
    if any(max(one.min(), 1 - one.max()) > 0.03 for one in places) or len(layers) < 4:
        return "not_the_whole_range"
    if layers[1] + layers[4] < 0.415 * n:
        return "ends_too_rare"
    return _how_often(configurations, places) or _together(configurations, places)


def _how_often(configurations: list[dict], places: tuple[np.ndarray, np.ndarray]) -> str | None:
    """True if each value of a choice and each part of a range comes as often as it should; within a power of ten, too.
    By luck they do not once in a million times."""
    n = len(configurations)
    within = np.mod(places[0] * math.log10(SPACE["lr"][2] / SPACE["lr"][1]), 1.0)
    for one in (*places, within):
        if np.abs(np.sort(one) - (np.arange(n) + 0.5) / n).max() > 2.7 / math.sqrt(n):
            return "not_evenly"
    for name, values in (("layers", range(1, 5)), ("activation", SPACE["activation"][1])):
        often, wanted = Counter(one[name] for one in configurations), n / len(values)
        if sum((often[value] - wanted) ** 2 / wanted for value in values) > 34:
            return "not_evenly"
    return None


def _together(configurations: list[dict], places: tuple[np.ndarray, np.ndarray]) -> str | None:
    """True if knowing one value tells something about another: chi square of each pair, in four parts each."""
    parts = [np.minimum((4 * one).astype(int), 3) for one in places]
    parts.append(np.array([one["layers"] - 1 for one in configurations]))
    parts.append(np.array([SPACE["activation"][1].index(one["activation"]) for one in configurations]))
    for one, other in combinations(parts, 2):
        table = np.zeros((4, 4))
        np.add.at(table, (one, other), 1)
        wanted = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / len(one)
        if ((table - wanted) ** 2 / np.maximum(wanted, 1e-9)).sum() > 55:
            return "parameters_move_together"
    return None


# -- halving -----------------------------------------------------------------------------------------------------------


def order_of(losses: dict[int, float]) -> list[int]:
    """Configurations from the best to the worst: nan last, of equal losses the smaller number first."""
    return sorted(losses, key=lambda i: (math.isnan(losses[i]), 0.0 if math.isnan(losses[i]) else losses[i], i))


def halving(c, slip: str = "") -> list[list[int]]:
    """The configurations of each rung, the best first. c: curves (n, R + 1), r, R, eta."""
    n, eta = len(c.curves), 2 if slip == "halves" else c.eta
    alive, rungs, k, best = list(range(n)), [], 0, {i: math.inf for i in range(n)}
    while c.r * c.eta**k <= c.R and (n // eta**k >= 1 or slip == "rounds_up"):
        epochs = c.r * (k + 1) if slip == "equal_epochs" else c.r * c.eta**k
        epochs -= c.r * c.eta ** (k - 1) if slip == "new_epochs" and k else 0
        losses = {i: float(c.curves[i][epochs]) for i in alive}
        if slip == "best_so_far":
            best |= {i: min(best[i], loss) for i, loss in losses.items()}
            losses = {i: best[i] for i in losses}
        ordered = order_of(losses)
        if slip == "keeps_the_worst":
            ordered = ordered[::-1]
        diverged = sorted(i for i in ordered if math.isnan(losses[i]))  # in any order, so in that of their numbers
        shown = [i for i in ordered if i not in diverged]
        shown = diverged + shown if slip == "keeps_the_worst" else shown + diverged
        ordered = shown if slip == "keeps_the_worst" else ordered  # any of the diverged go on: the first ones
        rungs.append({"not_in_order": sorted(ordered), "order_of_training": alive}.get(slip, shown))
        k += 1
        alive = ordered[: max(1, math.ceil(len(ordered) / eta)) if slip == "rounds_up" else n // eta**k]
    return rungs[:-1] if slip == "stops_before_R" else rungs


def s_max_of(R: int, eta: int) -> int:
    """The largest s with eta^s <= R."""
    s = 0
    while eta ** (s + 1) <= R:
        s += 1
    return s


def brackets(R: int, eta: int, slip: str = "") -> list[list[tuple]]:
    """Hyperband's table: for s from the largest to 0 a list of (configurations, epochs)."""
    top = s_max_of(R, eta)
    if slip in ("float_logarithm", "logarithm_with_slack"):
        top = int(math.log(R) / math.log(eta) + (1e-9 if slip == "logarithm_with_slack" else 0.0))
    elif slip == "strictly_below":
        top = s_max_of(max(1, R - 1), eta)
    table = []
    for s in range(top, -1, -1):
        n = (top + 1) // (s + 1) * eta**s
        if slip == "the_formula_of_line_2":
            n = -(-(top + 1) * eta**s // (s + 1))
        elif slip == "floor_of_the_product":
            n = (top + 1) * eta**s // (s + 1)
        elif slip == "eta_to_the_s":
            n = eta**s
        rows = [(n // eta**i, R // eta ** (s - i)) for i in range(s + 1)]
        if slip == "fractions_of_epochs":
            rows = [(n // eta**i, R / eta ** (s - i)) for i in range(s + 1)]
        elif slip == "rounded_on_the_way":
            rows = [(n // eta**i, int(R * float(eta) ** -s * eta**i)) for i in range(s + 1)]
        elif slip == "nearest_epoch":
            rows = [(n // eta**i, round(R / eta ** (s - i))) for i in range(s + 1)]
        elif slip == "multiples_of_the_first_rung":
            rows = [(n // eta**i, R // eta**s * eta**i) for i in range(s + 1)]
        elif slip == "powers_for_epochs":
            rows = [(n // eta**i, eta**i * eta ** (top - s)) for i in range(s + 1)]
        table.append(rows)
    if slip == "no_random_search":
        return table[:-1]
    return table[::-1] if slip == "last_bracket_first" else table


def asha(c, slip: str = "") -> tuple[int, int] | None:
    """The job that an idle worker gets. c: finished (per rung a dict of losses), started (per rung a list), n, eta."""
    top = len(c.started) - 1
    rungs = range(top) if slip == "lowest_rung_first" else range(top - 1, -1, -1)
    if slip == "new_ones_first" and len(c.started[0]) < c.n:
        return len(c.started[0]), 0
    for k in rungs:
        losses = c.finished[k]
        if slip == "diverged_do_not_count":
            losses = {i: loss for i, loss in losses.items() if not math.isnan(loss)}
        counted = len(c.started[k]) if slip == "counts_those_that_run" else len(losses)
        room = -(-counted // c.eta) if slip == "rounds_up" else counted // c.eta
        if slip == "waits_for_the_rung" and len(losses) < len(c.started[k]):
            continue
        ordered = order_of(losses)
        if slip == "promotes_the_worst":
            ordered = ordered[::-1]
        elif slip == "last_of_equals":
            ordered = sorted(ordered, key=lambda i: (losses[i], -i))
        elif slip == "nan_goes_up":
            ordered = sorted(losses, key=losses.get)
        elif slip == "nan_in_the_way":
            ordered = sorted(losses, key=lambda i: (losses[i], i))
        gone = [] if slip == "promotes_twice" else c.finished[k + 1] if slip == "while_it_runs" else c.started[k + 1]
        if slip == "next_best":  # the room is for those that have not gone up
            free = [i for i in ordered if i not in gone][:room]
        else:
            free = [i for i in ordered[:room] if i not in gone]
        if slip == "looks_at_the_best_alone":
            free = [i for i in ordered[: min(1, room)] if i not in gone]
        if slip not in ("nan_goes_up", "nan_is_last_and_goes_up"):
            worst = math.isnan if slip != "inf_is_no_loss" else lambda loss: not math.isfinite(loss)
            free = [i for i in free if not worst(losses[i])]
        if free:
            return free[0], k + 1
    new = len(c.started[0])
    return (new, 0) if new < c.n or slip == "past_the_last" else None


def any_state(
    rng: np.random.Generator, n: int, diverged: int = 0, equal: bool = False, all_begun: bool = False
) -> dict:
    """The trials started and finished on three rungs at some moment of a search with eta = 3; losses as
    pairs. diverged: so many of the first have the loss nan. equal: whether the two best of the first rung are equal.
    all_begun: whether no new configuration is left.
    """

    def some(of, least=0):
        return rng.permutation(of)[: rng.integers(min(least, len(of)), len(of) + 1)].tolist()

    def scored(which):
        return {int(i): float(loss) for i, loss in zip(which, rng.uniform(0.1, 2, len(which)), strict=True)}

    started = [list(range(n if all_begun else int(rng.integers(min(5, n), n + 1))))]
    finished = [scored(sorted(some(started[0], 5)) if diverged else some(started[0], 5))]
    finished[0] |= dict.fromkeys([i for i in finished[0] if i < diverged], math.nan)
    if equal:
        first, second = order_of(finished[0])[:2]
        finished[0][second] = finished[0][first]
    for k in range(2):
        best = order_of(finished[k])[: len(finished[k]) // 3 + 2]
        started.append(some([i for i in best if not math.isnan(finished[k][i])]))
        finished.append(scored(some(started[-1])))
    return {"finished": [[list(pair) for pair in rung.items()] for rung in finished], "started": started}


def with_other_losses(rng: np.random.Generator, known: dict, relabel: bool) -> dict:
    """The same moment of a search with other losses in the same order, and other numbers for the configurations."""
    started, finished = known["started"], known["finished"]
    m = len(started[0])
    to = rng.permutation(m).tolist() if relabel else list(range(m))
    others = []
    for rung in finished:
        order = sorted({loss for _, loss in rung if not math.isnan(loss)})
        new = dict(zip(order, np.sort(rng.uniform(0.1, 2, len(order))).tolist(), strict=True))
        others.append([[to[i], new.get(loss, math.nan)] for i, loss in rung])
    return {"finished": others, "started": [started[0], *([to[i] for i in rung] for rung in started[1:])]}


# -- manager and workers -----------------------------------------------------------------------------------------------


def greedy(seconds: list[float], after: list[int], workers: int) -> list[float]:
    """The time at which each job is done if no worker idles while a job may begin; of several the first begins first.

    after[j]: the job that must be done before j may begin, or -1.
    """
    done: list[float | None] = [None] * len(seconds)
    left, running, idle, now = list(range(len(seconds))), [], workers, 0.0
    while left or running:
        ready = next((j for j in left if after[j] < 0 or done[after[j]] is not None), None)
        if idle and ready is not None:
            left.remove(ready)
            heapq.heappush(running, (now + seconds[ready], ready))
            idle -= 1
            continue
        now, j = heapq.heappop(running)
        done[j] = now
        idle += 1
    return [one for one in done if one is not None]


# -- the spectral method -----------------------------------------------------------------------------------------------


def products(x: np.ndarray, degree: int, first: int = 0) -> tuple[list[tuple], np.ndarray]:
    """All sets of at most `degree` columns, and the product of each, one column for each set."""
    sets = [s for d in range(first, degree + 1) for s in combinations(range(x.shape[1]), d)]
    return sets, np.stack([x[:, list(s)].prod(axis=1) for s in sets], axis=1)


def spectral(c, slip: str = "") -> list[list]:
    """[set, coefficient] of the s largest, largest first. c: x (m, n), y (m,), degree, s."""
    degree = {"single_choices_only": 1, "degree_left_out": c.degree - 1}.get(slip, c.degree)
    sets, table = products(c.x, degree, slip == "no_constant")
    means = table.T @ c.y / len(c.y)
    size = means if slip in ("largest_not_in_magnitude", "signs_count") else np.abs(means)
    if slip == "constant_always":
        size[0] = np.inf
    chosen = np.argsort(-size, kind="stable")[: c.s]
    if slip == "not_fitted_again":
        found = means[chosen]
    elif slip == "fitted_with_all":
        found = np.linalg.lstsq(table, c.y, rcond=None)[0]
        chosen = np.argsort(-np.abs(found), kind="stable")[: c.s]
        found = found[chosen]
    elif slip == "fitted_with_a_constant":
        found = np.linalg.lstsq(table[:, [*chosen, *({0} - {*chosen})]], c.y, rcond=None)[0][: len(chosen)]
    else:
        found = np.linalg.lstsq(table[:, chosen], c.y, rcond=None)[0]
    order = np.argsort(-np.abs(found), kind="stable")
    if slip == "order_of_the_first_look":
        order = np.arange(len(found))
    elif slip == "order_of_the_fit_with_all":
        order = np.argsort(-np.abs(np.linalg.lstsq(table, c.y, rcond=None)[0][chosen]), kind="stable")
    elif slip in ("signs_count", "signs_in_the_order"):
        order = np.argsort(-found, kind="stable")
    order = order[::-1] if slip == "smallest_first" else order
    return [[list(sets[chosen[k]]), float(found[k])] for k in order]
