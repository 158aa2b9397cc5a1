// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @windows(%x0: tensor<1x3x8xf32>, %x1: tensor<1x?x8x9x3xf32>, %x2: tensor<1x2x8x4xf32>, %x3: tensor<1x3x4x?x8xf32>, %x4: tensor<1x4x5x5x?xf32>, %x5: tensor<6x2x3x3x3xf32>, %x6: tensor<1x4x5xf32>, %x7: tensor<4x3x2xf32>, %x8: tensor<1x3x3x3x4xf32>, %x9: tensor<3x3x3x4x2xf32>, %x10: tensor<1x2x5x5x4xf32>, %x11: tensor<1x2x3x3x4x8xf32>, %x12: tensor<2x1x3x3x1x4xf32>, %x13: tensor<1x4x5x5xf32>, %x14: tensor<1x18x3x3xf32>, %x15: tensor<6x4x3x3xf32>, %x16: tensor<1x4x9x9xf32>, %x17: tensor<1x?x?x3xf32>, %x18: tensor<1x3x4x5x6xf32>, %x19: tensor<1x3x8x8xf32>, %x20: tensor<1x3x8x8x8xf32>, %x21: tensor<1x3x4x?x6xf32>) {
// CHECK-LABEL: func.func @windows(%x0: tensor<1x3x8xf32>, %x1: tensor<1x?x8x9x3xf32>, %x2: tensor<1x2x8x4xf32>, %x3: tensor<1x3x4x?x8xf32>, %x4: tensor<1x4x5x5x?xf32>, %x5: tensor<6x2x3x3x3xf32>, %x6: tensor<1x4x5xf32>, %x7: tensor<4x3x2xf32>, %x8: tensor<1x3x3x3x4xf32>, %x9: tensor<3x3x3x4x2xf32>, %x10: tensor<1x2x5x5x4xf32>, %x11: tensor<1x2x3x3x4x8xf32>, %x12: tensor<2x1x3x3x1x4xf32>, %x13: tensor<1x4x5x5xf32>, %x14: tensor<1x18x3x3xf32>, %x15: tensor<6x4x3x3xf32>, %x16: tensor<1x4x9x9xf32>, %x17: tensor<1x?x?x3xf32>, %x18: tensor<1x3x4x5x6xf32>, %x19: tensor<1x3x8x8xf32>, %x20: tensor<1x3x8x8x8xf32>, %x21: tensor<1x3x4x?x6xf32>) {
  %max1 = relay.nn.max_pool1d %x0 {pool_size = array<i64: 2>, strides = array<i64: 2>, ceil_mode = true} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  // CHECK-NEXT: %max1 = relay.nn.max_pool1d %x0 {pool_size = array<i64: 2>, strides = array<i64: 2>, ceil_mode = true} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  %max3 = relay.nn.max_pool3d %x1 {pool_size = array<i64: 2, 2, 2>, layout = "NDHWC"} : (tensor<1x?x8x9x3xf32>) -> tensor<1x?x7x8x3xf32>
  // CHECK-NEXT: %max3 = relay.nn.max_pool3d %x1 {pool_size = array<i64: 2, 2, 2>, layout = "NDHWC"} : (tensor<1x?x8x9x3xf32>) -> tensor<1x?x7x8x3xf32>
  %avg1 = relay.nn.avg_pool1d %x2 {pool_size = array<i64: 3>, padding = array<i64: 1, 0>, layout = "NCW4c", count_include_pad = true} : (tensor<1x2x8x4xf32>) -> tensor<1x2x7x4xf32>
  // CHECK-NEXT: %avg1 = relay.nn.avg_pool1d %x2 {pool_size = array<i64: 3>, padding = array<i64: 1, 0>, layout = "NCW4c", count_include_pad = true} : (tensor<1x2x8x4xf32>) -> tensor<1x2x7x4xf32>
  %avg3 = relay.nn.avg_pool3d %x3 {pool_size = array<i64: 2, 2, 2>, padding = array<i64: 1>} : (tensor<1x3x4x?x8xf32>) -> tensor<1x3x5x?x9xf32>
  // CHECK-NEXT: %avg3 = relay.nn.avg_pool3d %x3 {pool_size = array<i64: 2, 2, 2>, padding = array<i64: 1>} : (tensor<1x3x4x?x8xf32>) -> tensor<1x3x5x?x9xf32>
  %conv3 = relay.nn.conv3d %x4, %x5 {padding = array<i64: 1, 1, 1>, groups = 2 : i64} : (tensor<1x4x5x5x?xf32>, tensor<6x2x3x3x3xf32>) -> tensor<1x6x5x5x?xf32>
  // CHECK-NEXT: %conv3 = relay.nn.conv3d %x4, %x5 {padding = array<i64: 1, 1, 1>, groups = 2 : i64} : (tensor<1x4x5x5x?xf32>, tensor<6x2x3x3x3xf32>) -> tensor<1x6x5x5x?xf32>
  %back1 = relay.nn.conv1d_transpose %x6, %x7 {strides = array<i64: 2>, output_padding = array<i64: 1>} : (tensor<1x4x5xf32>, tensor<4x3x2xf32>) -> tensor<1x3x11xf32>
  // CHECK-NEXT: %back1 = relay.nn.conv1d_transpose %x6, %x7 {strides = array<i64: 2>, output_padding = array<i64: 1>} : (tensor<1x4x5xf32>, tensor<4x3x2xf32>) -> tensor<1x3x11xf32>
  %back3 = relay.nn.conv3d_transpose %x8, %x9 {data_layout = "NDHWC", kernel_layout = "DHWOI"} : (tensor<1x3x3x3x4xf32>, tensor<3x3x3x4x2xf32>) -> tensor<1x5x5x5x2xf32>
  // CHECK-NEXT: %back3 = relay.nn.conv3d_transpose %x8, %x9 {data_layout = "NDHWC", kernel_layout = "DHWOI"} : (tensor<1x3x3x3x4xf32>, tensor<3x3x3x4x2xf32>) -> tensor<1x5x5x5x2xf32>
  %blocked = relay.nn.contrib_conv2d_NCHWc %x10, %x11 {data_layout = "NCHW4c", kernel_layout = "OIHW4i8o", out_layout = "NCHW8c"} : (tensor<1x2x5x5x4xf32>, tensor<1x2x3x3x4x8xf32>) -> tensor<1x1x3x3x8xf32>
  // CHECK-NEXT: %blocked = relay.nn.contrib_conv2d_NCHWc %x10, %x11 {data_layout = "NCHW4c", kernel_layout = "OIHW4i8o", out_layout = "NCHW8c"} : (tensor<1x2x5x5x4xf32>, tensor<1x2x3x3x4x8xf32>) -> tensor<1x1x3x3x8xf32>
  %depthwise = relay.nn.contrib_depthwise_conv2d_NCHWc %x10, %x12 {groups = 8 : i64, data_layout = "NCHW4c", kernel_layout = "OIHW1i4o"} : (tensor<1x2x5x5x4xf32>, tensor<2x1x3x3x1x4xf32>) -> tensor<1x2x3x3x4xf32>
  // CHECK-NEXT: %depthwise = relay.nn.contrib_depthwise_conv2d_NCHWc %x10, %x12 {groups = 8 : i64, data_layout = "NCHW4c", kernel_layout = "OIHW1i4o"} : (tensor<1x2x5x5x4xf32>, tensor<2x1x3x3x1x4xf32>) -> tensor<1x2x3x3x4xf32>
  %deformed = relay.nn.deformable_conv2d %x13, %x14, %x15 : (tensor<1x4x5x5xf32>, tensor<1x18x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32>
  // CHECK-NEXT: %deformed = relay.nn.deformable_conv2d %x13, %x14, %x15 : (tensor<1x4x5x5xf32>, tensor<1x18x3x3xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x3x3xf32>
  %compared = relay.nn.correlation %x16, %x16 {kernel_size = 3 : i64, max_displacement = 2 : i64, padding = array<i64: 2>} : (tensor<1x4x9x9xf32>, tensor<1x4x9x9xf32>) -> tensor<1x25x7x7xf32>
  // CHECK-NEXT: %compared = relay.nn.correlation %x16, %x16 {kernel_size = 3 : i64, max_displacement = 2 : i64, padding = array<i64: 2>} : (tensor<1x4x9x9xf32>, tensor<1x4x9x9xf32>) -> tensor<1x25x7x7xf32>
  %adaptive1 = relay.nn.adaptive_avg_pool1d %x0 {output_size = array<i64: 3>} : (tensor<1x3x8xf32>) -> tensor<1x3x3xf32>
  // CHECK-NEXT: %adaptive1 = relay.nn.adaptive_avg_pool1d %x0 {output_size = array<i64: 3>} : (tensor<1x3x8xf32>) -> tensor<1x3x3xf32>
  %adaptive2 = relay.nn.adaptive_avg_pool2d %x17 {output_size = array<i64: 3, 2>, layout = "NHWC"} : (tensor<1x?x?x3xf32>) -> tensor<1x3x2x3xf32>
  // CHECK-NEXT: %adaptive2 = relay.nn.adaptive_avg_pool2d %x17 {output_size = array<i64: 3, 2>, layout = "NHWC"} : (tensor<1x?x?x3xf32>) -> tensor<1x3x2x3xf32>
  %adaptive3 = relay.nn.adaptive_avg_pool3d %x18 : (tensor<1x3x4x5x6xf32>) -> tensor<1x3x4x5x6xf32>
  // CHECK-NEXT: %adaptive3 = relay.nn.adaptive_avg_pool3d %x18 : (tensor<1x3x4x5x6xf32>) -> tensor<1x3x4x5x6xf32>
  %largest1 = relay.nn.adaptive_max_pool1d %x0 {output_size = array<i64: 3>} : (tensor<1x3x8xf32>) -> tensor<1x3x3xf32>
  // CHECK-NEXT: %largest1 = relay.nn.adaptive_max_pool1d %x0 {output_size = array<i64: 3>} : (tensor<1x3x8xf32>) -> tensor<1x3x3xf32>
  %largest2 = relay.nn.adaptive_max_pool2d %x19 {output_size = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
  // CHECK-NEXT: %largest2 = relay.nn.adaptive_max_pool2d %x19 {output_size = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
  %largest3 = relay.nn.adaptive_max_pool3d %x20 {output_size = array<i64: 1, 2, 3>} : (tensor<1x3x8x8x8xf32>) -> tensor<1x3x1x2x3xf32>
  // CHECK-NEXT: %largest3 = relay.nn.adaptive_max_pool3d %x20 {output_size = array<i64: 1, 2, 3>} : (tensor<1x3x8x8x8xf32>) -> tensor<1x3x1x2x3xf32>
  %up = relay.nn.upsampling3d %x21 {scale_d = 2.000000e+00 : f64, scale_h = 1.500000e+00 : f64, scale_w = 1.000000e+00 : f64, method = "trilinear", coordinate_transformation_mode = "align_corners"} : (tensor<1x3x4x?x6xf32>) -> tensor<1x3x8x?x6xf32>
  // CHECK-NEXT: %up = relay.nn.upsampling3d %x21 {scale_d = 2.000000e+00 : f64, scale_h = 1.500000e+00 : f64, scale_w = 1.000000e+00 : f64, method = "trilinear", coordinate_transformation_mode = "align_corners"} : (tensor<1x3x4x?x6xf32>) -> tensor<1x3x8x?x6xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }

func.func @gradients(%x0: tensor<1x3x4x4xf32>, %x1: tensor<1x3x8x8xf32>, %x2: tensor<1x4x4x3xf32>, %x3: tensor<1x8x8x3xf32>, %x4: tensor<1x6x3x3xf32>, %x5: tensor<1x4x5x5xf32>) {
// CHECK-LABEL: func.func @gradients(%x0: tensor<1x3x4x4xf32>, %x1: tensor<1x3x8x8xf32>, %x2: tensor<1x4x4x3xf32>, %x3: tensor<1x8x8x3xf32>, %x4: tensor<1x6x3x3xf32>, %x5: tensor<1x4x5x5xf32>) {
  %maxgrad = relay.nn.max_pool2d_grad %x0, %x1 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  // CHECK-NEXT: %maxgrad = relay.nn.max_pool2d_grad %x0, %x1 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %avggrad = relay.nn.avg_pool2d_grad %x2, %x3 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x4x4x3xf32>, tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  // CHECK-NEXT: %avggrad = relay.nn.avg_pool2d_grad %x2, %x3 {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x4x4x3xf32>, tensor<1x8x8x3xf32>) -> tensor<1x8x8x3xf32>
  %weight = relay.nn.conv2d_backward_weight %x4, %x5 {kernel_size = array<i64: 3, 3>, groups = 2 : i64} : (tensor<1x6x3x3xf32>, tensor<1x4x5x5xf32>) -> tensor<6x2x3x3xf32>
  // CHECK-NEXT: %weight = relay.nn.conv2d_backward_weight %x4, %x5 {kernel_size = array<i64: 3, 3>, groups = 2 : i64} : (tensor<1x6x3x3xf32>, tensor<1x4x5x5xf32>) -> tensor<6x2x3x3xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }

func.func @winograd(%x0: tensor<6x4x3x3xf32>, %x1: tensor<1x4x9x?xf32>, %x2: tensor<6x6x4x6xf32>, %x3: tensor<6x4x2x3x3xf32>, %x4: tensor<1x4x5x6x7xf32>, %x5: tensor<4x4x2x6x4xf32>) {
// CHECK-LABEL: func.func @winograd(%x0: tensor<6x4x3x3xf32>, %x1: tensor<1x4x9x?xf32>, %x2: tensor<6x6x4x6xf32>, %x3: tensor<6x4x2x3x3xf32>, %x4: tensor<1x4x5x6x7xf32>, %x5: tensor<4x4x2x6x4xf32>) {
  %two = relay.nn.contrib_conv2d_winograd_weight_transform %x0 {tile_size = 4 : i64} : (tensor<6x4x3x3xf32>) -> tensor<6x6x6x4xf32>
  // CHECK-NEXT: %two = relay.nn.contrib_conv2d_winograd_weight_transform %x0 {tile_size = 4 : i64} : (tensor<6x4x3x3xf32>) -> tensor<6x6x6x4xf32>
  %twice = relay.nn.contrib_conv2d_winograd_without_weight_transform %x1, %x2 {tile_size = 4 : i64, padding = array<i64: 1, 1>} : (tensor<1x4x9x?xf32>, tensor<6x6x4x6xf32>) -> tensor<1x6x9x?xf32>
  // CHECK-NEXT: %twice = relay.nn.contrib_conv2d_winograd_without_weight_transform %x1, %x2 {tile_size = 4 : i64, padding = array<i64: 1, 1>} : (tensor<1x4x9x?xf32>, tensor<6x6x4x6xf32>) -> tensor<1x6x9x?xf32>
  %three = relay.nn.contrib_conv3d_winograd_weight_transform %x3 {tile_size = 2 : i64} : (tensor<6x4x2x3x3xf32>) -> tensor<4x4x2x6x4xf32>
  // CHECK-NEXT: %three = relay.nn.contrib_conv3d_winograd_weight_transform %x3 {tile_size = 2 : i64} : (tensor<6x4x2x3x3xf32>) -> tensor<4x4x2x6x4xf32>
  %thrice = relay.nn.contrib_conv3d_winograd_without_weight_transform %x4, %x5 {tile_size = 2 : i64} : (tensor<1x4x5x6x7xf32>, tensor<4x4x2x6x4xf32>) -> tensor<1x6x4x4x5xf32>
  // CHECK-NEXT: %thrice = relay.nn.contrib_conv3d_winograd_without_weight_transform %x4, %x5 {tile_size = 2 : i64} : (tensor<1x4x5x6x7xf32>, tensor<4x4x2x6x4xf32>) -> tensor<1x6x4x4x5xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }

func.func @rearranged(%x0: tensor<3x?xf32>, %x1: tensor<1x8x2x?xf32>, %x2: tensor<1x4x6x3xf32>, %x3: tensor<4x3x2xf32>, %x4: tensor<2x5x2xf32>, %x5: tensor<1x3xf32>, %x6: tensor<5x3xf32>) {
// CHECK-LABEL: func.func @rearranged(%x0: tensor<3x?xf32>, %x1: tensor<1x8x2x?xf32>, %x2: tensor<1x4x6x3xf32>, %x3: tensor<4x3x2xf32>, %x4: tensor<2x5x2xf32>, %x5: tensor<1x3xf32>, %x6: tensor<5x3xf32>) {
  %mirrored = relay.nn.mirror_pad %x0 {mode = "REFLECT", pad_width = [array<i64: 1, 1>, array<i64: 0, 2>]} : (tensor<3x?xf32>) -> tensor<5x?xf32>
  // CHECK-NEXT: %mirrored = relay.nn.mirror_pad %x0 {mode = "REFLECT", pad_width = [array<i64: 1, 1>, array<i64: 0, 2>]} : (tensor<3x?xf32>) -> tensor<5x?xf32>
  %pixels = relay.nn.depth_to_space %x1 {block_size = 2 : i64, mode = "CRD"} : (tensor<1x8x2x?xf32>) -> tensor<1x2x4x?xf32>
  // CHECK-NEXT: %pixels = relay.nn.depth_to_space %x1 {block_size = 2 : i64, mode = "CRD"} : (tensor<1x8x2x?xf32>) -> tensor<1x2x4x?xf32>
  %depth = relay.nn.space_to_depth %x2 {block_size = 2 : i64, layout = "NHWC"} : (tensor<1x4x6x3xf32>) -> tensor<1x2x3x12xf32>
  // CHECK-NEXT: %depth = relay.nn.space_to_depth %x2 {block_size = 2 : i64, layout = "NHWC"} : (tensor<1x4x6x3xf32>) -> tensor<1x2x3x12xf32>
  %space = relay.nn.batch_to_space_nd %x3 {block_shape = array<i64: 2>, crops = [array<i64: 1, 0>]} : (tensor<4x3x2xf32>) -> tensor<2x5x2xf32>
  // CHECK-NEXT: %space = relay.nn.batch_to_space_nd %x3 {block_shape = array<i64: 2>, crops = [array<i64: 1, 0>]} : (tensor<4x3x2xf32>) -> tensor<2x5x2xf32>
  %batch = relay.nn.space_to_batch_nd %x4 {block_shape = array<i64: 2>, paddings = [array<i64: 1, 0>], pad_value = 1.000000e+00 : f64} : (tensor<2x5x2xf32>) -> tensor<4x3x2xf32>
  // CHECK-NEXT: %batch = relay.nn.space_to_batch_nd %x4 {block_shape = array<i64: 2>, paddings = [array<i64: 1, 0>], pad_value = 1.000000e+00 : f64} : (tensor<2x5x2xf32>) -> tensor<4x3x2xf32>
  %queue = relay.nn.fifo_buffer %x5, %x6 : (tensor<1x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  // CHECK-NEXT: %queue = relay.nn.fifo_buffer %x5, %x6 : (tensor<1x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }

func.func @elements(%x0: tensor<1x3x?xf32>, %x1: tensor<3xf32>, %x2: tensor<3x?xf32>, %x3: tensor<3x5xf32>, %x4: tensor<3x5x2xf32>, %x5: tensor<3x2xi32>, %x6: tensor<5xf32>) {
// CHECK-LABEL: func.func @elements(%x0: tensor<1x3x?xf32>, %x1: tensor<3xf32>, %x2: tensor<3x?xf32>, %x3: tensor<3x5xf32>, %x4: tensor<3x5x2xf32>, %x5: tensor<3x2xi32>, %x6: tensor<5xf32>) {
  %slope = relay.nn.prelu %x0, %x1 : (tensor<1x3x?xf32>, tensor<3xf32>) -> tensor<1x3x?xf32>
  // CHECK-NEXT: %slope = relay.nn.prelu %x0, %x1 : (tensor<1x3x?xf32>, tensor<3xf32>) -> tensor<1x3x?xf32>
  %fast = relay.nn.fast_softmax %x2 : (tensor<3x?xf32>) -> tensor<3x?xf32>
  // CHECK-NEXT: %fast = relay.nn.fast_softmax %x2 : (tensor<3x?xf32>) -> tensor<3x?xf32>
  %unit = relay.nn.l2_normalize %x3 {eps = 1.000000e-06 : f64, axis = array<i64: 1>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  // CHECK-NEXT: %unit = relay.nn.l2_normalize %x3 {eps = 1.000000e-06 : f64, axis = array<i64: 1>} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %entropy = relay.nn.cross_entropy %x3, %x3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<f32>
  // CHECK-NEXT: %entropy = relay.nn.cross_entropy %x3, %x3 : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<f32>
  %logits = relay.nn.cross_entropy_with_logits %x2, %x3 : (tensor<3x?xf32>, tensor<3x5xf32>) -> tensor<f32>
  // CHECK-NEXT: %logits = relay.nn.cross_entropy_with_logits %x2, %x3 : (tensor<3x?xf32>, tensor<3x5xf32>) -> tensor<f32>
  %likelihood = relay.nn.nll_loss %x4, %x5, %x6 {reduction = "none", ignore_index = -100 : i64} : (tensor<3x5x2xf32>, tensor<3x2xi32>, tensor<5xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: %likelihood = relay.nn.nll_loss %x4, %x5, %x6 {reduction = "none", ignore_index = -100 : i64} : (tensor<3x5x2xf32>, tensor<3x2xi32>, tensor<5xf32>) -> tensor<3x2xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }

func.func @bits(%x0: tensor<2x16xi8>, %x1: tensor<1x8x5x5xi8>, %x2: tensor<4x1x3x3x2xui8>, %x3: tensor<2x32xi32>, %x4: tensor<4x32xi32>, %x5: tensor<2x7xf32>, %x6: tensor<3x7x4xf32>) {
// CHECK-LABEL: func.func @bits(%x0: tensor<2x16xi8>, %x1: tensor<1x8x5x5xi8>, %x2: tensor<4x1x3x3x2xui8>, %x3: tensor<2x32xi32>, %x4: tensor<4x32xi32>, %x5: tensor<2x7xf32>, %x6: tensor<3x7x4xf32>) {
  %packed = relay.nn.bitpack %x0 {bits = 2 : i64, pack_type = ui8} : (tensor<2x16xi8>) -> tensor<2x2x2xui8>
  // CHECK-NEXT: %packed = relay.nn.bitpack %x0 {bits = 2 : i64, pack_type = ui8} : (tensor<2x16xi8>) -> tensor<2x2x2xui8>
  %bitconv = relay.nn.bitserial_conv2d %x1, %x2 {weight_bits = 2 : i64, pack_dtype = ui8} : (tensor<1x8x5x5xi8>, tensor<4x1x3x3x2xui8>) -> tensor<1x4x3x3xi16>
  // CHECK-NEXT: %bitconv = relay.nn.bitserial_conv2d %x1, %x2 {weight_bits = 2 : i64, pack_dtype = ui8} : (tensor<1x8x5x5xi8>, tensor<4x1x3x3x2xui8>) -> tensor<1x4x3x3xi16>
  %bitdense = relay.nn.bitserial_dense %x3, %x4 {units = 4 : i64, unipolar = false} : (tensor<2x32xi32>, tensor<4x32xi32>) -> tensor<2x4xi32>
  // CHECK-NEXT: %bitdense = relay.nn.bitserial_dense %x3, %x4 {units = 4 : i64, unipolar = false} : (tensor<2x32xi32>, tensor<4x32xi32>) -> tensor<2x4xi32>
  %rows = relay.nn.contrib_dense_pack %x5, %x6 {units = 12 : i64} : (tensor<2x7xf32>, tensor<3x7x4xf32>) -> tensor<2x12xf32>
  // CHECK-NEXT: %rows = relay.nn.contrib_dense_pack %x5, %x6 {units = 12 : i64} : (tensor<2x7xf32>, tensor<3x7x4xf32>) -> tensor<2x12xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }

func.func @sparse(%x0: tensor<2x6xf32>, %x1: tensor<5xf32>, %x2: tensor<5xi32>, %x3: tensor<4xi32>, %x4: tensor<5x2x3xf32>, %x5: tensor<1x5x5x6xf32>, %x6: tensor<?x2xf32>, %x7: tensor<?xi32>, %x8: tensor<3x6xf32>, %x9: tensor<5xi64>, %x10: tensor<4xi64>) {
// CHECK-LABEL: func.func @sparse(%x0: tensor<2x6xf32>, %x1: tensor<5xf32>, %x2: tensor<5xi32>, %x3: tensor<4xi32>, %x4: tensor<5x2x3xf32>, %x5: tensor<1x5x5x6xf32>, %x6: tensor<?x2xf32>, %x7: tensor<?xi32>, %x8: tensor<3x6xf32>, %x9: tensor<5xi64>, %x10: tensor<4xi64>) {
  %product = relay.nn.sparse_dense %x0, %x1, %x2, %x3 : (tensor<2x6xf32>, tensor<5xf32>, tensor<5xi32>, tensor<4xi32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %product = relay.nn.sparse_dense %x0, %x1, %x2, %x3 : (tensor<2x6xf32>, tensor<5xf32>, tensor<5xi32>, tensor<4xi32>) -> tensor<2x3xf32>
  %padded = relay.nn.internal.sparse_dense_padded %x0, %x4, %x2, %x3 {sparse_lhs = true} : (tensor<2x6xf32>, tensor<5x2x3xf32>, tensor<5xi32>, tensor<4xi32>) -> tensor<6x2xf32>
  // CHECK-NEXT: %padded = relay.nn.internal.sparse_dense_padded %x0, %x4, %x2, %x3 {sparse_lhs = true} : (tensor<2x6xf32>, tensor<5x2x3xf32>, tensor<5xi32>, tensor<4xi32>) -> tensor<6x2xf32>
  %pixels1 = relay.nn.sparse_conv2d %x5, %x6, %x7, %x3 : (tensor<1x5x5x6xf32>, tensor<?x2xf32>, tensor<?xi32>, tensor<4xi32>) -> tensor<1x5x5x6xf32>
  // CHECK-NEXT: %pixels1 = relay.nn.sparse_conv2d %x5, %x6, %x7, %x3 : (tensor<1x5x5x6xf32>, tensor<?x2xf32>, tensor<?xi32>, tensor<4xi32>) -> tensor<1x5x5x6xf32>
  %sum = relay.nn.sparse_add %x8, %x1, %x9, %x10 : (tensor<3x6xf32>, tensor<5xf32>, tensor<5xi64>, tensor<4xi64>) -> tensor<3x6xf32>
  // CHECK-NEXT: %sum = relay.nn.sparse_add %x8, %x1, %x9, %x10 : (tensor<3x6xf32>, tensor<5xf32>, tensor<5xi64>, tensor<4xi64>) -> tensor<3x6xf32>
  %turned = relay.nn.sparse_transpose %x1, %x2, %x3 : (tensor<5xf32>, tensor<5xi32>, tensor<4xi32>) -> tuple<tensor<5xf32>, tensor<5xi32>, tensor<4xi32>>
  // CHECK-NEXT: %turned = relay.nn.sparse_transpose %x1, %x2, %x3 : (tensor<5xf32>, tensor<5xi32>, tensor<4xi32>) -> tuple<tensor<5xf32>, tensor<5xi32>, tensor<4xi32>>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
