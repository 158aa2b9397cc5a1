// RUN: xrelay-opt -p 'plan-devices{default-device=2}' --split-input-file --verify-diagnostics %s | filecheck %s
// RUN: xrelay-opt -p 'plan-devices{default-device=2},plan-devices{default-device=2}' --split-input-file --verify-diagnostics %s | filecheck %s
// RUN: not xrelay-opt -p 'plan-devices{host-device=0}' %s 2>&1 | filecheck %s --check-prefix HOST
// Programs of the original's tests are in tests/unit/transforms/test_plan_devices.py.

// HOST: pass 'plan-devices': 'host-device' is 0, expected at least 1

// A copy for each use; a name needs no on_device.
// CHECK-LABEL: func.func @copies
// CHECK-SAME: %a: tensor<2xf32> {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>}
// CHECK-SAME: %b: tensor<2xf32> {virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>}
// CHECK-SAME: attributes {virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>}
// CHECK-NEXT: [[E:%.*]] = relay.exp %a
// CHECK-NEXT: [[O:%.*]] = relay.on_device [[E]] {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>, constrain_result = true}
// CHECK-NEXT: [[C:%.*]] = relay.device_copy [[O]] {src_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>, dst_virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>}
// CHECK-NEXT: [[S:%.*]] = relay.add [[C]], %b
// CHECK-NEXT: [[P:%.*]] = relay.on_device [[S]] {virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>, constrain_result = true}
// CHECK-NEXT: %n = relay.let [[P]]
// CHECK-NEXT: [[D:%.*]] = relay.device_copy %a {src
// CHECK-NEXT: [[R:%.*]] = relay.multiply %n, [[D]]
// CHECK-NEXT: func.return [[R]]
func.func @copies(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %a : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.on_device %0 {virtual_device = #relay.virtual_device<1 : i64, -1 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.add %1, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %n = relay.let %2 : (tensor<2xf32>) -> tensor<2xf32>
  %3 = relay.on_device %a {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  %4 = relay.multiply %n, %3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// What the result of a function is said to be on, it is on; a copy to where a value is copies nothing.
// CHECK-LABEL: func.func @result
// CHECK-SAME: {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>}
// CHECK-SAME: attributes {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>}
// CHECK-NEXT: [[E:%.*]] = relay.exp %a
// CHECK-NEXT: func.return [[E]]
func.func @result(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %a : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.device_copy %0 {src_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>, dst_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.on_device %1 {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// The functions of calls have one device for each parameter; a composite has what is in it; several results are together.
// CHECK-LABEL: func.func @calls
// CHECK-SAME: %a: tensor<2xf32> {virtual_device = #relay.virtual_device<1 :
// CHECK-SAME: %b: tensor<2xf32> {virtual_device = #relay.virtual_device<2 :
// CHECK-LABEL: func.func private @called
// CHECK-SAME: %p: tensor<2xf32> {virtual_device = #relay.virtual_device<1 :
// CHECK-SAME: %q: tensor<2xf32> {virtual_device = #relay.virtual_device<2 :
func.func @calls(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = func.call @called(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.composite "a.b" %0 : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<2xf32>):
    %2 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %2 : tensor<2xf32>
  }
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
func.func private @called(%p: tensor<2xf32>, %q: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.on_device %p {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.add %0, %q : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

// What a loop carries is on one device.
// CHECK-LABEL: func.func @loop
// CHECK: scf.condition(%a) %a, %b
// CHECK: [[E:%.*]] = relay.exp %b
// CHECK-NEXT: [[S:%.*]] = arith.constant false
// CHECK-NEXT: scf.yield [[S]], [[E]]
// CHECK: func.return
func.func @loop(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %go = tensor.extract %c[] : tensor<i1>
  %0, %1 = scf.while (%a = %go, %b = %x) : (i1, tensor<2xf32>) -> (i1, tensor<2xf32>) {
    scf.condition(%a) %a, %b : i1, tensor<2xf32>
  } do {
  ^bb0(%a: i1, %b: tensor<2xf32>):
    %2 = relay.exp %b : (tensor<2xf32>) -> tensor<2xf32>
    %stop = arith.constant false
    scf.yield %stop, %2 : i1, tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// -----

// CHECK: scf.while: what the loop carries would be on device 1:0 and device 2:0, expected one device, or on_device where a copy is meant
func.func @no_torn_loop(%c: tensor<i1>, %x: tensor<2xf32> {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>}, %y: tensor<2xf32> {virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>}) -> tensor<2xf32> {
  %go = tensor.extract %c[] : tensor<i1>
  %0, %1 = scf.while (%a = %go, %b = %x) : (i1, tensor<2xf32>) -> (i1, tensor<2xf32>) {
    scf.condition(%a) %a, %b : i1, tensor<2xf32>
  } do {
  ^bb0(%a: i1, %b: tensor<2xf32>):
    scf.yield %a, %y : i1, tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// -----

// CHECK: relay.add %sum{{.*}}: its operands and results would be on device 1:0 and device 2:0, expected one device, or on_device where a copy is meant
func.func @no_contradiction(%a: tensor<2xf32> {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>}, %b: tensor<2xf32> {virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>}) -> tensor<2xf32> {
  %sum = relay.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %sum : tensor<2xf32>
}

// -----

// CHECK: function @no_blocks has 2 blocks, expected one
func.func @no_blocks(%x: tensor<2xf32>) -> tensor<2xf32> {
  cf.br ^bb1(%x : tensor<2xf32>)
^bb1(%y: tensor<2xf32>):
  func.return %y : tensor<2xf32>
}

// -----

// CHECK: @no_stated_by_number, func.func{{.*}}: 'virtual_device' is 2 : i64, expected a device as #relay.virtual_device<1 : i64, 0 : i64, "", unit>
func.func @no_stated_by_number(%x: tensor<2xf32>) -> tensor<2xf32> attributes {virtual_device = 2 : i64} {
  return %x : tensor<2xf32>
}

// -----

// CHECK: parameter 1 of @no_parameter_by_name, func.func{{.*}}: 'virtual_device' is "cuda", expected a device as #relay.virtual_device<1 : i64, 0 : i64, "", unit>
func.func @no_parameter_by_name(%x: tensor<2xf32>, %y: tensor<2xf32> {virtual_device = "cuda"}) -> tensor<2xf32> {
  return %y : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @keep_function_of_a_compiler(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a"} {
// CHECK-NEXT: relay.exp %x
func.func @keep_function_of_a_compiler(%x: tensor<2xf32>) -> tensor<2xf32> attributes {Compiler = "a"} {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
