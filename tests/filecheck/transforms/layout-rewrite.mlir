// RUN: xdsl-opt -p 'layout-rewrite{weights="nn.dense:NC4n","relay.nn.conv2d:HWIO"}' %s | filecheck %s
// RUN: xdsl-opt -p 'layout-rewrite{weights="nn.dense:NC4n","nn.conv2d:HWIO"},layout-rewrite{weights="nn.dense:NC4n","nn.conv2d:HWIO"}' %s | filecheck %s
// RUN: xdsl-opt -p 'layout-rewrite{weights="nn.dense:NC4n"},defuse-ops,fold-constant,fuse-ops' %s | filecheck %s --check-prefix FOLD
// RUN: not xrelay-opt -p 'layout-rewrite{weights="nn.dense"}' %s 2>&1 | filecheck %s --check-prefix EMPTY
// RUN: not xrelay-opt -p 'layout-rewrite{weights="nn.dense:N4nC"}' %s 2>&1 | filecheck %s --check-prefix ORDER
// RUN: not xrelay-opt -p 'layout-rewrite{weights="nn.conv2d:OIHW4w"}' %s 2>&1 | filecheck %s --check-prefix SPLIT
// RUN: not xrelay-opt -p 'layout-rewrite{weights="nn.relu:NC"}' %s 2>&1 | filecheck %s --check-prefix NAME

// EMPTY: pass 'layout-rewrite': 'weights' has 'nn.dense', where 'layout' is "", expected axes in upper case
// ORDER: pass 'layout-rewrite': 'weights' has 'nn.dense:N4nC', expected a layout like NC16n
// SPLIT: pass 'layout-rewrite': 'weights' has 'nn.conv2d:OIHW4w', where 'layout' is "OIHW4w", which splits W; only OI may be split
// NAME: pass 'layout-rewrite': 'weights' has 'nn.relu:NC', expected one of nn.batch_matmul, nn.conv2d, nn.conv3d, nn.dense, nn.matmul and a layout

// CHECK-LABEL: func.func @dense
// CHECK: relay.fused %x, [[W:%.*]] : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32> {
// CHECK-NEXT: ^bb0([[A:%.*]]: tensor<2x3xf32>, [[B:%.*]]: tensor<8x3xf32>):
// CHECK-NEXT: [[P:%.*]] = relay.layout_transform [[B]] {src_layout = "NC", dst_layout = "NC4n"} : (tensor<8x3xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[D:%.*]] = relay.nn.contrib_dense_pack [[A]], [[P]] {units = 8 : i64}
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu [[D]]
// CHECK-NEXT: relay.yield [[R]]
// FOLD-LABEL: func.func @dense
// FOLD-NOT: relay.layout_transform
// FOLD: relay.constant {{.*}} : tensor<2x3x4xf32>
// FOLD-NOT: relay.layout_transform
// FOLD: relay.nn.contrib_dense_pack
// FOLD-NEXT: relay.nn.relu
// FOLD-NEXT: relay.yield
func.func @dense(%x: tensor<2x3xf32>) -> tensor<2x8xf32> {
  %w = relay.constant dense<0.5> : tensor<8x3xf32>
  %0 = relay.fused %x, %w : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<8x3xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32>
    %2 = relay.nn.relu %1 : (tensor<2x8xf32>) -> tensor<2x8xf32>
    relay.yield %2 : tensor<2x8xf32>
  }
  return %0 : tensor<2x8xf32>
}

// A constant in the body, and one that is in the layout already.
// CHECK-LABEL: func.func @convolutions
// CHECK: [[C:%.*]] = relay.constant
// CHECK-NEXT: [[T:%.*]] = relay.layout_transform [[C]] {src_layout = "OIHW", dst_layout = "HWIO"}
// CHECK-NEXT: [[O:%.*]] = relay.nn.conv2d {{%.*}}, [[T]] {{.*}}kernel_layout = "HWIO"
// CHECK-NEXT: [[D:%.*]] = relay.constant
// CHECK-NEXT: relay.nn.conv2d [[O]], [[D]] {{.*}}kernel_layout = "HWIO"
func.func @convolutions(%x: tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xf32> {
  %0 = relay.fused %x : (tensor<1x2x4x4xf32>) -> tensor<1x3x4x4xf32> {
  ^bb0(%a: tensor<1x2x4x4xf32>):
    %w = relay.constant dense<2.0> : tensor<3x2x1x1xf32>
    %1 = relay.nn.conv2d %a, %w : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x4xf32>
    %v = relay.constant dense<2.0> : tensor<1x1x3x3xf32>
    %2 = relay.nn.conv2d %1, %v {kernel_layout = "HWIO"} : (tensor<1x3x4x4xf32>, tensor<1x1x3x3xf32>) -> tensor<1x3x4x4xf32>
    relay.yield %2 : tensor<1x3x4x4xf32>
  }
  return %0 : tensor<1x3x4x4xf32>
}

// A weight that is a parameter; rows that are no multiple of a block; data that is no matrix; no kernel.
// CHECK-LABEL: func.func @keep
// CHECK-NOT: relay.layout_transform
// CHECK-NOT: relay.nn.contrib_dense_pack
// CHECK: func.return
func.func @keep(%x: tensor<2x3xf32>, %p: tensor<8x3xf32>, %z: tensor<1x2x3xf32>) -> (tensor<2x8xf32>, tensor<2x6xf32>, tensor<1x2x8xf32>, tensor<2x8xf32>) {
  %w = relay.constant dense<0.5> : tensor<6x3xf32>
  %v = relay.constant dense<0.5> : tensor<8x3xf32>
  %0 = relay.fused %x, %p : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<8x3xf32>):
    %d = relay.nn.dense %a, %b : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32>
    relay.yield %d : tensor<2x8xf32>
  }
  %1 = relay.fused %x, %w : (tensor<2x3xf32>, tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<6x3xf32>):
    %d = relay.nn.dense %a, %b : (tensor<2x3xf32>, tensor<6x3xf32>) -> tensor<2x6xf32>
    relay.yield %d : tensor<2x6xf32>
  }
  %2 = relay.fused %z, %v : (tensor<1x2x3xf32>, tensor<8x3xf32>) -> tensor<1x2x8xf32> {
  ^bb0(%a: tensor<1x2x3xf32>, %b: tensor<8x3xf32>):
    %d = relay.nn.dense %a, %b : (tensor<1x2x3xf32>, tensor<8x3xf32>) -> tensor<1x2x8xf32>
    relay.yield %d : tensor<1x2x8xf32>
  }
  %3 = relay.nn.dense %x, %v : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32>
  return %0, %1, %2, %3 : tensor<2x8xf32>, tensor<2x6xf32>, tensor<1x2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: func.func @keep_composite
// CHECK-NOT: relay.layout_transform
func.func @keep_composite(%x: tensor<2x3xf32>) -> tensor<2x8xf32> {
  %w = relay.constant dense<0.5> : tensor<8x3xf32>
  %0 = relay.fused %x, %w : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<8x3xf32>):
    %1 = relay.composite "a.dense" %a, %b : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32> {
    ^bb0(%c: tensor<2x3xf32>, %d: tensor<8x3xf32>):
      %2 = relay.nn.dense %c, %d : (tensor<2x3xf32>, tensor<8x3xf32>) -> tensor<2x8xf32>
      relay.yield %2 : tensor<2x8xf32>
    }
    relay.yield %1 : tensor<2x8xf32>
  }
  return %0 : tensor<2x8xf32>
}
