// RUN: xrelay view %s --no-simplify -o %t.dot && filecheck %s --check-prefix DOT < %t.dot
// RUN: xrelay view %s --no-simplify --fused -o %t.dot && filecheck %s --check-prefix FUSED < %t.dot
// RUN: xrelay view %s --no-simplify -o %t.svg && filecheck %s --check-prefix SVG < %t.svg
// RUN: xrelay view %s --no-simplify -o %t.html && filecheck %s --check-prefix PAGE < %t.html
// RUN: not xrelay view %s -o %t.png 2>&1 | filecheck %s --check-prefix SUFFIX

func.func @main(%x: tensor<2x8xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = relay.sum %0 {axis = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  %2 = relay.exp %1 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// DOT:      digraph xrelay {
// DOT:        label="func.func main";
// DOT:        subgraph cluster_g0_u0 {
// DOT-DAG:      g0_1 [label="exp #0\n2×8 f32"];
// DOT-DAG:      g0_2 [label="sum #1\n2 f32"];
// DOT:        g0_0 -> g0_1;
// DOT:        g0_1 -> g0_2;
// DOT:        g0_2 -> g0_3 [label="rule 24", tooltip="nothing fuses after a reduction"];

// FUSED:      g0_0 [label="exp\nsum\n2 f32", fillcolor="#{{.*}}"];
// FUSED:      g0_1 [label="exp\n2 f32", fillcolor="#{{.*}}"];
// FUSED:      g0_0 -> g0_1;

// SVG:      <svg xmlns="http://www.w3.org/2000/svg"
// SVG:      rule 24: nothing fuses after a reduction

// PAGE:     <!DOCTYPE html>
// PAGE:     Content-Security-Policy
// PAGE:     "sentence":"nothing fuses after a reduction"

// SUFFIX:   xrelay view: error: -o is '{{.*}}.png', expected a name that ends with .html, .svg, .dot
