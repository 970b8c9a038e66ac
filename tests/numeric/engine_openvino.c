/* engine_openvino.c - OpenVINO through our binding: its numbers against ONNX Runtime's, types,
 * shapes, exposed tensors, profile, time, and the processor that kills it. */
#include <math.h>
#include <sys/stat.h>

#include "ir/ir.h"
#include "numeric/engine_cases.h"
#include "numeric/ort_help.h"
#include "support/test.h"

static qdq_error err;

/* 10 log10 of the signal over the difference; both outputs whole. */
static double sqnr_db(const kept *a, const kept *b)
{
    const difference d = difference_of(a, b);

    assert_true(d.signal > 0);
    return d.noise > 0 ? 10 * log10(d.signal / d.noise) : 200;
}

/* --- engine ----------------------------------------------------------------------------------- */

TEST(the_engine_says_what_it_is)
{
    const qdq_engine_info *info = qdq_engine_get_info(need_openvino());

    assert_string_equal(info->name, "openvino");
    assert_true(strncmp(info->version, "20", 2) == 0);
    assert_non_null(strstr(info->library, "libopenvino_c.so"));
    assert_true((info->capabilities & QDQ_CAN_RUN) && (info->capabilities & QDQ_CAN_TIME));
    assert_true((info->capabilities & QDQ_RUNS_AS_WRITTEN) == 0);
    assert_non_null(strstr(info->fingerprint, info->version));
}

TEST(a_model_with_functions_runs_though_openvino_knows_none)
{
    qdq_model *m = test_graph(__func__);
    static kept a, b;

    run_model(need_ort(), m, NULL, &a);
    run_model(need_openvino(), m, NULL, &b);
    assert_string_equal(a.names, b.names);
    assert_true(sqnr_db(&a, &b) > 100);
    qdq_model_free(m);
}

TEST(what_is_no_such_library_is_refused)
{
    qdq_engine *e = NULL;
    char spec[4200];

    assert_fails(QDQ_E_ENGINE, "cannot load",
                 qdq_engine_open("openvino:/nonexistent/libopenvino_c.so", NULL, &e, &err));
    snprintf(spec, sizeof spec, "openvino:%s/tests/fake_ort_old.so", QDQ_BUILD_DIR);
    assert_fails(QDQ_E_ENGINE, "is no OpenVINO library", qdq_engine_open(spec, NULL, &e, &err));
    assert_null(e);
}

static const char *worker_that(const char *name, const char *does)
{
    const char *path = test_path("%s", name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", does);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
    return path;
}

static void remember_log(void *ctx, qdq_log_level level, const char *text)
{
    (void)level;
    snprintf(ctx, 1000, "%s", text);
}

/* Machines that do not announce AMX are safe, and nothing is tried out there. */
static bool amx_is_announced(void)
{
    char line[8000];
    bool found = false;
    FILE *f = fopen("/proc/cpuinfo", "r");

    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = strncmp(line, "flags", 5) == 0 && strstr(line, " amx_int8") != NULL;
    if (f != NULL)
        fclose(f);
    return found;
}

TEST(a_machine_that_kills_who_uses_amx_is_found_out_in_a_child)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    char spec[4200], log[1000] = "";
    qdq_job job = QDQ_JOB_INIT;
    qdq_engine *e = NULL;

    snprintf(spec, sizeof spec, "openvino:%s", qdq_engine_get_info(need_openvino())->library);
    if (!amx_is_announced())
        skip();
    job.log = remember_log;
    job.ctx = log;
    opts.job = &job;
    opts.worker = worker_that("traps", "kill -ILL $$");
    assert_string_equal(qdq_engine_environment("openvino", &opts),
                        "ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI");
    assert_null(qdq_engine_environment("ort", &opts));
    assert_fails(QDQ_E_ENGINE, "set ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI",
                 qdq_engine_open(spec, &opts, &e, &err));
    assert_null(e);
    /* One that is fine, one that is none of ours, and none at all: the engine is opened, and the
     * latter are told. */
    opts.worker = worker_that("fine", "[ \"$1\" = --probe-amx ]");
    assert_null(qdq_engine_environment("openvino", &opts));
    assert_string_equal(log, "");
    opts.worker = worker_that("other", "exit 2");
    assert_null(qdq_engine_environment("openvino", &opts));
    assert_non_null(strstr(log, "status 2: AMX was not tried out"));
    opts.worker = "/nonexistent/qdq-worker";
    assert_ok(qdq_engine_open(spec, &opts, &e, &err));
    assert_non_null(strstr(log, "AMX was not tried out: "));
    qdq_engine_close(e);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Float kernels sum in another order: 80 dB. In 8 bits a value at the edge between two codes may
 * fall to either side. */
TEST(models_give_the_numbers_of_onnx_runtime)
{
    static const struct {
        const char *file;
        double db;
    } models[] = {{"digits/digits_cnn.onnx", 80},      {"digits/digits_cnn_bn.onnx", 80},
                  {"digits/digits_convnext.onnx", 80}, {"digits/digits_vit.onnx", 80},
                  {"digits/digits_qat_bn.onnx", 25},   {"real/mnist.onnx", 80},
                  {"real/ultraface_rfb320.onnx", 80}};
    qdq_engine *ov = need_openvino(), *ort = need_ort();
    static kept a, b;

    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = need_model(models[i].file);
        run_model(ort, m, NULL, &a);
        run_model(ov, m, NULL, &b);
        assert_string_equal(a.names, b.names);
        assert_int_equal(a.last.elem, b.last.elem);
        assert_int_equal(a.last.rank, b.last.rank);
        if (sqnr_db(&a, &b) < models[i].db)
            fail_msg("%s: %.1f dB", models[i].file, sqnr_db(&a, &b));
        run_model(ov, m, NULL, &a);
        assert_memory_equal(a.bytes, b.bytes, a.size);
        qdq_model_free(m);
    }
}

static qdq_model *quantize(qdq_engine *e, const qdq_model *m)
{
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_data *data = NULL;
    qdq_model *q = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_data_open("random:1", m, NULL, &data, &err));
    assert_ok(qdq_quantize(m, t, e, data, NULL, &p, &q, &err));
    qdq_plan_free(p);
    qdq_data_close(data);
    qdq_target_free(t);
    return q;
}

TEST(what_we_quantize_gives_the_numbers_of_onnx_runtime)
{
    qdq_engine *ov = need_openvino(), *ort = need_ort();
    qdq_session_opts in_float = QDQ_SESSION_OPTS_INIT;
    static kept a, b, c;

    qdq_model *m = need_model("digits/digits_cnn.onnx");
    qdq_model *q = quantize(ort, m);
    run_model(ort, q, NULL, &a);
    run_model(ov, q, NULL, &b);
    assert_true(sqnr_db(&a, &b) > 25);
    in_float.fake_quant = true; /* the accuracy reference: no 8-bit kernels */
    run_model(ort, q, &in_float, &a);
    run_model(ov, q, &in_float, &c);
    assert_true(sqnr_db(&a, &c) > 25);
    qdq_model_free(q);
    qdq_model_free(m);
}

/* As those that a pass has just computed. */
TEST(weights_that_no_file_holds_come_through)
{
    qdq_engine *ov = need_openvino(), *ort = need_ort();
    char text[30000] = HEAD "g (float[4,32] x) => (float[4,64] y) <float[32,64] w = {";
    size_t n = strlen(text);
    static kept a, b;

    for (int i = 0; i < 32 * 64; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d.5", i > 0 ? ", " : "", i % 37 - 18);
    snprintf(text + n, sizeof text - n, "}> { y = MatMul(x, w) }");
    qdq_model *m = test_model(text);
    run_model(ort, m, NULL, &a);
    run_model(ov, m, NULL, &b);
    assert_true(sqnr_db(&a, &b) > 80);
    qdq_model_free(m);
}

TEST(element_types_come_through)
{
    static const qdq_elem types[] = {QDQ_UINT8, QDQ_INT8,    QDQ_INT32, QDQ_INT64,
                                     QDQ_BOOL,  QDQ_FLOAT16, QDQ_FLOAT};
    qdq_engine *e = need_openvino(), *ort = need_ort();
    static kept a, b;
    char text[500];

    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        const char *name = qdq_elem_name(types[i]);
        snprintf(
            text, sizeof text,
            HEAD
            "g (%s[3] x) => (float[3] f, %s[3] y) { f = Cast<to = 1>(x)\n y = Cast<to = %d>(f) }",
            name, name, (int)types[i]);
        qdq_model *m = test_model(text);
        run_model(ort, m, NULL, &a);
        run_model(e, m, NULL, &b);
        assert_int_equal(b.last.elem, types[i]);
        assert_int_equal(b.size, a.size);
        assert_memory_equal(a.bytes, b.bytes, a.size);
        qdq_model_free(m);
    }
}

TEST(inputs_keep_their_order_and_scalars_come_through)
{
    qdq_engine *e = need_openvino();
    qdq_model *m = test_graph(__func__);
    float a[2] = {5, 7}, b[2] = {1, 2}, s = 3, u = 9;
    qdq_named_array in[4] = {{"a", {QDQ_FLOAT, 1, {2}, a, 8}},
                             {"s", {QDQ_FLOAT, 0, {0}, &s, 4}},
                             {"unused", {QDQ_FLOAT, 0, {0}, &u, 4}},
                             {"b", {QDQ_FLOAT, 1, {2}, b, 8}}};
    qdq_session *session;
    static kept k;

    memset(&k, 0, sizeof k);
    assert_ok(qdq_session_open(e, m, NULL, &session, &err));
    assert_ok(qdq_session_run(session, in, 4, keep, &k, &err));
    assert_string_equal(k.names, "y;t;z;");
    assert_int_equal(k.size, 20);
    assert_true(kept_float(&k, 0) == 4 && kept_float(&k, 1) == 5 && kept_float(&k, 2) == -3);
    assert_true(kept_float(&k, 3) == 5 && kept_float(&k, 4) == 7);
    qdq_session_close(session);
    qdq_model_free(m);
}

/* --- refusals --------------------------------------------------------------------------------- */

TEST(what_it_cannot_take_has_a_reason)
{
    qdq_engine *e = need_openvino();
    qdq_model *m = test_graph(__func__);
    qdq_session *s;

    assert_fails(QDQ_E_ENGINE, "engine 'openvino': cannot ",
                 qdq_session_open(e, m, NULL, &s, &err));
    assert_non_null(strstr(err.text, "Thing"));
    assert_true(strchr(err.text, '\n') == NULL && s == NULL);
    qdq_model_free(m);
    m = test_model(HEAD "g (string[1] x) => (string[1] y) { y = Identity(x) }");
    assert_fails(QDQ_E_UNSUPPORTED, "tensor 'x' is string", qdq_session_open(e, m, NULL, &s, &err));
    qdq_model_free(m);
}

/* An If in an If in ...: `depth` bodies inside each other. */
static qdq_model *nested_ifs(int depth)
{
    static char text[20000];
    size_t n = (size_t)snprintf(text, sizeof text, HEAD "g (float[4] x, bool c) => (t0) {\n");

    for (int i = 0; i < depth; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "t%d = If <else_branch = e () => (e%d) { e%d = Neg(x) }, "
                              "then_branch = t () => (t%d) { ",
                              i, i, i, i + 1);
    n += (size_t)snprintf(text + n, sizeof text - n, "t%d = Relu(x)", depth);
    for (int i = 0; i < depth; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " }> (c)");
    snprintf(text + n, sizeof text - n, "\n}\n");
    return test_model(text);
}

/* Each level doubles the time that the library takes to compile. */
TEST(bodies_that_are_nested_too_deep_are_refused)
{
    qdq_engine *e = need_openvino();
    qdq_model *m = nested_ifs(14);
    qdq_session *s;

    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    qdq_session_close(s);
    qdq_model_free(m);
    m = nested_ifs(30);
    assert_fails(QDQ_E_UNSUPPORTED, "engine 'openvino': bodies are nested more than 14 deep",
                 qdq_session_open(e, m, NULL, &s, &err));
    qdq_model_free(m);
}

/* A compiled model with open dims would compute whatever it is given. */
TEST(shapes_that_do_not_fit_are_refused)
{
    qdq_engine *e = need_openvino();
    qdq_model *m =
        test_model(HEAD "g (float[A,4] x, float[B,4] y) => (float[C,4] z) { [sum] z = Add(x, y) }");
    float x[12] = {0};
    qdq_named_array wrong[2] = {{"x", {QDQ_FLOAT, 2, {2, 4}, x, 32}},
                                {"y", {QDQ_FLOAT, 2, {3, 4}, x, 48}}};
    qdq_named_array right[2] = {{"x", {QDQ_FLOAT, 2, {1, 4}, x, 16}},
                                {"y", {QDQ_FLOAT, 2, {3, 4}, x, 48}}};
    qdq_named_array fixed[2] = {{"x", {QDQ_FLOAT, 2, {4, 3}, x, 48}},
                                {"y", {QDQ_FLOAT, 2, {3, 4}, x, 48}}};
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model timed;
    qdq_session *s;
    static kept k;

    opts.inputs = wrong;
    opts.n_inputs = 2;
    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    /* neither is what was found out once forgotten, nor does it stay */
    for (int i = 0; i < 2; i++) {
        assert_fails(QDQ_E_ENGINE, "inputs 'x' (2x4), 'y' (3x4): do not fit the model: ",
                     qdq_session_run(s, wrong, 2, keep, &k, &err));
        assert_non_null(strstr(err.text, "'z'")); /* where */
        assert_null(strchr(err.text, '\n'));
        assert_fails(QDQ_E_ENGINE, "'x' (2x4), 'y' (3x4): do not fit",
                     qdq_bench(&s, 1, &opts, &timed, &err));
        memset(&k, 0, sizeof k);
        assert_ok(qdq_session_run(s, right, 2, keep, &k, &err));
        assert_int_equal(k.size, 48);
        assert_fails(QDQ_E_USAGE, "input 'x' has shape 4x3: expected Ax4",
                     qdq_session_run(s, fixed, 2, keep, &k, &err));
    }
    qdq_session_close(s);
    qdq_model_free(m);
}

/* --- shapes, exposed tensors ------------------------------------------------------------------ */

TEST(fixed_shapes_reach_the_engine)
{
    check_fixed_shapes(need_openvino());
}

TEST(open_dims_may_differ_from_run_to_run_and_from_what_is_timed)
{
    qdq_engine *e = need_openvino();
    qdq_model *m =
        test_model(HEAD "g (float[N,4] a, float[N,4] b) => (float[N,4] y) { y = Add(a, b) }");
    qdq_bench_model timed;
    qdq_session *s;
    static kept k;

    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    for (int64_t n = 1; n <= 3; n++) {
        float a[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, b[12] = {0};
        qdq_named_array in[2] = {{"a", {QDQ_FLOAT, 2, {n, 4}, a, (size_t)n * 16}},
                                 {"b", {QDQ_FLOAT, 2, {n, 4}, b, (size_t)n * 16}}};
        qdq_bench_opts bench = QDQ_BENCH_OPTS_INIT;
        bench.inputs = in;
        bench.n_inputs = 2;
        bench.rounds = 2;
        bench.min_sample_ms = 0.01;
        assert_ok(qdq_bench(&s, 1, &bench, &timed, &err));
        assert_true(timed.median_ms > 0);
        memset(&k, 0, sizeof k);
        assert_ok(qdq_session_run(s, in, 2, keep, &k, &err));
        assert_int_equal(k.size, n * 16);
        assert_memory_equal(k.bytes, a, k.size);
    }
    qdq_session_close(s);
    qdq_model_free(m);
}

static bool profile_has(qdq_engine *e, const qdq_model *m, const qdq_session_opts *opts,
                        const char *op)
{
    float x[12] = {0};
    const qdq_named_array in = {"x", {QDQ_FLOAT, 2, {3, 4}, x, sizeof x}};
    bool found = false;
    qdq_session *s;
    qdq_layer *l;
    size_t n;

    assert_ok(qdq_session_open(e, m, opts, &s, &err));
    assert_ok(qdq_session_profile(s, &in, 1, 2, &l, &n, &err));
    for (size_t i = 0; i < n; i++)
        found = found || strncmp(l[i].op, op, strlen(op)) == 0;
    qdq_free(l);
    qdq_session_close(s);
    return found;
}

/* With known shapes nothing is left to compute of a shape. */
TEST(open_dims_stay_open_in_what_is_timed)
{
    qdq_engine *e = need_openvino();
    qdq_model *m = test_graph(__func__);
    const qdq_input_shape shape = {.name = "x", .rank = 2, .dim = {3, 4}};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;

    opts.profile = true;
    assert_true(profile_has(e, m, &opts, "Convert"));
    opts.shapes = &shape;
    opts.n_shapes = 1;
    assert_false(profile_has(e, m, &opts, "Convert"));
    qdq_model_free(m);
}

TEST(exposed_tensors_have_the_numbers_of_onnx_runtime)
{
    qdq_engine *ov = need_openvino(), *ort = need_ort();
    qdq_model *m = need_model("digits/digits_vit.onnx");
    static const char *names[60];
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    static kept a, b;
    size_t n = 0, i = 0;
    qdq_session *s;
    qdq_io io;

    QDQ_FOR_NODES (node, m->graph)
        if (i++ % 3 == 0 && n < 20 && node->out[0]->n_output == 0)
            names[n++] = node->out[0]->name;
    names[n] = NULL;
    assert_true(n > 10);
    opts.level = QDQ_LEVEL_NONE;
    for (i = 0; i < n; i++) {
        const char *one[] = {names[i], NULL};
        opts.expose = one;
        opts.only_exposed = true;
        run_model(ort, m, &opts, &a);
        run_model(ov, m, &opts, &b);
        assert_string_equal(a.names, b.names);
        assert_int_equal(a.last.elem, b.last.elem);
        if (a.last.elem == QDQ_FLOAT)
            assert_true(sqnr_db(&a, &b) > 80);
        else
            assert_memory_equal(a.bytes, b.bytes, a.size);
    }
    opts.expose = names; /* and all at once, in order */
    opts.only_exposed = false;
    assert_ok(qdq_session_open(ov, m, &opts, &s, &err));
    for (i = 0; i <= n; i++) {
        assert_true(qdq_session_output(s, i, &io));
        assert_string_equal(io.name, i == 0 ? "logits" : names[i - 1]);
    }
    assert_false(qdq_session_output(s, n + 1, &io));
    qdq_session_close(s);
    qdq_model_free(m);
}

/* --- profile, time ---------------------------------------------------------------------------- */

TEST(the_profile_lists_executed_layers)
{
    qdq_engine *e = need_openvino();
    qdq_model *m = test_graph(__func__);

    qdq_layer *l = profile_of_two(e, m);
    assert_string_equal(l[0].layer, "first");
    assert_true(strncmp(l[0].op, "MatMul/", 7) == 0);
    assert_true(l[0].median_us >= 0);
    assert_string_equal(l[1].layer, "y"); /* what makes an output has the output's name */
    assert_true(strncmp(l[1].op, "Softmax/", 8) == 0);
    qdq_free(l);
    qdq_model_free(m);
}

static const qdq_layer *group_of(const qdq_layer *g, size_t n, const char *node)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < g[i].n_nodes; k++)
            if (strcmp(g[i].node[k], node) == 0)
                return &g[i];
    fail_msg("no layer computes %s", node);
    return NULL;
}

TEST(layers_are_told_with_the_nodes_that_they_compute)
{
    qdq_engine *e = need_openvino();
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in;
    qdq_layer *g;
    qdq_session *s;
    size_t n_in, n;
    double us = 0, known = 0;

    if ((qdq_engine_get_info(e)->capabilities & QDQ_CAN_LIST_LAYERS) == 0)
        test_missing("qdq-openvino.so");
    qdq_model *m = need_model("digits/digits_qat_bn.onnx");
    opts.layers = true;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_ok(qdq_random_inputs(s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_layers(s, in, n_in, 20, &g, &n, &err));
    assert_true(n > 5);
    for (size_t i = 0; i < n; i++) {
        assert_true(g[i].median_us >= 0 && g[i].in_type[0] != '\0');
        us += g[i].median_us;
        known +=
            /* of no node */
            g[i].n_nodes > 0 || strncmp(g[i].op, "Reorder/", 8) == 0 ? g[i].median_us : 0;
    }
    assert_true(known >= 0.98 * us);
    /* The convolution has lost its name to a pass; BatchNormalization and Relu behind it have
     * not. */
    const qdq_layer *conv = group_of(g, n, "/Relu");
    assert_non_null(strstr(conv->op, "Convolution/"));
    assert_string_equal(conv->in_type, "u8");
    assert_string_equal(conv->out_type, "f32");
    assert_ptr_equal(conv, group_of(g, n, "/b/BatchNormalization"));
    assert_ptr_equal(conv, group_of(g, n, "/c/wq/DequantizeLinear"));
    assert_int_equal(conv->source, QDQ_LAYER_SLICE);
    qdq_free(g);
    assert_fails(QDQ_E_USAGE, "not yet asked", qdq_session_layers(s, in, n_in, 5, &g, &n, &err));
    qdq_free(in);
    qdq_session_close(s);
    opts.shapes = &(qdq_input_shape){"x", 4, {1, 1, 16, 16}};
    opts.n_shapes = 1;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err)); /* without a run there are no times */
    assert_ok(qdq_session_layers(s, NULL, 0, 0, &g, &n, &err));
    assert_true(n > 5 && isnan(g[0].median_us));
    assert_non_null(strstr(group_of(g, n, "/Relu")->op, "Convolution/"));
    qdq_free(g);
    qdq_session_close(s);
    qdq_model_free(m);
}

TEST(models_are_timed_in_rounds)
{
    check_timed_in_rounds(need_openvino());
}
