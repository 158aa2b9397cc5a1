// RUN: xdsl-opt -p extract-intermediate-expr{expr-id=0} %s | filecheck %s --check-prefix FIRST
// RUN: xdsl-opt -p extract-intermediate-expr{expr-id=3} %s | filecheck %s --check-prefix TUPLE
// RUN: xdsl-opt -p extract-intermediate-expr{expr-id=5} %s | filecheck %s --check-prefix CALL
// RUN: xdsl-opt -p extract-intermediate-expr{expr-id=7},extract-intermediate-expr{expr-id=7} %s | filecheck %s --check-prefix LAST
// RUN: not xrelay-opt -p extract-intermediate-expr{expr-id=8} %s 2>&1 | filecheck %s --check-prefix BEYOND
// RUN: not xrelay-opt -p extract-intermediate-expr{expr-id=-1} %s 2>&1 | filecheck %s --check-prefix BEFORE

// FIRST:      func.func @main(%x: tensor<2xf32> {onnx.name = "in"}) -> !relay.ref<tensor<2xf32>> {
// FIRST-NEXT: [[R:%.*]] = relay.ref_create %x
// FIRST-NEXT: func.return [[R]]
// FIRST-NOT:  func.func

// Names and constants do not count. Effects before it stay.
// TUPLE:      func.func @main(%x: tensor<2xf32> {onnx.name = "in"}) -> tuple<tensor<2xf32>, tensor<f32>> {
// TUPLE-NEXT: [[C:%.*]] = relay.constant
// TUPLE-NEXT: [[R:%.*]] = relay.ref_create %x
// TUPLE-NEXT: [[E:%.*]] = relay.exp %x
// TUPLE-NEXT: relay.ref_write [[R]], [[E]]
// TUPLE-NEXT: [[L:%.*]] = relay.let [[E]]
// TUPLE-NEXT: [[T:%.*]] = relay.tuple [[L]], [[C]]
// TUPLE-NEXT: func.return [[T]]

// CALL:      func.func @main(%x: tensor<2xf32> {onnx.name = "in"}, %y: tensor<3xf32>) -> tensor<3xf32> {
// CALL:      relay.ref_write
// CALL-NEXT: func.call @f(%y)
// CALL-NEXT: func.return
// CALL:      func.func @f
// CALL-NOT:  func.func

// LAST:      func.func @main(%x: tensor<2xf32> {onnx.name = "in"}, %y: tensor<3xf32>) -> tensor<2xf32>
// LAST:      [[A:%.*]] = relay.add
// LAST-NEXT: func.return [[A]]

// BEYOND: 'expr-id' is 8, @main has 8 expressions, counted from 0
// BEFORE: 'expr-id' is -1, @main has 8 expressions, counted from 0
func.func @main(%x: tensor<2xf32> {onnx.name = "in"}, %y: tensor<3xf32>) -> (tensor<2xf32> {onnx.name = "out"}) {
  %c = relay.constant dense<1.0> : tensor<f32>
  %r = relay.ref_create %x : (tensor<2xf32>) -> !relay.ref<tensor<2xf32>>
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %w = relay.ref_write %r, %0 : (!relay.ref<tensor<2xf32>>, tensor<2xf32>) -> tuple<>
  %1 = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.tuple %1, %c : (tensor<2xf32>, tensor<f32>) -> tuple<tensor<2xf32>, tensor<f32>>
  %3 = relay.tuple_get_item %2[0] : (tuple<tensor<2xf32>, tensor<f32>>) -> tensor<2xf32>
  %4 = func.call @f(%y) : (tensor<3xf32>) -> tensor<3xf32>
  %5 = relay.sum %4 : (tensor<3xf32>) -> tensor<f32>
  %6 = relay.add %3, %5 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %6 : tensor<2xf32>
}

func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relay.log %x : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
