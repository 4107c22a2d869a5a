"""The transformer: what it has and computes, by published formulas and torch's own layer; that it learns; that it can
be divided in every way the course divides it.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import gpt_in_parallel
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from labkit import data
from labkit.models import Attention, Block, gpt

SIZES = [(96, 64, 64, 4, 4), (10, 7, 12, 3, 1), (128, 16, 24, 2, 3)]  # V, s, h, heads, l


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def sized(V: int, s: int, h: int, heads: int, l: int, tied: bool = False) -> nn.Sequential:
    """In the letters of the formulas."""
    return gpt(vocabulary=V, context=s, width=h, heads=heads, layers=l, tied=tied)


def equation_2(V: int, s: int, h: int, l: int) -> float:
    """Parameters by Narayanan et al. (2021): a tied head, and no final norm."""
    return 12 * l * h**2 * (1 + 13 / (12 * h) + (V + s) / (12 * l * h))


# --- what it has and what it costs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("V", "s", "h", "heads", "l"), SIZES)
def test_number_of_parameters(V, s, h, heads, l):
    expected = round(equation_2(V, s, h, l)) + 2 * h
    assert parameters(sized(V, s, h, heads, l, tied=True)) == expected
    assert parameters(sized(V, s, h, heads, l)) == expected + V * h


def test_as_it_stands():
    model = gpt()
    said = re.search(r"As it stands ([\d,]+) parameters in (\d+) tensors", gpt.__doc__)
    assert [int(number.replace(",", "")) for number in said.groups()] == [
        parameters(model),
        len(list(model.parameters())),
    ]


@pytest.mark.parametrize(
    ("billions", "heads", "h", "l"),
    [(1.7, 24, 2304, 24), (18.4, 48, 6144, 40), (145.6, 96, 12288, 80), (1008.0, 160, 25600, 128)],
)
def test_published_sizes(billions, heads, h, l):
    """Rows of table 1 of Narayanan et al. (2021); all with V = 51,200 and s = 2,048."""
    with torch.device("meta"):
        model = sized(51_200, 2_048, h, heads, l, tied=True)
    assert round(parameters(model) / 1e9, 1) == billions


@pytest.mark.parametrize(("V", "s", "h", "heads", "l"), SIZES)
def test_floating_point_operations(V, s, h, heads, l):
    b, model = 3, sized(V, s, h, heads, l)
    with FlopCounterMode(display=False) as forward:
        logits = model(torch.zeros(b, s, dtype=torch.int64))
    assert forward.get_total_flops() == round(24 * b * s * l * h**2 * (1 + s / (6 * h) + V / (12 * l * h)))
    with FlopCounterMode(display=False) as backward:
        logits.sum().backward()
    assert backward.get_total_flops() == 2 * forward.get_total_flops()
    # equation 3: once forward, twice as much backward, and the blocks forward again
    blocks = 24 * b * s * l * h**2 * (1 + s / (6 * h))
    assert 3 * forward.get_total_flops() + blocks == pytest.approx(
        96 * b * s * l * h**2 * (1 + s / (6 * h) + V / (16 * l * h))
    )


# --- what it computes -------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_a_block_is_the_layer_of_torch():
    torch.manual_seed(0)
    block = Block(12, 3).double()
    layer = nn.TransformerEncoderLayer(12, 3, 48, 0.0, "gelu", batch_first=True, norm_first=True).double()
    qkv = [block.attention.q, block.attention.k, block.attention.v]
    layer.self_attn.in_proj_weight.copy_(torch.cat([linear.weight for linear in qkv]))
    layer.self_attn.in_proj_bias.copy_(torch.cat([linear.bias for linear in qkv]))
    layer.self_attn.out_proj.load_state_dict(block.attention.out.state_dict())
    for theirs, ours in ((layer.linear1, block.mlp.up), (layer.linear2, block.mlp.down)):
        theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 5, 12, dtype=torch.float64)
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    torch.testing.assert_close(block(x), layer(x, mask, is_causal=True), rtol=0, atol=1e-12)


@torch.no_grad()
def test_logits_know_nothing_of_later_tokens():
    model, tokens = gpt(layers=2), torch.arange(40).reshape(2, 20)
    changed = tokens.clone()
    changed[:, 12:] += 1
    before, after = model(tokens), model(changed)
    assert before.shape == (2, 20, 96)
    torch.testing.assert_close(before[:, :12], after[:, :12])
    assert (before[:, 12:] - after[:, 12:]).abs().amax(-1).min() > 0


@torch.no_grad()
def test_a_slice_is_a_pipeline_stage():
    model, tokens = gpt(layers=3), torch.arange(12).reshape(2, 6)
    stages = [model[:2], model[2:4], model[4:]]
    x = tokens
    for stage in stages:
        x = stage(x)
    assert torch.equal(x, model(tokens))
    assert [name for stage in stages for name in stage.state_dict()] == list(model.state_dict())
    assert [name for name, _ in model.named_children()] == [
        "embedding",
        *("block1", "block2", "block3"),
        "norm",
        "head",
    ]


@torch.no_grad()
@pytest.mark.parametrize("ranks", [2, 3, 6])
def test_attention_with_some_rows_computes_those_heads(ranks):
    torch.manual_seed(0)
    whole, x = Attention(24, 6), torch.randn(2, 5, 24)
    expected, total = whole(x), whole.out.bias.clone()
    for rows in torch.arange(24).chunk(ranks):
        part = Attention(24, 6)
        for name in "qkv":
            linear = getattr(whole, name)
            smaller = nn.Linear(24, len(rows))
            smaller.weight.copy_(linear.weight[rows])
            smaller.bias.copy_(linear.bias[rows])
            setattr(part, name, smaller)
        part.out = nn.Linear(len(rows), 24, bias=False)
        part.out.weight.copy_(whole.out.weight[:, rows])
        total = total + part(x)
    torch.testing.assert_close(total, expected)


def test_ranks_that_would_share_a_head():
    part = Attention(24, 6)
    for name in "qkv":
        setattr(part, name, nn.Linear(24, 6))
    with pytest.raises(ValueError, match="6 numbers are no whole heads of 4"):
        part(torch.zeros(2, 5, 24))


def test_tied_is_one_tensor():
    model = gpt(tied=True)
    assert model.head.weight is model.embedding.tokens.weight
    assert gpt().head.weight is not gpt().embedding.tokens.weight


@pytest.mark.parametrize("heads", [0, 3, 128])
def test_heads_that_do_not_divide_the_width(heads):
    with pytest.raises(ValueError, match=f"{heads} heads cannot share a width of 64"):
        gpt(heads=heads)


def test_more_tokens_than_the_context():
    with pytest.raises(ValueError, match="9 tokens in a row, but the context is 8"):
        gpt(context=8)(torch.zeros(1, 9, dtype=torch.int64))


# --- it learns --------------------------------------------------------------------------------------------------------


def test_it_learns_more_than_how_often_characters_occur():
    torch.manual_seed(0)
    model, tokens, random = gpt(), data.encode(data.text()), np.random.default_rng(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(120):
        x, y = (torch.from_numpy(part) for part in data.windows(tokens, 8, 64, random))
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    often = np.bincount(tokens) / len(tokens)
    unigram = -sum(share * math.log(share) for share in often if share)
    assert losses[0] == pytest.approx(math.log(96), abs=0.1)
    assert np.mean(losses[-10:]) < unigram - 0.35


# --- it can be divided ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def in_parallel() -> dict[str, float | str]:
    """What the program says, run once: two ranks of gloo."""
    command = [sys.executable, gpt_in_parallel.__file__]
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        return json.loads(process.communicate(timeout=150)[0])
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", gpt_in_parallel.CASES)
def test_gradients_of_ranks_are_those_of_one_process(case, in_parallel):
    assert case in in_parallel, f"an earlier case failed: {in_parallel}"
    assert not isinstance(in_parallel[case], str), in_parallel[case]
    assert in_parallel[case] < 1e-12
