// RUN: xdsl-opt -p 'fuse-ops{max-function-args=4 explain=true}' %s | filecheck %s
// RUN: xdsl-opt -p 'fuse-ops{max-function-args=5}' %s | filecheck %s --check-prefix=FIVE

// Three parameters and a result are four arguments; a fifth ends the group.
func.func @limit(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.add %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.add %1, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.add %2, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @limit(
// CHECK-NEXT:    %0 = relay.fused %a, %b, %c attributes {relay.fusion_remark = [{rule = 36 : i64, reason = "the function of relay.add would have 5 arguments, more than 4", sweep = 0 : i64, culprit = "relay.add"}]} :
// CHECK:         %1 = relay.fused %0, %d, %a attributes
// CHECK:         func.return %1
// FIVE-LABEL:  func.func @limit(
// FIVE-NEXT:     %0 = relay.fused %a, %b, %c, %d :
// FIVE:          func.return %0

// What a single operator needs is never refused, but nothing joins it.
func.func @keep_concatenation(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> tensor<16xf32> {
  %0 = relay.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.tuple %0, %b, %c, %d : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>
  %2 = relay.concatenate %1 {axis = 0 : i64} : (tuple<tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>>) -> tensor<16xf32>
  func.return %2 : tensor<16xf32>
}

// CHECK-LABEL: func.func @keep_concatenation(
// CHECK-NEXT:    %0 = relay.fused %a attributes
// CHECK:         %1 = relay.tuple %0, %b, %c, %d {relay.fusion_remark = [{rule = 36 : i64, reason = "the function of relay.concatenate would have 5 arguments, more than 4", sweep = 1 : i64, culprit = "relay.concatenate"}]} :
// CHECK:         %2 = relay.fused %1 attributes
// FIVE-LABEL:  func.func @keep_concatenation(
// FIVE-NEXT:     %0 = relay.fused %a, %b, %c, %d :
// FIVE:          func.return %0

// An unknown dimension is an argument, too, and so are the strides of a parameter that has one.
func.func @dynamic(%a: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relay.exp %a : (tensor<?xf32>) -> tensor<?xf32>
  %1 = relay.tanh %0 : (tensor<?xf32>) -> tensor<?xf32>
  func.return %1 : tensor<?xf32>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT:    %0 = relay.fused %a attributes {relay.fusion_remark = [{rule = 36 : i64,
// CHECK:         %1 = relay.fused %0 attributes
// FIVE-LABEL:  func.func @dynamic(
// FIVE-NEXT:     %0 = relay.fused %a :
// FIVE:          func.return %0
