/* spelled.h - LayerNormalization as exporters before opset 17 wrote it: nine nodes. */
#ifndef QDQ_TEST_SPELLED_H
#define QDQ_TEST_SPELLED_H

#include "ir/ir.h"

/* Replaces each LayerNormalization with a bias by ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div,
 * Mul and Add, the last of which has its name and result, and stamps the model with `opset`,
 * below 18. For models whose other operators mean the same there. How many there were. */
size_t test_spell_layernorms(qdq_model *m, int opset);

/* Nodes of this operator in the main graph. */
size_t test_count_nodes(const qdq_model *m, qdq_op op);

#endif /* QDQ_TEST_SPELLED_H */
