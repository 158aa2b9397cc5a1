"""
Image classifiers of the benchmark, as torch modules.

The architectures are those of the papers, with the refinements that model zoos agree on. Images are
`1×3×224×224`, logits `1×1000`. Weights are random: He's initialisation of convolutions and batch
norms that know the statistics of random images (`calibrated`) keep activations near variance 1.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

IMAGE = (1, 3, 224, 224)

Activation = Callable[[], nn.Module]


def conv_norm(
    channels: tuple[int, int],
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    activation: Activation | None = nn.ReLU,
) -> nn.Sequential:
    """A convolution with "same" padding, batch norm, and an activation unless it is None."""
    layers: list[nn.Module] = [
        nn.Conv2d(*channels, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(channels[1]),
    ]
    if activation is not None:
        layers.append(activation())
    return nn.Sequential(*layers)


class Classifier(nn.Module):
    """Features, their mean over the image, and a linear layer."""

    def __init__(self, features: nn.Sequential, channels: int):
        super().__init__()
        self.features = features
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, 1000)

    def forward(self, image: Tensor) -> Tensor:
        """Logits."""
        return self.head(self.pool(self.features(image)).flatten(1))


class Bottleneck(nn.Module):
    """ResNet's bottleneck block; the stride is on the 3×3 convolution (version 1.5)."""

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            conv_norm((inputs, width), 1),
            conv_norm((width, width), 3, stride),
            conv_norm((width, outputs), 1, activation=None),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = conv_norm((inputs, outputs), 1, stride, activation=None)

    def forward(self, x: Tensor) -> Tensor:
        """relu(body(x) + shortcut(x))."""
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet50() -> nn.Module:
    """ResNet-50 (He et al., 2015, arXiv:1512.03385)."""
    layers: list[nn.Module] = [conv_norm((3, 64), 7, 2), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(channels, width, stride if i == 0 else 1))
            channels = 4 * width
    return calibrated(Classifier(nn.Sequential(*layers), channels))


class SqueezeExcite(nn.Module):
    """Scales channels by what two 1×1 convolutions make of their means (arXiv:1709.01507)."""

    def __init__(self, channels: int, squeezed: int):
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, squeezed, 1),
            nn.SiLU(),
            nn.Conv2d(squeezed, channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        """x * gate(x)."""
        return x * self.gate(x)


class InvertedResidual(nn.Module):
    """
    The block of MobileNetV2 and EfficientNet: expand, depthwise convolution, project; with squeeze
    and excitation to a quarter of the inputs if `excite`.
    """

    def __init__(
        self,
        channels: tuple[int, int],
        expansion: int,
        kernel: int,
        stride: int,
        activation: Activation,
        excite: bool,
    ):
        super().__init__()
        inputs, outputs = channels
        hidden = inputs * expansion
        layers: list[nn.Module] = []
        if expansion != 1:
            layers.append(conv_norm((inputs, hidden), 1, activation=activation))
        layers.append(conv_norm((hidden, hidden), kernel, stride, hidden, activation))
        if excite:
            layers.append(SqueezeExcite(hidden, inputs // 4))
        layers.append(conv_norm((hidden, outputs), 1, activation=None))
        self.body = nn.Sequential(*layers)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """body(x), plus x where the shapes are the same."""
        return x + self.body(x) if self.residual else self.body(x)


Stage = tuple[int, int, int, int, int]
"""Expansion, output channels, blocks, stride of the first, kernel."""

MOBILENET_STAGES: tuple[Stage, ...] = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 32, 3, 2, 3),
    (6, 64, 4, 2, 3),
    (6, 96, 3, 1, 3),
    (6, 160, 3, 2, 3),
    (6, 320, 1, 1, 3),
)

EFFICIENTNET_STAGES: tuple[Stage, ...] = (
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)


def inverted_residual_network(
    stages: tuple[Stage, ...], activation: Activation, excite: bool
) -> nn.Module:
    """A network of inverted residual blocks, from 32 to 1280 channels."""
    layers: list[nn.Module] = [conv_norm((3, 32), 3, 2, activation=activation)]
    channels = 32
    for expansion, outputs, blocks, stride, kernel in stages:
        for i in range(blocks):
            layers.append(
                InvertedResidual(
                    (channels, outputs),
                    expansion,
                    kernel,
                    stride if i == 0 else 1,
                    activation,
                    excite,
                )
            )
            channels = outputs
    layers.append(conv_norm((channels, 1280), 1, activation=activation))
    return calibrated(Classifier(nn.Sequential(*layers), 1280))


def mobilenetv2() -> nn.Module:
    """MobileNetV2 of width 1 (Sandler et al., 2018, arXiv:1801.04381)."""
    return inverted_residual_network(MOBILENET_STAGES, nn.ReLU6, excite=False)


def efficientnet_b0() -> nn.Module:
    """EfficientNet-B0 (Tan and Le, 2019, arXiv:1905.11946)."""
    return inverted_residual_network(EFFICIENTNET_STAGES, nn.SiLU, excite=True)


def calibrated(model: nn.Module) -> nn.Module:
    """
    The model for inference, with He's initialisation of convolutions, scales and shifts of batch
    norms near 1 and 0, and their means and variances measured on random images.
    """
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.8, 1.2)
            nn.init.normal_(module.bias, 0, 0.1)
            module.momentum = 1.0
    model.train()
    with torch.no_grad():
        model(torch.randn(4, *IMAGE[1:]))
    return model.eval()
