"""Guards of the passes on memory and devices."""

from guards.passes import GuardTable, function, program

T = "tensor<2xf32>"
FN = f"!relay.fn<({T}) -> {T}>"


def fused(name: str, operand: str, body: str, attributes: str = "") -> str:
    """`%name = relay.fused %operand` of one operator."""
    return (
        f"%{name} = relay.fused %{operand} attributes {{{attributes}}} : ({T}) -> {T} {{\n"
        f"^bb0(%{name}p: {T}):\n%{name}r = relay.{body.format(f'%{name}p')} : ({T}) -> {T}\n"
        f"relay.yield %{name}r : {T}\n}}"
    )


def exp(name: str, operand: str) -> str:
    """A kernel."""
    return fused(name, operand, "exp {}")


def reshape(name: str, operand: str, attributes: str = "reshape_only") -> str:
    """A reshape."""
    return fused(name, operand, "reshape {} {{newshape = array<i64: 2>}}", attributes)


def on(name: str, operand: str, device: int, properties: str = "") -> str:
    """`%name = relay.on_device %operand`."""
    stated = (
        f'virtual_device = #relay.virtual_device<{device} : i64, 0 : i64, "", unit>{properties}'
    )
    return f"%{name} = relay.on_device %{operand} {{{stated}}} : ({T}) -> {T}"


# -- remove-standalone-reshapes

VIEWS = GuardTable("remove-standalone-reshapes", expects="-fused +vm.reshape_tensor")
VIEWS.changes(
    "behind a kernel", program(function("main", exp("a", "x"), reshape("b", "a"), "return %b"))
)
VIEWS.changes(
    "two in a row",
    program(function("main", exp("a", "x"), reshape("b", "a"), reshape("c", "b"), "return %c")),
)
VIEWS.changes(
    "with a name",
    program(function("main", exp("a", "x"), "%n = let %a", reshape("b", "n"), "return %b")),
)
VIEWS.changes(
    "on a device",
    program(function("main", exp("a", "x"), on("n", "a", 1), reshape("b", "n"), "return %b")),
)
VIEWS.keeps("first", program(function("main", reshape("a", "x"), exp("b", "a"), "return %b")))
VIEWS.keeps(
    "first of two",
    program(function("main", reshape("a", "x"), "%n = let %x", reshape("b", "n"), "return %b")),
)
VIEWS.keeps(
    "a kernel that reshapes",
    program(function("main", exp("a", "x"), reshape("b", "a", ""), "return %b")),
)
VIEWS.keeps(
    "of an operator", program(function("main", "%a = exp %x", reshape("b", "a"), "return %b"))
)
VIEWS.keeps(
    "in another function",
    program(
        function("main", "%a = @g %x", "return %a"),
        function("g", exp("a", "x"), reshape("b", "a"), "return %b"),
    ),
)
VIEWS.keeps(
    "for a compiler",
    program(
        function("main", exp("a", "x"), reshape("b", "a"), "return %b", flags='Compiler = "a"')
    ),
)

# -- manifest-lifetimes

LIVES = GuardTable("manifest-lifetimes", expects="+memory.kill")
LIVES.changes("a parameter", program(function("main", "%a = exp %x", "%n = let %a", "return %n")))
LIVES.changes(
    "behind a name for a name",
    program(function("main", "%n = let %x", "%a = exp %n", "%m = let %a", "return %m")),
    expects="+memory.kill ~let",
)
LIVES.changes(
    "a name and a parameter at once",
    program(
        function(
            "main", "%a = add %x, %x", "%n = let %a", "%b = add %n, %x", "%m = let %b", "return %m"
        )
    ),
)
LIVES.keeps("the result", program(function("main", "return %x")))
LIVES.keeps(
    "for a compiler",
    program(
        function("main", "%a = exp %x", "%n = let %a", "return %n", flags='Compiler = "a"'),
    ),
)
LIVES.keeps(
    "killed already",
    program(
        function(
            "main",
            "%a = exp %x",
            "%n = let %a",
            f"%k = relay.memory.kill %x : ({T}) -> tuple<>",
            "return %n",
        )
    ),
)

# -- manifest-alloc

MEMORY = GuardTable("manifest-alloc", expects="-fused +memory.alloc_tensor")
SHARED = GuardTable("manifest-alloc{reuse=true}", expects="-fused +memory.alloc_tensor")
CHAIN = (exp("a", "x"), exp("b", "a"), exp("c", "b"), exp("d", "c"))
for table in (MEMORY, SHARED):
    table.changes("a kernel", program(function("main", exp("a", "x"), "return %a")))
    table.changes("a chain", program(function("main", *CHAIN, "return %d")))
    table.changes(
        "operands that live on",
        program(function("main", *CHAIN, "%e = add %a, %d", "return %e")),
    )
    table.changes(
        "names and views that live on",
        program(
            function(
                "main",
                exp("a", "x"),
                "%n = let %a",
                reshape("v", "n"),
                exp("b", "n"),
                exp("c", "b"),
                exp("d", "v"),
                exp("e", "c"),
                "%f = add %d, %e",
                "return %f",
            )
        ),
        expects="-fused +memory.alloc_tensor +vm.reshape_tensor",
    )
    table.changes(
        "a reshape of a parameter",
        program(function("main", reshape("a", "x"), "return %a")),
        expects="-fused +vm.reshape_tensor",
    )
    table.keeps("an operator", program(function("main", "%a = exp %x", "return %a")))
    table.keeps(
        "for a compiler",
        program(function("main", exp("a", "x"), "return %a", flags='Compiler = "a"')),
    )

# -- plan-devices

DEVICES = GuardTable("plan-devices{default-device=2}")
PLANNED = (
    f'func.func @main(%x: {T} {{virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>}}) -> {T} '
    'attributes {virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>} {\n'
    f"%a = relay.exp %x : ({T}) -> {T}\nreturn %a : {T}\n}}"
)
DEVICES.changes("nothing stated", program(function("main", "%a = exp %x", "return %a")))
DEVICES.changes(
    "on another device",
    program(function("main", "%a = exp %x", on("n", "a", 1), "%b = exp %n", "return %b")),
    expects="+device_copy ~on_device",
)
DEVICES.changes(
    "where it is anyway",
    program(function("main", "%a = exp %x", on("n", "a", 2), "%b = exp %n", "return %b")),
    expects="-on_device",
)
DEVICES.changes(
    "needed there as well",
    program(
        function(
            "main",
            "%a = exp %x",
            on("n", "a", 1, ", constrain_result = true"),
            "%b = exp %n",
            "return %b",
        )
    ),
    expects="-on_device",
)
DEVICES.changes(
    "the result",
    program(function("main", "%a = exp %x", on("n", "a", 1), "return %n")),
    expects="-on_device",
)
DEVICES.changes(
    "a name",
    program(
        function("main", "%a = exp %x", on("m", "a", 1), "%n = let %m", "%b = exp %n", "return %b")
    ),
    expects="~on_device",
)
DEVICES.keeps("planned", program(PLANNED))

TABLES = (VIEWS, LIVES, MEMORY, SHARED, DEVICES)
