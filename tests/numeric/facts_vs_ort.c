/* facts_vs_ort.c - what is called proven against what ONNX Runtime computes: random shape
 * arithmetic on an input with symbolic dims, run for several values of the symbols. Every known
 * number must be the computed one, every symbol the dim that it names, and every type that of the
 * tensor. */
#include "numeric/ort_help.h"

#include "base/buf.h"
#include "base/random.h"
#include "ir/facts.h"

enum { GRAPHS = 60, NODES = 40, RUNS = 4, N_DIMS = 4, SCALARS = 3 };

static qdq_error err;

/* The dims of x; the named ones differ from run to run. */
static const char *const dim_names[N_DIMS] = {"N", "M", NULL, NULL};
static const int64_t dims[RUNS][N_DIMS] = {{3, 5, 6, 1}, {1, 1, 6, 1}, {7, 2, 6, 1}, {2, 64, 6, 1}};

typedef struct value {
    char name[16];
    /* 0 or 1 */
    int rank;
    int n;
} value;

/* The first SCALARS values are scalars. */
typedef struct graph {
    qdq_random random;
    qdq_buf text;
    value v[4 * NODES];
    int n;
} graph;

static int pick(graph *g, int below)
{
    return (int)(qdq_random_u64(&g->random) % (uint64_t)below);
}

static const value *any(graph *g)
{
    return &g->v[pick(g, g->n)];
}

static const value *any_vector(graph *g)
{
    for (;;) {
        const value *v = any(g);

        if (v->rank == 1)
            return v;
    }
}

static void add_value(graph *g, int rank, int n, const char *call)
{
    value *v = &g->v[g->n];

    snprintf(v->name, sizeof v->name, "v%d", g->n);
    v->rank = rank;
    v->n = n;
    g->n++;
    qdq_buf_printf(&g->text, "  %s = %s\n", v->name, call);
}

/* Two operands that broadcast: one of them has one element, or both have as many. */
static void binary(graph *g, const char *op)
{
    const value *a = any(g), *b = any(g);
    char call[100];

    if (a->n != b->n && a->n != 1 && b->n != 1)
        b = &g->v[0]; /* a scalar */
    snprintf(call, sizeof call, "%s(%s, %s)", op, a->name, b->name);
    add_value(g, a->rank > b->rank ? a->rank : b->rank, a->n == 1 ? b->n : a->n, call);
}

static void where(graph *g)
{
    static const char *const compare[] = {"Equal", "Greater", "Less", "GreaterOrEqual",
                                          "LessOrEqual"};
    const value *a = any_vector(g), *b = &g->v[pick(g, SCALARS)];
    char call[200];

    qdq_buf_printf(&g->text, "  c%d = %s(%s, %s)\n", g->n, compare[pick(g, 5)], a->name, b->name);
    snprintf(call, sizeof call, "Where(c%d, %s, %s)", g->n, pick(g, 2) ? a->name : b->name,
             pick(g, 2) ? a->name : g->v[pick(g, SCALARS)].name);
    add_value(g, 1, a->n, call);
}

static void move(graph *g)
{
    const value *a = any_vector(g), *b = any_vector(g);
    int from, to;
    char call[200];

    switch (pick(g, 6)) {
    case 0:
        snprintf(call, sizeof call, "Gather(%s, i%d)", a->name, pick(g, a->n < 2 ? 1 : 2));
        add_value(g, 0, 1, call);
        break;
    case 1:
        if (a->n + b->n > 20)
            break;
        snprintf(call, sizeof call, "Concat<axis = %d>(%s, %s)", pick(g, 2) - 1, a->name, b->name);
        add_value(g, 1, a->n + b->n, call);
        break;
    case 2:
        from = pick(g, a->n);
        to = from + 1 + pick(g, a->n - from);
        qdq_buf_printf(
            &g->text,
            "  b%d = Constant<value = int64[1] {%d}>() e%d = Constant<value = int64[1] {%d}>()\n",
            g->n, from, g->n, to);
        snprintf(call, sizeof call, "Slice(%s, b%d, e%d)", a->name, g->n, g->n);
        add_value(g, 1, to - from, call);
        break;
    case 3:
        b = &g->v[pick(g, SCALARS)];
        snprintf(call, sizeof call, "Unsqueeze(%s, i0v)", b->name);
        add_value(g, 1, 1, call);
        break;
    case 4:
        qdq_buf_printf(&g->text, "  f%d = Cast<to = 6>(%s)\n", g->n, a->name);
        snprintf(call, sizeof call, "Cast<to = 7>(f%d)", g->n);
        add_value(g, 1, a->n, call);
        break;
    default:
        snprintf(call, sizeof call, "%s<keepdims = %d>(%s)",
                 (const char *const[]){"ReduceMax", "ReduceMin", "ReduceSum"}[pick(g, 3)], 0,
                 a->name);
        add_value(g, 0, 1, call);
        break;
    }
}

/* Division is by two alone: by a symbol that is 0 or by a difference it stops the process. */
static void unary(graph *g)
{
    static const char *const ops[] = {"Abs", "Neg", "Identity", "Div", "Clip"};
    const value *a = any(g);
    int op = pick(g, 5);
    char call[100];

    snprintf(call, sizeof call, "%s(%s%s)", ops[op], a->name,
             op == 3   ? ", two"
             : op == 4 ? ", k1"
                       : "");
    add_value(g, a->rank, a->n, call);
}

static void make(graph *g)
{
    static const char *const ops[] = {"Add", "Sub", "Mul", "Max", "Min"};

    qdq_buf_puts(
        &g->text,
        "<ir_version: 8, opset_import: [\"\" : 17]>\n"
        "g (float[N,M,6,1] x) => (s) <int64 k0 = {1}, int64 k1 = {0}, int64 k2 = {-3}, int64 i0 = "
        "{0}, int64 i1 = {-1}, int64[1] i0v = {0}, int64 two = {2}> {\n");
    add_value(g, 0, 1, "Identity(k0)");
    add_value(g, 0, 1, "Identity(k1)");
    add_value(g, 0, 1, "Identity(k2)");
    add_value(g, 1, 4, "Shape(x)");
    add_value(g, 1, 2, "Shape<start = 0, end = 2>(x)");
    add_value(g, 0, 1, "Size(x)");
    add_value(g, 0, 1, "Identity(two)");
    while (g->n < NODES)
        switch (pick(g, 5)) {
        case 0:
            unary(g);
            break;
        case 1:
            where(g);
            break;
        case 2:
            move(g);
            break;
        default:
            binary(g, ops[pick(g, 5)]);
            break;
        }
    qdq_buf_printf(&g->text, "  s = Identity(v%d)\n}", g->n - 1);
}

/* --- the engine's word ------------------------------------------------------------------------ */

typedef struct check {
    const qdq_model *m;
    const qdq_facts *f;
    const int64_t *dims;
    const char *text;
    unsigned numbers, symbols, open;
} check;

static int64_t value_of_name(const check *c, const char *name, size_t size)
{
    for (int i = 0; i < N_DIMS; i++)
        if (dim_names[i] != NULL && size == strlen(dim_names[i]) &&
            memcmp(name, dim_names[i], size) == 0)
            return c->dims[i];
    fail_msg("symbol '%s'", name);
    return -1;
}

/* A sum of products: "2*M*N+N+1". */
static int64_t value_of(const check *c, const char *symbol)
{
    int64_t sum = 0, product = 1;

    for (;;) {
        size_t size = strcspn(symbol, "+*");

        product *= symbol[0] >= '0' && symbol[0] <= '9' ? strtoll(symbol, NULL, 10)
                                                        : value_of_name(c, symbol, size);
        symbol += size;
        if (*symbol != '*') {
            sum += product;
            product = 1;
        }
        if (*symbol == '\0')
            return sum;
        symbol++;
    }
}

static qdq_status compare(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    check *c = ctx;
    const qdq_value *v = qdq_graph_find(c->m->graph, name);
    const qdq_type *t = qdq_facts_type(c->f, v);
    qdq_fact_elem elem[64];
    int rank, n;

    (void)e;
    if (t == NULL || t->elem != a->elem || t->rank != a->rank)
        fail_msg("%s\n'%s': type", c->text, name);
    for (int i = 0; i < a->rank; i++)
        if (t->dim[i].value >= 0
                ? t->dim[i].value != a->dim[i]
                : t->dim[i].param != NULL && value_of(c, t->dim[i].param) != a->dim[i])
            fail_msg("%s\n'%s': dim", c->text, name);
    if (!qdq_facts_elems(c->f, v, 64, &rank, &n, elem)) {
        c->open += 1;
        return QDQ_OK;
    }
    assert_int_equal(rank, a->rank);
    assert_int_equal(n, qdq_array_count(a));
    for (int i = 0; i < n; i++) {
        int64_t is = ((const int64_t *)a->data)[i];

        if (elem[i].known ? elem[i].value != is
                          : elem[i].symbol != NULL && value_of(c, elem[i].symbol) != is)
            fail_msg("%s\n'%s': element %d is %lld, said %lld %s", c->text, name, i, (long long)is,
                     (long long)elem[i].value, elem[i].symbol != NULL ? elem[i].symbol : "");
        c->numbers += elem[i].known;
        c->symbols += elem[i].symbol != NULL;
        c->open += !elem[i].known && elem[i].symbol == NULL;
    }
    return QDQ_OK;
}

static void run_graph(uint64_t seed, check *total)
{
    static float zeros[7 * 64 * 6 * 8];
    graph g = {qdq_random_new(seed, "facts"), QDQ_BUF_INIT(1 << 20), {{{0}, 0, 0}}, 0};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    const char *names[4 * NODES + 1];
    qdq_session *s = NULL;
    qdq_facts *f = NULL;
    qdq_model *m = NULL;

    make(&g);
    m = test_model(g.text.data);
    assert_ok(qdq_facts_open(m, NULL, &f, &err));
    for (int i = 0; i < g.n; i++)
        names[i] = g.v[i].name;
    names[g.n] = NULL;
    opts.level = QDQ_LEVEL_NONE;
    opts.expose = names;
    assert_ok(qdq_session_open(need_ort(), m, &opts, &s, &err));
    for (int r = 0; r < RUNS; r++) {
        check c = {m, f, dims[r], g.text.data, 0, 0, 0};
        qdq_named_array in = {"x", {QDQ_FLOAT, 4, {0}, zeros, 0}};

        memcpy(in.array.dim, dims[r], sizeof dims[r]);
        in.array.bytes = (size_t)qdq_array_count(&in.array) * sizeof(float);
        if (qdq_session_run(s, &in, 1, compare, &c, &err) != QDQ_OK)
            fail_msg("%s\n%s", g.text.data, err.text);
        total->numbers += c.numbers;
        total->symbols += c.symbols;
        total->open += c.open;
    }
    qdq_session_close(s);
    qdq_facts_close(f);
    qdq_model_free(m);
    qdq_buf_free(&g.text);
}

TEST(what_is_proven_of_shape_arithmetic_is_what_the_engine_computes)
{
    check total = {0};

    for (uint64_t seed = 1; seed <= GRAPHS; seed++)
        run_graph(seed, &total);
    print_message("numbers %u, symbols %u, open %u\n", total.numbers, total.symbols, total.open);
    assert_true(total.numbers > 1000 && total.symbols > 500);
}
