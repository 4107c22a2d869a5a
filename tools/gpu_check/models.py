"""ResNet-50, which `labkit.models` does not have, so that no torchvision is needed and every machine runs the same."""

from __future__ import annotations

from torch import Tensor, nn


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, the last one four times as wide, and the input added to what comes out."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.inside = nn.Sequential(
            *(nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
            *(nn.Conv2d(width, width, 3, stride, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
            *(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            conv = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(outputs))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, images: Tensor) -> Tensor:
        """(batch, inputs, h, w) -> (batch, 4 width, h / stride, w / stride), rounded up."""
        return self.relu(self.inside(images) + self.shortcut(images))


def resnet50(classes: int = 1000, width: int = 64) -> nn.Sequential:
    """ResNet-50: images (batch, 3, height, width) to logits (batch, classes); 25,557,032 parameters as it stands.

    width: feature maps of the first stage. Source: He, Zhang, Ren, Sun, "Deep Residual Learning for Image Recognition"
    (2016), table 1; the stride stands at the 3 x 3 convolution, not at the 1 x 1 before it, as in most programs today.
    """
    layers: list[nn.Module] = [
        *(nn.Conv2d(3, width, 7, 2, padding=3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)),
        nn.MaxPool2d(3, 2, padding=1),
    ]
    inputs = width
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inside = width * 2**stage
        for k in range(blocks):
            layers.append(Bottleneck(inputs, inside, 2 if stage > 0 and k == 0 else 1))
            inputs = 4 * inside
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))
