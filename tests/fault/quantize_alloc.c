/* quantize_alloc.c - every allocation of load, quantize (on the sim engine) and save fails once: no
 * crash, no leak, a message, and no file left behind. */
#include "support/alloc_fail.h"

#include <unistd.h>

#include "base/fail.h"
#include "base/json.h"
#include "ir/shape.h"
#include "quant/control_flow/control_flow.h"
#include "quant/half_precision/half_precision.h"
#include "quant/weights/bias_fit.h"
#include "support/build.h"
#include "support/quantize.h"

static char plan_text[] = "{\n"
                          "  \"qdq_plan\": 1,\n"
                          "  \"model\": \"00ff\",\n"
                          "  \"target\": \"ort-cpu\",\n"
                          "  \"created_by\": \"qdq\",\n"
                          "  \"clean\": \"\",\n"
                          "  \"opset\": 13,\n"
                          "  \"placement_only\": true,\n"
                          "  \"tensors\": [\n"
                          "    {\"tensor\": \"a\", \"consumers\": [[\"n1\", 0], [\"n2\", 1]], "
                          "\"type\": \"uint8\", \"scale\": "
                          "0.1, "
                          "\"zero_point\": 7, \"rule\": \"conv\", \"origin\": \"rule\"}\n"
                          "  ],\n"
                          "  \"weights\": [\n"
                          "    {\"tensor\": \"w\", \"consumers\": [[\"n1\", 1]], \"axis\": 0, "
                          "\"type\": \"int8\", \"method\": "
                          "\"given\", \"block\": null, \"scales\": [0.5, 0.7], \"rule\": \"conv\", "
                          "\"origin\": \"import\"}\n"
                          "  ],\n"
                          "  \"biases\": [\n"
                          "    {\"tensor\": \"b\", \"consumer\": [\"n1\", 2], \"type\": \"int32\", "
                          "\"activation\": \"a\", "
                          "\"weight\": "
                          "\"w\", \"rule\": \"conv\", \"origin\": \"rule\"}\n"
                          "  ],\n"
                          "  \"quantized\": [\n"
                          "    {\"node\": \"n1\", \"op\": \"Conv\"}\n"
                          "  ],\n"
                          "  \"left_float\": [\n"
                          "    {\"node\": \"s\", \"op\": \"Softmax\", \"reason\": \"slow\"}\n"
                          "  ]\n"
                          "}\n";

typedef struct files {
    const char *model, *cost, *out;
    qdq_plan *plan;
    qdq_target *target; /* fits the processor, where that is no part of what fails */
} files;

/* Linear, joint and pass-through operators: every kind of rule once. */
static void write_model(const char *path)
{
    test_builder b = test_build(17);
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
    test_save(test_built(&b), path);
}

/* Q/DQ in all that placement asks of them: used again, handed on by a pool, beside a float bias,
 * refused. */
static void write_trained_model(const char *path)
{
    test_builder b = test_build(21);
    const int64_t two[2] = {2, 2};

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    test_conv8(&b, "c0", "x.dq", 8, 8, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_qdq(&b, "r0", QDQ_UINT8, 0.5f, 0);
    test_conv8(&b, "c1", "r0.dq", 8, 8, 1);
    TEST_NODE(&b, "Add", "a", "c1", "r0");
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "MaxPool", "p", "a"), "kernel_shape", two, 2));
    test_qdq(&b, "p", QDQ_UINT8, 0.5f, 0);
    TEST_NODE(&b, "Flatten", "f", "p.dq");
    TEST_CODES(&b, "w", QDQ_INT8, 1, 72, 4);
    TEST_RANDOM(&b, "bias", 4);
    TEST_NODE(&b, "Gemm", "g", "f", "w.dq", "bias");
    test_qdq(&b, "g", QDQ_UINT16, 0.5f, 0);
    TEST_RANDOM(&b, "v", 4, 4);
    TEST_NODE(&b, "MatMul", "y", "g.dq", "v");
    test_output(&b, "y");
    test_save(test_built(&b), path);
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

    return test_quantize_on_sim(f->model, f->cost, err);
}

static qdq_status quantize_trained(void *ctx, qdq_error *err)
{
    const files *f = ctx;

    return test_quantize_for_on_sim(f->model, f->cost, f->target, err);
}

static qdq_status quantize_goal(void *ctx, qdq_error *err)
{
    const files *f = ctx;

    return test_quantize_goal_on_sim(f->model, f->cost, err);
}

static qdq_status quantize_half(void *ctx, qdq_error *err)
{
    const files *f = ctx;

    return test_quantize_half_on_sim(f->model, f->cost, f->target, err);
}

static qdq_status record_each(qdq_model *m, qdq_engine *e, qdq_data *data, qdq_error *err)
{
    qdq_status st = QDQ_OK;

    QDQ_FOR_NODES (n, m->graph) {
        const qdq_quantize_opts opts = {.samples = 2};
        const qdq_quantizing q = {m, .engine = e, .data = data, .opts = &opts};
        qdq_arena memory = QDQ_ARENA_INIT;
        qdq_body_list list = {0};

        if (st == QDQ_OK && n->op != QDQ_OP_UNKNOWN && n->n_attr > 0)
            st = qdq_control_flow_record(&q, n, &memory, &list, err);
        qdq_control_flow_free(&list);
        qdq_arena_free(&memory);
    }
    return st;
}

static qdq_status run_bodies(void *ctx, qdq_error *err)
{
    const files *f = ctx;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_engine *e = NULL;
    qdq_data *data = NULL;
    char spec[600];
    qdq_status st = qdq_model_load(f->model, NULL, &m, err);

    snprintf(spec, sizeof spec, "sim:%s", f->cost);
    dopts.max_samples = 2;
    if (st == QDQ_OK)
        st = qdq_engine_open(spec, NULL, &e, err);
    if (st == QDQ_OK)
        st = qdq_control_flow_name_apart(m, err);
    if (st == QDQ_OK)
        st = qdq_model_infer(m, NULL, err);
    if (st == QDQ_OK)
        st = qdq_data_open("random:1", m, &dopts, &data, err);
    if (st == QDQ_OK)
        st = record_each(m, e, data, err);
    qdq_data_close(data);
    qdq_engine_close(e);
    qdq_model_free(m);
    return st;
}

static qdq_status explain(void *ctx, qdq_error *err)
{
    const files *f = ctx;
    qdq_quantize_opts o = QDQ_QUANTIZE_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_target *t = NULL;
    qdq_status st = qdq_model_load(f->model, NULL, &m, err);

    o.cpu = QDQ_CPU_AVX2; /* which has rules about islands */
    if (st == QDQ_OK)
        st = qdq_target_load("ort-cpu", &t, err);
    if (st == QDQ_OK && (o.why = qdq_why_new("r0")) == NULL)
        st = qdq_fail(err, QDQ_E_NOMEM, "out of memory");
    if (st == QDQ_OK)
        st = qdq_explain(m, t, &o, err);
    qdq_why_free(o.why);
    qdq_target_free(t);
    qdq_model_free(m);
    return st;
}

static qdq_status read_plan(void *ctx, qdq_error *err)
{
    const char *text = ctx;
    qdq_plan *p = NULL;
    qdq_status st = qdq_plan_parse(text, strlen(text), "plan", &p, err);

    qdq_plan_free(p);
    return st;
}

/* The same text again or an error: a plan that lost an entry would be worse. */
static qdq_status write_plan(void *ctx, qdq_error *err)
{
    const files *f = ctx;
    char *text = NULL;
    qdq_status st = qdq_plan_to_text(f->plan, &text, err);

    if (st == QDQ_OK)
        assert_string_equal(text, plan_text);
    qdq_free(text);
    return st;
}

static qdq_status load_target(void *ctx, qdq_error *err)
{
    qdq_target *t = NULL;
    qdq_status st = qdq_target_load(ctx, &t, err);

    qdq_target_free(t);
    return st;
}

static files prepared(void)
{
    files f = {test_path("in.onnx"), QDQ_SOURCE_DIR "/tests/data/sim_basic.json",
               test_path("out.onnx"), NULL, NULL};

    write_model(f.model);
    return f;
}

TEST(load_survives_every_allocation_failure)
{
    files f = prepared();

    assert_true(test_every_alloc_fails(load, &f) > 10);
}

TEST(save_survives_every_allocation_failure_and_leaves_no_file)
{
    files f = prepared();

    assert_true(test_every_alloc_fails(save, &f) > 10);
}

TEST(quantize_survives_every_allocation_failure)
{
    files f = prepared();

    assert_true(test_every_alloc_fails(quantize, &f) > 50);
}

TEST(a_rest_in_float16_survives_every_allocation_failure)
{
    files f = prepared();

    f.target = test_fitted_target(f.model, "rest.type", "float16");
    assert_true(test_every_alloc_fails(quantize_half, &f) > 50);
    qdq_target_free(f.target);
}

TEST(a_goal_survives_every_allocation_failure)
{
    files f = prepared();

    assert_true(test_every_alloc_fails(quantize_goal, &f) > 100);
}

/* Every way to drive a body: a branch, iterations with a body inside, slices. */
TEST(bodies_survive_every_allocation_failure)
{
    files f = {test_path("bodies.onnx"), QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, NULL,
               NULL};

    test_save(test_graph(__func__), f.model);
    assert_true(test_every_alloc_fails(run_bodies, &f) > 100);
}

TEST(explaining_survives_every_allocation_failure)
{
    files f = prepared();

    assert_true(test_every_alloc_fails(explain, &f) > 20);
}

TEST(completing_a_trained_model_survives_every_allocation_failure)
{
    files f = {test_path("trained.onnx"), QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, NULL,
               NULL};

    write_trained_model(f.model);
    f.target = test_fitted_target(f.model, NULL, NULL);
    assert_true(test_every_alloc_fails(quantize_trained, &f) > 50);
    qdq_target_free(f.target);
}

TEST(plans_and_targets_as_text_survive_every_allocation_failure)
{
    char target[] = "ort-cpu";
    qdq_error err = QDQ_ERROR_INIT;
    files f = {0};
    json_malloc_t json_malloc;
    json_free_t json_free;

    assert_true(test_every_alloc_fails(read_plan, plan_text) >= 2);
    assert_true(test_every_alloc_fails(load_target, target) >= 2);
    assert_ok(qdq_plan_parse(plan_text, strlen(plan_text), "plan", &f.plan, &err));
    json_get_alloc_funcs(&json_malloc, &json_free);
    json_set_alloc_funcs(malloc, free); /* jansson's allocations fail, too */
    assert_true(test_every_alloc_fails(write_plan, &f) > 50);
    json_set_alloc_funcs(json_malloc, json_free);
    qdq_plan_free(f.plan);
}

static qdq_status find_overflows(void *ctx, qdq_error *err)
{
    static const char plan[] = "{\"qdq_plan\": 1, \"tensors\": [{\"tensor\": \"x\", \"consumers\": "
                               "[[\"n\", 0]], \"type\": "
                               "\"uint8\", \"scale\": 0.5}], \"weights\": [{\"tensor\": \"w\", "
                               "\"consumers\": [[\"n\", 1]], "
                               "\"type\": \"int8\"}], \"biases\": [{\"tensor\": \"b\", "
                               "\"consumer\": [\"n\", 2], \"activation\": "
                               "\"x\", \"weight\": \"w\"}]}";
    qdq_calib_names labels = {0};
    qdq_plan *p = NULL;
    qdq_status st = qdq_plan_parse(plan, sizeof plan - 1, "plan", &p, err);

    if (st == QDQ_OK)
        st = qdq_find_overflowing_biases(ctx, p, &labels, err);
    if (st == QDQ_OK) {
        assert_int_equal(labels.n, 1);
        assert_string_equal(labels.at[0], "n");
    }
    qdq_plan_free(p);
    return st;
}

TEST(biases_without_room_are_found_or_the_allocation_is_reported)
{
    qdq_model *m = test_graph(__func__);

    assert_true(test_every_alloc_fails(find_overflows, m) > 1);
    qdq_model_free(m);
}

static qdq_status follow(void *ctx, qdq_error *err)
{
    qdq_target *t = NULL, *own = NULL;
    qdq_status st = qdq_target_load("tensorrt", &t, err);

    if (st == QDQ_OK)
        st = qdq_target_set(t, "rest.type", "model", err);
    if (st == QDQ_OK)
        st = qdq_half_follow(ctx, t, NULL, &own, err);
    if (st == QDQ_OK)
        assert_int_equal(own->half.type, QDQ_BFLOAT16);
    qdq_target_free(own);
    qdq_target_free(t);
    return st;
}

TEST(following_the_type_of_the_model_survives_every_allocation_failure)
{
    qdq_model *m = test_graph(__func__);

    assert_true(test_every_alloc_fails(follow, m) > 20);
    qdq_model_free(m);
}
