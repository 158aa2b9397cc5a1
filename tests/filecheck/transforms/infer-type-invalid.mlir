// RUN: not xrelay-opt -p infer-type %s 2>&1 | filecheck %s --check-prefix READ
// RUN: not xrelay-opt -p infer-type --disable-verify %s 2>&1 | filecheck %s
// RUN: not xrelay-opt -p infer-type --disable-verify %S/inputs/infer-type-conflict.mlir 2>&1 | filecheck %s --check-prefix STATED

func.func @branches(%p: i1, %x: tensor<2xf32>, %y: tensor<2xi32>) {
  %0 = scf.if %p -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    scf.yield %y : tensor<2xi32>
  }
  func.return
}

// READ: operation does not verify: value 0 that the other branch gives is tensor<2xi32>, expected tensor<2xf32>

// CHECK: error: pass 'infer-type': scf.if: one body yields tensor<2xf32>, another tensor<2xi32>

// STATED: error: pass 'infer-type': relay.exp %sum: result type is tensor<3xf32>, but the operands give tensor<2xf32>
