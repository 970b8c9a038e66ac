/* target_rules.c - rules that are off, that hold on some processors, and that carry figures and
 * probes. */
#include "target/target_rule.h"

#include "base/file.h"
#include "quant/plan/plan.h"
#include "quant/target_fit.h"
#include "support/build.h"
#include "support/test.h"

static qdq_error err;

#define HEAD                                                                                       \
    "{\"qdq_target\": 1, \"name\": \"t\", \"activation\": {\"type\": \"uint8\"}, "                 \
    "\"weight\": {\"type\": \"int8\", \"symmetric\": true}, "
#define OP(more)                                                                                   \
    HEAD "\"operators\": [{\"op\": \"Conv\", \"rule\": \"conv\", \"kind\": \"linear\"" more "}]}"
#define FLOAT(more)                                                                                \
    HEAD "\"stay_float\": [{\"op\": \"Conv\", \"rule\": \"r\", \"reason\": \"slow\"" more "}]}"
#define FIGURES(more)                                                                              \
    ", \"measured\": [{\"verdict\": \"harms\", \"factor\": 1.2, \"interval\": [1.1, 1.3], "        \
    "\"engine\": "                                                                                 \
    "\"ort\", \"version\": \"1.31.1\", \"processor\": \"AMD EPYC\"" more "}]"
#define PROBE(more) ", \"probe\": [{" more "}]"
#define GRAPH       "\"graph\": \"graph (float[1] x) => (float[1] y) { y = Relu(x) }\""

static qdq_target *load(const char *text)
{
    qdq_target *t = NULL;

    assert_ok(qdq_target_parse(text, strlen(text), "t", &t, &err));
    return t;
}

TEST(a_rule_that_is_off_does_not_hold)
{
    qdq_target *t = load(OP(", \"off\": true")), *stay = load(FLOAT(", \"off\": true"));

    assert_null(qdq_target_find(t, "Conv"));
    assert_string_equal(qdq_target_reason(t, "Conv"), "its rule is off");
    assert_int_equal(stay->stay.n, 0);
    qdq_target_free(stay);
    qdq_target_free(t);
    t = load(OP(", \"off\": true" FIGURES("")));
    assert_string_equal(qdq_target_reason(t, "Conv"), "slower in 8 bits, as measured");
    qdq_target_free(t);
}

TEST(figures_are_read)
{
    qdq_target *t = load(FLOAT(FIGURES(", \"key\": \"sum_max\", \"at\": 27, \"probe\": \"wide\"")));
    const qdq_rule_facts *f = &t->stay.at[0].facts;

    assert_int_equal(f->n_measured, 1);
    assert_int_equal(f->measured[0].verdict, QDQ_RULE_HARMS);
    assert_true(f->measured[0].factor == 1.2 && f->measured[0].low == 1.1 &&
                f->measured[0].high == 1.3);
    assert_string_equal(f->measured[0].processor, "AMD EPYC");
    assert_string_equal(f->measured[0].key, "sum_max");
    assert_string_equal(f->measured[0].probe, "wide");
    assert_int_equal(f->measured[0].at, 27);
    qdq_target_free(t);
}

TEST(an_interval_that_was_not_noted_is_left_out)
{
    qdq_target *t =
        load(OP(", \"measured\": [{\"verdict\": \"pays\", \"factor\": 0.351, \"engine\": "
                "\"ort\", \"version\": \"1\", \"processor\": \"A, 2 cores\"}]"));
    qdq_arena arena = QDQ_ARENA_INIT;

    assert_string_equal(qdq_measured_text(qdq_target_figures(t, "Conv", NULL), &arena),
                        "0.351 on ort 1, A, 2 cores");
    qdq_arena_free(&arena);
    qdq_target_free(t);
}

#define FIGURE(verdict, factor, more, processor)                                                   \
    "{\"verdict\": \"" verdict "\", \"factor\": " factor ", \"engine\": \"ort\", "                 \
    "\"version\": \"1\"" more ", \"processor\": \"" processor "\"}"

TEST(figures_of_this_processor_are_quoted_before_newer_ones_of_others)
{
    static const struct {
        const char *name;
        double factor;
    } rows[] = {{"AMD EPYC, 2 cores", 0.3},
                {"AMD EPYC, 16 cores", 0.3},
                {"AMD EPYC without VNNI, 2 cores", 0.5},
                {"AMD", 0.4},
                {NULL, 0.4}};
    qdq_target *t =
        load(OP(", \"measured\": [" FIGURE("pays", "0.3", "", "AMD EPYC, 2 cores") ", " FIGURE(
            "pays", "0.5", "", "AMD EPYC without VNNI, 2 cores") ", " FIGURE("pays", "0.4", "",
                                                                             "Xeon, 2 cores") "]"));
    qdq_target *own;

    for (size_t i = 0; i < QDQ_COUNT(rows); i++) {
        assert_ok(qdq_target_for_cpu(t, "vnni", rows[i].name, &own, &err));
        assert_true(qdq_target_figures(own, "Conv", NULL)->factor == rows[i].factor);
        qdq_target_free(own);
    }
    qdq_target_free(t);
}

TEST(figures_of_another_key_do_not_speak_for_the_rule)
{
    qdq_target *t = load(OP(", \"off\": true, \"measured\": [" FIGURE(
        "harms", "1.1", ", \"key\": \"output\"", "A") "]"));

    assert_null(qdq_target_figures(t, "Conv", "its rule is off"));
    assert_string_equal(qdq_target_reason(t, "Conv"), "its rule is off");
    qdq_target_free(t);
}

/* --- processors ------------------------------------------------------------------------------- */

TEST(a_condition_names_kinds_of_processors_or_parts_of_their_names)
{
    const char *const list[] = {"arm", "AMD EPYC", NULL};
    const qdq_rule_facts all = {.cpu = NULL}, some = {.cpu = list};

    assert_true(qdq_rule_is_for(&all, "vnni", NULL));
    assert_true(qdq_rule_is_for(&some, "arm", NULL));
    assert_true(qdq_rule_is_for(&some, "vnni", "AMD EPYC 9B14, 2 cores"));
    assert_false(qdq_rule_is_for(&some, "vnni", "Intel(R) Xeon(R) Processor"));
    assert_false(qdq_rule_is_for(&some, "vnni", NULL));
}

TEST(a_rule_for_another_processor_does_not_hold)
{
    test_builder b = test_build(17);
    qdq_target *stay = load(FLOAT(", \"cpu\": [\"avx2\"]")),
               *op = load(OP(", \"cpu\": [\"avx2\"]"));
    qdq_target *own = NULL, *again = NULL;

    TEST_INPUT(&b, "x", 1, 4);
    TEST_NODE(&b, "Relu", "y", "x");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_target_fit(m, stay, QDQ_CPU_VNNI, NULL, &own, &err));
    assert_int_equal(own->stay.n, 0);
    assert_ok(qdq_target_with(own, "help", "changed", &again, &err)); /* stays left out */
    assert_int_equal(again->stay.n, 0);
    qdq_target_free(again);
    qdq_target_free(own);
    assert_ok(qdq_target_fit(m, stay, QDQ_CPU_AVX2, NULL, &own, &err));
    assert_int_equal(own->stay.n, 1);
    qdq_target_free(own);
    assert_ok(qdq_target_fit(m, op, QDQ_CPU_ARM, NULL, &own, &err));
    assert_null(qdq_target_find(own, "Conv"));
    assert_string_equal(qdq_target_reason(own, "Conv"), "slower in 8 bits on this processor");
    qdq_target_free(own);
    assert_ok(qdq_target_fit(m, op, QDQ_CPU_AVX2, NULL, &own, &err));
    assert_non_null(qdq_target_find(own, "Conv"));
    qdq_target_free(own);
    qdq_target_free(stay);
    qdq_target_free(op);
    qdq_model_free(m);
}

/* A model for a kind of processors is the same wherever it is made. */
TEST(a_rule_for_the_name_of_a_processor_holds_for_the_one_that_runs_and_not_for_its_kind)
{
    test_builder b = test_build(17);
    qdq_target *stay = load(FLOAT(", \"cpu\": [\"cores\"]")), *own = NULL; /* "..., 2 cores" */

    TEST_INPUT(&b, "x", 1, 4);
    TEST_NODE(&b, "Relu", "y", "x");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_target_fit(m, stay, QDQ_CPU_AUTO, NULL, &own, &err));
    assert_int_equal(own->stay.n, 1);
    qdq_target_free(own);
    assert_ok(qdq_target_fit(m, stay, qdq_target_cpu(QDQ_CPU_AUTO), NULL, &own, &err));
    assert_int_equal(own->stay.n, 0);
    qdq_target_free(own);
    qdq_target_free(stay);
    qdq_model_free(m);
}

TEST(types_of_activations_for_another_processor_come_last)
{
    static const struct {
        const char *processor;
        bool symmetric[2], elsewhere[2];
    } rows[] = {{"arm", {true, false}, {false, true}}, {"vnni", {false, true}, {false, true}}};
    qdq_target *t = NULL, *own = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(
        t, "other_activations",
        "[{\"activation\": {\"type\": \"int8\", \"symmetric\": true}, \"cpu\": [\"arm\"]}, "
        "{\"activation\": {\"type\": \"int8\"}, \"cpu\": [\"vnni\"]}]",
        &err));
    for (size_t i = 0; i < QDQ_COUNT(rows); i++) {
        assert_ok(qdq_target_for_cpu(t, rows[i].processor, NULL, &own, &err));
        assert_int_equal(own->others.n, 2);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(own->others.at[k].format.activation.symmetric, rows[i].symmetric[k]);
            assert_int_equal(own->others.at[k].elsewhere, rows[i].elsewhere[k]);
        }
        qdq_target_free(own);
    }
    qdq_target_free(t);
}

/* --- rules without figures -------------------------------------------------------------------- */

#define UNMEASURED "\"unmeasured\": true, "

TEST(a_rule_without_figures_says_so_until_it_has_some)
{
    qdq_target *t = load(
        HEAD UNMEASURED
        "\"operators\": [{\"op\": \"Conv\", \"rule\": \"conv\", "
        "\"kind\": \"linear\"" PROBE(GRAPH) "}], "
                                            "\"stay_float\": [{\"op\": \"Conv\", \"rule\": \"r\", "
                                            "\"reason\": \"slow\"" FIGURES("") "}]}");

    assert_string_equal(qdq_target_find(t, "Conv")->rule, "conv (not measured)");
    assert_string_equal(t->probes.at[0].rule, "conv"); /* its name, which other rules may list */
    assert_string_equal(t->stay.at[0].rule, "r");
    assert_string_equal(t->stay.at[0].reason, "slow");
    qdq_target_free(t);
    t = load(HEAD UNMEASURED "\"operators\": [{\"op\": \"Conv\", \"rule\": \"conv\", "
                             "\"kind\": \"linear\", \"off\": true" FIGURES("") "}]}");
    assert_string_equal(qdq_target_reason(t, "Conv"), "slower in 8 bits, as measured");
    qdq_target_free(t);
    t = load(FLOAT(""));
    assert_string_equal(t->stay.at[0].reason, "slow");
    qdq_target_free(t);
    assert_fails(QDQ_E_FORMAT, "key 'unmeasured': expected true or false",
                 qdq_target_parse(HEAD "\"unmeasured\": 1}", strlen(HEAD "\"unmeasured\": 1}"), "t",
                                  &t, &err));
}

/* --- plans ------------------------------------------------------------------------------------ */

TEST(a_plan_names_the_file_of_its_target_by_its_hash)
{
    static const char text[] =
        "{\"qdq_plan\": 1, \"model\": \"m\", \"target\": \"t\", \"target_sha256\": \"ab\", "
        "\"clean\": \"\", \"opset\": 0, \"tensors\": [], \"weights\": [], \"biases\": []}";
    const char *path = test_path("mine.json"), *mine = FLOAT("");
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    char *out = NULL;

    assert_ok(qdq_plan_parse(text, sizeof text - 1, "p", &p, &err));
    assert_ok(qdq_plan_to_text(p, &out, &err));
    assert_non_null(strstr(out, "\"target_sha256\": \"ab\""));
    qdq_free(out);
    qdq_plan_free(p);
    assert_ok(qdq_write_file(path, true, mine, strlen(mine), &err));
    assert_ok(qdq_target_load(path, &t, &err));
    const size_t length = strlen(t->sha256);
    assert_int_equal(length, 64);
    assert_ok(qdq_target_set(t, "weight.per_channel", "true", &err));
    assert_non_null(t->sha256);
    qdq_target_free(t);
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_null(t->sha256);
    qdq_target_free(t);
}

/* --- probes ----------------------------------------------------------------------------------- */

TEST(a_probe_is_a_family_over_sizes)
{
    qdq_target *t = load(FLOAT(PROBE(
        "\"graph\": [\"graph\", \"x\"], \"threshold\": \"sum_max\", \"beside\": [\"q\"], "
        "\"sizes\": [{\"n\": 3, \"sum_max\": 27}, {\"n\": 5, \"sum_max\": 75}]") ","
                                                                                 "\"off\": true"));
    const qdq_probe *p = &t->probes.at[0];

    assert_int_equal(t->probes.n, 1); /* of a rule that is off, too */
    assert_string_equal(p->graph, "graph\nx\n");
    assert_string_equal(p->rule, "r");
    assert_string_equal(p->beside[0], "q");
    assert_int_equal(p->n_sizes, 2);
    assert_string_equal(p->size[1].value[0].name, "n");
    assert_int_equal(p->size[1].value[1].value, 75);
    qdq_target_free(t);
    t = load(OP(PROBE(
        GRAPH ", \"with\": {\"output\": \"float\"}, \"without\": {\"output\": \"quantized\"}")));
    assert_int_equal(t->probes.at[0].n_sizes, 1);
    assert_int_equal(t->probes.at[0].size[0].n, 0);
    qdq_target_free(t);
}

TEST(mistakes_are_named_with_their_line_and_place)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {FLOAT(", \"off\": 1"), "line 1: stay_float[0], key 'off': expected true or false"},
        {FLOAT(", \"cpu\": \"arm\""),
         "line 1: stay_float[0], key 'cpu': expected a list of strings"},
        {FLOAT(",\n\"measured\": [{\"verdict\": \"good\"}]"),
         "line 2: stay_float[0].measured[0], key 'verdict': expected 'undecided', 'pays' or "
         "'harms'"},
        {FLOAT(", \"measured\": [{\"verdict\": \"pays\"}]"),
         "stay_float[0].measured[0], key 'factor': expected a number above 0"},
        {FLOAT(", \"measured\": [{\"verdict\": \"pays\", \"factor\": 1, \"interval\": [2, 1]}]"),
         "stay_float[0].measured[0], key 'interval': expected a list of two rising numbers above "
         "0"},
        {FLOAT(", \"measured\": [{\"verdict\": \"pays\", \"factor\": 1, \"interval\": [1, 2]}]"),
         "stay_float[0].measured[0], key 'engine': expected a string"},
        {FLOAT(FIGURES(", \"colour\": 1")), "stay_float[0].measured[0]: unknown key 'colour'"},
        {FLOAT(PROBE("\"name\": \"p\"")), "stay_float[0].probe[0], key 'graph': expected a string"},
        {FLOAT(PROBE(GRAPH ", \"colour\": 1")), "stay_float[0].probe[0]: unknown key 'colour'"},
        {FLOAT(PROBE(GRAPH ", \"threshold\": \"alone\", \"sizes\": [{\"n\": 1}]")),
         "key 'threshold': expected a key of the rule that ends in '_max', and 'sizes'"},
        {FLOAT(PROBE(GRAPH ", \"threshold\": \"sum_max\"")),
         "key 'sizes': expected a list of objects, as there is a 'threshold'"},
        {FLOAT(PROBE(GRAPH ", \"sizes\": [{\"n\": 1}, {\"n\": 2}]")),
         "key 'sizes': expected one size, or the key 'threshold'"},
        {FLOAT(PROBE(
             GRAPH
             ", \"threshold\": \"sum_max\", \"sizes\": [{\"sum_max\": 2}, {\"sum_max\": 2}]")),
         "stay_float[0].probe[0].sizes[1]: expected the key 'sum_max', larger from size to size"},
        {FLOAT(PROBE(GRAPH ", \"sizes\": [{\"n\": 0}]")),
         "stay_float[0].probe[0].sizes[0], key 'n': expected a whole number from 1"},
        {FLOAT(PROBE(GRAPH ", \"without\": {\"colour\": 1}")),
         "stay_float[0].probe[0].without: unknown key 'colour'"},
        {FLOAT(PROBE(GRAPH ", \"with\": {\"off\": true}")),
         "stay_float[0].probe[0], key 'without': expected an object, as there is a 'with'"},
        {HEAD "\"stay_float\": [{\"op\": \"Gemm\", \"rule\": \"r\", \"reason\": \"slow\", "
              "\"island_work_max\": 9}]}",
         "stay_float[0], key 'island_work_max': expected operator Conv, and no 'partitions'"},
        {FLOAT(", \"fused_in_float\": [\"A\"]"),
         "key 'fused_in_float': of no meaning without 'island_work_max'"},
        {FLOAT(", \"island_work_max\": 9, \"fused_in_float_counts\": 2"),
         "key 'fused_in_float_counts': of no meaning without 'fused_in_float'"},
        {FLOAT(", \"engine\": [\"1\"]" PROBE(GRAPH)),
         "stay_float[0], key 'probe': expected none beside "
         "'engine': times do not decide a rule of correctness"},
    };
    qdq_target *t = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(QDQ_E_FORMAT, cases[i].message,
                     qdq_target_parse(cases[i].text, strlen(cases[i].text), "t", &t, &err));
}
