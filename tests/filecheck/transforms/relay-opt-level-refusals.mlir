// RUN: xdsl-opt -p relay-opt-level-0 %s | filecheck %s
// RUN: xdsl-opt -p relay-opt-level-1 %s | filecheck %s
// RUN: xdsl-opt -p relay-opt-level-2 %s | filecheck %s
// RUN: xdsl-opt -p relay-opt-level-3 %s | filecheck %s
// What no level changes, whatever is around it.

// An opaque operator is a kernel of its own, without what is elementwise in front of it and behind it.
// CHECK-LABEL: func.func @main
// CHECK:      relay.fused %x :
// CHECK:        relay.exp %p0 :
// CHECK-NEXT:   relay.yield
// CHECK:      relay.fused
// CHECK-NEXT: ^bb0(
// CHECK-NEXT:   [[S:%.*]] = relay.argsort %p0 :
// CHECK-NEXT:   relay.yield [[S]]
// CHECK:      relay.fused
// CHECK:        relay.cast %p0
// CHECK-NEXT:   relay.yield
// CHECK:      func.call @keep_vendor(

// What another compiler takes stays as it is, sums of constants in it too.
// CHECK-LABEL: func.func private @keep_vendor
// CHECK-NEXT: [[ONE:%.*]] = relay.constant dense<1.000000e+00> : tensor<1xf32>
// CHECK-NEXT: [[TWO:%.*]] = relay.add [[ONE]], [[ONE]] :
// CHECK-NEXT: [[X:%.*]] = relay.add %x, [[TWO]] :
// CHECK-NEXT: func.return [[X]]
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relay.exp %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relay.argsort %0 : (tensor<2x2xf32>) -> tensor<2x2xi32>
  %2 = relay.cast %1 {dtype = f32} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %3 = func.call @keep_vendor(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

func.func private @keep_vendor(%x: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {Compiler = "a", Primitive = 1 : i32} {
  %one = relay.constant dense<1.0> : tensor<1xf32>
  %two = relay.add %one, %one : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  %0 = relay.add %x, %two : (tensor<2x2xf32>, tensor<1xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
