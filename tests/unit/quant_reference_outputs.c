/* quant_reference_outputs.c - what is computed once for the trials of a goal: outputs of the float
 * model, and means of channels. That a model did not run is seen by an engine that fails in its
 * n-th run. */
#include "quant/compare/compare_run.h"

#include <math.h>

#include "base/file.h"
#include "qdq/qdq.h"
#include "quant/calib/calib_means.h"
#include "quant/calib/scales.h"
#include "support/test.h"

static qdq_error err;

/* --- outputs ---------------------------------------------------------------------------------- */

static const char a_float[] =
    "g (float[N,2] x) => (float[N,2] y, bool[N,2] b) { b = Greater(x, x) y = Neg(x) }";

enum { SAMPLES = 8, BYTES = SAMPLES * 2 * (sizeof(float) + 1) }; /* of y and b */

/* And when that is tried again without optimizations: the second failure did not see the first
 * one's run. */
static qdq_engine *engine_that_fails_in_run(int n)
{
    char text[300];

    snprintf(text, sizeof text,
             "{\"qdq_sim\": 1, \"error\": 0.1, \"ops\": {\"Neg\": {\"float_us\": 1, \"int8_us\": "
             "1}}, \"fail\": "
             "[{\"at\": \"run\", \"nth\": %d, \"message\": \"out of luck\"}, {\"at\": \"run\", "
             "\"nth\": %d}]}",
             n, n);
    return test_sim(text);
}

typedef struct pair {
    qdq_model *a, *b;
    qdq_data *data;
} pair;

static pair open_pair(void)
{
    pair p = {test_model(a_float), test_graph("in_codes"), NULL};

    assert_ok(qdq_data_open("random:1", p.a, NULL, &p.data, &err));
    return p;
}

static void close_pair(pair *p)
{
    qdq_data_close(p->data);
    qdq_model_free(p->a);
    qdq_model_free(p->b);
}

/* Three comparisons on an engine that fails in run n: how many of them succeed. Each says the
 * same. */
static int compare_three_times(uint64_t limit, int n, qdq_reference_outputs *kept)
{
    pair p = open_pair();
    qdq_engine *e = engine_that_fails_in_run(n);
    double sqnr = 0;
    int done = 0;

    *kept = (qdq_reference_outputs){.limit = limit};
    for (bool ok = true; ok && done < 3; done += ok) {
        qdq_compare_result *r = NULL;

        ok = qdq_compare_keeping(&(qdq_comparison){e, p.a, p.data, NULL, kept}, p.b, &r, &err) ==
             QDQ_OK;
        if (!ok) {
            assert_non_null(strstr(err.text, "out of luck"));
            continue;
        }
        assert_int_equal(r->samples, SAMPLES);
        assert_int_equal(r->n_outputs, 2);
        assert_int_equal(r->outputs[0].elements, 2 * SAMPLES);
        assert_true(r->outputs[0].sqnr_db > 0 && r->outputs[0].sqnr_db < 100);
        assert_true(done == 0 || r->outputs[0].sqnr_db == sqnr);
        sqnr = r->outputs[0].sqnr_db;
        qdq_free(r);
    }
    qdq_engine_close(e);
    close_pair(&p);
    return done;
}

/* 16 runs the first time, 8 each time after it. */
TEST(the_first_model_runs_for_the_first_comparison_only)
{
    qdq_reference_outputs kept;

    assert_int_equal(compare_three_times(BYTES, 4 * SAMPLES + 1, &kept), 3);
    assert_true(kept.is_complete && !kept.is_over);
    assert_int_equal(kept.bytes, BYTES);
    qdq_reference_outputs_free(&kept);
    assert_int_equal(compare_three_times(BYTES, 4 * SAMPLES, &kept), 2);
    qdq_reference_outputs_free(&kept);
}

/* What exceeds the limit shows after one run. */
TEST(beyond_the_limit_nothing_is_kept_and_the_first_model_runs_each_time)
{
    qdq_reference_outputs kept;

    assert_int_equal(compare_three_times(BYTES - 1, 6 * SAMPLES + 2, &kept), 3);
    assert_true(kept.is_over && !kept.is_complete);
    assert_int_equal(kept.bytes, 0);
    for (size_t i = 0; i < kept.n; i++)
        assert_true(kept.at[i].array.data == NULL && !kept.at[i].is_held);
    qdq_reference_outputs_free(&kept);
    assert_int_equal(compare_three_times(BYTES - 1, 4 * SAMPLES + 2, &kept), 2);
    qdq_reference_outputs_free(&kept);
}

TEST(what_is_kept_gives_the_numbers_of_a_plain_comparison)
{
    pair p = open_pair();
    qdq_engine *e = engine_that_fails_in_run(1000);
    qdq_compare_result *plain, *r;
    qdq_reference_outputs kept = {.limit = BYTES};

    assert_ok(qdq_compare(e, p.a, p.b, p.data, NULL, &plain, &err));
    for (int i = 0; i < 2; i++) {
        assert_ok(
            qdq_compare_keeping(&(qdq_comparison){e, p.a, p.data, NULL, &kept}, p.b, &r, &err));
        assert_true(r->outputs[0].sqnr_db == plain->outputs[0].sqnr_db);
        assert_true(r->outputs[0].cosine == plain->outputs[0].cosine);
        assert_true(r->worst_db == plain->worst_db && r->bound_db == plain->bound_db);
        qdq_free(r);
    }
    qdq_free(plain);
    qdq_reference_outputs_free(&kept);
    qdq_engine_close(e);
    close_pair(&p);
}

/* A caller's mistake is said, not read past the end. */
TEST(another_number_of_samples_is_refused)
{
    pair p = open_pair();
    qdq_engine *e = engine_that_fails_in_run(1000);
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_reference_outputs kept = {.limit = BYTES};
    qdq_compare_result *r;

    assert_ok(qdq_compare_keeping(&(qdq_comparison){e, p.a, p.data, NULL, &kept}, p.b, &r, &err));
    qdq_free(r);
    opts.count = 4;
    assert_fails(
        QDQ_E_BUG, "outputs were kept, expected",
        qdq_compare_keeping(&(qdq_comparison){e, p.a, p.data, &opts, &kept}, p.b, &r, &err));
    qdq_reference_outputs_free(&kept);
    qdq_engine_close(e);
    close_pair(&p);
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Four folds of two samples, each judged by a model of its own. */
TEST(folds_of_one_model_add_up_to_one_comparison)
{
    pair p = open_pair();
    qdq_engine *e = engine_that_fails_in_run(1000);
    qdq_compare_result *whole, *r;
    qdq_reference_outputs kept = {.limit = BYTES};

    assert_ok(qdq_compare(e, p.a, p.b, p.data, NULL, &whole, &err));
    for (int round = 0; round < 2; round++) {
        qdq_comparing *c;

        assert_ok(qdq_comparing_begin(&(qdq_comparison){e, p.a, p.data, NULL, &kept}, &c, &err));
        for (size_t fold = 4; fold-- > 0;)
            assert_ok(qdq_comparing_add(c, p.b, 2 * fold, 2, &err));
        assert_ok(qdq_comparing_get(c, &r, &err));
        assert_true(kept.is_complete);
        assert_int_equal(r->samples, SAMPLES);
        assert_true(fabs(r->worst_db - whole->worst_db) < 1e-9);
        assert_true(fabs(r->bound_db - whole->bound_db) < 1e-9);
        qdq_free(r);
        qdq_comparing_free(c);
    }
    qdq_free(whole);
    qdq_reference_outputs_free(&kept);
    qdq_engine_close(e);
    close_pair(&p);
}

TEST(folds_of_several_models_count_each_on_its_samples)
{
    pair p = open_pair();
    qdq_model *other = test_graph("in_other_codes");
    qdq_engine *e = engine_that_fails_in_run(1000);
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r, *half;
    double noise = 0, power = 0;
    qdq_comparing *c;

    opts.count = 4;
    for (int k = 0; k < 2; k++, opts.first += 4) {
        assert_ok(qdq_compare(e, p.a, k == 0 ? p.b : other, p.data, &opts, &half, &err));
        power += half->outputs[0].power;
        noise += half->outputs[0].power * pow(10, -half->outputs[0].sqnr_db / 10);
        qdq_free(half);
    }
    assert_ok(qdq_comparing_begin(&(qdq_comparison){e, p.a, p.data, NULL, NULL}, &c, &err));
    assert_ok(qdq_comparing_add(c, p.b, 0, 4, &err));
    assert_ok(qdq_comparing_add(c, other, 4, 4, &err));
    assert_ok(qdq_comparing_get(c, &r, &err));
    assert_true(fabs(r->outputs[0].sqnr_db - 10 * log10(power / noise)) < 1e-6);
    qdq_free(r);
    qdq_comparing_free(c);
    qdq_model_free(other);
    qdq_engine_close(e);
    close_pair(&p);
}

TEST(a_fold_of_wrong_samples_or_outputs_is_refused)
{
    pair p = open_pair();
    qdq_model *other = test_model("g (float[N,2] x) => (bool[N,2] b) { b = Greater(x, x) }");
    qdq_engine *e = engine_that_fails_in_run(1000);
    qdq_comparing *c;

    assert_ok(qdq_comparing_begin(&(qdq_comparison){e, p.a, p.data, NULL, NULL}, &c, &err));
    assert_ok(qdq_comparing_add(c, p.b, 0, 2, &err));
    assert_fails(QDQ_E_BUG, "sample 1 is not one that this comparison waits for",
                 qdq_comparing_add(c, p.b, 1, 2, &err));
    assert_fails(QDQ_E_BUG, "sample 8 is not one", qdq_comparing_add(c, p.b, SAMPLES, 1, &err));
    assert_fails(QDQ_E_FORMAT, "found no output 'y', which the one before it has",
                 qdq_comparing_add(c, other, 2, 2, &err));
    qdq_comparing_free(c);
    qdq_model_free(other);
    qdq_engine_close(e);
    close_pair(&p);
}

/* --- means ------------------------------------------------------------------------------------ */

typedef struct asked {
    qdq_plan *p;
    qdq_map index;
} asked;

static asked ask(const char *tensor, int axis, const char *other, int other_axis)
{
    asked a = {qdq_plan_new(), QDQ_MAP_INIT};

    assert_non_null(a.p);
    assert_true(qdq_means_want(a.p, &a.index, tensor, axis, 2, 0));
    assert_true(qdq_means_want(a.p, &a.index, other, other_axis, 2, 0));
    return a;
}

static void drop(asked *a)
{
    qdq_map_free(&a->index);
    qdq_plan_free(a->p);
}

/* A sample of 2 x 2. */
static void add(asked *a, const char *tensor, float first)
{
    float x[] = {first, 2, 3, 4};
    const qdq_array array = {
        .elem = QDQ_FLOAT, .rank = 2, .dim = {2, 2}, .data = x, .bytes = sizeof x};

    assert_ok(qdq_means_add(a->p, &a->index, tensor, 0, &array, &err));
}

TEST(means_that_were_gathered_are_given_and_stay_what_they_are)
{
    qdq_scales s = {0};

    asked first = ask("x", 1, "y", 1);
    add(&first, "x", 1);
    add(&first, "y", 5);
    assert_ok(qdq_scales_keep(&s, first.p, &err));
    drop(&first);

    asked next = ask("x", 1, "z", 1);
    assert_ok(qdq_scales_give_means(&s, next.p, &err));
    assert_false(qdq_means_missing(next.p, "x", &next.index));
    assert_true(qdq_means_missing(next.p, "z", &next.index));
    assert_false(qdq_means_missing(next.p, "nobody's", &next.index));
    add(&next, "x", 100);
    add(&next, "z", 7);
    const qdq_plan_mean *x = qdq_means_find(next.p, &next.index, "x", 1, 2);
    assert_true(x->known && x->sum[0] == 1 + 3 && x->sum[1] == 2 + 4 && x->count[0] == 2);
    const qdq_plan_mean *z = qdq_means_find(next.p, &next.index, "z", 1, 2);
    assert_true(!z->known && z->sum[0] == 7 + 3);
    assert_ok(qdq_scales_keep(&s, next.p, &err));
    drop(&next);

    asked last = ask("x", 1, "z", 1);
    assert_ok(qdq_scales_give_means(&s, last.p, &err));
    z = qdq_means_find(last.p, &last.index, "z", 1, 2);
    assert_true(z->known && z->sum[0] == 7 + 3);
    drop(&last);
    qdq_scales_free(&s);
}

TEST(means_along_another_axis_are_others)
{
    qdq_scales s = {0};

    asked first = ask("x", 1, "y", 1);
    add(&first, "x", 1);
    assert_ok(qdq_scales_keep(&s, first.p, &err));
    drop(&first);

    asked next = ask("x", 1, "x", 0);
    assert_ok(qdq_scales_give_means(&s, next.p, &err));
    assert_true(qdq_means_missing(next.p, "x", &next.index));
    add(&next, "x", 1);
    assert_true(qdq_means_find(next.p, &next.index, "x", 1, 2)->sum[0] == 1 + 3);
    assert_true(qdq_means_find(next.p, &next.index, "x", 0, 2)->sum[0] == 1 + 2);
    drop(&next);
    qdq_scales_free(&s);
}
