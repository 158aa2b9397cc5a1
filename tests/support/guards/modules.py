"""Guards of the passes on functions, calls, bodies and stated types."""

from guards.passes import GuardTable, function, program

# -- inline

INLINE = GuardTable("inline", expects="-func.call -func.func")
ALL = GuardTable("inline{calls=true}", expects="-func.call -func.func")
MARKED, FOREIGN = "Inline = 1 : i32", 'Compiler = "a"'
EXP = ("%a = exp %x", "return %a")
CALL = function("main", "%a = @g %x", "return %a")
TWICE = function("main", "%a = @g %x", "%b = @g %a", "return %b")
CHAIN = ("%a = @h %x", "return %a")
VALUE = function(
    "main",
    "%f = relay.global_var @g : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>",
    "%a = relay.apply %f(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>",
    "return %a",
)
NAMED = '"test.op"() {uses = [@g]} : () -> ()'

INLINE.changes("marked", program(CALL, function("g", *EXP, flags=MARKED)))
INLINE.changes("called twice", program(TWICE, function("g", *EXP, flags=MARKED)), expects="+exp")
INLINE.changes(
    "one that calls another",
    program(CALL, function("g", *CHAIN, flags=MARKED), function("h", *EXP, flags=MARKED)),
)
INLINE.changes(
    "one that is named elsewhere stays",
    program(CALL, function("g", *EXP, flags=MARKED), NAMED),
    expects="-func.call ~func.func +exp",
)
INLINE.changes(
    "one that nothing calls stays",
    program(CALL, function("g", *EXP, flags=MARKED), function("h", *EXP, flags=MARKED)),
)
INLINE.changes(
    "for a compiler",
    program(CALL, function("g", *EXP, flags=f"{MARKED}, {FOREIGN}")),
    expects="-func.call -func.func +closure +apply",
)
INLINE.changes(
    "a value",
    program(VALUE, function("g", *EXP, flags=MARKED)),
    expects="-global_var -func.func +closure ~apply",
)
INLINE.changes(
    "what is called by what stays",
    program(CALL, function("g", *CHAIN), function("h", *EXP, flags=MARKED)),
)
INLINE.keeps("unmarked", program(CALL, function("g", *EXP)))
INLINE.keeps("marked as 0", program(CALL, function("g", *EXP, flags="Inline = 0 : i32")))
INLINE.keeps(
    "one that calls what stays",
    program(CALL, function("g", *CHAIN, flags=MARKED), function("h", *EXP)),
)
INLINE.keeps("a value that is unmarked", program(VALUE, function("g", *EXP)))
ALL.changes("unmarked", program(CALL, function("g", *EXP)))
ALL.changes("a value", program(VALUE, function("g", *EXP)), expects="-global_var -func.func")
ALL.keeps("for a compiler", program(CALL, function("g", *EXP, flags=FOREIGN)))
ALL.keeps("skipped", program(CALL, function("g", *EXP, flags="SkipOptimization = 1 : i32")))
ALL.changes(
    "between two that stay",
    program(CALL, function("g", *CHAIN), function("h", *EXP), function("k", *CHAIN)),
)

# -- remove-unused-functions

UNUSED = GuardTable("remove-unused-functions", expects="-func.func")
UNUSED.changes("one", program(function("main", *EXP), function("g", *EXP)))
UNUSED.changes("two", program(function("main", *EXP), function("g", *CHAIN), function("h", *EXP)))
UNUSED.changes(
    "a circle",
    program(
        function("main", *EXP), function("g", *CHAIN), function("h", "%a = @g %x", "return %a")
    ),
)
UNUSED.changes(
    "one that uses one that is needed",
    program(CALL, function("g", *EXP), function("h", "%a = @g %x", "return %a")),
)
UNUSED.keeps("called", program(CALL, function("g", *EXP)))
UNUSED.keeps("called by what is called", program(CALL, function("g", *CHAIN), function("h", *EXP)))
UNUSED.keeps("a value", program(VALUE, function("g", *EXP)))
UNUSED.keeps("named elsewhere", program(function("main", *EXP), function("g", *EXP), NAMED))
UNUSED.keeps(
    "called by what is named elsewhere",
    program(function("main", *EXP), function("g", *CHAIN), function("h", *EXP), NAMED),
)

# -- promote-references

CELL = "!relay.ref<tensor<2xf32>>"
CELLS = GuardTable("promote-references", expects="-ref_create -ref_read")


def create(name: str, value: str = "%x") -> str:
    return f"{name} = relay.ref_create {value} : (tensor<2xf32>) -> {CELL}"


def read(name: str, cell: str = "%r", type_: str = CELL) -> str:
    return f"{name} = relay.ref_read {cell} : ({type_}) -> {type_[11:-1]}"


def write(name: str, value: str, cell: str = "%r") -> str:
    return f"{name} = relay.ref_write {cell}, {value} : ({CELL}, tensor<2xf32>) -> tuple<>"


CELLS.changes("read", program(function("main", create("%r"), read("%a"), "return %a")))
CELLS.changes(
    "read before and after a write",
    program(
        function(
            "main",
            *(create("%r"), read("%a"), "%b = exp %a", write("%u", "%b"), read("%c")),
            *("%s = subtract %a, %c", "return %s"),
        )
    ),
    expects="-ref_create -ref_read -ref_write",
)
CELLS.changes(
    "two cells",
    program(
        function(
            "main",
            *("%b = exp %x", create("%r"), create("%q"), write("%u", "%b"), read("%c")),
            *(read("%d", "%q"), "%s = subtract %c, %d", "return %s"),
        )
    ),
)
PAIR = f"tuple<{CELL}, {CELL}>"
CELLS.changes(
    "one of two cells in a tuple",
    program(
        function(
            "main",
            *("%b = exp %x", create("%r"), create("%q", "%b")),
            f"%t = relay.tuple %r, %q : ({CELL}, {CELL}) -> {PAIR}",
            f"%p = relay.tuple_get_item %t[1] : ({PAIR}) -> {CELL}",
            *(read("%c", "%p"), "%s = subtract %c, %x", "return %s"),
        )
    ),
    expects="-ref_create -ref_read -tuple -tuple_get_item",
)
OTHER = f"!relay.ref<{CELL}>"
CELLS.changes(
    "a cell in a cell",
    program(
        function(
            "main",
            *(create("%r"), f"%q = relay.ref_create %r : ({CELL}) -> {OTHER}"),
            *(read("%p", "%q", OTHER), "%b = exp %x", write("%u", "%b", "%p"), read("%c")),
            "return %c",
        )
    ),
)
CELLS.keeps("none", program(function("main", *EXP)))
CELLS.keeps(
    "returned by another function",
    program(
        function(
            "main", f"%r = func.call @g(%x) : (tensor<2xf32>) -> {CELL}", read("%a"), "return %a"
        ),
        function("g", create("%r"), "return %r", result=CELL),
    ),
)
CELLS.keeps(
    "in a function for a compiler",
    program(CALL, function("g", create("%r"), read("%a"), "return %a", flags=FOREIGN)),
)

# -- defuse-ops

DEFUSE = GuardTable("defuse-ops", expects="-fused -yield")
BOTH = "tuple<tensor<2xf32>, tensor<2xf32>>"


def fused(*last: str, kind: str = "fused"):
    """A body that gives a tuple, and what uses that."""
    body = (
        f"%t = relay.{kind} %x : (tensor<2xf32>) -> {BOTH} {{",
        "^bb0(%p: tensor<2xf32>):",
        *("%0 = exp %p", "%1 = negative %p"),
        f"%2 = relay.tuple %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> {BOTH}",
        f"relay.yield %2 : {BOTH}",
        "}",
    )
    return (*body, *last)


def field(name: str, index: int, pair: str = "%t") -> str:
    return f"{name} = relay.tuple_get_item {pair}[{index}] : ({BOTH}) -> tensor<2xf32>"


ONE = fused(field("%a", 1), "return %a")
DEFUSE.changes(
    "one of two results",
    program(function("main", *ONE)),
    expects="-fused -yield -tuple -tuple_get_item =negative",
)
DEFUSE.changes(
    "both results",
    program(
        function(
            "main", *fused(field("%a", 1), field("%b", 0), "%c = subtract %a, %b", "return %c")
        )
    ),
    expects="-fused -yield -tuple -tuple_get_item",
)
DEFUSE.changes(
    "a result and all of them",
    program(
        function(
            "main",
            *fused(
                f"%o = relay.tuple %t, %t : ({BOTH}, {BOTH}) -> tuple<{BOTH}, {BOTH}>",
                field("%a", 0),
                f"func.return %a, %o : tensor<2xf32>, tuple<{BOTH}, {BOTH}>",
            ),
            result=f"(tensor<2xf32>, tuple<{BOTH}, {BOTH}>)",
        )
    ),
    expects="-fused -yield -tuple_get_item ~tuple =exp",
)
for name in ("Extern", "SkipOptimization"):
    DEFUSE.keeps(name, program(CALL, function("g", *ONE, flags=f"{name} = 1 : i32")))
DEFUSE.keeps("for a compiler", program(CALL, function("g", *ONE, flags=FOREIGN)))
DEFUSE.keeps(
    "a composite",
    program(function("main", *fused(field("%a", 1), "return %a", kind='composite "c.two"'))),
)
COMPOSITES = GuardTable("defuse-ops{include-composite=true}", expects="-yield -fused|-composite")
COMPOSITES.changes(
    "of a composite the tuple stays",
    program(function("main", *fused(field("%a", 1), "return %a", kind='composite "c.two"'))),
    expects="-composite -yield ~tuple ~tuple_get_item",
)
COMPOSITES.changes("for a compiler", program(CALL, function("g", *ONE, flags=FOREIGN)))
COMPOSITES.keeps("skipped", program(CALL, function("g", *ONE, flags="SkipOptimization = 1 : i32")))

# -- partition-graph

REGIONS = GuardTable(
    "partition-graph",
    expects="+func.func +func.call -annotation.compiler_begin -annotation.compiler_end",
)


def border(name: str, kind: str, value: str, compiler: str = "a") -> str:
    return f'{name} = relay.annotation.compiler_{kind} {value} compiler "{compiler}" : (tensor<2xf32>) -> tensor<2xf32>'


REGIONS.changes(
    "one",
    program(
        function(
            "main",
            border("%b", "begin", "%x"),
            "%c = exp %b",
            border("%d", "end", "%c"),
            "return %d",
        )
    ),
)
REGIONS.changes(
    "for nobody",
    program(
        function(
            "main",
            border("%b", "begin", "%x", "default"),
            "%c = exp %b",
            border("%d", "end", "%c", "default"),
            "return %d",
        )
    ),
    expects="~func.func =exp -annotation.compiler_begin -annotation.compiler_end",
)
TWO = (
    border("%b", "begin", "%x"),
    "%c = exp %b",
    "%d = negative %c",
    border("%e", "end", "%c"),
    border("%f", "end", "%d"),
)
REGIONS.changes(
    "two results",
    program(function("main", *TWO, "%g = subtract %e, %f", "return %g")),
    expects="+func.func +func.call +tuple +tuple_get_item",
)
REGIONS.changes(
    "a constant",
    program(
        function(
            "main",
            "%k = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>",
            *(border("%b", "begin", "%k"), border("%y", "begin", "%x"), "%c = subtract %b, %y"),
            *(border("%d", "end", "%c"), "return %d"),
        )
    ),
)
REGIONS.keeps("none", program(function("main", *EXP)))

# -- infer-type

TYPES = GuardTable("infer-type")
OPEN = "tensor<?xf32>"
TYPES.changes(
    "an unknown dimension",
    program(
        function(
            "main",
            f"%a = relay.exp %x : (tensor<2xf32>) -> {OPEN}",
            f"func.return %a : {OPEN}",
            result=OPEN,
        )
    ),
)
TYPES.changes(
    "a result of a function",
    program(
        function(
            "main",
            f"%a = func.call @g(%x) : (tensor<2xf32>) -> {OPEN}",
            f"func.return %a : {OPEN}",
            result=OPEN,
        ),
        function(
            "g",
            f"%a = relay.exp %x : (tensor<2xf32>) -> {OPEN}",
            f"func.return %a : {OPEN}",
            result=OPEN,
        ),
    ),
)
TYPES.keeps("known dimensions", program(function("main", *EXP)))
TYPES.keeps("an unknown parameter", program(function("main", *EXP, type_=OPEN)))
TYPES.keeps(
    "more than the operands tell",
    program(
        function(
            "main",
            f"%a = relay.exp %x : ({OPEN}) -> tensor<3xf32>",
            "func.return %a : tensor<3xf32>",
            type_=OPEN,
            result="tensor<3xf32>",
        )
    ),
)

TABLES = (INLINE, ALL, UNUSED, CELLS, DEFUSE, COMPOSITES, REGIONS, TYPES)
