/* npy_file.h - .npy and .npz files for tests, sound or broken. */
#ifndef QDQ_TEST_NPY_FILE_H
#define QDQ_TEST_NPY_FILE_H

#include "support/test.h"

typedef struct test_array {
    /* in the archive */
    const char *name;
    /* "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}" */
    const char *header;
    const void *data;
    size_t bytes;
} test_array;

/* The bytes of a .npy file of the given version; static storage until the next call. */
const unsigned char *test_npy(int version, const char *header, const void *data, size_t bytes,
                              size_t *size);

/* A file below test_dir(); its path lives as long as that of test_path(). */
const char *test_npy_file(const char *name, const char *header, const void *data, size_t bytes);
const char *test_npz_file(const char *name, bool deflate, const test_array *arrays, size_t n);

/* A header of C order. */
#define TEST_HEADER(descr, shape)                                                                  \
    "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape ", }"

#endif /* QDQ_TEST_NPY_FILE_H */
