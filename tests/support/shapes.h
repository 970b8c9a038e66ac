/* shapes.h - one graph in, the types of its values out. */
#ifndef QDQ_TEST_SHAPES_H
#define QDQ_TEST_SHAPES_H

#include "ir/ir.h"
#include "support/test.h"

/* "float[1,N,?]", "float" for rank 0, "float[]" where only the element type is known, "-" for
 * nothing. Static storage, four at a time. */
const char *test_type_of(const qdq_type *t);
const char *test_type(const qdq_model *m, const char *value);

#endif /* QDQ_TEST_SHAPES_H */
