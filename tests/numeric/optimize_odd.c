/* optimize_odd.c - odd models compute on the engine what they did, whatever passes ran. */
#include "ort_help.h"
#include "support/text_case.h"

typedef struct place {
    qdq_engine *e;
    qdq_target *t;
} place;

static void check(qdq_engine *e, const text_case *odd, const char *passes, const qdq_target *t)
{
    static kept before, after;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(odd->before);

    so.level = QDQ_LEVEL_NONE;
    run_model(e, m, &so, &before);
    opts.passes = passes;
    opts.target = t;
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    run_model(e, m, &so, &after);
    if (strcmp(before.names, after.names) != 0 || before.size != after.size ||
        memcmp(before.bytes, after.bytes, before.size) != 0)
        fail_msg("%s, %s: other outputs", odd->before, passes);
    qdq_model_free(m);
}

static void check_all(void *ctx, const text_case *odd)
{
    const place *p = ctx;

    if (strcmp(odd->arg, "ort") != 0)
        return;
    check(p->e, odd, "default", NULL);
    check(p->e, odd, "default", p->t);
    check(p->e, odd, "quantize", p->t);
}

TEST(odd_models_compute_what_they_did)
{
    qdq_error err = QDQ_ERROR_INIT;
    place p = {.e = need_ort()};

    assert_ok(qdq_target_load("ort-cpu", &p.t, &err));
    text_each("odd/*.txt", check_all, &p);
    qdq_target_free(p.t);
}
