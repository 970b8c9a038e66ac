/* goals.h - quantization under a goal, on an engine whose noise is known. */
#ifndef QDQ_TEST_GOALS_H
#define QDQ_TEST_GOALS_H

#include "qdq/qdq.h"

/* Costs for the simulated engine: the SQNR falls with the number of nodes in 8 bits, and with
 * nothing else. */
extern const char test_goal_cost[];

typedef struct test_goal {
    qdq_model *m;
    qdq_engine *engine;
    /* with the whole program */
    bool is_shared;
    qdq_target *target;
    qdq_data *data;
    qdq_quantize_opts opts;
    qdq_goal_opts goal;
    qdq_plan *plan;
    qdq_model *out;
    qdq_goal_result *r;
} test_goal;

/* Eight MatMul in a chain, each wider than the one before. */
enum { TEST_GOAL_LAYERS = 8 };
qdq_model *test_goal_chain(void);

/* On random data for ort-cpu; takes the model over. `costs`: of the simulated engine. */
test_goal test_goal_begin_on(qdq_model *m, const char *costs);
/* With test_goal_cost. */
test_goal test_goal_begin(qdq_model *m);
/* On ONNX Runtime, which the test needs, with the rules of this target as they are, and with data.
 */
test_goal test_goal_begin_ort(qdq_model *m, const char *target, const char *data);
qdq_status test_goal_run(test_goal *s, qdq_error *err);
/* Frees what a run gave, so that there can be another. */
void test_goal_drop_outcome(test_goal *s);
void test_goal_end(test_goal *s);

/* Layers that went back to float. */
size_t test_goal_gone(const qdq_goal_result *r);

#endif /* QDQ_TEST_GOALS_H */
