/* tune_progress.h - reports the progress of a run to its callbacks. */
#ifndef QDQ_TUNE_PROGRESS_H
#define QDQ_TUNE_PROGRESS_H

#include "tune/state/tune_state.h"

/* Reports the phase and the state of the run to opts->live. */
void qdq_tune_show(qdq_tune_state *t, const char *phase);

/* Logs why the fastest model is not written, and stores the reason for the report. */
void qdq_tune_log_miss(qdq_tune_state *t, const char *fmt, ...) QDQ_PRINTF(2, 3);

/* Name of a phase of the search in this mode. */
const char *qdq_tune_phase_name(const qdq_tune_state *t, qdq_search_phase phase);

/* Logs the result of a trial. */
void qdq_tune_report_step(const qdq_tune_state *t, const qdq_tune_step *s);

#endif /* QDQ_TUNE_PROGRESS_H */
