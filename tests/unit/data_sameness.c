/* data_sameness.c - samples that show nothing of a model are found, and no others. */
#include "support/opened_data.h"

static const float flat[] = {5, 5, 5, 5, 5, 5};
static const float pairs[] = {1, 2, 1, 2, 1, 2};

static qdq_data *data_of(const char *model, const qdq_named_array *a, size_t n)
{
    qdq_model *m = test_model(model);
    qdq_data *d = NULL;

    assert_ok(qdq_data_from_arrays(a, n, m, NULL, &d, &err));
    qdq_model_free(m);
    return d;
}

/* `expected` NULL: the samples show something. */
static void assert_sameness(const char *model, const qdq_named_array *a, size_t n,
                            const char *expected)
{
    qdq_data *d = data_of(model, a, n);
    const char *why = "?";

    for (int twice = 0; twice < 2; twice++) {
        assert_ok(qdq_data_find_sameness(d, &why, &err));
        if (expected == NULL)
            assert_null(why);
        else
            assert_string_equal(why, expected);
    }
    qdq_data_close(d);
}

TEST(samples_that_differ_are_not_the_same)
{
    const qdq_named_array a = named("x", QDQ_FLOAT, ramp, 2, 3, 2);

    assert_sameness(one_input, &a, 1, NULL);
}

TEST(samples_that_are_all_equal_show_nothing)
{
    const qdq_named_array a = named("x", QDQ_FLOAT, pairs, 2, 3, 2);

    assert_sameness(one_input, &a, 1, "all 3 samples are equal");
}

TEST(a_single_sample_with_several_values_is_not_blamed)
{
    const qdq_named_array a = named("x", QDQ_FLOAT, pairs, 2, 1, 2);

    assert_sameness(one_input, &a, 1, NULL);
}

TEST(an_only_input_that_is_constant_shows_nothing)
{
    const qdq_named_array a = named("x", QDQ_FLOAT, flat, 2, 3, 2);
    const qdq_named_array one = named("x", QDQ_FLOAT, flat, 2, 1, 2);

    assert_sameness(one_input, &a, 1, "input 'x' has one value in all samples");
    assert_sameness(one_input, &one, 1, "input 'x' has one value in all samples");
}

TEST(inputs_that_are_all_constant_show_nothing_though_they_are_integers)
{
    static const int64_t ids[] = {7, 7, 7};
    const qdq_named_array a[] = {named("a", QDQ_FLOAT, flat, 2, 3, 2),
                                 named("b", QDQ_INT64, ids, 1, 3, 0)};

    assert_sameness(two_inputs(), a, 2, "every input has one value in all samples");
}

TEST(a_mask_of_ones_and_a_rate_beside_other_values_are_not_blamed)
{
    static const int64_t mask[] = {1, 1, 1, 1, 1, 1};
    const qdq_named_array a[] = {named("a", QDQ_FLOAT, ramp, 2, 3, 2),
                                 named("rate", QDQ_FLOAT, flat, 1, 3, 0),
                                 named("mask", QDQ_INT64, mask, 2, 3, 2)};

    assert_sameness(test_graph_text("rate_and_state"), a, 3, NULL);
}

TEST(a_tensor_of_floats_that_is_constant_beside_others_is_named)
{
    static const int64_t ids[] = {1, 2, 3};
    const qdq_named_array a[] = {named("a", QDQ_FLOAT, flat, 2, 3, 2),
                                 named("b", QDQ_INT64, ids, 1, 3, 0)};

    assert_sameness(two_inputs(), a, 2, "input 'a' has one value in all samples");
}

TEST(samples_that_differ_only_at_the_end_are_read_up_to_there)
{
    static const float late[] = {5, 5, 5, 5, 5, 6};
    const qdq_named_array a = named("x", QDQ_FLOAT, late, 2, 3, 2);

    assert_sameness(one_input, &a, 1, NULL);
}

TEST(random_samples_are_not_read)
{
    qdq_data *d = opened(one_input, "random:1", NULL);
    const char *why = "?";

    assert_ok(qdq_data_find_sameness(d, &why, &err));
    assert_null(why);
    qdq_data_close(d);
}

TEST(a_look_for_equal_samples_ends_when_the_user_interrupts)
{
    const qdq_named_array a = named("x", QDQ_FLOAT, pairs, 2, 3, 2);
    qdq_model *m = test_model(one_input);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_cancel *cancel = qdq_cancel_new();
    qdq_data *d = NULL;
    const char *why;

    job.cancel = cancel;
    opts.job = &job;
    assert_non_null(cancel);
    assert_ok(qdq_data_from_arrays(&a, 1, m, &opts, &d, &err));
    qdq_cancel_set(cancel);
    assert_int_equal(qdq_data_find_sameness(d, &why, &err), QDQ_E_INTERRUPTED);
    assert_null(why);
    qdq_data_close(d);
    qdq_cancel_free(cancel);
    qdq_model_free(m);
}
