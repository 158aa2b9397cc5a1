// RUN: xdsl-opt -p 'simplify-expr{rules=cpu reassociate=true}' %s | filecheck %s
// RUN: xdsl-opt -p 'simplify-expr{rules=cpu reassociate=true ignore-signed-zeros=true}' %s | filecheck %s --check-prefix=ZERO
// RUN: xdsl-opt -p 'simplify-expr{rules=cpu factor-polynomials=true}' %s | filecheck %s --check-prefix=FACTOR

// CHECK-LABEL: func.func @sums
// CHECK-NEXT: [[FIVE:%.*]] = relay.constant dense<5.000000e+00> : tensor<f32>
// CHECK-NEXT: relay.add %x, [[FIVE]]
func.func @sums(%x: tensor<2xf32>) -> tensor<2xf32> {
  %two = relay.constant dense<2.0> : tensor<f32>
  %seven = relay.constant dense<7.0> : tensor<f32>
  %0 = relay.subtract %x, %two : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = relay.add %seven, %0 : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @bias_and_shift
// CHECK-NEXT: [[SUM:%.*]] = relay.constant dense<{{.*}}5.000000e+00{{.*}}7.000000e+00{{.*}}> : tensor<2x1xf32>
// CHECK-NEXT: relay.add %x, [[SUM]]
func.func @bias_and_shift(%x: tensor<1x2x3xf32>) -> tensor<1x2x3xf32> {
  %b = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %s = relay.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
  %0 = relay.nn.bias_add %x, %b : (tensor<1x2x3xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
  %1 = relay.add %0, %s : (tensor<1x2x3xf32>, tensor<2x1xf32>) -> tensor<1x2x3xf32>
  return %1 : tensor<1x2x3xf32>
}

// CHECK-LABEL: func.func @products_and_quotients
// CHECK-NEXT: [[HALF:%.*]] = relay.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: relay.multiply %x, [[HALF]]
func.func @products_and_quotients(%x: tensor<2xf32>) -> tensor<2xf32> {
  %two = relay.constant dense<2.0> : tensor<f32>
  %four = relay.constant dense<4.0> : tensor<f32>
  %0 = relay.multiply %x, %two : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = relay.divide %0, %four : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// The combined constant would have as many elements as the result.
// CHECK-LABEL: func.func @keep_sum_that_grows
// CHECK: relay.add
// CHECK: relay.add
func.func @keep_sum_that_grows(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %row = relay.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %column = relay.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %0 = relay.add %x, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = relay.add %0, %column : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// 1 / 1e-45 is infinite.
// CHECK-LABEL: func.func @keep_quotient_by_tiny
// CHECK: relay.divide
func.func @keep_quotient_by_tiny(%x: tensor<2xf32>) -> tensor<2xf32> {
  %tiny = relay.constant dense<1.0e-45> : tensor<f32>
  %0 = relay.divide %x, %tiny : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// 42 * (1 / 7) is greater than 6 in f32.
// CHECK-LABEL: func.func @keep_quotient_that_is_rounded
// CHECK: relay.divide
// CHECK: relay.divide
// CHECK: relay.divide
// CHECK: relay.multiply
func.func @keep_quotient_that_is_rounded(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi64>, tensor<2xi1>, tensor<2xf32>) {
  %seven = relay.constant dense<7.0> : tensor<f32>
  %one = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.divide %x, %seven : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = relay.ceil %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.divide %x, %seven : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = relay.subtract %2, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = relay.cast %3 {dtype = i64} : (tensor<2xf32>) -> tensor<2xi64>
  %5 = relay.divide %x, %seven : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %6 = relay.less_equal %5, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xi1>
  %7 = relay.divide %x, %seven : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %8 = relay.exp %7 : (tensor<2xf32>) -> tensor<2xf32>
  return %1, %4, %6, %8 : tensor<2xf32>, tensor<2xi64>, tensor<2xi1>, tensor<2xf32>
}

// Elements that are only chosen or moved on the way are rounded as well.
// CHECK-LABEL: func.func @keep_quotient_that_is_rounded_later
// CHECK: relay.divide
// CHECK: relay.divide
// CHECK: relay.divide
func.func @keep_quotient_that_is_rounded_later(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<2xf32>, tensor<f32>) {
  %seven = relay.constant dense<7.0> : tensor<f32>
  %0 = relay.divide %x, %seven : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = relay.tuple %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf32>>
  %2 = relay.concatenate %1 {axis = 0 : i64} : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<8xf32>
  %3 = relay.ceil %2 : (tensor<8xf32>) -> tensor<8xf32>
  %4 = relay.divide %x, %seven : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = relay.split %4 {indices_or_sections = 2, axis = 0} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %6 = relay.tuple_get_item %5[0] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %7 = relay.floor %6 : (tensor<2xf32>) -> tensor<2xf32>
  %8 = relay.divide %x, %seven : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %9 = relay.max %8 : (tensor<4xf32>) -> tensor<f32>
  %10 = relay.round %9 : (tensor<f32>) -> tensor<f32>
  return %3, %7, %10 : tensor<8xf32>, tensor<2xf32>, tensor<f32>
}

// x / sqrt(x) is whole for squares.
// CHECK-LABEL: func.func @keep_quotient_by_root
// CHECK: relay.divide
// CHECK: relay.rsqrt
func.func @keep_quotient_by_root(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = relay.sqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.divide %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.ceil %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.sqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  %4 = relay.divide %x, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %4 : tensor<4xf32>, tensor<4xf32>
}

// What a matrix product has summed up is rounded anyway.
// CHECK-LABEL: func.func @quotient_of_a_sum
// CHECK: relay.nn.dense
// CHECK: relay.multiply
func.func @quotient_of_a_sum(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>) -> tensor<2x3xf32> {
  %c = relay.constant dense<41.0> : tensor<f32>
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %1 = relay.divide %0, %c : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %2 = relay.ceil %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @zero
// CHECK: relay.add
// ZERO-LABEL: func.func @zero
// ZERO-NEXT: func.return %x
func.func @zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.add %x, %zero : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @square_of_a_sum
// CHECK-COUNT-4: relay.multiply
// FACTOR-LABEL: func.func @square_of_a_sum
// FACTOR-NEXT: [[SUM:%.*]] = relay.add %x, %y
// FACTOR-NEXT: [[SQUARE:%.*]] = relay.multiply [[SUM]], [[SUM]]
// FACTOR-NEXT: func.return [[SQUARE]]
func.func @square_of_a_sum(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %two = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.multiply %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.multiply %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.multiply %two, %1 : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = relay.multiply %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = relay.add %0, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %5 = relay.add %4, %3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %5 : tensor<2xf32>
}

// A number scales the queries, which are fewer, not the keys; not keys that are fewer, and infinity stays.
// CHECK-LABEL: func.func @scaled_product
// CHECK: [[Q:%.*]] = relay.multiply %q, {{%.*}} : (tensor<2x3x4xf32>, tensor<f32>)
// CHECK-NEXT: [[K:%.*]] = relay.reshape %k {newshape = array<i64: 2, 5, 4>}
// CHECK-NEXT: relay.nn.batch_matmul [[Q]], [[K]] {transpose_b = true}
// CHECK: relay.nn.batch_matmul %q, {{%.*}} : (tensor<2x3x4xf32>, tensor<2x4x2xf32>)
// CHECK: relay.nn.batch_matmul %q, {{%.*}} {transpose_b = true}
// FACTOR-LABEL: func.func @scaled_product
// FACTOR: relay.multiply %k
func.func @scaled_product(%q: tensor<2x3x4xf32>, %k: tensor<10x4xf32>, %s: tensor<2x4x2xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x2xf32>, tensor<2x3x5xf32>) {
  %half = relay.constant dense<0.5> : tensor<1xf32>
  %inf = relay.constant dense<0x7f800000> : tensor<f32>
  %0 = relay.multiply %k, %half : (tensor<10x4xf32>, tensor<1xf32>) -> tensor<10x4xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 2, 5, 4>} : (tensor<10x4xf32>) -> tensor<2x5x4xf32>
  %2 = relay.nn.batch_matmul %q, %1 {transpose_b = true} : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %3 = relay.multiply %s, %half : (tensor<2x4x2xf32>, tensor<1xf32>) -> tensor<2x4x2xf32>
  %4 = relay.nn.batch_matmul %q, %3 : (tensor<2x3x4xf32>, tensor<2x4x2xf32>) -> tensor<2x3x2xf32>
  %5 = relay.multiply %k, %inf : (tensor<10x4xf32>, tensor<f32>) -> tensor<10x4xf32>
  %6 = relay.reshape %5 {newshape = array<i64: 2, 5, 4>} : (tensor<10x4xf32>) -> tensor<2x5x4xf32>
  %7 = relay.nn.batch_matmul %q, %6 {transpose_b = true} : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  return %2, %4, %7 : tensor<2x3x5xf32>, tensor<2x3x2xf32>, tensor<2x3x5xf32>
}

// Integers, which wrap around; elements of two types; what something else uses; the weights of attention.
// CHECK-LABEL: func.func @keep_scaled_operands
// CHECK-NOT: relay.multiply %q
// CHECK-NOT: relay.multiply %i
// CHECK: func.return
func.func @keep_scaled_operands(%q: tensor<2x3x4xf32>, %i: tensor<2x3x4xi8>, %k: tensor<2x4x5xf32>, %h: tensor<2x4x5xbf16>, %j: tensor<2x4x5xi8>) -> (tensor<2x3x5xf32>, tensor<2x3x5xi8>, tensor<2x3x5xf32>, tensor<2x4x5xf32>, tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %c = relay.constant dense<0.5> : tensor<f32>
  %b = relay.constant dense<0.5> : tensor<bf16>
  %n = relay.constant dense<3> : tensor<i8>
  %0 = relay.multiply %k, %c : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<2x4x5xf32>
  %1 = relay.nn.batch_matmul %q, %0 : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %2 = relay.multiply %j, %n : (tensor<2x4x5xi8>, tensor<i8>) -> tensor<2x4x5xi8>
  %3 = relay.nn.batch_matmul %i, %2 : (tensor<2x3x4xi8>, tensor<2x4x5xi8>) -> tensor<2x3x5xi8>
  %4 = relay.multiply %h, %b : (tensor<2x4x5xbf16>, tensor<bf16>) -> tensor<2x4x5xbf16>
  %5 = relay.nn.batch_matmul %q, %4 : (tensor<2x3x4xf32>, tensor<2x4x5xbf16>) -> tensor<2x3x5xf32>
  %6 = relay.nn.softmax %q : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %7 = relay.multiply %k, %c : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<2x4x5xf32>
  %8 = relay.nn.batch_matmul %6, %7 : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %9 = relay.nn.batch_matmul %i, %2 {out_dtype = f32} : (tensor<2x3x4xi8>, tensor<2x4x5xi8>) -> tensor<2x3x5xf32>
  return %1, %3, %5, %0, %8, %9 : tensor<2x3x5xf32>, tensor<2x3x5xi8>, tensor<2x3x5xf32>, tensor<2x4x5xf32>, tensor<2x3x5xf32>, tensor<2x3x5xf32>
}
