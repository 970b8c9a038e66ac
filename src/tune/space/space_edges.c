/* space_edges.c - single edges. The plan of the groups is turned edge by edge: an entry loses
 * readers or gains some, and tensors that had none get one. */
#include "tune/space/space_edges.h"

#include <string.h>

#include "base/fail.h"
#include "quant/place/place.h"
#include "tune/space/space_cover.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_partial.h"
#include "tune/space/space_scales.h"
#include "tune/space/space_types.h"

/* --- what there is ---------------------------------------------------------------------------- */

typedef QDQ_VEC(qdq_space_edge) edge_list;

/* Floats that are computed; of those that a body of If, Loop or Scan reads, a plan of this graph
 * cannot say who else does. */
static bool is_open_to_choice(const qdq_space *s, const qdq_value *v)
{
    if (v == NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR ||
        v->type->elem != QDQ_FLOAT || qdq_value_const(v) != NULL || v->sparse != NULL ||
        (v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR))
        return false;
    QDQ_FOR_USES (u, v)
        if (u->node->graph != s->clean->graph)
            return false;
    return true;
}

static qdq_status add_edges_of(qdq_space *s, edge_list *all, const qdq_node *n, qdq_error *err)
{
    s->first_edge[n->id] = all->n;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_space_edge e = {qdq_node_in(n, i), n, i};
        if (is_open_to_choice(s, e.value) && !QDQ_PUSH(&s->arena, all, e))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

static qdq_status add_outputs(qdq_space *s, edge_list *all, qdq_error *err)
{
    const qdq_graph *g = s->clean->graph;

    for (size_t i = 0; i < g->outputs.n; i++) {
        const qdq_space_edge e = {g->outputs.at[i], NULL, (uint32_t)i};
        if (is_open_to_choice(s, e.value) && !QDQ_PUSH(&s->arena, all, e))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

static bool may_have_edges(const qdq_node *n)
{
    return n->op != QDQ_OP_QUANTIZELINEAR && n->op != QDQ_OP_DEQUANTIZELINEAR &&
           (qdq_op_get_info(n->op)->flags & QDQ_OP_CONTROL) == 0;
}

/* What users keep out, stays as it is. */
static qdq_status find_kept_out(const qdq_space *s, const qdq_quantize_opts *opts,
                                qdq_arena *scratch, const bool **out, qdq_error *err)
{
    const qdq_place_opts po = {.exclude = opts->exclude,
                               .include = opts->include,
                               .op_types = opts->op_types,
                               .exclude_op_types = opts->exclude_op_types};

    return qdq_place_kept_out(s->clean, &po, scratch, out, err);
}

qdq_status qdq_space_find_edges(qdq_space *s, const qdq_quantize_opts *opts, qdq_error *err)
{
    const size_t n = (size_t)s->clean->graph->next_node_id + 1;
    qdq_arena scratch = QDQ_ARENA_INIT;
    const bool *kept_out;
    edge_list all = {0};

    s->first_edge = qdq_arena_array(&s->arena, n, sizeof *s->first_edge);
    QDQ_NEED(s->first_edge != NULL, err);
    for (size_t i = 0; i < n; i++)
        s->first_edge[i] = QDQ_NO_EDGE;
    if (qdq_format_weight_only(&s->target->format))
        return QDQ_OK;
    qdq_status st = find_kept_out(s, opts, &scratch, &kept_out, err);
    QDQ_FOR_NODES (node, s->clean->graph)
        if (st == QDQ_OK && may_have_edges(node) && !kept_out[node->id])
            st = add_edges_of(s, &all, node, err);
    qdq_arena_free(&scratch);
    if (st == QDQ_OK)
        st = add_outputs(s, &all, err);
    s->edge = all.at;
    s->n_edges = all.n;
    return st;
}

size_t qdq_space_edge_bits(const qdq_space *s)
{
    return qdq_space_scheme_bits(s) + s->n_edges + qdq_space_type_bits(s) + qdq_space_form_bits(s) +
           s->n_formats;
}

size_t qdq_space_edge_of(const qdq_space *s, const qdq_node *n, uint32_t input)
{
    size_t i = s->first_edge[n->id];

    for (; i < s->n_edges && s->edge[i].node == n; i++)
        if (s->edge[i].input == input)
            return i;
    return QDQ_NO_EDGE;
}

bool qdq_space_is_flipped(const qdq_space *s, const qdq_assign *a, size_t edge)
{
    return a->n == qdq_space_edge_bits(s) && qdq_assign_get(a, qdq_space_scheme_bits(s) + edge);
}

void qdq_space_flip(const qdq_space *s, qdq_assign *a, size_t edge)
{
    qdq_assign_set(a, qdq_space_scheme_bits(s) + edge, !qdq_space_is_flipped(s, a, edge));
}

const qdq_node *qdq_space_source(const qdq_space *s, const qdq_value *v)
{
    enum { MOST = 64 };

    for (int i = 0; i < MOST && v->producer != NULL; i++) {
        const qdq_target_op *op = qdq_target_find(s->target, v->producer->type);
        const qdq_value *from =
            op != NULL && op->kind == QDQ_KIND_PASS ? qdq_node_in(v->producer, op->data) : NULL;
        if (from == NULL)
            break;
        v = from;
    }
    return v->producer;
}

/* --- edges of a plan -------------------------------------------------------------------------- */

/* By edge: 1 + the entry whose values it reads; 0: none. */
static qdq_status find_entries(const qdq_space *s, const qdq_plan *p, size_t *entry, qdq_error *err)
{
    qdq_cover c;
    qdq_status st = qdq_cover_open(&c, s, p, err);

    for (size_t i = 0; i < s->n_edges && st == QDQ_OK; i++)
        entry[i] = qdq_cover_tensor(&c, s->edge[i].value->name, s->edge[i].node, s->edge[i].input);
    qdq_cover_free(&c);
    return st;
}

qdq_status qdq_space_read_edges(const qdq_space *s, const qdq_plan *p, qdq_arena *arena, bool **out,
                                qdq_error *err)
{
    size_t *entry = qdq_arena_array(arena, s->n_edges + 1, sizeof *entry);

    *out = qdq_arena_array(arena, s->n_edges + 1, sizeof **out);
    QDQ_NEED(entry != NULL && *out != NULL, err);
    QDQ_TRY(find_entries(s, p, entry, err));
    for (size_t i = 0; i < s->n_edges; i++)
        (*out)[i] = entry[i] > 0;
    return QDQ_OK;
}

/* --- turning ---------------------------------------------------------------------------------- */

typedef struct turning {
    const qdq_space *s;
    const qdq_assign *a;
    qdq_plan *p;
    /* entries of tensors that p has none of, until they have scales */
    qdq_plan *fresh;
    /* by edge, of p: as find_entries() has it */
    size_t *entry;
    qdq_arena scratch;
    qdq_error *err;
} turning;

static const char *label_of(turning *t, const qdq_node *n)
{
    return qdq_node_label(n, &t->p->arena);
}

/* The readers by name, the one of `but` left out; the graph's output has no name, and is left out,
 * too. */
static qdq_status list_readers(turning *t, qdq_plan_tensor *e, const qdq_space_edge *but)
{
    e->all = false;
    QDQ_FOR_USES (u, but->value) {
        const char *label = label_of(t, u->node);
        if (u->node == but->node && u->index == but->input)
            continue;
        QDQ_NEED(label != NULL && qdq_plan_add_edge(t->p, &e->consumers, label, u->index), t->err);
    }
    return QDQ_OK;
}

static qdq_status take_away(turning *t, size_t edge)
{
    const qdq_space_edge *at = &t->s->edge[edge];
    qdq_plan_tensor *e = &t->p->tensors.at[t->entry[edge] - 1];
    size_t n = 0;

    if (e->all)
        return list_readers(t, e, at);
    if (at->node == NULL)
        return QDQ_OK;
    const char *label = qdq_node_label(at->node, &t->scratch);
    QDQ_NEED(label != NULL, t->err);
    for (size_t i = 0; i < e->consumers.n; i++)
        if (e->consumers.at[i].input != at->input || strcmp(e->consumers.at[i].node, label) != 0)
            e->consumers.at[n++] = e->consumers.at[i];
    e->consumers.n = n;
    return QDQ_OK;
}

/* An entry of this tensor that lists its readers; NULL: there is none. */
static qdq_plan_tensor *find_entry(qdq_plan *p, const char *tensor)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (!p->tensors.at[i].all && strcmp(p->tensors.at[i].tensor, tensor) == 0)
            return &p->tensors.at[i];
    return NULL;
}

static qdq_status give_codes(turning *t, size_t edge)
{
    const qdq_space_edge *at = &t->s->edge[edge];
    qdq_plan_tensor *e = find_entry(t->p, at->value->name);

    e = e != NULL ? e : find_entry(t->fresh, at->value->name);
    if (e == NULL) {
        const qdq_plan_tensor own = {.tensor = qdq_arena_strdup(&t->p->arena, at->value->name),
                                     .qparam = {.type = t->s->target->format.activation.type},
                                     .rule = "measured",
                                     .origin = "tuned"};
        QDQ_NEED(own.tensor != NULL && QDQ_PUSH(&t->fresh->arena, &t->fresh->tensors, own), t->err);
        e = &t->fresh->tensors.at[t->fresh->tensors.n - 1];
    }
    if (at->node == NULL)
        return QDQ_OK;
    const char *label = label_of(t, at->node);
    return label != NULL && qdq_plan_add_edge(t->p, &e->consumers, label, at->input)
               ? QDQ_OK
               : qdq_nomem(t->err);
}

/* Of the node itself, or of an Add behind it. */
static bool is_bias_of(const turning *t, const qdq_plan_bias *b, const qdq_node *n)
{
    const qdq_node *consumer = qdq_space_node(t->s, b->consumer.node);

    if (consumer == NULL || consumer == n)
        return consumer == n;
    for (uint32_t i = 0; i < consumer->n_in; i++)
        if (qdq_node_in(consumer, i) != NULL && qdq_node_in(consumer, i)->producer == n)
            return true;
    return false;
}

/* A bias has the scale of its activation: of one that is float there is none. */
static void drop_biases(turning *t, const qdq_node *n)
{
    const uint32_t g = n != NULL ? t->s->first_group[n->id] : QDQ_NO_GROUP;
    qdq_plan *p = t->p;
    size_t left = 0;

    if (g == QDQ_NO_GROUP || !t->s->group[g].linear)
        return;
    for (size_t i = 0; i < p->biases.n; i++)
        if (!is_bias_of(t, &p->biases.at[i], n))
            p->biases.at[left++] = p->biases.at[i];
    p->biases.n = left;
}

/* Before entries move: what is taken away is looked up by its place. */
static qdq_status turn_all(turning *t)
{
    for (size_t i = 0; i < t->s->n_edges; i++)
        if (qdq_space_is_flipped(t->s, t->a, i) && t->entry[i] > 0) {
            QDQ_TRY(take_away(t, i));
            drop_biases(t, t->s->edge[i].node);
        }
    for (size_t i = 0; i < t->s->n_edges; i++)
        if (qdq_space_is_flipped(t->s, t->a, i) && t->entry[i] == 0)
            QDQ_TRY(give_codes(t, i));
    return QDQ_OK;
}

/* Does the graph's output take what Q/DQ make, as the assignment wants it? */
static bool wants_output(const turning *t, const qdq_value *v)
{
    for (size_t i = t->s->n_edges; i > 0 && t->s->edge[i - 1].node == NULL; i--)
        if (t->s->edge[i - 1].value == v)
            return (t->entry[i - 1] > 0) != qdq_space_is_flipped(t->s, t->a, i - 1);
    return false;
}

/* Are its readers nodes of this graph, and not of a body? */
static bool is_named(const qdq_space *s, const qdq_plan_tensor *e)
{
    return e->consumers.n > 0 && qdq_space_node(s, e->consumers.at[0].node) != NULL;
}

/* Of a graph output that no node reads, the output is the only reader. */
static bool has_all_readers(const turning *t, const qdq_plan_tensor *e)
{
    const qdq_value *v = qdq_graph_find(t->s->clean->graph, e->tensor);

    return v != NULL && v->n_use + v->n_output > 0 && e->consumers.n == v->n_use &&
           (v->n_use == 0 || is_named(t->s, e)) && (v->n_output == 0 || wants_output(t, v)) &&
           qdq_space_is_only_entry(t->p, e);
}

/* Has it a reader, other than Q that the model has already? */
static bool has_reader(const turning *t, const qdq_plan_tensor *e)
{
    for (size_t i = 0; i < e->consumers.n; i++) {
        const qdq_node *n = qdq_space_node(t->s, e->consumers.at[i].node);
        if (n == NULL || n->op != QDQ_OP_QUANTIZELINEAR)
            return true;
    }
    return e->all;
}

/* A list of all readers says nothing; an entry for no reader is none. */
static void tidy_entries(turning *t)
{
    qdq_plan *p = t->p;
    size_t n = 0;

    for (size_t i = 0; i < p->tensors.n; i++) {
        qdq_plan_tensor *e = &p->tensors.at[i];
        if (!e->all && has_all_readers(t, e)) {
            e->all = true;
            e->consumers.n = 0;
        }
    }
    for (size_t i = 0; i < p->tensors.n; i++)
        if (has_reader(t, &p->tensors.at[i]))
            p->tensors.at[n++] = p->tensors.at[i];
    p->tensors.n = n;
}

static qdq_status take_fresh(turning *t)
{
    for (size_t i = 0; i < t->fresh->tensors.n; i++) {
        qdq_plan_tensor e = t->fresh->tensors.at[i];
        e.like = e.group = NULL;
        QDQ_NEED(qdq_plan_take_folds(t->p, t->fresh, &e) &&
                     QDQ_PUSH(&t->p->arena, &t->p->tensors, e),
                 t->err);
    }
    return QDQ_OK;
}

/* --- what the plan says of nodes -------------------------------------------------------------- */

static const char gets_codes[] = QDQ_SPACE_GETS_CODES, moves_floats[] = QDQ_SPACE_MOVES_FLOATS,
                  gets_floats[] = QDQ_SPACE_GETS_FLOATS;

/* How many edges of n are turned, and how many of those had Q/DQ. */
static size_t count_turned(const turning *t, const qdq_node *n, size_t *had)
{
    size_t turned = 0;

    *had = 0;
    for (size_t i = t->s->first_edge[n->id]; i < t->s->n_edges && t->s->edge[i].node == n; i++)
        if (qdq_space_is_flipped(t->s, t->a, i)) {
            turned++;
            *had += t->entry[i] > 0;
        }
    return turned;
}

static bool is_copy(const turning *t, const qdq_node *n)
{
    const qdq_target_op *op = qdq_target_find(t->s->target, n->type);

    return op != NULL && op->kind == QDQ_KIND_PASS;
}

/* What was left float, and reads codes now: a copy operator moves them, another one has no kernel
 * for them. */
static qdq_status set_float_reasons(turning *t)
{
    qdq_plan *p = t->p;
    size_t had, n = 0;

    for (size_t i = 0; i < p->left_float.n; i++) {
        qdq_plan_float *f = &p->left_float.at[i];
        const qdq_node *node = qdq_space_node(t->s, f->node);
        const bool gets = node != NULL && count_turned(t, node, &had) > had;
        const qdq_plan_node q = {.node = f->node, .op = f->op};

        if (gets && is_copy(t, node)) {
            QDQ_NEED(QDQ_PUSH(&p->arena, &p->quantized, q), t->err);
            continue;
        }
        f->reason = gets ? gets_codes : f->reason;
        p->left_float.at[n++] = *f;
    }
    p->left_float.n = n;
    return QDQ_OK;
}

static qdq_status set_node_reasons(turning *t)
{
    qdq_plan *p = t->p;
    const size_t were_quantized = p->quantized.n;
    size_t had, n = 0;

    QDQ_TRY(set_float_reasons(t));
    for (size_t i = 0; i < p->quantized.n; i++) {
        const qdq_plan_node q = p->quantized.at[i];
        const qdq_node *node = qdq_space_node(t->s, q.node);
        const qdq_plan_float f = {q.node, q.op,
                                  node != NULL && is_copy(t, node) ? moves_floats : gets_floats};

        had = 0;
        if (node != NULL && i < were_quantized)
            count_turned(t, node, &had);
        if (had == 0)
            p->quantized.at[n++] = q;
        else if (!QDQ_PUSH(&p->arena, &p->left_float, f))
            return qdq_nomem(t->err);
    }
    p->quantized.n = n;
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool turns_any(const qdq_space *s, const qdq_assign *a)
{
    for (size_t i = 0; i < s->n_edges; i++)
        if (qdq_space_is_flipped(s, a, i))
            return true;
    return false;
}

static qdq_status turn_and_tidy(turning *t, const qdq_space_scaling *from)
{
    QDQ_TRY(find_entries(t->s, t->p, t->entry, t->err));
    QDQ_TRY(turn_all(t));
    qdq_space_note_random(t->p, t->fresh, from->data);
    QDQ_TRY(qdq_space_fill_scales(t->s, from, t->fresh, t->err));
    QDQ_TRY(take_fresh(t));
    tidy_entries(t);
    QDQ_TRY(set_node_reasons(t));
    return qdq_plan_finish(t->p) ? QDQ_OK : qdq_nomem(t->err);
}

qdq_status qdq_space_turn_edges(const qdq_space *s, const qdq_assign *a,
                                const qdq_space_scaling *from, qdq_plan *p, qdq_error *err)
{
    turning t = {.s = s, .a = a, .p = p, .scratch = QDQ_ARENA_INIT, .err = err};

    if (!turns_any(s, a))
        return QDQ_OK;
    t.entry = qdq_arena_array(&t.scratch, s->n_edges + 1, sizeof *t.entry);
    t.fresh = qdq_plan_new();
    qdq_status st = t.entry != NULL && t.fresh != NULL ? turn_and_tidy(&t, from) : qdq_nomem(err);
    qdq_plan_free(t.fresh);
    qdq_arena_free(&t.scratch);
    return st;
}
