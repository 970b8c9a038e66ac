/* peers_ort.c - quantized models of other tools (tests/data/peers/ORIGIN.md) go through check,
 * compare, import and strip without loss: the float model comes back within half a step of every
 * weight, and its quantization, as a plan, gives the same numbers again. */
#include <math.h>

#include "ir/graph_check.h"
#include "numeric/ort_help.h"

typedef struct peer {
    const char *file;
    /* against the float model, at least */
    double quantized_db;
    double stripped_db;
    /* plan and stripped model against the file; 0: the plan cannot say all */
    double applied_db;
    /* of weights on each side of 0, of which half a step is lost; 0: they are stored as floats */
    float levels;
} peer;

static const peer peers[] = {
    {"ort_qdq", 35, 40, INFINITY, 127},
    {"ort_qoperator", 35, 40, INFINITY, 127},
    {"ort_dynamic", 35, 35, 0, 127},
    {"nncf", 28, 35, INFINITY,
     63 /* the first layers have half the range, so that sums cannot overflow */},
    {"modelopt", 35, INFINITY, INFINITY, 0},
    {"modelopt_fp16", 35, 60, 40, 0},
};

static qdq_model *load(const char *name)
{
    qdq_error err = QDQ_ERROR_INIT;
    char path[500];
    qdq_model *m = NULL;

    snprintf(path, sizeof path, QDQ_SOURCE_DIR "/tests/data/peers/%s.onnx", name);
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    return m;
}

static double sqnr(qdq_engine *e, const qdq_model *a, const qdq_model *b)
{
    static kept x, y;

    run_model(e, a, NULL, &x);
    run_model(e, b, NULL, &y);
    assert_string_equal(x.names, y.names);
    const difference d = difference_of(&x, &y);
    return d.noise == 0 ? INFINITY : 10 * log10(d.signal / d.noise);
}

static void assert_near(const peer *p, const char *what, double have, double want)
{
    if (!(have >= want))
        fail_msg("%s: %s: %.1f dB, want %.1f", p->file, what, have, want);
}

static const qdq_node *next_linear(const qdq_graph *g, const qdq_node *n)
{
    for (n = n == NULL ? g->end.next : n->next; n != &g->end; n = n->next)
        if (!n->dead && (n->op == QDQ_OP_CONV || n->op == QDQ_OP_GEMM || n->op == QDQ_OP_MATMUL))
            return n;
    return NULL;
}

/* Every weight is that of the float model within half a step. */
static void assert_same_weights(const peer *p, const qdq_model *want, const qdq_model *have)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    const qdq_node *a = NULL, *b = NULL;
    size_t n = 0;

    while ((a = next_linear(want->graph, a)) != NULL && (b = next_linear(have->graph, b)) != NULL) {
        const qdq_tensor *x = qdq_value_const(a->in[1].value), *y = qdq_value_const(b->in[1].value);
        float *from, *to, most = 0;

        assert_non_null(y);
        assert_int_equal(x->count, y->count);
        assert_ok(qdq_tensor_floats(x, &scratch, &from, &err));
        assert_ok(qdq_tensor_floats(y, &scratch, &to, &err));
        for (int64_t i = 0; i < x->count; i++)
            most = fmaxf(most, fabsf(from[i]));
        float room = p->levels > 0 ? most / p->levels * 0.51f : most / 1000;
        /* of a Gemm that came back as MatMul */
        int64_t columns = b->op == QDQ_OP_MATMUL ? y->dim[1] : 1;
        for (int64_t i = 0; i < x->count; i++) {
            float back = to[i % (x->count / columns) * columns + i / (x->count / columns)];

            if (!(fabsf(from[i] - back) <= room))
                fail_msg("%s: weight %lld of %s: %g, want %g", p->file, (long long)i, a->name,
                         (double)back, (double)from[i]);
        }
        n++;
    }
    assert_int_equal(n, 4);
    qdq_arena_free(&scratch);
}

static void assert_float(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_model_verify(m, &err));
    QDQ_FOR_NODES (n, m->graph) {
        assert_null(strstr(n->type, "uantize"));
        assert_null(strstr(n->type, "QLinear"));
        assert_null(strstr(n->type, "Integer"));
    }
}

static void go_through(qdq_engine *e, const peer *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *original = load("small"), *m = load(p->file), *stripped = NULL, *again = NULL;
    qdq_plan *plan = NULL;
    size_t n_left = 9;

    assert_near(p, "quantized", sqnr(e, original, m), p->quantized_db - (test_saturates() ? 6 : 0));
    assert_ok(qdq_model_strip(m, NULL, &stripped, &n_left, &err));
    assert_int_equal(n_left, 0);
    assert_float(stripped);
    assert_same_weights(p, original, stripped);
    assert_near(p, "stripped", sqnr(e, original, stripped), p->stripped_db);
    assert_ok(qdq_plan_import(m, NULL, &plan, NULL, &err));
    assert_true(qdq_plan_get_summary(plan)->n_weights > 0);
    assert_ok(qdq_plan_apply(plan, stripped, false, NULL, &again, &err));
    assert_near(p, "applied", sqnr(e, m, again), p->applied_db);
    qdq_plan_free(plan);
    qdq_model_free(again);
    qdq_model_free(stripped);
    qdq_model_free(m);
    qdq_model_free(original);
}

TEST(every_peers_file_comes_back_as_float_and_as_plan)
{
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(peers); i++)
        go_through(e, &peers[i]);
}

static qdq_target_check *checked(const char *file, const char *target, qdq_engine *e)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_check_opts opts = QDQ_CHECK_OPTS_INIT;
    qdq_model *m = load(file);
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;

    opts.engine = e;
    assert_ok(qdq_target_load(target, &t, &err));
    assert_ok(qdq_model_check_target(m, t, &opts, &r, &err));
    qdq_target_free(t);
    qdq_model_free(m);
    return r;
}

static size_t count(const qdq_target_check *r, const char *kind)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += strcmp(r->findings[i].kind, kind) == 0;
    return n;
}

TEST(onnx_runtimes_own_files_run_in_8_bits)
{
    static const char *const files[] = {"ort_qdq", "ort_qoperator"};
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(files); i++)
        for (int proven = 0; proven < 2; proven++) {
            qdq_target_check *r = checked(files[i], "ort-cpu", proven ? e : NULL);

            assert_int_equal(r->n - count(r, "saturates"), 0);
            assert_int_equal(r->n_fused, 8);
            assert_int_equal(r->proven, proven);
            qdq_free(r);
        }
}

/* Model-Optimizer's places are for TensorRT: on this engine Relu stays, and Conv with it. */
TEST(what_the_rules_say_of_another_tools_file_the_kernels_prove)
{
    qdq_engine *e = need_ort();
    qdq_target_check *rules = checked("modelopt", "ort-cpu", NULL),
                     *proof = checked("modelopt", "ort-cpu", e);

    assert_int_equal(count(rules, "bounds"), 2);
    assert_int_equal(count(proof, "bounds"), 2);
    assert_int_equal(rules->n_unfused, proof->n_unfused);
    assert_int_equal(rules->n_errors + proof->n_errors, 0);
    assert_true(proof->converted > 0);
    qdq_free(rules);
    qdq_free(proof);
}

/* Files of all tools, for all targets: findings, no errors, no refusal. */
TEST(every_file_is_checked_for_every_target)
{
    const char *target;

    for (size_t i = 0; i < QDQ_COUNT(peers); i++)
        for (size_t k = 0; (target = qdq_target_name(k, NULL)) != NULL; k++) {
            qdq_target_check *r = checked(peers[i].file, target, NULL);

            assert_int_equal(r->n_errors, 0);
            qdq_free(r);
        }
}

/* The same nodes, with the same names on all edges. */
static void assert_same_graph(const qdq_model *want, const qdq_model *have)
{
    QDQ_FOR_NODES (n, want->graph) {
        const qdq_value *v = qdq_graph_find(have->graph, n->out[0]->name);
        const qdq_node *same = v != NULL ? v->producer : NULL;

        if (same == NULL || strcmp(same->type, n->type) != 0 || strcmp(same->name, n->name) != 0 ||
            same->n_in != n->n_in)
            fail_msg("%s %s: not as it was", n->type, n->name);
        for (uint32_t i = 0; i < n->n_in; i++)
            assert_string_equal(same->in[i].value != NULL ? same->in[i].value->name : "",
                                n->in[i].value != NULL ? n->in[i].value->name : "");
    }
    assert_int_equal(have->graph->n_node, want->graph->n_node);
}

TEST(our_own_files_come_back_as_the_cleaned_model)
{
    static const char *const models[] = {"digits/digits_cnn.onnx", "digits/digits_convnext.onnx",
                                         "digits/digits_vit.onnx"};
    static const char *const targets[] = {"ort-cpu", "tensorrt", "tensorrt-fp8", "int4",
                                          "ort-cpu-int4"};
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(models); i++)
        for (size_t k = 0; k < QDQ_COUNT(targets); k++) {
            qdq_model *m = need_model(models[i]), *q = NULL, *stripped = NULL, *again = NULL;
            qdq_plan *p = NULL, *imported = NULL;
            qdq_target *t = NULL;
            char *clean;

            assert_ok(qdq_target_load(targets[k], &t, &err));
            assert_ok(qdq_quantize(m, t, e, NULL, NULL, &p, &q, &err));
            assert_ok(qdq_model_strip(q, NULL, &stripped, NULL, &err));
            assert_ok(qdq_plan_import(q, NULL, &imported, NULL, &err));
            assert_ok(qdq_pass_pipeline("quantize", t, &clean, &err));
            assert_ok(qdq_model_run_passes(m, clean, &err));
            assert_ok(qdq_model_set_opset(m, qdq_model_opset(q), &err));
            assert_same_graph(m, stripped);
            assert_ok(qdq_plan_apply(imported, stripped, false, NULL, &again, &err));
            assert_int_equal(qdq_plan_get_summary(imported)->n_weights,
                             qdq_plan_get_summary(p)->n_weights);
            assert_int_equal(qdq_plan_get_summary(imported)->n_tensors,
                             qdq_plan_get_summary(p)->n_tensors);
            qdq_free(clean);
            qdq_plan_free(p);
            qdq_plan_free(imported);
            qdq_target_free(t);
            qdq_model_free(again);
            qdq_model_free(stripped);
            qdq_model_free(q);
            qdq_model_free(m);
        }
}

/* ONNX Runtime's own MatMulNBits and GatherBlockQuantized, with scales below 0 and with zero
 * points. */
TEST(weights_inside_of_onnx_runtimes_operators_come_out)
{
    static const char *const files[] = {"ort_nbits_symmetric", "ort_nbits"};
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(files); i++) {
        qdq_model *original = load("products"), *m = load(files[i]), *stripped = NULL,
                  *again = NULL;
        qdq_plan *plan = NULL;
        size_t n_left = 9;

        assert_ok(qdq_model_strip(m, NULL, &stripped, &n_left, &err));
        assert_int_equal(n_left, 0);
        assert_float(stripped);
        assert_int_equal(stripped->graph->n_node, original->graph->n_node);
        assert_true(sqnr(e, m, stripped) > 100);
        assert_true(sqnr(e, original, stripped) > 10);
        assert_ok(qdq_plan_import(m, NULL, &plan, NULL, &err));
        assert_int_equal(qdq_plan_get_summary(plan)->n_weights, 3);
        assert_ok(qdq_plan_apply(plan, stripped, false, NULL, &again, &err));
        assert_int_equal(count_kernels(e, again, "MatMulNBits"), 2);
        assert_int_equal(count_kernels(e, again, "GatherBlockQuantized"), 1);
        assert_true(sqnr(e, m, again) > 100);
        qdq_plan_free(plan);
        qdq_model_free(again);
        qdq_model_free(stripped);
        qdq_model_free(m);
        qdq_model_free(original);
    }
}
