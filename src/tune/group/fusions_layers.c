/* fusions_layers.c - layers to groups: whose nodes they are, which of them hang together, and how
 * long they take. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "base/union_find.h"
#include "tune/group/fusions_build.h"

enum { MOST = 64 }; /* operators that can be quantized, in one decision */

static const double least_matched = 0.5;

double qdq_fusion_add_time(double sum, double us)
{
    return isnan(sum) ? us : isnan(us) ? sum : sum + us;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Labels of all nodes, those of bodies too: an engine may list what it runs there, and it belongs
 * to the node around. */
static qdq_status map_labels(qdq_fb *b, qdq_map *labels, qdq_error *err)
{
    QDQ_FOR_GRAPHS (g, b->g->g->model)
        if (!qdq_graph_in_function(g) && !qdq_graph_map_labels(g, &b->scratch, labels))
            return qdq_nomem(err);
    return QDQ_OK;
}

static uint32_t place_of(const qdq_fb *b, const qdq_map *labels, const char *label, bool *known)
{
    const qdq_map_value *at = qdq_map_get(labels, label);
    const qdq_node *n = at != NULL ? qdq_node_within(b->g->g, at->ptr) : NULL;

    *known |= n != NULL;
    return n != NULL ? b->g->place[n->id] : QDQ_NO_PLACE;
}

/* What stands between two forms of the same numbers, and what only steers: no group is made from
 * it. */
static bool computes(const qdq_layer *g)
{
    static const char *const ops[] = {
        "QuantizeLinear", "DequantizeLinear", "NoOp",       "Constant", "signal",    "wait",
        "cjmp",           "signal_and_wait",  "shape_call", "memset",   "Parameter", "Result"};

    for (size_t i = 0; i < QDQ_COUNT(ops); i++)
        if (strcasecmp(g->op, ops[i]) == 0)
            return false;
    return !g->conversion;
}

static qdq_status read_layer(qdq_fb *b, const qdq_map *labels, qdq_fusion_layer *l, bool *known,
                             qdq_error *err)
{
    l->place = qdq_arena_array(&b->scratch, l->from->n_nodes + 1, sizeof *l->place);
    QDQ_NEED(l->place != NULL, err);
    b->n_seen++;
    for (size_t k = 0; k < l->from->n_nodes; k++) {
        uint32_t p = place_of(b, labels, l->from->node[k], known);
        if (p == QDQ_NO_PLACE || b->seen[p] == b->n_seen)
            continue;
        b->seen[p] = b->n_seen;
        l->place[l->n++] = p;
    }
    return QDQ_OK;
}

static qdq_status check_fit(const qdq_fb *b, size_t matched, size_t computing, size_t covered,
                            size_t linear, qdq_error *err)
{
    const double least = b->opts->min_matched > 0 ? b->opts->min_matched : least_matched;

    if (computing > 0 && (double)matched < least * (double)computing)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "the layers are of another model: %zu of %zu (%.0f %%) compute nodes of "
                        "this one, expected %.0f %%",
                        matched, computing, 100.0 * (double)matched / (double)computing,
                        100 * least);
    if (computing > 0 && (double)covered < least * (double)linear)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "the layers are of another model: they compute %zu of %zu (%.0f %%) of its "
                        "operators that can be quantized, expected %.0f %%",
                        covered, linear, 100.0 * (double)covered / (double)linear, 100 * least);
    return QDQ_OK;
}

static qdq_status read_all(qdq_fb *b, const qdq_map *labels, qdq_error *err)
{
    size_t matched = 0, computing = 0, covered = 0, linear = 0;

    for (size_t i = 0; i < b->n_layers; i++) {
        bool known = false;
        QDQ_TRY(read_layer(b, labels, &b->layer[i], &known, err));
        if (!computes(b->layer[i].from))
            continue;
        computing++;
        matched += known;
        for (uint32_t k = 0; k < b->layer[i].n; k++)
            b->named[b->layer[i].place[k]] = true;
    }
    for (uint32_t i = 0; i < b->g->n; i++) {
        linear += b->linear[i];
        covered += b->linear[i] && b->named[i];
    }
    if (computing > 0)
        b->f->matched = (double)matched / (double)computing;
    if (computing > 0 && linear > 0)
        b->f->covered = (double)covered / (double)linear;
    return check_fit(b, matched, computing, covered, linear, err);
}

qdq_status qdq_fb_read_layers(qdq_fb *b, const qdq_layer *layer, size_t n, qdq_error *err)
{
    qdq_map labels = QDQ_MAP_INIT;

    b->layer = qdq_arena_array(&b->scratch, n + 1, sizeof *b->layer);
    QDQ_NEED(b->layer != NULL, err);
    for (b->n_layers = 0; b->n_layers < n; b->n_layers++)
        b->layer[b->n_layers].from = &layer[b->n_layers];
    qdq_status st = map_labels(b, &labels, err);
    if (st == QDQ_OK)
        st = read_all(b, &labels, err);
    qdq_map_free(&labels);
    return st;
}

/* --- what hangs together ---------------------------------------------------------------------- */

/* A node that two layers name is computed by both, and both are decided together. Q and DQ join
 * nothing: the layer before may carry their names although it does not compute them. */
qdq_status qdq_fb_join_layers(qdq_fb *b, qdq_error *err)
{
    const size_t n = (size_t)b->g->n + 1;
    uint32_t *parent = qdq_arena_array(&b->scratch, n, sizeof *parent);
    uint32_t *layers_of = qdq_arena_array(&b->scratch, n, sizeof *layers_of);

    QDQ_NEED(parent != NULL && layers_of != NULL, err);
    for (uint32_t i = 0; i < b->g->n; i++)
        parent[i] = i;
    for (size_t i = 0; i < b->n_layers; i++)
        for (uint32_t k = 0; k < b->layer[i].n && computes(b->layer[i].from); k++)
            layers_of[b->layer[i].place[k]]++;
    for (size_t i = 0; i < b->n_layers; i++) {
        uint32_t first = QDQ_NO_PLACE;
        for (uint32_t k = 0; k < b->layer[i].n && computes(b->layer[i].from); k++) {
            uint32_t p = b->layer[i].place[k];
            const qdq_node *node = b->g->node[p];
            if (qdq_fusion_is_light(node) &&
                (layers_of[p] > 1 || node->op == QDQ_OP_QUANTIZELINEAR ||
                 node->op == QDQ_OP_DEQUANTIZELINEAR))
                continue;
            b->group[p] = 0;
            if (first == QDQ_NO_PLACE)
                first = p;
            else
                qdq_part_join(parent, p, first);
        }
    }
    for (uint32_t i = 0; i < b->g->n; i++)
        if (b->group[i] != QDQ_NO_FUSION)
            b->group[i] = qdq_part_of(parent, i);
    b->n_groups = b->g->n;
    return qdq_fb_number(b, err);
}

/* --- what is too large ------------------------------------------------------------------------ */

/* One group on its way from its first to its last node: how many of its tensors are made but not
 * yet read by all. */
typedef struct sweep {
    qdq_fb *b;
    const uint32_t *member;
    uint32_t n;
    /* by place: the last reader inside */
    uint32_t *last;
    /* by index: tensors that are open behind this member */
    uint32_t *waiting;
} sweep;

static uint32_t outputs_of(const qdq_node *n)
{
    uint32_t outputs = 0;

    for (uint32_t i = 0; i < n->n_out; i++)
        outputs += n->out[i] != NULL;
    return outputs;
}

static void count_open(sweep *s)
{
    const qdq_region_graph *g = s->b->g;
    uint32_t open = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t p = s->member[i];
        s->last[p] = QDQ_NO_PLACE;
        for (uint32_t e = g->first_reader[p]; e < g->first_reader[p + 1]; e++)
            if (s->b->group[g->reader[e]] == s->b->group[p] &&
                (s->last[p] == QDQ_NO_PLACE || g->reader[e] > s->last[p]))
                s->last[p] = g->reader[e];
        for (uint32_t e = g->first_source[p]; e < g->first_source[p + 1]; e++)
            if (s->b->group[g->source[e]] == s->b->group[p] && s->last[g->source[e]] == p)
                open -= outputs_of(g->node[g->source[e]]);
        if (s->last[p] != QDQ_NO_PLACE)
            open += outputs_of(g->node[p]);
        s->waiting[i] = open;
    }
}

/* A new part begins where one tensor passes, if there is something to decide before it and until
 * the next such place. */
static void cut_group(sweep *s)
{
    qdq_fb *b = s->b;
    const uint32_t whole = b->group[s->member[0]];
    uint32_t now = whole;
    bool full = false;

    for (uint32_t i = 0; i < s->n;) {
        uint32_t end = i;
        bool linear = false;
        do
            linear |= b->linear[s->member[end]];
        while (s->waiting[end++] != 1 && end < s->n);
        if (full && linear) {
            now = b->n_groups++;
            full = false;
        }
        full |= linear;
        for (; i < end; i++)
            b->group[s->member[i]] = now;
    }
    for (uint32_t i = 0; i < s->n; i++)
        b->cut[s->member[i]] = now != whole;
}

qdq_status qdq_fb_cut_large(qdq_fb *b, qdq_error *err)
{
    const uint32_t most = b->opts->max_ops > 0 ? b->opts->max_ops : MOST;
    qdq_fusion_members all;
    sweep s = {.b = b};

    QDQ_TRY(qdq_fb_members(b, &all, err));
    s.last = qdq_arena_array(&b->scratch, (size_t)b->g->n + 1, sizeof *s.last);
    s.waiting = qdq_arena_array(&b->scratch, (size_t)b->g->n + 1, sizeof *s.waiting);
    QDQ_NEED(s.last != NULL && s.waiting != NULL, err);
    for (uint32_t k = 0; k < all.n; k++) {
        uint32_t linear = 0;
        s.member = all.member + all.first[k];
        s.n = all.first[k + 1] - all.first[k];
        for (uint32_t i = 0; i < s.n; i++)
            linear += b->linear[s.member[i]];
        if (linear <= most)
            continue;
        count_open(&s);
        cut_group(&s);
    }
    return QDQ_OK;
}

/* --- times and sources ------------------------------------------------------------------------ */

static qdq_fusion_source source_of(const qdq_layer *g)
{
    return g->source == QDQ_LAYER_EXACT ? QDQ_FUSION_EXACT : QDQ_FUSION_SLICE;
}

bool qdq_fusion_keep_texts(qdq_fusion *f, qdq_arena *arena, const char *layer, const char *in,
                           const char *out)
{
    f->layer = qdq_arena_strdup(arena, layer);
    f->in_type = qdq_arena_strdup(arena, in);
    f->out_type = qdq_arena_strdup(arena, out);
    return f->layer != NULL && f->in_type != NULL && f->out_type != NULL;
}

/* A layer's time goes along with its operators that can be quantized, or where it has none with its
 * nodes. */
static qdq_status give_times(qdq_fb *b, const qdq_fusion_layer *l, qdq_error *err)
{
    const bool conversion = !computes(l->from);
    uint32_t linear = 0;

    b->n_seen++;
    for (uint32_t k = 0; k < l->n; k++)
        linear += b->linear[l->place[k]];
    for (uint32_t k = 0; k < l->n; k++) {
        uint32_t p = l->place[k], group = b->f->of[b->g->node[p]->id];
        qdq_fusion *f = &b->f->at[group];
        double share = linear > 0 ? b->linear[p] ? 1.0 / linear : 0 : 1.0 / l->n;
        double *sum = conversion ? &f->converts_us : &f->us;

        *sum = qdq_fusion_add_time(*sum, share * l->from->median_us);
        if (conversion || b->seen[group] == b->n_seen)
            continue;
        b->seen[group] = b->n_seen; /* there are no more groups than places */
        if (f->layers == 0 && !qdq_fusion_keep_texts(f, &b->f->arena, l->from->layer,
                                                     l->from->in_type, l->from->out_type))
            return qdq_nomem(err);
        f->layers++;
        if (source_of(l->from) < f->source)
            f->source = source_of(l->from);
    }
    return QDQ_OK;
}

qdq_status qdq_fb_set_times(qdq_fb *b, qdq_error *err)
{
    qdq_fusions *f = b->f;

    for (size_t i = 0; i < b->n_layers; i++) {
        const qdq_fusion_layer *l = &b->layer[i];
        double us = l->from->median_us;

        QDQ_TRY(give_times(b, l, err));
        f->us = qdq_fusion_add_time(f->us, us);
        if (!computes(l->from))
            f->converted_us = qdq_fusion_add_time(f->converted_us, us);
        else if (l->n == 0)
            f->unknown_us = qdq_fusion_add_time(f->unknown_us, us);
    }
    if (!isnan(f->us)) {
        f->converted_us = qdq_fusion_add_time(f->converted_us, 0);
        f->unknown_us = qdq_fusion_add_time(f->unknown_us, 0);
    }
    for (uint32_t p = 0; p < b->g->n;
         p++) { /* what is computed there without being named lies between its tensors */
        qdq_fusion *at = &f->at[f->of[b->g->node[p]->id]];
        if (!b->named[p] && !qdq_fusion_is_light(b->g->node[p]) && at->source == QDQ_FUSION_EXACT)
            at->source = QDQ_FUSION_SLICE;
    }
    for (uint32_t k = 0; k < f->n; k++)
        if (f->at[k].layers == 0 || f->at[k].cut)
            f->at[k].source = QDQ_FUSION_STRUCTURAL;
    return QDQ_OK;
}
