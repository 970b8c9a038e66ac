/* exist_alloc.c - every allocation of reading quantization that is there fails once: strip, import,
 * check against a target, encodings. */
#include "support/alloc_fail.h"

#include "qdq/quant.h"

static qdq_status strip(void *ctx, qdq_error *err)
{
    qdq_model *m = NULL, *out = NULL;
    size_t n_left;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    if (st == QDQ_OK)
        st = qdq_model_strip(m, NULL, &out, &n_left, err);
    qdq_model_free(out);
    qdq_model_free(m);
    return st;
}

static void ignore(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)text;
}

static qdq_status import(void *ctx, qdq_error *err)
{
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_model *m = NULL, *out = NULL;
    qdq_plan *p = NULL;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    job.log = ignore;
    opts.job = &job;
    if (st == QDQ_OK)
        st = qdq_plan_import(m, &opts, &p, &out, err);
    qdq_plan_free(p);
    qdq_model_free(out);
    qdq_model_free(m);
    return st;
}

static qdq_status check(void *ctx, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;
    qdq_status st = qdq_model_from_text(test_graph_text("model_text"), "t", &m, err);

    if (st == QDQ_OK)
        st = qdq_target_load(ctx, &t, err);
    if (st == QDQ_OK)
        st = qdq_model_check_target(m, t, NULL, &r, err);
    qdq_free(r);
    qdq_target_free(t);
    qdq_model_free(m);
    return st;
}

static qdq_status check_on_sim(void *ctx, qdq_error *err)
{
    qdq_check_opts opts = QDQ_CHECK_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    if (st == QDQ_OK)
        st = qdq_target_load("ort-cpu", &t, err);
    if (st == QDQ_OK)
        st = qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &opts.engine,
                             err);
    if (st == QDQ_OK)
        st = qdq_model_check_target(m, t, &opts, &r, err);
    qdq_free(r);
    qdq_engine_close(opts.engine);
    qdq_target_free(t);
    qdq_model_free(m);
    return st;
}

static qdq_status encodings(void *ctx, qdq_error *err)
{
    static const char text[] =
        "{\"activation_encodings\": {\"x\": [{\"bitwidth\": 8, \"offset\": -3, "
        "\"scale\": 0.5}], \"nowhere\": [{\"bitwidth\": "
        "8, \"offset\": 0, \"scale\": 1}]}, \"param_encodings\": {\"w\": "
        "[{\"bitwidth\": 8, \"is_symmetric\": \"True\", "
        "\"offset\": -128, \"scale\": 0.5}], \"b\": [{\"bitwidth\": 32, "
        "\"is_symmetric\": \"True\", \"offset\": "
        "-2147483648, \"scale\": 0.5}]}}";
    qdq_model *m = NULL;
    qdq_plan *p = NULL;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    if (st == QDQ_OK)
        st = qdq_plan_parse_encodings(text, sizeof text - 1, "e", m, NULL, &p, err);
    qdq_plan_free(p);
    qdq_model_free(m);
    return st;
}

TEST(strip_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(strip, (void *)(uintptr_t)test_graph_text("model_text")) >
                1);
    assert_true(test_every_alloc_fails(strip, (void *)(uintptr_t)test_graph_text("nbits_text")) >
                1);
    assert_true(test_every_alloc_fails(strip, (void *)(uintptr_t)test_graph_text("lstm_text")) > 1);
}

TEST(import_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(import, (void *)(uintptr_t)test_graph_text("model_text")) >
                1);
    assert_true(test_every_alloc_fails(import, (void *)(uintptr_t)test_graph_text("nbits_text")) >
                1);
    assert_true(test_every_alloc_fails(import, (void *)(uintptr_t)test_graph_text("lstm_text")) >
                1);
}

TEST(check_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(check, (char[]){"ort-cpu"}) > 1);
    assert_true(test_every_alloc_fails(check, (char[]){"tensorrt"}) > 1);
}

TEST(a_proof_survives_every_allocation_failure)
{
    const char *small = test_graph_text(__func__);

    assert_true(test_every_alloc_fails(check_on_sim, (void *)(uintptr_t)small) > 1);
}

TEST(encodings_survive_every_allocation_failure)
{
    const char *small = test_graph_text(__func__);

    assert_true(test_every_alloc_fails(encodings, (void *)(uintptr_t)small) > 1);
}
