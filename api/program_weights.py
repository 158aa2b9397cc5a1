"""The bytes of large constants of a program: in memory, in the file beside its text, or missing."""

import os
from collections.abc import Mapping
from pathlib import Path

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.blob import Blob, BlobAttr
from xrelay.dialects.core.values import ConstantOp
from xrelay.errors import CompileError
from xrelay.lowering.program.program import CONSTANTS_ATTRIBUTE
from xrelay.runtime.weights import read_weights, weights_path


def attach_side_file(module: ModuleOp, path: Path) -> None:
    """
    Gives the constants of a program in a file the bytes that lie beside it, where there are any.

    Raises DiagnosticException (ModelError) for a damaged file.
    """
    if not missing_weights(module):
        return
    side_file = weights_path(path)
    if os.path.exists(side_file):
        attach_weights(module, read_weights(side_file))


def attach_weights(module: ModuleOp, weights: Mapping[str, bytes | memoryview]) -> None:
    """Gives the constants that name their bytes these bytes."""
    for op, blob in missing_weights(module):
        blob.data = weights.get(blob.key)
        op.verify()


def supplied_weights(module: ModuleOp) -> dict[str, bytes | memoryview]:
    """The bytes of the large constants of a relay module or a lowered one, by digest."""
    values: list[Attribute] = [op.value for op in walk(module) if isinstance(op, ConstantOp)]
    table = module.attributes.get(CONSTANTS_ATTRIBUTE)
    if isa(table, ArrayAttr[DictionaryAttr]):
        values.extend(entry.data["value"] for entry in table.data)
    blobs = [value.data for value in values if isinstance(value, BlobAttr)]
    return {blob.key: blob.data for blob in blobs if blob.data is not None}


def missing_weights(module: ModuleOp) -> list[tuple[ConstantOp, Blob]]:
    """The constants that name their bytes and do not have them."""
    return [
        (op, op.value.data)
        for op in walk(module)
        if isinstance(op, ConstantOp)
        and isinstance(op.value, BlobAttr)
        and op.value.data.data is None
    ]


def require_weights(module: ModuleOp, source: object) -> None:
    """Raises CompileError, which names the file where `source` is one, unless the constants have their bytes."""
    missing = missing_weights(module)
    if not missing:
        return
    lacking = f"lacks the bytes of {len(missing)} large constant{'s' * (len(missing) > 1)}"
    if not isinstance(source, str | Path):
        raise CompileError(f"the program {lacking}, expected their values in the blobs")
    side_file = weights_path(Path(source))
    state = "holds those of another program" if side_file.exists() else "is not there"
    raise CompileError(f"'{source}' {lacking}: '{side_file}', where weights are, {state}")
