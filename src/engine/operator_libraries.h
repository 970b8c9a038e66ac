/* operator_libraries.h - libraries with operators of users' own (qdq_engine_opts.plugins). Who
 * loads them does so by absolute path, because a name without a slash would be looked for
 * elsewhere; and times depend on what is in them. */
#ifndef QDQ_OPERATOR_LIBRARIES_H
#define QDQ_OPERATOR_LIBRARIES_H

#include "base/arena.h"
#include "qdq/status.h"

/* `files` ends with NULL, or is NULL: none. *paths ends with NULL. *text, for fingerprints: ";
 * libmy.so 1f2e3d4c5b6a" for each, by a hash of its bytes; "" without any. QDQ_E_IO: one cannot be
 * read. All in the arena. */
qdq_status qdq_operator_libraries_read(const char *const *files, qdq_arena *arena,
                                       const char *const **paths, const char **text,
                                       qdq_error *err);

#endif /* QDQ_OPERATOR_LIBRARIES_H */
