/* tune_samples.c - the samples that the engine's process gets, where lengths differ. */
#include "base/file.h"
#include "quant/data/npz.h"
#include "support/opened_data.h"
#include "tune/accuracy/accuracy.h"

static const int64_t rows[] = {5, 3, 3, 7, 3};

static qdq_status next_rows(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *e)
{
    static const float zeros[64];
    static qdq_named_array x;
    size_t *next = ctx;

    (void)e;
    *n = *next < QDQ_COUNT(rows);
    if (*n > 0) {
        x = named("x", QDQ_FLOAT, zeros, 2, rows[*next], 8);
        ++*next;
        *in = &x;
    }
    return QDQ_OK;
}

static qdq_status from_the_first(void *ctx, qdq_error *e)
{
    (void)e;
    *(size_t *)ctx = 0;
    return QDQ_OK;
}

TEST(samples_of_the_typical_shape_are_stacked_and_no_others)
{
    const qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    const qdq_tune_opts opts = {.goal = &goal};
    qdq_model *m = test_model("g (float[T,8] x) => (float[T,8] y) { y = Relu(x) }");
    size_t next = 0, n = 0;
    qdq_data_source s = QDQ_DATA_SOURCE_INIT;
    qdq_tune_state t = {.opts = &opts, .task.m = m};
    const qdq_npy *a;
    const char *path;
    qdq_npz *z;

    s.ctx = &next;
    s.count = QDQ_COUNT(rows);
    s.next = next_rows;
    s.rewind = from_the_first;
    assert_ok(qdq_data_from(&s, m, NULL, &t.task.data, &err));
    assert_ok(qdq_tempdir_new(NULL, &t.tools.work, &err));
    assert_ok(qdq_tune_samples(&t, &path, &n, &err));
    assert_int_equal(n, 3); /* with the first one of 3 rows */
    assert_ok(qdq_npz_open(path, &z, &err));
    assert_ok(qdq_npz_header(z, 0, &a, &err));
    assert_int_equal(a->dim[0], 3 * 3);
    qdq_npz_close(z);
    qdq_tempdir_free(t.tools.work);
    qdq_data_close(t.task.data);
    qdq_arena_free(&t.arena);
    qdq_model_free(m);
}
