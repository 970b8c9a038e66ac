/* quant_dynamic.c - products and LSTM whose data the model quantizes while it runs: keys of
 * targets. Which nodes become some, their form, and the way back are in text/dynamic and
 * text/dynamic-lstm. */
#include "support/test.h"
#include "target/target.h"

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

TEST(recurrent_rules_have_a_dynamic_form_alone)
{
    static const struct {
        const char *keys, *message;
    } cases[] = {
        {"\"kind\": \"recurrent\"", "key 'dynamic': expected true, as 'kind' is 'recurrent'"},
        {"\"kind\": \"pass\", \"dynamic\": true",
         "key 'dynamic': expected false, as 'kind' is not 'linear' or 'recurrent'"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_target *t = NULL;
        char text[400];

        int n = snprintf(text, sizeof text,
                         "{\"qdq_target\": 1, \"name\": \"t\", \"activation\": {\"type\": "
                         "\"uint8\"}, \"weight\": {\"type\": \"int8\"}, \"operators\": [{\"op\": "
                         "\"LSTM\", \"rule\": \"r\", %s}]}",
                         cases[i].keys);
        assert_fails(QDQ_E_FORMAT, cases[i].message,
                     qdq_target_parse(text, (size_t)n, "t", &t, &err));
    }
}
