/* engine_trtexec.c - the engines `trtexec`, on the stand-in of tests/tools/fake_trtexec.c, and
 * `replay`, on what the first recorded. */
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "support/disk.h"
#include "support/test.h"

#define FAKE QDQ_BUILD_DIR "/tests/fake_trtexec"

static qdq_error err;
static qdq_engine *engine;
static qdq_session *session;
static qdq_model *model;

static int clean(void **state)
{
    (void)state;
    qdq_session_close(session);
    qdq_engine_close(engine);
    qdq_model_free(model);
    session = NULL;
    engine = NULL;
    model = NULL;
    unsetenv("FAKE_TRTEXEC");
    unsetenv("FAKE_TRTEXEC_VERSION");
    return 0;
}

#define TEXT                                                                                       \
    "graph (float[1,4] x) => (float[1,4] y) <float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}>"    \
    " { [\"/l0/MatMul\"] a = MatMul(x, w) [\"/l0/Relu\"] b = Relu(a) y = Neg(b) }"
#define DYNAMIC                                                                                    \
    "graph (float[N,4] x) => (float[N,4] y) <float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}>"    \
    " { [\"/l0/MatMul\"] y = MatMul(x, w) }"

static void open_engine(const char *spec, const char *args, const char *record)
{
    qdq_engine_opts o = QDQ_ENGINE_OPTS_INIT;

    o.trtexec = FAKE;
    o.trtexec_args = args;
    o.record = record;
    o.temp_dir = test_dir();
    assert_ok(qdq_engine_open(spec, &o, &engine, &err));
}

static qdq_status open_session(const char *text, bool layers)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;

    o.profile = o.layers = layers;
    model = test_model(text);
    return qdq_session_open(engine, model, &o, &session, &err);
}

/* Profile and groups use a session up. */
static void reopen(const char *text)
{
    qdq_session_close(session);
    qdq_model_free(model);
    session = NULL;
    assert_ok(open_session(text, true));
}

TEST(it_times_by_the_median_of_exported_times)
{
    qdq_bench_opts o = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model out;

    open_engine("trtexec", NULL, NULL);
    const qdq_engine_info *info = qdq_engine_get_info(engine);
    assert_string_equal(info->version, "10.16.1");
    assert_int_equal(info->capabilities,
                     QDQ_CAN_TIME | QDQ_CAN_PROFILE | QDQ_CAN_LIST_LAYERS | QDQ_NAMES_LAYERS);
    assert_ok(open_session(TEXT, false));
    o.rounds = 3;
    o.warmup = 1;
    assert_ok(qdq_bench(&session, 1, &o, &out, &err));
    assert_true(fabs(out.median_ms - 0.115) < 1e-6); /* 100 + 5 + 10 us */
    clean(NULL);
    assert_int_equal(test_count_files(test_dir()), 0);
}

/* The commands of what was recorded, one behind the other. */
static const char *recorded_log(const char *dir)
{
    static char all[100000];
    struct dirent **entry = NULL;
    int n = scandir(dir, &entry, NULL, alphasort);

    all[0] = '\0';
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(entry[i]->d_name, '.');
        char path[4096], *text;
        size_t size;
        snprintf(path, sizeof path, "%s/%s", dir, entry[i]->d_name);
        if (dot != NULL && strcmp(dot, ".log") == 0) {
            assert_ok(qdq_read_file(path, 1 << 20, &text, &size, &err));
            strncat(all, text, sizeof all - strlen(all) - 1);
            qdq_free(text);
        }
        free(entry[i]);
    }
    free(entry);
    return all;
}

/* It builds, and says of all else why not; the password stays where it was given. */
TEST(an_engine_for_another_machine_is_built_and_not_measured_here)
{
    static const char args[] =
        "--remoteAutoTuningConfig=ssh://me:secret@board:22?remote_exec_path=/x";
    const char *dir = test_path("remote");
    qdq_bench_opts o = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model out;

    open_engine("trtexec", args, dir);
    assert_non_null(strstr(qdq_engine_get_info(engine)->fingerprint, "ssh://me:***@board:22"));
    assert_null(strstr(qdq_engine_get_info(engine)->fingerprint, "secret"));
    assert_ok(open_session(TEXT, false));
    assert_fails(QDQ_E_UNSUPPORTED, "for another machine, on which trtexec times nothing",
                 qdq_bench(&session, 1, &o, &out, &err));
    const char *log = recorded_log(dir);
    assert_non_null(strstr(log, "--safe"));
    assert_non_null(strstr(log, "ssh://me:***@board:22?remote_exec_path=/x"));
    assert_null(strstr(log, "secret"));
    qdq_session_close(session);
    qdq_model_free(model);
    session = NULL;
    assert_int_equal(open_session(TEXT, true), QDQ_E_UNSUPPORTED);
}

TEST(it_computes_no_outputs)
{
    open_engine("trtexec:" FAKE, NULL, NULL);
    assert_ok(open_session(TEXT, false));
    assert_fails(QDQ_E_UNSUPPORTED, "computes no outputs",
                 qdq_session_run(session, NULL, 0, NULL, NULL, &err));
}

TEST(profile_and_groups_come_from_its_layers)
{
    static const char *const versions[] = {"101601", "8400", "110100"};

    for (size_t i = 0; i < QDQ_COUNT(versions); i++) {
        qdq_named_array *in = NULL;
        qdq_layer *g = NULL;
        qdq_layer *l = NULL;
        size_t n_in, n;

        setenv("FAKE_TRTEXEC_VERSION", versions[i], 1);
        open_engine("trtexec", NULL, NULL);
        assert_ok(open_session(TEXT, true));
        assert_ok(qdq_random_inputs(session, 1, &in, &n_in, &err));
        assert_ok(qdq_session_layers(session, in, n_in, 10, &g, &n, &err));
        assert_int_equal(n, 2);
        assert_string_equal(g[0].layer, "/l0/MatMul + /l0/Relu");
        assert_int_equal(g[0].n_nodes, 2);
        assert_string_equal(g[0].node[1], "/l0/Relu");
        assert_int_equal(g[0].source, QDQ_LAYER_EXACT);
        assert_string_equal(g[0].in_type, "f32");
        assert_true(fabs(g[0].median_us - 100) < 1e-6);
        assert_string_equal(g[1].node[0], "Neg@y");
        qdq_free(g);
        reopen(TEXT);
        assert_ok(qdq_session_profile(session, in, n_in, 10, &l, &n, &err));
        assert_int_equal(n, 2);
        assert_string_equal(l[0].op, "CaskConvolution");
        assert_true(fabs(l[0].median_us - 100) < 1e-6);
        qdq_free(l);
        qdq_free(in);
        clean(NULL);
    }
}

TEST(layers_without_detail_are_no_groups)
{
    qdq_layer *g = NULL;
    size_t n;

    setenv("FAKE_TRTEXEC", "names_only", 1);
    open_engine("trtexec", NULL, NULL);
    assert_ok(open_session(TEXT, true));
    assert_fails(QDQ_E_UNSUPPORTED, "--profilingVerbosity=detailed",
                 qdq_session_layers(session, NULL, 0, 0, &g, &n, &err));
}

static qdq_status time_once(double *ms)
{
    qdq_bench_opts o = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model out;

    o.rounds = o.warmup = 1;
    qdq_status st = qdq_bench(&session, 1, &o, &out, &err);
    *ms = out.median_ms;
    return st;
}

static void assert_timed_with(const char *output)
{
    double ms;

    setenv("FAKE_TRTEXEC", output, 1);
    open_engine("trtexec", NULL, NULL);
    assert_ok(open_session(TEXT, false));
    assert_ok(time_once(&ms));
    assert_true(fabs(ms - 0.115) < 1e-6);
}

TEST(without_exported_times_the_summary_counts)
{
    assert_timed_with("only_summary");
}

/* A profile that is not taken in a run of its own leaves no line with a latency. */
TEST(without_the_summary_exported_times_count)
{
    assert_timed_with("no_summary");
}

TEST(without_either_the_measurement_is_missing)
{
    double ms;

    setenv("FAKE_TRTEXEC", "no_times", 1);
    open_engine("trtexec", NULL, NULL);
    assert_ok(open_session(TEXT, false));
    assert_fails(QDQ_E_ENGINE, "measurement missing", time_once(&ms));
}

/* Open dimensions get the shapes of the options. */
TEST(dynamic_dimensions_are_1_unless_the_user_says)
{
    qdq_io io;
    double ms;

    open_engine("trtexec", NULL, NULL);
    assert_ok(open_session(DYNAMIC, false));
    assert_true(qdq_session_input(session, 0, &io));
    assert_int_equal(io.dim[0], 1);
    assert_ok(time_once(&ms));
    clean(NULL);
    open_engine("trtexec", "--minShapes=x:1x4 --optShapes=x:8x4 --maxShapes=x:16x4", NULL);
    assert_ok(open_session(DYNAMIC, false));
    assert_true(qdq_session_input(session, 0, &io));
    assert_int_equal(io.dim[0], 8);
    assert_ok(time_once(&ms));
    clean(NULL);
    open_engine("trtexec", "--optShapes=x:8x5", NULL);
    assert_fails(QDQ_E_USAGE, "the shape of input 'x' does not fit", open_session(DYNAMIC, false));
    clean(NULL);
    /* a static model gets no flags, and so no error */
    open_engine("trtexec", "--optShapes=x:8x4", NULL);
    assert_ok(open_session(TEXT, false));
}

/* Trtexec completes shapes for all inputs or for none. */
TEST(one_set_of_shapes_becomes_all_three_for_every_input)
{
    const char *dir = test_path("three"), *log;

    open_engine("trtexec", "--optShapes=a:8x4,b:2x4", dir);
    assert_ok(open_session(test_graph_text(__func__), false));
    clean(NULL);
    log = recorded_log(dir);
    assert_non_null(strstr(log, "--minShapes=a:8x4,b:2x4"));
    assert_non_null(strstr(log, "--optShapes=a:8x4,b:2x4"));
    assert_non_null(strstr(log, "--maxShapes=a:8x4,b:2x4"));
    dir = test_path("static"); /* one without open dimensions gets none */
    open_engine("trtexec", "--optShapes=x:8x4", dir);
    assert_ok(open_session(TEXT, false));
    clean(NULL);
    log = recorded_log(dir);
    assert_non_null(strstr(log, "--onnx="));
    assert_null(strstr(log, "Shapes="));
}

TEST(what_cannot_be_built_says_why)
{
    setenv("FAKE_TRTEXEC", "no_kernel", 1);
    open_engine("trtexec", NULL, NULL);
    assert_fails(QDQ_E_ENGINE, "(builder): Error[10]: Could not find any implementation",
                 open_session(TEXT, false));
}

TEST(what_was_recorded_can_be_replayed)
{
    const char *dir = test_path("record");
    char spec[4096];
    qdq_named_array *in = NULL;
    qdq_layer *g = NULL;
    qdq_layer *l = NULL;
    size_t n_in, n;
    double ms;

    open_engine("trtexec", NULL, dir);
    assert_ok(open_session(TEXT, true));
    assert_ok(time_once(&ms));
    assert_ok(qdq_random_inputs(session, 1, &in, &n_in, &err));
    assert_ok(qdq_session_profile(session, in, n_in, 10, &l, &n, &err));
    qdq_free(l);
    clean(NULL);
    snprintf(spec, sizeof spec, "replay:%s", dir);
    setenv("FAKE_TRTEXEC", "crash", 1); /* it is not needed any more */
    assert_ok(qdq_engine_open(spec, NULL, &engine, &err));
    assert_string_equal(qdq_engine_get_info(engine)->version, "10.16.1");
    assert_ok(open_session(TEXT, true));
    assert_ok(time_once(&ms));
    assert_true(fabs(ms - 0.115) < 0.001);
    assert_ok(qdq_session_layers(session, in, n_in, 10, &g, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(g[0].node[0], "/l0/MatMul");
    assert_true(fabs(g[0].median_us - 100) < 1e-6);
    qdq_free(g);
    reopen(TEXT);
    assert_ok(qdq_session_profile(session, in, n_in, 10, &l, &n, &err));
    assert_string_equal(l[1].op, "PointWise");
    qdq_free(l);
    qdq_free(in);
    qdq_session_close(session);
    qdq_model_free(model);
    session = NULL;
    assert_ok(open_session(DYNAMIC, false));
    assert_fails(QDQ_E_ENGINE, "nothing was recorded of this model", time_once(&ms));
}

TEST(files_by_hand_serve_all_models)
{
    const char *dir = test_path("hand"), *times = "[{\"computeMs\":2},{\"computeMs\":3}]";
    char spec[4096];
    double ms;

    assert_fails(QDQ_E_USAGE, "expected replay:DIR",
                 qdq_engine_open("replay", NULL, &engine, &err));
    snprintf(spec, sizeof spec, "replay:%s", dir);
    assert_fails(QDQ_E_ENGINE, "no such folder", qdq_engine_open(spec, NULL, &engine, &err));
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_ok(qdq_write_file(test_path("hand/any.times.json"), true, times, strlen(times), &err));
    assert_ok(qdq_engine_open(spec, NULL, &engine, &err));
    assert_ok(open_session(TEXT, false));
    assert_ok(time_once(&ms));
    assert_true(ms >= 2 && ms <= 3);
    clean(NULL);
    assert_ok(qdq_write_file(test_path("hand/replay.json"), true, "{\"qdq_replay\": 2}", 17, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "replay.json", qdq_engine_open(spec, NULL, &engine, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(it_times_by_the_median_of_exported_times, clean),
        cmocka_unit_test_teardown(an_engine_for_another_machine_is_built_and_not_measured_here,
                                  clean),
        cmocka_unit_test_teardown(it_computes_no_outputs, clean),
        cmocka_unit_test_teardown(profile_and_groups_come_from_its_layers, clean),
        cmocka_unit_test_teardown(layers_without_detail_are_no_groups, clean),
        cmocka_unit_test_teardown(without_exported_times_the_summary_counts, clean),
        cmocka_unit_test_teardown(without_the_summary_exported_times_count, clean),
        cmocka_unit_test_teardown(without_either_the_measurement_is_missing, clean),
        cmocka_unit_test_teardown(dynamic_dimensions_are_1_unless_the_user_says, clean),
        cmocka_unit_test_teardown(one_set_of_shapes_becomes_all_three_for_every_input, clean),
        cmocka_unit_test_teardown(what_cannot_be_built_says_why, clean),
        cmocka_unit_test_teardown(what_was_recorded_can_be_replayed, clean),
        cmocka_unit_test_teardown(files_by_hand_serve_all_models, clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
