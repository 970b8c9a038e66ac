/* quant_verify_judge.c - the verdict on outputs whose slices are given: which slices are refused,
 * which prove nothing, and what is said of outputs that were not compared. */
#include <math.h>

#include "base/random.h"
#include "quant/check/verify_state.h"
#include "support/test.h"

enum { SLICES = 4, LENGTH = 100, COUNT = SLICES * LENGTH };

static qdq_error err;

/* Of slice k: what it holds is normal(0, size[k]); noise[k] is added to the original for the
 * reference, and more[k] to that for the engine, as shares of size[k]. */
typedef struct given {
    double size[SLICES], noise[SLICES], more[SLICES];
} given;

static void fill(float *to, const float *from, const double *size, const double *share,
                 qdq_random *r)
{
    for (int i = 0; i < COUNT; i++)
        to[i] = (from != NULL ? from[i] : 0) +
                (float)(size[i / LENGTH] * (share != NULL ? share[i / LENGTH] : 1)) *
                    qdq_random_normal(r);
}

static void make(const given *g, qdq_verify_tensor *t)
{
    static float original[COUNT], reference[COUNT], engine[COUNT];
    qdq_random r = qdq_random_new(1, "x");
    qdq_array a = {
        .elem = QDQ_FLOAT, .rank = 3, .dim = {1, SLICES, LENGTH}, .bytes = sizeof original};
    qdq_array b = a, c = a;

    fill(original, NULL, g->size, NULL, &r);
    fill(reference, original, g->size, g->noise, &r);
    fill(engine, reference, g->size, g->more, &r);
    a.data = original;
    b.data = reference;
    c.data = engine;
    *t = (qdq_verify_tensor){.name = "y", .is_compared = true};
    assert_ok(qdq_slices_add(&t->same, 0, 1, &b, &c, &err));
    assert_ok(qdq_slices_add(&t->of_reference, 0, 1, &a, &b, &err));
    assert_ok(qdq_slices_add(&t->of_engine, 0, 1, &a, &c, &err));
}

static qdq_verify_result evaluate_all(qdq_verify_tensor *t, size_t n)
{
    static qdq_verifying v; /* has the texts */
    qdq_verify_result r;

    v = (qdq_verifying){.output = t, .n_outputs = n, .out = &r};
    qdq_verify_begin(&v);
    qdq_verify_decide(&v);
    for (size_t i = 0; i < n; i++) {
        qdq_slices_free(&t[i].same);
        qdq_slices_free(&t[i].of_reference);
        qdq_slices_free(&t[i].of_engine);
    }
    return r;
}

static qdq_verify_result verify_given(given g)
{
    qdq_verify_tensor t;

    make(&g, &t);
    return evaluate_all(&t, 1);
}

/* Ranges of neighbours differ by more than 8: each slice is a group. */
#define APART                                                                                      \
    {                                                                                              \
        1, 100, 1, 100                                                                             \
    }
#define ALIKE                                                                                      \
    {                                                                                              \
        1, 1, 1, 1                                                                                 \
    }

TEST(a_slice_is_compared_with_the_same_slice_of_the_reference)
{
    /* The first one has 10 dB as the graph is written: no excuse for the second one, which falls
     * from 40 to 20. */
    const qdq_verify_result r =
        verify_given((given){APART, {0.3, 0.01, 0.01, 0.01}, {0, 0.1, 0, 0}});
    assert_int_equal(r.verdict, QDQ_VERIFY_WRONG);
    assert_int_equal(r.axis, 1);
    assert_int_equal(r.index, 1);
    assert_true(fabs(r.reference_db - 40) < 1 && fabs(r.engine_db - 20) < 1);
    assert_int_equal(verify_given((given){APART, {0.3, 0.01, 0.01, 0.01}, {0, 0.01, 0, 0}}).verdict,
                     QDQ_VERIFY_RIGHT);
}

TEST(a_slice_that_is_near_the_original_by_chance_is_no_measure)
{
    /* Of one group, whose other slices have 20 dB: the engine's 23 in the lucky one are no loss. */
    const qdq_verify_result r =
        verify_given((given){ALIKE, {0.1, 0.1, 0.001, 0.1}, {0.05, 0.05, 0.05, 0.05}});
    assert_int_equal(r.verdict, QDQ_VERIFY_RIGHT);
    assert_string_equal(r.not_compared, "");
}

/* Sample after sample into one tensor. */
static void add(const given *g, size_t sample, qdq_verify_tensor *t)
{
    qdq_verify_tensor one;

    make(g, &one);
    for (int k = 0; k < 3; k++) {
        qdq_slices *from = k == 0   ? &one.same
                           : k == 1 ? &one.of_reference
                                    : &one.of_engine,
                   *to = k == 0   ? &t->same
                         : k == 1 ? &t->of_reference
                                  : &t->of_engine;

        if (sample == 0) {
            *to = *from;
            continue;
        }
        to->block[sample] = from->block[0];
        from->block[0] = NULL;
        qdq_slices_free(from);
    }
    t->name = "y";
    t->is_compared = true;
}

TEST(a_loss_in_one_sample_alone_is_chance)
{
    const given good = {ALIKE, {0.01, 0.01, 0.01, 0.01}, {0, 0, 0, 0}},
                bad = {ALIKE, {0.01, 0.01, 0.01, 0.01}, {0.1, 0.1, 0.1, 0.1}};
    qdq_verify_tensor t = {.name = NULL};

    for (size_t i = 0; i < 4; i++)
        add(i == 2 ? &bad : &good, i, &t);
    assert_int_equal(evaluate_all(&t, 1).verdict, QDQ_VERIFY_RIGHT);
    t = (qdq_verify_tensor){.name = NULL};
    for (size_t i = 0; i < 4; i++)
        add(i >= 2 ? &bad : &good, i, &t);
    assert_int_equal(evaluate_all(&t, 1).verdict, QDQ_VERIFY_WRONG);
}

TEST(slices_where_the_reference_is_noise_prove_nothing)
{
    /* 3 dB as the graph is written, and 3 dB from that on the engine: as two right engines may be
     * apart. */
    qdq_verify_result r = verify_given((given){APART, {0.01, 0.7, 0.01, 0.01}, {0, 0.7, 0, 0}});
    assert_int_equal(r.verdict, QDQ_VERIFY_RIGHT);
    assert_true(r.index != 1);
    assert_non_null(
        strstr(r.not_compared, "output 'y': in slices where the graph as it is written has "));
    /* Twelve times that: worse than the plan explains. */
    r = verify_given((given){APART, {0.01, 0.7, 0.01, 0.01}, {0, 2.8, 0, 0}});
    assert_int_equal(r.verdict, QDQ_VERIFY_WRONG);
    assert_int_equal(r.index, 1);
    /* Nothing else is left: no verdict. */
    r = verify_given((given){ALIKE, {0.7, 0.7, 0.7, 0.7}, {0.7, 0.7, 0.7, 0.7}});
    assert_int_equal(r.verdict, QDQ_VERIFY_UNKNOWN);
    assert_non_null(
        strstr(r.why, "no output can be compared: output 'y': the graph as it is written has "));
}

TEST(less_than_10_dB_from_a_reference_of_16_is_refused)
{
    /* 20 dB; an engine that is 8 dB from it is as far from the original. */
    qdq_verify_result r = verify_given((given){ALIKE, {0.1, 0.1, 0.1, 0.1}, {0, 0.4, 0, 0}});
    assert_int_equal(r.verdict, QDQ_VERIFY_WRONG);
    assert_int_equal(r.index, 1);
    r = verify_given((given){ALIKE, {0.1, 0.1, 0.1, 0.1}, {INFINITY, 0, 0, 0}});
    assert_int_equal(r.verdict, QDQ_VERIFY_WRONG);
    assert_int_equal(r.axis, -1);
}

TEST(what_was_not_compared_is_told_output_by_output)
{
    qdq_verify_tensor t[5];

    make(&(given){ALIKE, {0.01, 0.01, 0.01, 0.01}, {0, 0, 0, 0}}, &t[0]);
    t[1] = (qdq_verify_tensor){.name = "boxes", .other_shape = true};
    t[2] =
        (qdq_verify_tensor){.name = "ids", .is_compared = true, .is_exact = true, .differs = true};
    t[3] = (qdq_verify_tensor){.name = "count", .is_compared = true, .is_exact = true};
    t[4] = (qdq_verify_tensor){.name = "text"};
    const qdq_verify_result r = evaluate_all(t, 5);
    assert_int_equal(r.verdict, QDQ_VERIFY_RIGHT);
    assert_string_equal(r.output, "y");
    assert_string_equal(
        r.not_compared,
        "output 'boxes': its shape depends on data, and is another one on the engine; "
        "output 'ids': its integers differ, and need not be values near each other; "
        "output 'text': it has no numbers");
}

TEST(integers_that_are_equal_are_right)
{
    qdq_verify_tensor t = {.name = "ids", .is_compared = true, .is_exact = true};

    assert_int_equal(evaluate_all(&t, 1).verdict, QDQ_VERIFY_RIGHT);
    t = (qdq_verify_tensor){.name = "ids", .is_compared = true, .is_exact = true, .differs = true};
    const qdq_verify_result r = evaluate_all(&t, 1);
    assert_int_equal(r.verdict, QDQ_VERIFY_UNKNOWN);
    assert_non_null(strstr(r.why, "no output can be compared: output 'ids'"));
}
