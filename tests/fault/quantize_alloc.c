/* quantize_alloc.c - every allocation of load, quantize (on the sim engine) and save fails once: no crash, no
 * leak, a message, and no file left behind. */
#include "support/alloc_fail.h"

#include <unistd.h>

#include "support/build.h"

typedef struct files {
    const char *model, *cost, *out;
} files;

/* Linear, joint and pass-through operators: every kind of rule once. */
static void write_model(const char *path)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;
    const int64_t two[2] = {2, 2};

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_conv(&b, "c0", "x", 8, 8, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 8, 8, 1, 1);
    TEST_NODE(&b, "Add", "a", "c1", "r0");
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "MaxPool", "p", "a"), "kernel_shape", two, 2));
    TEST_NODE(&b, "GlobalAveragePool", "g", "p");
    TEST_NODE(&b, "Flatten", "f", "g");
    TEST_RANDOM(&b, "w", 8, 4);
    TEST_RANDOM(&b, "bias", 4);
    TEST_NODE(&b, "Gemm", "y", "f", "w", "bias");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
    so.allow_overwrite = true;
    assert_ok(qdq_model_save(m, path, &so, &err));
    qdq_model_free(m);
}

static qdq_status load(void *ctx, qdq_error *err)
{
    const files *f = ctx;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_load(f->model, NULL, &m, err);

    if (st != QDQ_OK)
        assert_null(m);
    qdq_model_free(m);
    return st;
}

static qdq_status save(void *ctx, qdq_error *err)
{
    const files *f = ctx;
    qdq_model *m = NULL;
    qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
    qdq_status st = qdq_model_load(f->model, NULL, &m, err);

    so.external = QDQ_EXTERNAL_ALWAYS;
    so.allow_overwrite = true;
    if (st == QDQ_OK)
        st = qdq_model_save(m, f->out, &so, err);
    if (st != QDQ_OK)
        assert_int_not_equal(access(f->out, F_OK), 0);
    unlink(f->out);
    qdq_model_free(m);
    return st;
}

static qdq_status quantize(void *ctx, qdq_error *err)
{
    const files *f = ctx;
    qdq_model *m = NULL, *q = NULL;
    qdq_engine *e = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL, *imported = NULL;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    char spec[600], *text = NULL;
    qdq_status st = qdq_model_load(f->model, NULL, &m, err);

    snprintf(spec, sizeof spec, "sim:%s", f->cost);
    if (st == QDQ_OK)
        st = qdq_engine_open(spec, NULL, &e, err);
    if (st == QDQ_OK)
        st = qdq_target_load("ort-cpu", &t, err);
    if (st == QDQ_OK)
        st = qdq_plan_make(m, t, e, NULL, &opts, &p, err);
    if (st == QDQ_OK)
        st = qdq_plan_to_text(p, &text, err);
    if (st == QDQ_OK)
        st = qdq_plan_apply(p, m, false, &q, err);
    if (st == QDQ_OK)
        st = qdq_plan_import(q, &imported, NULL, err);
    qdq_free(text);
    qdq_plan_free(imported);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_target_free(t);
    qdq_engine_close(e);
    qdq_model_free(m);
    return st;
}

static files prepared(void)
{
    files f = {test_path("in.onnx"), QDQ_SOURCE_DIR "/tests/data/sim_basic.json", test_path("out.onnx")};

    write_model(f.model);
    return f;
}

static void load_survives_every_allocation_failure(void **state)
{
    files f = prepared();

    (void)state;
    assert_true(test_every_alloc_fails(load, &f) > 10);
}

static void save_survives_every_allocation_failure_and_leaves_no_file(void **state)
{
    files f = prepared();

    (void)state;
    assert_true(test_every_alloc_fails(save, &f) > 10);
}

static void quantize_survives_every_allocation_failure(void **state)
{
    files f = prepared();

    (void)state;
    assert_true(test_every_alloc_fails(quantize, &f) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_survives_every_allocation_failure),
        cmocka_unit_test(save_survives_every_allocation_failure_and_leaves_no_file),
        cmocka_unit_test(quantize_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
