/* tune_pattern_cache.c - what a cache keeps, and its files: ours, and those of Model-Optimizer,
 * both ways. */
#include "support/cache_setting.h"

/* --- schemes of node inputs (k, 0) ------------------------------------------------------------ */

/* Save, load, save: the same bytes, so the same cache. */
static void expect_round_trip(const qdq_pattern_cache *c)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_pattern_cache again;
    char *text = text_of(c), *second;

    assert_ok(qdq_pattern_cache_parse(text, strlen(text), "again", NULL, &again, &err));
    assert_int_equal(again.minimum_distance, c->minimum_distance);
    assert_int_equal(again.max_entries, c->max_entries);
    assert_int_equal(again.patterns.n, c->patterns.n);
    second = text_of(&again);
    assert_string_equal(text, second);
    qdq_free(text);
    qdq_free(second);
    qdq_pattern_cache_free(&again);
}

/* --- eviction --------------------------------------------------------------------------------- */

TEST(near_and_slow_schemes_are_evicted)
{
    static const unsigned max_entries[] = {32, 2};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pattern_schemes ps = {.key = {.signature = "Conv->Relu"}, .size = 2};

    give(&arena, &ps, scheme(&arena, 10, ""));
    give(&arena, &ps, scheme(&arena, 9, "0"));
    give(&arena, &ps, scheme(&arena, 8, "01234"));
    give(&arena, &ps, scheme(&arena, 12, "56789"));
    for (size_t i = 0; i < 2; i++) {
        qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT;

        c.max_entries = max_entries[i];
        assert_ok(qdq_pattern_cache_add(&c, &ps, &err));
        if (i == 0)
            EXPECT_LATENCIES(&c, "Conv->Relu", 8, 9, 12);
        else
            EXPECT_LATENCIES(&c, "Conv->Relu", 8, 9);
        expect_round_trip(&c);
        qdq_pattern_cache_free(&c);
    }
    qdq_arena_free(&arena);
}

TEST(without_a_distance_each_scheme_stays_once)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pattern_schemes ps = {.key = {.signature = "Conv->Relu"}, .size = 2};
    qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT;

    c.minimum_distance = 0;
    give(&arena, &ps, scheme(&arena, 10, ""));
    give(&arena, &ps, scheme(&arena, 9, "0"));
    give(&arena, &ps, scheme(&arena, 7, "0"));
    give(&arena, &ps, scheme(&arena, 3, "1"));
    ps.schemes.at[3].error = true;
    give(&arena, &ps, scheme(&arena, INFINITY, "2"));
    assert_ok(qdq_pattern_cache_add(&c, &ps, &err));
    EXPECT_LATENCIES(&c, "Conv->Relu", 7, 10, INFINITY);
    expect_round_trip(&c);
    qdq_pattern_cache_free(&c);
    qdq_arena_free(&arena);
}

TEST(what_is_added_later_meets_what_is_there)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pattern_schemes first = {.key = {.signature = "P"}, .size = 9},
                        second = {.key = {.signature = "P"}, .size = 10};
    qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT;

    give(&arena, &first, scheme(&arena, 5, "0123"));
    give(&arena, &first, scheme(&arena, 6, "45678"));
    give(&arena, &second, scheme(&arena, 4, "45678")); /* the same, faster */
    /* near one that is as fast: new ones come first */
    give(&arena, &second, scheme(&arena, 5, "012"));
    assert_ok(qdq_pattern_cache_add(&c, &first, &err));
    assert_ok(qdq_pattern_cache_add(&c, &second, &err));
    EXPECT_LATENCIES(&c, "P", 4, 5);
    assert_int_equal(c.patterns.at[0]->size, 10);
    assert_int_equal(c.patterns.at[0]->schemes.at[1].node_inputs.n, 3);
    assert_int_equal(c.patterns.n, 1);
    qdq_arena_free(&arena); /* all was copied */
    expect_round_trip(&c);
    qdq_pattern_cache_free(&c);
}

/* --- merging ---------------------------------------------------------------------------------- */

static void add_one(qdq_pattern_cache *c, const char *signature, double ms, const char *nodes)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pattern_schemes ps = {.key = {.signature = signature}, .size = 3};

    give(&arena, &ps, scheme(&arena, ms, nodes));
    assert_ok(qdq_pattern_cache_add(c, &ps, &err));
    qdq_arena_free(&arena);
}

TEST(merging_prefers_what_is_there_or_adds_to_it)
{
    qdq_error err = QDQ_ERROR_INIT;

    for (int prefer = 0; prefer < 2; prefer++) {
        qdq_pattern_cache a = QDQ_PATTERN_CACHE_INIT, b = QDQ_PATTERN_CACHE_INIT;

        add_one(&a, "both", 5, "0123");
        add_one(&a, "mine", 7, "0");
        add_one(&b, "yours", 8, "1");
        add_one(&b, "both", 4, "4567");
        assert_ok(qdq_pattern_cache_merge(&a, &b, prefer == 1, &err));
        qdq_pattern_cache_free(&b);
        assert_int_equal(a.patterns.n, 3);
        assert_string_equal(a.patterns.at[2]->key.signature, "yours");
        EXPECT_LATENCIES(&a, "mine", 7);
        EXPECT_LATENCIES(&a, "yours", 8);
        if (prefer == 1)
            EXPECT_LATENCIES(&a, "both", 5);
        else
            EXPECT_LATENCIES(&a, "both", 4, 5);
        assert_null(qdq_pattern_cache_find(&a, &(qdq_pattern_key){.signature = "neither"}));
        qdq_pattern_cache_free(&a);
    }
}

/* --- files of Model-Optimizer ----------------------------------------------------------------- */

static const char *fixture(const char *name)
{
    static char path[1024];

    snprintf(path, sizeof path, "%s/tests/data/patterns/%s", QDQ_SOURCE_DIR, name);
    return path;
}

static void load(const char *name, qdq_pattern_cache *c)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_pattern_cache_load(fixture(name), NULL, c, &err));
}

/* Every scheme has the hash that Model-Optimizer gave it. */
TEST(hashes_are_those_in_the_file_of_model_optimizer)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pattern_cache c;
    const qdq_yaml *top, *pattern;
    size_t size, n = 0, i = 0;
    char *text;

    load("autotuner_state_pattern_cache.yaml", &c);
    assert_ok(
        qdq_read_file(fixture("autotuner_state_pattern_cache.yaml"), 1 << 20, &text, &size, &err));
    assert_ok(qdq_yaml_parse(text, size, "modelopt", &arena, &top, &err));
    for (pattern = qdq_yaml_get(top, "pattern_schemes")->first; pattern != NULL;
         pattern = pattern->next, i++) {
        const qdq_pattern_schemes *ps = c.patterns.at[i];
        size_t k = 0;

        assert_string_equal(qdq_yaml_get(pattern, "pattern_signature")->text, ps->key.signature);
        for (const qdq_yaml *s = qdq_yaml_get(pattern, "schemes")->first; s != NULL;
             s = s->next, k++, n++) {
            char hash[33];

            qdq_scheme_hash(&ps->schemes.at[k], hash);
            assert_string_equal(qdq_yaml_get(s, "hash")->text, hash);
            assert_string_equal(qdq_yaml_get(s, "profile_timestamp")->text,
                                ps->schemes.at[k].timestamp);
        }
        assert_int_equal(k, ps->schemes.n);
    }
    assert_int_equal(i, c.patterns.n);
    assert_int_equal(i, 8);
    assert_int_equal(n, 12);
    qdq_free(text);
    qdq_arena_free(&arena);
    expect_round_trip(&c);
    qdq_pattern_cache_free(&c);
}

TEST(a_signature_that_is_folded_over_lines_is_one_text)
{
    qdq_pattern_cache c;

    load("autotuner_state_pattern_cache.yaml", &c);
    assert_non_null(qdq_pattern_cache_find(
        &c,
        &(qdq_pattern_key){.signature = "Constant[value=Constant (a quite long name of a constant: "
                                        "with # and spaces): (shape=[8], "
                                        "dtype=float32)]->Add<external:Relu,internal:Constant>"}));
    qdq_pattern_cache_free(&c);
}

/* The state has what was measured, its sibling what Model-Optimizer's cache kept of that. */
TEST(a_state_file_gives_the_cache_that_model_optimizer_keeps_beside_it)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_pattern_cache measured, theirs, ours = QDQ_PATTERN_CACHE_INIT;
    char *a, *b;

    load("autotuner_state.yaml", &measured);
    load("autotuner_state_pattern_cache.yaml", &theirs);
    assert_int_equal(measured.minimum_distance, 4);
    assert_int_equal(measured.max_entries, 32);
    assert_ok(qdq_pattern_cache_merge(&ours, &measured, true, &err));
    a = text_of(&ours);
    b = text_of(&theirs);
    assert_string_equal(a, b);
    qdq_free(a);
    qdq_free(b);
    qdq_pattern_cache_free(&ours);
    qdq_pattern_cache_free(&measured);
    qdq_pattern_cache_free(&theirs);
}

/* --- our files -------------------------------------------------------------------------------- */

/* The layout that Model-Optimizer's readers and people know. */
TEST(the_file_looks_like_model_optimizers)
{
    qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT;
    const qdq_point child = {1, QDQ_POINT_NONE, 0}, output = {QDQ_POINT_NONE, 1, 0};
    qdq_scheme *s;
    char *text;

    add_one(&c, "MatMul->Add<external:input-or-constant,internal:MatMul>", 11.75, "0");
    s = &c.patterns.at[0]->schemes.at[0];
    assert_true(QDQ_PUSH(&c.arena, &s->child_inputs, child) &&
                QDQ_PUSH(&c.arena, &s->outputs, output));
    s->timestamp = "2026-01-31T10:15:02.120000+00:00";
    add_one(&c, "Relu", INFINITY, "");
    text = text_of(&c);
    assert_string_equal(
        text, "minimum_distance: 4\n"
              "max_entries_per_pattern: 32\n"
              "pattern_schemes:\n"
              "- pattern_signature: 'MatMul->Add<external:input-or-constant,internal:MatMul>'\n"
              "  pattern_size: 3\n"
              "  schemes:\n"
              "  - latency_ms: 11.75\n"
              "    error: false\n"
              "    profile_timestamp: '2026-01-31T10:15:02.120000+00:00'\n"
              "    nodes_insertion_points:\n"
              "    - node_index: 0\n"
              "      input_index: 0\n"
              "    child_region_inputs:\n"
              "    - region_index: 1\n"
              "      input_index: 0\n"
              "    region_outputs:\n"
              "    - region_index: null\n"
              "      node_index: 1\n"
              "      output_index: 0\n"
              "    hash: 'c115d504aebde56a13119e8f2ce69a9a'\n"
              "- pattern_signature: 'Relu'\n"
              "  pattern_size: 3\n"
              "  schemes:\n"
              "  - latency_ms: .inf\n"
              "    error: false\n"
              "    profile_timestamp: null\n"
              "    nodes_insertion_points: []\n"
              "    child_region_inputs: []\n"
              "    region_outputs: []\n"
              "    hash: '735cc3cc897328fe2f9937a0441db2ec'\n");
    qdq_free(text);
    expect_round_trip(&c);
    qdq_pattern_cache_free(&c);
}

TEST(an_empty_cache_is_a_file)
{
    qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT;
    char *text = text_of(&c);

    assert_string_equal(text,
                        "minimum_distance: 4\nmax_entries_per_pattern: 32\npattern_schemes: []\n");
    qdq_free(text);
    expect_round_trip(&c);
    qdq_pattern_cache_free(&c);
}

/* Names of tensors in signatures may be anything. */
TEST(any_signature_reads_back)
{
    static const char *const signatures[] = {"it's",
                                             "a: b # c",
                                             "\"quoted\" \\ back",
                                             "tab\there\nand a line",
                                             "caf\xc3\xa9 \xf0\x9f\x98\x80 \xef\xbf\xbe",
                                             "null",
                                             "",
                                             " blank around ",
                                             "- x",
                                             "\xc2\x85\x7f \xe2\x80\xa8"};
    qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT, again;
    qdq_error err = QDQ_ERROR_INIT;
    char *longest = malloc(100001), *text;

    assert_non_null(longest);
    memset(longest, 'x', 100000);
    for (size_t i = 0; i < 100000; i += 7)
        longest[i] = i % 2 == 0 ? ' ' : ':';
    longest[100000] = '\0';
    for (size_t i = 0; i < QDQ_COUNT(signatures); i++)
        add_one(&c, signatures[i], 1, "0");
    add_one(&c, longest, 1, "0");
    text = text_of(&c);
    for (const char *p = text; *p != '\0'; p++)
        assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
    assert_ok(qdq_pattern_cache_parse(text, strlen(text), "again", NULL, &again, &err));
    for (size_t i = 0; i < QDQ_COUNT(signatures); i++)
        EXPECT_LATENCIES(&again, signatures[i], 1);
    EXPECT_LATENCIES(&again, longest, 1);
    qdq_free(text);
    free(longest);
    qdq_pattern_cache_free(&c);
    qdq_pattern_cache_free(&again);
}

/* What is not UTF-8 is not text of YAML; the file stays readable. */
TEST(a_signature_that_is_not_utf8_is_written_with_marks)
{
    static const char *const broken[] = {"\xff",     "\xc3",         "\xe2\x82",
                                         "\xc0\x80", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80"};
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(broken); i++) {
        qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT, again;
        char *text;

        add_one(&c, broken[i], 1, "0");
        text = text_of(&c);
        assert_ok(qdq_pattern_cache_parse(text, strlen(text), "again", NULL, &again, &err));
        assert_int_equal(strncmp(again.patterns.at[0]->key.signature, "\xef\xbf\xbd", 3), 0);
        qdq_free(text);
        qdq_pattern_cache_free(&c);
        qdq_pattern_cache_free(&again);
    }
}

/* PyYAML takes "1e-05" and "12" for a text and an integer. */
TEST(latencies_are_written_as_floats_of_yaml_and_read_back_exactly)
{
    static const struct {
        double ms;
        const char *text;
    } cases[] = {{12, "12.0"},
                 {1e-5, "1.0e-05"},
                 {1.5e-7, "1.5e-07"},
                 {0.1, "0.1"},
                 {1e15, "1.0e+15"},
                 {0, "0.0"},
                 {1.0 / 3, "0.3333333333333333"},
                 {1e300, "1.0e+300"}};
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT, again;
        char want[64], *text;

        add_one(&c, "P", cases[i].ms, "0");
        text = text_of(&c);
        snprintf(want, sizeof want, "latency_ms: %s\n", cases[i].text);
        if (strstr(text, want) == NULL)
            fail_msg("'%s' is not in:\n%s", want, text);
        assert_ok(qdq_pattern_cache_parse(text, strlen(text), "again", NULL, &again, &err));
        EXPECT_LATENCIES(&again, "P", cases[i].ms);
        qdq_free(text);
        qdq_pattern_cache_free(&c);
        qdq_pattern_cache_free(&again);
    }
}

/* --- what is missing or wrong ----------------------------------------------------------------- */

TEST(a_seal_knows_all_but_times_of_day)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_pattern_schemes ps = {.key = {"P", "aa", "ort 1", "x86", "threads=1"}, .size = 2};
    char first[33], now[33];

    give(&arena, &ps, scheme(&arena, 2, "0"));
    assert_ok(qdq_pattern_schemes_seal(&ps, "long", first, &err));
    ps.schemes.at[0].timestamp = "2026-11-23T10:00:00+00:00";
    assert_ok(qdq_pattern_schemes_seal(&ps, "long", now, &err));
    assert_string_equal(first, now);
    assert_ok(qdq_pattern_schemes_seal(&ps, "short", now, &err));
    assert_string_not_equal(first, now);
    ps.schemes.at[0].latency_ms = 2.5;
    assert_ok(qdq_pattern_schemes_seal(&ps, "long", now, &err));
    assert_string_not_equal(first, now);
    ps.schemes.at[0].latency_ms = 2;
    ps.key.device = "arm";
    assert_ok(qdq_pattern_schemes_seal(&ps, "long", now, &err));
    assert_string_not_equal(first, now);
    qdq_arena_free(&arena);
}
