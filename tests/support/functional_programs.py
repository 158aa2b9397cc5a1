"""
Programs of Relay's language around operators, as text: recursion, function values, references whose order counts,
branches, data types. Parameters of `@main` are tensors and tuples of them.
"""

HEADER = '#[version = "0.0.5"]\n'

LIST = """
type List[A] {
  Cons(A, List[A]),
  Nil,
}
"""
BOX = """
type Box {
  Full(float32),
  Empty,
}
"""

PROGRAMS = {
    "no call": """
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  exp(%x)
}
""",
    "a parameter": """
def @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) -> Tensor[(3), float32] {
  %y
}
""",
    "a call in the middle": """
def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  add(%x, %x)
}
def @main(%x: Tensor[(2), float32]) -> (Tensor[(2), float32], Tensor[(2), float32]) {
  let %a = @f(tanh(%x));
  let %b = @f(add(%a, %x));
  (%b, add(%a, zeros_like(%b)))
}
""",
    "recursion of a function": """
def @power(%n: int32, %x: float32) -> float32 {
  if (equal(%n, 0)) {
    ones_like(%x)
  } else {
    multiply(%x, @power(subtract(%n, 1), %x))
  }
}
def @main(%x: float32) -> float32 {
  @power(5, %x)
}
""",
    "recursion of a function value": """
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  let %loop: fn (int32, Tensor[(2), float32]) -> Tensor[(2), float32] = fn (%n: int32, %sum: Tensor[(2), float32]) -> Tensor[(2), float32] {
    if (less(%n, 4)) {
      %loop(add(%n, 1), add(%sum, multiply(%x, %sum)))
    } else {
      %sum
    }
  };
  add(%loop(0, ones_like(%x)), %loop(2, zeros_like(%x)))
}
""",
    "functions that call each other": """
def @even(%n: int32, %x: float32) -> float32 {
  if (equal(%n, 0)) { %x } else { negative(@odd(subtract(%n, 1), %x)) }
}
def @odd(%n: int32, %x: float32) -> float32 {
  if (equal(%n, 0)) { zeros_like(%x) } else { @even(subtract(%n, 1), add(%x, 1f)) }
}
def @main(%x: float32) -> (float32, float32) {
  (@even(3, %x), @odd(3, %x))
}
""",
    "effects in order": """
def @step(%r: ref(float32), %x: float32) -> () {
  ref_write(%r, add(multiply(ref_read(%r), 2f), %x))
}
def @main(%x: float32) -> (float32, float32) {
  let %r = ref(%x);
  let %a = @step(%r, 1f);
  let %before = ref_read(%r);
  let %b = @step(%r, 3f);
  let %c = ref_write(%r, subtract(ref_read(%r), %before));
  (ref_read(%r), %before)
}
""",
    "effects in branches": """
def @main(%c: bool, %x: float32) -> (float32, float32) {
  let %r = ref(zeros_like(%x));
  let %a = if (%c) {
    let %w = ref_write(%r, %x);
    ref_read(%r)
  } else {
    let %old = ref_read(%r);
    let %w = ref_write(%r, 5f);
    %old
  };
  (add(%a, ones_like(%x)), ref_read(%r))
}
""",
    "a function in a reference": """
def @main(%c: bool, %x: float32) -> float32 {
  let %f = ref(fn (%y: float32) -> float32 { %y });
  let %w = if (%c) {
    ref_write(%f, fn (%y: float32) -> float32 { add(%y, ones_like(%x)) })
  } else {
    ref_write(%f, fn (%y: float32) -> float32 { multiply(%y, %x) })
  };
  let %g = ref_read(%f);
  add(%g(%g(%x)), 1f)
}
""",
    "what is around a function value": """
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) -> Tensor[(2), float32] {
  let %add = fn (%a: Tensor[(2), float32]) -> fn (Tensor[(2), float32]) -> Tensor[(2), float32] {
    fn (%b: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%a, multiply(%b, %y)) }
  };
  let %f = %add(%x);
  let %g = %add(zeros_like(%x));
  %f(%g(ones_like(%y)))
}
""",
    "functions in a tuple": """
def @main(%x: float32) -> float32 {
  let %both = (fn (%a: float32) -> float32 { exp(%a) }, fn () -> float32 { zeros_like(%x) });
  let %f = %both.0;
  let %g = %both.1;
  add(%f(%x), %g())
}
""",
    "functions of functions": """
def @twice[A](%f: fn (A) -> A, %x: A) -> A {
  %f(%f(%x))
}
def @next(%x: float32) -> float32 {
  add(%x, ones_like(%x))
}
def @main(%x: float32, %p: (float32, Tensor[(2), float32])) -> (float32, (float32, Tensor[(2), float32])) {
  let %a = @twice(@next, %x);
  let %b = @twice(fn (%q: (float32, Tensor[(2), float32])) -> (float32, Tensor[(2), float32]) {
    (multiply(%q.0, %a), add(%q.1, ones_like(%q.1)))
  }, %p);
  (%a, %b)
}
""",
    "a branch in a branch": """
def @f(%x: float32) -> float32 { tanh(%x) }
def @main(%c: bool, %d: bool, %x: float32) -> float32 {
  let %a = if (%c) {
    let %b = if (%d) { @f(%x) } else { zeros(shape=[], dtype="float32") };
    multiply(%b, @f(%b))
  } else {
    @f(@f(%x))
  };
  if (%d) { add(%a, %x) } else { %a }
}
""",
    "lists": f"""
{LIST}
def @sum(%list: List[Tensor[(2), float32]], %start: Tensor[(2), float32]) -> Tensor[(2), float32] {{
  match (%list) {{
    Cons(%head, %tail) => add(%head, @sum(%tail, %start)),
    Nil => %start,
  }}
}}
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) -> Tensor[(2), float32] {{
  let %list = Cons(%x, Cons(tanh(%y), Nil));
  @sum(%list, %x)
}}
""",
    "lists of zeros": f"""
{LIST}
def @main(%x: Tensor[(2), float32]) -> (Tensor[(2), float32], Tensor[(2), float32]) {{
  let %sum: fn (List[Tensor[(2), float32]]) -> Tensor[(2), float32] = fn (%list: List[Tensor[(2), float32]]) -> Tensor[(2), float32] {{
    match (%list) {{
      Cons(%head, Cons(%next, %tail)) => add(add(%head, %next), %sum(%tail)),
      Cons(%head, Nil) => multiply(%head, %x),
      Nil => zeros_like(%x),
    }}
  }};
  let %two = Cons(%x, Cons(zeros_like(%x), Nil));
  (%sum(Cons(ones_like(%x), %two)), %sum(%two))
}}
""",
    "a field that is a tensor": f"""
{BOX}
def @main(%x: float32) -> float32 {{
  let %full = Full(ones_like(%x));
  let %empty = Empty;
  let %a = match (%full) {{
    Full(%y) => multiply(%y, %x),
    Empty => %x,
  }};
  match ((%empty, %full)) {{
    (Empty, Full(%z)) => add(%a, %z),
    _ => zeros_like(%x),
  }}
}}
""",
    "a constructor as a value": f"""
{LIST}
def @apply[A, B](%f: fn (A, List[A]) -> B, %x: A, %list: List[A]) -> B {{
  %f(%x, %list)
}}
def @main(%x: float32) -> float32 {{
  match (@apply(Cons, %x, Nil)) {{
    Cons(%head, _) => add(%head, 1f),
    Nil => %x,
  }}
}}
""",
    "broadcasting zeros": """
def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) -> (Tensor[(2, 3), float32], Tensor[(2, 3), float32]) {
  let %zero = zeros_like(%y);
  let %one = ones(shape=[2, 3], dtype="float32");
  (add(%x, %zero), multiply(multiply(%one, %x), add(%one, %one)))
}
""",
    "integers": """
def @main(%x: Tensor[(3), int32]) -> (Tensor[(3), int32], Tensor[(3), bool]) {
  let %zero = zeros_like(%x);
  let %one = ones_like(%x);
  (add(multiply(%x, %one), multiply(%x, %zero)), less(%zero, %one))
}
""",
    "operators in a body": """
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  let %f = fn (%p: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(add(%p, %p)) };
  add(%f(zeros_like(%x)), %x)
}
""",
}
"""By what they show."""
