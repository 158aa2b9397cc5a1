// RUN: xdsl-opt -p 'fuse-ops{explain=true}' %s | filecheck %s
// RUN: xdsl-opt -p 'fuse-ops{explain=true},fuse-ops{explain=true}' %s | filecheck %s

// What ends a group says why: the rule, the sweep, and the operator that was in the way. What has no
// value says nothing.
func.func @remarks(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.nn.softmax %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @remarks(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:   %{{.*}} = relay.fused %{{.*}} attributes {relay.fusion_remark = [{rule = 22 : i64, reason = "the path to relay.nn.softmax is out_ewise_fusable", sweep = 0 : i64, culprit = "relay.nn.softmax"}]} :
// CHECK:        %{{.*}} = relay.fused %{{.*}} attributes {relay.fusion_remark = [{rule = 3 : i64, reason = "the value is used by func.return, at the end of the block", culprit = "func.return"}]} :
// CHECK:        func.return %{{.*}} : tensor<4x8xf32>
