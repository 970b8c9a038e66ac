/* find_library.h - engine libraries in folders, newest first, and what is wrong with one: what the engines that are loaded at run time share. */
#ifndef QDQ_FIND_LIBRARY_H
#define QDQ_FIND_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qdq/status.h"

/* The newest library below rank `below` (UINT64_MAX: of all) in a folder: "STEM", "STEM.1", "STEM.1.31.1", where the stem
 * ends in ".so" and the numbers make the rank. Asked again with the rank found, it gives the next older one. */
bool qdq_find_library(const char *dir, const char *stem, uint64_t below, char *path, size_t size,
                      uint64_t *rank);

/* Is the file a shared library for this machine? QDQ_E_ENGINE says what else it is: of a library for another machine the loader
 * says that there is no such file. */
qdq_status qdq_library_check(const char *path, qdq_error *err);

/* Texts of engines have several lines, and ends of all kinds: they become one line. `size` bytes at most. */
void qdq_engine_one_line(char *to, size_t size, const char *from);

#endif /* QDQ_FIND_LIBRARY_H */
