/* trt_layers.c - reads the layer information of all versions. Every key that a version lacks is
 * just absent; nothing but `Layers` is needed. */
#include "engine/trt/trt_layers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "engine/tool_json.h"

/* --- types ------------------------------------------------------------------------------------ */

/* Longest first: "BFloat16" holds "float", "uint8" holds "int8". */
const char *qdq_trt_type(const char *prose)
{
    static const struct {
        const char *part, *type;
    } types[] = {{"fp4", "f4"},        {"e2m1", "f4"},   {"fp8", "f8"},    {"e4m3", "f8"},
                 {"int4", "i4"},       {"uint8", "u8"},  {"int8", "i8"},   {"bf16", "bf16"},
                 {"bfloat16", "bf16"}, {"fp16", "f16"},  {"half", "f16"},  {"fp32", "f32"},
                 {"float", "f32"},     {"int32", "i32"}, {"int64", "i64"}, {"bool", "bool"}};
    char lower[200];
    size_t n = 0;

    for (; prose[n] != '\0' && n < sizeof lower - 1; n++)
        lower[n] = (char)tolower((unsigned char)prose[n]);
    lower[n] = '\0';
    for (size_t i = 0; i < QDQ_COUNT(types); i++)
        if (strstr(lower, types[i].part) != NULL)
            return types[i].type;
    return "";
}

/* --- tensors ---------------------------------------------------------------------------------- */

static const char *read_dimensions(const qdq_tool_json *list, qdq_arena *arena)
{
    char text[200] = "";
    size_t used = 0;

    if (list == NULL || list->kind != QDQ_TOOL_LIST)
        return "";
    if (list->n == 0)
        return "scalar";
    for (const qdq_tool_json *d = list->first; d != NULL; d = d->next) {
        const char *x = used > 0 ? "x" : "";
        bool fixed = d->kind == QDQ_TOOL_NUMBER && d->number >= 0 && d->number < 1e15;
        int n = fixed ? snprintf(text + used, sizeof text - used, "%s%.0f", x, d->number)
                      : snprintf(text + used, sizeof text - used, "%s?", x);

        if (n < 0 || (size_t)n >= sizeof text - used)
            return "";
        used += (size_t)n;
    }
    return qdq_arena_strdup(arena, text);
}

/* Until 10.x one key has both; from 11 on there are two, the second spelt in two ways. */
static bool read_tensor(const qdq_tool_json *j, qdq_arena *arena, qdq_trt_tensor *t)
{
    const char *both = qdq_tool_json_text(j, "Format/Datatype");
    const char *type = qdq_tool_json_text(j, "Datatype");

    if (type[0] == '\0')
        type = qdq_tool_json_text(j, "DataType");
    t->name = j->kind == QDQ_TOOL_TEXT ? j->text : qdq_tool_json_text(j, "Name");
    t->format = both[0] != '\0' ? both : qdq_tool_json_text(j, "Format");
    t->type = qdq_trt_type(type[0] != '\0' ? type : t->format);
    t->dimensions = read_dimensions(qdq_tool_json_get(j, "Dimensions"), arena);
    return t->dimensions != NULL;
}

static bool read_tensors(const qdq_tool_json *layer, const char *key, qdq_arena *arena,
                         qdq_trt_tensors *out)
{
    const qdq_tool_json *list = qdq_tool_json_get(layer, key);

    if (list == NULL || list->kind != QDQ_TOOL_LIST || list->n == 0)
        return true;
    out->at = qdq_arena_array(arena, list->n, sizeof *out->at);
    if (out->at == NULL)
        return false;
    for (const qdq_tool_json *t = list->first; t != NULL; t = t->next)
        if (!read_tensor(t, arena, &out->at[out->n++]))
            return false;
    return true;
}

/* --- layers ----------------------------------------------------------------------------------- */

/* Cuts " [profile N]" off; what has none is of profile 0. */
static bool read_name(const char *name, qdq_arena *arena, qdq_trt_layer *l)
{
    static const char mark[] = " [profile ";
    const char *at = NULL;

    for (const char *p = name; (p = strstr(p, mark)) != NULL; p++)
        at = p;
    l->name = name;
    if (at == NULL)
        return true;
    const char *digits = at + sizeof mark - 1, *p = digits;
    unsigned number = 0;
    for (; isdigit((unsigned char)*p) && p - digits < 9; p++)
        number = number * 10 + (unsigned)(*p - '0');
    if (p == digits || strcmp(p, "]") != 0)
        return true;
    l->profile = number;
    l->name = qdq_arena_strndup(arena, name, (size_t)(at - name));
    return l->name != NULL;
}

static bool read_layer(const qdq_tool_json *j, qdq_arena *arena, qdq_trt_layer *l)
{
    double stream = qdq_tool_json_number(j, "StreamId");

    if (!read_name(j->kind == QDQ_TOOL_TEXT ? j->text : qdq_tool_json_text(j, "Name"), arena, l))
        return false;
    l->type = qdq_tool_json_text(j, "LayerType");
    l->parameter_type = qdq_tool_json_text(j, "ParameterType");
    l->origin = qdq_tool_json_text(j, "Origin");
    l->tactic = qdq_tool_json_text(j, "TacticName");
    l->metadata = qdq_tool_json_text(j, "Metadata");
    l->weights_type = qdq_tool_json_text(qdq_tool_json_get(j, "Weights"), "Type");
    l->stream = stream > 0 && stream < 1e6 ? (int)stream : 0;
    return read_tensors(j, "Inputs", arena, &l->in) && read_tensors(j, "Outputs", arena, &l->out) &&
           read_tensors(j, "Constants", arena, &l->constants);
}

static int by_name_and_profile(const void *a, const void *b)
{
    const qdq_trt_layer *x = *(qdq_trt_layer *const *)a, *y = *(qdq_trt_layer *const *)b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : (x->profile > y->profile) - (x->profile < y->profile);
}

/* A layer of another profile goes if its twin of the wanted one is there. Without any suffix
 * nothing is dropped: names may repeat. */
static qdq_status keep_profile(qdq_trt_layers *l, unsigned profile, qdq_error *err)
{
    /* qdq_trt_layers.at stays in place */
    qdq_trt_layer **sorted = calloc(l->n + 1, sizeof(qdq_trt_layer *));
    bool *drop = calloc(l->n + 1, sizeof *drop);
    size_t kept = 0;

    if (sorted == NULL || drop == NULL) {
        free(sorted);
        free(drop);
        return qdq_nomem(err);
    }
    for (size_t i = 0; i < l->n; i++)
        sorted[i] = &l->at[i];
    qsort(sorted, l->n, sizeof(qdq_trt_layer *), by_name_and_profile);
    for (size_t i = 0, end; i < l->n; i = end) {
        bool has_wanted = false;

        for (end = i; end < l->n && strcmp(sorted[end]->name, sorted[i]->name) == 0; end++)
            has_wanted = has_wanted || sorted[end]->profile == profile;
        for (size_t k = i; k < end; k++)
            drop[sorted[k] - l->at] = has_wanted && sorted[k]->profile != profile;
    }
    for (size_t i = 0; i < l->n; i++)
        if (!drop[i])
            l->at[kept++] = l->at[i];
    l->n = kept;
    free(sorted);
    free(drop);
    return QDQ_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

static const qdq_tool_json *find_layers(const qdq_tool_json *root)
{
    static const char *const keys[] = {"Layers", "layers", "LayerInfo", "layerInfo"};

    if (root->kind == QDQ_TOOL_LIST)
        return root;
    for (size_t i = 0; i < QDQ_COUNT(keys); i++) {
        const qdq_tool_json *list = qdq_tool_json_get(root, keys[i]);

        if (list != NULL && list->kind == QDQ_TOOL_LIST)
            return list;
    }
    return NULL;
}

/* `Bindings` are names, `I/O Tensors` objects with one. */
static qdq_status read_io(const qdq_tool_json *root, qdq_arena *arena, qdq_trt_layers *out,
                          qdq_error *err)
{
    const qdq_tool_json *list = qdq_tool_json_get(root, "Bindings");

    if (list == NULL)
        list = qdq_tool_json_get(root, "I/O Tensors");
    if (list == NULL || list->kind != QDQ_TOOL_LIST)
        return QDQ_OK;
    out->io = qdq_arena_array(arena, list->n + 1, sizeof *out->io);
    QDQ_NEED(out->io != NULL, err);
    for (const qdq_tool_json *t = list->first; t != NULL; t = t->next)
        out->io[out->n_io++] = t->kind == QDQ_TOOL_TEXT ? t->text : qdq_tool_json_text(t, "Name");
    return QDQ_OK;
}

qdq_status qdq_trt_layers_parse(const char *text, size_t size, unsigned profile, qdq_arena *arena,
                                qdq_trt_layers *out, qdq_error *err)
{
    const qdq_tool_json *root;

    *out = (qdq_trt_layers){0};
    qdq_status st = qdq_tool_json_parse(text, size, arena, &root, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "layer information");
    const qdq_tool_json *list = find_layers(root);
    if (list == NULL)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "layer information: expected an object with a list 'Layers'");
    out->at = qdq_arena_array(arena, list->n + 1, sizeof *out->at);
    QDQ_NEED(out->at != NULL, err);
    for (const qdq_tool_json *j = list->first; j != NULL; j = j->next) {
        if (j->kind != QDQ_TOOL_OBJECT && j->kind != QDQ_TOOL_TEXT)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "layer information: layer %zu is neither an object nor a name", out->n);
        if (j->kind == QDQ_TOOL_OBJECT)
            out->detail = QDQ_TRT_DETAILED;
        else if (out->detail == QDQ_TRT_NOTHING)
            out->detail = QDQ_TRT_NAMES_ONLY;
        QDQ_NEED(read_layer(j, arena, &out->at[out->n++]), err);
    }
    QDQ_TRY(read_io(root, arena, out, err));
    return keep_profile(out, profile, err);
}

qdq_status qdq_trt_layers_need_detail(const qdq_trt_layers *l, qdq_error *err)
{
    switch (l->detail) {
    case QDQ_TRT_DETAILED:
        return QDQ_OK;
    case QDQ_TRT_NAMES_ONLY:
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "layer information: its verbosity is insufficient, it has names only; "
                        "expected that of an engine built with --profilingVerbosity=detailed");
    case QDQ_TRT_NOTHING:
        break;
    }
    return qdq_fail(err, QDQ_E_UNSUPPORTED,
                    "layer information: it has no layers; expected that of an engine built with "
                    "--profilingVerbosity=detailed");
}

/* --- classes ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *type, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcasecmp(type, *list) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(type, ...) is_one_of(type, (const char *const[]){__VA_ARGS__, NULL})

bool qdq_trt_layer_is_reformat(const qdq_trt_layer *l)
{
    return strcasecmp(l->type, "Reformat") == 0;
}

qdq_trt_class qdq_trt_layer_class(const qdq_trt_layer *l)
{
    if (qdq_trt_layer_is_reformat(l))
        return strcasecmp(l->origin, "QDQ") == 0 ? QDQ_TRT_CONVERSION : QDQ_TRT_MOVEMENT;
    if (IS_ONE_OF(l->type, "NoOp", "Constant"))
        return QDQ_TRT_FREE;
    if (IS_ONE_OF(l->type, "Shuffle", "Slice", "Padding", "memset"))
        return QDQ_TRT_MOVEMENT;
    return IS_ONE_OF(l->type, "signal", "wait", "signal_and_wait", "cjmp", "shape_call", "reshape")
               ? QDQ_TRT_CONTROL
               : QDQ_TRT_COMPUTE;
}
