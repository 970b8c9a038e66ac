/* data_labels.c - labels that come with samples, or in a file of their own. */
#include <math.h>
#include <sys/stat.h>

#include "base/file.h"
#include "support/npy_file.h"
#include "support/opened_data.h"

/* --- labels ----------------------------------------------------------------------------------- */

TEST(labels_come_with_their_samples)
{
    static const uint8_t label[] = {3, 1, 4, 1, 5};
    const test_array arrays[] = {{"x", TEST_HEADER("<f4", "(5, 2)"), ramp, 40},
                                 {"label", TEST_HEADER("|u1", "(5,)"), label, 5}};
    const char *path = test_npz_file("labelled.npz", true, arrays, 2);
    qdq_data_opts opts = listen();
    const int64_t *l;
    size_t n;

    opts.labels = "label";
    qdq_data *d = opened(one_input, path, &opts);
    l = qdq_data_labels(d, 2, &n);
    assert_int_equal(n, 1);
    assert_int_equal(l[0], 4);
    assert_null(qdq_data_labels(d, 5, &n));
    assert_int_equal(n, 0);
    qdq_data_close(d);
    d = opened(batch_of_2, path, &opts);
    l = qdq_data_labels(d, 1, &n);
    assert_int_equal(n, 2);
    assert_int_equal(l[0], 4);
    assert_int_equal(l[1], 1);
    qdq_data_close(d);
    d = opened(one_input, path, NULL);
    assert_null(qdq_data_labels(d, 0, &n));
    qdq_data_close(d);
}

TEST(labels_of_several_files_follow_each_other)
{
    static const int32_t label[] = {-3, 7, 2000000000};
    const test_array first[] = {{"x", TEST_HEADER("<f4", "(1, 2)"), ramp, 8},
                                {"label", TEST_HEADER("<i4", "(1,)"), label, 4}};
    const test_array second[] = {{"x", TEST_HEADER("<f4", "(2, 2)"), ramp, 16},
                                 {"label", TEST_HEADER("<i4", "(2, 1)"), label + 1, 8}};
    qdq_data_opts opts = listen();
    size_t n;

    test_npz_file("parts/1.npz", true, first, 2);
    test_npz_file("parts/2.npz", true, second, 2);
    opts.labels = "label";
    qdq_data *d = opened(one_input, test_path("parts"), &opts);
    assert_int_equal(qdq_data_count(d), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(*qdq_data_labels(d, i, &n), label[i]);
    qdq_data_close(d);
}

TEST(labels_that_do_not_fit_are_refused)
{
    static const int64_t label[] = {1, 2, 3};
    test_array arrays[] = {{"x", TEST_HEADER("<f4", "(2, 2)"), ramp, 16},
                           {"label", TEST_HEADER("<i8", "(3,)"), label, 24}};
    qdq_data_opts opts = listen();

    opts.labels = "label";
    refused(one_input, test_npz_file("l.npz", true, arrays, 2), &opts, QDQ_E_FORMAT,
            "labels 'label' are int64 [3], expected integers [2]");
    arrays[1] = (test_array){"label", TEST_HEADER("<f4", "(2,)"), ramp, 8};
    refused(one_input, test_npz_file("l.npz", true, arrays, 2), &opts, QDQ_E_FORMAT,
            "labels 'label' are float [2], expected integers [2]");
    opts.labels = "y";
    refused(one_input, test_npz_file("l.npz", true, arrays, 2), &opts, QDQ_E_FORMAT,
            "no labels 'y'; arrays in the file: 'x', 'label'");
    refused(one_input, test_npy_file("l.npy", TEST_HEADER("<f4", "(2, 2)"), ramp, 16), &opts,
            QDQ_E_USAGE, "can only come from .npz files");
    refused(one_input, "random:1", &opts, QDQ_E_USAGE, "can only come from .npz files");
}

TEST(labels_may_have_a_file_of_their_own)
{
    static const int32_t label[] = {3, 1, 4, 1, 5};
    const test_array arrays[] = {{"k", TEST_HEADER("<i4", "(5,)"), label, 20},
                                 {"f", TEST_HEADER("<f4", "(5,)"), ramp, 20}};
    const char *path = test_npy_file("plain.npy", TEST_HEADER("<f4", "(5, 2)"), ramp, 40);
    qdq_data_opts opts = listen();
    char spec[300];
    size_t n;

    opts.labels = test_npy_file("l5.npy", TEST_HEADER("<i4", "(5,)"), label, 20);
    qdq_data *d = opened(one_input, path, &opts);
    assert_int_equal(*qdq_data_labels(d, 4, &n), 5);
    assert_int_equal(n, 1);
    qdq_data_close(d);
    d = opened(batch_of_2, path, &opts); /* the fifth is left out, as its sample is */
    assert_int_equal(qdq_data_labels(d, 1, &n)[1], 1);
    assert_int_equal(n, 2);
    qdq_data_close(d);
    snprintf(spec, sizeof spec, "%s:k", test_npz_file("ls.npz", true, arrays, 2));
    opts.labels = spec;
    d = opened(one_input, path, &opts);
    assert_int_equal(*qdq_data_labels(d, 2, &n), 4);
    qdq_data_close(d);
    spec[strlen(spec) - 1] = 'f';
    refused(one_input, path, &opts, QDQ_E_FORMAT,
            "ls.npz: labels are float [5], expected integers [5]");
    spec[strlen(spec) - 1] = 'g';
    refused(one_input, path, &opts, QDQ_E_FORMAT, "ls.npz: no labels 'g' among 2 arrays");
    opts.labels = test_npy_file("l3.npy", TEST_HEADER("<i4", "(3,)"), label, 12);
    refused(one_input, path, &opts, QDQ_E_FORMAT,
            "l3.npy: labels are int32 [3], expected integers [5]");
    opts.labels = "missing.npy";
    refused(one_input, path, &opts, QDQ_E_IO, "missing.npy");
}
