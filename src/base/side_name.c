/* side_name.c - makes and recognizes the names of external data files. */
#include "base/side_name.h"

#include <string.h>

const char *qdq_side_digits(const char *name, size_t *model)
{
    static const char end[] = ".data";
    const size_t tail = 1 + QDQ_SIDE_DIGITS + sizeof end - 1, size = strlen(name);

    if (size <= tail)
        return NULL;
    const char *digits = name + size - tail + 1;
    if (digits[-1] != '.' || strspn(digits, "0123456789abcdef") != QDQ_SIDE_DIGITS ||
        strcmp(digits + QDQ_SIDE_DIGITS, end) != 0)
        return NULL;
    if (model != NULL)
        *model = size - tail;
    return digits;
}

bool qdq_side_is_of(const char *name, const char *model)
{
    size_t size;

    return qdq_side_digits(name, &size) != NULL && strlen(model) == size &&
           strncmp(name, model, size) == 0;
}

const char *qdq_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}
