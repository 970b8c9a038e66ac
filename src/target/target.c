/* target.c - targets: built in or from files, with changes, and what they say of an operator. */
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/suggest.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "target/target_read.h"

/* name, help, text: made from the .json files beside this one by cmake/embed.cmake */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                     \
    "-Woverlength-strings" /* compilers take far longer ones than C11 promises */
static const struct {
    const char *name, *help, *text;
} builtin[] = {
#include "target_data.inc"
};
#pragma GCC diagnostic pop

/* --- public ----------------------------------------------------------------------------------- */

/* *out is the target of a description and its text. */
static qdq_status read_target(json_t *root, const char *text, size_t size, const char *name,
                              bool lines, qdq_target **out, qdq_error *err)
{
    qdq_target *t = calloc(1, sizeof *t);

    if (t != NULL)
        t->text = qdq_arena_strndup(&t->arena, text, size);
    qdq_status st =
        t == NULL || t->text == NULL ? qdq_nomem(err) : qdq_target_read(t, root, lines, err);
    if (st != QDQ_OK)
        st = qdq_within(err, st, "%s", name);
    return QDQ_HAND_OVER(t, st, out, qdq_target_free);
}

qdq_status qdq_target_parse(const char *text, size_t size, const char *name, qdq_target **out,
                            qdq_error *err)
{
    json_t *root = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_parse(text, size, name, &root, err));
    const qdq_status st = read_target(root, text, size, name, true, out, err);
    json_decref(root);
    return st;
}

/* JSON, or else text. */
static qdq_status read_value(const char *key, const char *value, json_t **out, qdq_error *err)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    json_t *list = NULL;

    qdq_buf_printf(&text, "[%s]", value);
    qdq_status st =
        text.failed ? QDQ_E_NOMEM : qdq_json_parse(text.data, text.size, key, &list, NULL);
    qdq_buf_free(&text);
    if (st == QDQ_E_NOMEM)
        return qdq_nomem(err);
    if (json_array_size(list) == 1)
        *out = json_incref(json_array_get(list, 0));
    else if ((*out = json_string(value)) == NULL) /* the text's fault, if it happens again */
        *out = json_string(value);
    json_decref(list);
    return *out != NULL ? QDQ_OK
                        : qdq_fail(err, QDQ_E_USAGE, "key '%s': its value is no UTF-8 text", key);
}

/* One name in a key: up to the next dot, or its end. */
typedef struct step {
    const char *name;
    size_t size;
} step;

/* *index: the number that a name is; SIZE_MAX: it is none of an entry of the list. */
static void read_index(const json_t *list, step s, size_t *index)
{
    const size_t n = json_array_size(list);

    *index = s.size > 0 ? 0 : SIZE_MAX;
    for (size_t i = 0; i < s.size && *index < SIZE_MAX; i++) {
        const bool digit = s.name[i] >= '0' && s.name[i] <= '9';
        *index = digit ? *index * 10 + (size_t)(s.name[i] - '0') : SIZE_MAX;
        *index = *index < n ? *index : SIZE_MAX;
    }
}

static qdq_status find_index(const json_t *list, step s, const char *key, size_t *index,
                             qdq_error *err)
{
    if (json_array_size(list) == 0)
        return qdq_fail(err, QDQ_E_USAGE, "key '%s': the list before '%.*s' is empty", key,
                        (int)s.size, s.name);
    read_index(list, s, index);
    return *index < SIZE_MAX ? QDQ_OK
                             : qdq_fail(err, QDQ_E_USAGE,
                                        "key '%s': found '%.*s' in a list, expected the number of "
                                        "an entry, 0 to %zu",
                                        key, (int)s.size, s.name, json_array_size(list) - 1);
}

/* What a name stands for in an object, which is made there, or in a list. */
static qdq_status enter(json_t **at, step s, const char *key, qdq_error *err)
{
    json_t *next;
    size_t index;

    if (json_is_array(*at)) {
        QDQ_TRY(find_index(*at, s, key, &index, err));
        *at = json_array_get(*at, index);
        return QDQ_OK;
    }
    if (!json_is_object(*at))
        return qdq_fail(err, QDQ_E_USAGE, "key '%s': what stands before the dot is not an object",
                        key);
    next = json_object_getn(*at, s.name, s.size);
    if (next == NULL) {
        next = json_object();
        QDQ_NEED(json_object_setn_new(*at, s.name, s.size, next) == 0, err);
    }
    *at = next;
    return QDQ_OK;
}

/* Takes `fresh`. */
static qdq_status set_last(json_t *at, step s, const char *key, json_t *fresh, qdq_error *err)
{
    size_t index = 0;
    qdq_status st = QDQ_OK;

    if (json_is_array(at))
        st = find_index(at, s, key, &index, err);
    else if (!json_is_object(at))
        st = qdq_fail(err, QDQ_E_USAGE, "key '%s': what stands before the dot is not an object",
                      key);
    if (st == QDQ_OK && (json_is_array(at) ? json_array_set(at, index, fresh)
                                           : json_object_set(at, s.name, fresh)) != 0)
        st = qdq_nomem(err);
    json_decref(fresh);
    return st;
}

/* Sets `key` in `root`, making the objects on the way. Entries of lists have numbers. */
static qdq_status set_key(json_t *root, const char *key, const char *value, qdq_error *err)
{
    json_t *fresh, *at = root;
    const char *dot, *rest = key;
    qdq_status st = QDQ_OK;

    QDQ_TRY(read_value(key, value, &fresh, err));
    for (; st == QDQ_OK && (dot = strchr(rest, '.')) != NULL; rest = dot + 1)
        st = enter(&at, (step){rest, (size_t)(dot - rest)}, key, err);
    if (st == QDQ_OK)
        return set_last(at, (step){rest, strlen(rest)}, key, fresh, err);
    json_decref(fresh);
    return st;
}

qdq_status qdq_target_set(qdq_target *t, const char *key, const char *value, qdq_error *err)
{
    const qdq_target_change one = {key, value};
    qdq_status st = qdq_target_set_all(t, &one, 1, err);

    return st == QDQ_OK ? st : qdq_within(err, st, "set %s", key);
}

/* Formats of activations for other processors come last: they run, with little hope. */
static void rank_others(qdq_target *t, const char *kind, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < t->others.n; i++) {
        qdq_other_activation o = t->others.at[i];
        o.elsewhere = !qdq_rule_is_for(&o.facts, kind, name);
        const size_t at = o.elsewhere ? i : n++;
        memmove(&t->others.at[at + 1], &t->others.at[at], (i - at) * sizeof o);
        t->others.at[at] = o;
    }
}

/* Leaves out the rules for other processors, and ranks activations. False: out of memory. */
static bool keep_processor(qdq_target *t, const char *kind, const char *name)
{
    size_t n = 0;

    t->cpu_kind = qdq_arena_strdup(&t->arena, kind);
    t->cpu_name = name != NULL ? qdq_arena_strdup(&t->arena, name) : NULL;
    if (t->cpu_kind == NULL || (name != NULL && t->cpu_name == NULL))
        return false;
    for (size_t i = 0; i < t->ops.n; i++) {
        const qdq_target_op *op = &t->ops.at[i];
        const qdq_no_kernel none = {op->op, "slower in 8 bits on this processor", op->facts};

        if (qdq_rule_is_for(&op->facts, kind, name))
            t->ops.at[n++] = *op;
        else if (!QDQ_PUSH(&t->arena, &t->none, none) || !QDQ_PUSH(&t->arena, &t->off, *op))
            return false;
    }
    t->ops.n = n;
    n = 0;
    for (size_t i = 0; i < t->stay.n; i++)
        if (qdq_rule_is_for(&t->stay.at[i].facts, kind, name))
            t->stay.at[n++] = t->stay.at[i];
    t->stay.n = n;
    rank_others(t, kind, name);
    return true;
}

/* What no key of its description says comes from `from`. */
static bool inherit(qdq_target *t, const qdq_target *from)
{
    if (from->sha256 != NULL && (t->sha256 = qdq_arena_strdup(&t->arena, from->sha256)) == NULL)
        return false;
    return from->cpu_kind == NULL || keep_processor(t, from->cpu_kind, from->cpu_name);
}

/* Does the change name a format of activations? Then it is the only one that is wanted. */
static bool names_activation(const char *key)
{
    static const char *const parts[] = {"type", "symmetric", "reduced", "pow2",
                                        "unsigned_if_non_negative"};
    static const char object[] = "activation";
    const size_t n = sizeof object - 1;

    if (strncmp(key, object, n) != 0)
        return false;
    for (size_t i = 0; key[n] == '.' && i < QDQ_COUNT(parts); i++)
        if (strcmp(key + n + 1, parts[i]) == 0)
            return true;
    return key[n] == '\0';
}

/* A target that lacked memory in the end is none. */
static qdq_status finish(bool ok, qdq_target **out, qdq_error *err)
{
    if (ok)
        return QDQ_OK;
    qdq_target_free(*out);
    *out = NULL;
    return qdq_nomem(err);
}

/* *out is t with the changes. */
static qdq_status change(const qdq_target *t, const qdq_target_change *changes, size_t n,
                         qdq_target **out, qdq_error *err)
{
    json_t *root = NULL;
    char *text = NULL;

    *out = NULL;
    QDQ_TRY(qdq_json_parse(t->text, strlen(t->text), t->name, &root, err));
    qdq_status st = QDQ_OK;
    for (size_t i = 0; i < n && st == QDQ_OK; i++) {
        if (names_activation(changes[i].key))
            json_object_del(root, "other_activations");
        st = set_key(root, changes[i].key, changes[i].value, err);
    }
    if (st == QDQ_OK)
        st = qdq_json_dump(root, &text, err);
    if (st == QDQ_OK)
        st = read_target(root, text, strlen(text), t->name, false, out, err);
    json_decref(root);
    qdq_free(text);
    return st == QDQ_OK ? finish(inherit(*out, t), out, err) : st;
}

qdq_status qdq_target_with(const qdq_target *t, const char *key, const char *value,
                           qdq_target **out, qdq_error *err)
{
    const qdq_target_change one = {key, value};

    return change(t, &one, 1, out, err);
}

qdq_status qdq_target_for_cpu(const qdq_target *t, const char *kind, const char *name,
                              qdq_target **out, qdq_error *err)
{
    QDQ_TRY(change(t, NULL, 0, out, err));
    return finish(keep_processor(*out, kind, name), out, err);
}

/* A key that is set where nothing uses it; in a file it waits for another format. */
static qdq_status check_use(const qdq_format *f, const qdq_target_change *c, qdq_error *err)
{
    if (strcmp(c->key, "weight.accuracy_level") == 0 && f->weight_store != QDQ_WEIGHT_AS_NBITS)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "weight.accuracy_level: found store '%s', expected 'nbits'",
                        qdq_weight_store_names[f->weight_store]);
    if (strcmp(c->key, "weight.tables") == 0 && f->weight_tables && !qdq_format_weight_only(f))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "weight.tables: found quantized activations, expected type 'float'");
    return QDQ_OK;
}

qdq_status qdq_target_set_all(qdq_target *t, const qdq_target_change *changes, size_t n,
                              qdq_error *err)
{
    qdq_target *changed;

    QDQ_TRY(change(t, changes, n, &changed, err));
    for (size_t i = 0; i < n; i++) {
        const qdq_status st = check_use(&changed->format, &changes[i], err);

        if (st != QDQ_OK) {
            qdq_target_free(changed);
            return st;
        }
    }
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

static qdq_status load_file(const char *path, const char *text, size_t size, qdq_target **out,
                            qdq_error *err)
{
    char hash[65];

    QDQ_TRY(qdq_target_parse(text, size, path, out, err));
    qdq_sha256_text((*out)->text, hash);
    (*out)->sha256 = qdq_arena_strdup(&(*out)->arena, hash);
    return finish((*out)->sha256 != NULL, out, err);
}

/* The target of an engine: by its name, and by its product's. */
static const struct {
    const char *engine, *product, *target;
} of_engine[] = {{"ort", "onnxruntime", "ort-cpu"},
                 {"openvino", "openvino", "openvino"},
                 {"trtexec", "tensorrt", "tensorrt"}};

const char *qdq_target_of_engine(const char *spec)
{
    const size_t n = spec != NULL ? strcspn(spec, ":") : 0;

    for (size_t i = 0; i < QDQ_COUNT(of_engine); i++)
        if (strlen(of_engine[i].engine) == n && memcmp(of_engine[i].engine, spec, n) == 0)
            return of_engine[i].target;
    return of_engine[0].target;
}

/* The built-in target that is probably meant: by its engine's name, then by likeness. */
static const char *nearest_target(const char *name)
{
    const char *names[QDQ_COUNT(builtin)];

    for (size_t i = 0; i < QDQ_COUNT(of_engine); i++)
        if (strcmp(of_engine[i].engine, name) == 0 || strcmp(of_engine[i].product, name) == 0)
            return of_engine[i].target;
    for (size_t i = 0; i < QDQ_COUNT(builtin); i++)
        names[i] = builtin[i].name;
    return qdq_suggest(name, names, QDQ_COUNT(builtin));
}

qdq_status qdq_target_load(const char *name_or_path, qdq_target **out, qdq_error *err)
{
    static const char prefix[] = "builtin:";

    *out = NULL;
    if (is_path(name_or_path)) {
        char *text = NULL;
        size_t size = 0;

        QDQ_TRY(qdq_read_file(name_or_path, 1 << 20, &text, &size, err));
        qdq_status st = load_file(name_or_path, text, size, out, err);
        qdq_free(text);
        return st;
    }
    const char *name =
        name_or_path +
        (strncmp(name_or_path, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0);
    for (size_t i = 0; i < QDQ_COUNT(builtin); i++)
        if (strcmp(builtin[i].name, name) == 0)
            return qdq_target_parse(builtin[i].text, strlen(builtin[i].text), name, out, err);
    const char *near = nearest_target(name);
    if (near != NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "target '%s': not built in; did you mean '%s'? 'qdq targets' lists all",
                        name_or_path, near);
    return qdq_fail(err, QDQ_E_USAGE,
                    "target '%s': expected a built-in target (qdq targets) or a .json file",
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

const char *qdq_target_get_name(const qdq_target *t)
{
    return t->name;
}

bool qdq_target_rounds_by_samples(const qdq_target *t)
{
    bool any = qdq_weight_method_reads_samples(t->format.weight_method);

    for (size_t i = 0; i < t->overrides.n; i++)
        any = any || qdq_weight_method_reads_samples(t->overrides.at[i].format.weight_method);
    return any;
}

const char *qdq_target_engine(const qdq_target *t)
{
    return t->engine;
}

const char *qdq_target_activation_name(const qdq_target *t, size_t k, char *text, size_t size)
{
    const qdq_format *f = k > 0 ? &t->others.at[k - 1].format : &t->format;
    size_t n = f->activation.type == t->format.activation.type;

    for (size_t i = 0; i < t->others.n; i++)
        n += t->others.at[i].format.activation.type == f->activation.type;
    if (n > 1)
        return qdq_format_describe_activation(f, text, size);
    snprintf(text, size, "%s", qdq_elem_name(f->activation.type));
    return text;
}

const qdq_target_op *qdq_target_find(const qdq_target *t, const char *op)
{
    for (size_t i = 0; i < t->ops.n; i++)
        if (strcmp(t->ops.at[i].op, op) == 0)
            return &t->ops.at[i];
    return NULL;
}

const qdq_target_op *qdq_target_find_off(const qdq_target *t, const char *op)
{
    for (size_t i = 0; i < t->off.n; i++)
        if (strcmp(t->off.at[i].op, op) == 0)
            return &t->off.at[i];
    return NULL;
}

/* Q/DQ have such scales since 19; bfloat16 is complete since 22. */
static int opset_of_half(const qdq_target_half *r)
{
    return r->type == QDQ_FLOAT16 ? 19 : r->type == QDQ_BFLOAT16 ? 22 : 0;
}

int qdq_target_opset(const qdq_target *t)
{
    int least = qdq_format_opset(&t->format), rest = opset_of_half(&t->half);

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

const char *qdq_target_no_dynamic(const qdq_target *t, const char *op, const qdq_target_op *rule)
{
    for (size_t i = 0; i < t->no_dynamic.n; i++)
        if (strcmp(t->no_dynamic.at[i].op, op) == 0)
            return t->no_dynamic.at[i].reason;
    return rule != NULL && rule->kind == QDQ_KIND_LINEAR
               ? "this target has no dynamic form of this operator"
               : "only products with constant weights are quantized";
}

const qdq_measured *qdq_target_figures(const qdq_target *t, const char *op, const char *reason)
{
    const qdq_target_op *rule = qdq_target_find(t, op);

    for (size_t i = 0; i < t->stay.n && reason != NULL; i++)
        if (strcmp(t->stay.at[i].op, op) == 0 && strcmp(t->stay.at[i].reason, reason) == 0)
            return qdq_rule_newest(&t->stay.at[i].facts, QDQ_RULE_PAYS, t->cpu_name);
    if (rule != NULL)
        return reason == NULL ? qdq_rule_newest(&rule->facts, QDQ_RULE_PAYS, t->cpu_name) : NULL;
    for (size_t i = 0; i < t->none.n; i++)
        if (strcmp(t->none.at[i].op, op) == 0)
            return qdq_rule_newest(&t->none.at[i].facts, QDQ_RULE_HARMS, t->cpu_name);
    return NULL;
}
