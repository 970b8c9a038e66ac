/* tuned.c - see the header. */
#include "support/tuned.h"

#include <unistd.h>

#include <sqlite3.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/random.h"
#include "base/spawn.h"

qdq_model *test_tuned_model(void)
{
    static const char network[] =
        "g (float[1,8] x) => (float[1,8] y)"
        "<float[8,8] a = {%s}, float[8,8] b = {%s}, float[8,8] c = {%s}> {"
        " h1 = MatMul(x, a) r1 = Relu(h1) h2 = MatMul(r1, b) r2 = Relu(h2) s = Add(r2, x)"
        " h3 = MatMul(s, c) r3 = Relu(h3) h4 = MatMul(r3, a) r4 = Relu(h4) z = Add(r4, s) y = "
        "Tanh(z) }";
    static char text[20000], numbers[3][4000];
    qdq_random r = qdq_random_new(1, "weights");

    for (int w = 0; w < 3; w++) {
        size_t at = 0;
        for (int i = 0; i < 64; i++)
            at += (size_t)snprintf(numbers[w] + at, sizeof numbers[w] - at, "%s%.3f",
                                   i > 0 ? ", " : "", (double)qdq_random_normal(&r));
    }
    snprintf(text, sizeof text, network, numbers[0], numbers[1], numbers[2]);
    return test_model(text);
}

const char *test_tuned_weights(void)
{
    static char text[2000];
    size_t at = 0;

    for (int i = 0; i < 64; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.2f", i > 0 ? ", " : "",
                               ((i * 37) % 64 - 32) / 32.0);
    return text;
}

const char *test_tuned_text(const char *graph)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 16);

    for (; *graph != '\0'; graph++)
        if (*graph == '$')
            qdq_buf_puts(&b, test_tuned_weights());
        else
            qdq_buf_append(&b, graph, 1);
    assert_false(b.failed);
    test_keep(b.data);
    return b.data;
}

qdq_model *test_tuned;

int test_tuned_make(void **state)
{
    (void)state;
    test_tuned = test_tuned_model();
    return 0;
}

int test_tuned_drop(void **state)
{
    (void)state;
    qdq_model_free(test_tuned);
    return 0;
}

qdq_model *test_tuned_other_weight(qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text;

    assert_ok(qdq_model_to_text(m, &text, &err));
    char *at = strstr(text, "int8[");
    at = at != NULL ? strchr(at, '{') : NULL;
    assert_non_null(at);
    at += strcspn(at, "56789");
    *at = '1';
    qdq_model *other = test_model(text);
    qdq_free(text);
    qdq_model_free(m);
    return other;
}

const char *test_tuned_costs(const char *ops, const char *more)
{
    char costs[4000];
    const int n = snprintf(
        costs, sizeof costs,
        "{\"qdq_sim\": 1, \"seed\": 5, \"noise\": 0.004, \"overhead_us\": 20, \"convert\": "
        "{\"float_us\": 12}, \"ops\": {%s}%s%s}",
        ops, more != NULL ? ", " : "", more != NULL ? more : "");

    assert_true(n >= 0 && (size_t)n < sizeof costs);
    return test_sim_spec(costs);
}

qdq_tune_opts test_tuned_opts(const char *engine)
{
    static const qdq_engine_opts engine_opts = {.size = sizeof engine_opts,
                                                .worker = QDQ_BUILD_DIR "/qdq-worker"};
    qdq_tune_opts o = QDQ_TUNE_OPTS_INIT;

    o.engine = engine;
    o.engine_opts = &engine_opts;
    o.seed = 7;
    return o;
}

qdq_tune_details *test_tuned_details(qdq_tune_opts *o)
{
    static const qdq_tune_details defaults = QDQ_TUNE_DETAILS_INIT;
    static qdq_tune_details details[32];
    static size_t made;

    for (size_t i = 0; i < QDQ_COUNT(details); i++)
        if (o->details == &details[i])
            return &details[i];
    qdq_tune_details *next = &details[made++ % QDQ_COUNT(details)];
    *next = defaults;
    o->details = next;
    return next;
}

qdq_goal_opts test_tuned_two_forms(const qdq_tune_opts *o)
{
    const qdq_goal_opts usual = QDQ_GOAL_OPTS_INIT;
    qdq_goal_opts goal = o->goal != NULL ? *o->goal : usual;

    goal.by_default |= o->goal == NULL;
    goal.one_format = true;
    return goal;
}

qdq_status test_tuned_run_on(const qdq_model *m, qdq_data *data, const char *type,
                             const char *folder, const qdq_tune_opts *opts, qdq_tune_result *out,
                             qdq_error *err)
{
    const qdq_goal_opts goal = test_tuned_two_forms(opts);
    qdq_tune_opts own = *opts;
    qdq_tune_result *given = NULL;
    qdq_target *target = NULL;

    own.goal = &goal;

    QDQ_TRY(qdq_target_load("ort-cpu", &target, err));
    qdq_status st = qdq_target_set(target, "engine", "sim", err);
    if (st == QDQ_OK) /* no processor matters */
        st = qdq_target_set(target, "without_vnni", "any", err);
    if (st == QDQ_OK && type != NULL)
        st = qdq_target_set(target, "activation.type", type, err);
    if (st == QDQ_OK)
        st = qdq_autotune(m, target, data, folder, &own, &given, err);
    if (out != NULL)
        *out = given != NULL ? *given : (qdq_tune_result){.mode = NULL};
    test_keep(given);
    qdq_target_free(target);
    return st;
}

qdq_status test_tuned_run(const qdq_model *m, const char *folder, const qdq_tune_opts *opts,
                          qdq_tune_result *out, qdq_error *err)
{
    return test_tuned_run_on(m, NULL, NULL, folder, opts, out, err);
}

/* --- a process of its own --------------------------------------------------------------------- */

pid_t test_tuned_start(const char *folder, const char *engine, qdq_tune_mode mode, int report)
{
    const char *const argv[] = {"/proc/self/exe", folder, engine,
                                mode == QDQ_TUNE_SUBGRAPH ? "subgraph" : "region", NULL};
    pid_t pid = 0;

    assert_int_equal(
        qdq_spawn(&(qdq_spawn_opts){.argv = argv, .in = -1, .out = report, .err = STDERR_FILENO},
                  &pid),
        0);
    return pid;
}

static void report_pairs(void *ctx, const qdq_tune_live *now)
{
    (void)ctx;
    if (write(STDOUT_FILENO, &now->pairs, sizeof now->pairs) != sizeof now->pairs)
        _exit(3);
}

int test_tuned_child(int argc, char **argv)
{
    qdq_model *m = test_tuned_model();
    qdq_tune_opts o = test_tuned_opts(argc > 2 ? argv[2] : "");
    qdq_tune_result r;

    if (argc > 3 && strcmp(argv[3], "subgraph") == 0)
        o.mode = QDQ_TUNE_SUBGRAPH;
    o.live = report_pairs;
    qdq_status st = test_tuned_run(m, argv[1], &o, &r, NULL);
    qdq_model_free(m);
    return st == QDQ_OK ? 0 : 1;
}

/* --- what a run left -------------------------------------------------------------------------- */

static void count_down(void *ctx, const qdq_tune_live *now)
{
    test_tuned_stop *s = ctx;

    if (s->phase != NULL && strcmp(s->phase, now->phase) != 0)
        return;
    if (s->left > 0 && --s->left == 0)
        qdq_cancel_set(s->cancel);
}

void test_tuned_stop_in(test_tuned_stop *s, const char *phase, unsigned n, qdq_tune_opts *o)
{
    *s = (test_tuned_stop){
        .job = QDQ_JOB_INIT, .cancel = qdq_cancel_new(), .phase = phase, .left = n};
    s->job.ctx = s;
    s->job.cancel = s->cancel;
    o->job = &s->job;
    o->live = count_down;
}

char *test_tuned_file(const char *folder, const char *name)
{
    qdq_error err = QDQ_ERROR_INIT;
    char path[4300], *text;
    size_t size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(qdq_read_file(path, 1 << 20, &text, &size, &err));
    return text;
}

uint64_t test_tuned_samples(const char *folder)
{
    char path[4300];
    sqlite3_stmt *count = NULL;
    sqlite3 *db = NULL;
    uint64_t n = 0;

    snprintf(path, sizeof path, "%s/tune.db", folder);
    if (access(path, F_OK) != 0)
        return 0;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    if (sqlite3_prepare_v2(db, "SELECT count(*) FROM pair", -1, &count, NULL) == SQLITE_OK &&
        sqlite3_step(count) == SQLITE_ROW) /* else a run has just made the file */
        n = (uint64_t)sqlite3_column_int64(count, 0);
    sqlite3_finalize(count);
    sqlite3_close(db);
    return n;
}

void test_tuned_holds(const char *folder, const char *name, const char *text)
{
    char *there = test_tuned_file(folder, name);

    assert_string_equal(there, text);
    qdq_free(there);
}

void test_tuned_same(const char *a, const char *b, const char *name)
{
    char *of_b = test_tuned_file(b, name);

    test_tuned_holds(a, name, of_b);
    qdq_free(of_b);
}

void test_tuned_replays(const char *folder, const qdq_model *m)
{
    const char *below = folder + strlen(test_dir()) + 1;
    qdq_error err = QDQ_ERROR_INIT;
    char *again;
    qdq_model *made;
    qdq_plan *p;

    assert_ok(qdq_plan_load(test_path("%s/plan.json", below), &p, &err));
    assert_ok(qdq_plan_apply(p, m, false, NULL, &made, &err));
    assert_ok(qdq_model_save(made, test_path("%s/again.onnx", below), NULL, &err));
    again = test_tuned_file(folder, "again.onnx");
    test_tuned_holds(folder, "model.onnx", again);
    qdq_free(again);
    qdq_plan_free(p);
    qdq_model_free(made);
}

qdq_tune_result test_tuned_result(const qdq_model *m, const char *folder, const qdq_tune_opts *opts)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_tune_result r;

    assert_ok(test_tuned_run(m, folder, opts, &r, &err));
    return r;
}

bool test_tuned_exists(const char *folder, const char *name)
{
    char path[4300];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

bool test_tuned_has(const char *folder, const char *name, const char *text)
{
    char *all = test_tuned_file(folder, name);
    const bool found = strstr(all, text) != NULL;

    qdq_free(all);
    return found;
}

bool test_tuned_quantizes(const char *folder, const char *op, const char *output)
{
    char want[100];

    snprintf(want, sizeof want, "{\"node\": \"%s@%s\", \"op\": \"%s\"}", op, output, op);
    return test_tuned_has(folder, "plan.json", want);
}
