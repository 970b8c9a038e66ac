/* compare_alias.c - finds values that have one name in two models, and different content. */
#include "quant/compare/compare_alias.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "qdq/quant.h"
#include "quant/compare/compare_run.h"

enum { CHUNK = 256, MOST = 8 };

/* What a match may be in a: its own name first. */
typedef struct alias {
    qdq_match *match;
    /* its value in the model that runs for b */
    const char *of_b;
    const char *name[MOST];
    qdq_compare_stat stat[MOST];
    size_t n;
} alias;

typedef struct aliasing {
    qdq_engine *engine;
    /* of a, of b */
    const qdq_alias_run *run;
    /* b without Q/DQ; NULL: b itself runs */
    qdq_model *plain;
    const qdq_compare_opts *opts;
    qdq_matching *m;
    qdq_arena arena;
    QDQ_VEC(alias) all;
    /* of the chunk that runs */
    alias *at;
    size_t n;
} aliasing;

/* --- candidates ------------------------------------------------------------------------------- */

/* What x may have become, or NULL. */
static const qdq_value *folded_into(const qdq_matching *m, const qdq_value *x)
{
    if (x->n_output > 0 || x->n_use != 1)
        return NULL;
    const qdq_node *reader = x->first->node;
    const qdq_value *y = reader->graph == x->graph ? qdq_node_out(reader, 0) : NULL;
    if (y == NULL || reader->n_out != 1 || qdq_graph_find(m->b->graph, y->name) != NULL)
        return NULL;
    return qdq_shapes_differ(x, y) ? NULL : y; /* else the numbers will tell */
}

static qdq_status find_candidates(aliasing *l, qdq_error *err)
{
    for (size_t i = 0; i < l->m->values.n; i++) {
        qdq_match *v = &l->m->values.at[i];
        const qdq_value *x = qdq_graph_find(l->m->a->graph, v->name);
        alias a = {.match = v};

        for (; x != NULL && a.n < MOST; x = folded_into(l->m, x))
            a.name[a.n++] = x->name;
        if (a.n > 1 && !QDQ_PUSH(&l->arena, &l->all, a))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* b itself runs. */
static void drop_plain(aliasing *l)
{
    qdq_model_free(l->plain);
    l->plain = NULL;
    for (size_t i = 0; i < l->all.n; i++)
        l->all.at[i].of_b = l->all.at[i].match->raw;
}

/* --- runs ------------------------------------------------------------------------------------- */

static qdq_status take_b(void *ctx, const char *name, const qdq_array *b, qdq_error *err)
{
    const aliasing *l = ctx;

    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->at[i].of_b, name) == 0 && qdq_elem_is_float(b->elem))
            QDQ_TRY(qdq_hold(&l->at[i].match->held, b, err));
    return QDQ_OK;
}

static qdq_status take_a(void *ctx, const char *name, const qdq_array *x, qdq_error *err)
{
    const aliasing *l = ctx;

    (void)err;
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->at[i].n; k++) {
            const qdq_held *b = &l->at[i].match->held;

            if (strcmp(l->at[i].name[k], name) == 0 && b->is_held && qdq_elem_is_float(x->elem) &&
                qdq_array_same_shape(x, &b->array))
                qdq_compare_stat_add(&l->at[i].stat[k], x, &b->array);
        }
    return QDQ_OK;
}

static qdq_status run_model(aliasing *l, int k, const char **expose, qdq_error *err)
{
    const qdq_model *m = k == 1 && l->plain != NULL ? l->plain : l->run[k].m;
    const char *which = k == 0 ? "first model" : "second model";
    qdq_safe_session s = qdq_compare_session(l->engine, m, l->opts, which);

    s.opts.expose = expose;
    s.opts.only_exposed = true;
    qdq_status st = qdq_safe_open(&s, err);
    if (st == QDQ_OK)
        st = qdq_safe_run(&s, l->run[k].in, l->run[k].n_in, k == 0 ? take_a : take_b, l, err);
    qdq_safe_close(&s);
    return st == QDQ_OK ? st : qdq_within(err, st, "%s", which);
}

static void choose_aliases(aliasing *l)
{
    for (size_t i = 0; i < l->n; i++) {
        alias *a = &l->at[i];
        double least = INFINITY;

        for (size_t k = 0; k < a->n; k++) {
            const qdq_compare_stat *s = &a->stat[k];
            const double error = s->aa > 0 ? s->dd / s->aa : (double)INFINITY;

            if (!(error < least))
                continue;
            least = error;
            a->match->of_a = a->name[k];
        }
    }
}

/* What errors of other layers make of b's values is further away than some candidates are from each
 * other: so b runs without Q/DQ, where it runs so. */
static qdq_status run_b(aliasing *l, const char **expose, qdq_error *err)
{
    qdq_error own = QDQ_ERROR_INIT;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < l->n; i++)
        expose[i] = l->at[i].of_b;
    expose[l->n] = NULL;
    if (l->plain != NULL)
        st = run_model(l, 1, expose, &own);
    if (st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED)
        return qdq_fail(err, st, "%s", own.text);
    if (l->plain != NULL && st == QDQ_OK)
        return QDQ_OK;
    drop_plain(l);
    for (size_t i = 0; i < l->n; i++)
        expose[i] = l->at[i].of_b;
    return run_model(l, 1, expose, err);
}

static qdq_status run_chunk(aliasing *l, qdq_error *err)
{
    const char **expose = qdq_arena_array(&l->arena, l->n * MOST + 1, sizeof *expose);
    size_t n = 0;

    QDQ_NEED(expose != NULL, err);
    QDQ_TRY(run_b(l, expose, err));
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->at[i].n; k++)
            expose[n++] = l->at[i].name[k];
    expose[n] = NULL;
    QDQ_TRY(run_model(l, 0, expose, err));
    choose_aliases(l);
    return QDQ_OK;
}

static qdq_status run_chunks(aliasing *l, qdq_error *err)
{
    for (size_t at = 0; at < l->all.n; at += l->n) {
        size_t bytes = 0;

        l->at = l->all.at + at;
        for (l->n = 0; l->n < CHUNK && at + l->n < l->all.n; l->n++)
            if (!qdq_match_fits(l->at[l->n].match, l->n, &bytes))
                break;
        qdq_status st = run_chunk(l, err);
        for (size_t i = 0; i < l->n; i++)
            qdq_held_free(&l->at[i].match->held);
        QDQ_TRY(st);
    }
    return QDQ_OK;
}

/* Q/DQ out of b, unless a value is gone then. */
static qdq_status make_plain(aliasing *l, qdq_error *err)
{
    qdq_error own = QDQ_ERROR_INIT;
    size_t n_left;

    drop_plain(l);
    if (l->all.n == 0)
        return QDQ_OK;
    qdq_status st = qdq_model_strip(l->run[1].m, NULL, &l->plain, &n_left, &own);
    if (st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED)
        return qdq_fail(err, st, "%s", own.text);
    for (size_t i = 0; i < l->all.n && l->plain != NULL; i++) {
        alias *a = &l->all.at[i];

        if (qdq_graph_find(l->plain->graph, a->of_b) == NULL)
            a->of_b = a->match->name; /* of an output, which keeps its name */
        if (qdq_graph_find(l->plain->graph, a->of_b) == NULL)
            drop_plain(l);
    }
    return QDQ_OK;
}

/* --- what is left over ------------------------------------------------------------------------ */

/* Of a pair that was taken apart, the other one has no partner. */
static void correct_unmatched(const aliasing *l)
{
    for (size_t i = 0; i < l->all.n; i++) {
        const qdq_match *v = l->all.at[i].match;

        for (size_t k = 0; v->of_a != v->name && k < l->m->only_a.n; k++)
            if (strcmp(l->m->only_a.at[k], v->of_a) == 0)
                l->m->only_a.at[k] = v->name;
    }
}

qdq_status qdq_match_by_values(qdq_engine *e, const qdq_compare_opts *opts,
                               const qdq_alias_run run[2], qdq_matching *m, qdq_error *err)
{
    aliasing l = {.engine = e, .run = run, .opts = opts, .m = m};

    qdq_status st = find_candidates(&l, err);
    if (st == QDQ_OK)
        st = make_plain(&l, err);
    if (st == QDQ_OK)
        st = run_chunks(&l, err);
    if (st == QDQ_OK)
        correct_unmatched(&l);
    qdq_model_free(l.plain);
    qdq_arena_free(&l.arena);
    return st;
}
