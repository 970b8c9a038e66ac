/* find_library.c - looks through folders for engine libraries. Loads none, and knows no engine. */
#include "engine/find_library.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1.31.1" of "libonnxruntime.so.1.31.1" as one number; plain ".so" is lowest. False: another file. */
static bool library_rank(const char *name, const char *stem, uint64_t *rank)
{
    size_t n_stem = strlen(stem);
    const char *p = name + n_stem;

    if (strncmp(name, stem, n_stem) != 0 || (*p != '\0' && *p != '.'))
        return false;
    *rank = 0;
    for (int part = 0; part < 3; part++) {
        unsigned long n = 0;
        if (*p == '.') {
            char *end;
            n = strtoul(p + 1, &end, 10);
            if (end == p + 1 || n > 0xffff)
                return false;
            p = end;
            n += 1; /* ".1" is above nothing */
        }
        *rank = *rank << 20 | n;
    }
    return *p == '\0';
}

bool qdq_find_library(const char *dir, const char *stem, uint64_t below, char *path, size_t size,
                      uint64_t *rank)
{
    DIR *d = opendir(dir);
    bool found = false;

    if (d == NULL)
        return false;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        uint64_t r;
        if (!library_rank(e->d_name, stem, &r) || r >= below || (found && r <= *rank))
            continue;
        int n = snprintf(path, size, "%s/%s", dir, e->d_name);
        if (n < 0 || (size_t)n >= size)
            continue;
        *rank = r;
        found = true;
    }
    closedir(d);
    return found;
}

void qdq_engine_one_line(char *to, size_t size, const char *from)
{
    size_t n = 0;

    for (; *from != '\0' && n + 1 < size; from++) {
        bool space = (unsigned char)*from <= ' ';
        if (!space || (n > 0 && to[n - 1] != ' '))
            to[n++] = space ? ' ' : *from;
    }
    while (n > 0 && (to[n - 1] == ' ' || to[n - 1] == '.'))
        n--;
    to[n] = '\0';
}
