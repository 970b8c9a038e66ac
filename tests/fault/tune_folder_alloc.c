/* tune_folder_alloc.c - every allocation about the folder of a run fails once: nothing stays locked
 * or open, what was noted before is known still. */
#include "support/alloc_fail.h"

#include <dirent.h>

#include "base/file.h"
#include "base/json.h"
#include "support/disk.h"
#include "tune/store/tune_folder.h"

static size_t open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

static qdq_status use(qdq_tune_folder *f, qdq_error *err)
{
    QDQ_TRY(qdq_tune_folder_began(f, 3, err));
    QDQ_TRY(qdq_tune_folder_wrote(f, "baseline.onnx", "model1", err));
    /* without memory it is not known, and written once more */
    return qdq_tune_folder_has(f, "baseline.onnx", "model1") ? QDQ_OK : qdq_nomem(err);
}

/* As a run does that ends well; the one before it has failed. */
static qdq_status open_use_and_close(void *ctx, qdq_error *err)
{
    qdq_tune_folder *f;

    QDQ_TRY(qdq_tune_folder_open(ctx, true, "a store", &f, err));
    qdq_status st = use(f, err);
    qdq_tune_folder_close(f, st != QDQ_OK ? err->text : NULL);
    return st;
}

static qdq_status ask(void *ctx, qdq_error *err)
{
    qdq_tune_note note;

    QDQ_TRY(qdq_tune_note_read(ctx, &note, err));
    assert_true(note.found && !note.running && note.run == 3);
    assert_non_null(strstr(note.store, "/a store"));
    assert_string_equal(note.failed, "out of luck");
    qdq_tune_note_free(&note);
    return QDQ_OK;
}

/* What the next run relies on: which process, which run, where its samples are and what it wrote. A
 * file that is named names what it was made of. */
static void check_note(const char *dir)
{
    qdq_error err = QDQ_ERROR_INIT;
    char path[4096];
    const char *name;
    json_t *note, *file;

    snprintf(path, sizeof path, "%s/.run", dir);
    assert_ok(qdq_json_load(path, &note, &err));
    if (!json_is_integer(json_object_get(note, "process")) ||
        !json_is_integer(json_object_get(note, "run")) ||
        !json_is_string(json_object_get(note, "store")) ||
        !json_is_object(json_object_get(note, "files")))
        fail_msg("found half a note: %s", json_dumps(note, 0));
    const json_int_t run = json_integer_value(json_object_get(note, "run"));
    const json_t *earlier = json_object_get(note, "earlier");
    if (run != 3 && (json_integer_value(json_object_get(earlier, "run")) != 3 ||
                     !json_is_string(json_object_get(earlier, "store"))))
        fail_msg("the run before is forgotten: %s", json_dumps(note, 0));
    const json_t *files = json_object_get(note, "files");
    assert_non_null(json_object_get(files, "baseline.onnx"));
    json_object_foreach((json_t *)(uintptr_t)files, name,
                        file) if (!json_is_string(json_object_get(file, "of")) ||
                                  !json_is_string(json_object_get(file, "stamp")))
        fail_msg("found half of a file: %s", json_dumps(note, 0));
    json_decref(note);
}

/* The same with every run that follows, whatever became of the one before. */
static qdq_status open_use_and_check(void *ctx, qdq_error *err)
{
    const qdq_status st = open_use_and_close(ctx, err);

    test_let_allocs_be(true);
    check_note(ctx);
    test_let_allocs_be(false);
    return st;
}

TEST(the_note_on_disk_is_never_half_of_one)
{
    char *dir = strdup(test_path("whole"));
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tune_folder *f;
    json_malloc_t json_malloc;
    json_free_t json_free;

    assert_ok(qdq_tune_folder_open(dir, true, "a store", &f, &err));
    assert_ok(qdq_write_file(test_path("whole/baseline.onnx"), true, "x", 1, &err));
    assert_ok(qdq_tune_folder_wrote(f, "baseline.onnx", "model1", &err));
    assert_ok(qdq_tune_folder_began(f, 3, &err));
    qdq_tune_folder_close(f, NULL);

    json_get_alloc_funcs(&json_malloc, &json_free);
    json_set_alloc_funcs(malloc, free); /* jansson's allocations fail, too */
    const unsigned long all = test_every_alloc_fails(open_use_and_check, dir);
    json_set_alloc_funcs(json_malloc, json_free);
    assert_true(all >= 40);
    free(dir);
}

TEST(a_folder_survives_every_allocation_failure)
{
    char *dir = strdup(test_path("folder"));
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tune_folder *f;
    qdq_tune_note note;

    assert_ok(qdq_tune_folder_open(dir, true, NULL, &f, &err));
    assert_ok(qdq_write_file(test_path("folder/baseline.onnx"), true, "x", 1, &err));
    assert_ok(qdq_tune_folder_wrote(f, "baseline.onnx", "model1", &err));
    qdq_tune_folder_close(f, "out of luck");

    const size_t before = open_files();
    assert_true(test_every_alloc_fails(open_use_and_close, dir) >= 8);
    assert_int_equal(open_files(), before);
    assert_int_equal(test_count_files(dir),
                     4); /* note, logs, region_models, baseline: no folder of candidates */
    assert_ok(qdq_tune_note_read(dir, &note, &err));
    assert_true(note.found && !note.running);
    /* also where memory was short, it is never another store than it was */
    assert_non_null(note.store);
    qdq_tune_note_free(&note);
    assert_ok(qdq_tune_folder_open(dir, true, "a store", &f, &err));
    assert_true(qdq_tune_folder_has(f, "baseline.onnx", "model1"));
    assert_ok(qdq_tune_folder_began(f, 3, &err));
    qdq_tune_folder_close(f, "out of luck");

    assert_true(test_every_alloc_fails(ask, dir) >= 4);
    assert_int_equal(open_files(), before);
    free(dir);
}
