"""Calls and names in bodies of functions: of operators, functions, constructors, and functions called in place."""

from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.core.adt import ConstructOp, ConstructorOp, constructor_ref
from xrelay.dialects.core.dense import is_dense
from xrelay.dialects.core.functional import (
    AdtType,
    ApplyOp,
    FnType,
    ForallType,
    GlobalVarOp,
    InstantiateOp,
)
from xrelay.dialects.core.values import CompositeOp, ConstantOp, FusedOp, YieldOp
from xrelay.dialects.shapes import compatible, is_tensor_type
from xrelay.dialects.tensor.unary import CastOp
from xrelay.frontends.relay_text import literals
from xrelay.frontends.relay_text.errors import RelayTextError
from xrelay.frontends.relay_text.metadata import Metadata
from xrelay.frontends.relay_text.operators import OperatorBuilder
from xrelay.frontends.relay_text.scopes import called_in_place
from xrelay.frontends.relay_text.syntax import Call, Expr, Function, Module, NameRef
from xrelay.frontends.relay_text.type_printer import written
from xrelay.frontends.relay_text.units import Signature, Units, stated_type


class Calls(Units):
    """Imports calls, and what is called."""

    def __init__(self, module: Module, metadata: Metadata):
        super().__init__(module, metadata)
        self.operators = OperatorBuilder(self.source, metadata)
        self.regions: dict[Expr, Region] = {}
        """The finished bodies of functions called in place."""

    # -- calls -----------------------------------------------------------------------------------

    def _finish_call(self, call: Call) -> None:
        callee = call.callee
        if isinstance(callee, NameRef):
            if callee.is_global:
                self._call_global(call, callee)
            elif callee.name in self.module.constructors:
                self._emit(call, self._construct(call, callee, self._values(call.args)))
            else:
                schema = self.operators.schema(callee)
                operands = self._values(call.args)
                index = SCALARS.get(schema.name)
                if index is not None and index < len(operands):
                    operands[index] = self._scalar_like(call, operands[index], operands[0].type)
                self._emit(call, self.operators.build(call, schema, operands))
        elif called_in_place(callee):
            self._emit(call, self._in_place(call, cast(Function, callee)))
        else:
            value = self.units[-1].values[callee]
            self._emit(call, self._apply(call, value))

    def _scalar_like(self, call: Call, scalar: SSAValue, data: Attribute) -> SSAValue:
        """A scalar operand with the element type of the data, which Relay does not ask for."""
        type_ = scalar.type
        if (
            not is_tensor_type(data)
            or not is_tensor_type(type_)
            or type_.element_type == data.element_type
        ):
            return scalar
        found, owner = None, scalar.owner
        if isinstance(owner, ConstantOp) and is_dense(owner.value) and not type_.get_shape():
            found = literals.converted(owner.value, data.element_type)
        if found is not None:
            return self._add(call, ConstantOp(found))
        return self._add(call, CastOp(scalar, cast(TypeAttribute, data.element_type)))

    def _in_place(self, call: Call, function: Function) -> Operation:
        """`relay.fused` or `relay.composite`."""
        args, region = self._values(call.args), self.regions.pop(function)
        if len(args) != len(function.params):
            raise self._wrong_count(call, len(function.params))
        for param, arg, stated in zip(function.params, args, region.block.args, strict=True):
            if not compatible(stated.type, arg.type):
                raise self.error(
                    call.position,
                    f"parameter %{param.name} is stated as {written(stated.type)}, its argument is "
                    f"{written(arg.type)}",
                )
        attributes = self.attributes(function.attrs)
        result = cast(YieldOp, region.block.last_op).value.type
        self._check_result(function, result)
        composite = attributes.pop("Composite", None)
        if isinstance(composite, StringAttr):
            pattern = attributes.pop("PartitionedFromPattern", None)
            op = CompositeOp(
                composite.data,
                args,
                region,
                result,
                partitioned_from_pattern=pattern.data if isinstance(pattern, StringAttr) else None,
            )
        else:
            del attributes["Primitive"]
            reshape = attributes.pop("relay.reshape_only", None)
            op = FusedOp(args, region, result, reshape_only=reshape is not None)
        op.attributes.update(attributes)
        return op

    def _wrong_count(self, call: Call, expected: int) -> RelayTextError:
        return self.error(
            call.position, f"{len(call.args)} arguments are given, expected {expected}"
        )

    def _call_global(self, call: Call, callee: NameRef) -> None:
        """`func.call` where the types are those of the function, else through its value."""
        signature = self._signature(callee)
        args = self._values(call.args)
        if len(args) != len(signature.params):
            raise self._wrong_count(call, len(signature.params))
        types = [arg.type for arg in args]
        if not signature.type_params and types == signature.params:
            result = self.known(signature.result, callee.position, f"the result of @{callee.name}")
            self._emit(call, func.CallOp(callee.name, args, [result]))
            return
        function = self._add(call, self._global_value(callee))
        self._emit(call, self._apply(call, function))

    def _signature(self, callee: NameRef) -> Signature:
        signature = self.signatures.get(callee.name)
        if signature is None:
            raise self.error(callee.position, f"the module has no function @{callee.name}")
        return signature

    def _apply(self, call: Call, function: SSAValue) -> ApplyOp:
        args = self._values(call.args)
        if isinstance(function.type, FnType):
            params = zip(args, function.type.inputs, strict=False)
            needed = [self._instantiated(call, arg, type_) for arg, type_ in params]
            args = [*needed, *args[len(needed) :]]
        try:
            op = ApplyOp(function, args, stated_type(call.type))
            op.verify_()
        except VerifyException as error:
            raise self.error(call.position, str(error)) from error
        return op

    def _instantiated(self, user: Expr, value: SSAValue, type_: Attribute) -> SSAValue:
        """A function value with type parameters, for a use that needs certain types."""
        if not isinstance(value.type, ForallType) or isinstance(type_, ForallType):
            return value
        return self._add(user, InstantiateOp(value, type_))

    def _construct(self, expr: Expr, callee: NameRef, fields: list[SSAValue]) -> ConstructOp:
        constructor = self.module.constructors[callee.name]
        type_ = self.known(expr.type, expr.position, f"this {constructor.type_name}")
        ref = constructor_ref(constructor.type_name, callee.name)
        return ConstructOp(ref, fields, cast(AdtType, type_))

    # -- names as values -------------------------------------------------------------------------

    def _name(self, expr: NameRef) -> None:
        if expr.is_global:
            self._emit(expr, self._global_value(expr))
            return
        constructor = self.module.constructors.get(expr.name)
        if constructor is None:
            self.operators.schema(expr)
            raise self.error(expr.position, f"operator {expr.name} is used as a value, call it")
        if not constructor.fields:
            self._emit(expr, self._construct(expr, expr, []))
            return
        type_ = self.known(expr.type, expr.position, f"constructor {expr.name}")
        ref = constructor_ref(constructor.type_name, expr.name)
        self._emit(expr, ConstructorOp(ref, cast(FnType, type_)))

    def _global_value(self, expr: NameRef) -> GlobalVarOp:
        signature = self._signature(expr)
        type_ = stated_type(expr.type)
        if type_ is None:
            result = self.known(signature.result, expr.position, f"the result of @{expr.name}")
            type_ = FnType(signature.params, result)
        return GlobalVarOp(expr.name, type_)


SCALARS = {"nn.pad": 1, "dyn.nn.pad": 2}
"""Operators with a scalar operand that has the element type of the first operand: its index."""
