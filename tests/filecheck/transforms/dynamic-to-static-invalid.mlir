// RUN: not xrelay-opt -p dynamic-to-static %s 2>&1 | filecheck %s

func.func @sizes(%x: tensor<7xf32>) -> tensor<?x?xf32> {
  %y = relay.zeros {shape = array<i64: 2, 3>, dtype = f32} : tensor<2x3xf32>
  %s = relay.shape_of %y : (tensor<2x3xf32>) -> tensor<2xi32>
  %0 = relay.dyn.reshape %x, %s : (tensor<7xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// CHECK: error: pass 'dynamic-to-static': relay.dyn.reshape
