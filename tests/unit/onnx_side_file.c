/* onnx_side_file.c - a model and its file of external data are one: names by content, what is
 * replaced and what stays. */
#include "onnx/side_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.h"
#include "base/side_name.h"
#include "ir/ir.h"
#include "support/disk.h"

static qdq_error err;

/* 2 KiB of weights that begin with `first`. */
static qdq_model *weights(int first)
{
    static char text[40000];
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[512] x) => (float[512] y)\n"
        "<float[512] w = {%d",
        first);

    for (int i = 1; i < 512; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ",%d", i);
    snprintf(text + n, sizeof text - n, "}> {\n  y = Add (x, w)\n}\n");
    return test_model(text);
}

static qdq_status save_as(const qdq_model *m, const char *path, bool force, const qdq_job *job)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;

    opts.external = QDQ_EXTERNAL_ALWAYS;
    opts.allow_overwrite = force;
    opts.job = job;
    return qdq_model_save(m, path, &opts, &err);
}

static void save(int first, const char *path, bool force)
{
    qdq_model *m = weights(first);

    assert_ok(save_as(m, path, force, NULL));
    qdq_model_free(m);
}

/* Loads, its weights begin with `first`, and check finds nothing. */
static void assert_model(const char *path, int first)
{
    qdq_finding *found;
    qdq_model *m = NULL;
    qdq_arena scratch = QDQ_ARENA_INIT;
    float *w;
    size_t n;

    assert_ok(qdq_model_load(path, NULL, &m, &err));
    assert_ok(qdq_tensor_floats(qdq_graph_find(m->graph, "w")->init, &scratch, &w, &err));
    assert_float_equal(w[0], (float)first, 0);
    assert_ok(qdq_model_check(m, &found, &n, &err));
    if (n > 0)
        fail_msg("%s: %s", path, found[0].text);
    qdq_free(found);
    qdq_arena_free(&scratch);
    qdq_model_free(m);
}

static const char *new_folder(const char *name)
{
    const char *path = test_path("%s", name);

    assert_int_equal(mkdir(path, 0700), 0);
    return path;
}

TEST(the_name_says_the_content)
{
    char digest[33];
    uint64_t size;
    size_t length;

    new_folder("name");
    save(7, test_path("name/m.onnx"), false);
    const char *side = test_side_file(test_path("name/m.onnx"));
    int fd = open(side, O_RDONLY | O_CLOEXEC);
    assert_ok(qdq_sha256_file(fd, side, NULL, digest, &size, &err));
    close(fd);
    assert_int_equal(size, 2048);
    assert_memory_equal(qdq_side_digits(qdq_base_name(side), &length), digest, QDQ_SIDE_DIGITS);
    assert_int_equal(length, strlen("m.onnx"));
    assert_model(test_path("name/m.onnx"), 7);
}

TEST(other_names_are_not_ours)
{
    assert_true(qdq_side_is_of("m.onnx.0123456789abcdef.data", "m.onnx"));
    assert_false(qdq_side_is_of("m.onnx.0123456789abcdef.data", "m"));
    assert_false(qdq_side_is_of("m.onnx.0123456789abcdef.data", "n.onnx"));
    assert_null(qdq_side_digits("m.onnx.data", NULL));
    assert_null(qdq_side_digits("m.onnx.0123456789abcde.data", NULL));
    assert_null(qdq_side_digits("m.onnx.0123456789abcdef0.data", NULL));
    assert_null(qdq_side_digits("m.onnx.0123456789ABCDEF.data", NULL));
    assert_null(qdq_side_digits(".0123456789abcdef.data", NULL));
    assert_null(qdq_side_digits("m.onnx.0123456789abcdef.datas", NULL));
    assert_null(qdq_side_digits("", NULL));
}

TEST(a_side_file_with_the_same_content_is_used_as_it_is)
{
    struct stat before, after;

    new_folder("same");
    save(1, test_path("same/m.onnx"), false);
    const char *side = test_side_file(test_path("same/m.onnx"));
    assert_int_equal(stat(side, &before), 0);
    assert_int_equal(rename(test_path("same/m.onnx"), test_path("same/renamed.onnx")), 0);
    save(1, test_path("same/m.onnx"), false);
    assert_int_equal(stat(side, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    save(1, test_path("same/m.onnx"), true);
    assert_int_equal(stat(side, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_model(test_path("same/m.onnx"), 1);
    assert_model(test_path("same/renamed.onnx"), 1);
}

TEST(a_side_file_with_other_content_is_refused)
{
    qdq_model *m = weights(1);

    const char *folder = new_folder("other");
    save(1, test_path("other/m.onnx"), false);
    char side[4200];
    snprintf(side, sizeof side, "%s", test_side_file(test_path("other/m.onnx")));
    assert_ok(qdq_write_file(side, true, "mine", 4, &err));
    assert_int_equal(unlink(test_path("other/m.onnx")), 0);
    assert_fails(QDQ_E_IO, "exists with other content",
                 save_as(m, test_path("other/m.onnx"), false, NULL));
    assert_fails(QDQ_E_IO, "exists with other content",
                 save_as(m, test_path("other/m.onnx"), true, NULL));
    assert_int_equal(unlink(side) | symlink("/dev/null", side), 0);
    assert_fails(QDQ_E_IO, "exists with other content",
                 save_as(m, test_path("other/m.onnx"), true, NULL));
    assert_int_equal(test_count_files(folder), 1);
    qdq_model_free(m);
}

TEST(the_side_file_of_a_replaced_model_goes)
{
    const char *folder = new_folder("replaced");
    save(1, test_path("replaced/m.onnx"), false);
    save(2, test_path("replaced/m.onnx"), true);
    assert_int_equal(test_count_files(folder), 2);
    assert_model(test_path("replaced/m.onnx"), 2);
}

TEST(weights_of_a_renamed_model_are_not_destroyed)
{
    const char *folder = new_folder("renamed");
    save(1, test_path("renamed/m.onnx"), false);
    assert_int_equal(rename(test_path("renamed/m.onnx"), test_path("renamed/kept.onnx")), 0);
    save(2, test_path("renamed/m.onnx"), false);
    save(3, test_path("renamed/m.onnx"), true);
    assert_model(test_path("renamed/kept.onnx"), 1);
    assert_model(test_path("renamed/m.onnx"), 3);
    assert_int_equal(test_count_files(folder), 4);
}

static void keep_log(void *ctx, qdq_log_level level, const char *text)
{
    assert_int_equal(level, QDQ_LOG_INFO);
    snprintf(ctx, 4000, "%s", text);
}

TEST(what_is_not_ours_stays_with_a_note)
{
    static char text[4000];
    const qdq_job job = {.size = sizeof job, .log = keep_log, .ctx = text};
    qdq_model *m = weights(2);

    const char *folder = new_folder("stays");
    save(1, test_path("stays/m.onnx"), false);
    assert_ok(qdq_write_file(test_path("stays/m.onnx.0123456789abcdef.data"), false, "x", 1, &err));
    assert_ok(save_as(m, test_path("stays/m.onnx"), true, &job));
    assert_non_null(strstr(
        text, "stays/m.onnx.0123456789abcdef.data stays: the model that was replaced does not "
              "name it"));
    assert_int_equal(test_count_files(folder), 3);

    /* a model made by the version before, which names m.onnx.data */
    folder = new_folder("former");
    char *bytes;
    size_t size;
    assert_ok(qdq_read_file(test_path("stays/m.onnx"), 1 << 20, &bytes, &size, &err));
    char *at = memmem(bytes, size, "m.onnx.", 7);
    assert_int_equal(at[-1], strlen("m.onnx.0123456789abcdef.data"));
    memcpy(at, "././././././././/m.onnx.data", 28); /* as long */
    assert_ok(qdq_write_file(test_path("former/m.onnx"), false, bytes, size, &err));
    qdq_free(bytes);
    assert_int_equal(
        link(test_side_file(test_path("name/m.onnx")), test_path("former/m.onnx.data")), 0);
    assert_ok(save_as(m, test_path("former/m.onnx"), true, &job));
    assert_non_null(strstr(text, "former/m.onnx.data stays: its name does not say whose it is"));
    assert_int_equal(test_count_files(folder), 3);
    qdq_model_free(m);
}

TEST(a_side_file_in_use_stays)
{
    const char *folder = new_folder("use");
    save(1, test_path("use/m.onnx"), false);
    int fd = open(test_side_file(test_path("use/m.onnx")), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_SH), 0); /* as who is about to name it */
    save(2, test_path("use/m.onnx"), true);
    assert_int_equal(test_count_files(folder), 3);
    close(fd);
}

TEST(a_model_that_cannot_be_put_in_place_leaves_no_side_file)
{
    qdq_model *m = weights(1);

    const char *folder = new_folder("blocked");
    assert_int_equal(mkdir(test_path("blocked/m.onnx"), 0700), 0);
    assert_int_equal(save_as(m, test_path("blocked/m.onnx"), true, NULL), QDQ_E_IO);
    assert_int_equal(test_count_files(folder), 1);
    qdq_model_free(m);
}

TEST(check_compares_name_and_content)
{
    qdq_finding *found;
    qdq_model *m = NULL;
    size_t n;

    new_folder("check");
    save(1, test_path("check/m.onnx"), false);
    int fd = open(test_side_file(test_path("check/m.onnx")), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\1", 1, 99), 1);
    close(fd);
    assert_ok(qdq_model_load(test_path("check/m.onnx"), NULL, &m, &err));
    assert_ok(qdq_model_check(m, &found, &n, &err));
    assert_int_equal(n, 1);
    assert_true(found[0].is_error);
    assert_non_null(strstr(found[0].text, "expected the one in its name"));
    qdq_free(found);
    qdq_model_free(m);
}

TEST(a_removed_model_takes_its_side_file_along)
{
    const char *folder = new_folder("removed");
    save(1, test_path("removed/m.onnx"), false);
    assert_ok(
        qdq_write_file(test_path("removed/m.onnx.0123456789abcdef.data"), false, "x", 1, &err));
    assert_ok(qdq_model_remove(test_path("removed/m.onnx"), &err));
    assert_int_equal(test_count_files(folder), 1);
    assert_ok(qdq_model_remove(test_path("removed/m.onnx"), &err));
    assert_int_equal(mkdir(test_path("removed/folder"), 0700), 0);
    assert_fails(QDQ_E_IO, "cannot be removed",
                 qdq_model_remove(test_path("removed/folder"), &err));
}
