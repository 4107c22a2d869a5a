"""The harnesses of unit 01's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import builtins
import contextlib
import functools
import itertools
import os
import random
import sys
import time

import numpy as np

from autograder.exercises.harness import as_lists


def fair_share(fair_share, n, world_size, last_two):
    ranks = range(world_size)[-2:] if last_two else range(world_size)
    return [as_lists(fair_share(n, rank, world_size)) for rank in reversed(ranks)][::-1]


def count_inside(count_inside, x, y, watch):
    if not watch:
        return as_number(count_inside(x, y))
    count_inside(x[:5].copy(), y[:5].copy())
    steps = unseen = 0  # unseen: calls whose end was not reported; who stops the counting has something to count

    def step(frame, event, argument):
        nonlocal steps, unseen
        steps += 1
        unseen += (event == "call") - (event == "return" and frame.f_trace_lines)
        return step

    tracer, hidden = sys.gettrace(), []
    with watched(len(x), hidden, count_inside.__globals__):
        sys.settrace(step)
        try:
            inside = count_inside(x, y)
            counted = sys.gettrace() is step and unseen <= 0
        finally:
            sys.settrace(tracer)
    return {"inside": as_number(inside), "loops over the points": steps >= len(x) or not counted or bool(hidden)}


@contextlib.contextmanager
def watched(n, hidden, names):
    def of_points(a):
        return hasattr(a, "__len__") and np.ndim(a) and len(a) >= n or hasattr(a, "__next__")

    def watch(original, always):
        def call(*arguments, **options):
            if always or any(of_points(a) for a in arguments[1:]):  # `map` is watched itself
                hidden.append(original)
            return original(*arguments, **options)

        return call

    places = [vars(builtins), vars(functools), vars(itertools), vars(np), names]
    wrappers = {o: watch(o, False) for o in (map, filter, functools.reduce, itertools.starmap, np.apply_along_axis)}
    wrappers |= {o: watch(o, True) for o in (np.frompyfunc, np.vectorize)}
    changed = [
        (place, key, held)
        for place in places
        for key, held in list(place.items())
        if any(held is original for original in wrappers)
    ]
    for place, key, held in changed:
        place[key] = wrappers[held]
    try:
        yield
    finally:
        for place, key, held in changed:
            place[key] = held


def as_number(inside):
    if inside is None or np.size(inside) != 1:
        return inside
    number = np.asarray(inside).item()
    return int(number) if isinstance(number, (bool, float)) and number == int(number) else number


def rank_rng(rank_rng, seeds, world_size, ranks, length, far, few):
    def make():
        return [
            [rank_rng(seed, rank, world_size) for rank in (ranks[:1] if few and seed != seeds[0] else ranks)]
            for seed in seeds
        ]

    before = global_states()
    made = [make()]
    if not few:
        with another_process():
            made.append(make())
    touched = before != global_states()
    every = [generator for call in made for ranks in call for generator in ranks]
    report = {"made": type(every[0]).__name__, "touched": touched}
    report["legacy"] = any(isinstance(generator, np.random.RandomState) for generator in every)
    report["states"] = [[state_of(generator) for generator in generators] for generators in made[0]]
    for generator in every:
        if not callable(getattr(generator, "random", None)):
            return {"made": type(generator).__name__}
    if len({id(generator) for generator in every}) < len(every):
        return report | {"shared": True}
    try:
        draws = np.full((len(made), len(seeds), len(ranks), 8), np.nan)
        for call, of_seeds in zip(draws, made, strict=False):
            for of_ranks, generators in zip(call, of_seeds, strict=False):
                of_ranks[: len(generators)] = [generator.random(8) for generator in generators]
    except (AttributeError, TypeError):  # a generator of another library, or none at all
        return {"made": type(every[0]).__name__}
    numbers = [list(map(number_of, *of_seed)) for of_seed in zip(made[0], draws[0], strict=True)]
    if len(seeds) > 1 and len(ranks) > 1:
        report["twin"] = twin(rank_rng, numbers, draws[0], seeds, ranks, world_size)
    report["narrow"] = all(number is not None and number < 2**32 for of_seed in numbers for number in of_seed)
    longer = np.array([generator.random(length) for generator in made[0][0]])
    return report | {"draws": draws, "longer": longer, "met": met(made[0][0], draws[0, 0, :, 0], far)}


# The number that a generator was made with, and nothing else; None of any other. first: the first numbers it drew.
def number_of(generator, first):
    bits = getattr(generator, "bit_generator", None)
    sequence = getattr(bits, "seed_seq", None)
    number = getattr(sequence, "entropy", None)
    if not isinstance(number, (int, np.integer)) or number < 0 or getattr(sequence, "spawn_key", ()):
        return None
    again = np.random.Generator(type(bits)(int(number))).random(len(first))
    return int(number) if np.array_equal(again, first) else None


# [[seed, rank], [seed, rank]] that share a stream; None if they are not easily found. numbers: with which the
# generators were made, by seed and rank; first: the first numbers that they drew, shape (seeds, ranks, 8).
def twin(rank_rng, numbers, first, seeds, ranks, world_size):
    (one, other, *_), (later, *_), *_ = numbers
    tries = []
    if other is not None and other < 2**32:  # a number may be an experiment's, too
        tries.append(((0, 1), (other, ranks[0])))
    if None not in (one, other, later) and other != one:  # from seed to seed as far as from rank to rank, perhaps
        steps, rest = divmod((later - one) * (ranks[1] - ranks[0]), other - one)
        if not rest and 0 <= ranks[0] + steps < world_size:
            tries.append(((1, 0), (seeds[0], ranks[0] + steps)))
    for (i, k), pair in tries:
        if pair != (seeds[i], ranks[k]) and np.array_equal(rank_rng(*pair, world_size).random(8), first[i, k]):
            return [[seeds[i], ranks[k]], list(pair)]
    return None


# [i, k]: the first number of stream k has come up far down in stream i.
def met(generators, first, far):
    found = []
    for i, generator in enumerate(generators):
        for _ in range(far // 100_000):
            numbers = np.asarray(generator.random(100_000))
            found += [[i, k] for k, number in enumerate(first) if (numbers == number).any()]
    return found


# [kind, constants of the stream, state], or None of a generator that does not tell where in its stream it is.
def state_of(generator):
    state = getattr(getattr(generator, "bit_generator", None), "state", None)
    kind = state.get("bit_generator") if isinstance(state, dict) else None
    if kind in ("PCG64", "PCG64DXSM"):
        return [kind, str(state["state"]["inc"]), str(state["state"]["state"])]
    if kind == "Philox":
        counter = sum(int(word) << 64 * i for i, word in enumerate(state["state"]["counter"]))
        return [kind, str(state["state"]["key"].tolist()), str(4 * counter + int(state["buffer_pos"]))]
    return None


def global_states():
    name, keys, *rest = np.random.get_state()
    return random.getstate(), name, keys.tolist(), rest


@contextlib.contextmanager
def another_process():
    def salted(value):
        return real["hash"]((value, "another process") if has_text(value) else value)

    def has_text(value):
        return isinstance(value, (str, bytes)) or isinstance(value, (tuple, frozenset)) and any(map(has_text, value))

    real = {"hash": builtins.hash, "getpid": os.getpid, "time": time.time, "time_ns": time.time_ns}
    builtins.hash, os.getpid = salted, lambda: real["getpid"]() + 1
    time.time, time.time_ns = lambda: real["time"]() + 1000.0, lambda: real["time_ns"]() + 10**12
    try:
        yield
    finally:
        builtins.hash, os.getpid = real["hash"], real["getpid"]
        time.time, time.time_ns = real["time"], real["time_ns"]


def sum_counts(sum_counts, comm, counts, team):
    total = sum_counts(comm if team is None else comm.Split(team, comm.rank), counts)
    alone = comm.size == 1 and isinstance(total, np.ndarray)
    # as if the caller had written ones into counts since
    return np.ones_like(total) if alone and np.shares_memory(total, counts) else total


def estimate_pi(estimate_pi, comm, n, points, drawn, team):
    def draw(k):
        first = int(drawn[0])
        drawn[0] += k
        columns = [(first + i) % points.shape[1] for i in range(k)]
        x, y = points[:, columns]
        return x, y

    return estimate_pi(comm if team is None else comm.Split(team, comm.rank), n, draw)


def samples_needed(samples_needed, error):
    n = as_lists(samples_needed(error))
    return (
        float(n) if isinstance(n, int) and 2**62 < n < 2**200 else n
    )  # so that it need not be right to the last digit


def speedup_and_efficiency(speedup_and_efficiency, ranks, seconds):
    answer = speedup_and_efficiency(ranks, seconds)
    if isinstance(answer, dict):  # not the pair that was asked for
        return list(answer)
    try:
        speedup, efficiency = answer
        return {"speedup": np.asarray(speedup, float), "efficiency": np.asarray(efficiency, float)}
    except (TypeError, ValueError):
        return answer
