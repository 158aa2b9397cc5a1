// RUN: xdsl-opt -p 'remove-unused-functions{entry-functions=nobody}' --verify-diagnostics %s | filecheck %s --check-prefix=ENTRY
// RUN: xdsl-opt -p 'inline-compiler-functions{functions=main}' --verify-diagnostics %s | filecheck %s --check-prefix=INLINE
// RUN: xdsl-opt -p 'merge-composite{targets=nobody}' --verify-diagnostics %s | filecheck %s --check-prefix=TABLE
// RUN: xdsl-opt -p outline-compiler-functions --verify-diagnostics %s | filecheck %s --check-prefix=CAPTURE

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = relay.closure attributes {Compiler = "a"} : !relay.fn<(tensor<4xf32>) -> tensor<4xf32>> {
  ^bb0(%p: tensor<4xf32>):
    %e = relay.add %p, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relay.yield %e : tensor<4xf32>
  }
  %0 = relay.apply %f(%x) : (!relay.fn<(tensor<4xf32>) -> tensor<4xf32>>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// ENTRY: 'entry-functions' has nobody, the module has main
// INLINE: 'functions' has main, functions with Compiler are none
// TABLE: 'targets' has 'nobody', which has no patterns
// CAPTURE: relay.add %e in a function for compiler 'a' uses a parameter from outside of the function
