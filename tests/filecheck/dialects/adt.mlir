// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

relay.type_def @List ["A"] [#relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>, #relay.constructor<"Nil", []>]
// CHECK:      relay.type_def @List ["A"] [#relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>, #relay.constructor<"Nil", []>]
relay.type_def @Elsewhere []
// CHECK-NEXT: relay.type_def @Elsewhere []
func.func @lists(%x: tensor<f32>, %t: tuple<tensor<f32>, tensor<i1>>, %e: !relay.adt<@Elsewhere, []>) -> tensor<f32> {
// CHECK-LABEL: func.func @lists(%x: tensor<f32>, %t: tuple<tensor<f32>, tensor<i1>>, %e: !relay.adt<@Elsewhere, []>) -> tensor<f32> {
  %nil = relay.construct @List::@Nil() : () -> !relay.adt<@List, [tensor<f32>]>
  // CHECK-NEXT: %nil = relay.construct @List::@Nil() : () -> !relay.adt<@List, [tensor<f32>]>
  %list = relay.construct @List::@Cons(%x, %nil) : (tensor<f32>, !relay.adt<@List, [tensor<f32>]>) -> !relay.adt<@List, [tensor<f32>]>
  // CHECK-NEXT: %list = relay.construct @List::@Cons(%x, %nil) : (tensor<f32>, !relay.adt<@List, [tensor<f32>]>) -> !relay.adt<@List, [tensor<f32>]>
  %cons = relay.constructor_var @List::@Cons : !relay.fn<(tensor<f32>, !relay.adt<@List, [tensor<f32>]>) -> !relay.adt<@List, [tensor<f32>]>>
  // CHECK-NEXT: %cons = relay.constructor_var @List::@Cons : !relay.fn<(tensor<f32>, !relay.adt<@List, [tensor<f32>]>) -> !relay.adt<@List, [tensor<f32>]>>
  %head = relay.match %list [#relay.constructor_pattern<@List::@Cons, [#relay.var_pattern, #relay.wildcard_pattern]>, #relay.wildcard_pattern] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  // CHECK-NEXT: %head = relay.match %list [#relay.constructor_pattern<@List::@Cons, [#relay.var_pattern, #relay.wildcard_pattern]>, #relay.wildcard_pattern] attributes {complete} : (!relay.adt<@List, [tensor<f32>]>) -> tensor<f32> {
  ^bb0(%first: tensor<f32>):
  // CHECK-NEXT: ^bb0(%first: tensor<f32>):
    relay.yield %first : tensor<f32>
    // CHECK-NEXT: relay.yield %first : tensor<f32>
  } {
  // CHECK-NEXT: } {
    relay.yield %x : tensor<f32>
    // CHECK-NEXT: relay.yield %x : tensor<f32>
  }
  // CHECK-NEXT: }
  %field = relay.match %t [#relay.tuple_pattern<[#relay.var_pattern, #relay.wildcard_pattern]>] : (tuple<tensor<f32>, tensor<i1>>) -> tensor<f32> {
  // CHECK-NEXT: %field = relay.match %t [#relay.tuple_pattern<[#relay.var_pattern, #relay.wildcard_pattern]>] : (tuple<tensor<f32>, tensor<i1>>) -> tensor<f32> {
  ^bb1(%number: tensor<f32>):
  // CHECK-NEXT: ^bb0(%number: tensor<f32>):
    relay.yield %number : tensor<f32>
    // CHECK-NEXT: relay.yield %number : tensor<f32>
  }
  // CHECK-NEXT: }
  func.return %head : tensor<f32>
  // CHECK-NEXT: func.return %head : tensor<f32>
}
// CHECK-NEXT: }
