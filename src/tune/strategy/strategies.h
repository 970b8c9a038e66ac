/* strategies.h - which strategy a run follows. */
#ifndef QDQ_TUNE_STRATEGIES_H
#define QDQ_TUNE_STRATEGIES_H

#include "tune/state/strategy.h"

/* Tries units one after the other: until another one is chosen, and where none fits. */
extern const qdq_strategy qdq_strategy_trials;

/* Sets t->strategy: the one that users named, else the first of QDQ_TUNE_STRATEGIES that fits. */
qdq_status qdq_tune_choose_strategy(qdq_tune_state *t, qdq_error *err);

#endif /* QDQ_TUNE_STRATEGIES_H */
