/* npy_file.c - written without the library's own code, so that reader and writer cannot share a
 * mistake. */
#include "support/npy_file.h"

#include <sys/stat.h>
#include <zip.h>

const unsigned char *test_npy(int version, const char *header, const void *data, size_t bytes,
                              size_t *size)
{
    static unsigned char *file;
    size_t start = version == 1 ? 10 : 12, length = strlen(header) + 1;

    while ((start + length) % 64 != 0)
        length++;
    free(file);
    file = malloc(start + length + bytes);
    assert_non_null(file);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[7] = 0;
    for (size_t i = 0; i < start - 8; i++)
        file[8 + i] = (unsigned char)(length >> 8 * i);
    memset(file + start, ' ', length);
    memcpy(file + start, header, strlen(header));
    file[start + length - 1] = '\n';
    if (bytes > 0)
        memcpy(file + start + length, data, bytes);
    *size = start + length + bytes;
    return file;
}

static void write_file(const char *path, const void *data, size_t size)
{
    char *slash = strrchr(path, '/');
    char folder[4096];

    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    mkdir(folder, 0700);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

const char *test_npy_file(const char *name, const char *header, const void *data, size_t bytes)
{
    const char *path = test_path("%s", name);
    size_t size;
    const unsigned char *file = test_npy(1, header, data, bytes, &size);

    write_file(path, file, size);
    return path;
}

const char *test_npz_file(const char *name, bool deflate, const test_array *arrays, size_t n)
{
    const char *path = test_path("%s", name);

    write_file(path, "", 0);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    for (size_t i = 0; i < n; i++) {
        char member[200];
        size_t size;
        const unsigned char *file =
            test_npy(1, arrays[i].header, arrays[i].data, arrays[i].bytes, &size);
        unsigned char *copy = malloc(size);

        assert_non_null(copy);
        memcpy(copy, file, size);
        snprintf(member, sizeof member, "%s.npy", arrays[i].name);
        zip_int64_t index = zip_file_add(zip, member, zip_source_buffer(zip, copy, size, 1), 0);
        assert_true(index >= 0);
        zip_set_file_compression(zip, (zip_uint64_t)index, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                                 0);
    }
    assert_int_equal(zip_close(zip), 0);
    return path;
}
