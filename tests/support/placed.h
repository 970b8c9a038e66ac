/* placed.h - placement of a graph made in code, as text that tests can compare. */
#ifndef QDQ_TEST_PLACED_H
#define QDQ_TEST_PLACED_H

#include "quant/place/place.h"
#include "support/build.h"

/* A target as it is on processors with VNNI, whatever runs the test; qdq_target_free(). */
qdq_target *test_target(const char *name);

/* One line for each node but Q and DQ: "c1: QDQ(r0) QW(c1.w) QB(c1.b)". What the plan puts into 8
 * bits stands in brackets. */
typedef struct test_placed {
    qdq_model *m;
    qdq_plan *plan;
    char *text;
} test_placed;

/* The lines; qdq_free(). */
char *test_describe_placement(const qdq_model *m, const qdq_plan *p);

/* Takes the model over. */
test_placed test_place_on(test_builder *b, const char *target, const qdq_place_opts *opts);
/* The same on ort-cpu. */
test_placed test_place_with(test_builder *b, const qdq_place_opts *opts);
test_placed test_place(test_builder *b);
void test_placed_free(test_placed p);

/* Does the plan list the node as quantized? */
bool test_is_quantized(const qdq_plan *p, const char *node);

/* Why the plan leaves a node float. */
const char *test_reason(const qdq_plan *p, const char *node);

/* The plan of the rules for a model, with scales that a calibration could have given; and the plan
 * inserted into a copy. */
qdq_plan *test_plan_by_rules(const qdq_model *m);
qdq_model *test_inserted(const qdq_model *m, const qdq_plan *p);

/* x -> Conv c0 -> Relu r0 -> Conv c1, and a float constant without dimensions. */
test_builder test_two_convs(void);
void test_scalar(test_builder *b, const char *name, float x);

/* The text of a plan without what an ONNX file does not hold, rule and origin above all, for
 * qdq_free(). The plan loses it. */
char *test_plan_essence(qdq_plan *p);

/* The plan as text, read and applied again to m, gives the model q: the same text. */
void test_assert_plan_replays(const qdq_plan *p, const qdq_model *m, const qdq_model *q);

#endif /* QDQ_TEST_PLACED_H */
