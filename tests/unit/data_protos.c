/* ONNX's test data as samples: which file becomes which input, and what is refused with which
 * words. */
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "support/pb_build.h"
#include "support/test.h"

static qdq_error err;

static const char one_input[] = "g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }";

static const float ramp[] = {0, 1, 2, 3, 4, 5};
static const int64_t numbers[] = {7, 8, 9};

/* --- files ------------------------------------------------------------------------------------ */

static void save(const char *path, qdq_buf *b)
{
    assert_ok(qdq_write_file(test_path("%s", path), true, b->data, b->size, &err));
    qdq_buf_free(b);
}

/* A tensor of rank 2, or 1 if cols is 0. */
static void save_tensor(const char *path, const char *name, qdq_elem elem, int64_t rows,
                        int64_t cols, const void *data, size_t bytes)
{
    qdq_buf b = PB_NEW;

    pb_int(&b, 1, rows);
    if (cols > 0)
        pb_int(&b, 1, cols);
    pb_int(&b, 2, (int64_t)elem);
    pb_text(&b, 8, name);
    pb_bytes(&b, 9, data, bytes);
    save(path, &b);
}

static void make_set(const char *folder)
{
    char path[200];

    mkdir(test_path("%s", folder), 0700);
    /* expected results are no data, and no mistake */
    snprintf(path, sizeof path, "%s/output_0.pb", folder);
    assert_ok(qdq_write_file(test_path("%s", path), true, "x", 1, &err));
}

/* --- opening ---------------------------------------------------------------------------------- */

static char recorded_lines[2000];

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    size_t n = strlen(recorded_lines);

    (void)ctx;
    snprintf(recorded_lines + n, sizeof recorded_lines - n, "%d: %s\n", (int)level, text);
}

static qdq_status try_open(const char *model, const char *spec, qdq_data **d)
{
    static const qdq_job listening = {.size = sizeof(qdq_job), .log = record_line};
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_model *m = test_model(model);

    recorded_lines[0] = '\0';
    opts.job = &listening;
    qdq_status st = qdq_data_open(test_path("%s", spec), m, &opts, d, &err);
    qdq_model_free(m);
    return st;
}

static qdq_data *opened(const char *model, const char *spec)
{
    qdq_data *d = NULL;

    assert_ok(try_open(model, spec, &d));
    return d;
}

static void refused(const char *model, const char *spec, qdq_status code, const char *message)
{
    qdq_data *d = NULL;

    assert_fails(code, message, try_open(model, spec, &d));
    assert_null(d);
}

static const qdq_array *sample(qdq_data *d, size_t i, size_t k)
{
    const qdq_named_array *in;
    size_t n;

    assert_ok(qdq_data_get(d, i, &in, &n, &err));
    assert_true(k < n);
    return &in[k].array;
}

static void assert_data(const qdq_array *a, qdq_elem elem, const void *want, size_t bytes)
{
    assert_int_equal(a->elem, elem);
    assert_int_equal(a->bytes, bytes);
    assert_memory_equal(a->data, want, bytes);
}

/* --- samples ---------------------------------------------------------------------------------- */

TEST(sets_are_samples_in_the_order_of_their_numbers)
{
    mkdir(test_path("sets"), 0700);
    make_set("sets/test_data_set_2");
    make_set("sets/test_data_set_10");
    save_tensor("sets/test_data_set_2/input_0.pb", "x", QDQ_FLOAT, 2, 2, ramp, 16);
    save_tensor("sets/test_data_set_10/input_0.pb", "x", QDQ_FLOAT, 1, 2, ramp + 2, 8);
    qdq_data *d = opened(one_input, "sets");

    assert_int_equal(qdq_data_count(d), 2);
    assert_string_equal(recorded_lines, "");
    assert_data(sample(d, 0, 0), QDQ_FLOAT, ramp, 16); /* the batch is the file's */
    assert_int_equal(sample(d, 0, 0)->dim[0], 2);
    assert_data(sample(d, 1, 0), QDQ_FLOAT, ramp + 2, 8);
    assert_data(sample(d, 0, 0), QDQ_FLOAT, ramp, 16);
    qdq_data_close(d);
}

TEST(a_folder_with_input_files_is_one_sample)
{
    make_set("set");
    save_tensor("set/input_0.pb", "a", QDQ_FLOAT, 3, 2, ramp, 24);
    save_tensor("set/input_1.pb", "b", QDQ_INT64, 3, 0, numbers, 24);
    qdq_data *d = opened(test_graph_text("two_inputs"), "set");

    assert_int_equal(qdq_data_count(d), 1);
    assert_data(sample(d, 0, 0), QDQ_FLOAT, ramp, 24);
    assert_data(sample(d, 0, 1), QDQ_INT64, numbers, 24);
    qdq_data_close(d);
}

TEST(names_inside_the_files_decide_and_else_the_numbers_do)
{
    make_set("turned");
    save_tensor("turned/input_0.pb", "b", QDQ_INT64, 3, 0, numbers, 24);
    save_tensor("turned/input_1.pb", "a", QDQ_FLOAT, 3, 2, ramp, 24);
    qdq_data *d = opened(test_graph_text("two_inputs"), "turned");
    assert_data(sample(d, 0, 0), QDQ_FLOAT, ramp, 24);
    qdq_data_close(d);

    make_set("unnamed");
    save_tensor("unnamed/input_0.pb", "", QDQ_FLOAT, 3, 2, ramp, 24);
    save_tensor("unnamed/input_1.pb", "other", QDQ_INT64, 3, 0, numbers, 24);
    d = opened(test_graph_text("two_inputs"), "unnamed");
    assert_data(sample(d, 0, 1), QDQ_INT64, numbers, 24);
    qdq_data_close(d);
}

TEST(one_file_is_a_sample_of_a_model_with_one_input)
{
    static const double wide[] = {0, 1, 2, 3};
    qdq_buf typed = PB_NEW;

    save_tensor("one.pb", "", QDQ_DOUBLE, 2, 2, wide, 32); /* double becomes float */
    qdq_data *d = opened(one_input, "one.pb");
    assert_data(sample(d, 0, 0), QDQ_FLOAT, ramp, 16);
    qdq_data_close(d);

    pb_int(&typed, 1, 1);
    pb_int(&typed, 1, 2);
    pb_int(&typed, 2, QDQ_FLOAT);
    pb_bytes(&typed, 4, ramp + 1, 8); /* float_data */
    save("typed.pb", &typed);
    d = opened(one_input, "typed.pb");
    assert_data(sample(d, 0, 0), QDQ_FLOAT, ramp + 1, 8);
    qdq_data_close(d);
}

/* --- what is refused -------------------------------------------------------------------------- */

TEST(tensors_that_do_not_fit_their_input_are_refused)
{
    save_tensor("type.pb", "", QDQ_INT64, 1, 2, numbers, 16);
    refused(one_input, "type.pb", QDQ_E_FORMAT,
            "type.pb: wrong element type: it is int64 [1, 2], input 'x' is float [N, 2]");
    save_tensor("rank.pb", "", QDQ_FLOAT, 4, 0, ramp, 16);
    refused(one_input, "rank.pb", QDQ_E_FORMAT, "wrong number of dimensions: it is float [4]");
    save_tensor("shape.pb", "", QDQ_FLOAT, 2, 3, ramp, 24);
    refused(one_input, "shape.pb", QDQ_E_FORMAT, "wrong shape: it is float [2, 3]");
    save_tensor("none.pb", "", QDQ_FLOAT, 0, 2, ramp, 0);
    refused(one_input, "none.pb", QDQ_E_FORMAT, "empty tensor");
    refused(test_graph_text("two_inputs"), "type.pb", QDQ_E_FORMAT,
            "one tensor, but the model has 2 inputs: expected a folder");
}

TEST(sets_that_are_not_complete_are_refused)
{
    make_set("half");
    save_tensor("half/input_0.pb", "a", QDQ_FLOAT, 3, 2, ramp, 24);
    refused(test_graph_text("two_inputs"), "half", QDQ_E_IO, "half/input_1.pb");
    save_tensor("half/input_1.pb", "a", QDQ_FLOAT, 3, 2, ramp, 24);
    refused(test_graph_text("two_inputs"), "half", QDQ_E_FORMAT,
            "half/input_1.pb: a second tensor for input 'a', input_0.pb has the first");
}

TEST(folders_of_two_kinds_are_refused)
{
    make_set("both");
    save_tensor("both/input_0.pb", "x", QDQ_FLOAT, 1, 2, ramp, 8);
    assert_ok(qdq_write_file(test_path("both/x.npy"), true, "x", 1, &err));
    refused(one_input, "both", QDQ_E_FORMAT, "expected one kind");

    make_set("odd");
    mkdir(test_path("odd/input_0.pb"), 0700);
    assert_ok(qdq_write_file(test_path("odd/test_data_set_0"), true, "x", 1, &err));
    refused(one_input, "odd", QDQ_E_FORMAT, "or input_K.pb file in this folder");
    assert_non_null(strstr(recorded_lines, "input_0.pb: skipped: not a regular file"));
    assert_non_null(strstr(recorded_lines, "test_data_set_0: skipped: not a folder"));
}

TEST(files_that_are_no_tensor_are_refused)
{
    qdq_buf outside = PB_NEW;
    static const float odd[] = {1, NAN};
    const qdq_named_array *in;
    size_t n;

    assert_ok(qdq_write_file(test_path("text.pb"), true, "hello", 5, &err));
    refused(one_input, "text.pb", QDQ_E_FORMAT, "text.pb");
    assert_ok(qdq_write_file(test_path("nothing.pb"), true, "", 0, &err));
    refused(one_input, "nothing.pb", QDQ_E_FORMAT, "element type 0, expected 1 to");
    save_tensor("short.pb", "", QDQ_FLOAT, 2, 2, ramp, 12);
    refused(one_input, "short.pb", QDQ_E_FORMAT,
            "12 bytes of raw data, 4 elements of type float need 16");

    pb_int(&outside, 1, 1);
    pb_int(&outside, 1, 2);
    pb_int(&outside, 2, QDQ_FLOAT);
    pb_entry(&outside, 13, "location", "one.pb");
    pb_int(&outside, 14, 1);
    save("outside.pb", &outside);
    refused(one_input, "outside.pb", QDQ_E_FORMAT, "external data");

    save_tensor("nan.pb", "", QDQ_FLOAT, 1, 2, odd, 8);
    qdq_data *d = opened(one_input, "nan.pb");
    assert_fails(QDQ_E_FORMAT, "nan.pb: input 'x': element 1 is NaN or infinite",
                 qdq_data_get(d, 0, &in, &n, &err));
    qdq_data_close(d);
}
