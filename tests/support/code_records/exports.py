"""
What the exporter to ONNX writes for the cases of operators: `exports.txt`, which a change of the exporter changes.

`make pages` writes it anew: the difference shows which nodes a change writes otherwise, or refuses, and by the
digest of models, their attributes and weights among it, which are different at all.
"""

from collections import Counter
from hashlib import sha256
from pathlib import Path

import onnx
from cases import nn
from cases.export import EXPORTED
from cases.kernel import Case
from cases.qnn import TABLE as QUANTISED
from cases.tensor import TABLES
from exported import ConstantParameters, exportable
from graphs import Graph
from onnx import ModelProto

from xrelay.collector import collector_paused
from xrelay.frontends.onnx import OnnxExportError, export_model

FILE = Path(__file__).parents[2] / "unit" / "frontends" / "onnx" / "exports.txt"
ENDS = ("-float32", "-int8")
"""Of the names of cases of kernels that are on record: the others differ from them in element types."""


def is_on_record(name: str) -> bool:
    """Whether a case of kernels is one of the dtypes that are."""
    return name.endswith(ENDS) or "-" not in name


def all_cases() -> dict[str, tuple[type[Graph], Case]]:
    """Those of the exporter, and of kernels those of few dtypes; with what their graphs are."""
    kernels = {name: case for table in (nn.TABLE, *TABLES) for name, case in table.cases.items()}
    found: dict[str, tuple[type[Graph], Case]] = {
        name: (Graph, case) for name, case in kernels.items() if is_on_record(name)
    }
    found |= {
        f"constant {name}": (ConstantParameters, case)
        for name, case in QUANTISED.cases.items()
        if is_on_record(name)
    }
    return found | {f"exported {name}": (Graph, case) for name, case in EXPORTED.cases.items()}


def written(model: ModelProto) -> str:
    """The kinds of nodes of a model and its digest."""
    counts = Counter(node.op_type for node in model.graph.node)
    names = ", ".join(name if n == 1 else f"{n} {name}" for name, n in sorted(counts.items()))
    weights = len(model.graph.initializer)
    whole = sha256(model.SerializeToString(deterministic=True)).hexdigest()[:8]
    return f"{names or 'no nodes'}; {weights} weights; model {whole}"


@collector_paused()
def exported(kind: type[Graph], case: Case) -> list[str]:
    """What a case becomes: its nodes, or why operations are refused, and the nodes of the others."""
    graph = kind()
    case(graph)
    module = graph.module()
    try:
        return [written(export_model(module, "case"))]
    except OnnxExportError as error:
        reasons = Counter(line.strip() for line in str(error).splitlines()[1:])
    refused = [f"refused: {n} times {reason}" for reason, n in reasons.items()]
    part = exportable(graph)
    return [written(export_model(part.module, "case")) if part.outputs else "nothing", *refused]


def entry(kind: type[Graph], case: Case) -> str:
    """What is on record of a case."""
    return "".join(f"  {line}\n" for line in exported(kind, case))


def text() -> str:
    """The version of onnx, and what is on record of each case."""
    found = "".join(f"{name}\n{entry(*case)}" for name, case in all_cases().items())
    return f"onnx {onnx.__version__}\n{found}"


if __name__ == "__main__":
    FILE.write_text(text())
