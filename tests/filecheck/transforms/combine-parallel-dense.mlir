// RUN: xdsl-opt -p 'combine-parallel-dense{min-num-branches=2}' %s | filecheck %s
// RUN: xdsl-opt -p 'combine-parallel-dense{min-num-branches=2},combine-parallel-dense{min-num-branches=2}' %s | filecheck %s
// RUN: xdsl-opt -p 'combine-parallel-dense{min-num-branches=2 to-batch=false}' %s | filecheck %s --check-prefix=FLAT
// RUN: xdsl-opt -p 'combine-parallel-dense{rules=gpu}' --verify-diagnostics %s | filecheck %s --check-prefix=RULES
// RULES: 'rules' is 'gpu', expected one of relay, cpu

// Vectors become matrices of one row; scales differ.
// CHECK-LABEL: func.func @projections
// CHECK-NEXT: [[X:%.*]] = relay.tuple %x, %x
// CHECK-NEXT: [[D:%.*]] = relay.stack [[X]]
// CHECK-NEXT: [[T:%.*]] = relay.tuple %u, %v
// CHECK-NEXT: [[W:%.*]] = relay.stack [[T]]
// CHECK-NEXT: [[P:%.*]] = relay.nn.batch_matmul [[D]], [[W]] {transpose_b = true} : (tensor<2x4x3xf32>, tensor<2x5x3xf32>) -> tensor<2x4x5xf32>
// CHECK-NEXT: [[A:%.*]] = relay.expand_dims %a {axis = 0 : i64}
// CHECK-NEXT: [[B:%.*]] = relay.expand_dims %b {axis = 0 : i64}
// CHECK-NEXT: [[C:%.*]] = relay.tuple [[A]], [[B]]
// CHECK-NEXT: [[S:%.*]] = relay.stack [[C]]
// CHECK-NEXT: [[Q:%.*]] = relay.add [[P]], [[S]] : (tensor<2x4x5xf32>, tensor<2x1x5xf32>) -> tensor<2x4x5xf32>
// CHECK-NEXT: [[E:%.*]] = relay.expand_dims %s {axis = 0 : i64, num_newaxis = 2 : i64}
// CHECK-NEXT: [[F:%.*]] = relay.expand_dims %t {axis = 0 : i64, num_newaxis = 2 : i64}
// CHECK-NEXT: [[G:%.*]] = relay.tuple [[E]], [[F]]
// CHECK-NEXT: [[H:%.*]] = relay.stack [[G]]
// CHECK-NEXT: [[M:%.*]] = relay.multiply [[Q]], [[H]]
// CHECK-NEXT: [[R:%.*]] = relay.split [[M]] {indices_or_sections = 2 : i64}
// CHECK-NEXT: [[I:%.*]] = relay.tuple_get_item [[R]][0]
// CHECK-NEXT: [[J:%.*]] = relay.tuple_get_item [[R]][1]
// CHECK-NEXT: [[K:%.*]] = relay.squeeze [[I]] {axis = array<i64: 0>}
// CHECK-NEXT: [[L:%.*]] = relay.squeeze [[J]] {axis = array<i64: 0>}
// CHECK-NEXT: func.return [[K]], [[L]]
// FLAT-LABEL: func.func @projections
// FLAT: [[D:%.*]] = relay.nn.dense %x, {{%.*}} {units = 10 : i64} : (tensor<4x3xf32>, tensor<10x3xf32>) -> tensor<4x10xf32>
// FLAT: [[A:%.*]] = relay.add [[D]]
// FLAT-NEXT: [[S:%.*]] = relay.expand_dims %s {axis = -1 : i64}
// FLAT-NEXT: [[E:%.*]] = relay.repeat [[S]] {repeats = 5 : i64, axis = 0 : i64}
// FLAT-NEXT: [[T:%.*]] = relay.expand_dims %t {axis = -1 : i64}
// FLAT-NEXT: [[F:%.*]] = relay.repeat [[T]] {repeats = 5 : i64, axis = 0 : i64}
// FLAT-NEXT: [[G:%.*]] = relay.tuple [[E]], [[F]]
// FLAT-NEXT: [[H:%.*]] = relay.concatenate [[G]]
// FLAT-NEXT: [[M:%.*]] = relay.multiply [[A]], [[H]]
// FLAT-NEXT: relay.strided_slice [[M]] {begin = array<i64: 0, 0>, end = array<i64: -1, 5>, strides = array<i64: 1, 1>, slice_mode = "size"}
// FLAT-NEXT: relay.strided_slice [[M]] {begin = array<i64: 0, 5>, end = array<i64: -1, 5>, strides = array<i64: 1, 1>, slice_mode = "size"}
// FLAT-NEXT: func.return
func.func @projections(%x: tensor<4x3xf32>, %u: tensor<5x3xf32>, %v: tensor<5x3xf32>, %a: tensor<5xf32>, %b: tensor<5xf32>, %s: tensor<f32>, %t: tensor<f32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
  %1 = relay.add %0, %a : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %2 = relay.multiply %1, %s : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  %3 = relay.nn.dense %x, %v : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
  %4 = relay.add %3, %b : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %5 = relay.multiply %4, %t : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  return %2, %5 : tensor<4x5xf32>, tensor<4x5xf32>
}

// Weights of other shapes are no batch.
// CHECK-LABEL: func.func @keep_other_units
// CHECK-NEXT: relay.nn.dense %x, %u
// CHECK-NEXT: relay.nn.dense %x, %v
// FLAT-LABEL: func.func @keep_other_units
// FLAT: relay.nn.dense %x, {{%.*}} {units = 7 : i64}
func.func @keep_other_units(%x: tensor<4x3xf32>, %u: tensor<2x3xf32>, %v: tensor<5x3xf32>) -> (tensor<4x2xf32>, tensor<4x5xf32>) {
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.nn.dense %x, %v : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x5xf32>
}

// What computes the second weight moves in front of the first product.
// FLAT-LABEL: func.func @late_weight
// FLAT-NEXT: [[V:%.*]] = relay.tanh %v
// FLAT-NEXT: [[T:%.*]] = relay.tuple %u, [[V]]
// FLAT-NEXT: relay.concatenate [[T]]
func.func @late_weight(%x: tensor<4x3xf32>, %u: tensor<2x3xf32>, %v: tensor<2x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.nn.relu %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %w = relay.tanh %v : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %1, %2 : tensor<4x2xf32>, tensor<4x2xf32>
}

// FLAT-LABEL: func.func @keep_weight_of_branch
// FLAT-NEXT: relay.nn.dense %x, %u
// FLAT-NEXT: relay.tanh
// FLAT-NEXT: relay.nn.dense
func.func @keep_weight_of_branch(%x: tensor<3x3xf32>, %u: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = relay.nn.dense %x, %u : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = relay.tanh %0 : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %2 = relay.nn.dense %x, %1 : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return %2 : tensor<3x3xf32>
}

// What is bound keeps its place.
// FLAT-LABEL: func.func @keep_bound_weight
// FLAT-NEXT: relay.nn.dense %x, %u
// FLAT-NEXT: relay.let
// FLAT-NEXT: relay.nn.dense
func.func @keep_bound_weight(%x: tensor<4x3xf32>, %u: tensor<2x3xf32>, %v: tensor<2x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %0 = relay.nn.dense %x, %u : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %w = relay.let %v : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}
