"""The operator that CONTRIBUTING.md has as an example, added to a copy of the sources, works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"^ *```python\n( *# \S+\.py\n.*?)^ *```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"^# in (class )?(\w+)(?:: |\n)", re.MULTILINE)
TRIAL = """
import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from xdsl.parser import Parser

import xrelay
from xrelay.compiler import context
from xrelay.dialects.tensor.unary import SoftsignOp
from xrelay.frontends.onnx import export_model, import_model
from xrelay.interpreters.relay import interpret

TYPE = "tensor<2x3xf32>"
TEXT = f"func.func @main(%x: {TYPE}) -> {TYPE} {{ %y = relay.nn.softsign %x : ({TYPE}) -> {TYPE}  func.return %y : {TYPE} }}"
x = np.array([[-np.inf, -2, -0.5], [0, 1, 3]], np.float32)
port = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
graph = helper.make_graph([helper.make_node("Softsign", ["x"], ["y"])], "g", port[:1], port[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
with np.errstate(invalid="ignore"):
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})

module = Parser(context(), TEXT).parse_module()
module.verify()
assert "relay.nn.softsign %x : (tensor<2x3xf32>) -> tensor<2x3xf32>" in str(module)
imported = import_model(model)
(found,) = [op for op in imported.walk() if isinstance(op, SoftsignOp)]
assert str(found.result.type) == TYPE and str(SoftsignOp(found.data).result.type) == TYPE
exported = export_model(imported, "g")
assert [node.op_type for node in exported.graph.node] == ["Softsign"]
for program in (module, imported):
    np.testing.assert_allclose(interpret(program, [x])[0], expected, rtol=1e-6)
compiled = xrelay.compile(imported)
np.testing.assert_allclose(compiled.run({"x": x})["y"], expected, rtol=1e-6)
"""
"""ONNX's reference evaluator says what is right."""


def _examples() -> list[tuple[str, str, list[tuple[bool, str, str]]]]:
    """Of each example the file, the code, and for each place (a class or a table) its entries."""
    found: list[tuple[str, str, list[tuple[bool, str, str]]]] = []
    for match in EXAMPLE.finditer((ROOT / "CONTRIBUTING.md").read_text()):
        first, text = dedent(match[1]).split("\n", 1)
        code, *parts = PLACE.split(text)
        places = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        found.append((first.removeprefix("# "), code, [(bool(c), *rest) for c, *rest in places]))
    return found


def _added(source: str, code: str, is_class: bool, name: str, entries: str) -> str:
    """A source with entries at the end of a class or a table, and code before it."""
    start = rf"^(?:@\w+\n)*class {name}\b[^\n]*\n" if is_class else rf"^{name}\b[^\n]*[({{]\n"
    match = re.search(start, source, re.MULTILINE)
    assert match is not None, name
    before, rest = source[: match.start()], source[match.start() :]
    head = len(match[0])
    end = re.search(r"^(?=[^\s])|\Z" if is_class else r"^[)}]", rest[head:], re.MULTILINE)
    assert end is not None, name
    at = head + end.start()
    return f"{before}{code}\n\n{rest[:at]}{indent(entries, '    ')}{rest[at:]}"


@pytest.mark.slow
def test_the_operator_of_the_examples_works(tmp_path: Path):
    package = tmp_path / "xrelay"
    shutil.copytree(ROOT / "typings" / "xrelay", package, symlinks=False)
    examples = _examples()
    assert len(examples) == 5
    for path, code, places in examples:
        file = package / path
        source = file.read_text()
        if not places:  # Above the line that collects the operators of a file.
            source = re.sub(
                r"^(?=\w+ = operators\()", f"{code}\n\n", source, count=1, flags=re.MULTILINE
            )
        for number, place in enumerate(places):
            source = _added(source, "" if number else code, *place)
        file.write_text(source)
    done = subprocess.run(
        [sys.executable, "-c", TRIAL],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
