/* place_stay.c - the target's rules that leave a linear node float although it has a kernel: it
 * would be slower in 8 bits, or not worth what it costs in accuracy. Each condition that fails is
 * told to who listens. */
#include <string.h>

#include "base/words.h"
#include "quant/place/place_state.h"

/* What a rule may ask about the sizes of a linear node. */
typedef struct qdq_linear_size {
    int64_t in_channels, out_channels;
    /* input channels in each group */
    int64_t group, group_channels;
    /* products that are added up for one number of the result */
    int64_t sum;
    /* numbers; of a recurrent operator both weights of one direction */
    int64_t weight;
} qdq_linear_size;

/* A Conv has its weight as [out, in / groups, ...], a ConvTranspose as [in, out / groups, ...]. */
static qdq_linear_size conv_size(const qdq_node *n, const qdq_tensor *w)
{
    qdq_linear_size s = {.group = qdq_node_int(n, "group", 1), .weight = w->count};
    int64_t a = w->rank > 1 ? w->dim[0] : 0, b = w->rank > 1 ? w->dim[1] : 0;

    if (s.group <= 0 || a <= 0 || b <= 0 || b > INT64_MAX / s.group) /* it comes from a file */
        return s;
    if (n->op == QDQ_OP_CONVTRANSPOSE) {
        s.in_channels = a;
        s.out_channels = b * s.group;
        s.group_channels = a / s.group;
        s.sum = w->count / b / s.group;
    } else {
        s.in_channels = b * s.group;
        s.out_channels = a;
        s.group_channels = b;
        s.sum = w->count / a;
    }
    return s;
}

/* A matrix [K, N], or [N, K] with transB. */
static qdq_linear_size matrix_size(const qdq_node *n, const qdq_tensor *w)
{
    bool transposed = n->op == QDQ_OP_GEMM && qdq_node_int(n, "transB", 0) != 0;
    qdq_linear_size s = {.group = 1, .weight = w->count};

    if (w->rank < 2)
        return s;
    s.in_channels = w->dim[w->rank - (transposed ? 1 : 2)];
    s.out_channels = w->dim[w->rank - (transposed ? 2 : 1)];
    s.group_channels = s.sum = s.in_channels;
    return s;
}

/* Both weights of one direction. */
static qdq_linear_size recurrent_size(const qdq_node *n, const qdq_tensor *w)
{
    const qdq_tensor *r = qdq_node_const(n, 2);
    qdq_linear_size s = {.group = 1, .weight = w->count};

    if (r == NULL || w->rank != 3 || w->dim[0] <= 0 || r->count > INT64_MAX - w->count)
        return s;
    s.weight = (w->count + r->count) / w->dim[0];
    s.out_channels = w->dim[1];
    s.in_channels = s.group_channels = s.sum = w->dim[2];
    return s;
}

static bool above(int64_t have, int64_t max)
{
    return max != 0 && have > max;
}

/* The first condition about the weight that does not hold, as the target's key. */
static const char *missing_size(const qdq_node *n, const qdq_tensor *w, const qdq_stay_float *s)
{
    bool conv = n->op == QDQ_OP_CONV || n->op == QDQ_OP_CONVTRANSPOSE;
    qdq_linear_size size = conv                   ? conv_size(n, w)
                           : n->op == QDQ_OP_LSTM ? recurrent_size(n, w)
                                                  : matrix_size(n, w);
    bool depthwise = size.group > 1 && size.group == size.in_channels;

    if (above(size.in_channels, s->in_channels_max))
        return "in_channels_max";
    if (above(size.out_channels, s->out_channels_max))
        return "out_channels_max";
    if (above(size.sum, s->sum_max))
        return "sum_max";
    if (above(size.weight, s->weight_max))
        return "weight_max";
    if (s->group_channels_max != 0 &&
        (size.group <= 1 || depthwise || size.group_channels > s->group_channels_max))
        return "group_channels_max";
    return s->depthwise && !depthwise ? "depthwise" : NULL;
}

/* Multiplications of one matrix product: rows times columns times what is added up. -1: not
 * known. */
static int64_t work_of(const qdq_node *n)
{
    const qdq_value *out = qdq_node_out(n, 0), *a = qdq_node_in(n, 0);
    const qdq_type *t = out != NULL ? out->type : NULL, *in = a != NULL ? a->type : NULL;

    if (t == NULL || in == NULL || t->rank < 2 || in->rank < 2)
        return -1;
    const qdq_dim dim[3] = {t->dim[t->rank - 2], t->dim[t->rank - 1], in->dim[in->rank - 1]};
    int64_t work = 1;
    for (size_t i = 0; i < 3; i++) {
        if (dim[i].value < 0)
            return -1;
        if (dim[i].value != 0 && work > INT64_MAX / dim[i].value)
            return INT64_MAX;
        work *= dim[i].value;
    }
    return work;
}

static const char *missing_work(const qdq_node *n, const qdq_stay_float *s)
{
    int64_t work = s->work_max != 0 ? work_of(n) : 0;

    return work < 0 || above(work, s->work_max) ? "work_max" : NULL;
}

static bool is_read_from(const qdq_node *n, const char *const *list)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;

        if (v != NULL && v->producer != NULL && qdq_word_is_in(v->producer->type, list))
            return true;
    }
    return list == NULL;
}

/* The node that v comes from, seen through the operators that fuse into it. */
static const qdq_node *source_of(const qdq_value *v, const qdq_target_op *rule)
{
    const qdq_node *n = v->producer;

    while (n != NULL && qdq_word_is_in(n->type, rule->epilogue) && qdq_node_in(n, 0) != NULL)
        n = qdq_node_in(n, 0)->producer;
    return n;
}

static bool comes_from(const qdq_placing *p, const qdq_node *n, const qdq_target_op *rule,
                       qdq_data_is want)
{
    const qdq_value *data = qdq_node_in(n, rule->data);
    const qdq_node *source;

    switch (want) {
    case QDQ_DATA_ANY:
        return true;
    case QDQ_DATA_GRAPH_INPUT:
        return data->is_input;
    case QDQ_DATA_LEFT_FLOAT:
        source = source_of(data, rule);
        return source != NULL && source->graph == n->graph &&
               qdq_state_of(p, source)->stay != NULL && !qdq_state_of(p, source)->eight;
    case QDQ_DATA_FLOAT:
        return qdq_place_codes_of(p, data) == QDQ_UNDEFINED;
    }
    return false;
}

/* Would a Q behind `reader` get in front of it? Engines push it there, unless an operator that
 * fuses into a Q stands between. */
static bool lets_q_through(const qdq_node *reader, const qdq_target_op *rule)
{
    const qdq_value *v = qdq_node_out(reader, 0);
    const qdq_node *next = v != NULL ? qdq_value_only_user(v) : NULL;

    return next == NULL || !qdq_word_is_in(next->type, rule->epilogue);
}

/* Does a linear operator read v, or what is left of it behind the `between` operators and the
 * epilogue? It will put a Q there, whose codes the other readers can share. */
static bool has_linear_reader(const qdq_placing *p, const qdq_value *v, const qdq_target_op *rule,
                              const char *const *between)
{
    enum { STEPS = 4 };

    for (int i = 0; i < STEPS && v != NULL; i++) {
        if (p->value[v->id].quantizer != NULL) /* the model has one there */
            return true;
        QDQ_FOR_USES (u, v) {
            const qdq_target_op *op = qdq_target_find(p->target, u->node->type);

            if (op != NULL && op->kind == QDQ_KIND_LINEAR && u->node->domain[0] == '\0')
                return true;
        }
        const qdq_node *next = qdq_value_only_user(v);
        bool passes = next != NULL && (qdq_word_is_in(next->type, between) ||
                                       qdq_word_is_in(next->type, rule->epilogue));
        v = passes ? qdq_node_out(next, 0) : NULL;
    }
    return false;
}

/* Does its result, behind the epilogue, go where the rule wants it to? */
static const char *missing_reader(const qdq_placing *p, const qdq_node *n,
                                  const qdq_target_op *rule, const qdq_stay_float *s)
{
    const qdq_value *v = qdq_place_epilogue(p, rule, n, NULL);

    if (s->one_reader && v->n_use + v->n_output != 1)
        return "one_reader";
    if (s->linear_reader && !has_linear_reader(p, v, rule, s->not_before))
        return "linear_reader";
    QDQ_FOR_USES (u, v)
        if (qdq_word_is_in(u->node->type, s->not_before) && lets_q_through(u->node, rule))
            return "not_before";
    return NULL;
}

/* Is "2026.4.1" one of the versions "2026.4"? */
static bool is_version(const char *version, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        const size_t n = strlen(list[i]);

        if (strncmp(version, list[i], n) == 0 &&
            (version[n] == '\0' || strchr(".-+ ", version[n]) != NULL))
            return true;
    }
    return false;
}

/* An engine that is not at hand may be one of these. */
static bool concerns_engine(const qdq_placing *p, const qdq_stay_float *s)
{
    const qdq_engine_info *e = p->opts != NULL ? p->opts->engine : NULL;

    return s->engine == NULL || e == NULL || strcmp(e->name, p->target->engine) != 0 ||
           is_version(e->version, s->engine);
}

static bool has_open_dim(const qdq_value *v)
{
    int64_t dim[QDQ_MAX_RANK];
    int rank;

    return v != NULL && !qdq_value_static_shape(v, &rank, dim, QDQ_MAX_RANK);
}

/* One of zeros is none: engines drop it. */
static bool has_bias(const qdq_node *n, const qdq_target_op *rule)
{
    const qdq_value *bias = rule->bias == QDQ_BIAS_INPUT ? qdq_node_in(n, rule->bias_input) : NULL;
    const qdq_tensor *t = qdq_value_const(bias);

    return bias != NULL && (t == NULL || !qdq_tensor_all(t, 0));
}

/* Conditions of rules about what an engine computes wrongly. */
static const char *missing_form(const qdq_placing *p, const qdq_node *n, const qdq_target_op *rule,
                                const qdq_stay_float *s)
{
    if (!concerns_engine(p, s))
        return "engine";
    if (s->open && !has_open_dim(qdq_node_in(n, rule->data)))
        return "open";
    return s->no_bias && has_bias(n, rule) ? "no_bias" : NULL;
}

/* The first condition of the rule that does not hold, as the target's key; NULL: all do. */
static const char *missing_condition(const qdq_placing *p, const qdq_node *n, const qdq_tensor *w,
                                     const qdq_stay_float *s)
{
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;

    if (s->activations != (w == NULL))
        return "activations";
    const char *missing = w != NULL ? missing_size(n, w, s) : missing_work(n, s);
    if (missing != NULL)
        return missing;
    missing = missing_form(p, n, rule, s);
    if (missing != NULL)
        return missing;
    if (!is_read_from(n, s->reads))
        return "reads";
    if (!comes_from(p, n, rule, s->data_is))
        return "data_is";
    if (s->alone && (!rule->quantize_output ||
                     qdq_place_codes_of(p, qdq_node_in(n, rule->data)) != QDQ_UNDEFINED))
        return "alone";
    return missing_reader(p, n, rule, s);
}

/* Who names nodes or operators to be quantized wants them so, whatever it costs. */
static bool is_asked_for(const qdq_placing *p)
{
    return p->opts != NULL && (p->opts->include != NULL || p->opts->op_types != NULL);
}

const char *qdq_place_stay(qdq_placing *p, const qdq_node *n, const qdq_tensor *w)
{
    const bool is_dynamic = qdq_format_dynamic(qdq_place_format(p, n));
    qdq_node_state *state = qdq_state_of(p, n);

    for (size_t i = 0; i < p->target->stay.n; i++) {
        const qdq_stay_float *s = &p->target->stay.at[i];

        if (strcmp(s->op, n->type) != 0 || s->dynamic != is_dynamic ||
            (is_asked_for(p) && s->engine == NULL))
            continue;
        const char *missing = missing_condition(p, n, w, s);
        if (missing != NULL) {
            qdq_why_say(qdq_place_listener(p), n, s->rule, false,
                        "does not apply: its condition '%s' fails", missing);
            continue;
        }
        if (s->float_reader != NULL) {
            state->late = s;
            continue;
        }
        if (s->island_work_max != 0 && !state->in_poor_island) {
            state->island = s;
            qdq_why_say(qdq_place_listener(p), n, s->rule, false,
                        "does not apply: its condition 'island_work_max' fails");
            continue;
        }
        state->stay = s;
        /* who reads it is not known yet: placement comes back to it */
        state->needs_reader = s->alone;
        qdq_why_say(qdq_place_listener(p), n, s->rule, true, "%s%s",
                    s->alone ? "unless read in 8 bits: " : "", s->reason);
        if (!s->alone)
            return s->reason;
    }
    return NULL;
}

bool qdq_place_stays_late(const qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);
    const qdq_value *v = s->result;
    bool in_float = false;

    if (s->late == NULL || v == NULL || v != qdq_node_out(n, 0) || p->value[v->id].carries ||
        v->n_use + v->n_output < 2)
        return false;
    QDQ_FOR_USES (u, v)
        in_float |= u->node->graph == n->graph &&
                    qdq_word_is_in(u->node->type, s->late->float_reader) &&
                    !qdq_state_of(p, u->node)->eight;
    return in_float;
}
