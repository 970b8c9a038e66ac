/* text_literal.h - how names, types, numbers and attributes look in the text form. Private to
 * text_*.c. */
#ifndef QDQ_TEXT_LITERAL_H
#define QDQ_TEXT_LITERAL_H

#include "base/buf.h"
#include "ir/ir.h"

typedef struct qdq_literals {
    qdq_buf *out;
    /* decoded tensor data; emptied after each tensor */
    qdq_arena scratch;
    /* tensors with more are printed as "..." */
    int64_t max_elements;
} qdq_literals;

void qdq_print_string(qdq_buf *out, const char *s, size_t n); /* in quotes */
void qdq_print_name(qdq_buf *out, const char *name);          /* in quotes where needed */
bool qdq_is_identifier(const char *s);

/* False and nothing printed for types that the text form does not know. */
bool qdq_print_type(qdq_buf *out, const qdq_type *t);
void qdq_print_tensor_type(qdq_buf *out, const qdq_tensor *t);
qdq_status qdq_print_tensor_data(qdq_literals *l, const qdq_tensor *t, qdq_error *err);
void qdq_print_sparse_type(qdq_buf *out, const qdq_sparse *s);
qdq_status qdq_print_sparse_data(qdq_literals *l, const qdq_sparse *s, qdq_error *err);

void qdq_print_attr_start(qdq_buf *out, const qdq_attr *a); /* "axis = ", "axes: ints = " */
/* all but graphs */
qdq_status qdq_print_attr_value(qdq_literals *l, const qdq_attr *a, qdq_error *err);

#endif /* QDQ_TEXT_LITERAL_H */
