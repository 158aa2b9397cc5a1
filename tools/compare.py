"""`xrelay run --compare`: how far the outputs of a model are from those of another one, on the same inputs."""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.table import Table
from rich.text import Text

from xrelay.runtime.model import Array, Model
from xrelay.runtime.partitioned import PartitionedModel
from xrelay.runtime.signature import Signature, TensorSpec
from xrelay.tools.errors import BAD_INPUT, CommandFailed
from xrelay.tools.tables import table_console, write_json


@dataclass(frozen=True)
class Comparison:
    """An output of a model, and the same one of the reference."""

    output: str
    sqnr: float
    """
    The ratio of signal and noise in decibels: 10 log10(sum of squares of the reference / that of the differences).
    Infinite for equal outputs, minus infinity where one is NaN or infinite and the other is not.
    """
    largest_difference: float
    largest_value: float
    """Of the reference."""


def compared(output: str, found: Array, expected: Array) -> Comparison:
    """How far an output is from what is expected; equal infinities and NaN at the same places are no difference."""
    values, others = expected.astype(np.float64), found.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (values == others) | (np.isnan(values) & np.isnan(others))
        gap = np.where(same, 0.0, np.nan_to_num(np.abs(values - others), nan=np.inf))
        finite = np.where(np.isfinite(values), values, 0.0)
        # Divided first: squares of large numbers are infinite.
        largest = float(np.abs(finite).max(initial=0.0))
        scale = max(largest, float(gap[np.isfinite(gap)].max(initial=0.0))) or 1.0
        noise = float(np.square(gap / scale).sum())
        signal = float(np.square(finite / scale).sum())
    return Comparison(output, _decibels(signal, noise), float(gap.max(initial=0.0)), largest)


def _decibels(signal: float, noise: float) -> float:
    if noise == 0:
        return math.inf
    if signal == 0 or math.isinf(noise):
        return -math.inf
    return 10 * (math.log10(signal) - math.log10(noise))


def require_same_interface(found: Signature, expected: Signature, args: argparse.Namespace) -> None:
    """Raises CommandFailed for models with other inputs or outputs: names, shapes, floating point or not."""
    _require_same("input", found.inputs, expected.inputs, args)
    _require_same("output", found.outputs, expected.outputs, args)


def compare(
    reference: Model | PartitionedModel,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    args: argparse.Namespace,
) -> None:
    """
    Runs the reference on the inputs that gave the outputs, prints how far these are from its outputs, and writes that
    as data where --json asks for it.
    """
    taken = {spec.name: inputs[spec.name].astype(spec.dtype) for spec in reference.signature.inputs}
    expected = reference.run(taken)
    report = [compared(name, found, expected[name]) for name, found in outputs.items()]
    table = Table("output", "SQNR (dB)", "largest difference", "largest value")
    for each in report:
        numbers = (each.sqnr, each.largest_difference, each.largest_value)
        table.add_row(Text(each.output), *(f"{number:.4g}" for number in numbers))
    console = table_console()
    console.print(f"compared with '{args.compare}':", markup=False)
    console.print(table)
    if args.json is not None:
        data = {"model": args.model, "reference": args.compare, "outputs": _as_data(report)}
        write_json(Path(args.json), data)


def _as_data(report: Sequence[Comparison]) -> list[dict[str, object]]:
    """JSON has no infinity: it is null there, as of equal outputs, whose largest difference is 0."""
    rows: list[dict[str, object]] = []
    for each in report:
        fields = asdict(each).items()
        rows.append(
            {
                key: None if isinstance(value, float) and math.isinf(value) else value
                for key, value in fields
            }
        )
    return rows


def _require_same(
    what: str,
    found: Sequence[TensorSpec],
    expected: Sequence[TensorSpec],
    args: argparse.Namespace,
) -> None:
    # A model from the cache runs without xDSL's IR.
    from xrelay.interpreters.numerics import is_float

    others = {spec.name: spec for spec in expected}
    for spec in found:
        other = others.pop(spec.name, None)
        if other is None:
            raise CommandFailed(
                f"--compare: '{args.compare}' has no {what} {spec} as '{args.model}' has", BAD_INPUT
            )
        if other.shape != spec.shape or (
            other.dtype != spec.dtype and not (is_float(other.dtype) and is_float(spec.dtype))
        ):
            raise CommandFailed(
                f"--compare: the {what} of '{args.compare}' is {other}, that of '{args.model}' is {spec}",
                BAD_INPUT,
            )
    if others:
        raise CommandFailed(
            f"--compare: '{args.compare}' has the {what} {next(iter(others.values()))}, "
            f"'{args.model}' does not",
            BAD_INPUT,
        )
