/* shapes.h - one graph in, the types of its values out. */
#ifndef QDQ_TEST_SHAPES_H
#define QDQ_TEST_SHAPES_H

#include "ir/ir.h"
#include "support/test.h"

/* "float[1,N,?]", "float" for rank 0, "float[]" where only the element type is known, "-" for
 * nothing. Static storage, four at a time. */
const char *test_type_of(const qdq_type *t);
const char *test_type(const qdq_model *m, const char *value);

/* Strict inference of `graph` (text form without header) under `opset` gives value y this type. */
void test_infers(int opset, const char *graph, const char *type);

/* Strict inference fails, and the message holds `part`; otherwise y is left unknown ("-"), with a
 * warning. */
void test_infer_fails(int opset, const char *graph, const char *part);

#endif /* QDQ_TEST_SHAPES_H */
