// RUN: xrelay-opt -p 'qnn-legalize{target="x86-vnni"}' %s | filecheck %s --check-prefix VNNI
// RUN: xrelay-opt -p 'qnn-legalize{target="x86-vnni"},qnn-legalize{target="x86-vnni"}' %s | filecheck %s --check-prefix VNNI
// RUN: xrelay-opt -p 'qnn-legalize{target="x86"}' %s | filecheck %s --check-prefix SHORT
// RUN: xrelay-opt -p qnn-legalize %s | filecheck %s --check-prefix KEEP
// RUN: not xrelay-opt -p 'qnn-legalize{target="z80"}' %s 2>&1 | filecheck %s --check-prefix UNKNOWN

// UNKNOWN: pass 'qnn-legalize': 'target' is 'z80', expected one of arm, arm-dotprod, cuda, generic, x86, x86-vnni

// VNNI-LABEL: func.func @signed
// VNNI: [[A:%.*]] = relay.cast %x {dtype = i32}
// VNNI-NEXT: [[SHIFT:%.*]] = relay.constant dense<128> : tensor<i32>
// VNNI-NEXT: [[B:%.*]] = relay.add [[A]], [[SHIFT]]
// VNNI-NEXT: [[C:%.*]] = relay.cast [[B]] {dtype = ui8}
// VNNI: [[Z:%.*]] = relay.constant dense<129> : tensor<i32>
// VNNI-NEXT: relay.qnn.dense [[C]], %w, [[Z]], %one, %scale, %scale {units = 3 : i64} : (tensor<2x4xui8>, tensor<3x4xi8>,
// SHORT-LABEL: func.func @signed
// SHORT: [[A:%.*]] = relay.cast %x {dtype = i16}
// SHORT-NEXT: [[Z:%.*]] = relay.cast %one {dtype = i16}
// SHORT-NEXT: [[B:%.*]] = relay.subtract [[A]], [[Z]]
// SHORT-NEXT: [[C:%.*]] = relay.cast %w {dtype = i16}
// SHORT-NEXT: [[Y:%.*]] = relay.cast %one {dtype = i16}
// SHORT-NEXT: [[D:%.*]] = relay.subtract [[C]], [[Y]]
// SHORT-NEXT: relay.nn.dense [[B]], [[D]] {units = 3 : i64, out_dtype = i32} : (tensor<2x4xi16>, tensor<3x4xi16>) -> tensor<2x3xi32>
// KEEP-LABEL: func.func @signed
// KEEP: relay.qnn.dense %x, %w, %one, %one, %scale, %scale
func.func @signed(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>) -> tensor<2x3xi32> {
  %one = relay.constant dense<1> : tensor<i32>
  %scale = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.qnn.dense %x, %w, %one, %one, %scale, %scale {units = 3 : i64} : (tensor<2x4xi8>, tensor<3x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}

// KEEP-LABEL: func.func @looked_up
// KEEP: [[T:%.*]] = relay.constant {{.*}} : tensor<256xui8>
// KEEP-NEXT: [[P:%.*]] = relay.cast %x {dtype = i32}
// KEEP-NEXT: [[Y:%.*]] = relay.take [[T]], [[P]] {axis = 0 : i64}
// KEEP-NEXT: return [[Y]]
func.func @looked_up(%x: tensor<2x4xui8>) -> tensor<2x4xui8> {
  %zero = relay.constant dense<3> : tensor<i32>
  %scale = relay.constant dense<0.05> : tensor<f32>
  %0 = relay.qnn.tanh %x, %scale, %zero, %scale, %zero : (tensor<2x4xui8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x4xui8>
  return %0 : tensor<2x4xui8>
}

// Bytes without a sign are what the target multiplies.
// VNNI-LABEL: func.func @keep_bytes_without_a_sign
// VNNI: relay.qnn.dense %x, %w, %one, %one, %scale, %scale
func.func @keep_bytes_without_a_sign(%x: tensor<2x4xui8>, %w: tensor<3x4xi8>) -> tensor<2x3xi32> {
  %one = relay.constant dense<1> : tensor<i32>
  %scale = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.qnn.dense %x, %w, %one, %one, %scale, %scale {units = 3 : i64} : (tensor<2x4xui8>, tensor<3x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}

// A table is made for a scale that is known.
// KEEP-LABEL: func.func @keep_unknown_scale
// KEEP: relay.qnn.tanh %x, %scale
func.func @keep_unknown_scale(%x: tensor<2x4xui8>, %scale: tensor<f32>) -> tensor<2x4xui8> {
  %zero = relay.constant dense<3> : tensor<i32>
  %0 = relay.qnn.tanh %x, %scale, %zero, %scale, %zero : (tensor<2x4xui8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x4xui8>
  return %0 : tensor<2x4xui8>
}

// VNNI-LABEL: func.func @keep_function_of_a_compiler
// VNNI: relay.qnn.dense %x, %w, %one, %one, %scale, %scale
func.func @keep_function_of_a_compiler(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>) -> tensor<2x3xi32> attributes {Compiler = "a"} {
  %one = relay.constant dense<1> : tensor<i32>
  %scale = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.qnn.dense %x, %w, %one, %one, %scale, %scale {units = 3 : i64} : (tensor<2x4xi8>, tensor<3x4xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}
