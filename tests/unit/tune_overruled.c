/* tune_overruled.c - whole runs on the sim engine where rules of the target are wrong: measurements
 * overrule them, and the report names them. */
#include "base/json.h"
#include "support/tuned.h"

static qdq_error err;

/* The target ort-cpu, with a key of the rule of one operator changed. */
static qdq_target *target_with(const char *op, const char *key, json_t *value)
{
    qdq_target *t;
    json_t *root, *rule;
    char *text;
    size_t i;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "engine", "sim", &err));
    assert_ok(
        qdq_json_parse(qdq_target_text(t), strlen(qdq_target_text(t)), "target", &root, &err));
    json_array_foreach(json_object_get(root, "operators"), i, rule)
    {
        if (strcmp(json_string_value(json_object_get(rule, "op")), op) == 0)
            assert_int_equal(json_object_set(rule, key, value), 0);
    }
    assert_ok(qdq_json_dump(json_object_get(root, "operators"), &text, &err));
    assert_ok(qdq_target_set(t, "operators", text, &err));
    qdq_free(text);
    json_decref(root);
    json_decref(value);
    return t;
}

#define CONV "\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true}"

/* A Conv, and what the test puts behind it; weights a[8,8,1,1] and b[4,4]. */
static qdq_model *kernels(const char *rest, const char *output)
{
    static char text[8000], w[2000], v[500];
    size_t at = 0;

    for (int i = 0; i < 64; i++)
        at += (size_t)snprintf(w + at, sizeof w - at, "%s%.2f", i > 0 ? ", " : "",
                               ((i * 37) % 64 - 32) / 32.0);
    at = 0;
    for (int i = 0; i < 16; i++)
        at += (size_t)snprintf(v + at, sizeof v - at, "%s%.2f", i > 0 ? ", " : "",
                               ((i * 11) % 16 - 8) / 8.0);
    snprintf(text, sizeof text,
             "g (float[1,8,4,4] x) => (%s) <float[8,8,1,1] a = {%s}, float[4,4] b = {%s}> { h = "
             "Conv(x, a) %s }",
             output, w, v, rest);
    return test_model(text);
}

static const qdq_tune_overruled *find(const qdq_tune_result *r, const char *op)
{
    for (size_t i = 0; i < r->n_overruled; i++)
        if (strcmp(r->overruled[i].op, op) == 0)
            return &r->overruled[i];
    return NULL;
}

static qdq_tune_result run(const qdq_model *m, const qdq_target *t, const char *folder,
                           const char *ops, int way)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(ops, NULL));
    const qdq_goal_opts goal = test_tuned_two_forms(&o);
    qdq_tune_result *r;

    o.goal = &goal;
    o.mode = way == 0 ? QDQ_TUNE_REGION : QDQ_TUNE_SUBGRAPH;
    o.strategy = way == 2 ? QDQ_TUNE_GREEDY : QDQ_TUNE_AUTO;
    assert_ok(qdq_autotune(m, t, NULL, folder, &o, &r, &err));
    test_keep(r);
    return *r;
}

static void has_text(const char *folder, const char *file, const char *part)
{
    char *text = test_tuned_file(folder, file);

    if (strstr(text, part) == NULL)
        fail_msg("no '%s' in %s of %s", part, file, folder);
    qdq_free(text);
}

TEST(an_operator_that_is_off_is_tried_and_kept_where_it_pays)
{
    qdq_model *m = test_tuned_model();
    qdq_target *t = target_with("MatMul", "off", json_true());

    for (int way = 0; way < 3; way++) {
        const char *folder = test_path("off%d", way);
        const qdq_tune_result r = run(m, t, folder, TEST_TUNED_OPS, way);
        const qdq_tune_overruled *o = find(&r, "MatMul");
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_non_null(o);
        assert_string_equal(o->rule, "matmul");
        assert_true(o->quantized);
        assert_int_equal(o->nodes, 4);
        assert_true(way == 0 || r.builds <= 14);
        has_text(folder, "report.json", "\"rule\": \"matmul\"");
        has_text(folder, "report.html", "Rules that measurements overruled");
    }
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(an_operator_for_other_processors_is_tried_too)
{
    qdq_model *m = test_tuned_model();
    qdq_target *t = target_with("MatMul", "cpu", json_pack("[s]", "no such processor"));
    const qdq_tune_result r = run(m, t, test_path("cpu"), TEST_TUNED_OPS, 1);

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_non_null(find(&r, "MatMul"));
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(an_operator_that_is_off_and_does_not_pay_stays_float)
{
    qdq_model *m = test_tuned_model();
    qdq_target *t = target_with("MatMul", "off", json_true());
    const qdq_tune_result r = run(m, t, test_path("slow"),
                                  "\"MatMul\": {\"float_us\": 30, \"int8_us\": 100}, \"Add\": "
                                  "{\"float_us\": 20, \"inputs\": 2}",
                                  1);

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_int_equal(r.n_overruled, 0);
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(a_rule_that_does_not_pay_is_overruled)
{
    qdq_model *m = kernels("p = Conv(h, a) y = MatMul(p, b)", "float[1,8,4,4] y");
    qdq_target *t = target_with("MatMul", "off", json_false());

    assert_ok(qdq_target_set(t, "stay_float", "[]", &err));
    const qdq_tune_result r = run(m, t, test_path("float"),
                                  CONV ", \"MatMul\": {\"float_us\": 100, \"int8_us\": 300}", 1);
    const qdq_tune_overruled *o = find(&r, "MatMul");
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_non_null(o);
    assert_string_equal(o->rule, "matmul");
    assert_false(o->quantized);
    has_text(test_path("float"), "report.json", "\"now\": \"float\"");
    qdq_target_free(t);
    qdq_model_free(m);
}

/* 8x8 is small. */
TEST(a_rule_about_sizes_is_overruled)
{
    qdq_model *m = test_tuned_model();
    qdq_target *t = target_with("MatMul", "off", json_false());
    const qdq_tune_result r = run(m, t, test_path("small"), TEST_TUNED_OPS, 1);

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_string_equal(find(&r, "MatMul")->rule, "small-matrix");
    qdq_target_free(t);
    qdq_model_free(m);
}

/* ort-cpu says that its Softmax is slower in 8 bits; here it is faster where it reads codes. */
TEST(an_operator_without_a_kernel_that_pays_on_codes_is_named)
{
    qdq_target *t = target_with("MatMul", "off", json_false());

    qdq_model *m = test_tuned_graph(__func__);
    assert_ok(qdq_target_set(t, "stay_float", "[]", &err));
    const qdq_tune_result r = run(m, t, test_path("softmax"),
                                  "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30},"
                                  " \"Softmax\": {\"float_us\": 100, \"int8_us\": 20}",
                                  1);
    const qdq_tune_overruled *o = find(&r, "Softmax");

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_non_null(o);
    assert_string_equal(o->rule, "no_kernel");
    assert_true(o->quantized);
    assert_int_equal(o->nodes, 2);
    qdq_target_free(t);
    qdq_model_free(m);
}

/* Both operands of the Concat are results of kernels, and no kernel reads it: the rule wants
 * one. */
TEST(a_rule_about_readers_is_overruled)
{
    qdq_model *m =
        kernels("p = Conv(h, a) q = Conv(h, a) c = Concat<axis = 1>(p, q) y = Softplus(c)",
                "float[1,16,4,4] y");
    qdq_target *t;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "engine", "sim", &err));
    assert_ok(qdq_target_set(t, "stay_float", "[]", &err));
    for (int way = 0; way < 2; way++) {
        const qdq_tune_result r =
            run(m, t, test_path("between%d", way),
                "\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true},"
                "\"Concat\": {\"float_us\": 90, \"int8_us\": 5, \"inputs\": 2, \"output_q\": true}",
                way);
        const qdq_tune_overruled *o = find(&r, "Concat");
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_non_null(o);
        assert_string_equal(o->rule, "concat-between");
        assert_true(o->quantized);
    }
    qdq_target_free(t);
    qdq_model_free(m);
}
