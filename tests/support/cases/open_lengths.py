"""Models with open dimensions, the lengths that their programs are compiled at, and lengths that these serve as well."""

from collections.abc import Mapping

from onnx import ModelProto
from onnx_models import PERCEPTRON, model_of

ELEMENTS = model_of(
    """elements (float[batch, 3, steps] x, float[batch, 1, steps] y) => (float[batch, 3, steps] z, float[batch, 3] m) {
        a = Mul(x, y)
        b = Tanh(a)
        z = Add(b, w)
        t = Transpose <perm = [1, 0, 2]> (b)
        s = Transpose <perm = [1, 0, 2]> (t)
        m = ReduceMax <axes = [2], keepdims = 0> (s)
    }""",
    w=(3, 1),
)
PRODUCTS = model_of(
    """products (float[batch, rows, 24] x, float[batch, 24, 18] y, float[rows, few] p, float[columns, rows] q) => (float[batch, rows, 18] z, float[batch, rows, 19] v, float[few, columns] u) {
        z = MatMul(x, y)
        v = MatMul(x, w)
        u = Gemm <transA = 1, transB = 1> (p, q)
    }""",
    w=(24, 19),
)
IMAGES = model_of(
    """images (float[batch, 3, 12, 10] x) => (float[batch, 9] y) {
        a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w1, b1)
        b = Relu(a)
        c = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (b)
        d = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 32> (c, w2)
        e = Conv <kernel_shape = [1, 1]> (d, w3)
        f = Add(c, e)
        g = Concat <axis = 1> (f, c)
        h = GlobalAveragePool(g)
        i = Flatten(h)
        y = Gemm(i, w4)
    }""",
    w1=(32, 3, 3, 3),
    b1=(32,),
    w2=(32, 1, 3, 3),
    w3=(32, 32, 1, 1),
    w4=(64, 9),
)
ATTENTION = model_of(
    """attention (float[batch, steps, 24] x) => (float[batch, steps, 24] y, float[steps, 24] z) {
        q = MatMul(x, w1)
        k = MatMul(x, w2)
        v = MatMul(x, w3)
        shape = Shape(x)
        first = Constant <value_ints = [0, 1]> ()
        heads = Constant <value_ints = [3, 8]> ()
        width = Constant <value_ints = [24]> ()
        outer = Gather(shape, first)
        split = Concat <axis = 0> (outer, heads)
        joined = Concat <axis = 0> (outer, width)
        qs = Reshape(q, split)
        ks = Reshape(k, split)
        vs = Reshape(v, split)
        qt = Transpose <perm = [0, 2, 1, 3]> (qs)
        kt = Transpose <perm = [0, 2, 3, 1]> (ks)
        vt = Transpose <perm = [0, 2, 1, 3]> (vs)
        scores = MatMul(qt, kt)
        weights = Softmax <axis = -1> (scores)
        values = MatMul(weights, vt)
        back = Transpose <perm = [0, 2, 1, 3]> (values)
        y = Reshape(back, joined)
        zero = Constant <value_ints = [0]> ()
        one = Constant <value_ints = [1]> ()
        steps = Gather(shape, one)
        z = Slice(table, zero, steps, zero)
    }""",
    w1=(24, 24),
    w2=(24, 24),
    w3=(24, 24),
    table=(64, 24),
)
PANELS = model_of(
    """panels (float[m, 4] x, float[4, n, 16] y) => (float[m, columns] z) {
        shape = Constant <value_ints = [4, -1]> ()
        w = Reshape(y, shape)
        z = MatMul(x, w)
    }"""
)
"""The rows of the right operand are whole vectors, and may not be whole panels."""
DEPTHS = model_of(
    """depths (float[b, m, k] x, float[b, k, 24] y, float[b, 40, k] z, float[b, 1, k] p) => (
        float[b, m, 24] u, float[b, m, 40] v, float[b, 1, 24] w
    ) {
        u = MatMul(x, y)
        t = Transpose <perm = [0, 2, 1]> (z)
        v = MatMul(x, t)
        w = MatMul(p, y)
    }"""
)
"""Sums over a length, as attention has them over the values."""
CAUSAL = model_of(
    """causal (float[b, s, 32] q, float[b, t, 32] k, float[b, t, 48] v) => (float[b, s, 48] y) {
        y = Attention <q_num_heads = 2, kv_num_heads = 2, is_causal = 1> (q, k, v)
    }""",
    opset=23,
)
"""Attention that hides blocks of keys from blocks of rows."""
MASKED = model_of(
    """masked (float[b, s, d] q, float[b, t, d] k, float[b, t, 20] v, float[s, t] m) => (float[b, s, 20] y) {
        turned = Transpose <perm = [0, 2, 1]> (k)
        scores = MatMul(q, turned)
        low = Constant <value_float = -1000.0> ()
        mask = Mul(m, low)
        masked = Add(scores, mask)
        weights = Softmax <axis = -1> (masked)
        y = MatMul(weights, v)
    }"""
)
"""Attention with a mask of any numbers, and of queries of any depth."""
BYTES = model_of(
    "bytes (int8[b, m, k] x, int8[b, k, n] w) => (int32[b, m, n] y) { y = MatMulInteger(x, w) }"
)
TRANSPOSED_BYTES = model_of(
    """transposed_bytes (uint8[b, m, k] x, int8[b, n, k] w) => (int32[b, m, n] y) {
        t = Transpose <perm = [0, 2, 1]> (w)
        y = MatMulInteger(x, t)
    }"""
)
ZERO_POINTS = model_of(
    """zero_points (uint8[b, m, k] x, uint8[b, k, n] w, int8[b, n, k] v, float[k, n] u, float[m, k] t) => (
        int32[b, m, n] y, int32[b, m, n] z, int32[m, n] s
    ) {
        high = Constant <value = uint8 {128}> ()
        some = Constant <value = uint8 {7}> ()
        low = Constant <value = int8 {-3}> ()
        y = MatMulInteger(x, w, high, some)
        turned = Transpose <perm = [0, 2, 1]> (v)
        z = MatMulInteger(x, turned, some, low)
        p, a, b_zero = DynamicQuantizeLinear(t)
        q, c, d_zero = DynamicQuantizeLinear(u)
        s = MatMulInteger(p, q, b_zero, d_zero)
    }"""
)
"""What zero points add to sums depends on how many numbers are summed."""
TURNED = model_of(
    """turned (float[b, m, n] x, uint8[b, m, n] w, float[b, 3, n] c, float[b, n, 3] d) => (
        float[b, n, m] p, float[n, m, b] q, uint8[b, n, m] r, float[b, n, 3] s, float[b, 3, n] t, float[n, b, m] u
    ) {
        p = Transpose <perm = [0, 2, 1]> (x)
        a = Tanh(x)
        turned = Transpose <perm = [2, 1, 0]> (a)
        q = Erf(turned)
        r = Transpose <perm = [0, 2, 1]> (w)
        s = Transpose <perm = [0, 2, 1]> (c)
        t = Transpose <perm = [0, 2, 1]> (d)
        u = Transpose <perm = [2, 0, 1]> (x)
    }"""
)
"""Transposes of axes that may be shorter than a vector, or not."""
RECURRENT = model_of(
    """recurrent (float[steps, batch, 6] x) => (float[steps, batch, 10] y, float[2, batch, 5] last, float[1, batch, 7] state) {
        a, last = LSTM <hidden_size = 5, direction = "bidirectional"> (x, w1, r1, b1)
        t = Transpose <perm = [0, 2, 1, 3]> (a)
        shape = Constant <value_ints = [0, 0, 10]> ()
        y = Reshape(t, shape)
        , state = GRU <hidden_size = 7, direction = "reverse", linear_before_reset = 1> (y, w2, r2, b2)
    }""",
    w1=(2, 20, 6),
    r1=(2, 20, 5),
    b1=(2, 40),
    w2=(1, 21, 10),
    r2=(1, 21, 7),
    b2=(1, 42),
)
CACHES = model_of(
    """caches (float[1, 3, past, 8] p, float[1, 3, 1, 8] x) => (float[rows, total, 8] y) {
        key = Concat <axis = 2> (p, x)
        shape = Shape(key)
        two = Constant <value_ints = [2]> ()
        four = Constant <value_ints = [4]> ()
        rows = Constant <value_ints = [-1]> ()
        last = Slice(shape, two, four)
        flat = Concat <axis = 0> (rows, last)
        keys = Reshape(key, flat)
        y = Tanh(keys)
    }"""
)
"""As torch exports keys before they are transposed: the first length is a quotient of sums."""
SIZES = model_of(
    """sizes (float[batch, 3, height, width] x) => (float[batch, 5, rows, columns] y, float[batch, 64, 1, 1] z) {
        a = Conv <strides = [2, 2], pads = [3, 3, 3, 3]> (x, w1, b1)
        b = Relu(a)
        c = Conv <pads = [1, 1, 1, 1]> (b, w2)
        d = Conv <pads = [1, 1, 1, 1], group = 32> (c, w3)
        e = Add(b, d)
        f = Conv <strides = [2, 2], pads = [0, 0, 1, 1]> (e, w4)
        g = Conv <pads = [2, 2, 2, 2], dilations = [2, 2]> (f, w5)
        z = GlobalAveragePool(g)
        y = Conv(g, w6)
    }""",
    w1=(32, 3, 7, 7),
    b1=(32,),
    w2=(32, 32, 3, 3),
    w3=(32, 1, 3, 3),
    w4=(48, 32, 3, 3),
    w5=(64, 48, 3, 3),
    w6=(5, 64, 1, 1),
)
"""Direct, depthwise and Winograd's convolution, and one whose result is not in blocks."""
NARROW = model_of(
    """narrow (float[batch, 3, height, width] x) => (float[batch, 48, 1, 1] y, float[batch, 24, 1, 1] z) {
        a = Conv <pads = [1, 1, 1, 1]> (x, w1)
        b = Conv (a, w2)
        c = Relu(b)
        d = Conv <pads = [1, 1, 1, 1], group = 64> (c, w3)
        e = Conv <pads = [1, 1, 1, 1]> (d, w4)
        f = Conv (e, w5)
        y = GlobalAveragePool(e)
        z = GlobalAveragePool(f)
    }""",
    w1=(18, 3, 3, 3),
    w2=(64, 18, 1, 1),
    w3=(64, 1, 3, 3),
    w4=(48, 64, 3, 3),
    w5=(24, 48, 1, 1),
)
"""Direct, pointwise and depthwise convolutions, of depths that the steps of a round divide and do not."""
RESIZED = model_of(
    """resized (float[batch, 2, height, width] x) => (
        float[batch, 2, rows, columns] a, float[batch, 2, rows, columns] b, float[batch, 2, height, width] y
    ) {
        scales = Constant <value_floats = [1.0, 1.0, 2.0, 0.5]> ()
        a = Resize <mode = "cubic"> (x, , scales)
        b = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric"> (x, , scales)
        small = MaxPool <kernel_shape = [3, 3], strides = [2, 2]> (x)
        shape = Shape(x)
        y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (small, , , shape)
    }"""
)
FRACTIONS = model_of(
    """fractions (float[batch, 2, height, width] x) => (
        float[batch, 2, a, b] a, float[batch, 2, c, d] b, float[batch, 2, e, f] c, float[batch, 2, g, h] d, float[batch, 2, height, width] y
    ) {
        exact = Constant <value_floats = [1.0, 1.0, 1.5, 0.625]> ()
        near = Constant <value_floats = [1.0, 1.0, 0.7, 1.1]> ()
        down = Constant <value_floats = [1.0, 1.0, 0.333333343, 0.5]> ()
        a = Resize <mode = "cubic"> (x, , exact)
        b = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , exact)
        c = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (x, , near)
        d = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, , down)
        shape = Shape(x)
        y = Resize <mode = "linear"> (d, , , shape)
    }"""
)
"""Scales that are fractions, or numbers near them, and lengths that these do not divide."""
POOLED = model_of(
    """pooled (float[1, 16, height, width] x) => (float[1, 16, rows, columns] y, float[1, 16, high, wide] z) {
        a = Conv <pads = [1, 1, 1, 1]> (x, w1)
        b = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (a)
        c = Conv (b, w2)
        y = AveragePool <kernel_shape = [2, 3], strides = [1, 2], pads = [0, 1, 1, 2], count_include_pad = 1> (c)
        d = MaxPool <kernel_shape = [5, 5], strides = [1, 3], pads = [2, 2, 2, 2], dilations = [1, 2]> (b)
        z = Conv <pads = [1, 1, 1, 1]> (d, w1)
    }""",
    w1=(16, 16, 3, 3),
    w2=(16, 16, 1, 1),
)
"""Windows that reach beyond the end of a row, or not, as its length says."""
SMALL = model_of(
    """small (float[batch, 20, height, width] x) => (float[batch, 24, height, width] y) {
        y = Conv (x, w)
    }""",
    w=(24, 20, 1, 1),
)
"""Images that go into blocks of channels and leave them, and may have fewer elements than a vector."""
UP_AND_DOWN = model_of(
    """u (float[batch, 3, height, width] x) => (float[batch, 4, height, width] y) {
        a = Conv <pads = [1, 1, 1, 1]> (x, w1)
        b = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
        c = Conv <pads = [1, 1, 1, 1]> (b, w2)
        scales = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()
        d = Resize <mode = "linear"> (c, , scales)
        e = Concat <axis = 1> (a, d)
        y = ConvTranspose <pads = [1, 1, 1, 1]> (e, w3)
    }""",
    w1=(16, 3, 3, 3),
    w2=(16, 16, 3, 3),
    w3=(32, 4, 3, 3),
)
"""A U-Net: it serves images whose sizes divide by 2."""


COLUMNS = model_of(
    """columns (float[batch, 19, 24] x, float[batch, 24, columns] y, float[40, columns] z) => (
        float[batch, 19, columns] a, float[batch, 7, columns] b, float[batch, 19, columns] c, int32[19, columns] d
    ) {
        product = MatMul(x, y)
        a = Relu(product)
        b = MatMul(w1, y)
        low = MatMul(w2, z)
        more = Add(product, low)
        c = Erf(more)
        q, scale, zero = DynamicQuantizeLinear(z)
        wq, wscale, wzero = DynamicQuantizeLinear(w2)
        d = MatMulInteger(wq, q, wzero, zero)
    }""",
    w1=(7, 24),
    w2=(19, 40),
)

ONE_ROW = model_of(
    """row (float[batch, 3, height, width] x) => (float[batch, 8, rows, columns] z, float[batch, 8, 1, 1] m) {
        a = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w1)
        b = Relu(a)
        c = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (b, w2)
        d = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (c)
        z = Conv <pads = [1, 1, 1, 1]> (d, w2)
        m = GlobalAveragePool(z)
    }""",
    w1=(8, 3, 3, 3),
    w2=(8, 8, 3, 3),
)
"""Images of which nothing but one row and one column is left."""
WINDOWS = model_of(
    """windows (float[batch, 3, height, width] x) => (float[batch, 3, h, w] y, float[batch, 3, h, w] e, float[batch, 3, h, w] r, float[batch, 3, a, b] c, float[batch, 8, h, w] d, float[windows, 3, 4, 4] z) {
        two = Constant <value_ints = [2]> ()
        three = Constant <value_ints = [3]> ()
        four = Constant <value_ints = [4]> ()
        zero = Constant <value_ints = [0]> ()
        shape = Shape(x)
        rows = Gather(shape, two)
        columns = Gather(shape, three)
        rows_over = Mod(rows, four)
        columns_over = Mod(columns, four)
        rows_short = Sub(four, rows_over)
        columns_short = Sub(four, columns_over)
        bottom = Mod(rows_short, four)
        right = Mod(columns_short, four)
        pads = Concat <axis = 0> (zero, zero, zero, zero, zero, zero, bottom, right)
        pads_before = Concat <axis = 0> (zero, zero, bottom, right, zero, zero, zero, zero)
        around = Constant <value_ints = [0, 0, 1, 2, 0, 0, 2, 0]> ()
        y = Pad(x, pads, number)
        e = Pad <mode = "edge"> (x, pads)
        r = Pad <mode = "reflect"> (x, pads_before)
        c = Pad <mode = "wrap"> (x, around)
        p = Conv <pads = [1, 1, 1, 1]> (y, w)
        q = Relu(p)
        d = Conv <pads = [1, 1, 1, 1]> (q, v)
        outer = Shape <start = 0, end = 2> (x)
        all_rows = Add(rows, bottom)
        all_columns = Add(columns, right)
        down = Div(all_rows, four)
        across = Div(all_columns, four)
        split = Concat <axis = 0> (outer, down, four, across, four)
        s = Reshape(y, split)
        t = Transpose <perm = [0, 2, 4, 1, 3, 5]> (s)
        joined = Constant <value_ints = [-1, 3, 4, 4]> ()
        z = Reshape(t, joined)
    }""",
    number=(),
    w=(8, 3, 3, 3),
    v=(8, 8, 3, 3),
)
RESHAPES = model_of(
    """reshapes (float[batch, steps, 1] x, float[batch, steps] k, float[batch, steps, 2] p, float[pairs] r) => (float[batch, steps] y, float[pairs] z, float[steps, more] v) {
        last = Constant <value_ints = [2]> ()
        flat = Constant <value_ints = [-1]> ()
        widths = Constant <value_ints = [0, 1, 0, 1]> ()
        a = Tanh(x)
        b = Squeeze(a, last)
        y = Mul(b, k)
        c = Abs(p)
        d = Reshape(c, flat)
        z = Add(d, r)
        e = Tanh(k)
        f = Transpose <perm = [1, 0]> (e)
        v = Pad(f, widths)
    }"""
)


def images(*sizes: tuple[int, int, int]) -> tuple[Mapping[str, int], ...]:
    """The lengths of batches of images of some sizes."""
    return tuple(dict(zip(("batch", "height", "width"), each, strict=True)) for each in sizes)


CASES: dict[str, tuple[ModelProto, Mapping[str, int], tuple[Mapping[str, int], ...]]] = {
    "perceptron": (
        PERCEPTRON,
        {"batch": 3},
        tuple({"batch": batch} for batch in (*range(2, 20), 33)),
    ),
    "attention": (
        ATTENTION,
        {"batch": 2, "steps": 9},
        tuple(
            {"batch": batch, "steps": steps}
            for batch, steps in ((2, 2), (3, 3), (2, 9), (5, 16), (2, 17), (4, 33), (2, 63))
        ),
    ),
    "causal attention": (
        CAUSAL,
        {"b": 2, "s": 70, "t": 90},
        tuple(
            {"b": b, "s": s, "t": t}
            for b, s, t in (
                *((1, 256, 256), (1, 257, 257), (2, 64, 300), (1, 65, 520), (3, 2, 600)),
                *((1, 300, 70), (1, 63, 513), (2, 129, 512)),
            )
        ),
    ),
    "masked attention": (
        MASKED,
        {"b": 2, "s": 70, "t": 90, "d": 8},
        tuple(
            {"b": b, "s": s, "t": t, "d": d}
            for b, s, t, d in (
                (1, 64, 300, 17),
                (2, 100, 513, 5),
                (1, 7, 600, 32),
                (3, 130, 40, 16),
            )
        ),
    ),
    "elements": (
        ELEMENTS,
        {"batch": 4, "steps": 6},
        tuple({"batch": batch, "steps": steps} for batch, steps in ((4, 6), (2, 17), (9, 33))),
    ),
    "products": (
        PRODUCTS,
        {"batch": 2, "rows": 6, "few": 3, "columns": 5},
        (
            {"batch": 2, "rows": 6, "few": 3, "columns": 5},
            {"batch": 3, "rows": 13, "few": 2, "columns": 4},
            {"batch": 5, "rows": 2, "few": 7, "columns": 15},
        ),
    ),
    "recurrent": (
        RECURRENT,
        {"steps": 20, "batch": 3},
        tuple(
            {"steps": steps, "batch": batch}
            for steps, batch in ((20, 3), (2, 2), (17, 9), (70, 4), (5, 16))
        ),
    ),
    "caches": (
        CACHES,
        {"past": 5},
        tuple({"past": past} for past in (2, 5, 15, 40)),
    ),
    "sizes": (
        SIZES,
        *images((2, 40, 52)),
        images((2, 40, 52), (2, 33, 47), (3, 10, 61), (2, 70, 9), (5, 20, 17)),
    ),
    "narrow": (
        NARROW,
        *images((2, 20, 24)),
        images(
            *((2, 20, 24), (2, 2, 2), (3, 3, 2), (2, 2, 3), (4, 3, 5), (2, 9, 7), (2, 40, 3)),
            *((2, 4, width) for width in range(4, 20)),
        ),
    ),
    "lines": (NARROW, *images((2, 2, 3)), images(*((2, 2, width) for width in range(2, 12)))),
    "resized": (
        RESIZED,
        *images((2, 14, 30)),
        images((2, 14, 30), (3, 9, 16), (2, 33, 8), (2, 5, 62)),
    ),
    "fractions": (
        FRACTIONS,
        *images((2, 20, 30)),
        images((2, 20, 30), (3, 9, 16), (2, 33, 8), (2, 10, 61), (5, 70, 21), (2, 6, 2)),
    ),
    "up and down": (
        UP_AND_DOWN,
        *images((2, 24, 20)),
        images((2, 24, 20), (3, 6, 64), (2, 50, 4), (4, 10, 8)),
    ),
    "columns": (
        COLUMNS,
        {"batch": 2, "columns": 70},
        tuple(
            {"batch": batch, "columns": columns}
            for batch, columns in ((2, 70), (3, 2), (2, 15), (4, 16), (2, 64), (2, 65), (5, 131))
        ),
    ),
    "panels": (
        PANELS,
        {"m": 8, "n": 12},
        tuple({"m": m, "n": n} for m, n in ((8, 12), (8, 5), (8, 37), (2, 2), (40, 3))),
    ),
    "turned": (
        TURNED,
        {"b": 2, "m": 40, "n": 70},
        tuple(
            {"b": b, "m": m, "n": n}
            for b, m, n in (
                *((2, 40, 70), (2, 16, 16), (3, 2, 90), (2, 90, 2), (17, 3, 5), (2, 64, 33)),
                *((20, 15, 31), (4, 300, 17), (2, 7, 16)),
            )
        ),
    ),
    "turned few": (
        TURNED,
        {"b": 2, "m": 3, "n": 4},
        tuple({"b": b, "m": m, "n": n} for b, m, n in ((2, 3, 4), (5, 80, 30), (2, 2, 9))),
    ),
    "depths": (
        DEPTHS,
        {"b": 2, "m": 9, "k": 100},
        tuple(
            {"b": b, "m": m, "k": k}
            for b, m, k in (
                *((2, 9, 100), (3, 2, 2), (2, 5, 3), (4, 16, 4), (2, 8, 5), (2, 13, 7)),
                *((2, 30, 16), (2, 3, 33), (5, 9, 128), (2, 40, 257), (2, 4, 261)),
            )
        ),
    ),
    "pooled": (
        POOLED,
        {"height": 40, "width": 64},
        tuple(
            {"height": height, "width": width}
            for height, width in (
                *((40, 64), (41, 63), (40, 62), (12, 61), (13, 60), (30, 17), (16, 18), (15, 100)),
                *((9, 21), (300, 22), (11, 23)),
            )
        ),
    ),
    "small images": (
        SMALL,
        {"batch": 2, "height": 20, "width": 30},
        tuple(
            {"batch": batch, "height": height, "width": width}
            for batch, height, width in ((2, 2, 3), (3, 3, 5), (2, 2, 2), (2, 4, 4), (5, 17, 33))
        ),
    ),
    "zero points": (
        ZERO_POINTS,
        {"b": 2, "m": 9, "k": 40, "n": 24},
        tuple(
            {"b": b, "m": m, "k": k, "n": n}
            for b, m, k, n in ((2, 9, 40, 24), (3, 2, 2, 3), (2, 5, 33, 17), (5, 40, 131, 64))
        ),
    ),
    "one row": (
        ONE_ROW,
        *images((2, 6, 7)),
        images((2, 6, 7), (3, 5, 8), (2, 8, 5), (5, 7, 7), (2, 8, 8)),
    ),
    "windows": (
        WINDOWS,
        *images((2, 21, 30)),
        images((2, 21, 30), (3, 20, 16), (2, 9, 7), (5, 5, 12), (2, 33, 64), (2, 30, 101)),
    ),
    "reshapes": (
        RESHAPES,
        {"batch": 2, "steps": 7, "pairs": 28},
        tuple(
            {"batch": batch, "steps": steps, "pairs": 2 * batch * steps}
            for batch, steps in ((2, 7), (3, 3), (4, 17), (2, 8), (5, 25), (3, 15), (16, 16))
        ),
    ),
    "great depths": (
        DEPTHS,
        {"b": 2, "m": 40, "k": 8192},
        tuple({"b": b, "m": m, "k": k} for b, m, k in ((2, 40, 300), (2, 7, 77))),
    ),
    "few depths": (
        DEPTHS,
        {"b": 2, "m": 2, "k": 6},
        tuple({"b": 2, "m": m, "k": k} for m, k in ((2, 6), (7, 2), (9, 256), (33, 77))),
    ),
    "images": (IMAGES, {"batch": 2}, tuple({"batch": batch} for batch in (2, 3, 5))),
}
"""A model, the lengths that it is compiled at, and lengths that the program serves as well."""
