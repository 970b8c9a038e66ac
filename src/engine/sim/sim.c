/* sim.c - the `sim` engine: a deterministic stand-in for tests. Its time is a cost model's, its
 * noise a hash, its clock a virtual one; its outputs are seeded numbers of the inferred shapes.
 * Nothing in it depends on the machine, and failures happen where the cost model asks for them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/random.h"
#include "engine/engine_layer.h"
#include "engine/engine_ops.h"
#include "engine/session_io.h"
#include "engine/sim/sim_cost.h"
#include "engine/sim/sim_groups.h"
#include "ir/edit.h"
#include "ir/shape.h"

typedef struct sim_session {
    qdq_sim *sim;
    /* a clone, whose shapes follow the inputs of the last run */
    qdq_model *model;
    qdq_arena scratch;
    qdq_sim_estimate estimate;
    /* timed blocks so far */
    uint64_t samples;
    /* of failures on the call at hand */
    qdq_sim_effect effect;
    /* no optimizations: all is computed as the graph says */
    bool as_written;
    /* an input has an open dim */
    bool is_open;
    /* by value id: what forms that are computed wrongly make of it; NULL: all is right */
    const double *factor;
} sim_session;

/* --- engine ----------------------------------------------------------------------------------- */

static void sim_close(qdq_engine *e)
{
    qdq_sim_free(e->self);
}

static qdq_status sim_open(qdq_engine *e, const char *arg, const qdq_engine_opts *opts,
                           qdq_error *err)
{
    qdq_sim *sim;

    (void)opts;
    if (arg == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "no cost model: expected sim:FILE");
    QDQ_TRY(qdq_sim_load(arg, &sim, err));
    e->self = sim;
    e->info.version = "1";
    e->info.device = sim->device;
    e->info.library = qdq_arena_strdup(&e->arena, arg);
    e->info.fingerprint = qdq_arena_printf(&e->arena, "sim 1 %s %s", sim->device, sim->digits);
    QDQ_NEED(e->info.library != NULL && e->info.fingerprint != NULL, err);
    e->info.capabilities =
        QDQ_CAN_RUN | QDQ_CAN_TIME | QDQ_CAN_EXPOSE | QDQ_CAN_LIST_LAYERS | QDQ_RUNS_AS_WRITTEN;
    if (!sim->no_profile)
        e->info.capabilities |= QDQ_CAN_PROFILE;
    return QDQ_OK;
}

/* --- shapes and costs ------------------------------------------------------------------------- */

static bool runs_node_in_int8(const sim_session *ss, const char *label, qdq_arena *scratch)
{
    for (size_t i = 0; i < ss->estimate.layers.n; i++) {
        const qdq_sim_layer *l = &ss->estimate.layers.at[i];
        if (l->is_int8 && strcmp(qdq_node_label(l->node, scratch), label) == 0)
            return true;
    }
    return false;
}

static qdq_status maybe_fail(qdq_session *s, const char *at, qdq_error *err)
{
    sim_session *ss = s->self;

    ss->effect = (qdq_sim_effect){QDQ_SIM_SOUND, 1};
    for (size_t i = 0; i < ss->sim->n_failure; i++) {
        qdq_sim_failure *f = &ss->sim->failure[i];
        if (strcmp(f->at, at) != 0 ||
            (f->node != NULL && !runs_node_in_int8(ss, f->node, &ss->scratch)))
            continue;
        if (qdq_sim_failure_is_due(f))
            QDQ_TRY(qdq_sim_failure_happen(f, &s->arena, &ss->effect, err));
    }
    return QDQ_OK;
}

static void slow_down(sim_session *ss)
{
    qdq_sim_estimate *e = &ss->estimate;

    for (size_t i = 0; i < e->layers.n && !ss->is_open; i++) {
        const double before = e->layers.at[i].us;
        if (e->layers.at[i].is_int8)
            e->layers.at[i].us *= ss->sim->int8_fixed_times;
        e->total_us += e->layers.at[i].us - before;
    }
}

/* Costs of the shapes as they are now, and what is computed wrongly. */
static qdq_status estimate(sim_session *ss, qdq_error *err)
{
    qdq_arena_free(&ss->scratch);
    ss->factor = NULL;
    QDQ_TRY(qdq_sim_estimate_graph(ss->sim, ss->model->graph, &ss->scratch, &ss->estimate, err));
    slow_down(ss);
    if (ss->sim->n_wrong == 0 || ss->as_written)
        return QDQ_OK;
    ss->factor = qdq_sim_wrong_values(ss->sim->wrong, ss->sim->n_wrong, ss->model->graph,
                                      &ss->estimate, ss->is_open, &ss->scratch);
    return ss->factor != NULL ? QDQ_OK : qdq_nomem(err);
}

/* Gives the inputs of the clone these shapes, and infers the rest again if that changes
 * anything. */
static qdq_status adopt_shapes(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    sim_session *ss = s->self;
    bool changed = false;

    for (size_t i = 0; i < s->n_in; i++) {
        qdq_value *v = qdq_graph_find(ss->model->graph, s->in[i].name);
        int64_t dim[QDQ_MAX_RANK];
        int rank;
        if (qdq_value_static_shape(v, &rank, dim, QDQ_MAX_RANK) && rank == in[i]->rank &&
            memcmp(dim, in[i]->dim, (size_t)rank * sizeof dim[0]) == 0)
            continue;
        const qdq_type *t = qdq_type_fixed(ss->model, in[i]->elem, in[i]->rank, in[i]->dim);
        QDQ_NEED(t != NULL, err);
        qdq_value_set_type(v, t);
        changed = true;
    }
    if (!changed)
        return QDQ_OK;
    qdq_shape_opts opts = {.forget_declared = true};
    QDQ_TRY(qdq_model_infer(ss->model, &opts, err));
    return estimate(ss, err);
}

/* --- sessions --------------------------------------------------------------------------------- */

static qdq_status sim_session_open(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                                   qdq_error *err)
{
    sim_session *ss = calloc(1, sizeof *ss);
    qdq_shape_opts infer = {.forget_declared = opts->n_shapes > 0};

    QDQ_NEED(ss != NULL, err);
    s->self = ss;
    ss->sim = s->engine->self;
    QDQ_TRY(qdq_model_clone(m, &ss->model, err));
    QDQ_TRY(qdq_model_infer(ss->model, &infer, err));
    QDQ_TRY(qdq_session_describe(s, ss->model->graph, err));
    ss->as_written = opts->level == QDQ_LEVEL_NONE || opts->fake_quant;
    ss->is_open = qdq_model_is_open(ss->model);
    QDQ_TRY(estimate(ss, err));
    return maybe_fail(s, "open", err);
}

static void sim_session_close(qdq_session *s)
{
    sim_session *ss = s->self;

    if (ss == NULL)
        return;
    qdq_model_free(ss->model);
    qdq_arena_free(&ss->scratch);
    free(ss);
}

/* --- runs ------------------------------------------------------------------------------------- */

static uint64_t hash_inputs(const qdq_session *s, const qdq_array *const *in, uint64_t seed)
{
    for (size_t i = 0; i < s->n_in; i++) {
        seed = XXH64(s->in[i].name, strlen(s->in[i].name), seed);
        seed = XXH64(in[i]->dim, (size_t)in[i]->rank * sizeof in[i]->dim[0], seed);
        if (in[i]->bytes > 0)
            seed = XXH64(in[i]->data, in[i]->bytes, seed);
    }
    return seed;
}

/* The operator that gave v its numbers: Q, DQ and Cast hand on those of another. */
static const char *source_op(const qdq_value *v)
{
    for (int hops = 0; hops < 3 && v != NULL && v->producer != NULL; hops++) {
        if (v->producer->op != QDQ_OP_DEQUANTIZELINEAR &&
            v->producer->op != QDQ_OP_QUANTIZELINEAR && v->producer->op != QDQ_OP_CAST)
            break;
        v = qdq_node_in(v->producer, 0);
    }
    return v != NULL && v->producer != NULL ? v->producer->type : "";
}

/* Numbers that the operator could have given: what follows a Relu is not negative. Then the error
 * that the 8-bit kernels of this assignment make. */
static void shape_floats(const sim_session *ss, const qdq_value *v, uint64_t seed, qdq_array *a)
{
    const char *op = source_op(v);
    bool positive = strcmp(op, "Relu") == 0;
    bool unit = strcmp(op, "Sigmoid") == 0 || strcmp(op, "Softmax") == 0;
    const double in_8_bits = ss->sim->error * sqrt((double)ss->estimate.n_int8),
                 at_run_time = ss->sim->dynamic_error * sqrt((double)ss->estimate.n_dynamic),
                 of_weights = ss->sim->weight_error * sqrt(ss->estimate.weight_noise),
                 amplitude = sqrt(in_8_bits * in_8_bits + at_run_time * at_run_time +
                                  of_weights * of_weights);
    qdq_random r = qdq_random_new(seed ^ ss->estimate.assignment, v->name);
    float *x = a->data;

    for (int64_t i = 0, n = qdq_array_count(a); i < n; i++) {
        if (unit)
            x[i] = 1 / (1 + expf(-x[i]));
        if (positive)
            x[i] = x[i] > 0 ? x[i] : 0;
        if (amplitude > 0)
            x[i] += (float)amplitude * qdq_random_normal(&r);
        if (ss->factor != NULL && ss->factor[v->id] != 1)
            x[i] *= (float)ss->factor[v->id];
    }
}

static qdq_status make_output(const sim_session *ss, const qdq_value *v, uint64_t seed,
                              qdq_array *a, qdq_error *err)
{
    *a = (qdq_array){.elem = qdq_value_elem(v)};
    if (a->elem == QDQ_UNDEFINED || !qdq_value_static_shape(v, &a->rank, a->dim, QDQ_MAX_RANK))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "output '%s': its type or shape could not be inferred", v->name);
    if (!qdq_elem_bytes(a->elem, qdq_array_count(a), &a->bytes))
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "output '%s' is of strings or too large", v->name);
    a->data = malloc(a->bytes + 1);
    QDQ_NEED(a->data != NULL, err);
    if (ss->effect.spoil == QDQ_SIM_WRONG)
        seed = ~seed;
    if (!qdq_random_fill(a, seed, v->name)) {
        free(a->data);
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "output '%s' is %s: there are no random numbers of that type", v->name,
                        qdq_elem_name(a->elem));
    }
    if (a->elem == QDQ_FLOAT) {
        shape_floats(ss, v, seed, a);
        qdq_sim_spoil_floats(ss->effect.spoil, a->data, qdq_array_count(a));
    }
    return QDQ_OK;
}

/* An initializer that is an output is what it is. */
static qdq_status lend_constant(const qdq_value *v, qdq_output_fn fn, void *ctx, qdq_error *err)
{
    const qdq_tensor *t = v->init;
    qdq_array a = {.elem = t->elem, .rank = t->rank};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span data;

    if (t->rank > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "output '%s' has rank %d: expected at most %d",
                        v->name, t->rank, QDQ_MAX_RANK);
    for (int i = 0; i < t->rank; i++)
        a.dim[i] = t->dim[i];
    qdq_status st = qdq_tensor_data(t, &scratch, &data, err);
    if (st == QDQ_OK) {
        a.bytes = data.size;
        /* aligned, and nothing writes into a mapping */
        a.data = qdq_arena_alloc(&scratch, data.size + 1);
        if (a.data == NULL) {
            st = qdq_nomem(err);
        } else {
            if (data.size > 0)
                memcpy(a.data, data.data, data.size);
            st = fn(ctx, v->name, &a, err);
        }
    }
    qdq_arena_free(&scratch);
    return st;
}

static qdq_status lend_output(qdq_session *s, const qdq_value *v, const qdq_array *const *in,
                              uint64_t seed, qdq_output_fn fn, void *ctx, qdq_error *err)
{
    sim_session *ss = s->self;
    qdq_array a;

    for (size_t i = 0; v->is_input && i < s->n_in; i++)
        if (strcmp(s->in[i].name, v->name) == 0)
            return fn(ctx, v->name, in[i], err);
    if (v->init != NULL)
        return lend_constant(v, fn, ctx, err);
    QDQ_TRY(make_output(ss, v, seed, &a, err));
    qdq_status st = fn(ctx, v->name, &a, err);
    free(a.data);
    return st;
}

static qdq_status sim_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                          qdq_error *err)
{
    sim_session *ss = s->self;

    QDQ_TRY(adopt_shapes(s, in, err));
    QDQ_TRY(maybe_fail(s, "run", err));
    uint64_t seed = hash_inputs(s, in, ss->sim->seed);
    for (size_t i = 0; fn != NULL && i < s->n_out; i++)
        QDQ_TRY(lend_output(s, qdq_graph_find(ss->model->graph, s->out[i].name), in, seed, fn, ctx,
                            err));
    return QDQ_OK;
}

/* --- time ------------------------------------------------------------------------------------- */

/* Noise depends on the seed, the assignment and the number of the sample, and on nothing else: two
 * models with the same Q/DQ are measured alike, and a run that is resumed sees what it would have
 * seen. */
static qdq_status sim_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    sim_session *ss = s->self;
    const qdq_sim *sim = ss->sim;
    uint64_t seed = qdq_random_nth_seed(sim->seed ^ ss->estimate.assignment, ss->samples++);
    qdq_random r = qdq_random_new(seed, "noise");

    *ns = 0;
    QDQ_TRY(maybe_fail(s, "time", err));
    double us = ss->effect.slow * ss->estimate.total_us *
                (1 + sim->noise * (2 * qdq_random_uniform(&r) - 1));
    if (qdq_random_uniform(&r) < sim->outlier_rate)
        us *= sim->outlier_factor;
    double total = us * 1e3 * n;
    *ns = total < 1 ? 1 : total < 1e18 ? (uint64_t)total : (uint64_t)1e18;
    return QDQ_OK;
}

static void sim_seek(qdq_session *s, uint64_t number)
{
    sim_session *ss = s->self;

    ss->samples = number;
}

/* The factor on a time of a profile. */
static double profile_factor(const qdq_sim *sim, qdq_random *r)
{
    return 1 + sim->profile_noise * (2 * qdq_random_uniform(r) - 1);
}

/* Another model has other noise, the same one the same, whatever was measured before. */
static qdq_random profile_random(const sim_session *ss)
{
    uint64_t seed = ss->sim->seed ^ ss->estimate.assignment;

    for (size_t i = 0; i < ss->estimate.layers.n; i++)
        seed = qdq_random_nth_seed(seed, (uint64_t)(ss->estimate.layers.at[i].us * 1e3));
    return qdq_random_new(seed, "profile");
}

static qdq_status sim_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                              qdq_layer **out, size_t *n, qdq_error *err)
{
    sim_session *ss = s->self;
    QDQ_TRY(adopt_shapes(s, in, err));
    QDQ_TRY(maybe_fail(s, "time", err));

    const qdq_sim_estimate *e = &ss->estimate;
    qdq_engine_layer *l = qdq_arena_array(&ss->scratch, e->layers.n + 1, sizeof *l);
    QDQ_NEED(l != NULL, err);
    qdq_random r = profile_random(ss);
    const double pace = profile_factor(ss->sim, &r);
    for (size_t i = 0; i < e->layers.n; i++) {
        const qdq_sim_layer *from = &e->layers.at[i];
        l[i] = (qdq_engine_layer){.name = qdq_node_label(from->node, &ss->scratch),
                                  .op = qdq_arena_printf(&ss->scratch, "%s%s",
                                                         from->is_int8 ? "QLinear" : "",
                                                         from->node->type),
                                  .us = from->us * pace * profile_factor(ss->sim, &r)};
        QDQ_NEED(l[i].name != NULL && l[i].op != NULL, err);
    }
    *n = e->layers.n;
    return qdq_engine_profile_pack(l, *n, runs, out, err);
}

static qdq_status sim_groups(qdq_session *s, const qdq_array *const *in, unsigned runs,
                             qdq_layer **out, size_t *n, qdq_error *err)
{
    sim_session *ss = s->self;

    if (runs > 0)
        QDQ_TRY(adopt_shapes(s, in, err));
    QDQ_TRY(maybe_fail(s, "time", err));
    return qdq_sim_groups(ss->sim, &ss->estimate, runs > 0, &ss->scratch, out, n, err);
}

const qdq_engine_ops qdq_engine_sim = {
    .open = sim_open,
    .close = sim_close,
    .session_open = sim_session_open,
    .session_close = sim_session_close,
    .run = sim_run,
    .bind = adopt_shapes,
    .time_runs = sim_time_runs,
    .seek = sim_seek,
    .profile = sim_profile,
    .groups = sim_groups,
};
