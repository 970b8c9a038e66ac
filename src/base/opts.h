/* opts.h - option structs of callers that may be compiled against another release: they begin with
 * `size_t size`, sizeof of the struct as the caller knows it, and members are only ever appended.
 */
#ifndef QDQ_OPTS_H
#define QDQ_OPTS_H

#include "qdq/status.h"

/* Reads `from` (NULL: no options) into *to, which holds the defaults in `known` bytes. Members that
 * the caller lacks keep their defaults. QDQ_E_USAGE, which names `type`: the caller sets a member
 * that is unknown here, or `size` is none. */
qdq_status qdq_opts_read(const char *type, void *to, size_t known, const void *from,
                         qdq_error *err);

/* The job of a caller: all zero for NULL, and members that the caller lacks are zero. */
qdq_job qdq_job_copy(const qdq_job *job);
const qdq_cancel *qdq_job_cancel(const qdq_job *job);

#endif /* QDQ_OPTS_H */
