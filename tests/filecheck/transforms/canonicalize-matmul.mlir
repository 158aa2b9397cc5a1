// RUN: xdsl-opt -p canonicalize-matmul %s | filecheck %s
// RUN: xdsl-opt -p canonicalize-matmul,canonicalize-matmul %s | filecheck %s

// CHECK-LABEL: func.func @matrices
// CHECK: [[W:%.*]] = relay.transpose %w {axes = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: [[R:%.*]] = relay.nn.dense %x, [[W]] : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: func.return [[R]]
func.func @matrices(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<3x4xf32>
  %0 = relay.nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @transposed_weight
// CHECK: relay.nn.dense %x, %w
func.func @transposed_weight(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<4x3xf32>
  %0 = relay.nn.matmul %x, %w {transpose_b = true} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @batch
// CHECK: [[M:%.*]] = relay.reshape %w {newshape = array<i64: 3, 4>}
// CHECK-NEXT: [[W:%.*]] = relay.transpose [[M]]
// CHECK-NEXT: [[X:%.*]] = relay.reshape %x {newshape = array<i64: 10, 3>}
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense [[X]], [[W]]
// CHECK-NEXT: relay.reshape [[D]] {newshape = array<i64: 5, 2, 4>}
func.func @batch(%x: tensor<5x2x3xf32>) -> tensor<5x2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<1x3x4xf32>
  %0 = relay.nn.batch_matmul %x, %w : (tensor<5x2x3xf32>, tensor<1x3x4xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// CHECK-LABEL: func.func @dense_of_higher_rank
// CHECK: [[X:%.*]] = relay.reshape %x {newshape = array<i64: 10, 3>}
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense [[X]], %w
// CHECK-NEXT: relay.reshape [[D]] {newshape = array<i64: 5, 2, 4>}
func.func @dense_of_higher_rank(%x: tensor<5x2x3xf32>) -> tensor<5x2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<4x3xf32>
  %0 = relay.nn.dense %x, %w : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// CHECK-LABEL: func.func @keep_computed_operand
// CHECK-NEXT: relay.nn.matmul
func.func @keep_computed_operand(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = relay.nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @keep_transposed_left
// CHECK: relay.nn.matmul
func.func @keep_transposed_left(%x: tensor<3x2xf32>) -> tensor<2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<3x4xf32>
  %0 = relay.nn.matmul %x, %w {transpose_a = true} : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @keep_batch_of_weights
// CHECK: relay.nn.batch_matmul
func.func @keep_batch_of_weights(%x: tensor<5x2x3xf32>) -> tensor<5x2x4xf32> {
  %w = relay.constant dense<1.0> : tensor<5x3x4xf32>
  %0 = relay.nn.batch_matmul %x, %w : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  return %0 : tensor<5x2x4xf32>
}

// CHECK-LABEL: func.func @keep_unknown_dimension
// CHECK: relay.nn.matmul
func.func @keep_unknown_dimension(%x: tensor<?x3xf32>) -> tensor<?x4xf32> {
  %w = relay.constant dense<1.0> : tensor<3x4xf32>
  %0 = relay.nn.matmul %x, %w : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK: relay.nn.matmul
func.func @keep_function_of_a_compiler(%x: tensor<2x3xf32>) -> tensor<2x4xf32> attributes {Compiler = "dnnl"} {
  %w = relay.constant dense<1.0> : tensor<3x4xf32>
  %0 = relay.nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// The keys of attention: the rows of the operand are those of %k.
// CHECK-LABEL: func.func @right_as_it_lies
// CHECK-NEXT: [[T:%.*]] = relay.transpose %k {axes = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
// CHECK-NEXT: [[R:%.*]] = relay.reshape [[T]] {newshape = array<i64: 6, 5, 4>}
// CHECK-NEXT: relay.nn.batch_matmul %q, [[R]] {transpose_b = true} : (tensor<6x7x4xf32>, tensor<6x5x4xf32>) -> tensor<6x7x5xf32>
func.func @right_as_it_lies(%q: tensor<6x7x4xf32>, %k: tensor<2x5x3x4xf32>) -> tensor<6x7x5xf32> {
  %0 = relay.transpose %k {axes = array<i64: 0, 2, 3, 1>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x4x5xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 6, 4, 5>} : (tensor<2x3x4x5xf32>) -> tensor<6x4x5xf32>
  %2 = relay.nn.batch_matmul %q, %1 : (tensor<6x7x4xf32>, tensor<6x4x5xf32>) -> tensor<6x7x5xf32>
  return %2 : tensor<6x7x5xf32>
}

// Numbers that the operand is multiplied by follow behind.
// CHECK-LABEL: func.func @right_with_a_scale
// CHECK: [[M:%.*]] = relay.multiply %k, [[S:%.*]] : (tensor<5x4xf32>, tensor<1xf32>) -> tensor<5x4xf32>
// CHECK-NEXT: [[N:%.*]] = relay.multiply [[M]], [[S]]
// CHECK-NEXT: relay.nn.matmul %q, [[N]] {transpose_a = true, transpose_b = true}
func.func @right_with_a_scale(%q: tensor<4x7xf32>, %k: tensor<5x4xf32>) -> tensor<7x5xf32> {
  %scale = relay.constant dense<0.5> : tensor<1xf32>
  %0 = relay.transpose %k : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %1 = relay.multiply %scale, %0 : (tensor<1xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %2 = relay.multiply %1, %scale : (tensor<4x5xf32>, tensor<1xf32>) -> tensor<4x5xf32>
  %3 = relay.nn.matmul %q, %2 {transpose_a = true} : (tensor<4x7xf32>, tensor<4x5xf32>) -> tensor<7x5xf32>
  return %3 : tensor<7x5xf32>
}

// The rows are already those of %k.
// CHECK-LABEL: func.func @keep_rows
// CHECK: relay.nn.batch_matmul
// CHECK-NOT: transpose_b
// CHECK: func.return
func.func @keep_rows(%q: tensor<3x7x5xf32>, %k: tensor<5x3x4xf32>) -> tensor<3x7x4xf32> {
  %0 = relay.transpose %k {axes = array<i64: 1, 0, 2>} : (tensor<5x3x4xf32>) -> tensor<3x5x4xf32>
  %1 = relay.nn.batch_matmul %q, %0 : (tensor<3x7x5xf32>, tensor<3x5x4xf32>) -> tensor<3x7x4xf32>
  return %1 : tensor<3x7x4xf32>
}

// The reshape changes the matrices.
// CHECK-LABEL: func.func @keep_other_matrices
// CHECK: relay.nn.matmul
// CHECK-NOT: transpose_b
// CHECK: func.return
func.func @keep_other_matrices(%q: tensor<7x10xf32>, %k: tensor<5x4xf32>) -> tensor<7x2xf32> {
  %0 = relay.transpose %k : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 10, 2>} : (tensor<4x5xf32>) -> tensor<10x2xf32>
  %2 = relay.nn.matmul %q, %1 : (tensor<7x10xf32>, tensor<10x2xf32>) -> tensor<7x2xf32>
  return %2 : tensor<7x2xf32>
}

// Already read by columns; a factor that is no number.
// CHECK-LABEL: func.func @keep_transposed_and_scaled
// CHECK: relay.nn.matmul %q, {{%.*}} {transpose_b = true} : (tensor<7x5xf32>, tensor<4x5xf32>)
// CHECK: relay.nn.matmul %p, {{%.*}} : (tensor<7x4xf32>, tensor<4x5xf32>)
func.func @keep_transposed_and_scaled(%p: tensor<7x4xf32>, %q: tensor<7x5xf32>, %k: tensor<5x4xf32>, %s: tensor<5xf32>) -> (tensor<7x4xf32>, tensor<7x5xf32>) {
  %0 = relay.transpose %k : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %1 = relay.nn.matmul %q, %0 {transpose_b = true} : (tensor<7x5xf32>, tensor<4x5xf32>) -> tensor<7x4xf32>
  %2 = relay.multiply %0, %s : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %3 = relay.nn.matmul %p, %2 : (tensor<7x4xf32>, tensor<4x5xf32>) -> tensor<7x5xf32>
  return %1, %3 : tensor<7x4xf32>, tensor<7x5xf32>
}

// Three heads of queries share the keys of one, which may be scaled and moved after they are repeated.
// CHECK-LABEL: func.func @shared_keys
// CHECK-NEXT: [[S:%.*]] = relay.constant
// CHECK-NEXT: [[E:%.*]] = relay.expand_dims %k
// CHECK-NEXT: [[Q:%.*]] = relay.reshape %q {newshape = array<i64: 4, 15, 6>} : (tensor<12x5x6xf32>) -> tensor<4x15x6xf32>
// CHECK-NEXT: [[R:%.*]] = relay.reshape [[E]] {newshape = array<i64: 2, 2, 7, 6>}
// CHECK-NEXT: [[F:%.*]] = relay.reshape [[R]] {newshape = array<i64: 4, 7, 6>}
// CHECK-NEXT: [[K:%.*]] = relay.multiply [[F]], [[S]] : (tensor<4x7x6xf32>, tensor<1xf32>)
// CHECK-NEXT: [[P:%.*]] = relay.nn.batch_matmul [[Q]], [[K]] {transpose_b = true} : (tensor<4x15x6xf32>, tensor<4x7x6xf32>) -> tensor<4x15x7xf32>
// CHECK-NEXT: relay.reshape [[P]] {newshape = array<i64: 12, 5, 7>}
func.func @shared_keys(%q: tensor<12x5x6xf32>, %k: tensor<2x2x7x6xf32>) -> tensor<12x5x7xf32> {
  %scale = relay.constant dense<0.5> : tensor<1xf32>
  %0 = relay.expand_dims %k {axis = 2 : i64} : (tensor<2x2x7x6xf32>) -> tensor<2x2x1x7x6xf32>
  %1 = relay.broadcast_to %0 {shape = array<i64: 2, 2, 3, 7, 6>} : (tensor<2x2x1x7x6xf32>) -> tensor<2x2x3x7x6xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 2, 6, 7, 6>} : (tensor<2x2x3x7x6xf32>) -> tensor<2x6x7x6xf32>
  %3 = relay.transpose %2 {axes = array<i64: 0, 1, 3, 2>} : (tensor<2x6x7x6xf32>) -> tensor<2x6x6x7xf32>
  %4 = relay.multiply %3, %scale : (tensor<2x6x6x7xf32>, tensor<1xf32>) -> tensor<2x6x6x7xf32>
  %5 = relay.reshape %4 {newshape = array<i64: 12, 6, 7>} : (tensor<2x6x6x7xf32>) -> tensor<12x6x7xf32>
  %6 = relay.nn.batch_matmul %q, %5 : (tensor<12x5x6xf32>, tensor<12x6x7xf32>) -> tensor<12x5x7xf32>
  return %6 : tensor<12x5x7xf32>
}

// CHECK-LABEL: func.func @repeated_values
// CHECK-NEXT: [[W:%.*]] = relay.reshape %w {newshape = array<i64: 2, 10, 7>}
// CHECK-NEXT: [[P:%.*]] = relay.nn.batch_matmul [[W]], %v
// CHECK-NEXT: relay.reshape [[P]] {newshape = array<i64: 4, 5, 6>}
func.func @repeated_values(%w: tensor<4x5x7xf32>, %v: tensor<2x7x6xf32>) -> tensor<4x5x6xf32> {
  %0 = relay.repeat %v {repeats = 2 : i64, axis = 0 : i64} : (tensor<2x7x6xf32>) -> tensor<4x7x6xf32>
  %1 = relay.nn.batch_matmul %w, %0 : (tensor<4x5x7xf32>, tensor<4x7x6xf32>) -> tensor<4x5x6xf32>
  return %1 : tensor<4x5x6xf32>
}

// Every third head has the same keys, not three neighbours; columns that are repeated; a left operand by columns.
// CHECK-LABEL: func.func @keep_other_repetitions
// CHECK: relay.nn.batch_matmul %q, {{%.*}} : (tensor<6x5x6xf32>, tensor<6x6x7xf32>)
// CHECK: relay.nn.batch_matmul %q, {{%.*}} : (tensor<6x5x6xf32>, tensor<6x6x8xf32>)
// CHECK: relay.nn.batch_matmul %p, {{%.*}} {transpose_a = true} : (tensor<6x6x5xf32>, tensor<6x6x7xf32>)
func.func @keep_other_repetitions(%q: tensor<6x5x6xf32>, %p: tensor<6x6x5xf32>, %k: tensor<2x6x7xf32>, %c: tensor<6x6x4xf32>) -> (tensor<6x5x7xf32>, tensor<6x5x8xf32>, tensor<6x5x7xf32>) {
  %0 = relay.broadcast_to %k {shape = array<i64: 3, 2, 6, 7>} : (tensor<2x6x7xf32>) -> tensor<3x2x6x7xf32>
  %1 = relay.reshape %0 {newshape = array<i64: 6, 6, 7>} : (tensor<3x2x6x7xf32>) -> tensor<6x6x7xf32>
  %2 = relay.nn.batch_matmul %q, %1 : (tensor<6x5x6xf32>, tensor<6x6x7xf32>) -> tensor<6x5x7xf32>
  %3 = relay.repeat %c {repeats = 2 : i64, axis = 2 : i64} : (tensor<6x6x4xf32>) -> tensor<6x6x8xf32>
  %4 = relay.nn.batch_matmul %q, %3 : (tensor<6x5x6xf32>, tensor<6x6x8xf32>) -> tensor<6x5x8xf32>
  %5 = relay.repeat %k {repeats = 3 : i64, axis = 0 : i64} : (tensor<2x6x7xf32>) -> tensor<6x6x7xf32>
  %6 = relay.nn.batch_matmul %p, %5 {transpose_a = true} : (tensor<6x6x5xf32>, tensor<6x6x7xf32>) -> tensor<6x5x7xf32>
  return %2, %4, %6 : tensor<6x5x7xf32>, tensor<6x5x8xf32>, tensor<6x5x7xf32>
}

// A factor along the axis that is repeated.
// CHECK-LABEL: func.func @keep_a_factor_for_each
// CHECK: relay.repeat
// CHECK: relay.nn.batch_matmul %q, {{%.*}} : (tensor<6x5x1xf32>, tensor<6x1x1xf32>)
func.func @keep_a_factor_for_each(%q: tensor<6x5x1xf32>, %v: tensor<2xf32>) -> tensor<6x5x1xf32> {
  %c = relay.constant dense<0.5> : tensor<6xf32>
  %0 = relay.repeat %v {repeats = 3 : i64, axis = 0 : i64} : (tensor<2xf32>) -> tensor<6xf32>
  %1 = relay.multiply %0, %c : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 6, 1, 1>} : (tensor<6xf32>) -> tensor<6x1x1xf32>
  %3 = relay.nn.batch_matmul %q, %2 : (tensor<6x5x1xf32>, tensor<6x1x1xf32>) -> tensor<6x5x1xf32>
  return %3 : tensor<6x5x1xf32>
}
