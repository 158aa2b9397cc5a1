"""
Products of matrices, and convolutions, by OpenBLAS: a library of kernels, beside the engines that optimise graphs.

    nn.dense, nn.matmul, nn.batch_matmul        gemm, for each matrix of a batch
    nn.conv2d, one group, NCHW                  the windows side by side as a matrix, then gemm; those of 1×1 are there
    openblas.bias, openblas.bias_relu           any of these, what is added in the sums from the start, the relu in place

The library comes from PyPI as `scipy-openblas64`, in which integers have 64 bits. It has one number of threads for the
whole process, which is set before each region.
"""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.analysis.facts.names import short_name
from xrelay.analysis.patterns.language import Pattern, is_op, wildcard
from xrelay.analysis.patterns.matching import Match
from xrelay.backends.base import (
    Array,
    Backend,
    BackendError,
    CompiledRegion,
    CompositePattern,
    FusionStyle,
    No,
    RegionOptions,
    Support,
    Yes,
)
from xrelay.backends.regions import RegionTensor, field_slice, leaf_tensors, static_tensors
from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.core.values import CompositeOp, ConstantOp, TupleGetItemOp, TupleOp
from xrelay.dialects.nn.dense import BatchMatmulOp, DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.shapes import tensor_type
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.interpreters.constants import constant_array

PACKAGE = "scipy_openblas64"
ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112
"""Constants of CBLAS."""
DTYPES = ("float32", "float64")
"""What it computes."""
Product = DenseOp | MatmulOp | BatchMatmulOp | Conv2DOp


class Library:
    """The functions of the library that are used."""

    def __init__(self) -> None:
        """Raises BackendError when the package is missing."""
        try:
            package: Any = import_module(PACKAGE)
        except ImportError as error:
            raise BackendError(
                "backend 'openblas' needs the package scipy-openblas64, which is not installed"
            ) from error
        folder = Path(package.get_lib_dir())
        (path,) = folder.glob(f"lib{package.get_library()}.*")
        loaded = ctypes.CDLL(str(path))
        self.__version__: str = package.__version__
        size, place = ctypes.c_int64, ctypes.c_void_p
        self._gemm: dict[np.dtype[Any], tuple[Any, Any]] = {}
        for dtype, letter, number in (
            (np.float32, "s", ctypes.c_float),
            (np.float64, "d", ctypes.c_double),
        ):
            gemm = loaded[f"scipy_cblas_{letter}gemm64_"]
            gemm.restype = None
            gemm.argtypes = (
                *(ctypes.c_int, ctypes.c_int, ctypes.c_int, size, size, size),
                *(number, place, size, place, size, number, place, size),
            )
            self._gemm[np.dtype(dtype)] = gemm, number
        self._set_threads = loaded["scipy_openblas_set_num_threads64_"]
        self._threads = loaded["scipy_openblas_get_num_threads64_"]
        self.lock = Lock()
        """Held by who has set the number of threads, as long as that is to hold."""

    def use_threads(self, count: int) -> None:
        """Sets how many threads a product uses from now on."""
        if self._threads() != count:
            self._set_threads(count)

    def multiply(self, a: "Matrix", b: "Matrix", result: Array, *, adds: bool) -> None:
        """Writes the product of two matrices, or adds it to what is there."""
        gemm, number = self._gemm[result.dtype]
        rows, columns = result.shape
        gemm(
            *(ROW_MAJOR, TRANSPOSED if a.transposed else PLAIN),
            *(TRANSPOSED if b.transposed else PLAIN, rows, columns, a.depth_of_rows),
            *(number(1), a.array.ctypes.data, a.array.shape[1]),
            *(b.array.ctypes.data, b.array.shape[1]),
            *(number(1 if adds else 0), result.ctypes.data, columns),
        )


@dataclass(frozen=True)
class Matrix:
    """A C-contiguous matrix, which may stand for its transpose."""

    array: Array
    transposed: bool = False

    @property
    def depth_of_rows(self) -> int:
        """The length of its rows, once it is transposed if it is to be."""
        return self.array.shape[0 if self.transposed else 1]


Arrays = dict[int, Array]
"""The tensors of a region, by their places."""
Kernel = Callable[[Arrays, Array], None]
"""Computes a tensor from others into an array."""


class OpenBlasBackend(Backend):
    """Runs products of matrices and convolutions in f32 and f64."""

    name = "openblas"
    fusion_style = FusionStyle.NONE

    def __init__(self, argument: str = ""):
        super().__init__(argument)
        self.engine = Library()

    def patterns(self) -> Sequence[CompositePattern]:
        found: list[CompositePattern] = []
        for operator in ("nn.dense", "nn.matmul", "nn.conv2d"):
            product = is_op(operator)(wildcard(), wildcard())
            biased = is_op("nn.bias_add")(product, wildcard())
            if operator != "nn.conv2d":
                biased = biased | is_op("add")(product, wildcard())
            name, check = f"{self.name}.{operator.removeprefix('nn.')}", self._check(product)
            found.append(CompositePattern(f"{name}_bias_relu", is_op("nn.relu")(biased), check))
            found.append(CompositePattern(f"{name}_bias", biased, check))
        return found

    def _check(self, product: Pattern) -> Callable[[Match], bool]:
        """Whether a product with a bias is one that the library computes: the bias along columns, or channels."""

        def check(found: Match) -> bool:
            op = found[product].owner
            assert isinstance(op, Product)
            if isinstance(self.supports(op, op.operand_types), No):
                return False
            return any(_begins_sums(each, op) for each in found.ops)

        return check

    def supports(self, op: Operation, types: Sequence[Attribute]) -> Support:
        if not isinstance(op, Product):
            return No("the library has products of matrices only")
        tensors = static_tensors((*types, *op.result_types))
        if isinstance(tensors, No):
            return tensors
        if len({each.dtype for each in tensors}) > 1 or tensors[0].dtype.name not in DTYPES:
            return No("the library computes f32 with f32, and f64 with f64")
        if not all(prod(each.shape) for each in tensors):
            return No("there is nothing to multiply")
        layouts = [*map(str, op.layouts)] if isinstance(op, Conv2DOp) else []
        if isinstance(op, Conv2DOp) and (
            op.groups.value.data != 1 or layouts != ["NCHW", "OIHW", "NCHW"]
        ):
            return No("convolutions are of one group, of images NCHW with filters OIHW")
        return Yes()

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        region = _Region(self.engine)
        parameters = [place for arg in function.body.block.args for place in region.new(arg)]
        region.read(function.body.block.ops)

        def run(inputs: Sequence[Array], outputs: Sequence[Array]) -> Sequence[Array]:
            arrays: Arrays = {**region.constants, **dict(zip(parameters, inputs, strict=True))}
            wanted = dict(zip(region.returned, outputs, strict=True))
            # The number of threads is that of the process.
            with self.engine.lock:
                self.engine.use_threads(options.threads)
                for place, tensor, kernel in region.steps:
                    given = wanted.get(place)
                    made = np.empty(tensor.shape, tensor.dtype) if given is None else given
                    kernel(arrays, made)
                    arrays[place] = made
            return [arrays[place] for place in region.returned]

        return run


@dataclass
class _Region:
    """A region as steps on numbered tensors."""

    library: Library
    places: dict[SSAValue, tuple[int, ...]] = field(default_factory=dict[SSAValue, tuple[int, ...]])
    """The tensors of each value, tuples flattened from the left."""
    constants: Arrays = field(default_factory=dict[int, Array])
    steps: list[tuple[int, RegionTensor, Kernel]] = field(
        default_factory=list[tuple[int, RegionTensor, Kernel]]
    )
    returned: tuple[int, ...] = ()
    count: int = 0

    def new(self, value: SSAValue) -> tuple[int, ...]:
        """Places for a value."""
        first = self.count
        self.count += len(list(leaf_tensors(value.type)))
        self.places[value] = tuple(range(first, self.count))
        return self.places[value]

    def read(self, ops: Iterable[Operation]) -> None:
        """Adds the steps of operations."""
        for op in ops:
            match op:
                case ConstantOp():
                    (place,) = self.new(op.result)
                    self.constants[place] = np.ascontiguousarray(constant_array(op))
                case TupleOp():
                    fields = (place for each in op.fields for place in self.places[each])
                    self.places[op.result] = tuple(fields)
                case TupleGetItemOp():
                    self.places[op.result] = self.places[op.tuple_value][field_slice(op)]
                case func.ReturnOp():
                    self.returned = tuple(p for value in op.arguments for p in self.places[value])
                case CompositeOp():
                    self.composite(op)
                case DenseOp() | MatmulOp() | BatchMatmulOp() | Conv2DOp():
                    self.product(op, op.result, None, rectifies=False)
                case _:
                    raise BackendError(f"the library does not compute {short_name(op)}")

    def composite(self, op: CompositeOp) -> None:
        """Adds the step of a product with a bias, and of a relu after it."""
        inner = list(op.block.ops)
        for arg, value in zip(op.block.args, op.args, strict=True):
            self.places[arg] = self.places[value]
        self.read(each for each in inner if isinstance(each, ConstantOp))
        (product,) = (each for each in inner if isinstance(each, Product))
        (biased,) = (each for each in inner if isinstance(each, BiasAddOp | AddOp))
        rectifies = any(isinstance(each, ReluOp) for each in inner)
        self.product(product, op.results[0], _added(biased, product), rectifies=rectifies)

    def product(
        self, op: Product, result: SSAValue, bias: SSAValue | None, *, rectifies: bool
    ) -> None:
        """Adds the step of a product."""
        (place,) = self.new(result)
        (tensor,) = leaf_tensors(result.type)
        (left,), (right,) = (self.places[each] for each in op.operands)
        added = None if bias is None else self.places[bias][0]
        columns = 1 if isinstance(op, Conv2DOp) else len(tensor.shape) - 1
        spread = tuple(-1 if axis == columns else 1 for axis in range(len(tensor.shape)))
        compute = kernel_of(op, self.library)

        def kernel(arrays: Arrays, out: Array) -> None:
            if added is not None:
                begun = arrays[added]
                out[...] = begun.reshape(spread) if begun.ndim == 1 else begun
            compute(arrays[left], arrays[right], out, added is not None)
            if rectifies:
                np.maximum(out, out.dtype.type(0), out=out)

        self.steps.append((place, tensor, kernel))


def _begins_sums(op: Operation, product: Product) -> bool:
    """
    Whether an operator adds to a product what the sums may begin with: a vector along columns, or channels of a
    convolution, or as much as there is.
    """
    if not isinstance(op, BiasAddOp | AddOp):
        return False
    shape = tensor_type(product.result, "the product").get_shape()
    if isinstance(op, BiasAddOp):
        return op.channel_axis == (1 if isinstance(product, Conv2DOp) else len(shape) - 1)
    added = tensor_type(_added(op, product), "the bias").get_shape()
    return added in (shape, shape[-1:])


def _added(op: BiasAddOp | AddOp, product: Product) -> SSAValue:
    """What is added to a product, which may be either operand."""
    first, second = op.operands
    return first if second == product.result else second


Compute = Callable[[Array, Array, Array, bool], None]
"""Computes a product of two tensors into an array, or adds it to what is there."""


def kernel_of(op: Product, library: Library) -> Compute:
    """How a product is computed."""
    match op:
        case Conv2DOp():
            return _convolution(op, library)
        case BatchMatmulOp():
            return _batch(op, library)
        case _:
            return _dense(op, library)


def _dense(op: DenseOp | MatmulOp, library: Library) -> Compute:
    by_rows = isinstance(op, DenseOp)
    first = not by_rows and bool(op.transpose_a.value.data)
    second = by_rows or bool(op.transpose_b.value.data)

    def compute(a: Array, b: Array, out: Array, adds: bool) -> None:
        if first and a.ndim > 2:
            for matrix, made in zip(_matrices(a), _matrices(out), strict=True):
                library.multiply(Matrix(matrix, True), Matrix(b, second), made, adds=adds)
            return
        rows = a if first else a.reshape(-1, a.shape[-1])
        result = out.reshape(-1, out.shape[-1])
        library.multiply(Matrix(rows, first), Matrix(b, second), result, adds=adds)

    return compute


def _matrices(array: Array) -> Array:
    """A batch of matrices with one axis for the batch."""
    return array.reshape(-1, *array.shape[-2:])


def _batch(op: BatchMatmulOp, library: Library) -> Compute:
    first, second = bool(op.transpose_a.value.data), bool(op.transpose_b.value.data)

    def compute(a: Array, b: Array, out: Array, adds: bool) -> None:
        for i, made in enumerate(out):
            left, right = a[i if len(a) > 1 else 0], b[i if len(b) > 1 else 0]
            library.multiply(Matrix(left, first), Matrix(right, second), made, adds=adds)

    return compute


def _convolution(op: Conv2DOp, library: Library) -> Compute:
    top, left, bottom, right = op.pads
    (down, across), (far_y, far_x) = op.strides.get_values(), op.dilation.get_values()

    def compute(image: Array, weight: Array, out: Array, adds: bool) -> None:
        filters, _, rows, columns = weight.shape
        height, width = out.shape[2:]
        matrix = Matrix(weight.reshape(filters, -1))
        if (rows, columns, down, across) == (1, 1, 1, 1) and not any(op.pads):
            windows = image
        else:
            padded = np.pad(image, ((0, 0), (0, 0), (top, bottom), (left, right)))
            reach = (far_y * (rows - 1) + 1, far_x * (columns - 1) + 1)
            views = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(2, 3))
            chosen = views[:, :, ::down, ::across, ::far_y, ::far_x][:, :, :height, :width]
            windows = np.ascontiguousarray(chosen.transpose(0, 1, 4, 5, 2, 3))
        for one, made in zip(windows, out, strict=True):
            columns_of = one.reshape(matrix.array.shape[1], -1)
            library.multiply(matrix, Matrix(columns_of), made.reshape(filters, -1), adds=adds)

    return compute
