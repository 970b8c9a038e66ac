/* data_typical.c - which sample is timed where lengths differ: one in the middle. And lengths that
 * a shape fixes for several inputs. */
#include "support/opened_data.h"

static const char open_model[] = "g (float[N,T] x) => (float[N,T] y) { y = Relu(x) }";

static const float zeros[256];

typedef struct lengths {
    const int64_t *at;
    size_t n, next, reads;
    qdq_named_array array;
} lengths;

static qdq_status next_length(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *e)
{
    lengths *l = ctx;

    (void)e;
    *n = l->next < l->n;
    if (*n == 0)
        return QDQ_OK;
    l->array = named("x", QDQ_FLOAT, zeros, 2, 1, l->at[l->next++]);
    l->reads++;
    *in = &l->array;
    return QDQ_OK;
}

static qdq_status from_the_first(void *ctx, qdq_error *e)
{
    (void)e;
    ((lengths *)ctx)->next = 0;
    return QDQ_OK;
}

static qdq_data *open_lengths(lengths *l, const char *model)
{
    qdq_data_source s = QDQ_DATA_SOURCE_INIT;
    qdq_model *m = test_model(model);
    qdq_data *d = NULL;

    s.ctx = l;
    s.count = l->n;
    s.next = next_length;
    s.rewind = from_the_first;
    assert_ok(qdq_data_from(&s, m, NULL, &d, &err));
    qdq_model_free(m);
    return d;
}

static void assert_typical(const int64_t *at, size_t n, size_t first, size_t count, size_t expected)
{
    lengths l = {.at = at, .n = n};
    qdq_data *d = open_lengths(&l, open_model);
    size_t i = SIZE_MAX;

    assert_ok(qdq_data_find_typical(d, first, count, &i, &err));
    assert_int_equal(i, expected);
    qdq_data_close(d);
}

#define TYPICAL(first, count, expected, ...)                                                       \
    assert_typical((const int64_t[]){__VA_ARGS__},                                                 \
                   sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), first, count,         \
                   expected)

TEST(the_sample_in_the_middle_by_its_length_is_typical)
{
    TYPICAL(0, 0, 4, 1, 1, 24, 12, 5);
    TYPICAL(0, 0, 1, 1, 24); /* of two the longer one */
}

TEST(of_equal_lengths_the_first_is_typical)
{
    TYPICAL(0, 0, 0, 7, 7, 7, 7);
    TYPICAL(0, 0, 1, 1, 5, 5, 5, 9);
}

TEST(only_the_samples_in_the_range_count)
{
    TYPICAL(1, 3, 2, 100, 1, 5, 9, 100, 100);
    TYPICAL(4, 100, 4, 1, 2, 3, 4, 90); /* one is left */
}

TEST(many_samples_are_looked_at_evenly_and_no_more_than_64)
{
    int64_t at[256];
    lengths l = {.at = at, .n = QDQ_COUNT(at)};
    size_t i = 0;

    for (size_t k = 0; k < QDQ_COUNT(at); k++)
        at[k] = (int64_t)k + 1;
    qdq_data *d = open_lengths(&l, open_model);
    assert_ok(qdq_data_find_typical(d, 0, 0, &i, &err));
    assert_int_equal(i, 128);
    qdq_data_close(d);
}

TEST(nothing_is_read_where_all_samples_have_one_shape)
{
    static const int64_t at[] = {2, 2, 2};
    lengths l = {.at = at, .n = QDQ_COUNT(at)};
    qdq_data *d = open_lengths(&l, "g (float[1,2] x) => (float[1,2] y) { y = Relu(x) }");
    const size_t before = l.reads;
    size_t i = 0;

    assert_ok(qdq_data_find_typical(d, 1, 0, &i, &err));
    assert_int_equal(i, 1);
    assert_int_equal(l.reads, before);
    qdq_data_close(d);
    assert_ok(try_open(open_model, "random:1", NULL, &d));
    assert_ok(qdq_data_find_typical(d, 3, 0, &i, &err));
    assert_int_equal(i, 3);
    qdq_data_close(d);
}

TEST(a_sample_that_is_not_there_is_an_error)
{
    static const int64_t at[] = {2, 3};
    lengths l = {.at = at, .n = QDQ_COUNT(at)};
    qdq_data *d = open_lengths(&l, open_model);
    size_t i;

    assert_fails(QDQ_E_USAGE, "sample 2: there are 2", qdq_data_find_typical(d, 2, 0, &i, &err));
    qdq_data_close(d);
}

/* A batch of two is one for the mask, too, though only the tokens have a shape. */
TEST(a_symbol_that_a_shape_fixes_is_fixed_in_all_inputs)
{
    static const qdq_input_shape shape = {"a", 2, {2, 3}};
    const qdq_named_array in[] = {named("a", QDQ_FLOAT, zeros, 2, 4, 3),
                                  named("b", QDQ_FLOAT, zeros, 2, 4, 3),
                                  named("c", QDQ_FLOAT, zeros, 2, 4, 9)};
    qdq_model *m = test_graph(__func__);
    qdq_data_opts o = QDQ_DATA_OPTS_INIT;
    const qdq_named_array *got;
    qdq_data *d = NULL;
    size_t n;

    o.shapes = &shape;
    o.n_shapes = 1;
    assert_ok(qdq_data_from_arrays(in, 3, m, &o, &d, &err));
    assert_int_equal(qdq_data_count(d), 2);
    assert_ok(qdq_data_get(d, 1, &got, &n, &err));
    assert_int_equal(got[1].array.dim[0], 2);
    assert_int_equal(got[2].array.dim[0], 2);
    assert_int_equal(got[2].array.dim[1], 9);
    qdq_data_close(d);
    qdq_model_free(m);
}
