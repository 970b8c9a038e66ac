/* target.c - reads target descriptions. Every key is checked: an unknown one is a mistake, not a comment. */
#include "target/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_read.h"

enum { INPUT_MAX = 15, CHANNELS_MAX = 1 << 20, WORK_MAX = 1 << 30 };

/* name, help, text: made from the .json files beside this one by cmake/embed.cmake */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" /* compilers take far longer ones than C11 promises */
static const struct {
    const char *name, *help, *text;
} builtin[] = {
#include "target_data.inc"
};
#pragma GCC diagnostic pop

/* --- the parts of a description ------------------------------------------------------------------------------ */

/* By qdq_method; the first one is for callers alone. */
static const char *const methods[] = {
    "default", "max", "entropy", "entropy-compat", "percentile", "mse", "moving-average", "auto", NULL};

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
    static const char *const keys[] = {"type", "direct_io", "keep_sums", "keep", NULL};
    static const char *const types[] = {"float", "float16", "bfloat16", "model", NULL};
    static const qdq_elem elems[] = {QDQ_FLOAT, QDQ_FLOAT16, QDQ_BFLOAT16, QDQ_FLOAT};
    qdq_json_place p;

    t->rest.type = QDQ_FLOAT;
    if (!qdq_json_member(top, "rest", &p))
        return;
    qdq_json_known(&p, keys);
    int word = qdq_json_word(&p, "type", types, 0);
    t->rest.type = elems[word];
    t->rest.follows = word == 3;
    t->rest.direct_io = qdq_json_bool(&p, "direct_io");
    t->rest.keep_sums = qdq_json_bool(&p, "keep_sums");
    t->rest.keep = qdq_json_texts(&p, "keep");
    t->format.activation.storage = t->format.weight.storage = t->rest.type;
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
    static const char *const words[] = {"add-if-static", NULL};

    if (!qdq_json_has(p, "bias"))
        return;
    if (json_is_string(json_object_get(p->object, "bias"))) {
        qdq_json_word(p, "bias", words, -1);
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
    qdq_attr_is *list = qdq_arena_array(arena, json_object_size(attributes.object) + 1, sizeof *list);
    op->require = list;
    json_object_foreach(attributes.object, name, value)
    {
        if (list == NULL || (list[op->n_require].attribute = qdq_arena_strdup(arena, name)) == NULL) {
            qdq_json_nomem(p);
            return;
        }
        list[op->n_require++].value = qdq_json_number(&attributes, name, -INFINITY, INFINITY, 0);
    }
}

static void read_op(qdq_target *t, const qdq_json_place *p)
{
    static const char *const keys[] = {"op",       "kind",    "rule",   "data",         "weight",
                                       "axis",     "bias",    "output", "only_between", "tied",
                                       "epilogue", "require", NULL};
    static const char *const kinds[] = {"linear", "table", "joint", "pass", NULL};
    static const char *const axes[] = {"tensor", "0", "1", "last", "gemm", NULL};
    static const char *const outputs[] = {"float", "quantized", "if-read", NULL};
    qdq_target_op op = {0};

    qdq_json_known(p, keys);
    op.op = qdq_json_text(p, "op", NULL);
    op.rule = qdq_json_text(p, "rule", NULL);
    op.kind = (qdq_op_kind)qdq_json_word(p, "kind", kinds, -1);
    read_data(p, t->partitions != NULL && op.kind != QDQ_KIND_LINEAR, &op);
    op.weight = (uint32_t)qdq_json_int(p, "weight", 0, INPUT_MAX, 1);
    op.axis = (qdq_axis_rule)qdq_json_word(p, "axis", axes, 0);
    read_bias_rule(p, &op);
    int output = qdq_json_word(p, "output", outputs, 0);
    op.quantize_output = output == 1;
    op.quantize_if_read = output == 2;
    op.only_between = qdq_json_bool(p, "only_between");
    op.tied = qdq_json_bool(p, "tied");
    op.epilogue = qdq_json_texts(p, "epilogue");
    read_require(p, &op);
    if ((op.kind == QDQ_KIND_LINEAR || op.kind == QDQ_KIND_TABLE) &&
        (op.data == op.weight ||
         (op.bias == QDQ_BIAS_INPUT && (op.bias_input == op.data || op.bias_input == op.weight))))
        qdq_json_fail(p, "operator '%s': data, weight and bias are one input, expected different ones",
                      op.op);
    if (op.quantize_if_read && t->partitions != NULL)
        qdq_json_wrong(p, "output", "'float' or 'quantized', as there are 'partitions'");
    if (op.tied && (op.kind != QDQ_KIND_JOINT || !op.quantize_output || t->partitions != NULL))
        qdq_json_fail(p,
                      "operator '%s': key 'tied': of no meaning but for joint operators with quantized "
                      "output, without 'partitions'",
                      op.op);
    if (qdq_target_find(t, op.op) != NULL)
        qdq_json_fail(p, "operator '%s' is listed twice", op.op);
    if (!QDQ_PUSH(&t->arena, &t->ops, op))
        qdq_json_nomem(p);
}

static void read_stay_float(qdq_target *t, const qdq_json_place *p)
{
    static const char *const keys[] = {"op",
                                       "rule",
                                       "reason",
                                       "data_is",
                                       "in_channels_max",
                                       "out_channels_max",
                                       "group_channels_max",
                                       "sum_max",
                                       "weight_max",
                                       "work_max",
                                       "depthwise",
                                       "activations",
                                       "alone",
                                       "one_reader",
                                       "linear_reader",
                                       "reads",
                                       "not_before",
                                       "engine",
                                       "open",
                                       "no_bias",
                                       "float_reader",
                                       NULL};
    static const char *const origins[] = {"any", "graph-input", "left-float", "float", NULL};
    qdq_stay_float s = {0};

    qdq_json_known(p, keys);
    s.op = qdq_json_text(p, "op", NULL);
    s.rule = qdq_json_text(p, "rule", NULL);
    s.reason = qdq_json_text(p, "reason", NULL);
    s.data_is = (qdq_data_is)qdq_json_word(p, "data_is", origins, 0);
    s.depthwise = qdq_json_bool(p, "depthwise");
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
    s.reads = qdq_json_texts(p, "reads");
    s.not_before = qdq_json_texts(p, "not_before");
    s.engine = qdq_json_texts(p, "engine");
    s.open = qdq_json_bool(p, "open");
    s.no_bias = qdq_json_bool(p, "no_bias");
    s.float_reader = qdq_json_texts(p, "float_reader");
    if (s.work_max != 0 && !s.activations)
        qdq_json_fail(p, "key 'work_max': of no meaning without 'activations'");
    if (!QDQ_PUSH(&t->arena, &t->stay, s))
        qdq_json_nomem(p);
}

static void read_no_kernel(qdq_target *t, const qdq_json_place *p)
{
    static const char *const keys[] = {"op", "reason", NULL};
    qdq_no_kernel n = {0};

    qdq_json_known(p, keys);
    n.op = qdq_json_text(p, "op", NULL);
    n.reason = qdq_json_text(p, "reason", NULL);
    if (!QDQ_PUSH(&t->arena, &t->none, n))
        qdq_json_nomem(p);
}

/* `lines`: a mistake has its line in t->text. */
static qdq_status read_target(qdq_target *t, json_t *root, bool lines, qdq_error *err)
{
    static const char *const keys[] = {"qdq_target",
                                       "name",
                                       "help",
                                       "engine",
                                       "min_opset",
                                       "max_opset",
                                       "bias",
                                       "activation",
                                       "graph_output",
                                       "weight",
                                       "operators",
                                       "stay_float",
                                       "requantizes",
                                       "no_kernel",
                                       "passes",
                                       "overrides",
                                       "rest",
                                       "partitions",
                                       "layernorm-input",
                                       "disable_mha_qdq",
                                       "int8_readers",
                                       "join_factor_max",
                                       "without_vnni",
                                       NULL};
    static const char *const layernorms[] = {"off", "conv", "any", NULL};
    static const char *const outputs[] = {"float", "dequantized", NULL};
    static const char *const readers[] = {"any", "one", NULL};
    static const char *const without_vnni[] = {"any", "as-it-is", "uint8", "reduced", NULL};
    qdq_json_reader reader = {.arena = &t->arena, .err = err};
    if (lines) {
        reader.text = t->text;
        reader.size = strlen(t->text);
    }
    qdq_json_place top = qdq_json_top(&reader, root, "qdq_target", 1), item;

    qdq_json_known(&top, keys);
    t->name = qdq_json_text(&top, "name", NULL);
    t->help = qdq_json_text(&top, "help", "");
    t->engine = qdq_json_text(&top, "engine", "");
    t->min_opset = (int)qdq_json_int(&top, "min_opset", 10, 21, 13);
    t->max_opset = (int)qdq_json_int(&top, "max_opset", t->min_opset, 30, 21);
    qdq_format_read(&top, &t->format);
    t->method = read_method(&top);
    read_rest(t, &top);
    qdq_overrides_read(&top, &t->format, &t->overrides);
    t->dequantized_outputs = qdq_json_word(&top, "graph_output", outputs, 0) == 1;
    t->int8_one_reader = qdq_json_word(&top, "int8_readers", readers, 0) == 1;
    t->join_factor_max = qdq_json_number(&top, "join_factor_max", 0, INFINITY, 0);
    t->without_vnni = (qdq_without_vnni)qdq_json_word(&top, "without_vnni", without_vnni, 0);
    t->requantizes = qdq_json_texts(&top, "requantizes");
    t->passes = qdq_json_texts(&top, "passes");
    if (qdq_json_member(&top, "partitions", &item))
        t->partitions = qdq_partitions_read(&item);
    t->layernorm_input = (qdq_layernorm_input)qdq_json_word(&top, "layernorm-input", layernorms, 0);
    t->disable_mha_qdq = qdq_json_bool(&top, "disable_mha_qdq");
    for (size_t i = 0; qdq_json_item(&top, "operators", i, &item); i++)
        read_op(t, &item);
    for (size_t i = 0; qdq_json_item(&top, "stay_float", i, &item); i++)
        read_stay_float(t, &item);
    for (size_t i = 0; qdq_json_item(&top, "no_kernel", i, &item); i++)
        read_no_kernel(t, &item);
    return reader.status;
}

/* --- public --------------------------------------------------------------------------------------------------- */

static qdq_status parse_target(const char *text, size_t size, const char *name, bool lines, qdq_target **out,
                               qdq_error *err)
{
    json_t *root = NULL;
    qdq_target *t = NULL;
    qdq_status st = qdq_json_parse(text, size, name, &root, err);

    if (st != QDQ_OK)
        return st;
    t = calloc(1, sizeof *t);
    if (t != NULL)
        t->text = qdq_arena_strndup(&t->arena, text, size);
    st = t == NULL || t->text == NULL ? qdq_nomem(err) : read_target(t, root, lines, err);
    json_decref(root);
    if (st != QDQ_OK) {
        qdq_target_free(t);
        return qdq_within(err, st, "%s", name);
    }
    *out = t;
    return QDQ_OK;
}

/* Sets `key` in `root`, making the objects on the way. */
static qdq_status set_key(json_t *root, const char *key, const char *value, qdq_error *err)
{
    json_t *fresh = json_loads(value, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL), *at = root;
    const char *dot, *rest = key;
    int bad = 0;

    if (fresh == NULL)
        fresh = json_string(value);
    if (fresh == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "key '%s': its value is no UTF-8 text", key);
    while (bad == 0 && (dot = strchr(rest, '.')) != NULL) {
        json_t *next = json_object_getn(at, rest, (size_t)(dot - rest));

        if (next == NULL)
            bad = json_object_setn_new(at, rest, (size_t)(dot - rest), next = json_object());
        at = next;
        rest = dot + 1;
    }
    if (!json_is_object(at)) {
        json_decref(fresh);
        return qdq_fail(err, QDQ_E_USAGE, "key '%s': what stands before the dot is no object", key);
    }
    bad = bad != 0 ? bad : json_object_set(at, rest, fresh);
    json_decref(fresh);
    return bad == 0 ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_target_set(qdq_target *t, const char *key, const char *value, qdq_error *err)
{
    const qdq_target_change one = {key, value};
    qdq_status st = qdq_target_set_all(t, &one, 1, err);

    return st == QDQ_OK ? st : qdq_within(err, st, "set %s", key);
}

/* *out is t with the changes. */
static qdq_status change(const qdq_target *t, const qdq_target_change *changes, size_t n, qdq_target **out,
                         qdq_error *err)
{
    json_t *root = NULL;
    char *text = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_parse(t->text, strlen(t->text), t->name, &root, err));
    qdq_status st = QDQ_OK;
    for (size_t i = 0; i < n && st == QDQ_OK; i++)
        st = set_key(root, changes[i].key, changes[i].value, err);
    if (st == QDQ_OK)
        st = qdq_json_dump(root, &text, err);
    json_decref(root);
    if (st == QDQ_OK)
        st = parse_target(text, strlen(text), t->name, false, out, err);
    qdq_free(text);
    return st;
}

qdq_status qdq_target_with(const qdq_target *t, const char *key, const char *value, qdq_target **out,
                           qdq_error *err)
{
    const qdq_target_change one = {key, value};

    return change(t, &one, 1, out, err);
}

qdq_status qdq_target_set_all(qdq_target *t, const qdq_target_change *changes, size_t n, qdq_error *err)
{
    qdq_target *changed;

    QDQ_TRY(change(t, changes, n, &changed, err));
    qdq_arena_free(&t->arena);
    *t = *changed;
    free(changed);
    return QDQ_OK;
}

static bool is_path(const char *name)
{
    size_t n = strlen(name);

    return strchr(name, '/') != NULL || (n > 5 && strcmp(name + n - 5, ".json") == 0);
}

qdq_status qdq_target_load(const char *name_or_path, qdq_target **out, qdq_error *err)
{
    *out = NULL;
    if (is_path(name_or_path)) {
        char *text = NULL;
        size_t size = 0;

        QDQ_TRY(qdq_read_file(name_or_path, 1 << 20, &text, &size, err));
        qdq_status st = parse_target(text, size, name_or_path, true, out, err);
        qdq_free(text);
        return st;
    }
    for (size_t i = 0; i < QDQ_COUNT(builtin); i++)
        if (strcmp(builtin[i].name, name_or_path) == 0)
            return parse_target(builtin[i].text, strlen(builtin[i].text), name_or_path, true, out, err);
    return qdq_fail(err, QDQ_E_USAGE, "target '%s': expected a built-in target (qdq targets) or a .json file",
                    name_or_path);
}

void qdq_target_free(qdq_target *t)
{
    if (t == NULL)
        return;
    qdq_arena_free(&t->arena);
    free(t);
}

const char *qdq_target_name(size_t i, const char **help)
{
    if (i >= QDQ_COUNT(builtin))
        return NULL;
    if (help != NULL)
        *help = builtin[i].help;
    return builtin[i].name;
}

const char *qdq_target_text(const qdq_target *t)
{
    return t->text;
}

const char *qdq_target_engine(const qdq_target *t)
{
    return t->engine;
}

const qdq_target_op *qdq_target_find(const qdq_target *t, const char *op)
{
    for (size_t i = 0; i < t->ops.n; i++)
        if (strcmp(t->ops.at[i].op, op) == 0)
            return &t->ops.at[i];
    return NULL;
}

/* Q/DQ have such scales since 19; bfloat16 is complete since 22. */
static int opset_of_rest(const qdq_target_rest *r)
{
    return r->type == QDQ_FLOAT16 ? 19 : r->type == QDQ_BFLOAT16 ? 22 : 0;
}

int qdq_target_opset(const qdq_target *t)
{
    int least = qdq_format_opset(&t->format), rest = opset_of_rest(&t->rest);

    least = rest > least ? rest : least;
    for (size_t i = 0; i < t->overrides.n; i++) {
        int need = qdq_format_opset(&t->overrides.at[i].format);
        least = need > least ? need : least;
    }
    return least > t->min_opset ? least : t->min_opset;
}

const char *qdq_target_reason(const qdq_target *t, const char *op)
{
    for (size_t i = 0; i < t->none.n; i++)
        if (strcmp(t->none.at[i].op, op) == 0)
            return t->none.at[i].reason;
    for (size_t i = 0; i < t->ops.n; i++)
        for (size_t k = 0; t->ops.at[i].epilogue != NULL && t->ops.at[i].epilogue[k] != NULL; k++)
            if (strcmp(t->ops.at[i].epilogue[k], op) == 0)
                return "runs in 8 bits only as part of an 8-bit operator before it";
    return "no 8-bit kernel on this target";
}
