/* place_partitions_select.c - which nodes read their data through Q/DQ, and on which of their
 * inputs they do not. Each rule is one walk over the graph; those that ask what others decided run
 * in the order below. */
#include "base/fail.h"
#include "quant/place/place_partitions.h"

static bool is_raw(const qdq_part_node *s, uint32_t i)
{
    return i < 32 && (s->raw >> i & 1) != 0;
}

static bool is_chosen(const qdq_partition_state *t, const qdq_node *n, uint32_t i)
{
    uint32_t stay = qdq_place_unchosen(t->p, n);

    return stay != UINT32_MAX && (i >= 32 || (stay >> i & 1) == 0);
}

/* Constants are weights; where neighbours decide, other nodes with one were not selected. */
static bool takes_constant(const qdq_partition_state *t, const qdq_node *n, const qdq_value *v)
{
    return qdq_value_const(v) != NULL && (t->listed || qdq_part_is(t, n, QDQ_PART_LINEAR));
}

bool qdq_part_wants(const qdq_partition_state *t, const qdq_node *n, uint32_t i)
{
    const qdq_part_node *s = qdq_part_of(t, n);
    const qdq_value *v = qdq_node_in(n, i);

    return s->selected && v != NULL && qdq_part_is_data(t, n, i) && !is_raw(s, i) &&
           is_chosen(t, n, i) && !qdq_part_through_dq(t, v) && qdq_place_is_float(v) &&
           (!qdq_part_known(t, v) || takes_constant(t, n, v));
}

static void mark_pairs(const qdq_partition_state *t, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL && n->in[i].value->graph == n->graph && qdq_part_wants(t, n, i))
            t->value[n->in[i].value->id].paired = true;
}

static void leave_float(const qdq_partition_state *t, const qdq_node *n, const char *rule,
                        const char *reason)
{
    qdq_node_state *s = qdq_state_of(t->p, n);

    QDQ_PART_SAY(t, n, rule, false, "%s: it stays float", reason);
    if (s->reason == NULL)
        s->reason = reason;
}

/* Is there an input that makes it run in 8 bits, in spite of those that were not chosen? */
static bool is_any_chosen(const qdq_partition_state *t, const qdq_node *n)
{
    bool any = qdq_place_unchosen(t->p, n) == 0;

    for (uint32_t i = 0; i < n->n_in && !any; i++)
        any = qdq_part_wants(t, n, i) || (n->in[i].value != NULL && qdq_part_is_data(t, n, i) &&
                                          qdq_part_through_dq(t, n->in[i].value));
    return any;
}

static void select_node(const qdq_partition_state *t, const qdq_node *n, const char *rule)
{
    qdq_part_node *s = qdq_part_of(t, n);

    s->selected = true;
    s->rule = rule;
    s->selected = is_any_chosen(t, n);
    if (s->selected)
        mark_pairs(t, n);
    else
        leave_float(t, n, "tuner", QDQ_PLACE_UNCHOSEN);
}

/* Why the target would not quantize n whatever its neighbours are, or NULL. */
static const char *node_ineligible(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_target_op *rule = t->rule_of[n->op];
    const qdq_value *out = qdq_node_out(n, 0);

    if (!qdq_part_is(t, n, QDQ_PART_QUANTIZABLE))
        return qdq_target_reason(t->p->target, n->type);
    if (!qdq_place_is_float(out))
        return qdq_place_no_float(out);
    if (qdq_part_known(t, out))
        return "not float32";
    for (uint32_t i = 0; i < n->n_in && rule->kind == QDQ_KIND_JOINT; i++) {
        const qdq_value *v = n->in[i].value;
        const qdq_tensor *constant = qdq_value_const(v);

        if (v == NULL || !qdq_part_is_data(t, n, i))
            continue;
        if (!qdq_place_is_float(v))
            return qdq_place_no_float(v);
        if (constant != NULL && !qdq_place_is_finite(t->p, constant))
            return "a constant operand is empty, or holds NaN or infinity";
    }
    return NULL;
}

static bool has_constant_data(const qdq_partition_state *t, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL && qdq_part_is_data(t, n, i) &&
            qdq_part_known(t, n->in[i].value))
            return true;
    return false;
}

static bool follows_kernel(const qdq_partition_state *t, const qdq_node *n)
{
    return qdq_part_of(t, n)->copies != UINT32_MAX;
}

/* --- linear partitions ------------------------------------------------------------------------ */

/* What comes from inside of a partition stays as it is; what comes from outside gets Q/DQ. */
static void select_in_partition(const qdq_partition_state *t, const qdq_node *n)
{
    qdq_part_node *s = qdq_part_of(t, n);
    bool outside = false;

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        const qdq_node *before = qdq_part_producer(t, v);

        if (v == NULL || qdq_part_known(t, v))
            continue;
        if (before == NULL || qdq_part_of(t, before)->part != s->part)
            outside = true;
        else if (i < 32)
            s->raw |= (uint32_t)1 << i;
    }
    if (!outside || node_ineligible(t, n) != NULL)
        return;
    s->partial = s->raw != 0;
    if (s->partial)
        QDQ_PART_SAY(t, n, "residual-add", true,
                     "its other branch gets Q/DQ; the main one stays inside of the kernel");
    else
        QDQ_PART_SAY(t, n, t->rule_of[n->op]->rule, true,
                     "it begins a kernel in 8 bits: its data gets Q/DQ");
    select_node(t, n, s->partial ? "residual-add" : t->rule_of[n->op]->rule);
}

/* --- pointwise partitions --------------------------------------------------------------------- */

/* One edge into the head of a pointwise partition. True: it is worth 8 bits. */
static bool evaluate_edge(const qdq_partition_state *t, const qdq_node *head, uint32_t i,
                          bool mask_add)
{
    const qdq_value *v = qdq_node_in(head, i);
    const qdq_node *before = qdq_part_producer(t, v);
    bool worth = v != NULL && qdq_part_through_dq(t, v);

    if (before == NULL)
        return worth;
    worth |= follows_kernel(t, before) || qdq_part_is(t, before, QDQ_PART_SOURCE);
    if (worth && !mask_add)
        return true;
    if ((worth || !t->value[v->id].paired) && i < 32)
        qdq_part_of(t, head)->raw |= (uint32_t)1 << i;
    return false;
}

static void select_head(const qdq_partition_state *t, const qdq_node *n, bool mask_add)
{
    const char *reason = node_ineligible(t, n);
    qdq_part_node *s = qdq_part_of(t, n);
    bool worth = false;

    if (reason != NULL || has_constant_data(t, n)) {
        leave_float(t, n, "pointwise",
                    reason != NULL ? reason
                                   : "a pointwise kernel with a constant operand gains nothing");
        return;
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        if (qdq_part_is_data(t, n, i))
            worth |= evaluate_edge(t, n, i, mask_add);
    if (!worth) {
        s->raw = 0;
        leave_float(t, n, mask_add ? t->rules->mask_add.rule : "pointwise",
                    mask_add ? t->rules->mask_add.reason
                             : "nothing that it reads comes from a kernel in 8 bits");
        return;
    }
    if (n->op != QDQ_OP_ADD)
        s->raw = 0;
    QDQ_PART_SAY(t, n, "pointwise", true, "it reads what a kernel in 8 bits gives: %s",
                 s->raw != 0 ? "that gets Q/DQ" : "all of its data gets Q/DQ");
    select_node(t, n, t->rule_of[n->op]->rule);
}

static qdq_status select_heads(const qdq_partition_state *t, qdq_error *err)
{
    qdq_part_search mask = {.path = &t->rules->mask_add, .forward = true, .through = QDQ_PART_QDQ};

    if (mask.path->n > 0)
        QDQ_TRY(qdq_part_match(t, &mask, err));
    QDQ_FOR_PLACED (n, t->p) {
        const qdq_part_node *s = qdq_part_of(t, n);

        if (s->head && s->pointwise)
            select_head(t, n, mask.ok != NULL && (mask.ok[n->id] & QDQ_PART_STARTS) != 0);
    }
    return QDQ_OK;
}

/* --- LayerNormalization ----------------------------------------------------------------------- */

/* The node that n hands on, as far as the rule looks. */
static const qdq_node *behind_copies(const qdq_partition_state *t, const qdq_node *n)
{
    for (int64_t i = 0; i < t->rules->trace_depth && qdq_part_is(t, n, QDQ_PART_COPY); i++) {
        const qdq_node *before = qdq_part_producer(t, qdq_node_in(n, t->rule_of[n->op]->data));

        if (before == NULL)
            return n;
        n = before;
    }
    return n;
}

/* So that the engine takes the kernels which give 8 bits for the convolution before (PR 1117). The
 * rule looks at the data alone, through copy operators: shapes may be computed as they like. */
static void select_layernorm(const qdq_partition_state *t, const qdq_node *n)
{
    static const char rule[] = "layernorm-input";
    const qdq_value *v = qdq_node_in(n, 0);
    const qdq_node *before = qdq_part_producer(t, v);
    const char *reason = qdq_part_out(t, n) ? qdq_state_of(t->p, n)->reason : node_ineligible(t, n);

    if (reason == NULL && t->p->target->layernorm_input == QDQ_LAYERNORM_OFF)
        reason = "the target leaves the input of LayerNormalization float (layernorm-input)";
    if (reason != NULL) {
        leave_float(t, n, rule, reason);
        return;
    }
    if (v != NULL && before != NULL && follows_kernel(t, before)) {
        QDQ_PART_SAY(t, n, rule, true,
                     "its data is what a linear kernel gives, %u copy operators behind it: Q/DQ",
                     (unsigned)qdq_part_of(t, before)->copies);
        select_node(t, n, rule);
    } else if (v != NULL &&
               (t->p->target->layernorm_input == QDQ_LAYERNORM_ANY || qdq_part_through_dq(t, v))) {
        QDQ_PART_SAY(
            t, n, rule, true,
            "its data is not a linear kernel's, but the target wants any (layernorm-input)");
        select_node(t, n, rule);
    } else if (before == NULL) {
        leave_float(t, n, rule, "its data is a graph input");
    } else {
        const qdq_node *source = behind_copies(t, before);

        QDQ_PART_SAY(t, n, rule, false, "its data comes from %s '%s', which is in no linear kernel",
                     source->type,
                     source->n_out > 0 && source->out[0] != NULL ? source->out[0]->name
                                                                 : source->name);
        leave_float(t, n, rule, "its data does not come from a linear kernel");
    }
}

/* --- what is in no partition ------------------------------------------------------------------ */

static bool is_left_over(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_part_node *s = qdq_part_of(t, n);

    return s->part == 0 && !s->head && !s->frozen && !s->selected &&
           qdq_part_is(t, n, QDQ_PART_QUANTIZABLE) && !qdq_part_is(t, n, QDQ_PART_LINEAR);
}

static void select_left_over(const qdq_partition_state *t, const qdq_node *n)
{
    const char *reason = node_ineligible(t, n);

    if (reason == NULL && qdq_part_is(t, n, QDQ_PART_POINTWISE) && has_constant_data(t, n))
        reason = "a pointwise kernel with a constant operand gains nothing";
    if (reason != NULL) {
        leave_float(t, n, t->rule_of[n->op]->rule, reason);
        return;
    }
    QDQ_PART_SAY(t, n, t->rule_of[n->op]->rule, true,
                 "it is in no kernel, and has one in 8 bits of its own");
    select_node(t, n, t->rule_of[n->op]->rule);
}

static void select_pooling(const qdq_partition_state *t, const qdq_node *n)
{
    if (node_ineligible(t, n) != NULL)
        return;
    QDQ_PART_SAY(t, n, t->rule_of[n->op]->rule, true,
                 "a neighbour runs in 8 bits: its data gets Q/DQ");
    select_node(t, n, t->rule_of[n->op]->rule);
}

/* Does a selected node read what n gives, copy operators between? `leads` answers for those behind
 * it. */
static bool is_read_in_8_bits(const qdq_partition_state *t, const qdq_node *n, const bool *leads)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            QDQ_FOR_USES (u, n->out[i])
                if (qdq_part_here(t, u->node) &&
                    (qdq_part_of(t, u->node)->selected ||
                     (qdq_part_is(t, u->node, QDQ_PART_COPY) &&
                      qdq_part_is_data(t, u->node, u->index) && leads[u->node->id])))
                    return true;
    return false;
}

static bool reads_8_bits(const qdq_partition_state *t, const qdq_node *n, const bool *gives)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_node *before = qdq_part_producer(t, n->in[i].value);

        if (before != NULL && (n->op == QDQ_OP_CAST || qdq_part_is_data(t, n, i)) &&
            gives[before->id])
            return true;
    }
    return false;
}

static bool waits_for_neighbours(const qdq_partition_state *t, const qdq_node *n)
{
    return is_left_over(t, n) && qdq_part_is(t, n, QDQ_PART_POOLING);
}

/* A pool beside a node in 8 bits runs in 8 bits: first where its readers do, then where what it
 * reads does. */
static qdq_status select_poolings(const qdq_partition_state *t, qdq_error *err)
{
    qdq_placing *p = t->p;
    bool *mark = qdq_place_by_node(p, sizeof *mark);
    bool *gives = qdq_place_by_node(p, sizeof *gives);

    QDQ_NEED(mark != NULL && gives != NULL, err);
    for (size_t i = p->n_order; i-- > 0;) {
        const qdq_node *n = p->order[i];

        mark[n->id] = is_read_in_8_bits(t, n, mark);
        if (mark[n->id] && waits_for_neighbours(t, n))
            select_pooling(t, n);
    }
    QDQ_FOR_PLACED (n, p) {
        bool passes = qdq_part_is(t, n, QDQ_PART_COPY) || n->op == QDQ_OP_CAST;
        bool reads = (passes || waits_for_neighbours(t, n)) && reads_8_bits(t, n, gives);
        if (reads && waits_for_neighbours(t, n))
            select_pooling(t, n);
        else if (waits_for_neighbours(t, n))
            leave_float(t, n, t->rule_of[n->op]->rule,
                        "neither what it reads nor what reads it runs in 8 bits");
        gives[n->id] = qdq_part_of(t, n)->selected || (passes && reads);
    }
    return QDQ_OK;
}

/* --- all rules -------------------------------------------------------------------------------- */

/* Q/DQ in front of what gives a graph output cost accuracy, and fuse with nothing behind it. */
static void drop_outputs(const qdq_partition_state *t)
{
    QDQ_FOR_PLACED (n, t->p) {
        qdq_part_node *s = qdq_part_of(t, n);
        bool is_output = false;

        for (uint32_t k = 0; k < n->n_out; k++)
            is_output |= n->out[k] != NULL && n->out[k]->n_output > 0;
        if (!s->selected || !is_output || s->partial || qdq_part_is(t, n, QDQ_PART_KEPT_OUTPUT))
            continue;
        s->selected = false;
        leave_float(t, n, "graph-output", "its result is a graph output");
    }
    for (size_t i = 0; i < t->p->model->graph->values.n; i++)
        t->value[i].paired = false;
    QDQ_FOR_PLACED (n, t->p)
        mark_pairs(t, n);
}

/* The user names nodes: these run in 8 bits, and no neighbour has a say. */
static void select_listed(const qdq_partition_state *t)
{
    QDQ_FOR_PLACED (n, t->p) {
        const char *reason = qdq_part_out(t, n) ? NULL : node_ineligible(t, n);

        if (reason != NULL)
            leave_float(t, n, "op-types", reason);
        else if (!qdq_part_out(t, n))
            select_node(t, n, t->rule_of[n->op]->rule);
    }
}

/* A copy operator that leads to Q/DQ may carry codes, too: the engine moves Q/DQ across it. */
static void trace_leads(const qdq_partition_state *t)
{
    for (size_t i = t->p->n_order; i-- > 0;) {
        const qdq_node *n = t->p->order[i];
        bool *leads = &qdq_part_of(t, n)->leads;

        for (uint32_t k = 0; k < n->n_out && qdq_part_is(t, n, QDQ_PART_COPY) && !*leads; k++) {
            if (n->out[k] == NULL)
                continue;
            *leads = t->value[n->out[k]->id].paired;
            QDQ_FOR_USES (u, n->out[k])
                *leads |= qdq_part_here(t, u->node) && qdq_part_is_data(t, u->node, u->index) &&
                          qdq_part_of(t, u->node)->leads;
        }
    }
}

qdq_status qdq_part_select(qdq_partition_state *t, qdq_error *err)
{
    if (t->listed) {
        select_listed(t);
        return QDQ_OK;
    }
    QDQ_FOR_PLACED (n, t->p)
        if (qdq_part_of(t, n)->part != 0 && !qdq_part_of(t, n)->pointwise)
            select_in_partition(t, n);
    QDQ_TRY(select_heads(t, err));
    QDQ_FOR_PLACED (n, t->p)
        if (n->op == QDQ_OP_LAYERNORMALIZATION)
            select_layernorm(t, n);
    QDQ_FOR_PLACED (n, t->p)
        if (is_left_over(t, n) && !qdq_part_is(t, n, QDQ_PART_POOLING))
            select_left_over(t, n);
    QDQ_TRY(select_poolings(t, err));
    drop_outputs(t);
    trace_leads(t);
    return QDQ_OK;
}
