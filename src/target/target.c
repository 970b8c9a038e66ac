/* target.c - reads target descriptions. Every key is checked: an unknown one is a mistake, not a comment. */
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json.h"

/* name, help, text: made from the .json files beside this one by cmake/embed.cmake */
static const struct {
    const char *name, *help, *text;
} builtin[] = {
#include "target_data.inc"
};

/* --- reading with place ------------------------------------------------------------------------------------ */

/* One object of the description and where it stands, for messages: "operators[3]". */
typedef struct place {
    qdq_target *target;
    json_t *object;
    char path[64];
} place;

static qdq_status wrong(const place *p, const char *key, const char *want, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT, "%s%s'%s': expected %s", p->path, p->path[0] ? ", key " : "key ", key,
                    want);
}

/* Refuses keys that are not in the list, so that a misspelt condition is found. */
static qdq_status known_keys(const place *p, const char *const *keys, qdq_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(p->object, key, value)
    {
        bool known = false;

        for (size_t i = 0; keys[i] != NULL && !known; i++)
            known = strcmp(key, keys[i]) == 0;
        if (!known)
            return qdq_fail(err, QDQ_E_FORMAT, "%s: unknown key '%s'", p->path[0] ? p->path : "top level",
                            key);
    }
    return QDQ_OK;
}

static qdq_status get_string(const place *p, const char *key, const char *fallback, const char **out,
                             qdq_error *err)
{
    json_t *j = json_object_get(p->object, key);

    *out = fallback;
    if (j == NULL && fallback != NULL)
        return QDQ_OK;
    if (!json_is_string(j))
        return wrong(p, key, "a string", err);
    *out = qdq_arena_strdup(&p->target->arena, json_string_value(j));
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status get_int(const place *p, const char *key, int64_t fallback, int64_t max, int64_t *out,
                          qdq_error *err)
{
    json_t *j = json_object_get(p->object, key);

    *out = fallback;
    if (j == NULL)
        return QDQ_OK;
    if (!json_is_integer(j) || json_integer_value(j) < 0 || json_integer_value(j) > max)
        return wrong(p, key, "a small number, 0 or more", err);
    *out = json_integer_value(j);
    return QDQ_OK;
}

static qdq_status get_bool(const place *p, const char *key, bool *out, qdq_error *err)
{
    json_t *j = json_object_get(p->object, key);

    *out = json_is_true(j);
    return j == NULL || json_is_boolean(j) ? QDQ_OK : wrong(p, key, "true or false", err);
}

/* One of `words`; *out is its place in the list. */
static qdq_status get_word(const place *p, const char *key, const char *const *words, size_t fallback,
                           size_t *out, qdq_error *err)
{
    json_t *j = json_object_get(p->object, key);
    char want[160] = "one of";

    *out = fallback;
    if (j == NULL)
        return QDQ_OK;
    for (size_t i = 0; words[i] != NULL; i++) {
        if (json_is_string(j) && strcmp(json_string_value(j), words[i]) == 0) {
            *out = i;
            return QDQ_OK;
        }
        size_t at = strlen(want);
        snprintf(want + at, sizeof want - at, " '%s'", words[i]);
    }
    return wrong(p, key, want, err);
}

static qdq_status get_strings(const place *p, const char *key, const char *const **out, qdq_error *err)
{
    json_t *j = json_object_get(p->object, key);

    *out = NULL;
    if (j == NULL)
        return QDQ_OK;
    if (!json_is_array(j))
        return wrong(p, key, "a list of strings", err);
    const char **list = qdq_arena_array(&p->target->arena, json_array_size(j) + 1, sizeof *list);
    if (list == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < json_array_size(j); i++) {
        if (!json_is_string(json_array_get(j, i)))
            return wrong(p, key, "a list of strings", err);
        list[i] = qdq_arena_strdup(&p->target->arena, json_string_value(json_array_get(j, i)));
        if (list[i] == NULL)
            return qdq_nomem(err);
    }
    *out = list;
    return QDQ_OK;
}

/* --- the parts of a description ------------------------------------------------------------------------------ */

static qdq_status read_scheme(const place *top, const char *key, qdq_qscheme *out, qdq_error *err)
{
    static const char *const keys[] = {"type", "symmetric", "reduced", "per_channel", "method", NULL};
    static const char *const methods[] = {"absmax", NULL};
    place p = {top->target, json_object_get(top->object, key), ""};
    const char *type;
    size_t method;
    int32_t lowest, highest;

    snprintf(p.path, sizeof p.path, "%s", key);
    if (!json_is_object(p.object))
        return wrong(top, key, "an object", err);
    QDQ_TRY(known_keys(&p, keys, err));
    QDQ_TRY(get_string(&p, "type", NULL, &type, err));
    QDQ_TRY(get_bool(&p, "symmetric", &out->symmetric, err));
    QDQ_TRY(get_bool(&p, "reduced", &out->reduced, err));
    QDQ_TRY(get_word(&p, "method", methods, 0, &method, err));
    out->type = qdq_elem_from_name(type);
    if (!qdq_elem_code_limits(out->type, &lowest, &highest) || qdq_elem_bits(out->type) < 8)
        return wrong(&p, "type", "'int8', 'uint8', 'int16' or 'uint16'", err);
    return QDQ_OK;
}

static qdq_status read_bias_rule(const place *p, qdq_target_op *op, qdq_error *err)
{
    json_t *bias = json_object_get(p->object, "bias");

    if (bias == NULL)
        return QDQ_OK;
    if (json_is_integer(bias) && json_integer_value(bias) >= 0 && json_integer_value(bias) < 16) {
        op->bias = QDQ_BIAS_INPUT;
        op->bias_input = (uint32_t)json_integer_value(bias);
        return QDQ_OK;
    }
    if (json_is_string(bias) && strcmp(json_string_value(bias), "add-if-static") == 0) {
        op->bias = QDQ_BIAS_ADD_IF_STATIC;
        return QDQ_OK;
    }
    return wrong(p, "bias", "the number of an input, or 'add-if-static'", err);
}

static qdq_status read_require(const place *p, qdq_target_op *op, qdq_error *err)
{
    json_t *attributes = json_object_get(p->object, "require");
    qdq_attr_is *list;
    const char *name;
    json_t *value;

    if (attributes == NULL)
        return QDQ_OK;
    if (!json_is_object(attributes))
        return wrong(p, "require", "an object of attributes and their values", err);
    list = qdq_arena_array(&p->target->arena, json_object_size(attributes) + 1, sizeof *list);
    if (list == NULL)
        return qdq_nomem(err);
    json_object_foreach(attributes, name, value)
    {
        if (!json_is_number(value))
            return wrong(p, "require", "numbers as values", err);
        list[op->n_require].attribute = qdq_arena_strdup(&p->target->arena, name);
        list[op->n_require].value = json_number_value(value);
        if (list[op->n_require++].attribute == NULL)
            return qdq_nomem(err);
    }
    op->require = list;
    return QDQ_OK;
}

static qdq_status read_op(place *p, qdq_error *err)
{
    static const char *const keys[] = {"op",   "kind",   "rule",         "data",     "weight",  "axis",
                                       "bias", "output", "only_between", "epilogue", "require", NULL};
    static const char *const kinds[] = {"linear", "joint", "pass", NULL};
    static const char *const axes[] = {"tensor", "0", "1", "last", "gemm", NULL};
    static const char *const outputs[] = {"float", "quantized", NULL};
    qdq_target_op op = {0};
    size_t kind, axis, output;
    int64_t weight;

    QDQ_TRY(known_keys(p, keys, err));
    QDQ_TRY(get_string(p, "op", NULL, &op.op, err));
    QDQ_TRY(get_string(p, "rule", NULL, &op.rule, err));
    if (json_object_get(p->object, "kind") == NULL)
        return wrong(p, "kind", "'linear', 'joint' or 'pass'", err);
    QDQ_TRY(get_word(p, "kind", kinds, 0, &kind, err));
    QDQ_TRY(get_word(p, "axis", axes, 0, &axis, err));
    QDQ_TRY(get_word(p, "output", outputs, 0, &output, err));
    QDQ_TRY(get_int(p, "weight", 1, 15, &weight, err));
    QDQ_TRY(get_bool(p, "only_between", &op.only_between, err));
    QDQ_TRY(get_strings(p, "epilogue", &op.epilogue, err));
    QDQ_TRY(read_bias_rule(p, &op, err));
    QDQ_TRY(read_require(p, &op, err));

    json_t *data = json_object_get(p->object, "data");
    if (data != NULL) {
        json_t *first = json_array_get(data, 0);

        if (!json_is_array(data) || json_array_size(data) != 1 || !json_is_integer(first) ||
            json_integer_value(first) < 0 || json_integer_value(first) > 15)
            return wrong(p, "data", "a list with the number of one input", err);
        op.data = (uint32_t)json_integer_value(first);
    }
    op.kind = (qdq_op_kind)kind;
    op.axis = (qdq_axis_rule)axis;
    op.weight = (uint32_t)weight;
    op.quantize_output = output == 1;
    if (qdq_target_find(p->target, op.op) != NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: operator '%s' is listed twice", p->path, op.op);
    return QDQ_PUSH(&p->target->arena, &p->target->ops, op) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status read_stay_float(place *p, qdq_error *err)
{
    static const char *const keys[] = {"op",         "rule",       "reason",          "data_is",
                                       "depthwise",  "one_reader", "in_channels_max", "out_channels_max",
                                       "not_before", NULL};
    static const char *const origins[] = {"any", "graph-input", "left-float", NULL};
    qdq_stay_float s = {0};
    size_t origin;

    QDQ_TRY(known_keys(p, keys, err));
    QDQ_TRY(get_string(p, "op", NULL, &s.op, err));
    QDQ_TRY(get_string(p, "rule", NULL, &s.rule, err));
    QDQ_TRY(get_string(p, "reason", NULL, &s.reason, err));
    QDQ_TRY(get_word(p, "data_is", origins, 0, &origin, err));
    QDQ_TRY(get_bool(p, "depthwise", &s.depthwise, err));
    QDQ_TRY(get_bool(p, "one_reader", &s.one_reader, err));
    QDQ_TRY(get_int(p, "in_channels_max", 0, 1 << 20, &s.in_channels_max, err));
    QDQ_TRY(get_int(p, "out_channels_max", 0, 1 << 20, &s.out_channels_max, err));
    QDQ_TRY(get_strings(p, "not_before", &s.not_before, err));
    s.data_is = (qdq_data_is)origin;
    return QDQ_PUSH(&p->target->arena, &p->target->stay, s) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status read_no_kernel(place *p, qdq_error *err)
{
    static const char *const keys[] = {"op", "reason", NULL};
    qdq_no_kernel n = {0};

    QDQ_TRY(known_keys(p, keys, err));
    QDQ_TRY(get_string(p, "op", NULL, &n.op, err));
    QDQ_TRY(get_string(p, "reason", NULL, &n.reason, err));
    return QDQ_PUSH(&p->target->arena, &p->target->none, n) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status read_list(const place *top, const char *key, qdq_status (*read)(place *, qdq_error *),
                            qdq_error *err)
{
    json_t *list = json_object_get(top->object, key);

    if (list == NULL)
        return QDQ_OK;
    if (!json_is_array(list))
        return wrong(top, key, "a list of objects", err);
    for (size_t i = 0; i < json_array_size(list); i++) {
        place p = {top->target, json_array_get(list, i), ""};

        snprintf(p.path, sizeof p.path, "%s[%zu]", key, i);
        if (!json_is_object(p.object))
            return qdq_fail(err, QDQ_E_FORMAT, "%s: expected an object", p.path);
        QDQ_TRY(read(&p, err));
    }
    return QDQ_OK;
}

static qdq_status read_target(qdq_target *t, json_t *root, qdq_error *err)
{
    static const char *const keys[] = {"qdq_target", "name",       "help",        "engine",       "min_opset",
                                       "max_opset",  "bias",       "activation",  "graph_output", "weight",
                                       "operators",  "stay_float", "requantizes", "no_kernel",    NULL};
    static const char *const outputs[] = {"float", "dequantized", NULL};
    place p = {t, root, ""};
    size_t output;
    int64_t version, min_opset, max_opset;

    if (!json_is_object(root))
        return qdq_fail(err, QDQ_E_FORMAT, "expected an object with the key 'qdq_target'");
    QDQ_TRY(known_keys(&p, keys, err));
    QDQ_TRY(get_int(&p, "qdq_target", 0, 1000, &version, err));
    if (version != 1)
        return wrong(&p, "qdq_target", "1, the version of the description", err);
    QDQ_TRY(get_string(&p, "name", NULL, &t->name, err));
    QDQ_TRY(get_string(&p, "help", "", &t->help, err));
    QDQ_TRY(get_string(&p, "engine", "", &t->engine, err));
    QDQ_TRY(get_int(&p, "min_opset", 13, 21, &min_opset, err));
    QDQ_TRY(get_int(&p, "max_opset", 21, 30, &max_opset, err));
    if (min_opset < 10 || max_opset < min_opset)
        return wrong(&p, "min_opset", "10 or more, and not above max_opset", err);
    t->min_opset = (int)min_opset;
    t->max_opset = (int)max_opset;
    QDQ_TRY(read_scheme(&p, "activation", &t->activation, err));
    QDQ_TRY(read_scheme(&p, "weight", &t->weight, err));
    if (!t->weight.symmetric)
        return qdq_fail(err, QDQ_E_FORMAT, "weight, key 'symmetric': expected true");
    place weight = {t, json_object_get(root, "weight"), "weight"};
    QDQ_TRY(get_bool(&weight, "per_channel", &t->weight_per_channel, err));

    json_t *bias = json_object_get(json_object_get(root, "bias"), "type");
    if (bias != NULL && (!json_is_string(bias) || strcmp(json_string_value(bias), "int32") != 0))
        return qdq_fail(err, QDQ_E_FORMAT, "bias, key 'type': expected 'int32'; leave 'bias' out for float");
    t->int32_bias = bias != NULL;
    QDQ_TRY(get_word(&p, "graph_output", outputs, 0, &output, err));
    t->dequantized_outputs = output == 1;
    QDQ_TRY(get_strings(&p, "requantizes", &t->requantizes, err));
    QDQ_TRY(read_list(&p, "operators", read_op, err));
    QDQ_TRY(read_list(&p, "stay_float", read_stay_float, err));
    return read_list(&p, "no_kernel", read_no_kernel, err);
}

/* --- public --------------------------------------------------------------------------------------------------- */

static qdq_status parse_target(const char *text, size_t size, const char *name, qdq_target **out,
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
    st = t == NULL || t->text == NULL ? qdq_nomem(err) : read_target(t, root, err);
    json_decref(root);
    if (st != QDQ_OK) {
        qdq_target_free(t);
        return qdq_within(err, st, "%s", name);
    }
    *out = t;
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
        qdq_status st = parse_target(text, size, name_or_path, out, err);
        qdq_free(text);
        return st;
    }
    for (size_t i = 0; i < QDQ_COUNT(builtin); i++)
        if (strcmp(builtin[i].name, name_or_path) == 0)
            return parse_target(builtin[i].text, strlen(builtin[i].text), name_or_path, out, err);
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

const qdq_target_op *qdq_target_find(const qdq_target *t, const char *op)
{
    for (size_t i = 0; i < t->ops.n; i++)
        if (strcmp(t->ops.at[i].op, op) == 0)
            return &t->ops.at[i];
    return NULL;
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
