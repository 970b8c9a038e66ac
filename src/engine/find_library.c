/* find_library.c - looks through folders for engine libraries, and at what such a file is. Loads none, and knows no engine. */
#include "engine/find_library.h"

#include <dirent.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

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

/* --- what a file is ---------------------------------------------------------------------------------------------------- */

static qdq_status read_head(const char *path, Elf64_Ehdr *head, qdq_error *err)
{
    FILE *f = fopen(path, "rb");

    if (f == NULL)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: cannot be opened: expected a shared library", path);
    size_t n = fread(head, 1, sizeof *head, f);
    fclose(f);
    if (n < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: is no shared library", path);
    return QDQ_OK;
}

qdq_status qdq_library_check(const char *path, qdq_error *err)
{
    Elf64_Ehdr mine, head;

    QDQ_TRY(read_head(path, &head, err));
    QDQ_TRY(read_head("/proc/self/exe", &mine, err));
    if (head.e_ident[EI_CLASS] != mine.e_ident[EI_CLASS] || head.e_ident[EI_DATA] != mine.e_ident[EI_DATA] ||
        head.e_machine != mine.e_machine)
        return qdq_fail(
            err, QDQ_E_ENGINE,
            "%s: is for another machine (ELF class %d, machine %d): expected class %d, machine %d", path,
            head.e_ident[EI_CLASS], head.e_machine, mine.e_ident[EI_CLASS], mine.e_machine);
    return QDQ_OK;
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
