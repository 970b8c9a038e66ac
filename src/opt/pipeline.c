/* pipeline.c - parses pipelines of passes. Groups are put together here, so that what an engine
 * wants done ("passes" in its description) ends up as text: a pipeline means the same with and
 * without the target at hand. */
#include "opt/pipeline.h"

#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "opt/fold_policy.h"
#include "target/target.h"

#define DEFAULT  QDQ_WHEN_DEFAULT
#define OPTIMIZE QDQ_WHEN_OPTIMIZE
#define QUANTIZE QDQ_WHEN_QUANTIZE
#define NAMED    QDQ_WHEN_NAMED

static const qdq_pass_info passes[] = {
#define PASS(pass, how, function, text)       {pass, how, .graph = function, .help = text},
#define NODE_PASS(pass, how, function, text)  {pass, how, .node = function, .help = text},
#define MODEL_PASS(pass, how, function, text) {pass, how, .model = function, .help = text},
#define RULE(pass, how, its, text)            {pass, how, .rule = &its, .help = text},
#include "opt/passes.def"
#undef PASS
#undef NODE_PASS
#undef MODEL_PASS
#undef RULE
};

/* The passes that take arguments, and the words they know. */
static const struct {
    const char *pass;
    /* NULL: any, these are names, or what `knows` says */
    const char *words;
    bool (*knows)(const char *text, size_t size);
} takes[] = {
    {"inline-functions", NULL, NULL},
    {"fold-constants", NULL, qdq_fold_knows_arg},
    {"fold-batchnorm", "requant-per-tensor+clip+skip+through-qdq+float", NULL},
    {"equalize", "per-channel+weights", NULL},
    {"quantize-bias", "int32+float+symmetric+saturate+skip+zero-bias", NULL},
    {"share-initializers", "weights+all", NULL},
    {"qoperator-to-qdq", "static", NULL},
};

/* The first makes what the second takes apart, for engines that have no kernel of it. */
static const struct {
    const char *makes, *lowers;
} opposites[] = {
    {"fuse-silu", "lower-swish"},
};

_Static_assert(QDQ_COUNT(passes) < QDQ_MAX_STEPS, "the default pipeline has room");

typedef struct word {
    const char *text;
    size_t size;
} word;

static bool word_is(word w, const char *text)
{
    return strlen(text) == w.size && memcmp(text, w.text, w.size) == 0;
}

/* The name in front of ':'. */
static word name_of(word w)
{
    const char *colon = memchr(w.text, ':', w.size);

    return colon != NULL ? (word){w.text, (size_t)(colon - w.text)} : w;
}

static const qdq_pass_info *find_pass(word name)
{
    for (size_t i = 0; i < QDQ_COUNT(passes); i++)
        if (word_is(name, passes[i].name))
            return &passes[i];
    return NULL;
}

static qdq_status unknown(word w, const char *where, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_USAGE, "%s: '%.*s' is not a pass; 'qdq passes' lists all", where,
                    (int)(w.size < 80 ? w.size : 80), w.text);
}

/* A misspelt argument would change what a pass does, and no one would see it. */
static qdq_status check_args(const qdq_pass_info *pass, const char *arg, qdq_error *err)
{
    bool (*knows)(const char *text, size_t size) = NULL;
    const char *list = "";

    for (size_t i = 0; i < QDQ_COUNT(takes); i++)
        if (strcmp(takes[i].pass, pass->name) == 0) {
            list = takes[i].words;
            knows = takes[i].knows;
        }
    while ((list != NULL || knows != NULL) && *arg != '\0') {
        word w = {arg, strcspn(arg, "+")};

        if (knows != NULL ? !knows(w.text, w.size) : !qdq_text_lists(list, "+", w.text, w.size))
            return qdq_fail(err, QDQ_E_USAGE, "pass '%s': argument '%.*s': it takes no such",
                            pass->name, (int)(w.size < 80 ? w.size : 80), w.text);
        arg += w.size + (arg[w.size] == '+');
    }
    return QDQ_OK;
}

static void remove_steps(qdq_pipeline *p, const qdq_pass_info *pass)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        if (p->step[i].pass != pass)
            p->step[n++] = p->step[i];
    p->n = n;
}

/* The pass with other arguments gets these, where it stands. False: it is not there with others. */
static bool replace_arg(qdq_pipeline *p, const qdq_pass_info *pass, const char *arg)
{
    bool is_other = false;

    for (size_t i = 0; i < p->n; i++)
        if (p->step[i].pass == pass && strcmp(p->step[i].arg, arg) != 0) {
            p->step[i].arg = arg;
            is_other = true;
        }
    return is_other;
}

/* A pass with two different arguments would undo its own work round after round. */
static qdq_status add_step(qdq_pipeline *p, const qdq_pass_info *pass, word w, qdq_arena *memory,
                           qdq_error *err)
{
    size_t name = strlen(pass->name);
    const char *arg =
        w.size > name ? qdq_arena_strndup(memory, w.text + name + 1, w.size - name - 1) : "";

    QDQ_NEED(arg != NULL, err);
    QDQ_TRY(check_args(pass, arg, err));
    if (replace_arg(p, pass, arg))
        return QDQ_OK;
    if (p->n == QDQ_MAX_STEPS)
        return qdq_fail(err, QDQ_E_USAGE, "pipeline: more than %d passes", QDQ_MAX_STEPS);
    p->step[p->n++] = (qdq_step){pass, arg};
    return QDQ_OK;
}

/* What the target's formats say is the form that things have in the end: a pass that would give
 * them another one has no business there, or quantizing twice would not be quantizing once. */
static bool formats_forbid(const qdq_target *t, const qdq_pass_info *pass, word w)
{
    if (t == NULL || t->ops.n == 0)
        return false;
    if (strcmp(pass->name, "fold-weight-quantize") == 0)
        return t->format.weight_store == QDQ_WEIGHT_AS_FLOAT;
    if (strcmp(pass->name, "quantize-bias") == 0)
        return !word_is(w, "quantize-bias:float") && !qdq_format_has_int32_bias(&t->format);
    return false;
}

/* The entry of the target's list that names this pass, into *w. */
static bool target_wants(const qdq_target *t, const qdq_pass_info *pass, word *w)
{
    for (size_t i = 0; t != NULL && t->passes != NULL && t->passes[i] != NULL; i++) {
        word entry = {t->passes[i], strlen(t->passes[i])};

        if (word_is(name_of(entry), pass->name)) {
            *w = entry;
            return true;
        }
    }
    return false;
}

static qdq_status check_target(const qdq_target *t, qdq_error *err)
{
    for (size_t i = 0; t != NULL && t->passes != NULL && t->passes[i] != NULL; i++) {
        word w = {t->passes[i], strlen(t->passes[i])}, name = name_of(w);
        const qdq_pass_info *pass = find_pass(name);
        qdq_status st = pass == NULL          ? unknown(w, "key 'passes'", err)
                        : name.size == w.size ? QDQ_OK
                                              : check_args(pass, w.text + name.size + 1, err);

        if (st != QDQ_OK)
            return qdq_within(err, st, "target '%s'", t->name);
    }
    return QDQ_OK;
}

static qdq_status add_group(qdq_pipeline *p, word group, const qdq_target *t, qdq_arena *memory,
                            qdq_error *err)
{
    bool rules_only = word_is(group, "rules"), quantize = word_is(group, "quantize");

    QDQ_TRY(check_target(t, err));
    for (size_t i = 0; i < QDQ_COUNT(passes); i++) {
        const qdq_pass_info *pass = &passes[i];
        bool always = pass->when == QDQ_WHEN_DEFAULT ||
                      pass->when == (quantize ? QDQ_WHEN_QUANTIZE : QDQ_WHEN_OPTIMIZE);
        word w = {pass->name, strlen(pass->name)};
        bool wanted = target_wants(t, pass, &w);

        if ((rules_only && pass->rule == NULL) || formats_forbid(t, pass, w))
            continue;
        if (wanted || always)
            QDQ_TRY(add_step(p, pass, w, memory, err));
    }
    return QDQ_OK;
}

static qdq_status add_word(qdq_pipeline *p, word w, const qdq_target *t, qdq_arena *memory,
                           qdq_error *err)
{
    const qdq_pass_info *pass;
    bool take_out = w.size > 0 && w.text[0] == '-';

    if (word_is(w, "default") || word_is(w, "quantize") || word_is(w, "rules"))
        return add_group(p, w, t, memory, err);
    if (take_out)
        w = (word){w.text + 1, w.size - 1};
    pass = find_pass(take_out ? w : name_of(w));
    if (pass == NULL)
        return unknown(w, "pipeline", err);
    if (!take_out)
        return add_step(p, pass, w, memory, err);
    remove_steps(p, pass);
    return QDQ_OK;
}

static bool has_step(const qdq_pipeline *p, const char *pass)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->step[i].pass->name, pass) == 0)
            return true;
    return false;
}

/* Together they would never settle, and the first alone writes what the target's engine cannot
 * run. */
static qdq_status check_opposites(const qdq_pipeline *p, const qdq_target *t, qdq_error *err)
{
    for (size_t i = 0; i < QDQ_COUNT(opposites); i++) {
        const char *makes = opposites[i].makes, *lowers = opposites[i].lowers;
        word w;

        if (!has_step(p, makes))
            continue;
        if (target_wants(t, find_pass((word){lowers, strlen(lowers)}), &w))
            return qdq_fail(err, QDQ_E_USAGE,
                            "pass '%s': target '%s' asks for '%s', which undoes it", makes, t->name,
                            lowers);
        if (has_step(p, lowers))
            return qdq_fail(err, QDQ_E_USAGE, "pass '%s': '%s' undoes it, expected one of the two",
                            makes, lowers);
    }
    return QDQ_OK;
}

qdq_status qdq_pipeline_parse(const char *text, const qdq_target *t, qdq_arena *memory,
                              qdq_pipeline *out, qdq_error *err)
{
    out->n = 0;
    while (*text != '\0') {
        word w = {text, strcspn(text, ",")};

        QDQ_TRY(add_word(out, w, t, memory, err));
        text += w.size + (text[w.size] == ',');
    }
    return check_opposites(out, t, err);
}

/* --- public ----------------------------------------------------------------------------------- */

const char *qdq_pass_name(size_t i, const char **help)
{
    if (i >= QDQ_COUNT(passes))
        return NULL;
    if (help != NULL)
        *help = passes[i].help;
    return passes[i].name;
}

qdq_status qdq_pass_pipeline(const char *text, const qdq_target *t, char **out, qdq_error *err)
{
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_buf list = QDQ_BUF_INIT((size_t)1 << 20);
    qdq_pipeline p;
    qdq_status st = qdq_pipeline_parse(text, t, &memory, &p, err);

    *out = NULL;
    for (size_t i = 0; st == QDQ_OK && i < p.n; i++)
        qdq_buf_printf(&list, "%s%s%s%s", i > 0 ? "," : "", p.step[i].pass->name,
                       p.step[i].arg[0] != '\0' ? ":" : "", p.step[i].arg);
    if (st == QDQ_OK && (*out = qdq_buf_take(&list)) == NULL)
        st = qdq_nomem(err);
    qdq_buf_free(&list);
    qdq_arena_free(&memory);
    return st;
}
