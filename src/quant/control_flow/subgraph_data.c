/* subgraph_data.c - collects what reaches the subgraphs of If, Loop and Scan. The graph around a
 * body is run with what reaches the control node made visible; then each body is run as the ONNX
 * operator says: If by its condition, Loop while there are trips and its condition holds, Scan
 * once for each slice. */
#include "quant/control_flow/subgraph_data.h"

#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "ir/shape.h"
#include "quant/calib/feedback.h"
#include "quant/calib/sweep.h"

enum { MAX_BODIES = 16, MAX_TRIPS = 64, MAX_SAMPLES = 4096 };

typedef struct driver {
    const qdq_quantizing *q;
    const qdq_node *control;
    qdq_arena *memory;
    qdq_arena scratch;
    qdq_body_list *bodies;
    /* ends with NULL when it is used */
    QDQ_VEC(const char *) expose;
    /* name -> qdq_held: what the run of a sample showed */
    qdq_map seen;
    /* of the graph around */
    qdq_feedback states;
    /* inner: of the body of Loop or Scan */
    qdq_session *outer, *inner;
    /* of the sample that runs */
    const qdq_named_array *in;
    size_t n_in;
    /* of the body's run, by output */
    qdq_held *result;
    size_t n_result;
    qdq_error *err;
} driver;

/* --- bodies as models ------------------------------------------------------------------------- */

static const char *cannot(const driver *d, const char *what, const char *arg)
{
    const char *why = qdq_arena_printf(d->memory, "%s%s", what, arg);

    return why != NULL ? why : "it cannot be run";
}

/* Engines feed tensors alone, and want to know their types. */
static const char *refuse_inputs(const driver *d, const qdq_body *b)
{
    const qdq_graph *g = b->model->graph;

    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_type *t = g->inputs.at[i]->type;

        if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->elem == QDQ_UNDEFINED ||
            t->elem == QDQ_STRING)
            return cannot(d, "not known, or no tensor, is the type of ", g->inputs.at[i]->name);
    }
    if (g->inputs.n == 0)
        return "it reads nothing that samples change";
    return NULL;
}

static qdq_status add_body(driver *d, const qdq_graph *g)
{
    qdq_shape_opts so = {.job = d->q->opts->job};
    qdq_body b = {.graph = g};

    QDQ_TRY(qdq_graph_to_model(g, &b.model, d->err));
    qdq_status st = qdq_model_infer(b.model, &so, d->err);
    if (st == QDQ_OK && !QDQ_PUSH(d->memory, d->bodies, b))
        st = qdq_nomem(d->err);
    if (st != QDQ_OK) {
        qdq_model_free(b.model);
        return st;
    }
    qdq_body *kept = &d->bodies->at[d->bodies->n - 1];
    kept->why = refuse_inputs(d, kept);
    return kept->why == NULL ? qdq_store_open(kept->model, &kept->data, d->err) : QDQ_OK;
}

static qdq_status add_subgraphs(driver *d)
{
    qdq_graph_list graphs = {0};

    QDQ_NEED(qdq_node_push_graphs(d->control, &d->scratch, &graphs), d->err);
    for (size_t i = 0; i < graphs.n && i < MAX_BODIES; i++)
        QDQ_TRY(add_body(d, graphs.at[i]));
    return QDQ_OK;
}

static void refuse_all(driver *d, const char *why)
{
    for (size_t i = 0; i < d->bodies->n; i++)
        if (d->bodies->at[i].why == NULL)
            d->bodies->at[i].why = why;
}

/* --- what the graph around shows -------------------------------------------------------------- */

static bool is_fed(const qdq_value *v)
{
    return v->is_input && v->init == NULL;
}

static qdq_status expose_value(driver *d, const qdq_value *v)
{
    bool is_new;

    if (v == NULL || v->producer == NULL || qdq_value_const(v) != NULL)
        return QDQ_OK;
    qdq_map_value *place = qdq_map_put(&d->seen, v->name, &is_new);
    QDQ_NEED(place != NULL, d->err);
    if (!is_new)
        return QDQ_OK;
    place->ptr = qdq_arena_alloc(&d->scratch, sizeof(qdq_held));
    QDQ_NEED(place->ptr != NULL && QDQ_PUSH(&d->scratch, &d->expose, v->name), d->err);
    *(qdq_held *)place->ptr = (qdq_held){.capacity = 0};
    return QDQ_OK;
}

/* The inputs of the control node, and what its bodies capture. */
static qdq_status expose_all(driver *d)
{
    for (uint32_t i = 0; i < d->control->n_in; i++)
        QDQ_TRY(expose_value(d, d->control->in[i].value));
    for (size_t k = 0; k < d->bodies->n; k++) {
        const qdq_body *b = &d->bodies->at[k];

        for (size_t i = b->graph->inputs.n; b->why == NULL && i < b->model->graph->inputs.n; i++)
            QDQ_TRY(expose_value(
                d, qdq_graph_find(d->q->m->graph, b->model->graph->inputs.at[i]->name)));
    }
    return qdq_allocated(QDQ_PUSH(&d->scratch, &d->expose, NULL), d->err);
}

static qdq_status copy_shown(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    const driver *d = ctx;
    const qdq_map_value *v = qdq_map_get(&d->seen, name);

    return v != NULL ? qdq_hold(v->ptr, a, err) : QDQ_OK;
}

static qdq_status open_outer(driver *d)
{
    const char *const *expose;

    QDQ_TRY(qdq_feedback_begin(&d->states, d->q->data, d->err));
    d->states.fn = copy_shown;
    d->states.ctx = d;
    QDQ_TRY(qdq_feedback_expose(&d->states, d->expose.at, &d->scratch, &expose, d->err));
    return expose[0] != NULL ? qdq_sweep_open(d->q, expose, &d->outer, d->err) : QDQ_OK;
}

static qdq_status run_outer(driver *d)
{
    if (d->expose.n == 1 && d->states.n == 0) /* all are inputs or constants */
        return QDQ_OK;
    return qdq_session_run(d->outer, d->in, d->n_in, qdq_feedback_take, &d->states, d->err);
}

/* An array over the bytes of a constant, or of an input that nothing overrides. */
static qdq_status array_of(driver *d, const qdq_tensor *t, qdq_array *out)
{
    qdq_span bytes;

    if (t->rank > QDQ_MAX_RANK)
        return qdq_fail(d->err, QDQ_E_UNSUPPORTED, "tensor '%s' has rank %d", t->name, t->rank);
    QDQ_TRY(qdq_tensor_data(t, &d->scratch, &bytes, d->err));
    *out = (qdq_array){.elem = t->elem, .rank = t->rank, .bytes = bytes.size};
    if (t->rank > 0) /* a scalar has no dims to read */
        memcpy(out->dim, t->dim, (size_t)t->rank * sizeof *t->dim);
    out->data = (void *)(uintptr_t)bytes.data;
    return QDQ_OK;
}

/* What a value of the graph around is in this sample. */
static qdq_status value_of(driver *d, const qdq_value *v, qdq_array *out)
{
    const qdq_map_value *held = qdq_map_get(&d->seen, v->name);
    const qdq_tensor *t = v->producer != NULL ? qdq_value_const(v) : v->init;

    if (held != NULL) {
        *out = ((const qdq_held *)held->ptr)->array;
        return QDQ_OK;
    }
    for (size_t i = 0; i < d->n_in && is_fed(v); i++)
        if (strcmp(d->in[i].name, v->name) == 0) {
            *out = d->in[i].array;
            return QDQ_OK;
        }
    if (t == NULL)
        return qdq_fail(d->err, QDQ_E_UNSUPPORTED, "value '%s' is unavailable", v->name);
    return array_of(d, t, out);
}

/* --- samples ---------------------------------------------------------------------------------- */

static bool has_room(const driver *d, const qdq_body *b)
{
    size_t limit = (size_t)qdq_sweep_memory(d->q);

    return qdq_data_count(b->data) < MAX_SAMPLES && qdq_store_bytes(b->data) < limit;
}

/* The arrays of one run of the body; what it captures is filled in. */
static qdq_status begin_sample(driver *d, const qdq_body *b, qdq_array **out)
{
    const qdq_graph *g = b->model->graph;
    qdq_array given;

    *out = qdq_arena_array(&d->scratch, g->inputs.n + 1, sizeof **out);
    QDQ_NEED(*out != NULL, d->err);
    for (size_t i = b->graph->inputs.n; i < g->inputs.n; i++) {
        const qdq_value *v = qdq_graph_find(d->q->m->graph, g->inputs.at[i]->name);

        if (v == NULL)
            return qdq_fail(d->err, QDQ_E_UNSUPPORTED, "value '%s' is not in the graph around",
                            g->inputs.at[i]->name);
        QDQ_TRY(value_of(d, v, &given));
        QDQ_TRY(qdq_store_keep(b->data, &given, &(*out)[i], d->err));
    }
    return QDQ_OK;
}

static bool truth(const qdq_array *a)
{
    return a->bytes > 0 && ((const unsigned char *)a->data)[0] != 0;
}

/* Attribute `name` of If. */
static qdq_body *branch(const driver *d, const char *name)
{
    const qdq_attr *a = qdq_node_attr(d->control, name);
    size_t n = 0;
    qdq_graph *const *graph = a != NULL ? qdq_attr_graphs(a, &n) : NULL;

    for (size_t i = 0; i < d->bodies->n; i++)
        if (n == 1 && d->bodies->at[i].graph == graph[0])
            return &d->bodies->at[i];
    return NULL;
}

static qdq_status drive_if(driver *d)
{
    qdq_array condition, *sample;

    QDQ_TRY(value_of(d, d->control->in[0].value, &condition));
    qdq_body *b = branch(d, truth(&condition) ? "then_branch" : "else_branch");
    if (b == NULL || b->why != NULL || !has_room(d, b))
        return QDQ_OK;
    QDQ_TRY(begin_sample(d, b, &sample));
    return qdq_store_add(b->data, sample, d->err);
}

/* --- Loop and Scan ---------------------------------------------------------------------------- */

static qdq_status take_result(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    driver *d = ctx;
    const qdq_graph *g = d->bodies->at[0].model->graph;

    for (size_t i = 0; i < g->outputs.n; i++)
        if (strcmp(g->outputs.at[i]->name, name) == 0)
            QDQ_TRY(qdq_hold(&d->result[i], a, err));
    return QDQ_OK;
}

static qdq_status run_inner(driver *d, const qdq_array *sample)
{
    const qdq_graph *g = d->bodies->at[0].model->graph;
    qdq_named_array *in = qdq_arena_array(&d->scratch, g->inputs.n + 1, sizeof *in);
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;

    QDQ_NEED(in != NULL, d->err);
    for (size_t i = 0; i < g->inputs.n; i++)
        in[i] = (qdq_named_array){g->inputs.at[i]->name, sample[i]};
    so.level = QDQ_LEVEL_NONE;
    so.threads = d->q->opts->threads;
    if (d->inner == NULL)
        QDQ_TRY(qdq_session_open(d->q->engine, d->bodies->at[0].model, &so, &d->inner, d->err));
    return qdq_session_run(d->inner, in, g->inputs.n, take_result, d, d->err);
}

/* A scalar, in the rank that the body declares. */
static qdq_status keep_scalar(driver *d, size_t input, qdq_elem elem, const void *data,
                              size_t bytes, qdq_array *out)
{
    const qdq_body *b = &d->bodies->at[0];
    const qdq_type *t = b->model->graph->inputs.at[input]->type;
    qdq_array a = {.elem = elem, .rank = t->rank == 1 ? 1 : 0, .dim = {1}, .bytes = bytes};

    a.data = (void *)(uintptr_t)data;
    return qdq_store_keep(b->data, &a, out, d->err);
}

static qdq_status start_states(driver *d, uint32_t from, size_t n, qdq_array *states)
{
    for (size_t i = 0; i < n; i++) {
        const qdq_value *v = qdq_node_in(d->control, from + (uint32_t)i);
        qdq_array a;

        if (v == NULL)
            return qdq_fail(d->err, QDQ_E_UNSUPPORTED, "a state has no initial value");
        QDQ_TRY(value_of(d, v, &a));
        QDQ_TRY(qdq_store_keep(d->bodies->at[0].data, &a, &states[i], d->err));
    }
    return QDQ_OK;
}

/* What the body gave for its states, from output `from` on, is what the next iteration gets. */
static qdq_status next_states(driver *d, size_t from, size_t n, qdq_array *states)
{
    for (size_t i = 0; i < n; i++) {
        if (!d->result[from + i].is_held)
            return qdq_fail(d->err, QDQ_E_UNSUPPORTED, "the engine gave no output '%s'",
                            d->bodies->at[0].model->graph->outputs.at[from + i]->name);
        QDQ_TRY(
            qdq_store_keep(d->bodies->at[0].data, &d->result[from + i].array, &states[i], d->err));
    }
    return QDQ_OK;
}

static qdq_status trips_of(driver *d, int64_t *trips)
{
    const qdq_value *v = qdq_node_in(d->control, 0);
    qdq_array a;

    *trips = MAX_TRIPS;
    if (v == NULL)
        return QDQ_OK;
    QDQ_TRY(value_of(d, v, &a));
    if (a.elem == QDQ_INT64 && a.bytes >= sizeof *trips)
        memcpy(trips, a.data, sizeof *trips);
    if (*trips > MAX_TRIPS)
        *trips = MAX_TRIPS;
    return QDQ_OK;
}

static qdq_status drive_loop(driver *d)
{
    qdq_body *b = &d->bodies->at[0];
    const qdq_value *condition = qdq_node_in(d->control, 1);
    size_t n = b->graph->inputs.n - 2;
    unsigned char go_on = 1;
    qdq_array *sample, a;
    int64_t trips;

    QDQ_TRY(trips_of(d, &trips));
    if (condition != NULL) {
        QDQ_TRY(value_of(d, condition, &a));
        go_on = truth(&a);
    }
    QDQ_TRY(begin_sample(d, b, &sample));
    QDQ_TRY(start_states(d, 2, n, sample + 2));
    for (int64_t i = 0; i < trips && go_on != 0 && has_room(d, b); i++) {
        QDQ_TRY(qdq_job_poll(d->q->opts->job, d->err));
        QDQ_TRY(keep_scalar(d, 0, QDQ_INT64, &i, sizeof i, &sample[0]));
        QDQ_TRY(keep_scalar(d, 1, QDQ_BOOL, &go_on, sizeof go_on, &sample[1]));
        QDQ_TRY(qdq_store_add(b->data, sample, d->err));
        QDQ_TRY(run_inner(d, sample));
        go_on = truth(&d->result[0].array);
        QDQ_TRY(next_states(d, 1, n, sample + 2));
    }
    return QDQ_OK;
}

typedef struct scanned {
    qdq_array whole;
    int axis;
    bool backward;
} scanned;

static int64_t attr_at(const qdq_node *n, const char *name, size_t i)
{
    const int64_t *list;
    size_t count;

    return qdq_node_ints(n, name, &list, &count) && i < count ? list[i] : 0;
}

/* Slice `index` of `count` along the axis, without it. */
static qdq_status slice_input(driver *d, const scanned *s, int64_t index, qdq_array *out)
{
    size_t size = qdq_elem_bits(s->whole.elem) / 8, outer = 1, inner = size;
    int64_t length = s->whole.dim[s->axis], at = s->backward ? length - 1 - index : index;
    qdq_array a = {.elem = s->whole.elem, .rank = s->whole.rank - 1};

    for (int i = 0; i < s->whole.rank; i++) {
        if (i < s->axis)
            outer *= (size_t)s->whole.dim[i];
        if (i > s->axis)
            inner *= (size_t)s->whole.dim[i];
        if (i != s->axis)
            a.dim[i - (i > s->axis)] = s->whole.dim[i];
    }
    a.bytes = outer * inner;
    a.data = qdq_arena_alloc(&d->scratch, a.bytes + 1);
    QDQ_NEED(a.data != NULL, d->err);
    for (size_t i = 0; i < outer; i++)
        memcpy((char *)a.data + i * inner,
               (const char *)s->whole.data + (i * (size_t)length + (size_t)at) * inner, inner);
    return qdq_store_keep(d->bodies->at[0].data, &a, out, d->err);
}

static qdq_status open_scanned(driver *d, size_t n_state, size_t n, scanned *list, int64_t *length)
{
    *length = -1;
    for (size_t i = 0; i < n; i++) {
        scanned *s = &list[i];

        QDQ_TRY(value_of(d, d->control->in[n_state + i].value, &s->whole));
        int64_t axis = attr_at(d->control, "scan_input_axes", i);
        axis += axis < 0 ? s->whole.rank : 0;
        if (axis < 0 || axis >= s->whole.rank || qdq_elem_bits(s->whole.elem) % 8 != 0)
            return qdq_fail(d->err, QDQ_E_UNSUPPORTED, "scanned input %zu has no axis %lld", i,
                            (long long)axis);
        s->axis = (int)axis;
        s->backward = attr_at(d->control, "scan_input_directions", i) == 1;
        if (*length >= 0 && s->whole.dim[axis] != *length)
            return qdq_fail(d->err, QDQ_E_UNSUPPORTED, "scanned inputs have different lengths");
        *length = s->whole.dim[axis];
    }
    return QDQ_OK;
}

static qdq_status drive_scan(driver *d)
{
    qdq_body *b = &d->bodies->at[0];
    size_t n = (size_t)qdq_node_int(d->control, "num_scan_inputs", 0),
           n_state = d->control->n_in - n;
    scanned *list = qdq_arena_array(&d->scratch, n + 1, sizeof *list);
    qdq_array *sample;
    int64_t length;

    QDQ_NEED(list != NULL, d->err);
    QDQ_TRY(open_scanned(d, n_state, n, list, &length));
    QDQ_TRY(begin_sample(d, b, &sample));
    QDQ_TRY(start_states(d, 0, n_state, sample));
    for (int64_t t = 0; t < length && t < MAX_TRIPS && has_room(d, b); t++) {
        QDQ_TRY(qdq_job_poll(d->q->opts->job, d->err));
        for (size_t i = 0; i < n; i++)
            QDQ_TRY(slice_input(d, &list[i], t, &sample[n_state + i]));
        QDQ_TRY(qdq_store_add(b->data, sample, d->err));
        QDQ_TRY(run_inner(d, sample));
        QDQ_TRY(next_states(d, 0, n_state, sample));
    }
    return QDQ_OK;
}

/* --- all -------------------------------------------------------------------------------------- */

static bool inputs_are_there(const qdq_node *n, uint32_t from)
{
    for (uint32_t i = from; i < n->n_in; i++)
        if (n->in[i].value == NULL)
            return false;
    return true;
}

/* Why the control node cannot be driven; NULL: it can. */
static const char *refuse_control(const driver *d)
{
    const qdq_node *n = d->control;
    const qdq_body *b = d->bodies->n > 0 ? &d->bodies->at[0] : NULL;
    int64_t n_scan = qdq_node_int(n, "num_scan_inputs", 0);

    if (n->op == QDQ_OP_IF)
        return n->n_in == 1 && inputs_are_there(n, 0) ? NULL : "its condition is missing";
    if (n->op == QDQ_OP_LOOP)
        return d->bodies->n == 1 && b->graph->inputs.n >= 2 &&
                       b->graph->inputs.n == (size_t)n->n_in &&
                       b->graph->outputs.n + 1 >= b->graph->inputs.n && inputs_are_there(n, 2)
                   ? NULL
                   : "its inputs do not fit its body";
    if (n->op == QDQ_OP_SCAN && qdq_graph_opset(n->graph) < 9)
        return "Scan of opset 8 is not driven";
    if (n->op == QDQ_OP_SCAN)
        return d->bodies->n == 1 && b->graph->inputs.n == (size_t)n->n_in && n_scan > 0 &&
                       n_scan <= (int64_t)n->n_in &&
                       (int64_t)b->graph->outputs.n + n_scan >= (int64_t)n->n_in &&
                       inputs_are_there(n, 0)
                   ? NULL
                   : "its inputs do not fit its body";
    return "bodies of this operator are not driven";
}

static qdq_status drive_step(driver *d)
{
    QDQ_TRY(run_outer(d));
    if (d->control->op == QDQ_OP_IF)
        return drive_if(d);
    if (d->bodies->at[0].why != NULL || !has_room(d, &d->bodies->at[0]))
        return QDQ_OK;
    return d->control->op == QDQ_OP_LOOP ? drive_loop(d) : drive_scan(d);
}

static qdq_status drive_samples(driver *d)
{
    const size_t n = qdq_sweep_count(d->q);

    QDQ_TRY(expose_all(d));
    size_t n_out = d->bodies->n > 0 ? d->bodies->at[0].graph->outputs.n : 0;
    d->result = qdq_arena_array(&d->scratch, n_out + 1, sizeof *d->result);
    QDQ_NEED(d->result != NULL, d->err);
    d->n_result = n_out;
    QDQ_TRY(open_outer(d));
    for (size_t i = 0; i < n; i++)
        for (size_t step = 0; step < qdq_data_steps(d->q->data); step++) {
            const qdq_arena_mark mark = qdq_arena_get_mark(&d->scratch);

            QDQ_TRY(qdq_job_poll(d->q->opts->job, d->err));
            QDQ_TRY(qdq_data_get_step(d->q->data, i, step, &d->in, &d->n_in, d->err));
            QDQ_TRY(qdq_feedback_put(&d->states, step, &d->in, d->n_in, &d->scratch, d->err));
            QDQ_TRY(drive_step(d));
            qdq_arena_reset(&d->scratch, mark);
        }
    return QDQ_OK;
}

/* A body that the engine does not run is no reason to give up the rest of the model. */
static qdq_status record_subgraphs(driver *d)
{
    QDQ_TRY(add_subgraphs(d));
    const char *why = refuse_control(d);
    if (why == NULL) {
        qdq_error own = QDQ_ERROR_INIT, *err = d->err;

        d->err = &own;
        qdq_status st = drive_samples(d);
        d->err = err;
        if (st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED) {
            if (err != NULL)
                *err = own;
            return st;
        }
        if (st != QDQ_OK)
            why = cannot(d, "it cannot be run alone: ", own.text);
    }
    if (why != NULL)
        refuse_all(d, why);
    for (size_t i = 0; i < d->bodies->n; i++)
        if (d->bodies->at[i].why == NULL && qdq_data_count(d->bodies->at[i].data) == 0)
            d->bodies->at[i].why = "no sample reached it";
    return QDQ_OK;
}

qdq_status qdq_control_flow_record(const qdq_quantizing *q, const qdq_node *control,
                                   qdq_arena *memory, qdq_body_list *out, qdq_error *err)
{
    driver d = {.q = q, .control = control, .memory = memory, .bodies = out, .err = err};
    qdq_status st = record_subgraphs(&d);

    qdq_feedback_free(&d.states);
    qdq_session_close(d.outer);
    qdq_session_close(d.inner);
    for (size_t i = 0; i < d.seen.n_entry; i++)
        if (d.seen.entry[i].value.ptr != NULL)
            qdq_held_free(d.seen.entry[i].value.ptr);
    for (size_t i = 0; i < d.n_result; i++)
        qdq_held_free(&d.result[i]);
    qdq_map_free(&d.seen);
    qdq_arena_free(&d.scratch);
    return st;
}

void qdq_control_flow_free(qdq_body_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        qdq_data_close(list->at[i].data);
        qdq_model_free(list->at[i].model);
    }
    list->n = 0;
}
