/* place_chains.c - placement by chains, in six steps, each one loop over the graph:
 *
 *   filter    mark what the user does not want quantized (place_filter.c)
 *   find      read the Q and DQ that the model has: they are kept (place_existing.c)
 *   forward   producers first: can this node run in 8 bits, given what reaches it?
 *   backward  readers first: take back what pays only with an 8-bit reader and has none
 *   emit      write edges, weights, biases and reasons into the plan
 *   tie       what a Concat joins shares one scale (place_tied.c)
 *
 * Where the target has rules about islands, forward and backward come twice: the first time shows
 * what would hang together in 8 bits (place_islands.c).
 *
 * Decisions are about chains: a Conv takes its Relu along, an Add is 8-bit only between 8-bit
 * neighbours, a Reshape only hands on what it gets. */

#include "base/fail.h"
#include "quant/place/place_state.h"

/* --- forward ---------------------------------------------------------------------------------- */

static void absorb_into(qdq_placing *p, const qdq_node *fused, const qdq_node *into)
{
    qdq_state_of(p, fused)->absorber = into;
    if (qdq_place_listener(p) != NULL)
        qdq_why_say(qdq_place_listener(p), fused, qdq_state_of(p, into)->rule->rule, true,
                    "the engine fuses it into '%s'", qdq_node_label(into, &p->scratch));
}

/* All readers of v get codes of `type`, with the scale of `like` or, if the model has one there, of
 * `source`. */
static void carry_codes(qdq_placing *p, const qdq_value *v, qdq_elem type, const qdq_value *like,
                        const qdq_found *source, const char *rule)
{
    qdq_value_state *s = &p->value[v->id];

    s->carries = true;
    s->type = type;
    s->like = like;
    s->source = source;
    s->rule = rule;
}

static void carry_moved(qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);
    const qdq_value *in = qdq_node_in(n, s->rule->data);
    const qdq_value_state *from = &p->value[in->id];
    const qdq_value *like = from->carries ? from->like : in;
    const qdq_found *source = from->carries ? from->source : qdq_place_found(p, in);
    qdq_elem type = qdq_place_codes_into(p, n);

    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            carry_codes(p, n->out[i], type, like, source, s->rule->rule);
    s->result = n->out[0];
}

static void carry_result(qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);
    qdq_elem type = qdq_place_codes_into(p, n);

    s->result = qdq_place_epilogue(p, s->rule, n, absorb_into);
    const qdq_found *source = p->value[s->result->id].source;
    if (source != NULL && (qdq_place_type(p, source) != type ||
                           qdq_place_ineligible(p, source, "its result") != NULL))
        source = NULL; /* of an operator behind it that stays float */
    carry_codes(p, s->result, type, s->result, source, s->rule->rule);
}

/* There will be a Q behind the data of linear node n: a joint operator that reads the same value
 * may take the codes instead of staying float for the lack of them. */
static void share_codes(qdq_placing *p, const qdq_node *n)
{
    const qdq_value *data = qdq_node_in(n, qdq_state_of(p, n)->rule->data);

    if (qdq_place_codes_of(p, data) == QDQ_UNDEFINED) {
        p->value[data->id].shared = true;
        p->value[data->id].type = qdq_place_codes_into(p, n);
    }
}

/* Node n runs in 8 bits: which values carry Q/DQ because of it? */
static void accept_node(qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);
    uint32_t input;

    s->eight = true;
    if (s->rule->kind == QDQ_KIND_PASS)
        carry_moved(p, n);
    else if (s->rule->quantize_output || s->rule->quantize_if_read)
        carry_result(p, n);
    if (s->rule->kind == QDQ_KIND_LINEAR && !s->needs_reader)
        share_codes(p, n);
    const qdq_node *add = qdq_place_bias_add(p, n, &input);
    if (add != NULL)
        absorb_into(p, add, n);
}

static void walk_forward(qdq_placing *p)
{
    QDQ_FOR_PLACED (n, p) {
        qdq_node_state *s = qdq_state_of(p, n);

        if (s->absorber != NULL)
            continue;
        /* also when excluded: neighbours ask for rule and stay */
        const char *reason = qdq_place_evaluate(p, n);
        s->preserved = reason == NULL && qdq_place_is_whole(p, n);
        if (s->preserved)
            qdq_why_say(qdq_place_listener(p), n, "kept", true,
                        "the model has it in 8 bits already");
        if (s->reason == NULL || s->preserved) /* what the model has, no exclusion takes out */
            s->reason = reason;
        if (s->reason == NULL)
            accept_node(p, n);
    }
}

/* --- backward --------------------------------------------------------------------------------- */

/* Does an 8-bit kernel read v, or a Q that the model has? */
static bool has_reader(const qdq_placing *p, const qdq_value *v)
{
    if (p->value[v->id].quantizer != NULL)
        return true;
    QDQ_FOR_USES (u, v) {
        if (u->node->graph != p->model->graph)
            continue;
        const qdq_node_state *s = qdq_state_of(p, u->node);
        if (s->eight && (s->rule->kind != QDQ_KIND_PASS || u->index == s->rule->data))
            return true;
    }
    return false;
}

static void let_go(qdq_placing *p, const qdq_node *fused, const qdq_node *n)
{
    const qdq_node_state *s = qdq_state_of(p, n);

    qdq_state_of(p, fused)->absorber = NULL;
    qdq_state_of(p, fused)->reason = s->reason;
    qdq_why_say(qdq_place_listener(p), fused, s->rule->rule, false,
                "not fused after all: what it was to be fused into stays float");
}

static void take_back(qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);
    uint32_t input;
    const qdq_node *add = qdq_place_bias_add(p, n, &input);
    const qdq_node *first = add != NULL ? add : n;

    s->eight = false;
    s->reason = s->stay != NULL ? s->stay->reason : QDQ_PLACE_UNREAD;
    qdq_why_say(qdq_place_listener(p), n, s->rule->rule, false, "taken back: %s", s->reason);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            p->value[n->out[i]->id].carries = false;
    if (s->result != NULL)
        p->value[s->result->id].carries = false;
    for (const qdq_value *v = s->result; v != NULL && v->producer != first;
         v = qdq_node_in(v->producer, 0))
        let_go(p, v->producer, n);
    if (add != NULL)
        let_go(p, add, n);
}

/* The kernel gives floats where no codes are wanted. */
static void leave_result(qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);

    p->value[s->result->id].carries = false;
    qdq_why_say(qdq_place_listener(p), n, s->rule->rule, true,
                "no 8-bit kernel reads its result: it is float");
}

static void walk_backward(qdq_placing *p)
{
    for (size_t i = p->n_order; i-- > 0;) {
        const qdq_node *n = p->order[i];
        qdq_node_state *s = qdq_state_of(p, n);
        bool read = false;

        if (s->eight && s->rule->quantize_if_read && !s->needs_reader && !has_reader(p, s->result))
            leave_result(p, n);
        if (s->eight && qdq_place_stays_late(p, n)) {
            s->stay = s->late;
            take_back(p, n);
        }
        if (!s->eight || !s->needs_reader)
            continue;
        for (uint32_t k = 0; k < n->n_out && s->rule->kind == QDQ_KIND_PASS; k++)
            read |= n->out[k] != NULL && has_reader(p, n->out[k]);
        if (!read && !has_reader(p, s->result))
            take_back(p, n);
    }
}

/* --- islands ---------------------------------------------------------------------------------- */

/* The first one; NULL: there is none. */
static const qdq_stay_float *island_rule(const qdq_target *t)
{
    for (size_t i = 0; i < t->stay.n; i++)
        if (t->stay.at[i].island_work_max != 0)
            return &t->stay.at[i];
    return NULL;
}

/* Places all, and forgets it but for the nodes in islands that multiply too little. */
static qdq_status look_ahead(qdq_placing *p, const qdq_stay_float *rule, bool *poor, qdq_error *err)
{
    const size_t n_nodes = (size_t)p->model->graph->next_node_id + 1,
                 n_values = p->model->graph->values.n + 1;
    const qdq_place_opts *opts = p->opts;
    qdq_place_opts silent = opts != NULL ? *opts : (qdq_place_opts){0};
    qdq_node_state *node = qdq_place_by_node(p, sizeof *node);
    qdq_value_state *value = qdq_arena_array(&p->scratch, n_values, sizeof *value);

    QDQ_NEED(node != NULL && value != NULL, err);
    memcpy(node, p->node, n_nodes * sizeof *node);
    memcpy(value, p->value, n_values * sizeof *value);
    silent.why = NULL;
    p->opts = &silent;
    walk_forward(p);
    walk_backward(p);
    p->opts = opts;
    QDQ_TRY(qdq_place_find_islands(p, rule, poor, err));
    memcpy(p->node, node, n_nodes * sizeof *node);
    memcpy(p->value, value, n_values * sizeof *value);
    return QDQ_OK;
}

static bool is_island_reason(const qdq_target *t, const char *reason)
{
    for (size_t i = 0; i < t->stay.n; i++)
        if (t->stay.at[i].island_work_max != 0 && strcmp(t->stay.at[i].reason, reason) == 0)
            return true;
    return false;
}

static qdq_status read_islands(qdq_placing *p, const qdq_plan *from, bool *poor, qdq_error *err)
{
    qdq_map nodes = QDQ_MAP_INIT;
    const bool ok = qdq_graph_map_labels(p->model->graph, &p->scratch, &nodes);

    for (size_t i = 0; ok && i < from->left_float.n; i++) {
        const qdq_node *n = qdq_map_get_ptr(&nodes, from->left_float.at[i].node);

        if (n != NULL && is_island_reason(p->target, from->left_float.at[i].reason))
            poor[n->id] = true;
    }
    qdq_map_free(&nodes);
    return qdq_allocated(ok, err);
}

static qdq_status leave_poor_islands(qdq_placing *p, qdq_error *err)
{
    const qdq_stay_float *rule = island_rule(p->target);
    bool *poor = rule != NULL ? qdq_place_by_node(p, sizeof *poor) : NULL;

    if (rule == NULL)
        return QDQ_OK;
    QDQ_NEED(poor != NULL, err);
    if (p->opts != NULL && p->opts->islands_of != NULL)
        QDQ_TRY(read_islands(p, p->opts->islands_of, poor, err));
    else
        QDQ_TRY(look_ahead(p, rule, poor, err));
    QDQ_FOR_PLACED (n, p)
        qdq_state_of(p, n)->in_poor_island = poor[n->id];
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

qdq_status qdq_place_chains(qdq_placing *p, qdq_plan *plan, qdq_error *err)
{
    qdq_place_leave_weights(p);
    QDQ_TRY(leave_poor_islands(p, err));
    walk_forward(p);
    walk_backward(p);
    QDQ_NEED(!p->no_memory, err);
    QDQ_TRY(qdq_place_emit(p, plan, err));
    return qdq_place_tie(p, plan, err);
}
