/* probe_models.c - probes as models, and both sides of them as targets. */
#include "tune/probe/probe_model.h"

#include "base/json.h"
#include "ir/ir.h"
#include "support/test.h"
#include "target/target.h"
#include "tune/probe/probe_target.h"

static qdq_error err;

static qdq_status make(const char *graph, const qdq_probe_value *values, size_t n, qdq_model **out)
{
    const qdq_probe_size size = {values, n};
    const qdq_probe p = {.list = "stay_float", .index = 2, .number = 1, .graph = graph};

    return qdq_probe_make_model(&p, &size, 7, out, &err);
}

TEST(parameters_get_their_values_and_weights_seeded_numbers)
{
    static const qdq_probe_value values[] = {{"channels", 3}, {"k", 2}};
    const char *graph = test_graph_text(__func__);
    qdq_model *m = NULL, *again = NULL;

    assert_ok(make(graph, values, 2, &m));
    assert_ok(make(graph, values, 2, &again));
    const qdq_tensor *w = qdq_value_const(qdq_graph_find(m->graph, "w"));
    const qdq_tensor *same = qdq_value_const(qdq_graph_find(again->graph, "w"));
    assert_int_equal(w->count, 60);
    assert_int_equal(w->dim[1], 3);
    qdq_arena arena = QDQ_ARENA_INIT;
    float *a, *b;
    double sum = 0;
    assert_ok(qdq_tensor_floats(w, &arena, &a, &err));
    assert_ok(qdq_tensor_floats(same, &arena, &b, &err));
    for (int64_t i = 0; i < w->count; i++) {
        assert_true(a[i] == b[i]);
        sum += (double)a[i] * (double)a[i];
    }
    qdq_arena_free(&arena);
    assert_true(sum > 2 && sum < 9); /* 60 numbers of variance 1 / 12 */
    qdq_model_free(m);
    qdq_model_free(again);
}

TEST(mistakes_in_a_probe_have_their_place)
{
    static const struct {
        const char *graph, *message;
    } cases[] = {
        {"graph (float[$n] x) => (float[3] y) { y = Relu(x) }",
         "stay_float[2].probe[1]: parameter '$n' has no value in 'sizes'"},
        {"graph (float[1] x) => (float[1] y) { y = Relu(x }", "stay_float[2].probe[1]: graph:1:"},
        {"graph (float[1] x) => (float[1] y) <int64[1] w> { y = Reshape(x, w) }",
         "weight 'w': expected float, with fixed dims"},
        {"graph (float[1] x) => (float[1] y) <float[n] w> { y = Add(x, w) }",
         "stay_float[2].probe[1]: weight 'w': expected float, with fixed dims"},
        {"graph (float[1] x) => (float[1] y) { y = Add(x, nowhere) }", "nowhere"},
    };
    qdq_model *m = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(QDQ_E_FORMAT, cases[i].message, make(cases[i].graph, NULL, 0, &m));
        assert_null(m);
    }
}

/* Sizes at the ends of a family are those at which engines and rules are asked most. */
TEST(every_probe_of_the_built_in_targets_is_a_model_at_every_size)
{
    const char *name;
    size_t n = 0;

    for (size_t i = 0; (name = qdq_target_name(i, NULL)) != NULL; i++) {
        qdq_target *t = NULL;

        assert_ok(qdq_target_load(name, &t, &err));
        for (size_t k = 0; k < t->probes.n; k++)
            for (size_t s = 0; s < t->probes.at[k].n_sizes; s++) {
                qdq_model *m = NULL;

                assert_ok(
                    qdq_probe_make_model(&t->probes.at[k], &t->probes.at[k].size[s], 0, &m, &err));
                qdq_model_free(m);
                n++;
            }
        qdq_target_free(t);
    }
    assert_true(n > 60);
}

static bool has_probe(const qdq_target *t, const char *list, size_t index)
{
    for (size_t i = 0; i < t->probes.n; i++)
        if (strcmp(t->probes.at[i].list, list) == 0 && t->probes.at[i].index == index)
            return true;
    return false;
}

/* Those with the key `engine` are of correctness. */
static void expect_probes(const qdq_target *t, const char *list)
{
    json_t *root = NULL, *rule;
    size_t i;

    assert_ok(qdq_json_parse(t->text, strlen(t->text), t->name, &root, &err));
    json_array_foreach(json_object_get(root, list), i,
                       rule) if (json_object_get(rule, "engine") == NULL && !has_probe(t, list, i))
        fail_msg("%s: %s[%zu], rule %s of %s, has no probe", t->name, list, i,
                 json_string_value(json_object_get(rule, "rule")),
                 json_string_value(json_object_get(rule, "op")));
    json_decref(root);
}

/* Targets of weights alone are for size. */
TEST(every_rule_of_speed_of_the_targets_for_processors_has_a_probe)
{
    static const char *const names[] = {"ort-cpu", "ort-arm", "openvino"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        qdq_target *t = NULL;

        assert_ok(qdq_target_load(names[i], &t, &err));
        expect_probes(t, "operators");
        expect_probes(t, "stay_float");
        qdq_target_free(t);
    }
}

/* --- sides ------------------------------------------------------------------------------------ */

#define PROBE "\"probe\": [{\"graph\": \"g\""
#define HEAD                                                                                       \
    "{\"qdq_target\": 1, \"name\": \"t\", \"activation\": {\"type\": \"uint8\"}, "                 \
    "\"weight\": {\"type\": \"int8\", \"symmetric\": true}, "

static const char text[] =
    HEAD "\"operators\": [{\"op\": \"Add\", \"rule\": \"add\", \"kind\": \"joint\", "
         "\"only_between\": true, "
         "\"off\": true, " PROBE
         ", \"with\": {\"only_between\": true}, \"without\": {\"only_between\": false}}]}], "
         "\"stay_float\": ["
         "{\"op\": \"Conv\", \"rule\": \"a\", \"reason\": \"r\", \"sum_max\": 9, \"cpu\": "
         "[\"arm\"], " PROBE
         ", \"threshold\": \"sum_max\", \"sizes\": [{\"sum_max\": 3}], \"beside\": [\"b\"]}]}, "
         "{\"op\": \"Conv\", \"rule\": \"b\", \"reason\": \"r\", \"off\": true, " PROBE "}]}, "
         "{\"op\": \"Conv\", \"rule\": \"c\", \"reason\": \"r\", " PROBE "}]}, "
         "{\"op\": \"Conv\", \"rule\": \"d\", \"reason\": \"accuracy\"}]}";

static bool holds(const qdq_target *t, const char *rule)
{
    for (size_t i = 0; i < t->stay.n; i++)
        if (strcmp(t->stay.at[i].rule, rule) == 0)
            return true;
    return false;
}

TEST(other_rules_with_probes_are_off_unless_they_are_listed)
{
    qdq_target *t = NULL, *side = NULL;

    assert_ok(qdq_target_parse(text, strlen(text), "t", &t, &err));
    assert_int_equal(t->probes.n, 4);
    const qdq_probe *add = &t->probes.at[0], *a = &t->probes.at[1];
    assert_ok(qdq_probe_side(t, a, true, &side, &err));
    assert_true(holds(side, "a") && holds(side, "b") && !holds(side, "c") && holds(side, "d"));
    assert_int_equal(side->stay.at[0].sum_max, 0); /* any */
    assert_null(side->stay.at[0].facts.cpu);
    qdq_target_free(side);
    assert_ok(qdq_probe_side(t, a, false, &side, &err));
    assert_true(!holds(side, "a") && holds(side, "b") && !holds(side, "c") && holds(side, "d"));
    qdq_target_free(side);
    assert_ok(qdq_probe_side(t, add, true, &side, &err));
    /* the rule is on, whatever is compared */
    assert_true(qdq_target_find(side, "Add")->only_between);
    assert_true(!holds(side, "a") && holds(side, "d"));
    qdq_target_free(side);
    assert_ok(qdq_probe_side(t, add, false, &side, &err));
    assert_false(qdq_target_find(side, "Add")->only_between);
    qdq_target_free(side);
    qdq_target_free(t);
}

/* Rules about nodes whose data the model quantizes: the target's own format has calibrated scales.
 */
TEST(both_sides_of_a_dynamic_probe_quantize_data_at_run_time)
{
    qdq_target *t = NULL, *side = NULL;
    size_t n = 0;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    for (size_t i = 0; i < t->probes.n; i++)
        for (int with = 0; t->probes.at[i].dynamic && with < 2; with++, n++) {
            assert_ok(qdq_probe_side(t, &t->probes.at[i], with == 1, &side, &err));
            assert_true(qdq_format_dynamic(&side->format));
            assert_true(holds(side, "small-dynamic-lstm") ==
                        (with == 1 && strcmp(t->probes.at[i].rule, "small-dynamic-lstm") == 0));
            qdq_target_free(side);
        }
    assert_int_equal(n, 8); /* lstm, small-dynamic-lstm, small-dynamic-matrix of two operators */
    qdq_target_free(t);
}

TEST(what_a_probe_is_about_is_told_as_it_is_now)
{
    qdq_target *t = NULL;
    qdq_arena arena = QDQ_ARENA_INIT;
    json_t *root = NULL;

    assert_ok(qdq_target_parse(text, strlen(text), "t", &t, &err));
    assert_ok(qdq_json_parse(text, strlen(text), "t", &root, &err));
    const qdq_probe *add = &t->probes.at[0], *a = &t->probes.at[1], *c = &t->probes.at[3];
    assert_string_equal(qdq_probe_key(root, add, &arena), "only_between");
    assert_string_equal(qdq_probe_value_now(root, add, "only_between", &arena), "off");
    assert_string_equal(qdq_probe_key(root, a, &arena), "sum_max");
    assert_string_equal(qdq_probe_value_now(root, a, "sum_max", &arena), "9");
    assert_true(qdq_probe_holds_now(root, a, 9) && !qdq_probe_holds_now(root, a, 10));
    assert_string_equal(qdq_probe_key(root, c, &arena), "off");
    assert_string_equal(qdq_probe_value_now(root, c, "off", &arena), "on");
    assert_ok(qdq_probe_apply_threshold(root, a, 27, &err));
    assert_string_equal(qdq_probe_value_now(root, a, "sum_max", &arena), "27");
    assert_ok(qdq_probe_apply(root, a, false, &err));
    assert_string_equal(qdq_probe_value_now(root, a, "sum_max", &arena), "off");
    assert_false(qdq_probe_holds_now(root, a, 1));
    json_decref(root);
    qdq_arena_free(&arena);
    qdq_target_free(t);
}

TEST(figures_replace_those_of_the_same_probe_engine_and_processor)
{
    qdq_measured m = {QDQ_RULE_PAYS, 0.5, 0.4, 0.6, "ort", "1", "A", "off", 0, ""};
    qdq_target *t = NULL, *own = NULL;
    json_t *root = NULL;
    char *now = NULL;

    assert_ok(qdq_target_parse(text, strlen(text), "t", &t, &err));
    assert_ok(qdq_json_parse(text, strlen(text), "t", &root, &err));
    const qdq_probe *c = &t->probes.at[3];
    assert_ok(qdq_probe_put_figures(root, c, &m, 1, &err));
    m.processor = "B";
    assert_ok(qdq_probe_put_figures(root, c, &m, 1, &err));
    m.factor = 0.55;
    assert_ok(qdq_probe_put_figures(root, c, &m, 1, &err));
    assert_ok(qdq_json_dump(root, &now, &err));
    assert_ok(qdq_target_parse(now, strlen(now), "t", &own, &err));
    const qdq_rule_facts *f = &own->stay.at[1].facts; /* a and c hold */
    assert_int_equal(f->n_measured, 2);
    assert_string_equal(f->measured[0].processor, "A");
    assert_true(f->measured[1].factor == 0.55 && f->measured[1].low == 0.4);
    qdq_free(now);
    json_decref(root);
    qdq_target_free(own);
    qdq_target_free(t);
}
