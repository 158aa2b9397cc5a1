// RUN: xdsl-opt -p canonicalize-cast %s | filecheck %s
// RUN: xdsl-opt -p canonicalize-cast,canonicalize-cast %s | filecheck %s

// Relay's own example.
// CHECK-LABEL: func.func @biases
// CHECK: [[X:%.*]] = relay.nn.conv2d
// CHECK-NEXT: [[A:%.*]] = relay.cast [[X]] {dtype = i32}
// CHECK-NEXT: [[B:%.*]] = relay.add [[A]], %bias1
// CHECK-NEXT: [[C:%.*]] = relay.cast [[X]] {dtype = i32}
// CHECK-NEXT: [[D:%.*]] = relay.add [[C]], %bias2
// CHECK-NEXT: relay.add [[B]], [[D]]
func.func @biases(%data: tensor<1x16x7x7xi8>, %weight: tensor<16x16x3x3xi8>, %bias1: tensor<16x1x1xi32>, %bias2: tensor<16x1x1xi32>) -> tensor<1x16x7x7xi32> {
  %0 = relay.nn.conv2d %data, %weight {padding = array<i64: 1, 1>, out_dtype = i8} : (tensor<1x16x7x7xi8>, tensor<16x16x3x3xi8>) -> tensor<1x16x7x7xi8>
  %1 = relay.cast %0 {dtype = i32} : (tensor<1x16x7x7xi8>) -> tensor<1x16x7x7xi32>
  %2 = relay.add %1, %bias1 : (tensor<1x16x7x7xi32>, tensor<16x1x1xi32>) -> tensor<1x16x7x7xi32>
  %3 = relay.add %1, %bias2 : (tensor<1x16x7x7xi32>, tensor<16x1x1xi32>) -> tensor<1x16x7x7xi32>
  %4 = relay.add %2, %3 : (tensor<1x16x7x7xi32>, tensor<1x16x7x7xi32>) -> tensor<1x16x7x7xi32>
  return %4 : tensor<1x16x7x7xi32>
}

// CHECK-LABEL: func.func @branches
// CHECK: [[A:%.*]] = relay.cast %x
// CHECK-NEXT: [[B:%.*]] = relay.abs [[A]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: [[C:%.*]] = relay.cast %x
// CHECK-NEXT: relay.negative [[C]]
func.func @branches(%x: tensor<2xi8>, %c: i1) -> tensor<2xi32> {
  %0 = relay.cast %x {dtype = i32} : (tensor<2xi8>) -> tensor<2xi32>
  %1 = relay.abs %0 : (tensor<2xi32>) -> tensor<2xi32>
  %2 = scf.if %c -> (tensor<2xi32>) {
    %3 = relay.negative %0 : (tensor<2xi32>) -> tensor<2xi32>
    scf.yield %3 : tensor<2xi32>
  } else {
    scf.yield %1 : tensor<2xi32>
  }
  return %2 : tensor<2xi32>
}

// CHECK-LABEL: func.func @keep_fused
// CHECK: relay.cast
// CHECK-NOT: relay.cast
// CHECK: return
func.func @keep_fused(%x: tensor<2xi8>) -> tensor<2xi32> {
  %0 = relay.fused %x : (tensor<2xi8>) -> tensor<2xi32> {
  ^bb0(%p: tensor<2xi8>):
    %1 = relay.cast %p {dtype = i32} : (tensor<2xi8>) -> tensor<2xi32>
    %2 = relay.abs %1 : (tensor<2xi32>) -> tensor<2xi32>
    %3 = relay.add %1, %2 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    relay.yield %3 : tensor<2xi32>
  }
  return %0 : tensor<2xi32>
}
