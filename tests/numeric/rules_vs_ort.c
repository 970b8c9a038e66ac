/* rules_vs_ort.c - the rules of `default` keep the numbers of models (rules_help.h). */
#include "numeric/rules_help.h"
#include "support/rule_cases.h"

static void rewritten_models_keep_their_numbers(void **state)
{
    qdq_engine *e = need_ort();

    (void)state;
    for (size_t i = 0; e != NULL && i < QDQ_COUNT(rule_cases); i++)
        assert_rewrite_keeps_numbers(e, &rule_cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewritten_models_keep_their_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
