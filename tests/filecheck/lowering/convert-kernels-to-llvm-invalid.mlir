// RUN: xdsl-opt --split-input-file --verify-diagnostics -p convert-kernels-to-llvm %s | filecheck %s

func.func @f(%x: tensor<2xf32>) {
  %0 = relay.nn.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// CHECK: relay.nn.relu is not part of kernel IR

// -----

func.func @f(%x: f32) {
  %0 = math.atan2 %x, %x : f32
  func.return
}

// CHECK: math.atan2 is not part of kernel IR

// -----

"memref.global"() <{sym_name = "g", type = memref<2xf32>, initial_value, sym_visibility = "private"}> : () -> ()

// CHECK: memref.global is not part of kernel IR; run convert-relay-to-kernels before
