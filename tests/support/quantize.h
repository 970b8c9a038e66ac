/* quantize.h - the whole way of quantization as one call, for tests that let its allocations
 * fail. */
#ifndef QDQ_TEST_QUANTIZE_H
#define QDQ_TEST_QUANTIZE_H

#include "qdq/status.h"
#include "qdq/quant.h"

/* Loads the model, plans for ort-cpu on the simulated engine with this cost model, prints the plan,
 * applies it, imports the result. Frees all that it made. */
qdq_status test_quantize_on_sim(const char *model, const char *cost, qdq_error *err);
/* The same for a target that is there. */
qdq_status test_quantize_for_on_sim(const char *model, const char *cost, const qdq_target *t,
                                    qdq_error *err);
/* The same for one that leaves float16 where nothing is quantized, and once more as a copy widened
 * to float32. */
qdq_status test_quantize_half_on_sim(const char *model, const char *cost, const qdq_target *t,
                                     qdq_error *err);

/* ort-cpu with a key changed (NULL: as it is), fitted to processors with VNNI: to load and fit it
 * is most of the work in quantizing a small model, which need not be done again for every
 * allocation. */
qdq_target *test_fitted_target(const char *model, const char *key, const char *value);

/* Quantizes under a goal that only a float model reaches, so that layers go back, and writes the
 * report beside the cost model. */
qdq_status test_quantize_goal_on_sim(const char *model, const char *cost, qdq_error *err);

#endif /* QDQ_TEST_QUANTIZE_H */
