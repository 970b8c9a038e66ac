/* survive.h - sound models come through passes and pipelines sound, with the same inputs and
 * outputs, and a second run changes nothing. */
#ifndef QDQ_TEST_SURVIVE_H
#define QDQ_TEST_SURVIVE_H

#include "qdq/qdq.h"

/* The first run, and that there is nothing left for a second. The report is the first's. `name` is
 * for messages; t may be NULL. */
qdq_optimize_report *test_optimize_twice(qdq_model *m, const char *name, const char *passes,
                                         const qdq_target *t);

/* A copy of m does. */
void test_survives(const qdq_model *m, const char *name, const char *passes, const qdq_target *t);
/* Every pass, and the pipelines of all targets. */
void test_survives_all(const qdq_model *m, const char *name);

#endif /* QDQ_TEST_SURVIVE_H */
