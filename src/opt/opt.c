/* opt.c - what passes ask of the manager: permission, the record of what they did and refused,
 * facts, constants. */
#include "opt/opt.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "opt/opt_state.h"

/* --- permission and records ------------------------------------------------------------------- */

static bool take_change(qdq_opt *o, const qdq_node *n, const char *where)
{
    qdq_opt_state *s = o->state;

    if (o->opts->max_applications != 0 && s->changes >= o->opts->max_applications)
        return false;
    s->changes++;
    s->record[s->current].changes++;
    if (o->opts->on_change != NULL) {
        qdq_arena_mark mark = qdq_arena_get_loop_mark(&s->memory);
        if (n != NULL)
            where = qdq_node_label(n, &s->memory);
        o->opts->on_change(o->opts->ctx, s->changes, s->pipeline.step[s->current].pass->name,
                           where);
        qdq_arena_reset(&s->memory, mark);
    }
    return true;
}

bool qdq_opt_take(qdq_opt *o, const qdq_node *n)
{
    return take_change(o, n, "");
}

bool qdq_opt_take_value(qdq_opt *o, const qdq_value *v)
{
    return take_change(o, NULL, v->name);
}

bool qdq_opt_take_named(qdq_opt *o, const char *where)
{
    return take_change(o, NULL, where);
}

static qdq_refusal_record *find_refusal(qdq_step_record *r, const char *reason)
{
    for (size_t i = 0; i < r->refusals.n; i++)
        if (strcmp(r->refusals.at[i].reason, reason) == 0)
            return &r->refusals.at[i];
    return NULL;
}

/* Reasons may carry numbers; what is beyond the room for them is counted together. */
static qdq_refusal_record *refusal_of(qdq_opt *o, const char *reason)
{
    qdq_step_record *r = &o->state->record[o->state->current];
    qdq_refusal_record *found = find_refusal(r, reason);

    if (found == NULL && r->refusals.n >= QDQ_REFUSAL_REASONS - 1)
        found = find_refusal(r, reason = "other reasons");
    if (found != NULL)
        return found;
    qdq_refusal_record made = {.reason = qdq_arena_strdup(&o->state->memory, reason)};
    if (made.reason == NULL || !QDQ_PUSH(&o->state->memory, &r->refusals, made))
        return NULL;
    return &r->refusals.at[r->refusals.n - 1];
}

void qdq_opt_refuse(qdq_opt *o, const qdq_node *n, const char *reason)
{
    qdq_refusal_record *r = refusal_of(o, reason);

    if (r == NULL) {
        o->state->nomem = true;
        return;
    }
    r->n++;
    if (r->n_examples == QDQ_REFUSAL_EXAMPLES)
        return;
    const char *label = qdq_arena_strdup(&o->state->memory, qdq_node_label(n, &o->state->memory));
    if (label == NULL)
        o->state->nomem = true;
    else
        r->example[r->n_examples++] = label;
}

bool qdq_opt_take_unless(qdq_opt *o, const qdq_node *n, const char *reason)
{
    if (reason != NULL)
        qdq_opt_refuse(o, n, reason);
    return reason == NULL && qdq_opt_take(o, n);
}

void qdq_opt_enter(qdq_opt *o, size_t step)
{
    o->state->current = step;
}

void qdq_opt_begin_record(qdq_opt *o, size_t step)
{
    o->state->record[step].refusals.n = 0;
}

void qdq_opt_book(qdq_opt *o, size_t step, int64_t nodes, int64_t bytes, double seconds)
{
    qdq_step_record *r = &o->state->record[step];

    r->nodes += nodes;
    r->bytes += bytes;
    r->seconds += seconds;
}

qdq_model_count qdq_opt_count(const qdq_model *m)
{
    qdq_model_count c = {0, 0, 0, 0};

    QDQ_FOR_GRAPHS (g, m) {
        c.nodes += g->n_node;
        QDQ_FOR_NODES (n, g) {
            c.q += n->op == QDQ_OP_QUANTIZELINEAR;
            c.dq += n->op == QDQ_OP_DEQUANTIZELINEAR;
        }
        QDQ_FOR_INITS(v, g)
        {
            size_t bytes = 0;
            if (v->init != NULL && qdq_elem_bytes(v->init->elem, v->init->count, &bytes))
                c.bytes += bytes;
        }
    }
    return c;
}

void qdq_opt_end_record(qdq_opt *o, size_t first, size_t n, double seconds)
{
    qdq_model_count now;

    now = qdq_opt_count(o->model);
    if (n == 1 && o->state->pipeline.step[first].pass->rule == NULL) /* rules book for themselves */
        qdq_opt_book(o, first, (int64_t)now.nodes - (int64_t)o->state->last.nodes,
                     (int64_t)(now.bytes - o->state->last.bytes), seconds);
    o->state->last = now;
}

/* --- begin and end ---------------------------------------------------------------------------- */

qdq_status qdq_opt_begin(qdq_opt *o, qdq_error *err)
{
    (void)err;
    o->state->start = qdq_clock_seconds();
    o->state->before = o->state->last = qdq_opt_count(o->model);
    return QDQ_OK;
}

void qdq_opt_end(qdq_opt *o)
{
    qdq_opt_close_facts(o);
    qdq_arena_free(&o->scratch);
    qdq_arena_free(&o->state->memory);
}

void qdq_opt_close_facts(qdq_opt *o)
{
    o->state->nomem |= o->state->facts != NULL && qdq_facts_lacked_memory(o->state->facts);
    qdq_facts_close(o->state->facts);
    o->state->facts = NULL;
}

qdq_status qdq_opt_facts(qdq_opt *o, const qdq_facts **out, qdq_error *err)
{
    qdq_status st = QDQ_OK;

    if (o->state->facts == NULL)
        st = qdq_facts_open(o->model, NULL, &o->state->facts, err);
    *out = o->state->facts;
    return st;
}

/* --- small things ----------------------------------------------------------------------------- */

bool qdq_opt_has_arg(const qdq_opt *o, const char *word)
{
    return qdq_text_lists(o->arg, "+", word, strlen(word));
}

qdq_value *qdq_opt_constant(qdq_opt *o, qdq_node *reader, const char *base, const char *suffix,
                            qdq_tensor *t)
{
    const char *name = base;
    size_t bytes = 0;

    if (name != NULL && suffix[0] != '\0')
        name = qdq_arena_printf(&o->scratch, "%s%s", base, suffix);
    if (name == NULL || t == NULL || (name = qdq_graph_unique_name(reader->graph, name)) == NULL)
        return NULL;
    if (qdq_elem_bytes(t->elem, t->count, &bytes) &&
        o->state->pipeline.step[o->state->current].pass->rule != NULL)
        qdq_opt_book(o, o->state->current, 0, (int64_t)bytes, 0);
    return qdq_graph_add_constant(reader->graph, reader, name, t);
}

bool qdq_opt_recast(qdq_node *n, const char *op, uint32_t n_in, qdq_value *const *in)
{
    while (n->n_attr > 0)
        qdq_node_remove_attr(n, n->attr[n->n_attr - 1]->name);
    for (uint32_t i = 0; i < n->n_in; i++)
        qdq_node_set_in(n, i, i < n_in ? in[i] : NULL);
    for (uint32_t i = n->n_in; i < n_in; i++)
        if (!qdq_node_append_in(n, in[i]))
            return false;
    qdq_node_trim_in(n);
    return qdq_node_set_type(n, "", op);
}

/* Leaves out the outputs behind the first that nothing reads. False: one is read. */
static bool drop_other_outputs(qdq_node *n)
{
    bool all = true;

    for (uint32_t i = 1; i < n->n_out; i++) {
        qdq_value *v = n->out[i];

        if (v == NULL)
            continue;
        if (v->n_use > 0 || v->n_output > 0) {
            all = false;
            continue;
        }
        qdq_value_detach(v);
        qdq_value_remove(v);
    }
    qdq_node_trim_out(n);
    return all;
}

/* y gets a node of its own: its producer has more to do. */
static bool split_off(qdq_node *n, qdq_value *y, qdq_value *x)
{
    qdq_node *copy = qdq_graph_add_node(n->graph, n, "", "Identity", "", 1, 0, NULL);

    if (copy == NULL)
        return false;
    qdq_value_detach(y);
    qdq_node_set_in(copy, 0, x);
    return qdq_node_append_out(copy, y);
}

bool qdq_opt_alias(qdq_node *n, qdq_value *x)
{
    bool only_first = drop_other_outputs(n);

    if (!qdq_value_replace(n->out[0], x))
        return only_first ? qdq_opt_recast(n, "Identity", 1, &x) : split_off(n, n->out[0], x);
    if (only_first)
        qdq_node_remove(n);
    return true;
}
