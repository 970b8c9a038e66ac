/* cli_format.c - every option here is another word for keys of the target's description
 * (docs/targets.md), which says what is possible and refuses the rest. */
#include "cli/cli_format.h"

#include <string.h>

#include "base/fail.h"
#include "base/vec.h"
#include "base/words.h"
#include "cli/cli_installed.h"
#include "cli/cli_values.h"

static const char *const presets[] = {"target", "int8",  "uint8",   "int16", "fp8",
                                      "int4",   "uint4", "dynamic", NULL};
static const char *const methods[] = {"target",   "absmax", "mse",      "awq-lite",    "awq-clip",
                                      "awq-full", "gptq",   "gptq-mse", "gptq-refine", NULL};
static const char *const stores[] = {"target", "codes", "float", "nbits", "dynamic", NULL};
/* float16 and bfloat16, 2 and 3, are computed like float by processors. */
static const char *const levels[] = {"target", "0", "1", "2", "3", "4", NULL};
static const char *const biases[] = {"target", "float", "int32", NULL};

/* In the order of qdq_cpu. */
const char *const cli_cpus[] = {"auto", "avx2", "avx512", "vnni", "arm", NULL};

#define ARGS cli_format_args
#include "cli/cli_tables.def"
#include "cli/cli_format.def"

/* --- changes ---------------------------------------------------------------------------------- */

typedef struct change_list {
    qdq_arena *arena;
    QDQ_VEC(qdq_target_change) all;
    /* out of memory */
    bool failed;
} change_list;

static void change(change_list *l, const char *key, const char *value)
{
    const qdq_target_change fresh = {key, value};

    l->failed |= !QDQ_PUSH(l->arena, &l->all, fresh);
}

/* Types, and whether zero is in the middle; NULL: floats. */
static void change_formats(change_list *l, const char *activation, const char *activation_symmetric,
                           const char *weight, const char *weight_symmetric)
{
    change(l, "activation.type", activation);
    change(l, "activation.symmetric", activation_symmetric);
    change(l, "weight.type", weight);
    change(l, "weight.symmetric", weight_symmetric);
}

static void apply_preset(change_list *l, const char *preset)
{
    if (strcmp(preset, "int8") == 0) {
        change_formats(l, "int8", "true", "int8", "true");
    } else if (strcmp(preset, "uint8") == 0) {
        change_formats(l, "uint8", "false", "int8", "true");
    } else if (strcmp(preset, "int16") == 0) {
        change_formats(l, "int16", "true", "int8", "true");
    } else if (strcmp(preset, "fp8") == 0) {
        change_formats(l, "float8e4m3fn", "true", "float8e4m3fn", "true");
        change(l, "bias.type", "float");
    } else if (strcmp(preset, "int4") == 0 || strcmp(preset, "uint4") == 0) {
        change_formats(l, "float", "false", preset, preset[0] == 'u' ? "false" : "true");
        change(l, "weight.block", "32");
        change(l, "bias.type", "float");
    } else if (strcmp(preset, "dynamic") == 0) {
        change_formats(l, "float", "false", "int8", "true");
        change(l, "weight.store", "dynamic");
        change(l, "weight.block", "0");
        change(l, "bias.type", "float");
    }
}

static void apply_options(change_list *l, const cli_format_args *a)
{
    if (a->activation_type != NULL)
        change(l, "activation.type", a->activation_type);
    if (a->weight_type != NULL)
        change(l, "weight.type", a->weight_type);
    if (a->symmetric || a->asymmetric)
        change(l, "activation.symmetric", a->symmetric ? "true" : "false");
    if (a->weight_asymmetric)
        change(l, "weight.symmetric", "false");
    if (a->per_channel || a->per_tensor)
        change(l, "weight.per_channel", a->per_channel ? "true" : "false");
    if (a->reduce_range)
        change(l, "weight.reduced", "true");
    if (a->pow2) {
        change(l, "activation.pow2", "true");
        change(l, "weight.pow2", "true");
    }
    if (a->block != NULL)
        change(l, "weight.block", a->block);
    if (a->weight_method != 0)
        change(l, "weight.method", methods[a->weight_method]);
    if (a->weights != 0)
        change(l, "weight.store", stores[a->weights]);
    if (a->accuracy_level != 0)
        change(l, "weight.accuracy_level", levels[a->accuracy_level]);
    if (a->tables)
        change(l, "weight.tables", "true");
    if (a->bias != 0)
        change(l, "bias.type", biases[a->bias]);
}

/* ["Softmax", "^head"] */
static const char *list_text(const cli_names *names, qdq_arena *arena)
{
    qdq_buf out = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < names->n; i++) {
        qdq_buf_puts(&out, i == 0 ? "[\"" : ", \"");
        for (const char *s = names->at[i]; *s != '\0'; s++) {
            if (*s == '"' || *s == '\\')
                qdq_buf_putc(&out, '\\');
            qdq_buf_putc(&out, *s);
        }
        qdq_buf_putc(&out, '"');
    }
    qdq_buf_putc(&out, ']');
    const char *text = out.failed ? NULL : qdq_arena_strndup(arena, out.data, out.size);
    qdq_buf_free(&out);
    return text;
}

static void apply_rest(change_list *l, const cli_format_args *a)
{
    static const char *const types[] = {"", "float", "float16", "bfloat16"};

    if (a->rest != 0)
        change(l, "rest.type", types[a->rest]);
    if (a->direct_io)
        change(l, "rest.direct_io", "true");
    if (a->rest_keep.n > 0) {
        const char *list = list_text(&a->rest_keep, l->arena);

        l->failed |= list == NULL;
        change(l, "rest.keep", list);
    }
}

static qdq_status apply_set(change_list *l, const cli_names *set, qdq_error *err)
{
    for (size_t i = 0; i < set->n; i++) {
        const char *text = set->at[i], *equals = strchr(text, '=');

        if (equals == NULL || equals == text)
            return qdq_fail(err, QDQ_E_USAGE,
                            "--set: found '%s', expected KEY=VALUE, as activation.type=int8", text);
        const char *key = qdq_arena_strndup(l->arena, text, (size_t)(equals - text));
        l->failed |= key == NULL;
        change(l, key, equals + 1);
    }
    return QDQ_OK;
}

/* `is_file`: a target that may say what becomes of the rest; the built-in ones leave it as the
 * model has it. */
static qdq_status check_formats(const cli_format_args *a, bool is_file, qdq_error *err)
{
    if (a->symmetric && a->asymmetric)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --symmetric and --asymmetric, expected one of them");
    if (a->per_channel && a->per_tensor)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --per-channel and --per-tensor, expected one of them");
    bool rest = a->rest != 0 || a->set.n > 0 || is_file;
    if (!rest && (a->rest_keep.n > 0 || a->direct_io))
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --rest",
                        a->rest_keep.n > 0 ? "--rest-keep" : "--direct-io");
    if (a->per_tensor && a->block != NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --per-tensor and --block-size, expected one of them");
    return QDQ_OK;
}

/* --- public ----------------------------------------------------------------------------------- */

qdq_status cli_format_preset(const char *name, cli_format_args *a, qdq_error *err)
{
    for (int i = 0; presets[i] != NULL; i++)
        if (strcmp(presets[i], name) == 0) {
            a->preset = i;
            return QDQ_OK;
        }
    return qdq_fail(err, QDQ_E_BUG, "no format '%s'", name);
}

/* Does the user name the type of weights? Then it is not changed for the processor. */
static bool names_weights(const cli_format_args *a)
{
    static const char key[] = "weight.type=";

    for (size_t i = 0; i < a->set.n; i++)
        if (strncmp(a->set.at[i], key, sizeof key - 1) == 0)
            return true;
    return a->weight_type != NULL;
}

bool cli_format_is_named(const cli_format_args *a)
{
    for (size_t i = 0; i < a->set.n; i++)
        if (QDQ_TEXT_BEGINS(a->set.at[i], "activation.", "weight.", "overrides"))
            return true;
    return a->preset != 0 || a->activation_type != NULL || a->weight_type != NULL || a->symmetric ||
           a->asymmetric || a->weight_asymmetric || a->block != NULL || a->weights != 0;
}

/* What a file must not have is an error on the command line here, of these options. */
static qdq_status at_options(const cli_format_args *a, qdq_error *err)
{
    enum { TEXT_MAX = 300 };
    qdq_buf given = QDQ_BUF_INIT(TEXT_MAX);
    cli_format_args changes = *a;

    changes.cpu = 0; /* changes no key */
    cli_put_given(cli_format_opts, &changes, &given);
    const qdq_status st = qdq_within(err, QDQ_E_USAGE, "%s",
                                     given.failed || given.size == 0 ? "formats" : given.data + 1);
    qdq_buf_free(&given);
    return st;
}

static qdq_status change_target(cli *c, qdq_target *t, const cli_format_args *a, bool is_file,
                                qdq_error *err)
{
    change_list l = {.arena = &c->arena};

    QDQ_TRY(check_formats(a, is_file, err));
    apply_preset(&l, presets[a->preset]);
    apply_options(&l, a);
    apply_rest(&l, a);
    if (names_weights(a) && strstr(qdq_target_text(t), "\"without_vnni\"") != NULL)
        change(&l, "without_vnni", "pairs");
    QDQ_TRY(apply_set(&l, &a->set, err));
    QDQ_NEED(!l.failed, err);
    qdq_status st = l.all.n > 0 ? qdq_target_set_all(t, l.all.at, l.all.n, err) : QDQ_OK;
    return st == QDQ_E_FORMAT ? at_options(a, err) : st;
}

static bool is_file(const char *name)
{
    return strpbrk(name, "/.") != NULL;
}

qdq_status cli_target_open(cli *c, const char *name, const cli_format_args *a,
                           const cli_engine_args *engine, qdq_target **out, qdq_error *err)
{
    qdq_target *t = NULL;

    name = name != NULL ? name : "ort-cpu";
    c->installed = NULL;
    if (!is_file(name) && strncmp(name, "builtin:", 8) != 0)
        QDQ_TRY(cli_installed_find(c, name, engine, &c->installed, err));
    qdq_status st = qdq_target_load(c->installed != NULL ? c->installed : name, &t, err);
    if (st != QDQ_OK && st != QDQ_E_NOMEM && c->installed != NULL)
        return qdq_within(err, st, "installed target (--target builtin:%s ignores it)", name);
    QDQ_TRY(st);
    st = change_target(c, t, a, is_file(name), err);
    return QDQ_HAND_OVER(t, st, out, qdq_target_free);
}
