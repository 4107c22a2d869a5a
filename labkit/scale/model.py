"""A transformer as numbers: its parameters, and the floating-point operations (FLOPs) of a token."""

from __future__ import annotations

from dataclasses import dataclass

RECOMPUTE = ("none", "selective", "full")


@dataclass(frozen=True)
class Model:
    """A decoder. heads: of queries; kv_heads: of keys and values, as many where nothing is said. ffn: width between the
    two matrices of a feed-forward layer, 4 x width; gated: there are three (SwiGLU). head_width: width / heads. tied:
    embedding and output share one matrix. biases: GPT's, of matrices and layer norms, and learned positions."""

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

    def __post_init__(self):
        for name, value in (
            ("kv_heads", self.heads),
            ("ffn", 4 * self.width),
            ("head_width", self.width // self.heads),
        ):
            if not getattr(self, name):
                object.__setattr__(self, name, value)

    @property
    def matrices(self) -> int:
        """Weights in the matrices of one layer."""
        attention = 2 * self.width * self.head_width * (self.heads + self.kv_heads)
        return attention + (3 if self.gated else 2) * self.width * self.ffn

    @property
    def per_layer(self) -> int:
        """Parameters of one layer: with GPT's biases 12 h^2 + 13 h."""
        norms = 4 * self.width if self.biases else 2 * self.width
        biases = self.head_width * (self.heads + 2 * self.kv_heads) + 2 * self.width + self.ffn if self.biases else 0
        return self.matrices + norms + biases

    @property
    def embedding(self) -> int:
        """Parameters of the embedding, with learned positions where there are biases."""
        return self.width * (self.vocabulary + (self.sequence if self.biases else 0))

    @property
    def head(self) -> int:
        """Parameters of the output that are not the embedding's."""
        return 0 if self.tied else self.width * self.vocabulary

    @property
    def parameters(self) -> int:
        """All of them: with GPT's biases 12 l h^2 (1 + 13 / 12h + (V + s) / 12lh), equation 2 of Narayanan et al. 2021.
        The norm behind the last layer is left out, there as here."""
        return self.layers * self.per_layer + self.embedding + self.head

    def layer_flops(self, recompute: str = "none", sequence: int = 0) -> float:
        """FLOPs of one layer and one token, forward and backward: 6 for each weight of a matrix, and 12 x s x the width
        of all heads for looking at s tokens, as if none were masked. recompute: what is done a second time in the
        backward pass: nothing, attention's scores and sums ("selective"), or the layer ("full")."""
        if recompute not in RECOMPUTE:
            raise ValueError(f"recompute {recompute!r}: one of {RECOMPUTE}")
        looking = 2 * 2 * (sequence or self.sequence) * self.heads * self.head_width
        forward = 2 * self.matrices + looking
        return 3 * forward + {"none": 0, "selective": looking, "full": forward}[recompute]

    @property
    def head_flops(self) -> float:
        """FLOPs of the output of one token, forward and backward."""
        return 6.0 * self.width * self.vocabulary

    def flops(self, recompute: str = "none", sequence: int = 0) -> float:
        """FLOPs of one token, forward and backward. With recompute="none" what the model needs (for the model FLOPs
        utilisation, MFU); else what the hardware does (HFU). With GPT's shape and recompute="full" it is
        96 l h^2 (1 + s / 6h + V / 16lh), equation 3 of Narayanan et al. 2021."""
        return self.layers * self.layer_flops(recompute, sequence) + self.head_flops


def utilisation(tokens_per_second: float, flops_per_token: float, ranks: int, peak: float) -> float:
    """The share of the peak, in FLOP/s of one rank, that all ranks together reach: MFU with the model's FLOPs, HFU with
    those that the hardware does."""
    return tokens_per_second * flops_per_token / (ranks * peak)


def training_days(tokens: float, parameters: float, ranks: int, flops_per_second: float) -> float:
    """8 T P / (n X) in days: T tokens, P parameters, n ranks of X FLOP/s, everything recomputed (Narayanan et al. 2021,
    equation 4)."""
    return 8 * tokens * parameters / (ranks * flops_per_second) / 86400
