// RUN: xdsl-opt -p fold-scale-axis{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p fold-scale-axis %s | filecheck %s --check-prefix=SAFE
// RUN: xdsl-opt -p fold-scale-axis,fold-scale-axis %s | filecheck %s --check-prefix=SAFE
// RUN: xdsl-opt -p 'fold-scale-axis{directions="backward"}' %s | filecheck %s --check-prefix=BACKWARD
// RUN: xdsl-opt -p fold-scale-axis,fold-constant %s | filecheck %s --check-prefix=FOLDED

// The example of the papers: bias and weight are parameters.
// CHECK-LABEL: func.func @papers
// CHECK-NEXT: [[S:%.*]] = relay.constant dense<[2.000000e+00, 4.000000e+00, 5.000000e-01]> : tensor<3xf32>
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: [[B:%.*]] = relay.divide %bias, [[S]] : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: [[A:%.*]] = relay.add [[R]], [[B]] : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: [[W:%.*]] = relay.multiply %weight, [[S]] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense [[A]], [[W]] : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: func.return [[D]] : tensor<4x2xf32>
// CHECK-NEXT: }
// The scale is a constant, which is positive: that needs no option.
// SAFE-LABEL: func.func @papers
// SAFE: [[R:%.*]] = relay.nn.relu %x
// SAFE-NEXT: [[B:%.*]] = relay.divide %bias
// SAFE-NEXT: [[A:%.*]] = relay.add [[R]], [[B]]
// SAFE-NEXT: [[W:%.*]] = relay.multiply %weight
// SAFE-NEXT: relay.nn.dense [[A]], [[W]]
// BACKWARD-LABEL: func.func @papers
// BACKWARD: relay.multiply %x
func.func @papers(%x: tensor<4x3xf32>, %weight: tensor<2x3xf32>, %bias: tensor<3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<[2.0, 4.0, 0.5]> : tensor<3xf32>
  %0 = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relay.nn.relu %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = relay.add %1, %bias : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %3 = relay.nn.dense %2, %weight : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}

// A scale is squeezed once, and laid out for each operand.
// CHECK-LABEL: func.func @backward
// CHECK-NEXT: [[S:%.*]] = relay.constant dense<{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT: [[V:%.*]] = relay.squeeze [[S]] {axis = array<i64: 1, 2>} : (tensor<2x1x1xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[F:%.*]] = relay.expand_dims [[V]] {axis = 1 : i64, num_newaxis = 3 : i64}
// CHECK-NEXT: [[W:%.*]] = relay.multiply %w, [[F]]
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d %x, [[W]]
// CHECK-NEXT: [[G:%.*]] = relay.expand_dims [[V]] {axis = 1 : i64, num_newaxis = 2 : i64}
// CHECK-NEXT: [[T:%.*]] = relay.multiply %t, [[G]]
// CHECK-NEXT: [[U:%.*]] = relay.subtract [[C]], [[T]]
// CHECK-NEXT: [[P:%.*]] = relay.multiply %b, [[V]]
// CHECK-NEXT: [[A:%.*]] = relay.nn.bias_add [[U]], [[P]]
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu [[A]]
// CHECK-NEXT: func.return [[R]]
func.func @backward(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>, %b: tensor<2xf32>, %t: tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %s = relay.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.subtract %0, %t : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.nn.bias_add %1, %b : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %3 = relay.nn.relu %2 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %4 = relay.multiply %3, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %4 : tensor<1x2x4x4xf32>
}

// The convolution moves behind the computation of the scale.
// CHECK-LABEL: func.func @scale_after_convolution
// CHECK-NEXT: [[S:%.*]] = relay.tanh %t
// CHECK-NEXT: [[F:%.*]] = relay.expand_dims [[S]] {axis = 1 : i64, num_newaxis = 3 : i64}
// CHECK-NEXT: [[W:%.*]] = relay.multiply %w, [[F]]
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d %x, [[W]]
// CHECK-NEXT: func.return [[C]]
// Nothing says that the scale is finite.
// SAFE-LABEL: func.func @scale_after_convolution
// SAFE-NEXT: [[C:%.*]] = relay.nn.conv2d %x, %w
// SAFE: relay.multiply [[C]]
func.func @scale_after_convolution(%x: tensor<1x4x4x3xf32>, %w: tensor<2x3x1x1xf32>, %t: tensor<2xf32>) -> tensor<1x4x4x2xf32> {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC"} : (tensor<1x4x4x3xf32>, tensor<2x3x1x1xf32>) -> tensor<1x4x4x2xf32>
  %s = relay.tanh %t : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.multiply %0, %s : (tensor<1x4x4x2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  return %1 : tensor<1x4x4x2xf32>
}

// The weight of two convolutions is scaled for one of them.
// CHECK-LABEL: func.func @shared_weight
// CHECK: [[W:%.*]] = relay.multiply %w
// CHECK-NEXT: relay.nn.conv3d %x, [[W]]
// CHECK-NEXT: relay.nn.conv3d %x, %w
func.func @shared_weight(%x: tensor<1x3x4x4x4xf32>, %w: tensor<2x3x1x1x1xf32>, %s: tensor<2x1x1x1xf32>) -> (tensor<1x2x4x4x4xf32>, tensor<1x2x4x4x4xf32>) {
  %0 = relay.nn.conv3d %x, %w : (tensor<1x3x4x4x4xf32>, tensor<2x3x1x1x1xf32>) -> tensor<1x2x4x4x4xf32>
  %1 = relay.multiply %0, %s : (tensor<1x2x4x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4x4xf32>
  %2 = relay.nn.conv3d %x, %w : (tensor<1x3x4x4x4xf32>, tensor<2x3x1x1x1xf32>) -> tensor<1x2x4x4x4xf32>
  return %1, %2 : tensor<1x2x4x4x4xf32>, tensor<1x2x4x4x4xf32>
}

// In blocks of channels the factors are laid out for those of the weight.
// CHECK-LABEL: func.func @blocks
// CHECK: [[V:%.*]] = relay.squeeze %s {axis = array<i64: 0, 2, 3>}
// CHECK: [[F:%.*]] = relay.reshape [[V]] {newshape = array<i64: 1, 1, 1, 1, 4, 1>}
// CHECK-NEXT: [[W:%.*]] = relay.multiply %w, [[F]]
// CHECK-NEXT: relay.nn.conv2d %x, [[W]]
func.func @blocks(%x: tensor<1x2x4x4x2xf32>, %w: tensor<4x1x1x1x4x2xf32>, %s: tensor<1x2x1x1x2xf32>) -> tensor<1x4x4x4x2xf32> {
  %0 = relay.multiply %x, %s : (tensor<1x2x4x4x2xf32>, tensor<1x2x1x1x2xf32>) -> tensor<1x2x4x4x2xf32>
  %1 = relay.nn.conv2d %0, %w {data_layout = "NCHW2c", kernel_layout = "OIHW4i2o"} : (tensor<1x2x4x4x2xf32>, tensor<4x1x1x1x4x2xf32>) -> tensor<1x4x4x4x2xf32>
  return %1 : tensor<1x4x4x4x2xf32>
}

// As with the original, one multiplication of a row moves in a run.
// CHECK-LABEL: func.func @two_in_a_row
// CHECK: relay.nn.dense
// CHECK-NEXT: [[R:%.*]] = relay.multiply {{.*}}, %t
// CHECK-NEXT: func.return [[R]]
func.func @two_in_a_row(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %s: tensor<2xf32>, %t: tensor<2xf32>) -> tensor<4x2xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.multiply %0, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = relay.multiply %1, %t : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// relu makes 0 of -inf, and 0 times -inf is NaN.
// CHECK-LABEL: func.func @zero_and_relu
// CHECK: relay.nn.relu %x
// CHECK: relay.multiply %w
// SAFE-LABEL: func.func @zero_and_relu
// SAFE: [[M:%.*]] = relay.multiply %x
// SAFE-NEXT: relay.nn.relu [[M]]
func.func @zero_and_relu(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<[0.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relay.nn.relu %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = relay.nn.dense %1, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// A zero times infinity is NaN in both.
// SAFE-LABEL: func.func @zero
// SAFE: relay.multiply %w
// SAFE-NEXT: relay.nn.dense %x
func.func @zero(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<[0.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relay.nn.dense %0, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// FOLDED-LABEL: func.func @constants
// FOLDED-NEXT: [[W:%.*]] = relay.constant dense<{{\[\[}}2.000000e+00, 4.000000e+00], [9.000000e+00, 1.200000e+01]]> : tensor<2x2xf32>
// FOLDED-NEXT: relay.nn.dense %x, [[W]]
// FOLDED-NEXT: func.return
func.func @constants(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = relay.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %s = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = relay.multiply %0, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @keep_number
// CHECK: relay.nn.dense %x, %w
// CHECK-NEXT: relay.multiply
func.func @keep_number(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %s = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.multiply %0, %s : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @keep_unknown_sign
// CHECK: relay.multiply %x, %s
func.func @keep_unknown_sign(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<4x2xf32> {
  %0 = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relay.nn.relu %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = relay.nn.dense %1, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// The summand might be divided by 0.
// CHECK-LABEL: func.func @keep_unknown_divisor
// CHECK: relay.multiply %x, %s
func.func @keep_unknown_divisor(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<4x2xf32> {
  %0 = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relay.add %0, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %2 = relay.nn.dense %1, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @keep_let
// CHECK: relay.multiply %x
func.func @keep_let(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<4x2xf32> {
  %0 = relay.multiply %x, %s : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = relay.let %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = relay.nn.dense %1, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @keep_depth_multiplier
// CHECK: relay.multiply %x
func.func @keep_depth_multiplier(%x: tensor<1x2x4x4xf32>, %w: tensor<4x1x1x1xf32>, %s: tensor<2x1x1xf32>) -> tensor<1x4x4x4xf32> {
  %0 = relay.multiply %x, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.conv2d %0, %w {groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<4x1x1x1xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// The product would be computed in the branch.
// CHECK-LABEL: func.func @keep_other_scope
// CHECK-NEXT: relay.nn.dense %x, %w
// CHECK: relay.multiply
func.func @keep_other_scope(%c: i1, %x: tensor<4x3xf32>, %w: tensor<2x3xf32>, %s: tensor<2xf32>, %y: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = scf.if %c -> (tensor<4x2xf32>) {
    %2 = relay.multiply %0, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    scf.yield %2 : tensor<4x2xf32>
  } else {
    scf.yield %y : tensor<4x2xf32>
  }
  return %1 : tensor<4x2xf32>
}
