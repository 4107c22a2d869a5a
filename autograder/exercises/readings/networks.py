"""Cost models, compression and local steps in numpy, for unit 18's exercises, each also with one thing done
otherwise."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from autograder.exercise import Run, Tensor

BYTES = 8  # of a float64


def tensor(values, dtype: str = "float64") -> Tensor:
    """A tensor as plain data."""
    return Tensor(np.asarray(values).astype(dtype), dtype)


def over_the_links(run: Run) -> float:
    """Bytes on all links together."""
    return sum(run.link_bytes.values())


def called(run: Run) -> int:
    """The most collectives that a rank called; a barrier is one, making a group is none."""
    return max(len(rank.collectives) for rank in run.ranks)


# -- placement ---------------------------------------------------------------------------------------------------------


def crossings(order: list[int], node_of: list[int]) -> int:
    """The number of times that a ring in this order goes from one node to another."""
    return sum(node_of[a] != node_of[b] for a, b in pairwise([*order, order[0]]))


def by_slot(slots: list[int], p: int) -> list[int]:
    """The host of every rank, hosts filled one after the other."""
    return [host for host, room in enumerate(slots) for _ in range(room)][:p]


def by_node(slots: list[int], p: int) -> list[int]:
    """The host of every rank, one for each host in turn, as long as it has room."""
    turns = [host for turn in range(max(slots, default=0)) for host, room in enumerate(slots) if turn < room]
    return turns[:p]


def from_the_first_again(slots: list[int], p: int) -> list[int]:
    """The same, but where a host has no room the turn begins again with the first that has."""
    free, placed, at = list(slots), [], 0
    while len(placed) < p:
        at = at if free[at] else next(host for host, room in enumerate(free) if room)
        free[at] -= 1
        placed.append(at)
        at = (at + 1) % len(free)
    return placed


def by_rank_number(slots: list[int], p: int) -> list[int]:
    """The same, but rank r looks for room from host r % hosts on."""
    free, placed = list(slots), []
    for rank in range(p):
        at = next(k % len(free) for k in range(rank, rank + len(free)) if free[k % len(free)])
        free[at] -= 1
        placed.append(at)
    return placed


def skips_a_turn(slots: list[int], p: int) -> list[int]:
    """The same, but the host behind one that has just become full is passed over."""
    free, placed, at = [host for host, room in enumerate(slots) if room], [], 0
    while len(placed) < p:
        at %= len(free)
        placed.append(free[at])
        if placed.count(free[at]) == slots[free[at]]:
            free.pop(at)
        at += 1
    return placed


# -- cost models -------------------------------------------------------------------------------------------------------

ALGORITHMS = ("ring", "doubling", "halving_doubling", "hierarchical")


def steps_of(
    algorithm: str,
    nbytes: float,
    nodes: int,
    per_node: int,
    *,
    shared=True,
    twice=2,
    whole=False,
    ring_shares=False,
    reach=0,
    backwards=False,
    rounded=False,
) -> list:
    """The steps of an all-reduce: (how often, the link it waits for, messages of one node on it, bytes of each).

    shared: whether the ranks of a node share a card. twice: how often what reduces and what spreads is counted. whole:
    whether every message carries all bytes. ring_shares: whether g ranks of a node send at once in a ring, too. reach:
    how much further than g - 1 partners are inside. backwards: whether the nearest partners swap the largest parts.
    rounded: whether bytes are whole numbers.
    """
    if rounded:
        exact = steps_of(algorithm, nbytes, nodes, per_node)
        return [(often, at, many, math.floor(size)) for often, at, many, size in exact]
    n, g, p = nodes, per_node, nodes * per_node
    if algorithm == "ring":
        many = g if ring_shares and n > 1 else 1
        return [(twice * (p - 1), "inside" if n == 1 else "between", many, nbytes if whole else nbytes / p)]
    if algorithm == "hierarchical":
        inside = (twice * (g - 1), "inside", 1, nbytes if whole else nbytes / g)
        return [inside, (twice * (n - 1), "between", g if shared else 1, nbytes if whole else nbytes / p)]
    distances = [1 << k for k in range(p.bit_length() - 1)]
    often = 1 if algorithm == "doubling" else twice
    whole = whole or algorithm == "doubling"
    near = g + reach
    return [
        (
            often,
            "inside" if d < near else "between",
            g if shared and d >= near else 1,
            nbytes if whole else nbytes / (2 * d) if backwards else nbytes * d / p,
        )
        for d in distances
    ]


def seconds_of(steps: list, inside: tuple, between: tuple) -> float:
    """The seconds that the steps take."""
    links = {"inside": inside, "between": between}
    return math.fsum(often * (links[at][0] + many * size * links[at][1]) for often, at, many, size in steps)


# -- compression -------------------------------------------------------------------------------------------------------


def top_k(gradients: np.ndarray, k: int, slip: str = "") -> tuple[list, np.ndarray]:
    """Means of what was sent, one for each step, and each rank's error at the end. gradients: (steps, ranks, n)."""
    _, p, n = gradients.shape
    error, means = np.zeros((p, n)), []
    for g in gradients:
        a = g if slip == "drops_the_error" else g + error
        of = g if slip == "error_added_after_selection" else a
        size = of if slip == "largest_not_in_magnitude" else np.abs(of)
        chosen = np.argsort(-size, axis=1, kind="stable")[:, :k]
        sent, mean = np.take_along_axis(a, chosen, 1), np.zeros(n)
        for r in range(p):
            at = chosen[0] if slip == "averages_positions" else chosen[r]
            if slip == "overwrites_the_same_index":
                mean[at] = sent[r]
            else:
                mean[at] += sent[r]
        senders = np.maximum(np.bincount(chosen.ravel(), minlength=n), 1) if slip == "mean_of_senders" else p
        means.append(mean if slip == "sum_for_mean" else mean / senders)
        kept = g.copy() if slip == "forgets_older_errors" else a.copy()
        if slip == "error_of_the_mean":
            kept -= means[-1]
        elif slip != "keeps_what_was_sent":
            np.put_along_axis(kept, chosen, 0.0, 1)
        if slip == "clears_what_others_sent":
            kept[:, chosen.ravel()] = 0.0
        if slip == "counts_the_error_twice":
            kept += error
        error = kept
    return means, error * (slip != "drops_the_error")


def power_sgd(gradients: np.ndarray, q: np.ndarray, slip: str = "") -> tuple[list, np.ndarray, np.ndarray]:
    """Approximations of the mean, one for each step, each rank's error at the end, and q then. gradients: (steps,
    ranks, rows, columns). The slip own_q leaves each rank another q: (ranks, columns, rank)."""
    error, means, dropped = np.zeros_like(gradients[0]), [], slip in ("drops_the_error", "rebinds")
    for g in gradients:
        m = g if dropped else g + error
        left = m[:1] @ q if slip == "never_summed_left" else (m @ q).mean(axis=0)
        left = left[0] if left.ndim == 3 else left
        basis = left if slip == "not_orthogonal" else np.linalg.qr(left)[0]
        if slip == "columns_alone":
            basis = left / np.linalg.norm(left, axis=0)
        if slip == "orthonormal_too_soon":
            basis = np.mean([np.linalg.qr(one @ q)[0] for one in m], axis=0)
        own = right = m.transpose(0, 2, 1) @ basis
        right = right.sum(axis=0) if slip == "sum_for_mean" else right.mean(axis=0)
        mean = basis @ right.T
        means.append(mean)
        left_out = (basis @ own.transpose(0, 2, 1)) if slip == "error_of_own_factor" else mean
        error = (g if slip == "forgets_older_errors" else m) - left_out
        if slip not in ("starts_again", "rebinds"):
            other = {"orthonormal_q": np.linalg.qr(right)[0], "own_q": own, "sum_in_q": len(m) * right}
            q = other.get(slip, right)
    return means, error * (not dropped), q


# -- rounds of local steps ---------------------------------------------------------------------------------------------


def diloco(c, slip: str = "") -> np.ndarray:
    """The weights of each rank at the end. c: w (n,), slopes and targets (ranks, n), steps, every, lr, outer_lr, mu."""
    p = len(c.slopes)
    start, velocity, w = c.w.copy(), np.zeros_like(c.w), np.tile(c.w, (p, 1))
    last, steps = start, c.steps - (c.steps % c.every if slip == "skips_the_rest" else 0)
    if slip == "whole_last_round":
        steps += -steps % c.every
    for t in range(1, steps + 1):
        w = w - c.lr * c.slopes * ((start if slip == "gradient_of_the_start" else w) - c.targets)
        if slip == "averages_in_every_step":
            w = np.tile(w.mean(axis=0), (p, 1))
        if t % c.every and (t < steps or slip == "drops_the_short_round"):
            continue
        delta = (start - w).sum(axis=0) / (1 if slip == "sum_for_mean" else p)
        delta = -delta if slip == "wrong_sign" else delta
        delta = start - w.sum(axis=0) if slip == "sum_of_the_weights" else delta
        if slip == "start_moves":
            start, delta = w, w - w.mean(axis=0)
        velocity = c.mu * velocity * (slip != "momentum_begins_again") + delta
        ahead = {"no_momentum": delta, "heavy_ball": velocity}.get(slip, delta + c.mu * velocity)
        new = w.mean(axis=0) if slip == "averages_only" else start - c.outer_lr * ahead
        start = c.w if slip == "measures_from_the_first" else new
        begin = w.mean(axis=0) if slip == "goes_on_from_the_mean" else new
        w = np.broadcast_to(begin, w.shape) if slip != "goes_on_from_its_own" or t >= c.steps else w
        last = new
    if slip == "one_outer_step_too_many" and c.steps % c.every == 0:
        last = last - c.outer_lr * c.mu * (c.mu * velocity)
    return np.broadcast_to(last, w.shape) if slip != "drops_the_short_round" else w
