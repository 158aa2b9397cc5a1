// RUN: xdsl-opt -p 'fuse-ops{rules=extended explain=true}' %s | filecheck %s
// RUN: xdsl-opt -p 'fuse-ops{link-params=true explain=true}' %s | filecheck %s --check-prefix LINK

// What is copied into groups says nothing there, and what is gone says nothing at all.
func.func @copies(%x: tensor<4x8xi8>) -> (tensor<4xf32>, tensor<8xf32>) {
  %0 = relay.cast %x {dtype = f32} : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %1 = relay.sum %0 {axis = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = relay.max %0 {axis = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @copies(
// CHECK-NEXT:    %[[S:\w+]] = relay.fused %x attributes {relay.fusion_remark = [{rule = 3 :
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xi8>):
// CHECK-NEXT:      %{{.*}} = relay.cast %p0 {dtype = f32} :
// CHECK-NEXT:      %{{.*}} = relay.sum
// CHECK:         %[[M:\w+]] = relay.fused %x attributes {relay.fusion_remark = [{rule = 3 :
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xi8>):
// CHECK-NEXT:      %{{.*}} = relay.cast %p0 {dtype = f32} :
// CHECK-NEXT:      %{{.*}} = relay.max
// CHECK:         func.return %[[S]], %[[M]] :

func.func @linked(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = relay.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = relay.add %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// LINK-LABEL: func.func @linked(
// LINK-NEXT:    %{{.*}} = relay.fused %x attributes {relay.fusion_remark = [{rule = 3 :
// LINK-NEXT:    ^bb0(%p0: tensor<2xf32>):
// LINK-NEXT:      %{{.*}} = relay.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// LINK-NEXT:      %{{.*}} = relay.add
