// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @functions(%x: tensor<2xf32>, %p: tensor<i1>) -> tensor<2xf32> {
// CHECK-LABEL: func.func @functions(%x: tensor<2xf32>, %p: tensor<i1>) -> tensor<2xf32> {
  %closure = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  // CHECK-NEXT: %closure = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%y: tensor<2xf32>):
  // CHECK-NEXT: ^bb0(%y: tensor<2xf32>):
    %sum = relay.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    // CHECK-NEXT: %sum = relay.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relay.yield %sum : tensor<2xf32>
    // CHECK-NEXT: relay.yield %sum : tensor<2xf32>
  }
  // CHECK-NEXT: }
  %named = relay.let %closure : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>) -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  // CHECK-NEXT: %named = relay.let %closure : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>) -> !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  %applied = relay.apply %named(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %applied = relay.apply %named(%x) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  %same = relay.closure attributes {type_params = ["A"], Inline = 1 : i32} : !relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>> {
  // CHECK-NEXT: %same = relay.closure attributes {Inline = 1 : i32, type_params = ["A"]} : !relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>> {
  ^bb1(%a: !relay.type_var<"A">):
  // CHECK-NEXT: ^bb0(%a: !relay.type_var<"A">):
    relay.yield %a : !relay.type_var<"A">
    // CHECK-NEXT: relay.yield %a : !relay.type_var<"A">
  }
  // CHECK-NEXT: }
  %again = relay.apply %same(%applied) : (!relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %again = relay.apply %same(%applied) : (!relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>>, tensor<2xf32>) -> tensor<2xf32>
  %instance = relay.instantiate %same : (!relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>>) -> !relay.fn<(tensor<i1>) -> tensor<i1>>
  // CHECK-NEXT: %instance = relay.instantiate %same : (!relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> !relay.type_var<"A">>>) -> !relay.fn<(tensor<i1>) -> tensor<i1>>
  %forever = relay.closure attributes {recursive} : !relay.fn<(tensor<i1>) -> tensor<i1>> {
  // CHECK-NEXT: %forever = relay.closure attributes {recursive} : !relay.fn<(tensor<i1>) -> tensor<i1>> {
  ^bb2(%self: !relay.fn<(tensor<i1>) -> tensor<i1>>, %b: tensor<i1>):
  // CHECK-NEXT: ^bb0(%self: !relay.fn<(tensor<i1>) -> tensor<i1>>, %b: tensor<i1>):
    %next = relay.apply %self(%b) : (!relay.fn<(tensor<i1>) -> tensor<i1>>, tensor<i1>) -> tensor<i1>
    // CHECK-NEXT: %next = relay.apply %self(%b) : (!relay.fn<(tensor<i1>) -> tensor<i1>>, tensor<i1>) -> tensor<i1>
    relay.yield %next : tensor<i1>
    // CHECK-NEXT: relay.yield %next : tensor<i1>
  }
  // CHECK-NEXT: }
  %function = relay.global_var @id : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  // CHECK-NEXT: %function = relay.global_var @id : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>
  %last = relay.apply %function(%again) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %last = relay.apply %function(%again) : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tensor<2xf32>) -> tensor<2xf32>
  func.return %last : tensor<2xf32>
  // CHECK-NEXT: func.return %last : tensor<2xf32>
}
// CHECK-NEXT: }
func.func @id(%x: !relay.type_var<"A">) -> !relay.type_var<"A"> attributes {relay.type_params = ["A"]} {
// CHECK-LABEL: func.func @id(%x: !relay.type_var<"A">) -> !relay.type_var<"A"> attributes {relay.type_params = ["A"]} {
  func.return %x : !relay.type_var<"A">
  // CHECK-NEXT: func.return %x : !relay.type_var<"A">
}
// CHECK-NEXT: }
