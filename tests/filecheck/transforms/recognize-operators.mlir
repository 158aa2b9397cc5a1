// RUN: xdsl-opt -p recognize-operators %s | filecheck %s
// RUN: xdsl-opt -p recognize-operators,recognize-operators %s | filecheck %s
// RUN: xdsl-opt -p 'recognize-operators{composites=true attention=true}' %s | filecheck %s --check-prefix=COMPOSITE

// As torch writes it.
// CHECK-LABEL: func.func @layer_norm
// CHECK: [[N:%.*]] = relay.nn.layer_norm %x, %g, %b {epsilon = {{1.0.*e-05|9.99.*e-06}} : f64} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-NEXT: func.return [[N]]
func.func @layer_norm(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %two = relay.constant dense<2.0> : tensor<f32>
  %eps = relay.constant dense<1.0e-5> : tensor<f32>
  %0 = relay.mean %x {axis = array<i64: -1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = relay.subtract %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = relay.power %1, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = relay.mean %2 {axis = array<i64: -1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %4 = relay.add %3, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = relay.sqrt %4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = relay.divide %1, %5 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %7 = relay.multiply %6, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %8 = relay.add %b, %7 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %8 : tensor<2x4xf32>
}

// As TensorFlow writes it.
// CHECK-LABEL: func.func @layer_norm_of_tensorflow
// CHECK: [[N:%.*]] = relay.nn.layer_norm %x, %g, %b
// CHECK-NEXT: func.return [[N]]
func.func @layer_norm_of_tensorflow(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %eps = relay.constant dense<1.0e-5> : tensor<f32>
  %0 = relay.mean %x {axis = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = relay.subtract %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = relay.multiply %1, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = relay.mean %2 {axis = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %4 = relay.add %3, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = relay.rsqrt %4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = relay.multiply %5, %g : (tensor<2x1xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %7 = relay.multiply %x, %6 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = relay.multiply %0, %6 : (tensor<2x1xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %9 = relay.subtract %b, %8 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %10 = relay.add %7, %9 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %10 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: [[S:%.*]] = relay.nn.softmax %x {axis = 0 : i64}
// CHECK-NEXT: func.return [[S]]
func.func @softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = relay.max %x {axis = array<i64: 0>, keepdims = true} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %1 = relay.subtract %x, %0 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %2 = relay.exp %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = relay.sum %2 {axis = array<i64: 0>, keepdims = true} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %4 = relay.divide %2, %3 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @keep_other_axes
// CHECK: relay.divide
func.func @keep_other_axes(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relay.max %x {axis = array<i64: 0>, keepdims = true} : (tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = relay.subtract %x, %0 : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %2 = relay.exp %1 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = relay.sum %2 {axis = array<i64: 1>, keepdims = true} : (tensor<2x2xf32>) -> tensor<2x1xf32>
  %4 = relay.divide %2, %3 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  return %4 : tensor<2x2xf32>
}

// The sum is used outside.
// CHECK-LABEL: func.func @keep_value_with_other_user
// CHECK: relay.divide
func.func @keep_value_with_other_user(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<1x4xf32>) {
  %0 = relay.max %x {axis = array<i64: 0>, keepdims = true} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %1 = relay.subtract %x, %0 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %2 = relay.exp %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = relay.sum %2 {axis = array<i64: 0>, keepdims = true} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %4 = relay.divide %2, %3 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  return %4, %3 : tensor<2x4xf32>, tensor<1x4xf32>
}

// x ** 2.5 is no square.
// CHECK-LABEL: func.func @keep_other_exponent
// CHECK: relay.divide
func.func @keep_other_exponent(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %two = relay.constant dense<2.5> : tensor<f32>
  %eps = relay.constant dense<1.0e-5> : tensor<f32>
  %0 = relay.mean %x {axis = array<i64: -1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = relay.subtract %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = relay.power %1, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = relay.mean %2 {axis = array<i64: -1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %4 = relay.add %3, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = relay.sqrt %4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = relay.divide %1, %5 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %6 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @gelu
// CHECK-NOT: relay.composite
// COMPOSITE-LABEL: func.func @gelu
// COMPOSITE-NEXT: [[G:%.*]] = relay.composite "gelu" %x
// COMPOSITE-NEXT: ^{{.*}}({{%.*}}: tensor<4xf32>):
// COMPOSITE: relay.erf
// COMPOSITE: func.return [[G]]
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = relay.constant dense<1.41421354> : tensor<f32>
  %one = relay.constant dense<1.0> : tensor<f32>
  %half = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.divide %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = relay.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = relay.multiply %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = relay.multiply %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// COMPOSITE-LABEL: func.func @gelu_by_tanh
// COMPOSITE-NEXT: relay.composite "gelu" %x
func.func @gelu_by_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.constant dense<0.044715> : tensor<f32>
  %b = relay.constant dense<0.797884583> : tensor<f32>
  %one = relay.constant dense<1.0> : tensor<f32>
  %half = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.multiply %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.multiply %a, %1 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.add %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = relay.multiply %b, %3 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = relay.tanh %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = relay.add %one, %5 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = relay.multiply %x, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = relay.multiply %half, %7 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}

// COMPOSITE-LABEL: func.func @silu
// COMPOSITE-NEXT: relay.composite "silu" %x
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.multiply %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// COMPOSITE-LABEL: func.func @silu_by_exp
// COMPOSITE-NEXT: relay.composite "silu" %x
func.func @silu_by_exp(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = relay.divide %one, %2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = relay.multiply %x, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// COMPOSITE-LABEL: func.func @keep_gate_of_other_number
// COMPOSITE-NOT: relay.composite
// COMPOSITE: func.return
func.func @keep_gate_of_other_number(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = relay.constant dense<1.0> : tensor<f32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = relay.divide %zero, %2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = relay.multiply %x, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// COMPOSITE-LABEL: func.func @keep_gate_of_other_value
// COMPOSITE-NOT: relay.composite
// COMPOSITE: func.return
func.func @keep_gate_of_other_value(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.multiply %y, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// COMPOSITE-LABEL: func.func @hard_swish
// COMPOSITE-NEXT: relay.composite "hard_swish" %x
func.func @hard_swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = relay.constant dense<3.0> : tensor<f32>
  %six = relay.constant dense<6.0> : tensor<f32>
  %0 = relay.add %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = relay.clip %0 {a_min = 0.0 : f64, a_max = 6.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.multiply %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.divide %2, %six : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT: [[R:%.*]] = relay.nn.rms_norm %x, %g {epsilon = {{1.0.*e-05|9.99.*e-06}} : f64} : (tensor<2x4xf32>, tensor<4xf32>)
// CHECK-NEXT: func.return [[R]]
func.func @rms_norm(%x: tensor<2x4xf32>, %g: tensor<4xf32>) -> tensor<2x4xf32> {
  %eps = relay.constant dense<1.0e-5> : tensor<f32>
  %0 = relay.multiply %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = relay.mean %0 {axis = array<i64: -1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = relay.add %1, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = relay.rsqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = relay.multiply %x, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = relay.multiply %4, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %5 : tensor<2x4xf32>
}

// As exporters write the square and the root, along another axis, without a scale.
// CHECK-LABEL: func.func @rms_norm_without_scale
// CHECK: [[R:%.*]] = relay.nn.rms_norm %x, {{%.*}} {axis = 0 : i64, epsilon = {{1.0.*e-05|9.99.*e-06}} : f64, scale = false}
// CHECK-NEXT: func.return [[R]]
func.func @rms_norm_without_scale(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %eps = relay.constant dense<1.0e-5> : tensor<f32>
  %two = relay.constant dense<2.0> : tensor<f32>
  %one = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.power %x, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %1 = relay.mean %0 {axis = array<i64: 0>, keepdims = true} : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %2 = relay.add %1, %eps : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %3 = relay.sqrt %2 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = relay.divide %one, %3 : (tensor<f32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %5 = relay.multiply %4, %x : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %5 : tensor<2x4xf32>
}

// The mean is of something else.
// CHECK-LABEL: func.func @keep_other_mean
// CHECK-NOT: relay.nn.rms_norm
// CHECK: func.return
func.func @keep_other_mean(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %g: tensor<4xf32>) -> tensor<2x4xf32> {
  %eps = relay.constant dense<1.0e-5> : tensor<f32>
  %0 = relay.multiply %y, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = relay.mean %0 {axis = array<i64: -1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = relay.add %1, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = relay.rsqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = relay.multiply %x, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = relay.multiply %4, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %5 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @attention
// CHECK-NOT: relay.composite
// COMPOSITE-LABEL: func.func @attention
// COMPOSITE-NEXT: [[A:%.*]] = relay.composite "attention" %q, %k, %m, %v
// COMPOSITE: relay.transpose
// COMPOSITE: relay.nn.softmax
// COMPOSITE: func.return [[A]]
func.func @attention(%q: tensor<4x6xf32>, %k: tensor<4x6xf32>, %v: tensor<4x6xf32>, %m: tensor<1x1x4xf32>) -> tensor<4x6xf32> {
  %scale = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.reshape %q {newshape = array<i64: 4, 2, 3>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %1 = relay.transpose %0 {axes = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %2 = relay.reshape %k {newshape = array<i64: 4, 2, 3>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %3 = relay.transpose %2 {axes = array<i64: 1, 2, 0>} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  %4 = relay.nn.batch_matmul %1, %3 : (tensor<2x4x3xf32>, tensor<2x3x4xf32>) -> tensor<2x4x4xf32>
  %5 = relay.multiply %4, %scale : (tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  %6 = relay.add %5, %m : (tensor<2x4x4xf32>, tensor<1x1x4xf32>) -> tensor<2x4x4xf32>
  %7 = relay.nn.softmax %6 : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %8 = relay.reshape %v {newshape = array<i64: 4, 2, 3>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %9 = relay.transpose %8 {axes = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %10 = relay.nn.batch_matmul %7, %9 : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  %11 = relay.transpose %10 {axes = array<i64: 1, 0, 2>} : (tensor<2x4x3xf32>) -> tensor<4x2x3xf32>
  %12 = relay.reshape %11 {newshape = array<i64: 4, 6>} : (tensor<4x2x3xf32>) -> tensor<4x6xf32>
  return %12 : tensor<4x6xf32>
}

// Rounded operands, weights and results: what is rounded where it is computed stays outside.
// COMPOSITE-LABEL: func.func @attention_of_bf16
// COMPOSITE-NEXT: [[K:%.*]] = relay.cast %k {dtype = bf16}
// COMPOSITE-NEXT: [[A:%.*]] = relay.composite "attention" %q, [[K]], %v : (tensor<2x4x3xf32>, tensor<2x3x4xbf16>, tensor<4x2x3xf32>) -> tensor<4x2x3xbf16>
// COMPOSITE: relay.multiply
// COMPOSITE-NEXT: relay.cast
// COMPOSITE: relay.nn.softmax
// COMPOSITE-NEXT: relay.cast
// COMPOSITE: relay.transpose
// COMPOSITE-NEXT: relay.cast
// COMPOSITE: func.return [[A]]
func.func @attention_of_bf16(%q: tensor<2x4x3xf32>, %k: tensor<2x3x4xf32>, %v: tensor<4x2x3xf32>) -> tensor<4x2x3xbf16> {
  %scale = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.multiply %q, %scale : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
  %1 = relay.cast %0 {dtype = bf16} : (tensor<2x4x3xf32>) -> tensor<2x4x3xbf16>
  %2 = relay.cast %k {dtype = bf16} : (tensor<2x3x4xf32>) -> tensor<2x3x4xbf16>
  %3 = relay.nn.batch_matmul %1, %2 {out_dtype = f32} : (tensor<2x4x3xbf16>, tensor<2x3x4xbf16>) -> tensor<2x4x4xf32>
  %4 = relay.nn.softmax %3 : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %5 = relay.cast %4 {dtype = bf16} : (tensor<2x4x4xf32>) -> tensor<2x4x4xbf16>
  %6 = relay.transpose %v {axes = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %7 = relay.cast %6 {dtype = bf16} : (tensor<2x4x3xf32>) -> tensor<2x4x3xbf16>
  %8 = relay.nn.batch_matmul %5, %7 {out_dtype = f32} : (tensor<2x4x4xbf16>, tensor<2x4x3xbf16>) -> tensor<2x4x3xf32>
  %9 = relay.cast %8 {dtype = bf16} : (tensor<2x4x3xf32>) -> tensor<2x4x3xbf16>
  %10 = relay.transpose %9 {axes = array<i64: 1, 0, 2>} : (tensor<2x4x3xbf16>) -> tensor<4x2x3xbf16>
  return %10 : tensor<4x2x3xbf16>
}

// The root of the scale on both sides, slices of one projection, a mask that chooses, zeros for rows
// without scores. What scales and moves operands is inside.
// COMPOSITE-LABEL: func.func @attention_of_a_projection
// COMPOSITE: [[A:%.*]] = relay.composite "attention" %m, %qkv : (tensor<4x4xi1>, tensor<4x18xf32>) -> tensor<2x4x3xf32>
// COMPOSITE: relay.strided_slice
// COMPOSITE: relay.multiply
// COMPOSITE: relay.where
// COMPOSITE: relay.not_equal
// COMPOSITE: func.return [[A]]
func.func @attention_of_a_projection(%qkv: tensor<4x18xf32>, %m: tensor<4x4xi1>) -> tensor<2x4x3xf32> {
  %root = relay.constant dense<0.75> : tensor<f32>
  %low = relay.constant dense<-3.0e38> : tensor<f32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %q = relay.strided_slice %qkv {begin = array<i64: 0>, end = array<i64: 6>, axes = array<i64: 1>} : (tensor<4x18xf32>) -> tensor<4x6xf32>
  %k = relay.strided_slice %qkv {begin = array<i64: 6>, end = array<i64: 12>, axes = array<i64: 1>} : (tensor<4x18xf32>) -> tensor<4x6xf32>
  %v = relay.strided_slice %qkv {begin = array<i64: 12>, end = array<i64: 18>, axes = array<i64: 1>} : (tensor<4x18xf32>) -> tensor<4x6xf32>
  %0 = relay.reshape %q {newshape = array<i64: 4, 2, 3>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %1 = relay.transpose %0 {axes = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %2 = relay.multiply %1, %root : (tensor<2x4x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
  %3 = relay.multiply %root, %k : (tensor<f32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = relay.reshape %3 {newshape = array<i64: 4, 2, 3>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %5 = relay.transpose %4 {axes = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %6 = relay.nn.batch_matmul %2, %5 {transpose_b = true} : (tensor<2x4x3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x4xf32>
  %7 = relay.where %m, %6, %low : (tensor<4x4xi1>, tensor<2x4x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  %8 = relay.nn.softmax %7 : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %9 = relay.not_equal %8, %8 : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xi1>
  %10 = relay.where %9, %zero, %8 : (tensor<2x4x4xi1>, tensor<f32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  %11 = relay.reshape %v {newshape = array<i64: 4, 2, 3>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %12 = relay.transpose %11 {axes = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %13 = relay.nn.batch_matmul %10, %12 : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %13 : tensor<2x4x3xf32>
}

// One head, divided scores, two masks. The mask is computed outside, for all layers; the slice has
// another user and stays there as well.
// COMPOSITE-LABEL: func.func @attention_of_matrices
// COMPOSITE: [[S:%.*]] = relay.strided_slice %q
// COMPOSITE: [[M:%.*]] = relay.multiply %m
// COMPOSITE: [[A:%.*]] = relay.composite "attention" [[M]], %q, %k, %v
// COMPOSITE: relay.strided_slice
// COMPOSITE-NOT: relay.multiply
// COMPOSITE: func.return [[A]], [[S]]
func.func @attention_of_matrices(%q: tensor<6x3xf32>, %k: tensor<4x3xf32>, %v: tensor<4x5xf32>, %m: tensor<1x4xf32>) -> (tensor<2x5xf32>, tensor<2x3xf32>) {
  %low = relay.constant dense<-1.0e9> : tensor<f32>
  %two = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.strided_slice %q {begin = array<i64: 0>, end = array<i64: 2>, axes = array<i64: 0>} : (tensor<6x3xf32>) -> tensor<2x3xf32>
  %1 = relay.multiply %m, %low : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %2 = relay.nn.matmul %0, %k {transpose_b = true} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %3 = relay.divide %2, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %4 = relay.add %3, %1 : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %5 = relay.add %1, %4 : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = relay.nn.softmax %5 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = relay.nn.matmul %6, %v : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %7, %0 : tensor<2x5xf32>, tensor<2x3xf32>
}

// The function returns the weights, too.
// COMPOSITE-LABEL: func.func @keep_weights_with_other_user
// COMPOSITE-NOT: relay.composite
// COMPOSITE: func.return
func.func @keep_weights_with_other_user(%q: tensor<2x3xf32>, %k: tensor<4x3xf32>, %v: tensor<4x5xf32>) -> (tensor<2x5xf32>, tensor<2x4xf32>) {
  %0 = relay.nn.matmul %q, %k {transpose_b = true} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.softmax %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = relay.nn.matmul %1, %v : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %2, %1 : tensor<2x5xf32>, tensor<2x4xf32>
}

// Each column of the scores has its softmax.
// COMPOSITE-LABEL: func.func @keep_softmax_of_columns
// COMPOSITE-NOT: relay.composite
// COMPOSITE: func.return
func.func @keep_softmax_of_columns(%q: tensor<2x3xf32>, %k: tensor<4x3xf32>, %v: tensor<4x5xf32>) -> tensor<2x5xf32> {
  %0 = relay.nn.matmul %q, %k {transpose_b = true} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.softmax %0 {axis = 0 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = relay.nn.matmul %1, %v : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %2 : tensor<2x5xf32>
}

// COMPOSITE-LABEL: func.func @keep_function_of_a_compiler
// COMPOSITE-NOT: relay.composite
// COMPOSITE: func.return
func.func @keep_function_of_a_compiler(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Compiler = "dnnl"} {
  %0 = relay.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.multiply %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Rows that are masked as a whole have weights of 0, and what a cache does not hold is hidden: both are parts of attention.
// COMPOSITE-LABEL: func.func @attention_in_a_cache
// COMPOSITE-NEXT: [[A:%.*]] = relay.composite "attention" %none, %q, %held, %k, %m, %v
// COMPOSITE: func.return [[A]]
func.func @attention_in_a_cache(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>, %m: tensor<3x5xf32>, %none: tensor<3x1xi1>, %held: tensor<2x5x1xi1>) -> tensor<2x3x4xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %keys = relay.where %held, %k, %zero : (tensor<2x5x1xi1>, tensor<2x5x4xf32>, tensor<f32>) -> tensor<2x5x4xf32>
  %values = relay.where %held, %v, %zero : (tensor<2x5x1xi1>, tensor<2x5x4xf32>, tensor<f32>) -> tensor<2x5x4xf32>
  %0 = relay.nn.batch_matmul %q, %keys {transpose_b = true} : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %1 = relay.add %0, %m : (tensor<2x3x5xf32>, tensor<3x5xf32>) -> tensor<2x3x5xf32>
  %2 = relay.nn.softmax %1 : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %3 = relay.where %none, %zero, %2 : (tensor<3x1xi1>, tensor<f32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %4 = relay.nn.batch_matmul %3, %values : (tensor<2x3x5xf32>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
  return %4 : tensor<2x3x4xf32>
}
