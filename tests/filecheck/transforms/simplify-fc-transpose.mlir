// RUN: xrelay-opt -p simplify-fc-transpose %s | filecheck %s
// RUN: xrelay-opt -p simplify-fc-transpose,simplify-fc-transpose %s | filecheck %s
// RUN: xrelay-opt -p 'simplify-fc-transpose{weights="w2"}' %s | filecheck %s --check-prefix=ONE
// RUN: not xrelay-opt -p 'simplify-fc-transpose{weights="w2","w3"}' %s 2>&1 | filecheck %s --check-prefix=NAME

// NAME: 'weights' has 'w3', the parameters of which a dense takes the transpose are w1, w2, v, weight/0

// CHECK-LABEL: func.func @layers
// CHECK-SAME: (%data: tensor<1x32xf32>, %w1.T: tensor<64x32xf32>, %w2.T: tensor<16x64xf32>) -> tensor<1x16xf32>
// CHECK-NEXT: [[A:%.*]] = relay.nn.dense %data, %w1.T
// CHECK-NEXT: [[B:%.*]] = relay.nn.dense [[A]], %w2.T
// CHECK-NEXT: func.return [[B]]
// ONE-LABEL: func.func @layers
// ONE-SAME: (%data: tensor<1x32xf32>, %w1: tensor<32x64xf32>, %w2.T: tensor<16x64xf32>) -> tensor<1x16xf32>
// ONE-NEXT: relay.transpose %w1
// ONE-NEXT: [[A:%.*]] = relay.nn.dense
// ONE-NEXT: relay.nn.dense [[A]], %w2.T
func.func @layers(%data: tensor<1x32xf32>, %w1: tensor<32x64xf32>, %w2: tensor<64x16xf32>) -> tensor<1x16xf32> {
  %0 = relay.transpose %w1 {axes = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %1 = relay.nn.dense %data, %0 : (tensor<1x32xf32>, tensor<64x32xf32>) -> tensor<1x64xf32>
  %2 = relay.transpose %w2 : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %3 = relay.nn.dense %1, %2 : (tensor<1x64xf32>, tensor<16x64xf32>) -> tensor<1x16xf32>
  return %3 : tensor<1x16xf32>
}

// A weight of two layers becomes one parameter; what needs it as it is keeps it.
// CHECK-LABEL: func.func @shared
// CHECK-SAME: (%x: tensor<4x4xf32>, %v: tensor<4x4xf32>, %v.T: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK-NEXT: [[A:%.*]] = relay.nn.dense %x, %v.T
// CHECK-NEXT: [[B:%.*]] = relay.nn.dense [[A]], %v.T
// CHECK-NEXT: [[C:%.*]] = relay.nn.dense [[B]], %v :
// CHECK-NEXT: func.return [[C]], %v.T
func.func @shared(%x: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = relay.transpose %v : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = relay.nn.dense %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = relay.transpose %v : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = relay.nn.dense %1, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = relay.nn.dense %3, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4, %0 : tensor<4x4xf32>, tensor<4x4xf32>
}

// The names of a model's inputs.
// CHECK-LABEL: func.func @named
// CHECK-SAME: (%x: tensor<2x?xf32> {onnx.name = "x:0"}, %w.T: tensor<3x?xf32> {onnx.name = "weight/0.T"})
func.func @named(%x: tensor<2x?xf32> {onnx.name = "x:0"}, %w: tensor<?x3xf32> {onnx.name = "weight/0"}) -> tensor<2x3xf32> {
  %0 = relay.transpose %w : (tensor<?x3xf32>) -> tensor<3x?xf32>
  %1 = relay.nn.dense %x, %0 : (tensor<2x?xf32>, tensor<3x?xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// No transpose, one that moves nothing, one of the data, of a constant, of a computed value, and one that no dense uses.
// CHECK-LABEL: func.func @keep_others
// CHECK-SAME: (%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) ->
// CHECK-COUNT-5: relay.transpose
// CHECK-NOT: relay.transpose
func.func @keep_others(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = relay.transpose %w {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = relay.nn.dense %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = relay.transpose %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = relay.nn.dense %3, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = relay.constant dense<1.0> : tensor<4x4xf32>
  %5 = relay.transpose %c : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = relay.nn.dense %4, %5 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = relay.transpose %6 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %8 = relay.nn.dense %6, %7 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = relay.transpose %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %10 = relay.add %8, %9 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %10 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @keep_called
// CHECK-SAME: (%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) ->
// CHECK-NEXT: relay.transpose %w
func.func @keep_called(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = relay.transpose %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = relay.nn.dense %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func @caller(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = func.call @keep_called(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK-SAME: (%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) ->
// CHECK-NEXT: relay.transpose %w
func.func @keep_function_of_a_compiler(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {Compiler = "dnnl"} {
  %0 = relay.transpose %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = relay.nn.dense %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// CHECK: func.func private @declared
func.func private @declared(tensor<4x4xf32>) -> tensor<4x4xf32>

// The parameters are those of the first block.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME: (%x: tensor<4x4xf32>, %w.T: tensor<4x4xf32>) ->
// CHECK-NEXT: relay.nn.dense %x, %w.T
func.func @blocks(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = relay.transpose %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = relay.nn.dense %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  cf.br ^bb1(%1 : tensor<4x4xf32>)
^bb1(%2: tensor<4x4xf32>):
  return %2 : tensor<4x4xf32>
}
