"""Decoders that torch exports decode from one compile, in caches that grow: pip install ".[models]"."""

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import xrelay
from xrelay.interpreters.arrays import Array
from xrelay.runtime.dynamic import DynamicModel

TOKENS, START = 256, 5


@dataclass(frozen=True)
class Decoder:
    """A network with random weights."""

    family: str
    layers: int
    heads: int
    """Those of the cache, fewer than those of attention where several share one."""
    depth: int
    """The width of a head."""
    words: int
    options: dict[str, int]
    """Those of its configuration in `transformers`."""

    @property
    def caches(self) -> list[str]:
        """The names of the tensors of its cache."""
        return [f"{i}.{kind}" for i in range(self.layers) for kind in ("key", "value")]


DECODERS = {
    "gpt2-tiny": Decoder("gpt2", 2, 4, 16, 200, {"n_head": 4, "n_embd": 64}),
    "llama-tiny": Decoder(
        *("llama", 2, 2, 16, 200),
        {
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "hidden_size": 64,
            "intermediate_size": 160,
        },
    ),
    # GPT-2 small, and a Llama of 1.1 billion parameters (arXiv:2401.02385).
    "gpt2": Decoder("gpt2", 12, 12, 64, 50257, {"n_head": 12, "n_embd": 768}),
    "llama": Decoder(
        *("llama", 22, 4, 64, 32000),
        {
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "hidden_size": 2048,
            "intermediate_size": 5632,
        },
    ),
}


def network(decoder: Decoder) -> Any:
    """The module, which takes and returns the tensors of its cache."""
    torch, models = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    options = {**decoder.options, "vocab_size": decoder.words}
    if decoder.family == "gpt2":
        config = models.GPT2Config(n_layer=decoder.layers, **options)
        model = models.GPT2LMHeadModel(config)
    else:
        config = models.LlamaConfig(num_hidden_layers=decoder.layers, **options)
        model = models.LlamaForCausalLM(config)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model.eval()

        def forward(self, ids: Any, *past: Any) -> tuple[Any, ...]:
            cache = models.DynamicCache(tuple(zip(past[0::2], past[1::2], strict=True)))
            out = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
            tensors = [(layer.keys, layer.values) for layer in out.past_key_values.layers]
            return out.logits, *itertools.chain.from_iterable(tensors)

    return Module()


def exported(decoder: Decoder, path: Path, *, dynamo: bool) -> None:
    """Writes the network with an open batch, step and past."""
    module, names = network(decoder), decoder.caches
    torch = pytest.importorskip("torch")
    past = [torch.randn(2, decoder.heads, 5, decoder.depth) for _ in names]
    args = torch.randint(0, decoder.words, (2, 3)), *past
    named: dict[str, Any] = {
        "input_names": ["ids", *(f"past.{each}" for each in names)],
        "output_names": ["logits", *(f"present.{each}" for each in names)],
    }
    if dynamo:
        axes = [torch.export.Dim(name) for name in ("batch", "step", "past")]
        cache = {0: axes[0], 2: axes[2]}
        shapes = {0: axes[0], 1: axes[1]}, tuple(cache for _ in names)
        torch.onnx.export(module, args, path, dynamic_shapes=shapes, dynamo=True, **named)
        return
    open_axes: dict[str, dict[int, str]] = {"ids": {0: "batch", 1: "step"}}
    open_axes |= {f"past.{each}": {0: "batch", 2: "past"} for each in names}
    open_axes |= {f"present.{each}": {0: "batch", 2: "total"} for each in names}
    # Of a path that is no text the older exporter writes no external data.
    torch.onnx.export(module, args, str(path), dynamic_axes=open_axes, dynamo=False, **named)


def decode(
    model: DynamicModel, session: Any, decoder: Decoder, start: Sequence[Sequence[int]]
) -> None:
    """Decodes beside onnxruntime, whose tokens both go on with, and compares all that comes out."""
    ids = np.array(start)
    batch, known = len(ids), 0
    shape = batch, decoder.heads, ids.shape[1] + TOKENS, decoder.depth
    caches = [np.full(shape, np.nan, np.float32) for _ in decoder.caches]
    past: list[Array] = [cache[:, :, :0] for cache in caches]
    names = [value.name for value in session.get_inputs()]
    for _ in range(TOKENS):
        logits = np.full((batch, ids.shape[1], decoder.words), np.nan, np.float32)
        given = [ids, *(cache[:, :, :known] for cache in caches)]
        known += ids.shape[1]
        results = [logits, *(cache[:, :, :known] for cache in caches)]
        model.bind(given, results).run()
        wanted = session.run(None, dict(zip(names, [ids, *past], strict=True)))
        for one, other in zip(results, wanted, strict=True):
            np.testing.assert_allclose(one, other, 1e-3, 1e-5 * np.abs(other).max())
        past, ids = wanted[1:], wanted[0][:, -1:].argmax(-1)


@pytest.mark.extensive
@pytest.mark.filterwarnings("ignore")  # Those of the exporters.
@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize(
    ("name", "batch"),
    [("gpt2-tiny", 1), ("gpt2-tiny", 2), ("llama-tiny", 1), ("llama-tiny", 2)],
)
def test_exported_decoders(name: str, batch: int, dynamo: bool, tmp_path: Path) -> None:
    decodes_from_one_compile(DECODERS[name], batch, tmp_path / "decoder.onnx", dynamo=dynamo)


@pytest.mark.extensive
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_exported_decoders_in_full_size(name: str, dynamo: bool, tmp_path: Path) -> None:
    """Llama takes 20 GB of memory, and 5 GB of the disk."""
    decodes_from_one_compile(DECODERS[name], 1, tmp_path / "decoder.onnx", dynamo=dynamo)


def decodes_from_one_compile(decoder: Decoder, batch: int, path: Path, *, dynamo: bool) -> None:
    """A program for the first tokens, whose past is empty, and one for all others, or one for both."""
    for package in ("torch", "transformers", *(["onnxscript"] if dynamo else [])):
        pytest.importorskip(package, reason=f"{package} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What exporters keep of a network goes with their process.
        arguments = {"decoder": decoder, "path": path, "dynamo": dynamo}
        process = get_context("fork").Process(target=exported, kwargs=arguments)
        process.start()
        process.join()
    assert process.exitcode == 0
    stages: list[str] = []
    model = xrelay.compile(path, cache=False, progress=stages.append)
    assert isinstance(model, DynamicModel)
    start = np.random.default_rng(0).integers(0, decoder.words, (batch, START)).tolist()
    decode(model, onnxruntime.InferenceSession(path), decoder, start)
    assert stages.count("generate kernels") in (1, 2)
