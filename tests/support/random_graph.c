/* random_graph.c - see the header. Every step takes values that are there and adds one; the
 * generator knows the shape of each for N = 1, and writes N where a shape is printed. */
#include "support/random_graph.h"

#include "base/buf.h"
#include "base/random.h"
#include "support/test.h"

enum { MAX_VALUES = 400, MAX_RANK = 4, MAX_OUTPUTS = 8 };

typedef struct value {
    char name[16];
    int rank;
    /* dim[0] is N, which is 1, unless `constant` */
    int64_t dim[MAX_RANK];
    /* an initializer, or computed from such */
    bool constant;
    bool used;
} value;

typedef struct maker {
    qdq_random random;
    qdq_buf inits, nodes;
    value at[MAX_VALUES];
    size_t n;
    /* number of the next name */
    unsigned next;
    bool quantized;
} maker;

/* --- choices ---------------------------------------------------------------------------------- */

static size_t below(maker *m, size_t n)
{
    return (size_t)(qdq_random_uniform(&m->random) * (double)n) % n;
}

static bool chance(maker *m, double p)
{
    return qdq_random_uniform(&m->random) < p;
}

static double number(maker *m)
{
    static const double plain[] = {0, 1, -1, 0.5, 2};

    if (chance(m, 0.3))
        return plain[below(m, QDQ_COUNT(plain))];
    return 2 * qdq_random_uniform(&m->random) - 1;
}

/* A value of this rank, constants or not; the youngest are likelier. */
static value *pick(maker *m, int rank, bool constant)
{
    value *found = NULL;
    size_t seen = 0;

    for (size_t i = m->n; i-- > 0 && seen < 8;)
        if (m->at[i].rank == rank && m->at[i].constant == constant) {
            seen++;
            if (found == NULL || chance(m, 1.0 / (double)seen))
                found = &m->at[i];
        }
    if (found != NULL)
        found->used = true;
    return found;
}

/* --- writing ---------------------------------------------------------------------------------- */

static value *add(maker *m, int rank, const int64_t *dim, bool constant)
{
    value *v = &m->at[m->n++];

    assert_true(m->n < MAX_VALUES);
    *v = (value){.rank = rank, .constant = constant};
    snprintf(v->name, sizeof v->name, "t%u", m->next++);
    memcpy(v->dim, dim, (size_t)rank * sizeof *dim);
    return v;
}

static value *like(maker *m, const value *x)
{
    return add(m, x->rank, x->dim, x->constant);
}

/* A float initializer with numbers that fit its use. */
static const char *init(maker *m, int rank, const int64_t *dim, double low, double high)
{
    static char name[8][16];
    static unsigned turn;
    char *own = name[turn++ % 8];
    int64_t count = 1;

    snprintf(own, sizeof name[0], "c%u", m->next++);
    qdq_buf_printf(&m->inits, "%s  float", m->inits.size > 0 ? ",\n" : "");
    for (int i = 0; i < rank; i++) {
        qdq_buf_printf(&m->inits, "%s%lld", i == 0 ? "[" : ",", (long long)dim[i]);
        count *= dim[i];
    }
    qdq_buf_printf(&m->inits, "%s %s = {", rank > 0 ? "]" : "", own);
    bool same = chance(m, 0.2);
    double x = number(m);
    for (int64_t i = 0; i < count; i++) {
        if (low < high)
            x = low + (high - low) * qdq_random_uniform(&m->random);
        else if (!same)
            x = number(m);
        qdq_buf_printf(&m->inits, "%s%.9g", i > 0 ? ", " : "", x);
    }
    qdq_buf_puts(&m->inits, "}");
    return own;
}

static const char *ints(maker *m, const char *type, size_t n, const int64_t *at)
{
    static char name[8][16];
    static unsigned turn;
    char *own = name[turn++ % 8];

    snprintf(own, sizeof name[0], "i%u", m->next++);
    qdq_buf_printf(&m->inits, "%s  %s[%zu] %s = {", m->inits.size > 0 ? ",\n" : "", type, n, own);
    for (size_t i = 0; i < n; i++)
        qdq_buf_printf(&m->inits, "%s%lld", i > 0 ? ", " : "", (long long)at[i]);
    qdq_buf_puts(&m->inits, "}");
    return own;
}

#define NODE(m, ...) qdq_buf_printf(&(m)->nodes, "  " __VA_ARGS__)

/* --- steps: each adds a value, or nothing where it does not fit ------------------------------- */

static void elementwise(maker *m)
{
    static const char *const ops[] = {"Relu",     "Sigmoid", "Tanh",   "Neg",
                                      "Identity", "Abs",     "Dropout"};
    value *x = pick(m, chance(m, 0.7) ? 4 : 2, chance(m, 0.1));

    if (x == NULL)
        return;
    const char *from = x->name;
    NODE(m, "%s = %s(%s)\n", like(m, x)->name, ops[below(m, QDQ_COUNT(ops))], from);
}

static const char *infinity(maker *m)
{
    static char name[16];

    snprintf(name, sizeof name, "c%u", m->next++);
    qdq_buf_printf(&m->inits, "%s  float %s = {inf}", m->inits.size > 0 ? ",\n" : "", name);
    return name;
}

static void clip(maker *m)
{
    value *x = pick(m, 4, false);

    if (x == NULL)
        return;
    const char *low = init(m, 0, NULL, -1, 0.5), *high = init(m, 0, NULL, -0.5, 1);
    if (chance(m, 0.2)) { /* what bounds nothing, beside what does */
        const char *inf = infinity(m);
        unsigned id = m->next++;
        NODE(m, "m%u = Min(%s, %s)\n", id, inf, x->name);
        NODE(m, "%s = Max(m%u, %s)\n", like(m, x)->name, id, low);
    } else if (chance(m, 0.5))
        NODE(m, "%s = Clip(%s, %s, %s)\n", like(m, x)->name, x->name, low, high);
    else
        NODE(m, "%s = %s(%s, %s)\n", like(m, x)->name, chance(m, 0.5) ? "Max" : "Min", x->name,
             low);
}

static void with_constant(maker *m)
{
    static const char *const ops[] = {"Add", "Mul", "Sub", "Add", "Mul", "Max", "Min"};
    const char *op = ops[below(m, QDQ_COUNT(ops))];
    value *x = pick(m, chance(m, 0.7) ? 4 : 2, chance(m, 0.1));

    if (x == NULL)
        return;
    int64_t dim[MAX_RANK] = {1, 1, 1, 1};
    if (chance(m, 0.6))
        dim[1] = x->dim[1];
    int rank = chance(m, 0.3) ? 0 : x->rank;
    const char *c = init(m, rank, dim, 0, 0);
    if (chance(m, 0.3))
        NODE(m, "%s = %s(%s, %s)\n", like(m, x)->name, op, c, x->name);
    else
        NODE(m, "%s = %s(%s, %s)\n", like(m, x)->name, op, x->name, c);
}

static void join(maker *m)
{
    value *a = pick(m, chance(m, 0.7) ? 4 : 2, false), *b = NULL;

    for (size_t i = m->n; a != NULL && i-- > 0 && b == NULL;)
        if (m->at[i].rank == a->rank && &m->at[i] != a && !m->at[i].constant &&
            memcmp(m->at[i].dim, a->dim, (size_t)a->rank * sizeof *a->dim) == 0 && chance(m, 0.5))
            b = &m->at[i];
    if (b == NULL)
        return;
    b->used = true;
    if (chance(m, 0.7)) {
        NODE(m, "%s = %s(%s, %s)\n", like(m, a)->name, chance(m, 0.6) ? "Add" : "Mul", a->name,
             b->name);
        return;
    }
    value *y = like(m, a);
    y->dim[1] *= 2;
    if (y->dim[1] > 16) {
        m->n--;
        return;
    }
    NODE(m, "%s = Concat <axis = 1> (%s, %s)\n", y->name, a->name, b->name);
}

static void batch_norm(maker *m, const value *x)
{
    int64_t dim[1] = {x->dim[1]};
    const char *scale = init(m, 1, dim, -1.5, 1.5), *shift = init(m, 1, dim, -1, 1);
    const char *mean = init(m, 1, dim, -1, 1), *var = init(m, 1, dim, 0.2, 2);

    NODE(m, "%s = BatchNormalization(%s, %s, %s, %s, %s)\n", like(m, x)->name, x->name, scale,
         shift, mean, var);
}

/* The weight as it is, behind Q and DQ, or as integers behind DQ. */
static const char *weight(maker *m, int rank, const int64_t *dim, int axis)
{
    static char name[16];
    int64_t zero[32] = {0}, codes[2048], count = 1;
    const char *w;

    if (!m->quantized || chance(m, 0.4))
        return init(m, rank, dim, -1, 1);
    const char *s = init(m, 1, &dim[axis], 0.005, 0.02),
               *z = ints(m, "int8", (size_t)dim[axis], zero);
    for (int i = 0; i < rank; i++)
        count *= dim[i];
    if (chance(m, 0.5)) {
        w = init(m, rank, dim, -1, 1);
        NODE(m, "q%u = QuantizeLinear <axis = %d> (%s, %s, %s)\n", m->next, axis, w, s, z);
    } else {
        for (int64_t i = 0; i < count; i++)
            codes[i] = (int64_t)below(m, 255) - 127;
        const char *flat = ints(m, "int8", (size_t)count, codes),
                   *shape = ints(m, "int64", (size_t)rank, dim);
        NODE(m, "q%u = Reshape(%s, %s)\n", m->next, flat, shape);
    }
    snprintf(name, sizeof name, "w%u", m->next);
    NODE(m, "w%u = DequantizeLinear <axis = %d> (q%u, %s, %s)\n", m->next, axis, m->next, s, z);
    m->next++;
    return name;
}

static void conv(maker *m)
{
    value *x = pick(m, 4, false);

    if (x == NULL)
        return;
    int64_t k = chance(m, 0.5) ? 3 : 1, dim[4] = {4, x->dim[1], k, k};
    bool bias = chance(m, 0.5);
    char padded[16];
    snprintf(padded, sizeof padded, "%s", x->name);
    if (k == 3 && chance(m, 0.4)) {
        const int64_t pads[8] = {0, 0, 1, 1, 0, 0, 1, 1};
        const char *p = ints(m, "int64", 8, pads);
        snprintf(padded, sizeof padded, "p%u", m->next++);
        NODE(m, "%s = Pad(%s, %s)\n", padded, x->name, p);
    }
    bool in_conv = strcmp(padded, x->name) == 0;
    const char *w = weight(m, 4, dim, 0);
    const char *b = bias ? init(m, 1, dim, -1, 1) : "\"\"";
    value *y = like(m, x);
    y->dim[1] = 4;
    int pad = in_conv ? (int)(k / 2) : 0;
    NODE(m, "%s = Conv <kernel_shape = [%d, %d], pads = [%d, %d, %d, %d]> (%s, %s, %s)\n", y->name,
         (int)k, (int)k, pad, pad, pad, pad, padded, w, b);
    if (chance(m, 0.5)) {
        y->used = true;
        batch_norm(m, y);
    }
}

static void gemm(maker *m)
{
    value *x = pick(m, 2, false);

    if (x == NULL)
        return;
    int64_t dim[2] = {x->dim[1], 8}, out[2] = {1, 8};
    value *y;
    if (chance(m, 0.5)) {
        const char *w = weight(m, 2, dim, 1), *b = init(m, 1, &dim[1], -1, 1);
        y = add(m, 2, out, false);
        NODE(m, "%s = Gemm <beta = 0.5> (%s, %s, %s)\n", y->name, x->name, w, b);
    } else {
        const char *w = weight(m, 2, dim, 1);
        y = add(m, 2, out, false);
        NODE(m, "%s = MatMul(%s, %s)\n", y->name, x->name, w);
    }
}

static void quantize(maker *m)
{
    value *x = pick(m, chance(m, 0.8) ? 4 : 2, chance(m, 0.1));

    if (x == NULL || !m->quantized)
        return;
    bool is_unsigned = chance(m, 0.7);
    int64_t zero = is_unsigned ? (int64_t)below(m, 200) : (int64_t)below(m, 100) - 50;
    const char *s = init(m, 0, NULL, 0.01, 0.05);
    int64_t one[1] = {zero};
    const char *zp = ints(m, is_unsigned ? "uint8" : "int8", 1, one);
    unsigned id = m->next++;
    NODE(m, "z%u = Squeeze(%s)\n", id, zp); /* a scalar, the long way */
    NODE(m, "q%u = QuantizeLinear(%s, %s, z%u)\n", id, x->name, s, id);
    value *y = like(m, x);
    NODE(m, "%s = DequantizeLinear(q%u, %s, z%u)\n", y->name, id, s, id);
    if (chance(m, 0.2)) { /* and again, as some exporters do */
        NODE(m, "q%u_2 = QuantizeLinear(%s, %s, z%u)\n", id, y->name, s, id);
        y->used = true;
        NODE(m, "%s = DequantizeLinear(q%u_2, %s, z%u)\n", like(m, y)->name, id, s, id);
    }
}

static void transpose(maker *m)
{
    value *x = pick(m, 4, false);

    if (x == NULL)
        return;
    unsigned id = m->next++;
    if (chance(m, 0.5)) {
        NODE(m, "p%u = Transpose <perm = [0, 2, 3, 1]> (%s)\n", id, x->name);
        if (chance(m, 0.5))
            NODE(m, "r%u = Relu(p%u)\n", id, id);
        else
            NODE(m, "r%u = Identity(p%u)\n", id, id);
        NODE(m, "%s = Transpose <perm = [0, 3, 1, 2]> (r%u)\n", like(m, x)->name, id);
        return;
    }
    value *y = like(m, x);
    y->dim[2] = x->dim[3];
    y->dim[3] = x->dim[2];
    NODE(m, "%s = Transpose <perm = [0, 1, 3, 2]> (%s)\n", y->name, x->name);
}

/* Flattens the way exporters do: with the shape computed from the shape. */
static void flatten(maker *m)
{
    value *x = pick(m, 4, false);

    if (x == NULL)
        return;
    int64_t zero[1] = {0}, rest[1] = {-1}, dim[2] = {1, x->dim[1] * x->dim[2] * x->dim[3]};
    unsigned id = m->next++;
    if (dim[1] > 64)
        return;
    const char *i = ints(m, "int64", 1, zero), *r = ints(m, "int64", 1, rest);
    NODE(m, "s%u = Shape(%s)\n", id, x->name);
    NODE(m, "g%u = Gather(s%u, %s)\n", id, id, i);
    NODE(m, "n%u = Concat <axis = 0> (g%u, %s)\n", id, id, r);
    NODE(m, "%s = Reshape(%s, n%u)\n", add(m, 2, dim, false)->name, x->name, id);
}

static void there_and_back(maker *m)
{
    value *x = pick(m, 4, false);

    if (x == NULL)
        return;
    int64_t axis[1] = {0}, shape[4] = {0, x->dim[1], x->dim[2], -1};
    unsigned id = m->next++;
    if (chance(m, 0.5)) {
        const char *a = ints(m, "int64", 1, axis);
        NODE(m, "u%u = Unsqueeze(%s, %s)\n", id, x->name, a);
        NODE(m, "%s = Squeeze(u%u, %s)\n", like(m, x)->name, id, a);
    } else {
        const char *s = ints(m, "int64", 4, shape);
        NODE(m, "%s = Reshape(%s, %s)\n", like(m, x)->name, x->name, s);
    }
}

static void slice(maker *m)
{
    value *x = pick(m, 4, false);

    if (x == NULL || x->dim[1] % 2 != 0)
        return;
    int64_t half = x->dim[1] / 2, at[4] = {0, half, x->dim[1], 1};
    const char *a = ints(m, "int64", 1, at), *b = ints(m, "int64", 1, at + 1),
               *c = ints(m, "int64", 1, at + 2);
    const char *axis = ints(m, "int64", 1, at + 3);
    unsigned id = m->next++;
    NODE(m, "h%u = Slice(%s, %s, %s, %s)\n", id, x->name, a, b, axis);
    NODE(m, "k%u = Slice(%s, %s, %s, %s)\n", id, x->name, b, c, axis);
    NODE(m, "%s = Concat <axis = 1> (k%u, h%u)\n", like(m, x)->name, id, id);
}

/* Rows or columns the other way round, and perhaps back. */
static void reverse(maker *m)
{
    value *x = pick(m, 4, false);
    const int64_t first[1] = {-1}, last[1] = {INT64_MIN}, axis[1] = {chance(m, 0.5) ? 2 : -1},
                  step[1] = {-1};

    if (x == NULL)
        return;
    unsigned id = m->next++;
    const char *a = ints(m, "int64", 1, first), *b = ints(m, "int64", 1, last);
    const char *c = ints(m, "int64", 1, axis), *d = ints(m, "int64", 1, step);
    NODE(m, "v%u = Slice(%s, %s, %s, %s, %s)\n", id, x->name, a, b, c, d);
    if (chance(m, 0.5))
        NODE(m, "%s = Relu(v%u)\n", like(m, x)->name, id);
    else
        NODE(m, "%s = Slice(v%u, %s, %s, %s, %s)\n", like(m, x)->name, id, a, b, c, d);
}

/* A constant in the shape of x, the way exporters of torch spell it. */
static void expand(maker *m)
{
    static const char *const ops[] = {"Add", "Mul", "Sub", "Max"};
    value *x = pick(m, chance(m, 0.6) ? 4 : 2, false);
    int64_t dim[MAX_RANK] = {1, 1, 1, 1};

    if (x == NULL)
        return;
    unsigned id = m->next++;
    dim[1] = chance(m, 0.5) ? x->dim[1] : 1;
    const char *c = init(m, chance(m, 0.3) ? 0 : x->rank, dim, 0, 0);
    NODE(m, "s%u = Shape(%s)\n", id, x->name);
    NODE(m, "e%u = Expand(%s, s%u)\n", id, c, id);
    if (chance(m, 0.5)) {
        NODE(m, "%s = %s(%s, e%u)\n", like(m, x)->name, ops[below(m, QDQ_COUNT(ops))], x->name, id);
        return;
    }
    NODE(m, "l%u = Less(%s, e%u)\n", id, x->name, id);
    NODE(m, "%s = Where(l%u, %s, e%u)\n", like(m, x)->name, id, x->name, id);
}

static void twice(maker *m)
{
    value *x = pick(m, chance(m, 0.6) ? 4 : 2, false);

    if (x == NULL)
        return;
    unsigned id = m->next++;
    NODE(m, "a%u = Sigmoid(%s)\n", id, x->name);
    NODE(m, "b%u = Sigmoid(%s)\n", id, x->name);
    NODE(m, "%s = Mul(a%u, b%u)\n", like(m, x)->name, id, id);
}

static void branch(maker *m)
{
    value *x = pick(m, 4, false);

    if (x == NULL)
        return;
    unsigned id = m->next++;
    NODE(m, "o%u = Constant <value = bool {%d}> ()\n", id, chance(m, 0.5));
    NODE(m, "%s = If <then_branch = t%u_g () => (float[] t%u_y) { t%u_y = Relu(%s) }, ",
         like(m, x)->name, id, id, id, x->name);
    NODE(m, "else_branch = e%u_g () => (float[] e%u_y) { e%u_y = Neg(%s) }> (o%u)\n", id, id, id,
         x->name, id);
}

static void constant(maker *m)
{
    int64_t dim[4] = {1, chance(m, 0.5) ? 4 : 8, 1, 1};
    int rank = chance(m, 0.5) ? 4 : 2;
    const char *c = init(m, rank, dim, 0, 0);

    NODE(m, "%s = Identity(%s)\n", add(m, rank, dim, true)->name, c);
}

/* --- the graph -------------------------------------------------------------------------------- */

static void step(maker *m)
{
    static void (*const steps[])(maker *) = {
        elementwise, elementwise, clip,    with_constant, with_constant,  join,
        join,        conv,        conv,    gemm,          quantize,       quantize,
        quantize,    transpose,   flatten, slice,         there_and_back, twice,
        branch,      constant,    reverse, expand};

    steps[below(m, QDQ_COUNT(steps))](m);
}

static void print_type(qdq_buf *out, const value *v)
{
    qdq_buf_puts(out, "float[N");
    for (int i = 1; i < v->rank; i++)
        qdq_buf_printf(out, ",%lld", (long long)v->dim[i]);
    qdq_buf_printf(out, "] %s", v->name);
}

static void print_outputs(maker *m, qdq_buf *out)
{
    size_t n = 0;

    for (size_t i = m->n; i-- > 2 && n < MAX_OUTPUTS;)
        if (!m->at[i].constant && (!m->at[i].used || chance(m, 0.05))) {
            qdq_buf_puts(out, n++ > 0 ? ", " : "");
            print_type(out, &m->at[i]);
        }
}

char *test_random_graph(uint64_t seed, test_random_opts opts)
{
    static maker m; /* large */
    const int64_t image[4] = {1, 4, 6, 6}, row[2] = {1, 8};
    qdq_buf out = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    m = (maker){.random = qdq_random_new(seed, NULL),
                .inits = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT),
                .nodes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT),
                .quantized = opts.quantized};
    snprintf(add(&m, 4, image, false)->name, sizeof m.at[0].name, "x");
    snprintf(add(&m, 2, row, false)->name, sizeof m.at[0].name, "v");
    for (size_t i = 0; i < opts.nodes; i++)
        step(&m);
    NODE(&m, "%s = Relu(%s)\n", like(&m, &m.at[0])->name, m.at[0].name);
    NODE(&m, "%s = Relu(%s)\n", like(&m, &m.at[1])->name, m.at[1].name);
    qdq_buf_puts(
        &out,
        "<ir_version: 9, opset_import: [\"\" : 17]>\ng (float[N,4,6,6] x, float[N,8] v) => (");
    print_outputs(&m, &out);
    qdq_buf_puts(&out, ")");
    if (m.inits.size > 0)
        qdq_buf_printf(&out, " <\n%s\n>", m.inits.data);
    qdq_buf_printf(&out, " {\n%s}\n", m.nodes.data);
    qdq_buf_free(&m.inits);
    qdq_buf_free(&m.nodes);
    char *text = qdq_buf_take(&out);
    assert_non_null(text);
    return text;
}
