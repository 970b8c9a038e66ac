/* onnx_save.c - external data in and out, and what may be replaced on disk. */
#include "base/file.h"
#include "ir/edit.h"
#include "support/disk.h"
#include "support/roundtrip.h"

#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const void *data, size_t size)
{
    assert_ok(qdq_write_file(path, true, data, size, &err));
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : -1;
}

/* A float tensor in a file; NULL texts are left out. */
static void put_external(qdq_buf *graph, const char *name, int64_t count, const char *location,
                         const char *offset, const char *length)
{
    qdq_buf tensor = PB_NEW;

    pb_int(&tensor, 1, count);
    pb_int(&tensor, 2, QDQ_FLOAT);
    pb_text(&tensor, 8, name);
    pb_text(&tensor, 12, "documentation");
    pb_entry(&tensor, 13, "location", location);
    if (offset != NULL)
        pb_entry(&tensor, 13, "offset", offset);
    if (length != NULL)
        pb_entry(&tensor, 13, "length", length);
    pb_entry(&tensor, 13, "checksum", "ignored");
    pb_int(&tensor, 14, 1);
    pb_message(graph, 5, &tensor);
}

enum { FLOATS = 700, FILE_BYTES = FLOATS * 4 + 1 };

/* weights.bin: one byte, then 700 floats. `shifted` begins at an odd offset, `tied` is the same
 * range, `tail` overlaps and says no length, `small` has 2 floats. */
static void write_source(const char *model)
{
    unsigned char bytes[FILE_BYTES] = {0xff};
    qdq_buf graph = relu_graph(), b;

    for (int i = 0; i < FLOATS; i++) {
        float v = (float)i;
        memcpy(bytes + 1 + 4 * i, &v, 4);
    }
    write_file(test_path("weights.bin"), bytes, sizeof bytes);
    put_external(&graph, "shifted", 600, "weights.bin", "1", "2400");
    put_external(&graph, "tied", 600, "weights.bin", "1", "2400");
    put_external(&graph, "tail", 100, "./weights.bin", "2401", NULL);
    put_external(&graph, "small", 2, "weights.bin", "5", "8");
    b = pb_model(&graph);
    write_file(model, b.data, b.size);
    qdq_buf_free(&b);
}

static qdq_model *load_path(const char *path)
{
    qdq_model *m = NULL;

    assert_ok(qdq_model_load(path, NULL, &m, &err));
    return m;
}

/* The first and the last element. */
static void assert_range(const qdq_model *m, const char *name, float first, float last)
{
    const qdq_tensor *t = qdq_graph_find(m->graph, name)->init;
    qdq_arena scratch = QDQ_ARENA_INIT;
    float *found;

    assert_ok(qdq_tensor_floats(t, &scratch, &found, &err));
    assert_float_equal(found[0], first, 0);
    assert_float_equal(found[t->count - 1], last, 0);
    qdq_arena_free(&scratch);
}

static void assert_weights(const qdq_model *m)
{
    assert_range(m, "shifted", 0, 599);
    assert_range(m, "tied", 0, 599);
    assert_range(m, "tail", 600, 699);
    assert_range(m, "small", 1, 2);
}

static void save(const qdq_model *m, const char *path, qdq_external external, bool allow_overwrite)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;

    opts.external = external;
    opts.allow_overwrite = allow_overwrite;
    assert_ok(qdq_model_save(m, path, &opts, &err));
}

TEST(unaligned_and_shared_ranges_are_read)
{
    qdq_model *m;

    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    assert_true(m->had_external);
    assert_int_equal(m->mappings.n, 3); /* the model, and the file under two spellings */
    assert_weights(m);
    qdq_model_free(m);
}

TEST(auto_keeps_external_what_was_external)
{
    qdq_model *m, *again;
    uint64_t offset[4];

    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    save(m, test_path("auto.onnx"), QDQ_EXTERNAL_AUTO, false);
    again = load_path(test_path("auto.onnx"));
    assert_weights(again);
    assert_non_null(test_side_file(test_path("auto.onnx")));
    for (size_t i = 0; i < 4; i++) {
        const qdq_tensor *t = again->graph->inits.at[i]->init;
        assert_true(t->external);
        assert_true(t->unknown_fields.size > 0);
        offset[i] = (uint64_t)(t->bytes.data - qdq_mapping_data(t->owner));
        assert_int_equal(offset[i] % 64, 0);
    }
    assert_int_equal(offset[0], offset[1]); /* shared data is written once */
    assert_int_equal(size_of(test_side_file(test_path("auto.onnx"))), 2880 + 8);
    qdq_model_free(again);
    qdq_model_free(m);
}

TEST(never_puts_everything_into_one_file)
{
    qdq_model *m, *again;

    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    save(m, test_path("never.onnx"), QDQ_EXTERNAL_NEVER, false);
    assert_null(test_side_file(test_path("never.onnx")));
    again = load_path(test_path("never.onnx"));
    assert_false(again->had_external);
    assert_weights(again);
    assert_stable(again);
    qdq_model_free(again);
    qdq_model_free(m);
}

TEST(always_takes_initializers_of_one_kibibyte_and_more)
{
    qdq_model *m, *again;

    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    save(m, test_path("inline.onnx"), QDQ_EXTERNAL_NEVER, false);
    qdq_model_free(m);
    m = load_path(test_path("inline.onnx"));
    save(m, test_path("always.onnx"), QDQ_EXTERNAL_ALWAYS, false);
    again = load_path(test_path("always.onnx"));
    assert_true(qdq_graph_find(again->graph, "shifted")->init->external);
    assert_false(qdq_graph_find(again->graph, "tail")->init->external); /* 400 bytes */
    assert_false(qdq_graph_find(again->graph, "small")->init->external);
    assert_weights(again);
    qdq_model_free(again);
    qdq_model_free(m);
}

TEST(typed_data_becomes_raw_when_it_goes_to_a_file)
{
    qdq_buf graph = relu_graph(), tensor = PB_NEW, list = PB_NEW, b;
    qdq_model *m, *again;
    qdq_arena scratch = QDQ_ARENA_INIT;
    int64_t *found;

    pb_int(&tensor, 1, 1000);
    pb_int(&tensor, 2, QDQ_INT64);
    for (int i = 0; i < 1000; i++)
        pb_varint(&list, (uint64_t)(int64_t)(i - 500));
    pb_message(&tensor, 7, &list);
    pb_text(&tensor, 8, "w");
    pb_message(&graph, 5, &tensor);
    b = pb_model(&graph);
    m = load(&b);
    save(m, test_path("typed.onnx"), QDQ_EXTERNAL_ALWAYS, false);
    again = load_path(test_path("typed.onnx"));
    assert_true(again->graph->inits.at[0]->init->external);
    assert_ok(qdq_tensor_ints(again->graph->inits.at[0]->init, &scratch, 1000, &found, &err));
    assert_int_equal(found[0], -500);
    assert_int_equal(found[999], 499);
    qdq_arena_free(&scratch);
    qdq_model_free(again);
    qdq_model_free(m);
    qdq_buf_free(&b);
}

TEST(new_weights_of_an_external_model_are_external)
{
    qdq_model *m, *again;
    int64_t dim = 1024;
    qdq_tensor *t;
    void *data;

    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    t = qdq_tensor_new(m, QDQ_INT8, 1, &dim, &data);
    memset(data, 5, 1024);
    assert_non_null(qdq_graph_add_init(m->graph, "new", t));
    save(m, test_path("new.onnx"), QDQ_EXTERNAL_AUTO, false);
    again = load_path(test_path("new.onnx"));
    assert_true(qdq_graph_find(again->graph, "new")->init->external);
    qdq_model_free(again);
    qdq_model_free(m);
}

TEST(large_tensors_begin_on_a_page)
{
    qdq_buf graph = relu_graph(), b = pb_model(&graph);
    qdq_model *m = load(&b), *again;
    int64_t dim = 1 << 20;
    const qdq_tensor *t;
    void *data;

    for (int i = 0; i < 2; i++) {
        t = qdq_tensor_new(m, QDQ_INT8, 1, &dim, &data);
        memset(data, i + 1, (size_t)dim);
        dim++;
        assert_non_null(
            qdq_graph_add_init(m->graph, i == 0 ? "a" : "b", (qdq_tensor *)(uintptr_t)t));
    }
    save(m, test_path("large.onnx"), QDQ_EXTERNAL_ALWAYS, false);
    again = load_path(test_path("large.onnx"));
    t = qdq_graph_find(again->graph, "b")->init;
    assert_int_equal((t->bytes.data - qdq_mapping_data(t->owner)) % 4096, 0);
    assert_int_equal(t->bytes.data[0], 2);
    qdq_model_free(again);
    qdq_model_free(m);
    qdq_buf_free(&b);
}

TEST(model_is_saved_over_itself_and_its_data)
{
    qdq_model *m, *again;

    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    save(m, test_path("self.onnx"), QDQ_EXTERNAL_AUTO, false);
    qdq_model_free(m);
    m = load_path(test_path("self.onnx"));
    save(m, test_path("self.onnx"), QDQ_EXTERNAL_AUTO, true);
    assert_weights(m); /* still mapped, though the name belongs to another file now */
    again = load_path(test_path("self.onnx"));
    assert_weights(again);
    qdq_model_free(again);
    qdq_model_free(m);
}

TEST(existing_model_is_not_overwritten_without_leave)
{
    qdq_model *m;

    write_source(test_path("in.onnx"));
    write_file(test_path("there.onnx"), "old", 3);
    m = load_path(test_path("in.onnx"));
    assert_fails(QDQ_E_IO, "there.onnx", qdq_model_save(m, test_path("there.onnx"), NULL, &err));
    assert_int_equal(size_of(test_path("there.onnx")), 3);
    assert_null(test_side_file(test_path("there.onnx")));
    qdq_model_free(m);
}

TEST(a_save_that_is_cancelled_leaves_what_was_there)
{
    qdq_cancel *flag = qdq_cancel_new();
    qdq_job job = QDQ_JOB_INIT;
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_model *m;

    assert_non_null(flag);
    write_source(test_path("in.onnx"));
    assert_int_equal(mkdir(test_path("cancelled"), 0700), 0);
    write_file(test_path("cancelled/there.onnx"), "old", 3);
    m = load_path(test_path("in.onnx"));
    qdq_cancel_set(flag);
    job.cancel = flag;
    opts.job = &job;
    opts.allow_overwrite = true;
    for (opts.external = QDQ_EXTERNAL_AUTO; opts.external <= QDQ_EXTERNAL_NEVER; opts.external++) {
        assert_fails(QDQ_E_INTERRUPTED, "interrupted",
                     qdq_model_save(m, test_path("cancelled/there.onnx"), &opts, &err));
        assert_int_equal(size_of(test_path("cancelled/there.onnx")), 3);
        assert_int_equal(test_count_files(test_path("cancelled")), 1);
    }
    qdq_model_free(m);
    qdq_cancel_free(flag);
}

TEST(data_of_the_source_is_not_replaced_by_a_model)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_model *m;

    opts.allow_overwrite = true;
    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    assert_fails(QDQ_E_IO, "holds external data of",
                 qdq_model_save(m, test_path("weights.bin"), &opts, &err));
    assert_int_equal(size_of(test_path("weights.bin")), FILE_BYTES);
    assert_int_equal(symlink("weights.bin", test_path("alias.bin")), 0);
    assert_fails(QDQ_E_IO, "holds external data of",
                 qdq_model_save(m, test_path("alias.bin"), &opts, &err));
    assert_weights(m);
    qdq_model_free(m);
}

TEST(missing_folder_leaves_nothing_behind)
{
    qdq_model *m;

    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    assert_fails(QDQ_E_IO, "nowhere", qdq_model_save(m, test_path("nowhere/out.onnx"), NULL, &err));
    /* the side file cannot be made: a folder has its name */
    save(m, test_path("blocked.onnx"), QDQ_EXTERNAL_AUTO, false);
    char side[4200];
    snprintf(side, sizeof side, "%s", test_side_file(test_path("blocked.onnx")));
    assert_int_equal(unlink(test_path("blocked.onnx")) | unlink(side) | mkdir(side, 0700), 0);
    unsigned before = test_count_files(test_dir());
    assert_fails(QDQ_E_IO, "exists with other content",
                 qdq_model_save(m, test_path("blocked.onnx"), NULL, &err));
    assert_int_equal(test_count_files(test_dir()), before);
    qdq_model_free(m);
}

TEST(full_disk_leaves_nothing_behind)
{
    qdq_model *m;
    unsigned before;
    qdq_status st;

    write_source(test_path("in.onnx"));
    m = load_path(test_path("in.onnx"));
    before = test_count_files(test_dir());
    test_limit_files(1000);
    st = qdq_model_save(m, test_path("full.onnx"), NULL, &err);
    test_limit_files(SIZE_MAX);
    assert_int_equal(st, QDQ_E_IO);
    assert_non_null(strstr(err.text, "full.onnx"));
    assert_int_equal(test_count_files(test_dir()), before);
    qdq_model_free(m);
}

/* 3 GB of zeros that take no space: as raw data in the model file, or as external data. */
static void write_huge(bool external)
{
    static const int64_t count = 750000000;
    qdq_buf graph = relu_graph(), b, tensor = PB_NEW;
    const char *path = test_path("huge.onnx");

    if (external) {
        put_external(&graph, "w", count, "huge.bin", NULL, NULL);
        b = pb_model(&graph);
        write_file(path, b.data, b.size);
        write_file(test_path("huge.bin"), "", 0);
        assert_int_equal(truncate(test_path("huge.bin"), count * 4), 0);
    } else {
        /* the graph's length counts the hole that truncate makes at the end of the file */
        pb_int(&tensor, 1, count);
        pb_int(&tensor, 2, QDQ_FLOAT);
        pb_text(&tensor, 8, "w");
        pb_tag(&tensor, 9, 2);
        pb_varint(&tensor, (uint64_t)count * 4);
        pb_tag(&graph, 5, 2);
        pb_varint(&graph, tensor.size + (uint64_t)count * 4);
        qdq_buf_append(&graph, tensor.data, tensor.size);
        qdq_buf_free(&tensor);
        b = (qdq_buf)PB_NEW;
        pb_int(&b, 1, 8);
        pb_bytes(&b, 8, "\x10\x11", 2);
        pb_tag(&b, 7, 2);
        pb_varint(&b, graph.size + (uint64_t)count * 4);
        qdq_buf_append(&b, graph.data, graph.size);
        qdq_buf_free(&graph);
        write_file(path, b.data, b.size);
        assert_int_equal(truncate(path, (off_t)b.size + count * 4), 0);
    }
    qdq_buf_free(&b);
}

TEST(more_than_two_gigabytes_do_not_go_into_one_file)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_model *m;
    void *data;
    size_t size;

    write_huge(true);
    m = load_path(test_path("huge.onnx"));
    opts.external = QDQ_EXTERNAL_NEVER;
    assert_fails(QDQ_E_UNSUPPORTED, "external data is needed",
                 qdq_model_save(m, test_path("one.onnx"), &opts, &err));
    assert_false(exists(test_path("one.onnx")));
    assert_fails(QDQ_E_UNSUPPORTED, "2147483647", qdq_model_to_bytes(m, NULL, &data, &size, &err));
    assert_null(data);
    qdq_model_free(m);
}

TEST(more_than_two_gigabytes_inside_are_forced_outside)
{
    qdq_model *m;

    write_huge(false);
    m = load_path(test_path("huge.onnx"));
    assert_false(m->had_external);
    /* Writing 3 GB takes too long here: that the side file is asked for is enough. */
    test_limit_files(1000);
    qdq_status st = qdq_model_save(m, test_path("forced.onnx"), NULL, &err);
    test_limit_files(SIZE_MAX);
    assert_int_equal(st, QDQ_E_IO);
    assert_non_null(strstr(err.text, "forced.onnx.HASH.data: cannot write after"));
    qdq_model_free(m);
}

TEST(external_folder_can_be_given)
{
    qdq_load_opts opts = QDQ_LOAD_OPTS_INIT;
    qdq_buf graph = relu_graph(), b;
    qdq_model *m = NULL;

    write_source(test_path("in.onnx"));
    put_external(&graph, "w", 2, "weights.bin", "1", "8");
    b = pb_model(&graph);
    assert_fails(QDQ_E_FORMAT, "the model comes from memory",
                 qdq_model_load_bytes(b.data, b.size, "<stdin>", NULL, &m, &err));
    assert_null(m);
    opts.external_dir = test_dir();
    assert_ok(qdq_model_load_bytes(b.data, b.size, "<stdin>", &opts, &m, &err));
    assert_range(m, "w", 0, 1);
    qdq_model_free(m);
    qdq_buf_free(&b);
}

TEST(data_is_found_beside_the_target_of_a_link)
{
    qdq_model *m;

    write_source(test_path("in.onnx"));
    mkdir(test_path("links"), 0700);
    assert_int_equal(symlink("../in.onnx", test_path("links/model.onnx")), 0);
    m = load_path(test_path("links/model.onnx"));
    assert_weights(m);
    qdq_model_free(m);
}
