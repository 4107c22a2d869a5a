"""Unit 12: an epoch that is stopped and goes on elsewhere, shards that are broken; with the functions of the solution
as the notebook holds them."""

import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from autograder.exercises.readings.pipelines import bands, first_fit

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "units" / "12_input_pipelines" / "input_pipelines.py"


def solution(*names: str) -> list:
    """Functions of the lesson, each run from its cell alone."""
    cells = SOURCE.read_text(encoding="utf-8").split("\n# %%")
    namespace = {"np": np, "io": io, "tarfile": tarfile}
    for name in names:
        (cell,) = [cell for cell in cells if f'"grade_id": "{name}"' in cell]
        exec(cell.partition("\n")[2], namespace)
    return [namespace[name] for name in names]


@pytest.mark.parametrize("seed", range(4))
def test_no_sample_is_lost_or_twice_after_100_stops_with_other_numbers_of_ranks(seed):
    (next_batch,) = solution("next_batch")
    rng = np.random.default_rng(seed)
    n, state, seen, before = int(rng.integers(200, 400)), {"seed": seed, "epoch": 0, "taken": 0}, {}, 0
    for _ in range(100):
        p = int(rng.choice([p for p in range(1, 10) if p != before]))
        before, batch_size = p, int(rng.integers(1, 33))
        for _ in range(int(rng.integers(1, 9))):
            parts = [next_batch(json.loads(json.dumps(state)), n, batch_size, r, p) for r in range(p)]
            sizes = [len(share) for share, _ in parts]
            assert sum(sizes) == min(batch_size, n - state["taken"]) and max(sizes) - min(sizes) <= 1
            for share, after in parts:
                assert after == parts[0][1]
                seen.setdefault(state["epoch"], Counter()).update(share)
            state = parts[0][1]
    assert state["epoch"] >= 10
    for epoch, held in seen.items():
        assert max(held.values()) == 1, "twice"
        assert len(held) == (n if epoch < state["epoch"] else state["taken"]), "lost"


def test_broken_shards_name_file_and_sample_and_the_others_go_on():
    write_shards, read_shard = solution("write_shards", "read_shard")
    samples = [(f"{k:02d}.txt", bytes([k]) * 700) for k in range(20)]
    shards = {f"{k}.tar": shard for k, shard in enumerate(write_shards(samples, 5))}
    torn = shards["1.tar"].index(samples[6][1]) + 300
    shards["1.tar"], shards["3.tar"] = shards["1.tar"][:torn], b"no archive" * 200

    def decode(content):
        if content[0] == 17:
            raise ZeroDivisionError
        return content[0]

    read, broken = [], []
    for name, archive in shards.items():
        whole, wrong = read_shard(name, archive, decode)
        read += [value for _, value in whole]
        broken += wrong
    assert read == [k for k in range(20) if k not in (6, 7, 12, 13, 14, 15, 17)]
    assert broken == [("1.tar", "06.txt"), ("3.tar", None), ("4.tar", "17.txt")]


def test_bands_add_up_to_the_same_time_on_every_rank_and_depth_never_costs_any():
    rng = np.random.default_rng(12)
    for _ in range(50):
        make, step = rng.uniform(0.1, 3, (3, 12)).tolist(), float(rng.uniform(0.5, 2))
        times = []
        for depth in range(5):
            spent = [sum(band) for band in bands(make, step, depth)]
            assert np.ptp(spent) < 1e-9
            times.append(spent[0])
        assert all(later <= earlier + 1e-9 for earlier, later in zip(times, times[1:], strict=False))
        alone = max(step * 12, *(sum(seconds) for seconds in make))
        assert alone <= times[-1] and times[0] == pytest.approx(np.array(make).max(axis=0).sum() + 12 * step)


def test_no_two_rows_of_packed_sequences_fit_into_one():
    rng = np.random.default_rng(5)
    for _ in range(50):
        lengths = rng.integers(1, 50, 40).tolist()
        rows = first_fit(lengths, 50)
        assert sorted(k for row in rows for k in row) == list(range(40))
        filled = sorted(sum(lengths[k] for k in row) for row in rows)
        assert filled[-1] <= 50 < filled[0] + filled[1]
