/* tune_changes.c - something changes between two runs in one folder. What the second one takes from
 * the first, and what it must not; and what becomes of a result that turns out to be none. */
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>

#include "base/random.h"
#include "support/npy_file.h"
#include "support/tuned.h"

enum { SAMPLES = 16, WIDTH = 8 };

static qdq_error err;
static char *data_file;

/* --- what may change -------------------------------------------------------------------------- */

typedef struct setting {
    /* first number of a weight; an attribute; type of activations */
    const char *weight, *alpha, *type;
    /* a part of the engine's fingerprint, as its version */
    const char *device;
} setting;

static const setting before = {"0.5", "0.1", "uint8", "one"};

static const char *engine_of(const setting *s)
{
    char device[40];

    snprintf(device, sizeof device, "\"device\": \"%s\"", s->device);
    return test_tuned_costs("\"MatMul\": {\"float_us\": 100, \"int8_us\": 30}", device);
}

static qdq_model *model_of(const setting *s)
{
    static const char network[] =
        "g (float[1,8] x) => (float[1,8] y) <float[8,8] a = {%s%s}, float[8,8] b = {1%s}> {"
        " h1 = MatMul(x, a) r1 = LeakyRelu<alpha = %s>(h1) h2 = MatMul(r1, b) y = Tanh(h2) }";
    static char text[2000], rest[400];
    size_t at = 0;

    for (int i = 1; i < WIDTH * WIDTH; i++)
        at += (size_t)snprintf(rest + at, sizeof rest - at, ", .%d", i * 7 % 10);
    snprintf(text, sizeof text, network, s->weight, rest, rest, s->alpha);
    return test_model(text);
}

static int write_data(void **state)
{
    qdq_random r = qdq_random_new(3, "data");
    float x[SAMPLES * WIDTH];

    (void)state;
    for (int i = 0; i < SAMPLES * WIDTH; i++)
        x[i] = (float)qdq_random_normal(&r);
    data_file = strdup(test_npy_file("x.npy", TEST_HEADER("<f4", "(16, 8)"), x, sizeof x));
    return 0;
}

static int drop_data(void **state)
{
    (void)state;
    free(data_file);
    return 0;
}

/* --- runs ------------------------------------------------------------------------------------- */

static char warnings[4000];

static void record_line(void *ctx, qdq_log_level level, const char *line)
{
    (void)ctx;
    if (level == QDQ_LOG_WARNING)
        snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n", line);
}

typedef struct outcome {
    qdq_tune_result result;
    /* that the folder has then */
    uint64_t samples;
    char *plan;
} outcome;

static outcome run(const setting *s, const char *folder)
{
    qdq_tune_opts o = test_tuned_opts(engine_of(s));
    qdq_model *m = model_of(s);
    qdq_job job = QDQ_JOB_INIT;
    qdq_data *d = NULL;
    outcome out;

    warnings[0] = '\0';
    job.log = record_line;
    o.job = &job;
    o.mode = QDQ_TUNE_SUBGRAPH;
    assert_ok(qdq_data_open(data_file, m, NULL, &d, &err));
    assert_ok(test_tuned_run_on(m, d, s->type, folder, &o, &out.result, &err));
    qdq_data_close(d);
    qdq_model_free(m);
    out.samples = test_tuned_samples(folder);
    out.plan = test_tuned_file(folder, "plan.json");
    return out;
}

/* Contexts of values by content that the folder's store has: those of groups are found again within
 * one. */
static int count_contents(const char *folder)
{
    char path[4300];
    sqlite3 *db;
    sqlite3_stmt *st;

    snprintf(path, sizeof path, "%s/tune.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT count(*) FROM context WHERE model = ''", -1, &st, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int n = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* The second run is one as in a folder of its own, and says why; the first one is there still. */
static void change(const char *name, const setting *after, const char *why, int contents)
{
    char *folder = strdup(test_path("%s", name)), *alone = strdup(test_path("%s_alone", name));
    outcome first = run(&before, folder), fresh = run(after, alone), second = run(after, folder);

    assert_int_equal(first.result.verdict, QDQ_TUNED);
    assert_false(second.result.resumed);
    assert_non_null(strstr(warnings, why));
    assert_int_equal(second.samples, first.samples + fresh.samples); /* nothing was handed out */
    assert_string_equal(second.plan, fresh.plan);
    assert_int_equal(count_contents(folder), contents);

    outcome back = run(&before, folder);
    assert_true(back.result.resumed);
    assert_int_equal(back.samples, second.samples); /* nothing was lost */
    assert_string_equal(back.plan, first.plan);
    qdq_free(first.plan);
    qdq_free(fresh.plan);
    qdq_free(second.plan);
    qdq_free(back.plan);
    free(folder);
    free(alone);
}

/* Whole models are others then; groups are kept by content (tune_store.c). */
TEST(a_changed_weight_keeps_what_is_known_by_content)
{
    setting after = before;

    after.weight = "-2.5";
    change("weight", &after, "another model", 1);
}

TEST(a_changed_attribute_keeps_the_other_keys)
{
    setting after = before;

    after.alpha = "0.2";
    change("attribute", &after, "another model", 1);
}

TEST(another_type_drops_all_times)
{
    setting after = before;

    after.type = "int8";
    change("type", &after, "codes=uint8/int8", 2);
}

TEST(another_engine_drops_all_times)
{
    setting after = before;

    after.device = "two";
    change("engine", &after, "another engine", 2);
}

/* --- a result that is none -------------------------------------------------------------------- */

static void stop_at_final_validation(void *ctx, const qdq_tune_live *now)
{
    if (strcmp(now->phase, "guard") == 0)
        qdq_cancel_set(ctx);
}

static void assert_same_files(const char *folder, const char *a, const char *b)
{
    char command[9000];

    snprintf(command, sizeof command, "cmp '%s/%s' '%s/%s'", folder, a, folder, b);
    assert_int_equal(system(command), 0);
}

/* What was fast when it was searched for is slow when it is to be shipped: from then on codes take
 * three times as long. */
TEST(a_result_slower_than_the_model_is_not_shipped)
{
    static const char *const costs[] = {"\"MatMul\": {\"float_us\": 100, \"int8_us\": 30}",
                                        "\"MatMul\": {\"float_us\": 100, \"int8_us\": 300}"};
    qdq_model *m = model_of(&before);
    char *folder = strdup(test_path("slower"));
    qdq_cancel *cancel = qdq_cancel_new();
    qdq_job job = QDQ_JOB_INIT;
    qdq_tune_result r;

    job.ctx = cancel;
    job.cancel = cancel;
    for (int i = 0; i < 2; i++) {
        qdq_tune_opts o = test_tuned_opts(test_tuned_costs(costs[i], NULL));
        o.mode = QDQ_TUNE_SUBGRAPH;
        if (i == 0) {
            o.job = &job;
            o.live = stop_at_final_validation;
        }
        assert_int_equal(test_tuned_run(m, folder, &o, &r, &err),
                         i == 0 ? QDQ_E_INTERRUPTED : QDQ_OK);
    }
    assert_true(r.resumed && r.accepted > 0); /* the search has kept something */
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_true(r.speedup == 1 && r.final_ms == r.baseline_ms);
    assert_same_files(folder, "model.onnx", "baseline.onnx");
    qdq_cancel_free(cancel);
    qdq_model_free(m);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_weight_keeps_what_is_known_by_content),
        cmocka_unit_test(a_changed_attribute_keeps_the_other_keys),
        cmocka_unit_test(another_type_drops_all_times),
        cmocka_unit_test(another_engine_drops_all_times),
        cmocka_unit_test(a_result_slower_than_the_model_is_not_shipped),
    };

    return cmocka_run_group_tests(tests, write_data, drop_data);
}
