/* find_library.c - looks through folders for engine libraries, and at what such a file is. Knows no
 * engine. */
#include "engine/find_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

/* --- what a file is --------------------------------------------------------------------------- */

static qdq_status read_head(const char *path, Elf64_Ehdr *head, qdq_error *err)
{
    FILE *f = fopen(path, "rb");

    if (f == NULL)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: cannot be opened: expected a shared library", path);
    size_t n = fread(head, 1, sizeof *head, f);
    fclose(f);
    if (n < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: is not a shared library", path);
    return QDQ_OK;
}

/* Is it a shared library for this machine? Of one for another machine the loader says that there is
 * no such file. */
static qdq_status check_file(const char *path, qdq_error *err)
{
    Elf64_Ehdr mine, head;

    QDQ_TRY(read_head(path, &head, err));
    QDQ_TRY(read_head("/proc/self/exe", &mine, err));
    if (head.e_ident[EI_CLASS] != mine.e_ident[EI_CLASS] ||
        head.e_ident[EI_DATA] != mine.e_ident[EI_DATA] || head.e_machine != mine.e_machine)
        return qdq_fail(
            err, QDQ_E_ENGINE,
            "%s: is for another machine (ELF class %d, machine %d): expected class %d, machine %d",
            path, head.e_ident[EI_CLASS], head.e_machine, mine.e_ident[EI_CLASS], mine.e_machine);
    return QDQ_OK;
}

qdq_status qdq_library_open(const char *path, void **handle, qdq_error *err)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (*handle != NULL)
        return QDQ_OK;
    const char *why = dlerror();
    if (access(path, F_OK) == 0)
        QDQ_TRY(check_file(path, err));
    /* The loader's text begins with the file's name. */
    return qdq_fail(err, QDQ_E_ENGINE, "cannot load %s", why != NULL ? why : path);
}

/* --- looking for one -------------------------------------------------------------------------- */

/* "1.31.1" of "libonnxruntime.so.1.31.1" as one number; plain ".so" is lowest. False: another
 * file. */
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

/* The newest library below rank `below` (UINT64_MAX: of all) in a folder. */
static bool find_newest(const char *dir, const char *stem, uint64_t below, char path[PATH_MAX],
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
        int n = snprintf(path, PATH_MAX, "%s/%s", dir, e->d_name);
        if (n < 0 || n >= PATH_MAX)
            continue;
        *rank = r;
        found = true;
    }
    closedir(d);
    return found;
}

typedef struct looking {
    const qdq_library_search *s;
    /* of the first that was there and could not be used */
    qdq_error why;
    bool refused;
} looking;

static void refuse(looking *l, const qdq_error *why)
{
    if (!l->refused)
        l->why = *why;
    l->refused = true;
}

static bool load_from_folder(looking *l, const char *dir)
{
    uint64_t below = UINT64_MAX;
    char path[PATH_MAX];

    while (find_newest(dir, l->s->stem, below, path, &below)) {
        qdq_error why = QDQ_ERROR_INIT;
        if (l->s->load(l->s->api, path, &why) == QDQ_OK)
            return true;
        refuse(l, &why);
    }
    return false;
}

/* That a bare name is not in the loader's path says nothing; an unusable library there does. */
static bool load_plain(looking *l, const char *name)
{
    qdq_error why = QDQ_ERROR_INIT;

    if (l->s->load(l->s->api, name, &why) == QDQ_OK)
        return true;
    if (strncmp(why.text, "cannot load", 11) != 0)
        refuse(l, &why);
    return false;
}

/* Folders by the library that this code is in: where installation puts engines (lib/qdq), itself,
 * and where set-up unpacks them in a build tree. */
static bool load_beside(looking *l)
{
    static const char *const beside[] = {"/qdq", "/qdq/openvino", "", "/ort", "/openvino"};
    static const char here = 0; /* an address in this library */
    Dl_info self;
    char dir[PATH_MAX];

    if (dladdr(&here, &self) == 0 || self.dli_fname == NULL)
        return false;
    const char *slash = strrchr(self.dli_fname, '/');
    for (size_t i = 0; slash != NULL && i < QDQ_COUNT(beside); i++) {
        int n = snprintf(dir, sizeof dir, "%.*s%s", (int)(slash - self.dli_fname), self.dli_fname,
                         beside[i]);
        if (n > 0 && (size_t)n < sizeof dir && load_from_folder(l, dir))
            return true;
    }
    return false;
}

/* EMFILE or ENFILE; 0: files can be opened. */
static int lack_of_descriptors(void)
{
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int reason = fd < 0 ? errno : 0;

    if (fd >= 0)
        close(fd);
    return reason == EMFILE || reason == ENFILE ? reason : 0;
}

qdq_status qdq_library_find(const qdq_library_search *s, qdq_error *err)
{
    looking l = {.s = s, .why = QDQ_ERROR_INIT};

    if (s->named != NULL)
        return s->load(s->api, s->named, err);
    for (size_t i = 0; s->search_dirs != NULL && s->search_dirs[i] != NULL; i++)
        if (load_from_folder(&l, s->search_dirs[i]))
            return QDQ_OK;
    if (load_beside(&l))
        return QDQ_OK;
    for (size_t i = 0; s->plain[i] != NULL; i++)
        if (load_plain(&l, s->plain[i]))
            return QDQ_OK;
    const int reason = lack_of_descriptors();
    if (reason != 0)
        return qdq_fail_errno(err, QDQ_E_IO, reason, "cannot look for a library of %s", s->engine);
    return qdq_fail(err, QDQ_E_ENGINE, "no %s library was found%s%s%s: %s", s->engine,
                    l.refused ? " (" : "", l.refused ? l.why.text : "", l.refused ? ")" : "",
                    s->advice);
}

/* --- what they say ---------------------------------------------------------------------------- */

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
