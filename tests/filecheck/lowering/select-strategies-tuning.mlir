// RUN: xrelay-opt -p 'select-strategies{target=x86-64-v3}' %s | filecheck %s --check-prefix ESTIMATED
// RUN: xrelay-opt -p 'select-strategies{target=x86-64-v3 tuning="%S/inputs/tuning.json"}' %s | filecheck %s --check-prefix MEASURED
// RUN: xrelay-opt -p 'select-strategies{target=x86-64-v3 threads=2 tuning="%S/inputs/tuning.json"}' %s | filecheck %s --check-prefix ESTIMATED
// RUN: not xrelay-opt -p 'select-strategies{tuning="%S/inputs/missing.json"}' %s 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not xrelay-opt -p 'select-strategies{tuning="%s"}' %s 2>&1 | filecheck %s --check-prefix JSON

// What was measured decides for the target and the number of threads that it was measured for.
// ESTIMATED: "relay.nn.conv2d" by "winograd-4"
// MEASURED: "relay.nn.conv2d" by "blocked"
// MISSING: pass 'select-strategies': cannot read '{{.*}}missing.json': No such file or directory
// JSON: select-strategies-tuning.mlir' holds no tuning records:
func.func @main(%x: tensor<1x4x28x28x8xf32>) -> tensor<1x4x28x28x8xf32> {
  %w = relay.constant dense<0.5> : tensor<32x32x3x3xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>, data_layout = "NCHW8c"} : (tensor<1x4x28x28x8xf32>, tensor<32x32x3x3xf32>) -> tensor<1x4x28x28x8xf32>
  func.return %0 : tensor<1x4x28x28x8xf32>
}
