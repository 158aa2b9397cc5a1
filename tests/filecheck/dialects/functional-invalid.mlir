// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: result type is tensor<3xf32>, but the operands give tensor<2xf32>
func.func @let(%x: tensor<2xf32>) {
  %0 = relay.let %x : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: result type is !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, the body gives !relay.fn<(tensor<3xf32>) -> tensor<3xf32>>
func.func @closure() {
  %0 = relay.closure : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
  ^bb0(%y: tensor<3xf32>):
    relay.yield %y : tensor<3xf32>
  }
  func.return
}

// -----

// CHECK: a recursive function has itself as first argument of its block
func.func @recursive(%x: tensor<f32>) {
  %0 = relay.closure attributes {recursive} : !relay.fn<() -> tensor<f32>> {
    relay.yield %x : tensor<f32>
  }
  func.return
}

// -----

// CHECK: the first argument of the block is tensor<f32>, the function is !relay.fn<() -> tensor<f32>>
func.func @self() {
  %0 = relay.closure attributes {recursive} : !relay.fn<() -> tensor<f32>> {
  ^bb0(%self: tensor<f32>):
    relay.yield %self : tensor<f32>
  }
  func.return
}

// -----

// CHECK: relay.apply: 'function' is tensor<f32>, expected a function
func.func @apply_1(%x: tensor<f32>) {
  %0 = relay.apply %x() : (tensor<f32>) -> tensor<f32>
  func.return
}

// -----

// CHECK: 0 arguments are given, !relay.fn<(tensor<f32>) -> tensor<f32>> takes 1
func.func @apply_2(%f: !relay.fn<(tensor<f32>) -> tensor<f32>>) {
  %0 = relay.apply %f() : (!relay.fn<(tensor<f32>) -> tensor<f32>>) -> tensor<f32>
  func.return
}

// -----

// CHECK: argument 0 is tensor<i1>, !relay.fn<(tensor<f32>) -> tensor<f32>> takes tensor<f32>
func.func @apply_3(%f: !relay.fn<(tensor<f32>) -> tensor<f32>>, %x: tensor<i1>) {
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<i1>) -> tensor<f32>
  func.return
}

// -----

// CHECK: argument 1 is tensor<i1>
func.func @apply_4(%f: !relay.forall<["A"], !relay.fn<(!relay.type_var<"A">, !relay.type_var<"A">) -> tensor<f32>>>, %x: tensor<i1>, %y: tensor<f32>) {
  %0 = relay.apply %f(%y, %x) : (!relay.forall<["A"], !relay.fn<(!relay.type_var<"A">, !relay.type_var<"A">) -> tensor<f32>>>, tensor<f32>, tensor<i1>) -> tensor<f32>
  func.return
}

// -----

// CHECK: @nothing is no function of the module
func.func @global_1() {
  %0 = relay.global_var @nothing : !relay.fn<() -> tensor<f32>>
  func.return
}

// -----

// CHECK: result type is !relay.fn<() -> tensor<f32>>, @f is !relay.fn<(tensor<f32>) -> tensor<f32>>
func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.global_var @f : !relay.fn<() -> tensor<f32>>
  func.return %x : tensor<f32>
}

// -----

// CHECK: relay.fn is () -> (tensor<f32>, tensor<f32>), expected one result
func.func @two_results(%f: !relay.fn<() -> (tensor<f32>, tensor<f32>)>) {
  func.return
}

// -----

// CHECK: is not what
func.func @instantiate(%f: !relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> tensor<f32>>>) {
  %0 = relay.instantiate %f : (!relay.forall<["A"], !relay.fn<(!relay.type_var<"A">) -> tensor<f32>>>) -> !relay.fn<() -> tensor<f32>>
  func.return
}
