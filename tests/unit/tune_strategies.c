/* tune_strategies.c - the list of strategies that users can name. */
#include "support/test.h"

#include "tune/state/strategy.h"

#define STRATEGY(MEMBER, NAME) extern const qdq_strategy qdq_strategy_##NAME;
QDQ_TUNE_STRATEGIES(STRATEGY)
#undef STRATEGY

TEST(a_strategy_reports_the_name_that_users_give)
{
#define STRATEGY(MEMBER, NAME) assert_string_equal(qdq_strategy_##NAME.name, #NAME);
    QDQ_TUNE_STRATEGIES(STRATEGY)
#undef STRATEGY
}
