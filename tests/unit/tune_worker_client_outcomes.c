/* tune_worker_client_outcomes.c - how builds and runs end in a worker client: refused, crashed,
 * hung, out of memory, interrupted. */
#include "support/lab_setting.h"

/* --- outcomes --------------------------------------------------------------------------------- */

/* The float model is open when the 8-bit one ends the worker; afterwards it is open again, in
 * another worker. */
static void build_ends(const char *failure, qdq_worker_client_opts opts, qdq_remote_end end,
                       const char *part)
{
    char more[300];
    qdq_remote_outcome outcome;
    int handle;

    snprintf(more, sizeof more, ", \"fail\": [{\"at\": \"open\", \"node\": \"conv\", %s}]",
             failure);
    qdq_worker_client *worker_client = open_worker_client(more, opts);
    int a = test_worker_client_build(worker_client, float_model());
    assert_pair_is_fine(worker_client, a);
    assert_ok(qdq_worker_client_build(worker_client, int8_model(), &handle, &outcome, &err));
    assert_outcome(&outcome, end, part);
    assert_int_equal(handle, -1);
    assert_pair_is_fine(worker_client, a);
    close_worker_client(worker_client);
}

TEST(a_refused_model_is_a_fate)
{
    build_ends("\"message\": \"no kernel for it\"", (qdq_worker_client_opts){0}, QDQ_REMOTE_REFUSED,
               "no kernel for it");
}

TEST(a_crash_costs_one_trial)
{
    build_ends("\"crash\": \"SIGABRT\", \"message\": \"assertion failed\"",
               (qdq_worker_client_opts){0}, QDQ_REMOTE_CRASHED, "SIGABRT: assertion failed");
    if (!test_is_sanitized()) /* which makes something else of it */
        build_ends("\"crash\": \"SIGSEGV\"", (qdq_worker_client_opts){0}, QDQ_REMOTE_CRASHED,
                   "SIGSEGV");
}

TEST(an_illegal_instruction_costs_one_trial)
{
    build_ends("\"crash\": \"SIGILL\"", (qdq_worker_client_opts){0}, QDQ_REMOTE_CRASHED, "SIGILL");
}

TEST(a_kill_from_outside_costs_one_trial)
{
    build_ends("\"crash\": \"SIGKILL\"", (qdq_worker_client_opts){0}, QDQ_REMOTE_CRASHED,
               "SIGKILL from outside");
}

TEST(what_never_ends_is_killed_at_the_deadline)
{
    double start = qdq_clock_seconds();

    build_ends("\"hang\": 100", (qdq_worker_client_opts){.build_deadline_s = 0.3}, QDQ_REMOTE_HUNG,
               "no answer within 0.3 s");
    assert_true(qdq_clock_seconds() - start < 20);
}

TEST(memory_beyond_the_limit_costs_one_trial)
{
    if (test_is_sanitized()) /* it needs terabytes of addresses for itself */
        skip();
    build_ends("\"memory\": 4096", (qdq_worker_client_opts){.max_memory = (uint64_t)1 << 30},
               QDQ_REMOTE_MEMORY, "memory");
}

TEST(an_engine_that_aborts_for_want_of_memory_is_told_from_a_crash)
{
    build_ends(
        "\"crash\": \"SIGABRT\", \"message\": \"terminate called after throwing an instance of "
        "'std::bad_alloc'\"",
        (qdq_worker_client_opts){0}, QDQ_REMOTE_MEMORY, "bad_alloc");
}

TEST(a_model_is_not_to_blame_for_the_memory_of_its_neighbours)
{
    qdq_worker_client_opts opts = {.max_memory = (uint64_t)2 << 30};

    if (test_is_sanitized())
        skip();
    qdq_worker_client *worker_client =
        open_worker_client(", \"fail\": [{\"at\": \"open\", \"memory\": 1200}]", opts);
    int a = test_worker_client_build(worker_client, float_model());
    int b = test_worker_client_build(worker_client,
                                     int8_model()); /* does not fit beside a; alone it does */
    qdq_remote_outcome outcome;
    double x, y;

    assert_true(a >= 0 && b >= 0);
    assert_ok(qdq_worker_client_pair(worker_client, a, b, false, 0, &x, &y, &outcome, &err));
    assert_outcome(&outcome, QDQ_REMOTE_MEMORY, "memory");
    assert_pair_is_fine(worker_client, a);
    close_worker_client(worker_client);
}

static void run_ends(const char *at, const char *failure, qdq_remote_end end, const char *part)
{
    char more[300];
    qdq_worker_client_accuracy acc;
    qdq_remote_outcome outcome;
    double x, y;

    snprintf(more, sizeof more, ", \"fail\": [{\"at\": \"%s\", \"node\": \"conv\", %s}]", at,
             failure);
    qdq_worker_client *worker_client =
        open_worker_client(more, (qdq_worker_client_opts){.run_deadline_s = 0.3});
    int a = test_worker_client_build(worker_client, float_model()),
        b = test_worker_client_build(worker_client, int8_model());
    if (strcmp(at, "time") == 0)
        assert_ok(qdq_worker_client_pair(worker_client, a, b, true, 0, &x, &y, &outcome, &err));
    else
        assert_ok(qdq_worker_client_compare(worker_client, a, b, &acc, &outcome, &err));
    assert_outcome(&outcome, end, part);
    assert_pair_is_fine(worker_client, a);
    qdq_worker_client_drop(worker_client, b);
    close_worker_client(worker_client);
}

TEST(runs_end_in_all_the_ways_that_builds_do)
{
    run_ends("time", "\"message\": \"overflow\"", QDQ_REMOTE_REFUSED, "overflow");
    run_ends("time", "\"crash\": \"SIGILL\"", QDQ_REMOTE_CRASHED, "SIGILL");
    run_ends("time", "\"hang\": 50", QDQ_REMOTE_HUNG, "no answer");
    run_ends("time", "\"nth\": 3, \"crash\": \"SIGABRT\"", QDQ_REMOTE_CRASHED,
             "SIGABRT"); /* after 2 warm-up runs */
    run_ends("run", "\"message\": \"Failed to allocate memory for requested buffer\"",
             QDQ_REMOTE_MEMORY, "buffer");
    run_ends("run", "\"crash\": \"SIGABRT\"", QDQ_REMOTE_CRASHED, "SIGABRT");
    run_ends("run", "\"hang\": 50", QDQ_REMOTE_HUNG, "no answer");
}

/* --- interruption ----------------------------------------------------------------------------- */

static void *set_soon(void *cancel)
{
    usleep(200 * 1000);
    qdq_cancel_set(cancel);
    return NULL;
}

TEST(an_interrupt_ends_a_build_that_hangs)
{
    qdq_job mine = QDQ_JOB_INIT;
    qdq_cancel *cancel = qdq_cancel_new();
    pthread_t thread;
    qdq_remote_outcome outcome;
    int handle;

    mine.cancel = cancel;
    qdq_worker_client *worker_client = open_worker_client(
        ", \"fail\": [{\"at\": \"open\", \"hang\": 100}]", (qdq_worker_client_opts){.job = &mine});
    double start = qdq_clock_seconds();
    assert_int_equal(pthread_create(&thread, NULL, set_soon, cancel), 0);
    assert_fails(QDQ_E_INTERRUPTED, "interrupted",
                 qdq_worker_client_build(worker_client, float_model(), &handle, &outcome, &err));
    assert_true(qdq_clock_seconds() - start < 20);
    pthread_join(thread, NULL);
    assert_fails(QDQ_E_INTERRUPTED, "interrupted",
                 qdq_worker_client_build(worker_client, float_model(), &handle, &outcome, &err));
    qdq_worker_client_close(worker_client);
    qdq_cancel_free(cancel);
}
