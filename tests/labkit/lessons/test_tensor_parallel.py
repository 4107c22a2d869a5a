"""The machinery of unit 16: parts that make the whole again, gradients of parts, a clock, runs that say what is missing."""

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn

from labkit import simulation
from labkit.lessons import tensor_parallel

pytestmark = pytest.mark.usefixtures("warm")


def not_written():
    raise NotImplementedError("write it")


def broken():
    raise ValueError("another reason")


def test_a_run_says_what_is_not_written_yet_and_nothing_else(capsys):
    assert tensor_parallel.run(not_written, 1) is None
    assert capsys.readouterr().out == "Not written yet: come back to this cell when it is.\n"
    with pytest.raises(RuntimeError, match="another reason"):
        tensor_parallel.run(broken, 1)


def test_parts_of_a_linear_layer_make_the_whole():
    linear, x = nn.Linear(4, 6).double(), torch.ones(3, 4, dtype=torch.float64)
    columns, rows = ([tensor_parallel.cut_linear(linear, 2, r, dimension) for r in (0, 1)] for dimension in (0, 1))
    assert torch.equal(torch.cat([part(x) for part in columns], 1), linear(x))
    summed = sum(part(piece) for part, piece in zip(rows, x.chunk(2, 1), strict=True))
    assert torch.allclose(summed + linear.bias, linear(x))
    with pytest.raises(ValueError, match="4 ranks cannot share"):
        tensor_parallel.cut_linear(linear, 4, 0, 0)


def shapes_here():
    x, weights = tensor_parallel.mlp_parts(3, 4, 8)
    images = [[list(t.shape) for t in tensor_parallel.image_parts(how, 6)] for how in ("C_out", "C_in", "H")]
    return [list(x.shape)] + [list(w.shape) for w in weights], images


def test_shapes_of_a_rank_are_its_parts():
    ranks = simulation.run(shapes_here, 2).ranks
    for rank in ranks:
        mlp, images = rank.value
        assert mlp == [[3, 4], [4, 4], [4], [4, 4], [4]]
        assert images == [
            [[1, 8, 6, 6], [4, 8, 3, 3]],
            [[1, 4, 6, 6], [8, 4, 3, 3]],
            [[1, 8, 3, 6], [8, 8, 3, 3]],
        ]


def gradients_here():
    return tensor_parallel.loss_and_gradients(tensor_parallel.new_model())


def test_whole_gradients_are_those_of_one_process_and_parts_are_cut_out():
    loss, whole = tensor_parallel.loss_and_gradients(tensor_parallel.new_model())
    outcome = simulation.run(gradients_here, 2)
    assert outcome.ranks[0].value[0] == pytest.approx(loss, rel=1e-12)
    assert tensor_parallel.furthest(outcome, whole) < 1e-12
    part = tensor_parallel.part_of(whole, "block1.mlp.down.rows.weight", ["mlp.up"], 2, 1)
    assert torch.equal(part, whole["block1.mlp.down.weight"][:, part.shape[1] :])
    part = tensor_parallel.part_of(whole, "block1.mlp.up.bias", ["mlp.up"], 2, 0)
    assert torch.equal(part, whole["block1.mlp.up.bias"][: len(part)])


def charged():
    tensor_parallel.charged_step(lambda model: None)


def test_matrix_products_of_the_blocks_take_their_time():
    outcome = simulation.run(charged, 1)
    products = 2 * 12 * 32 * 32 * 64 * 2  # operations forward: two blocks of 12 h^2 weights, 64 tokens
    seconds = 3 * products * tensor_parallel.OPERATIONS / tensor_parallel.RATE
    assert outcome.ranks[0].busy == pytest.approx(seconds, rel=1e-9)


def test_a_reader_learns():
    losses, on_ranks, alone = tensor_parallel.train_reader(lambda model, x: model(x), 12)
    assert len(losses) == 12 and losses[-1] < losses[0] and on_ranks == alone


def two_tokens_each(rank, p):
    return np.arange(2) + 2 * rank


def around():
    return tensor_parallel.pairs_on_a_ring(two_tokens_each)


def test_pairs_on_a_ring_are_those_of_a_causal_mask():
    outcome = simulation.run(around, 3)
    assert [rank.value for rank in outcome.ranks] == [3, 7, 11]
    assert outcome.ranks[2].busy == pytest.approx(11e-9) and outcome.ranks[0].sends == 2


def tokens_and_expert():
    x, wanted, chosen = tensor_parallel.tokens_for_experts(8, 2, 3)
    y = tensor_parallel.expert(x)
    right = bool((wanted[:4] == 0).all()) and torch.equal(y, x * (dist.get_rank() + 2))
    return right, [len(one) for one in chosen]


def test_an_expert_gets_no_more_than_its_capacity():
    for rank in simulation.run(tokens_and_expert, 2).ranks:
        right, counts = rank.value
        assert right and counts[0] == 3 and counts[1] <= 3 and rank.busy == pytest.approx(8e-6)


def test_a_norm_keeps_its_input_its_mean_and_its_deviation():
    y, kept = tensor_parallel.normed(torch.ones(16, 32, requires_grad=True))
    assert y.shape == (16, 32) and kept == 4 * (16 * 32 + 2 * 16)


def test_logits_and_attention_are_the_same_each_time(capsys):
    (z, y), (again, _) = tensor_parallel.random_logits(3, 10), tensor_parallel.random_logits(3, 10)
    assert torch.equal(z, again) and z.shape == (3, 10) and y.shape == (3,)
    qkv, right = tensor_parallel.attention_of(heads=4, tokens=6)
    assert qkv.shape == (3, 4, 6, 8) and torch.allclose(right[:, 0], qkv[2, :, 0])
    tensor_parallel.print_parameters((32, 4096))
    assert "block1.mlp                 8,352    134,238,208" in capsys.readouterr().out
