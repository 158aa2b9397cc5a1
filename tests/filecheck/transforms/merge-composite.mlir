// RUN: xrelay-opt --backend simulated:%S/inputs/npu.toml -p 'merge-composite{targets=npu}' %s | filecheck %s
// RUN: xrelay-opt --backend simulated:%S/inputs/npu.toml -p 'merge-composite{targets=npu},merge-composite{targets=npu}' %s | filecheck %s
// RUN: xrelay-opt --backend simulated:%S/inputs/npu.toml -p 'merge-composite{targets=npu},annotate-target{targets=npu},merge-compiler-regions,partition-graph' %s | filecheck %s --check-prefix CUT
// RUN: not xrelay-opt -p 'merge-composite{targets=npu}' %s 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not xrelay-opt --backend openblsa -p 'merge-composite{targets=openblas}' %s 2>&1 | filecheck %s --check-prefix NAME

// UNKNOWN: pass 'merge-composite': 'targets' has 'npu', which has no patterns
// NAME: there is no backend 'openblsa', {{.*}} did you mean 'openblas'?

// The first pattern of the table has the addition, so that none is left for the second one.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: [[C:%.*]] = relay.composite "npu.dense_add" %x, %w, %b attributes {partitioned_from_pattern = "nn.dense_add_"}
// CHECK: relay.nn.dense
// CHECK-NEXT: relay.add
// CHECK-NEXT: relay.yield
// CHECK: relay.nn.relu [[C]]
// CUT-LABEL: func.func @main
// CUT-NEXT: [[R:%.*]] = func.call @tvmgen_default_npu_main_0(%x, %w, %b)
// CUT-NEXT: func.return [[R]]
func.func @main(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %1 = relay.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = relay.nn.relu %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// Something else needs what a pattern computes on the way: its operators stay apart.
// CHECK-LABEL: func.func @two_uses
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense
// CHECK-NEXT: [[C:%.*]] = relay.composite "npu.add_relu" [[D]], %b
// CHECK: relay.multiply [[C]], [[D]]
func.func @two_uses(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %1 = relay.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = relay.nn.relu %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = relay.multiply %2, %0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}
