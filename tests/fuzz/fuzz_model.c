/* fuzz_model.c - fuzz target: model bytes. What can be read can be checked, cloned and written;
 * what was written can be read again and gives the same bytes. */
#include "qdq/qdq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void defect(const char *what, const qdq_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

static void check(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_finding *findings = NULL;
    size_t n;

    if (qdq_model_check(m, &findings, &n, &err) != QDQ_OK)
        defect("check", &err);
    qdq_free(findings);
}

static void read_again(const void *first, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL, *clone = NULL;
    void *second = NULL;
    size_t n = 0;

    if (qdq_model_load_bytes(first, size, "written", NULL, &m, &err) != QDQ_OK)
        defect("what was written cannot be read", &err);
    if (qdq_model_clone(m, &clone, &err) != QDQ_OK)
        defect("clone", &err);
    qdq_model_free(m);
    if (qdq_model_to_bytes(clone, NULL, &second, &n, &err) != QDQ_OK)
        defect("what was read cannot be written", &err);
    if (n != size || memcmp(first, second, n) != 0)
        defect("the second writing differs from the first", &err);
    qdq_free(second);
    qdq_model_free(clone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    void *bytes = NULL;
    size_t n;

    if (qdq_model_load_bytes(data, size, "input", NULL, &m, &err) != QDQ_OK)
        return 0;
    check(m);
    if (qdq_model_to_bytes(m, NULL, &bytes, &n, &err) == QDQ_OK)
        read_again(bytes, n);
    qdq_free(bytes);
    qdq_model_free(m);
    return 0;
}
