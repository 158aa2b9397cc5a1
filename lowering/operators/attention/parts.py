"""
Scaled dot-product attention as one kernel: the composite "attention".

    softmax(queries · keysᵀ · scale [+ mask]) · values          for every member of the batch

    for member of the batch, group of rows of the queries:          # the threads share these
        keys, values ──► panels, in memory of the thread
        for block of rows of the group:
            scores = queries of the block · keys                    # memory of the thread
            weights = softmax of the rows of the scores             # in their place
            hand weights · values to the sink, at its place behind the moves that follow

The body of a composite decides. It has two matrix products and a softmax along the last axis between
them; operators on single elements and reshapes that keep rows may stand before and behind
the softmax (scale, mask, weights of rows that are masked as a whole), moves of elements behind the
second product. Operands, weights and the result may be of types with fewer bits: products are computed by the dot
products for these, all else in the type of the scores. All other operators of the body are evaluated on demand, so that the reshapes,
slices and transposes that cut heads out of a projection cost nothing.

The keys may be more than a cache holds, or a mask may hide some of them from some rows. Then, unless something is
computed from the weights but a number for those of whole rows, they come in blocks (`key_blocks`), and the softmax is computed along the way: with each row go the
largest score so far, the sum of the exponentials and the sum of the weighted values, both relative
to that score (M. Milakov and N. Gimelshein, Online normalizer calculation for softmax, 2018,
arXiv:1805.02867; T. Dao et al., FlashAttention, 2022, arXiv:2205.14135).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue

from xrelay.analysis.facts.constants import number_of
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleOp, YieldOp
from xrelay.dialects.lengths import certainly, is_open, smaller
from xrelay.dialects.nn.dense import MatrixProductOp
from xrelay.dialects.nn.norm import SoftmaxOp
from xrelay.dialects.shapes import same_shape
from xrelay.dialects.tensor.binary import (
    BINARY_OPS,
    AddOp,
    DivideOp,
    MultiplyOp,
    NotEqualOp,
    SubtractOp,
)
from xrelay.dialects.tensor.reshape import RESHAPE_OPS
from xrelay.dialects.tensor.transform import TransposeOp, WhereOp
from xrelay.dialects.tensor.unary import UNARY_OPS, CastOp, TanhOp
from xrelay.dialects.traits import OpPatternKind, pattern_kind
from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.elements import Element, element
from xrelay.lowering.emit.evaluate import element_of, shape_of
from xrelay.lowering.emit.index import Index
from xrelay.lowering.emit.packing import blocks
from xrelay.lowering.emit.parameters import Parameters
from xrelay.lowering.emit.position import Position, at
from xrelay.lowering.emit.strategy import Site
from xrelay.lowering.emit.target import Target
from xrelay.lowering.loops.dots import NO_DOT, Dot
from xrelay.lowering.loops.matrix_product import Product
from xrelay.lowering.loops.tiling import Tiling, choose_tiling, most_vectors, tile_parameters
from xrelay.lowering.math.convert import convert
from xrelay.lowering.operators.tensor.reshape import reshaped_coords

NAME = "attention"
"""The composites that are computed so."""

ON_ELEMENTS = (*UNARY_OPS, *BINARY_OPS, WhereOp)
"""Operators that may stand between the first product and the softmax."""

MONOTONIC = (AddOp, SubtractOp, MultiplyOp, CastOp, TanhOp, *RESHAPE_OPS)
"""Operators that rise or fall with one operand."""

HIDDEN_KEYS = 128
"""Keys in a block that a mask may hide."""
OPEN_KEYS = 256
"""The same where it is not known how many keys there are: so many that they come in one block more often than not."""

MOST_BLOCK_ROWS = 64
"""Rows whose scores are computed together: so many use a panel of the keys once it is near."""

WIDE = ({element(f32)}, {element(f64)})
"""What scores, weights and sums may be."""

ENOUGH_ROUNDS = 4
"""With this many tasks for each thread, it does not matter that some have one more."""


@dataclass(frozen=True)
class RowWeight:
    """A number that all weights of some rows are, as exporters write zeros for rows that a mask hides as a whole."""

    number: SSAValue
    condition: SSAValue | None
    """Which rows these are, as broadcasting pairs it with `weights`; None for those whose weights are NaN."""
    weights: SSAValue


@dataclass(frozen=True)
class Attention:
    """The operators of a composite that decide how it is computed."""

    scores: MatrixProductOp
    softmax: SoftmaxOp
    output: MatrixProductOp
    changed_weights: bool
    """Whether something is computed from the weights before the second product, more than rounding."""
    row_weight: RowWeight | None
    """What stands for all weights of some rows, where nothing else is computed from them."""
    moves: tuple[Operation, ...]
    """What brings the elements of `output` to their places in the result."""
    masks_rows: bool
    """
    Whether something that differs from row to row may hide scores, and all that stands between these and the softmax rises
    or falls with them.
    """

    @property
    def hides_blocks(self) -> bool:
        """Whether it is worth while to look for blocks of scores that are hidden."""
        rows = self.first.rows
        many = is_open(rows) or rows >= MOST_BLOCK_ROWS
        return self.masks_rows and self.takes_key_blocks and many

    @property
    def takes_key_blocks(self) -> bool:
        """Whether keys may come in blocks, so that weights are never there as the softmax makes them."""
        return not self.changed_weights or self.row_weight is not None

    @property
    def first(self) -> Product:
        """Queries times keys: [batch, rows, depth] times [batch or 1, depth, keys]."""
        return Product.of(self.scores)

    @property
    def second(self) -> Product:
        """Weights times values: [batch, rows, keys] times [batch or 1, keys, width]."""
        return Product.of(self.output)

    @property
    def kind(self) -> Element:
        """What scores, weights and sums are."""
        return element_of(self.scores.result)

    def dots(self, target: Target) -> tuple[Dot, Dot]:
        """How the products of the first and of the second product are summed."""
        first, second = self.first.dot(target), self.second.dot(target)
        assert first is not None and second is not None
        return first, second

    def row_coords(
        self, b: KernelBuilder, member: Index, row: Index, value: SSAValue
    ) -> tuple[Index, ...]:
        """The coordinates of a row of scores or weights, which may be in a batch of other lengths."""
        rows, (*batch, own_rows, _) = self.first.rows, shape_of(value)
        if certainly(own_rows, rows):
            return *b.unflatten(member, batch), row
        return tuple(b.unflatten(b.add(b.mul(member, rows), row), (*batch, own_rows)))

    def rounded(self, b: KernelBuilder, value: SSAValue) -> SSAValue:
        """Elements of the second product as elements of the result."""
        for op in self.moves:
            if isinstance(op, CastOp):
                value = convert(b, value, element_of(op.data), element_of(op.result))
        return value

    def places(
        self, b: KernelBuilder, member: Index, row: Index, column: Index, lanes: int
    ) -> Iterator[tuple[int, Position]]:
        """
        Where neighbouring elements of a row of the second product lie in the result: the numbers of
        lanes and the positions that begin with them.
        """
        whole = all(map(_keeps_neighbours, self.moves))
        for lane in range(0, lanes, lanes if whole else 1):
            shape = shape_of(self.output.result)
            coords = (*b.unflatten(member, shape[:-2]), row, b.add(column, lane))
            for op in self.moves:
                new = shape_of(op.results[0])
                if isinstance(op, CastOp):
                    continue
                if isinstance(op, TransposeOp):
                    coords = tuple(coords[axis] for axis in op.permutation)
                else:
                    coords = tuple(reshaped_coords(b, coords, shape, new))
                shape = new
            yield lane, at(shape, coords, lanes if whole else 1)


def _keeps_neighbours(op: Operation) -> bool:
    """Whether neighbours along the last axis are neighbours along the last axis of the result."""
    if isinstance(op, TransposeOp):
        return op.permutation[-1] == len(op.permutation) - 1
    if isinstance(op, CastOp):
        return True
    old, new = shape_of(op.operands[0]), shape_of(op.results[0])
    return bool(new) and new[-1] % old[-1] == 0


def _keeps_rows(op: Operation) -> bool:
    """Whether a reshape changes nothing but the axes of the batch and of the rows."""
    if not isinstance(op, RESHAPE_OPS):
        return False
    old, new = shape_of(op.operands[0]), shape_of(op.results[0])
    return min(len(old), len(new)) >= 2 and certainly(old[-1], new[-1])


def parts_of(op: Operation) -> Attention | str:
    """The operators that decide how a composite is computed, or why it is none of this kind."""
    if not isinstance(op, CompositeOp) or op.composite.data != NAME:
        return f'not a composite "{NAME}"'
    products: list[MatrixProductOp] = []
    moves: list[Operation] = []
    softmax: SoftmaxOp | None = None
    changes: list[Operation] = []
    masks_rows, monotonic = False, True
    scores: set[SSAValue] = set()
    weights: set[SSAValue] = set()
    outputs: list[SSAValue] = []
    for inner in op.block.ops:
        if isinstance(inner, YieldOp):
            continue
        used = [[x in known for x in inner.operands] for known in (scores, weights, outputs)]
        of_scores, of_weights, of_outputs = used
        result = inner.results[0]
        match list(map(any, used)):
            case [False, False, False]:
                if isinstance(inner, MatrixProductOp) and not products:
                    products.append(inner)
                    scores.add(result)
                elif not _is_on_demand(inner):
                    return f"{inner.name} of {inner.results[0].type} inside"
            case [True, False, False] if isinstance(inner, SoftmaxOp) and softmax is None:
                if inner.normalized_axis + 1 != len(shape_of(result)):
                    return "a softmax that is not along the last axis"
                softmax = inner
                weights.add(result)
            case [True, False, False] if _acts_alike(inner, of_scores):
                scores.add(result)
                monotonic = monotonic and _is_monotonic(inner, of_scores)
                masks_rows = masks_rows or _masks_rows(inner, of_scores)
            case [False, True, False] if isinstance(inner, MatrixProductOp):
                if len(products) != 1 or of_weights != [True, False]:
                    return "weights that more is done with"
                products.append(inner)
                outputs.append(result)
            case [False, True, False] if _acts_alike(inner, of_weights):
                weights.add(result)
                if not isinstance(inner, CastOp) and not _keeps_rows(inner):
                    changes.append(inner)
            case [False, False, True] if isinstance(inner, (CastOp, TransposeOp, *RESHAPE_OPS)):
                if of_outputs != [inner.operands[0] is outputs[-1]]:
                    return "a result that is moved twice"
                outputs.append(result)
                moves.append(inner)
            case _:
                return f"{inner.name} between the products or behind them"
    if softmax is None or len(products) != 2 or op.yielded is not outputs[-1]:
        return "not a softmax between two products"
    return Attention(
        products[0],
        softmax,
        products[1],
        bool(changes),
        _row_weight(changes, weights),
        tuple(moves),
        masks_rows and monotonic,
    )


def _is_on_demand(op: Operation) -> bool:
    """Whether elements are computed, or found, when they are asked for."""
    if isinstance(op, ConstantOp):
        return number_of(op.result) is not None
    return isinstance(op, TupleOp) or pattern_kind(op) <= OpPatternKind.INJECTIVE


def _row_weight(changes: Sequence[Operation], weights: set[SSAValue]) -> RowWeight | None:
    """What the only changes of weights are, if it is a choice between these and a number that is the same for a whole row."""
    if not changes or not isinstance(choice := changes[-1], WhereOp):
        return None
    condition, number, kept = choice.operands
    if number in weights or not all(certainly(dim, 1) for dim in shape_of(number)):
        return None
    if len(changes) == 1 and condition not in weights:
        of_row = not shape_of(condition) or certainly(shape_of(condition)[-1], 1)
        return RowWeight(number, condition, choice.result) if of_row else None
    test = changes[0]
    if len(changes) == 2 and isinstance(test, NotEqualOp) and condition is test.result:
        is_nan = test.lhs is test.rhs is kept
        return RowWeight(number, None, choice.result) if is_nan else None
    return None


def _is_monotonic(op: Operation, of_scores: Sequence[bool]) -> bool:
    """
    Whether the elements of an operator on scores rise with these, or fall, whatever the other operands are. Integers wrap around,
    and what becomes a bool is false in the middle.
    """
    own = [x for x, is_scores in zip(op.operands, of_scores, strict=True) if is_scores]
    if not all(element_of(value).is_float for value in (*own, op.results[0])):
        return False
    if isinstance(op, WhereOp):
        return of_scores[0] is False and sum(of_scores) == 1
    if isinstance(op, DivideOp):
        return list(of_scores) == [True, False]
    return sum(of_scores) == 1 and isinstance(op, MONOTONIC)


def _masks_rows(op: Operation, of_scores: Sequence[bool]) -> bool:
    """Whether an operator may hide some scores of some rows, as a causal mask does."""
    others = [x for x, is_scores in zip(op.operands, of_scores, strict=True) if not is_scores]
    shapes = [shape_of(value)[-2:] for value in others]
    return isinstance(op, (AddOp, SubtractOp, WhereOp)) and any(
        len(shape) == 2 and not any(certainly(dim, 1) for dim in shape) for shape in shapes
    )


def _acts_alike(op: Operation, used: Sequence[bool]) -> bool:
    """Whether an operator on scores or weights gives such at the same places."""
    if _keeps_rows(op):
        return True
    shape = shape_of(op.results[0])
    return isinstance(op, ON_ELEMENTS) and all(
        same_shape(shape_of(operand), shape)
        for operand, is_scores in zip(op.operands, used, strict=True)
        if is_scores
    )


def refusal(site: Site) -> str | None:
    """Why a composite cannot be computed so."""
    parts = parts_of(site.op)
    if isinstance(parts, str):
        return parts
    first, second = parts.first, parts.second
    results = parts.scores.result, parts.softmax.data, parts.softmax.result, parts.output.result
    if {element_of(value) for value in results} not in WIDE:
        return "scores, weights and sums not all f32 or all f64"
    if None in (first.dot(site.target), second.dot(site.target)):
        return NO_DOT
    if first.transpose_left or second.transpose_left:
        return "left operand transposed"
    if is_open(second.columns):
        return "values of rows whose length is known when the program runs only"
    sizes = (first.batch, first.rows, first.columns, first.depth, second.columns)
    if 0 in sizes or second.batch != first.batch or second.left_batch != first.batch:
        return "no elements" if 0 in sizes else "more values than scores"
    return None


@dataclass(frozen=True)
class Cut:
    """Into what the work is cut. The bits of results depend on `keys` only."""

    rows: int
    """Rows of the queries in a block. The last block overlaps with the one before."""
    row_blocks: int
    groups: int
    """Groups of blocks: tasks for each member of the batch."""
    keys: int
    """Keys in a block; fewer in the last one. The number of threads does not count."""
    key_blocks: int
    """How many blocks of keys there are; 2 for any number that is known when the program runs only."""
    scores: Tiling
    """How the scores of a block are cut."""
    output: Tiling

    @property
    def blocks_of_group(self) -> int:
        """How many blocks of rows a group has; the last one may have fewer."""
        return blocks(self.row_blocks, self.groups)


def cut_of(
    parts: Attention, target: Target, threads: int, parameters: Parameters | None = None
) -> Cut:
    """How attention is cut for a target and a number of threads, as parameters state it."""
    parameters = Parameters() if parameters is None else parameters
    cut = _likely_cut(parts.first.likely, parts.second.likely, parts, target, threads, parameters)
    return _fitted(cut, parts)


def _fitted(cut: Cut, parts: Attention) -> Cut:
    """A cut that was chosen for likely lengths, for all."""
    product = parts.first
    rows = smaller(cut.rows, product.rows)
    row_blocks = blocks(product.rows, rows)
    groups = smaller(cut.groups, row_blocks)
    cut = replace(cut, rows=rows, row_blocks=row_blocks, groups=groups)
    return cut if cut.key_blocks > 1 else replace(cut, keys=product.columns)


def _likely_cut(
    first: Product,
    second: Product,
    parts: Attention,
    target: Target,
    threads: int,
    parameters: Parameters,
) -> Cut:
    lanes = target.lanes(parts.kind.bytes)
    first_dot, second_dot = parts.dots(target)
    keys, key_blocks = first.columns, 1
    row_bytes = first.depth * first_dot.weight.bytes + second.columns * second_dot.weight.bytes
    if parts.takes_key_blocks:
        key_blocks = blocks(keys * row_bytes, target.l2_bytes // 2)
        if parts.hides_blocks:
            key_blocks = max(key_blocks, keys // HIDDEN_KEYS, 1)
    if key_blocks > 1:
        keys = blocks(blocks(keys, key_blocks), lanes) * lanes
        key_blocks = blocks(first.columns, keys)
    most = blocks(first.columns, lanes) if parts.takes_key_blocks else 1
    stated = parameters.number("key_blocks", key_blocks, range(1, most + 1))
    if stated != key_blocks:
        keys = (
            first.columns if stated == 1 else blocks(blocks(first.columns, stated), lanes) * lanes
        )
        key_blocks = blocks(first.columns, keys)
    if is_open(parts.first.columns):
        # What is stated is right for the likely number of keys. There may be more, of which blocks are hidden.
        keys, key_blocks = (OPEN_KEYS, 2) if parts.hides_blocks else (keys, 1)
    # Each group packs the keys again: as few as give all threads the same number of tasks.
    wanted = 1
    while first.batch * wanted % threads and first.batch * wanted < ENOUGH_ROUNDS * threads:
        wanted += 1
    groups = min(wanted, first.rows)
    row_blocks = blocks(blocks(first.rows, MOST_BLOCK_ROWS), groups) * groups
    rows = blocks(first.rows, row_blocks)
    rows = parameters.number("rows", rows, range(1, first.rows + 1))
    row_blocks = blocks(first.rows, rows)
    groups = blocks(row_blocks, blocks(row_blocks, min(groups, row_blocks)))
    groups = parameters.number("groups", groups, range(1, row_blocks + 1))

    def tiling(columns: int, depth: int, dot: Dot, name: str) -> Tiling:
        vectors, steps = blocks(columns, lanes), dot.steps(depth)
        widest = most_vectors(target, rows, steps * vectors * dot.step_bytes(target))
        usual = choose_tiling(target, 1, rows, vectors, steps, widest, dot=dot)
        names = ("", f"{name}_rows", f"{name}_vectors")
        return tile_parameters(parameters, usual, 1, rows, vectors, names)

    return Cut(
        rows,
        row_blocks,
        groups,
        keys,
        key_blocks,
        tiling(keys, first.depth, first_dot, "score"),
        tiling(second.columns, keys, second_dot, "output"),
    )
