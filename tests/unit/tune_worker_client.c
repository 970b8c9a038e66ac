/* tune_worker_client.c - engines in a worker process: every way in which a trial can end, and that
 * the worker client goes on after it. */
#include "support/lab_setting.h"

/* --- what goes well --------------------------------------------------------------------------- */

TEST(the_lab_knows_the_engine_of_its_worker)
{
    qdq_worker_client *worker_client =
        open_worker_client(", \"device\": \"abacus\"", (qdq_worker_client_opts){0});
    const qdq_engine_info *i = qdq_worker_client_engine(worker_client);

    assert_string_equal(i->name, "sim");
    assert_string_equal(i->device, "abacus");
    assert_true(i->capabilities & QDQ_CAN_TIME);
    assert_int_equal(qdq_worker_client_builds(worker_client), 0);
    close_worker_client(worker_client);
}

TEST(a_pair_has_the_time_of_each_model)
{
    qdq_worker_client *worker_client = open_worker_client("", (qdq_worker_client_opts){0});
    int a = test_worker_client_build(worker_client, float_model()),
        b = test_worker_client_build(worker_client, int8_model());
    qdq_remote_outcome outcome;
    double a_ns, b_ns;

    assert_ok(qdq_worker_client_pair(worker_client, a, b, false, 3, &a_ns, &b_ns, &outcome, &err));
    assert_outcome(&outcome, QDQ_REMOTE_FINE, "");
    assert_true(fabs(a_ns - 110e3) < 1 && fabs(b_ns - 50e3) < 1);
    assert_int_equal(qdq_worker_client_builds(worker_client), 2);
    close_worker_client(worker_client);
}

TEST(the_noise_of_a_pair_is_that_of_its_number_in_any_order_and_process)
{
    double first[2], again[2], other[2];
    qdq_remote_outcome outcome;

    for (int round = 0; round < 2; round++) {
        qdq_worker_client *worker_client =
            open_worker_client(", \"noise\": 0.1, \"seed\": 5", (qdq_worker_client_opts){0});
        int a = test_worker_client_build(worker_client, float_model()),
            b = test_worker_client_build(worker_client, int8_model());
        double *now = round == 0 ? first : again;

        if (round == 1)
            assert_ok(qdq_worker_client_pair(worker_client, b, a, false, 4, &other[0], &other[1],
                                             &outcome, &err));
        assert_ok(qdq_worker_client_pair(worker_client, a, b, round == 1, 7, &now[0], &now[1],
                                         &outcome, &err));
        assert_ok(qdq_worker_client_pair(worker_client, a, b, false, 8, &other[0], &other[1],
                                         &outcome, &err));
        assert_true(other[0] != now[0] && other[1] != now[1]);
        close_worker_client(worker_client);
    }
    assert_true(first[0] == again[0] && first[1] == again[1]);
}

TEST(a_model_beside_itself_is_not_measured_twice_with_one_noise)
{
    qdq_worker_client *worker_client =
        open_worker_client(", \"noise\": 0.1", (qdq_worker_client_opts){0});
    int a = test_worker_client_build(worker_client, float_model());
    qdq_remote_outcome outcome;
    double x, y;

    assert_ok(qdq_worker_client_pair(worker_client, a, a, false, 0, &x, &y, &outcome, &err));
    assert_true(x != y);
    close_worker_client(worker_client);
}

TEST(a_dropped_model_is_no_handle_any_more)
{
    qdq_worker_client *worker_client = open_worker_client("", (qdq_worker_client_opts){0});
    int a = test_worker_client_build(worker_client, float_model()),
        b = test_worker_client_build(worker_client, int8_model());
    qdq_worker_client_accuracy acc;
    qdq_remote_outcome outcome;
    double x, y;

    qdq_worker_client_drop(worker_client, b);
    qdq_worker_client_drop(worker_client, b);
    qdq_worker_client_drop(worker_client, 99);
    assert_fails(QDQ_E_USAGE, "1 is not a handle",
                 qdq_worker_client_pair(worker_client, a, b, false, 0, &x, &y, &outcome, &err));
    assert_fails(QDQ_E_USAGE, "-1 is not a handle",
                 qdq_worker_client_compare(worker_client, -1, a, &acc, &outcome, &err));
    assert_pair_is_fine(worker_client, a);
    close_worker_client(worker_client);
}

TEST(outputs_are_compared_on_samples)
{
    qdq_worker_client *worker_client = open_worker_client("", (qdq_worker_client_opts){.seed = 3});
    int a = test_worker_client_build(worker_client, float_model()),
        b = test_worker_client_build(worker_client, int8_model());
    qdq_worker_client_accuracy same, other, again;
    qdq_remote_outcome outcome;

    assert_ok(qdq_worker_client_compare(worker_client, a, a, &same, &outcome, &err));
    assert_true(same.finite && isinf(same.sqnr_db) && same.sqnr_db > 0);
    assert_ok(qdq_worker_client_compare(worker_client, a, b, &other, &outcome, &err));
    /* A Relu's output has a mean square of 1/2, the kernel in 8 bits adds a deviation of 0.01 */
    assert_true(other.finite && fabs(other.sqnr_db - 10 * log10(0.5 / 1e-4)) < 2);
    assert_ok(qdq_worker_client_compare(worker_client, a, b, &again, &outcome,
                                        &err)); /* from the kept outputs of a */
    assert_true(again.sqnr_db == other.sqnr_db);
    close_worker_client(worker_client);
}

/* One sample, or many: their sum decides, so what is in the file is what is compared on. */
TEST(samples_of_a_file_are_used)
{
    qdq_worker_client_opts opts = {.samples = test_path("two.npy")};
    static const char head[] =
        "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 4, 4), }";
    char file[128 + 2 * 16 * 4];
    const float big = 1e6f;
    qdq_worker_client_accuracy acc;
    qdq_remote_outcome outcome;

    memset(file, ' ', 128);
    memcpy(file, head, sizeof head - 1);
    file[127] = '\n';
    for (int i = 0; i < 32; i++)
        memcpy(file + 128 + 4 * i, &big, 4);
    assert_ok(qdq_write_file(opts.samples, true, file, sizeof file, &err));
    qdq_worker_client *worker_client = open_worker_client("", opts);
    /* An input that is an output shows the sample itself. */
    int a = test_worker_client_build(worker_client, save("echo.onnx", test_graph_text(__func__)));
    assert_ok(qdq_worker_client_compare(worker_client, a, a, &acc, &outcome, &err));
    assert_outcome(&outcome, QDQ_REMOTE_FINE, "");
    assert_true(acc.finite && isinf(acc.sqnr_db));
    close_worker_client(worker_client);

    opts.samples = test_path("none.npz");
    worker_client = open_worker_client("", opts);
    a = test_worker_client_build(worker_client, float_model());
    assert_fails(QDQ_E_IO, "none.npz",
                 qdq_worker_client_compare(worker_client, a, a, &acc, &outcome, &err));
    close_worker_client(worker_client);
}

TEST(a_profile_has_the_layers)
{
    qdq_worker_client *worker_client = open_worker_client("", (qdq_worker_client_opts){0});
    qdq_layer *layers;
    qdq_remote_outcome outcome;
    size_t n;

    assert_ok(
        qdq_worker_client_profile(worker_client, int8_model(), 3, &layers, &n, &outcome, &err));
    assert_outcome(&outcome, QDQ_REMOTE_FINE, "");
    assert_int_equal(n, 3);
    assert_string_equal(layers[1].layer, "conv");
    assert_string_equal(layers[1].op, "QLinearConv");
    assert_true(layers[1].median_us == 30 && layers[1].runs == 3);
    qdq_free(layers);
    assert_int_equal(qdq_worker_client_builds(worker_client), 1);
    close_worker_client(worker_client);
}

TEST(layers_come_with_their_nodes)
{
    qdq_worker_client *worker_client = open_worker_client("", (qdq_worker_client_opts){0});
    qdq_layer *g;
    qdq_remote_outcome outcome;
    size_t n;

    assert_ok(qdq_worker_client_groups(worker_client, int8_model(), 3, &g, &n, &outcome, &err));
    assert_outcome(&outcome, QDQ_REMOTE_FINE, "");
    assert_int_equal(n, 3);
    assert_true(g[0].conversion && g[2].conversion && !g[1].conversion);
    assert_string_equal(g[1].layer, "conv");
    assert_string_equal(g[1].op, "QLinearConv");
    assert_string_equal(g[1].in_type, "u8");
    assert_string_equal(g[1].out_type, "u8");
    assert_true(g[1].median_us == 30 && g[1].source == QDQ_LAYER_EXACT);
    assert_true(g[1].n_nodes >= 2);
    bool has_relu = false;
    for (size_t i = 0; i < g[1].n_nodes; i++)
        has_relu = has_relu || strcmp(g[1].node[i], "relu") == 0;
    assert_true(has_relu);
    qdq_free(g);
    /* no times without runs */
    assert_ok(qdq_worker_client_groups(worker_client, int8_model(), 0, &g, &n, &outcome, &err));
    assert_true(n == 3 && isnan(g[1].median_us));
    qdq_free(g);
    assert_int_equal(qdq_worker_client_builds(worker_client), 2);
    assert_fails(
        QDQ_E_IO, "nowhere",
        qdq_worker_client_groups(worker_client, "/nowhere/at-all.onnx", 1, &g, &n, &outcome, &err));
    close_worker_client(worker_client);
}

TEST(names_that_are_no_text_travel_unchanged)
{
    qdq_worker_client *worker_client = open_worker_client("", (qdq_worker_client_opts){0});
    qdq_layer *layers;
    qdq_remote_outcome outcome;
    size_t n;

    const char *path = save("name-\xff\xc3.onnx", float_text());
    assert_ok(qdq_worker_client_profile(worker_client, path, 1, &layers, &n, &outcome, &err));
    assert_int_equal(n, 1);
    qdq_free(layers);
    close_worker_client(worker_client);
}

/* --- outcomes --------------------------------------------------------------------------------- */

static qdq_worker_client_accuracy accuracy_with(const char *outputs)
{
    char more[300];
    qdq_worker_client_accuracy acc;
    qdq_remote_outcome outcome;

    snprintf(more, sizeof more, ", \"fail\": [{\"node\": \"conv\", \"outputs\": \"%s\"}]", outputs);
    qdq_worker_client *worker_client = open_worker_client(more, (qdq_worker_client_opts){0});
    int a = test_worker_client_build(worker_client, float_model()),
        b = test_worker_client_build(worker_client, int8_model());
    assert_ok(qdq_worker_client_compare(worker_client, a, b, &acc, &outcome, &err));
    assert_outcome(&outcome, QDQ_REMOTE_FINE, "");
    close_worker_client(worker_client);
    return acc;
}

TEST(outputs_that_are_no_numbers_or_others_are_seen)
{
    assert_false(accuracy_with("nan").finite);
    assert_false(accuracy_with("inf").finite);
    assert_true(isinf(accuracy_with("nan").sqnr_db) && accuracy_with("nan").sqnr_db < 0);
    assert_true(accuracy_with("zero").finite && fabs(accuracy_with("zero").sqnr_db) < 1e-6);
    assert_true(accuracy_with("wrong").finite && accuracy_with("wrong").sqnr_db < 3);
}

/* --- errors of the call ----------------------------------------------------------------------- */

TEST(what_is_wrong_with_the_call_is_no_outcome)
{
    qdq_input_shape shape = {"nobody", 1, {3}};
    qdq_remote_outcome outcome;
    int handle;

    qdq_worker_client *worker_client = open_worker_client("", (qdq_worker_client_opts){0});
    assert_fails(
        QDQ_E_IO, "missing.onnx",
        qdq_worker_client_build(worker_client, test_path("missing.onnx"), &handle, &outcome, &err));
    assert_int_equal(handle, -1);
    close_worker_client(worker_client);
    worker_client =
        open_worker_client("", (qdq_worker_client_opts){.shapes = &shape, .n_shapes = 1});
    assert_fails(QDQ_E_USAGE, "'nobody'",
                 qdq_worker_client_build(worker_client, float_model(), &handle, &outcome, &err));
    close_worker_client(worker_client);
}

TEST(shapes_reach_the_session)
{
    qdq_input_shape shape = {"x", 4, {1000, 1, 4, 4}};
    qdq_worker_client *worker_client =
        open_worker_client("", (qdq_worker_client_opts){.shapes = &shape, .n_shapes = 1});
    int a = test_worker_client_build(worker_client, float_model());

    assert_pair_is_fine(worker_client, a);
    close_worker_client(worker_client);
}

TEST(a_missing_program_or_engine_says_so)
{
    qdq_worker_client *worker_client;
    qdq_worker_client_opts opts = {.engine = "sim:/nowhere.json",
                                   .worker = test_path("no-such-program")};

    assert_fails(QDQ_E_ENGINE, "no-such-program",
                 qdq_worker_client_open(&opts, &worker_client, &err));
    assert_null(worker_client);
    opts.worker = WORKER;
    assert_fails(QDQ_E_IO, "/nowhere.json", qdq_worker_client_open(&opts, &worker_client, &err));
    opts.engine = "abacus";
    assert_fails(QDQ_E_USAGE, "'abacus' is not known",
                 qdq_worker_client_open(&opts, &worker_client, &err));
    opts.worker = NULL; /* there is none beside this test */
    assert_fails(QDQ_E_ENGINE, "qdq-worker: missing; expected next to this program",
                 qdq_worker_client_open(&opts, &worker_client, &err));
}

TEST(other_programs_are_found_out)
{
    static const char *const scripts[][2] = {
        {"printf 'hello, world, this is no message at all'; cat", "no answer"},
        {"exit 3", "exited with code 3"},
        {"echo nothing to do here >&2; exit 0",
         "crashed (the worker exited with code 0) while it was loaded: nothing to do here"},
        {"printf '\\002\\000\\000\\000{}' >&0; sleep 5", "key 'end'"},
        {"printf '\\017\\000\\000\\000{\"end\":\"maybe\"}' >&0; sleep 5", "key 'end'"},
        {"printf '\\016\\000\\000\\000{\"end\":\"fine\"}' >&0; sleep 5", "key 'name'"},
        {"printf '\\016\\000\\000\\000{\"end\":\"fine\"}and more' >&0; sleep 5",
         "behind the answer"},
        {"printf 'garbage garbage garbage' >&0; sleep 5", "this is not an answer"},
        {"printf '\\004\\000\\000\\000{\"a\"' >&0; sleep 5", "this is not an answer"},
        {"sleep 60", "no answer within 0.3 s"},
    };
    char text[400];

    for (size_t i = 0; i < QDQ_COUNT(scripts); i++) {
        qdq_worker_client_opts opts = {
            .engine = "sim", .worker = test_path("script"), .build_deadline_s = 0.3};
        qdq_worker_client *worker_client;

        snprintf(text, sizeof text, "#!/bin/sh\n%s\n", scripts[i][0]);
        assert_ok(qdq_write_file(opts.worker, true, text, strlen(text), &err));
        assert_int_equal(chmod(opts.worker, 0700), 0);
        assert_fails(QDQ_E_ENGINE, scripts[i][1],
                     qdq_worker_client_open(&opts, &worker_client, &err));
        assert_null(worker_client);
    }
}

/* --- logs ------------------------------------------------------------------------------------- */

static void assert_log_has(const char *name, const char *part)
{
    char *text;
    size_t size;

    assert_ok(qdq_read_file(test_path("logs/%s", name), 100000, &text, &size, &err));
    if (strstr(text, part) == NULL)
        fail_msg("%s: '%s' is not in '%s'", name, part, text);
    qdq_free(text);
}

TEST(every_build_leaves_a_log)
{
    char logs[300];
    qdq_worker_client_opts opts = {.logs = logs};
    qdq_remote_outcome outcome;
    double x, y;
    int b;

    snprintf(logs, sizeof logs, "%s", test_path("logs"));
    qdq_worker_client *worker_client = open_worker_client(
        ", \"fail\": [{\"at\": \"time\", \"node\": \"conv\", \"crash\": \"SIGABRT\", "
        "\"message\": \"farewell\"}]",
        opts);
    int a = test_worker_client_build(worker_client, float_model());
    b = test_worker_client_build(worker_client, int8_model());
    assert_ok(qdq_worker_client_pair(worker_client, a, b, false, 0, &x, &y, &outcome, &err));
    assert_outcome(&outcome, QDQ_REMOTE_CRASHED, "SIGABRT: farewell");
    assert_pair_is_fine(worker_client, a);
    assert_fails(
        QDQ_E_IO, "",
        qdq_worker_client_build(worker_client, test_path("missing.onnx"), &b, &outcome, &err));
    close_worker_client(worker_client);
    assert_log_has("float.log", "float.onnx");
    assert_log_has("float.log", "engine: sim 1, threads 1, worker 1");
    assert_log_has("float.log", "ended: fine after ");
    assert_log_has("int8.log", "int8.onnx");
    assert_log_has("int8.log", "farewell\nended: crashed: SIGABRT");
    assert_log_has("float-2.log", "worker 2"); /* the float model again */
    assert_log_has("missing.log", "missing.onnx");
    worker_client = open_worker_client("", opts); /* what another run left stays */
    test_worker_client_build(worker_client, float_model());
    close_worker_client(worker_client);
    assert_log_has("float-3.log", "ended: fine after ");
}

TEST(logs_that_cannot_be_written_fail_nothing)
{
    qdq_worker_client_opts opts = {.logs = test_path("gone")};

    qdq_worker_client *worker_client = open_worker_client("", opts);
    assert_int_equal(rmdir(opts.logs), 0);
    warnings = 0;
    test_worker_client_build(worker_client, float_model());
    test_worker_client_build(worker_client, int8_model());
    assert_int_equal(warnings, 1);
    close_worker_client(worker_client);
    opts.logs = test_path("no/such/parent");
    opts.engine = "sim";
    opts.worker = WORKER;
    assert_fails(QDQ_E_IO, "no/such/parent", qdq_worker_client_open(&opts, &worker_client, &err));
}

/* --- processes -------------------------------------------------------------------------------- */

/* Children of this process that are there, dead ones included. */
static int count_children(pid_t parent)
{
    DIR *dir = opendir("/proc");
    int n = 0;

    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[300], text[400] = "";
        int ppid = 0;

        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '0' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (f == NULL)
            continue;
        size_t got = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[got] = '\0';
        const char *p = strrchr(text, ')');
        n += p != NULL && sscanf(p, ") %*c %d", &ppid) == 1 && ppid == parent;
    }
    closedir(dir);
    return n;
}

TEST(no_process_is_left_behind)
{
    qdq_remote_outcome outcome;
    int handle;

    assert_int_equal(count_children(getpid()), 0);
    qdq_worker_client *worker_client = open_worker_client(
        ", \"fail\": [{\"at\": \"open\", \"node\": \"conv\", \"crash\": \"SIGABRT\"}]",
        (qdq_worker_client_opts){0});
    assert_int_equal(count_children(getpid()), 1);
    assert_ok(qdq_worker_client_build(worker_client, int8_model(), &handle, &outcome, &err));
    assert_int_equal(count_children(getpid()), 0);
    test_worker_client_build(worker_client, float_model());
    assert_int_equal(count_children(getpid()), 1);
    close_worker_client(worker_client);
    assert_int_equal(count_children(getpid()), 0);
}
