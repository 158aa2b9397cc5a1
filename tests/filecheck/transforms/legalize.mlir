// RUN: xdsl-opt -p legalize %s | filecheck %s
// RUN: xdsl-opt -p legalize,legalize %s | filecheck %s

// CHECK-LABEL: func.func @normalized(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.multiply %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.sum [[V1]] {axis = array<i64: 1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.constant dense<1.000000e-03> : tensor<f32>
// CHECK-NEXT: [[V4:%.*]] = relay.maximum [[V2]], [[V3]] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.sqrt [[V4]] : (tensor<2x1xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.divide %x, [[V5]] : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V6]] : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @normalized(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.l2_normalize %x {eps = 1.000000e-03 : f64, axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @cubic(%x: tensor<1x3x5x2xf32>) -> tensor<1x6x5x2xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.layout_transform %x {src_layout = "NHWC", dst_layout = "NCHW"} : (tensor<1x3x5x2xf32>) -> tensor<1x2x3x5xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.image.resize2d [[V1]] {size = array<i64: 6, 5>, method = "cubic", coordinate_transformation_mode = "asymmetric"} : (tensor<1x2x3x5xf32>) -> tensor<1x2x6x5xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.layout_transform [[V2]] {src_layout = "NCHW", dst_layout = "NHWC"} : (tensor<1x2x6x5xf32>) -> tensor<1x6x5x2xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<1x6x5x2xf32>
// CHECK-NEXT: }
func.func @cubic(%x: tensor<1x3x5x2xf32>) -> tensor<1x6x5x2xf32> {
  %0 = relay.nn.upsampling %x {scale_h = 2.0 : f64, scale_w = 1.0 : f64, layout = "NHWC", method = "bicubic"} : (tensor<1x3x5x2xf32>) -> tensor<1x6x5x2xf32>
  return %0 : tensor<1x6x5x2xf32>
}

// Interpolation between neighbours has kernels.
// CHECK-LABEL: func.func @keep_linear
// CHECK-NEXT: relay.nn.upsampling
func.func @keep_linear(%x: tensor<1x2x3x5xf32>) -> tensor<1x2x6x5xf32> {
  %0 = relay.nn.upsampling %x {scale_h = 2.0 : f64, scale_w = 1.0 : f64, method = "bilinear"} : (tensor<1x2x3x5xf32>) -> tensor<1x2x6x5xf32>
  return %0 : tensor<1x2x6x5xf32>
}

// Halves are computed with in f32.
// CHECK-LABEL: func.func @entropy(%x: tensor<2x3xf16>, %y: tensor<2x3xf16>) -> tensor<f16> {
// CHECK-NEXT: [[V1:%.*]] = relay.cast %x {dtype = f32} : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.cast %y {dtype = f32} : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.log [[V1]] : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.multiply [[V3]], [[V2]] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.sum [[V4]] : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NEXT: [[V6:%.*]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V7:%.*]] = relay.negative [[V5]] : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT: [[V8:%.*]] = relay.divide [[V7]], [[V6]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: [[V9:%.*]] = relay.cast [[V8]] {dtype = f16} : (tensor<f32>) -> tensor<f16>
// CHECK-NEXT: func.return [[V9]] : tensor<f16>
// CHECK-NEXT: }
func.func @entropy(%x: tensor<2x3xf16>, %y: tensor<2x3xf16>) -> tensor<f16> {
  %0 = relay.nn.cross_entropy %x, %y : (tensor<2x3xf16>, tensor<2x3xf16>) -> tensor<f16>
  return %0 : tensor<f16>
}

// CHECK-LABEL: func.func @logits(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<f32> {
// CHECK-NEXT: [[V1:%.*]] = relay.multiply %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.sum [[V1]] : (tensor<2x3xf32>) -> tensor<f32>
// CHECK-NEXT: [[V3:%.*]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V4:%.*]] = relay.negative [[V2]] : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT: [[V5:%.*]] = relay.divide [[V4]], [[V3]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: func.return [[V5]] : tensor<f32>
// CHECK-NEXT: }
func.func @logits(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<f32> {
  %0 = relay.nn.cross_entropy_with_logits %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @likelihood(%p: tensor<2x3x4xf32>, %t: tensor<2x4xi32>, %w: tensor<3xf32>) -> tensor<f32> {
// CHECK-NEXT: [[V1:%.*]] = relay.transpose %p {axes = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.reshape [[V1]] {newshape = array<i64: 8, 3>} : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.cast %t {dtype = i64} : (tensor<2x4xi32>) -> tensor<2x4xi64>
// CHECK-NEXT: [[V4:%.*]] = relay.reshape [[V3]] {newshape = array<i64: 8>, allowzero = true} : (tensor<2x4xi64>) -> tensor<8xi64>
// CHECK-NEXT: [[V5:%.*]] = relay.reshape [[V4]] {newshape = array<i64: 1, 8>} : (tensor<8xi64>) -> tensor<1x8xi64>
// CHECK-NEXT: [[V6:%.*]] = relay.gather_nd [[V2]], [[V5]] {batch_dims = 1 : i64} : (tensor<8x3xf32>, tensor<1x8xi64>) -> tensor<8xf32>
// CHECK-NEXT: [[V7:%.*]] = relay.constant dense<-1> : tensor<i64>
// CHECK-NEXT: [[V8:%.*]] = relay.equal [[V4]], [[V7]] : (tensor<8xi64>, tensor<i64>) -> tensor<8xi1>
// CHECK-NEXT: [[V9:%.*]] = relay.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V10:%.*]] = relay.take %w, [[V4]] {axis = 0 : i64} : (tensor<3xf32>, tensor<8xi64>) -> tensor<8xf32>
// CHECK-NEXT: [[V11:%.*]] = relay.where [[V8]], [[V9]], [[V10]] : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: [[V12:%.*]] = relay.negative [[V6]] : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: [[V13:%.*]] = relay.multiply [[V12]], [[V11]] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: [[V14:%.*]] = relay.where [[V8]], [[V9]], [[V13]] : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK-NEXT: [[V15:%.*]] = relay.sum [[V14]] : (tensor<8xf32>) -> tensor<f32>
// CHECK-NEXT: [[V16:%.*]] = relay.sum [[V11]] : (tensor<8xf32>) -> tensor<f32>
// CHECK-NEXT: [[V17:%.*]] = relay.divide [[V15]], [[V16]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT: func.return [[V17]] : tensor<f32>
// CHECK-NEXT: }
func.func @likelihood(%p: tensor<2x3x4xf32>, %t: tensor<2x4xi32>, %w: tensor<3xf32>) -> tensor<f32> {
  %0 = relay.nn.nll_loss %p, %t, %w {ignore_index = -1 : i64} : (tensor<2x3x4xf32>, tensor<2x4xi32>, tensor<3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @packed_rows(%x: tensor<2x5xf32>, %w: tensor<3x5x4xf32>) -> tensor<2x12xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.transpose %w {axes = array<i64: 0, 2, 1>} : (tensor<3x5x4xf32>) -> tensor<3x4x5xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.reshape [[V1]] {newshape = array<i64: 12, 5>} : (tensor<3x4x5xf32>) -> tensor<12x5xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.dense %x, [[V2]] : (tensor<2x5xf32>, tensor<12x5xf32>) -> tensor<2x12xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<2x12xf32>
// CHECK-NEXT: }
func.func @packed_rows(%x: tensor<2x5xf32>, %w: tensor<3x5x4xf32>) -> tensor<2x12xf32> {
  %0 = relay.nn.contrib_dense_pack %x, %w {units = 12 : i64} : (tensor<2x5xf32>, tensor<3x5x4xf32>) -> tensor<2x12xf32>
  return %0 : tensor<2x12xf32>
}

// CHECK-LABEL: func.func @filters(%w: tensor<6x4x3x3xf32>) -> tensor<4x4x6x4xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<{{.*}}> : tensor<4x3xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.transpose %w {axes = array<i64: 0, 1, 3, 2>} : (tensor<6x4x3x3xf32>) -> tensor<6x4x3x3xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.dense [[V2]], [[V1]] : (tensor<6x4x3x3xf32>, tensor<4x3xf32>) -> tensor<6x4x3x4xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.transpose [[V3]] {axes = array<i64: 0, 1, 3, 2>} : (tensor<6x4x3x4xf32>) -> tensor<6x4x4x3xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.constant dense<{{.*}}> : tensor<4x3xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.nn.dense [[V4]], [[V5]] : (tensor<6x4x4x3xf32>, tensor<4x3xf32>) -> tensor<6x4x4x4xf32>
// CHECK-NEXT: [[V7:%.*]] = relay.transpose [[V6]] {axes = array<i64: 2, 3, 0, 1>} : (tensor<6x4x4x4xf32>) -> tensor<4x4x6x4xf32>
// CHECK-NEXT: func.return [[V7]] : tensor<4x4x6x4xf32>
// CHECK-NEXT: }
func.func @filters(%w: tensor<6x4x3x3xf32>) -> tensor<4x4x6x4xf32> {
  %0 = relay.nn.contrib_conv2d_winograd_weight_transform %w {tile_size = 2 : i64} : (tensor<6x4x3x3xf32>) -> tensor<4x4x6x4xf32>
  return %0 : tensor<4x4x6x4xf32>
}

// CHECK-LABEL: func.func @tiles(%x: tensor<1x4x5x6xf32>, %w: tensor<4x4x4x6xf32>) -> tensor<1x6x5x6xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V2:%.*]] = relay.nn.pad %x, [[V1]] {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 2>, array<i64: 1, 1>]} : (tensor<1x4x5x6xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.constant dense<[0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7]> : tensor<12xi64>
// CHECK-NEXT: [[V4:%.*]] = relay.take [[V2]], [[V3]] {axis = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<12xi64>) -> tensor<1x4x12x8xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.constant dense<[0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7]> : tensor<12xi64>
// CHECK-NEXT: [[V6:%.*]] = relay.take [[V4]], [[V5]] {axis = 3 : i64} : (tensor<1x4x12x8xf32>, tensor<12xi64>) -> tensor<1x4x12x12xf32>
// CHECK-NEXT: [[V7:%.*]] = relay.reshape [[V6]] {newshape = array<i64: 1, 4, 3, 4, 3, 4>} : (tensor<1x4x12x12xf32>) -> tensor<1x4x3x4x3x4xf32>
// CHECK-NEXT: [[V8:%.*]] = relay.transpose [[V7]] {axes = array<i64: 3, 5, 0, 2, 4, 1>} : (tensor<1x4x3x4x3x4xf32>) -> tensor<4x4x1x3x3x4xf32>
// CHECK-NEXT: [[V9:%.*]] = relay.constant dense<{{.*}}> : tensor<4x4xf32>
// CHECK-NEXT: [[V10:%.*]] = relay.transpose [[V8]] {axes = array<i64: 1, 2, 3, 4, 5, 0>} : (tensor<4x4x1x3x3x4xf32>) -> tensor<4x1x3x3x4x4xf32>
// CHECK-NEXT: [[V11:%.*]] = relay.nn.dense [[V10]], [[V9]] : (tensor<4x1x3x3x4x4xf32>, tensor<4x4xf32>) -> tensor<4x1x3x3x4x4xf32>
// CHECK-NEXT: [[V12:%.*]] = relay.transpose [[V11]] {axes = array<i64: 5, 0, 1, 2, 3, 4>} : (tensor<4x1x3x3x4x4xf32>) -> tensor<4x4x1x3x3x4xf32>
// CHECK-NEXT: [[V13:%.*]] = relay.constant dense<{{.*}}> : tensor<4x4xf32>
// CHECK-NEXT: [[V14:%.*]] = relay.transpose [[V12]] {axes = array<i64: 0, 2, 3, 4, 5, 1>} : (tensor<4x4x1x3x3x4xf32>) -> tensor<4x1x3x3x4x4xf32>
// CHECK-NEXT: [[V15:%.*]] = relay.nn.dense [[V14]], [[V13]] : (tensor<4x1x3x3x4x4xf32>, tensor<4x4xf32>) -> tensor<4x1x3x3x4x4xf32>
// CHECK-NEXT: [[V16:%.*]] = relay.transpose [[V15]] {axes = array<i64: 0, 5, 1, 2, 3, 4>} : (tensor<4x1x3x3x4x4xf32>) -> tensor<4x4x1x3x3x4xf32>
// CHECK-NEXT: [[V17:%.*]] = relay.reshape [[V16]] {newshape = array<i64: 16, 9, 4>} : (tensor<4x4x1x3x3x4xf32>) -> tensor<16x9x4xf32>
// CHECK-NEXT: [[V18:%.*]] = relay.transpose %w {axes = array<i64: 0, 1, 2, 3>} : (tensor<4x4x4x6xf32>) -> tensor<4x4x4x6xf32>
// CHECK-NEXT: [[V19:%.*]] = relay.reshape [[V18]] {newshape = array<i64: 16, 4, 6>} : (tensor<4x4x4x6xf32>) -> tensor<16x4x6xf32>
// CHECK-NEXT: [[V20:%.*]] = relay.nn.batch_matmul [[V17]], [[V19]] : (tensor<16x9x4xf32>, tensor<16x4x6xf32>) -> tensor<16x9x6xf32>
// CHECK-NEXT: [[V21:%.*]] = relay.reshape [[V20]] {newshape = array<i64: 4, 4, 1, 3, 3, 6>} : (tensor<16x9x6xf32>) -> tensor<4x4x1x3x3x6xf32>
// CHECK-NEXT: [[V22:%.*]] = relay.constant dense<{{.*}}> : tensor<2x4xf32>
// CHECK-NEXT: [[V23:%.*]] = relay.transpose [[V21]] {axes = array<i64: 1, 2, 3, 4, 5, 0>} : (tensor<4x4x1x3x3x6xf32>) -> tensor<4x1x3x3x6x4xf32>
// CHECK-NEXT: [[V24:%.*]] = relay.nn.dense [[V23]], [[V22]] : (tensor<4x1x3x3x6x4xf32>, tensor<2x4xf32>) -> tensor<4x1x3x3x6x2xf32>
// CHECK-NEXT: [[V25:%.*]] = relay.transpose [[V24]] {axes = array<i64: 5, 0, 1, 2, 3, 4>} : (tensor<4x1x3x3x6x2xf32>) -> tensor<2x4x1x3x3x6xf32>
// CHECK-NEXT: [[V26:%.*]] = relay.constant dense<{{.*}}> : tensor<2x4xf32>
// CHECK-NEXT: [[V27:%.*]] = relay.transpose [[V25]] {axes = array<i64: 0, 2, 3, 4, 5, 1>} : (tensor<2x4x1x3x3x6xf32>) -> tensor<2x1x3x3x6x4xf32>
// CHECK-NEXT: [[V28:%.*]] = relay.nn.dense [[V27]], [[V26]] : (tensor<2x1x3x3x6x4xf32>, tensor<2x4xf32>) -> tensor<2x1x3x3x6x2xf32>
// CHECK-NEXT: [[V29:%.*]] = relay.transpose [[V28]] {axes = array<i64: 0, 5, 1, 2, 3, 4>} : (tensor<2x1x3x3x6x2xf32>) -> tensor<2x2x1x3x3x6xf32>
// CHECK-NEXT: [[V30:%.*]] = relay.transpose [[V29]] {axes = array<i64: 2, 5, 3, 0, 4, 1>} : (tensor<2x2x1x3x3x6xf32>) -> tensor<1x6x3x2x3x2xf32>
// CHECK-NEXT: [[V31:%.*]] = relay.reshape [[V30]] {newshape = array<i64: 1, 6, 6, 6>} : (tensor<1x6x3x2x3x2xf32>) -> tensor<1x6x6x6xf32>
// CHECK-NEXT: [[V32:%.*]] = relay.strided_slice [[V31]] {begin = array<i64: 0, 0>, end = array<i64: 5, 6>, axes = array<i64: 2, 3>} : (tensor<1x6x6x6xf32>) -> tensor<1x6x5x6xf32>
// CHECK-NEXT: func.return [[V32]] : tensor<1x6x5x6xf32>
// CHECK-NEXT: }
func.func @tiles(%x: tensor<1x4x5x6xf32>, %w: tensor<4x4x4x6xf32>) -> tensor<1x6x5x6xf32> {
  %0 = relay.nn.contrib_conv2d_winograd_without_weight_transform %x, %w {tile_size = 2 : i64, padding = array<i64: 1, 1>} : (tensor<1x4x5x6xf32>, tensor<4x4x4x6xf32>) -> tensor<1x6x5x6xf32>
  return %0 : tensor<1x6x5x6xf32>
}

// CHECK-LABEL: func.func @bits(%x: tensor<2x8xi8>, %w: tensor<3x2x1xui8>) -> tensor<2x3xi32> {
// CHECK-NEXT: [[V1:%.*]] = relay.expand_dims %w {axis = 3 : i64} : (tensor<3x2x1xui8>) -> tensor<3x2x1x1xui8>
// CHECK-NEXT: [[V2:%.*]] = relay.constant dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xui8>
// CHECK-NEXT: [[V3:%.*]] = relay.right_shift [[V1]], [[V2]] : (tensor<3x2x1x1xui8>, tensor<8xui8>) -> tensor<3x2x1x8xui8>
// CHECK-NEXT: [[V4:%.*]] = relay.constant dense<1> : tensor<ui8>
// CHECK-NEXT: [[V5:%.*]] = relay.bitwise_and [[V3]], [[V4]] : (tensor<3x2x1x8xui8>, tensor<ui8>) -> tensor<3x2x1x8xui8>
// CHECK-NEXT: [[V6:%.*]] = relay.cast [[V5]] {dtype = i32} : (tensor<3x2x1x8xui8>) -> tensor<3x2x1x8xi32>
// CHECK-NEXT: [[V7:%.*]] = relay.constant dense<{{.*}}> : tensor<1x2x1x1xi32>
// CHECK-NEXT: [[V8:%.*]] = relay.multiply [[V6]], [[V7]] : (tensor<3x2x1x8xi32>, tensor<1x2x1x1xi32>) -> tensor<3x2x1x8xi32>
// CHECK-NEXT: [[V9:%.*]] = relay.sum [[V8]] {axis = array<i64: 1>} : (tensor<3x2x1x8xi32>) -> tensor<3x1x8xi32>
// CHECK-NEXT: [[V10:%.*]] = relay.reshape [[V9]] {newshape = array<i64: 3, 8>} : (tensor<3x1x8xi32>) -> tensor<3x8xi32>
// CHECK-NEXT: [[V11:%.*]] = relay.cast %x {dtype = i32} : (tensor<2x8xi8>) -> tensor<2x8xi32>
// CHECK-NEXT: [[V12:%.*]] = relay.constant dense<1> : tensor<i32>
// CHECK-NEXT: [[V13:%.*]] = relay.bitwise_and [[V11]], [[V12]] : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
// CHECK-NEXT: [[V14:%.*]] = relay.constant dense<3> : tensor<i32>
// CHECK-NEXT: [[V15:%.*]] = relay.bitwise_and [[V10]], [[V14]] : (tensor<3x8xi32>, tensor<i32>) -> tensor<3x8xi32>
// CHECK-NEXT: [[V16:%.*]] = relay.add [[V15]], [[V15]] : (tensor<3x8xi32>, tensor<3x8xi32>) -> tensor<3x8xi32>
// CHECK-NEXT: [[V17:%.*]] = relay.constant dense<3> : tensor<i32>
// CHECK-NEXT: [[V18:%.*]] = relay.subtract [[V16]], [[V17]] : (tensor<3x8xi32>, tensor<i32>) -> tensor<3x8xi32>
// CHECK-NEXT: [[V19:%.*]] = relay.nn.dense [[V13]], [[V18]] : (tensor<2x8xi32>, tensor<3x8xi32>) -> tensor<2x3xi32>
// CHECK-NEXT: func.return [[V19]] : tensor<2x3xi32>
// CHECK-NEXT: }
func.func @bits(%x: tensor<2x8xi8>, %w: tensor<3x2x1xui8>) -> tensor<2x3xi32> {
  %0 = relay.nn.bitserial_dense %x, %w {units = 3 : i64, weight_bits = 2 : i64, pack_dtype = ui8, out_dtype = i32} : (tensor<2x8xi8>, tensor<3x2x1xui8>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}

// CHECK-LABEL: func.func @bits_of_images(%x: tensor<1x5x5x8xi8>, %w: tensor<3x3x8x2xi8>) -> tensor<1x3x3x2xi16> {
// CHECK-NEXT: [[V1:%.*]] = relay.transpose %w {axes = array<i64: 3, 2, 0, 1>} : (tensor<3x3x8x2xi8>) -> tensor<2x8x3x3xi8>
// CHECK-NEXT: [[V2:%.*]] = relay.cast %x {dtype = i16} : (tensor<1x5x5x8xi8>) -> tensor<1x5x5x8xi16>
// CHECK-NEXT: [[V3:%.*]] = relay.constant dense<1> : tensor<i16>
// CHECK-NEXT: [[V4:%.*]] = relay.bitwise_and [[V2]], [[V3]] : (tensor<1x5x5x8xi16>, tensor<i16>) -> tensor<1x5x5x8xi16>
// CHECK-NEXT: [[V5:%.*]] = relay.transpose [[V4]] {axes = array<i64: 0, 3, 1, 2>} : (tensor<1x5x5x8xi16>) -> tensor<1x8x5x5xi16>
// CHECK-NEXT: [[V6:%.*]] = relay.cast [[V1]] {dtype = i16} : (tensor<2x8x3x3xi8>) -> tensor<2x8x3x3xi16>
// CHECK-NEXT: [[V7:%.*]] = relay.constant dense<1> : tensor<i16>
// CHECK-NEXT: [[V8:%.*]] = relay.bitwise_and [[V6]], [[V7]] : (tensor<2x8x3x3xi16>, tensor<i16>) -> tensor<2x8x3x3xi16>
// CHECK-NEXT: [[V9:%.*]] = relay.nn.conv2d [[V5]], [[V8]] {padding = array<i64: 0, 0, 0, 0>} : (tensor<1x8x5x5xi16>, tensor<2x8x3x3xi16>) -> tensor<1x2x3x3xi16>
// CHECK-NEXT: [[V10:%.*]] = relay.transpose [[V9]] {axes = array<i64: 0, 2, 3, 1>} : (tensor<1x2x3x3xi16>) -> tensor<1x3x3x2xi16>
// CHECK-NEXT: func.return [[V10]] : tensor<1x3x3x2xi16>
// CHECK-NEXT: }
func.func @bits_of_images(%x: tensor<1x5x5x8xi8>, %w: tensor<3x3x8x2xi8>) -> tensor<1x3x3x2xi16> {
  %0 = relay.nn.bitserial_conv2d %x, %w {pack_dtype = ui8, data_layout = "NHWC", kernel_layout = "HWIO", unipolar = false} : (tensor<1x5x5x8xi8>, tensor<3x3x8x2xi8>) -> tensor<1x3x3x2xi16>
  return %0 : tensor<1x3x3x2xi16>
}

// CHECK-LABEL: func.func @keep_unknown_dimensions(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.nn.l2_normalize %x {eps = 1.000000e-03 : f64, axis = array<i64: 1>} : (tensor<?x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<?x3xf32>
// CHECK-NEXT: }
func.func @keep_unknown_dimensions(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = relay.nn.l2_normalize %x {eps = 1.000000e-03 : f64, axis = array<i64: 1>} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// CHECK-LABEL: func.func @keep_composite(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.composite "test.normalize" %x : (tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT: ^bb0(%p: tensor<2x3xf32>):
// CHECK-NEXT: [[V2:%.*]] = relay.nn.l2_normalize %p {eps = 1.000000e-03 : f64, axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: relay.yield [[V2]] : tensor<2x3xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return [[V1]] : tensor<2x3xf32>
// CHECK-NEXT: }
func.func @keep_composite(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.composite "test.normalize" %x : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%p: tensor<2x3xf32>):
    %1 = relay.nn.l2_normalize %p {eps = 1.000000e-03 : f64, axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    relay.yield %1 : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func private @keep_for_others(%x: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {Compiler = "test"} {
// CHECK-NEXT: [[V1:%.*]] = relay.nn.l2_normalize %x {eps = 1.000000e-03 : f64, axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<2x3xf32>
// CHECK-NEXT: }
func.func private @keep_for_others(%x: tensor<2x3xf32>) -> tensor<2x3xf32> attributes {Compiler = "test"} {
  %0 = relay.nn.l2_normalize %x {eps = 1.000000e-03 : f64, axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @on_device(%x: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: [[V2:%.*]] = relay.add %x, [[V1]] : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<2xf32>
// CHECK-NEXT: }
func.func @on_device(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.constant dense<1.0> : tensor<f32>
  %1 = relay.on_device %0 {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<f32>) -> tensor<f32>
  %2 = relay.add %x, %1 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = relay.on_device %2 : (tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_on_another_device(%x: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.on_device %x {virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<2xf32>
// CHECK-NEXT: }
func.func @keep_on_another_device(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.on_device %x {virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
