/* engine_lacks.c - operators that an engine has no kernel of, which passes write in others when a
 * model with them cannot be loaded. */
#include "numeric/ort_help.h"
#include "qdq/pass.h"

static qdq_error err;

/* --- Swish on ONNX Runtime -------------------------------------------------------------------- */

static void count_lowered(void *ctx, qdq_log_level level, const char *text)
{
    if (level == QDQ_LOG_WARNING && strstr(text, "no kernel of Swish") != NULL)
        ++*(int *)ctx;
}

/* 1.31.1 has no kernel for it; of opset 24 it runs the function body. */
TEST(swish_of_opset_25_runs_and_is_warned_of_once)
{
    static const char *const opset[] = {"24", "25"};
    static kept k[2];
    qdq_engine *shared = need_ort(), *e = NULL;
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    int said = 0;
    char text[600];

    if (ort_minor(shared) < 25)
        skip();
    job.log = count_lowered;
    job.ctx = &said;
    opts.job = &job;
    assert_ok(qdq_engine_open(ort_spec(shared), &opts, &e, &err));
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text,
                 "<ir_version: 11, opset_import: [\"\" : %s, \"my\" : 1]>\n"
                 "g (float[2,4] x, bool c) => (y, z) { a = Swish(x)  y = my.F <a = 1.7> (a)\n"
                 "z = If (c) <then_branch = t () => (u) { u = Swish(a) },\n"
                 "            else_branch = e () => (v) { v = Swish <alpha = 2.0> (a) }> }\n"
                 "<domain: \"my\", opset_import: [\"\" : %s]>\n"
                 "F <a> (u) => (v) { v = Swish <alpha: float = @a> (u) }",
                 opset[i], opset[i]);
        qdq_model *m = test_model(text);

        run_model(e, m, NULL, &k[i]);
        run_model(e, m, NULL, &k[i]);
        qdq_model_free(m);
    }
    assert_int_equal(said, 1);
    assert_int_equal(k[0].size, k[1].size);
    for (size_t i = 0; i < k[0].size / sizeof(float); i++)
        assert_float_equal(kept_float(&k[0], i), kept_float(&k[1], i), 1e-6F);
    qdq_engine_close(e);
}

TEST(layers_of_swish_of_opset_25_have_its_node)
{
    qdq_engine *e = need_ort();
    qdq_model *m = test_graph(__func__);
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_layer *l;
    qdq_session *s;
    size_t n, found = 0;

    if (ort_minor(e) < 25)
        skip();
    opts.layers = true;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_ok(qdq_session_layers(s, NULL, 0, 0, &l, &n, &err));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < l[i].n_nodes; k++)
            found += strcmp(l[i].node[k], "act") == 0;
    assert_true(found >= 1);
    qdq_free(l);
    qdq_session_close(s);
    qdq_model_free(m);
}

/* --- TensorScatter on OpenVINO ---------------------------------------------------------------- */

TEST(a_cache_that_is_written_in_place_is_written_otherwise_for_it)
{
    qdq_engine *ov = need_openvino(), *ort = need_ort();
    qdq_model *m = test_graph(__func__);
    static kept a, b, c;

    run_model(ort, m, NULL, &a);
    run_model(ov, m, NULL, &b);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    assert_ok(qdq_model_run_passes(m, "lower-tensorscatter", &err));
    run_model(ov, m, NULL, &c);
    assert_memory_equal(a.bytes, c.bytes, a.size);
    qdq_model_free(m);
}

TEST(a_cache_that_no_pass_can_write_otherwise_is_named)
{
    qdq_engine *ov = need_openvino();
    qdq_model *m = test_graph(__func__);
    qdq_session *s;

    assert_fails(QDQ_E_ENGINE,
                 "engine 'openvino': no kernel of TensorScatter, and pass 'lower-tensorscatter' "
                 "cannot write it in others: ",
                 qdq_session_open(ov, m, NULL, &s, &err));
    assert_null(s);
    qdq_model_free(m);
}
