/* data_masks.c - inputs that are as long as a cache and what is new: their length at each step, and
 * what does not fit. */
#include "support/opened_data.h"

static const qdq_state t_to_s = {"t", "s"};
static const char *const mask[] = {"m", NULL};
static const float numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const int64_t whole[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};

static qdq_data_opts with_mask(size_t steps)
{
    qdq_data_opts opts = listen();

    opts.states = &t_to_s;
    opts.n_states = 1;
    opts.steps = steps;
    opts.masks = mask;
    return opts;
}

/* [sequences, steps, items] */
static qdq_named_array x_of(int64_t sequences, int64_t steps, int64_t items)
{
    qdq_named_array n = named("x", QDQ_FLOAT, numbers, 2, sequences, steps * items);

    n.array.rank = 3;
    n.array.dim[1] = steps;
    n.array.dim[2] = items;
    return n;
}

/* The mask of a step. */
static const qdq_array *mask_of(qdq_data *d, size_t i, size_t step)
{
    const qdq_named_array *in;
    size_t n;

    assert_ok(qdq_data_get_step(d, i, step, &in, &n, &err));
    assert_int_equal(n, 3);
    assert_int_equal(in[1].array.rank, 2);
    assert_int_equal(in[1].array.bytes, (size_t)qdq_array_count(&in[1].array) * sizeof(int64_t));
    return &in[1].array;
}

static void assert_ones(const qdq_array *a, int64_t length)
{
    assert_int_equal(a->dim[1], length);
    for (int64_t i = 0; i < qdq_array_count(a); i++)
        assert_int_equal(((const int64_t *)a->data)[i], 1);
}

TEST(a_missing_mask_is_ones_as_long_as_the_cache_and_what_is_new)
{
    const qdq_data_opts opts = with_mask(0);
    qdq_named_array in[] = {x_of(2, 3, 1), {.name = NULL}};
    qdq_data *d = NULL;

    assert_ok(try_arrays(test_graph_text("decoder"), in, 1, &opts, &d));
    assert_int_equal(qdq_data_count(d), 2);
    for (size_t step = 0; step < 3; step++)
        assert_ones(mask_of(d, 1, step), (int64_t)step + 1);
    assert_ones(mask_of(d, 0, 2), 3); /* in any order */
    qdq_data_close(d);
    in[0] = x_of(1, 3, 2); /* two items each step, behind a cache of four */
    in[1] = named("s", QDQ_FLOAT, numbers, 2, 1, 4);
    assert_ok(try_arrays(test_graph_text("decoder"), in, 2, &opts, &d));
    assert_ones(mask_of(d, 0, 2), 10);
    assert_ones(mask_of(d, 0, 0), 6);
    qdq_data_close(d);
}

TEST(a_given_mask_is_cut_to_the_length_of_each_step)
{
    const qdq_data_opts opts = with_mask(0);
    const qdq_named_array in[] = {x_of(2, 2, 2), named("m", QDQ_INT64, whole, 2, 2, 6)};
    qdq_data *d = NULL;

    assert_ok(try_arrays(test_graph_text("decoder"), in, 2, &opts, &d));
    for (size_t i = 0; i < 2; i++)
        for (size_t step = 0; step < 2; step++) {
            const qdq_array *m = mask_of(d, i, step);

            assert_int_equal(m->dim[0], 1);
            assert_int_equal(m->dim[1], 2 * (step + 1));
            assert_memory_equal(m->data, whole + 6 * i, m->bytes);
        }
    qdq_data_close(d);
}

TEST(rows_of_a_batch_are_cut_one_by_one)
{
    qdq_data_opts opts = with_mask(2);
    const qdq_input_shape shape = {"x", 2, {2, 1}}, masks = {"m", 2, {2, -1}};
    const qdq_input_shape shapes[] = {shape, masks};
    const qdq_named_array in[] = {named("x", QDQ_FLOAT, numbers, 2, 4, 1),
                                  named("m", QDQ_INT64, whole, 2, 4, 3)};
    const int64_t first[] = {10, 13}, second[] = {16, 17, 19, 20};
    qdq_data *d = NULL;

    opts.shapes = shapes;
    opts.n_shapes = 2;
    assert_ok(try_arrays(test_graph_text("decoder"), in, 2, &opts, &d));
    assert_int_equal(qdq_data_count(d), 1);
    assert_memory_equal(mask_of(d, 0, 0)->data, first, sizeof first);
    assert_memory_equal(mask_of(d, 0, 1)->data, second, sizeof second);
    qdq_data_close(d);
}

/* With steps the samples may have the cache that was recorded at each: the first one counts. */
TEST(the_cache_of_the_first_step_counts)
{
    const qdq_data_opts opts = with_mask(2);
    const qdq_named_array in[] = {named("x", QDQ_FLOAT, numbers, 2, 4, 1),
                                  named("s", QDQ_FLOAT, numbers, 2, 4, 3)};
    qdq_data *d = NULL;

    assert_ok(try_arrays(test_graph_text("decoder"), in, 2, &opts, &d));
    assert_ones(mask_of(d, 1, 1), 5);
    assert_ones(mask_of(d, 1, 0), 4);
    assert_ones(mask_of(d, 0, 1), 5);
    qdq_data_close(d);
}

TEST(random_steps_have_masks_too)
{
    const qdq_data_opts opts = with_mask(3);
    qdq_data *d = opened(test_graph_text("decoder"), "random:1", &opts);

    assert_ones(mask_of(d, 0, 2), 3);
    assert_ones(mask_of(d, 7, 0), 1);
    /* the cache is empty at first, and is not taken as 1 */
    assert_null(strstr(recorded_lines, "'s'"));
    assert_null(strstr(recorded_lines, "'m'"));
    assert_non_null(strstr(recorded_lines, "dimension 1 (S) of input 'x' is not fixed"));
    qdq_data_close(d);
}

/* --- a source of the caller ------------------------------------------------------------------- */

typedef struct tokens {
    qdq_named_array array;
    size_t next;
} tokens;

static qdq_status next_token(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *e)
{
    tokens *f = ctx;

    (void)e;
    f->array = named("x", QDQ_FLOAT, numbers + f->next, 2, 1, 1);
    *in = &f->array;
    *n = f->next++ < 6;
    return QDQ_OK;
}

static qdq_status first_token(void *ctx, qdq_error *e)
{
    (void)e;
    ((tokens *)ctx)->next = 0;
    return QDQ_OK;
}

TEST(a_function_returns_steps_without_the_mask)
{
    for (int turn = 0; turn < 2; turn++) {
        const qdq_data_opts opts = with_mask(3);
        qdq_data_source source = QDQ_DATA_SOURCE_INIT;
        qdq_model *m = test_graph("decoder");
        tokens f = {.next = 0};
        qdq_data *d = NULL;

        source.ctx = &f;
        source.next = next_token;
        source.rewind = turn == 0 ? NULL : first_token;
        assert_ok(qdq_data_from(&source, m, &opts, &d, &err));
        qdq_model_free(m);
        assert_ones(mask_of(d, 1, 2), 3);
        assert_ones(mask_of(d, 0, 1), 2);
        assert_ones(mask_of(d, 0, 0), 1);
        assert_ones(mask_of(d, 1, 0), 1);
        qdq_data_close(d);
    }
}

/* --- kinds of ones ---------------------------------------------------------------------------- */

static void ask_ones(const char *elem, const void *one, size_t bytes)
{
    const qdq_data_opts opts = with_mask(1);
    const qdq_named_array *in;
    char model[300];
    size_t n;

    snprintf(model, sizeof model,
             "<ir_version: 8, opset_import: [\"\" : 17]>\n"
             "g (float[N,1] x, %s[N,1,total] m, float[N,past] s) => (float[N,total] t)"
             "{ t = Concat<axis = 1>(s, x) u = Identity(m) }",
             elem);
    qdq_data *d = opened(model, "random:1", &opts);
    assert_ok(qdq_data_get(d, 0, &in, &n, &err));
    assert_int_equal(in[1].array.bytes, bytes);
    assert_memory_equal(in[1].array.data, one, bytes);
    qdq_data_close(d);
}

TEST(ones_are_of_the_type_of_the_mask)
{
    const float f = 1;
    const uint16_t half = 0x3c00;
    const unsigned char b = 1;
    const int32_t i = 1;

    ask_ones("float", &f, 4);
    ask_ones("float16", &half, 2);
    ask_ones("bool", &b, 1);
    ask_ones("int32", &i, 4);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void refuse_mask(const char *model, const char *name, const char *message)
{
    const char *const names[] = {name, NULL};
    qdq_data_opts opts = with_mask(2);

    opts.masks = names;
    refused(model, "random:1", &opts, QDQ_E_USAGE, message);
}

TEST(masks_that_do_not_fit_are_refused_by_name)
{
    const char *fixed = test_graph_text("fixed");
    const char *keeps = test_graph_text("keeps");
    const char *const twice[] = {"m", "m", NULL};
    qdq_data_opts opts = with_mask(2);

    refuse_mask(test_graph_text("decoder"), "z", "mask 'z': the model has no input 'z'");
    refuse_mask(test_graph_text("decoder"), "s", "mask 's': input 's' is a state");
    refuse_mask(fixed, "m",
                "mask 'm': input 'm' is int64 [1, 4], expected a last dimension that is open");
    refuse_mask(keeps, "m",
                "mask 'm': no state has an open dimension of its own, expected a cache that grows");
    opts.masks = twice;
    refused(test_graph_text("decoder"), "random:1", &opts, QDQ_E_USAGE,
            "mask 'm': input 'm' is a mask already");
    opts = with_mask(0);
    opts.n_states = 0;
    refused(test_graph_text("decoder"), "random:1", &opts, QDQ_E_USAGE,
            "mask 'm': found no states, expected a cache");
}

TEST(a_mask_that_is_shorter_than_the_cache_is_refused_where_it_is_read)
{
    const qdq_data_opts opts = with_mask(0);
    const qdq_named_array in[] = {x_of(2, 3, 1), named("m", QDQ_INT64, whole, 2, 2, 2)};
    const qdq_named_array *list;
    qdq_data *d = NULL;
    size_t n;

    assert_ok(try_arrays(test_graph_text("decoder"), in, 2, &opts, &d));
    assert_int_equal(mask_of(d, 1, 1)->dim[1], 2);
    assert_fails(QDQ_E_FORMAT,
                 "arrays: sample 1, step 2: mask 'm' has length 2, expected at least 3 for the "
                 "cache and what is new",
                 qdq_data_get_step(d, 1, 2, &list, &n, &err));
    qdq_data_close(d);
}

TEST(an_input_that_is_no_mask_must_be_there)
{
    qdq_data_opts opts = with_mask(0);
    const qdq_named_array in = x_of(2, 3, 1);
    qdq_data *d = NULL;

    opts.masks = NULL;
    assert_fails(QDQ_E_FORMAT, "no array for input 'm'",
                 try_arrays(test_graph_text("decoder"), &in, 1, &opts, &d));
}
