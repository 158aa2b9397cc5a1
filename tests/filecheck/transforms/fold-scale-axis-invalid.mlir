// RUN: xdsl-opt -p 'fold-scale-axis{rules=gpu}' --verify-diagnostics %s | filecheck %s --check-prefix=RULES
// RUN: xdsl-opt -p 'fold-scale-axis{directions="forwards"}' --verify-diagnostics %s | filecheck %s --check-prefix=DIRECTIONS

// RULES: 'rules' is 'gpu', expected one of relay, cpu
// DIRECTIONS: 'directions' is 'forwards', expected one of backward, forward; did you mean 'forward'?
func.func @main(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  return %x : tensor<4x3xf32>
}
