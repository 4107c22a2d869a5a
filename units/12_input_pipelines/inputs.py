"""Inputs for unit 12."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.inputs.common import COUNTS, RANKS, SECONDS, SEEDS, SMALL
from autograder.inputs.strategies import plain_case, plain_cases

WORKERS = st.integers(1, 5)


def named(count: int) -> list[str]:
    """Names of so many files, in no order that a sort would keep."""
    return [f"sample-{7 * k % 97}.txt" for k in range(count)]


def write_shards(exercise):
    """One, two and a few hundred letters, or nothing, in files whose names are short, long, or in a folder."""
    texts = st.sampled_from(["", "a", "two", 400 * "é", 512 * "x", 10_000 * "y"])
    ways = st.sampled_from(["{}", "wood/{}", 9 * "in-the-wood-" + "{}", "é {}"])
    parts = st.lists(st.tuples(ways, texts), max_size=9)
    samples = parts.map(lambda some: [[way.format(n), t] for n, (way, t) in zip(named(9), some, strict=False)])
    return plain_cases(exercise, samples=samples, n=st.integers(-1, 10))


def read_shard(exercise):
    """Shards whose own bytes break off at every sort of place but before the first sample: there are always some."""

    def shard(drawn):
        texts, spoilt, torn, place = drawn
        samples = [[key, text] for key, text in zip(named(len(texts)), texts, strict=True)]
        if place in ("behind it", "at its end"):  # there is padding, of which something is missing
            samples[torn][1] += " " * ((512 - len(samples[torn][1]) - 10) % 512)
        keys = [key for key, _ in samples]
        known = {"samples": samples, "spoilt": [keys[k] for k in sorted(spoilt) if k < len(keys)], "place": place}
        return plain_case(exercise, known | {"name": "shard-7.tar", "torn": keys[torn] if place else ""})

    def of(count):
        texts = st.lists(
            st.sampled_from(["", "a", "some words", 511 * "x", 3000 * "y"]), min_size=count, max_size=count
        )
        spoilt = st.sets(st.integers(0, count - 1))
        torn = st.integers(0, count - 1)
        inside = ["in the sample", "behind its header", "in its header"]
        places = st.sampled_from(["", *inside, "behind it", "at its end", "before it"])
        makes_sense = st.tuples(texts, spoilt, torn, places)
        return makes_sense.filter(lambda d: d[2] > 0 or d[3] != "before it")

    return st.integers(1, 6).flatmap(of).map(shard)


def shards_of(exercise):
    files = st.integers(0, 14).flatmap(lambda n: st.permutations(named(n)))
    return plain_cases(
        exercise,
        files=files,
        seeds=st.lists(SEEDS, min_size=1, max_size=2),
        epochs=st.integers(1, 3),
        world_size=RANKS,
        workers=WORKERS,
        turned=st.integers(0, 5),
        level=st.just(next(iter(exercise.levels))),
    )


def shuffle_buffer(exercise):
    return plain_cases(
        exercise,
        stream=st.lists(st.integers(0, 30), max_size=16, unique=True),
        size=st.integers(1, 18),
        seed=SEEDS,
        odd=st.sampled_from(["", "no iterator", "pairs", "things"]),
        level=st.just("bounded memory"),
    )


def prefetch(exercise):
    def breaks(batches):
        return plain_cases(
            exercise,
            batches=st.just(batches),
            depth=st.integers(1, 7),
            breaks_at=st.integers(-1, len(batches) - 1),
            slow_at=st.just(-1),
            level=st.just("the batches"),
        )

    return st.lists(st.sampled_from([None, 0, 1, -1, False, "", "end", 2.5, "a"]), max_size=9).flatmap(breaks)


def samples_per_second(exercise):
    times = {name: SECONDS for name in ("read", "decode", "step")}
    return plain_cases(exercise, **times, workers=st.integers(0, 9), cores=SMALL, ranks=RANKS)


def utilisation(exercise):
    """Most seconds are sixteenths, so that sums are exact."""
    seconds = st.integers(0, 48).map(lambda k: k / 16) | st.sampled_from([0.1, 0.123456789])

    def batches(shape):
        ranks, count = shape
        times = st.lists(seconds, min_size=count, max_size=count)
        return st.lists(times, min_size=ranks, max_size=ranks)

    make = st.tuples(st.integers(1, 4), st.integers(1, 8)).flatmap(batches)
    return plain_cases(exercise, make=make, step=st.sampled_from([0.0625, 0.5, 1.0, 2.0]), depth=st.integers(0, 9))


def next_batch(exercise):
    """Stretches of a training run on any ranks: batches of one sample, of all that are left, and larger than that."""
    stretch = st.tuples(RANKS, SMALL | st.sampled_from([1, 40, 41]), st.integers(1, 6))
    return plain_cases(
        exercise,
        n=COUNTS.filter(bool),
        seeds=st.lists(SEEDS, min_size=1, max_size=1),
        plan=st.lists(stretch, min_size=1, max_size=4),
        level=st.just("another number of ranks"),
    )


def pack(exercise):
    lengths = st.lists(st.integers(0, 20), max_size=14) | st.just([0] * 1200)
    return plain_cases(
        exercise,
        lengths=lengths,
        capacity=st.sampled_from([1, 10, 20, 21]),
        level=st.just(next(iter(exercise.levels))),
    )


INPUTS = {
    "write_shards": write_shards,
    "read_shard": read_shard,
    "shards_of": shards_of,
    "shuffle_buffer": shuffle_buffer,
    "prefetch": prefetch,
    "samples_per_second": samples_per_second,
    "utilisation": utilisation,
    "next_batch": next_batch,
    "pack": pack,
}
