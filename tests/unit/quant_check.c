/* quant_check.c - kinds of findings. Each with a model that has it, and one that has not, is in
 * text/findings; with an engine: numeric/check_ort.c. */
#include "support/test.h"

TEST(kinds_have_names_and_help)
{
    const char *help = NULL;
    size_t n = 0;

    while (qdq_check_kind(n, &help) != NULL && help != NULL)
        n++;
    assert_int_equal(n, 23);
    assert_null(help);
}
