/* check_side.c - files of external data whose name says what is in them (base/side_name.h). */
#include "ir/checker.h"

#include <string.h>

#include "base/sha256.h"
#include "base/side_name.h"

static void check_file(qdq_checker *c, const qdq_mapping *map)
{
    const char *path = qdq_mapping_path(map);
    const char *digits = path != NULL ? qdq_side_digits(qdq_base_name(path), NULL) : NULL;
    char digest[33];
    uint64_t size;
    qdq_error err = QDQ_ERROR_INIT;

    if (digits == NULL)
        return;
    const char *name = qdq_base_name(path);
    if (qdq_sha256_file(qdq_mapping_fd(map), name, NULL, digest, &size, &err) != QDQ_OK)
        qdq_check_report(c, true, "external data '%s'", err.text);
    else if (strncmp(digest, digits, QDQ_SIDE_DIGITS) != 0)
        qdq_check_report(
            c, true,
            "external data '%s': its content has the hash %.16s, expected the one in its name",
            name, digest);
}

void qdq_check_side_files(qdq_checker *c)
{
    for (size_t i = 0; i < c->m->mappings.n; i++)
        check_file(c, c->m->mappings.at[i]);
}
