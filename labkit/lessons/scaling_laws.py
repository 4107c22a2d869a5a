"""The machinery of unit 08: a clock, a timed all-reduce, the traffic of a ring and of a tree on the relay, and what
arranges measured runs for a figure.

`make gpu-check` runs the page's cells for real ranks where there is nothing but torch and numpy: so the relay is
imported by the one function that needs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
import torch.distributed as dist

from labkit import scaling
from labkit.scaling import Estimate

# --- on real ranks ----------------------------------------------------------------------------------------------------


def now(device: str = "cpu") -> float:
    """The time in seconds, on a GPU when all its work is done: it works behind Python's back, and without waiting for
    it a clock stops too early.
    """
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter()


def all_reduce_seconds(nbytes: int, group: dist.ProcessGroup, device: str = "cpu") -> float:
    """Seconds of one all_reduce of so many bytes on the ranks of a group: the slowest rank, the fastest of several
    tries.
    """
    x = torch.zeros(nbytes // 4, device=device)
    times = []
    for _ in range(30 if nbytes < 1_000_000 else 8):
        dist.barrier(group=group)
        start = time.perf_counter()
        dist.all_reduce(x, group=group)
        times.append(now(device) - start)
    slowest = torch.tensor(times, dtype=torch.float64, device=device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX, group=group)
    return float(slowest.min())


def scaled_runs(
    experiments: Mapping[str, Sequence[int]],
    worlds: Sequence[int],
    times_of: Callable,
    scaling_efficiency: Callable,
    speedup_with_error: Callable,
) -> tuple[dict, dict]:
    """The curves of speedup (in images per second) and of efficiency that `labkit.plots` draws, with their errors.

    experiments: name -> images of a step on each number of ranks in `worlds`, which begins with 1. times_of: function,
    times_of(name) are the step times on each of them. The last two are the exercises' functions. The experiment
    "no communication" is called a bound, the others get their kind, strong or weak.
    """
    curves, efficiencies = {}, {}
    for experiment, batches in experiments.items():
        times = times_of(experiment)
        means = np.array([t.mean() for t in times])
        kind, values = scaling_efficiency(np.array(worlds), np.array(batches), means)
        ratios = [speedup_with_error(times[0], t) for t in times[1:]]
        errors = [0.0, *(error / ratio for ratio, error in ratios)]
        name = f"{experiment} ({'bound' if experiment == 'no communication' else kind})"
        found = [Estimate(v, v * e, dof=len(times[0]) - 1) for v, e in zip(values, errors, strict=True)]
        efficiencies[name] = worlds, found
        curves[name] = worlds, [one.times(p) for one, p in zip(found, worlds, strict=True)]
    return curves, efficiencies


# --- traffic on the relay ---------------------------------------------------------------------------------------------


def ring_traffic(nbytes: int) -> None:
    """Send the messages of a ring all-reduce, and add nothing up: 2 (p - 1) times a chunk to the right while one comes
    from the left.
    """
    rank, p = dist.get_rank(), dist.get_world_size()
    chunk = torch.zeros(nbytes // p, dtype=torch.uint8)
    arrived = torch.empty_like(chunk)
    for _ in range(2 * (p - 1)):
        request = dist.isend(chunk, dst=(rank + 1) % p)
        dist.recv(arrived, src=(rank - 1) % p)
        request.wait()


def tree_traffic(nbytes: int) -> None:
    """Send the messages of two passes through a tree: whoever has the vector sends it to a partner who has not. Down
    twice is up and down. After each pass there is a barrier.
    """
    rank, p = dist.get_rank(), dist.get_world_size()
    vector = torch.zeros(nbytes, dtype=torch.uint8)
    for _ in range(2):
        have = 1
        while have < p:
            if rank < have and rank + have < p:
                dist.send(vector, dst=rank + have)
            elif have <= rank < 2 * have:
                dist.recv(vector, src=rank - have)
            have *= 2
        dist.barrier()


def simulated(worlds: Mapping[int, Sequence[int]], alpha: float, beta: float) -> tuple[dict, float]:
    """The virtual seconds of rings and trees on the relay, and their largest relative difference to the formulas.

    worlds: bytes -> numbers of ranks. The first result is (kind, bytes, ranks) -> seconds, kind "ring" or "tree".
    """
    formulas = {"ring": scaling.ring_all_reduce_time, "tree": scaling.tree_all_reduce_time}
    virtual, off = {}, []
    for n, ranks in worlds.items():
        for p in ranks:
            for kind, formula in formulas.items():
                virtual[kind, n, p] = seconds = virtual_seconds(kind, p, n, alpha, beta)
                off.append(abs(seconds / formula(p, n, alpha, beta) - 1))
    return virtual, max(off)


def virtual_seconds(kind: str, p: int, nbytes: int, alpha: float, beta: float) -> float:
    """Seconds that the relay's clock gives the traffic of an all-reduce on p ranks: kind "ring" or "tree".

    alpha, beta: seconds for a message and for a byte. A barrier costs ceil(log2 p) latencies there; the tree's two are
    taken off.
    """
    from labkit import simulation

    traffic = {"ring": ring_traffic, "tree": tree_traffic}[kind]
    run = simulation.run(traffic, p, (nbytes,), alpha=alpha, beta=beta)
    barriers = 2 * (p - 1).bit_length() * alpha if kind == "tree" else 0.0
    return run.elapsed - barriers


# --- published and predicted ------------------------------------------------------------------------------------------


def efficiencies_from(base: int, rates: Mapping[int, Estimate]) -> tuple[list[int], list[Estimate]]:
    """The numbers of GPUs from `base` on and the efficiency on each, where `base` GPUs count as 1.

    rates: number of GPUs -> images per second.
    """
    worlds = [p for p in rates if p >= base]
    ratios = [Estimate(1.0), *(scaling.scaled_speedup(rates[base], rates[p]) for p in worlds[1:])]
    return worlds, [scaling.efficiency(ratio, p, base) for ratio, p in zip(ratios, worlds, strict=True)]


def predicted(
    step_seconds: Callable,
    scaling_efficiency: Callable,
    batches: Mapping[str, Sequence[int]],
    many: Sequence[int],
    **machine: float,
) -> dict[str, tuple[Sequence[int], np.ndarray]]:
    """The curves of efficiency that a model of the step predicts, with two thirds of the communication hidden and with
    nothing hidden: name -> (ranks, efficiency).

    The first two are the exercises' functions. batches: name -> images of a step on each number of ranks in `many`.
    machine: seconds_per_image, parameters, alpha and beta, as of `step_seconds`.
    """
    curves = {}
    for name, images in batches.items():
        for text, hidden in (("two thirds hidden", 2 / 3), ("nothing hidden", 0.0)):
            times = [step_seconds(p, n, **machine, hidden=hidden) for p, n in zip(many, images, strict=True)]
            _, found = scaling_efficiency(np.array(many), np.array(images), np.array(times))
            curves[f"{name}, {text}"] = many, found
    return curves
