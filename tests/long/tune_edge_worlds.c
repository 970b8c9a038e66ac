/* tune_edge_worlds.c - 200 worlds on the sim engine with a price on every edge that no target tells: what subgraph mode finds,
 * beside the best of all placements of groups and edges. */
#include <math.h>

#include "base/random.h"
#include "quant/quantize_steps.h"
#include "support/spaced.h"
#include "support/tuned.h"
#include "tune/space/space_edges.h"

enum { WORLDS = 200, MOST_BITS = 12 };

static qdq_error err;

/* A product, three operators without a kernel in the target, one that copies, and a product at the end. */
static qdq_model *network(void)
{
    static char text[8000], w[2000];
    size_t at = 0;

    for (int i = 0; i < 64; i++)
        at +=
            (size_t)snprintf(w + at, sizeof w - at, "%s%.2f", i > 0 ? ", " : "", ((i * 37) % 64 - 32) / 32.0);
    snprintf(
        text, sizeof text,
        "g (float[8,8] x) => (float[8,8] y) <float[8,8] a = {%s}, float[8] g = {1, 1, 1, 1, 1, 1, 1, 1}> {"
        " h1 = MatMul(x, a) n = LayerNormalization(h1, g) h2 = MatMul(n, a) t = Transpose<perm = [1, 0]>(h2)"
        " s = Softmax(t) h3 = MatMul(t, a) m = Mul(h3, s) y = MatMul(m, a) }",
        w);
    return test_model(text);
}

/* Each operator with its times in float and on codes; some are slower on codes. */
static const char *costs(qdq_random *r)
{
    static const char *const ops[] = {"MatMul", "LayerNormalization", "Transpose", "Softmax", "Mul"};
    static char text[1000];
    size_t at = 0;

    for (size_t i = 0; i < QDQ_COUNT(ops); i++) {
        const double us = i == 0 ? 100 : 20 + 60 * qdq_random_uniform(r);
        at += (size_t)snprintf(
            text + at, sizeof text - at, "%s\"%s\": {\"float_us\": %.1f, \"int8_us\": %.1f, \"inputs\": %d}",
            i > 0 ? ", " : "", ops[i], us, us * (i == 0 ? 0.4 : 1.4) * qdq_random_uniform(r) + 2,
            i == 0 || i == 4 ? 2 : 1);
    }
    return test_tuned_costs(text, NULL);
}

/* us, without noise: that is in what is measured, not in what a kernel costs. */
static double time_of(qdq_engine *e, const qdq_model *m)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    qdq_session *s;
    qdq_named_array *in;
    qdq_layer *l;
    double sum = 0;
    size_t n, n_in;

    o.profile = true;
    assert_ok(qdq_session_open(e, m, &o, &s, &err));
    assert_ok(qdq_random_inputs(s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_profile(s, in, n_in, 1, &l, &n, &err));
    for (size_t i = 0; i < n; i++)
        sum += l[i].median_us;
    qdq_free(l);
    qdq_free(in);
    qdq_session_close(s);
    return sum;
}

/* The least time of all assignments of groups and inner edges. */
static double best_of_all(test_space *t)
{
    size_t edge[MOST_BITS], n_edges = 0;
    double best = INFINITY;
    qdq_assign a;

    for (size_t i = 0; i < t->s->n_edges; i++)
        if (t->s->edge[i].node != NULL && t->s->edge[i].value->producer != NULL)
            edge[n_edges++] = i;
    const size_t bits = t->s->n_groups + n_edges;
    assert_true(bits <= MOST_BITS && n_edges > 0);
    assert_true(qdq_assign_new(&a, qdq_space_edge_bits(t->s), &t->arena));
    for (uint32_t k = 0; k < 1u << bits; k++) {
        for (size_t i = 0; i < a.n; i++)
            qdq_assign_set(&a, i, false);
        for (size_t i = 0; i < bits; i++)
            if ((k >> i & 1) != 0 && i < t->s->n_groups)
                qdq_assign_set(&a, i, true);
            else if ((k >> i & 1) != 0)
                qdq_space_flip(t->s, &a, edge[i - t->s->n_groups]);
        qdq_plan *p = test_space_plan(t, &a);
        qdq_model *m = test_space_applied(t, p);
        best = fmin(best, time_of(t->engine, m));
        qdq_model_free(m);
        qdq_plan_free(p);
    }
    return best;
}

static void the_cut_finds_nearly_all_that_edges_can_bring(void **state)
{
    static const char *const set[] = {"engine", "sim", NULL};
    qdq_random r = qdq_random_new(1, "worlds");
    double gain = 0, most = 0, worst = 1;

    (void)state;
    for (int w = 0; w < WORLDS; w++) {
        qdq_engine *e;
        const char *spec = costs(&r);
        qdq_tune_opts o = test_tuned_opts(spec);
        qdq_tune_result found;
        qdq_model *m = network(), *tuned;

        assert_ok(qdq_engine_open(spec, NULL, &e, &err));
        test_space t = test_space_open_with(m, "ort-cpu", set, e);
        o.mode = QDQ_TUNE_SUBGRAPH;
        assert_ok(test_tuned_run(m, test_path("world%d", w), &o, &found, &err));
        assert_ok(qdq_model_load(test_path("world%d/model.onnx", w), NULL, &tuned, &err));
        const double in_float = time_of(e, m), best = best_of_all(&t), mine = time_of(e, tuned);
        gain += in_float - mine;
        most += in_float - best;
        worst = fmin(worst, (in_float - mine) / (in_float - best));
        qdq_model_free(tuned);
        test_space_close(&t);
        qdq_engine_close(e);
    }
    print_message("%.4f of the best gain, %.4f in the worst world\n", gain / most, worst);
    assert_true(gain >= 0.98 * most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cut_finds_nearly_all_that_edges_can_bring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
