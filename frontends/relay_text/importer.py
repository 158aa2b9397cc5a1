"""From Relay text to a module: type definitions, functions and their attributes."""

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from xrelay.dialects.core.adt import ConstructorAttr, TypeDefOp
from xrelay.dialects.core.functional import TYPE_PARAMS, ForallType, InstantiateOp
from xrelay.dialects.shapes import compatible
from xrelay.dialects.type_relations import same_type
from xrelay.frontends.relay_text.body import BodyImporter
from xrelay.frontends.relay_text.inference import infer_types
from xrelay.frontends.relay_text.parser import parse_module
from xrelay.frontends.relay_text.syntax import Function, TypeDefinition
from xrelay.frontends.relay_text.type_printer import written
from xrelay.frontends.relay_text.units import Signature, stated_type


def read_relay_text(text: str, name: str = "<relay>", *, check_types: bool = False) -> ModuleOp:
    """
    The module in a text of TVM's Relay format 0.0.5. With `check_types` the types that comments
    state (`/* ty=… */`) must agree with the inferred ones.

    Raises RelayTextError, with the place in the text, when it is not such a module.
    """
    module, metadata = parse_module(text, name, check_types=check_types)
    infer_types(module, metadata)
    return ModuleImporter(module, metadata).definitions()


class ModuleImporter(BodyImporter):
    """Imports the definitions of a text."""

    def definitions(self) -> ModuleOp:
        """All definitions: types, then functions in their order."""
        functions = self.module.functions
        for name, function in functions.items():
            self.signatures[name] = Signature(
                function.type_params, self.param_types(function), stated_type(function.result)
            )
        definitions: list[Operation] = [
            self.type_definition(definition) for definition in self.module.types.values()
        ]
        definitions.extend(self.function(name, function) for name, function in functions.items())
        return ModuleOp(definitions)

    def type_definition(self, definition: TypeDefinition) -> TypeDefOp:
        """The operation that defines a type."""
        constructors: list[ConstructorAttr] | None = None
        if definition.constructors is not None:
            constructors = [
                ConstructorAttr(
                    constructor.name,
                    [
                        self.known(field, constructor.position, "a field")
                        for field in constructor.fields
                    ],
                )
                for constructor in definition.constructors
            ]
        return TypeDefOp(definition.name, definition.type_params, constructors)

    def function(self, name: str, function: Function) -> func.FuncOp:
        """A function of the module."""
        signature = self.signatures[name]
        block, result = self.body(function)
        if signature.result is not None and not same_type(result.type, signature.result):
            result = self._stated_result(function, block, result, signature.result)
        block.add_op(func.ReturnOp(result))
        attributes = self.attributes(function.attrs)
        params = [self.attributes(param.attrs) for param in function.params]
        op = func.FuncOp(
            name,
            FunctionType.from_lists(signature.params, [result.type]),
            Region(block),
            "private" if "Compiler" in attributes else None,
            arg_attrs=ArrayAttr(map(DictionaryAttr, params)) if any(params) else None,
        )
        op.attributes.update(attributes)
        if function.type_params:
            op.attributes[TYPE_PARAMS] = ArrayAttr(map(StringAttr, function.type_params))
        return op

    def _stated_result(
        self, function: Function, block: Block, result: SSAValue, stated: Attribute
    ) -> SSAValue:
        """The result with the type that the text states, which may know more or less of it."""
        if isinstance(result.type, ForallType) and not isinstance(stated, ForallType):
            op = InstantiateOp(result, stated)
            block.add_op(op)
            return op.result
        if not compatible(result.type, stated) or not isinstance(result.owner, Operation):
            raise self.error(
                function.position,
                f"the function states result type {written(stated)}, found {written(result.type)}",
            )
        return Rewriter.replace_value_with_new_type(result, stated)
