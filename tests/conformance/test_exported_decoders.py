"""Decoders that torch exports decode from one compile, in caches that grow: pip install ".[models]"."""

import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import xrelay
from xrelay.interpreters.arrays import Array
from xrelay.runtime.dynamic import DynamicModel

LAYERS, WIDTH, WORDS, TOKENS, START = 2, 64, 200, 256, 5
SIZES: dict[str, dict[str, int]] = {
    "gpt2": {"n_layer": LAYERS, "n_head": 4, "n_embd": WIDTH, "vocab_size": WORDS},
    "llama": {
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "hidden_size": WIDTH,
        "intermediate_size": 160,
        "vocab_size": WORDS,
    },
}
CACHES = [f"{i}.{kind}" for i in range(LAYERS) for kind in ("key", "value")]
HEADS = {"gpt2": 4, "llama": 2}
DEPTH = WIDTH // 4


def network(family: str) -> Any:
    """A small network with random weights, which takes and returns the tensors of its cache."""
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    models: Any = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    if family == "gpt2":
        model = models.GPT2LMHeadModel(models.GPT2Config(**SIZES[family]))
    else:
        model = models.LlamaForCausalLM(models.LlamaConfig(**SIZES[family]))

    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model.eval()

        def forward(self, ids: Any, *past: Any) -> tuple[Any, ...]:
            cache = models.DynamicCache(tuple(zip(past[0::2], past[1::2], strict=True)))
            out = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
            tensors = [(layer.keys, layer.values) for layer in out.past_key_values.layers]
            return out.logits, *itertools.chain.from_iterable(tensors)

    return Decoder()


def exported(family: str, path: Path, *, dynamo: bool) -> None:
    """Writes the network with an open batch, step and past."""
    decoder = network(family)
    torch: Any = pytest.importorskip("torch")
    if dynamo:
        pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    past = [torch.randn(2, HEADS[family], 5, DEPTH) for _ in CACHES]
    args = torch.randint(0, WORDS, (2, 3)), *past
    names: dict[str, Any] = {
        "input_names": ["ids", *(f"past.{each}" for each in CACHES)],
        "output_names": ["logits", *(f"present.{each}" for each in CACHES)],
    }
    if dynamo:
        axes = [torch.export.Dim(name) for name in ("batch", "step", "past")]
        cache = {0: axes[0], 2: axes[2]}
        shapes = {0: axes[0], 1: axes[1]}, tuple(cache for _ in CACHES)
        torch.onnx.export(decoder, args, path, dynamic_shapes=shapes, dynamo=True, **names)
        return
    open_axes: dict[str, dict[int, str]] = {"ids": {0: "batch", 1: "step"}}
    open_axes |= {f"past.{each}": {0: "batch", 2: "past"} for each in CACHES}
    open_axes |= {f"present.{each}": {0: "batch", 2: "total"} for each in CACHES}
    torch.onnx.export(decoder, args, path, dynamic_axes=open_axes, dynamo=False, **names)


def decode(model: DynamicModel, session: Any, family: str, start: Sequence[Sequence[int]]) -> None:
    """Decodes beside onnxruntime, whose tokens both go on with, and compares all that comes out."""
    ids = np.array(start)
    batch, known = len(ids), 0
    room = ids.shape[1] + TOKENS
    caches = [np.full((batch, HEADS[family], room, DEPTH), np.nan, np.float32) for _ in CACHES]
    past: list[Array] = [cache[:, :, :0] for cache in caches]
    names = [value.name for value in session.get_inputs()]
    for _ in range(TOKENS):
        logits = np.full((batch, ids.shape[1], WORDS), np.nan, np.float32)
        given = [ids, *(cache[:, :, :known] for cache in caches)]
        known += ids.shape[1]
        results = [logits, *(cache[:, :, :known] for cache in caches)]
        model.bind(given, results).run()
        wanted = session.run(None, dict(zip(names, [ids, *past], strict=True)))
        for one, other in zip(results, wanted, strict=True):
            np.testing.assert_allclose(one, other, 1e-3, 1e-5)
        past, ids = wanted[1:], wanted[0][:, -1:].argmax(-1)


@pytest.mark.extensive
@pytest.mark.filterwarnings("ignore")  # Those of the exporters.
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("family", SIZES)
def test_exported_decoders(family: str, dynamo: bool, batch: int, tmp_path: Path) -> None:
    path = tmp_path / "decoder.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported(family, path, dynamo=dynamo)
    stages: list[str] = []
    model = xrelay.compile(path, cache=False, progress=stages.append)
    assert isinstance(model, DynamicModel)
    start = np.random.default_rng(0).integers(0, WORDS, (batch, START)).tolist()
    decode(model, onnxruntime.InferenceSession(path), family, start)
    # A program for the first tokens, whose past is empty, and one for all others.
    assert stages.count("generate kernels") == 2
