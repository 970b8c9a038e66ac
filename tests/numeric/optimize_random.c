/* optimize_random.c - properties of the optimizer on seeded random graphs: outputs stay, a second
 * run changes nothing, inputs and outputs keep names and order, and Q/DQ stay unless a rewrite of
 * docs/optimizer.md took them. */
#include <math.h>

#include "ir/ir.h"
#include "ort_help.h"
#include "support/random_graph.h"

enum { GRAPHS = 150 };

static size_t count(const qdq_model *m, qdq_op op)
{
    size_t n = 0;

    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (node, g)
            n += node->op == op;
    return n;
}

static uint64_t changes_of(const qdq_optimize_report *r, const char *pass)
{
    for (size_t i = 0; i < r->n_passes; i++)
        if (strcmp(r->passes[i].pass, pass) == 0)
            return r->passes[i].changes;
    return 0;
}

static uint64_t hash(uint64_t h, const void *data, size_t n)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 0x100000001B3U;
    return h;
}

/* All Q and DQ of the model as a multiset: operator, axis, scale, zero point and their types,
 * whatever the order. What is computed is looked at as what it comes to. */
static uint64_t all_q_and_dq(const qdq_model *model)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    uint64_t sum = 0;

    assert_ok(qdq_model_clone(model, &m, &err));
    assert_ok(qdq_model_run_passes(
        m, "inline-functions,lift-constants,drop-identity,fold-constants", &err));

    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g) {
            int64_t about[2] = {(int64_t)n->op, qdq_node_int(n, "axis", 1)};
            uint64_t h = hash(0xCBF29CE484222325U, about, sizeof about);

            if (n->op != QDQ_OP_QUANTIZELINEAR && n->op != QDQ_OP_DEQUANTIZELINEAR)
                continue;
            for (uint32_t i = 1; i < n->n_in; i++) {
                const qdq_tensor *t =
                    n->in[i].value != NULL ? qdq_value_const(n->in[i].value) : NULL;
                assert_non_null(t);
                h = hash(h, &t->elem, sizeof t->elem);
                h = hash(h, t->bytes.data, t->bytes.size);
            }
            sum += h;
        }
    qdq_model_free(m);
    return sum;
}

/* Without the rewrites of docs/optimizer.md that take out, merge or change Q and DQ. */
#define NO_REWRITES                                                                                \
    "default,-collapse-requantize,-drop-unused,-merge-equal,-inline-if,-fold-batchnorm,-layout-"   \
    "before-"                                                                                      \
    "dequantize"

/* `tolerance` of the range; one flipped rounding step may spread where there is Q/DQ. */
static void assert_near(const kept *a, const kept *b, double tolerance, uint64_t seed)
{
    double range = 0, worst = 0;

    if (strcmp(a->names, b->names) != 0 || a->size != b->size)
        fail_msg("seed %llu: outputs %s, expected %s", (unsigned long long)seed, b->names,
                 a->names);
    for (size_t i = 0; i < a->size / sizeof(float); i++) {
        double x = (double)kept_float(a, i), y = (double)kept_float(b, i);

        if (isnan(x) != isnan(y))
            fail_msg("seed %llu: NaN", (unsigned long long)seed);
        range = fmax(range, fabs(x));
        worst = fmax(worst, fabs(x - y));
    }
    if (worst > tolerance * range)
        fail_msg("seed %llu: off by %g of %g", (unsigned long long)seed, worst, range);
}

/* One image, or three: what holds for a batch of one must hold for more. */
static qdq_session_opts batch_of(int64_t n, qdq_input_shape shapes[2])
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;

    shapes[0] = (qdq_input_shape){"x", 4, {n, 4, 6, 6}};
    shapes[1] = (qdq_input_shape){"v", 2, {n, 8}};
    so.level = QDQ_LEVEL_NONE;
    so.shapes = shapes;
    so.n_shapes = 2;
    return so;
}

static void check_graph(qdq_engine *e, uint64_t seed, bool quantized, const char *passes)
{
    static kept before, after;
    qdq_input_shape shapes[2];
    qdq_session_opts so = batch_of(seed % 2 == 0 ? 1 : 3, shapes);
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r = NULL;
    qdq_error err = QDQ_ERROR_INIT;
    char *text = test_random_graph(seed, (test_random_opts){30, quantized}), *once, *again;
    qdq_model *m = test_model(text);
    size_t dq = count(m, QDQ_OP_DEQUANTIZELINEAR);
    uint64_t all = all_q_and_dq(m);

    run_model(e, m, &so, &before);
    opts.passes = passes;
    opts.verify_each = true;
    if (qdq_model_optimize(m, &opts, &r, &err) != QDQ_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
    assert_true(r->settled);
    run_model(e, m, &so, &after);
    assert_near(&before, &after, quantized ? 0.1 : 1e-5, seed);
    if (changes_of(r, "drop-unused") == 0)
        assert_true(count(m, QDQ_OP_DEQUANTIZELINEAR) <= dq);
    if (strcmp(passes, NO_REWRITES) == 0 && all_q_and_dq(m) != all)
        fail_msg("seed %llu: Q or DQ changed, and no pass may do that", (unsigned long long)seed);
    qdq_optimize_report_free(r);
    assert_ok(qdq_model_to_text(m, &once, &err));
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    assert_ok(qdq_model_to_text(m, &again, &err));
    if (strcmp(once, again) != 0)
        fail_msg("seed %llu: the second run changes something", (unsigned long long)seed);
    qdq_free(once);
    qdq_free(again);
    free(text);
    qdq_model_free(m);
}

TEST(float_graphs_compute_what_they_did)
{
    qdq_engine *e = need_ort();

    for (uint64_t seed = 1; seed <= GRAPHS; seed++)
        check_graph(e, seed, false, "default");
}

TEST(graphs_with_quantization_compute_what_they_did)
{
    qdq_engine *e = need_ort();

    for (uint64_t seed = 1; seed <= GRAPHS; seed++)
        check_graph(e, seed, true, "default");
}

TEST(without_the_rewrites_that_may_every_q_and_dq_stays)
{
    qdq_engine *e = need_ort();

    for (uint64_t seed = 1; seed <= GRAPHS; seed++)
        check_graph(e, seed, true, NO_REWRITES);
}
