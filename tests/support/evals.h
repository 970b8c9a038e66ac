/* evals.h - one node computed by the evaluator, from text to text. */
#ifndef QDQ_TEST_EVALS_H
#define QDQ_TEST_EVALS_H

#include "opt/eval/eval.h"
#include "support/test.h"

/* The results are exactly this: gives(17, "float[2] a = {1, 2}", "y = Neg(a)", "float[2] y = {-1,
 * -2}"). Inputs and results are lists of initializers; `node` is one node; results that `want` does
 * not name are not looked at. */
#define gives(opset, inputs, node, want)                                                           \
    test_eval_gives(__FILE__, __LINE__, opset, inputs, node, want)

/* The node is not computed, and the reason holds `part`. */
#define refuses(opset, inputs, node, part)                                                         \
    test_eval_refuses(__FILE__, __LINE__, opset, inputs, node, part)

void test_eval_gives(const char *file, int line, int opset, const char *inputs, const char *node,
                     const char *want);
void test_eval_refuses(const char *file, int line, int opset, const char *inputs, const char *node,
                       const char *part);

/* The only node of a model whose inputs are initializers; out has room for QDQ_EVAL_OUTPUTS. */
qdq_status test_eval_model(const qdq_model *m, uint64_t max_bytes, qdq_arena *memory,
                           qdq_const *out, const char **why, qdq_error *err);

#endif /* QDQ_TEST_EVALS_H */
