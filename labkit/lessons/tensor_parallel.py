"""The machinery of unit 16: linear layers in parts, a small transformer and its batch, a clock for a larger one, and
what the page's experiments are made of.

Functions that ask for their rank run on ranks: those of `run`, or of `labkit.simulation.run`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from labkit import data, simulation
from labkit.interconnect.topology import Topology, nodes
from labkit.models import gpt
from labkit.relay.charging import compute
from labkit.relay.outcome import Outcome

# --- runs -------------------------------------------------------------------------------------------------------------


def run(function: Callable, p: int, arguments=(), **network) -> Outcome | None:
    """The outcome of `labkit.simulation.run` with the same arguments; None, and a line that says so, where the function
    calls an exercise that is not written yet.
    """
    try:
        return simulation.run(function, p, arguments, **network)
    except RuntimeError as error:
        if "NotImplementedError" not in str(error):
            raise
        print("Not written yet: come back to this cell when it is.")
        return None


def sent(outcome: Outcome) -> int:
    """The bytes that all links together have carried."""
    return round(sum(outcome.link_bytes.values()))


def number(value) -> Tensor:
    """A tensor again, from what a rank has returned."""
    return torch.tensor(value.values if hasattr(value, "values") else value)


# --- layers in parts --------------------------------------------------------------------------------------------------


def mlp_parts(n: int, d: int, h: int) -> tuple[Tensor, list[Tensor]]:
    """The input of an MLP and this rank's part of its weights, hidden width h: random, and all with gradients.

    The input is ones, (n, d); the weights are up (h / p, d), its bias (h / p,), down (d, h / p) and its bias (d,).
    """
    p = dist.get_world_size()
    torch.manual_seed(dist.get_rank())
    shapes = [(h // p, d), (h // p,), (d, h // p), (d,)]
    return torch.ones(n, d, requires_grad=True), [torch.randn(shape, requires_grad=True) for shape in shapes]


def cut_linear(linear: nn.Linear, p: int, rank: int, dimension: int) -> nn.Linear:
    """A rank's part of a linear layer, with weights of its own: outputs (dimension 0, with their bias) or inputs
    (dimension 1, without bias). Raises ValueError where p ranks cannot share them evenly.
    """
    if linear.weight.shape[dimension] % p:
        raise ValueError(f"{p} ranks cannot share {tuple(linear.weight.shape)}")
    weight = linear.weight.detach().chunk(p, dimension)[rank].clone()
    part = nn.Linear(*weight.T.shape, bias=dimension == 0, dtype=weight.dtype)
    part.weight = nn.Parameter(weight)
    if dimension == 0:
        part.bias = nn.Parameter(linear.bias.detach().chunk(p)[rank].clone())
    return part


def image_parts(how: str, side: int) -> tuple[Tensor, Tensor]:
    """An image of 8 channels and a kernel of (8, 8, 3, 3), all ones, of each this rank's part.

    how: "C_out", "C_in" or "H", what is divided. side: height and width of the image. Returns x (1, c, h, side) and
    weight (o, c, 3, 3).
    """
    p, rank = dist.get_world_size(), dist.get_rank()
    x, weight = torch.ones(1, 8, side, side), torch.ones(8, 8, 3, 3)
    if how != "C_out":
        x = x.chunk(p, 1 if how == "C_in" else 2)[rank]
    if how != "H":
        weight = weight.chunk(p, 0 if how == "C_out" else 1)[rank]
    return x, weight


def random_logits(n: int, vocabulary: int) -> tuple[Tensor, Tensor]:
    """Logits (n, vocabulary) and targets (n,), int64, the same in every process."""
    torch.manual_seed(3)
    return torch.randn(n, vocabulary), torch.randint(vocabulary, (n,))


def normed(x: Tensor) -> tuple[Tensor, int]:
    """The layer norm of x (n, d) over d, and the bytes that autograd keeps of it for the backward pass."""
    kept = {}

    def keep(tensor):
        kept[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = F.layer_norm(x, x.shape[-1:])
    return y, sum(kept.values())


# --- a small transformer ----------------------------------------------------------------------------------------------


def print_parameters(widths: Sequence[int]) -> None:
    """Print the parameters in each kind of part of the course's transformer, a column for each width."""
    with torch.device("meta"):  # counted, not stored
        models = [gpt(width=width, heads=8, layers=2) for width in widths]
    print(f"{'width':<22}" + "".join(f"{width:>{10 + 5 * k}}" for k, width in enumerate(widths)))
    for part in ("block1.attention", "block1.mlp", "block1.norm", "embedding", "head"):
        counts = [sum(w.numel() for name, w in model.named_parameters() if part in name) for model in models]
        print(f"{part:<22}" + "".join(f"{count:>{10 + 5 * k},}" for k, count in enumerate(counts)))


@functools.cache
def all_tokens() -> np.ndarray:
    """The course's text as tokens."""
    return data.encode(data.text())


def new_model() -> nn.Sequential:
    """A transformer of 2 blocks of width 32 with 8 heads, in float64, the same in every process."""
    torch.manual_seed(1)
    return gpt(width=32, heads=8, layers=2, context=32).double()


def loss_of(model: nn.Module) -> Tensor:
    """The loss of a model on a batch of 2 sequences of 32 tokens, the same in every process."""
    x, y = map(torch.from_numpy, data.windows(all_tokens(), 2, 32, np.random.default_rng(1)))
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def loss_and_gradients(model: nn.Module) -> tuple[float, dict[str, Tensor]]:
    """The loss of `loss_of`, and after its backward pass the gradients by name, as this rank holds them; those of
    DTensors whole.
    """
    loss = loss_of(model)
    loss.backward()
    gradients = {name: w.grad for name, w in model.named_parameters()}
    return loss.item(), {name: g.full_tensor() if hasattr(g, "full_tensor") else g for name, g in gradients.items()}


def part_of(whole: Mapping[str, Tensor], name: str, columns: Collection[str], p: int, rank: int) -> Tensor:
    """A rank's part of the right gradient of a name in the divided model.

    whole: gradients by name of the model in one process. columns: paths of the layers that are cut by columns; those
    cut by rows have weights named "rows.weight".
    """
    if name.endswith("rows.weight"):
        return whole[name.replace("rows.", "")].chunk(p, 1)[rank]
    if any(column in name for column in columns):
        return whole[name].chunk(p)[rank]
    return whole[name]


def furthest(outcome: Outcome, whole: Mapping[str, Tensor], columns: Collection[str] = ()) -> float:
    """The largest difference of a number, over all ranks and names, between the gradients that `loss_and_gradients`
    has returned on the ranks and those that belong there. whole, columns: as of `part_of`.
    """
    p = len(outcome.ranks)
    return max(
        float((number(found) - part_of(whole, name, columns, p, r)).abs().max())
        for r, rank in enumerate(outcome.ranks)
        for name, found in rank.value[1].items()
    )


# --- the clock of a larger model --------------------------------------------------------------------------------------

# Width 4096 in place of 32, 2,048 tokens in place of 64, 2 bytes a number in place of 8.
BYTES, OPERATIONS = 32 * 128 * 2 / 8, 32 * 128 * 128
RATE = 3e14  # operations per second of one device, assumed


def blocks_of(per_node: int, cards: int = 1) -> Topology:
    """Nodes of `per_node` ranks with 300 GB/s inside, and `cards` cards of 100 Gbit/s for each node between them; each
    byte counts as 1,024.
    """
    inside, between = (1e-6, BYTES / 300e9), (5e-6, BYTES / (cards * 12.5e9))
    return nodes(per_node, inside=inside, between=between)


def charge(model: nn.Module) -> None:
    """Let the matrix products of all blocks take their time on the clock, "F" forward and "B" backward."""
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and "block" in name:
            _charge_linear(module)


def _charge_linear(linear: nn.Linear) -> None:
    weight = linear.weight
    if hasattr(weight, "to_local"):
        weight = weight.to_local()
    seconds = 2 * 64 * weight.numel() * OPERATIONS / RATE  # 64 tokens
    linear.register_forward_pre_hook(lambda *_: compute(seconds, "F"))
    linear.register_full_backward_pre_hook(lambda *_: compute(2 * seconds, "B"))


def charged_step(divide: Callable[[nn.Module], object]) -> None:
    """Run a forward and a backward pass of the small transformer, with its matrix products on the clock.

    divide: function; divide(model) replaces the layers of the model, in place, by this rank's parts.
    """
    model = new_model()
    divide(model)
    charge(model)
    loss_of(model).backward()


# --- a reader of characters -------------------------------------------------------------------------------------------


class Reader(nn.Module):
    """The next character from 8: a vector of 16 numbers for each, then an MLP of 128 hidden activations."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors, self.up = nn.Embedding(96, 16), nn.Linear(128, 128)
        self.down = nn.Linear(128, 96)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (batch, 96) from tokens (batch, 8)."""
        return self.down(F.gelu(self.up(self.vectors(tokens).flatten(1))))


def pieces(batch: int, random: np.random.Generator) -> tuple[Tensor, Tensor]:
    """`batch` times 8 characters from random places of the text, (batch, 8), and the next one of each, (batch,)."""
    x = torch.from_numpy(data.windows(all_tokens(), batch, 9, random)[0])
    return x[:, :8], x[:, 8]


def train_reader(forward: Callable[[Reader, Tensor], Tensor], steps: int) -> tuple[list[float], float, float]:
    """Train a `Reader` with Adam on batches of 32.

    forward: function; forward(model, tokens) is the model's output as the ranks compute it. Returns the loss of each
    step, and after the last one the loss on other text, as the ranks compute it and with the same weights in one
    process.
    """
    torch.manual_seed(1)
    model, random, losses = Reader(), np.random.default_rng(2), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        x, y = pieces(32, random)
        loss = F.cross_entropy(forward(model, x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    x, y = pieces(2000, np.random.default_rng(3))
    with torch.no_grad():
        on_ranks = F.cross_entropy(forward(model, x), y).item()
        alone = F.cross_entropy(model(x), y).item()
    return losses, on_ranks, alone


# --- long texts -------------------------------------------------------------------------------------------------------


def attention_of(heads: int, tokens: int) -> tuple[Tensor, Tensor]:
    """Random queries, keys and values of head size 8 in one tensor, (3, heads, tokens, 8), and their causal attention,
    (heads, tokens, 8); float64.
    """
    torch.manual_seed(4)
    qkv = torch.randn(3, heads, tokens, 8, dtype=torch.float64)
    return qkv, F.scaled_dot_product_attention(*qkv, is_causal=True)


def pairs_on_a_ring(tokens_of: Callable[[int, int], np.ndarray]) -> int:
    """The pairs of a query and a key not later than it that this rank works on, while blocks of keys and values go once
    round the ring; each pair takes a nanosecond, in blocks named "0", "1" and so on.

    tokens_of: function; tokens_of(rank, p) are the numbers of the tokens that a rank keeps, as many on every rank.
    """
    p, rank = dist.get_world_size(), dist.get_rank()
    mine, pairs = tokens_of(rank, p), 0
    block = torch.zeros(len(mine), 2, 8)
    for step in range(p):
        if step < p - 1:
            coming = torch.empty_like(block)
            works = [dist.isend(block, (rank + 1) % p)]
            works += [dist.irecv(coming, (rank - 1) % p)]
        here = int((mine[:, None] >= tokens_of((rank - step) % p, p)).sum())
        pairs += here
        if here:
            compute(1e-9 * here, str(step))
        if step < p - 1:
            for work in works:
                work.wait()
            block = coming
    return pairs


# --- experts ----------------------------------------------------------------------------------------------------------


def tokens_for_experts(n: int, d: int, capacity: int) -> tuple[Tensor, Tensor, list[Tensor]]:
    """This rank's tokens (n, d), the expert that each of them wants, (n,), and for each expert the numbers of the
    tokens that go there, at most `capacity`. Half of the tokens want expert 0.
    """
    p = dist.get_world_size()
    torch.manual_seed(10 + dist.get_rank())
    x, wanted = torch.randn(n, d), torch.randint(p, (n,))
    wanted[: n // 2] = 0
    return x, wanted, [(wanted == expert).nonzero()[:capacity, 0] for expert in range(p)]


def expert(x: Tensor) -> Tensor:
    """This rank's expert on the tokens x: it multiplies by the rank + 2, a microsecond for each token."""
    y = x * (dist.get_rank() + 2)
    compute(1e-6 * len(x), "E")
    return y
