// RUN: not xrelay-opt -p 'layout-rewrite{weights="nn.conv2d:winograd9"}' %s 2>&1 | filecheck %s --check-prefix TILE
// RUN: xdsl-opt -p 'layout-rewrite{weights="nn.conv2d:winograd2"}' %s | filecheck %s

// TILE: pass 'layout-rewrite': 'weights' has 'nn.conv2d:winograd9', expected winograd2 to winograd8

// CHECK-LABEL: func.func @tiles
// CHECK: relay.fused %x, [[W:%.*]] : (tensor<1x2x6x6xf32>, tensor<4x2x3x3xf32>)
// CHECK-NEXT: ^bb0([[A:%.*]]: tensor<1x2x6x6xf32>, [[B:%.*]]: tensor<4x2x3x3xf32>):
// CHECK-NEXT: [[T:%.*]] = relay.nn.contrib_conv2d_winograd_weight_transform [[B]] {tile_size = 2 : i64} : (tensor<4x2x3x3xf32>) -> tensor<4x4x4x2xf32>
// CHECK-NEXT: [[S:%.*]] = relay.transpose [[T]] {axes = array<i64: 0, 1, 3, 2>} : (tensor<4x4x4x2xf32>) -> tensor<4x4x2x4xf32>
// CHECK-NEXT: [[C:%.*]] = relay.nn.contrib_conv2d_winograd_without_weight_transform [[A]], [[S]] {tile_size = 2 : i64} : (tensor<1x2x6x6xf32>, tensor<4x4x2x4xf32>) -> tensor<1x4x4x4xf32>
// CHECK-NEXT: relay.yield [[C]]
func.func @tiles(%x: tensor<1x2x6x6xf32>) -> tensor<1x4x4x4xf32> {
  %w = relay.constant dense<0.5> : tensor<4x2x3x3xf32>
  %0 = relay.fused %x, %w : (tensor<1x2x6x6xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x4x4xf32> {
  ^bb0(%a: tensor<1x2x6x6xf32>, %b: tensor<4x2x3x3xf32>):
    %1 = relay.nn.conv2d %a, %b : (tensor<1x2x6x6xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x4x4xf32>
    relay.yield %1 : tensor<1x4x4x4xf32>
  }
  return %0 : tensor<1x4x4x4xf32>
}
