/* data_arrays.c - samples from .npy, .npz and folders: cut, named, converted, refused; random ones.
 */
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "support/npy_file.h"
#include "support/opened_data.h"

/* --- what a source says ----------------------------------------------------------------------- */

static void assert_recorded(const char *part)
{
    if (strstr(recorded_lines, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, recorded_lines);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void assert_floats(const qdq_array *a, const float *want, size_t n)
{
    assert_int_equal(a->elem, QDQ_FLOAT);
    assert_int_equal(a->bytes, n * sizeof(float));
    assert_memory_equal(a->data, want, n * sizeof(float));
}

/* --- samples ---------------------------------------------------------------------------------- */

TEST(a_npy_file_is_cut_along_its_first_axis)
{
    const char *path = test_npy_file("ramp.npy", TEST_HEADER("<f4", "(5, 2)"), ramp, 40);
    qdq_data *d = opened(one_input, path, NULL);

    assert_int_equal(qdq_data_count(d), 5);
    assert_false(qdq_data_is_random(d));
    for (size_t i = 0; i < 5; i++) {
        const qdq_array *a = sample(d, i, 0);

        assert_int_equal(a->rank, 2);
        assert_int_equal(a->dim[0], 1);
        assert_int_equal(a->dim[1], 2);
        assert_floats(a, ramp + 2 * i, 2);
    }
    assert_floats(sample(d, 1, 0), ramp + 2, 2); /* and back */
    const qdq_named_array *in;
    size_t n;
    assert_fails(QDQ_E_USAGE, "sample 5, there are 5", qdq_data_get(d, 5, &in, &n, &err));
    assert_null(in);
    qdq_data_close(d);
    qdq_data_close(NULL);
}

TEST(a_fixed_batch_takes_several_and_leaves_the_rest_with_a_warning)
{
    const char *path = test_npy_file("ramp.npy", TEST_HEADER("<f4", "(5, 2)"), ramp, 40);
    qdq_data_opts opts = listen();
    qdq_data *d = opened(batch_of_2, path, &opts);

    assert_int_equal(qdq_data_count(d), 2);
    assert_floats(sample(d, 1, 0), ramp + 4, 4);
    assert_recorded("1: ");
    assert_recorded("the last 1 do not fill a batch of 2");
    qdq_data_close(d);
}

TEST(a_shape_given_by_the_caller_decides_the_batch)
{
    const char *path = test_npy_file("ramp.npy", TEST_HEADER("<f4", "(5, 2)"), ramp, 40);
    qdq_input_shape shape = {.name = "x", .rank = 2, .dim = {5, 2}};
    qdq_data_opts opts = listen();

    opts.shapes = &shape;
    opts.n_shapes = 1;
    qdq_data *d = opened(one_input, path, &opts);
    assert_int_equal(qdq_data_count(d), 1);
    assert_floats(sample(d, 0, 0), ramp, 10);
    qdq_data_close(d);

    shape.dim[1] = 3;
    refused(one_input, path, &opts, QDQ_E_USAGE, "has 3 as dimension 1, the input is float [5, 2]");
    shape.rank = 1;
    refused(one_input, path, &opts, QDQ_E_USAGE, "has 1 dimensions, the input is float [N, 2]");
    shape.name = "other";
    refused(one_input, path, &opts, QDQ_E_USAGE, "'other', which is not an input");
}

TEST(arrays_of_an_npz_go_to_the_inputs_of_their_names)
{
    static const int64_t b[] = {7, 8, 9};
    const test_array arrays[] = {{"spare", TEST_HEADER("<f4", "(1,)"), ramp, 4},
                                 {"b", TEST_HEADER("<i8", "(3,)"), b, 24},
                                 {"a", TEST_HEADER("<f4", "(3, 2)"), ramp, 24}};

    for (int deflate = 0; deflate < 2; deflate++) {
        qdq_data_opts opts = listen();
        qdq_data *d = opened(two_inputs(), test_npz_file("two.npz", deflate, arrays, 3), &opts);

        assert_int_equal(qdq_data_count(d), 3);
        for (size_t turn = 0; turn < 2; turn++) { /* the second time from the start again */
            for (size_t i = 0; i < 3; i++) {
                assert_floats(sample(d, i, 0), ramp + 2 * i, 2);
                assert_int_equal(*(const int64_t *)sample(d, i, 1)->data, b[i]);
            }
        }
        assert_floats(sample(d, 2, 0), ramp + 4, 2);
        assert_floats(sample(d, 0, 0), ramp, 2);
        assert_recorded("array 'spare' is not an input of the model");
        qdq_data_close(d);
    }
}

TEST(a_single_array_fits_a_single_input_whatever_its_name)
{
    static const int64_t label[] = {1, 2};
    const test_array arrays[] = {{"images", TEST_HEADER("<f4", "(2, 2)"), ramp, 16},
                                 {"label", TEST_HEADER("<i8", "(2,)"), label, 16}};
    const char *path = test_npz_file("single.npz", true, arrays, 2);
    qdq_data_opts opts = listen();

    qdq_data *d = opened(one_input, test_npz_file("alone.npz", true, arrays, 1), NULL);
    assert_floats(sample(d, 1, 0), ramp + 2, 2);
    qdq_data_close(d);
    refused(one_input, path, NULL, QDQ_E_FORMAT,
            "no array for input 'x'; arrays in the file: 'images', 'label'");
    opts.labels = "label"; /* labels are no data */
    d = opened(one_input, path, &opts);
    assert_floats(sample(d, 1, 0), ramp + 2, 2);
    qdq_data_close(d);
}

TEST(a_folder_is_read_file_by_file_in_order_of_name)
{
    test_npy_file("many/b.npy", TEST_HEADER("<f4", "(3, 2)"), ramp + 4, 24);
    /* one sample, without its batch */
    test_npy_file("many/a.NPY", TEST_HEADER("<f4", "(2,)"), ramp, 8);
    test_npy_file("many/aa.npy", TEST_HEADER("<f4", "(1, 2)"), ramp + 2, 8);
    assert_ok(qdq_write_file(test_path("many/notes.txt"), true, "", 0, &err));
    qdq_data_opts opts = listen();
    qdq_data *d = opened(one_input, test_path("many"), &opts);

    assert_int_equal(qdq_data_count(d), 5);
    static const size_t order[] = {0, 4, 1, 3, 2};
    for (size_t i = 0; i < 5; i++)
        assert_floats(sample(d, order[i], 0), ramp + 2 * order[i], 2);
    assert_recorded("many/notes.txt: skipped: no .npz");
    qdq_data_close(d);
}

TEST(inputs_without_dimensions_take_one_element_or_one_array_for_all)
{
    static const char model[] =
        "g (float x, float[N] w) => (float y, float[N] z) { y = Relu(x) z = Relu(w) }";
    test_array arrays[] = {{"x", TEST_HEADER("<f4", "(3,)"), ramp, 12},
                           {"w", TEST_HEADER("<f4", "(3,)"), ramp + 3, 12}};
    qdq_data *d = opened(model, test_npz_file("scalar.npz", true, arrays, 2), NULL);

    assert_int_equal(qdq_data_count(d), 3);
    assert_int_equal(sample(d, 2, 0)->rank, 0);
    assert_floats(sample(d, 2, 0), ramp + 2, 1);
    assert_floats(sample(d, 2, 1), ramp + 5, 1);
    qdq_data_close(d);
    arrays[0] = (test_array){"x", TEST_HEADER("<f4", "()"), ramp + 9, 4};
    d = opened(model, test_npz_file("scalar.npz", true, arrays, 2), NULL);
    assert_int_equal(qdq_data_count(d), 3);
    assert_floats(sample(d, 0, 0), ramp + 9, 1);
    assert_floats(sample(d, 2, 0), ramp + 9, 1);
    qdq_data_close(d);
}

TEST(double_becomes_float_with_a_note_and_big_endian_silently)
{
    static const double wide[] = {0.1, -2, 1e-3, 4};
    static const unsigned char turned[] = {0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0};
    static const float want[] = {0.1f, -2, 1e-3f, 4}, other[] = {1, -2.5f};
    qdq_data_opts opts = listen();
    qdq_data *d =
        opened(one_input, test_npy_file("wide.npy", TEST_HEADER("<f8", "(2, 2)"), wide, 32), &opts);

    assert_floats(sample(d, 0, 0), want, 2);
    assert_floats(sample(d, 1, 0), want + 2, 2);
    assert_recorded("double is rounded to float for input 'x'");
    qdq_data_close(d);
    d = opened(one_input, test_npy_file("turned.npy", TEST_HEADER(">f4", "(1, 2)"), turned, 8),
               NULL);
    assert_floats(sample(d, 0, 0), other, 2);
    qdq_data_close(d);
}

/* float16: 1 is 0x3c00, 2048 + 1 is a tie to 0x6800; bfloat16: 1 is 0x3f80. */
TEST(wide_floats_are_rounded_for_inputs_in_16_bits)
{
    static const char half[] = "g (float16[N,2] x) => (float16[N,2] y) { y = Relu(x) }";
    static const char brain[] = "g (bfloat16[N,2] x) => (bfloat16[N,2] y) { y = Relu(x) }";
    static const float wide[] = {1, 2049, -65504, 0};
    static const double wider[] = {1, 2049}, beyond[] = {0, 70000};
    static const uint16_t want[] = {0x3c00, 0x6800, 0xfbff, 0}, brains[] = {0x3f80, 0x4500};
    qdq_data_opts opts = listen();
    qdq_data *d =
        opened(half, test_npy_file("h.npy", TEST_HEADER("<f4", "(2, 2)"), wide, 16), &opts);

    assert_int_equal(sample(d, 0, 0)->elem, QDQ_FLOAT16);
    assert_memory_equal(sample(d, 0, 0)->data, want, 4);
    assert_memory_equal(sample(d, 1, 0)->data, want + 2, 4);
    assert_recorded("float is rounded to float16 for input 'x'");
    qdq_data_close(d);
    d = opened(half, test_npy_file("h.npy", TEST_HEADER("<f8", "(1, 2)"), wider, 16), NULL);
    assert_memory_equal(sample(d, 0, 0)->data, want, 4);
    qdq_data_close(d);
    d = opened(brain, test_npy_file("h.npy", TEST_HEADER("<f8", "(1, 2)"), wider, 16), NULL);
    assert_memory_equal(sample(d, 0, 0)->data, brains, 4);
    qdq_data_close(d);
    d = opened(half, test_npy_file("h.npy", TEST_HEADER("<f8", "(1, 2)"), beyond, 16), NULL);
    const qdq_named_array *in;
    size_t n;
    assert_fails(QDQ_E_FORMAT,
                 "input 'x', sample 0: element 1 is 70000, expected what float16 can hold",
                 qdq_data_get(d, 0, &in, &n, &err));
    qdq_data_close(d);
}

TEST(max_samples_bounds_the_count)
{
    qdq_data_opts opts = listen();

    opts.max_samples = 3;
    qdq_data *d =
        opened(one_input, test_npy_file("ramp.npy", TEST_HEADER("<f4", "(5, 2)"), ramp, 40), &opts);
    assert_int_equal(qdq_data_count(d), 3);
    qdq_data_close(d);
}

TEST(options_for_images_are_named_when_there_are_none)
{
    qdq_data_opts opts = listen();

    opts.n_mean = 1;
    qdq_data *d =
        opened(one_input, test_npy_file("ramp.npy", TEST_HEADER("<f4", "(5, 2)"), ramp, 40), &opts);
    assert_recorded("these data are no images");
    qdq_data_close(d);
}

/* --- what is refused -------------------------------------------------------------------------- */

TEST(arrays_that_do_not_fit_are_refused_with_both_shapes)
{
    static const double huge[] = {1e300, 0};
    const struct {
        const char *model, *header;
        size_t bytes;
        const char *message;
    } of[] = {
        {one_input, TEST_HEADER("<i4", "(2, 2)"), 16,
         "wrong element type: it is int32 [2, 2], input 'x' is float [N, 2]"},
        {one_input, TEST_HEADER("<f2", "(2, 2)"), 8, "wrong element type: it is float16"},
        {one_input, TEST_HEADER("<f4", "(4,)"), 16,
         "wrong number of dimensions: it is float [4], input 'x' is float [N, 2]"},
        {one_input, TEST_HEADER("<f4", "(2, 1, 2)"), 16,
         "wrong number of dimensions: it is float [2, 1, 2]"},
        {one_input, TEST_HEADER("<f4", "()"), 4, "wrong number of dimensions: it is float []"},
        {one_input, TEST_HEADER("<f4", "(2, 3)"), 24, "wrong shape: it is float [2, 3]"},
        {one_input, TEST_HEADER("<f4", "(0, 2)"), 0, "empty array: it is float [0, 2]"},
        {batch_of_2, TEST_HEADER("<f4", "(1, 2)"), 8,
         "less than one batch: it is float [1, 2], input 'x' is float [2, 2]"},
        {"g (float x) => (float y) { y = Relu(x) }", TEST_HEADER("<f4", "(2, 1)"), 8,
         "wrong number of dimensions"},
        {two_inputs(), TEST_HEADER("<f4", "(2, 2)"), 16,
         "one array, but the model has 2 inputs ('a', 'b'): expected a .npz"},
    };

    for (size_t i = 0; i < QDQ_COUNT(of); i++)
        refused(of[i].model, test_npy_file("bad.npy", of[i].header, ramp, of[i].bytes), NULL,
                QDQ_E_FORMAT, of[i].message);
    assert_non_null(strstr(err.text, "bad.npy: ")); /* the place comes first */

    qdq_data *d =
        opened(one_input, test_npy_file("huge.npy", TEST_HEADER("<f8", "(1, 2)"), huge, 16), NULL);
    const qdq_named_array *in;
    size_t n;
    assert_fails(QDQ_E_FORMAT, "element 0 is 1e+300, expected what float can hold",
                 qdq_data_get(d, 0, &in, &n, &err));
    qdq_data_close(d);
}

TEST(the_cache_before_the_first_token_has_no_elements)
{
    const char *cached = test_graph_text(__func__);
    const test_array arrays[] = {{"x", TEST_HEADER("<f4", "(2, 2)"), ramp, 16},
                                 {"cache", TEST_HEADER("<f4", "(2, 4, 0, 3)"), ramp, 0}};
    qdq_data *d = opened(cached, test_npz_file("first.npz", true, arrays, 2), NULL);

    assert_int_equal(qdq_data_count(d), 2);
    assert_floats(sample(d, 1, 0), ramp + 2, 2);
    const qdq_array *a = sample(d, 1, 1);
    assert_int_equal(a->rank, 4);
    assert_int_equal(a->dim[0], 1);
    assert_int_equal(a->dim[2], 0);
    assert_int_equal(a->bytes, 0);
    qdq_data_close(d);
}

TEST(inputs_must_agree_on_the_number_of_samples)
{
    static const int64_t b[] = {7, 8};
    const test_array arrays[] = {{"a", TEST_HEADER("<f4", "(3, 2)"), ramp, 24},
                                 {"b", TEST_HEADER("<i8", "(2,)"), b, 16}};

    refused(two_inputs(), test_npz_file("uneven.npz", true, arrays, 2), NULL, QDQ_E_FORMAT,
            "uneven.npz: 2 samples for input 'b', but 3 for input 'a': where the first dimension "
            "is not a batch, "
            "--shape says how long a sample is");
    refused(two_inputs(), test_npz_file("lone.npz", true, arrays, 1), NULL, QDQ_E_FORMAT,
            "lone.npz: no array for input 'b'; arrays in the file: 'a'");
}

TEST(nan_and_infinity_are_found_in_their_sample)
{
    static const struct {
        const char *model, *header;
        unsigned char data[16];
    } of[] = {
        {one_input,
         TEST_HEADER("<f4", "(2, 2)"),
         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x7f}},
        {one_input,
         TEST_HEADER("<f4", "(2, 2)"),
         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0xff}},
        {"g (float16[N,4] x) => (float16[N,4] y) { y = Relu(x) }",
         TEST_HEADER("<f2", "(2, 4)"),
         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7c}},
        {"g (double[N,1] x) => (double[N,1] y) { y = Relu(x) }",
         TEST_HEADER("<f8", "(2, 1)"),
         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f}},
    };

    for (size_t i = 0; i < QDQ_COUNT(of); i++) {
        qdq_data *d =
            opened(of[i].model, test_npy_file("nan.npy", of[i].header, of[i].data, 16), NULL);
        const qdq_named_array *in;
        size_t n;

        assert_ok(qdq_data_get(d, 0, &in, &n, &err));
        assert_fails(QDQ_E_FORMAT, "nan.npy: input 'x', sample 1: element",
                     qdq_data_get(d, 1, &in, &n, &err));
        assert_null(in);
        qdq_data_close(d);
    }
}

TEST(specs_that_name_no_data_are_refused)
{
    mkdir(test_path("bare"), 0700);
    mkdir(test_path("mixed"), 0700);
    assert_ok(qdq_write_file(test_path("notes.txt"), true, "hello", 5, &err));
    assert_ok(qdq_write_file(test_path("bare/notes.txt"), true, "hello", 5, &err));
    assert_ok(qdq_write_file(test_path("mixed/a.png"), true, "hello", 5, &err));
    assert_ok(qdq_write_file(test_path("mixed/b.npy"), true, "hello", 5, &err));
    assert_ok(qdq_write_file(test_path("text.npz"), true, "hello", 5, &err));
    assert_ok(qdq_write_file(test_path("text.npy"), true, "hello", 5, &err));
    assert_ok(qdq_write_file(test_path("none.npz"), true, "", 0, &err));

    refused(one_input, test_path("absent.npz"), NULL, QDQ_E_IO, "absent.npz");
    refused(one_input, test_path("notes.txt"), NULL, QDQ_E_USAGE,
            "notes.txt: data are a .npz, .npy, .pb or image file");
    refused(one_input, test_path("bare"), NULL, QDQ_E_FORMAT, "bare: no .npz, .npy, .jpg");
    refused(one_input, test_path("mixed"), NULL, QDQ_E_FORMAT, "mixed: both arrays");
    refused(one_input, test_path("text.npz"), NULL, QDQ_E_FORMAT,
            "text.npz: neither a .npz nor a .npy file");
    refused(one_input, test_path("text.npy"), NULL, QDQ_E_FORMAT, "text.npy: neither");
    refused(one_input, test_path("none.npz"), NULL, QDQ_E_FORMAT, "none.npz: empty file");
    refused("g () => (float y) <float w = {1}> { y = Identity(w) }", test_path("text.npz"), NULL,
            QDQ_E_FORMAT, "the model has no inputs");
}

TEST(a_file_longer_or_shorter_than_its_shape_is_refused)
{
    const test_array array = {"x", TEST_HEADER("<f4", "(2, 2)"), ramp, 20};

    refused(one_input, test_npy_file("long.npy", TEST_HEADER("<f4", "(2, 2)"), ramp, 20), NULL,
            QDQ_E_FORMAT, "long.npy: 20 bytes of data, the shape needs 16");
    refused(one_input, test_npy_file("short.npy", TEST_HEADER("<f4", "(2, 2)"), ramp, 12), NULL,
            QDQ_E_FORMAT, "short.npy: 12 bytes of data, the shape needs 16");
    refused(one_input, test_npz_file("long.npz", true, &array, 1), NULL, QDQ_E_FORMAT,
            "array 'x': 20 bytes of data, the shape needs 16");
}

/* --- random ----------------------------------------------------------------------------------- */

TEST(random_data_are_the_same_each_time_and_differ_by_sample_and_seed)
{
    qdq_data_opts opts = listen();
    qdq_data *d = opened(two_inputs(), "random:7", &opts);
    float first[2], second[2];

    assert_int_equal(qdq_data_count(d), 8);
    assert_true(qdq_data_is_random(d));
    assert_recorded("dimension 0 (N) of input 'a' is not fixed, taken as 1 (--shape fixes it)");
    memcpy(first, sample(d, 0, 0)->data, sizeof first);
    assert_true(*(const int64_t *)sample(d, 0, 1)->data >> 1 == 0);
    memcpy(second, sample(d, 5, 0)->data, sizeof second);
    assert_true(first[0] != second[0]);
    assert_floats(sample(d, 0, 0), first, 2);
    qdq_data_close(d);
    opts.max_samples = 100;
    d = opened(two_inputs(), "random:7", &opts);
    assert_int_equal(qdq_data_count(d), 100);
    assert_floats(sample(d, 5, 0), second, 2);
    qdq_data_close(d);
    d = opened(two_inputs(), "random:8", NULL);
    assert_true(*(const float *)sample(d, 0, 0)->data != first[0]);
    qdq_data_close(d);
}

TEST(random_needs_a_seed_and_types_with_numbers)
{
    static const char *const bad[] = {"random",
                                      "random:",
                                      "random:x",
                                      "random:1x",
                                      "random:-1",
                                      "random: 1",
                                      "random:18446744073709551616"};

    for (size_t i = 0; i < QDQ_COUNT(bad); i++)
        refused(one_input, bad[i], NULL, QDQ_E_USAGE, "expected random:SEED");
    refused("g (string[N] x) => (string[N] y) { y = Identity(x) }", "random:1", NULL,
            QDQ_E_UNSUPPORTED, "input 'x': no data can be made for string [N]");
}
