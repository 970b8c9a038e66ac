/* heads_ort.c - detectors keep what they find: boxes to 640 and scores to 1 are not joined into one
 * tensor with one scale, whose steps would be larger than every score. */
#include "base/random.h"
#include "ir/ir.h"
#include "numeric/ort_help.h"
#include "quant/plan/plan.h"
#include "support/heads.h"

enum { SAMPLES = 8 };

/* What the threshold 0.5 makes of scores, float against quantized. */
typedef struct tally {
    size_t found, lost, made_up, seen;
} tally;

typedef struct outputs {
    float *scores;
    size_t n;
    /* "scores", or "detections": there the first four of each row are a box */
    const char *name;
} outputs;

static qdq_status take(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    outputs *o = ctx;

    if (strcmp(name, o->name) != 0)
        return QDQ_OK;
    const int64_t row = a->dim[a->rank - 1], first = strcmp(name, "detections") == 0 ? 4 : 0;
    o->scores = malloc(a->bytes);
    if (o->scores == NULL)
        return qdq_nomem(err);
    for (int64_t i = 0; i < qdq_array_count(a); i++)
        if (i % row >= first)
            o->scores[o->n++] = ((const float *)a->data)[i];
    return QDQ_OK;
}

static outputs scores_of(qdq_engine *e, const qdq_model *m, const char *name, qdq_opt_level level,
                         qdq_data *d, size_t sample)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    outputs o = {.name = name};
    const qdq_named_array *in;
    qdq_session *s = NULL;
    size_t n;

    so.level = level;
    assert_ok(qdq_session_open(e, m, &so, &s, &err));
    assert_ok(qdq_data_get(d, sample, &in, &n, &err));
    assert_ok(qdq_session_run(s, in, n, take, &o, &err));
    qdq_session_close(s);
    assert_true(o.n > 0);
    return o;
}

static tally compare_heads(qdq_engine *e, const qdq_model *m, qdq_engine *on, const qdq_model *q,
                           qdq_opt_level level, const char *name, qdq_data *d)
{
    tally t = {0};

    for (size_t i = 0; i < SAMPLES; i++) {
        outputs a = scores_of(e, m, name, QDQ_LEVEL_NONE, d, i),
                b = scores_of(on, q, name, level, d, i);

        assert_int_equal(a.n, b.n);
        for (size_t k = 0; k < a.n; k++) {
            bool is_found = a.scores[k] > 0.6F, is_none = a.scores[k] < 0.4F;

            t.found += is_found;
            t.seen += is_found || is_none;
            t.lost += is_found && b.scores[k] <= 0.5F;
            t.made_up += is_none && b.scores[k] >= 0.5F;
        }
        free(a.scores);
        free(b.scores);
    }
    return t;
}

typedef struct setting {
    qdq_engine *ort;
    qdq_model *m, *q;
    qdq_plan *plan;
    qdq_data *test;
} setting;

/* `limit`: the target's key join_factor_max; NULL: as the target has it. */
static setting quantized(qdq_model *m, const char *target, const char *limit)
{
    setting s = {.ort = need_ort(), .m = m};
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    const char *calib = test_path("calib.npz"), *test = test_path("test.npz");
    qdq_target *t = NULL;
    qdq_data *d = NULL;

    assert_ok(test_head_write(m, 1, SAMPLES, calib, &err));
    assert_ok(test_head_write(m, 2, SAMPLES, test, &err));
    assert_ok(qdq_data_open(calib, m, NULL, &d, &err));
    assert_ok(qdq_data_open(test, m, NULL, &s.test, &err));
    assert_ok(qdq_target_load(target, &t, &err));
    if (limit != NULL)
        assert_ok(qdq_target_set(t, "join_factor_max", limit, &err));
    opts.cpu = QDQ_CPU_AVX512; /* neither the rules of AVX2 nor sums that saturate there */
    assert_ok(qdq_quantize(m, t, s.ort, d, &opts, &s.plan, &s.q, &err));
    assert_true(s.plan->quantized.n >= 6);
    qdq_target_free(t);
    qdq_data_close(d);
    return s;
}

static void put_away(setting *s)
{
    qdq_data_close(s->test);
    qdq_plan_free(s->plan);
    qdq_model_free(s->q);
    qdq_model_free(s->m);
}

static const char *reason_of(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->left_float.n; i++)
        if (strcmp(p->left_float.at[i].node, node) == 0)
            return p->left_float.at[i].reason;
    return "";
}

typedef qdq_model *maker(const test_head *h);

static const test_head forms[] = {{.is_apart = true}, {.is_apart = false}, {.has_reader = true}};

static void detections_are_kept(maker *make, const char *target, qdq_opt_level level)
{
    for (size_t i = 0; i < QDQ_COUNT(forms); i++) {
        setting s = quantized(make(&forms[i]), target, NULL);
        tally t = compare_heads(s.ort, s.m, s.ort, s.q, level,
                                forms[i].is_apart ? "scores" : "detections", s.test);

        assert_true(t.found > 200 && t.seen > 5 * t.found);
        if (t.lost + t.made_up > 0)
            fail_msg("%s, form %zu: of %zu found %zu are lost, and %zu are made up", target, i,
                     t.found, t.lost, t.made_up);
        put_away(&s);
    }
}

TEST(a_detector_keeps_what_it_finds_for_ort_cpu)
{
    detections_are_kept(test_detector, "ort-cpu", QDQ_LEVEL_ALL);
    detections_are_kept(test_detr, "ort-cpu", QDQ_LEVEL_ALL);
}

TEST(a_detector_keeps_what_it_finds_for_openvino)
{
    detections_are_kept(test_detector, "openvino", QDQ_LEVEL_NONE);
    detections_are_kept(test_detr, "openvino", QDQ_LEVEL_NONE);
}

TEST(a_detector_keeps_what_it_finds_for_tensorrt)
{
    detections_are_kept(test_detector, "tensorrt", QDQ_LEVEL_NONE);
    detections_are_kept(test_detr, "tensorrt", QDQ_LEVEL_NONE);
}

/* The defect, as it was: one scale for boxes and scores loses every score. */
TEST(without_the_limit_every_score_is_lost)
{
    setting s = quantized(test_detector(&forms[2]), "ort-cpu", "0");
    tally t = compare_heads(s.ort, s.m, s.ort, s.q, QDQ_LEVEL_ALL, "detections", s.test);

    assert_int_equal(t.lost, t.found);
    put_away(&s);
}

TEST(the_plan_says_which_ranges_are_too_far_apart)
{
    setting s = quantized(test_detector(&forms[2]), "ort-cpu", NULL);

    assert_non_null(strstr(reason_of(s.plan, "p3.all"), "joins ranges that differ by "));
    assert_non_null(strstr(reason_of(s.plan, "p3.all"), "'p3.boxes', 'p3.scores'"));
    assert_non_null(
        strstr(reason_of(s.plan, "embedding"), "it would read 'detections' as quantized values"));
    put_away(&s);
}

TEST(ranges_that_are_close_are_joined)
{
    static const test_head close = {.pixels = 4, .has_reader = true};

    setting s = quantized(test_detector(&close), "ort-cpu", NULL);

    assert_string_equal(reason_of(s.plan, "p3.all"), "");
    assert_string_equal(reason_of(s.plan, "detections"), "");
    put_away(&s);
}

/* Places do not depend on random numbers: they say nothing about ranges. */
TEST(random_data_keep_nothing_apart)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = NULL;
    qdq_model *m = test_detector(&forms[2]);

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_quantize(m, t, need_ort(), NULL, NULL, &plan, NULL, &err));
    assert_string_equal(reason_of(plan, "p3.all"), "");
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(m);
}
