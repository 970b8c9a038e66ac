/* suggest.c - finds the known word that is closest to an unknown one. */
#include "base/suggest.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define LONGEST_WORD 160

/* Edits (insert, drop, replace, swap of neighbours) that lead from a to b. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][LONGEST_WORD + 1];

    for (size_t j = 0; j <= nb; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[na % 3][nb];
}

/* "tensor" is rather tensorrt than tensorrt-fp8. */
static bool is_nearer_end(const char *word, const char *name, const char *found)
{
    return found != NULL && strncmp(word, name, strlen(word)) == 0 && strlen(name) < strlen(found);
}

/* At least `limit`, if they are not nearer. */
static size_t distance(const char *word, size_t length, const char *name, size_t limit)
{
    size_t size = strlen(name);
    size_t shared = length < size ? length : size;

    if (strcasecmp(word, name) == 0)
        return 0;
    if (shared >= 3 && strncmp(word, name, shared) == 0)
        return 1; /* --calibration for --calib, --ext for --external-data */
    if (length > LONGEST_WORD || size > LONGEST_WORD || length - shared + size - shared >= limit)
        return limit;
    return edit_distance(word, length, name, size);
}

const char *qdq_suggest(const char *word, const char *const *names, size_t n)
{
    size_t length = strlen(word);
    size_t best = length < 2 ? 1 : length < 4 ? 2 : 3; /* three slips are another word */
    const char *found = NULL;

    for (size_t i = 0; i < n && length > 0; i++) {
        size_t d = distance(word, length, names[i], best);

        if (d < best || (d == best && is_nearer_end(word, names[i], found))) {
            best = d;
            found = names[i];
        }
    }
    return found;
}
