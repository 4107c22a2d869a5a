"""The course's models in PyTorch. `labkit.keras_models` has the same ones for TensorFlow: same
names, arguments and layers.

Each function returns a new model on the CPU with random parameters: `torch.manual_seed` before the
call decides which. A model takes images of shape (batch, channels, height, width), float32, and
returns logits of shape (batch, classes): softmax is in the loss (`nn.functional.cross_entropy`).
`gpt`, a transformer, is in PyTorch only, and takes tokens.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor, nn


def mlp(hidden: Sequence[int] = (128, 64), classes: int = 10) -> nn.Sequential:
    """A multilayer perceptron for images of 28 x 28 pixels: 784 inputs, a ReLU layer of each width
    in `hidden`, `classes` logits.

    As it stands 109,386 parameters in 6 tensors. It has no dropout and no batch normalisation: what
    it computes for one image depends on nothing else in the minibatch, so a parallel run can equal
    a sequential one.
    """
    widths = (28 * 28, *hidden)
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], classes))


def cnn(classes: int = 10) -> nn.Sequential:
    """A small convolutional network for grey images of 28 x 28 pixels: two convolutions of 3 x 3
    with ReLU, each followed by max pooling of 2 x 2, then one linear layer.

    As it stands 20,490 parameters in 6 tensors; no dropout and no batch normalisation, like `mlp`.
    """
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 7 * 7, classes)),
    )


def resnet18(
    classes: int = 1000, channels: int = 3, width: int = 64, small_images: bool = False
) -> nn.Sequential:
    """ResNet-18: two blocks in each of the four stages, 11,689,512 parameters as it stands.
    Arguments as of `resnet34`.
    """
    return _resnet((2, 2, 2, 2), classes, channels, width, small_images)


def resnet34(
    classes: int = 1000, channels: int = 3, width: int = 64, small_images: bool = False
) -> nn.Sequential:
    """ResNet-34: 3, 4, 6 and 3 blocks in its four stages, 21,797,672 parameters as it stands.

    channels: of the images, 3 for colour, 1 for grey. width: feature maps of the first stage; each
    later one has twice as many at half the height and width. small_images: for 28 x 28 or 32 x 32
    pixels, where the original start (7 x 7 convolution and max pooling, each with stride 2) would
    leave next to nothing: a 3 x 3 convolution with stride 1 and no pooling instead.

    Source: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition" (2016), table 1;
    shortcuts of option B, where a stage begins with a 1 x 1 convolution in the shortcut. The start
    for small images follows its section 4.2.
    """
    return _resnet((3, 4, 6, 3), classes, channels, width, small_images)


def gpt(
    *,
    vocabulary: int = 96,
    context: int = 64,
    width: int = 64,
    heads: int = 4,
    layers: int = 4,
    tied: bool = False,
) -> nn.Sequential:
    """A decoder-only transformer like GPT-2, without dropout: tokens (batch, sequence), int64, to
    logits (batch, sequence, vocabulary), each from the tokens up to its place.

    Its modules: `embedding`, `block1` and so on, `norm`, `head`. A pipeline stage is a slice,
    `model[a:b]`, whose parameters keep their names. context: the longest sequence. tied: the head
    uses the weights of the token embedding, one tensor, as in GPT-2. Raises ValueError when the
    number of heads does not divide the width.

    As it stands 216,448 parameters in 69 tensors. In h = width, l = layers, V = vocabulary and
    s = context: with `tied` 12 l h^2 (1 + 13 / (12 h) + (V + s) / (12 l h)), and 2 h in the final
    norm; an untied head has V h more. A forward pass over b sequences of s tokens makes
    24 b s l h^2 (1 + s / (6 h) + V / (12 l h)) floating-point operations in its matrix products, a
    backward pass twice as many.

    Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
    Megatron-LM" (2021): equation 2, which leaves out the final norm; equation 3, which counts every
    block's forward pass twice, because it is computed again for the backward pass.
    """
    if heads < 1 or width % heads:
        raise ValueError(f"{heads} heads cannot share a width of {width} evenly.")
    modules: OrderedDict[str, nn.Module] = OrderedDict()
    modules["embedding"] = Embedding(vocabulary, context, width)
    for i in range(layers):
        modules[f"block{i + 1}"] = Block(width, heads)
    modules["norm"] = nn.LayerNorm(width)
    modules["head"] = nn.Linear(width, vocabulary, bias=False)
    nn.init.normal_(modules["head"].weight, std=0.02)  # so that a loss begins near log V
    if tied:
        modules["head"].weight = modules["embedding"].tokens.weight
    return nn.Sequential(modules)


class Embedding(nn.Module):
    """A vector for each token, and one for each place in the sequence added to it."""

    def __init__(self, vocabulary: int, context: int, width: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=width**-0.5)  # vectors of length 1

    def forward(self, tokens: Tensor) -> Tensor:
        """(batch, sequence), int64 -> (batch, sequence, width)."""
        length = tokens.shape[-1]
        if length > self.places.num_embeddings:
            raise ValueError(
                f"{length} tokens in a row, but the context is {self.places.num_embeddings}."
            )
        return self.tokens(tokens) + self.places(torch.arange(length, device=tokens.device))


class Attention(nn.Module):
    """Causal self-attention with `heads` heads of width / heads numbers each.

    Rows of `q`, `k` and `v` and columns of `out` belong to one head after the other. With fewer
    rows there are fewer heads: a rank that holds the rows of its heads computes those.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.head_size = width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence, width) -> the same."""
        q, k, v = (self.heads_of(linear(x)) for linear in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / self.head_size**0.5  # (batch, heads, sequence, sequence)
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
        return self.out(mixed.transpose(-3, -2).flatten(-2))

    def heads_of(self, x: Tensor) -> Tensor:
        """(batch, sequence, heads * head size) -> (batch, heads, sequence, head size). Raises
        ValueError where a head is incomplete.
        """
        if x.shape[-1] % self.head_size:
            raise ValueError(
                f"{x.shape[-1]} numbers are no whole heads of {self.head_size}: the number of "
                "ranks must divide the number of heads."
            )
        return x.unflatten(-1, (-1, self.head_size)).transpose(-3, -2)


class Block(nn.Module):
    """Attention and then an MLP four times as wide inside, each on what a norm leaves and added to
    what came in ("pre-norm").
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        up, down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.mlp = nn.Sequential(OrderedDict(up=up, gelu=nn.GELU(), down=down))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, sequence, width) -> the same."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions with batch normalisation, and the input added to what comes out (He et
    al. 2016, figure 2).
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        # the shapes differ, so the input cannot be added as it is
        if stride != 1 or inputs != outputs:
            conv, norm = nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            self.shortcut = nn.Sequential(OrderedDict(conv=conv, norm=norm))

    def forward(self, images: Tensor) -> Tensor:
        """(batch, inputs, h, w) -> (batch, outputs, h / stride, w / stride), rounded up."""
        maps = self.relu(self.norm1(self.conv1(images)))
        return self.relu(self.norm2(self.conv2(maps)) + self.shortcut(images))


def _resnet(
    blocks: Sequence[int], classes: int, channels: int, width: int, small_images: bool
) -> nn.Sequential:
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    size, stride = (3, 1) if small_images else (7, 2)
    layers["conv"] = nn.Conv2d(channels, width, size, stride, padding=size // 2, bias=False)
    layers["norm"] = nn.BatchNorm2d(width)
    layers["relu"] = nn.ReLU(inplace=True)
    if not small_images:
        layers["pool"] = nn.MaxPool2d(3, 2, padding=1)
    inputs = width
    for stage, count in enumerate(blocks):
        outputs = width * 2**stage
        stack = [
            BasicBlock(inputs if i == 0 else outputs, outputs, 2 if stage > 0 and i == 0 else 1)
            for i in range(count)
        ]
        layers[f"stage{stage + 1}"] = nn.Sequential(*stack)
        inputs = outputs
    layers["mean"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["linear"] = nn.Linear(inputs, classes)
    for layer in layers.values():
        layer.apply(_initialize_convolution)
    return nn.Sequential(layers)


def _initialize_convolution(layer: nn.Module) -> None:
    """He et al., "Delving Deep into Rectifiers" (2015): a variance that keeps the size of gradients
    from layer to layer.
    """
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
