/* quarantine.c - renames files without overwriting, and moves foreign files out of the way. */
#include "base/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"

enum { MOST_KEPT = 1000 };

int qdq_rename_new(int dir, const char *from, const char *to)
{
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(dir, from, dir, to, 0) != 0)
        return -1;
    return unlinkat(dir, from, 0);
}

/* NULL: out of memory. */
static char *name_kept(const char *path, const char *end, int number)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(&b, "%s.%s", path, end);
    if (number > 1)
        qdq_buf_printf(&b, "%d", number);
    return qdq_buf_take(&b);
}

qdq_status qdq_set_aside(const char *path, const char *end, char **kept, qdq_error *err)
{
    int reason = EEXIST;

    if (kept != NULL)
        *kept = NULL;
    for (int i = 1; i <= MOST_KEPT && reason == EEXIST; i++) {
        char *name = name_kept(path, end, i);
        QDQ_NEED(name != NULL, err);
        reason = qdq_rename_new(AT_FDCWD, path, name) == 0 ? 0 : errno;
        if (reason == 0 && kept != NULL)
            *kept = name;
        else
            qdq_free(name);
    }
    return reason == 0 ? QDQ_OK
                       : qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot be kept as %s.%s", path,
                                        path, end);
}
