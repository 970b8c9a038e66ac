/* base_mapping.c - files mapped for reading, bytes in memory, whole files in memory. */
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static void put(const char *path, const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
}

static void assert_holds(qdq_mapping *m, const char *text)
{
    assert_int_equal(qdq_mapping_size(m), strlen(text));
    assert_memory_equal(qdq_mapping_data(m), text, strlen(text));
}

static void assert_not_mapped(qdq_status code, const char *path, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *m = (qdq_mapping *)&err;

    assert_fails(code, part, qdq_mapping_open(path, &m, &err));
    assert_null(m);
    assert_non_null(strstr(err.text, path));
}

TEST(a_file_is_mapped_whole)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *path = test_path("plain");
    qdq_mapping *m = NULL;
    char full[4200];

    put(path, "hello");
    assert_ok(qdq_mapping_open(path, &m, &err));
    assert_holds(m, "hello");
    assert_non_null(realpath(path, full));
    assert_string_equal(qdq_mapping_path(m), full);
    assert_true(qdq_mapping_fd(m) >= 0);
    assert_null(qdq_mapping_own_data(m));
    qdq_mapping_unref(m);
}

TEST(an_empty_file_is_an_empty_mapping)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *m = NULL;

    put(test_path("empty"), "");
    assert_ok(qdq_mapping_open(test_path("empty"), &m, &err));
    assert_int_equal(qdq_mapping_size(m), 0);
    assert_true(qdq_mapping_fd(m) >= 0);
    qdq_mapping_unref(m);
}

TEST(the_path_has_no_links)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *m = NULL;

    put(test_path("real"), "x");
    assert_int_equal(symlink("real", test_path("link")), 0);
    assert_ok(qdq_mapping_open(test_path("link"), &m, &err)); /* the user may name a link */
    assert_null(strstr(qdq_mapping_path(m), "link"));
    qdq_mapping_unref(m);
}

TEST(a_replaced_file_stays_readable)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *m = NULL;

    put(test_path("model"), "old weights");
    assert_ok(qdq_mapping_open(test_path("model"), &m, &err));
    put(test_path("model"), "new");
    assert_holds(m, "old weights");
    qdq_mapping_unref(m);
}

TEST(what_is_no_file_is_refused)
{
    assert_not_mapped(QDQ_E_IO, test_path("absent"), "cannot open: No such file");
    assert_not_mapped(QDQ_E_IO, test_dir(), "is a folder, expected a file");
    assert_not_mapped(QDQ_E_IO, "/dev/zero", "is a device or a pipe, expected a regular file");
    assert_int_equal(mkfifo(test_path("pipe"), 0600), 0);
    assert_not_mapped(QDQ_E_IO, test_path("pipe"),
                      "is a device or a pipe"); /* and does not wait for a writer */
}

TEST(references_are_counted)
{
    qdq_mapping *m = qdq_mapping_new_heap(3);

    assert_ptr_equal(qdq_mapping_ref(m), m);
    qdq_mapping_unref(m);
    assert_int_equal(qdq_mapping_data(m)[2], 0);
    qdq_mapping_unref(m);
    qdq_mapping_unref(NULL);
}

TEST(what_rests_reads_the_same_again)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *file = NULL, *heap = qdq_mapping_new_heap(4), *empty = NULL;

    put(test_path("rest.bin"), "weights");
    put(test_path("nothing.bin"), "");
    assert_ok(qdq_mapping_open(test_path("rest.bin"), &file, &err));
    assert_ok(qdq_mapping_open(test_path("nothing.bin"), &empty, &err));
    assert_non_null(heap);
    memcpy(qdq_mapping_own_data(heap), "heap", 4);
    qdq_mapping_rest(file);
    qdq_mapping_rest(heap);
    qdq_mapping_rest(empty);
    assert_holds(file, "weights");
    assert_holds(heap, "heap");
    qdq_mapping_unref(file);
    qdq_mapping_unref(heap);
    qdq_mapping_unref(empty);
}

TEST(heap_bytes_are_zero_and_writable)
{
    qdq_mapping *m = qdq_mapping_new_heap(1000);

    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(qdq_mapping_data(m)[i], 0);
    qdq_mapping_own_data(m)[999] = 7;
    assert_int_equal(qdq_mapping_data(m)[999], 7);
    assert_null(qdq_mapping_path(m));
    assert_int_equal(qdq_mapping_fd(m), -1);
    qdq_mapping_unref(m);
    m = qdq_mapping_new_heap(0);
    assert_non_null(m);
    assert_non_null(qdq_mapping_data(m));
    qdq_mapping_unref(m);
    assert_null(qdq_mapping_new_heap(SIZE_MAX));
}

TEST(bytes_on_disk_are_zero_and_kept_while_they_rest)
{
    const size_t size = 3u << 20;
    qdq_mapping *m = qdq_mapping_new_on_disk(size);

    assert_non_null(m);
    assert_int_equal(qdq_mapping_size(m), size);
    assert_int_equal(qdq_mapping_data(m)[size - 1], 0);
    memset(qdq_mapping_own_data(m), 7, size);
    qdq_mapping_rest(m);
    qdq_mapping_rest_part(m, qdq_mapping_data(m) + 5000, size - 5000);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(qdq_mapping_data(m)[i], 7);
    assert_null(qdq_mapping_path(m));
    assert_int_equal(qdq_mapping_fd(m), -1);
    qdq_mapping_unref(m);
}

TEST(where_a_disk_has_no_room_the_heap_has)
{
    const struct rlimit small = {1 << 20, RLIM_INFINITY};
    struct rlimit old;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    qdq_mapping *m = qdq_mapping_new_on_disk(2 << 20);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, before);
    assert_non_null(m);
    qdq_mapping_own_data(m)[(2 << 20) - 1] = 1;
    qdq_mapping_unref(m);
    m = qdq_mapping_new_on_disk(10);
    assert_int_equal(qdq_mapping_size(m), 10);
    qdq_mapping_own_data(m)[9] = 1;
    qdq_mapping_unref(m);
}

/* --- below a folder --------------------------------------------------------------------------- */

static void assert_below(const char *dir, const char *relative, const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *m = NULL;
    char full[4200];

    assert_ok(qdq_mapping_open_below(dir, relative, &m, &err));
    assert_holds(m, text);
    assert_non_null(realpath(qdq_mapping_path(m), full));
    assert_string_equal(qdq_mapping_path(m), full);
    qdq_mapping_unref(m);
}

static void assert_not_below(qdq_status code, const char *dir, const char *relative,
                             const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_mapping *m = (qdq_mapping *)&err;

    assert_fails(code, part, qdq_mapping_open_below(dir, relative, &m, &err));
    assert_null(m);
}

/* FOLDER/box/{data, inner/deep, out -> .., inlink -> data, dirlink -> inner} and FOLDER/secret. */
static const char *make_box(void)
{
    static char box[4200];

    snprintf(box, sizeof box, "%s/box", test_dir());
    if (mkdir(box, 0700) != 0)
        return box;
    put(test_path("secret"), "secret");
    put(test_path("box/data"), "data");
    assert_int_equal(mkdir(test_path("box/inner"), 0700), 0);
    put(test_path("box/inner/deep"), "deep");
    assert_int_equal(symlink("..", test_path("box/out")), 0);
    assert_int_equal(symlink("data", test_path("box/inlink")), 0);
    assert_int_equal(symlink("inner", test_path("box/dirlink")), 0);
    assert_int_equal(symlink("box", test_path("boxlink")), 0);
    return box;
}

TEST(files_below_a_folder_are_found)
{
    const char *box = make_box();

    assert_below(box, "data", "data");
    assert_below(box, "./data", "data");
    assert_below(box, "inner/deep", "deep");
    assert_below(box, ".//inner/./deep", "deep");
    assert_below(test_path("boxlink"), "data",
                 "data"); /* the folder itself is the user's, and may be a link */
}

TEST(what_leads_out_of_the_folder_is_refused)
{
    const char *box = make_box();

    assert_not_below(QDQ_E_FORMAT, box, "../secret", "'..'");
    assert_not_below(QDQ_E_FORMAT, box, "inner/../data",
                     "has '..' in it, expected a path inside the folder");
    assert_not_below(QDQ_E_FORMAT, box, "..", "'..'");
    assert_not_below(QDQ_E_FORMAT, box, "/etc/passwd", "/etc/passwd: is absolute");
    assert_not_below(QDQ_E_FORMAT, "", "/etc/passwd", "is absolute");
    assert_not_below(QDQ_E_FORMAT, box, "out/secret", "'out' is a symbolic link");
    assert_not_below(QDQ_E_FORMAT, box, "inlink",
                     "'inlink' is a symbolic link, expected a real file");
    assert_not_below(QDQ_E_FORMAT, box, "dirlink/deep", "'dirlink' is a symbolic link");
}

TEST(names_that_are_no_names_are_refused)
{
    const char *box = make_box();
    static char wide[6000];

    assert_not_below(QDQ_E_FORMAT, box, "", "names no file");
    assert_not_below(QDQ_E_FORMAT, box, ".", "names no file");
    assert_not_below(QDQ_E_IO, box, "inner", "is a folder, expected a file");
    assert_not_below(QDQ_E_IO, box, "data/x", "cannot open");
    assert_not_below(QDQ_E_IO, box, "absent", "box/absent: cannot open: No such file");
    assert_not_below(QDQ_E_IO, test_path("no_folder"), "data", "no_folder: cannot open the folder");
    memset(wide, 'x', 300);
    assert_not_below(QDQ_E_FORMAT, box, wide, "the path is too long");
    for (size_t i = 0; i + 2 < sizeof wide; i += 2)
        memcpy(wide + i, "./", 2);
    assert_not_below(QDQ_E_FORMAT, box, wide, "names no file");
}

TEST(the_empty_folder_is_the_current_one)
{
    char before[4200];

    make_box();
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(test_path("box")), 0);
    assert_below("", "data", "data");
    assert_not_below(QDQ_E_FORMAT, "", "../secret", "'..'");
    assert_not_below(QDQ_E_FORMAT, "", "out/secret", "symbolic link");
    assert_int_equal(chdir(before), 0);
}

/* --- whole files ------------------------------------------------------------------------------ */

TEST(a_file_is_read_up_to_the_limit)
{
    qdq_error err = QDQ_ERROR_INIT;
    enum { N = 300000 };
    char *text = malloc(N), *data = NULL;
    size_t size = 0;

    for (size_t i = 0; i < N; i++)
        text[i] = (char)(i * 7);
    assert_ok(qdq_write_file(test_path("large"), true, text, N, &err));
    assert_ok(qdq_read_file(test_path("large"), N, &data, &size, &err)); /* exactly */
    assert_int_equal(size, N);
    assert_memory_equal(data, text, N);
    assert_int_equal(data[N], '\0');
    qdq_free(data);
    assert_ok(qdq_read_file(test_path("large"), SIZE_MAX, &data, &size, &err));
    assert_int_equal(size, N);
    qdq_free(data);
    for (size_t max = 0; max < N; max = max * 3 + 1) {
        assert_fails(QDQ_E_FORMAT, "large: is larger than the limit of ",
                     qdq_read_file(test_path("large"), max, &data, &size, &err));
        assert_null(data);
        assert_int_equal(size, 0);
    }
    assert_fails(QDQ_E_FORMAT, "larger",
                 qdq_read_file(test_path("large"), N - 1, &data, &size, &err));
    free(text);
}

TEST(what_cannot_be_read_is_named)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *data = NULL;
    size_t size = 0;

    assert_fails(QDQ_E_IO, "absent: cannot open: No such file",
                 qdq_read_file(test_path("absent"), 10, &data, &size, &err));
    assert_fails(QDQ_E_IO, "cannot read: Is a directory",
                 qdq_read_file(test_dir(), 10, &data, &size, &err));
    assert_ok(qdq_read_file("/dev/null", 0, &data, &size, &err));
    assert_string_equal(data, "");
    qdq_free(data);
    assert_fails(QDQ_E_FORMAT, "/dev/zero: is larger than the limit of 100000 bytes",
                 /* without an end: stops all the same */
                 qdq_read_file("/dev/zero", 100000, &data, &size, &err));
}

TEST(a_dash_is_standard_input)
{
    qdq_error err = QDQ_ERROR_INIT;
    int before = dup(STDIN_FILENO), fd[2];
    char *data = NULL;
    size_t size = 0;

    for (int round = 0; round < 2; round++) {
        assert_int_equal(pipe(fd), 0);
        assert_int_equal(write(fd[1], "piped", 5), 5);
        close(fd[1]);
        assert_int_equal(dup2(fd[0], STDIN_FILENO), STDIN_FILENO);
        close(fd[0]);
        if (round == 0) {
            assert_ok(qdq_read_file("-", 100, &data, &size, &err));
            assert_string_equal(data, "piped");
            qdq_free(data);
        } else {
            assert_fails(QDQ_E_FORMAT, "<stdin>: is larger than the limit of 4 bytes",
                         qdq_read_file("-", 4, &data, &size, &err));
        }
    }
    dup2(before, STDIN_FILENO);
    close(before);
}
