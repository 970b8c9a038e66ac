/* target_load.c - target descriptions: the built-in ones load, and every mistake is named with its
 * place. */
#include <jansson.h>

#include "base/file.h"
#include "support/test.h"
#include "target/target.h"

TEST(builtin_targets_load_and_print_what_they_are)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *name, *help;
    size_t i = 0;

    for (; (name = qdq_target_name(i, &help)) != NULL; i++) {
        qdq_target *t = NULL;

        assert_ok(qdq_target_load(name, &t, &err));
        assert_string_equal(t->name, name);
        assert_string_equal(t->help, help);
        assert_non_null(strstr(qdq_target_text(t), "\"qdq_target\": 1"));
        assert_true(qdq_target_engine(t)[0] != '\0');
        qdq_target_free(t);
    }
    assert_true(i >= 1);
}

TEST(weights_alone_have_kernels_on_openvino_only)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *name, *help;

    for (size_t i = 0; (name = qdq_target_name(i, &help)) != NULL; i++) {
        qdq_target *t = NULL;

        assert_ok(qdq_target_load(name, &t, &err));
        assert_int_equal(t->weights_alone, strcmp(name, "openvino") == 0);
        qdq_target_free(t);
    }
}

TEST(ort_cpu_knows_conv)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    const qdq_target_op *conv = qdq_target_find(t, "Conv");
    assert_non_null(conv);
    assert_true(conv->quantize_output && conv->kind == QDQ_KIND_LINEAR && conv->bias_input == 2);
    assert_string_equal(conv->epilogue[0], "Relu");
    assert_null(qdq_target_find(t, "Softmax"));
    assert_string_equal(qdq_target_reason(t, "Tanh"), "no 8-bit kernel on this target");
    assert_string_equal(qdq_target_reason(t, "Relu"),
                        "runs in 8 bits only as part of an 8-bit operator before it");
    qdq_target_free(t);
}

TEST(ort_arm_has_signed_activations_and_says_that_its_rules_were_not_measured)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL, *x86 = NULL;

    assert_ok(qdq_target_load("ort-arm", &t, &err));
    assert_ok(qdq_target_load("ort-cpu", &x86, &err));
    assert_int_equal(t->format.activation.type, QDQ_INT8);
    assert_false(t->format.activation.symmetric); /* Relu goes where the zero point is -128 */
    assert_true(t->format.weight.type == QDQ_INT8 && t->format.weight.symmetric);
    assert_int_equal(t->others.n, 1);
    assert_int_equal(t->others.at[0].format.activation.type, QDQ_UINT8);
    assert_false(t->int8_one_reader);
    assert_string_equal(qdq_target_engine(t), "ort");
    assert_int_equal(t->ops.n, x86->ops.n);
    assert_int_equal(t->stay.n, x86->stay.n);
    assert_int_equal(t->probes.n, x86->probes.n);
    for (size_t i = 0; i < t->ops.n; i++)
        assert_non_null(strstr(t->ops.at[i].rule, " (not measured)"));
    for (size_t i = 0; i < t->stay.n; i++) {
        assert_non_null(strstr(t->stay.at[i].rule, " (not measured)"));
        assert_non_null(strstr(t->stay.at[i].reason, " (not measured)"));
    }
    assert_string_equal(qdq_target_reason(t, "LeakyRelu"), "its rule is off (not measured)");
    assert_non_null(strstr(qdq_target_reason(t, "Softmax"), " (not measured)"));
    assert_non_null(
        strstr(qdq_target_no_dynamic(t, "Conv", qdq_target_find(t, "Conv")), " (not measured)"));
    assert_string_equal(qdq_target_reason(t, "Tanh"), "no 8-bit kernel on this target");
    qdq_target_free(x86);
    qdq_target_free(t);
}

TEST(tensorrt_takes_symmetric_codes_and_float_biases)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_ok(qdq_target_load("tensorrt", &t, &err));
    assert_true(t->format.activation.symmetric && t->format.activation.type == QDQ_INT8 &&
                t->format.weight.symmetric);
    assert_true(t->format.weight_per_channel && !t->format.int32_bias);
    assert_string_equal(t->engine, "trtexec");
    /* of the parser: 22 is what bfloat16 needs, and no warning is due */
    assert_int_equal(t->max_opset, 24);
    assert_true(t->half.follows && t->half.type == QDQ_FLOAT);
    qdq_target_free(t);
}

TEST(a_key_is_changed_as_if_the_file_said_so)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "activation.symmetric", "true", &err));
    assert_ok(qdq_target_set(t, "activation.type", "int8", &err));
    assert_true(t->format.activation.symmetric && t->format.activation.type == QDQ_INT8);
    assert_non_null(strstr(qdq_target_text(t), "\"type\": \"int8\""));
    assert_fails(QDQ_E_FORMAT, "set activation.type: ort-cpu: activation, key 'type'",
                 qdq_target_set(t, "activation.type", "int9", &err));
    assert_fails(QDQ_E_FORMAT, "unknown key 'tpye'",
                 qdq_target_set(t, "activation.tpye", "int8", &err));
    assert_fails(QDQ_E_USAGE, "what stands before the dot is not an object",
                 qdq_target_set(t, "name.first", "1", &err));
    assert_fails(QDQ_E_USAGE, "no UTF-8", qdq_target_set(t, "name", "\xff", &err));
    assert_true(t->format.activation.type == QDQ_INT8); /* mistakes change nothing */
    qdq_target_free(t);
}

TEST(an_entry_of_a_list_is_changed_by_its_number)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    const size_t n = t->ops.n;
    assert_ok(qdq_target_set(t, "operators.0.off", "true", &err));
    assert_int_equal(t->ops.n, n - 1);
    assert_fails(QDQ_E_USAGE, "found 'Conv' in a list, expected the number of an entry, 0 to ",
                 qdq_target_set(t, "operators.Conv.off", "true", &err));
    assert_fails(QDQ_E_USAGE, "found '99999999999999999999' in a list",
                 qdq_target_set(t, "operators.99999999999999999999.off", "true", &err));
    assert_fails(QDQ_E_USAGE, "found '' in a list", qdq_target_set(t, "operators.", "1", &err));
    assert_ok(qdq_target_set(t, "stay_float", "[]", &err));
    assert_fails(QDQ_E_USAGE, "the list before '0' is empty",
                 qdq_target_set(t, "stay_float.0", "1", &err));
    qdq_target_free(t);
}

TEST(a_file_is_read_like_a_builtin)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *builtin = NULL, *copy = NULL;
    const char *path = test_path("mine.json");

    assert_ok(qdq_target_load("ort-cpu", &builtin, &err));
    const char *text = qdq_target_text(builtin);
    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
    assert_ok(qdq_target_load(path, &copy, &err));
    assert_int_equal(copy->ops.n, builtin->ops.n);
    qdq_target_free(builtin);
    qdq_target_free(copy);
}

/* Rules of speed are off, with their probes; those of correctness, which have none, hold. */
static void forget(json_t *root)
{
    json_t *rule;
    size_t i;

    json_array_foreach(json_object_get(root, "stay_float"), i, rule)
    {
        if (json_object_get(rule, "probe") != NULL)
            json_object_set_new(rule, "off", json_true());
        json_object_del(rule, "measured");
    }
    json_object_del(root, "no_kernel");
    json_object_del(root, "no_dynamic");
    json_array_foreach(json_object_get(root, "operators"), i, rule)
    {
        json_object_del(rule, "only_between");
        json_object_del(rule, "off");
        json_object_del(rule, "cpu");
        json_object_del(rule, "measured");
    }
}

/* What the search without knowledge is measured with (make bench), and `qdq targets --measure`: all
 * that the engine can do, and nothing of what pays. */
TEST(the_bare_targets_are_the_built_in_ones_without_what_was_measured)
{
    static const char *const names[][2] = {{"ort-cpu", "ort_cpu_bare"},
                                           {"openvino", "openvino_bare"}};
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        qdq_target *full, *bare;
        json_t *a, *b;
        char path[600];

        snprintf(path, sizeof path, QDQ_SOURCE_DIR "/tests/data/%s.json", names[i][1]);
        assert_ok(qdq_target_load(names[i][0], &full, &err));
        assert_ok(qdq_target_load(path, &bare, &err));
        a = json_loads(qdq_target_text(full), 0, NULL);
        b = json_loads(qdq_target_text(bare), 0, NULL);
        forget(a);
        json_object_set(a, "name", json_object_get(b, "name"));
        json_object_set(a, "help", json_object_get(b, "help"));
        assert_true(json_equal(a, b));
        json_decref(a);
        json_decref(b);
        qdq_target_free(full);
        qdq_target_free(bare);
    }
}

static const char *text_of(const json_t *j, const char *key)
{
    const char *text = json_string_value(json_object_get(j, key));

    return text != NULL ? text : "";
}

/* The same is decided, by what another processor measured, the other way. */
static bool contradict(const json_t *a, const json_t *b)
{
    const char *x = text_of(a, "verdict"), *y = text_of(b, "verdict");

    return strcmp(text_of(a, "key"), text_of(b, "key")) == 0 &&
           strcmp(text_of(a, "probe"), text_of(b, "probe")) == 0 &&
           json_integer_value(json_object_get(a, "at")) ==
               json_integer_value(json_object_get(b, "at")) &&
           strcmp(text_of(a, "processor"), text_of(b, "processor")) != 0 &&
           ((strcmp(x, "pays") == 0 && strcmp(y, "harms") == 0) ||
            (strcmp(x, "harms") == 0 && strcmp(y, "pays") == 0));
}

static bool is_contested(const json_t *rule)
{
    const json_t *list = json_object_get(rule, "measured"), *a, *b;
    size_t i, k;

    json_array_foreach(list, i, a)
    {
        json_array_foreach(list, k, b)
        {
            if (contradict(a, b))
                return true;
        }
    }
    return false;
}

static bool is_conditional(const json_t *rule)
{
    return json_object_get(rule, "cpu") != NULL || json_is_true(json_object_get(rule, "off")) ||
           json_is_true(json_object_get(rule, "accuracy"));
}

TEST(a_rule_that_pays_on_one_processor_and_harms_on_another_has_a_condition)
{
    static const char *const names[] = {"ort-cpu", "openvino"}, *const lists[] = {"operators",
                                                                                  "stay_float"};
    static const char other[] = "[{\"verdict\": \"pays\", \"at\": 4, \"processor\": \"A\"},"
                                " {\"verdict\": \"harms\", \"at\": 8, \"processor\": \"B\"},"
                                " {\"verdict\": \"harms\", \"at\": 4, \"processor\": \"%s\"}]";
    qdq_error err = QDQ_ERROR_INIT;
    char text[400];

    for (int same = 0; same < 2; same++) {
        snprintf(text, sizeof text, other, same != 0 ? "A" : "B");
        json_t *rule = json_pack("{s:o}", "measured", json_loads(text, 0, NULL));
        assert_int_equal(is_contested(rule), same == 0);
        json_decref(rule);
    }
    for (size_t i = 0; i < QDQ_COUNT(names) * QDQ_COUNT(lists); i++) {
        qdq_target *t;
        json_t *rule;
        size_t k;

        assert_ok(qdq_target_load(names[i / 2], &t, &err));
        json_t *root = json_loads(qdq_target_text(t), 0, NULL);
        json_array_foreach(json_object_get(root, lists[i % 2]), k, rule)
        {
            if (is_contested(rule) && !is_conditional(rule))
                fail_msg("%s: %s of %s is an average", names[i / 2], text_of(rule, "rule"),
                         text_of(rule, "op"));
        }
        json_decref(root);
        qdq_target_free(t);
    }
}

TEST(formats_are_read_and_overridden_for_some_nodes)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_int_equal(qdq_target_opset(t), 13);
    assert_ok(qdq_target_set(t, "weight.store", "float", &err));
    assert_true(t->format.weight_store == QDQ_WEIGHT_AS_FLOAT);
    assert_ok(qdq_target_set(
        t, "overrides",
        "[{\"node\": \"^fc\", \"op\": \"MatMul\", \"activation\": {\"type\": \"float\"},"
        " \"weight\": {\"type\": \"uint4\", \"symmetric\": false, \"block\": 32}},"
        " {\"op\": \"Conv\", \"activation\": {\"type\": \"float8e4m3fn\"}, \"weight\": "
        "{\"type\": \"float8e4m3fn\", \"block\": -1}}]",
        &err));
    assert_int_equal(t->overrides.n, 2);
    const qdq_override *fc = &t->overrides.at[0], *conv = &t->overrides.at[1];
    assert_string_equal(fc->node, "^fc");
    assert_string_equal(fc->op, "MatMul");
    assert_true(qdq_format_weight_only(&fc->format) && fc->format.weight.type == QDQ_UINT4);
    assert_true(!fc->format.weight.symmetric && fc->format.weight_block == 32);
    assert_true(fc->format.weight_store == QDQ_WEIGHT_AS_FLOAT &&
                fc->format.int32_bias); /* as the target has */
    /* float8 has no zero point */
    assert_true(conv->node == NULL && conv->format.activation.symmetric);
    assert_true(conv->format.weight_block == 0 && conv->format.weight_per_channel);
    assert_int_equal(qdq_format_opset(&conv->format), 19);
    assert_int_equal(qdq_target_opset(t), 21);
    qdq_target_free(t);
}

static size_t count_others(const char *target, const char *key, const char *value)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL, *changed = NULL;

    assert_ok(qdq_target_load(target, &t, &err));
    assert_ok(qdq_target_with(t, key, value, &changed, &err));
    const size_t n = changed->others.n;
    qdq_target_free(changed);
    qdq_target_free(t);
    return n;
}

TEST(an_activation_that_is_named_is_the_only_one)
{
    assert_int_equal(count_others("openvino", "help", "changed"), 3);
    assert_int_equal(count_others("openvino", "activation.method", "max"), 3);
    assert_int_equal(count_others("openvino", "weight.reduced", "true"), 3);
    assert_int_equal(count_others("openvino", "activation.unsigned_if_non_negative", "false"), 0);
    assert_int_equal(count_others("openvino", "activation.type", "uint8"), 0);
    assert_int_equal(count_others("openvino", "activation", "{\"type\": \"int8\"}"), 0);
    assert_int_equal(count_others("openvino", "other_activations", "[]"), 0);
}

/* int8 activations beside weights that became uint8 where VNNI is missing. */
TEST(an_activation_without_a_kernel_beside_the_weights_is_left_out)
{
    assert_int_equal(count_others("ort-cpu", "help", "changed"), 1);
    assert_int_equal(count_others("ort-cpu", "weight.type", "uint8"), 0);
}

#define HEAD "{\"qdq_target\": 1, \"name\": \"t\","
#define TYPES                                                                                      \
    "\"activation\": {\"type\": \"uint8\"}, \"weight\": {\"type\": \"int8\", \"symmetric\": true}"

#define FORMAT(activation, weight)                                                                 \
    "\"activation\": {\"type\": \"" activation "\"}, \"weight\": {" weight "}}"

TEST(mistakes_are_named_with_their_place)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[1]", "expected an object with the key 'qdq_target'"},
        {"{}", "expected an object with the key 'qdq_target'"},
        {"{\"qdq_target\": 1,", "line 1"},
        {"{\"qdq_target\": \"1\"}", "key 'qdq_target': expected 1, the version of the format"},
        {HEAD TYPES ", \"colour\": 1}",
         "top level: unknown key 'colour', expected 'qdq_target', 'name', "},
        {HEAD "\"activation\": 3}", "key 'activation': expected an object"},
        {HEAD "\"activation\": {\"type\": \"int32\"}}",
         "activation, key 'type': expected 'float', 'int8', 'uint8', 'int16', 'uint16', 'int4', "
         "'uint4' or "
         "'float8e4m3fn'"},
        {HEAD FORMAT("uint8", "\"type\": \"float\""),
         "weight, key 'type': expected 'int8', 'uint8', "
         "'int16', 'uint16', 'int4', 'uint4' or 'float8e4m3fn'"},
        {HEAD FORMAT("uint8", "\"type\": \"uint8\", \"pairs\": true"),
         "weight, key 'pairs': expected false: it is for symmetric int8"},
        {HEAD FORMAT("uint8", "\"type\": \"int16\", \"reduced\": true"),
         "weight, key 'reduced': expected false: it is for 8-bit integers"},
        {HEAD FORMAT("uint8", "\"type\": \"float8e4m3fn\""),
         "weight, key 'type': expected integers: no kernel multiplies float8 weights"},
        {HEAD FORMAT("float8e4m3fn", "\"type\": \"int8\""),
         "weight, key 'type': expected 'float8e4m3fn', as activations are"},
        {HEAD FORMAT("int8", "\"type\": \"uint8\""),
         "weight, key 'type': expected 'int8': no kernel"},
        {HEAD FORMAT("uint8", "\"type\": \"int8\", \"block\": -2"),
         "weight, key 'block': expected a whole number from -1 to 1048576"},
        {HEAD FORMAT("uint8", "\"type\": \"int8\", \"method\": \"awq-lite\""),
         "weight, key 'method': expected 'absmax' or 'mse': awq is for integer weights and "
         "activations of "
         "type "
         "'float'"},
        {HEAD FORMAT("float", "\"type\": \"float8e4m3fn\", \"method\": \"gptq\""),
         "weight, key 'method': expected 'absmax' or 'mse': gptq is for integer weights"},
        {HEAD FORMAT("float", "\"type\": \"int4\", \"method\": \"gptq\", \"damping\": 0"),
         "weight, key 'damping': expected a number from 1e-06 to 1"},
        {HEAD FORMAT("uint8", "\"type\": \"int4\", \"store\": \"nbits\""),
         "weight, key 'store': expected 'codes' or 'float': 'nbits' is for activations of type "
         "'float'"},
        {HEAD FORMAT("float", "\"type\": \"int16\", \"store\": \"nbits\", \"block\": 32"),
         "weight, key 'type': expected 'int4', 'uint4', 'int8' or 'uint8', as 'store' is 'nbits'"},
        {HEAD FORMAT("float", "\"type\": \"int4\", \"store\": \"nbits\", \"block\": 24"),
         "weight, key 'block': expected a power of two from 16 on"},
        {HEAD FORMAT("float", "\"type\": \"int4\", \"store\": \"nbits\", \"block\": 8"),
         "weight, key 'block': expected a power of two from 16 on"},
        {HEAD FORMAT("float", "\"type\": \"int4\", \"accuracy_level\": 5"),
         "weight, key 'accuracy_level': expected a whole number from 0 to 4"},
        {HEAD FORMAT("float", "\"type\": \"int4\", \"alpha_step\": 0"),
         "weight, key 'alpha_step': expected a number from 0.001 to 1"},
        {HEAD FORMAT("float", "\"type\": \"int4\", \"clip_step\": 0.01, \"clip_min\": 0.2"),
         "weight, key 'clip_step': expected at most 51 steps from 1 down to 'clip_min'"},
        {HEAD FORMAT("float", "\"type\": \"int4\", \"pow2\": 1"),
         "weight, key 'pow2': expected true or false"},
        {HEAD TYPES ", \"overrides\": [{\"weight\": {\"type\": \"int4\"}}]}",
         "overrides[0], key 'node': expected a regular expression, or the key 'op'"},
        {HEAD TYPES ", \"overrides\": [{\"node\": \"a(\"}]}",
         "overrides[0]: key 'node': regular expression 'a(': Unmatched ("},
        {HEAD TYPES
         ", \"overrides\": [{\"op\": \"Conv\", \"activation\": {\"type\": \"float8e4m3fn\"}}]}",
         "overrides[0], key 'type': expected 'float8e4m3fn', as activations are"},
        {HEAD TYPES ", \"overrides\": [{\"op\": \"Conv\", \"wieght\": {}}]}",
         "overrides[0]: unknown key 'wieght'"},
        {HEAD TYPES ", \"overrides\": [{\"op\": \"Conv\", \"activation\": {\"symmetric\": true}}]}",
         "overrides[0], key 'activation': expected 'symmetric', 'reduced', 'pow2' and "
         "'unsigned_if_non_negative' as other activations of this type"},
        {HEAD TYPES
         ", \"overrides\": [{\"op\": \"Conv\", \"activation\": {\"type\": \"int16\"}},"
         " {\"op\": \"Gemm\", \"activation\": {\"type\": \"int16\", \"symmetric\": true}}]}",
         "overrides[1], key 'activation': expected 'symmetric', 'reduced', 'pow2' and"},
        {HEAD TYPES ", \"bias\": {\"type\": \"int8\"}}",
         "bias, key 'type': expected 'float' or 'int32'"},
        {HEAD TYPES ", \"graph_output\": \"maybe\"}",
         "key 'graph_output': expected 'float' or 'dequantized'"},
        {HEAD TYPES ", \"min_opset\": 5}",
         "key 'min_opset': expected a whole number from 10 to 21"},
        {HEAD TYPES ", \"min_opset\": -1}",
         "key 'min_opset': expected a whole number from 10 to 21"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"joint\", "
                    "\"data\": [0, 1]}]}",
         "operators[0], key 'data': expected a list with the number of one input"},
        {HEAD TYPES ", \"partitions\": {}, \"operators\": [{\"op\": \"A\", \"rule\": \"c\", "
                    "\"kind\": \"joint\", "
                    "\"data\": [1, 0]}]}",
         "operators[0], key 'data': expected a rising list of the numbers of inputs, or 'all'"},
        {HEAD TYPES ", \"partitions\": {}, \"operators\": [{\"op\": \"A\", \"rule\": \"c\", "
                    "\"kind\": \"linear\", "
                    "\"data\": \"all\"}]}",
         "operators[0], key 'data': expected a list with the number of one input"},
        {HEAD TYPES ", \"layernorm-input\": \"some\"}",
         "key 'layernorm-input': expected 'off', 'conv' or 'any'"},
        {HEAD TYPES ", \"weights_alone\": 1}", "key 'weights_alone': expected true or false"},
        {HEAD TYPES ", \"disable_mha_qdq\": 1}", "key 'disable_mha_qdq': expected true or false"},
        {HEAD TYPES ", \"partitions\": []}", "key 'partitions': expected an object"},
        {HEAD TYPES ", \"partitions\": {\"pointwize\": []}}",
         "partitions: unknown key 'pointwize'"},
        {HEAD TYPES ", \"partitions\": {\"backbones\": [\"Relu |Conv\"]}}",
         "partitions, key 'backbones': expected operators one behind the other: 'A B', 'A|B' for "
         "either"},
        {HEAD TYPES ", \"partitions\": {\"backbones\": [\"\"]}}",
         "partitions, key 'backbones': expected operators"},
        {HEAD TYPES ", \"partitions\": {\"backbones\": [\"?\"]}}",
         "partitions, key 'backbones': expected operators"},
        {HEAD TYPES ", \"partitions\": {\"backbones\": [\"A|B|C|D|E\"]}}",
         "partitions, key 'backbones': expected operators"},
        {HEAD TYPES ", \"partitions\": {\"backbones\": [\"A A A A A A A A A A A A A A A A\"]}}",
         "partitions, key 'backbones': expected operators"},
        {HEAD TYPES ", \"partitions\": {\"frozen\": [{\"rule\": \"r\", \"reason\": \"x\"}]}}",
         "partitions.frozen[0], key 'path': expected a string"},
        {HEAD TYPES ", \"partitions\": {\"residual_add\": \"none\"}}",
         "partitions, key 'residual_add': expected 'both-branches' or 'main-branch-float'"},
        {HEAD TYPES ", \"partitions\": {\"conv_filter\": {\"rule\": \"r\", \"channels_min\": -1}}}",
         "partitions.conv_filter, key 'channels_min': expected a whole number from 0 to"},
        {HEAD TYPES ", \"partitions\": {\"gemm_filter\": {}}}",
         "partitions.gemm_filter, key 'rule': expected a string"},
        {HEAD TYPES
         ", \"partitions\": {\"attention_filter\": {\"rule\": \"r\", \"path\": \"MatMul\"}}}",
         "partitions.attention_filter, key 'path': expected three operators"},
        {HEAD TYPES ", \"operators\": {}}", "key 'operators': expected a list of objects"},
        {HEAD TYPES ", \"operators\": [1]}", "operators[0]: expected an object"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"Conv\"}]}",
         "operators[0], key 'rule': expected a string"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"Conv\", \"rule\": \"c\"}]}",
         "operators[0], key 'kind'"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"Conv\", \"rule\": \"c\", \"kind\": \"round\"}]}",
         "operators[0], key 'kind': expected 'linear', 'table', 'recurrent', 'joint' or 'pass'"},
        {HEAD TYPES
         ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"pass\", \"data\": 1}]}",
         "operators[0], key 'data': expected a list"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"linear\", "
                    "\"bias\": \"x\"}]}",
         "operators[0], key 'bias': expected 'add-if-static'"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"linear\", "
                    "\"epilogue\": [1]}]}",
         "operators[0], key 'epilogue': expected a list of strings"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"linear\", "
                    "\"require\": []}]}",
         "operators[0], key 'require': expected an object"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"linear\", "
                    "\"require\": {\"group\": \"1\"}}]}",
         "operators[0].require, key 'group': expected a number"},
        {HEAD TYPES
         ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"linear\", \"bias\": 16}]}",
         "operators[0], key 'bias': expected a whole number from 0 to 15"},
        {HEAD "\"activation\": {\"type\": \"uint8\", \"per_channel\": true}, \"weight\": "
              "{\"type\": \"int8\"}}",
         "activation: unknown key 'per_channel'"},
        {HEAD "\"activation\": {\"type\": \"uint8\"}}", "key 'weight': expected an object"},
        {HEAD TYPES ", \"join_factor_max\": -1}", "key 'join_factor_max': expected "},
        {HEAD TYPES ", \"max_opset\": 12}",
         "key 'max_opset': expected a whole number from 13 to 30"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"pass\"}, "
                    "{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"pass\"}]}",
         "operators[1]: operator 'A' is listed twice"},
        {HEAD TYPES ", \"stay_float\": [{\"op\": \"A\", \"rule\": \"c\", \"reason\": \"r\", "
                    "\"in_chanels_max\": 1}]}",
         "stay_float[0]: unknown key 'in_chanels_max'"},
        {HEAD TYPES ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"linear\", "
                    "\"data\": [1]}]}",
         "operator 'A': data, weight and bias are one input, expected different ones"},
        {HEAD TYPES
         ", \"operators\": [{\"op\": \"A\", \"rule\": \"c\", \"kind\": \"pass\", \"tied\": true}]}",
         "operator 'A': key 'tied': of no meaning but for joint operators"},
        {HEAD TYPES ", \"partitions\": {}, \"operators\": [{\"op\": \"A\", \"rule\": \"c\", "
                    "\"kind\": \"linear\", "
                    "\"output\": \"if-read\"}]}",
         "operators[0], key 'output': expected 'float' or 'quantized', as there are 'partitions'"},
        {HEAD "\"activation\": {\"type\": \"int8\", \"unsigned_if_non_negative\": 1}, \"weight\": "
              "{\"type\": "
              "\"int8\"}}",
         "activation, key 'unsigned_if_non_negative': expected true or false"},
        {HEAD TYPES ", \"no_kernel\": [{\"op\": \"A\"}]}",
         "no_kernel[0], key 'reason': expected a string"},
        {HEAD TYPES ", \"other_activations\": {}}",
         "key 'other_activations': expected a list of objects"},
        {HEAD TYPES ", \"other_activations\": [{}]}",
         "other_activations[0], key 'activation': expected an object"},
        {HEAD TYPES ", \"other_activations\": [{\"activation\": {\"type\": \"uint8\"}}]}",
         "other_activations[0], key 'activation': expected a format that no other activations of "
         "the target have"},
        {HEAD TYPES ", \"other_activations\": [{\"activation\": {\"type\": \"int16\"}}]}",
         "other_activations[0].activation, key 'type': expected 'int8' or 'uint8'"},
        {HEAD TYPES ", \"other_activations\": [{\"activation\": {\"type\": \"int8\"}}, "
                    "{\"activation\": {\"symmetric\": true}}, {\"activation\": {\"type\": "
                    "\"int8\"}}]}",
         "other_activations[2], key 'activation': expected a format that no other"},
        {HEAD TYPES
         ", \"other_activations\": [{\"activation\": {\"type\": \"int8\"}, \"weight\": {}}]}",
         "other_activations[0]: unknown key 'weight'"},
    };
    qdq_error err = QDQ_ERROR_INIT;
    const char *path = test_path("bad.json");
    qdq_target *t = NULL;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        assert_ok(qdq_write_file(path, true, cases[i].text, strlen(cases[i].text), &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message, qdq_target_load(path, &t, &err));
        assert_null(t);
        assert_non_null(strstr(err.text, "bad.json"));
    }
}

TEST(another_version_is_not_supported)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *path = test_path("next.json"), *text = "{\"qdq_target\": 2}";
    qdq_target *t = NULL;

    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
    assert_fails(QDQ_E_UNSUPPORTED, "key 'qdq_target': version 2 of the format, expected 1",
                 qdq_target_load(path, &t, &err));
    assert_null(t);
}

TEST(each_engine_has_a_target)
{
    assert_string_equal(qdq_target_of_engine("openvino:/opt/libopenvino_c.so"), "openvino");
    assert_string_equal(qdq_target_of_engine("trtexec"), "tensorrt");
    assert_string_equal(qdq_target_of_engine("ort"), "ort-cpu");
    assert_string_equal(qdq_target_of_engine("sim:cost.json"), "ort-cpu");
    assert_string_equal(qdq_target_of_engine(NULL), "ort-cpu");
}

TEST(unknown_names_and_missing_files_are_told_apart)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_fails(QDQ_E_USAGE, "target 'gpu': expected a built-in target",
                 qdq_target_load("gpu", &t, &err));
    assert_fails(QDQ_E_IO, "missing.json", qdq_target_load(test_path("missing.json"), &t, &err));
}
