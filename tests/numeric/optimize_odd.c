/* optimize_odd.c - odd models compute on the engine what they did, whatever passes ran. */
#include "ort_help.h"
#include "support/odd_models.h"

static void check(qdq_engine *e, const test_odd_model *odd, const char *passes, const qdq_target *t)
{
    static kept before, after;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(odd->text);

    so.level = QDQ_LEVEL_NONE;
    run_model(e, m, &so, &before);
    opts.passes = passes;
    opts.target = t;
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    run_model(e, m, &so, &after);
    if (strcmp(before.names, after.names) != 0 || before.size != after.size ||
        memcmp(before.bytes, after.bytes, before.size) != 0)
        fail_msg("%s, %s: other outputs", odd->name, passes);
    qdq_model_free(m);
}

TEST(odd_models_compute_what_they_did)
{
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    for (size_t i = 0; i < test_n_odd_models; i++) {
        if (!test_odd_models[i].runs)
            continue;
        check(e, &test_odd_models[i], "default", NULL);
        check(e, &test_odd_models[i], "default", t);
        check(e, &test_odd_models[i], "quantize", t);
    }
    qdq_target_free(t);
}
