/* tune_strategies.c - the list of strategies that users can name, and a strategy that finds
 * nothing. The program is linked with a switch in front of the choice of a strategy. */
#include "support/tuned.h"

#include "tune/strategy/strategies.h"

#define STRATEGY(MEMBER, NAME) extern const qdq_strategy qdq_strategy_##NAME;
QDQ_TUNE_STRATEGIES(STRATEGY)
#undef STRATEGY

TEST(a_strategy_reports_the_name_that_users_give)
{
#define STRATEGY(MEMBER, NAME) assert_string_equal(qdq_strategy_##NAME.name, #NAME);
    QDQ_TUNE_STRATEGIES(STRATEGY)
#undef STRATEGY
}

/* --- a strategy that leaves the result empty -------------------------------------------------- */

static bool searches_nothing;

static qdq_status search_nothing(qdq_tune_state *t, qdq_error *e)
{
    (void)t;
    (void)e;
    return QDQ_OK;
}

static const qdq_strategy nothing = {.name = "nothing", .run = search_nothing};

qdq_status __real_qdq_tune_choose_strategy(qdq_tune_state *t, qdq_error *e);
qdq_status __wrap_qdq_tune_choose_strategy(qdq_tune_state *t, qdq_error *e);

qdq_status __wrap_qdq_tune_choose_strategy(qdq_tune_state *t, qdq_error *e)
{
    QDQ_TRY(__real_qdq_tune_choose_strategy(t, e));
    if (searches_nothing)
        t->strategy = &nothing;
    return QDQ_OK;
}

static qdq_tune_result tune_without_search(const char *folder, qdq_tune_mode mode,
                                           const char *costs)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(costs, NULL));

    o.mode = mode;
    searches_nothing = true;
    const qdq_tune_result r = test_tuned_result(test_tuned, folder, &o);
    searches_nothing = false;
    return r;
}

static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};

/* QDQ_TUNED: single edges of another target's rules, which are tried after the strategy. */
TEST(a_strategy_that_finds_nothing_leaves_the_rules_plan)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("rules%zu", i);
        const qdq_tune_result r = tune_without_search(
            folder, modes[i], "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30}");
        assert_true(r.verdict == QDQ_TUNED_RULES || r.verdict == QDQ_TUNED);
        assert_true(r.speedup > 1 && test_tuned_quantizes(folder, "MatMul", "h1"));
        assert_true(test_tuned_exists(folder, "report.html"));
    }
}

TEST(a_strategy_that_finds_nothing_leaves_float_where_the_rules_are_slower)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("float%zu", i);
        const qdq_tune_result r = tune_without_search(
            folder, modes[i], "\"MatMul\": {\"float_us\": 100, \"int8_us\": 110}");
        assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
        assert_string_equal(r.why, "nothing was faster");
        assert_true(test_tuned_exists(folder, "report.html"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strategy_reports_the_name_that_users_give),
        cmocka_unit_test(a_strategy_that_finds_nothing_leaves_the_rules_plan),
        cmocka_unit_test(a_strategy_that_finds_nothing_leaves_float_where_the_rules_are_slower),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
