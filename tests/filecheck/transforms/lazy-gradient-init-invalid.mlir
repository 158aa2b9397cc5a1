// RUN: xdsl-opt -p lazy-gradient-init --split-input-file --verify-diagnostics %s | filecheck %s

func.func @reference(%r: !relay.ref<tensor<f32>>) -> tensor<f32> {
  %0 = relay.ones {shape = array<i64>, dtype = f32} : tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: func.func: !relay.ref<!relay.adt<@GradCell, [tensor<f32>]>> cannot be made of !relay.ref<tensor<f32>>; tensors, tuples and functions of them can

// -----

relay.type_def @List ["A"] [#relay.constructor<"Cons", [!relay.type_var<"A">, !relay.adt<@List, [!relay.type_var<"A">]>]>, #relay.constructor<"Nil", []>]
func.func private @list() -> !relay.adt<@List, [tensor<f32>]>
func.func @result() -> tensor<f32> {
  %0 = relay.ones {shape = array<i64>, dtype = f32} : tensor<f32>
  %1 = func.call @list() : () -> !relay.adt<@List, [tensor<f32>]>
  return %0 : tensor<f32>
}
// CHECK: func.call: !relay.adt<@List, [!relay.adt<@GradCell, [tensor<f32>]>]> cannot be made of !relay.adt<@List, [tensor<f32>]>

// -----

func.func @AddGradCell() -> tensor<f32> {
  %0 = relay.ones {shape = array<i64>, dtype = f32} : tensor<f32>
  return %0 : tensor<f32>
}
// CHECK: the module has a @AddGradCell of its own, a name that lazy gradients need
