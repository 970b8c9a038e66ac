/* find_library.h - the shared library of an engine: looked for, loaded, and what is wrong with one.
 * What the engines that are loaded at run time share. */
#ifndef QDQ_FIND_LIBRARY_H
#define QDQ_FIND_LIBRARY_H

#include "qdq/engine.h"

/* QDQ_E_ENGINE says what is wrong with the file; *handle goes to dlclose(). A name without a slash
 * is looked for where the loader does. */
qdq_status qdq_library_open(const char *path, void **handle, qdq_error *err);

typedef struct qdq_library_search {
    /* this file and no other; NULL: look for it */
    const char *named;
    /* ends with NULL; or NULL */
    const char *const *search_dirs;
    /* ends in ".so": "STEM", "STEM.1", "STEM.1.31.1", the newest first */
    const char *stem;
    /* names for the loader's own path, after that; ends with NULL */
    const char *const *plain;
    /* "no ENGINE library was found: ADVICE" */
    const char *engine, *advice;
    /* Loads a file and proves that it is what it should be. */
    qdq_status (*load)(void *api, const char *path, qdq_error *err);
    void *api;
} qdq_library_search;

/* The first that loads: of the named folders, of those next to this library (lib/qdq), of the
 * loader's path. QDQ_E_ENGINE otherwise, with the reason why not the newest, where there was any;
 * QDQ_E_IO where no file can be opened. */
qdq_status qdq_library_find(const qdq_library_search *s, qdq_error *err);

/* Texts of engines have several lines, and ends of all kinds: they become one line. `size` bytes at
 * most. */
void qdq_engine_one_line(char *to, size_t size, const char *from);

#endif /* QDQ_FIND_LIBRARY_H */
