/* data_memory.c - samples from arrays in memory: as from a .npz, but all of them must be meant. */
#include "support/npy_file.h"
#include "support/opened_data.h"

static void refuse_arrays(const char *model, const qdq_named_array *a, size_t n, qdq_status code,
                          const char *message)
{
    qdq_data *d = NULL;

    assert_fails(code, message, try_arrays(model, a, n, NULL, &d));
}

TEST(arrays_in_memory_are_cut_along_their_first_axis)
{
    static const int64_t b[] = {7, 8, 9};
    static const uint8_t label[] = {1, 0, 2};
    char name[] = "a";
    const qdq_named_array arrays[] = {named("y", QDQ_UINT8, label, 1, 3, 0),
                                      named("b", QDQ_INT64, b, 1, 3, 0),
                                      named(name, QDQ_FLOAT, ramp, 2, 3, 2)};
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;
    size_t n;

    opts.labels = "y";
    assert_ok(try_arrays(two_inputs(), arrays, 3, &opts, &d));
    name[0] = '?'; /* names are copied */
    assert_int_equal(qdq_data_count(d), 3);
    for (size_t turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < 3; i++) {
            assert_memory_equal(sample(d, i, 0)->data, ramp + 2 * i, 8);
            assert_int_equal(*(const int64_t *)sample(d, i, 1)->data, b[i]);
            assert_int_equal(*qdq_data_labels(d, i, &n), label[i]);
            assert_int_equal(n, 1);
        }
    qdq_data_close(d);
}

TEST(an_array_without_a_name_is_for_the_only_input)
{
    static const double wide[] = {0.5, -1, 2, 4};
    const qdq_named_array a = named(NULL, QDQ_DOUBLE, wide, 2, 2, 2);
    qdq_data *d = NULL;

    assert_ok(try_arrays(one_input, &a, 1, NULL, &d));
    assert_int_equal(qdq_data_count(d), 2);
    assert_int_equal(sample(d, 1, 0)->elem, QDQ_FLOAT);
    assert_float_equal(((const float *)sample(d, 1, 0)->data)[1], 4, 0);
    assert_float_equal(wide[1], -1, 0);
    qdq_data_close(d);
}

TEST(missing_and_surplus_arrays_are_named)
{
    static const int64_t b[] = {7, 8, 9};
    const qdq_named_array arrays[] = {
        named("a", QDQ_FLOAT, ramp, 2, 3, 2), named("b", QDQ_INT64, b, 1, 3, 0),
        named("c", QDQ_INT64, b, 1, 3, 0), named("a", QDQ_FLOAT, ramp, 2, 3, 2)};
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    refuse_arrays(two_inputs(), NULL, 0, QDQ_E_FORMAT,
                  "arrays: no array for input 'a'; there are: none");
    refuse_arrays(two_inputs(), arrays, 1, QDQ_E_FORMAT,
                  "arrays: no array for input 'b'; there are: 'a'");
    refuse_arrays(two_inputs(), arrays, 3, QDQ_E_FORMAT,
                  "arrays: array 'c' is not an input of the model, whose inputs are 'a', 'b'");
    refuse_arrays(two_inputs(), arrays, 4, QDQ_E_FORMAT, "arrays: two arrays are named 'a'");
    opts.labels = "y";
    assert_fails(QDQ_E_FORMAT, "arrays: no labels 'y'; there are: 'a', 'b'",
                 try_arrays(two_inputs(), arrays, 2, &opts, &d));
    opts.labels = "b";
    opts.max_samples = 2;
    assert_ok(try_arrays(two_inputs(), arrays, 2, &opts, &d)); /* an input may be the labels */
    assert_int_equal(qdq_data_count(d), 2);
    qdq_data_close(d);
}

TEST(arrays_that_do_not_fit_are_refused)
{
    qdq_named_array a = named("x", QDQ_INT32, ramp, 2, 3, 2);

    refuse_arrays(one_input, &a, 1, QDQ_E_FORMAT,
                  "arrays: array 'x': wrong element type: it is int32 [3, 2], input 'x' is float "
                  "[N, 2]");
    a = named("x", QDQ_FLOAT, ramp, 2, 2, 3);
    refuse_arrays(one_input, &a, 1, QDQ_E_FORMAT, "wrong shape: it is float [2, 3]");
    a = named("x", QDQ_FLOAT, ramp, 2, 1, 2);
    refuse_arrays(batch_of_2, &a, 1, QDQ_E_FORMAT, "less than one batch");
    a = named("x", QDQ_INT4, ramp, 2, 3, 2);
    refuse_arrays(one_input, &a, 1, QDQ_E_UNSUPPORTED,
                  "arrays: array 'x' is of int4, expected elements of whole bytes");
}

TEST(arrays_that_contradict_themselves_are_refused)
{
    const qdq_named_array sound = named("x", QDQ_FLOAT, ramp, 2, 3, 2);
    qdq_named_array a = sound;

    a.array.bytes = 20;
    refuse_arrays(one_input, &a, 1, QDQ_E_USAGE,
                  "arrays: array 'x': 20 bytes of data, the shape needs 24");
    a = sound;
    a.array.data = NULL;
    refuse_arrays(one_input, &a, 1, QDQ_E_USAGE, "0 bytes of data, the shape needs 24");
    a = sound;
    a.array.rank = QDQ_MAX_RANK + 1;
    refuse_arrays(one_input, &a, 1, QDQ_E_USAGE, "an array of rank 13, expected 0 to 12");
    a = sound;
    a.array.dim[1] = -2;
    refuse_arrays(one_input, &a, 1, QDQ_E_USAGE, "an array of float, expected a type and dims");
    a = sound;
    a.array.elem = QDQ_STRING;
    refuse_arrays(one_input, &a, 1, QDQ_E_USAGE, "an array of string, expected");
    a.array.elem = (qdq_elem)99;
    refuse_arrays(one_input, &a, 1, QDQ_E_USAGE, "an array of no type, expected");
}
