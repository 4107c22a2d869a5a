"""Unit 05 against truth from elsewhere: torch's autograd in one process, on the whole minibatch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from autograder.exercise import rng_for
from autograder.exercises.readings import gradients
from autograder.registry import module_of
from labkit.relay import wire

unit = module_of("05_gradient_all_reduce")

KEYS = ["public", "key 1", "key 2"]


def network(weights) -> nn.Sequential:
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    with torch.no_grad():
        for p, w in zip(model.parameters(), weights, strict=True):
            p.copy_(torch.as_tensor(w))
    return model


@pytest.mark.parametrize("key", KEYS)
def test_what_train_step_expects_is_sgd_of_one_process_on_the_whole_minibatch(key):
    """The chain rule written in numpy, summed over the shares, against autograd on all samples at once."""
    exercise = unit.TrainStep()
    for case in exercise.cases(rng_for(exercise, key)):
        model = network(case.known["weights"])
        optimizer = torch.optim.SGD(model.parameters(), lr=case.known["lr"])
        for step, shares in enumerate(case.known["steps"]):
            x, y = (torch.from_numpy(np.concatenate(part)) for part in zip(*shares, strict=True))
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            for expected in exercise.expected(case):
                assert expected["loss"][step] == pytest.approx(loss.item(), rel=1e-9)
                for name, p in model.named_parameters():
                    np.testing.assert_allclose(
                        expected[f"after step {step + 1}"][name].values, p.detach().numpy(), rtol=1e-8, atol=1e-12
                    )


@pytest.mark.parametrize("key", KEYS)
def test_what_average_and_clip_expects_is_torch_s_clipping_of_the_mean(key):
    exercise = unit.AverageAndClip()
    for case in exercise.cases(rng_for(exercise, key)):
        trained = []
        for per_rank in case.known["brought"].values():
            trained.append(nn.Parameter(torch.zeros(per_rank[0].shape, dtype=torch.float64)))
            trained[-1].grad = torch.as_tensor(np.mean(per_rank, axis=0), dtype=torch.float64)
        norm = torch.nn.utils.clip_grad_norm_(trained, case.known["max_norm"]).item()
        for expected in exercise.expected(case):
            assert expected["norm"] == pytest.approx(norm, rel=1e-9)
            for name, p in zip(case.known["brought"], trained, strict=True):
                np.testing.assert_allclose(expected[name].values, p.grad.numpy(), rtol=1e-6, atol=1e-12)


def test_what_global_metrics_expects_counts_every_sample_once():
    exercise = unit.GlobalMetrics()
    for case in exercise.cases(rng_for(exercise)):
        losses, correct = np.concatenate(case.known["losses"]), np.concatenate(case.known["correct"])
        means = pytest.approx((losses.mean(), correct.mean()), nan_ok=True)
        assert exercise.expected(case) == [means] * case.world_size


AVERAGED = """
import torch
import torch.distributed as dist
from torch import nn

{references}

def gradients(x, y, function):
    '''Each rank backpropagates the mean loss of its share, then averages.'''
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    share = slice(dist.get_rank() * len(x) // dist.get_world_size(), (dist.get_rank() + 1) * len(x) // dist.get_world_size())
    nn.functional.cross_entropy(model(x[share]), y[share]).backward()
    {{"one by one": average_gradients, "flat": average_gradients_flat}}[function](model)
    return [p.grad for p in model.parameters()]
"""


@pytest.mark.parametrize("function", ["one by one", "flat"])
@pytest.mark.parametrize("world_size", [2, 3, 4])
def test_the_mean_of_the_shares_gradients_is_the_gradient_of_the_whole_minibatch(warm, world_size, function):
    from labkit.cells.slicing import Chunk
    from labkit.launch.launcher import Limits, make_jobs

    rng = np.random.default_rng(world_size)
    x, y = torch.from_numpy(rng.normal(size=(12, 6))), torch.from_numpy(rng.integers(0, 3, 12))
    references = "\n".join(e.reference for e in (unit.AverageGradients, unit.AverageGradientsFlat))
    chunks = [Chunk("test", 1, AVERAGED.format(references=references))]
    tensors = (wire.Tensor(x.numpy(), "float64"), wire.Tensor(y.numpy(), "int64"), function)
    jobs = make_jobs(chunks, "gradients", [tensors] * world_size, runtime="torch", harness="", seed=0)
    outcome, _ = warm.run(jobs, late=(), seed=0, limits=Limits())

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    nn.functional.cross_entropy(model(x), y).backward()
    assert [rank.state for rank in outcome.ranks] == ["returned"] * world_size
    for rank in outcome.ranks:
        assert len(rank.collectives) == (1 if function == "flat" else 4)
        for found, p in zip(rank.value, model.parameters(), strict=True):
            np.testing.assert_allclose(found.values, p.grad.numpy(), rtol=1e-6, atol=1e-15)


def test_weights_are_read_out_of_a_mixture_and_only_out_of_a_mixture():
    rng = np.random.default_rng(3)
    brought = [rng.integers(1, 4, 20) * 10.0**r for r in range(4)]
    weights = np.array([0.25, 0, 1, -2])
    mixture = sum(w * b for w, b in zip(weights, brought, strict=True))
    np.testing.assert_allclose(gradients.weights_in(mixture, brought), weights, atol=1e-9)
    assert gradients.weights_in(mixture + rng.normal(size=20), brought) is None
    assert gradients.weights_in(mixture, [brought[0]] * 2) is None, "not unique"
    assert gradients.weights_in(mixture * np.nan, brought) is None


@pytest.mark.parametrize(
    ("weights", "name"),
    [
        (np.ones((3, 3)) / 3, None),
        (np.ones((3, 3)), "sum_for_mean"),
        (np.ones((3, 3)) / 9, "divided_twice"),
        (np.ones((3, 3)) / 2, "wrong_factor"),
        (-np.ones((3, 3)) / 3, "wrong_factor"),
        (np.eye(3), "own_only"),
        (np.eye(3) / 3, "own_divided"),
        (np.eye(3)[[1, 1, 1]], "copied_from_one_rank"),
        (np.array([[1, 0, 1]] * 3) / 3, "unequal_weights"),
        (np.array([[1, 1, 2]] * 3) / 4, "unequal_weights"),
        (np.array([[1, 1, 1], [3, 0, 0], [0, 3, 0]]) / 3, "only_one_rank"),
        (np.array([[1, 1, 1], [3, 3, 3], [3, 3, 3]]) / 3, "divided_on_some_ranks"),
        (np.ones((3, 3)) / 3 + np.eye(3), "differs_between_ranks"),
    ],
)
def test_a_mixture_has_the_name_of_the_mistake_that_makes_it(weights, name):
    found = gradients.name_of(np.asarray(weights, dtype=float), np.full(3, 1 / 3))
    assert (found and found[0]) == name
