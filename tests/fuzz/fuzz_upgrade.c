/* fuzz_upgrade.c - raises models of hostile text to opset 13, then 22. A sound model must stay
 * sound, and a refusal must leave what it was. */
#include <stdlib.h>
#include <string.h>

#include "ir/graph_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const qdq_model *m)
{
    char *text = NULL;

    if (qdq_model_to_text(m, &text, NULL) != QDQ_OK)
        return NULL;
    return text;
}

static void raise_to(qdq_model *m, int opset)
{
    qdq_error err = QDQ_ERROR_INIT;
    bool was_sound = qdq_model_verify(m, NULL) == QDQ_OK;
    char *before = text_of(m), *after = NULL;

    if (qdq_model_set_opset(m, opset, &err) != QDQ_OK) {
        after = text_of(m);
        if (before != NULL && after != NULL && strcmp(before, after) != 0)
            abort();
    } else if (was_sound && qdq_model_verify(m, &err) != QDQ_OK) {
        abort();
    }
    qdq_free(before);
    qdq_free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_model *m = NULL;
    char *text = malloc(size + 1);

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (strlen(text) == size && qdq_model_from_text(text, "fuzz", &m, NULL) == QDQ_OK) {
        raise_to(m, 13);
        raise_to(m, 22);
    }
    qdq_model_free(m);
    free(text);
    return 0;
}
