/* tune_greedy_again.c - runs by the strategy greedy in a folder that has something: a run that was
 * cut off, one that ended, one of another model (what times of groups apart are good for then), or
 * an autotune_cache.json. */
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "support/tuned.h"

static qdq_error err;

/* Both operands in codes: a half is no kernel in 8 bits. The last product is slow in the whole
 * model alone, so that there is something to reject. */
#define OPS   "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2}"
#define LOSES "\"nodes\": {\"MatMul@h5\": {\"float_us\": 100, \"int8_us\": 250, \"inputs\": 2}}"

typedef struct setting {
    /* first number of a weight; an attribute; type of activations */
    const char *weight, *alpha, *type;
    /* a part of the engine's fingerprint, as its version */
    const char *device;
    bool blind;
} setting;

static const setting before = {"0.5", "0.1", "uint8", "one", false};

/* Five kinds of groups; two of them are neighbours of the attribute. */
static qdq_model *model_of(const setting *s)
{
    char text[2000];

    snprintf(text, sizeof text,
             "g (float[1,2] x) => (float[1,2] y) <float[2,2] a = {%s, 2, 3, 4}, float[2,2] b = {4, "
             "3, 2, 1}> {"
             " h1 = MatMul(x, a) r1 = LeakyRelu<alpha = %s>(h1) h2 = MatMul(r1, b) r2 = Sigmoid(h2)"
             " h3 = MatMul(r2, a) r3 = Erf(h3) h4 = MatMul(r3, b) r4 = Relu(h4) h5 = MatMul(r4, a) "
             "y = Tanh(h5) }",
             s->weight, s->alpha);
    return test_model(text);
}

static const char *engine_of(const setting *s)
{
    char more[400];

    snprintf(more, sizeof more, "\"device\": \"%s\", %s%s", s->device, LOSES,
             s->blind ? ", " TEST_TUNED_BLIND : "");
    return test_tuned_costs(OPS, more);
}

static qdq_tune_opts opts(const setting *s)
{
    qdq_tune_opts o = test_tuned_opts(engine_of(s));

    o.mode = QDQ_TUNE_SUBGRAPH;
    o.strategy = QDQ_TUNE_GREEDY;
    return o;
}

static qdq_status tune(const setting *s, const char *folder, const qdq_tune_opts *o,
                       qdq_tune_result *r)
{
    qdq_model *m = model_of(s);
    qdq_status st = test_tuned_run_on(m, NULL, s->type, folder, o, r, &err);

    qdq_model_free(m);
    return st;
}

static qdq_tune_result run(const setting *s, const char *folder)
{
    const qdq_tune_opts o = opts(s);
    qdq_tune_result r;

    assert_ok(tune(s, folder, &o, &r));
    assert_string_equal(r.strategy, "greedy");
    return r;
}

/* --- what a run left -------------------------------------------------------------------------- */

/* json_decref() */
static json_t *decisions_of(const char *folder)
{
    char *text = test_tuned_file(folder, "report.json");
    json_t *report;

    assert_ok(qdq_json_parse(text, strlen(text), "report.json", &report, &err));
    json_t *list = json_incref(json_object_get(report, "decisions"));
    json_decref(report);
    qdq_free(text);
    return list;
}

static void assert_same_end(const char *a, const char *b)
{
    json_t *of_a = decisions_of(a), *of_b = decisions_of(b);

    assert_true(json_array_size(of_a) == 5 && json_equal(of_a, of_b));
    json_decref(of_a);
    json_decref(of_b);
    test_tuned_same(a, b, "plan.json");
}

/* --- going on --------------------------------------------------------------------------------- */

TEST(a_finished_run_measures_nothing_again)
{
    const char *folder = test_path("again");
    qdq_tune_result first = run(&before, folder);
    const uint64_t samples = test_tuned_samples(folder);
    char *plan = test_tuned_file(folder, "plan.json");

    assert_true(first.accepted == 4 && first.rejected == 1 && first.isolated_builds > 0);
    qdq_tune_result second = run(&before, folder);
    test_tuned_holds(folder, "plan.json", plan);
    assert_true(second.resumed && second.isolated_builds == 0);
    assert_int_equal(test_tuned_samples(folder), samples);
    assert_true(second.accepted == first.accepted && second.rejected == first.rejected &&
                second.builds == first.builds && second.raw_ms == first.raw_ms &&
                second.speedup == first.speedup);
    qdq_free(plan);
}

typedef struct stopping {
    qdq_cancel *cancel;
    /* calls */
    unsigned after;
    /* the last of them was of the measurements apart */
    bool apart;
} stopping;

static void stop_after(void *ctx, const qdq_tune_live *now)
{
    stopping *s = ctx;

    if (s->after-- != 0)
        return;
    s->apart = strcmp(now->phase, "groups apart") == 0;
    qdq_cancel_set(s->cancel);
}

/* At every step up to the end of what is measured apart, and at some behind. By whole times, where
 * each scheme is a measurement of its own, which is not taken twice. */
TEST(a_cancelled_run_goes_on_to_the_same_end)
{
    char *whole = strdup(test_path("whole"));
    setting s = before;
    unsigned apart = 0;
    bool ended = false;

    s.blind = true;
    const qdq_tune_result want = run(&s, whole);
    for (unsigned after = 0; !ended; after += after < 12 ? 1 : 5) {
        char *folder = strdup(test_path("stopped%u", after));
        qdq_tune_opts o = opts(&s);
        qdq_job job = QDQ_JOB_INIT;
        stopping stop = {.cancel = qdq_cancel_new(), .after = after};
        qdq_tune_result first, second;
        job.ctx = &stop;
        job.cancel = stop.cancel;
        o.job = &job;
        o.live = stop_after;
        qdq_status st = tune(&s, folder, &o, &first);
        ended = st == QDQ_OK;
        assert_true(ended || st == QDQ_E_INTERRUPTED);
        apart += stop.apart;
        second = run(&s, folder);
        assert_same_end(folder, whole);
        if (stop.apart)
            assert_int_equal(first.isolated_builds + second.isolated_builds, want.isolated_builds);
        assert_true(second.builds == want.builds && second.raw_ms == want.raw_ms);
        qdq_cancel_free(stop.cancel);
        free(folder);
        assert_true(after < 60);
    }
    assert_true(apart > 3);
    free(whole);
}

/* --- changes between two runs ----------------------------------------------------------------- */

typedef struct changed {
    /* models of groups that were built */
    unsigned first, fresh, second;
} changed;

/* The second run in one folder ends as one in a folder of its own. */
static changed change(const char *name, const setting *was, const setting *after)
{
    char *folder = strdup(test_path("%s", name)), *alone = strdup(test_path("%s_alone", name));
    const qdq_tune_result first = run(was, folder), fresh = run(after, alone),
                          second = run(after, folder);

    assert_false(second.resumed);
    assert_same_end(folder, alone);
    assert_true(first.isolated_builds > 0 && fresh.isolated_builds > 0);
    free(folder);
    free(alone);
    return (changed){first.isolated_builds, fresh.isolated_builds, second.isolated_builds};
}

TEST(a_changed_weight_keeps_times_of_groups)
{
    setting after = before;

    after.weight = "-2.5";
    assert_int_equal(change("weight", &before, &after).second, 0);
}

/* Two of five kinds have the LeakyRelu as a neighbour. */
TEST(a_changed_attribute_drops_its_own_kinds)
{
    setting was = before, after;

    was.blind = true;
    after = was;
    after.alpha = "0.2";
    const changed n = change("attribute", &was, &after);
    assert_true(n.second > 0);
    assert_int_equal(5 * n.second, 2 * n.fresh);
}

/* In the folder's store: samples of groups are such as they were before they said how layers were
 * attributed, by which no scheme pays. */
static void make_samples_old(const char *folder)
{
    sqlite3 *db;
    char path[4400];

    snprintf(path, sizeof path, "%s/tune.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "UPDATE value SET value = '[[1,1000,0]]', key = 'apart, layers' "
                                  "|| substr(key, 8 + instr(substr(key, 8), ',') - 1) "
                                  "WHERE key LIKE 'apart, %'",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_true(sqlite3_changes(db) > 0);
    sqlite3_close(db);
    snprintf(path, sizeof path, "%s/autotune_cache.json", folder); /* has them, too */
    assert_int_equal(unlink(path), 0);
}

TEST(samples_that_say_nothing_of_their_attribution_are_ignored)
{
    setting after = before;
    char *folder = strdup(test_path("old")), *alone = strdup(test_path("old_alone"));

    after.weight = "-2.5";
    run(&before, folder);
    make_samples_old(folder);
    const qdq_tune_result fresh = run(&after, alone), second = run(&after, folder);
    assert_int_equal(second.isolated_builds, fresh.isolated_builds);
    assert_same_end(folder, alone);
    free(folder);
    free(alone);
}

TEST(another_type_drops_times_of_groups)
{
    setting after = before;

    after.type = "int8";
    const changed n = change("type", &before, &after);
    assert_int_equal(n.second, n.fresh);
}

TEST(another_engine_drops_times_of_groups)
{
    setting after = before;

    after.device = "two";
    const changed n = change("engine", &before, &after);
    assert_int_equal(n.second, n.fresh);
}

/* --- autotune_cache.json ---------------------------------------------------------------------- */

static bool exists(const char *folder, const char *name)
{
    char path[4300];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* A folder that has this file alone; free(). */
static char *folder_with(const char *name, const char *cache, size_t size)
{
    char *folder = strdup(test_path("%s", name)), path[4300];

    assert_int_equal(mkdir(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/autotune_cache.json", folder);
    assert_ok(qdq_write_file(path, true, cache, size, &err));
    return folder;
}

/* With `to` in place of every `from`; free(). */
static char *replace(const char *text, const char *from, const char *to)
{
    char *out = malloc(strlen(text) * (strlen(to) + 1) + 1), *end = out;

    assert_non_null(out);
    while (*text != '\0')
        if (strncmp(text, from, strlen(from)) == 0) {
            end = stpcpy(end, to);
            text += strlen(from);
        } else
            *end++ = *text++;
    *end = '\0';
    return out;
}

/* What the first run leaves is a run without measurements apart elsewhere: only the whole model is
 * measured. */
TEST(schemes_of_a_cache_are_not_measured_apart)
{
    char *first = strdup(test_path("first"));
    const qdq_tune_result want = run(&before, first);
    char *cache = test_tuned_file(first, "autotune_cache.json");
    char *folder = folder_with("known", cache, strlen(cache));

    assert_non_null(strstr(cache, "\"completed\": true"));
    const qdq_tune_result r = run(&before, folder);
    assert_int_equal(r.isolated_builds, 0);
    assert_true(r.accepted == want.accepted && r.rejected == want.rejected &&
                r.verdict == want.verdict);
    test_tuned_same(folder, first, "plan.json");
    char *page = test_tuned_file(folder, "report.html"); /* nor is anything decided again */
    assert_true(strstr(page, ">known groups<") != NULL && strstr(page, ">all groups<") == NULL);
    qdq_free(page);
    assert_int_equal(run(&before, folder).isolated_builds,
                     0); /* so it remains, though the file is another one now */
    free(folder);
    qdq_free(cache);
    free(first);
}

/* As another run would have written it. */
static char *make_foreign(const char *cache)
{
    return replace(cache, "\"fingerprint\": \"", "\"fingerprint\": \"other");
}

/* Groups that are settled by it have no samples of their own, and names that are unknown say
 * nothing. */
TEST(what_a_cache_says_of_others_is_ignored)
{
    static const char *const from[] = {"\"full\"", "MatMul@h"}, *const to[] = {"\"magic\"",
                                                                               "Conv@q"};
    char *first = strdup(test_path("ours"));
    const qdq_tune_result want = run(&before, first);
    char *cache = test_tuned_file(first, "autotune_cache.json"), *foreign = make_foreign(cache);

    for (size_t i = 0; i < QDQ_COUNT(from); i++) {
        char *text = replace(foreign, from[i], to[i]), name[20];
        snprintf(name, sizeof name, "foreign%zu", i);
        char *folder = folder_with(name, text, strlen(text));
        const qdq_tune_result r = run(&before, folder);
        assert_true(0 < r.isolated_builds && r.isolated_builds <= want.isolated_builds);
        assert_true(r.accepted == want.accepted && r.rejected == want.rejected);
        test_tuned_same(folder, first, "plan.json");
        free(folder);
        free(text);
    }
    free(foreign);
    qdq_free(cache);
    free(first);
}

/* --- files of other runs ---------------------------------------------------------------------- */

static bool same_text(const char *folder, const char *name, const char *want)
{
    char *text = test_tuned_file(folder, name);
    const bool same = strcmp(text, want) == 0;

    qdq_free(text);
    return same;
}

/* Every strategy reads a file that is not its own, begins with what it places, and keeps it. */
TEST(a_file_of_another_run_is_read_and_set_aside_by_every_strategy)
{
    static const struct {
        const char *name;
        qdq_tune_strategy strategy;
        bool blind;
        const char *by;
    } ways[] = {{"greedy", QDQ_TUNE_GREEDY, false, "greedy"},
                {"cuts", QDQ_TUNE_AUTO, false, "mincut"},
                {"trials", QDQ_TUNE_AUTO, true, "trials"}};
    char *first = strdup(test_path("other_run"));
    const qdq_tune_result want = run(&before, first);
    char *cache = test_tuned_file(first, "autotune_cache.json"), *foreign = make_foreign(cache);

    for (size_t i = 0; i < QDQ_COUNT(ways); i++) {
        char *folder = folder_with(ways[i].name, foreign, strlen(foreign));
        setting s = before;
        qdq_tune_result r;
        s.blind = ways[i].blind;
        qdq_tune_opts o = opts(&s);
        o.strategy = ways[i].strategy;
        assert_ok(tune(&s, folder, &o, &r));
        assert_string_equal(r.strategy, ways[i].by);
        assert_int_equal(r.verdict, want.verdict);
        assert_true(same_text(folder, "autotune_cache.json.old", foreign));
        assert_false(same_text(folder, "autotune_cache.json", foreign));
        char *report = test_tuned_file(folder, "report.html");
        assert_true((strstr(report, ">autotune_cache.json</") != NULL) == (i > 0));
        qdq_free(report);
        assert_ok(tune(&s, folder, &o, &r)); /* goes on: the file is its own now */
        assert_false(exists(folder, "autotune_cache.json.old2"));
        o.seed = 99;
        assert_ok(tune(&s, folder, &o, &r));
        assert_false(exists(folder, "autotune_cache.json.old2")); /* it is in the store */
        free(folder);
    }
    free(foreign);
    qdq_free(cache);
    free(first);
}

/* As Model-Optimizer leaves it: nothing of a run is in it, and a group that it rejected stays float
 * at first. */
TEST(a_file_of_model_optimizer_is_a_start)
{
    static const char file[] =
        "{\"version\": 1, \"model_path\": \"m.onnx\", \"phase2\": {\"results\": ["
        "{\"group_id\": 0, \"trt_layer_name\": \"MatMul@h1\", \"best_scheme_name\": \"full_qdq\","
        " \"best_scheme_target_tensors\": []},"
        "{\"group_id\": 1, \"trt_layer_name\": \"MatMul@h2\", \"best_scheme_name\": \"full_qdq\","
        " \"best_scheme_target_tensors\": [\"r1\", \"b\"]},"
        "{\"group_id\": 2, \"trt_layer_name\": \"MatMul@h3\", \"best_scheme_name\": \"full_qdq\","
        " \"best_scheme_target_tensors\": [\"nothing of that name\"]}]},"
        "\"phase3\": {\"candidates\": [0, 1], \"validated\": [{\"group_id\": 0, \"kept\": false,"
        " \"latency_ms\": Infinity, \"reason\": \"failed\"}], \"completed\": false}}";
    char *folder = folder_with("theirs", file, strlen(file));
    qdq_tune_opts o = opts(&before);
    qdq_tune_result r;

    o.strategy = QDQ_TUNE_MINCUT;
    assert_ok(tune(&before, folder, &o, &r));
    assert_true(test_tuned_has(folder, "report.html", ">autotune_cache.json</"));
    assert_true(same_text(folder, "autotune_cache.json.old", file));
    free(folder);
}

/* A torn file is moved aside. */
TEST(a_torn_cache_is_set_aside)
{
    char *first = strdup(test_path("untorn"));
    const qdq_tune_result want = run(&before, first);
    char *cache = test_tuned_file(first, "autotune_cache.json");
    char *folder = folder_with("torn", cache, strlen(cache) / 2);

    assert_int_equal(run(&before, folder).isolated_builds, want.isolated_builds);
    assert_true(exists(folder, "autotune_cache.json.bad") && exists(folder, "autotune_cache.json"));
    assert_same_end(folder, first);
    free(folder);
    qdq_free(cache);
    free(first);
}
