/* engine_ort.c - ONNX Runtime through our binding: runs, shapes, exposed tensors, profile, log,
 * time. */
#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "ir/edit.h"
#include "numeric/engine_cases.h"
#include "numeric/ort_help.h"
#include "support/test.h"

static qdq_error err;

/* --- runs ------------------------------------------------------------------------------------- */

TEST(the_engine_says_what_it_is)
{
    const qdq_engine_info *info = qdq_engine_get_info(need_ort());

    assert_string_equal(info->name, "ort");
    assert_true(strncmp(info->version, "1.", 2) == 0);
    assert_true(info->library[0] != '\0');
    assert_true(info->max_opset >= 19 && info->max_ir >= 9);
    assert_int_equal(info->capabilities & QDQ_CAN_TIME, QDQ_CAN_TIME);
    assert_true((info->capabilities & QDQ_RUNS_AS_WRITTEN) != 0);
}

TEST(corpus_models_run_and_repeat)
{
    static const char *const models[] = {"digits/digits_cnn.onnx",      "digits/digits_cnn_bn.onnx",
                                         "digits/digits_convnext.onnx", "digits/digits_vit.onnx",
                                         "digits/digits_qat_bn.onnx",   "real/mnist.onnx"};
    qdq_engine *e = need_ort();
    static kept a, b;

    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = need_model(models[i]);
        run_model(e, m, NULL, &a);
        run_model(e, m, NULL, &b);
        assert_int_equal(a.size, 10 * sizeof(float));
        assert_memory_equal(a.bytes, b.bytes, a.size);
        for (int k = 0; k < 10; k++)
            assert_true(isfinite(kept_float(&a, k)));
        qdq_model_free(m);
    }
}

TEST(several_engines_live_beside_each_other)
{
    qdq_engine *first = need_ort(), *second = NULL;
    static kept a, b;

    assert_ok(qdq_engine_open(ort_spec(first), NULL, &second, &err));
    qdq_model *m = test_model(HEAD "g (float[2] x) => (float[2] y) { y = Relu(x) }");
    run_model(second, m, NULL, &a);
    qdq_engine_close(second);
    run_model(first, m, NULL, &b); /* the environment that both share is still there */
    assert_memory_equal(a.bytes, b.bytes, 8);
    qdq_model_free(m);
}

/* ONNX Runtime refuses a file with such names; exporters write them. */
TEST(nodes_that_share_a_name_run)
{
    qdq_engine *e = need_ort();
    qdq_model *m =
        test_model(HEAD "g (float[2] x) => (float[2] y) { [n] h = Relu(x) [n] y = Neg(h) }");
    static kept a;

    run_model(e, m, NULL, &a);
    assert_int_equal(a.size, 2 * sizeof(float));
    assert_true(kept_float(&a, 0) <= 0 && kept_float(&a, 1) <= 0);
    qdq_model_free(m);
}

TEST(threads_do_not_change_the_result_much)
{
    qdq_engine *e = need_ort();
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_model *m = need_model("digits/digits_cnn.onnx");
    static kept a, b;

    run_model(e, m, &opts, &a);
    opts.threads = 2;
    run_model(e, m, &opts, &b);
    for (int i = 0; i < 10; i++)
        assert_true(fabsf(kept_float(&a, i) - kept_float(&b, i)) < 1e-4f);
    qdq_model_free(m);
}

TEST(all_element_types_come_through)
{
    static const qdq_elem types[] = {QDQ_UINT8,  QDQ_INT8,   QDQ_UINT16,  QDQ_INT16,
                                     QDQ_INT32,  QDQ_INT64,  QDQ_BOOL,    QDQ_DOUBLE,
                                     QDQ_UINT32, QDQ_UINT64, QDQ_FLOAT16, QDQ_BFLOAT16};
    qdq_engine *e = need_ort();
    static kept k;
    char text[500];

    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        const char *name = qdq_elem_name(types[i]);
        snprintf(
            text, sizeof text,
            HEAD
            "g (%s[3] x) => (float[3] f, %s[3] y) { f = Cast<to = 1>(x)\n y = Cast<to = %d>(f) }",
            name, name, (int)types[i]);
        qdq_model *m = test_model(text);
        run_model(e, m, NULL, &k);
        assert_int_equal(k.last.elem, types[i]);
        assert_int_equal(k.size, 12 + qdq_elem_bits(types[i]) / 8 * 3);
        qdq_model_free(m);
    }
}

/* Types of less than a byte: packed, and of other numbers than ONNX's behind 23. */
TEST(narrow_types_come_through_packed)
{
    static const struct {
        const char *type;
        qdq_elem elem;
        int ir, opset;
        unsigned since;
        /* of 5 elements */
        size_t bytes;
    } types[] = {{"float8e4m3fn", QDQ_FLOAT8E4M3FN, 9, 19, 16, 5},
                 {"int4", QDQ_INT4, 10, 21, 19, 3},
                 {"uint4", QDQ_UINT4, 10, 21, 19, 3},
                 {"int2", QDQ_INT2, 13, 25, 30, 2},
                 {"uint2", QDQ_UINT2, 13, 25, 30, 2}};
    qdq_engine *e = need_ort();
    static kept k;
    char text[500];

    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        if (ort_minor(e) < types[i].since)
            continue;
        snprintf(text, sizeof text,
                 "<ir_version: %d, opset_import: [\"\" : %d]>\n"
                 "g (float[5] x) => (%s[5] y) <float s = {1}, %s z = {0}> { y = QuantizeLinear(x, "
                 "s, z) }",
                 types[i].ir, types[i].opset, types[i].type, types[i].type);
        qdq_model *m = test_model(text);
        run_model(e, m, NULL, &k);
        assert_int_equal(k.last.elem, types[i].elem);
        assert_int_equal(k.size, types[i].bytes);
        qdq_model_free(m);
    }
}

TEST(empty_tensors_and_scalars_come_through)
{
    qdq_engine *e = need_ort();
    qdq_model *m = test_graph(__func__);
    float s = 3;
    qdq_named_array in[2] = {{"x", {QDQ_FLOAT, 1, {0}, NULL, 0}},
                             {"s", {QDQ_FLOAT, 0, {0}, &s, 4}}};
    qdq_session *session;
    static kept k;

    memset(&k, 0, sizeof k);
    assert_ok(qdq_session_open(e, m, NULL, &session, &err));
    assert_ok(qdq_session_run(session, in, 2, keep, &k, &err));
    assert_string_equal(k.names, "y;t;");
    assert_int_equal(k.size, 4);
    assert_int_equal(k.last.rank, 0);
    assert_true(kept_float(&k, 0) == -3);
    qdq_session_close(session);
    qdq_model_free(m);
}

TEST(strings_and_sequences_are_refused_by_name)
{
    qdq_engine *e = need_ort();
    qdq_model *m = test_model(HEAD "g (string[1] x) => (string[1] y) { y = Identity(x) }");
    char data[16] = {0};
    qdq_named_array in = {"x", {QDQ_STRING, 1, {1}, data, sizeof data}};
    qdq_named_array *random;
    qdq_session *s;
    size_t n;

    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "input 'x' is of strings",
                 qdq_session_run(s, &in, 1, keep, NULL, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "input 'x' is of strings",
                 qdq_random_inputs(s, 1, &random, &n, &err));
    qdq_session_close(s);
    qdq_model_free(m);

    m = test_model(HEAD "g (float[1] x) => (seq(float[1]) y) { y = SequenceConstruct(x, x) }");
    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    assert_ok(qdq_random_inputs(s, 1, &random, &n, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "output 'y' is not a tensor",
                 qdq_session_run(s, random, n, keep, NULL, &err));
    qdq_bench_model timed; /* but it can be timed */
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    opts.rounds = 2;
    opts.min_sample_ms = 0.01;
    assert_ok(qdq_bench(&s, 1, &opts, &timed, &err));
    assert_true(timed.median_ms > 0);
    qdq_free(random);
    qdq_session_close(s);
    qdq_model_free(m);
}

TEST(a_model_that_declares_an_output_with_the_wrong_rank_can_be_timed)
{
    qdq_engine *e = need_ort();
    qdq_model *m =
        test_model(HEAD "g (float[4] x, int64[k] to) => (float[1,m] y) { y = Reshape(x, to) }");
    float x[4] = {1, 2, 3, 4};
    int64_t to[3] = {2, 1, 2};
    qdq_named_array in[2] = {{"x", {QDQ_FLOAT, 1, {4}, x, sizeof x}},
                             {"to", {QDQ_INT64, 1, {3}, to, sizeof to}}};
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model timed;
    qdq_session *s;

    opts.rounds = 2;
    opts.min_sample_ms = 0.01;
    opts.inputs = in;
    opts.n_inputs = 2;
    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    assert_ok(qdq_bench(&s, 1, &opts, &timed, &err));
    assert_true(timed.median_ms > 0);
    qdq_session_close(s);
    qdq_model_free(m);
}

TEST(what_cannot_be_loaded_has_the_engines_reason)
{
    qdq_engine *e = need_ort();
    qdq_model *m = test_graph(__func__);
    qdq_session *s;

    assert_fails(QDQ_E_ENGINE,
                 "engine 'ort': cannot load the model: ", qdq_session_open(e, m, NULL, &s, &err));
    assert_non_null(strstr(err.text, "Thing"));
    assert_null(s);
    qdq_model_free(m);
}

TEST(a_run_that_fails_has_the_engines_reason)
{
    qdq_engine *e = need_ort();
    qdq_model *m = test_model(
        HEAD "g (float[4] x, int64[2] shape) => (float[A,B] y) { y = Reshape(x, shape) }");
    float x[4] = {0};
    int64_t shape[2] = {3, 3};
    qdq_named_array in[2] = {{"x", {QDQ_FLOAT, 1, {4}, x, sizeof x}},
                             {"shape", {QDQ_INT64, 1, {2}, shape, sizeof shape}}};
    qdq_session *s;

    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    assert_fails(QDQ_E_ENGINE, "run: ", qdq_session_run(s, in, 2, keep, NULL, &err));
    qdq_session_close(s);
    qdq_model_free(m);
}

/* --- shapes and outputs ----------------------------------------------------------------------- */

TEST(fixed_shapes_reach_the_engine)
{
    check_fixed_shapes(need_ort());
}

/* Outputs without a type are accepted, and reported with the inferred one. */
TEST(every_tensor_of_a_model_can_be_exposed_without_a_type)
{
    qdq_engine *e = need_ort();
    qdq_model *m = need_model("digits/digits_vit.onnx");
    static const char *names[2000];
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_session *s;
    size_t n = 0;
    qdq_io io;

    QDQ_FOR_NODES (node, m->graph)
        for (uint32_t i = 0; i < node->n_out && n < QDQ_COUNT(names) - 1; i++)
            if (node->out[i] != NULL && node->out[i]->n_output == 0)
                names[n++] = node->out[i]->name;
    names[n] = NULL;
    assert_true(n > 50);
    opts.expose = names;
    opts.level = QDQ_LEVEL_NONE;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    for (size_t i = 0; i <= n; i++) {
        assert_true(qdq_session_output(s, i, &io));
        assert_true(io.elem != QDQ_UNDEFINED);
        if (i > 0)
            assert_string_equal(io.name, names[i - 1]);
    }
    assert_false(qdq_session_output(s, n + 1, &io));
    qdq_session_close(s);
    qdq_model_free(m);
}

/* Calibration sees the tensors of the very network that runs without exposed ones. */
TEST(exposing_does_not_change_the_models_output)
{
    qdq_engine *e = need_ort();
    qdq_model *m = need_model("digits/digits_cnn.onnx");
    const qdq_node *node = m->graph->end.next;
    const char *const names[] = {node->out[0]->name, node->next->next->out[0]->name, NULL};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    static kept a, b;

    opts.level = QDQ_LEVEL_NONE;
    run_model(e, m, &opts, &a);
    opts.expose = names;
    run_model(e, m, &opts, &b);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    assert_true(b.size > a.size);
    assert_non_null(strstr(b.names, names[0]));
    opts.only_exposed = true;
    run_model(e, m, &opts, &a);
    assert_null(strstr(a.names, "logits"));
    assert_memory_equal(a.bytes, b.bytes + 40, a.size);
    qdq_model_free(m);
}

/* --- log, profile, time ----------------------------------------------------------------------- */

static void remember_log(void *ctx, qdq_log_level level, const char *text)
{
    if (level == QDQ_LOG_WARNING && strstr(text, "onnxruntime: ") == text)
        snprintf(ctx, 1000, "%s", text);
}

TEST(warnings_of_the_engine_arrive_at_the_job)
{
    qdq_engine *shared = need_ort(), *e = NULL;
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_named_array *in;
    qdq_session *s;
    char seen[1000] = "";
    size_t n;

    if (ort_minor(shared) < 17)
        skip();
    job.log = remember_log;
    job.ctx = seen;
    opts.job = &job;
    assert_ok(qdq_engine_open(ort_spec(shared), &opts, &e, &err));
    /* The declared shape is wrong, which only a run can show. */
    qdq_model *m =
        test_model(HEAD "g (float[N] x, int64[1] s) => (float[7] y) { y = Reshape(x, s) }");
    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    assert_ok(qdq_random_inputs(s, 3, &in, &n, &err));
    *(int64_t *)in[1].array.data = 1;
    assert_ok(qdq_session_run(s, in, n, NULL, NULL, &err));
    assert_non_null(strstr(seen, "shape"));
    qdq_free(in);
    qdq_session_close(s);
    qdq_model_free(m);
    qdq_engine_close(e);
}

TEST(the_profile_lists_kernels_under_their_nodes_names)
{
    qdq_engine *e = need_ort();
    qdq_model *m = test_graph(__func__);

    /* ONNX Runtime does not escape names in the file. */
    m->graph->end.next->name = qdq_intern(m, "say \"first\" \\ \n now");
    qdq_layer *l = profile_of_two(e, m);
    assert_string_equal(l[0].layer, "say \"first\" \\ \n now");
    assert_string_equal(l[0].op, "MatMul");
    assert_true(l[0].median_us > 0);
    assert_string_equal(l[1].layer, "second");
    assert_string_equal(l[1].op, "Softmax");
    qdq_free(l);
    qdq_model_free(m);
}

TEST(a_profile_leaves_no_file_behind)
{
    qdq_engine_opts engine_opts = QDQ_ENGINE_OPTS_INIT;
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = NULL;
    qdq_tempdir *dir;
    qdq_session *s;

    assert_ok(qdq_tempdir_new(test_dir(), &dir, &err));
    engine_opts.temp_dir = qdq_tempdir_path(dir);
    assert_ok(qdq_engine_open(ort_spec(need_ort()), &engine_opts, &e, &err));
    qdq_model *m = test_model(HEAD "g (float[2] x) => (float[2] y) { y = Relu(x) }");
    opts.profile = true;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    qdq_session_close(s); /* ONNX Runtime writes its file when the session ends */
    assert_int_equal(rmdir(qdq_tempdir_path(dir)), 0);
    qdq_tempdir_free(dir);
    qdq_model_free(m);
    qdq_engine_close(e);
}

TEST(models_are_timed_in_rounds)
{
    check_timed_in_rounds(need_ort());
}
