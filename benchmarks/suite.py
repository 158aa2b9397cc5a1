"""
The models of the benchmark and their inputs.

Models are made once and kept as ONNX files in a cache folder, with a checksum. The name of a file
holds a digest of the code that makes it: changed code makes a new file.
"""

import hashlib
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmarks.engines import TOLERANCE
from xrelay.tools import light_models

Array = npt.NDArray[Any]
Progress = Callable[[str], None]
"""Told what is being done."""

OPSET = 17
"""The first ONNX operator set with LayerNormalization."""

SEED = 0


@dataclass(frozen=True)
class Input:
    """An input: standard normal float32, or int64 in a half-open range."""

    name: str
    shape: tuple[int, ...]
    integers: tuple[int, int] | None = None

    def values(self, seed: int = SEED) -> Array:
        """Seeded random values, the same on each call."""
        generator = np.random.default_rng([seed, *self.name.encode()])
        if self.integers is None:
            return generator.standard_normal(self.shape, np.float32)
        return generator.integers(*self.integers, self.shape, np.int64)


@dataclass(frozen=True)
class BenchmarkModel(ABC):
    """A model with static shapes."""

    name: str

    maker: ClassVar[str]
    """The distribution whose version the file depends on."""
    tolerance: ClassVar[float] = TOLERANCE
    """How far results may be from the reference's, relative to the largest one."""

    @abstractmethod
    def input_list(self) -> tuple[Input, ...]:
        """The inputs, in order."""

    @abstractmethod
    def source(self) -> Path:
        """The file of the code that makes the model."""

    @abstractmethod
    def write(self, path: Path) -> None:
        """Writes the ONNX file."""

    def input_values(self) -> dict[str, Array]:
        """Values for all inputs, by name."""
        return {each.name: each.values() for each in self.input_list()}

    @cached_property
    def digest(self) -> str:
        """Of all that decides what the file holds."""
        found = hashlib.sha256(f"{self.maker} {version(self.maker)}".encode())
        for source in (Path(__file__), self.source()):
            found.update(source.read_bytes())
        return found.hexdigest()[:16]

    def onnx_file(self, cache: Path, progress: Progress) -> Path:
        """
        The file in a cache folder. A missing or damaged one is made anew, and then replaces those
        of other code.
        """
        path = cache / f"{self.name}-{self.digest}.onnx"
        checksum = path.with_suffix(".sha256")
        progress(f"{self.name}: look for the model in the cache")
        if path.is_file() and checksum.is_file() and checksum.read_text() == file_digest(path):
            return path
        progress(f"{self.name}: make the model")
        cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        try:
            self.write(partial)
            digest = file_digest(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        checksum.write_text(digest)
        for old in cache.glob(f"{self.name}-*"):
            if old not in (path, checksum):
                old.unlink(missing_ok=True)
        return path


def file_digest(path: Path) -> str:
    """SHA-256, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Network(BenchmarkModel):
    """What the function `builder` of the module `benchmarks.<module>` builds with torch."""

    module: str
    builder: str
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...] = ("logits",)

    maker: ClassVar[str] = "torch"

    def input_list(self) -> tuple[Input, ...]:
        """Those that were given."""
        return self.inputs

    def source(self) -> Path:
        """The file of the module."""
        return Path(__file__).with_name(f"{self.module}.py")

    def build(self) -> Any:
        """The torch module, with the same weights each time."""
        torch: Any = import_module("torch")
        torch.manual_seed(SEED)
        return getattr(import_module(f"benchmarks.{self.module}"), self.builder)()

    def write(self, path: Path) -> None:
        """Exports the module."""
        export(self.build(), self.inputs, self.outputs, path)


Axes = Mapping[str, Mapping[int, str]]
"""The names of open dimensions, by input and axis."""


def export(
    module: Any,
    inputs: Sequence[Input],
    outputs: Sequence[str],
    path: Path,
    axes: Axes | None = None,
) -> None:
    """Writes a torch module that is set to inference as an ONNX file, by tracing it."""
    torch: Any = import_module("torch")
    with warnings.catch_warnings():
        # The exporter that traces is old, works without further packages, and warns of both.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", torch.jit.TracerWarning)
        torch.onnx.export(
            module,
            tuple(torch.from_numpy(each.values()) for each in inputs),
            path,
            input_names=[each.name for each in inputs],
            output_names=list(outputs),
            opset_version=OPSET,
            dynamic_axes=None if axes is None else {name: {**each} for name, each in axes.items()},
            dynamo=False,
        )


SAMPLES = 4
"""How many inputs, none of them the measured one, quantised activations have their ranges of."""


@dataclass(frozen=True)
class Converted(BenchmarkModel):
    """A network with fewer bits, as onnxruntime's tools make it."""

    network: Network

    maker: ClassVar[str] = "onnxruntime"

    def input_list(self) -> tuple[Input, ...]:
        """Those of the network."""
        return self.network.inputs

    def source(self) -> Path:
        """The file of the code that converts."""
        return Path(__file__).with_name("converted.py")

    @cached_property
    def digest(self) -> str:
        """That of the network as well."""
        return hashlib.sha256(f"{super().digest} {self.network.digest}".encode()).hexdigest()[:16]

    def write(self, path: Path) -> None:
        """Exports the network, and converts it."""
        exported = path.with_suffix(".float")
        try:
            self.network.write(exported)
            self.convert(import_module("benchmarks.converted"), exported, path)
        finally:
            exported.unlink(missing_ok=True)

    @abstractmethod
    def convert(self, tools: Any, source: Path, target: Path) -> None:
        """Writes the file with fewer bits, with the functions of the module `tools`."""


@dataclass(frozen=True)
class Quantized(Converted):
    """A network with 8-bit integers."""

    dynamic: bool = False
    """Whether activations are quantised when it runs, and only matrix products."""

    # An integer that is rounded the other way is one step in all layers behind it.
    tolerance: ClassVar[float] = 0.25

    def convert(self, tools: Any, source: Path, target: Path) -> None:
        """Quantises with the ranges of some inputs, or without any."""
        if self.dynamic:
            tools.write_dynamic(source, target)
            return
        seeds = range(SEED + 1, SEED + 1 + SAMPLES)
        samples = [{each.name: each.values(seed) for each in self.network.inputs} for seed in seeds]
        tools.write_static(source, target, samples)


@dataclass(frozen=True)
class Half(Converted):
    """A network whose weights and activations are float16; inputs and outputs stay float32."""

    # Engines that multiply in float32 round activations in different places.
    tolerance: ClassVar[float] = 1e-2

    def convert(self, tools: Any, source: Path, target: Path) -> None:
        """Converts all tensors."""
        tools.write_float16(source, target)


@dataclass(frozen=True)
class Light(BenchmarkModel):
    """A light model of the onnx package, with seeded random weights."""

    light_name: str

    maker: ClassVar[str] = "onnx"

    def source(self) -> Path:
        """What chooses the weights."""
        return Path(light_models.__file__)

    def input_list(self) -> tuple[Input, ...]:
        """The image. What else the files list as inputs has a value there."""
        graph = light_models.light_model(self.light_name, None).graph
        stored = {tensor.name for tensor in graph.initializer}
        return tuple(
            Input(value.name, tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim))
            for value in graph.input
            if value.name not in stored
        )

    def write(self, path: Path) -> None:
        """Saves the model."""
        path.write_bytes(light_models.light_model(self.light_name, SEED).SerializeToString())


_IMAGE = Input("image", (1, 3, 224, 224))


def _tokens(name: str, count: int, low: int, high: int) -> Input:
    return Input(name, (1, count), (low, high))


NETWORKS: tuple[Network, ...] = (
    Network("resnet50", "vision", "resnet50", (_IMAGE,)),
    Network("mobilenetv2", "vision", "mobilenetv2", (_IMAGE,)),
    Network("efficientnet_b0", "vision", "efficientnet_b0", (_IMAGE,)),
    Network(
        "bert_base",
        "transformers",
        "bert_base",
        (
            _tokens("input_ids", 128, 0, 30522),
            _tokens("attention_mask", 128, 1, 2),
            _tokens("token_type_ids", 128, 0, 2),
        ),
        ("last_hidden_state", "pooler_output"),
    ),
    Network("vit_s16", "transformers", "vit_s16", (_IMAGE,)),
    Network("gpt2_small", "transformers", "gpt2_small", (_tokens("input_ids", 64, 0, 50257),)),
    Network("mlp_b1", "transformers", "mlp", (Input("features", (1, 784)),)),
    Network("mlp_b64", "transformers", "mlp", (Input("features", (64, 784)),)),
)

FEWER_BITS = ("resnet50", "mobilenetv2", "bert_base", "vit_s16", "gpt2_small")
DYNAMIC = ("bert_base", "vit_s16", "gpt2_small")
CONVERTED: tuple[Converted, ...] = (
    *(Quantized(f"{each.name}_int8", each) for each in NETWORKS if each.name in FEWER_BITS),
    *(Quantized(f"{each.name}_dynamic", each, True) for each in NETWORKS if each.name in DYNAMIC),
    *(Half(f"{each.name}_f16", each) for each in NETWORKS if each.name in FEWER_BITS),
)

LIGHT: tuple[Light, ...] = tuple(Light(f"light_{name}", name) for name in light_models.LIGHT_MODELS)

MODELS: dict[str, BenchmarkModel] = {each.name: each for each in (*NETWORKS, *CONVERTED, *LIGHT)}
"""By name, in the order of reports."""
