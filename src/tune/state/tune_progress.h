/* tune_progress.h - tells who watches a run how it goes. */
#ifndef QDQ_TUNE_PROGRESS_H
#define QDQ_TUNE_PROGRESS_H

#include "tune/state/tune_state.h"

/* Tells who watches. */
void qdq_tune_show(qdq_tune_state *t, const char *phase);

/* Tells why what is fastest does not ship: now, and in the report. */
void qdq_tune_log_miss(qdq_tune_state *t, const char *fmt, ...) QDQ_PRINTF(2, 3);

/* A phase of the search, as people call it in this mode. */
const char *qdq_tune_phase_name(const qdq_tune_state *t, qdq_search_phase phase);

/* Tells who wants to know more how a trial ended. */
void qdq_tune_report_step(const qdq_tune_state *t, const qdq_tune_step *s);

#endif /* QDQ_TUNE_PROGRESS_H */
