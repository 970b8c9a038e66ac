/* engine_host.c - engines on another machine, which is this one by way of `exec:`: the same numbers
 * as here, and whatever the link or the device does is an error that says so, or no matter. */
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "engine/remote/remote_host.h"
#include "support/lab_setting.h"
#include "support/test.h"

#define SERVE   QDQ_BUILD_DIR "/qdq-worker --serve --cache-dir "
#define BREAKER QDQ_BUILD_DIR "/tests/link_breaker "

static char host_text[4000];

/* A host with its own cache folder; `with` is put in front of the command. */
static const char *host(const char *with, const char *more)
{
    snprintf(host_text, sizeof host_text, "exec:%s" SERVE "%s/cache %s", with, test_dir(), more);
    return host_text;
}

static qdq_engine_opts on(const char *h)
{
    qdq_engine_opts o = QDQ_ENGINE_OPTS_INIT;

    o.host = h;
    o.host_timeout_s = 20;
    o.job = &job;
    return o;
}

static const char *sim_spec(void)
{
    static const char cost[] = "{\"qdq_sim\": 1, " COSTS ", \"noise\": 0.1}";

    return test_sim_spec(cost);
}

static const char two[] = "g (float[1,2] x) => (float[1,2] y) { [relu] y = Relu(x) }";

static const char *crash_spec(const char *arg)
{
    static char spec[1200];

    snprintf(spec, sizeof spec, "%s/tests/crash_engine.so:%s", QDQ_BUILD_DIR, arg);
    return spec;
}

static qdq_engine *open_engine(const char *spec, qdq_engine_opts o)
{
    qdq_engine *e = NULL;

    assert_ok(qdq_engine_open(spec, &o, &e, &err));
    return e;
}

static void assert_no_engine(const char *h, qdq_status st, const char *part)
{
    qdq_engine_opts o = on(h);
    qdq_engine *e;

    /* short only where that is what fails */
    o.host_timeout_s = strstr(part, "within 2 s") != NULL ? 2 : 20;
    assert_fails(st, part, qdq_engine_open(sim_spec(), &o, &e, &err));
}

/* --- the text --------------------------------------------------------------------------------- */

/* The command line as one text. */
static const char *serve_of(const char *text, qdq_arena *arena)
{
    qdq_remote_host h;
    static char all[2000];

    assert_ok(qdq_remote_host_read(text, 0, arena, &h, &err));
    all[0] = '\0';
    for (size_t i = 0; h.serve[i] != NULL; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s|", h.serve[i]);
    return all;
}

TEST(a_host_is_a_command_line_of_ssh_or_of_a_shell)
{
    qdq_arena a = QDQ_ARENA_INIT;

    assert_string_equal(serve_of("ssh://board", &a),
                        "ssh|-T|-o|BatchMode=yes|-o|ConnectTimeout=60|board|exec sh -c "
                        "'PATH=\"$HOME/.local/bin:$PATH\" exec qdq-worker --serve'|");
    assert_string_equal(serve_of("ssh://me@board:2222/opt/qdq-worker", &a),
                        "ssh|-T|-o|BatchMode=yes|-o|ConnectTimeout=60|-p|2222|me@board|exec "
                        "/opt/qdq-worker --serve|");
    assert_string_equal(serve_of("ssh://[fe80::1%eth0]:22", &a),
                        "ssh|-T|-o|BatchMode=yes|-o|ConnectTimeout=60|-p|22|fe80::1%eth0|exec sh "
                        "-c 'PATH=\"$HOME/.local/bin:$PATH\" exec qdq-worker --serve'|");
    assert_string_equal(serve_of("exec:adb shell", &a), "sh|-c|adb shell qdq-worker --serve|");
    assert_string_equal(serve_of("exec:a b --serve c", &a), "sh|-c|a b --serve c|");
    qdq_arena_free(&a);
}

TEST(what_is_no_host_is_refused)
{
    static const char *const bad[] = {"",           "board",       "ssh:board",   "ssh://",
                                      "ssh:///x",   "ssh://-oX",   "ssh://me@",   "ssh://me@-x",
                                      "ssh://a b",  "ssh://a:",    "ssh://a:x",   "ssh://a:123456",
                                      "ssh://[::1", "ssh://a/x y", "ssh://a/x;y", "ssh://a'b'",
                                      "exec:",      "exec:  ",     "http://a"};
    qdq_arena a = QDQ_ARENA_INIT;
    qdq_remote_host h;

    for (size_t i = 0; i < QDQ_COUNT(bad); i++)
        assert_fails(QDQ_E_USAGE, "expected ssh://[user@]name[:port][/path] or exec:COMMAND",
                     qdq_remote_host_read(bad[i], 0, &a, &h, &err));
    qdq_arena_free(&a);
}

/* --- the same --------------------------------------------------------------------------------- */

typedef struct results {
    uint64_t sum;
    size_t n;
    double median;
    char layers[2000];
} results;

static qdq_status add_output(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    results *r = ctx;

    (void)name, (void)e;
    for (size_t i = 0; i < a->bytes; i++)
        r->sum = r->sum * 1099511628211u + ((const unsigned char *)a->data)[i];
    r->n++;
    return QDQ_OK;
}

static void use(qdq_engine *e, const qdq_model *m, results *r)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model time;
    qdq_named_array *in;
    qdq_session *s;
    qdq_layer *l;
    size_t n_in, n;

    *r = (results){.sum = 1};
    assert_ok(qdq_session_open(e, m, NULL, &s, &err));
    assert_ok(qdq_random_inputs(s, 7, &in, &n_in, &err));
    for (int i = 0; i < 3; i++)
        assert_ok(qdq_session_run(s, in, n_in, add_output, r, &err));
    bo.rounds = 7;
    assert_ok(qdq_bench(&s, 1, &bo, &time, &err));
    r->median = time.median_ms;
    qdq_session_close(s);
    so.profile = so.layers = true;
    assert_ok(qdq_session_open(e, m, &so, &s, &err));
    assert_ok(qdq_session_layers(s, in, n_in, 3, &l, &n, &err));
    for (size_t i = 0; i < n; i++)
        snprintf(r->layers + strlen(r->layers), 200, " [%s %g %zu]", l[i].layer, l[i].median_us,
                 l[i].n_nodes);
    qdq_free(l);
    qdq_session_close(s);
    qdq_free(in);
}

static void assert_same(const results *a, const results *b)
{
    assert_true(a->sum == b->sum);
    assert_int_equal(a->n, b->n);
    assert_true(a->median == b->median);
    assert_string_equal(a->layers, b->layers);
}

static void use_on(const char *h, const qdq_model *m, results *r)
{
    qdq_engine *e = open_engine(sim_spec(), on(h));

    use(e, m, r);
    qdq_engine_close(e);
}

TEST(a_host_gives_what_this_machine_gives)
{
    qdq_model *m;
    results here, there;

    assert_ok(qdq_model_load(float_model(), NULL, &m, &err));
    use_on(NULL, m, &here);
    use_on(host("", ""), m, &there);
    assert_same(&here, &there);
    qdq_model_free(m);
}

TEST(a_host_says_what_it_is)
{
    qdq_engine_opts o = on(host("", ""));
    qdq_host_info *i;

    assert_ok(qdq_host_describe(&o, &i, &err));
    assert_string_equal(i->version, qdq_version());
    assert_true(strlen(i->processor) > 0 && strlen(i->machine) > 0 && i->threads > 0);
    qdq_free(i);
    o.host = NULL;
    assert_fails(QDQ_E_USAGE, "no host", qdq_host_describe(&o, &i, &err));
    qdq_engine *e = open_engine(sim_spec(), on(host("", "")));
    assert_true(strstr(qdq_engine_processor(e), "cores") != NULL);
    assert_string_equal(qdq_engine_get_info(e)->library, sim_spec() + strlen("sim:"));
    qdq_engine_close(e);
}

/* --- the worker client
 * ---------------------------------------------------------------------------------- */

static qdq_worker_client *lab_on(const char *h, const char *more)
{
    qdq_engine_opts o = on(h);

    return open_worker_client(more, (qdq_worker_client_opts){.engine_opts = &o});
}

static void measure(qdq_worker_client *worker_client, double ns[4], double *sqnr)
{
    int a = test_worker_client_build(worker_client, float_model()),
        b = test_worker_client_build(worker_client, int8_model());
    qdq_worker_client_accuracy accuracy;
    qdq_remote_outcome outcome;

    for (uint64_t i = 0; i < 2; i++) {
        assert_ok(qdq_worker_client_pair(worker_client, a, b, false, i, &ns[2 * i], &ns[2 * i + 1],
                                         &outcome, &err));
        assert_outcome(&outcome, QDQ_REMOTE_FINE, "");
        assert_ok(qdq_worker_client_compare(worker_client, a, b, &accuracy, &outcome, &err));
        assert_outcome(&outcome, QDQ_REMOTE_FINE, "");
        *sqnr = accuracy.sqnr_db;
    }
    qdq_worker_client_drop(worker_client, a);
    assert_pair_is_fine(worker_client, b);
}

TEST(pairs_and_comparisons_are_those_of_this_machine)
{
    double here[4], there[4], sqnr[2];
    qdq_worker_client *worker_client =
        open_worker_client(", \"noise\": 0.1", (qdq_worker_client_opts){0});

    measure(worker_client, here, &sqnr[0]);
    close_worker_client(worker_client);
    worker_client = lab_on(host("", ""), ", \"noise\": 0.1");
    measure(worker_client, there, &sqnr[1]);
    close_worker_client(worker_client);
    assert_memory_equal(here, there, sizeof here);
    assert_true(sqnr[0] == sqnr[1]);
}

/* Whatever byte it is after which the link ends, no number changes. */
TEST(cuts_at_any_byte_change_no_number)
{
    double here[4], there[4], sqnr[2];
    qdq_worker_client *worker_client =
        open_worker_client(", \"noise\": 0.1", (qdq_worker_client_opts){0});
    char with[2000];

    measure(worker_client, here, &sqnr[0]);
    close_worker_client(worker_client);
    for (unsigned seed = 1; seed <= 6; seed++) {
        unlink(test_path("state"));
        snprintf(with, sizeof with, BREAKER "%s %u 5 4000 ", test_path("state"), seed);
        worker_client = lab_on(host(with, ""), ", \"noise\": 0.1");
        measure(worker_client, there, &sqnr[1]);
        close_worker_client(worker_client);
        assert_memory_equal(here, there, sizeof here);
        assert_true(sqnr[0] == sqnr[1]);
    }
}

TEST(runs_and_layers_survive_cuts)
{
    qdq_model *m;
    results here, there;
    char with[2000];

    assert_ok(qdq_model_load(float_model(), NULL, &m, &err));
    use_on(NULL, m, &here);
    for (unsigned seed = 10; seed <= 14; seed++) {
        unlink(test_path("state"));
        snprintf(with, sizeof with, BREAKER "%s %u 5 4000 ", test_path("state"), seed);
        use_on(host(with, ""), m, &there);
        /* times of sim go by the runs of its process, and it was started again */
        there.median = here.median;
        assert_same(&here, &there);
    }
    qdq_model_free(m);
}

TEST(a_link_that_never_holds_is_given_up)
{
    char with[2000];

    unlink(test_path("state"));
    snprintf(with, sizeof with, BREAKER "%s 1 1000000 60 ", test_path("state"));
    assert_no_engine(host(with, ""), QDQ_E_ENGINE, "ended");
    unlink(test_path("state"));
    snprintf(with, sizeof with, BREAKER "%s 4 1000000 400 ", test_path("state"));
    assert_no_engine(host(with, ""), QDQ_E_ENGINE, "interrupted 50 times");
}

/* Whatever byte is another one, this side neither crashes nor takes it for something else than an
 * error, unless it was one of a number or a text. */
TEST(changed_bytes_are_errors_or_no_matter)
{
    qdq_model *m;
    char with[2000];
    unsigned fine = 0;

    assert_ok(qdq_model_load(float_model(), NULL, &m, &err));
    for (unsigned seed = 1; seed <= 25; seed++) {
        qdq_session *s = NULL;
        qdq_engine *e = NULL;

        unlink(test_path("state"));
        snprintf(with, sizeof with, BREAKER "%s %u -1 1200 ", test_path("state"), seed);
        qdq_engine_opts o = on(host(with, ""));
        /* less than from heartbeat to heartbeat: a changed question may last */
        o.host_timeout_s = 0.5;
        /* a longer length swallows heartbeats: only this ends the wait */
        o.deadline_s = 2;
        err = (qdq_error)QDQ_ERROR_INIT;
        qdq_status st = qdq_engine_open(sim_spec(), &o, &e, &err);
        if (st == QDQ_OK)
            st = qdq_session_open(e, m, NULL, &s, &err);
        assert_true(st == QDQ_OK || err.text[0] != '\0');
        fine += st == QDQ_OK;
        qdq_session_close(s);
        qdq_engine_close(e);
    }
    print_message("%u of 25 sessions were opened\n", fine);
    qdq_model_free(m);
}

/* --- what ends an engine there ---------------------------------------------------------------- */

TEST(an_engine_that_crashes_there_costs_one_call)
{
    qdq_engine *e = open_engine(crash_spec("session:segv"), on(host("", "")));
    qdq_model *m = test_model(two);
    qdq_session *s;

    for (unsigned i = 1; i <= 2; i++) {
        assert_fails(QDQ_E_ENGINE, "crashed (", qdq_session_open(e, m, NULL, &s, &err));
        assert_int_equal(qdq_engine_crashes(e), i);
    }
    qdq_engine_close(e);
    qdq_model_free(m);
}

static void assert_hangs(qdq_engine_opts o, const char *says)
{
    qdq_engine *e = open_engine(crash_spec("session:hang"), o);
    qdq_model *m = test_model(two);
    qdq_session *s;

    assert_fails(QDQ_E_ENGINE, says, qdq_session_open(e, m, NULL, &s, &err));
    qdq_engine_close(e);
    qdq_model_free(m);
}

TEST(an_engine_that_hangs_there_is_ended_at_its_deadline)
{
    qdq_engine_opts o = on(host("", ""));

    o.deadline_s = 1.5;
    assert_hangs(o, "no answer within 1.5 s");
}

/* Heartbeats come while an engine works for longer than the device may be silent. */
TEST(a_device_at_work_is_no_silent_one)
{
    qdq_engine_opts o = on(host("", ""));

    o.deadline_s = 5;
    o.host_timeout_s = 3;
    assert_hangs(o, "no answer within 5 s");
}

/* --- what is wrong there ---------------------------------------------------------------------- */

TEST(what_is_wrong_with_a_host_is_told)
{
    char text[1000];

    assert_no_engine("exec:nothing-of-this-name", QDQ_E_ENGINE, "there is no qdq-worker there");
    assert_no_engine("exec:sh -c 'echo no such box >&2; exit 3' --serve", QDQ_E_ENGINE,
                     "the command ended with code 3: no such box");
    assert_no_engine("exec:kill -9 $$ # --serve", QDQ_E_ENGINE, "ended before it answered");
    assert_no_engine("exec:echo Last login: today; sleep 9 # --serve", QDQ_E_ENGINE,
                     "found 'Last login: today', expected an answer of qdq-worker");
    assert_no_engine("exec:sleep 9 # --serve", QDQ_E_ENGINE, "no sign of life within 2 s");
    snprintf(text, sizeof text, BREAKER "%s 1 0 0 ", test_path("state"));
    assert_no_engine(host(text, ""), QDQ_E_ENGINE, "no sign of life within 2 s");
}

/* A reply of another version, as bytes. */
static const char *welcome(const char *json)
{
    static char command[2000];

    snprintf(
        command, sizeof command,
        "exec:printf 'qdH\\000\\%03zo\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000%s'; "
        "sleep 9 # --serve",
        strlen(json), json);
    return command;
}

TEST(another_version_of_the_protocol_says_what_to_update)
{
    assert_no_engine(welcome("{\"protocol\": [2, 0], \"version\": \"7.0\"}"), QDQ_E_ENGINE,
                     "qdq-worker 7.0 there speaks version 2.0 of the protocol, qdq 0.1.0 here 1.0: "
                     "update qdq here");
    assert_no_engine(welcome("{\"protocol\": [1, 2], \"version\": \"0.9\"}"), QDQ_E_ENGINE,
                     "update qdq here");
    assert_no_engine(welcome("{\"protocol\": [0, 9], \"version\": \"0.0.1\"}"), QDQ_E_ENGINE,
                     "update the device with 'qdq engines --host HOST --install'");
    assert_no_engine(welcome("{\"protocol\": [], \"version\": \"x\"}"), QDQ_E_ENGINE,
                     "key 'protocol': expected [major, minor]");
    assert_no_engine(welcome("{\"protocol\": [1, 0], \"threads\": -4}"), QDQ_E_ENGINE,
                     "key 'threads'");
    assert_no_engine(welcome("[1]"), QDQ_E_ENGINE, "without an object");
}

/* One minor version apart works, so the next question is asked. */
TEST(a_minor_version_apart_is_no_matter)
{
    assert_no_engine(welcome("{\"protocol\": [1, 1], \"version\": \"0.2\"}"), QDQ_E_ENGINE,
                     "no sign of life within 2 s");
}

TEST(a_full_disk_there_is_named)
{
    char empty[1000];
    qdq_engine *e;

    snprintf(empty, sizeof empty, "--cache-dir %s/empty", test_dir());
    qdq_engine_opts o = on(host("ulimit -f 0; ", empty));

    assert_fails(QDQ_E_ENGINE, "the disk of the host is full",
                 qdq_engine_open(sim_spec(), &o, &e, &err));
    snprintf(empty, sizeof empty, "--cache-limit 10 --cache-dir %s/empty", test_dir());
    o = on(host("", empty));
    assert_fails(QDQ_E_ENGINE, "larger than the folder may become (--cache-limit 10)",
                 qdq_engine_open(sim_spec(), &o, &e, &err));
}

TEST(options_of_the_far_side_are_read)
{
    qdq_engine *e = open_engine(sim_spec(), on(host("", "--cache-limit=1GiB --program " WORKER)));

    qdq_engine_close(e);
    assert_no_engine(host("", "--cache-limit 1X"), QDQ_E_ENGINE, "ended with code 2: usage:");
    assert_no_engine(host("", "--cache-limit -1"), QDQ_E_ENGINE, "ended with code 2: usage:");
    assert_no_engine(host("", "--what"), QDQ_E_ENGINE, "ended with code 2: usage:");
    assert_no_engine(host("", "--program /no/worker"), QDQ_E_ENGINE,
                     "/no/worker: cannot start this program");
    assert_no_engine("exec:" QDQ_BUILD_DIR "/qdq-worker --serve --cache-dir /proc/nothing/x",
                     QDQ_E_ENGINE, "cannot make this folder (--cache-dir)");
}

TEST(runs_are_not_recorded_there)
{
    qdq_engine_opts o = on(host("", ""));
    qdq_engine *e;

    o.record = test_dir();
    assert_fails(QDQ_E_UNSUPPORTED, "runs are recorded on this machine only",
                 qdq_engine_open(sim_spec(), &o, &e, &err));
}

/* --- interrupts ------------------------------------------------------------------------------- */

static qdq_cancel *cancel;

static void interrupt(int signal)
{
    (void)signal;
    qdq_cancel_set(cancel);
}

TEST(an_interrupt_ends_what_is_asked_there)
{
    qdq_job mine = QDQ_JOB_INIT;
    qdq_engine_opts o = on(host("", ""));
    qdq_model *m = test_model(two);
    qdq_session *s;

    mine.cancel = cancel = qdq_cancel_new();
    o.job = &mine;
    qdq_engine *e = open_engine(crash_spec("session:hang"), o);
    double start = qdq_clock_seconds();
    signal(SIGALRM, interrupt);
    alarm(1);
    assert_int_equal(qdq_session_open(e, m, NULL, &s, &err), QDQ_E_INTERRUPTED);
    assert_true(qdq_clock_seconds() - start < 5);
    qdq_engine_close(e);
    qdq_cancel_free(cancel);
    qdq_model_free(m);
}

/* --- installing ------------------------------------------------------------------------------- */

TEST(the_program_is_installed_once)
{
    char text[2000] = "";
    qdq_engine_opts o = on(text);
    struct stat first, again;
    char *where;

    snprintf(text, sizeof text, "exec:env HOME=%s", test_dir());
    o.worker = QDQ_BUILD_DIR "/tests/link_breaker"; /* a small one */
    assert_ok(qdq_host_install(&o, &where, &err));
    assert_string_equal(where, test_path(".local/bin/qdq-worker"));
    assert_int_equal(stat(where, &first), 0);
    assert_true((first.st_mode & 0111) == 0111);
    qdq_free(where);
    o.ort_library = QDQ_BUILD_DIR "/tests/crash_engine.so";
    assert_ok(qdq_host_install(&o, &where, &err));
    assert_int_equal(stat(where, &again), 0);
    assert_true(first.st_ino == again.st_ino);
    assert_int_equal(access(test_path(".local/lib/qdq/libonnxruntime.so.1"), X_OK), 0);
    qdq_free(where);
}

TEST(what_cannot_be_installed_is_told)
{
    char text[2000];
    qdq_engine_opts o = on("exec:env --serve");
    char *where;

    o.worker = QDQ_BUILD_DIR "/tests/link_breaker";
    assert_fails(QDQ_E_USAGE, "expected a command that runs programs",
                 qdq_host_install(&o, &where, &err));
    o.host = "exec:env HOME=/proc";
    assert_fails(QDQ_E_ENGINE, "cannot install: mkdir", qdq_host_install(&o, &where, &err));
    o.host = "exec:false";
    assert_fails(QDQ_E_ENGINE, "cannot install: ended with code 1",
                 qdq_host_install(&o, &where, &err));
    o.host = "exec:true";
    assert_fails(QDQ_E_ENGINE, "expected its machine", qdq_host_install(&o, &where, &err));
    o.worker = QDQ_SOURCE_DIR "/README.md";
    assert_fails(QDQ_E_USAGE, "expected a program or a library for Linux",
                 qdq_host_install(&o, &where, &err));
    /* an uname of another machine */
    assert_ok(qdq_write_file(test_path("uname"), true, "#!/bin/sh\necho riscv64\n", 23, &err));
    assert_int_equal(chmod(test_path("uname"), 0755), 0);
    snprintf(text, sizeof text, "exec:env HOME=%s PATH=%s:$PATH", test_dir(), test_dir());
    o.host = text;
    o.worker = QDQ_BUILD_DIR "/tests/link_breaker";
    assert_fails(QDQ_E_USAGE, "for riscv64: expected a file for that",
                 qdq_host_install(&o, &where, &err));
    o.host = NULL;
    assert_fails(QDQ_E_USAGE, "no host", qdq_host_install(&o, &where, &err));
}
