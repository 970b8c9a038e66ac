/* quarantine.h - renames that overwrite nothing; and files that are in the way, preserved under
 * another name. */
#ifndef QDQ_QUARANTINE_H
#define QDQ_QUARANTINE_H

#include "qdq/status.h"

/* Both names are in the folder that is open as `dir`, or AT_FDCWD. -1: errno says why, EEXIST that
 * `to` is there. */
int qdq_rename_new(int dir, const char *from, const char *to);

/* "PATH" becomes "PATH.END", or "PATH.END2", ... where files have been kept before. `end`: "bad"
 * for a file that cannot be read, "old" for one that belongs to something else. *kept, if it is not
 * NULL, is what it is called now: qdq_free(). QDQ_E_IO: it stays where it is. */
qdq_status qdq_set_aside(const char *path, const char *end, char **kept, qdq_error *err);

#endif /* QDQ_QUARANTINE_H */
