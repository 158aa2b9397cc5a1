"""
The table of operators in docs/onnx.md: how many cases of the ONNX suite have each, and what becomes of these.

    python tests/conformance/onnx_table.py

writes it anew. Nothing is run: `onnx_suite.toml` lists what does not pass natively, and `make conformance-onnx` checks
that nothing else fails.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import GraphProto, ModelProto
from onnx.backend.test.loader import load_model_tests

sys.path.insert(0, str(Path(__file__).parent))
from onnx_suite import DIFFERENT, INTERPRETED, NATIVE, REFUSED, lists

PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"
BEGIN, END = "<!-- table of the suite -->\n", "<!-- end of the table -->\n"
COLUMNS = (NATIVE, INTERPRETED, REFUSED, DIFFERENT)


def models() -> Iterator[tuple[str, ModelProto]]:
    """The cases with their models, without the networks. Making them computes with infinities and the like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("node", "simple", "pytorch-converted", "pytorch-operator"):
            for case in load_model_tests(kind=kind):
                model = case.model or onnx.load(Path(str(case.model_dir)) / "model.onnx")
                yield case.name.removeprefix("test_"), model


def operators(graph: GraphProto) -> set[str]:
    """The operators of a graph and of those in it, with their domains where these are not ONNX's own."""
    found: set[str] = set()
    for node in graph.node:
        domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
        found.add(domain + node.op_type)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= operators(attribute.g)
    return found


def table() -> str:
    """The table: a row for each operator, a case for each operator that its model has."""
    kinds = lists().kinds
    counts: dict[str, Counter[str]] = {}
    for name, model in models():
        for operator in operators(model.graph):
            counts.setdefault(operator, Counter())[kinds.get(name, NATIVE)] += 1
    lines = [
        "| operator | cases | natively | interpreted | refused | other numbers |",
        "| --- " * 6 + "|",
    ]
    for operator in sorted(counts, key=lambda each: ("." in each, each)):
        row = counts[operator]
        cells = [str(row[kind] or "") for kind in COLUMNS]
        lines.append(f"| {' | '.join((operator, str(row.total()), *cells))} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with the table in its place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
