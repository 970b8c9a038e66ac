/* text.h - the text form, for people and tests: ONNX's own textual syntax (onnx/docs/Syntax.md). */
#ifndef QDQ_TEXT_H
#define QDQ_TEXT_H

#include "base/buf.h"
#include "ir/ir.h"

/* Initializers of at most `max_elements` are printed with their data, larger ones as "..." (which
 * the parser refuses, by name). Types of intermediate values are printed as comments only with
 * `with_types`. */
typedef struct qdq_text_opts {
    /* 0: the default, 64; -1: all */
    int64_t max_elements;
    bool with_types;
} qdq_text_opts;

qdq_status qdq_text_print(const qdq_model *m, const qdq_text_opts *opts, qdq_buf *out,
                          qdq_error *err);

/* A model header in <...> is optional: without one, IR 9 and opset 17 hold. `name` stands for the
 * file in messages, which carry line and column. */
qdq_status qdq_text_parse(const char *text, size_t size, const char *name, qdq_model **out,
                          qdq_error *err);

#endif /* QDQ_TEXT_H */
