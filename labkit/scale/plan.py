"""A model on a mesh of a machine: what fits, what a step takes, how much of the peak is used."""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.scale.formula import Estimate, estimate
from labkit.scale.machine import Machine
from labkit.scale.memory import (
    BYTES,
    Memory,
    alive,
    end_activations,
    fullest_candidates,
    layer_activations,
    per_chunk,
    stage_parts,
    states,
)
from labkit.scale.mesh import Mesh
from labkit.scale.model import Model, utilisation
from labkit.scale.overlap import Overlap
from labkit.scale.step import Step
from labkit.scale.wires import Wires


@dataclass(frozen=True)
class Formats:
    """Bits of numbers. product: of those that the weights' products of the layers multiply, 16, 8 or 4; attention's
    scores and the output stay at 16, as in DeepSeek-V3 (arXiv 2412.19437, section 3.3.1). message: of an activation, or
    its gradient, on its way to a tensor, context or pipeline neighbour, and of a weight that is gathered, 16 or 8.

    Memory does not depend on them: weights are kept in two bytes beside their 32-bit copy, activations in two.
    """

    product: int = 16
    message: int = 16

    def __post_init__(self):
        if self.product not in (16, 8, 4) or self.message not in (16, 8):
            raise ValueError(f"products of {self.product} bits: 16, 8 or 4; messages of {self.message}: 16 or 8")


@dataclass(frozen=True)
class Plan:
    """batch: sequences of one step, of all ranks; micro_batch: sequences at a time. chunks: of the model on each rank
    (v). zero: what replicas share (`labkit.scale.step.Step`). recompute: "none", "selective" or "full". sequence:
    tokens, the model's where nothing is said. efficiency: the share of the peak that a rank reaches while it computes;
    1 gives a bound, and nothing published says what it is for a kernel: measure it.

    flash: flash attention, which keeps no scores and computes them once more in its backward pass. gradient_bytes: of a
    parameter's gradient, 4 as Megatron-LM adds up those of micro-batches, or 2 as in the ZeRO paper. ends: what the
    embedding and the output keep counts, too.

    Of a mixture, `mesh.experts` replicas have the routed experts dealt out to them, all of which are taken alike, and
    the first layers count as the others do. capacity: of the tokens that an expert would get then, the multiple that it
    computes and is sent, filled up where fewer come (GShard's capacity factor).

    overlap: what is hidden behind computing (`labkit.scale.overlap`), as it stands nothing; weights that are gathered
    ahead count as little memory as those in use, none.

    formats: bits of products and of messages, as it stands 16.

    Activations are kept in two bytes, divided over a tensor group where they can be (sequence parallelism). The
    embedding's lookup takes no time, and its gradients are not sent. Raises ValueError where the parts do not come out
    even.
    """

    model: Model
    mesh: Mesh
    machine: Machine
    batch: int
    micro_batch: int = 1
    chunks: int = 1
    zero: int = 1
    recompute: str = "none"
    sequence: int = 0
    efficiency: float = 1.0
    flash: bool = False
    gradient_bytes: int = 4
    ends: bool = False
    overlap: Overlap = Overlap()
    formats: Formats = Formats()
    capacity: float = 1.0

    def __post_init__(self):
        mesh, model = self.mesh, self.model
        self.machine.peak_of(self.formats.product)
        if self.batch % (mesh.data * self.micro_batch):
            raise ValueError(f"{self.batch} sequences in micro-batches of {self.micro_batch} for {mesh.data} replicas")
        if model.heads % mesh.tensor or mesh.pipeline * self.chunks > model.layers + 2:
            raise ValueError(f"{model.heads} heads and {model.layers} layers on {mesh}")
        if self.chunks > 1 and self.micro_batches % mesh.pipeline:
            raise ValueError(f"{self.micro_batches} micro-batches are not in groups of {mesh.pipeline}")
        if self.tokens_at_once * mesh.context != self.micro_batch * (self.sequence or model.sequence):
            raise ValueError(f"a sequence does not come out even on {mesh.context} ranks")
        if not 0 < self.efficiency <= 1:
            raise ValueError(f"efficiency {self.efficiency}: a share of the peak")
        if self.gradient_bytes not in (2, 4):
            raise ValueError(f"gradients of {self.gradient_bytes} bytes: 2 or 4")
        if max(model.experts, 1) % mesh.experts:
            raise ValueError(f"{model.experts} experts do not come out even on {mesh.experts} ranks")
        if self.capacity < 1:
            raise ValueError(f"capacity {self.capacity:g}: at least 1, with which no token is left out")

    @property
    def micro_batches(self) -> int:
        """The micro-batches of each data-parallel replica."""
        return self.batch // (self.mesh.data * self.micro_batch)

    @property
    def tokens(self) -> int:
        """The tokens of one step."""
        return self.batch * (self.sequence or self.model.sequence)

    @property
    def tokens_at_once(self) -> int:
        """Tokens of a micro-batch on one rank."""
        return self.micro_batch * (self.sequence or self.model.sequence) // self.mesh.context

    def memory(self, stage: int = 0) -> Memory:
        """The most memory that a rank of a stage holds, in bytes."""
        mesh, model = self.mesh, self.model
        each = (BYTES[0], self.gradient_bytes, BYTES[2])
        shared, routed = stage_parts(model, mesh, stage, self.chunks)
        held = states(shared, mesh.replicas, self.zero, each)
        own = states(routed, mesh.copies, self.zero, each)
        return Memory(
            held.parameters + own.parameters,
            held.gradients + own.gradients,
            held.optimizer + own.optimizer,
            self._activations(stage),
        )

    def _activations(self, stage: int) -> float:
        mesh, model, tokens = self.mesh, self.model, self.tokens_at_once
        layer = layer_activations(model, tokens, mesh.tensor, self.recompute, sequence=self.sequence, flash=self.flash)
        layers = max(per_chunk(model.layers, mesh.pipeline * self.chunks)[stage :: mesh.pipeline])
        eager = self.overlap.messages
        found = layer * layers * alive(stage, mesh.pipeline, self.micro_batches, self.chunks, eager)
        if not self.ends:
            return found
        first = min(self.micro_batches, mesh.pipeline) if stage == 0 else 0
        return found + end_activations(model, tokens, mesh.tensor, first, stage == mesh.pipeline - 1)

    @property
    def fits(self) -> bool:
        """True if every stage's ranks hold less than the accelerator has."""
        return self.memory(self.fullest).total <= self.machine.memory

    @property
    def fullest(self) -> int:
        """The stage whose ranks hold the most."""
        stages = fullest_candidates(self.model.layers, self.mesh.pipeline, self.chunks)
        return max(stages, key=lambda stage: self.memory(stage).total)

    def step(self) -> Step:
        """One step of this plan, each rank's computing and communication: to be estimated, replayed or run on the
        relay."""
        mesh, model, tokens = self.mesh, self.model, self.tokens_at_once
        rate = self.machine.peak * self.efficiency * mesh.tensor  # a tensor group shares a token's work
        forward, backward = self._layer_flops()
        number = self.formats.message // 8  # bytes
        largest = max(per_chunk(model.layers, mesh.pipeline * self.chunks))
        share = math.ceil(largest * (model.per_layer - model.routed) / mesh.tensor / mesh.replicas)
        own = math.ceil(largest * model.routed / mesh.tensor / mesh.experts / mesh.copies)
        activation = number * tokens * model.width
        copies = model.experts_per_token * self.capacity  # of each token, for its experts
        return Step(
            mesh,
            self.micro_batches,
            self.chunks,
            per_chunk(model.layers, mesh.pipeline * self.chunks),
            forward=forward * tokens / rate,
            backward=backward * tokens / rate,
            head=model.head_flops / 3 * tokens / rate,
            tensor_bytes=self._tensor_bytes(activation, copies),
            context_bytes=2 * number * tokens * model.kv_heads * model.head_width // mesh.tensor,
            hop_bytes=activation // mesh.tensor,
            weight_bytes=number * share * mesh.replicas,
            gradient_bytes=self.gradient_bytes * share * mesh.replicas,
            zero=self.zero,
            overlap=self.overlap,
            expert_bytes=math.ceil(copies * activation / mesh.tensor) if mesh.experts > 1 else 0,
            expert_weight_bytes=number * own * mesh.copies,
            expert_gradient_bytes=self.gradient_bytes * own * mesh.copies,
        )

    def _layer_flops(self) -> tuple[float, float]:
        """FLOPs of one layer and token, forward and backward: so many of 16 bits as take the same time."""
        model, sequence = self.model, self.sequence or self.model.sequence
        forward = model.layer_flops(sequence=sequence) / 3
        backward = model.layer_flops(self.recompute, sequence) - forward
        if self.flash:
            backward += model.looking_flops(sequence) / 2  # the scores, one of the two products
        padding = (self.capacity - 1) * model.experts_per_token * model.feed_forward(model.expert_width)
        faster = 1 - self.machine.peak / self.machine.peak_of(self.formats.product)
        more = padding - faster * (model.matrices + padding)
        return forward + 2 * more, backward + (6 if self.recompute == "full" else 4) * more

    def _tensor_bytes(self, activation: int, copies: float) -> int:
        """Bytes of each of a layer's two all-reduces. Of a mixture their mean: attention's, and that of the tokens'
        copies and of the shared experts, whose matrices a tensor group shares."""
        if not self.model.experts:
            return activation
        return math.ceil(activation * (1 + copies + (self.model.shared_experts > 0)) / 2)

    def estimate(self, wires: Wires | None = None) -> Estimate:
        """By the closed formulas. wires: of the same mesh and machine, from an estimate before."""
        return estimate(self.step(), self.machine.topology, wires)

    def utilisation(self, seconds: float, recomputed: bool = False) -> float:
        """The share of the peak, that of the layers' products, when a step takes so long: MFU, or, with what was
        recomputed, HFU."""
        flops = self.model.flops(self.recompute if recomputed else "none", self.sequence)
        peak = self.machine.peak_of(self.formats.product)
        return utilisation(self.tokens / seconds, flops, self.mesh.size, peak)
