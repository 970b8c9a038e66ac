/* data_units.c - samples that belong together: groups come one after the other, and neither they
 * nor files lie on both sides of a fold or of a split. */
#include "quant/data/data_source.h"
#include "qdq/ptq.h"
#include "support/npy_file.h"
#include "support/opened_data.h"

enum { N = 12 };

static const int64_t scattered[N] = {5, 7, 5, 9, 7, 5, 9, 9, 5, 7, 5, -1};

static qdq_status try_groups(const int64_t *groups, size_t n, const char *key, qdq_data **d)
{
    static float x[N * 2];
    const qdq_named_array arrays[] = {named("x", QDQ_FLOAT, x, 2, N, 2),
                                      named("g", QDQ_INT64, groups, 1, (int64_t)n, 0)};
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_model *m = test_model(one_input);

    for (int i = 0; i < N; i++)
        x[2 * i] = (float)i;
    opts.groups = key;
    qdq_status st = qdq_data_from_arrays(arrays, 2, m, &opts, d, &err);
    qdq_model_free(m);
    return st;
}

TEST(samples_of_a_group_come_one_after_the_other)
{
    static const float order[N] = {0, 2, 5, 8, 10, 1, 4, 9, 3, 6, 7, 11};
    qdq_data *d;

    assert_ok(try_groups(scattered, N, "g", &d));
    for (size_t i = 0; i < N; i++)
        assert_true(*(const float *)sample(d, i, 0)->data == order[i]);
    qdq_data_close(d);
}

TEST(no_group_is_on_both_sides_of_a_fold)
{
    qdq_data *d;

    assert_ok(try_groups(scattered, N, "g", &d));
    assert_int_equal(qdq_data_most_folds(d, N), 4);
    const size_t edge[] = {0, 5, 8, 11, N};
    for (size_t k = 0; k <= 4; k++)
        assert_int_equal(qdq_data_fold_first(d, k, 4, N), edge[k]);
    assert_int_equal(qdq_data_fold_first(d, 1, 2, N), 5);
    /* of the first six samples: two groups, the second one cut off */
    assert_int_equal(qdq_data_most_folds(d, 6), 2);
    assert_int_equal(qdq_data_fold_first(d, 1, 2, 6), 5);
    qdq_data_close(d);
}

TEST(no_group_is_on_both_sides_of_a_split)
{
    const unsigned both = QDQ_SPLIT_CALIBRATE | QDQ_SPLIT_EVALUATE;
    qdq_data *d;

    assert_ok(try_groups(scattered, N, "g", &d));
    qdq_split s = qdq_split_samples(d, NULL, 0, both);
    assert_true(s.held_out && s.calibrate == 11 && s.first == 11 && s.evaluate == 1);
    s = qdq_split_samples(d, NULL, 7, both); /* the second group ends behind sample 8 */
    assert_true(s.held_out && s.calibrate == 8 && s.first == 8 && s.evaluate >= 1);
    s = qdq_split_samples(d, NULL, 0, both | QDQ_SPLIT_GOAL);
    assert_true(s.held_out && s.folds == 4 && s.calibrate == N);
    s = qdq_split_samples(d, NULL, 4, both | QDQ_SPLIT_GOAL); /* all of one group: no folds */
    assert_true(s.held_out && s.folds == 0 && s.calibrate == 5 && s.first == 5);
    qdq_data_close(d);
}

TEST(groups_that_cannot_be_are_refused)
{
    static const int64_t one[N] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    static const float x[8] = {0};
    qdq_data *d = NULL;

    assert_fails(QDQ_E_FORMAT, "no groups 'other'; there are: 'x', 'g'",
                 try_groups(scattered, N, "other", &d));
    assert_fails(QDQ_E_FORMAT, "groups 'g' are int64 [11], expected integers [12]",
                 try_groups(scattered, N - 1, "g", &d));
    assert_fails(QDQ_E_FORMAT, "groups 'g': found one group, expected at least 2 in 12 samples",
                 try_groups(one, N, "g", &d));
    qdq_model *m = test_model(one_input);
    opts.groups = "g";
    assert_fails(QDQ_E_USAGE, "groups 'g' can only come from .npz files",
                 qdq_data_open("random:1", m, &opts, &d, &err));
    assert_fails(QDQ_E_FORMAT, "no groups 'g'",
                 qdq_data_open(test_npy_file("x.npy", TEST_HEADER("<f4", "(4, 2)"), x, sizeof x), m,
                               &opts, &d, &err));
    qdq_model_free(m);
}

TEST(edges_of_folds_are_those_of_files)
{
    static const float x[2 * N] = {0};
    static const int rows[] = {3, 1, 8};
    qdq_model *m = test_model(one_input);
    qdq_data *d;

    assert_int_equal(mkdir(test_path("files"), 0700), 0);
    for (int i = 0; i < 3; i++) {
        char name[40], header[100];

        snprintf(name, sizeof name, "files/%d.npy", i);
        snprintf(header, sizeof header, TEST_HEADER("<f4", "(%d, 2)"), rows[i]);
        test_npy_file(name, header, x, (size_t)rows[i] * 2 * sizeof x[0]);
    }
    assert_ok(qdq_data_open(test_path("files"), m, NULL, &d, &err));
    assert_int_equal(qdq_data_count(d), N);
    assert_int_equal(qdq_data_most_folds(d, N), 3);
    assert_int_equal(qdq_data_fold_first(d, 1, 3, N), 3);
    assert_int_equal(qdq_data_fold_first(d, 2, 3, N), 4);
    assert_int_equal(qdq_data_fold_first(d, 1, 2, N), 4);
    qdq_data_close(d);

    assert_ok(qdq_data_open(test_path("files/2.npy"), m, NULL, &d, &err)); /* one file */
    assert_int_equal(qdq_data_most_folds(d, 8), 8);
    assert_int_equal(qdq_data_fold_first(d, 1, 4, 8), 2);
    qdq_data_close(d);
    qdq_model_free(m);
}
