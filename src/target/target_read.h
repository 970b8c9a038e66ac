/* target_read.h - from a parsed description to a target. */
#ifndef QDQ_TARGET_READ_H
#define QDQ_TARGET_READ_H

#include <jansson.h>

#include "target/target.h"

/* Fills t, whose text is there. `lines`: an error has its line in that text. */
qdq_status qdq_target_read(qdq_target *t, json_t *root, bool lines, qdq_error *err);

#endif /* QDQ_TARGET_READ_H */
