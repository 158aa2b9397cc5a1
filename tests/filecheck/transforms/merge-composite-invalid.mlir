// RUN: not xrelay-opt -p merge-composite %s 2>&1 | filecheck %s --check-prefix NONE
// RUN: not xrelay-opt -p 'merge-composite{targets=nobody}' %s 2>&1 | filecheck %s --check-prefix NAME

// NONE: pass 'merge-composite': 'targets' is empty, expected names of compilers
// NAME: pass 'merge-composite': 'targets' has 'nobody', which has no patterns
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
