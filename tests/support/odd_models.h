/* odd_models.h - models that are sound, but that hardly anybody would write. */
#ifndef QDQ_TEST_ODD_MODELS_H
#define QDQ_TEST_ODD_MODELS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct test_odd_model {
    const char *name;
    /* ONNX Runtime opens it and computes what ONNX says */
    bool runs;
    const char *text;
} test_odd_model;

extern const test_odd_model test_odd_models[];
extern const size_t test_n_odd_models;

#endif /* QDQ_TEST_ODD_MODELS_H */
