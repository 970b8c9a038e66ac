/* tune_pattern_cache_bad.c - pattern caches with what is missing or malformed: defaults, what is
 * left out and why, and what is refused. */
#include "support/cache_setting.h"

/* --- what is missing or wrong ----------------------------------------------------------------- */

static void parse(const char *text, qdq_pattern_cache *c)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_pattern_cache_parse(text, strlen(text), "c.yaml", NULL, c, &err));
}

TEST(missing_keys_have_defaults)
{
    qdq_pattern_cache c;

    parse("pattern_schemes:\n- pattern_signature: P\n  schemes:\n  - {}\n  - latency_ms: 3\n"
          "    nodes_insertion_points: [{node_index: 1, input_index: 0}, {node_index: 1, "
          "input_index: 0}]\n"
          "    region_outputs: [{node_index: 2, output_index: 1}]\n    more: x\n",
          &c);
    assert_int_equal(c.minimum_distance, 4);
    assert_int_equal(c.max_entries, 32);
    assert_int_equal(c.patterns.at[0]->size, 0);
    EXPECT_LATENCIES(&c, "P", 3, INFINITY);
    const qdq_scheme *s = &c.patterns.at[0]->schemes.at[0];
    assert_int_equal(s->node_inputs.n, 1);
    assert_int_equal(s->outputs.at[0].region, QDQ_POINT_NONE);
    assert_int_equal(s->outputs.at[0].node, 2);
    assert_false(s->error);
    assert_null(s->timestamp);
    qdq_pattern_cache_free(&c);
    parse("patterns: null\nconfig:\n  pattern_cache_minimum_distance: 2\n  "
          "pattern_cache_max_entries_per_pattern: 0\n"
          "  other: 3\n",
          &c);
    assert_int_equal(c.minimum_distance, 2);
    assert_int_equal(c.max_entries, 0);
    assert_int_equal(c.patterns.n, 0);
    qdq_pattern_cache_free(&c);
}

/* In states, patterns come once for each time they were tuned; what failed is to be tried again. */
TEST(a_state_gives_each_pattern_once_and_no_failures)
{
    qdq_pattern_cache c;

    parse("patterns:\n- pattern_signature: P\n  schemes: [{latency_ms: 5}]\n"
          "- pattern_signature: empty\n  schemes: []\n"
          "- pattern_signature: P\n  schemes: [{latency_ms: 4}, {latency_ms: .inf, error: true, "
          "nodes_insertion_points: [{node_index: 0, input_index: 0}]}]\n",
          &c);
    assert_int_equal(c.patterns.n, 1);
    EXPECT_LATENCIES(&c, "P", 4);
    qdq_pattern_cache_free(&c);
}

typedef struct recorded_lines {
    char text[1000];
    unsigned n;
} recorded_lines;

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    recorded_lines *h = ctx;

    assert_int_equal(level, QDQ_LOG_WARNING);
    snprintf(h->text, sizeof h->text, "%s", text);
    h->n++;
}

/* Of `part`, which is malformed, one line says so; the rest is read. */
static void parse_around(const char *part, const char *text, const char *says, qdq_pattern_cache *c)
{
    qdq_error err = QDQ_ERROR_INIT;
    recorded_lines h = {.n = 0};
    qdq_job job = QDQ_JOB_INIT;

    job.ctx = &h;
    job.log = record_line;
    assert_ok(qdq_pattern_cache_parse(text, strlen(text), "c.yaml", &job, c, &err));
    if (h.n != 1 || strstr(h.text, says) == NULL)
        fail_msg("%s: said %u times: %s", part, h.n, h.text);
}

TEST(a_malformed_pattern_is_left_out_with_line_and_reason)
{
    static const struct {
        const char *pattern, *says;
    } cases[] = {
        {"12", "c.yaml:4:3: 'item' is '12', expected a map: pattern left out"},
        {"pattern_size: 2", "c.yaml:4:3: no key 'pattern_signature': pattern left out"},
        {"pattern_signature: null", "no key 'pattern_signature'"},
        {"pattern_signature: [a]", "c.yaml:4:22: 'pattern_signature' is 'a list', expected a text"},
        {"{pattern_signature: B, pattern_size: -2}",
         "'pattern_size' is '-2', expected a number from 0 on"},
        {"{pattern_signature: B, schemes: 3}", "'schemes' is '3', expected a list"},
        {"{pattern_signature: B, schemes: [3]}", "'item' is '3', expected a map"},
        {"{pattern_signature: B, schemes: [{latency_ms: -1}]}",
         "'latency_ms' is '-1', expected milliseconds"},
        {"{pattern_signature: B, schemes: [{latency_ms: '1'}]}", "'latency_ms' is '1'"},
        {"{pattern_signature: B, schemes: [{latency_ms: .nan}]}", "'latency_ms' is '.nan'"},
        {"{pattern_signature: B, schemes: [{latency_ms: -.inf}]}", "'latency_ms' is '-.inf'"},
        {"{pattern_signature: B, schemes: [{latency_ms: 1e999}]}", "'latency_ms' is '1e999'"},
        {"{pattern_signature: B, schemes: [{latency_ms: 1e}]}", "'latency_ms' is '1e'"},
        {"{pattern_signature: B, schemes: [{latency_ms: 0x10}]}", "'latency_ms' is '0x10'"},
        {"{pattern_signature: B, schemes: [{latency_ms: .}]}", "'latency_ms' is '.'"},
        {"{pattern_signature: B, schemes: [{latency_ms: []}]}", "'latency_ms' is 'a list'"},
        {"{pattern_signature: B, schemes: [{error: 1}]}", "'error' is '1', expected true or false"},
        {"{pattern_signature: B, schemes: [{profile_timestamp: []}]}",
         "'profile_timestamp' is 'a list'"},
        {"{pattern_signature: B, schemes: [{nodes_insertion_points: {}}]}",
         "'nodes_insertion_points' is 'a map'"},
        {"{pattern_signature: B, schemes: [{nodes_insertion_points: [1]}]}",
         "'item' is '1', expected a map"},
        {"{pattern_signature: B, schemes: [{nodes_insertion_points: [{node_index: 1}]}]}",
         "no key 'input_index'"},
        {"{pattern_signature: B, schemes: [{nodes_insertion_points: [{input_index: 1}]}]}",
         "no key 'node_index'"},
        {"{pattern_signature: B, schemes: [{nodes_insertion_points: [{node_index: null, "
         "input_index: 1}]}]}",
         "'node_index' is 'null'"},
        {"{pattern_signature: B, schemes: [{nodes_insertion_points: [{node_index: 2147483648, "
         "input_index: "
         "1}]}]}",
         "'node_index' is '2147483648'"},
        {"{pattern_signature: B, schemes: [{child_region_inputs: [{region_index: a, input_index: "
         "1}]}]}",
         "'region_index' is 'a'"},
        {"{pattern_signature: B, schemes: [{region_outputs: [{region_index: 1, node_index: 1, "
         "output_index: "
         "1}]}]}",
         "expected one of 'region_index' and 'node_index' to be null"},
        {"{pattern_signature: B, schemes: [{region_outputs: [{output_index: 1}]}]}",
         "expected one of 'region_index' and 'node_index' to be null"},
        {"{pattern_signature: B, schemes: [{region_outputs: [{node_index: 1}]}]}",
         "no key 'output_index'"},
        {"{pattern_signature: B, canonical_hash: [1]}",
         "'canonical_hash' is 'a list', expected 32 digits"},
        {"{pattern_signature: B, engine: [1]}", "'engine' is 'a list', expected a text"},
        {"{pattern_signature: B, device: {}}", "'device' is 'a map', expected a text"},
        {"{pattern_signature: B, options: []}", "'options' is 'a list', expected a text"},
        {"{pattern_signature: (model)}", "'pattern_signature' is '(model)', expected operators"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_pattern_cache c;
        char text[1000];

        snprintf(text, sizeof text,
                 "pattern_schemes:\n- pattern_signature: A\n  schemes: [{latency_ms: 1}]\n- %s\n"
                 "- pattern_signature: C\n  schemes: [{latency_ms: 2.5e+1}]\n",
                 cases[i].pattern);
        parse_around(cases[i].pattern, text, cases[i].says, &c);
        assert_int_equal(c.patterns.n, 2);
        EXPECT_LATENCIES(&c, "A", 1);
        EXPECT_LATENCIES(&c, "C", 25);
        qdq_pattern_cache_free(&c);
    }
}

TEST(a_malformed_model_is_left_out_with_line_and_reason)
{
    static const struct {
        const char *model, *says;
    } cases[] = {
        {"12", "c.yaml:4:3: 'item' is '12', expected a map: model left out"},
        {"{nodes: 1}", "c.yaml:4:3: no key 'canonical_hash': model left out"},
        {"{canonical_hash: a, nodes: x}", "'nodes' is 'x', expected a number from 0 on"},
        {"{canonical_hash: a, best: []}", "'best' is 'a list', expected hexadecimal digits"},
        {"{canonical_hash: a, settled: []}", "'settled' is 'a list', expected 32 digits"},
        {"{canonical_hash: a, placements: 1}", "'placements' is '1', expected a list"},
        {"{canonical_hash: a, placements: [1]}", "'item' is '1', expected a map"},
        {"{canonical_hash: a, placements: [{latency_ms: 1}]}", "no key 'placement'"},
        {"{canonical_hash: a, placements: [{placement: [], latency_ms: 1}]}",
         "'placement' is 'a list'"},
        {"{canonical_hash: a, placements: [{placement: f/, latency_ms: x}]}",
         "'latency_ms' is 'x'"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_pattern_cache c;
        char text[1000];

        snprintf(text, sizeof text,
                 "pattern_schemes: []\nmodels:\n- {canonical_hash: b, placements: [{placement: "
                 "1/}]}\n- %s\n",
                 cases[i].model);
        parse_around(cases[i].model, text, cases[i].says, &c);
        assert_int_equal(c.patterns.n, 1);
        qdq_pattern_cache_free(&c);
    }
}

/* What differs in form, engine, device or options is another entry, and all of it is written and
 * read. */
TEST(equal_signatures_of_other_forms_stand_beside_each_other)
{
    static const qdq_pattern_key keys[] = {{"Conv->Relu", NULL, NULL, NULL, NULL},
                                           {"Conv->Relu", "aa", "ort 1", "x86", "threads=1"},
                                           {"Conv->Relu", "bb", "ort 1", "x86", "threads=1"},
                                           {"Conv->Relu", "aa", "ort 2", "x86", "threads=1"},
                                           {"Conv->Relu", "aa", "ort 1", "arm", "threads=1"},
                                           {"Conv->Relu", "aa", "ort 1", "x86", "threads=2"},
                                           {QDQ_PATTERN_MODEL, "aa", "ort 1", "x86", "threads=1"}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT, again;

    for (size_t i = 0; i < QDQ_COUNT(keys); i++) {
        const bool is_model = i + 1 == QDQ_COUNT(keys);
        qdq_pattern_schemes ps = {.key = keys[i], .size = 2};
        qdq_scheme s = scheme(&arena, (double)i + 1, is_model ? "" : "0");
        s.placement = is_model ? "3f/1" : NULL;
        s.timestamp = "2026-11-23T10:00:00+00:00";
        ps.best = is_model ? "3f/1" : NULL;
        ps.settled = is_model ? "5ea1" : NULL;
        give(&arena, &ps, s);
        assert_ok(qdq_pattern_cache_add(&c, &ps, &err));
    }
    char *text = text_of(&c);
    assert_ok(qdq_pattern_cache_parse(text, strlen(text), "again", NULL, &again, &err));
    assert_int_equal(again.patterns.n, QDQ_COUNT(keys));
    for (size_t i = 0; i < QDQ_COUNT(keys); i++) {
        const qdq_pattern_schemes *ps = qdq_pattern_cache_find(&again, &keys[i]);
        assert_non_null(ps);
        assert_true(ps->schemes.n == 1 && ps->schemes.at[0].latency_ms == (double)i + 1);
        assert_string_equal(ps->schemes.at[0].timestamp, "2026-11-23T10:00:00+00:00");
    }
    const qdq_pattern_schemes *model = qdq_pattern_cache_find(&again, &keys[QDQ_COUNT(keys) - 1]);
    assert_string_equal(model->best, "3f/1");
    assert_string_equal(model->settled, "5ea1");
    assert_string_equal(model->schemes.at[0].placement, "3f/1");
    qdq_free(text);
    qdq_pattern_cache_free(&c);
    qdq_pattern_cache_free(&again);
    qdq_arena_free(&arena);
}

static void refuse(const char *text, const char *says)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_pattern_cache c;

    assert_fails(QDQ_E_FORMAT, says,
                 qdq_pattern_cache_parse(text, strlen(text), "c.yaml", NULL, &c, &err));
    assert_int_equal(c.patterns.n, 0);
}

TEST(what_is_no_cache_is_refused)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_pattern_cache c;

    refuse("", "c.yaml: neither 'pattern_schemes' nor 'patterns', expected a pattern cache");
    refuse("[1]", "neither 'pattern_schemes' nor 'patterns'");
    refuse("text", "neither 'pattern_schemes' nor 'patterns'");
    refuse("pattern_schemes: 1\n", "c.yaml:1:18: 'pattern_schemes' is '1', expected a list");
    refuse("minimum_distance: x\npattern_schemes: []\n",
           "c.yaml:1:19: 'minimum_distance' is 'x', expected a number");
    refuse("max_entries_per_pattern: 9999999999\npattern_schemes: []\n",
           "'max_entries_per_pattern'");
    refuse("pattern_schemes: [\n", "c.yaml:2:1: not YAML");
    refuse("pattern_schemes: &a []\n", "found an anchor");
    assert_fails(QDQ_E_IO, "no_such.yaml",
                 qdq_pattern_cache_load(test_path("no_such.yaml"), NULL, &c, &err));
}

/* The program around the library may use a decimal comma. */
TEST(the_locale_does_not_matter)
{
    qdq_pattern_cache c;
    char *text;

    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL &&
        setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL)
        skip();
    parse("pattern_schemes:\n- pattern_signature: P\n  schemes: [{latency_ms: 1.25}]\n", &c);
    EXPECT_LATENCIES(&c, "P", 1.25);
    text = text_of(&c);
    setlocale(LC_NUMERIC, "C");
    assert_non_null(strstr(text, "latency_ms: 1.25\n"));
    qdq_free(text);
    qdq_pattern_cache_free(&c);
}
