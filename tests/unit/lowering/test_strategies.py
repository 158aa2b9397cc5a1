"""The choice between implementations: conditions, levels, estimates and tuning records."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects.builtin import TensorType, f32, i8, i32
from xdsl.dialects.test import TestOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.operation_count import operation_count
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import CompositeOp, YieldOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.pool.pool import AvgPool2DOp, MaxPool2DOp
from xrelay.dialects.shapes import leaf_types
from xrelay.dialects.tensor.layout import Layout
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.transform import TransposeOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.lowering.emit.context import KernelContext
from xrelay.lowering.emit.strategy import (
    Basis,
    Implementation,
    Sink,
    Site,
    Strategy,
    select,
    unless,
)
from xrelay.lowering.emit.target import AVX2, AVX512, GENERIC, TARGETS, Target
from xrelay.lowering.emit.tuning import (
    NO_RECORDS,
    TuningError,
    TuningRecords,
    read_records,
    records_text,
)
from xrelay.lowering.loops.tile_registers import NO_TILES
from xrelay.lowering.operators.conv.winograd import WINOGRAD_NAMES
from xrelay.lowering.operators.tensor.layout import keeps_rows
from xrelay.lowering.program.registry import explain_selection


def values(*shapes: tuple[int, ...]):
    return TestOp(result_types=[TensorType(f32, shape) for shape in shapes]).results


def dense(rows: int = 4) -> Site:
    data, weight = values((rows, 8), (16, 8))
    return Site(DenseOp(data, weight), GENERIC, constants=frozenset([weight]))


def emit(ctx: KernelContext, op: Operation, sink: Sink) -> None:
    raise AssertionError("nothing is emitted here")


def many_rows(site: Site) -> str | None:
    rows = leaf_types(site.op.operands[0].type)[0].get_shape()[0]
    return unless(rows >= 16, "fewer than 16 rows")


PLAIN = Implementation("plain", emit, 5)
PACKED = Implementation("packed", emit, 10, cost=lambda site: 2e-6)
BLOCKED = Implementation("blocked", emit, 10, cost=lambda site: 1e-6)
LIBRARY = Implementation("library", emit, 15, many_rows)
EVERY: Strategy = (PLAIN, PACKED, BLOCKED, LIBRARY)


def recorded(site: Site, times: Mapping[str, float]) -> Site:
    return replace(site, records=TuningRecords({site.key: times}))


def attention(heads: int, names: str = "qkv") -> Site:
    """Attention of some heads, each of 4 elements, whose values have names."""
    block = Block(arg_types=[TensorType(f32, (8, 4 * heads))] * 3)
    parts: list[SSAValue] = []
    for parameter, name in zip(block.args, names, strict=True):
        split = ReshapeOp(parameter, [8, heads, 4])
        split.result.name_hint = name
        block.add_ops([split, moved := TransposeOp(split, [1, 0, 2])])
        parts.append(moved.result)
    scores = BatchMatmulOp(parts[0], parts[1], transpose_b=True)
    weights = SoftmaxOp(scores)
    result = BatchMatmulOp(weights, parts[2])
    block.add_ops([scores, weights, result, YieldOp(result)])
    args = values(*[(8, 4 * heads)] * 3)
    return Site(CompositeOp("attention", args, Region(block), result.result.type), GENERIC)


def test_the_key_of_a_composite_names_its_body() -> None:
    assert attention(2).key == attention(2, "xyz").key
    assert attention(2).key != attention(4).key


def test_composites_count_the_operations_inside() -> None:
    products = 2 * (2 * 8 * 8 * 2 * 4)
    moves, softmax = 2 * 3 * 8 * 8, 2 * 8 * 8
    assert operation_count(attention(2).op) == products + moves + softmax


# -- without records ----------------------------------------------------------------------------------


def test_the_highest_level_is_used() -> None:
    selection = select((PLAIN, PACKED), dense())
    assert (selection.chosen, selection.basis) == (PACKED, Basis.LEVEL)


def test_within_a_level_the_lowest_estimate_is_used() -> None:
    selection = select(EVERY, dense())
    assert (selection.chosen, selection.basis) == (BLOCKED, Basis.COST)
    names = [each.implementation.name for each in selection.candidates]
    assert names == ["blocked", "packed", "plain"]
    assert [each.cost for each in selection.candidates] == [1e-6, 2e-6, None]


def test_a_condition_adds_an_implementation() -> None:
    """Relay's scenario: from 16 on, a third implementation is valid."""
    assert [each.reason for each in select(EVERY, dense()).refusals] == ["fewer than 16 rows"]
    selection = select(EVERY, dense(16))
    assert (selection.chosen, selection.refusals) == (LIBRARY, ())


def test_what_the_program_states_is_said_so() -> None:
    """Unless there is nothing else, or it is the best."""
    for strategy, basis in ((EVERY, Basis.STATED), ((PLAIN,), Basis.ONLY)):
        selection = select(strategy, dense())
        assert replace(selection, is_stated=True).basis == basis
        assert selection.basis != Basis.STATED


def test_one_that_states_no_level_competes_with_those_of_level_10() -> None:
    usual = Implementation("usual", emit, cost=lambda site: 1.5e-6)
    selection = select((*EVERY, usual), dense())
    names = [each.implementation.name for each in selection.candidates]
    assert (names, selection.basis) == (["blocked", "usual", "packed", "plain"], Basis.COST)


@pytest.mark.parametrize("pool", [MaxPool2DOp, AvgPool2DOp])
@pytest.mark.parametrize(
    ("steps", "name", "basis"), [(2, "rows first", Basis.LEVEL), (9, "windows", Basis.ONLY)]
)
def test_pools_of_rows(
    pool: type[MaxPool2DOp | AvgPool2DOp], steps: int, name: str, basis: Basis
) -> None:
    """They are of a higher level where they can be used."""
    (image,) = values((1, 2, 32, 32))
    found = explain_selection(Site(pool(image, (3, 3), strides=(1, steps)), AVX2))
    assert (found.chosen.name, found.basis) == (name, basis)


def test_the_first_among_equals_is_used() -> None:
    twin = replace(PLAIN, name="twin")
    assert select((PLAIN, twin), dense()).chosen is PLAIN
    assert select((twin, PLAIN), dense()).chosen is twin


def test_what_is_excluded_is_not_used() -> None:
    selection = select(EVERY, replace(dense(), excluded=frozenset(["blocked"])))
    assert selection.chosen is PACKED
    assert ("blocked", "excluded by an option") in [
        (each.implementation.name, each.reason) for each in selection.refusals
    ]


def test_the_only_one() -> None:
    assert select((PLAIN, LIBRARY), dense()).basis is Basis.ONLY


def test_none_can() -> None:
    with pytest.raises(DiagnosticException, match="no implementation of relay.nn.dense") as error:
        select((LIBRARY,), dense())
    assert "library: fewer than 16 rows" in str(error.value)


def test_operators_without_loops_have_no_choice() -> None:
    with pytest.raises(DiagnosticException, match="relay.nn.relu .* nothing to choose"):
        explain_selection(Site(ReluOp(values((4,))[0]), GENERIC))


def test_operators_explain_themselves() -> None:
    data, weight = values((1, 4, 8, 8, 16), (64, 64, 3, 3))
    op = Conv2DOp(data, weight, padding=(1, 1), data_layout="NCHW16c")
    selection = explain_selection(Site(op, AVX512, constants=frozenset([weight])))
    assert {each.implementation.name for each in selection.candidates} == {
        "blocked",
        *WINOGRAD_NAMES,
    }
    assert {each.implementation.name: each.reason for each in selection.refusals} == {
        "direct": "images in blocks",
        "blocked-tiles": NO_TILES,
        "gathered-tiles": NO_TILES,
        "depthwise": "not depthwise",
    }
    selection = explain_selection(
        Site(op, AVX512, constants=frozenset([weight]), excluded=WINOGRAD_NAMES)
    )
    assert selection.chosen.name == "blocked"


@pytest.mark.parametrize("target", [GENERIC, AVX2, AVX512])
def test_matrices_that_are_used_once_are_not_packed(target: Target) -> None:
    """Packing pays for many rows, or when it happens while the model is compiled."""

    def chosen(op: Operation, *constants: SSAValue) -> str:
        return explain_selection(Site(op, target, constants=frozenset(constants))).chosen.name

    row, rows, by_columns, by_rows, narrow = values(
        (1, 768), (512, 768), (768, 768), (768, 770), (1, 768)
    )
    assert chosen(DenseOp(row, by_columns)) == "dot-products"
    assert chosen(MatmulOp(row, by_rows)) == "row-updates"
    assert chosen(DenseOp(rows, by_columns), by_columns) == "panels"
    assert chosen(MatmulOp(rows, by_rows), by_rows) == "panels"
    # A panel is one vector wide at least.
    assert chosen(DenseOp(rows, narrow), narrow) == "dot-products"


@pytest.mark.parametrize(
    ("shape", "axes", "name"),
    [
        ((128, 12, 64), (1, 2, 0), "transposed tiles"),
        ((1, 64, 7, 7), (0, 2, 3, 1), "transposed tiles"),
        ((1, 3, 5, 7), (0, 2, 3, 1), "interleaved vectors"),
        ((1, 5, 7, 3), (0, 3, 1, 2), "separated vectors"),
        ((3, 3), (1, 0), "element by element"),
        ((2, 3, 64), (1, 0, 2), "element by element"),
    ],
)
def test_transposes(shape: tuple[int, ...], axes: tuple[int, ...], name: str) -> None:
    (data,) = values(shape)
    assert explain_selection(Site(TransposeOp(data, axes), AVX2)).chosen.name == name


# -- with records -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "holds"),
    [
        ("NCHW", "CNHW", True),
        ("NCHW", "NHWC", False),
        ("NHWC", "NCHW4c", True),
        ("NCHW4c", "NHWC", False),
        ("NCHW4c", "NCHW2c", True),
        ("NCHW4c", "NCHW8c", False),
        ("NCHW", "NC4wHW", False),
    ],
)
def test_rows_that_another_layout_keeps(source: str, target: str, holds: bool) -> None:
    assert keeps_rows(Layout.parse(source, "source"), Layout.parse(target, "target")) == holds


def test_records_override_levels_and_estimates() -> None:
    site = dense(16)
    selection = select(EVERY, recorded(site, {"plain": 1e-6, "library": 2e-6, "blocked": 3e-6}))
    assert (selection.chosen, selection.basis) == (PLAIN, Basis.RECORD)
    assert selection.candidates[1].implementation is LIBRARY


def test_one_without_a_record_is_used_only_if_none_has_one() -> None:
    site = dense(16)
    assert select(EVERY, recorded(site, {"plain": 1.0})).chosen is PLAIN
    assert select(EVERY, recorded(site, {"unknown": 1e-9})).chosen is LIBRARY


def test_a_record_does_not_override_a_condition() -> None:
    site = recorded(dense(), {"library": 1e-9, "plain": 1.0})
    assert select(EVERY, site).chosen is PLAIN


def test_a_record_does_not_override_an_option() -> None:
    site = recorded(dense(), {"blocked": 1e-9, "plain": 1.0})
    assert select(EVERY, replace(site, excluded=frozenset(["blocked"]))).chosen is PLAIN


def test_a_newer_worse_record_does_not_replace_a_better_one() -> None:
    records = NO_RECORDS.with_record("k", "a", 2.0).with_record("k", "b", 1.0)
    assert records.with_record("k", "a", 3.0) == records
    assert records.with_record("k", "a", 1.5).measured["k"] == {"a": 1.5, "b": 1.0}


def test_keys_tell_sites_apart() -> None:
    data, weight, longer = values((4, 8), (16, 8), (5, 8))
    site = Site(DenseOp(data, weight), GENERIC, constants=frozenset([weight]))
    others = [
        replace(site, op=DenseOp(longer, weight)),
        replace(site, target=AVX2),
        replace(site, threads=2),
        replace(site, constants=frozenset()),
        replace(site, target=replace(GENERIC, name="native", cpu="core", features="+a")),
        replace(site, target=replace(GENERIC, name="native", cpu="core", features="+b")),
    ]
    assert len({each.key for each in (site, *others)}) == 7


def test_keys_do_not_depend_on_names_or_values() -> None:
    one, other = dense(), dense()
    one.op.operands[0].name_hint = "image"
    assert one.key == other.key
    assert one.key == (
        "relay.nn.dense(tensor<4x8xf32>, constant tensor<16x8xf32>) -> (tensor<4x16xf32>) {} "
        "on x86-64, 1 thread"
    )


# -- files --------------------------------------------------------------------------------------------


def test_files_keep_records(tmp_path: Path) -> None:
    records = NO_RECORDS.with_record("k", "a", 1.5e-6).with_record("k", "b", 1.0)
    path = tmp_path / "tuning.json"
    path.write_text(records_text(records, "core"))
    assert read_records(path) == read_records(path, "core") == records
    assert read_records(path).digest == records.digest != NO_RECORDS.digest
    assert json.loads(path.read_text())["machine"]["cpu"] == "core"


def test_records_of_another_machine_are_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    path.write_text(records_text(NO_RECORDS, "core"))
    with pytest.raises(TuningError, match="on another machine: .*cpu core.* this is cpu other"):
        read_records(path, "other")


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "holds no tuning records: Expecting value"),
        ("\udce9", "holds no tuning records"),
        ("[" * 100_000, "holds no tuning records"),
        ("[]", "holds no tuning records: expected a JSON object"),
        ("{}", "'schema' is missing, this version reads 1"),
        ('{"schema": 2}', "'schema' is 2, this version reads 1"),
        ('{"schema": 1}', "'records' is no JSON object"),
        ('{"schema": 1, "records": {"k": 1}}', "the record of 'k' is no JSON object"),
        *(
            (f'{{"schema": 1, "records": {{"k": {{"a": {time}}}}}}}', "the time of 'a' for 'k' is")
            for time in ("0", "-1", "true", "null", '"1"', "NaN", "Infinity", "1e400", "9" * 400)
        ),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "tuning.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(TuningError) as error:
        read_records(path)
    assert str(path) in str(error.value) and reason in str(error.value)


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TuningError, match="cannot read .*: No such file"):
        read_records(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("lanes", "dilation", "taps", "reason"),
    [
        (16, (2, 2), 3, None),
        (32, (1, 2), 5, None),
        (4, (1, 1), 3, None),
        (2, (1, 1), 3, "pieces of windows do not fill rows"),
        (1, (2, 1), 3, None),
        (1, (1, 2), 3, "pieces of windows do not fill rows"),
        (1, (1, 1), 5, None),
        (1, (1, 1), 9, "pieces of windows do not fill rows"),
    ],
)
def test_pieces_of_windows(
    lanes: int, dilation: tuple[int, int], taps: int, reason: str | None
) -> None:
    """Of bytes, four of which a step takes: they lie together, and fill a row of a tile."""
    data = TensorType(i8, [1, 32 // lanes, 20, 20, lanes])
    weight = TensorType(i8, [32, 32, taps, taps])
    op = Conv2DOp(
        *Block(arg_types=[data, weight]).args,
        dilation=dilation,
        data_layout=f"NCHW{lanes}c",
        out_layout="NCHW16c",
        out_dtype=i32,
    )
    site = Site(op, TARGETS["x86-64-v4-amx"], constants=frozenset([op.weight]))
    found = {each.implementation.name: each.reason for each in explain_selection(site).refusals}
    assert found.get("gathered-tiles") == reason
