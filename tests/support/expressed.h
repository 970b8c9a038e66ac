/* expressed.h - placements of other tools' files in our space: imported, said edge by edge, applied
 * and imported again; and files in the style of such a tool. */
#ifndef QDQ_TEST_EXPRESSED_H
#define QDQ_TEST_EXPRESSED_H

#include "support/test.h"
#include "tune/baseline/baseline.h"

/* The plan of a file in the names of the cleaned model. *memory: what it needs. */
qdq_plan *test_import(const qdq_model *file, const qdq_model *clean, qdq_plan **memory,
                      size_t *gone);

/* What came of a file. */
typedef struct test_round_trip {
    /* entries of the imported plan */
    size_t tensors, weights;
    /* entries with other scales than the file has */
    size_t gone, scales;
    qdq_tune_not_expressed not_expressed;
    /* in what the applied plan, imported again, differs from the first one */
    qdq_tune_not_expressed again;
    size_t scales_again;
} test_round_trip;

/* Import, express, apply, import again. Takes `given` over. */
test_round_trip test_go_round(qdq_model *given, const qdq_model *file, const char *target);

/* The same; fails unless all edges, types, shared scales and scales are those of the file. */
void test_expect_same(const char *what, qdq_model *given, const qdq_model *file,
                      const char *target);

typedef struct test_style {
    const char *name, *target, *type, *store;
    int zero;
    /* "tensor" for all readers, "tensor>node:input" for one; "+": unsigned codes from 0; "=": the
       scale of the one before */
    const char *tensors;
    /* "weight>node:axis", axis -1: one scale */
    const char *weights;
} test_style;

/* The file that a tool of this style would write of the model. */
qdq_model *test_write_style(const qdq_model *of, const test_style *s);

#endif /* QDQ_TEST_EXPRESSED_H */
