/* tune_worker_client_ort.c - ONNX Runtime in a worker: times, accuracy, layers, refusals. */
#include <math.h>

#include "support/build.h"
#include "support/labs.h"
#include "support/test.h"
#include "tune/worker_client/worker_client.h"

static qdq_error err;

/* Convs enough for a run of about a millisecond. */
static const char *conv_model(bool quantized)
{
    static const char *const in[] = {"x", "c0", "c1"}, *const dq[] = {"x.dq", "c0.dq", "c1.dq"};
    static const char *const out[] = {"c0", "c1", "c2"};
    /* each Conv makes numbers some seven times as large */
    static const float scale[] = {0.04f, 0.25f, 2};
    test_builder b = test_build(17);
    const char *path = test_path("%s.onnx", quantized ? "int8" : "float");

    TEST_INPUT(&b, "x", 1, 16, 32, 32);
    for (int i = 0; i < 3; i++) {
        if (quantized)
            test_qdq(&b, in[i], QDQ_UINT8, scale[i], 128);
        test_conv(&b, out[i], quantized ? dq[i] : in[i], 16, 16, 3, 1);
    }
    test_output(&b, "c2");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_model_save(m, path, NULL, &err));
    qdq_model_free(m);
    return path;
}

static qdq_worker_client *open_worker_client(qdq_worker_client_opts opts)
{
    static char library[4100];
    qdq_worker_client *worker_client;
    qdq_engine *e = need_ort();

    snprintf(library, sizeof library, "%s", qdq_engine_get_info(e)->library);
    opts.engine = "ort";
    const qdq_engine_opts engine_opts = {.size = sizeof engine_opts, .ort_library = library};
    opts.engine_opts = &engine_opts;
    opts.worker = QDQ_BUILD_DIR "/qdq-worker";
    assert_ok(qdq_worker_client_open(&opts, &worker_client, &err));
    return worker_client;
}

TEST(models_are_timed_compared_and_profiled)
{
    qdq_worker_client *worker_client = open_worker_client((qdq_worker_client_opts){.seed = 2});
    int a = test_worker_client_build(worker_client, conv_model(false)),
        b = test_worker_client_build(worker_client, conv_model(true));
    qdq_worker_client_accuracy acc;
    qdq_remote_outcome outcome;
    qdq_layer *layers;
    qdq_layer *groups;
    double x, y, sum = 0;
    size_t n;

    assert_string_equal(qdq_worker_client_engine(worker_client)->name, "ort");
    assert_ok(qdq_worker_client_pair(worker_client, a, b, false, 0, &x, &y, &outcome, &err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    assert_true(x > 1e3 && x < 1e9 && y > 1e3 && y < 1e9);
    assert_ok(qdq_worker_client_compare(worker_client, a, b, &acc, &outcome, &err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    assert_true(acc.finite && acc.sqnr_db > 10 && acc.sqnr_db < 80);
    assert_ok(qdq_worker_client_profile(worker_client, test_path("float.onnx"), 3, &layers, &n,
                                        &outcome, &err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    assert_true(n >= 3);
    for (size_t i = 0; i < n; i++)
        sum += layers[i].median_us;
    assert_true(sum > 1 && sum < 1e6);
    qdq_free(layers);
    assert_ok(qdq_worker_client_groups(worker_client, test_path("float.onnx"), 3, &groups, &n,
                                       &outcome, &err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    assert_true(n >= 3 && qdq_layers_add(groups, n).attributed > 0.5);
    qdq_free(groups);
    qdq_worker_client_close(worker_client);
}

TEST(what_onnx_runtime_refuses_is_a_fate_with_its_words)
{
    qdq_worker_client *worker_client = open_worker_client((qdq_worker_client_opts){0});
    qdq_model *m = test_graph(__func__);
    qdq_remote_outcome outcome;
    int handle;

    assert_ok(qdq_model_save(m, test_path("magic.onnx"), NULL, &err));
    qdq_model_free(m);
    assert_ok(
        qdq_worker_client_build(worker_client, test_path("magic.onnx"), &handle, &outcome, &err));
    assert_int_equal(outcome.end, QDQ_REMOTE_REFUSED);
    assert_non_null(strstr(outcome.text, "Magic"));
    assert_null(strchr(outcome.text, '\n'));
    qdq_worker_client_close(worker_client);
}

/* ONNX Runtime reports std::bad_alloc as a status, or the process dies of it. */
static void a_model_beyond_the_memory_is_told_from_a_bad_one(void **state)
{
    (void)state;
    if (test_is_sanitized())
        skip(); /* it needs terabytes of addresses for itself */

    test_builder b = test_build(17);
    qdq_worker_client *worker_client =
        open_worker_client((qdq_worker_client_opts){.max_memory = (uint64_t)1 << 30});
    qdq_worker_client_accuracy acc;
    qdq_remote_outcome outcome;

    TEST_INPUT(&b, "x", 1, 1, 64, 64);
    TEST_INTS(&b, "big", 4, 1, 100000, 64, 64);
    TEST_NODE(&b, "Expand", "y", "x", "big");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_model_save(m, test_path("big.onnx"), NULL, &err));
    qdq_model_free(m);
    int a = test_worker_client_build(worker_client, test_path("big.onnx"));
    assert_ok(qdq_worker_client_compare(worker_client, a, a, &acc, &outcome, &err));
    if (outcome.end != QDQ_REMOTE_MEMORY)
        fail_msg("%s: %s", qdq_remote_end_name(outcome.end), outcome.text);
    qdq_worker_client_close(worker_client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_timed_compared_and_profiled),
        cmocka_unit_test(what_onnx_runtime_refuses_is_a_fate_with_its_words),
        cmocka_unit_test(a_model_beyond_the_memory_is_told_from_a_bad_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
