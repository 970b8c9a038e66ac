/* text_place.h - placement and quantization of a graph of tests/text, and what the plan has. */
#ifndef QDQ_TEST_TEXT_PLACE_H
#define QDQ_TEST_TEXT_PLACE_H

#include "ir/ir.h"
#include "quant/plan/plan.h"

/* What comes out beside the graph. */
typedef struct text_result {
    /* NULL: there is none */
    qdq_plan *plan;
    /* "c0: QDQ(x) QW(w) QB(b)\n" for each node that reads quantized values */
    char *lines;
    /* "unpaired-q q, !scale d", and "4 Q and DQ, 1 in 8 bits"; NULL: none */
    char *findings, *counts;
    /* why nothing is done; NULL: it is */
    char *refusal;
    /* each after a newline */
    char warnings[1 << 12];
} text_result;

/* Adds a line to the warnings of a text_result; for jobs. */
void text_log_warning(void *ctx, qdq_log_level level, const char *text);

/* Names nodes after their first results. Values that have a type but nothing that produces them
 * become constants of random numbers. */
void text_complete(qdq_model *m);

/* Places on the first word of `arg`; the other words are options (tests/README.md). With `insert`,
 * the tensors get a range and m the Q/DQ, and a second placement must add nothing. */
qdq_status text_place(qdq_model *m, const char *arg, bool insert, text_result *out, qdq_error *err);
void text_result_free(text_result *p);

/* Of a model before and after a plan was inserted: imported, the plan is found again, and applied
 * it gives the same; stripped, the model is as before. */
void text_assert_comes_back(const qdq_model *before, const qdq_model *m, qdq_plan *p);

/* The lines of text_result. qdq_free(). */
char *text_quantized_lines(const qdq_model *m, const qdq_plan *p);

/* Why a node stays float, and how a tensor is quantized: "uint8, as r", "int8, axis 0"; "-": it is
 * not. The nodes that run in 8 bits, in the order of the graph. Valid until the next call. */
const char *text_reason(const qdq_plan *p, const char *node);
const char *text_format(const qdq_plan *p, const char *tensor);
const char *text_quantized(const qdq_plan *p);

#endif /* QDQ_TEST_TEXT_PLACE_H */
