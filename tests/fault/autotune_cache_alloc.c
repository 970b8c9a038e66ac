/* autotune_cache_alloc.c - every allocation of a cache's reader and writer fails once: an error, no
 * crash, no leak. */
#include "support/alloc_fail.h"
#include "tune/cache/autotune_cache.h"

#include <string.h>

#include "base/file.h"
#include "base/quarantine.h"

static const char text[] =
    "{\"version\": 1, \"model_path\": \"m.onnx\", \"run\": {\"fingerprint\": \"f\", "
    "\"number\": 1}, \"phase2\": {\"samples\": {\"k\": [1, 2.5]}, \"results\": [{\"group_id\": 1, "
    "\"trt_layer_name\": \"a\", \"baseline_latency_ms\": Infinity, \"best_scheme_target_tensors\": "
    "[\"w\", "
    "\"x\"], "
    "\"best_latency_ms\": NaN}]}, \"phase3\": {\"full_baseline_ms\": 2, \"candidates\": [1], "
    "\"validated\": "
    "[{\"group_id\": 1, \"kept\": false, \"latency_ms\": 2, \"reason\": \"r\", \"verdict\": "
    "\"failed\"}], \"next\": 1}}";

static qdq_status read_and_write(void *ctx, qdq_error *err)
{
    qdq_autotune_cache c;

    qdq_status st = qdq_autotune_cache_parse(text, strlen(text), "c.json", &c, err);
    if (st == QDQ_OK) {
        assert_true(c.groups.n == 1 && c.groups.at[0].n_tensors == 2 && c.candidates.n == 1 &&
                    c.decisions.n == 1 && c.samples.n == 1);
        st = qdq_autotune_cache_write(&c, ctx, err);
    }
    qdq_autotune_cache_free(&c);
    return st;
}

TEST(reader_and_writer_survive_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(read_and_write, (char *)test_path("c.json")) > 5);
}

static qdq_status read_file(void *ctx, qdq_error *err)
{
    qdq_autotune_cache c;
    qdq_status st = qdq_autotune_cache_read(ctx, &c, err);

    qdq_autotune_cache_free(&c);
    return st;
}

static void write_again(const char *path)
{
    qdq_error err = QDQ_ERROR_INIT;

    test_let_allocs_be(true);
    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
    test_let_allocs_be(false);
}

static qdq_status set_aside(void *ctx, qdq_error *err)
{
    char *kept;
    qdq_status st = qdq_set_aside(ctx, "bad", &kept, err);

    if (st == QDQ_OK)
        write_again(ctx);
    qdq_free(kept);
    return st;
}

TEST(a_file_is_read_and_moved_in_spite_of_them)
{
    char *path = strdup(test_path("file.json"));
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
    assert_true(test_every_alloc_fails(read_file, path) > 3);
    assert_true(test_every_alloc_fails(set_aside, path) >= 1);
    free(path);
}
