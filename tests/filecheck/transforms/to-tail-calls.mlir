// RUN: xdsl-opt -p to-tail-calls %s | filecheck %s
// RUN: xrelay-opt -p to-tail-calls --verify-semantics %s 2>&1 | filecheck %s --check-prefix MEANING

// MEANING: the results of @main, @power stay the same in 1 passes

relay.type_def @List [] [#relay.constructor<"Cons", [tensor<2xf32>, !relay.adt<@List, []>]>, #relay.constructor<"Nil", []>]

// Others hand over a function that gives back what it is given.
// CHECK-LABEL: func.func @main(
// CHECK:      [[L:%.*]] = relay.construct @List::@Cons
// CHECK-NEXT: [[K:%.*]] = relay.closure : !relay.fn<(!relay.adt<@List, []>) -> !relay.adt<@List, []>> {
// CHECK-NEXT: ^bb0([[R:%.*]]: !relay.adt<@List, []>):
// CHECK-NEXT:   relay.yield [[R]]
// CHECK-NEXT: }
// CHECK-NEXT: [[MAP:%.*]] = relay.global_var @map
// CHECK-NEXT: [[M:%.*]] = relay.apply [[MAP]]([[L]], [[K]])
// CHECK-NEXT: func.call @last([[M]], %x)
// CHECK:      func.call @power(
func.func @main(%x: tensor<2xf32>, %n: tensor<i32>) -> tuple<tensor<2xf32>, tensor<2xf32>> {
  %nil = relay.construct @List::@Nil() : () -> !relay.adt<@List, []>
  %l = relay.construct @List::@Cons(%x, %nil) : (tensor<2xf32>, !relay.adt<@List, []>) -> !relay.adt<@List, []>
  %m = func.call @map(%l) : (!relay.adt<@List, []>) -> !relay.adt<@List, []>
  %r = func.call @last(%m, %x) : (!relay.adt<@List, []>, tensor<2xf32>) -> tensor<2xf32>
  %three = relay.constant dense<3> : tensor<i32>
  %p = func.call @power(%x, %three) : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  %t = relay.tuple %r, %p : (tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  return %t : tuple<tensor<2xf32>, tensor<2xf32>>
}

// CHECK-LABEL: func.func private @map(%l: !relay.adt<@List, []>, %k: !relay.fn<(!relay.adt<@List, []>) -> !relay.type_var<"answer">>)
// CHECK:      relay.match %l
// CHECK:        [[C:%.*]] = relay.closure
// CHECK:          relay.construct @List::@Cons
// CHECK:          relay.apply %k(
// CHECK:        [[MAP:%.*]] = relay.global_var @map
// CHECK-NEXT:   [[A:%.*]] = relay.apply [[MAP]](%t, [[C]])
// CHECK-NEXT:   relay.yield [[A]]
func.func private @map(%l: !relay.adt<@List, []>) -> !relay.adt<@List, []> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Cons, [#relay.var_pattern, #relay.var_pattern]>, #relay.constructor_pattern<@List::@Nil, []>] attributes {complete} : (!relay.adt<@List, []>) -> !relay.adt<@List, []> {
  ^bb0(%h: tensor<2xf32>, %t: !relay.adt<@List, []>):
    %e = relay.exp %h : (tensor<2xf32>) -> tensor<2xf32>
    %1 = func.call @map(%t) : (!relay.adt<@List, []>) -> !relay.adt<@List, []>
    %2 = relay.construct @List::@Cons(%e, %1) : (tensor<2xf32>, !relay.adt<@List, []>) -> !relay.adt<@List, []>
    relay.yield %2 : !relay.adt<@List, []>
  } {
    %n = relay.construct @List::@Nil() : () -> !relay.adt<@List, []>
    relay.yield %n : !relay.adt<@List, []>
  }
  return %0 : !relay.adt<@List, []>
}

// Calls that are last already, and those of functions without data, stay.
// CHECK-LABEL: func.func private @last(%l: !relay.adt<@List, []>, %x: tensor<2xf32>) -> tensor<2xf32>
// CHECK:      func.call @last(
func.func private @last(%l: !relay.adt<@List, []>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.match %l [#relay.constructor_pattern<@List::@Cons, [#relay.var_pattern, #relay.var_pattern]>, #relay.constructor_pattern<@List::@Nil, []>] attributes {complete} : (!relay.adt<@List, []>) -> tensor<2xf32> {
  ^bb0(%h: tensor<2xf32>, %t: !relay.adt<@List, []>):
    %1 = func.call @last(%t, %h) : (!relay.adt<@List, []>, tensor<2xf32>) -> tensor<2xf32>
    relay.yield %1 : tensor<2xf32>
  } {
    relay.yield %x : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func private @power(%x: tensor<2xf32>, %n: tensor<i32>) -> tensor<2xf32>
// CHECK:      func.call @power(
func.func private @power(%x: tensor<2xf32>, %n: tensor<i32>) -> tensor<2xf32> {
  %one = relay.constant dense<1> : tensor<i32>
  %less = relay.less %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %c = tensor.extract %less[] : tensor<i1>
  %r = scf.if %c -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    %m = relay.subtract %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %p = func.call @power(%x, %m) : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
    %q = relay.multiply %p, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %q : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}
