/* target_read.c - reads target descriptions. Every key is checked: an unknown one is an error, not
 * a comment. */
#include "target/target_read.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_read.h"

enum { INPUT_MAX = 15, CHANNELS_MAX = 1 << 20, WORK_MAX = 1 << 30, COUNTS_MAX = 1000 };

/* --- the parts of a description --------------------------------------------------------------- */

/* By qdq_method; the first one is for callers alone. */
static const char *const methods[] = {"default",        "max",        "entropy",
                                      "entropy-compat", "percentile", "mse",
                                      "moving-average", "auto",       NULL};

const char *qdq_method_name(qdq_method method)
{
    return (size_t)method < QDQ_COUNT(methods) ? methods[method] : NULL;
}

static qdq_method read_method(const qdq_json_place *top)
{
    qdq_json_place p;

    if (!qdq_json_member(top, "activation", &p))
        return QDQ_METHOD_MAX; /* its format says that it is needed */
    return QDQ_METHOD_MAX + (qdq_method)qdq_json_word(&p, "method", methods + QDQ_METHOD_MAX, 0);
}

/* Scales have the type of what is not quantized. */
static void read_rest(qdq_target *t, const qdq_json_place *top)
{
    static const qdq_elem elems[] = {QDQ_FLOAT, QDQ_FLOAT16, QDQ_BFLOAT16, QDQ_FLOAT};
    qdq_json_place p;

    t->half.type = QDQ_FLOAT;
    if (!qdq_json_member(top, "rest", &p))
        return;
    QDQ_JSON_KNOWN(&p, "type", "direct_io", "keep_sums", "keep");
    int word = QDQ_JSON_WORD(&p, "type", 0, "float", "float16", "bfloat16", "model");
    t->half.type = elems[word];
    t->half.follows = word == 3;
    t->half.direct_io = qdq_json_bool(&p, "direct_io");
    t->half.keep_sums = qdq_json_bool(&p, "keep_sums");
    t->half.keep = qdq_json_texts(&p, "keep");
    t->format.activation.storage = t->format.weight.storage = t->half.type;
}

/* "data": [1]; where partitions are placed and the operator is not linear, also [0, 2] or "all" */
static void read_data(const qdq_json_place *p, bool several, qdq_target_op *op)
{
    json_t *list = json_object_get(p->object, "data"), *input;
    bool bad = !json_is_array(list) || (!several && json_array_size(list) != 1);
    size_t i;

    op->inputs = op->kind == QDQ_KIND_JOINT ? QDQ_INPUTS_ALL : 1;
    if (!qdq_json_has(p, "data"))
        return;
    op->inputs = 0;
    json_array_foreach(list, i, input)
    {
        json_int_t n = json_is_integer(input) ? json_integer_value(input) : -1;

        bad |= n < 0 || n > INPUT_MAX || op->inputs >> n != 0;
        if (bad)
            break;
        op->data = i == 0 ? (uint32_t)n : op->data;
        op->inputs |= (uint32_t)1 << n;
    }
    if (several && json_is_string(list) && strcmp(json_string_value(list), "all") == 0)
        op->inputs = QDQ_INPUTS_ALL;
    else if (bad)
        qdq_json_wrong(p, "data",
                       several ? "a rising list of the numbers of inputs, or 'all'"
                               : "a list with the number of one input");
}

static void read_bias_rule(const qdq_json_place *p, qdq_target_op *op)
{
    if (!qdq_json_has(p, "bias"))
        return;
    if (json_is_string(json_object_get(p->object, "bias"))) {
        QDQ_JSON_WORD(p, "bias", -1, "add-if-static");
        op->bias = QDQ_BIAS_ADD_IF_STATIC;
    } else {
        op->bias_input = (uint32_t)qdq_json_int(p, "bias", 0, INPUT_MAX, 0);
        op->bias = QDQ_BIAS_INPUT;
    }
}

static void read_require(const qdq_json_place *p, qdq_target_op *op)
{
    qdq_json_place attributes;
    const char *name;
    json_t *value;

    if (!qdq_json_member(p, "require", &attributes))
        return;
    qdq_arena *arena = p->reader->arena;
    qdq_attr_is *list =
        qdq_arena_array(arena, json_object_size(attributes.object) + 1, sizeof *list);
    op->require = list;
    json_object_foreach(attributes.object, name, value)
    {
        if (list == NULL ||
            (list[op->n_require].attribute = qdq_arena_strdup(arena, name)) == NULL) {
            qdq_json_nomem(p);
            return;
        }
        list[op->n_require++].value = qdq_json_number(&attributes, name, -INFINITY, INFINITY, 0);
    }
}

/* The keys that all rules have, and their probes. */
static void read_facts(qdq_target *t, const qdq_json_place *p, const char *const *keys,
                       const char *list, size_t index, qdq_rule_facts *out)
{
    qdq_probe probe;

    qdq_rule_read(p, keys, out);
    t->has_cpu |= out->cpu != NULL;
    for (size_t i = 0; qdq_probe_read(p, list, index, i, keys, &probe); i++) {
        probe.op = qdq_json_text(p, "op", NULL);
        probe.rule = qdq_json_text(p, "rule", NULL);
        if (!QDQ_PUSH(&t->arena, &t->probes, probe))
            qdq_json_nomem(p);
    }
}

/* A rule without figures says so, where the description was not made from measurements. */
static const char *remark(const qdq_target *t, const qdq_json_place *p, const char *text,
                          const qdq_rule_facts *facts)
{
    if (!t->unmeasured || text == NULL || (facts != NULL && facts->n_measured > 0))
        return text;
    const char *remarked = qdq_arena_printf(p->reader->arena, "%s (not measured)", text);
    if (remarked == NULL)
        qdq_json_nomem(p);
    return remarked != NULL ? remarked : text;
}

/* Why an operator that the description lists has no rule. */
static void leave_out(qdq_target *t, const qdq_json_place *p, const qdq_target_op *op)
{
    const bool slow = qdq_rule_newest(&op->facts, QDQ_RULE_HARMS, NULL) != NULL;
    const qdq_no_kernel n = {op->op,
                             slow ? "slower in 8 bits, as measured"
                                  : remark(t, p, "its rule is off", &op->facts),
                             op->facts};

    if (!QDQ_PUSH(&t->arena, &t->none, n) || !QDQ_PUSH(&t->arena, &t->off, *op))
        qdq_json_nomem(p);
}

static void read_op(qdq_target *t, const qdq_json_place *p, size_t index)
{
    qdq_target_op op = {0};

    read_facts(t, p,
               QDQ_WORDS("op", "kind", "rule", "data", "weight", "axis", "bias", "output", "off",
                         "epilogue", "require", "cpu", "probe", "only_between", "tied", "dynamic",
                         "accuracy", "measured"),
               "operators", index, &op.facts);
    op.op = qdq_json_text(p, "op", NULL);
    op.rule = remark(t, p, qdq_json_text(p, "rule", NULL), &op.facts);
    op.kind =
        (qdq_op_kind)QDQ_JSON_WORD(p, "kind", -1, "linear", "table", "recurrent", "joint", "pass");
    read_data(p, t->partitions != NULL && op.kind != QDQ_KIND_LINEAR, &op);
    op.weight = (uint32_t)qdq_json_int(p, "weight", 0, INPUT_MAX, 1);
    op.axis = (qdq_axis_rule)QDQ_JSON_WORD(p, "axis", 0, "tensor", "0", "1", "last", "gemm");
    read_bias_rule(p, &op);
    int output = QDQ_JSON_WORD(p, "output", 0, "float", "quantized", "if-read");
    op.quantize_output = output == 1;
    op.quantize_if_read = output == 2;
    op.dynamic = qdq_json_bool(p, "dynamic");
    op.only_between = qdq_json_bool(p, "only_between");
    op.tied = qdq_json_bool(p, "tied");
    op.epilogue = qdq_json_texts(p, "epilogue");
    read_require(p, &op);
    if ((op.kind == QDQ_KIND_LINEAR || op.kind == QDQ_KIND_TABLE) &&
        (op.data == op.weight ||
         (op.bias == QDQ_BIAS_INPUT && (op.bias_input == op.data || op.bias_input == op.weight))))
        qdq_json_fail(p,
                      "operator '%s': data, weight and bias are one input, expected different ones",
                      op.op);
    if (op.quantize_if_read && t->partitions != NULL)
        qdq_json_wrong(p, "output", "'float' or 'quantized', as there are 'partitions'");
    if (op.tied && (op.kind != QDQ_KIND_JOINT || !op.quantize_output || t->partitions != NULL))
        qdq_json_fail(
            p,
            "operator '%s': key 'tied': of no meaning but for joint operators with quantized "
            "output, without 'partitions'",
            op.op);
    if (op.dynamic && op.kind != QDQ_KIND_LINEAR && op.kind != QDQ_KIND_RECURRENT)
        qdq_json_wrong(p, "dynamic", "false, as 'kind' is not 'linear' or 'recurrent'");
    if (op.kind == QDQ_KIND_RECURRENT && !op.dynamic)
        qdq_json_wrong(p, "dynamic", "true, as 'kind' is 'recurrent'");
    if (op.kind == QDQ_KIND_RECURRENT && t->partitions != NULL)
        qdq_json_wrong(p, "kind", "another one, as there are 'partitions'");
    if (op.facts.off) {
        leave_out(t, p, &op);
        return;
    }
    if (qdq_target_find(t, op.op) != NULL)
        qdq_json_fail(p, "operator '%s' is listed twice", op.op);
    if (!QDQ_PUSH(&t->arena, &t->ops, op))
        qdq_json_nomem(p);
}

static void read_island(const qdq_target *t, const qdq_json_place *p, qdq_stay_float *s)
{
    s->island_work_max = qdq_json_int(p, "island_work_max", 0, WORK_MAX, 0);
    s->fused_in_float = qdq_json_texts(p, "fused_in_float");
    s->fused_in_float_counts = qdq_json_int(p, "fused_in_float_counts", 1, COUNTS_MAX, 1);
    if (s->island_work_max != 0 && (strcmp(s->op, "Conv") != 0 || t->partitions != NULL))
        qdq_json_wrong(p, "island_work_max", "operator Conv, and no 'partitions'");
    if (s->island_work_max == 0 && s->fused_in_float != NULL)
        qdq_json_fail(p, "key 'fused_in_float': of no meaning without 'island_work_max'");
    if (s->fused_in_float == NULL && qdq_json_has(p, "fused_in_float_counts"))
        qdq_json_fail(p, "key 'fused_in_float_counts': of no meaning without 'fused_in_float'");
}

static void read_stay_float(qdq_target *t, const qdq_json_place *p, size_t index)
{
    qdq_stay_float s = {0};

    read_facts(t, p,
               QDQ_WORDS("op", "rule", "reason", "data_is", "in_channels_max", "out_channels_max",
                         "group_channels_max", "sum_max", "weight_max", "work_max",
                         "island_work_max", "fused_in_float", "fused_in_float_counts", "depthwise",
                         "activations", "alone", "one_reader", "linear_reader", "reads",
                         "not_before", "engine", "open", "no_bias", "float_reader", "dynamic",
                         "off", "cpu", "accuracy", "measured", "probe"),
               "stay_float", index, &s.facts);
    s.op = qdq_json_text(p, "op", NULL);
    s.rule = remark(t, p, qdq_json_text(p, "rule", NULL), &s.facts);
    s.reason = remark(t, p, qdq_json_text(p, "reason", NULL), &s.facts);
    s.data_is =
        (qdq_data_is)QDQ_JSON_WORD(p, "data_is", 0, "any", "graph-input", "left-float", "float");
    s.depthwise = qdq_json_bool(p, "depthwise");
    s.dynamic = qdq_json_bool(p, "dynamic");
    s.activations = qdq_json_bool(p, "activations");
    s.alone = qdq_json_bool(p, "alone");
    s.one_reader = qdq_json_bool(p, "one_reader");
    s.linear_reader = qdq_json_bool(p, "linear_reader");
    s.in_channels_max = qdq_json_int(p, "in_channels_max", 0, CHANNELS_MAX, 0);
    s.out_channels_max = qdq_json_int(p, "out_channels_max", 0, CHANNELS_MAX, 0);
    s.group_channels_max = qdq_json_int(p, "group_channels_max", 0, CHANNELS_MAX, 0);
    s.sum_max = qdq_json_int(p, "sum_max", 0, WORK_MAX, 0);
    s.weight_max = qdq_json_int(p, "weight_max", 0, WORK_MAX, 0);
    s.work_max = qdq_json_int(p, "work_max", 0, WORK_MAX, 0);
    read_island(t, p, &s);
    s.reads = qdq_json_texts(p, "reads");
    s.not_before = qdq_json_texts(p, "not_before");
    s.engine = qdq_json_texts(p, "engine");
    s.open = qdq_json_bool(p, "open");
    s.no_bias = qdq_json_bool(p, "no_bias");
    s.float_reader = qdq_json_texts(p, "float_reader");
    if (s.work_max != 0 && !s.activations)
        qdq_json_fail(p, "key 'work_max': of no meaning without 'activations'");
    if (s.engine != NULL && qdq_json_has(p, "probe"))
        qdq_json_wrong(p, "probe",
                       "none beside 'engine': times do not decide a rule of correctness");
    if (!s.facts.off && !QDQ_PUSH(&t->arena, &t->stay, s))
        qdq_json_nomem(p);
}

/* Do "activation", "overrides" or earlier ones of the list have this format of activations? */
static bool has_activation(const qdq_target *t, const qdq_format *f)
{
    bool has = qdq_format_same_activation(&t->format, f);

    for (size_t i = 0; i < t->overrides.n; i++)
        has = has || qdq_format_same_activation(&t->overrides.at[i].format, f);
    for (size_t i = 0; i < t->others.n; i++)
        has = has || qdq_format_same_activation(&t->others.at[i].format, f);
    return has;
}

/* Weights may have changed for a processor: a format without kernels beside them is left out. */
static void read_other(qdq_target *t, const qdq_json_place *p)
{
    qdq_other_activation o = {.format = t->format};
    const qdq_qscheme *s = &o.format.activation;
    qdq_json_place place;

    qdq_rule_read(p, QDQ_WORDS("activation", "off", "cpu", "measured"), &o.facts);
    t->has_cpu |= o.facts.cpu != NULL;
    if (!qdq_json_member(p, "activation", &place)) {
        qdq_json_wrong(p, "activation", "an object");
        return;
    }
    qdq_format_read_activation(p, &o.format);
    if (s->type != QDQ_INT8 && s->type != QDQ_UINT8)
        qdq_json_wrong(&place, "type", "'int8' or 'uint8'");
    else if (has_activation(t, &o.format))
        qdq_json_wrong(p, "activation", "a format that no other activations of the target have");
    if (!o.facts.off && qdq_format_has_kernels(&o.format) && !QDQ_PUSH(&t->arena, &t->others, o))
        qdq_json_nomem(p);
}

/* of "no_kernel", or of "no_dynamic" */
static void read_no_kernel(qdq_target *t, const qdq_json_place *p, bool is_dynamic)
{
    qdq_no_kernel n = {0};

    QDQ_JSON_KNOWN(p, "op", "reason");
    n.op = qdq_json_text(p, "op", NULL);
    n.reason = remark(t, p, qdq_json_text(p, "reason", NULL), NULL);
    if (!is_dynamic && !QDQ_PUSH(&t->arena, &t->none, n))
        qdq_json_nomem(p);
    if (is_dynamic && !QDQ_PUSH(&t->arena, &t->no_dynamic, n))
        qdq_json_nomem(p);
}

/* Weights with `store` 'dynamic' need an operator that has such a form. */
static void check_dynamic(const qdq_json_place *top, const qdq_target *t)
{
    bool asked = qdq_format_dynamic(&t->format), has = false;

    for (size_t i = 0; i < t->overrides.n; i++)
        asked = asked || qdq_format_dynamic(&t->overrides.at[i].format);
    for (size_t i = 0; i < t->ops.n; i++)
        has = has || t->ops.at[i].dynamic;
    for (size_t i = 0; i < t->off.n; i++)
        has = has || t->off.at[i].dynamic;
    if (asked && !has)
        qdq_json_wrong(top, "weight",
                       "a 'store' other than 'dynamic': no operator of this target has "
                       "'dynamic': true");
}

static void read_measured_on(qdq_target *t, const qdq_json_place *top)
{
    qdq_json_place p;

    if (!qdq_json_member(top, "measured_on", &p))
        return;
    QDQ_JSON_KNOWN(&p, "engine", "version", "processor");
    t->measured_on.engine = qdq_json_text(&p, "engine", NULL);
    t->measured_on.version = qdq_json_text(&p, "version", NULL);
    t->measured_on.processor = qdq_json_text(&p, "processor", NULL);
}

qdq_status qdq_target_read(qdq_target *t, json_t *root, bool lines, qdq_error *err)
{
    static const char *const without_vnni[] = {"any",     "as-it-is", "uint8",
                                               "reduced", "pairs",    NULL};
    qdq_json_reader reader = {.arena = &t->arena, .err = err};
    if (lines) {
        reader.text = t->text;
        reader.size = strlen(t->text);
    }
    qdq_json_place top = qdq_json_top(&reader, root, "qdq_target", 1), item;

    QDQ_JSON_KNOWN(&top, "qdq_target", "name", "help", "engine", "min_opset", "max_opset", "bias",
                   "activation", "other_activations", "graph_output", "weight", "operators",
                   "stay_float", "requantizes", "no_kernel", "passes", "overrides", "rest",
                   "partitions", "layernorm-input", "disable_mha_qdq", "int8_readers",
                   "join_factor_max", "without_vnni", "measured_on", "no_dynamic", "unmeasured",
                   "weights_alone", "moves_q_over");
    t->name = qdq_json_text(&top, "name", NULL);
    t->help = qdq_json_text(&top, "help", "");
    t->engine = qdq_json_text(&top, "engine", "");
    t->min_opset = (int)qdq_json_int(&top, "min_opset", 10, 21, 13);
    t->max_opset = (int)qdq_json_int(&top, "max_opset", t->min_opset, 30, 21);
    qdq_format_read(&top, &t->format);
    t->method = read_method(&top);
    read_rest(t, &top);
    qdq_overrides_read(&top, &t->format, &t->overrides);
    for (size_t i = 0; qdq_json_item(&top, "other_activations", i, &item); i++)
        read_other(t, &item);
    t->dequantized_outputs = QDQ_JSON_WORD(&top, "graph_output", 0, "float", "dequantized") == 1;
    t->int8_one_reader = QDQ_JSON_WORD(&top, "int8_readers", 0, "any", "one") == 1;
    t->weights_alone = qdq_json_bool(&top, "weights_alone");
    t->join_factor_max = qdq_json_number(&top, "join_factor_max", 0, INFINITY, 0);
    t->without_vnni = (qdq_without_vnni)qdq_json_word(&top, "without_vnni", without_vnni, 0);
    t->requantizes = qdq_json_texts(&top, "requantizes");
    t->moves_q_over = qdq_json_texts(&top, "moves_q_over");
    t->unmeasured = qdq_json_bool(&top, "unmeasured");
    read_measured_on(t, &top);
    t->passes = qdq_json_texts(&top, "passes");
    if (qdq_json_member(&top, "partitions", &item))
        t->partitions = qdq_partitions_read(&item);
    t->layernorm_input =
        (qdq_layernorm_input)QDQ_JSON_WORD(&top, "layernorm-input", 0, "off", "conv", "any");
    t->disable_mha_qdq = qdq_json_bool(&top, "disable_mha_qdq");
    for (size_t i = 0; qdq_json_item(&top, "operators", i, &item); i++)
        read_op(t, &item, i);
    for (size_t i = 0; qdq_json_item(&top, "stay_float", i, &item); i++)
        read_stay_float(t, &item, i);
    for (size_t i = 0; qdq_json_item(&top, "no_kernel", i, &item); i++)
        read_no_kernel(t, &item, false);
    for (size_t i = 0; qdq_json_item(&top, "no_dynamic", i, &item); i++)
        read_no_kernel(t, &item, true);
    check_dynamic(&top, t);
    return reader.status;
}
