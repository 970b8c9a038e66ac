/* data_states.c - samples that are sequences: where the time axis is, what a state begins with, and
 * what does not fit. */
#include "ir/edit.h"
#include "support/npy_file.h"
#include "support/opened_data.h"

static const qdq_state t_to_s = {"t", "s"};

static qdq_data_opts with_states(const qdq_state *states, size_t n, size_t steps)
{
    qdq_data_opts opts = listen();

    opts.states = states;
    opts.n_states = n;
    opts.steps = steps;
    return opts;
}

static const qdq_array *step_of(qdq_data *d, size_t i, size_t step, size_t k)
{
    const qdq_named_array *in;
    size_t n;

    assert_ok(qdq_data_get_step(d, i, step, &in, &n, &err));
    assert_true(k < n);
    return &in[k].array;
}

static qdq_named_array of_rank_3(const char *name, const void *data, int64_t a, int64_t b,
                                 int64_t c)
{
    qdq_named_array n = {
        name, {.elem = QDQ_FLOAT, .rank = 3, .dim = {a, b, c}, .data = (void *)(uintptr_t)data}};

    n.array.bytes = (size_t)(a * b * c) * sizeof(float);
    return n;
}

static void refuse_arrays(const char *model, const qdq_named_array *a, size_t n,
                          const qdq_data_opts *opts, qdq_status code, const char *message)
{
    qdq_data *d = NULL;

    assert_fails(code, message, try_arrays(model, a, n, opts, &d));
}

static const float numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const int64_t whole[] = {10, 11, 12, 13, 14};
static const float zeros[2] = {0, 0};

/* --- sequences -------------------------------------------------------------------------------- */

TEST(steps_cut_consecutive_samples_into_sequences)
{
    const qdq_named_array in[] = {named("x", QDQ_FLOAT, numbers, 2, 5, 2),
                                  named("n", QDQ_INT64, whole, 1, 5, 0)};
    const qdq_data_opts opts = with_states(&t_to_s, 1, 2);
    const qdq_named_array *list;
    qdq_data *d = NULL;
    size_t n;

    assert_ok(try_arrays(test_graph_text("cell"), in, 2, &opts, &d));
    assert_non_null(strstr(
        recorded_lines, "arrays: the last 1 samples do not fill a sequence of 2 steps, left out"));
    assert_int_equal(qdq_data_count(d), 2);
    assert_int_equal(qdq_data_steps(d), 2);
    const qdq_state *s = qdq_data_states(d, &n);
    assert_int_equal(n, 1);
    assert_string_equal(s->output, "t");
    assert_string_equal(s->input, "s");
    for (size_t i = 0; i < 2; i++)
        for (size_t step = 0; step < 2; step++) {
            assert_memory_equal(step_of(d, i, step, 0)->data, numbers + 4 * i + 2 * step, 8);
            assert_memory_equal(step_of(d, i, step, 1)->data, zeros, 8);
            assert_int_equal(*(const int64_t *)step_of(d, i, step, 2)->data, whole[2 * i + step]);
        }
    assert_memory_equal(sample(d, 1, 0)->data, numbers + 4, 8); /* its first step */
    assert_fails(QDQ_E_USAGE, "arrays: step 2, there are 2",
                 qdq_data_get_step(d, 0, 2, &list, &n, &err));
    assert_fails(QDQ_E_USAGE, "arrays: sample 2, there are 2",
                 qdq_data_get_step(d, 2, 0, &list, &n, &err));
    qdq_data_close(d);
}

TEST(the_second_axis_of_an_array_is_time)
{
    const float first[] = {-1, -2, -3, -4};
    const qdq_named_array in[] = {of_rank_3("x", numbers, 2, 3, 2),
                                  named("s", QDQ_FLOAT, first, 2, 2, 2),
                                  named("n", QDQ_INT64, whole, 1, 2, 0)};
    const qdq_data_opts opts = with_states(&t_to_s, 1, 0);
    qdq_data *d = NULL;

    assert_ok(try_arrays(test_graph_text("cell"), in, 3, &opts, &d));
    assert_int_equal(qdq_data_count(d), 2);
    assert_int_equal(qdq_data_steps(d), 3);
    for (size_t i = 0; i < 2; i++)
        for (size_t step = 0; step < 3; step++) {
            const qdq_array *x = step_of(d, i, step, 0);

            assert_int_equal(x->rank, 2);
            assert_true(x->dim[0] == 1 && x->dim[1] == 2);
            assert_memory_equal(x->data, numbers + 6 * i + 2 * step, 8);
            /* arrays without that axis are the same at each step */
            assert_memory_equal(step_of(d, i, step, 1)->data, first + 2 * i, 8);
            assert_int_equal(*(const int64_t *)step_of(d, i, step, 2)->data, whole[i]);
        }
    qdq_data_close(d);
}

TEST(a_fixed_batch_stands_behind_the_time_axis)
{
    static const char model[] =
        "g (float[2,2] x, float[2,2] s) => (float[2,2] t) { t = Add(x, s) }";
    qdq_named_array x = of_rank_3("x", numbers, 1, 2, 4);
    const qdq_data_opts opts = with_states(&t_to_s, 1, 0);
    qdq_data *d = NULL;

    x.array.rank = 4;
    x.array.dim[2] = x.array.dim[3] = 2;
    assert_ok(try_arrays(model, &x, 1, &opts, &d));
    assert_int_equal(qdq_data_count(d), 1);
    assert_memory_equal(step_of(d, 0, 1, 0)->data, numbers + 4, 16);
    assert_int_equal(step_of(d, 0, 1, 0)->dim[0], 2);
    qdq_data_close(d);
}

TEST(a_number_for_each_step_has_two_axes)
{
    const qdq_named_array in[] = {of_rank_3("x", numbers, 2, 2, 2),
                                  named("n", QDQ_INT64, whole, 2, 2, 2)};
    const qdq_data_opts opts = with_states(&t_to_s, 1, 0);
    qdq_data *d = NULL;

    assert_ok(try_arrays(test_graph_text("cell"), in, 2, &opts, &d));
    assert_int_equal(*(const int64_t *)step_of(d, 1, 0, 2)->data, 12);
    qdq_data_close(d);
}

TEST(labels_are_one_for_each_step)
{
    static const char model[] =
        "g (float[N,2] x, float[N,2] s) => (float[N,2] t) { t = Add(x, s) }";
    const qdq_named_array in[] = {of_rank_3("x", numbers, 2, 2, 2),
                                  named("l", QDQ_INT64, whole, 2, 2, 2)};
    qdq_data_opts opts = with_states(&t_to_s, 1, 0);
    qdq_data *d = NULL;
    size_t n;

    opts.labels = "l";
    assert_ok(try_arrays(model, in, 2, &opts, &d));
    const int64_t *l = qdq_data_labels(d, 1, &n);
    assert_int_equal(n, 2);
    assert_true(l[0] == 12 && l[1] == 13);
    qdq_data_close(d);
    const qdq_named_array few[] = {in[0], named("l", QDQ_INT64, whole, 1, 2, 0)};
    assert_fails(QDQ_E_FORMAT, "labels 'l' are int64 [2], expected integers [4]",
                 try_arrays(model, few, 2, &opts, &d));
}

TEST(most_samples_counts_sequences)
{
    const qdq_named_array in[] = {named("x", QDQ_FLOAT, numbers, 2, 5, 2),
                                  named("n", QDQ_INT64, whole, 1, 5, 0)};
    qdq_data_opts opts = with_states(&t_to_s, 1, 2);
    qdq_data *d = NULL;

    opts.max_samples = 1;
    assert_ok(try_arrays(test_graph_text("cell"), in, 2, &opts, &d));
    assert_int_equal(qdq_data_count(d), 1);
    qdq_data_close(d);
    d = opened(test_graph_text("cell"), "random:1", &opts);
    assert_int_equal(qdq_data_count(d), 1);
    assert_memory_equal(step_of(d, 0, 1, 1)->data, zeros, 8); /* a state is not random */
    qdq_data_close(d);
    opts.max_samples = 0;
    d = opened(test_graph_text("cell"), "random:1", &opts);
    assert_int_equal(qdq_data_count(d), 8);
    qdq_data_close(d);
}

TEST(files_of_a_folder_are_steps_or_hold_sequences)
{
    static const char model[] =
        "g (float[N,2] x, float[1,2] s) => (float[1,2] t) { t = Add(x, s) }";
    qdq_data_opts opts = with_states(&t_to_s, 1, 2);
    char folder[300];

    snprintf(folder, sizeof folder, "%s", test_path("steps"));
    assert_int_equal(mkdir(folder, 0700), 0);
    for (int i = 0; i < 4; i++) {
        char name[40];

        snprintf(name, sizeof name, "steps/%d.npy", i);
        test_npy_file(name, TEST_HEADER("<f4", "(1, 2)"), numbers + 2 * i, 8);
    }
    qdq_data *d = opened(model, folder, &opts);
    assert_int_equal(qdq_data_count(d), 2);
    assert_memory_equal(step_of(d, 1, 1, 0)->data, numbers + 6, 8);
    qdq_data_close(d);
    snprintf(folder, sizeof folder, "%s", test_path("sequences"));
    assert_int_equal(mkdir(folder, 0700), 0);
    test_npy_file("sequences/0.npy", TEST_HEADER("<f4", "(1, 2, 2)"), numbers, 16);
    test_npy_file("sequences/1.npy", TEST_HEADER("<f4", "(2, 2, 2)"), numbers + 4, 32);
    opts.steps = 0;
    d = opened(model, folder, &opts);
    assert_int_equal(qdq_data_count(d), 3);
    assert_memory_equal(step_of(d, 2, 1, 0)->data, numbers + 10, 8);
    assert_memory_equal(step_of(d, 0, 1, 0)->data, numbers + 2, 8);
    qdq_data_close(d);
    test_npy_file("sequences/2.npy", TEST_HEADER("<f4", "(1, 1, 2)"), numbers, 8);
    refused(model, folder, &opts, QDQ_E_FORMAT,
            "1 steps for input 'x', expected 2 as in the arrays before");
    test_npy_file("sequences/2.npy", TEST_HEADER("<f4", "(1, 2)"), numbers, 8);
    refused(model, folder, &opts, QDQ_E_FORMAT,
            "found no time axis, expected one as in the files "
            "before");
}

/* --- what a state begins with ----------------------------------------------------------------- */

TEST(open_dims_of_a_missing_state_are_those_of_other_inputs_or_an_empty_cache)
{
    const char *model = test_graph_text(__func__);
    qdq_data_opts opts = with_states(&t_to_s, 1, 1);
    qdq_input_shape shape = {"x", 2, {2, 2}};
    qdq_named_array x = named("x", QDQ_FLOAT, numbers, 2, 4, 2);
    qdq_data *d = NULL;

    opts.shapes = &shape;
    opts.n_shapes = 1;
    assert_ok(try_arrays(model, &x, 1, &opts, &d));
    assert_int_equal(qdq_data_count(d), 2);
    const qdq_array *s = step_of(d, 0, 0, 1);
    assert_int_equal(s->rank, 4);
    assert_true(s->dim[0] == 3 && s->dim[1] == 2 && s->dim[2] == 0 && s->dim[3] == 1);
    assert_int_equal(s->bytes, 0);
    qdq_data_close(d);
    shape = (qdq_input_shape){"s", 4, {3, 1, 5, 2}};
    assert_ok(try_arrays(model, &x, 1, &opts, &d));
    s = step_of(d, 0, 0, 1);
    assert_true(s->dim[2] == 5 && s->dim[3] == 2);
    qdq_data_close(d);
}

TEST(an_empty_array_is_a_cache_that_begins_empty)
{
    const char *model = test_graph_text(__func__);
    const qdq_data_opts opts = with_states(&t_to_s, 1, 2);
    qdq_named_array in[] = {named("x", QDQ_FLOAT, numbers, 2, 2, 2),
                            of_rank_3("s", numbers, 2, 0, 2)};
    qdq_data *d = NULL;

    assert_ok(try_arrays(model, in, 2, &opts, &d));
    assert_int_equal(step_of(d, 0, 1, 1)->dim[1], 0);
    qdq_data_close(d);
    in[1] = of_rank_3("s", numbers, 0, 1, 2);
    refuse_arrays(model, in, 2, &opts, QDQ_E_FORMAT, "empty array");
    in[1] = of_rank_3("s", numbers, 2, 1, 2);
    in[0] = named("x", QDQ_FLOAT, numbers, 2, 0, 2);
    refuse_arrays(model, in, 2, &opts, QDQ_E_FORMAT, "empty array");
}

TEST(zero_of_quantized_values_is_their_zero_point)
{
    const char *model = test_graph_text(__func__);
    const qdq_data_opts opts = with_states(&t_to_s, 1, 2);
    const qdq_named_array x = named("x", QDQ_FLOAT, numbers, 2, 2, 2);
    const uint8_t zero[] = {128, 128};
    qdq_data *d = NULL;

    assert_ok(try_arrays(model, &x, 1, &opts, &d));
    assert_memory_equal(step_of(d, 0, 0, 1)->data, zero, 2);
    qdq_data_close(d);
}

/* --- a source of the caller ------------------------------------------------------------------- */

typedef struct frames {
    qdq_named_array array;
    size_t next;
} frames;

static qdq_status next_frame(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *e)
{
    frames *f = ctx;

    (void)e;
    f->array = named("x", QDQ_FLOAT, numbers + 2 * f->next, 2, 1, 2);
    *in = &f->array;
    *n = f->next++ < 5;
    return QDQ_OK;
}

/* Read once: samples come back from a file, and the state with them. */
TEST(a_function_returns_steps_without_the_state)
{
    static const char model[] =
        "g (float[1,2] s, float[N,2] x) => (float[1,2] t) { t = Add(x, s) }";
    const qdq_data_opts opts = with_states(&t_to_s, 1, 2);
    qdq_data_source source = QDQ_DATA_SOURCE_INIT;
    frames f = {.next = 0};
    qdq_model *m = test_model(model);
    qdq_data *d = NULL;

    source.ctx = &f;
    source.next = next_frame;
    assert_ok(qdq_data_from(&source, m, &opts, &d, &err));
    qdq_model_free(m);
    assert_int_equal(qdq_data_count(d), 2);
    for (size_t turn = 0; turn < 2; turn++)
        for (size_t run = 0; run < 4; run++) {
            assert_memory_equal(step_of(d, run / 2, run % 2, 1)->data, numbers + 2 * run, 8);
            assert_memory_equal(step_of(d, run / 2, run % 2, 0)->data, zeros, 8);
        }
    qdq_data_close(d);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void refuse_state(const char *model, qdq_state s, const char *message)
{
    const qdq_data_opts opts = with_states(&s, 1, 2);

    refused(model, "random:1", &opts, QDQ_E_USAGE, message);
}

TEST(states_that_do_not_fit_are_refused_by_name)
{
    const qdq_state twice[] = {{"t", "s"}, {"y", "s"}};
    qdq_data_opts opts = with_states(twice, 2, 2);

    refuse_state(test_graph_text("cell"), (qdq_state){"z", "s"},
                 "state 'z=s': the model has no output 'z'");
    refuse_state(test_graph_text("cell"), (qdq_state){"t", "r"},
                 "state 't=r': the model has no input 'r'");
    refuse_state(
        test_graph_text("cell"), (qdq_state){"t", "n"},
        "state 't=n': output 't' is float [1, 2], input 'n' is int64 []: expected one type "
        "and shape");
    refuse_state(test_graph_text(__func__), (qdq_state){"t", "s"},
                 "output 't' is float [2, 3], input 's' is float [2, 2]");
    refuse_state(test_graph_text("cell"), (qdq_state){"t", NULL},
                 "state 0: found no name, expected an output and an input");
    refused(test_graph_text("cell"), "random:1", &opts, QDQ_E_USAGE,
            "state 'y=s': input 's' is the state of another output");
    opts.n_states = 0;
    refused(test_graph_text("cell"), "random:1", &opts, QDQ_E_USAGE,
            "found 2 steps without states");
}

TEST(a_state_of_any_shape_needs_one)
{
    const qdq_input_shape shape = {"s", 2, {1, 2}};
    qdq_data_opts opts = with_states(&t_to_s, 1, 2);
    qdq_model *m = test_model("g (float[N,2] x, float[1,2] s) => (float[1,2] t) { t = Add(x, s) }");
    qdq_data *d = NULL;

    qdq_value_set_type(m->graph->inputs.at[1], qdq_type_tensor(m, QDQ_FLOAT, -1, NULL));
    assert_fails(QDQ_E_USAGE,
                 "state 't=s': input 's' is float of any shape, expected a shape (--shape)",
                 qdq_data_open("random:1", m, &opts, &d, &err));
    opts.shapes = &shape;
    opts.n_shapes = 1;
    assert_ok(qdq_data_open("random:1", m, &opts, &d, &err));
    assert_memory_equal(step_of(d, 0, 0, 1)->data, zeros, 8);
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(data_without_a_time_axis_are_refused)
{
    qdq_data_opts opts = with_states(&t_to_s, 1, 0);
    const float s[12] = {0};
    qdq_named_array in[] = {named("x", QDQ_FLOAT, numbers, 2, 2, 2),
                            named("n", QDQ_INT64, whole, 1, 2, 0), of_rank_3("s", s, 2, 2, 2)};

    refuse_arrays(test_graph_text("cell"), in, 2, &opts, QDQ_E_FORMAT,
                  "arrays: found no time axis, expected an array [sequences, steps, shape of a "
                  "run] for an input, or --steps N");
    refused(test_graph_text("cell"), "random:1", &opts, QDQ_E_FORMAT,
            "random:1: found no time axis");
    opts.steps = 3;
    refuse_arrays(test_graph_text("cell"), in, 2, &opts, QDQ_E_FORMAT,
                  "arrays: 2 samples, expected a sequence of 3 steps");
    in[0] = of_rank_3("x", numbers, 2, 2, 2);
    refuse_arrays(test_graph_text("cell"), in, 2, &opts, QDQ_E_FORMAT,
                  "array 'x': a time axis and a number of steps: it is float [2, 2, 2], input 'x' "
                  "is float [N, 2]");
    opts.steps = 0;
    refuse_arrays(test_graph_text("cell"), in, 3, &opts, QDQ_E_FORMAT,
                  "array 's': a state with a time axis: it is float [2, 2, 2]");
    in[0] = of_rank_3("x", numbers, 2, 0, 2);
    refuse_arrays(test_graph_text("cell"), in, 2, &opts, QDQ_E_FORMAT,
                  "array 'x': sequences of no steps: it is float [2, 0, 2], input 'x' is float [N, "
                  "2]");
    in[0] = of_rank_3("x", numbers, 0, 2, 2);
    refuse_arrays(test_graph_text("cell"), in, 2, &opts, QDQ_E_FORMAT,
                  "array 'x': no sequences: it is float [0, 2, 2]");
    in[0] = of_rank_3("x", numbers, 2, 2, 2);
    in[1] = named("n", QDQ_INT64, whole, 2, 2, 1);
    refuse_arrays(test_graph_text("cell"), in, 2, &opts, QDQ_E_FORMAT,
                  "1 steps for input 'n', expected 2 as in the arrays before");
    opts.n_states = 0;
    refuse_arrays(test_graph_text("cell"), in, 2, &opts, QDQ_E_FORMAT,
                  "wrong number of dimensions");
}

/* --- sameness --------------------------------------------------------------------------------- */

TEST(a_state_that_is_zero_in_all_samples_proves_nothing_wrong)
{
    const qdq_named_array in[] = {named("x", QDQ_FLOAT, numbers, 2, 4, 2),
                                  named("n", QDQ_INT64, whole, 1, 4, 0)};
    const float same[8] = {1, 2, 1, 2, 1, 2, 1, 2};
    const int64_t ones[] = {1, 1, 1, 1};
    const qdq_named_array equal[] = {named("x", QDQ_FLOAT, same, 2, 4, 2),
                                     named("n", QDQ_INT64, ones, 1, 4, 0)};
    const qdq_data_opts opts = with_states(&t_to_s, 1, 4);
    const char *why = "?";
    qdq_data *d = NULL;

    assert_ok(try_arrays(test_graph_text("cell"), in, 2, &opts, &d));
    assert_ok(qdq_data_find_sameness(d, &why, &err));
    assert_null(why);
    qdq_data_close(d);
    assert_ok(try_arrays(test_graph_text("cell"), equal, 2, &opts, &d));
    assert_ok(qdq_data_find_sameness(d, &why, &err));
    assert_string_equal(why, "all 4 samples are equal");
    qdq_data_close(d);
}
