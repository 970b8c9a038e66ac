/* quant_dynamic.c - products whose data the model quantizes while it runs: the way back, and keys
 * of targets. Which nodes become some and their form are in text/dynamic. */
#include "support/dynamic.h"

static qdq_plan *placed(const qdq_model *m, const qdq_place_opts *opts)
{
    return test_dynamic_plan(m, opts, "weight.type", "int8");
}

static qdq_model *dynamic(const char *text)
{
    return test_dynamic_model(text, "weight.type", "int8");
}

static const char two_products[] =
    "g (float[3,2] x, bool k) => (float[3,2] y, float[3,2] z, float[3,2] i) <float[2,2] w = {127, "
    "2, -1, 254}, float[2,3] v = {127, 254, -127, 2, 4, 8}> {\n"
    "  [\"a\"] y = MatMul(x, w)\n"
    "  [\"b\"] h = MatMul(x, v)\n"
    "  [\"r\"] z = MatMul(y, w)\n"
    "  [\"s\"] o = Softmax(h)\n"
    "  [\"if\"] i = If <then_branch = t () => (float[3,2] p) { [\"in\"] p = MatMul(x, w) },\n"
    "          else_branch = e () => (float[3,2] q) { [\"out\"] q = Tanh(x) }> (k)\n"
    "}\n";

TEST(import_gives_the_plan_back_and_strip_the_float_model)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(two_products), *q = dynamic(two_products), *f = NULL,
              *stripped = NULL;
    qdq_plan *p = placed(m, &any_size), *again = NULL;
    size_t n_left = 9;

    assert_ok(qdq_plan_import(q, NULL, &again, &f, &err));
    char *want = test_plan_essence(p), *have = test_plan_essence(again);
    assert_string_equal(have, want);
    assert_ok(qdq_model_strip(q, NULL, &stripped, &n_left, &err));
    assert_int_equal(n_left, 0);
    assert_int_equal(test_count(stripped, "MatMul"), 4);
    assert_int_equal(test_count(stripped, "DynamicQuantizeLinear"), 0);
    qdq_free(want);
    qdq_free(have);
    qdq_plan_free(p);
    qdq_plan_free(again);
    qdq_model_free(m);
    qdq_model_free(q);
    qdq_model_free(f);
    qdq_model_free(stripped);
}

/* --- targets ---------------------------------------------------------------------------------- */

TEST(formats_that_no_such_product_has_are_refused)
{
    static const struct {
        const char *target, *key, *value, *message;
    } cases[] = {
        {"ort-cpu", "activation.type", "uint8", "'dynamic' is for activations of type 'float'"},
        {"ort-cpu", "weight.type", "int4", "'int8' or 'uint8', as 'store' is 'dynamic'"},
        {"ort-cpu", "weight.block", "32", "0, as 'store' is 'dynamic'"},
        {"openvino", "weight.block", "0", "no operator of this target has 'dynamic': true"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const qdq_target_change changes[] = {{"activation.type", "float"},
                                             {"weight.store", "dynamic"},
                                             {"bias.type", "float"},
                                             {cases[i].key, cases[i].value}};
        qdq_target *t = NULL;

        assert_ok(qdq_target_load(cases[i].target, &t, &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message,
                     qdq_target_set_all(t, changes, QDQ_COUNT(changes), &err));
        qdq_target_free(t);
    }
}
