/* Comparing models on the simulated engine (the way of the data through a comparison) and on ONNX
 * Runtime (the numbers). */
#include <math.h>

#include "support/npy_file.h"

static qdq_error err;

static const char relu[] = "g (float[N,2] x) => (float[N,2] y) { t = Relu(x) y = Neg(t) }";

/* One comparison with all that it takes; NULL when it fails, with the reason in `err`. */
static qdq_compare_result *compared(qdq_engine *e, const char *a, const char *b, const char *spec,
                                    const char *labels, const qdq_compare_opts *opts)
{
    qdq_model *m = test_model(a), *n = test_model(b);
    qdq_data_opts how = QDQ_DATA_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *d = NULL;

    how.labels = labels;
    assert_ok(qdq_data_open(spec, m, &how, &d, &err));
    qdq_status st = qdq_compare(e, m, n, d, opts, &r, &err);
    assert_true((st == QDQ_OK) == (r != NULL));
    qdq_data_close(d);
    qdq_model_free(m);
    qdq_model_free(n);
    return r;
}

static void refused(qdq_engine *e, const char *a, const char *b, const qdq_compare_opts *opts,
                    qdq_status code, const char *message)
{
    assert_null(compared(e, a, b, "random:1", NULL, opts));
    assert_fails(code, message, err.code);
}

/* --- the simulated engine --------------------------------------------------------------------- */

TEST(a_model_equals_itself)
{
    qdq_engine *e = test_sim("{\"qdq_sim\": 1}");
    qdq_compare_result *r = compared(e, relu, relu, "random:1", NULL, NULL);

    assert_non_null(r);
    assert_int_equal(r->samples, 8);
    assert_int_equal(r->n_outputs, 1);
    assert_string_equal(r->outputs[0].name, "y");
    assert_true(isinf(r->outputs[0].sqnr_db));
    assert_true(r->outputs[0].cosine == 1 && r->outputs[0].max_abs == 0);
    assert_int_equal(r->outputs[0].elements, 16);
    assert_true(isnan(r->top1_agreement)); /* two numbers are no scores */
    assert_true(r->worst == 0 && isinf(r->worst_db) && isinf(r->bound_db));
    assert_true(isnan(r->accuracy_a) && isnan(r->accuracy_b));
    qdq_free(r);
    qdq_engine_close(e);
}

TEST(only_outputs_of_both_are_compared_in_order_of_the_first)
{
    qdq_engine *e = test_sim("{\"qdq_sim\": 1}");
    qdq_compare_result *r =
        compared(e, test_graph_text("relu_and_more"), relu, "random:1", NULL, NULL);

    assert_non_null(r);
    assert_int_equal(r->n_outputs, 1);
    assert_string_equal(r->outputs[0].name, "y");
    assert_int_equal(r->outputs[0].axis, -1);
    qdq_free(r);
    qdq_engine_close(e);
}

TEST(a_range_of_samples_is_kept)
{
    qdq_engine *e = test_sim("{\"qdq_sim\": 1}");
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;

    opts.first = 5;
    qdq_compare_result *r = compared(e, relu, relu, "random:1", NULL, &opts);
    assert_non_null(r);
    assert_int_equal(r->samples, 3);
    qdq_free(r);
    opts.count = 1;
    r = compared(e, relu, relu, "random:1", NULL, &opts);
    assert_non_null(r);
    assert_int_equal(r->samples, 1);
    qdq_free(r);
    opts.count = 4;
    refused(e, relu, relu, &opts, QDQ_E_USAGE, "samples 5 to 9, the data have 8");
    opts.first = 8;
    opts.count = 0;
    refused(e, relu, relu, &opts, QDQ_E_USAGE, "samples 8 to 8, the data have 8");
    qdq_engine_close(e);
}

TEST(models_that_cannot_be_compared_are_refused)
{
    qdq_engine *e = test_sim("{\"qdq_sim\": 1}");

    refused(e, relu, "g (float[N,2] x) => (float[N,2] z) { z = Relu(x) }", NULL, QDQ_E_FORMAT,
            "no output in common");
    refused(e, relu, "g (float[N,2] x) => (float[2,N] y) { y = Transpose(x) }", NULL,
            QDQ_E_UNSUPPORTED, "output 'y' is [1, 2] in the first model, [2, 1] in the second");
    assert_null(compared(e, relu, "g (float[N,2] w) => (float[N,2] y) { y = Relu(w) }", "random:1",
                         NULL, NULL));
    assert_non_null(strstr(err.text, "second model"));
    qdq_engine_close(e);
}

static void stop_soon(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    (void)stage;
    assert_int_equal(total, 8);
    if (done == 2)
        qdq_cancel_set(ctx);
}

TEST(a_comparison_can_be_interrupted)
{
    qdq_engine *e = test_sim("{\"qdq_sim\": 1}");
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_cancel *cancel = qdq_cancel_new();

    job.ctx = cancel;
    job.progress = stop_soon;
    job.cancel = cancel;
    opts.job = &job;
    refused(e, relu, relu, &opts, QDQ_E_INTERRUPTED, "interrupted");
    qdq_cancel_free(cancel);
    qdq_engine_close(e);
}

TEST(an_engine_that_fails_is_named_with_model_and_sample)
{
    qdq_engine *e =
        test_sim("{\"qdq_sim\": 1, \"fail\": [{\"at\": \"run\", \"nth\": 4, \"message\": "
                 "\"out of luck\"}]}");

    refused(e, relu, relu, NULL, QDQ_E_ENGINE, "second model, sample 1: ");
    assert_non_null(strstr(err.text, "out of luck"));
    qdq_engine_close(e);
}

/* --- numbers, on ONNX Runtime ----------------------------------------------------------------- */

static const float data[] = {1, 2, 4, 3, 5, 6};
static const int64_t label[] = {1, 1, 0};

static const char *labelled(size_t n_label)
{
    char header[100];

    snprintf(header, sizeof header, TEST_HEADER("<i8", "(%zu,)"), n_label);
    const test_array arrays[] = {{"x", TEST_HEADER("<f4", "(3, 2)"), data, sizeof data},
                                 {"label", header, label, n_label * 8}};
    return test_npz_file("labelled.npz", false, arrays, 2);
}

static const char same[] = "g (float[N,2] x) => (float[N,2] y) { t = Identity(x) y = Relu(t) }";

TEST(sqnr_top1_and_accuracy_are_what_numpy_says)
{
    qdq_engine *e = need_ort();

    qdq_compare_result *r =
        compared(e, same, test_graph_text("off_by_one"), labelled(3), "label", NULL);
    if (r == NULL)
        fail_msg("%s", err.text);
    /* 1 2, 4 3, 5 6 against 2 1, 5 2, 6 5 */
    assert_true(fabs(r->outputs[0].sqnr_db - 10 * log10(91.0 / 6)) < 1e-9);
    assert_true(fabs(r->outputs[0].cosine - 90 / sqrt(91.0 * 95)) < 1e-9);
    assert_true(r->outputs[0].max_abs == 1);
    assert_int_equal(r->outputs[0].elements, 6);
    assert_true(fabs(r->top1_agreement - 1 / 3.0) < 1e-9); /* 1 0 1 against 0 0 0 */
    assert_true(fabs(r->accuracy_a - 1 / 3.0) < 1e-9);
    assert_true(fabs(r->accuracy_b - 1 / 3.0) < 1e-9);
    qdq_free(r);
}

TEST(labels_must_be_as_many_as_rows)
{
    static const char tripled[] =
        "g (float[N,2] x) => (float[M,2] y) { y = Concat<axis = 0>(x, x, x) }";
    qdq_engine *e = need_ort();

    assert_null(compared(e, tripled, tripled, labelled(3), "label", NULL));
    assert_fails(QDQ_E_FORMAT, "output 'y': 3 rows in a sample, but 1 labels", err.code);
}

/* Three rows of two numbers, whose labels are 1, 2 and 0. */
static const char *odd_labels(void)
{
    static const int64_t odd[] = {1, 2, 0};
    const test_array arrays[] = {{"x", TEST_HEADER("<f4", "(3, 2)"), data, sizeof data},
                                 {"label", TEST_HEADER("<i8", "(3,)"), odd, sizeof odd}};

    return test_npz_file("odd.npz", false, arrays, 2);
}

#define NO_CLASS "sample 1: its label is 2, expected 0 to 1 as output 'y' has 2 classes"

TEST(a_label_that_is_no_class_is_found_before_anything_runs)
{
    qdq_engine *e = test_sim(
        "{\"qdq_sim\": 1, \"fail\": [{\"at\": \"open\", \"message\": \"no model is taken\"}]}");

    assert_null(compared(e, same, same, odd_labels(), "label", NULL));
    assert_fails(QDQ_E_FORMAT, NO_CLASS, err.code);
    qdq_engine_close(e);
}

/* The number of classes is known when the first model has run: neither model is to blame. */
TEST(a_label_that_is_no_class_is_named_with_its_sample)
{
    static const char open[] = "g (float[N,2] x) => (float[N,C] y) { y = Relu(x) }";
    qdq_engine *e = need_ort();

    assert_null(compared(e, open, open, odd_labels(), "label", NULL));
    assert_fails(QDQ_E_FORMAT, NO_CLASS, err.code);
    assert_null(strstr(err.text, "model"));
}

TEST(labels_are_no_classes_of_the_other_outputs)
{
    const char *two = test_graph_text(__func__);
    qdq_engine *e = need_ort();

    qdq_compare_result *r = compared(e, two, two, odd_labels(), "label", NULL);
    if (r == NULL)
        fail_msg("%s", err.text);
    assert_false(isnan(r->accuracy_a));
    qdq_free(r);
}
