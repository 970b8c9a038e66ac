/* quant_plan.c - plans as text: what is written reads back the same, and mistakes are named. */
#include "base/file.h"
#include "quant/plan/plan.h"
#include "support/test.h"

static const char plan_text[] =
    "{\n"
    "  \"qdq_plan\": 1,\n"
    "  \"model\": \"00ff\",\n"
    "  \"target\": \"ort-cpu\",\n"
    "  \"created_by\": \"qdq\",\n"
    "  \"clean\": \"drop-unused\",\n"
    "  \"opset\": 13,\n"
    "  \"placement_only\": true,\n"
    "  \"tensors\": [\n"
    "    {\"tensor\": \"a\", \"type\": \"uint8\", \"scale\": 0.1, \"zero_point\": 7, \"rule\": "
    "\"conv\", "
    "\"origin\": \"rule\"},\n"
    "    {\"tensor\": \"b\", \"consumers\": [[\"n\\\"1\", 0], [\"n2\", 1]], \"type\": \"int8\", "
    "\"scale\": "
    "1.0, "
    "\"zero_point\": 0, \"rule\": \"r\", \"origin\": \"user\"}\n"
    "  ],\n"
    "  \"weights\": [\n"
    "    {\"tensor\": \"w\", \"consumers\": [[\"n1\", 1]], \"axis\": 0, \"type\": \"int8\", "
    "\"method\": "
    "\"absmax\", "
    "\"block\": null, \"rule\": \"conv\", \"origin\": \"rule\"},\n"
    "    {\"tensor\": \"w2\", \"consumers\": [[\"n2\", 1]], \"axis\": null, \"type\": \"int8\", "
    "\"method\": "
    "\"given\", \"block\": null, \"scales\": [0.5], \"rule\": \"conv\", \"origin\": \"import\"}\n"
    "  ],\n"
    "  \"biases\": [\n"
    "    {\"tensor\": \"bias\", \"consumer\": [\"n1\", 2], \"type\": \"int32\", \"activation\": "
    "\"a\", "
    "\"weight\": "
    "\"w\", \"rule\": \"conv\", \"origin\": \"rule\"}\n"
    "  ],\n"
    "  \"quantized\": [\n"
    "    {\"node\": \"n1\", \"op\": \"Conv\"},\n"
    "    {\"node\": \"n2\", \"op\": \"Conv\"}\n"
    "  ],\n"
    "  \"left_float\": [\n"
    "    {\"node\": \"s\", \"op\": \"Softmax\", \"reason\": \"slow\"}\n"
    "  ]\n"
    "}\n";

TEST(text_round_trips_to_the_letter)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    char *text = NULL;

    assert_ok(qdq_plan_parse(plan_text, strlen(plan_text), "plan", &p, &err));
    assert_true(p->tensors.at[0].qparam.scale == 0.1f);
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_string_equal(text, plan_text);
    qdq_free(text);
    qdq_plan_free(p);
}

TEST(files_round_trip_and_are_not_overwritten)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL, *again = NULL;
    const char *path = test_path("plan.json");

    assert_ok(qdq_plan_parse(plan_text, strlen(plan_text), "plan", &p, &err));
    assert_ok(qdq_plan_save(p, path, false, &err));
    assert_fails(QDQ_E_IO, "plan.json", qdq_plan_save(p, path, false, &err));
    assert_ok(qdq_plan_save(p, path, true, &err));
    assert_ok(qdq_plan_load(path, &again, &err));
    assert_int_equal(again->weights.n, 2);
    qdq_plan_free(p);
    qdq_plan_free(again);
}

TEST(the_summary_counts_operators_and_reasons)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    assert_ok(qdq_plan_parse(plan_text, strlen(plan_text), "plan", &p, &err));
    const qdq_plan_summary *s = qdq_plan_get_summary(p);
    assert_int_equal(s->n_quantized, 1);
    assert_string_equal(s->quantized[0].what, "Conv");
    assert_int_equal(s->quantized[0].n, 2);
    assert_string_equal(s->left_float[0].what, "Softmax: slow");
    assert_true(s->placement_only && s->n_tensors == 2 && s->n_biases == 1);
    qdq_plan_free(p);
}

#define WEIGHT(type)                                                                               \
    "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"a\", \"consumers\": [[\"n\", 1]], "            \
    "\"type\": " type "}]}"

TEST(mistakes_are_named_with_entry_and_key)
{
    static const struct {
        qdq_status code;
        const char *text, *message;
    } cases[] = {
        {QDQ_E_FORMAT, "", "plan: "},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1", "line 1"},
        {QDQ_E_FORMAT, "[]", "expected an object with the key 'qdq_plan'"},
        {QDQ_E_FORMAT, "{\"tensors\": []}", "expected an object with the key 'qdq_plan'"},
        {QDQ_E_UNSUPPORTED, "{\"qdq_plan\": 2}",
         "key 'qdq_plan': version 2 of the format, expected 1"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"model\": 3}", "key 'model': expected a string"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"tensors\": 3}", "key 'tensors': expected a list"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"tensors\": [3]}", "tensors[0]: expected an object"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"tensors\": [{}]}",
         "tensors[0], key 'tensor': expected a string"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"tensors\": [{\"tensor\": \"a\", \"type\": \"float\"}]}",
         "tensors[0], key 'type': expected 'int8'"},
        {QDQ_E_FORMAT,
         "{\"qdq_plan\": 1, \"tensors\": [{\"tensor\": \"a\", \"type\": \"int8\", \"scale\": 0}]}",
         "tensors[0], key 'scale': expected a finite number above 0"},
        {QDQ_E_FORMAT,
         "{\"qdq_plan\": 1, \"tensors\": [{\"tensor\": \"a\", \"type\": \"int8\", \"scale\": "
         "1e99}]}",
         "tensors[0], key 'scale'"},
        {QDQ_E_FORMAT,
         "{\"qdq_plan\": 1, \"tensors\": [{\"tensor\": \"a\", \"type\": \"int8\", \"scale\": 1, "
         "\"zero_point\": 200}]}",
         "tensors[0], key 'zero_point': expected a whole number from -128 to 127"},
        {QDQ_E_FORMAT,
         "{\"qdq_plan\": 1, \"tensors\": [{\"tensor\": \"a\", \"consumers\": [[\"n\"]], \"type\": "
         "\"int8\", "
         "\"scale\": 1}]}",
         "tensors[0], key 'consumers': expected a list of [node, input number]"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"a\", \"type\": \"int8\"}]}",
         "weights[0], key 'consumers'"},
        {QDQ_E_FORMAT, WEIGHT("\"float16\""),
         "weights[0], key 'type': expected 'int8', 'uint8', 'int16', 'uint16', 'int4', 'uint4' or "
         "'float8e4m3fn'"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"block\": 32"),
         "weights[0], key 'axis': expected a number, as there are blocks"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"axis\": 0, \"block\": 0"),
         "weights[0], key 'block': expected a whole number from 1 to"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"store\": \"stone\""),
         "weights[0], key 'store': expected 'codes', 'float', 'nbits' or 'dynamic'"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"codes\": \"AAAA\""),
         "weights[0], key 'method': expected 'given', as there are codes"},
        {QDQ_E_FORMAT,
         WEIGHT("\"int8\", \"method\": \"given\", \"scales\": [1], \"codes\": \"AA!\""),
         "weights[0], key 'codes': expected bytes in base64"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"method\": \"given\", \"scales\": [1], \"codes\": \"\""),
         "weights[0], key 'codes': expected bytes in base64"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"zero_points\": [1]"),
         "weights[0], key 'method': expected 'given', as there are scales"},
        {QDQ_E_FORMAT,
         WEIGHT("\"int8\", \"method\": \"given\", \"scales\": [1, 2], \"zero_points\": [1]"),
         "weights[0], key 'zero_points': expected a list with a code for each scale"},
        {QDQ_E_FORMAT,
         WEIGHT("\"int4\", \"method\": \"given\", \"scales\": [1], \"zero_points\": [8]"),
         "weights[0], key 'zero_points': expected codes of its type"},
        {QDQ_E_FORMAT,
         WEIGHT("\"float8e4m3fn\", \"method\": \"given\", \"scales\": [1], \"zero_points\": [1]"),
         "weights[0], key 'zero_points': expected codes of its type"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"clip\": \"AB\""),
         "weights[0], key 'method': expected 'clip', as there is that key"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"method\": \"clip\""),
         "weights[0], key 'clip': expected a string"},
        {QDQ_E_FORMAT, WEIGHT("\"int8\", \"method\": \"clip\", \"clip\": \"A-\""),
         "weights[0], key 'clip': expected letters, of fewer steps than take all of the range"},
        {QDQ_E_FORMAT,
         WEIGHT("\"int8\", \"method\": \"clip\", \"clip_step\": 0.1, \"clip\": \"AK\""),
         "weights[0], key 'clip': expected letters"},
        {QDQ_E_FORMAT,
         "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"a\", \"consumers\": [[\"n\", 1]], "
         "\"type\": "
         "\"int8\", "
         "\"method\": \"given\", \"scales\": [-1]}]}",
         "weights[0], key 'scales': expected a list of numbers above 0"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"biases\": [{\"tensor\": \"a\", \"consumer\": 3}]}",
         "biases[0], key 'consumer': expected [node, input number]"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"tensor\": []}",
         "top level: unknown key 'tensor', expected 'qdq_plan'"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"tensors\": [{\"tensor\": \"a\", \"zero_piont\": 7}]}",
         "tensors[0]: unknown key 'zero_piont'"},
        {QDQ_E_FORMAT, "{\"qdq_plan\": 1, \"placement_only\": 1}",
         "key 'placement_only': expected true or false"},
        {QDQ_E_FORMAT,
         "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"a\", \"consumers\": [[\"n\", 1]], "
         "\"type\": "
         "\"int8\", \"scales\": [1]}]}",
         "weights[0], key 'method': expected 'given', as there are scales"},
    };
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        assert_fails(cases[i].code, cases[i].message,
                     qdq_plan_parse(cases[i].text, strlen(cases[i].text), "plan", &p, &err));
        assert_null(p);
    }
}
