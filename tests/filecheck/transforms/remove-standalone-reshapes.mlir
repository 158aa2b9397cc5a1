// RUN: xdsl-opt -p remove-standalone-reshapes %s | filecheck %s
// RUN: xdsl-opt -p remove-standalone-reshapes,remove-standalone-reshapes %s | filecheck %s
// RUN: xdsl-opt -p to-a-normal-form,remove-standalone-reshapes %s | filecheck %s --check-prefix NAMED

// The first operation is a reshape of a parameter, and stays; the last two are views of what the kernel computes. A
// function that does not say that it only reshapes is a kernel, and operators outside of functions are no business here.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[F:%.*]] = relay.fused %x attributes {reshape_only}
// CHECK: [[K:%.*]] = relay.fused [[F]] :
// CHECK: [[N:%.*]] = relay.let [[K]] :
// CHECK-NEXT: relay.constant dense<[3, 2]> : tensor<2xi64>
// CHECK-NEXT: [[V:%.*]] = relay.vm.reshape_tensor [[N]], {{.*}} {newshape = array<i64: 3, 2>}
// CHECK-NEXT: [[O:%.*]] = relay.on_device [[V]]
// CHECK-NEXT: relay.constant dense<6> : tensor<1xi64>
// CHECK-NEXT: [[W:%.*]] = relay.vm.reshape_tensor [[O]], {{.*}} {newshape = array<i64: 6>}
// CHECK-NEXT: [[U:%.*]] = relay.fused [[W]] :
// CHECK: [[R:%.*]] = relay.reshape [[U]]
// CHECK: func.return [[R]]
// NAMED-LABEL: func.func @main
// NAMED-COUNT-1: relay.reshape_only
// NAMED: relay.vm.reshape_tensor
// NAMED-NOT: relay.reshape_only
// NAMED: relay.vm.reshape_tensor
// NAMED-NOT: relay.reshape_only
// NAMED: func.return
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = relay.fused %x attributes {reshape_only} : (tensor<6xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<6xf32>):
    %r0 = relay.reshape %p {newshape = array<i64: 2, 3>} : (tensor<6xf32>) -> tensor<2x3xf32>
    relay.yield %r0 : tensor<2x3xf32>
  }
  %1 = relay.fused %0 : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%q: tensor<2x3xf32>):
    %e = relay.exp %q : (tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %e : tensor<2x3xf32>
  }
  %a = relay.let %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.fused %a attributes {reshape_only} : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  ^bb0(%s: tensor<2x3xf32>):
    %r1 = relay.reshape %s {newshape = array<i64: 3, 2>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    relay.yield %r1 : tensor<3x2xf32>
  }
  %b = relay.on_device %2 {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %3 = relay.fused %b attributes {reshape_only} : (tensor<3x2xf32>) -> tensor<6xf32> {
  ^bb0(%t: tensor<3x2xf32>):
    %r2 = relay.reshape %t {newshape = array<i64: 2, 3>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %r3 = relay.reshape %r2 {newshape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
    relay.yield %r3 : tensor<6xf32>
  }
  %4 = relay.fused %3 : (tensor<6xf32>) -> tensor<2x3xf32> {
  ^bb0(%u: tensor<6xf32>):
    %r4 = relay.reshape %u {newshape = array<i64: 2, 3>} : (tensor<6xf32>) -> tensor<2x3xf32>
    relay.yield %r4 : tensor<2x3xf32>
  }
  %5 = relay.reshape %4 {newshape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  return %5 : tensor<6xf32>
}

// Only @main.
// CHECK-LABEL: func.func @keep_other
// CHECK: reshape_only
func.func @keep_other(%x: tensor<2x3xf32>) -> tensor<?xf32> {
  %1 = relay.fused %x : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%q: tensor<2x3xf32>):
    %e = relay.exp %q : (tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %e : tensor<2x3xf32>
  }
  %2 = relay.fused %1 attributes {reshape_only} : (tensor<2x3xf32>) -> tensor<?xf32> {
  ^bb0(%s: tensor<2x3xf32>):
    %r1 = relay.reshape %s {newshape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<?xf32>
    relay.yield %r1 : tensor<?xf32>
  }
  return %2 : tensor<?xf32>
}
