/* base_outfile.c - files that appear whole or not at all, and private folders. */
#include "support/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sha256.h"
#include "support/disk.h"

static void assert_content(const char *path, const void *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *got = NULL;
    size_t n = 0;

    assert_ok(qdq_read_file(path, 100 << 20, &got, &n, &err));
    assert_int_equal(n, size);
    assert_memory_equal(got, data, size);
    qdq_free(got);
}

/* A folder of its own for one test, so that what is left behind can be counted. */
static const char *new_folder(const char *name)
{
    const char *path = test_path("%s", name);

    assert_int_equal(mkdir(path, 0700), 0);
    return path;
}

TEST(nothing_is_at_the_path_before_commit)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = new_folder("commit"), *path = test_path("commit/model.onnx");
    qdq_outfile *f = NULL;

    assert_ok(qdq_outfile_open(path, false, &f, &err));
    assert_ok(qdq_outfile_write(f, "weights", 7, &err));
    assert_int_equal(qdq_outfile_size(f), 7);
    assert_ok(qdq_outfile_sync(f, &err));
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(test_count_files(folder), 1); /* the temporary one, beside it */
    assert_ok(qdq_outfile_commit(f, &err));
    assert_content(path, "weights", 7);
    assert_int_equal(test_count_files(folder), 1);
}

TEST(abort_leaves_nothing)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = new_folder("abort");
    qdq_outfile *f = NULL;

    assert_ok(qdq_outfile_open(test_path("abort/x"), false, &f, &err));
    assert_ok(qdq_outfile_write(f, "abc", 3, &err));
    qdq_outfile_abort(f);
    assert_int_equal(test_count_files(folder), 0);
    qdq_outfile_abort(NULL);
}

TEST(a_cancel_flag_ends_writing_and_syncing_and_leaves_nothing)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = new_folder("cancel"), *source = test_path("cancel_source");
    static unsigned char bytes[100000];
    qdq_cancel *flag = qdq_cancel_new();
    qdq_outfile *f = NULL;
    qdq_mapping *m = NULL;
    struct iovec piece = {bytes, sizeof bytes};
    char digest[33];
    uint64_t size;

    assert_non_null(flag);
    assert_ok(qdq_write_file(source, false, bytes, sizeof bytes, &err));
    assert_ok(qdq_mapping_open(source, &m, &err));
    assert_ok(qdq_outfile_open(test_path("cancel/x"), false, &f, &err));
    qdq_outfile_end_by(f, flag);
    assert_ok(qdq_outfile_write(f, bytes, sizeof bytes, &err));
    assert_ok(qdq_outfile_write_mapping(f, m, 0, sizeof bytes, &err));
    assert_ok(qdq_outfile_sync(f, &err));
    assert_ok(qdq_sha256_file(qdq_outfile_fd(f), "x", flag, digest, &size, &err));
    assert_int_equal(size, 2 * sizeof bytes);
    qdq_cancel_set(flag);
    assert_fails(QDQ_E_INTERRUPTED, "interrupted", qdq_outfile_write(f, bytes, 1, &err));
    assert_fails(QDQ_E_INTERRUPTED, "interrupted", qdq_outfile_writev(f, &piece, 1, &err));
    assert_fails(QDQ_E_INTERRUPTED, "interrupted",
                 qdq_outfile_write_mapping(f, m, 0, sizeof bytes, &err));
    assert_fails(QDQ_E_INTERRUPTED, "interrupted", qdq_outfile_sync(f, &err));
    assert_fails(QDQ_E_INTERRUPTED, "interrupted",
                 qdq_sha256_file(qdq_outfile_fd(f), "x", flag, digest, &size, &err));
    assert_fails(QDQ_E_INTERRUPTED, "interrupted", qdq_outfile_commit(f, &err));
    assert_int_equal(test_count_files(folder), 0);
    qdq_mapping_unref(m);
    qdq_cancel_free(flag);
}

TEST(an_existing_file_is_refused_and_unharmed)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = new_folder("existing"), *path = test_path("existing/x");
    qdq_outfile *f = (qdq_outfile *)&err;

    assert_ok(qdq_write_file(path, false, "old", 3, &err));
    assert_fails(QDQ_E_IO, "existing/x: exists already", qdq_outfile_open(path, false, &f, &err));
    assert_null(f);
    assert_fails(QDQ_E_IO, "exists already", qdq_write_file(path, false, "new", 3, &err));
    assert_content(path, "old", 3);
    assert_int_equal(test_count_files(folder), 1);
}

TEST(an_existing_file_is_replaced_when_allowed)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = new_folder("replace"), *path = test_path("replace/x");
    struct stat st;

    assert_ok(qdq_write_file(path, true, "old", 3, &err));
    assert_int_equal(chmod(path, 0640), 0);
    assert_ok(qdq_write_file(path, true, "newer", 5, &err));
    assert_content(path, "newer", 5);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640); /* who could not read it before cannot now */
    assert_int_equal(test_count_files(folder), 1);
}

TEST(new_files_get_the_usual_permissions)
{
    qdq_error err = QDQ_ERROR_INIT;
    mode_t before = umask(027);
    struct stat st;

    assert_ok(qdq_write_file(test_path("masked"), false, "", 0, &err));
    umask(before);
    assert_int_equal(stat(test_path("masked"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

TEST(a_file_that_appears_meanwhile_survives)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = new_folder("race"), *path = test_path("race/x");
    qdq_outfile *f = NULL;

    assert_ok(qdq_outfile_open(path, false, &f, &err));
    assert_ok(qdq_write_file(path, false, "theirs", 6, &err));
    assert_fails(QDQ_E_IO, "race/x: exists already", qdq_outfile_commit(f, &err));
    assert_content(path, "theirs", 6);
    assert_int_equal(test_count_files(folder), 1);
}

static void assert_no_output(const char *path, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_outfile *f = (qdq_outfile *)&err;

    assert_fails(QDQ_E_IO, part, qdq_outfile_open(path, true, &f, &err));
    assert_null(f);
}

TEST(places_where_no_file_can_be_are_refused)
{
    static char wide[6000];

    assert_no_output(test_path("missing/x"), "missing/x: cannot write into folder");
    assert_no_output(test_path("missing/x"), "No such file or directory");
    assert_no_output(test_dir(), "is a folder, expected the name of a file");
    assert_no_output(test_path("%s", ""), "is a folder, expected the name of a file");
    assert_no_output(test_path("."), "is a folder");
    assert_no_output(test_path(".."), "is a folder");
    assert_no_output("", "is a folder, expected the name of a file");
    assert_no_output("/dev/null", "/dev/null: is not a regular file, and only such are replaced");
    assert_int_equal(symlink("/dev/null", test_path("devlink")), 0);
    assert_no_output(test_path("devlink"), "is not a regular file");
    memset(wide, 'x', sizeof wide - 1);
    assert_no_output(wide, "File name too long");
    wide[5000] = '/';
    assert_no_output(wide, "File name too long");
}

TEST(a_link_is_replaced_not_followed)
{
    qdq_error err = QDQ_ERROR_INIT;
    struct stat st;

    assert_ok(qdq_write_file(test_path("target"), false, "target", 6, &err));
    assert_int_equal(symlink("target", test_path("linked")), 0);
    assert_fails(QDQ_E_IO, "exists already",
                 qdq_write_file(test_path("linked"), false, "x", 1, &err));
    assert_ok(qdq_write_file(test_path("linked"), true, "x", 1, &err));
    assert_int_equal(lstat(test_path("linked"), &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_content(test_path("target"), "target", 6);
    assert_int_equal(symlink("nowhere", test_path("dangling")), 0);
    assert_fails(QDQ_E_IO, "exists already",
                 qdq_write_file(test_path("dangling"), false, "x", 1, &err));
}

TEST(names_of_any_length_the_system_takes_work)
{
    qdq_error err = QDQ_ERROR_INIT;
    char name[256];

    memset(name, 'n', 255);
    name[255] = '\0';
    assert_ok(qdq_write_file(test_path("%s", name), false, "x", 1, &err));
    assert_content(test_path("%s", name), "x", 1);
}

TEST(a_change_of_folder_does_not_matter)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_outfile *f = NULL;
    char before[4200];

    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(test_dir()), 0);
    assert_ok(qdq_outfile_open("relative", false, &f, &err));
    assert_int_equal(chdir("/"), 0);
    assert_ok(qdq_outfile_commit(f, &err));
    assert_int_equal(chdir(before), 0);
    assert_content(test_path("relative"), "", 0);
}

TEST(pieces_are_joined)
{
    enum { N = 5000 }; /* more than one call of the system takes */
    qdq_error err = QDQ_ERROR_INIT;
    struct iovec *iov = malloc(N * sizeof *iov);
    char *want = malloc(N * 4), text[] = "abc";
    qdq_outfile *f = NULL;
    size_t size = 0;

    for (size_t i = 0; i < N; i++) {
        iov[i] = (struct iovec){text, i % 4};
        memcpy(want + size, text, i % 4);
        size += i % 4;
    }
    assert_ok(qdq_outfile_open(test_path("pieces"), false, &f, &err));
    assert_ok(qdq_outfile_writev(f, iov, 0, &err));
    assert_ok(qdq_outfile_writev(f, iov, 1, &err)); /* one empty piece */
    assert_ok(qdq_outfile_writev(f, iov, N, &err));
    assert_int_equal(qdq_outfile_size(f), size);
    assert_ok(qdq_outfile_commit(f, &err));
    assert_content(test_path("pieces"), want, size);
    free(iov);
    free(want);
}

static qdq_mapping *make_source(size_t size)
{
    qdq_mapping *m = qdq_mapping_new_heap(size);

    assert_non_null(m);
    for (size_t i = 0; i < size; i++)
        qdq_mapping_own_data(m)[i] = (unsigned char)(i * 31 >> 3);
    return m;
}

TEST(mappings_are_copied_from_file_and_heap)
{
    enum { SIZE = 1000000 };
    static const struct {
        size_t offset, size;
    } part[] = {{0, SIZE}, {4097, 500001}, {7, 100}, {SIZE, 0}, {SIZE - 1, 1}, {0, 0}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *source[2] = {make_source(SIZE), NULL};
    const unsigned char *bytes = qdq_mapping_data(source[0]);

    assert_ok(qdq_write_file(test_path("source"), false, bytes, SIZE, &err));
    assert_ok(qdq_mapping_open(test_path("source"), &source[1], &err));
    for (size_t s = 0; s < 2; s++) {
        const char *path = test_path("copy%d", (int)s);
        char *want = malloc(3 * SIZE);
        size_t size = 1;
        qdq_outfile *f = NULL;

        assert_ok(qdq_outfile_open(path, false, &f, &err));
        assert_ok(qdq_outfile_write(f, "x", 1, &err)); /* nothing is aligned with anything */
        want[0] = 'x';
        for (size_t i = 0; i < QDQ_COUNT(part); i++) {
            assert_ok(qdq_outfile_write_mapping(f, source[s], part[i].offset, part[i].size, &err));
            memcpy(want + size, bytes + part[i].offset, part[i].size);
            size += part[i].size;
        }
        assert_int_equal(qdq_outfile_size(f), size);
        assert_fails(QDQ_E_BUG, "beyond the end",
                     qdq_outfile_write_mapping(f, source[s], 1, SIZE, &err));
        assert_fails(QDQ_E_BUG, "beyond the end",
                     qdq_outfile_write_mapping(f, source[s], SIZE_MAX, 2, &err));
        assert_ok(qdq_outfile_commit(f, &err));
        assert_content(path, want, size);
        free(want);
    }
    qdq_mapping_unref(source[0]);
    qdq_mapping_unref(source[1]);
}

TEST(a_source_that_became_shorter_is_an_error_not_a_crash)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = new_folder("shrink");
    qdq_mapping *heap = make_source(300000), *m = NULL;
    qdq_outfile *f = NULL;

    assert_ok(qdq_write_file(test_path("source3"), false, qdq_mapping_data(heap), 300000, &err));
    assert_ok(qdq_mapping_open(test_path("source3"), &m, &err));
    assert_int_equal(truncate(test_path("source3"), 100), 0);
    assert_ok(qdq_outfile_open(test_path("shrink/x"), false, &f, &err));
    assert_fails(QDQ_E_IO, "a source file became shorter meanwhile",
                 qdq_outfile_write_mapping(f, m, 0, 300000, &err));
    qdq_outfile_abort(f);
    assert_int_equal(test_count_files(folder), 0);
    qdq_mapping_unref(m);
    qdq_mapping_unref(heap);
}

/* --- full disks ------------------------------------------------------------------------------- */

static void every_way_of_writing_fails_beyond(const char *folder, const char *path, size_t size,
                                              const char *reason)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *heap = make_source(size), *file = NULL;
    unsigned before = test_count_files(folder);

    assert_ok(qdq_mapping_open(test_path("full_source"), &file, &err));
    for (int way = 0; way < 4; way++) {
        qdq_outfile *f = NULL;
        qdq_status st = QDQ_OK;
        struct iovec iov[2] = {{qdq_mapping_own_data(heap), size / 2},
                               {qdq_mapping_own_data(heap), size / 2}};

        assert_ok(qdq_outfile_open(path, true, &f, &err));
        if (way == 0)
            st = qdq_outfile_write(f, qdq_mapping_data(heap), size, &err);
        else if (way == 1)
            st = qdq_outfile_writev(f, iov, 2, &err);
        else
            st = qdq_outfile_write_mapping(f, way == 2 ? heap : file, 0, size, &err);
        assert_int_equal(st, QDQ_E_IO);
        assert_non_null(strstr(err.text, reason));
        assert_non_null(strstr(err.text, "cannot write after "));
        qdq_outfile_abort(f);
        assert_int_equal(test_count_files(folder), before); /* no file is left, the old one stays */
        assert_content(path, "old", 3);
    }
    assert_fails(QDQ_E_IO, reason, qdq_write_file(path, true, qdq_mapping_data(heap), size, &err));
    assert_int_equal(test_count_files(folder), before);
    assert_content(path, "old", 3);
    qdq_mapping_unref(heap);
    qdq_mapping_unref(file);
}

TEST(a_file_at_its_size_limit_leaves_nothing)
{
    enum { SIZE = 400000 };
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = new_folder("limit");
    qdq_mapping *heap = make_source(SIZE);

    assert_ok(qdq_write_file(test_path("full_source"), true, qdq_mapping_data(heap), SIZE, &err));
    assert_ok(qdq_write_file(test_path("limit/x"), true, "old", 3, &err));
    qdq_mapping_unref(heap);
    test_limit_files(SIZE - 1000);
    every_way_of_writing_fails_beyond(folder, test_path("limit/x"), SIZE, "File too large");
    test_limit_files(SIZE_MAX);
}

/* The last of all: it changes what this process sees of the file system. */
TEST(a_full_disk_leaves_nothing)
{
    enum { SIZE = 400000 };
    qdq_error err = QDQ_ERROR_INIT;
    const char *folder = test_small_disk(256 * 1024);
    char path[4300];

    if (folder == NULL) {
        fprintf(stderr, "SKIPPED: this system lets us mount no small disk\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/x", folder);
    assert_ok(qdq_write_file(path, true, "old", 3, &err));
    every_way_of_writing_fails_beyond(folder, path, SIZE, "No space left on device");
}

/* --- private folders -------------------------------------------------------------------------- */

TEST(private_folders_vanish_with_all_in_them)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tempdir *d = NULL;
    char path[5000], first[4300];
    struct stat st;

    assert_ok(qdq_tempdir_new(test_dir(), &d, &err));
    snprintf(first, sizeof first, "%s", qdq_tempdir_path(d));
    assert_int_equal(stat(first, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    snprintf(path, sizeof path, "%s", first);
    for (int depth = 0; depth < 10; depth++) {
        size_t n = strlen(path);
        snprintf(path + n, sizeof path - n, "/d");
        assert_int_equal(mkdir(path, 0700), 0);
        n = strlen(path);
        snprintf(path + n, sizeof path - n, "/file");
        assert_ok(qdq_write_file(path, false, "x", 1, &err));
        path[n] = '\0';
    }
    assert_int_equal(mkdir(test_path("outside"), 0700), 0);
    assert_ok(qdq_write_file(test_path("outside/kept"), false, "x", 1, &err));
    snprintf(path, sizeof path, "%s/link", first);
    assert_int_equal(symlink(test_path("outside"), path), 0); /* is removed, not followed */
    qdq_tempdir_free(d);
    assert_int_not_equal(stat(first, &st), 0);
    assert_content(test_path("outside/kept"), "x", 1);
    qdq_tempdir_free(NULL);
}

TEST(private_folders_differ)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tempdir *a = NULL, *b = NULL;

    assert_ok(qdq_tempdir_new(NULL, &a, &err));
    assert_ok(qdq_tempdir_new(NULL, &b, &err));
    assert_string_not_equal(qdq_tempdir_path(a), qdq_tempdir_path(b));
    qdq_tempdir_free(a);
    qdq_tempdir_free(b);
}

TEST(a_private_folder_needs_a_parent)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tempdir *d = (qdq_tempdir *)&err;

    assert_fails(QDQ_E_IO, "nowhere: cannot make a folder for temporary files: No such file",
                 qdq_tempdir_new(test_path("nowhere"), &d, &err));
    assert_null(d);
}
