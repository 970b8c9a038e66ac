/* warm.h - random worlds on the sim engine for runs that begin with what another one found out: a
 * model, what its operators cost, pattern caches that are right, and such that are wrong. */
#ifndef QDQ_WARM_H
#define QDQ_WARM_H

#include "base/random.h"
#include "support/tuned.h"

/* Two chains with side ways over rows of different number, so that equal signatures are different
 * patterns; as text. `more`: operators at the end that the same generator otherwise does not give.
 * Static storage. */
const char *test_warm_network(uint64_t seed, unsigned more);

/* What its operators cost: a spec as test_tuned_costs() gives it. */
const char *test_warm_costs(uint64_t seed, bool blind);

/* Region mode into test_path(folder), with a pattern cache or NULL, and a store or NULL. */
qdq_tune_result test_warm_run(const qdq_model *m, const char *engine, const char *cache,
                              const char *store, const char *folder);

/* us of DIR/model.onnx as an engine with profiles has it, without noise; `folder` is one of
 * test_path(). */
double test_warm_time(const char *engine, const char *folder);

/* The cache `from` with other points, placements and latencies, by chance; by_hand: nothing but
 * signatures, points and latencies is left, as people may write it. */
void test_warm_write_wrong(const char *from, const char *to, bool by_hand, uint64_t seed);

/* A world of this number: a run without a cache, and warm ones with its own cache, that of a
 * similar model, and wrong ones. Fails with the number where one of them ends below the first, or
 * its own takes too many builds. Returns the least warm / cold. */
double test_warm_world(uint64_t seed);

#endif /* QDQ_WARM_H */
