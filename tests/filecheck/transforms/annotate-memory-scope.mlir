// RUN: xrelay-opt -p 'annotate-memory-scope{default-device=4}' %s | filecheck %s
// RUN: xrelay-opt -p 'annotate-memory-scope{default-device=4},annotate-memory-scope{default-device=4}' %s | filecheck %s
// RUN: xrelay-opt -p 'annotate-memory-scope{default-device=4},plan-devices{default-device=4}' %s | filecheck %s --check-prefix PLAN
// RUN: xrelay-opt -p annotate-memory-scope %s | filecheck %s --check-prefix CPU
// RUN: xrelay-opt -p 'annotate-memory-scope{default-device=4 limit=30}' %s | filecheck %s --check-prefix LIMIT
// RUN: xrelay-opt -p 'annotate-memory-scope{device-type=1}' %s | filecheck %s --check-prefix TYPE
// RUN: not xrelay-opt -p 'annotate-memory-scope{limit=0}' %s 2>&1 | filecheck %s --check-prefix ZERO

// ZERO: pass 'annotate-memory-scope': 'limit' is 0, expected at least 1
// TYPE: relay.device_copy %x {src_virtual_device = #relay.virtual_device<1 : i64,
// CPU-NOT: on_device
// CPU-NOT: device_copy

// The parameter is copied into a texture of 32 x 16; what the pool computes lies in one of 16 x 8, as the relu uses it; the
// last function returns its result.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[C:%.*]] = relay.device_copy %x {src_virtual_device = #relay.virtual_device<4 : i64, 0 : i64, "global", unit>, dst_virtual_device = #relay.virtual_device<4 : i64, 0 : i64, "global.texture", unit>}
// CHECK-NEXT: [[P:%.*]] = relay.fused [[C]] :
// CHECK: [[T:%.*]] = relay.on_device [[P]] {virtual_device = #relay.virtual_device<4 : i64, 0 : i64, "global.texture", unit>, constrain_result = true}
// CHECK: [[R:%.*]] = relay.fused [[T]] :
// CHECK: [[G:%.*]] = relay.on_device [[R]] {virtual_device = #relay.virtual_device<4 : i64, 0 : i64, "global", unit>, constrain_result = true}
// CHECK: [[F:%.*]] = relay.fused [[G]] :
// CHECK: func.return [[F]]

// PLAN-LABEL: func.func @main(%x: tensor<1x2x16x16x4xf32> {virtual_device = #relay.virtual_device<4 : i64, 0 : i64, "global", unit>})
// PLAN: relay.device_copy %x
// PLAN: relay.on_device {{.*}}"global.texture", unit>, constrain_result = true}

// What does not fit into a texture, however it is split, is in none.
// LIMIT-LABEL: func.func @main
// LIMIT-NEXT: relay.fused %x
// LIMIT: relay.on_device {{.*}}"global.texture"
func.func @main(%x: tensor<1x2x16x16x4xf32>) -> tensor<1x8x8x8xf32> {
  %0 = relay.fused %x : (tensor<1x2x16x16x4xf32>) -> tensor<1x2x8x8x4xf32> {
  ^bb0(%p: tensor<1x2x16x16x4xf32>):
    %1 = relay.nn.max_pool2d %p {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NCHW4c"} : (tensor<1x2x16x16x4xf32>) -> tensor<1x2x8x8x4xf32>
    relay.yield %1 : tensor<1x2x8x8x4xf32>
  }
  %2 = relay.fused %0 : (tensor<1x2x8x8x4xf32>) -> tensor<1x2x8x8x4xf32> {
  ^bb0(%q: tensor<1x2x8x8x4xf32>):
    %3 = relay.nn.relu %q : (tensor<1x2x8x8x4xf32>) -> tensor<1x2x8x8x4xf32>
    relay.yield %3 : tensor<1x2x8x8x4xf32>
  }
  %4 = relay.fused %2 : (tensor<1x2x8x8x4xf32>) -> tensor<1x8x8x8xf32> {
  ^bb0(%r: tensor<1x2x8x8x4xf32>):
    %5 = relay.layout_transform %r {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x8x8x4xf32>) -> tensor<1x8x8x8xf32>
    relay.yield %5 : tensor<1x8x8x8xf32>
  }
  return %4 : tensor<1x8x8x8xf32>
}

// The even split decides; a constant lies in a texture of its own, and one that others use as well in none.
// CHECK-LABEL: func.func @splits
// CHECK-NEXT: [[W:%.*]] = relay.constant
// CHECK-NEXT: [[T:%.*]] = relay.on_device [[W]] {virtual_device = #relay.virtual_device<4 : i64, 0 : i64, "global.texture-weight", unit>, constrain_result = true}
// CHECK-NEXT: [[C:%.*]] = relay.device_copy %x {{.*}}"global.texture-nhwc", unit>}
// CHECK-NEXT: relay.fused [[C]], [[T]] :
// CHECK: relay.on_device {{.*}}"global", unit>
// CHECK: relay.exp
func.func @splits(%x: tensor<8x2x4x4x4xf32>) -> tensor<8x2x4x4x4xf32> {
  %w = relay.constant dense<1.0> : tensor<8x2x2x2x4xf32>
  %0 = relay.fused %x, %w : (tensor<8x2x4x4x4xf32>, tensor<8x2x2x2x4xf32>) -> tensor<8x2x4x4x4xf32> {
  ^bb0(%p: tensor<8x2x4x4x4xf32>, %q: tensor<8x2x2x2x4xf32>):
    %1 = relay.nn.relu %p : (tensor<8x2x4x4x4xf32>) -> tensor<8x2x4x4x4xf32>
    relay.yield %1 : tensor<8x2x4x4x4xf32>
  }
  %2 = relay.exp %0 : (tensor<8x2x4x4x4xf32>) -> tensor<8x2x4x4x4xf32>
  return %2 : tensor<8x2x4x4x4xf32>
}

// The last axis of a texture has length 4: what has another one lies where all can use it.
// CHECK-LABEL: func.func @no_other_lengths
// CHECK-NEXT: [[F:%.*]] = relay.fused %x :
// CHECK: relay.on_device [[F]] {virtual_device = #relay.virtual_device<4 : i64, 0 : i64, "global", unit>
func.func @no_other_lengths(%x: tensor<1x2x16x16x3xf32>) -> tensor<1x2x16x16x3xf32> {
  %0 = relay.fused %x : (tensor<1x2x16x16x3xf32>) -> tensor<1x2x16x16x3xf32> {
  ^bb0(%p: tensor<1x2x16x16x3xf32>):
    %1 = relay.nn.relu %p : (tensor<1x2x16x16x3xf32>) -> tensor<1x2x16x16x3xf32>
    relay.yield %1 : tensor<1x2x16x16x3xf32>
  }
  return %0 : tensor<1x2x16x16x3xf32>
}

// CHECK-LABEL: func.func @keep_four_axes
// CHECK-NEXT: [[F:%.*]] = relay.fused %x :
// CHECK: func.return [[F]]
func.func @keep_four_axes(%x: tensor<2x16x16x4xf32>) -> tensor<2x16x16x4xf32> {
  %0 = relay.fused %x : (tensor<2x16x16x4xf32>) -> tensor<2x16x16x4xf32> {
  ^bb0(%p: tensor<2x16x16x4xf32>):
    %1 = relay.nn.relu %p : (tensor<2x16x16x4xf32>) -> tensor<2x16x16x4xf32>
    relay.yield %1 : tensor<2x16x16x4xf32>
  }
  return %0 : tensor<2x16x16x4xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK-NEXT: [[F:%.*]] = relay.fused %x :
// CHECK: func.return [[F]]
func.func @keep_function_of_a_compiler(%x: tensor<1x2x16x16x4xf32>) -> tensor<1x2x16x16x4xf32> attributes {Compiler = "a"} {
  %0 = relay.fused %x : (tensor<1x2x16x16x4xf32>) -> tensor<1x2x16x16x4xf32> {
  ^bb0(%p: tensor<1x2x16x16x4xf32>):
    %1 = relay.nn.relu %p : (tensor<1x2x16x16x4xf32>) -> tensor<1x2x16x16x4xf32>
    relay.yield %1 : tensor<1x2x16x16x4xf32>
  }
  return %0 : tensor<1x2x16x16x4xf32>
}
