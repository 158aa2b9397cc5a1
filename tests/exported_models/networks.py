"""Architectures of torch alone: convolutional, detection, segmentation, speech and recurrent networks."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


def normed(
    inputs: int, outputs: int, stride: int = 1, groups: int = 1, size: int = 3
) -> nn.Sequential:
    """Convolution, batch norm and relu."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class Residual(nn.Module):
    """A block of ResNet, with squeeze-and-excitation where it is asked for."""

    def __init__(self, inputs: int, outputs: int, stride: int, *, squeezed: bool = False):
        super().__init__()
        self.body = nn.Sequential(
            normed(inputs, outputs, stride),
            nn.Conv2d(outputs, outputs, 3, 1, 1),
            nn.BatchNorm2d(outputs),
        )
        self.short = nn.Conv2d(inputs, outputs, 1, stride)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(outputs, 4, 1),
            nn.SiLU(),
            nn.Conv2d(4, outputs, 1),
            nn.Hardsigmoid(),
        )
        self.squeezed = squeezed

    def forward(self, x: Tensor) -> Tensor:
        """The sum of the body and the short cut."""
        y = self.body(x)
        if self.squeezed:
            y = y * self.gate(y)
        return functional.relu(y + self.short(x))


class Classifier(nn.Module):
    """Features, their mean over the image, and a dense layer."""

    def __init__(self, features: nn.Module, channels: int):
        super().__init__()
        self.features, self.head = features, nn.Linear(channels, 10)

    def forward(self, image: Tensor) -> Tensor:
        """Logits."""
        return self.head(functional.adaptive_avg_pool2d(self.features(image), 1).flatten(1))


class Shuffled(nn.Module):
    """A block of ShuffleNet: grouped convolutions, between which channels change groups."""

    def __init__(self, channels: int, groups: int):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 1, groups=groups)
        self.deep = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)
        self.last = nn.Conv2d(channels, channels, 1, groups=groups)
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        """The residual of the block."""
        batch, channels, height, width = x.shape
        y = functional.relu(self.first(x)).reshape(batch, self.groups, -1, height, width)
        y = y.transpose(1, 2).reshape(batch, channels, height, width)
        return x + self.last(self.deep(y))


class UNet(nn.Module):
    """Down by maxima, up by transposed convolutions, with short cuts across."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([normed(3, 8), normed(8, 16), normed(16, 24)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(24, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)])
        self.join = nn.ModuleList([normed(32, 16), normed(16, 8)])
        self.head = nn.Conv2d(8, 4, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Logits of each pixel."""
        first = self.down[0](image)
        second = self.down[1](functional.max_pool2d(first, 2))
        x = self.down[2](functional.max_pool2d(second, 2))
        for up, join, short in zip(self.up, self.join, (second, first), strict=True):
            x = join(torch.cat([up(x), short], 1))
        return self.head(x)


class DeepLab(nn.Module):
    """Dilated convolutions and the mean of the image, resized to its height and width."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(normed(3, 8, 2), normed(8, 16, 2))
        self.rates = nn.ModuleList(
            nn.Conv2d(16, 8, 3, padding=rate, dilation=rate) for rate in (1, 2, 3)
        )
        self.mean, self.head = nn.Conv2d(16, 8, 1), nn.Conv2d(32, 4, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Logits of each pixel."""
        x = self.stem(image)
        mean = self.mean(x.mean((2, 3), keepdim=True)).expand(-1, -1, x.shape[2], x.shape[3])
        y = self.head(torch.cat([*(rate(x) for rate in self.rates), mean], 1))
        return functional.interpolate(y, image.shape[2:], mode="bilinear", align_corners=False)


def _rows(image: Tensor, size: int) -> Tensor:
    """The channels of all pixels, in rows of some size."""
    return image.permute(0, 2, 3, 1).reshape(image.shape[0], -1, size)


class Pyramid(nn.Module):
    """A feature pyramid with a head on each level, whose boxes are in one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.levels = nn.ModuleList([normed(3, 8, 2), normed(8, 16, 2), normed(16, 24, 2)])
        self.sides = nn.ModuleList(nn.Conv2d(channels, 16, 1) for channels in (8, 16, 24))
        self.classes, self.boxes = (
            nn.Conv2d(16, 2 * 5, 3, padding=1),
            nn.Conv2d(16, 2 * 4, 3, padding=1),
        )

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Scores and boxes of all levels."""
        features: list[Tensor] = []
        for level in self.levels:
            image = level(image)
            features.append(image)
        sides = [side(each) for side, each in zip(self.sides, features, strict=True)]
        for upper in (1, 0):
            sides[upper] = sides[upper] + functional.interpolate(
                sides[upper + 1], scale_factor=2.0, mode="nearest"
            )
        scores = [_rows(self.classes(each), 5) for each in sides]
        boxes = [_rows(self.boxes(each), 4) for each in sides]
        return torch.cat(scores, 1).softmax(-1), torch.cat(boxes, 1)


class Tagger(nn.Module):
    """Words to tags by a recurrent network."""

    def __init__(self, network: Callable[..., nn.RNNBase], **options: object):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.network = network(16, 12, batch_first=True, **options)
        self.head = nn.Linear(12 * (2 if self.network.bidirectional else 1), 5)

    def forward(self, words: Tensor) -> Tensor:
        """Logits of each word."""
        return self.head(self.network(self.words(words))[0])


class DeepSpeech(nn.Module):
    """DeepSpeech: convolutions over a spectrogram, a recurrent network in two directions, and log-probabilities of letters."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Sequential(
            nn.Conv2d(1, 4, 3, (2, 1), 1), nn.BatchNorm2d(4), nn.Hardtanh(0, 20)
        )
        self.network = nn.GRU(32, 16, bidirectional=True, batch_first=True)
        self.head = nn.Linear(32, 10)

    def forward(self, spectrogram: Tensor) -> Tensor:
        """Log-probabilities of each frame."""
        x = self.convolution(spectrogram.unsqueeze(1)).flatten(1, 2).transpose(1, 2)
        return self.head(self.network(x)[0]).log_softmax(-1)


class Separator(nn.Module):
    """Conv-TasNet: a learnt filter bank, dilated depthwise convolutions, masks, and the bank backwards."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, 16, 16, 8), nn.ConvTranspose1d(16, 1, 16, 8)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(16, 24, 1), nn.PReLU(), nn.GroupNorm(1, 24),
                nn.Conv1d(24, 24, 3, padding=rate, dilation=rate, groups=24), nn.PReLU(), nn.Conv1d(24, 16, 1),
            )
            for rate in (1, 2, 4)
        )  # fmt: skip
        self.masks = nn.Conv1d(16, 32, 1)

    def forward(self, signal: Tensor) -> Tensor:
        """Two signals."""
        coded = x = self.encode(signal).relu()
        for block in self.blocks:
            x = x + block(x)
        masks = self.masks(x).sigmoid().chunk(2, 1)
        return torch.cat([self.decode(mask * coded) for mask in masks], 1)


class Causal(nn.Module):
    """A temporal convolutional network: dilated, padded on the left, gated."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, 12, 1)
        self.layers = nn.ModuleList(nn.Conv1d(12, 24, 2, dilation=rate) for rate in (1, 2, 4, 8))
        self.head = nn.Conv1d(12, 6, 1)

    def forward(self, signal: Tensor) -> Tensor:
        """A distribution at each sample."""
        x = self.first(signal)
        for layer in self.layers:
            value, gate = layer(functional.pad(x, (layer.dilation[0], 0))).chunk(2, 1)
            x = x + value.tanh() * gate.sigmoid()
        return self.head(functional.elu(x))


class Points(nn.Module):
    """PointNet: the same dense layers on each point, and the maximum over all points."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 24, 1)
        )
        self.head = nn.Sequential(
            nn.Linear(24, 16), nn.LeakyReLU(0.1), nn.Linear(16, 10), nn.LogSoftmax(-1)
        )

    def forward(self, points: Tensor) -> Tensor:
        """Log-probabilities."""
        return self.head(self.layers(points).amax(2))


class Recommender(nn.Module):
    """DLRM: embeddings of categories, their products with each other and with dense features."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(40, 12) for _ in range(3))
        self.bottom = nn.Sequential(nn.Linear(6, 12), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(18, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())

    def forward(self, features: Tensor, categories: Tensor) -> Tensor:
        """A probability of each row."""
        dense = self.bottom(features)
        vectors = torch.stack(
            [dense, *(table(categories[:, n]) for n, table in enumerate(self.tables))], 1
        )
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        rows, columns = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([dense, products[:, rows, columns]], 1))


def residual() -> nn.Module:
    """The beginning of a ResNet."""
    return Classifier(
        nn.Sequential(
            normed(3, 8, 2), nn.MaxPool2d(3, 2, 1), Residual(8, 8, 1), Residual(8, 16, 2)
        ),
        16,
    )


def shuffled() -> nn.Module:
    """A block of ShuffleNet."""
    return Classifier(nn.Sequential(normed(3, 12, 2), Shuffled(12, 3)), 12)


def lstm() -> nn.Module:
    """Two directions."""
    return Tagger(nn.LSTM, bidirectional=True)


def gru() -> nn.Module:
    """One layer."""
    return Tagger(nn.GRU)
