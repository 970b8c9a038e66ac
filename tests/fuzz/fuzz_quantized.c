/* fuzz_quantized.c - quantization in hostile models, text or ONNX bytes: stripped, imported,
 * checked against each target. What strip gives is sound, and float but for what is said to stay; a
 * plan prints, and applies or is refused. */
#include <stdlib.h>
#include <string.h>

#include "ir/graph_check.h"
#include "qdq/qdq.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static qdq_model *load(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    char *text = malloc(size + 1);

    if (text == NULL)
        return NULL;
    memcpy(text, data, size);
    text[size] = '\0';
    if (qdq_model_from_text(text, "fuzz", &m, &err) != QDQ_OK &&
        qdq_model_load_bytes(data, size, "fuzz", NULL, &m, &err) != QDQ_OK)
        m = NULL;
    free(text);
    return m;
}

static void check(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *name;

    for (size_t i = 0; (name = qdq_target_name(i, NULL)) != NULL; i++) {
        qdq_target *t = NULL;
        qdq_target_check *r = NULL;

        if (qdq_target_load(name, &t, &err) != QDQ_OK ||
            qdq_model_check_target(m, t, NULL, &r, &err) == QDQ_E_BUG)
            abort();
        qdq_free(r);
        qdq_target_free(t);
    }
}

static void strip_and_import(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *stripped = NULL, *again = NULL;
    qdq_plan *p = NULL;
    char *text = NULL;

    if (qdq_model_strip(m, NULL, &stripped, NULL, &err) == QDQ_OK &&
        qdq_model_verify(stripped, &err) == QDQ_E_FORMAT)
        abort();
    if (qdq_plan_import(m, NULL, &p, NULL, &err) == QDQ_OK) {
        if (qdq_plan_to_text(p, &text, &err) != QDQ_OK)
            abort();
        if (stripped != NULL && qdq_plan_apply(p, stripped, false, NULL, &again, &err) == QDQ_E_BUG)
            abort();
    }
    qdq_free(text);
    qdq_plan_free(p);
    qdq_model_free(again);
    qdq_model_free(stripped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = load(data, size);

    if (m != NULL && qdq_model_verify(m, &err) == QDQ_OK) {
        strip_and_import(m);
        check(m);
    }
    qdq_model_free(m);
    return 0;
}
