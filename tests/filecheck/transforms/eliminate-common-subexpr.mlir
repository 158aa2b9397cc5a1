// RUN: xdsl-opt -p eliminate-common-subexpr %s | filecheck %s
// RUN: xdsl-opt -p eliminate-common-subexpr,eliminate-common-subexpr %s | filecheck %s
// RUN: xdsl-opt -p 'eliminate-common-subexpr{skip="relay.cast"}' %s | filecheck %s --check-prefix=SKIP

// CHECK-LABEL: func.func @simple
// CHECK-NEXT: [[A:%.*]] = relay.exp %x
// CHECK-NEXT: [[C:%.*]] = relay.constant
// CHECK-NEXT: [[B:%.*]] = relay.add [[A]], [[C]]
// CHECK-NEXT: relay.constant
// CHECK-NEXT: relay.multiply [[B]], [[B]]
func.func @simple(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %c = relay.constant dense<1.0> : tensor<f32>
  %1 = relay.add %0, %c : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %d = relay.constant dense<1.0> : tensor<f32>
  %3 = relay.add %2, %d : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = relay.multiply %1, %3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// CHECK-LABEL: func.func @fields
// CHECK-NEXT: relay.split
// CHECK-NEXT: [[A:%.*]] = relay.tuple_get_item
// CHECK-NEXT: relay.add [[A]], [[A]]
func.func @fields(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = relay.split %x {indices_or_sections = 2 : i64} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = relay.tuple_get_item %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %2 = relay.tuple_get_item %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %3 = relay.add %1, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// CHECK-LABEL: func.func @casts
// CHECK-NEXT: relay.cast
// CHECK-NEXT: relay.add
// SKIP-LABEL: func.func @casts
// SKIP-NEXT: relay.cast
// SKIP-NEXT: relay.cast
func.func @casts(%x: tensor<2xi8>) -> tensor<2xi32> {
  %0 = relay.cast %x {dtype = i32} : (tensor<2xi8>) -> tensor<2xi32>
  %1 = relay.cast %x {dtype = i32} : (tensor<2xi8>) -> tensor<2xi32>
  %2 = relay.add %0, %1 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}

// CHECK-LABEL: func.func @in_branches
// CHECK-NEXT: [[A:%.*]] = relay.exp %x
// CHECK-NEXT: scf.if
// CHECK-NEXT: scf.yield [[A]]
// CHECK-NEXT: } else {
// CHECK-NEXT: [[B:%.*]] = relay.tanh %x
// CHECK-NEXT: scf.yield [[B]]
// CHECK-NEXT: }
// CHECK-NEXT: relay.tanh
func.func @in_branches(%x: tensor<2xf32>, %p: i1) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = scf.if %p -> (tensor<2xf32>) {
    %2 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    %3 = relay.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %3 : tensor<2xf32>
  }
  %4 = relay.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_other_properties
// CHECK: relay.sum
// CHECK: relay.sum
func.func @keep_other_properties(%x: tensor<2x2xf32>) -> tensor<2xf32> {
  %0 = relay.sum %x {axis = array<i64: 0>} : (tensor<2x2xf32>) -> tensor<2xf32>
  %1 = relay.sum %x {axis = array<i64: 1>} : (tensor<2x2xf32>) -> tensor<2xf32>
  %2 = relay.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_effects
// CHECK: relay.ref_create
// CHECK: relay.ref_create
func.func @keep_effects(%x: tensor<f32>) -> (!relay.ref<tensor<f32>>, !relay.ref<tensor<f32>>) {
  %0 = relay.ref_create %x : (tensor<f32>) -> !relay.ref<tensor<f32>>
  %1 = relay.ref_create %x : (tensor<f32>) -> !relay.ref<tensor<f32>>
  return %0, %1 : !relay.ref<tensor<f32>>, !relay.ref<tensor<f32>>
}

// CHECK-LABEL: func.func @keep_fused
// CHECK: relay.exp
// CHECK: relay.exp
func.func @keep_fused(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.fused %x : (tensor<f32>) -> tensor<f32> {
  ^bb0(%p: tensor<f32>):
    %1 = relay.exp %p : (tensor<f32>) -> tensor<f32>
    %2 = relay.exp %p : (tensor<f32>) -> tensor<f32>
    %3 = relay.add %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %3 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK: relay.exp
// CHECK: relay.exp
func.func @keep_function_of_a_compiler(%x: tensor<f32>) -> tensor<f32> attributes {Compiler = "dnnl"} {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  %1 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  %2 = relay.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}
