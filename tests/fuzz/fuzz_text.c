/* fuzz_text.c - models from hostile text: parse, print, parse again; a printed model prints the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "qdq/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL, *again = NULL;
    char *input = malloc(size + 1), *text = NULL, *same = NULL;

    if (input == NULL)
        return 0;
    memcpy(input, data, size);
    input[size] = '\0';
    if (qdq_model_from_text(input, "fuzz", &m, &err) == QDQ_OK &&
        qdq_model_to_text(m, &text, &err) == QDQ_OK && strstr(text, "...") == NULL) {
        if (qdq_model_from_text(text, "again", &again, &err) != QDQ_OK ||
            qdq_model_to_text(again, &same, &err) != QDQ_OK || strcmp(text, same) != 0)
            abort();
    }
    free(input);
    qdq_free(text);
    qdq_free(same);
    qdq_model_free(again);
    qdq_model_free(m);
    return 0;
}
