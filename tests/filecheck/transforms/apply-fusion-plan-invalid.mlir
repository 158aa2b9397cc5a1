// RUN: xdsl-opt -p 'apply-fusion-plan{multi-output=true}' --split-input-file --verify-diagnostics %s | filecheck %s

func.func @cycle(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp %x {relay.fusion_group = 1} : (tensor<4xf32>) -> tensor<4xf32>
  %b = relay.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = relay.sqrt %b {relay.fusion_group = 1} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}
// CHECK: a value leaves the group that ends in relay.sqrt %c and comes back to it

// -----

func.func @not_an_operator(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.annotation.stop_fusion %x {relay.fusion_group = 1} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// CHECK: relay.annotation.stop_fusion %a cannot be fused: expected an operator with a kernel

// -----

func.func @no_operator(%x: tensor<4xf32>) -> tuple<tensor<4xf32>> {
  %a = relay.tuple %x {relay.fusion_group = 1} : (tensor<4xf32>) -> tuple<tensor<4xf32>>
  func.return %a : tuple<tensor<4xf32>>
}
// CHECK: the group that ends in relay.tuple %a has no operator, expected one at its end

// -----

func.func @unknown_group(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp %x {relay.fusion_copies = ["b"]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// CHECK: 'relay.fusion_copies' of relay.exp %a names the group "b", which no operation of the block has

// -----

func.func @no_array(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.exp %x {relay.fusion_copies = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
// CHECK: 'relay.fusion_copies' of relay.exp %a is "b", expected an array of groups
