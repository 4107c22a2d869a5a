"""The harnesses of unit 14's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import itertools
import numbers
import operator

import numpy as np

from autograder.exercises.harness import as_lists, hashes_of_process
from labkit.relay.charging import ask


def plain(one):
    value = one.tolist() if hasattr(one, "tolist") else one
    if isinstance(value, tuple):
        return repr(tuple(plain(part) for part in value))
    return value if isinstance(value, (bool, int, float, str)) else repr(value)


def listed(answer):
    if isinstance(answer, (str, dict)) or not hasattr(answer, "__iter__"):
        return repr(answer)
    return [{str(k): plain(v) for k, v in one.items()} if isinstance(one, dict) else repr(one) for one in answer]


def drawn(f, kinds, n, seed, rank, p, process):
    with hashes_of_process(process):
        return listed(f(dict(kinds), n, seed, rank, p))


def tupled(one):
    return tuple(tupled(part) for part in one) if isinstance(one, (list, tuple)) else one


def random_configs(f, space, n, seed, sizes):  # sizes: seed, number of ranks, and which ranks, if not all
    kinds = {name: tupled(one) for name, one in space.items()}
    runs = [(s, p, some or range(p), k == 2) for k, (s, p, *some) in enumerate(sizes)]  # the third in another process
    return [[drawn(f, kinds, n, s, r, p, r + new) for r in some] for s, p, some, new in runs]


class NoSuchJob(RuntimeError):
    pass


class NotAnInt(TypeError):
    pass


def farm(f, jobs, judge, after):
    jobs = [tuple(job) for job in jobs]
    given, reported, told, worked = [], [], [], []

    def next_job():
        done = {job for job, _ in reported}
        for job, first in zip(jobs, after, strict=False):
            if job not in given and (first < 0 or jobs[first] in done):
                given.append(job)
                return job
        return None

    def report(job, loss):
        told.append(float(loss))
        reported.append((tuple(int(k) for k in job), loss))

    def work(config, epochs):
        if not isinstance(config, numbers.Integral) or not isinstance(epochs, numbers.Integral):
            raise NotAnInt(f"work({config}, {epochs}): two ints, with which one can look up a configuration")
        job = int(config), int(epochs)
        if job not in jobs:
            raise NoSuchJob(f"work{job}: next_job has never given that")
        worked.append(list(job))
        return ask(judge, [jobs.index(job)])

    f(next_job, report, work)
    kept = np.array([float(loss) for _, loss in reported])  # whoever reports a tensor must leave it alone
    order = sorted(range(len(reported)), key=lambda k: reported[k][0])
    jobs, losses = [list(reported[k][0]) for k in order], np.array([told[k] for k in order])
    return {"jobs": jobs, "losses": losses, "worked": worked, "changed": not np.array_equal(kept, told, equal_nan=True)}


def best_trial(f, numbers, validation, test):
    try:
        answer = f(numbers, validation, test)
    except ValueError:
        return {"winner": None, "raises": "ValueError"}
    answer = answer.tolist() if hasattr(answer, "tolist") else answer
    if isinstance(answer, (tuple, list)):
        answer = [one.item() if hasattr(one, "item") and one.ndim == 0 else one for one in answer]
    return {"winner": answer, "raises": "nothing"}


def diverged_in_order(rung, losses):  # losses: of this rung and all before it
    # nan is neither smaller nor larger than nan: any of them go on, in any order
    alike = np.flatnonzero(np.isnan(losses).all(0)).tolist()
    those = [i for i in rung if i in alike]
    called = dict(zip(those, alike, strict=False)) if len(set(those)) == len(those) else {}
    parts = itertools.groupby(rung, key=lambda i: bool(np.isnan(losses[-1][i])))
    parts = [(nan, [int(called.get(i, i)) for i in some]) for nan, some in parts]
    return [i for nan, some in parts for i in (sorted(some) if nan else some)]


def successive_halving(f, curves, n, r, R, eta):
    had = {}

    def train(i, epochs):
        try:
            i, epochs = int(i), operator.index(epochs)
        except TypeError:
            raise NotAnInt(f"train({i}, {epochs}): the epochs are an int") from None
        if not (0 <= i < n and 1 <= epochs <= R):
            raise ValueError(f"train({i}, {epochs}): there are {n} configurations, and {R} epochs at most")
        if epochs < had.get(i, 0):
            raise ValueError(f"train({i}, {epochs}): it has had {had[i]} epochs already")
        had[i] = epochs
        return float(curves[i][epochs])

    rungs = as_lists(f(train, n, r, R, eta))
    listed = isinstance(rungs, list) and all(isinstance(rung, list) and set(rung) <= set(range(n)) for rung in rungs)
    losses = [curves[:, min(R, r * eta**k)] for k in range(len(rungs))] if listed else []
    rungs = [diverged_in_order(rung, losses[: k + 1]) for k, rung in enumerate(rungs)] if listed else []
    return {"rungs": rungs, "epochs": sum(had.values())}


def asha_next(f, finished, started, n, eta):
    losses, begun = [dict(map(tuple, rung)) for rung in finished], [list(rung) for rung in started]
    job = as_lists(f(losses, begun, n, eta))
    same = begun == started and [list(rung) for rung in losses] == [[i for i, _ in rung] for rung in finished]
    return {"job": job, "changed": not same}


def columns(which):
    if isinstance(which, (str, set, frozenset)):
        return f"a {type(which).__name__}, where a tuple is asked for"
    return sorted(as_lists(which)) if hasattr(which, "__iter__") else which


def spectral(f, x, y, degree, s):
    found = f(x, y, degree, s)
    pairs = [one for one in found.items()] if isinstance(found, dict) else as_lists(found)
    if not isinstance(pairs, list) or not all(hasattr(one, "__len__") and len(one) == 2 for one in pairs):
        return as_lists(pairs)
    return [[columns(which), size] for which, size in pairs]
