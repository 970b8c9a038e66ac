/* engine_remote.c - engines in a process of their own: they give what they give in ours, and
 * whatever way they end is an error of one call. */
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "support/test.h"

static qdq_error err;
static char logged[2000];

static void keep_log(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    if (level <= QDQ_LOG_WARNING)
        snprintf(logged, sizeof logged, "%s", text);
}

static const qdq_job job = {.size = sizeof(qdq_job), .log = keep_log};

static qdq_engine_opts in_worker(void)
{
    qdq_engine_opts o = QDQ_ENGINE_OPTS_INIT;

    o.worker = QDQ_BUILD_DIR "/qdq-worker";
    o.in_worker = true;
    o.temp_dir = test_dir();
    o.job = &job;
    return o;
}

static qdq_engine *open_opts(const char *spec, qdq_engine_opts o)
{
    qdq_engine *e;

    assert_ok(qdq_engine_open(spec, &o, &e, &err));
    return e;
}

static const char *crash_spec(const char *arg)
{
    static char spec[1200];

    snprintf(spec, sizeof spec, "%s/tests/crash_engine.so:%s", QDQ_BUILD_DIR, arg);
    return spec;
}

static qdq_engine *open_crash(const char *arg)
{
    return open_opts(crash_spec(arg), in_worker());
}

static const char *sim_spec(void)
{
    static const char cost[] =
        "{\"qdq_sim\": 1, \"error\": 0.01, \"noise\": 0.1, \"ops\": {\"MatMul\": "
        "{\"float_us\": 9, \"epilogue\": [\"Relu\"]}}}";

    return test_sim_spec(cost);
}

static const char two[] = "g (float[1,2] x) => (float[1,2] y) { [relu] y = Relu(x) }";

static qdq_session *open_session(qdq_engine *e, const qdq_model *m, const qdq_session_opts *o)
{
    qdq_session *s;

    assert_ok(qdq_session_open(e, m, o, &s, &err));
    return s;
}

/* --- the same --------------------------------------------------------------------------------- */

typedef struct outputs {
    char text[4000];
    uint64_t sum;
    size_t n;
} outputs;

/* Eight bytes at a time: outputs are large, and this is compiled without optimization. */
static uint64_t sum_on(uint64_t sum, const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t word;

    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        sum = (sum ^ sum >> 32) * 1099511628211u + word;
    }
    while (n-- > 0)
        sum = sum * 1099511628211u + *p++;
    return sum;
}

static qdq_status note_output(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    outputs *o = ctx;
    size_t used = strlen(o->text);

    (void)e;
    o->sum = sum_on(o->sum, a->data, a->bytes);
    o->n++;
    snprintf(o->text + used, sizeof o->text - used, "%s %d", name, (int)a->elem);
    for (int i = 0; i < a->rank; i++) {
        used = strlen(o->text);
        snprintf(o->text + used, sizeof o->text - used, "x%lld", (long long)a->dim[i]);
    }
    return QDQ_OK;
}

/* What an engine gives for a model: outputs, times (which must be virtual), a profile, groups. */
static void describe(qdq_engine *e, const qdq_model *m, outputs *o)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    const qdq_input_shape shape = {"x", 2, {3, 4}};
    const char *const expose[] = {"a", NULL};
    qdq_named_array *in;
    qdq_layer *l;
    qdq_layer *g;
    qdq_bench_model time;
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    size_t n_in, n;
    char *text = o->text;

    *o = (outputs){.sum = 1};
    so.shapes = &shape;
    so.n_shapes = 1;
    so.expose = expose;
    qdq_session *s = open_session(e, m, &so);
    assert_ok(qdq_random_inputs(s, 7, &in, &n_in, &err));
    assert_ok(qdq_session_run(s, in, n_in, note_output, o, &err));
    bo.rounds = 7;
    assert_ok(qdq_bench(&s, 1, &bo, &time, &err));
    snprintf(text + strlen(text), 200, " %.17g %.17g", time.median_ms, time.p90_ms);
    qdq_session_close(s);
    so.expose = NULL;
    so.profile = so.layers = true;
    s = open_session(e, m, &so);
    assert_ok(qdq_session_profile(s, in, n_in, 3, &l, &n, &err));
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), 200, " [%s %s %g %u]", l[i].layer, l[i].op, l[i].median_us,
                 l[i].runs);
    qdq_free(l);
    qdq_session_close(s);
    s = open_session(e, m, &so);
    assert_ok(qdq_session_layers(s, in, n_in, 3, &g, &n, &err));
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), 200, " [%s %s %zu %s]", g[i].layer, g[i].op, g[i].n_nodes,
                 g[i].n_nodes > 0 ? g[i].node[0] : "");
    qdq_free(g);
    qdq_session_close(s);
    qdq_free(in);
}

TEST(it_gives_what_it_gives_in_our_process)
{
    qdq_model *m = test_graph("network");
    outputs here, there;

    for (int i = 0; i < 2; i++) {
        qdq_engine_opts o = in_worker();

        o.in_worker = i > 0;
        qdq_engine *e = open_opts(sim_spec(), o);
        describe(e, m, i > 0 ? &there : &here);
        assert_non_null(strstr(qdq_engine_get_info(e)->fingerprint, "sim 1 sim "));
        assert_string_equal(qdq_engine_get_info(e)->name, "sim");
        assert_true((qdq_engine_get_info(e)->capabilities & QDQ_RUNS_AS_WRITTEN) != 0);
        assert_int_equal(qdq_engine_crashes(e), 0);
        qdq_engine_close(e);
    }
    assert_string_equal(here.text, there.text);
    assert_true(here.sum == there.sum);
    assert_int_equal(there.n, 3);
    qdq_model_free(m);
}

TEST(errors_have_the_same_words)
{
    static const char cost[] =
        "{\"qdq_sim\": 1, \"fail\": [{\"at\": \"run\", \"message\": \"no such tile\"}]}";
    qdq_model *m = test_model(two);
    char text[2][3200];

    const char *spec = test_sim_spec(cost);
    for (int i = 0; i < 2; i++) {
        qdq_engine_opts o = in_worker();
        qdq_named_array *in;
        qdq_engine *e;
        size_t n;

        o.in_worker = i > 0;
        assert_int_equal(qdq_engine_open("sim:/nowhere.json", &o, &e, &err), QDQ_E_IO);
        snprintf(text[i], 1010, "%s|", err.text);
        assert_int_equal(qdq_engine_open("sim", &o, &e, &err), QDQ_E_USAGE);
        snprintf(text[i] + strlen(text[i]), 1010, "%s|", err.text);
        e = open_opts(spec, o);
        qdq_session *s = open_session(e, m, NULL);
        assert_ok(qdq_random_inputs(s, 7, &in, &n, &err));
        assert_int_equal(qdq_session_run(s, in, n, note_output, &(outputs){0}, &err), QDQ_E_ENGINE);
        snprintf(text[i] + strlen(text[i]), 1010, "%s", err.text);
        qdq_free(in);
        qdq_session_close(s);
        qdq_engine_close(e);
    }
    assert_string_equal(text[0], text[1]);
    qdq_model_free(m);
}

/* --- outputs in pieces ------------------------------------------------------------------------ */

typedef struct nested {
    qdq_session *other;
    const qdq_named_array *in;
    size_t n_in;
    outputs outer, inner;
    /* outputs; 0: all are wanted */
    int stop_after;
} nested;

static qdq_status run_another(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    nested *n = ctx;

    if (n->other != NULL)
        assert_ok(qdq_session_run(n->other, n->in, n->n_in, note_output, &n->inner, e));
    assert_ok(note_output(&n->outer, name, a, e)); /* which is still what it was */
    if (n->stop_after > 0 && --n->stop_after == 0) {
        snprintf(e->text, sizeof e->text, "enough");
        return QDQ_E_GOAL;
    }
    return QDQ_OK;
}

#define STATE QDQ_BUILD_DIR "/tests/large_outputs.state"

TEST(large_outputs_come_in_pieces)
{
    qdq_model *m = test_graph("large"), *small = test_model(two);
    nested got[4] = {0};
    char host[2000];

    for (int i = 0; i < 4; i++) {
        qdq_engine_opts o = in_worker();
        qdq_named_array *in, *small_in;
        size_t n, n_small;

        o.in_worker = i > 0;
        /* on a host, too, also where its link is cut between the pieces */
        snprintf(host, sizeof host, "exec:%s%s --serve --cache-dir %s/cache",
                 i > 2 ? QDQ_BUILD_DIR "/tests/link_breaker " STATE " 5 9 2000000 " : "",
                 QDQ_BUILD_DIR "/qdq-worker", test_dir());
        o.host = i > 1 ? host : NULL;
        qdq_engine *e = open_opts(sim_spec(), o);
        qdq_session *s = open_session(e, m, NULL), *other = open_session(e, small, NULL);
        assert_ok(qdq_random_inputs(s, 7, &in, &n, &err));
        assert_ok(qdq_random_inputs(other, 7, &small_in, &n_small, &err));
        got[i].other = other;
        got[i].in = small_in;
        got[i].n_in = n_small;
        assert_ok(qdq_session_run(s, in, n, run_another, &got[i], &err));
        assert_int_equal(got[i].outer.n, 5);
        assert_int_equal(got[i].inner.n, 5);
        /* who does not want the rest gets no more, and the next run is a whole one */
        nested some = {.stop_after = 2};
        assert_int_equal(qdq_session_run(s, in, n, run_another, &some, &err), QDQ_E_GOAL);
        assert_string_equal(err.text, "enough");
        assert_int_equal(some.outer.n, 2);
        nested again = {0};
        assert_ok(qdq_session_run(s, in, n, run_another, &again, &err));
        assert_true(again.outer.sum == got[i].outer.sum);
        qdq_free(in);
        qdq_free(small_in);
        qdq_session_close(s);
        qdq_session_close(other);
        assert_int_equal(qdq_engine_crashes(e), 0);
        qdq_engine_close(e);
    }
    char *count;
    size_t size;
    assert_ok(qdq_read_file(STATE, 100, &count, &size, &err));
    assert_true(atoi(count) > 3);
    qdq_free(count);
    unlink(STATE);
    for (int i = 1; i < 4; i++)
        assert_true(got[0].outer.sum == got[i].outer.sum && got[0].inner.sum == got[i].inner.sum);
    qdq_model_free(m);
    qdq_model_free(small);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Does with an engine what commands do, up to the first thing that fails. */
static qdq_status use(qdq_engine *e, const qdq_model *m)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in = NULL;
    qdq_session *s;
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model time;
    qdq_layer *l = NULL;
    qdq_layer *g = NULL;
    size_t n, k;

    so.profile = so.layers = true;
    bo.rounds = 2;
    qdq_status st = qdq_session_open(e, m, &so, &s, &err);
    if (st == QDQ_OK)
        st = qdq_random_inputs(s, 1, &in, &n, &err);
    if (st == QDQ_OK)
        st = qdq_session_run(s, in, n, note_output, &(outputs){0}, &err);
    if (st == QDQ_OK)
        st = qdq_bench(&s, 1, &bo, &time, &err);
    if (st == QDQ_OK)
        st = qdq_session_profile(s, in, n, 3, &l, &k, &err);
    qdq_free(l);
    qdq_session_close(s);
    if (st == QDQ_OK) {
        st = qdq_session_open(e, m, &so, &s, &err);
        if (st == QDQ_OK)
            st = qdq_session_layers(s, NULL, 0, 0, &g, &k, &err);
        qdq_free(g);
        qdq_session_close(s);
    }
    qdq_free(in);
    return st;
}

TEST(whatever_way_it_ends_is_an_error_of_one_call)
{
    static const struct {
        const char *arg, *want;
    } ends[] = {
        {"session:segv", "crashed (SIGSEGV) while it built the model: last words in session"},
        {"session:abort", "crashed (SIGABRT) while it built the model: last words"},
        {"session:exit",
         "crashed (the worker exited with code 3) while it built the model: last words"},
        {"session:hang", "was ended while it built the model: no answer within 0.5 s"},
        {"session:stop", "was ended while it built the model: no answer within 0.5 s"},
        {"session:memory", "ran out of memory while it built the model: SIGABRT: std::bad_alloc"},
        {"run:segv", "crashed (SIGSEGV) while it ran the model: last words in run"},
        {"run:exit", "crashed (the worker exited with code 3) while it ran the model"},
        {"run:hang", "was ended while it ran the model"},
        {"bind:segv", "crashed (SIGSEGV) while inputs were bound: last words in bind"},
        {"time:abort", "crashed (SIGABRT) while it ran the model for a time: last words in time"},
        {"time:hang", "was ended while it ran the model for a time"},
        {"layers:segv", "crashed (SIGSEGV) while it profiled the model: last words in layers"},
        {"nodes:abort",
         "crashed (SIGABRT) while it listed the layers of the model: last words in nodes"},
    };
    qdq_model *m = test_model(two);

    for (size_t i = 0; i < QDQ_COUNT(ends); i++) {
        qdq_engine_opts o = in_worker();

        o.deadline_s = 0.5;
        qdq_engine *e = open_opts(crash_spec(ends[i].arg), o);
        for (unsigned k = 1; k < 3; k++) { /* each time in a new process */
            assert_int_equal(use(e, m), QDQ_E_ENGINE);
            if (strstr(err.text, ends[i].want) == NULL)
                fail_msg("%s: expected '%s', found '%s'", ends[i].arg, ends[i].want, err.text);
            assert_int_equal(qdq_engine_crashes(e), k);
        }
        qdq_engine_close(e);
    }
    qdq_model_free(m);
}

TEST(an_engine_that_dies_while_it_is_loaded_is_not_opened)
{
    qdq_engine_opts o = in_worker();
    qdq_engine *e;

    o.deadline_s = 0.5;
    assert_fails(QDQ_E_ENGINE, "crashed (SIGSEGV) while it was loaded: last words in open",
                 qdq_engine_open(crash_spec("open:segv"), &o, &e, &err));
    assert_fails(QDQ_E_ENGINE, "was ended while it was loaded: no answer within",
                 qdq_engine_open(crash_spec("open:hang"), &o, &e, &err));
}

TEST(one_that_dies_when_it_is_closed_bothers_nobody)
{
    qdq_model *m = test_model(two);

    qdq_engine *e = open_crash("drop:abort");
    assert_ok(use(e, m));
    assert_ok(use(e, m));
    qdq_engine_close(e);
    e = open_crash("close:abort");
    assert_ok(use(e, m));
    qdq_engine_close(e);
    qdq_model_free(m);
}

/* The session that was there before is opened again, with its inputs. */
TEST(what_another_session_did_is_made_good)
{
    static const char cost[] =
        "{\"qdq_sim\": 1, \"default\": {\"float_us\": 2}, \"fail\": [{\"at\": \"open\", "
        "\"node\": \"conv\", \"crash\": \"SIGSEGV\"}], \"ops\": {\"MatMul\": {\"float_us\": 5, "
        "\"int8_us\": 2, \"inputs\": 2}}}";
    const char *bad = test_graph_text(__func__);
    qdq_model *m = test_model(two), *n = test_model(bad);
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model time;
    qdq_named_array *in;
    outputs before = {.sum = 1}, after = {.sum = 1};
    qdq_session *other;
    size_t n_in;

    qdq_engine *e = open_opts(test_sim_spec(cost), in_worker());
    qdq_session *s = open_session(e, m, NULL);
    assert_ok(qdq_random_inputs(s, 7, &in, &n_in, &err));
    assert_ok(qdq_session_run(s, in, n_in, note_output, &before, &err));
    bo.rounds = 2;
    assert_ok(qdq_bench(&s, 1, &bo, &time, &err));
    assert_fails(QDQ_E_ENGINE, "crashed (SIGSEGV)", qdq_session_open(e, n, NULL, &other, &err));
    assert_int_equal(qdq_engine_crashes(e), 1);
    assert_ok(qdq_session_run(s, in, n_in, note_output, &after, &err));
    assert_true(before.sum == after.sum);
    assert_ok(qdq_bench(&s, 1, &bo, &time, &err));
    /* where nobody takes the error, it is logged */
    logged[0] = '\0';
    assert_int_equal(qdq_session_open(e, n, NULL, &other, NULL), QDQ_E_ENGINE);
    assert_non_null(strstr(logged, "crashed (SIGSEGV)"));
    qdq_free(in);
    qdq_session_close(s);
    qdq_engine_close(e);
    qdq_model_free(m);
    qdq_model_free(n);
}

TEST(a_worker_that_is_not_there_is_named)
{
    qdq_engine_opts o = in_worker();
    qdq_engine *e;

    o.worker = "/nowhere/qdq-worker";
    assert_fails(QDQ_E_ENGINE, "/nowhere/qdq-worker: cannot start this program, which runs engines",
                 qdq_engine_open(sim_spec(), &o, &e, &err));
}

static qdq_cancel *cancel;

/* The only child of this process. */
static long find_worker(void)
{
    char path[100];
    long pid = 0;

    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld", &pid), 1);
    fclose(f);
    return pid;
}

/* Whoever uses the engine may be larger, and could not tell then. */
TEST(a_system_without_memory_ends_the_worker_first)
{
    qdq_engine *e = open_opts(sim_spec(), in_worker());
    char path[100];
    int score = 0;

    snprintf(path, sizeof path, "/proc/%ld/oom_score_adj", find_worker());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d", &score), 1);
    fclose(f);
    assert_int_equal(score, 1000);
    qdq_engine_close(e);
}

static void interrupt(int signal)
{
    (void)signal;
    qdq_cancel_set(cancel);
}

TEST(an_interrupt_ends_a_build_that_hangs)
{
    qdq_job mine = QDQ_JOB_INIT;
    qdq_engine_opts o = in_worker();
    qdq_model *m = test_model(two);
    qdq_session *s;

    mine.cancel = cancel = qdq_cancel_new();
    o.job = &mine;
    qdq_engine *e = open_opts(crash_spec("session:hang"), o);
    double start = qdq_clock_seconds();
    signal(SIGALRM, interrupt);
    alarm(1);
    assert_int_equal(qdq_session_open(e, m, NULL, &s, &err), QDQ_E_INTERRUPTED);
    assert_string_equal(err.text, "interrupted");
    assert_true(qdq_clock_seconds() - start < 5);
    qdq_engine_close(e);
    qdq_cancel_free(cancel);
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gives_what_it_gives_in_our_process),
        cmocka_unit_test(errors_have_the_same_words),
        cmocka_unit_test(large_outputs_come_in_pieces),
        cmocka_unit_test(whatever_way_it_ends_is_an_error_of_one_call),
        cmocka_unit_test(an_engine_that_dies_while_it_is_loaded_is_not_opened),
        cmocka_unit_test(one_that_dies_when_it_is_closed_bothers_nobody),
        cmocka_unit_test(what_another_session_did_is_made_good),
        cmocka_unit_test(a_worker_that_is_not_there_is_named),
        cmocka_unit_test(a_system_without_memory_ends_the_worker_first),
        cmocka_unit_test(an_interrupt_ends_a_build_that_hangs),
    };

    /* A sanitizer in the worker is to leave signals alone. */
    setenv("ASAN_OPTIONS",
           "handle_segv=0:handle_abort=0:handle_sigfpe=0:handle_sigbus=0:handle_sigill=0", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
