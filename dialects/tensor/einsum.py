"""Products and sums that Einstein's notation describes."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.base import RelayOp
from xrelay.dialects.fields import TensorTuple, Text, operand, prop
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import Shape, shape_text, tuple_fields, with_shape
from xrelay.dialects.traits import HasPatternKind, OpPatternKind

Label = str
"""A letter, or "0", "1", … for the axes that an ellipsis stands for, counted from the last."""


@dataclass(frozen=True)
class Equation:
    """An equation for operands of known ranks."""

    inputs: tuple[tuple[Label, ...], ...]
    """The labels of the axes of each operand."""
    output: tuple[Label, ...]

    @property
    def summed(self) -> tuple[Label, ...]:
        """The labels that the output lacks, in order of appearance."""
        labels = dict.fromkeys(label for labels in self.inputs for label in labels)
        return tuple(label for label in labels if label not in self.output)

    def lengths(self, shapes: Sequence[Shape]) -> dict[Label, int]:
        """
        The length of each label's axes; those of length 1 are repeated to any other.

        Raises VerifyException for lengths that differ.
        """
        lengths: dict[Label, int] = {}
        for i, (labels, shape) in enumerate(zip(self.inputs, shapes, strict=True)):
            for label, dim in zip(labels, shape, strict=True):
                known = lengths.get(label, 1)
                if certainly(known, 1):
                    lengths[label] = dim
                elif certainly(dim, 1) or dim == DYNAMIC_INDEX:
                    continue
                elif known == DYNAMIC_INDEX:
                    lengths[label] = dim
                elif dim in (known, 1):
                    continue
                elif known == 1:
                    lengths[label] = dim
                else:
                    raise VerifyException(
                        f"field {i} of 'data' {shape_text(shape)} has length {dim} on an axis "
                        f"where others have {known}"
                    )
        return lengths


def parse_equation(text: str, ranks: Sequence[int]) -> Equation:
    """
    Reads an equation such as "ij,jk->ik" or "...ij,...jk". Without "->", the output has the labels
    that appear once, in alphabetical order, after the axes of the ellipsis.

    Raises VerifyException for text that is no equation of as many operands of these ranks.
    """
    left, arrow, right = "".join(text.split()).partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise VerifyException(
            f"'equation' \"{text}\" has {len(terms)} operands, 'data' has {len(ranks)} fields"
        )
    most = 0
    for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        dots = rank - len(term.replace("...", ""))
        if dots < 0 or (dots > 0 and "..." not in term):
            raise VerifyException(
                f"'equation' \"{text}\" has {len(term)} labels for field {i}, which has rank {rank}"
            )
        most = max(most, dots if "..." in term else 0)
    inputs = tuple(
        _labels(term, rank - len(term.replace("...", "")), text)
        for term, rank in zip(terms, ranks, strict=True)
    )
    used = [label for labels in inputs for label in labels if not label.isdigit()]
    if arrow:
        output = _labels(right, most, text)
    else:
        once = sorted(label for label in set(used) if used.count(label) == 1)
        output = (*_labels("...", most, text), *once)
    if len(set(output)) != len(output):
        raise VerifyException(f"'equation' \"{text}\" has a label twice in its output")
    unknown = [label for label in output if not label.isdigit() and label not in used]
    if unknown:
        raise VerifyException(f"'equation' \"{text}\" has '{unknown[0]}' in its output only")
    return Equation(inputs, output)


def _labels(term: str, dots: int, text: str) -> tuple[Label, ...]:
    before, ellipsis, after = term.partition("...")
    if not (before + after).isalpha() and before + after:
        raise VerifyException(
            f'\'equation\' is "{text}", expected letters, commas, ellipses and one "->"'
        )
    numbers = [str(i) for i in reversed(range(dots))] if ellipsis else []
    return (*before, *numbers, *after)


@irdl_op_definition
class EinsumOp(RelayOp):
    """
    Sums of products of the elements of the fields of `data`, as `equation` says in Einstein's
    notation: an element of the result is the sum, over all values of the labels that the output
    lacks, of the product of the elements at the places that the labels name. A label may stand
    twice for one operand (its diagonal), and "..." for any leading or inner axes, which broadcast.
    Integers wrap around.

    Source: Relay's `einsum`, ONNX's Einsum.
    """

    name = "relay.einsum"

    data: TensorTuple = operand()
    equation: Text = prop()
    traits = traits_def(Pure(), HasPatternKind(OpPatternKind.INJECTIVE))

    @property
    def parsed(self) -> Equation:
        """The equation for the operands' ranks."""
        fields = tuple_fields(self.data, "'data'")
        return parse_equation(self.equation.data, [field.get_num_dims() for field in fields])

    def infer_type(self) -> Attribute:
        fields = tuple_fields(self.data, "'data'")
        if not fields:
            raise VerifyException("'data' is the empty tuple, expected at least one tensor")
        for i, field in enumerate(fields):
            if field.element_type != fields[0].element_type:
                raise VerifyException(f"field {i} of 'data' is {field}, field 0 is {fields[0]}")
        equation = self.parsed
        lengths = equation.lengths([field.get_shape() for field in fields])
        return with_shape(fields[0], [lengths[label] for label in equation.output])
