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
