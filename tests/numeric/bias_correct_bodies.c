/* bias_correct_bodies.c - corrections of biases inside the bodies of If and Loop: the means are
 * those of what reached the body, numbers are those of the definition, a bias that several graphs
 * read is corrected for each, and plans replay it. */
#include <math.h>

#include "base/random.h"
#include "ir/ir.h"
#include "numeric/ort_help.h"
#include "quant/plan/plan.h"
#include "quant/weights/weights.h"
#include "support/npy_file.h"
#include "support/placed.h"

enum { SAMPLES = 16, ROWS = 2, K = 4, ROW = ROWS * K, COUNT = SAMPLES * ROW };

/* Coarse codes: one scale of 4 bits, the largest weight is 7 codes. */
static const float w[K][K] = {{7, 0.4F, 1.4F, -0.4F},
                              {-2.3F, 3.4F, 0.45F, 1.3F},
                              {0.3F, -1.4F, 2.45F, 5.6F},
                              {1.7F, 2.6F, -3.4F, 0.35F}};

/* Every second sample lies around 2, 1, 0, -1, the others around -3, 0, 1, 0: their sums are above
 * and below 0. */
static const float *samples(void)
{
    static const float middle[2][K] = {{2, 1, 0, -1}, {-3, 0, 1, 0}};
    static float x[COUNT];
    qdq_random r = qdq_random_new(11, NULL);

    for (size_t i = 0; i < COUNT; i++)
        x[i] = middle[i / ROW % 2][i % K] + 0.05F * qdq_random_normal(&r);
    return x;
}

/* The sum over channels of what the codes lose, times the mean. */
static void want_delta(const double *mean, double *delta)
{
    for (size_t o = 0; o < K; o++) {
        delta[o] = 0;
        for (size_t i = 0; i < K; i++)
            delta[o] += ((double)w[i][o] - (double)nearbyintf(w[i][o])) * mean[i];
    }
}

/* Means of the samples first, first + 2, ... */
static void means_from(size_t first, double *mean)
{
    const float *x = samples();

    memset(mean, 0, K * sizeof *mean);
    for (size_t s = first; s < SAMPLES; s += 2)
        for (size_t i = 0; i < ROW; i++)
            mean[i % K] += (double)x[s * ROW + i] / (SAMPLES / 2 * ROWS);
}

typedef struct done {
    qdq_model *m, *plain, *q;
    qdq_plan *plan;
    qdq_data *data;
} done;

static qdq_model *quantized(qdq_engine *e, const done *d, bool correct, qdq_plan **plan)
{
    static const char *const set[][2] = {
        {"stay_float", "[]"}, {"weight.type", "int4"}, {"weight.per_channel", "false"}};
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_model *q = NULL;

    opts.bias_correction = correct ? QDQ_BIAS_CORRECTION_ON : QDQ_BIAS_CORRECTION_OFF;
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    for (size_t i = 0; i < QDQ_COUNT(set); i++)
        assert_ok(qdq_target_set(t, set[i][0], set[i][1], &err));
    assert_ok(qdq_quantize(d->m, t, e, d->data, &opts, plan, &q, &err));
    qdq_target_free(t);
    return q;
}

static done corrected(qdq_engine *e, const char *text)
{
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    done d = {.m = test_model(text)};
    qdq_plan *plain = NULL;
    const char *path =
        test_npy_file("x.npy", TEST_HEADER("<f4", "(32, 4)"), samples(), COUNT * sizeof(float));

    assert_ok(qdq_data_open(path, d.m, &dopts, &d.data, &err));
    assert_int_equal(qdq_data_count(d.data), SAMPLES);
    d.plain = quantized(e, &d, false, &plain);
    d.q = quantized(e, &d, true, &d.plan);
    assert_int_equal(plain->corrections.n, 0);
    qdq_plan_free(plain);
    return d;
}

static void free_done(done d)
{
    qdq_plan_free(d.plan);
    qdq_data_close(d.data);
    qdq_model_free(d.m);
    qdq_model_free(d.plain);
    qdq_model_free(d.q);
}

static double sqnr(qdq_engine *e, const done *d, const qdq_model *q)
{
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_error err = QDQ_ERROR_INIT;

    opts.fake_quant = true;
    assert_ok(qdq_compare(e, d->m, q, d->data, &opts, &r, &err));
    double db = r->outputs[0].sqnr_db;
    qdq_free(r);
    return db;
}

static const qdq_plan_correction *correction_of(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->corrections.n; i++)
        if (strcmp(p->corrections.at[i].consumer.node, node) == 0)
            return &p->corrections.at[i];
    fail_msg("no correction of '%s'", node);
    return NULL;
}

static void assert_delta(const done *d, const char *node, const double *mean)
{
    const qdq_plan_correction *c = correction_of(d->plan, node);
    double want[K];

    want_delta(mean, want);
    assert_int_equal(c->n_delta, K);
    for (size_t o = 0; o < K; o++)
        if (fabs((double)c->delta[o] - want[o]) > 1e-4)
            fail_msg("%s: channel %zu is corrected by %g, want %g", node, o, (double)c->delta[o],
                     want[o]);
}

/* What the Gemm called `node` adds, which MatMul and Add became, wherever it is: its bias plus the
 * correction. */
static void assert_bias(const done *d, const char *node)
{
    const qdq_plan_correction *c = correction_of(d->plan, node);
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    size_t found = 0;

    QDQ_FOR_GRAPHS (g, d->q)
        QDQ_FOR_NODES (n, g) {
            const qdq_value *v = qdq_node_in(n, c->consumer.input);
            const qdq_tensor *t = v != NULL ? qdq_value_const(v) : NULL;
            const float *x;

            if (strcmp(n->name, node) != 0)
                continue;
            found++;
            assert_non_null(t);
            assert_int_equal(t->count, K);
            assert_ok(qdq_weight_floats(t, &scratch, &x, &err));
            for (size_t o = 0; o < K; o++)
                assert_true(fabs((double)x[o] - (double)(o + 1) - (double)c->delta[o]) < 1e-6);
        }
    assert_int_equal(found, 1);
    qdq_arena_free(&scratch);
}

/* One weight and one bias for three products: outside all samples count, in each branch those that
 * took it. */
TEST(each_branch_of_an_if_is_corrected_by_what_took_it)
{
    qdq_engine *e = need_ort();
    done d = corrected(e, test_graph_text(__func__));
    double above[K], below[K], all[K];

    means_from(0, above);
    means_from(1, below);
    for (size_t i = 0; i < K; i++)
        all[i] = (above[i] + below[i]) / 2;
    assert_int_equal(d.plan->corrections.n, 3);
    assert_delta(&d, "then", above);
    assert_delta(&d, "else", below);
    assert_delta(&d, "outside", all);
    assert_bias(&d, "then");
    assert_bias(&d, "else");
    assert_bias(&d, "outside");
    test_assert_plan_replays(d.plan, d.m, d.q);
    free_done(d);
}

TEST(a_branch_comes_nearer)
{
    qdq_engine *e = need_ort();
    done d = corrected(e, test_graph_text(__func__));

    double before = sqnr(e, &d, d.plain), after = sqnr(e, &d, d.q);
    if (!(after > before + 6))
        fail_msg("%g dB without, %g dB with", before, after);
    test_assert_plan_replays(d.plan, d.m, d.q);
    free_done(d);
}

/* The state goes x, x + 1, x + 2: what reaches the product is x + 1 on average. */
TEST(a_loop_is_corrected_by_the_means_over_its_iterations)
{
    qdq_engine *e = need_ort();
    done d = corrected(e, test_graph_text(__func__));
    double even[K], odd[K], mean[K];

    means_from(0, even);
    means_from(1, odd);
    for (size_t i = 0; i < K; i++)
        mean[i] = (even[i] + odd[i]) / 2 + 1;
    assert_int_equal(d.plan->corrections.n, 1);
    assert_delta(&d, "inside", mean);
    assert_bias(&d, "inside");
    assert_true(sqnr(e, &d, d.q) > sqnr(e, &d, d.plain));
    test_assert_plan_replays(d.plan, d.m, d.q);
    free_done(d);
}

/* A Conv without a bias gets one, in the body that it is in, int32 as its neighbours' would be. */
TEST(a_conv_in_a_branch_gets_a_bias)
{
    qdq_engine *e = need_ort();
    done d = corrected(e, test_graph_text(__func__));
    const qdq_node *conv = NULL;
    double above[K];

    means_from(0, above);
    assert_int_equal(d.plan->corrections.n, 1);
    assert_int_equal(correction_of(d.plan, "conv")->consumer.input, 2);
    assert_delta(&d, "conv", above);
    QDQ_FOR_GRAPHS (g, d.q)
        QDQ_FOR_NODES (n, g)
            conv = strcmp(n->name, "conv") == 0 ? n : conv;
    assert_non_null(conv);
    assert_ptr_not_equal(conv->graph, d.q->graph);
    assert_non_null(qdq_node_in(conv, 2));
    assert_true(sqnr(e, &d, d.q) > sqnr(e, &d, d.plain));
    test_assert_plan_replays(d.plan, d.m, d.q);
    free_done(d);
}

/* No sample takes the branch: there is nothing that it could be corrected by. */
TEST(a_branch_that_no_sample_takes_keeps_its_bias)
{
    qdq_engine *e = need_ort();
    done d = corrected(e, test_graph_text(__func__));

    assert_int_equal(d.plan->corrections.n, 1);
    assert_non_null(correction_of(d.plan, "then"));
    test_assert_plan_replays(d.plan, d.m, d.q);
    free_done(d);
}
