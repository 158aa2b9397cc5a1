// RUN: xdsl-opt -p extract-fused-functions %s | filecheck %s
// RUN: xdsl-opt -p extract-fused-functions,extract-fused-functions %s | filecheck %s

// CHECK:      builtin.module {
// CHECK-NEXT: relay.type_def @Option
relay.type_def @Option ["A"] [#relay.constructor<"Some", [!relay.type_var<"A">]>, #relay.constructor<"None", []>]

// Equal groups are one function, those of other types another one.
// CHECK-NEXT: func.func @fused_exp_tanh(%p0: tensor<2xf32>) -> tensor<2xf32> attributes {Primitive = 1 : i32} {
// CHECK-NEXT:   [[E:%.*]] = relay.exp %p0
// CHECK-NEXT:   [[T:%.*]] = relay.tanh [[E]]
// CHECK-NEXT:   func.return [[T]]
// CHECK-NEXT: }
// CHECK-NEXT: func.func @fused_cumsum(%p0: tensor<2xf32>)
// CHECK:      func.func @fused_exp_tanh_1(%p0: tensor<3xf32>) -> tensor<3xf32>
// CHECK:      func.func @fused_reshape(%p0: tensor<3xf32>) -> tensor<3x1xf32> attributes {Primitive = 1 : i32, relay.reshape_only = 1 : i32}
// CHECK:      func.func @fused_sin(%p: tensor<3xf32>)
// CHECK-NOT:  func.func
func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<2xf32>, tensor<3x1xf32>, tensor<3xf32>) {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.nn.dropout %0 : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %2 = relay.tuple_get_item %1[0] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %3 = relay.tanh %2 : (tensor<2xf32>) -> tensor<2xf32>
  %4 = relay.cumsum %3 : (tensor<2xf32>) -> tensor<2xf32>
  %5 = relay.exp %4 : (tensor<2xf32>) -> tensor<2xf32>
  %other = relay.tanh %5 : (tensor<2xf32>) -> tensor<2xf32>
  %6 = relay.exp %y : (tensor<3xf32>) -> tensor<3xf32>
  %7 = relay.tanh %6 : (tensor<3xf32>) -> tensor<3xf32>
  %8 = relay.fused %7 attributes {reshape_only} : (tensor<3xf32>) -> tensor<3x1xf32> {
  ^bb0(%p0: tensor<3xf32>):
    %9 = relay.reshape %p0 {newshape = array<i64: 3, 1>} : (tensor<3xf32>) -> tensor<3x1xf32>
    relay.yield %9 : tensor<3x1xf32>
  }
  %10 = func.call @called(%7) : (tensor<3xf32>) -> tensor<3xf32>
  return %other, %8, %10 : tensor<2xf32>, tensor<3x1xf32>, tensor<3xf32>
}

func.func @called(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relay.fused %x : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%p: tensor<3xf32>):
    %1 = relay.sin %p : (tensor<3xf32>) -> tensor<3xf32>
    relay.yield %1 : tensor<3xf32>
  }
  return %0 : tensor<3xf32>
}

func.func @no_caller(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relay.log %x : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
