// RUN: xdsl-opt -p fuse-ops %s | filecheck %s --check-prefix=LINKED
// RUN: xdsl-opt -p 'fuse-ops{link-params=false}' %s | filecheck %s --check-prefix=SEPARATE

// The module says whether constants are linked; the option wins.
builtin.module attributes {"link-params"} {
  func.func @row(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %row = relay.constant dense<2.000000e+00> : tensor<8xf32>
    %0 = relay.add %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    func.return %0 : tensor<4x8xf32>
  }
}

// LINKED-LABEL: func.func @row(
// LINKED-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// LINKED-NEXT:    %[[F0:\w+]] = relay.fused %[[X]] :
// LINKED-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// LINKED-NEXT:      %[[ROW:\w+]] = relay.constant dense<2.000000e+00> : tensor<8xf32>
// LINKED-NEXT:      %[[V0:\w+]] = relay.add %p0, %[[ROW]] :
// LINKED-NEXT:      relay.yield %[[V0]] :
// LINKED-NEXT:    }
// LINKED-NEXT:    func.return %[[F0]] :

// SEPARATE-LABEL: func.func @row(
// SEPARATE-SAME:  %[[X:\w+]]: tensor<4x8xf32>)
// SEPARATE-NEXT:    %[[ROW:\w+]] = relay.constant dense<2.000000e+00> : tensor<8xf32>
// SEPARATE-NEXT:    %[[F0:\w+]] = relay.fused %[[X]], %[[ROW]] :
// SEPARATE-NEXT:    ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<8xf32>):
// SEPARATE-NEXT:      %[[V0:\w+]] = relay.add %p0, %p1 :
// SEPARATE-NEXT:      relay.yield %[[V0]] :
// SEPARATE-NEXT:    }
// SEPARATE-NEXT:    func.return %[[F0]] :
