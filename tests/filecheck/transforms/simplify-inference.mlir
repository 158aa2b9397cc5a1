// RUN: xdsl-opt -p simplify-inference{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p simplify-inference{unsafe=true},simplify-inference{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p simplify-inference{keep-norms=true} %s | filecheck %s --check-prefixes=KEEP,SAFE
// RUN: xdsl-opt -p simplify-inference,simplify-inference %s | filecheck %s --check-prefix=SAFE

// CHECK-LABEL: func.func @scale_and_shift
// CHECK-SAME: (%x: tensor<1x4x8x8xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>, %mean: tensor<4xf32>, %var: tensor<4xf32>)
// CHECK-NEXT: [[EPSILON:%.*]] = relay.constant dense<1.000000e-03> : tensor<f32>
// CHECK-NEXT: [[STABLE:%.*]] = relay.add %var, [[EPSILON]]
// CHECK-NEXT: [[ONE:%.*]] = relay.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: [[DEVIATION:%.*]] = relay.sqrt [[STABLE]]
// CHECK-NEXT: [[INVERSE:%.*]] = relay.divide [[ONE]], [[DEVIATION]]
// CHECK-NEXT: [[SCALE:%.*]] = relay.multiply [[INVERSE]], %gamma
// CHECK-NEXT: [[NEGATIVE:%.*]] = relay.negative %mean
// CHECK-NEXT: [[MOVED:%.*]] = relay.multiply [[NEGATIVE]], [[SCALE]]
// CHECK-NEXT: [[SHIFT:%.*]] = relay.add [[MOVED]], %beta
// CHECK-NEXT: [[SCALE3:%.*]] = relay.expand_dims [[SCALE]] {axis = 1 : i64, num_newaxis = 2 : i64} : (tensor<4xf32>) -> tensor<4x1x1xf32>
// CHECK-NEXT: [[SHIFT3:%.*]] = relay.expand_dims [[SHIFT]] {axis = 1 : i64, num_newaxis = 2 : i64} : (tensor<4xf32>) -> tensor<4x1x1xf32>
// CHECK-NEXT: [[SCALED:%.*]] = relay.multiply %x, [[SCALE3]]
// CHECK-NEXT: [[RESULT:%.*]] = relay.add [[SCALED]], [[SHIFT3]]
// CHECK-NEXT: func.return [[RESULT]]
// SAFE-LABEL: func.func @scale_and_shift
// SAFE-NEXT: [[EPSILON:%.*]] = relay.constant dense<1.000000e-03> : tensor<f32>
// SAFE-NEXT: [[STABLE:%.*]] = relay.add %var, [[EPSILON]]
// SAFE-NEXT: [[ONE:%.*]] = relay.constant dense<1.000000e+00> : tensor<f32>
// SAFE-NEXT: [[DEVIATION:%.*]] = relay.sqrt [[STABLE]]
// SAFE-NEXT: [[INVERSE:%.*]] = relay.divide [[ONE]], [[DEVIATION]]
// SAFE-NEXT: [[SCALE:%.*]] = relay.multiply [[INVERSE]], %gamma
// SAFE-NEXT: [[MEAN:%.*]] = relay.expand_dims %mean {axis = 1 : i64, num_newaxis = 2 : i64}
// SAFE-NEXT: [[CENTERED:%.*]] = relay.subtract %x, [[MEAN]]
// SAFE-NEXT: [[SCALE3:%.*]] = relay.expand_dims [[SCALE]] {axis = 1 : i64, num_newaxis = 2 : i64}
// SAFE-NEXT: [[SCALED:%.*]] = relay.multiply [[CENTERED]], [[SCALE3]]
// SAFE-NEXT: [[BETA:%.*]] = relay.expand_dims %beta {axis = 1 : i64, num_newaxis = 2 : i64}
// SAFE-NEXT: [[RESULT:%.*]] = relay.add [[SCALED]], [[BETA]]
// SAFE-NEXT: func.return [[RESULT]]
func.func @scale_and_shift(%x: tensor<1x4x8x8xf32>, %gamma: tensor<4xf32>, %beta: tensor<4xf32>, %mean: tensor<4xf32>, %var: tensor<4xf32>) -> tensor<1x4x8x8xf32> {
  %0 = relay.nn.batch_norm %x, %gamma, %beta, %mean, %var {epsilon = 1.000000e-03 : f64} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>>) -> tensor<1x4x8x8xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// The last axis needs no expansion; gamma and beta are not used without scale and center.
// CHECK-LABEL: func.func @last_axis_without_scale_and_center
// CHECK: relay.constant
// CHECK-NOT: expand_dims
// CHECK-NOT: %gamma
// CHECK-NOT: %beta
// CHECK: func.return
// A difference is computed in f32.
// SAFE-LABEL: func.func @last_axis_without_scale_and_center
// SAFE-NEXT: relay.cast %mean
// SAFE-NOT: expand_dims
// SAFE-NOT: %gamma
// SAFE-NOT: %beta
// SAFE: [[D:%.*]] = relay.subtract {{%.*}}, {{%.*}} : (tensor<2x4xf32>, tensor<4xf32>)
// SAFE-NEXT: [[S:%.*]] = relay.multiply [[D]], {{%.*}} : (tensor<2x4xf32>, tensor<4xf32>)
// SAFE-NEXT: relay.cast [[S]] {dtype = f16}
// SAFE-NEXT: func.return
func.func @last_axis_without_scale_and_center(%x: tensor<2x4xf16>, %gamma: tensor<4xf16>, %beta: tensor<4xf16>, %mean: tensor<4xf16>, %var: tensor<4xf16>) -> tensor<2x4xf16> {
  %0 = relay.nn.batch_norm %x, %gamma, %beta, %mean, %var {center = false, scale = false} : (tensor<2x4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> tuple<tensor<2x4xf16>, tensor<4xf16>, tensor<4xf16>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<2x4xf16>, tensor<4xf16>, tensor<4xf16>>) -> tensor<2x4xf16>
  return %1 : tensor<2x4xf16>
}

// CHECK-LABEL: func.func @keep_statistics
// CHECK: [[NORM:%.*]] = relay.nn.batch_norm
// CHECK: [[MEAN:%.*]] = relay.tuple_get_item [[NORM]][1]
// CHECK-NOT: relay.tuple_get_item [[NORM]][0]
// CHECK: func.return
func.func @keep_statistics(%x: tensor<2x4xf32>, %c: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  %0 = relay.nn.batch_norm %x, %c, %c, %c, %c : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
  %1 = relay.tuple_get_item %0[1] : (tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %2 = relay.tuple_get_item %0[0] : (tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>) -> tensor<2x4xf32>
  return %2, %1 : tensor<2x4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @dropout
// CHECK-NEXT: func.return %x
func.func @dropout(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.nn.dropout %x : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_mask
// CHECK-NEXT: [[DROPOUT:%.*]] = relay.nn.dropout %x
// CHECK-NEXT: [[MASK:%.*]] = relay.tuple_get_item [[DROPOUT]][1]
// CHECK-NEXT: func.return [[MASK]]
func.func @keep_mask(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.nn.dropout %x : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = relay.tuple_get_item %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_composite
// CHECK: relay.composite
// CHECK: relay.nn.dropout
func.func @keep_composite(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.composite "dnnl.dropout" %x : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>):
    %1 = relay.nn.dropout %p : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
    %2 = relay.tuple_get_item %1[0] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
    relay.yield %2 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK: relay.nn.batch_norm
func.func @keep_function_of_a_compiler(%x: tensor<2x4xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> attributes {Compiler = "dnnl"} {
  %0 = relay.nn.batch_norm %x, %c, %c, %c, %c : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT: [[MEAN:%.*]] = relay.mean %x {axis = array<i64: -1>, keepdims = true}
// CHECK-NEXT: [[VARIANCE:%.*]] = relay.variance %x, [[MEAN]] {axis = array<i64: -1>, keepdims = true}
// CHECK-NEXT: [[EPSILON:%.*]] = relay.constant
// CHECK-NEXT: [[STABLE:%.*]] = relay.add [[VARIANCE]], [[EPSILON]]
// CHECK-NEXT: [[CENTERED:%.*]] = relay.subtract %x, [[MEAN]]
// CHECK-NEXT: [[ROOT:%.*]] = relay.sqrt [[STABLE]]
// CHECK-NEXT: [[NORMAL:%.*]] = relay.divide [[CENTERED]], [[ROOT]]
// CHECK-NEXT: [[SCALED:%.*]] = relay.multiply [[NORMAL]], %c
// CHECK-NEXT: [[RESULT:%.*]] = relay.add [[SCALED]], %c
// CHECK-NEXT: func.return [[RESULT]]
// KEEP-LABEL: func.func @layer_norm
// KEEP-NEXT: relay.nn.layer_norm
func.func @layer_norm(%x: tensor<2x4xf32>, %c: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = relay.nn.layer_norm %x, %c, %c : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @instance_norm
// CHECK-NEXT: relay.mean %x {axis = array<i64: 2>, keepdims = true}
// CHECK-NOT: relay.nn.instance_norm
// CHECK: relay.expand_dims %c {axis = 1 : i64}
// KEEP-LABEL: func.func @instance_norm
// KEEP-NEXT: relay.nn.instance_norm
func.func @instance_norm(%x: tensor<2x4x3xf32>, %c: tensor<4xf32>) -> tensor<2x4x3xf32> {
  %0 = relay.nn.instance_norm %x, %c, %c : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// CHECK-LABEL: func.func @group_norm
// CHECK-NEXT: [[SPLIT:%.*]] = relay.reshape %x {newshape = array<i64: 2, 2, 2, 3>}
// CHECK-NEXT: relay.mean [[SPLIT]] {axis = array<i64: 2, 3>, keepdims = true}
// CHECK: [[JOINED:%.*]] = relay.reshape {{%.*}} {newshape = array<i64: 2, 4, 3>}
// CHECK-NEXT: func.return [[JOINED]]
// KEEP-LABEL: func.func @group_norm
// KEEP-NEXT: relay.nn.group_norm
func.func @group_norm(%x: tensor<2x4x3xf32>, %c: tensor<4xf32>) -> tensor<2x4x3xf32> {
  %0 = relay.nn.group_norm %x, %c, %c {num_groups = 2 : i64, center = false, scale = false} : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// The axis is the one that is written.
// CHECK-LABEL: func.func @l2_normalize
// CHECK-NEXT: [[SQUARES:%.*]] = relay.multiply %x, %x
// CHECK-NEXT: [[SUM:%.*]] = relay.sum [[SQUARES]] {axis = array<i64: -2>, keepdims = true}
// CHECK-NEXT: [[EPSILON:%.*]] = relay.constant dense<1.000000e-04> : tensor<f32>
// CHECK-NEXT: [[LEAST:%.*]] = relay.maximum [[SUM]], [[EPSILON]]
// CHECK-NEXT: [[LENGTH:%.*]] = relay.sqrt [[LEAST]]
// CHECK-NEXT: [[RESULT:%.*]] = relay.divide %x, [[LENGTH]]
// CHECK-NEXT: func.return [[RESULT]]
// KEEP-LABEL: func.func @l2_normalize
// KEEP-NEXT: relay.nn.l2_normalize
func.func @l2_normalize(%x: tensor<2x4x3xf32>) -> tensor<2x4x3xf32> {
  %0 = relay.nn.l2_normalize %x {eps = 1.000000e-04 : f64, axis = array<i64: -2>} : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// CHECK-LABEL: func.func @l2_normalize_in_f32
// CHECK-NEXT: [[WIDE:%.*]] = relay.cast %x {dtype = f32}
// CHECK: relay.divide [[WIDE]]
// CHECK-NEXT: relay.cast {{%.*}} {dtype = f16}
func.func @l2_normalize_in_f32(%x: tensor<2xf16>) -> tensor<2xf16> {
  %0 = relay.nn.l2_normalize %x {eps = 1.000000e-04 : f64, axis = array<i64: 0>} : (tensor<2xf16>) -> tensor<2xf16>
  return %0 : tensor<2xf16>
}

// Statistics and what follows are computed in f32; a scale that does not count is not asked for.
// CHECK-LABEL: func.func @layer_norm_in_f32
// CHECK-NEXT: [[X:%.*]] = relay.cast %x {dtype = f32}
// CHECK-NEXT: [[M:%.*]] = relay.mean [[X]]
// CHECK-NEXT: [[V:%.*]] = relay.variance [[X]], [[M]]
// CHECK-NEXT: relay.constant
// CHECK-NEXT: [[S:%.*]] = relay.add [[V]]
// CHECK-NEXT: [[C:%.*]] = relay.subtract [[X]], [[M]]
// CHECK-NEXT: [[R:%.*]] = relay.sqrt [[S]]
// CHECK-NEXT: [[N:%.*]] = relay.divide [[C]], [[R]]
// CHECK-NEXT: [[B:%.*]] = relay.cast %c {dtype = f32}
// CHECK-NEXT: [[Y:%.*]] = relay.add [[N]], [[B]]
// CHECK-NEXT: relay.cast [[Y]] {dtype = f16}
// CHECK-NEXT: func.return
func.func @layer_norm_in_f32(%x: tensor<2x4xf16>, %c: tensor<4xf16>) -> tensor<2x4xf16> {
  %0 = relay.nn.layer_norm %x, %c, %c {scale = false} : (tensor<2x4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// The scale is finite, the mean times the scale is not: where %x is the mean, the original gives inf - inf.
// CHECK-LABEL: func.func @no_infinite_shift
// CHECK-NOT: relay.subtract
// CHECK: func.return
// SAFE-LABEL: func.func @no_infinite_shift
// SAFE-NOT: relay.nn.batch_norm
// SAFE: relay.subtract %x, %mean
// SAFE: func.return
func.func @no_infinite_shift(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %one = relay.constant dense<1.0> : tensor<2xf32>
  %gamma = relay.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %mean = relay.constant dense<[3.0e38, 0.0]> : tensor<2xf32>
  %0 = relay.nn.batch_norm %x, %gamma, %one, %mean, %one : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>>) -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// Without gamma, the shift is the mean. What is added to it may be anything.
// SAFE-LABEL: func.func @finite_shift
// SAFE-NOT: relay.subtract
// SAFE: [[S:%.*]] = relay.multiply %x
// SAFE-NEXT: relay.add [[S]]
// SAFE: func.return
func.func @finite_shift(%x: tensor<1x2xf32>, %beta: tensor<2xf32>) -> tensor<1x2xf32> {
  %one = relay.constant dense<1.0> : tensor<2xf32>
  %gamma = relay.constant dense<[2.0, 1.0]> : tensor<2xf32>
  %mean = relay.constant dense<[3.0e38, 0.0]> : tensor<2xf32>
  %0 = relay.nn.batch_norm %x, %gamma, %beta, %mean, %one {scale = false} : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>>) -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// Where a result states fewer dimensions than the data, what takes it may not take others: these stay.
// CHECK-LABEL: @keep_results_of_fewer_dimensions
// CHECK: relay.nn.dropout
// CHECK-NEXT: [[D:%.*]] = relay.tuple_get_item
// CHECK-NEXT: [[N:%.*]] = relay.nn.layer_norm
// CHECK-NEXT: relay.nn.batch_norm
// CHECK-NEXT: [[B:%.*]] = relay.tuple_get_item
// CHECK-NEXT: [[L:%.*]] = relay.nn.l2_normalize
// CHECK-NEXT: func.return [[D]], [[N]], [[B]], [[L]]
func.func @keep_results_of_fewer_dimensions(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = relay.nn.dropout %x : (tensor<2x4xf32>) -> tuple<tensor<?x4xf32>, tensor<?x4xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<?x4xf32>, tensor<?x4xf32>>) -> tensor<?x4xf32>
  %2 = relay.nn.layer_norm %x, %g, %b : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %3 = relay.nn.batch_norm %x, %g, %b, %g, %b : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>>
  %4 = relay.tuple_get_item %3[0] : (tuple<tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>>) -> tensor<?x4xf32>
  %5 = relay.nn.l2_normalize %x {eps = 1.000000e-03 : f64, axis = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<?x4xf32>
  func.return %1, %2, %4, %5 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}
