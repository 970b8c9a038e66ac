/* onnx_alloc.c - every allocation of reading and writing fails once: no crash, no leak, nothing
 * left behind. */
#include "base/file.h"
#include "ir/ir.h"
#include "onnx/onnx_io.h"
#include "support/alloc_fail.h"
#include "support/disk.h"

#include <unistd.h>

static qdq_error err;

/* The seeds of the fuzz target have something of everything. */
static const char *const seeds[] = {"conv.onnx", "function.onnx", "if.onnx", "types.onnx"};

static const char *seed_path(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/model/%s", QDQ_SOURCE_DIR, name);
    return path;
}

static qdq_status load_model(void *ctx, qdq_error *e)
{
    qdq_model *m = NULL;
    qdq_status st = qdq_model_load(ctx, NULL, &m, e);

    assert_true((st == QDQ_OK) == (m != NULL));
    qdq_model_free(m);
    return st;
}

TEST(loading)
{
    for (size_t i = 0; i < QDQ_COUNT(seeds); i++)
        assert_true(test_every_alloc_fails(load_model, (char *)(uintptr_t)seed_path(seeds[i])) >
                    10);
}

static qdq_status load_bytes(void *ctx, qdq_error *e)
{
    const qdq_span *bytes = ctx;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_load_bytes(bytes->data, bytes->size, "memory", NULL, &m, e);

    qdq_model_free(m);
    return st;
}

TEST(loading_from_memory)
{
    char *data;
    size_t size;

    for (size_t i = 0; i < QDQ_COUNT(seeds); i++) {
        assert_ok(qdq_read_file(seed_path(seeds[i]), 1 << 20, &data, &size, &err));
        qdq_span bytes = {(unsigned char *)data, size};
        test_every_alloc_fails(load_bytes, &bytes);
        qdq_free(data);
    }
}

static qdq_status write_bytes(void *ctx, qdq_error *e)
{
    void *data = NULL;
    size_t size;
    qdq_status st = qdq_model_to_bytes(ctx, NULL, &data, &size, e);

    assert_true((st == QDQ_OK) == (data != NULL));
    qdq_free(data);
    return st;
}

TEST(writing_to_memory)
{
    qdq_model *m = NULL;

    for (size_t i = 0; i < QDQ_COUNT(seeds); i++) {
        assert_ok(qdq_model_load(seed_path(seeds[i]), NULL, &m, &err));
        test_every_alloc_fails(write_bytes, m);
        qdq_model_free(m);
    }
}

static qdq_status through_blocks(void *ctx, qdq_error *e)
{
    qdq_load_opts opts = QDQ_LOAD_OPTS_INIT;
    qdq_block *blocks = NULL;
    qdq_model *again = NULL;
    void *data = NULL;
    size_t size;
    qdq_status st = qdq_model_to_blocks(ctx, 1, &data, &size, &blocks, &opts.n_blocks, e);

    assert_true((st == QDQ_OK) == (data != NULL && blocks != NULL));
    opts.blocks = blocks;
    opts.borrow = true;
    if (st == QDQ_OK)
        st = qdq_model_load_bytes(data, size, "memory", &opts, &again, e);
    qdq_model_free(again);
    qdq_free(data);
    qdq_free(blocks);
    return st;
}

TEST(writing_to_blocks_and_reading_them)
{
    qdq_model *m = NULL;

    for (size_t i = 0; i < QDQ_COUNT(seeds); i++) {
        assert_ok(qdq_model_load(seed_path(seeds[i]), NULL, &m, &err));
        test_every_alloc_fails(through_blocks, m);
        qdq_model_free(m);
    }
}

static qdq_status save_external(void *ctx, qdq_error *e)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    const char *path = test_path("out.onnx");
    unsigned before = test_count_files(test_dir());
    qdq_status st;

    opts.external = QDQ_EXTERNAL_ALWAYS;
    st = qdq_model_save(ctx, path, &opts, e);
    if (st != QDQ_OK)
        assert_int_equal(access(path, F_OK), -1);
    unlink(path);
    const char *side = test_side_file(path);
    if (st != QDQ_OK)
        assert_null(side);
    else
        unlink(side);
    assert_int_equal(test_count_files(test_dir()), before); /* no temporary file either */
    return st;
}

TEST(saving_with_external_data)
{
    qdq_model *m;
    qdq_buf big = QDQ_BUF_INIT(1 << 20);

    qdq_buf_puts(&big,
                 "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[512] x) => (float[512] y)\n"
                 "<float[512] w = {0");
    for (int i = 1; i < 512; i++)
        qdq_buf_printf(&big, ",%d", i);
    qdq_buf_puts(&big, "}> {\n  y = Add (x, w)\n}\n");
    m = test_model(big.data);
    test_dir();
    test_every_alloc_fails(save_external, m);
    qdq_model_free(m);
    qdq_buf_free(&big);
}
