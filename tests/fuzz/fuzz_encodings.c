/* fuzz_encodings.c - AIMET's encodings from hostile text: a plan, which prints and applies, or an
 * error. */
#include <stdlib.h>
#include <string.h>

#include "qdq/quant.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char model[] =
    "<ir_version: 9, opset_import: [\"\" : 17]>\n"
    "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}, float[2] b = "
    "{1, 2}> {\n"
    "  c = Conv(x, w, b)\n"
    "  y = Relu(c)\n"
    "}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL, *q = NULL;
    qdq_plan *p = NULL, *again = NULL;
    char *text = NULL;

    if (qdq_model_from_text(model, "m", &m, &err) != QDQ_OK)
        abort();
    if (qdq_plan_parse_encodings((const char *)data, size, "fuzz", m, NULL, &p, &err) == QDQ_OK) {
        if (qdq_plan_to_text(p, &text, &err) != QDQ_OK ||
            qdq_plan_parse(text, strlen(text), "again", &again, &err) != QDQ_OK)
            abort();
        if (qdq_plan_apply(p, m, false, NULL, &q, &err) == QDQ_E_BUG)
            abort();
    }
    qdq_free(text);
    qdq_model_free(q);
    qdq_plan_free(again);
    qdq_plan_free(p);
    qdq_model_free(m);
    return 0;
}
