/* fuzz_plan.c - plans from hostile text: parse, print, parse again; what was read must print the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "qdq/quant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL, *again = NULL;
    char *text = NULL, *same = NULL;

    if (qdq_plan_parse((const char *)data, size, "fuzz", &p, &err) != QDQ_OK)
        return 0;
    if (qdq_plan_to_text(p, &text, &err) == QDQ_OK) {
        if (qdq_plan_parse(text, strlen(text), "again", &again, &err) != QDQ_OK ||
            qdq_plan_to_text(again, &same, &err) != QDQ_OK || strcmp(text, same) != 0)
            abort();
    }
    qdq_free(text);
    qdq_free(same);
    qdq_plan_free(again);
    qdq_plan_free(p);
    return 0;
}
