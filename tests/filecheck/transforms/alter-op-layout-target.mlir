// RUN: xdsl-opt -p 'alter-op-layout{target=llvm lanes=8}' %s | filecheck %s
// RUN: xdsl-opt -p 'alter-op-layout{target=llvm lanes=8},alter-op-layout{target=llvm lanes=8}' %s | filecheck %s

// The largest blocks of at most 8 channels that divide them: of the result first, then of the image.
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT: [[X:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW3c"}
// CHECK-NEXT: [[W:%.*]] = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "OIHW3i6o"}
// CHECK-NEXT: [[C:%.*]] = relay.nn.contrib_conv2d_NCHWc [[X]], [[W]] {
// CHECK-SAME: data_layout = "NCHW3c", kernel_layout = "OIHW3i6o"
// CHECK-SAME: out_layout = "NCHW6c"
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu [[C]] : (tensor<1x3x4x4x6xf32>)
// CHECK-NEXT: [[Y:%.*]] = relay.layout_transform [[R]] {src_layout = "NCHW6c", dst_layout = "NCHW"}
// CHECK-NEXT: func.return [[Y]]
func.func @blocks(%x: tensor<1x9x4x4xf32>, %w: tensor<18x9x1x1xf32>) -> tensor<1x18x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x9x4x4xf32>, tensor<18x9x1x1xf32>) -> tensor<1x18x4x4xf32>
  %1 = relay.nn.relu %0 : (tensor<1x18x4x4xf32>) -> tensor<1x18x4x4xf32>
  return %1 : tensor<1x18x4x4xf32>
}

// Blocks of the image are no larger than those of the result.
// CHECK-LABEL: func.func @small_results
// CHECK: relay.nn.contrib_conv2d_NCHWc {{.*}}data_layout = "NCHW4c", kernel_layout = "OIHW4i6o"
func.func @small_results(%x: tensor<1x8x4x4xf32>, %w: tensor<6x8x1x1xf32>) -> tensor<1x6x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x8x4x4xf32>, tensor<6x8x1x1xf32>) -> tensor<1x6x4x4xf32>
  return %0 : tensor<1x6x4x4xf32>
}

// Of TVM's test of depthwise convolutions.
// CHECK-LABEL: func.func @depthwise
// CHECK-NEXT: [[X:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW8c"}
// CHECK-NEXT: [[W:%.*]] = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "OIHW1i8o"}
// CHECK-NEXT: [[C:%.*]] = relay.nn.contrib_depthwise_conv2d_NCHWc [[X]], [[W]] {
// CHECK-SAME: data_layout = "NCHW8c", kernel_layout = "OIHW1i8o"
// CHECK-SAME: out_layout = "NCHW8c"
// CHECK-NEXT: [[Y:%.*]] = relay.layout_transform [[C]] {src_layout = "NCHW8c", dst_layout = "NCHW"}
// CHECK-NEXT: func.return [[Y]]
func.func @depthwise(%x: tensor<1x32x6x6xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<1x32x6x6xf32> {
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>, channels = 32 : i64, kernel_size = array<i64: 3, 3>, groups = 32 : i64} : (tensor<1x32x6x6xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x6x6xf32>
  return %0 : tensor<1x32x6x6xf32>
}

// Blocks lie within groups.
// CHECK-LABEL: func.func @groups
// CHECK: relay.nn.contrib_conv2d_NCHWc {{.*}}data_layout = "NCHW3c", kernel_layout = "OIHW3i6o"
func.func @groups(%x: tensor<1x6x4x4xf32>, %w: tensor<12x3x1x1xf32>) -> tensor<1x12x4x4xf32> {
  %0 = relay.nn.conv2d %x, %w {groups = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<12x3x1x1xf32>) -> tensor<1x12x4x4xf32>
  return %0 : tensor<1x12x4x4xf32>
}

// CHECK-LABEL: func.func @keep_other_layouts
// CHECK-NEXT: relay.nn.conv2d %x, %w
// CHECK-NEXT: relay.nn.conv2d %y, %v
// CHECK-NEXT: relay.nn.conv2d %y, %u {{.*}}out_layout = "NHWC"
// CHECK-NEXT: relay.nn.conv2d %z, %u
// CHECK-NEXT: func.return
func.func @keep_other_layouts(%x: tensor<1x4x4x4xf32>, %y: tensor<1x4x4x4xf32>, %z: tensor<1x?x4x4xf32>, %w: tensor<1x1x4x4xf32>, %v: tensor<1x1x4x4xf32>, %u: tensor<4x4x1x1xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x4x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = relay.nn.conv2d %y, %v {kernel_layout = "HWIO"} : (tensor<1x4x4x4xf32>, tensor<1x1x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = relay.nn.conv2d %y, %u {out_layout = "NHWC"} : (tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  %3 = relay.nn.conv2d %z, %u : (tensor<1x?x4x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %0, %1, %2, %3 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>
}
