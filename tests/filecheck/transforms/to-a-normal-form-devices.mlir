// RUN: xdsl-opt -p to-a-normal-form %s | filecheck %s
// RUN: xdsl-opt -p to-a-normal-form,to-a-normal-form %s | filecheck %s

#cpu = #relay.virtual_device<1 : i64, -1 : i64, "", unit>
#gpu = #relay.virtual_device<2 : i64, 0 : i64, "", unit>

// The program of the original's test_let_as_subexpr: two operands are one constant, which is bound on the device of what
// uses it.
// CHECK-LABEL: func.func @one_constant
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<1> : tensor<i32>
// CHECK-NEXT: [[V1:%.*]] = relay.on_device [[V0]] {virtual_device = #relay.virtual_device<1 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V2:%.*]] = relay.let [[V1]] :
// CHECK-NEXT: [[V3:%.*]] = relay.add [[V2]], [[V2]] :
// CHECK-NEXT: [[V4:%.*]] = relay.on_device [[V3]] {virtual_device = #relay.virtual_device<1 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V5:%.*]] = relay.let [[V4]] :
// CHECK-NEXT: [[V6:%.*]] = relay.multiply [[V5]], [[V5]] :
// CHECK-NEXT: [[V7:%.*]] = relay.let [[V6]] :
// CHECK-NEXT: [[V8:%.*]] = relay.let [[V7]] :
// CHECK-NEXT: func.return [[V8]] : tensor<i32>
// CHECK-NEXT: }
func.func @one_constant() -> tensor<i32> {
  %one = relay.constant dense<1> : tensor<i32>
  %0 = relay.add %one, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %1 = relay.on_device %0 {virtual_device = #cpu, constrain_result = true} : (tensor<i32>) -> tensor<i32>
  %x = relay.let %1 : (tensor<i32>) -> tensor<i32>
  %2 = relay.multiply %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %2 : tensor<i32>
}

// The original's test_explicit_bound: no device, and one name for a constant.
// CHECK-LABEL: func.func @explicit_bound
// CHECK-NEXT: [[V0:%.*]] = relay.constant dense<1> : tensor<i32>
// CHECK-NEXT: [[V1:%.*]] = relay.let [[V0]] :
// CHECK-NEXT: [[V2:%.*]] = relay.add [[V1]], [[V1]] :
// CHECK-NEXT: [[V3:%.*]] = relay.let [[V2]] :
// CHECK-NEXT: [[V4:%.*]] = relay.add [[V3]], [[V3]] :
// CHECK-NEXT: [[V5:%.*]] = relay.let [[V4]] :
// CHECK-NEXT: [[V6:%.*]] = relay.add [[V5]], [[V5]] :
// CHECK-NEXT: [[V7:%.*]] = relay.let [[V6]] :
// CHECK-NEXT: func.return [[V7]] : tensor<i32>
// CHECK-NEXT: }
func.func @explicit_bound() -> tensor<i32> {
  %one = relay.constant dense<1> : tensor<i32>
  %0 = relay.add %one, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %1 = relay.add %0, %0 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %2 = relay.add %1, %1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %2 : tensor<i32>
}

// on_device stays around the name, and holds for all that it leads to.
// CHECK-LABEL: func.func @nested
// CHECK-NEXT: [[V2:%.*]] = relay.subtract %x, %y :
// CHECK-NEXT: [[V3:%.*]] = relay.on_device [[V2]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V4:%.*]] = relay.let [[V3]] :
// CHECK-NEXT: [[V5:%.*]] = relay.add [[V4]], %y :
// CHECK-NEXT: [[V6:%.*]] = relay.on_device [[V5]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V7:%.*]] = relay.let [[V6]] :
// CHECK-NEXT: [[V8:%.*]] = relay.on_device [[V7]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V9:%.*]] = relay.exp [[V8]] :
// CHECK-NEXT: [[V10:%.*]] = relay.let [[V9]] :
// CHECK-NEXT: func.return [[V10]] : tensor<2xf32>
// CHECK-NEXT: }
func.func @nested(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.subtract %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.add %0, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.on_device %1 {virtual_device = #gpu, constrain_result = true} : (tensor<2xf32>) -> tensor<2xf32>
  %3 = relay.exp %2 : (tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// What a function says of its result holds for what is in it, branches too, unless that says another one; a function needs
// none, on_device takes over what it leaves open.
// CHECK-LABEL: func.func @function
// CHECK-NEXT: [[V2:%.*]] = relay.exp %x :
// CHECK-NEXT: [[V3:%.*]] = relay.on_device [[V2]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V4:%.*]] = relay.let [[V3]] :
// CHECK-NEXT: [[V5:%.*]] = tensor.extract %c[] : tensor<i1>
// CHECK-NEXT: [[V6:%.*]] = scf.if [[V5]] -> (tensor<2xf32>) {
// CHECK-NEXT: [[V7:%.*]] = relay.negative [[V4]] :
// CHECK-NEXT: [[V8:%.*]] = relay.on_device [[V7]] {virtual_device = #relay.virtual_device<1 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V9:%.*]] = relay.let [[V8]] :
// CHECK-NEXT: [[V10:%.*]] = relay.on_device [[V9]] {virtual_device = #relay.virtual_device<1 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V11:%.*]] = relay.device_copy [[V10]] {src_virtual_device = #relay.virtual_device<1 : {{.*}}>, dst_virtual_device = #relay.virtual_device<2 : {{.*}}>} :
// CHECK-NEXT: [[V12:%.*]] = relay.on_device [[V11]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V13:%.*]] = relay.let [[V12]] :
// CHECK-NEXT: scf.yield [[V13]] : tensor<2xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: [[V14:%.*]] = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
// CHECK-NEXT: ^bb0([[V15:%.*]]: tensor<2xf32>):
// CHECK-NEXT: [[V16:%.*]] = relay.exp [[V15]] :
// CHECK-NEXT: relay.yield [[V16]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: [[V17:%.*]] = relay.let [[V14]] :
// CHECK-NEXT: [[V18:%.*]] = relay.apply [[V17]]([[V4]]) :
// CHECK-NEXT: [[V19:%.*]] = relay.on_device [[V18]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V20:%.*]] = relay.let [[V19]] :
// CHECK-NEXT: scf.yield [[V20]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: [[V21:%.*]] = relay.on_device [[V6]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V22:%.*]] = relay.let [[V21]] :
// CHECK-NEXT: [[V23:%.*]] = relay.on_device [[V22]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_body = false, constrain_result = true} :
// CHECK-NEXT: [[V24:%.*]] = relay.let [[V23]] :
// CHECK-NEXT: [[V25:%.*]] = relay.on_device [[V24]] {virtual_device = #relay.virtual_device<1 : {{.*}}>} :
// CHECK-NEXT: [[V26:%.*]] = relay.let [[V25]] :
// CHECK-NEXT: [[V27:%.*]] = relay.let [[V26]] :
// CHECK-NEXT: func.return [[V27]] : tensor<2xf32>
// CHECK-NEXT: }
func.func @function(%x: tensor<2xf32> {virtual_device = #gpu}, %c: tensor<i1> {virtual_device = #gpu}) -> tensor<2xf32> attributes {virtual_device = #gpu} {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  %t = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %t -> (tensor<2xf32>) {
    %2 = relay.negative %a : (tensor<2xf32>) -> tensor<2xf32>
    %3 = relay.on_device %2 {virtual_device = #cpu, constrain_result = true} : (tensor<2xf32>) -> tensor<2xf32>
    %4 = relay.device_copy %3 {src_virtual_device = #cpu, dst_virtual_device = #gpu} : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %4 : tensor<2xf32>
  } else {
    %f = relay.fused %a : (tensor<2xf32>) -> tensor<2xf32> {
    ^bb0(%p: tensor<2xf32>):
      %5 = relay.exp %p : (tensor<2xf32>) -> tensor<2xf32>
      relay.yield %5 : tensor<2xf32>
    }
    scf.yield %f : tensor<2xf32>
  }
  %6 = relay.on_device %1 {virtual_device = #gpu, constrain_body = false} : (tensor<2xf32>) -> tensor<2xf32>
  %7 = relay.on_device %6 {virtual_device = #cpu} : (tensor<2xf32>) -> tensor<2xf32>
  return %7 : tensor<2xf32>
}

// A value that is on_device is no name: the let behind it gives it one, which others that use it get.
// CHECK-LABEL: func.func @used_beside_a_name
// CHECK-NEXT: [[V1:%.*]] = relay.exp %x :
// CHECK-NEXT: [[V2:%.*]] = relay.on_device [[V1]] {virtual_device = #relay.virtual_device<2 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V3:%.*]] = relay.let [[V2]] :
// CHECK-NEXT: [[V4:%.*]] = relay.add [[V3]], [[V3]] :
// CHECK-NEXT: [[V5:%.*]] = relay.let [[V4]] :
// CHECK-NEXT: [[V6:%.*]] = relay.let [[V5]] :
// CHECK-NEXT: [[V7:%.*]] = relay.let [[V6]] :
// CHECK-NEXT: func.return [[V7]] : tensor<2xf32>
// CHECK-NEXT: }
func.func @used_beside_a_name(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.on_device %0 {virtual_device = #gpu, constrain_result = true} : (tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %1 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.add %a, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %b = relay.let %2 : (tensor<2xf32>) -> tensor<2xf32>
  return %b : tensor<2xf32>
}

// What a composite computes is on its device.
// CHECK-LABEL: func.func @composite
// CHECK-NEXT: [[V1:%.*]] = relay.closure attributes {virtual_device = #relay.virtual_device<1 : {{.*}}>, Composite = "a.b"} : !relay.fn<(tensor<2xf32>) -> tensor<2xf32>> {
// CHECK-NEXT: ^bb0([[V2:%.*]]: tensor<2xf32>):
// CHECK-NEXT: [[V3:%.*]] = relay.negative [[V2]] :
// CHECK-NEXT: [[V4:%.*]] = relay.on_device [[V3]] {virtual_device = #relay.virtual_device<1 : {{.*}}>, constrain_result = true} :
// CHECK-NEXT: [[V5:%.*]] = relay.let [[V4]] :
// CHECK-NEXT: relay.yield [[V5]] : tensor<2xf32>
// CHECK-NEXT: }
// CHECK-NEXT: [[V6:%.*]] = relay.let [[V1]] :
// CHECK-NEXT: [[V7:%.*]] = relay.apply [[V6]](%x) :
// CHECK-NEXT: [[V8:%.*]] = relay.let [[V7]] :
// CHECK-NEXT: func.return [[V8]] : tensor<2xf32>
// CHECK-NEXT: }
func.func @composite(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.composite "a.b" %x attributes {virtual_device = #cpu} : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%p: tensor<2xf32>):
    %1 = relay.negative %p : (tensor<2xf32>) -> tensor<2xf32>
    relay.yield %1 : tensor<2xf32>
  }
  return %0 : tensor<2xf32>
}
