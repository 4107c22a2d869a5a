"""Settings of a training, on however many ranks: the same numbers in, the same numbers out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from labkit import data
from labkit.models import gpt


@dataclass(frozen=True)
class Settings:
    """A `labkit.models.gpt` on the course's own text, in float64.

    layers, width, heads: of the model. context: tokens of a sequence. batch: sequences of one step, of all replicas
    together. micro_batches: that each replica cuts its sequences into. rate: of Adam. clip: the largest norm of a
    gradient; a longer one is scaled down to it. seed: decides the first weights and the minibatches.
    """

    layers: int = 4
    width: int = 64
    heads: int = 4
    context: int = 32
    batch: int = 16
    micro_batches: int = 4
    rate: float = 3e-3
    clip: float = 1.0
    seed: int = 0

    @property
    def vocabulary(self) -> int:
        """The number of different tokens."""
        return len(data.CHARACTERS)

    @property
    def tokens(self) -> int:
        """The number of tokens in one step."""
        return self.batch * self.context

    def model(self) -> nn.Sequential:
        """The whole model with its first weights, the same at every call and on every rank."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return gpt(
                vocabulary=self.vocabulary,
                context=self.context,
                width=self.width,
                heads=self.heads,
                layers=self.layers,
            ).double()

    def minibatch(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of step 0, 1, ...: the whole minibatch, (batch, context) each, int64."""
        x, y = data.windows(_tokens(), self.batch, self.context, np.random.default_rng([self.seed, step]))
        return torch.from_numpy(x), torch.from_numpy(y)


@cache
def _tokens() -> np.ndarray:
    return data.encode(data.text())
