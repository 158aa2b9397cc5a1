"""The weights of programs that are written as text: a file beside it, where there can be one."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def keep_weights(weights: Mapping[str, bytes | memoryview], output: Path | None) -> None:
    """
    Writes the weights that a text names into a file beside the text. A text that goes to standard
    output, a pipe or a device has no such file; then standard error says that they are left out, unless
    nobody reads the text either.
    """
    if not weights or (output is not None and str(output) == os.devnull):
        return
    if output is None or (output.exists() and not output.is_file()):
        size = sum(len(memoryview(data).cast("B")) for data in weights.values())
        print(
            f"the text has no weights, {size} bytes in large constants ({len(weights)}); "
            "-o NAME.mlir writes them into NAME.mlir.weights.npz",
            file=sys.stderr,
        )
        return
    from xrelay.runtime.weights import weights_path, write_weights

    write_weights(weights_path(output), weights)
