/* tune_autotune_cache.c - autotune_cache.json: read as Model-Optimizer writes it, written so that
 * it can be read. */
#include "tune/cache/autotune_cache.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/quarantine.h"
#include "support/disk.h"

static qdq_error err;

/* As Python's json writes it after the second decision: group 7 could not be built, nothing was
 * profiled in group 9. */
static const char original[] =
    "{\n"
    "  \"version\": 1,\n"
    "  \"model_path\": \"/models/NaN \\\"Infinity\\\".onnx\",\n"
    "  \"phase2\": {\n"
    "    \"results\": [\n"
    "      {\n"
    "        \"group_id\": 4,\n"
    "        \"trt_layer_name\": \"/l1/Conv + PWN(/l1/Relu)\",\n"
    "        \"baseline_latency_ms\": 0.0415039,\n"
    "        \"best_scheme_name\": \"full_qdq\",\n"
    "        \"best_scheme_target_tensors\": [\"l1.weight\", \"/l0/Relu_output_0\"],\n"
    "        \"best_scheme_description\": \"Full QDQ on all weights + activations\",\n"
    "        \"best_latency_ms\": 0.03125,\n"
    "        \"baseline_compute_ms\": 0.0251,\n"
    "        \"best_compute_ms\": 0.0143\n"
    "      },\n"
    "      {\n"
    "        \"group_id\": 7,\n"
    "        \"trt_layer_name\": \"/l2/MatMul\",\n"
    "        \"baseline_latency_ms\": Infinity,\n"
    "        \"best_scheme_name\": \"baseline\",\n"
    "        \"best_scheme_target_tensors\": [],\n"
    "        \"best_scheme_description\": \"\",\n"
    "        \"best_latency_ms\": -Infinity,\n"
    "        \"baseline_compute_ms\": 0.0,\n"
    "        \"best_compute_ms\": NaN\n"
    "      },\n"
    "      {\"group_id\": 9}\n"
    "    ]\n"
    "  },\n"
    "  \"phase3\": {\n"
    "    \"full_baseline_ms\": 1.25,\n"
    "    \"candidates\": [4, 9],\n"
    "    \"validated\": [\n"
    "      {\"group_id\": 4, \"kept\": true, \"latency_ms\": 1.125},\n"
    "      {\"group_id\": 9, \"kept\": false, \"latency_ms\": Infinity, \"reason\": \"no such "
    "tensor\"}\n"
    "    ],\n"
    "    \"current_latency_ms\": 1.125,\n"
    "    \"completed\": false,\n"
    "    \"member of a later version\": {\"a\": [1, 2]}\n"
    "  }\n"
    "}";

static qdq_status parse(const char *text, qdq_autotune_cache *c)
{
    return qdq_autotune_cache_parse(text, strlen(text), "c.json", c, &err);
}

/* What is in `original`. */
static void assert_original(const qdq_autotune_cache *c)
{
    assert_string_equal(c->model, "/models/NaN \"Infinity\".onnx");
    assert_int_equal(c->groups.n, 3);
    const qdq_cached_group *g = c->groups.at;
    assert_int_equal(g[0].id, 4);
    assert_string_equal(g[0].layer, "/l1/Conv + PWN(/l1/Relu)");
    assert_string_equal(g[0].scheme, "full_qdq");
    assert_string_equal(g[0].what, "Full QDQ on all weights + activations");
    assert_int_equal(g[0].n_tensors, 2);
    assert_string_equal(g[0].tensor[0], "l1.weight");
    assert_string_equal(g[0].tensor[1], "/l0/Relu_output_0");
    assert_true(g[0].base_ms == 0.0415039 && g[0].best_ms == 0.03125);
    assert_true(g[0].base_compute_ms == 0.0251 && g[0].best_compute_ms == 0.0143);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(g[i].id, i == 1 ? 7 : 9);
        assert_string_equal(g[i].layer, i == 1 ? "/l2/MatMul" : "");
        assert_string_equal(g[i].scheme, "baseline");
        assert_string_equal(g[i].what, "");
        assert_int_equal(g[i].n_tensors, 0);
        assert_true(isnan(g[i].base_ms) && isnan(g[i].best_ms) && isnan(g[i].base_compute_ms) &&
                    isnan(g[i].best_compute_ms));
    }
    assert_true(c->base_ms == 1.25 && c->current_ms == 1.125);
    assert_int_equal(c->candidates.n, 2);
    assert_true(c->candidates.at[0] == 4 && c->candidates.at[1] == 9);
    assert_int_equal(c->decisions.n, 2);
    assert_true(c->decisions.at[0].group == 4 && c->decisions.at[0].accepted &&
                c->decisions.at[0].ms == 1.125);
    assert_null(c->decisions.at[0].reason);
    assert_true(c->decisions.at[1].group == 9 && !c->decisions.at[1].accepted &&
                isnan(c->decisions.at[1].ms));
    assert_string_equal(c->decisions.at[1].reason, "no such tensor");
    assert_false(c->completed);
}

TEST(a_file_of_model_optimizer_is_read)
{
    qdq_autotune_cache c;

    assert_ok(parse(original, &c));
    assert_original(&c);
    qdq_autotune_cache_free(&c);
}

TEST(what_is_missing_is_not_known)
{
    static const char *const texts[] = {
        "{}", "{\"phase2\": {}, \"phase3\": {}}",
        "{\"version\": 1, \"model_path\": null, \"phase2\": null, \"phase3\": {\"validated\": "
        "null, "
        "\"candidates\": null, "
        "\"full_baseline_ms\": null, \"current_latency_ms\": 0, \"completed\": null}}"};

    for (size_t i = 0; i < QDQ_COUNT(texts); i++) {
        qdq_autotune_cache c;
        assert_ok(parse(texts[i], &c));
        assert_string_equal(c.model, "");
        assert_true(c.groups.n == 0 && c.candidates.n == 0 && c.decisions.n == 0 && !c.completed);
        assert_true(isnan(c.base_ms) && isnan(c.current_ms));
        qdq_autotune_cache_free(&c);
    }
}

TEST(what_is_written_is_strict_and_reads_back_the_same)
{
    qdq_autotune_cache c, again;
    json_t *root;
    char *text;

    assert_ok(parse(original, &c));
    c.completed = true;
    assert_ok(qdq_autotune_cache_text(&c, &text, &err));
    assert_ok(qdq_json_parse(text, strlen(text), "c.json", &root, &err)); /* which takes no NaN */
    const json_t *second =
        json_array_get(json_object_get(json_object_get(root, "phase2"), "results"), 1);
    assert_true(json_is_null(json_object_get(second, "baseline_latency_ms")));
    assert_true(json_is_array(json_object_get(second, "best_scheme_target_tensors")));
    json_decref(root);
    assert_ok(parse(text, &again));
    assert_true(again.completed);
    again.completed = false;
    assert_original(&again);
    qdq_free(text);
    qdq_autotune_cache_free(&c);
    qdq_autotune_cache_free(&again);
}

TEST(an_empty_one_can_be_written)
{
    const char *path = test_path("empty.json");
    qdq_autotune_cache c;
    char *text;
    size_t size;

    qdq_autotune_cache_init(&c);
    assert_ok(qdq_autotune_cache_write(&c, path, &err));
    assert_ok(qdq_read_file(path, 1 << 20, &text, &size, &err));
    assert_string_equal(text, "{\n"
                              "  \"version\": 1,\n"
                              "  \"model_path\": \"\",\n"
                              "  \"phase2\": {\n"
                              "    \"results\": []\n"
                              "  },\n"
                              "  \"phase3\": {\n"
                              "    \"full_baseline_ms\": null,\n"
                              "    \"candidates\": [],\n"
                              "    \"validated\": [],\n"
                              "    \"next\": null,\n"
                              "    \"current_latency_ms\": null,\n"
                              "    \"completed\": false\n"
                              "  }\n"
                              "}\n");
    qdq_free(text);
    assert_ok(qdq_autotune_cache_read(path, &c, &err));
    qdq_autotune_cache_free(&c);
}

/* Which run it is, samples, and where validation goes on: what Model-Optimizer does not write. */
TEST(the_state_of_a_run_reads_back_the_same)
{
    static const double us[] = {100.5, 30.125, 0};
    qdq_autotune_cache c, again;
    char *text;

    qdq_autotune_cache_init(&c);
    c.fingerprint = "0123";
    c.run = 2;
    c.next = 7;
    assert_true(QDQ_PUSH(
        &c.arena, &c.groups,
        ((qdq_cached_group){.id = 7, .layer = "", .scheme = "", .what = "", .in_progress = true})));
    assert_true(QDQ_PUSH(&c.arena, &c.samples, ((qdq_cached_samples){"first look", us, 3})));
    assert_true(QDQ_PUSH(&c.arena, &c.decisions,
                         ((qdq_cached_decision){.group = 3, .ms = NAN, .verdict = "undecided"})));
    assert_ok(qdq_autotune_cache_text(&c, &text, &err));
    assert_ok(parse(text, &again));
    assert_string_equal(again.fingerprint, "0123");
    assert_true(again.run == 2 && again.next == 7 && again.groups.at[0].in_progress);
    assert_true(again.samples.n == 1 && again.samples.at[0].n == 3);
    assert_string_equal(again.samples.at[0].key, "first look");
    assert_memory_equal(again.samples.at[0].us, us, sizeof us);
    assert_string_equal(again.decisions.at[0].verdict, "undecided");
    qdq_free(text);
    qdq_autotune_cache_free(&c);
    qdq_autotune_cache_free(&again);
}

/* Names of tensors need be no UTF-8. */
TEST(odd_names_make_no_broken_file)
{
    static const char *const tensors[] = {"a\xff", "tab\there"};
    qdq_autotune_cache c, again;
    const qdq_cached_group g = {.id = 1,
                                .layer = "\xc3",
                                .scheme = "full",
                                .what = "",
                                .tensor = tensors,
                                .n_tensors = 2,
                                .base_ms = INFINITY,
                                .best_ms = 1e-300,
                                .base_compute_ms = -INFINITY,
                                .best_compute_ms = NAN};
    char *text;

    qdq_autotune_cache_init(&c);
    assert_true(QDQ_PUSH(&c.arena, &c.groups, g));
    assert_ok(qdq_autotune_cache_text(&c, &text, &err));
    assert_ok(parse(text, &again));
    assert_string_equal(again.groups.at[0].tensor[0], "a?");
    assert_string_equal(again.groups.at[0].tensor[1], "tab\there");
    assert_true(isnan(again.groups.at[0].base_ms) && again.groups.at[0].best_ms == 1e-300);
    qdq_free(text);
    qdq_autotune_cache_free(&c);
    qdq_autotune_cache_free(&again);
}

/* --- what is wrong ---------------------------------------------------------------------------- */

TEST(mistakes_have_their_place)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "c.json: line 1 column 0: not JSON"},
        {"[]", "c.json: top level: expected an object"},
        {"{\"version\": 2}", "key 'version': expected 1"},
        {"{\"version\": \"1\"}", "key 'version': expected a whole number"},
        {"{\"model_path\": 3}", "key 'model_path': expected a string"},
        {"{\"phase2\": []}", "key 'phase2': expected an object"},
        {"{\"phase2\": {\n\"results\": {}}}",
         "line 2: phase2, key 'results': expected a list of objects"},
        {"{\"phase2\": {\"results\": [3]}}", "phase2.results[0]: expected an object"},
        {"{\"phase2\": {\"results\": [\n{}]}}",
         "c.json: line 2: phase2.results[0], key 'group_id': expected the number of a group"},
        {"{\"phase2\": {\"results\": [{\"group_id\": -1}]}}",
         "key 'group_id': expected a whole number"},
        {"{\"phase2\": {\"results\": [{\"group_id\": 1.5}]}}",
         "key 'group_id': expected a whole number"},
        {"{\"phase2\": {\"results\": [{\"group_id\": 1, \"best_latency_ms\": -1}]}}",
         "phase2.results[0], key 'best_latency_ms': expected a number of at least 0"},
        {"{\"phase2\": {\"results\": [{\"group_id\": 1, \"best_latency_ms\": \"1\"}]}}",
         "key 'best_latency_ms': expected a number"},
        {"{\"phase2\": {\"results\": [{\"group_id\": 1, \"best_scheme_target_tensors\": [[]]}]}}",
         "key 'best_scheme_target_tensors': expected a list of strings"},
        {"{\"phase3\": {\"candidates\": 3}}",
         "phase3, key 'candidates': expected a list of numbers of groups"},
        {"{\"phase3\": {\"candidates\": [1, \"2\"]}}",
         "phase3, key 'candidates': expected a list of numbers"},
        {"{\"phase3\": {\"validated\": [{\"group_id\": 1}]}}",
         "phase3.validated[0], key 'kept': expected true or false"},
        {"{\"phase3\": {\"validated\": [{\"group_id\": 1, \"kept\": 1}]}}",
         "key 'kept': expected true or false"},
        {"{\"run\": {\"number\": -1}}", "run, key 'number': expected a whole number"},
        {"{\"phase2\": {\"samples\": []}}", "phase2, key 'samples': expected an object"},
        {"{\"phase2\": {\"samples\": {\"k\": 3}}}",
         "phase2.samples, key 'k': expected a list of times in us"},
        {"{\"phase2\": {\"samples\": {\"k\": [1, -2]}}}",
         "key 'k': expected a list of times in us"},
        {"{\"phase2\": {\"samples\": {\"k\": [\"1\"]}}}",
         "key 'k': expected a list of times in us"},
        {"{\"phase3\": {\"next\": -1}}", "phase3, key 'next': expected a whole number"},
        {"{\"a\": 1, \"a\": 2}", "not JSON"},
        {"{\"a\": Infinityx}", "not JSON"},
        {"{\"a\": NaNNaN}", "not JSON"},
        {"{\"a\": -NaN}", "not JSON"},
        {"{NaN: 1}", "not JSON"},
        {"{\"a\": \"\\", "not JSON"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_autotune_cache c;
        assert_fails(QDQ_E_FORMAT, cases[i].why, parse(cases[i].text, &c));
        assert_non_null(strstr(err.text, "c.json"));
        qdq_autotune_cache_free(&c);
    }
}

/* Killed while it was written by something that knows no rename. */
TEST(a_torn_file_is_refused_wherever_it_ends)
{
    qdq_autotune_cache c;

    for (size_t n = 0; n + 1 < sizeof original; n++) {
        assert_int_equal(qdq_autotune_cache_parse(original, n, "c.json", &c, &err), QDQ_E_FORMAT);
        qdq_autotune_cache_free(&c);
    }
}

static void write_text(const char *path, const char *text)
{
    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
}

static void assert_text(const char *path, const char *want)
{
    char *text;
    size_t size;

    assert_ok(qdq_read_file(path, 1 << 20, &text, &size, &err));
    assert_string_equal(text, want);
    qdq_free(text);
}

/* What the caller does then. Nothing that was kept before is lost. */
TEST(a_torn_file_is_moved_aside)
{
    char *path = strdup(test_path("torn/autotune_cache.json")), *folder = strdup(test_path("torn")),
         *kept;
    qdq_autotune_cache c;

    assert_int_equal(mkdir(folder, 0777), 0);
    for (int i = 1; i <= 3; i++) {
        char torn[40], want[4400];
        snprintf(torn, sizeof torn, "{\"version\": 1, \"phase%d", i);
        write_text(path, torn);
        assert_int_equal(qdq_autotune_cache_read(path, &c, &err), QDQ_E_FORMAT);
        qdq_autotune_cache_free(&c);
        assert_ok(qdq_set_aside(path, "bad", &kept, &err));
        snprintf(want, sizeof want, i > 1 ? "%s.bad%d" : "%s.bad", path, i);
        assert_string_equal(kept, want);
        assert_text(kept, torn);
        assert_int_equal(test_count_files(folder), i);
        qdq_free(kept);
        assert_fails(QDQ_E_IO, path, qdq_autotune_cache_read(path, &c, &err));
    }
    assert_fails(QDQ_E_IO, "cannot be kept", qdq_set_aside(path, "bad", &kept, &err));
    assert_null(kept);
    qdq_autotune_cache_init(&c);
    assert_ok(qdq_autotune_cache_write(&c, path, &err));
    assert_ok(qdq_set_aside(path, "bad", NULL, &err));
    assert_int_equal(test_count_files(folder), 4);
    free(folder);
    free(path);
}

/* The one before stays, whole. */
TEST(a_full_disk_leaves_the_file_before)
{
    const char *disk = test_small_disk(1 << 16);
    char path[4300];
    qdq_autotune_cache c;

    if (disk == NULL) {
        test_missing("a disk of its own");
        return;
    }
    snprintf(path, sizeof path, "%s/autotune_cache.json", disk);
    assert_ok(parse(original, &c));
    assert_ok(qdq_autotune_cache_write(&c, path, &err));
    const qdq_cached_group first = c.groups.at[0];
    for (int i = 0; i < 1000; i++)
        assert_true(QDQ_PUSH(&c.arena, &c.groups, first));
    assert_fails(QDQ_E_IO, "cannot write", qdq_autotune_cache_write(&c, path, &err));
    assert_int_equal(test_count_files(disk), 1);
    qdq_autotune_cache_free(&c);
    assert_ok(qdq_autotune_cache_read(path, &c, &err));
    assert_original(&c);
    qdq_autotune_cache_free(&c);
}
