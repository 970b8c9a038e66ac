/* folded.h - constant folding of a model in text form, and what it refused. */
#ifndef QDQ_TEST_FOLDED_H
#define QDQ_TEST_FOLDED_H

#include "ir/ir.h"
#include "support/test.h"

/* What tests of folding run, where their options name no passes. */
#define TEST_FOLD_PASSES "lift-constants,fold-constants,drop-unused"

/* The model behind the passes of opts, checked after each; *report may be NULL.
 * qdq_model_free(). */
qdq_model *test_folded(const char *text, qdq_optimize_opts opts, qdq_optimize_report **report);

/* It becomes `expected`, and stays that. */
void test_folds_to_with(const char *text, const char *expected, qdq_optimize_opts opts);
void test_folds_to(const char *text, const char *expected);

/* The one candidate is refused for this. */
void test_fold_refused(const char *text, qdq_optimize_opts opts, const char *reason);

/* Nodes of an operator, bodies included. */
size_t test_count_op(const qdq_model *m, qdq_op op);

#endif /* QDQ_TEST_FOLDED_H */
