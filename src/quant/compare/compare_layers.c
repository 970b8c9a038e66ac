/* compare_layers.c - which layer of a model loses how much: every value that two models share by
 * name is compared in a run of both, and again as the second model's layer makes it of the first
 * model's values. Values come in chunks that fit a budget of memory, one pass over the data for
 * each. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "ir/edit.h"
#include "qdq/pass.h"
#include "quant/calib/feedback.h"
#include "quant/compare/compare_alias.h"
#include "quant/compare/compare_feed.h"
#include "quant/compare/compare_run.h"
#include "quant/compare/influence.h"
#include "quant/data/data_source.h"
#include "quant/half_precision/widen.h"

enum { CHUNK_VALUES = 512, MOST_WARNINGS = 3 };

enum { RUN_A, RUN_B, RUN_ALONE, N_RUN };

static const char *const run_name[N_RUN] = {"first model", "second model",
                                            "second model in layers"};

typedef struct layering {
    qdq_engine *engine;
    qdq_data *data;
    /* whose inputs the samples are made for: the first one as it was given */
    const qdq_model *of;
    /* a, b as they were given, or the copies that the engine runs */
    const qdq_model *model[2];
    /* these copies; NULL: not needed */
    qdq_model *wide[2];
    /* copies without functions, if they had any */
    qdq_model *flat[2];
    qdq_compare_opts opts;
    size_t first, end;
    qdq_matching m;
    /* of_a, name, fed -> entry of m.values */
    qdq_map by_a, by_name, by_fed;
    /* samples run, over all passes: for progress */
    uint64_t done, total;
    /* values of other types or shapes */
    size_t n_left_out;
    /* that runs */
    size_t sample, step;
    /* qdq_slices_batch() of it */
    int64_t batch;
} layering;

/* Who wants an output of b: a match may want two, and two matches the same one. */
typedef struct wanted {
    qdq_match *match;
    bool behind;
    /* index + 1; 0: the last */
    size_t next;
} wanted;

typedef struct pass {
    layering *l;
    qdq_arena scratch;
    qdq_match *values;
    size_t n;
    /* the layers of this chunk; NULL: none has Q or DQ */
    qdq_model *alone;
    QDQ_VEC(const char *) expose[2];
    /* what the first model gives, in the order of expose[RUN_A] */
    QDQ_VEC(qdq_match *) of_a;
    QDQ_VEC(wanted) wanted;
    /* of b -> index + 1 into wanted */
    qdq_map by_output;
    qdq_named_array *fed;
    /* what of them is a copy in another type */
    void **converted;
    size_t n_fed;
    qdq_safe_session session[N_RUN];
    /* of a and b; layers alone read those of a */
    qdq_feedback states[2];
} pass;

/* --- preparing a pass ------------------------------------------------------------------------- */

/* Graph inputs that the layers of a chunk do not read: an engine would ask for them. */
static void drop_idle_inputs(qdq_model *m)
{
    qdq_graph *g = m->graph;

    for (size_t i = g->inputs.n; i-- > 0;) {
        qdq_value *v = g->inputs.at[i];

        if (v->n_use > 0 || v->n_output > 0 || v->init != NULL)
            continue;
        qdq_graph_remove_input(g, v);
        qdq_value_remove(v);
    }
}

/* The part of the cut model that the chunk is. */
static qdq_status extract_layers(pass *p, qdq_error *err)
{
    const qdq_graph *g = p->l->m.cut->graph;
    const char **in = qdq_arena_array(&p->scratch, g->inputs.n + 1, sizeof *in);
    const char **out = qdq_arena_array(&p->scratch, p->n + 1, sizeof *out);
    size_t n_in = 0, n_out = 0;

    QDQ_NEED(in != NULL && out != NULL, err);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->init == NULL && g->inputs.at[i]->sparse == NULL)
            in[n_in++] = g->inputs.at[i]->name;
    for (size_t i = 0; i < p->n; i++)
        if (p->values[i].quantized)
            out[n_out++] = p->values[i].name;
    if (n_out == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_model_extract(p->l->m.cut, in, n_in, out, n_out, &p->alone, err));
    drop_idle_inputs(p->alone);
    return QDQ_OK;
}

static qdq_status want_output(pass *p, qdq_match *match, const char *name, bool behind,
                              qdq_error *err)
{
    qdq_map_value *v = qdq_map_put(&p->by_output, name, NULL);
    wanted w = {match, behind, v != NULL ? v->num : 0};

    QDQ_NEED(v != NULL && QDQ_PUSH(&p->scratch, &p->wanted, w) &&
                 QDQ_PUSH(&p->scratch, &p->expose[RUN_B], name),
             err);
    v->num = p->wanted.n;
    return QDQ_OK;
}

static qdq_status want_of_a(pass *p, qdq_match *v, qdq_error *err)
{
    return qdq_allocated(QDQ_PUSH(&p->scratch, &p->of_a, v) &&
                             QDQ_PUSH(&p->scratch, &p->expose[RUN_A], v->of_a),
                         err);
}

/* Of the first model also what the layers alone are fed with. */
static qdq_status list_outputs(pass *p, qdq_error *err)
{
    for (size_t i = 0; i < p->n; i++) {
        qdq_match *v = &p->values[i];

        QDQ_TRY(want_of_a(p, v, err));
        QDQ_TRY(want_output(p, v, v->raw, false, err));
        if (v->read != NULL)
            QDQ_TRY(want_output(p, v, v->read, true, err));
    }
    for (size_t i = 0; p->alone != NULL && i < p->alone->graph->inputs.n; i++) {
        qdq_match *v = qdq_map_get_ptr(&p->l->by_fed, p->alone->graph->inputs.at[i]->name);

        if (v != NULL && (v < p->values || v >= p->values + p->n))
            QDQ_TRY(want_of_a(p, v, err));
    }
    for (int k = RUN_A; k <= RUN_B; k++)
        QDQ_NEED(QDQ_PUSH(&p->scratch, &p->expose[k], NULL), err);
    return QDQ_OK;
}

/* --- what comes out of the three runs --------------------------------------------------------- */

static qdq_status take_a(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    const pass *p = ctx;
    qdq_match *v = qdq_map_get_ptr(&p->l->by_a, name);

    if (v == NULL || v->left_out)
        return QDQ_OK;
    if (!qdq_elem_is_float(a->elem)) {
        v->left_out = true;
        return QDQ_OK;
    }
    return qdq_hold(&v->held, a, err);
}

/* `slices`: NULL, or those that belong to `to`. */
static qdq_status compare_with_held(layering *l, qdq_match *v, const qdq_array *b,
                                    qdq_compare_stat *to, qdq_slices *slices, qdq_error *err)
{
    char text[2][200];

    if (v->left_out || !v->held.is_held)
        return QDQ_OK;
    if (qdq_elem_is_float(b->elem) && qdq_array_same_shape(&v->held.array, b)) {
        qdq_compare_stat_add(to, &v->held.array, b);
        return v->is_near && slices != NULL
                   ? qdq_slices_add(slices, l->sample, l->batch, &v->held.array, b, err)
                   : QDQ_OK;
    }
    v->left_out = true;
    if (l->n_left_out++ >= MOST_WARNINGS)
        return QDQ_OK;
    qdq_job_log(l->opts.job, QDQ_LOG_WARNING,
                "tensor '%s' is %s [%s] in the first model, %s [%s] in the second: left out",
                v->name, qdq_elem_name(v->held.array.elem),
                qdq_array_shape_text(&v->held.array, text[0], sizeof text[0]),
                qdq_elem_name(b->elem), qdq_array_shape_text(b, text[1], sizeof text[1]));
    return QDQ_OK;
}

static qdq_status take_b(void *ctx, const char *name, const qdq_array *b, qdq_error *err)
{
    const pass *p = ctx;
    const qdq_map_value *found = qdq_map_get(&p->by_output, name);

    for (size_t i = found != NULL ? found->num : 0; i > 0; i = p->wanted.at[i - 1].next) {
        qdq_match *v = p->wanted.at[i - 1].match;

        if (p->wanted.at[i - 1].behind)
            QDQ_TRY(compare_with_held(p->l, v, b, &v->behind, NULL, err));
        else
            QDQ_TRY(compare_with_held(p->l, v, b, &v->value, &v->value_slices, err));
    }
    return QDQ_OK;
}

static qdq_status take_alone(void *ctx, const char *name, const qdq_array *b, qdq_error *err)
{
    const pass *p = ctx;
    qdq_match *v = qdq_map_get_ptr(&p->l->by_name, name);

    return v != NULL ? compare_with_held(p->l, v, b, &v->own, &v->own_slices, err) : QDQ_OK;
}

/* --- feeding the layers ----------------------------------------------------------------------- */

/* A value of the first model in the type that the second one has there. */
static qdq_status convert_array(const qdq_array *from, qdq_elem to, qdq_array *out, void **memory,
                                qdq_error *err)
{
    int64_t n = qdq_array_count(from);
    size_t bytes;

    *out = *from;
    if (from->elem == to)
        return QDQ_OK;
    QDQ_NEED(qdq_elem_bytes(to, n, &bytes) && (*memory = calloc(bytes + 1, 1)) != NULL, err);
    for (int64_t i = 0; i < n; i++)
        if (!qdq_elem_put_float(to, *memory, i, (double)qdq_elem_float(from->elem, from->data, i)))
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "found %g, expected a value that %s can hold",
                            (double)qdq_elem_float(from->elem, from->data, i), qdq_elem_name(to));
    out->elem = to;
    out->data = *memory;
    out->bytes = bytes;
    return QDQ_OK;
}

static void drop_converted(pass *p)
{
    for (size_t i = 0; i < p->n_fed; i++) {
        free(p->converted[i]);
        p->converted[i] = NULL;
    }
}

/* False in *can: a value is missing. */
static qdq_status feed_layers(pass *p, const qdq_named_array *in, size_t n, bool *can,
                              qdq_error *err)
{
    const qdq_graph *g = p->alone->graph;

    *can = true;
    p->n_fed = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_match *v = qdq_map_get_ptr(&p->l->by_fed, g->inputs.at[i]->name);
        qdq_named_array *to = &p->fed[p->n_fed];
        size_t k = 0;

        if (g->inputs.at[i]->init != NULL)
            continue;
        to->name = g->inputs.at[i]->name;
        while (v == NULL && k < n && strcmp(in[k].name, to->name) != 0)
            k++;
        *can = *can && (v != NULL ? v->held.is_held && !v->left_out : k < n);
        if (!*can)
            return QDQ_OK;
        const qdq_array *from = v != NULL ? &v->held.array : &in[k].array;
        qdq_status st = convert_array(from, v != NULL ? v->elem : from->elem, &to->array,
                                      &p->converted[p->n_fed++], err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "tensor '%s'", to->name);
    }
    return QDQ_OK;
}

/* --- a pass over the data --------------------------------------------------------------------- */

/* What the engine refuses was said when the outputs were compared, or will be. */
static qdq_status open_session(pass *p, int k, qdq_error *err)
{
    qdq_safe_session *s = &p->session[k];
    qdq_compare_opts own = p->l->opts;

    own.job = NULL;
    if (k == RUN_ALONE) { /* its inputs are others */
        own.shapes = NULL;
        own.n_shapes = 0;
    }
    *s = qdq_compare_session(p->l->engine, k == RUN_ALONE ? p->alone : p->l->model[k], &own,
                             run_name[k]);
    if (k != RUN_ALONE)
        QDQ_TRY(
            qdq_feedback_expose(&p->states[k], p->expose[k].at, &p->scratch, &s->opts.expose, err));
    s->opts.only_exposed = k != RUN_ALONE;
    return qdq_safe_open(s, err);
}

/* Opened when it is needed, and closed after the last sample: with one sample, no two are there at
 * a time. */
static qdq_status run_one(pass *p, int k, const qdq_named_array *in, size_t n, qdq_error *err)
{
    const size_t i = p->l->sample;
    qdq_status st = p->session[k].session == NULL ? open_session(p, k, err) : QDQ_OK;

    if (st == QDQ_OK && k == RUN_ALONE)
        st = qdq_safe_run(&p->session[k], in, n, take_alone, p, err);
    else if (st == QDQ_OK)
        st = qdq_safe_run(&p->session[k], in, n, qdq_feedback_take, &p->states[k], err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "%s, sample %zu", run_name[k], i);
    if (i + 1 == p->l->end && p->l->step + 1 == qdq_data_steps(p->l->data))
        qdq_safe_close(&p->session[k]);
    return QDQ_OK;
}

/* The layers alone run with the states of a, in the types of b. */
static qdq_status run_each(pass *p, const qdq_named_array *in, size_t n, qdq_arena *memory,
                           qdq_error *err)
{
    layering *l = p->l;
    const qdq_named_array *of_a = in, *of_b = in;
    bool can = false;

    QDQ_TRY(qdq_feedback_put(&p->states[RUN_A], l->step, &of_a, n, memory, err));
    QDQ_TRY(qdq_feedback_put(&p->states[RUN_B], l->step, &of_b, n, memory, err));
    const qdq_named_array *alone = of_a;
    QDQ_TRY(qdq_compare_feed(l->model[0], l->of, &of_a, n, memory, err));
    QDQ_TRY(qdq_compare_feed(l->model[1], l->of, &of_b, n, memory, err));
    QDQ_TRY(qdq_compare_feed(l->model[1], l->of, &alone, n, memory, err));
    for (size_t k = 0; k < p->of_a.n; k++)
        p->of_a.at[k]->held.is_held = false;
    QDQ_TRY(run_one(p, RUN_A, of_a, n, err));
    QDQ_TRY(run_one(p, RUN_B, of_b, n, err));
    if (p->alone != NULL)
        QDQ_TRY(feed_layers(p, alone, n, &can, err));
    return can ? run_one(p, RUN_ALONE, p->fed, p->n_fed, err) : QDQ_OK;
}

static qdq_status run_step(pass *p, qdq_error *err)
{
    layering *l = p->l;
    qdq_arena memory = QDQ_ARENA_INIT;
    const qdq_named_array *in;
    size_t n;

    QDQ_TRY(qdq_job_poll(l->opts.job, err));
    QDQ_TRY(qdq_data_get_step(l->data, l->sample, l->step, &in, &n, err));
    l->batch = qdq_slices_batch(in, n);
    qdq_status st = run_each(p, in, n, &memory, err);
    drop_converted(p);
    qdq_arena_free(&memory);
    return st;
}

static qdq_status run_sample(pass *p, size_t i, qdq_error *err)
{
    layering *l = p->l;

    l->sample = i;
    for (l->step = 0; l->step < qdq_data_steps(l->data); l->step++)
        QDQ_TRY(run_step(p, err));
    qdq_job_progress(l->opts.job, "compare layers", ++l->done, l->total);
    return QDQ_OK;
}

static qdq_status run_samples(pass *p, qdq_error *err)
{
    for (int k = RUN_A; k <= RUN_B; k++) {
        QDQ_TRY(qdq_feedback_begin(&p->states[k], p->l->data, err));
        p->states[k].fn = k == RUN_A ? take_a : take_b;
        p->states[k].ctx = p;
    }
    QDQ_TRY(extract_layers(p, err));
    QDQ_TRY(list_outputs(p, err));
    size_t room = p->alone != NULL ? p->alone->graph->inputs.n + 1 : 1;
    p->fed = qdq_arena_array(&p->scratch, room, sizeof *p->fed);
    p->converted = qdq_arena_array(&p->scratch, room, sizeof *p->converted);
    QDQ_NEED(p->fed != NULL && p->converted != NULL, err);
    for (size_t i = p->l->first; i < p->l->end; i++)
        QDQ_TRY(run_sample(p, i, err));
    return QDQ_OK;
}

static qdq_status run_pass(layering *l, qdq_match *values, size_t n, qdq_error *err)
{
    pass p = {.l = l, .scratch = QDQ_ARENA_INIT, .values = values, .n = n};
    qdq_status st = run_samples(&p, err);

    drop_converted(&p);
    for (int k = RUN_A; k <= RUN_B; k++)
        qdq_feedback_free(&p.states[k]);
    for (int k = 0; k < N_RUN; k++)
        qdq_safe_close(&p.session[k]);
    for (size_t k = 0; k < p.of_a.n; k++)
        qdq_held_free(&p.of_a.at[k]->held);
    qdq_map_free(&p.by_output);
    qdq_model_free(p.alone);
    qdq_arena_free(&p.scratch);
    return st;
}

/* How many of the values from `at` on go into one pass: at least one. */
static size_t chunk_at(const layering *l, size_t at)
{
    size_t n = 0, bytes = 0;

    while (at + n < l->m.values.n && n < CHUNK_VALUES &&
           qdq_match_fits(&l->m.values.at[at + n], n, &bytes))
        n++;
    return n;
}

static qdq_status run_passes(layering *l, qdq_error *err)
{
    for (size_t at = 0; at < l->m.values.n; at += chunk_at(l, at))
        l->total += l->end - l->first;
    for (size_t at = 0, n; at < l->m.values.n; at += n) {
        n = chunk_at(l, at);
        QDQ_TRY(run_pass(l, l->m.values.at + at, n, err));
    }
    return QDQ_OK;
}

/* --- the interface ---------------------------------------------------------------------------- */

/* Layers are inside functions as exporters write them; Q/DQ are around single nodes. The names are
 * those that cleaning gives them. */
static qdq_status inline_model(layering *l, int k, qdq_error *err)
{
    qdq_optimize_opts o = QDQ_OPTIMIZE_OPTS_INIT;

    if (l->model[k]->functions.n == 0)
        return QDQ_OK;
    o.passes = "inline-functions";
    QDQ_TRY(qdq_model_clone(l->model[k], &l->flat[k], err));
    QDQ_TRY(qdq_model_optimize(l->flat[k], &o, NULL, err));
    l->model[k] = l->flat[k];
    return QDQ_OK;
}

/* A model that the engine refuses for its 16-bit floats is looked at as a copy in float32. That is
 * found out before values are matched: the copy has fewer of them, since what is a Cast in one is
 * nothing in the other. */
static qdq_status widen_model(layering *l, int k, qdq_error *err)
{
    qdq_safe_session s = qdq_compare_session(l->engine, l->model[k], &l->opts, run_name[k]);

    if (!qdq_model_has_half(l->model[k]))
        return QDQ_OK;
    s.opts.fake_quant = false;
    qdq_status st = qdq_safe_open(&s, err);
    l->model[k] = s.model;
    l->wide[k] = s.copy;
    s.copy = NULL;
    qdq_safe_close(&s);
    return st == QDQ_OK ? st : qdq_within(err, st, "%s", run_name[k]);
}

static qdq_status match_by_values(layering *l, const qdq_named_array *in, size_t n, qdq_error *err)
{
    qdq_alias_run run[2] = {{l->model[0], in, n}, {l->model[1], in, n}};
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_status st = QDQ_OK;

    for (int k = 0; k < 2 && st == QDQ_OK; k++)
        st = qdq_compare_feed(run[k].m, l->of, &run[k].in, n, &memory, err);
    if (st == QDQ_OK)
        st = qdq_match_by_values(l->engine, &l->opts, run, &l->m, err);
    qdq_arena_free(&memory);
    return st;
}

/* Slices are looked at where they are those of outputs. */
static qdq_status find_near(layering *l, qdq_error *err)
{
    const qdq_graph *g = l->m.a->graph;
    bool *near;

    QDQ_TRY(qdq_near_outputs(g, &l->m.arena, &near, err));
    for (size_t i = 0; i < l->m.values.n; i++) {
        const qdq_value *v = qdq_graph_find(g, l->m.values.at[i].of_a);

        l->m.values.at[i].is_near = v != NULL && near[v->id];
    }
    return QDQ_OK;
}

static qdq_status compare_layers(layering *l, qdq_compare_layers_result **out, qdq_error *err)
{
    const qdq_engine_info *info = qdq_engine_get_info(l->engine);
    const qdq_named_array *in;
    size_t n;

    QDQ_TRY(qdq_compare_range(l->data, &l->opts, &l->first, &l->end, err));
    QDQ_TRY(qdq_data_warn_of_sameness(l->data, l->opts.job, err));
    if ((info->capabilities & QDQ_CAN_EXPOSE) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "engine %s cannot show inner tensors", info->name);
    QDQ_TRY(qdq_data_get(l->data, l->first, &in, &n, err));
    for (int k = RUN_A; k <= RUN_B; k++) {
        QDQ_TRY(inline_model(l, k, err));
        QDQ_TRY(widen_model(l, k, err));
    }
    QDQ_TRY(qdq_match_models(l->model, in, n, l->opts.job, &l->m, err));
    QDQ_TRY(match_by_values(l, in, n, err));
    QDQ_TRY(find_near(l, err));
    for (size_t i = 0; i < l->m.values.n; i++) {
        qdq_match *v = &l->m.values.at[i];

        QDQ_NEED(qdq_map_set_ptr(&l->by_a, v->of_a, v) &&
                     qdq_map_set_ptr(&l->by_name, v->name, v) &&
                     qdq_map_set_ptr(&l->by_fed, v->fed, v),
                 err);
    }
    QDQ_TRY(run_passes(l, err));
    if (l->n_left_out > MOST_WARNINGS)
        qdq_job_log(l->opts.job, QDQ_LOG_WARNING,
                    "%zu more tensors of other types or shapes: left out",
                    l->n_left_out - MOST_WARNINGS);
    return qdq_compare_layers_write(&l->m, l->end - l->first, out, err);
}

qdq_status qdq_compare_layers(qdq_engine *e, const qdq_model *a, const qdq_model *b, qdq_data *d,
                              const qdq_compare_opts *opts, qdq_compare_layers_result **out,
                              qdq_error *err)
{
    layering l = {.engine = e, .data = d, .of = a, .model = {a, b}, .opts = QDQ_COMPARE_OPTS_INIT};

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_compare_opts", &l.opts, sizeof l.opts, opts, err));
    qdq_status st = compare_layers(&l, out, err);
    qdq_map_free(&l.by_a);
    qdq_map_free(&l.by_name);
    qdq_map_free(&l.by_fed);
    qdq_matching_free(&l.m);
    for (int k = RUN_A; k <= RUN_B; k++) {
        qdq_model_free(l.wide[k]);
        qdq_model_free(l.flat[k]);
    }
    return st;
}
