/* remote_profile.h - the layers of a profile as JSON: a list of rows [name, op, us, runs], texts as
 * qdq_remote_text() has them. */
#ifndef QDQ_REMOTE_PROFILE_H
#define QDQ_REMOTE_PROFILE_H

#include "base/json_read.h"
#include "qdq/engine.h"

/* NULL: no memory. */
json_t *qdq_remote_profile_json(const qdq_group *l, size_t n);

/* In one block, as qdq_session_profile() gives them: qdq_free(). QDQ_E_FORMAT: that is no such
 * list. */
qdq_status qdq_remote_profile_read(const json_t *list, qdq_group **out, size_t *n, qdq_error *err);

#endif /* QDQ_REMOTE_PROFILE_H */
