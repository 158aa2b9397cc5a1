"""
Models run between pages that fault on access, with the same results as without.

    python tests/conformance/memory_safety.py [--target NAME] [--threads N ...] model.onnx ...

The name of a network that comes with onnx (`light_resnet50`, or `light` for all nine) stands for
it, with seeded random weights. Every model is compiled for each number of threads (by default 1
and 2), and run with its buffers flush with the pages after and before them. A fault ends the
process with a traceback that names the model.
"""

import argparse
import faulthandler
import gc
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from guard_pages import guarded_run
from onnx import ModelProto
from raw_calls import RawCode

from xrelay.compiler import compile_code, read_model
from xrelay.lowering.emit.target import NATIVE
from xrelay.options import CompileOptions
from xrelay.tools.light_models import LIGHT_MODELS, light_model
from xrelay.tools.run_model import complete_inputs

LIGHT = "light"


def expanded(names: list[str]) -> Iterator[str]:
    """The names, with those of all light models in the place of `light`."""
    for name in names:
        if name == LIGHT:
            yield from (f"{LIGHT}_{each}" for each in LIGHT_MODELS)
        else:
            yield name


def source(name: str) -> str | ModelProto:
    """The file of a name, or the light model."""
    known = name.removeprefix(f"{LIGHT}_")
    return light_model(known, seed=0) if known != name and known in LIGHT_MODELS else name


def check(name: str, target: str, threads: Sequence[int]) -> None:
    """Compiles a model for some numbers of threads and runs it with guarded memory."""
    module, stem = read_model(source(name))
    for number in threads:
        options = CompileOptions(number, target)
        code = RawCode(compile_code(module.clone(), stem, options))
        arrays = list(complete_inputs(code.signature, {}, seed=1).values())
        wanted = code.run(arrays, number)
        for at_end in (True, False):
            where = "before the end of a page" if at_end else "from a page on"
            print(f"{name}, {number} threads, {where}", flush=True)
            found = guarded_run(code, arrays, number, at_end=at_end)
            for spec, one, other in zip(code.signature.outputs, found, wanted, strict=True):
                assert one.tobytes() == other.tobytes(), f"output {spec} differs"


def main() -> None:
    """Checks the models of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--target", default=NATIVE)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    faulthandler.enable()
    for name in expanded(options.models):
        check(name, options.target, options.threads)
        # The IR of a model is cyclic, and holds its weights.
        gc.collect()


if __name__ == "__main__":
    main()
