// RUN: xdsl-opt -p fold-constant %s | filecheck %s
// RUN: xdsl-opt -p fold-constant,fold-constant %s | filecheck %s
// RUN: xdsl-opt -p 'fold-constant{fold-qnn=false}' %s | filecheck %s --check-prefix=KEEP
// RUN: xdsl-opt -p fold-constant{max-bytes=8} %s | filecheck %s --check-prefix=FEW
// RUN: not xrelay-opt -p fold-constant{limit=4} %s 2>&1 | filecheck %s --check-prefix=LIMIT

// LIMIT: pass 'fold-constant': relay.sqrt{{.*}}: the constant that it gives has 8 bytes, the limit (max_bytes) is 4

// CHECK-LABEL: func.func @chain
// CHECK-NEXT: [[FOLDED:%.*]] = relay.constant dense<3.000000e+00> : tensor<2xf32>
// CHECK-NEXT: [[RESULT:%.*]] = relay.add %x, [[FOLDED]]
// CHECK-NEXT: func.return [[RESULT]]
func.func @chain(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.constant dense<4.0> : tensor<2xf32>
  %1 = relay.constant dense<1.0> : tensor<f32>
  %2 = relay.sqrt %0 : (tensor<2xf32>) -> tensor<2xf32>
  %3 = relay.add %2, %1 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = relay.add %x, %3 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// CHECK-LABEL: func.func @tuple_operand
// CHECK-NEXT: [[JOINED:%.*]] = relay.constant dense<[1, 2, 3]> : tensor<3xi32>
// CHECK-NEXT: func.return [[JOINED]]
func.func @tuple_operand() -> tensor<3xi32> {
  %0 = relay.constant dense<[1, 2]> : tensor<2xi32>
  %1 = relay.constant dense<3> : tensor<1xi32>
  %2 = relay.tuple %0, %1 : (tensor<2xi32>, tensor<1xi32>) -> tuple<tensor<2xi32>, tensor<1xi32>>
  %3 = relay.concatenate %2 : (tuple<tensor<2xi32>, tensor<1xi32>>) -> tensor<3xi32>
  return %3 : tensor<3xi32>
}

// CHECK-LABEL: func.func @tuple_result
// CHECK-NEXT: [[SECOND:%.*]] = relay.constant dense<[3, 4]> : tensor<2xi32>
// CHECK-NEXT: func.return [[SECOND]]
func.func @tuple_result() -> tensor<2xi32> {
  %0 = relay.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %1 = relay.split %0 {indices_or_sections = 2 : i64} : (tensor<4xi32>) -> tuple<tensor<2xi32>, tensor<2xi32>>
  %2 = relay.tuple_get_item %1[1] : (tuple<tensor<2xi32>, tensor<2xi32>>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}

// CHECK-LABEL: func.func @field_of_tuple
// CHECK: func.return %y
func.func @field_of_tuple(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = relay.tuple %x, %y : (tensor<f32>, tensor<f32>) -> tuple<tensor<f32>, tensor<f32>>
  %1 = relay.tuple_get_item %0[1] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_without_operands
// CHECK-NEXT: relay.zeros
func.func @keep_without_operands() -> tensor<100xf32> {
  %0 = relay.zeros {shape = array<i64: 100>, dtype = f32} : tensor<100xf32>
  return %0 : tensor<100xf32>
}

// CHECK-LABEL: func.func @keep_unknown_operand
// CHECK: relay.exp %x
func.func @keep_unknown_operand(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.exp %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_missing_bytes
// CHECK: relay.negative
func.func @keep_missing_bytes() -> tensor<100xf32> {
  %0 = relay.constant #relay.blob<"00"> : tensor<100xf32>
  %1 = relay.negative %0 : (tensor<100xf32>) -> tensor<100xf32>
  return %1 : tensor<100xf32>
}

// CHECK-LABEL: func.func @keep_larger_result
// CHECK: relay.broadcast_to
func.func @keep_larger_result() -> tensor<1000x1000xf32> {
  %0 = relay.constant dense<1.0> : tensor<1x1000xf32>
  %1 = relay.broadcast_to %0 {shape = array<i64: 1000, 1000>} : (tensor<1x1000xf32>) -> tensor<1000x1000xf32>
  return %1 : tensor<1000x1000xf32>
}

// CHECK-LABEL: func.func @keep_side_effects
// CHECK: relay.ref_create
func.func @keep_side_effects() -> tensor<f32> {
  %0 = relay.constant dense<1.0> : tensor<f32>
  %1 = relay.ref_create %0 : (tensor<f32>) -> !relay.ref<tensor<f32>>
  %2 = relay.ref_read %1 : (!relay.ref<tensor<f32>>) -> tensor<f32>
  return %2 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_fused
// CHECK: relay.fused
// CHECK: relay.exp
func.func @keep_fused() -> tensor<f32> {
  %0 = relay.fused : () -> tensor<f32> {
    %1 = relay.constant dense<0.0> : tensor<f32>
    %2 = relay.exp %1 : (tensor<f32>) -> tensor<f32>
    relay.yield %2 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_composite
// CHECK: relay.composite
// CHECK: relay.exp
func.func @keep_composite() -> tensor<f32> {
  %0 = relay.composite "dnnl.exp" : () -> tensor<f32> {
    %1 = relay.constant dense<0.0> : tensor<f32>
    %2 = relay.exp %1 : (tensor<f32>) -> tensor<f32>
    relay.yield %2 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK: relay.exp
func.func @keep_function_of_a_compiler() -> tensor<f32> attributes {Compiler = "dnnl"} {
  %0 = relay.constant dense<0.0> : tensor<f32>
  %1 = relay.exp %0 : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// Too large to compute: the operands decide it, whatever the type states.
// CHECK-LABEL: func.func @keep_huge_range
// CHECK: relay.arange
func.func @keep_huge_range() -> tensor<?xf32> {
  %0 = relay.constant dense<0.0> : tensor<f32>
  %1 = relay.constant dense<1.0e12> : tensor<f32>
  %2 = relay.constant dense<1.0> : tensor<f32>
  %3 = relay.arange %0, %1, %2 {dtype = f32} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// The function states what it returns.
// CHECK-LABEL: func.func @keep_stated_type
// CHECK: relay.arange
func.func @keep_stated_type() -> tensor<?xf32> {
  %0 = relay.constant dense<0.0> : tensor<f32>
  %1 = relay.constant dense<2.0> : tensor<f32>
  %2 = relay.constant dense<7.0> : tensor<f32>
  %3 = relay.arange %0, %1, %2 {dtype = f32} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// CHECK-LABEL: func.func @fold_range
// CHECK-NEXT: relay.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
func.func @fold_range() -> tensor<2xf32> {
  %0 = relay.constant dense<0.0> : tensor<f32>
  %1 = relay.constant dense<2.0> : tensor<f32>
  %2 = relay.constant dense<1.0> : tensor<f32>
  %3 = relay.arange %0, %1, %2 {dtype = f32} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_huge_dynamic_shape
// CHECK: relay.dyn.zeros
func.func @keep_huge_dynamic_shape() -> tensor<?x?xf32> {
  %0 = relay.constant dense<[1000000, 1000000]> : tensor<2xi64>
  %1 = relay.dyn.zeros %0 {dtype = f32} : (tensor<2xi64>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @keep_huge_broadcast
// CHECK: relay.broadcast_to
func.func @keep_huge_broadcast() -> tensor<1000000x1000000x100000xf32> {
  %0 = relay.constant dense<1.0> : tensor<f32>
  %1 = relay.broadcast_to %0 {shape = array<i64: 1000000, 1000000, 100000>} : (tensor<f32>) -> tensor<1000000x1000000x100000xf32>
  return %1 : tensor<1000000x1000000x100000xf32>
}

// CHECK-LABEL: func.func @branches_taken
// CHECK-NEXT: [[LOG:%.*]] = relay.log %x
// CHECK-NEXT: [[EXP:%.*]] = relay.exp [[LOG]]
// CHECK-NEXT: func.return [[EXP]]
func.func @branches_taken(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.constant dense<3> : tensor<i32>
  %1 = relay.constant dense<4> : tensor<i32>
  %2 = relay.less %1, %0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %3 = tensor.extract %2[] : tensor<i1>
  %4 = scf.if %3 -> (tensor<4xf32>) {
    %5 = relay.abs %x : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %5 : tensor<4xf32>
  } else {
    %6 = relay.log %x : (tensor<4xf32>) -> tensor<4xf32>
    %7 = relay.logical_not %2 : (tensor<i1>) -> tensor<i1>
    %8 = tensor.extract %7[] : tensor<i1>
    %9 = scf.if %8 -> (tensor<4xf32>) {
      %10 = relay.exp %6 : (tensor<4xf32>) -> tensor<4xf32>
      scf.yield %10 : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    scf.yield %9 : tensor<4xf32>
  }
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: func.func @keep_unknown_condition
// CHECK: scf.if
func.func @keep_unknown_condition(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.extract %c[] : tensor<i1>
  %1 = scf.if %0 -> (tensor<4xf32>) {
    %2 = relay.abs %x : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @keep_joined_shape
// CHECK: scf.if
func.func @keep_joined_shape(%x: tensor<4xf32>) -> tensor<?xf32> {
  %0 = relay.constant dense<true> : tensor<i1>
  %1 = tensor.extract %0[] : tensor<i1>
  %2 = scf.if %1 -> (tensor<?xf32>) {
    scf.yield %x : tensor<4xf32>
  } else {
    %3 = relay.tile %x {reps = array<i64: 2>} : (tensor<4xf32>) -> tensor<8xf32>
    scf.yield %3 : tensor<8xf32>
  }
  return %2 : tensor<?xf32>
}

// CHECK-LABEL: func.func @quantised
// CHECK-NEXT: relay.constant dense<[1, 3, 5]> : tensor<3xi8>
// CHECK-NEXT: func.return
// KEEP-LABEL: func.func @quantised
// KEEP: relay.qnn.requantize
func.func @quantised() -> tensor<3xi8> {
  %0 = relay.constant dense<[1, 2, 3]> : tensor<3xi8>
  %1 = relay.constant dense<2.0> : tensor<f32>
  %2 = relay.constant dense<1> : tensor<i32>
  %3 = relay.constant dense<1.0> : tensor<f32>
  %4 = relay.qnn.requantize %0, %1, %2, %3, %2 {out_dtype = i8} : (tensor<3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<3xi8>
  return %4 : tensor<3xi8>
}

// CHECK-LABEL: func.func @on_device
// CHECK-NEXT: [[SUM:%.*]] = relay.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: [[THERE:%.*]] = relay.on_device [[SUM]] {constrain_result = true} : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT: func.return [[THERE]]
func.func @on_device() -> tensor<f32> {
  %one = relay.constant dense<1.0> : tensor<f32>
  %two = relay.constant dense<2.0> : tensor<f32>
  %here = relay.on_device %one {constrain_result = true} : (tensor<f32>) -> tensor<f32>
  %named = relay.let %here : (tensor<f32>) -> tensor<f32>
  %sum = relay.add %named, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %there = relay.on_device %sum {constrain_result = true} : (tensor<f32>) -> tensor<f32>
  %last = relay.let %there : (tensor<f32>) -> tensor<f32>
  return %last : tensor<f32>
}

// CHECK-LABEL: func.func @field_on_device
// CHECK-NEXT: [[THERE:%.*]] = relay.on_device %y {constrain_body = false} : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return [[THERE]]
func.func @field_on_device(%x: tensor<f32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %pair = relay.tuple %x, %y : (tensor<f32>, tensor<2xf32>) -> tuple<tensor<f32>, tensor<2xf32>>
  %there = relay.on_device %pair {constrain_body = false} : (tuple<tensor<f32>, tensor<2xf32>>) -> tuple<tensor<f32>, tensor<2xf32>>
  %field = relay.tuple_get_item %there[1] : (tuple<tensor<f32>, tensor<2xf32>>) -> tensor<2xf32>
  return %field : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_copy_and_dead_code
// CHECK-NEXT: [[ONE:%.*]] = relay.constant
// CHECK-NEXT: relay.on_device [[ONE]] {constrain_result = true}
// CHECK-NEXT: [[COPY:%.*]] = relay.device_copy [[ONE]]
// CHECK-NEXT: [[DEAD:%.*]] = relay.exp %x
// CHECK-NEXT: relay.sqrt [[DEAD]]
// CHECK-NEXT: func.return [[COPY]]
func.func @keep_copy_and_dead_code(%x: tensor<f32>) -> tensor<f32> {
  %one = relay.constant dense<1.0> : tensor<f32>
  %unused = relay.on_device %one {constrain_result = true} : (tensor<f32>) -> tensor<f32>
  %copy = relay.device_copy %one {src_virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>, dst_virtual_device = #relay.virtual_device<2 : i64, 0 : i64, "", unit>} : (tensor<f32>) -> tensor<f32>
  %dead = relay.exp %x : (tensor<f32>) -> tensor<f32>
  %more = relay.sqrt %dead : (tensor<f32>) -> tensor<f32>
  return %copy : tensor<f32>
}

// What dropout gives is decided by simplify-inference.
// CHECK-LABEL: func.func @keep_dropout
// CHECK: [[D:%.*]] = relay.nn.dropout
// CHECK-NEXT: [[X:%.*]] = relay.tuple_get_item [[D]][0]
// CHECK-NEXT: relay.add [[X]],
func.func @keep_dropout() -> tensor<2xf32> {
  %one = relay.constant dense<1.0> : tensor<2xf32>
  %0 = relay.nn.dropout %one : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %2 = relay.add %1, %one : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// More bytes than `max-bytes`, and than the operands have.
// CHECK-LABEL: func.func @no_more_bytes
// CHECK-NEXT: relay.constant dense<{{.*}}> : tensor<3x2xf32>
// CHECK-NEXT: func.return
// FEW-LABEL: func.func @no_more_bytes
// FEW: relay.tile
func.func @no_more_bytes() -> tensor<3x2xf32> {
  %0 = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = relay.tile %0 {reps = array<i64: 3, 1>} : (tensor<2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}
