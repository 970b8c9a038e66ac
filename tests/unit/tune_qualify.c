/* tune_qualify.c - which kinds of groups are worth a trial: by what they saved, how surely, and
 * among how many. */
#include "tune/isolate/qualify.h"

#include <math.h>

#include "base/random.h"
#include "support/test.h"

enum { KINDS = 50, SAMPLES = 4, SEEDS = 200 };

static qdq_error err;

static qdq_saving saving(double mean_us, double se_us, double groups)
{
    return (qdq_saving){.mean_us = mean_us, .se_us = se_us, .groups = groups};
}

static bool qualifies(qdq_saving s, double model_us)
{
    assert_ok(qdq_savings_qualify((qdq_saving *[]){&s}, 1, model_us, &err));
    return s.qualifies;
}

TEST(what_saves_for_sure_qualifies)
{
    assert_true(qualifies(saving(10, 1, 1), 10000));
    assert_false(qualifies(saving(-10, 1, 1), 10000));
    assert_false(qualifies(saving(1, 1, 1), 10000)); /* nobody knows */
    assert_false(qualifies(saving(0, INFINITY, 1), 10000));
}

TEST(what_saves_little_counts_where_there_are_many)
{
    assert_false(qualifies(saving(4, 0.1, 1), 10000)); /* less than 0.05 % */
    assert_true(qualifies(saving(4, 0.1, 2), 10000));
}

TEST(samples_that_agree_by_chance_are_not_believed)
{
    const double us[] = {3, 3, 3};
    qdq_saving s = {.groups = 1};

    qdq_saving_of(us, 3, 6, &s);
    assert_true(fabs(s.mean_us - 3) < 1e-12 && fabs(s.se_us - 6 / sqrt(3)) < 1e-12);
    assert_false(qdq_saving_is_clear(&s, 100));
    qdq_saving_of(us, 3, 0.1, &s);
    assert_true(qdq_saving_is_clear(&s, 100));
    qdq_saving_of(us, 1, 0.1, &s); /* one sample says nothing of noise */
    assert_true(isinf(s.se_us));
    qdq_saving_of(us, 0, 0.1, &s);
    assert_true(isinf(s.se_us) && s.mean_us == 0);
}

static void measure(qdq_random *r, double saves, qdq_saving *out)
{
    double us[SAMPLES];

    for (size_t i = 0; i < SAMPLES; i++)
        us[i] = saves + (double)qdq_random_normal(r);
    out->groups = 1;
    qdq_saving_of(us, SAMPLES, 1, out);
}

/* Of 50 kinds five save something. */
TEST(of_many_that_save_nothing_few_qualify)
{
    unsigned false_ones = 0, right = 0, runs_without = 0;

    for (unsigned seed = 0; seed < SEEDS; seed++) {
        qdq_random r = qdq_random_new(seed, "qualify");
        qdq_saving s[KINDS], *all[KINDS];
        for (size_t i = 0; i < KINDS; i++) {
            measure(&r, i < 5 ? 5 : 0, &s[i]);
            all[i] = &s[i];
        }
        assert_ok(qdq_savings_qualify(all, KINDS, 100, &err));
        unsigned wrong = 0;
        for (size_t i = 0; i < KINDS; i++) {
            right += i < 5 && s[i].qualifies;
            wrong += i >= 5 && s[i].qualifies;
        }
        false_ones += wrong;
        runs_without += wrong == 0;
    }
    assert_true(right >= 5 * SEEDS * 99 / 100);
    assert_true((double)false_ones / (right + false_ones) <= 0.1); /* what was asked for */
    assert_true(runs_without >= SEEDS / 2);
}

TEST(none_at_all_is_no_mistake)
{
    assert_ok(qdq_savings_qualify(NULL, 0, 100, &err));
}
