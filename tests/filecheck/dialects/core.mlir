// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @core(%x: tensor<2xf32>, %t: tuple<tensor<2xf32>, tuple<>>) {
// CHECK-LABEL: func.func @core(%x: tensor<2xf32>, %t: tuple<tensor<2xf32>, tuple<>>) {
  %scalar = relay.constant dense<1.500000e+00> : tensor<f32>
  // CHECK-NEXT: %scalar = relay.constant dense<1.500000e+00> : tensor<f32>
  %bools = relay.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-NEXT: %bools = relay.constant dense<[true, false]> : tensor<2xi1>
  %bytes = relay.constant dense<[0, 255]> : tensor<2xui8>
  // CHECK-NEXT: %bytes = relay.constant dense<[0, 255]> : tensor<2xui8>
  %half = relay.constant dense<2.500000e-01> : tensor<3xbf16>
  // CHECK-NEXT: %half = relay.constant dense<2.500000e-01> : tensor<3xbf16>
  %splat = relay.constant dense<0.000000e+00> : tensor<64x64xf32>
  // CHECK-NEXT: %splat = relay.constant dense<0.000000e+00> : tensor<64x64xf32>
  %empty = relay.constant dense<> : tensor<0x3xf32>
  // CHECK-NEXT: %empty = relay.constant dense<> : tensor<0x3xf32>
  %large = relay.constant #relay.blob<"8f14e45fceea167a5a36dedd4bea2543"> : tensor<64x3x7x7xf32>
  // CHECK-NEXT: %large = relay.constant #relay.blob<"8f14e45fceea167a5a36dedd4bea2543"> : tensor<64x3x7x7xf32>
  %pair = relay.tuple %x, %scalar : (tensor<2xf32>, tensor<f32>) -> tuple<tensor<2xf32>, tensor<f32>>
  // CHECK-NEXT: %pair = relay.tuple %x, %scalar : (tensor<2xf32>, tensor<f32>) -> tuple<tensor<2xf32>, tensor<f32>>
  %unit = relay.tuple : () -> tuple<>
  // CHECK-NEXT: %unit = relay.tuple : () -> tuple<>
  %field = relay.tuple_get_item %t[0] : (tuple<tensor<2xf32>, tuple<>>) -> tensor<2xf32>
  // CHECK-NEXT: %field = relay.tuple_get_item %t[0] : (tuple<tensor<2xf32>, tuple<>>) -> tensor<2xf32>
  %inner = relay.tuple_get_item %t[1] : (tuple<tensor<2xf32>, tuple<>>) -> tuple<>
  // CHECK-NEXT: %inner = relay.tuple_get_item %t[1] : (tuple<tensor<2xf32>, tuple<>>) -> tuple<>
  %ref = relay.ref_create %x : (tensor<2xf32>) -> !relay.ref<tensor<2xf32>>
  // CHECK-NEXT: %ref = relay.ref_create %x : (tensor<2xf32>) -> !relay.ref<tensor<2xf32>>
  %read = relay.ref_read %ref : (!relay.ref<tensor<2xf32>>) -> tensor<2xf32>
  // CHECK-NEXT: %read = relay.ref_read %ref : (!relay.ref<tensor<2xf32>>) -> tensor<2xf32>
  %done = relay.ref_write %ref, %read : (!relay.ref<tensor<2xf32>>, tensor<2xf32>) -> tuple<>
  // CHECK-NEXT: %done = relay.ref_write %ref, %read : (!relay.ref<tensor<2xf32>>, tensor<2xf32>) -> tuple<>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }

func.func @bodies(%x: tensor<2x3xf32>) {
// CHECK-LABEL: func.func @bodies(%x: tensor<2x3xf32>) {
  %fused = relay.fused %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %fused = relay.fused %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<2x3xf32>, %q: tensor<2x3xf32>):
  // CHECK-NEXT: ^bb0(%p: tensor<2x3xf32>, %q: tensor<2x3xf32>):
    %sum = relay.add %p, %q : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: %sum = relay.add %p, %q : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %sum : tensor<2x3xf32>
    // CHECK-NEXT: relay.yield %sum : tensor<2x3xf32>
  }
  // CHECK-NEXT: }
  %flat = relay.fused %x attributes {reshape_only} : (tensor<2x3xf32>) -> tensor<6xf32> {
  // CHECK-NEXT: %flat = relay.fused %x attributes {reshape_only} : (tensor<2x3xf32>) -> tensor<6xf32> {
  ^bb0(%p: tensor<2x3xf32>):
  // CHECK-NEXT: ^bb0(%p: tensor<2x3xf32>):
    %reshaped = relay.reshape %p {newshape = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<6xf32>
    // CHECK-NEXT: %reshaped = relay.reshape %p {newshape = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<6xf32>
    relay.yield %reshaped : tensor<6xf32>
    // CHECK-NEXT: relay.yield %reshaped : tensor<6xf32>
  }
  // CHECK-NEXT: }
  %filled = relay.fused : () -> tensor<2xf32> {
  // CHECK-NEXT: %filled = relay.fused : () -> tensor<2xf32> {
    %ones = relay.ones {shape = array<i64: 2>, dtype = f32} : tensor<2xf32>
    // CHECK-NEXT: %ones = relay.ones {shape = array<i64: 2>, dtype = f32} : tensor<2xf32>
    relay.yield %ones : tensor<2xf32>
    // CHECK-NEXT: relay.yield %ones : tensor<2xf32>
  }
  // CHECK-NEXT: }
  %composite = relay.composite "dnnl.exp" %x : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %composite = relay.composite "dnnl.exp" %x : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<2x3xf32>):
  // CHECK-NEXT: ^bb0(%p: tensor<2x3xf32>):
    %exp = relay.exp %p : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: %exp = relay.exp %p : (tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %exp : tensor<2x3xf32>
    // CHECK-NEXT: relay.yield %exp : tensor<2x3xf32>
  }
  // CHECK-NEXT: }
  %matched = relay.composite "dnnl.log" %x attributes {partitioned_from_pattern = "log_"} : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: %matched = relay.composite "dnnl.log" %x attributes {partitioned_from_pattern = "log_"} : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<2x3xf32>):
  // CHECK-NEXT: ^bb0(%p: tensor<2x3xf32>):
    %log = relay.log %p : (tensor<2x3xf32>) -> tensor<2x3xf32>
    // CHECK-NEXT: %log = relay.log %p : (tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %log : tensor<2x3xf32>
    // CHECK-NEXT: relay.yield %log : tensor<2x3xf32>
  }
  // CHECK-NEXT: }
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
