/* calib_scales.c - from statistics to scales. Searching thresholds is the only part of calibration
 * that takes time of its own; tensors are searched in parallel, and each writes only its own
 * result. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "quant/calib/calib_folds.h"

/* The first format whose activations have codes of that type. */
static const qdq_format *format_of(const qdq_calibration *c, qdq_elem type)
{
    const qdq_format *f = &c->q->target->format;

    for (size_t i = 0; i < c->q->target->overrides.n && f->activation.type != type; i++)
        if (c->q->target->overrides.at[i].format.activation.type == type)
            f = &c->q->target->overrides.at[i].format;
    for (size_t i = 0; i < c->q->target->others.n && f->activation.type != type; i++)
        if (c->q->target->others.at[i].format.activation.type == type)
            f = &c->q->target->others.at[i].format;
    return f;
}

/* The codes that an entry of this type and format asks for, once the values of its leader are
 * known. */
static qdq_qscheme scheme_for(const qdq_calibration *c, const qdq_calib_slot *leader, qdq_elem type,
                              const qdq_format *form)
{
    const qdq_format *f = form != NULL ? form : format_of(c, type);
    qdq_qscheme scheme;

    if (leader->non_negative && f->activation.type == type && qdq_format_unsigned(f, &scheme))
        return scheme;
    scheme = f->activation;
    scheme.type = type; /* beside int8 that the model has, int8 */
    return scheme;
}

/* --- ranges ----------------------------------------------------------------------------------- */

static qdq_status check_observers(const qdq_calibration *c, qdq_error *err)
{
    for (size_t i = 0; i < c->slots.n; i++) {
        const qdq_calib_slot *s = &c->slots.at[i];
        uint64_t bad = s->observer != NULL ? qdq_observer_nonfinite(s->observer) : 0;
        const char *refusal = s->observer != NULL ? qdq_observer_refusal(s->observer) : NULL;

        if (refusal != NULL)
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': %s", s->name, refusal);
        if (bad > 0)
            qdq_job_log(c->q->opts->job, QDQ_LOG_WARNING,
                        "tensor '%s': %llu values that are not finite left out", s->name,
                        (unsigned long long)bad);
    }
    return QDQ_OK;
}

static qdq_range both(qdq_range a, qdq_range b)
{
    return (qdq_range){fmin(a.low, b.low), fmax(a.high, b.high)};
}

static bool has_seen(const qdq_calib_slot *s)
{
    return s->observer != NULL && !qdq_observer_empty(s->observer);
}

/* --- joins ------------------------------------------------------------------------------------ */

/* What the scale of a tensor on its own would span: codes always have 0 among them. */
static bool measure_own(const qdq_calibration *c, qdq_calib_slot *s)
{
    qdq_range r = s->range;

    if (has_seen(s)) {
        const qdq_qscheme scheme = scheme_for(c, s, s->type, s->form);

        if (!qdq_observer_range(s->observer, &scheme, &r, NULL))
            return false;
    } else if (!s->cached) {
        return true;
    }
    s->own = (qdq_range){fmin(r.low, 0), fmax(r.high, 0)};
    return true;
}

static void measure_join(const qdq_calibration *c, qdq_plan_join *j)
{
    qdq_range all = {0, 0};
    double narrowest = INFINITY, widest = 0;

    for (size_t i = 0; i < j->n_operands; i++) {
        const qdq_calib_slot *s = qdq_calib_find(c, j->operands[i]);
        double width = s != NULL ? s->own.high - s->own.low : 0;

        if (!(width > 0)) /* all 0, or nothing seen: any scale serves it */
            continue;
        all = both(all, s->own);
        if (width < narrowest) {
            narrowest = width;
            j->narrow = s->name;
        }
        if (width > widest) {
            widest = width;
            j->wide = s->name;
        }
    }
    j->factor = widest > 0 ? (all.high - all.low) / narrowest : 1;
}

/* Before groups are pooled: how much coarser the codes of an operand become by sharing a scale. */
static qdq_status measure_joins(qdq_calibration *c, qdq_error *err)
{
    bool nomem = false;

    for (size_t i = 0; i < c->q->plan->joins.n; i++)
        for (size_t k = 0; k < c->q->plan->joins.at[i].n_operands && !c->q->plan->joins.at[i].known;
             k++)
            qdq_calib_find(c, c->q->plan->joins.at[i].operands[k])->joined = true;
#pragma omp parallel for schedule(dynamic) reduction(|| : nomem)
    for (size_t i = 0; i < c->slots.n; i++)
        if (c->slots.at[i].joined && !measure_own(c, &c->slots.at[i]))
            nomem = true;
    for (size_t i = 0; i < c->q->plan->joins.n; i++)
        if (!c->q->plan->joins.at[i].known)
            measure_join(c, &c->q->plan->joins.at[i]);
    return nomem ? qdq_nomem(err) : QDQ_OK;
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Of a member without folds, which is a constant, all counts for each of them. */
static bool pool_folds(const qdq_calibration *c, qdq_calib_slot *leader, const qdq_calib_slot *s)
{
    const bool begins = leader->fold == NULL;

    if (s->fold == NULL && begins)
        return true;
    if (begins && !qdq_calib_begin_folds(c, leader))
        return false;
    for (unsigned k = 0; k < c->n_folds; k++)
        if ((begins && !qdq_observer_pool(leader->fold[k], leader->observer)) ||
            !qdq_observer_pool(leader->fold[k], s->fold != NULL ? s->fold[k] : s->observer))
            return false;
    return true;
}

/* What members were seen to hold counts as seen at the leader. A cached leader gets an observer for
 * it. */
static qdq_status pool_groups(qdq_calibration *c, qdq_error *err)
{
    for (size_t i = 0; i < c->slots.n; i++) {
        const qdq_calib_slot *s = &c->slots.at[i];
        qdq_calib_slot *leader = &c->slots.at[s->leader];

        if (s == leader || s->observer == NULL)
            continue;
        if (leader->observer == NULL)
            leader->observer = qdq_observer_new(leader->method, c->percentile);
        QDQ_NEED(leader->observer != NULL && pool_folds(c, leader, s) &&
                     qdq_observer_pool(leader->observer, s->observer),
                 err);
    }
    return QDQ_OK;
}

/* A cached range has no statistics behind it: the range of a group spans it. */
static void join_cached(qdq_calibration *c)
{
    for (size_t i = 0; i < c->slots.n; i++) {
        const qdq_calib_slot *s = &c->slots.at[i];
        qdq_calib_slot *leader = &c->slots.at[s->leader];

        if (s == leader || !s->cached)
            continue;
        leader->range = leader->cached ? both(leader->range, s->range) : s->range;
        leader->cached = true;
    }
}

static bool has_range(const qdq_calib_slot *s)
{
    return s->cached || !qdq_observer_empty(s->observer);
}

/* Where a value comes from, behind what moves or pools it; NULL: an input, or too far. */
static const qdq_node *source_of(const qdq_value *v)
{
    enum { FAR = 16 };

    for (int i = 0; i < FAR && v != NULL && v->producer != NULL; i++) {
        if (!QDQ_OP_IS_IN(v->producer->op, QDQ_OP_MAXPOOL, QDQ_OP_AVERAGEPOOL,
                          QDQ_OP_GLOBALAVERAGEPOOL, QDQ_OP_GLOBALMAXPOOL, QDQ_OP_REDUCEMEAN,
                          QDQ_OP_RESHAPE, QDQ_OP_FLATTEN, QDQ_OP_SQUEEZE, QDQ_OP_UNSQUEEZE,
                          QDQ_OP_TRANSPOSE, QDQ_OP_IDENTITY, QDQ_OP_SLICE, QDQ_OP_GATHER,
                          QDQ_OP_SPLIT))
            return v->producer;
        v = qdq_node_in(v->producer, 0);
    }
    return NULL;
}

static bool limits_below(const qdq_node *n)
{
    if (n == NULL)
        return false;
    if (n->op == QDQ_OP_CLIP)
        return qdq_node_in(n, 1) != NULL || qdq_node_attr(n, "min") != NULL;
    return QDQ_OP_IS_IN(n->op, QDQ_OP_RELU, QDQ_OP_SIGMOID, QDQ_OP_HARDSIGMOID, QDQ_OP_SOFTMAX,
                        QDQ_OP_ABS, QDQ_OP_EXP, QDQ_OP_SQRT);
}

/* Does the graph itself limit how far the value falls, whatever the samples are? */
static bool has_limit_below(const qdq_value *v)
{
    const qdq_node *n = source_of(v);

    if (n == NULL || n->op != QDQ_OP_CONCAT)
        return limits_below(n);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (qdq_value_const(n->in[i].value) == NULL && !limits_below(source_of(n->in[i].value)))
            return false;
    return true;
}

/* Scores of recordings with speech say little of silence: what was seen on one side of 0 is allowed
 * on the other. One member without a limit is enough. All samples decide it, for folds, too. */
static void note_few(qdq_calibration *c)
{
    enum { FEW_VALUES = 256 };

    for (size_t i = 0; i < c->slots.n; i++) {
        const qdq_calib_slot *s = &c->slots.at[i];
        qdq_calib_slot *leader = &c->slots.at[s->leader];
        const qdq_value *v = qdq_graph_find(c->q->m->graph, s->name);

        leader->has_few = leader->has_few || (has_seen(leader) && !leader->cached &&
                                              qdq_observer_count(leader->observer) < FEW_VALUES &&
                                              qdq_value_const(v) == NULL && !has_limit_below(v));
    }
}

/* What a cache says counts as seen. Nothing seen at all says nothing. */
static void note_signs(qdq_calibration *c)
{
    for (size_t i = 0; i < c->slots.n; i++) {
        qdq_calib_slot *s = &c->slots.at[i];
        const bool seen = has_seen(s);

        s->non_negative = (seen || s->cached) && !s->has_few &&
                          (!seen || qdq_observer_low(s->observer) >= 0) &&
                          (!s->cached || s->range.low >= 0);
    }
}

static qdq_range with_other_side(const qdq_calib_slot *s, qdq_range r)
{
    return s->has_few ? both(r, (qdq_range){-r.high, -r.low}) : r;
}

static qdq_status search_ranges(qdq_calibration *c, qdq_error *err)
{
    bool nomem = false;

#pragma omp parallel for schedule(dynamic) reduction(|| : nomem)
    for (size_t i = 0; i < c->slots.n; i++) {
        qdq_calib_slot *s = &c->slots.at[i];
        const qdq_qscheme scheme = scheme_for(c, s, s->type, s->form);
        qdq_range r;

        if (s->leader != i || s->watched || !has_seen(s))
            continue;
        if (!qdq_observer_range(s->observer, &scheme, &r, &s->used))
            nomem = true;
        else
            s->range = s->cached ? both(s->range, r) : with_other_side(s, r);
    }
    return nomem ? qdq_nomem(err) : QDQ_OK;
}

/* --- scales ----------------------------------------------------------------------------------- */

static qdq_status report_empty(const qdq_calibration *c, const qdq_calib_slot *s,
                               qdq_calib_names *empty, qdq_error *err)
{
    const char *name = qdq_arena_strdup(&c->q->plan->arena, s->name);

    return qdq_allocated(name != NULL && QDQ_PUSH(&c->q->plan->arena, empty, name), err);
}

/* What codes of another type or format than the leader's have, beside those: a range that was
 * searched for symmetric int16 is none for uint8. */
static qdq_status range_for(const qdq_calib_slot *leader, const qdq_plan_tensor *entry,
                            const qdq_qscheme *scheme, qdq_range *r, qdq_error *err)
{
    const bool same = qdq_plan_asked(entry) == leader->type && entry->form == leader->form;

    *r = leader->range;
    if (same || !has_seen(leader))
        return QDQ_OK;
    QDQ_NEED(qdq_observer_range(leader->observer, scheme, r, NULL), err);
    *r = with_other_side(leader, *r);
    if (leader->cached)
        *r = both(leader->range, *r);
    return QDQ_OK;
}

static qdq_status find_scale(const qdq_calibration *c, const qdq_calib_slot *leader,
                             const qdq_plan_tensor *entry, qdq_qparam *out, qdq_error *err)
{
    const qdq_elem asked = qdq_plan_asked(entry);
    const qdq_qscheme scheme = scheme_for(c, leader, asked, entry->form);
    qdq_range r;

    QDQ_TRY(range_for(leader, entry, &scheme, &r, err));
    if (scheme.type != asked)
        r.low = 0; /* some methods and caches give ranges around 0 */
    r.high = fmax(r.high, fmin(r.low, 0) + c->q->target->format.min_range);
    if (qdq_qparam_from_range(&scheme, r.low, r.high, out))
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': no codes of type %s for [%g, %g]",
                    entry->tensor, qdq_elem_name(scheme.type), r.low, r.high);
}

static const qdq_calib_slot *leader_of(const qdq_calibration *c, const qdq_plan_tensor *entry)
{
    const qdq_calib_slot *s = qdq_calib_find(c, entry->like != NULL ? entry->like : entry->tensor);

    return &c->slots.at[s->leader];
}

static qdq_status set_scales(const qdq_calibration *c, qdq_error *err)
{
    for (size_t i = 0; i < c->q->plan->tensors.n; i++) {
        qdq_plan_tensor *entry = &c->q->plan->tensors.at[i];
        qdq_qparam found;

        if (entry->known)
            continue;
        QDQ_TRY(find_scale(c, leader_of(c, entry), entry, &found, err));
        entry->asked = qdq_plan_asked(entry);
        entry->qparam = found;
        entry->known = leader_of(c, entry)->observer == NULL; /* no sample had a part in it */
    }
    return QDQ_OK;
}

/* --- folds ------------------------------------------------------------------------------------ */

/* The slots as the samples outside fold k make them; where those hold nothing, all samples
 * count. */
static qdq_status see_fold(qdq_calibration *c, const qdq_calib_slot *before, unsigned k,
                           qdq_error *err)
{
    for (size_t i = 0; i < c->slots.n; i++) {
        qdq_calib_slot *s = &c->slots.at[i];
        qdq_observer *outside = s->fold != NULL ? s->fold[k] : NULL;

        *s = before[i];
        if (outside != NULL && !qdq_observer_empty(outside))
            s->observer = outside;
    }
    note_signs(c);
    return search_ranges(c, err);
}

static qdq_status set_fold(const qdq_calibration *c, unsigned k, qdq_error *err)
{
    for (size_t i = 0; i < c->q->plan->tensors.n; i++) {
        qdq_plan_tensor *entry = &c->q->plan->tensors.at[i];

        if (entry->fold != NULL && !entry->from_plan)
            QDQ_TRY(find_scale(c, leader_of(c, entry), entry, &entry->fold[k], err));
    }
    return QDQ_OK;
}

/* `before`: the slots as they were when no range was searched yet. */
static qdq_status set_folds(qdq_calibration *c, const qdq_calib_slot *before, qdq_error *err)
{
    qdq_calib_slot *all = qdq_arena_array(&c->scratch, c->slots.n + 1, sizeof *all);
    qdq_status st = qdq_allocated(all != NULL, err);

    for (size_t i = 0; i < c->q->plan->tensors.n && st == QDQ_OK; i++) {
        qdq_plan_tensor *entry = &c->q->plan->tensors.at[i];

        if (entry->from_plan)
            continue;
        entry->fold = NULL;
        if (entry->known || leader_of(c, entry)->fold == NULL)
            continue;
        entry->fold = qdq_arena_array(&c->q->plan->arena, c->n_folds, sizeof *entry->fold);
        st = qdq_allocated(entry->fold != NULL, err);
    }
    if (st != QDQ_OK)
        return st;
    memcpy(all, c->slots.at, c->slots.n * sizeof *all);
    for (unsigned k = 0; k < c->n_folds && st == QDQ_OK; k++) {
        st = see_fold(c, before, k, err);
        if (st == QDQ_OK)
            st = set_fold(c, k, err);
    }
    memcpy(c->slots.at, all, c->slots.n * sizeof *all);
    return st;
}

static void say_what_was_chosen(const qdq_calibration *c)
{
    size_t n[QDQ_METHOD_AUTO + 1] = {0};

    if (c->method != QDQ_METHOD_AUTO)
        return;
    for (size_t i = 0; i < c->slots.n; i++)
        if (c->slots.at[i].leader == i && !c->slots.at[i].watched)
            n[c->slots.at[i].used]++;
    qdq_job_log(c->q->opts->job, QDQ_LOG_INFO,
                "ranges by max: %zu, percentile: %zu, entropy: %zu, mse: %zu", n[QDQ_METHOD_MAX],
                n[QDQ_METHOD_PERCENTILE], n[QDQ_METHOD_ENTROPY], n[QDQ_METHOD_MSE]);
}

/* Any scale serves values that are all 0, and none serves what the next sample holds. */
static void warn_of_zeros(const qdq_calibration *c)
{
    const char *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < c->slots.n; i++) {
        const qdq_calib_slot *s = &c->slots.at[i];

        if (s->leader != i || s->watched || s->cached || s->range.low != 0 || s->range.high != 0)
            continue;
        first = first == NULL ? s->name : first;
        n++;
    }
    if (n == 1)
        qdq_job_log(c->q->opts->job, QDQ_LOG_WARNING,
                    "tensor '%s': 0 in all samples; its scale is 1, which fits no other data",
                    first);
    else if (n > 1)
        qdq_job_log(c->q->opts->job, QDQ_LOG_WARNING,
                    "%zu tensors, '%s' first: 0 in all samples; their scale is 1, which fits no "
                    "other data",
                    n, first);
}

qdq_status qdq_calib_scales(qdq_calibration *c, qdq_calib_names *empty, qdq_error *err)
{
    QDQ_TRY(check_observers(c, err));
    QDQ_TRY(measure_joins(c, err));
    QDQ_TRY(pool_groups(c, err));
    join_cached(c);
    note_few(c);
    qdq_calib_slot *before = qdq_arena_array(&c->scratch, c->slots.n + 1, sizeof *before);
    QDQ_NEED(before != NULL, err);
    if (c->slots.n > 0)
        memcpy(before, c->slots.at, c->slots.n * sizeof *before);
    note_signs(c);
    QDQ_TRY(search_ranges(c, err));
    bool complete = true;
    for (size_t i = 0; i < c->slots.n; i++) {
        if (c->slots.at[i].leader != i || c->slots.at[i].watched || has_range(&c->slots.at[i]) ||
            empty == NULL)
            continue;
        complete = false;
        QDQ_TRY(report_empty(c, &c->slots.at[i], empty, err));
    }
    if (complete)
        QDQ_TRY(set_scales(c, err));
    if (complete && c->n_folds > 0 && c->slots.n > 0)
        QDQ_TRY(set_folds(c, before, err));
    say_what_was_chosen(c);
    if (complete && c->q->target->format.min_range == 0)
        warn_of_zeros(c);
    return QDQ_OK;
}
