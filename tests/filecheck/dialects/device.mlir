// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @devices(%x: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-LABEL: func.func @devices(%x: tensor<2xf32>) -> tensor<2xf32> {
  %here = relay.on_device %x : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %here = relay.on_device %x : (tensor<2xf32>) -> tensor<2xf32>
  %there = relay.on_device %here {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "global", unit>, constrain_result = true, constrain_body = false} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %there = relay.on_device %here {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "global", unit>, constrain_result = true, constrain_body = false} : (tensor<2xf32>) -> tensor<2xf32>
  %copy = relay.device_copy %there {src_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", {type_key = "Target"}>, dst_virtual_device = #relay.virtual_device<2 : i64, -1 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %copy = relay.device_copy %there {src_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", {type_key = "Target"}>, dst_virtual_device = #relay.virtual_device<2 : i64, -1 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %copy : tensor<2xf32>
  // CHECK-NEXT: func.return %copy : tensor<2xf32>
}
// CHECK-NEXT: }
