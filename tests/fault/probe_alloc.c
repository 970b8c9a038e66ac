/* probe_alloc.c - allocations fail while probes become models and targets (each of them), and while
 * they are measured (a sample): an error, no crash, no leak, nothing given that is not whole. The
 * worker is another program, which has memory. */
#include "support/alloc_fail.h"

#include "base/fail.h"
#include "base/json.h"
#include "qdq/probe.h"
#include "tune/probe/probe_model.h"
#include "tune/probe/probe_target.h"

#ifdef QDQ_ARENA_MALLOC
enum { SAMPLES = 12 };
#else
enum { SAMPLES = 60 };
#endif

static qdq_target *load(void)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_ok(qdq_target_load(QDQ_SOURCE_DIR "/tests/cli/fixtures/probes.json", &t, &err));
    return t;
}

static qdq_status make_models(void *ctx, qdq_error *err)
{
    const qdq_target *t = ctx;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < t->probes.n && st == QDQ_OK; i++) {
        qdq_model *m = NULL;

        st = qdq_probe_make_model(&t->probes.at[i], &t->probes.at[i].size[0], 1, &m, err);
        assert_true((st == QDQ_OK) == (m != NULL));
        qdq_model_free(m);
    }
    return st;
}

static qdq_status make_sides(void *ctx, qdq_error *err)
{
    const qdq_target *t = ctx;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < t->probes.n * 2 && st == QDQ_OK; i++) {
        qdq_target *side = NULL;

        st = qdq_probe_side(t, &t->probes.at[i / 2], i % 2 == 1, &side, err);
        assert_true((st == QDQ_OK) == (side != NULL));
        qdq_target_free(side);
    }
    return st;
}

static qdq_status change(json_t *root, const qdq_target *t, qdq_arena *arena, qdq_error *err)
{
    const qdq_probe *p = &t->probes.at[t->probes.n - 1];
    const qdq_measured m = {QDQ_RULE_PAYS,      0.5, 0.4, 0.6, "ort", "1", "A",
                            "out_channels_max", 8,   ""};

    if (qdq_probe_key(root, p, arena) == NULL ||
        qdq_probe_value_now(root, p, "out_channels_max", arena) == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_probe_apply_threshold(root, p, 8, err));
    QDQ_TRY(qdq_probe_put_figures(root, p, &m, 1, err));
    return qdq_probe_apply(root, p, false, err);
}

static qdq_status change_target(void *ctx, qdq_error *err)
{
    const qdq_target *t = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    json_t *root = NULL;
    qdq_status st = qdq_json_parse(t->text, strlen(t->text), "t", &root, err);

    if (st == QDQ_OK)
        st = change(root, t, &arena, err);
    json_decref(root);
    qdq_arena_free(&arena);
    return st;
}

typedef struct world {
    const qdq_target *t;
    const char *spec;
} world;

static qdq_status measure(void *ctx, qdq_error *err)
{
    const world *w = ctx;
    qdq_engine_opts eo = QDQ_ENGINE_OPTS_INIT;
    qdq_probe_opts o = QDQ_PROBE_OPTS_INIT;
    qdq_probe_report *report = NULL;
    qdq_target *out = NULL;

    eo.worker = QDQ_BUILD_DIR "/qdq-worker";
    o.engine = w->spec;
    o.engine_opts = &eo;
    qdq_status st = qdq_target_measure(w->t, &o, &out, &report, err);
    assert_true((st == QDQ_OK) == (out != NULL) && (out != NULL) == (report != NULL));
    if (st == QDQ_OK)
        assert_int_equal(report->n, w->t->probes.n);
    qdq_free(report);
    qdq_target_free(out);
    return st;
}

TEST(probes_become_models_and_targets_without_memory)
{
    qdq_target *t = load();

    assert_true(test_every_alloc_fails(make_models, t) > 20);
    assert_true(test_every_alloc_fails(make_sides, t) > 20);
    assert_true(test_every_alloc_fails(change_target, t) > 0);
    qdq_target_free(t);
}

TEST(rules_are_measured_without_memory)
{
    static const char costs[] = "{\"qdq_sim\": 1, \"noise\": 0.01, \"default\": {\"float_us\": "
                                "10}, \"convert\": {\"float_us\": 1}, "
                                "\"ops\": {\"Conv\": {\"float_us\": 10, \"float_us_per_k\": 50, "
                                "\"int8_us\": 50, \"int8_us_per_k\": "
                                "1}}}";
    qdq_target *t = load();
    world w = {.t = t, .spec = test_sim_spec(costs)};

    assert_true(test_some_allocs_fail(measure, &w, SAMPLES) > 200);
    qdq_target_free(t);
}
