/* sim_time.h - what a model takes by a cost model. */
#ifndef QDQ_SIM_TIME_H
#define QDQ_SIM_TIME_H

#include "support/test.h"

/* us, without noise: that is in what is measured, not in what a kernel costs. */
double test_sim_time(qdq_engine *e, const qdq_model *m);

#endif /* QDQ_SIM_TIME_H */
