"""The sampler exercises of unit 04 against PyTorch's own sampler and against the sequential order, on random settings."""

from __future__ import annotations

from pathlib import Path

import jupytext
import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, DistributedSampler

from autograder.exercise import Case, RankRun, Run
from autograder.registry import module_of

unit = module_of("04_distributed_sampler")

LESSON = Path(__file__).resolve().parents[3] / "units/04_distributed_sampler/distributed_sampler.py"
SEEDS_ORDER = [10, 8, 17, 15, 1, 7, 23, 14]  # the second minibatch of the figures that the unit takes over

sizes = st.integers(1, 40)
worlds = st.integers(1, 8)
seeds = st.integers(0, 10_000)
epochs = st.integers(0, 100)


@pytest.fixture(scope="module")
def lesson() -> dict:
    """The functions of the lesson's solution cells."""
    names = {"torch": torch, "dist": dist, "DataLoader": DataLoader, "DistributedSampler": DistributedSampler}
    for cell in jupytext.read(LESSON).cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            exec(cell.source, names)
    return names


def stock(n, p, **options):
    """Ids of every rank, by PyTorch."""
    epoch = options.pop("epoch", 0)
    samplers = [DistributedSampler(range(n), num_replicas=p, rank=rank, **options) for rank in range(p)]
    for sampler in samplers:
        sampler.set_epoch(epoch)
    return [list(sampler) for sampler in samplers]


def as_run(*values) -> Run:
    return Run(tuple(RankRun(value) for value in values))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_the_order_is_that_of_torch(n, seed):
    generator = torch.Generator().manual_seed(seed)
    assert unit.torch_order(n, seed).tolist() == torch.randperm(n, generator=generator).tolist()


@settings(max_examples=150, deadline=None)
@given(n=sizes, p=worlds, shuffle=st.booleans(), seed=seeds, epoch=epochs, drop_last=st.booleans())
def test_stock_indices_are_those_of_the_stock_sampler(lesson, n, p, shuffle, seed, epoch, drop_last):
    known = {"n": n, "world_size": p, "shuffle": shuffle, "seed": seed, "epoch": epoch, "drop_last": drop_last}
    case = Case("padding", 1, (), known=known)
    exercise = unit.StockIndices()
    ids = stock(n, p, shuffle=shuffle, seed=seed, epoch=epoch, drop_last=drop_last)
    assert exercise.expected(case)[0]["ids"] == ids
    assert exercise.facts(case, as_run({"ids": ids, "library": False})) is None
    assert [lesson["stock_indices"](n, rank, p, shuffle, seed, epoch, drop_last) for rank in range(p)] == ids


@settings(max_examples=80, deadline=None)
@given(n=sizes, p=worlds)
def test_strided_shares_are_the_stock_sampler_without_padding(lesson, n, p):
    case = Case("equal shares", 1, (), known={"n": n, "world_size": p})
    shares = unit.StridedShare().expected(case)[0]
    padded = stock(n, p, shuffle=False)
    assert [ids[: len(share)] for ids, share in zip(padded, shares, strict=True)] == shares
    assert sorted(i for share in shares for i in share) == list(range(n))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert unit.StridedShare().facts(case, as_run(shares)) is None
    assert [lesson["strided_share"](n, rank, p) for rank in range(p)] == shares


@settings(max_examples=40, deadline=None)
@given(n=sizes, p=st.integers(1, 5), local=st.integers(1, 4), count=st.integers(1, 3), seed=seeds)
def test_training_batches_are_those_of_sampler_and_loader(n, p, local, count, seed):
    case = Case("one epoch", p, (), known={"n": n, "batch": local * p, "epochs": count, "seed": seed})
    items = torch.arange(n) * 10
    loaded = []
    for rank in range(p):
        sampler = DistributedSampler(items, num_replicas=p, rank=rank, seed=seed)
        loader = DataLoader(items, batch_size=local, sampler=sampler)
        loaded.append([])
        for epoch in range(count):
            sampler.set_epoch(epoch)
            loaded[-1].append([batch.tolist() for batch in loader])
    assert unit.TrainingBatches().expected(case) == loaded
    assert unit.TrainingBatches().facts(case, as_run(*loaded)) is None


@st.composite
def minibatch_settings(draw, divides: bool = False):
    """An order, a minibatch size and a world size; divides: each a multiple of the next."""
    p = draw(st.integers(1, 6))
    m = p * draw(st.integers(1, 4)) if divides else draw(st.integers(1, 12))
    n = m * draw(st.integers(1, 4)) if divides else draw(sizes)
    return draw(st.permutations(range(n))), m, p


@settings(max_examples=120, deadline=None)
@given(minibatch_settings())
def test_minibatch_shares_make_up_the_sequential_minibatches(lesson, chosen):
    order, m, p = chosen
    case = Case("", 1, (), known={"order": order, "batch_size": m, "world_size": p})
    shares = unit.MinibatchShares().expected(case)[0]
    minibatches = [order[start : start + m] for start in range(0, len(order), m)]
    assert all(len(share) == len(minibatches) for share in shares)
    for step, minibatch in enumerate(minibatches):
        assert [shares[k % p][step][k // p] for k in range(len(minibatch))] == minibatch
        assert sum(len(share[step]) for share in shares) == len(minibatch)
    assert unit.MinibatchShares().facts(case, as_run(shares)) is None
    assert [lesson["minibatch_shares"](list(order), m, rank, p) for rank in range(p)] == shares


@settings(max_examples=60, deadline=None)
@given(minibatch_settings(divides=True))
def test_where_everything_divides_the_stock_sampler_gives_the_same_shares(chosen):
    order, m, p = chosen
    positions = stock(len(order), p, shuffle=False)
    loaded = [unit.cut([order[k] for k in own], m // p) for own in positions]
    assert unit.split(np.array(order), m, p) == loaded


def test_the_figures_of_the_second_minibatch():
    in_order = unit.split(np.arange(24), 8, 2)
    assert [10 * i for i in in_order[0][1]] == [80, 100, 120, 140]
    rest = [i for i in range(24) if i not in SEEDS_ORDER]
    shuffled = unit.split(np.array(rest[:8] + SEEDS_ORDER + rest[8:]), 8, 2)
    assert [share[1] for share in shuffled] == [[10, 17, 1, 23], [8, 15, 7, 14]]


@settings(max_examples=60, deadline=None)
@given(n=sizes, p=worlds, seed=seeds)
def test_the_stock_samplers_accuracy_is_wrong_exactly_by_its_padding(n, p, seed):
    flags = np.random.default_rng(seed).random(n) < 0.5
    padded = np.concatenate([np.array(ids, dtype=int) for ids in stock(n, p, shuffle=False)])
    again = -n % p
    assert flags[padded].sum() == flags.sum() + np.resize(flags, again).sum()
    case = Case("equal shares", p, (), known={"n": n, "flags": flags})
    asked = [list(range(rank, n, p)) for rank in range(p)]
    run = as_run(*({"accuracy": float(flags.mean()), "asked": ids} for ids in asked))
    assert unit.ExactAccuracy().expected(case)[0]["accuracy"] == flags.mean()
    assert unit.ExactAccuracy().facts(case, run) is None


@settings(max_examples=60, deadline=None)
@given(n=st.integers(6, 30), p=st.integers(2, 6))
def test_a_deal_that_is_not_right_is_described(n, p):
    shares = unit.strides(np.arange(n), p)
    assert unit.deal_mistake(shares, n) is None
    assert unit.deal_mistake([[*shares[0], n], *shares[1:]], n).diagnosis == "out_of_range"
    assert unit.deal_mistake([shares[0][1:], *shares[1:]], n).diagnosis == "sample_left_out"
    twice = unit.deal_mistake([*shares[:-1], [*shares[-1], 0]], n)
    assert twice.diagnosis == "sample_twice" and "Sample 0 was dealt 2 times" in twice.detail
