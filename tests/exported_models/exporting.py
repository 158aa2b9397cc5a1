"""Exports architectures with torch's two exporters."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.onnx.errors import OnnxExporterError

from tests.exported_models import networks
from tests.exported_models.architectures import Architecture, Sizes

EXPORT_ERRORS = (OnnxExporterError, RuntimeError)
"""What torch raises for modules that an exporter cannot export."""


class Flat(nn.Module):
    """A module whose inputs have an order, and whose results are the tensors that another one returns."""

    def __init__(self, module: nn.Module, names: tuple[str, ...]):
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *values: Tensor) -> tuple[Tensor, ...]:
        """Calls the module by the names of its arguments."""
        found = self.module(**dict(zip(self.names, values, strict=True)))
        return tuple(_tensors(found))


def _tensors(found: object) -> list[Tensor]:
    """The tensors of a result, one after the other; what is no tensor (a cache) is left out."""
    if isinstance(found, Tensor):
        return [found]
    if isinstance(found, Mapping):
        found = tuple(found.values())
    if isinstance(found, tuple | list):
        return [each for value in found for each in _tensors(value)]
    return []


def built(architecture: Architecture) -> nn.Module:
    """The module of an architecture, whose random weights are always the same."""
    with torch.random.fork_rng():
        torch.manual_seed(7)
        if architecture.config is None:
            return getattr(networks, architecture.model)().eval()
        config = getattr(transformers, architecture.config)(**architecture.settings)
        return getattr(transformers, architecture.model)(config).eval()


def exported(architecture: Architecture, exporter: str, sizes: Sizes, *, dynamic: bool) -> bytes:
    """
    The ONNX model of an architecture, traced at some sizes, with the lengths that have names open where `dynamic`:
    by tracing for the exporter "script", by torch.export for "dynamo".

    Raises one of EXPORT_ERRORS for what the exporter cannot do.
    """
    names = tuple(each.name for each in architecture.inputs)
    values = tuple(map(torch.from_numpy, architecture.arrays(sizes).values()))
    axes = {
        each.name: {axis: dim for axis, dim in enumerate(each.shape) if isinstance(dim, str)}
        for each in architecture.inputs
    }
    options: dict[str, Any] = {"input_names": list(names)}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter(
            "ignore"
        )  # Both exporters warn of much that tracing fixes, and of their own age.
        module = Flat(built(architecture), names).eval()
        if exporter == "script":
            file = io.BytesIO()
            options["dynamic_axes"] = axes if dynamic else None
            torch.onnx.export(module, values, file, dynamo=False, opset_version=17, **options)
            return file.getvalue()
        options["dynamic_shapes"] = (tuple(axes.values()),) if dynamic else None
        program = torch.onnx.export(module, values, dynamo=True, verbose=False, **options)
        assert program is not None
        return program.model_proto.SerializeToString()
