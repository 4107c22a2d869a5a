"""DistributedDataParallel over gloo with two ranks on one device: NCCL refuses two ranks on one GPU, gloo does not."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from gpu_check.setting import Setting
from gpu_check.table import Row, judged
from labkit.models import mlp

STEPS, BATCH, CLOSE = 5, 64, 1e-10


def rows(setting: Setting, rank: int, world: int) -> Iterator[Row]:
    """Rows: the replicas are equal, and equal to one process that trains on the whole batches, in float64."""
    device = torch.device(setting.device)
    parallel = train(device, rank, world)
    everywhere = [torch.empty_like(parallel) for _ in range(world)]
    dist.all_gather(everywhere, parallel)
    yield from replica_rows(everywhere, train(device, 0, 1))


def replica_rows(replicas: list[torch.Tensor], alone: torch.Tensor) -> Iterator[Row]:
    """replicas: the parameters of each rank, one vector each. alone: those of one process."""
    apart = max(float((other - replicas[0]).abs().max()) for other in replicas)
    yield judged(f"{len(replicas)} replicas after {STEPS} steps", apart == 0, f"{apart:.1e} apart", "equal bit by bit")
    apart = float((replicas[0] - alone).abs().max())
    yield judged("DDP against one process, float64", apart <= CLOSE, f"{apart:.1e} apart", f"at most {CLOSE:.0e}")


def train(device: torch.device, rank: int, world: int) -> torch.Tensor:
    """The parameters after STEPS steps on this rank's shares of the same minibatches, as one vector."""
    torch.manual_seed(0)
    model = mlp().double().to(device)
    images = torch.rand(STEPS, BATCH, 1, 28, 28, dtype=torch.float64).to(device)
    labels = torch.randint(10, (STEPS, BATCH)).to(device)
    trained = DistributedDataParallel(model) if world > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for x, y in zip(images, labels, strict=True):
        optimizer.zero_grad()
        cross_entropy(trained(x[rank::world]), y[rank::world]).backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])
