"""The documentation says what the code does."""

import re
from pathlib import Path

import pytest

from xrelay.analysis.fusion.groups import RULE_SETS
from xrelay.frontends.onnx.importer.converters import CONVERTERS
from xrelay.frontends.onnx.importer.refusals import REFUSED
from xrelay.tools.universe import XRELAY_UNIVERSE

ROOT = Path(__file__).parents[2]


def test_onnx_operators_are_listed():
    text = (ROOT / "docs" / "onnx.md").read_text()
    section = text.partition("## Operators")[2].partition("`tests/")[0]
    assert re.findall(r"\w+", section) == sorted(CONVERTERS)


def test_onnx_operators_that_are_not_imported_are_listed():
    text = (ROOT / "docs" / "onnx.md").read_text()
    section = text.partition("## What is not imported")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]*) \| ([^|]*) \|", section.partition("| --- |")[2], re.MULTILINE)
    assert {name: reason for reason, names in rows for name in names.split(", ")} == REFUSED


def test_families_of_passes_name_passes():
    text = (ROOT / "README.md").read_text().partition("| family |")[2].partition("\n## ")[0]
    listed = re.findall(r"`([\w-]+)`", text)
    assert len(listed) > 20 and set(listed) <= set(XRELAY_UNIVERSE.all_passes)


def test_passes_are_listed():
    from xrelay.tools.passes import markdown, pass_rows

    page = (ROOT / "docs" / "passes.md").read_text()
    assert page == markdown(pass_rows()), "run `xrelay passes --markdown > docs/passes.md`"


def test_passes_show_programs_before_and_after():
    from xrelay.tools.passes import pass_rows

    for row in pass_rows():
        assert row.steps or re.search(r"^    \S", row.description, re.MULTILINE), row.name


def test_steps_of_the_cpu_pipeline_are_listed():
    from xrelay.transforms.cpu_pipeline import cpu_pipeline

    text = (ROOT / "docs" / "cpu-pipeline.md").read_text()
    listed = re.findall(r"^\| (?:\d+|–) \| `([\w-]+)({[^}]*})?` \|", text, re.MULTILINE)
    names = [step.name for step in cpu_pipeline()]
    assert [name for name, _ in listed if name in names] == names


def test_fusion_rules_are_complete():
    rules = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "fusion.md").read_text(), re.MULTILINE)
    last = max(max(numbers, default=0) for numbers in RULE_SETS.values())
    assert list(map(int, rules)) == list(range(1, last + 1))


def test_readme_program_fuses_into_one_function_of_five_operators():
    from xdsl.parser import Parser

    from xrelay.compiler import context
    from xrelay.dialects.core.values import ConstantOp, FusedOp, YieldOp
    from xrelay.transforms.fuse_ops import FuseOpsPass

    (text,) = re.findall(r"```mlir\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    module = Parser(context(), text).parse_module()
    module.verify()
    FuseOpsPass().apply(context(), module)
    (fused,) = [op for op in module.walk() if isinstance(op, FusedOp)]
    inside = [op for op in fused.block.ops if not isinstance(op, ConstantOp | YieldOp)]
    assert len(inside) == 5
    assert [str(arg.name_hint) for arg in fused.args] == ["x", "w", "c"]


def test_operators_are_listed():
    from xrelay.tools.ops import markdown, operator_rows

    page = (ROOT / "docs" / "operators.md").read_text()
    assert page == markdown(operator_rows()), "run `xrelay ops --markdown > docs/operators.md`"


@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("backends", 4),
        ("byoc", 5),
        ("gradients", 1),
        ("decoding", 3),
        ("placement", 2),
        ("quantised", 3),
    ],
)
def test_examples_run(page: str, count: int):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == count
    for block in blocks:
        exec(compile(block, f"docs/{page}.md", "exec"), names)  # noqa: S102 That is the test.


def test_costs_of_the_simulated_backend_are_read(tmp_path: Path):
    from xrelay.backends.discovery import find_backend

    text = (ROOT / "docs" / "backends.md").read_text()
    costs = re.findall(r"```toml\n(name.*?)```", text, re.DOTALL)
    path = tmp_path / "costs.toml"
    path.write_text("".join(costs))
    assert len(find_backend(f"simulated:{path}").patterns()) == 1


def test_pass_tables_of_compilers_are_true():
    text = (ROOT / "docs" / "byoc.md").read_text()
    listed = re.findall(r"^\| (?:\d \| )?`([\w-]+)(?:{[^}]*})?` \|", text, re.MULTILINE)
    assert len(listed) == 8 and set(listed) <= set(XRELAY_UNIVERSE.all_passes)
