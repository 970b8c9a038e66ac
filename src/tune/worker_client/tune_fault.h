/* tune_fault.h - what the words of a failed trial tell. */
#ifndef QDQ_TUNE_FAULT_H
#define QDQ_TUNE_FAULT_H

#include "qdq/status.h"

/* Begins the words of a failure of files or memory that the engine reported. */
#define QDQ_TUNE_SYSTEM "system"

/* Do these words of a failed candidate (its `why`) tell that the engine crashed, hung or ran out of
 * memory? */
bool qdq_tune_is_death(const char *why);

/* Who was at fault by these words: "model", which fails again, or "machine", on which it may work
 * another time. */
const char *qdq_tune_fault_name(const char *why);

#endif /* QDQ_TUNE_FAULT_H */
