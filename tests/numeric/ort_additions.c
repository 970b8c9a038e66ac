/* ort_additions.c - what users add to ONNX Runtime: libraries with operators of their own,
 * execution providers. */
#include <unistd.h>

#include "base/file.h"
#include "engine/ort/ort_session.h"
#include "numeric/ort_help.h"
#include "support/labs.h"
#include "support/test.h"

static qdq_error err;

#define LIBRARY QDQ_BUILD_DIR "/tests/twice_ort.so"

static const char *const twice[] = {LIBRARY, NULL};

static qdq_engine *open_ort(const char *const *plugins, const char *const *providers)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_engine *e = NULL;

    opts.plugins = plugins;
    opts.providers = providers;
    assert_ok(qdq_engine_open(ort_spec(need_ort()), &opts, &e, &err));
    return e;
}

/* The engine does not open; its reason holds `part`. */
static void refuses(const char *const *plugins, const char *const *providers, qdq_status code,
                    const char *part)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_engine *e = NULL;

    opts.plugins = plugins;
    opts.providers = providers;
    assert_fails(code, part, qdq_engine_open(ort_spec(need_ort()), &opts, &e, &err));
    assert_null(e);
}

/* --- operators -------------------------------------------------------------------------------- */

static qdq_status check_twice(void *ctx, const char *name, const qdq_array *a, qdq_error *why)
{
    const float *y = a->data;

    (void)name, (void)why;
    assert_true(y[0] == -2 && y[1] == 5 && y[2] == -0.5f);
    *(bool *)ctx = true;
    return QDQ_OK;
}

TEST(an_operator_of_a_library_runs_is_timed_and_profiled)
{
    static float x[] = {1, -2.5f, 0.25f};
    const qdq_named_array in = {"x", {QDQ_FLOAT, 1, {3}, x, sizeof x}};
    qdq_engine *e = open_ort(twice, NULL);
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_model *m = test_graph("twice");
    qdq_session *s = NULL;
    qdq_bench_opts bench = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model times;
    qdq_layer *l = NULL;
    size_t n;
    bool ran = false;

    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_ok(qdq_session_run(s, &in, 1, check_twice, &ran, &err));
    assert_true(ran);
    bench.rounds = 2;
    assert_ok(qdq_bench(&s, 1, &bench, &times, &err));
    assert_true(times.median_ms > 0);
    qdq_session_close(s);

    opts.profile = true;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_ok(qdq_session_profile(s, &in, 1, 3, &l, &n, &err));
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found = found || strcmp(l[i].op, "Twice") == 0;
    assert_true(found);
    qdq_free(l);
    qdq_session_close(s);
    qdq_model_free(m);
    qdq_engine_close(e);
}

TEST(an_unknown_operator_says_where_operators_come_from)
{
    qdq_model *m = test_graph("twice");
    qdq_session *s = NULL;

    assert_fails(QDQ_E_ENGINE, "come from --plugin-libraries)",
                 qdq_session_open(need_ort(), m, NULL, &s, &err));
    qdq_model_free(m);
    m = test_graph(__func__);
    qdq_engine *e = open_ort(twice, NULL);
    assert_fails(QDQ_E_ENGINE, "none of those that were given has it",
                 qdq_session_open(e, m, NULL, &s, &err));
    qdq_model_free(m);
    qdq_engine_close(e);
}

TEST(libraries_that_are_none_are_refused)
{
    const char *const missing[] = {"/nonexistent/ops.so", NULL};
    const char *const unregistered[] = {QDQ_BUILD_DIR "/tests/twice_unregistered.so", NULL};
    const char *const text[] = {test_path("text.so"), NULL};
    qdq_model *m = test_graph("twice");
    qdq_session *s = NULL;

    refuses(missing, NULL, QDQ_E_IO, "library with operators: /nonexistent/ops.so");
    /* The rest is known to ONNX Runtime alone, which looks when a session is made. */
    qdq_engine *e = open_ort(unregistered, NULL);
    assert_fails(QDQ_E_ENGINE, "RegisterCustomOps", qdq_session_open(e, m, NULL, &s, &err));
    assert_non_null(strstr(err.text, "library with operators: "));
    assert_non_null(strstr(err.text, "twice_unregistered.so"));
    qdq_engine_close(e);
    assert_ok(qdq_write_file(text[0], true, "no library", 10, &err));
    e = open_ort(text, NULL);
    assert_fails(QDQ_E_ENGINE, "text.so", qdq_session_open(e, m, NULL, &s, &err));
    qdq_engine_close(e);
    qdq_model_free(m);
}

TEST(the_fingerprint_changes_with_a_librarys_bytes)
{
    const char *const copy[] = {test_path("copy.so"), NULL};
    static char first[500], second[500];
    qdq_engine *plain = open_ort(NULL, NULL);

    assert_null(strchr(qdq_engine_get_info(plain)->fingerprint, ';'));
    qdq_engine_close(plain);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(qdq_write_file(copy[0], true, i == 0 ? "one" : "two", 3, &err));
        qdq_engine *e = open_ort(copy, NULL);
        snprintf(i == 0 ? first : second, sizeof first, "%s", qdq_engine_get_info(e)->fingerprint);
        qdq_engine_close(e);
    }
    assert_non_null(strstr(first, "; copy.so "));
    assert_string_not_equal(first, second);
}

/* A name without a slash would be looked for in the loader's path. */
TEST(a_relative_name_is_that_of_a_file)
{
    char here[4096], beside[4200];

    assert_non_null(getcwd(here, sizeof here));
    snprintf(beside, sizeof beside, "%s", LIBRARY);
    *strrchr(beside, '/') = '\0';
    assert_int_equal(chdir(beside), 0);
    qdq_engine *e = open_ort((const char *const[]){"twice_ort.so", NULL}, NULL);
    assert_int_equal(chdir(here), 0);
    qdq_model *m = test_graph("twice");
    qdq_session *s = NULL;
    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    qdq_session_close(s);
    qdq_model_free(m);
    qdq_engine_close(e);
}

TEST(the_worker_of_the_tuner_has_them_as_well)
{
    const qdq_engine_opts engine_opts = {.size = sizeof engine_opts, .plugins = twice};
    const qdq_worker_client_opts opts = {.engine = ort_spec(need_ort()),
                                         .engine_opts = &engine_opts,
                                         .worker = QDQ_BUILD_DIR "/qdq-worker"};
    const char *path = test_path("twice.onnx");
    qdq_save_opts save = QDQ_SAVE_OPTS_INIT;
    qdq_model *m = test_graph("twice");
    qdq_remote_outcome outcome;
    qdq_worker_client *worker_client;
    int a;

    assert_ok(qdq_model_save(m, path, &save, &err));
    assert_ok(qdq_worker_client_open(&opts, &worker_client, &err));
    assert_non_null(
        strstr(qdq_worker_client_engine(worker_client)->fingerprint, "; twice_ort.so "));
    assert_ok(qdq_worker_client_build(worker_client, path, &a, &outcome, &err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    qdq_worker_client_close(worker_client);
    qdq_model_free(m);
}

/* --- providers -------------------------------------------------------------------------------- */

static void parses(const char *spec, const char *found)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_ort_provider p;
    char text[500];
    int used;

    assert_ok(qdq_ort_provider_parse(spec, &arena, &p, &err));
    used = snprintf(text, sizeof text, "%s", p.name);
    for (size_t i = 0; i < p.n; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "|%s|%s", p.keys[i], p.values[i]);
    assert_string_equal(text, found);
    qdq_arena_free(&arena);
}

TEST(specs_of_providers_keep_the_commas_of_values)
{
    static const char *const wrong[] = {"",
                                        ":",
                                        ":a=b",
                                        "CUDA:",
                                        "CUDA:device_id",
                                        "CUDA:device_id=",
                                        "CUDA:=1",
                                        "CUDA:a=1,,b=2x,c=",
                                        "CUDA,CPU",
                                        "CUDA=1",
                                        "a b"};
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_ort_provider p;

    parses("CUDA", "CUDA");
    parses("CUDAExecutionProvider:device_id=1", "CUDA|device_id|1");
    parses("TensorRT:trt_profile_min_shapes=x:1x3,y:1x4,trt_fp16_enable=1",
           "TensorRT|trt_profile_min_shapes|x:1x3,y:1x4|trt_fp16_enable|1");
    parses("QNN:backend_path=/a b/c,d.so,k=v=w", "QNN|backend_path|/a b/c,d.so|k|v=w");
    for (size_t i = 0; i < QDQ_COUNT(wrong); i++) {
        assert_int_equal(qdq_ort_provider_parse(wrong[i], &arena, &p, &err), QDQ_E_USAGE);
        assert_non_null(strstr(err.text, wrong[i]));
    }
    qdq_arena_free(&arena);
}

TEST(a_provider_that_the_library_lacks_is_refused_with_those_it_has)
{
    refuses(NULL, (const char *const[]){"Abacus", NULL}, QDQ_E_ENGINE,
            "has no provider 'Abacus': found ");
    assert_non_null(strstr(err.text, "CPU"));
    refuses(NULL, (const char *const[]){"CPU", "Abacus:beads=10", NULL}, QDQ_E_ENGINE, "'Abacus'");
    refuses(NULL, (const char *const[]){"CPU:x", NULL}, QDQ_E_USAGE,
            "expected NAME or NAME:key=value");
}

/* The processor is there in any case: naming it changes nothing but the fingerprint. */
TEST(the_processor_may_be_named)
{
    qdq_engine *e = open_ort(NULL, (const char *const[]){"CPUExecutionProvider", NULL});
    qdq_model *m = test_model(HEAD "g (float[2] x) => (float[2] y) { y = Relu(x) }");
    static kept a, b;

    assert_non_null(strstr(qdq_engine_get_info(e)->fingerprint, "; provider CPU"));
    run_model(e, m, NULL, &a);
    run_model(need_ort(), m, NULL, &b);
    assert_memory_equal(a.bytes, b.bytes, 8);
    qdq_model_free(m);
    qdq_engine_close(e);
}
