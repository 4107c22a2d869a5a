"""A transformer as numbers: its parameters, and the floating-point operations (FLOPs) of a token."""

from __future__ import annotations

from dataclasses import dataclass

RECOMPUTE = ("none", "selective", "full")


@dataclass(frozen=True)
class Model:
    """A decoder. heads: of queries; kv_heads: of keys and values, as many where nothing is said. ffn: width between the
    two matrices of a feed-forward layer, 4 x width; gated: there are three (SwiGLU). head_width: width / heads. tied:
    embedding and output share one matrix. biases: GPT's, of matrices and layer norms, and learned positions, unless
    rotary: positions by rotation, which have no parameters. dropout: whether it was trained with it, as GPT; it decides
    what a layer keeps. Where it is not said, a layer is taken to keep what one of GPT's would, whatever its shape.

    experts: a mixture of so many feed-forward layers of expert_width in place of one, of which each token takes
    experts_per_token, and shared_experts more that take every token; all but the first dense_layers have it.
    attention: weights of a layer's attention where widths and heads do not say them (multi-head latent attention)."""

    layers: int
    width: int
    heads: int
    vocabulary: int
    sequence: int
    kv_heads: int = 0
    ffn: int = 0
    head_width: int = 0
    gated: bool = False
    tied: bool = True
    biases: bool = True
    rotary: bool = False
    dropout: bool | None = None
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    expert_width: int = 0
    dense_layers: int = 0
    attention: int = 0

    def __post_init__(self):
        mixture = (self.experts_per_token, self.expert_width)
        if self.experts and (not all(mixture) or self.experts_per_token > self.experts):
            raise ValueError(f"{self.experts} experts: say experts_per_token, at most as many, and expert_width")
        if not self.experts and any((*mixture, self.shared_experts, self.dense_layers)):
            raise ValueError("experts_per_token, shared_experts, expert_width and dense_layers go with experts")
        for name, value in (
            ("kv_heads", self.heads),
            ("ffn", 4 * self.width),
            ("head_width", self.width // self.heads),
        ):
            if not getattr(self, name):
                object.__setattr__(self, name, value)

    def feed_forward(self, width: int) -> int:
        """Weights of a feed-forward layer of this inner width."""
        return (3 if self.gated else 2) * self.width * width

    def _attention(self) -> int:
        return self.attention or 2 * self.width * self.head_width * (self.heads + self.kv_heads)

    @property
    def matrices(self) -> int:
        """Weights in the matrices that a token goes through in one layer: of experts those that it takes, and the
        router."""
        if not self.experts:
            return self._attention() + self.feed_forward(self.ffn)
        taken = self.experts_per_token + self.shared_experts
        return self._attention() + taken * self.feed_forward(self.expert_width) + self.width * self.experts

    @property
    def routed(self) -> int:
        """Weights of all routed experts of a layer, which expert parallelism deals out to ranks."""
        return self.experts * self.feed_forward(self.expert_width)

    @property
    def _dense_surplus(self) -> int:
        """Weights by which a layer before the experts' is larger than the matrices of one with experts."""
        return self.feed_forward(self.ffn) - (self.matrices - self._attention()) if self.dense_layers else 0

    @property
    def per_layer(self) -> int:
        """Parameters of one layer, with all of its experts: with GPT's biases 12 h^2 + 13 h."""
        if self.experts:
            not_taken = self.experts - self.experts_per_token
            return self.matrices + not_taken * self.feed_forward(self.expert_width) + self._rest_of_a_layer
        return self.matrices + self._rest_of_a_layer

    @property
    def _rest_of_a_layer(self) -> int:
        """Parameters of norms and biases."""
        norms = 4 * self.width if self.biases else 2 * self.width
        biases = self.head_width * (self.heads + 2 * self.kv_heads) + 2 * self.width + self.ffn if self.biases else 0
        return norms + biases

    @property
    def embedding(self) -> int:
        """Parameters of the embedding, with learned positions where there are biases and nothing rotary."""
        return self.width * (self.vocabulary + (self.sequence if self.biases and not self.rotary else 0))

    @property
    def head(self) -> int:
        """Parameters of the output that are not the embedding's."""
        return 0 if self.tied else self.width * self.vocabulary

    @property
    def parameters(self) -> int:
        """All of them: with GPT's biases 12 l h^2 (1 + 13 / 12h + (V + s) / 12lh), equation 2 of Narayanan et al. 2021.
        The norm behind the last layer is left out, there as here."""
        with_experts = self.layers - self.dense_layers
        found = with_experts * self.per_layer + self.dense_layers * self._per_dense_layer
        return found + self.embedding + self.head

    @property
    def _per_dense_layer(self) -> int:
        return self._attention() + self.feed_forward(self.ffn) + self._rest_of_a_layer

    @property
    def active_parameters(self) -> int:
        """The parameters that one token meets: without the experts that it does not take. The embedding is counted as a
        whole, which DeepSeek-AI leaves out and Mistral AI does not."""
        found = self.layers * (self.matrices + self._rest_of_a_layer) + self.dense_layers * self._dense_surplus
        return found + self.embedding + self.head

    def layer_flops(self, recompute: str = "none", sequence: int = 0) -> float:
        """FLOPs of one layer and one token, forward and backward: 6 for each weight of a matrix, and 12 x s x the width
        of all heads for looking at s tokens, as if none were masked. recompute: what is done a second time in the
        backward pass: nothing, attention's scores and sums ("selective"), or the layer ("full")."""
        if recompute not in RECOMPUTE:
            raise ValueError(f"recompute {recompute!r}: one of {RECOMPUTE}")
        looking = self.looking_flops(sequence)
        forward = 2 * self.matrices + looking
        return 3 * forward + {"none": 0, "selective": looking, "full": forward}[recompute]

    def looking_flops(self, sequence: int = 0) -> int:
        """FLOPs of attention's scores and sums of one layer and one token, forward."""
        return 2 * 2 * (sequence or self.sequence) * self.heads * self.head_width

    @property
    def head_flops(self) -> float:
        """FLOPs of the output of one token, forward and backward."""
        return 6.0 * self.width * self.vocabulary

    def flops(self, recompute: str = "none", sequence: int = 0) -> float:
        """FLOPs of one token, forward and backward. With recompute="none" what the model needs (for the model FLOPs
        utilisation, MFU); else what the hardware does (HFU). With GPT's shape and recompute="full" it is
        96 l h^2 (1 + s / 6h + V / 16lh), equation 3 of Narayanan et al. 2021."""
        more = (8 if recompute == "full" else 6) * self.dense_layers * self._dense_surplus
        return self.layers * self.layer_flops(recompute, sequence) + more + self.head_flops


def utilisation(tokens_per_second: float, flops_per_token: float, ranks: int, peak: float) -> float:
    """The share of the peak, in FLOP/s of one rank, that all ranks together reach: MFU with the model's FLOPs, HFU with
    those that the hardware does."""
    return tokens_per_second * flops_per_token / (ranks * peak)


def training_days(tokens: float, parameters: float, ranks: int, flops_per_second: float) -> float:
    """8 T P / (n X) in days: T tokens, P parameters, n ranks of X FLOP/s, everything recomputed (Narayanan et al. 2021,
    equation 4)."""
    return 8 * tokens * parameters / (ranks * flops_per_second) / 86400
