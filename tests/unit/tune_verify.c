/* tune_verify.c - tuning runs on an engine that computes single forms wrongly: none of them is
 * shipped, and what was found is remembered. */
#include <math.h>

#include "ir/edit.h"
#include "support/npy_file.h"
#include "support/tuned.h"

static qdq_tune_result run(const char *folder, const char *more, const char *store,
                           qdq_tune_mode mode)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, more));

    test_tuned_details(&o)->store = store;
    o.mode = mode;
    return test_tuned_result(test_tuned, folder, &o);
}

#define WRONG_H1     "\"wrong\": [{\"node\": \"MatMul@h1\", \"times\": 0.0001}]"
#define QUANTIZES(h) "{\"node\": \"MatMul@" h "\", \"op\": \"MatMul\"}"

TEST(what_the_engine_computes_right_is_said_to_be_right)
{
    const char *folder = test_path("right");
    const qdq_tune_result r = run(folder, NULL, NULL, QDQ_TUNE_REGION);

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(r.computed->verdict, QDQ_VERIFY_RIGHT);
    assert_int_equal(r.n_wrong, 0);
    assert_true(test_tuned_has(folder, "report.json", "\"engine_check\": {"));
    assert_true(test_tuned_has(folder, "report.json", "\"result\": \"right\""));
    assert_true(test_tuned_has(folder, "plan.json", QUANTIZES("h1")));
}

TEST(what_the_engine_computes_wrongly_is_never_shipped)
{
    static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};
    static const char *const names[] = {"region", "subgraph"};

    for (size_t i = 0; i < 2; i++) {
        const char *folder = test_path("%s", names[i]);
        const qdq_tune_result r = run(folder, WRONG_H1, NULL, modes[i]);

        assert_false(test_tuned_has(folder, "plan.json", QUANTIZES("h1")));
        assert_true(r.n_wrong > 0);
        assert_non_null(strstr(r.wrong, "MatMul 'MatMul@h1'"));
        assert_int_equal(r.computed->verdict, QDQ_VERIFY_RIGHT);
        assert_true(test_tuned_has(folder, "report.json", "computes the model wrongly"));
    }
}

static void open_batch(qdq_model *m)
{
    const qdq_dim dim[] = {{-1, "N"}, {8, NULL}};

    m->graph->inputs.at[0]->type = qdq_type_tensor(m, QDQ_FLOAT, 2, dim);
    m->graph->outputs.at[0]->type = qdq_type_tensor(m, QDQ_FLOAT, 2, dim);
}

/* It is timed with the dims of the samples, and may be run so. */
TEST(what_is_wrong_once_dims_are_fixed_is_never_shipped)
{
    const char *folder = test_path("fixed");
    qdq_model *given = test_tuned;

    test_tuned = test_tuned_model();
    open_batch(test_tuned);
    const qdq_tune_result r =
        run(folder, "\"wrong\": [{\"node\": \"MatMul@h1\", \"times\": 0.0001, \"fixed\": true}]",
            NULL, QDQ_TUNE_REGION);
    qdq_model_free(test_tuned);
    test_tuned = given;
    assert_false(test_tuned_has(folder, "plan.json", QUANTIZES("h1")));
    assert_true(test_tuned_has(folder, "plan.json", QUANTIZES("h2")));
    assert_true(r.n_wrong > 0);
    assert_non_null(strstr(r.wrong, "MatMul 'MatMul@h1'"));
    assert_int_equal(r.computed->verdict, QDQ_VERIFY_RIGHT);
}

TEST(where_every_kernel_is_wrong_the_given_model_is_shipped)
{
    const char *folder = test_path("all");
    const qdq_tune_result r =
        run(folder, "\"wrong\": [{\"op\": \"MatMul\", \"times\": 0.0001}]", NULL, QDQ_TUNE_REGION);

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_true(r.n_wrong > 0);
    assert_int_equal(r.computed->verdict, QDQ_VERIFY_RIGHT);
    assert_true(test_tuned_has(folder, "plan.json", "\"tensors\": []"));
}

TEST(a_float_model_that_is_computed_wrongly_is_told)
{
    const qdq_tune_result r = run(
        test_path("float"), "\"wrong\": [{\"op\": \"Relu\", \"float\": true, \"times\": 0.0001}]",
        NULL, QDQ_TUNE_REGION);

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_int_equal(r.computed->verdict, QDQ_VERIFY_WRONG);
    assert_non_null(strstr(r.computed->why, "Relu"));
}

TEST(a_refused_candidate_is_not_built_again)
{
    const char *store = test_path("shared.db");
    const qdq_tune_result first = run(test_path("first"), WRONG_H1, store, QDQ_TUNE_REGION),
                          again = run(test_path("again"), WRONG_H1, store, QDQ_TUNE_REGION);

    assert_int_equal(first.n_wrong, again.n_wrong);
    assert_true(again.builds < first.builds);
    assert_int_equal(again.computed->verdict, QDQ_VERIFY_RIGHT);
    test_tuned_same(test_path("first"), test_path("again"), "plan.json");
}

/* --- with the default goal -------------------------------------------------------------------- */

/* On samples that are not random: then there is one. */
static qdq_tune_result run_on_samples(const char *folder, const char *more, int way)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, more));
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tune_result r;
    qdq_data *data;
    float x[8][8];

    for (int i = 0; i < 64; i++)
        x[i / 8][i % 8] = (float)((i * 29) % 64 - 20 - i / 8) / 16;
    assert_ok(qdq_data_open(test_npy_file("samples.npy", TEST_HEADER("<f4", "(8, 8)"), x, sizeof x),
                            test_tuned, NULL, &data, &err));
    o.mode = way == 0 ? QDQ_TUNE_REGION : QDQ_TUNE_SUBGRAPH;
    o.strategy = way == 2 ? QDQ_TUNE_GREEDY : QDQ_TUNE_AUTO;
    assert_ok(test_tuned_run_on(test_tuned, data, NULL, folder, &o, &r, &err));
    qdq_data_close(data);
    return r;
}

TEST(a_goal_that_is_missed_by_a_defect_of_the_engine_is_told_as_one)
{
    static const char *const names[] = {"goal_region", "goal_mincut", "goal_greedy"};

    for (int i = 0; i < 3; i++) {
        const char *folder = test_path("%s", names[i]);
        const qdq_tune_result r = run_on_samples(folder, WRONG_H1, i);
        assert_false(test_tuned_has(folder, "plan.json", QUANTIZES("h1")));
        assert_true(r.n_wrong > 0);
        assert_non_null(strstr(r.wrong, "MatMul 'MatMul@h1'"));
        assert_string_equal(r.reason, "");
        assert_false(test_tuned_has(folder, "report.json", "expected at least 20 dB"));
        if (i == 0) /* regions are tried one by one */
            assert_true(test_tuned_has(folder, "plan.json", QUANTIZES("h2")));
    }
}

TEST(where_every_kernel_is_wrong_no_accuracy_is_blamed)
{
    static const char *const names[] = {"all_region", "all_mincut", "all_greedy"};

    for (int i = 0; i < 3; i++) {
        const char *folder = test_path("%s", names[i]);
        const qdq_tune_result r =
            run_on_samples(folder, "\"wrong\": [{\"op\": \"MatMul\", \"times\": 0.0001}]", i);

        assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
        assert_true(r.n_wrong > 0);
        assert_string_equal(r.reason, "");
        assert_non_null(strstr(r.why, "wrongly"));
        assert_false(test_tuned_has(folder, "report.json", "expected at least 20 dB"));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_engine_computes_right_is_said_to_be_right),
        cmocka_unit_test(what_the_engine_computes_wrongly_is_never_shipped),
        cmocka_unit_test(what_is_wrong_once_dims_are_fixed_is_never_shipped),
        cmocka_unit_test(where_every_kernel_is_wrong_the_given_model_is_shipped),
        cmocka_unit_test(a_float_model_that_is_computed_wrongly_is_told),
        cmocka_unit_test(a_refused_candidate_is_not_built_again),
        cmocka_unit_test(a_goal_that_is_missed_by_a_defect_of_the_engine_is_told_as_one),
        cmocka_unit_test(where_every_kernel_is_wrong_no_accuracy_is_blamed),
    };

    if (argc > 1)
        return test_tuned_child(argc, argv);
    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
