// RUN: xdsl-opt -p 'convert-layout{desired-layouts="nn.conv2d:NHWC:default"}' %s | filecheck %s
// RUN: xdsl-opt -p 'convert-layout{desired-layouts="nn.conv2d:NHWC:default"},convert-layout{desired-layouts="nn.conv2d:NHWC:default"}' %s | filecheck %s
// RUN: xdsl-opt -p 'convert-layout{desired-layouts="nn.conv2d:HWNC:default" skip=0}' %s | filecheck %s --check-prefix SKIP
// RUN: xdsl-opt -p 'convert-layout{desired-layouts="nn.conv2d:NCHW2c:OIHW2i2o","relay.nn.max_pool2d:NHWC"}' %s | filecheck %s --check-prefix BLOCK
// RUN: xdsl-opt -p 'convert-layout{desired-layouts="qnn.conv2d:NHWC:default"}' %s | filecheck %s --check-prefix QNN
// RUN: xdsl-opt -p 'convert-layout' %s | filecheck %s --check-prefix EMPTY

// Of the scenario of TVM's test of LayoutConfig, with smaller images.
// CHECK-LABEL: func.func @layers
// CHECK-NEXT: relay.nn.conv2d %x, %w {{.*}}data_layout = "NHWC", kernel_layout = "HWIO"
// CHECK-NEXT: relay.nn.relu
// CHECK-NEXT: relay.nn.conv2d {{.*}}data_layout = "NHWC", kernel_layout = "HWIO"
// CHECK-NEXT: relay.nn.relu
// CHECK-NEXT: func.return
// SKIP-LABEL: func.func @layers
// SKIP-NEXT: [[C0:%.*]] = relay.nn.conv2d %x, %w {{.*}}data_layout = "NHWC", kernel_layout = "HWIO"
// SKIP-NEXT: [[R0:%.*]] = relay.nn.relu [[C0]]
// SKIP-NEXT: [[X1:%.*]] = relay.layout_transform [[R0]] {src_layout = "NHWC", dst_layout = "HWNC"}
// SKIP-NEXT: [[W1:%.*]] = relay.layout_transform %v {src_layout = "HWIO", dst_layout = "HWOI"}
// SKIP-NEXT: [[C1:%.*]] = relay.nn.conv2d [[X1]], [[W1]] {{.*}}data_layout = "HWNC", kernel_layout = "HWOI"
// SKIP-NEXT: [[R1:%.*]] = relay.nn.relu [[C1]]
// SKIP-NEXT: [[Y:%.*]] = relay.layout_transform [[R1]] {src_layout = "HWNC", dst_layout = "NHWC"}
// SKIP-NEXT: func.return [[Y]]
// BLOCK-LABEL: func.func @layers
// BLOCK-NEXT: [[X0:%.*]] = relay.layout_transform %x {src_layout = "NHWC", dst_layout = "NCHW2c"} : (tensor<1x6x6x4xf32>) -> tensor<1x2x6x6x2xf32>
// BLOCK-NEXT: [[W0:%.*]] = relay.layout_transform %w {src_layout = "HWIO", dst_layout = "OIHW2i2o"} : (tensor<3x3x4x4xf32>) -> tensor<2x2x3x3x2x2xf32>
// BLOCK-NEXT: [[C0:%.*]] = relay.nn.contrib_conv2d_NCHWc [[X0]], [[W0]] {{.*}}data_layout = "NCHW2c", kernel_layout = "OIHW2i2o"
// BLOCK-NEXT: [[R0:%.*]] = relay.nn.relu [[C0]]
// BLOCK-NEXT: [[W1:%.*]] = relay.layout_transform %v {src_layout = "HWIO", dst_layout = "OIHW2i2o"}
// BLOCK-NEXT: [[C1:%.*]] = relay.nn.contrib_conv2d_NCHWc [[R0]], [[W1]]
// BLOCK-NEXT: [[R1:%.*]] = relay.nn.relu [[C1]]
// BLOCK-NEXT: [[Y:%.*]] = relay.layout_transform [[R1]] {src_layout = "NCHW2c", dst_layout = "NHWC"}
// BLOCK-NEXT: func.return [[Y]]
// EMPTY-LABEL: func.func @layers
// EMPTY-NOT: relay.layout_transform
func.func @layers(%x: tensor<1x6x6x4xf32>, %w: tensor<3x3x4x4xf32>, %v: tensor<3x3x4x4xf32>) -> tensor<1x6x6x4xf32> {
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x6x6x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x6x6x4xf32>
  %1 = relay.nn.relu %0 : (tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  %2 = relay.nn.conv2d %1, %v {padding = array<i64: 1, 1>, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x6x6x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x6x6x4xf32>
  %3 = relay.nn.relu %2 : (tensor<1x6x6x4xf32>) -> tensor<1x6x6x4xf32>
  return %3 : tensor<1x6x6x4xf32>
}

// A layout of its own for the pool, which is transformed to; and operators that do not follow.
// CHECK-LABEL: func.func @ends
// CHECK-NEXT: [[X:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NHWC"}
// CHECK-NEXT: [[W:%.*]] = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "HWIO"}
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d [[X]], [[W]]
// CHECK-NEXT: [[P:%.*]] = relay.nn.max_pool2d [[C]] {{.*}}layout = "NHWC"}
// CHECK-NEXT: [[Y:%.*]] = relay.layout_transform [[P]] {src_layout = "NHWC", dst_layout = "NCHW"}
// CHECK-NEXT: relay.nn.bias_add [[Y]], %b
// CHECK-NEXT: relay.nn.batch_flatten [[Y]]
// SKIP-LABEL: func.func @ends
// SKIP: relay.nn.conv2d {{.*}}data_layout = "HWNC"
// BLOCK-LABEL: func.func @ends
// BLOCK: [[C:%.*]] = relay.nn.contrib_conv2d_NCHWc
// BLOCK-NEXT: [[T:%.*]] = relay.layout_transform [[C]] {src_layout = "NCHW2c", dst_layout = "NHWC"}
// BLOCK-NEXT: [[P:%.*]] = relay.nn.max_pool2d [[T]] {{.*}}layout = "NHWC", out_layout = "NHWC"}
// BLOCK-NEXT: [[Y:%.*]] = relay.layout_transform [[P]] {src_layout = "NHWC", dst_layout = "NCHW"}
func.func @ends(%x: tensor<1x4x6x6xf32>, %w: tensor<4x4x1x1xf32>, %b: tensor<4xf32>) -> (tensor<1x4x5x5xf32>, tensor<1x100xf32>) {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %1 = relay.nn.max_pool2d %0 {pool_size = array<i64: 2, 2>} : (tensor<1x4x6x6xf32>) -> tensor<1x4x5x5xf32>
  %2 = relay.nn.bias_add %1, %b : (tensor<1x4x5x5xf32>, tensor<4xf32>) -> tensor<1x4x5x5xf32>
  %3 = relay.nn.batch_flatten %1 : (tensor<1x4x5x5xf32>) -> tensor<1x100xf32>
  return %2, %3 : tensor<1x4x5x5xf32>, tensor<1x100xf32>
}

// Channels that are no multiple of a block stay, and bodies that belong to others.
// BLOCK-LABEL: func.func @keep_channels
// BLOCK-NEXT: relay.nn.conv2d %x, %w :
// BLOCK-NEXT: func.return
func.func @keep_channels(%x: tensor<1x3x4x4xf32>, %w: tensor<4x3x1x1xf32>) -> tensor<1x4x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// CHECK-LABEL: func.func @keep_compiler
// CHECK-NEXT: relay.nn.conv2d %x, %w :
// CHECK-NEXT: func.return
func.func @keep_compiler(%x: tensor<1x2x4x4xf32>, %w: tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32> attributes {Compiler = "a"} {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// The weights of quantized convolutions, too, have another layout where every channel is a group.
// QNN-LABEL: func.func @quantized
// QNN: [[W:%.*]] = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "HWOI"} : (tensor<4x1x3x3xi8>) -> tensor<3x3x4x1xi8>
// QNN-NEXT: relay.qnn.conv2d {{.*}}, [[W]], {{.*}}data_layout = "NHWC", kernel_layout = "HWOI"
// QNN: [[V:%.*]] = relay.layout_transform %v {src_layout = "OIHW", dst_layout = "HWIO"} : (tensor<4x2x3x3xi8>) -> tensor<3x3x2x4xi8>
// QNN-NEXT: relay.qnn.conv2d {{.*}}, [[V]], {{.*}}data_layout = "NHWC", kernel_layout = "HWIO"
func.func @quantized(%x: tensor<1x4x6x6xi8>, %w: tensor<4x1x3x3xi8>, %v: tensor<4x2x3x3xi8>, %z: tensor<i32>, %s: tensor<f32>) -> (tensor<1x4x4x4xi32>, tensor<1x4x4x4xi32>) {
  %0 = relay.qnn.conv2d %x, %w, %z, %z, %s, %s {groups = 4 : i64} : (tensor<1x4x6x6xi8>, tensor<4x1x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x4x4x4xi32>
  %1 = relay.qnn.conv2d %x, %v, %z, %z, %s, %s {groups = 2 : i64} : (tensor<1x4x6x6xi8>, tensor<4x2x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x4x4x4xi32>
  return %0, %1 : tensor<1x4x4x4xi32>, tensor<1x4x4x4xi32>
}
