// RUN: xdsl-opt -p check-exhaustiveness --split-input-file --verify-diagnostics %s | filecheck %s

// What has a clause for everything, or does not say so, stays as it is.
relay.type_def @List ["A"] [
  #relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>,
  #relay.constructor<"Nil", []>]
// CHECK: func.func @both
func.func @both(%x: tensor<f32>, %l: !relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Nil, []>, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.wildcard_pattern]>] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
// CHECK: func.func @wildcard
func.func @wildcard(%x: tensor<f32>, %l: !relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.wildcard_pattern]>]>, #relay.wildcard_pattern] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
// CHECK: func.func @variable
func.func @variable(%x: tensor<f32>, %l: !relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  %0 = relay.match %l [#relay.var_pattern] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  ^bb0(%v0: !relay.adt<@List, [tensor<f32>]>):
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
// CHECK: func.func @lengths
func.func @lengths(%x: tensor<f32>, %l: !relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Nil, []>]>, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Nil, []>]>]>, #relay.constructor_pattern<@List::@Nil, []>, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.wildcard_pattern]>]>] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
// CHECK: func.func @pairs
func.func @pairs(%x: tensor<f32>, %l: tuple<!relay.adt<@List, [tensor<f32>]>, !relay.adt<@List, [tensor<f32>]>>) -> tensor<f32> {
  %0 = relay.match %l [#relay.tuple_pattern<[#relay.constructor_pattern<@List::@Nil, []>, #relay.wildcard_pattern]>, #relay.tuple_pattern<[#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Nil, []>]>, #relay.tuple_pattern<[#relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.wildcard_pattern]>, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.wildcard_pattern]>]>] attributes {complete} : (tuple<!relay.adt<@List, [tensor<f32>]>, !relay.adt<@List, [tensor<f32>]>>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
// CHECK: func.func @partial
func.func @partial(%x: tensor<f32>, %l: !relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Nil, []>] : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

relay.type_def @List ["A"] [
  #relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>,
  #relay.constructor<"Nil", []>]
// CHECK: found no clause for Cons(_, _), expected one for every value: without 'complete' it does without
func.func @no_cons(%x: tensor<f32>, %l: !relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Nil, []>] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

relay.type_def @List ["A"] [
  #relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>,
  #relay.constructor<"Nil", []>]
// CHECK: found no clause for Cons(_, Nil), expected one for every value: without 'complete' it does without
func.func @too_specific(%x: tensor<f32>, %l: !relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.wildcard_pattern]>]>, #relay.constructor_pattern<@List::@Nil, []>] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

relay.type_def @List ["A"] [
  #relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>,
  #relay.constructor<"Nil", []>]
// CHECK: found no clause for Cons(_, Cons(_, Nil)), expected one for every value: without 'complete' it does without
func.func @in_the_middle(%x: tensor<f32>, %l: !relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Nil, []>]>, #relay.constructor_pattern<@List::@Nil, []>, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Cons, [#relay.wildcard_pattern, #relay.wildcard_pattern]>]>]>] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

relay.type_def @List ["A"] [
  #relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>,
  #relay.constructor<"Nil", []>]
// CHECK: found no clause for (Cons(_, _), Cons(_, _)), expected one for every value: without 'complete' it does without
func.func @pairs(%x: tensor<f32>, %l: tuple<!relay.adt<@List, [tensor<f32>]>, !relay.adt<@List, [tensor<f32>]>>) -> tensor<f32> {
  %0 = relay.match %l [#relay.tuple_pattern<[#relay.constructor_pattern<@List::@Nil, []>, #relay.wildcard_pattern]>, #relay.tuple_pattern<[#relay.wildcard_pattern, #relay.constructor_pattern<@List::@Nil, []>]>] attributes {complete} : (tuple<!relay.adt<@List, [tensor<f32>]>, !relay.adt<@List, [tensor<f32>]>>) -> tensor<f32> {
    relay.yield %x : tensor<f32>
  } {
    relay.yield %x : tensor<f32>
  }
  return %0 : tensor<f32>
}
