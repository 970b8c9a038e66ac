/* place_islands.c - islands: what runs in 8 bits with float operators all around it. One that
 * multiplies little for each number that is converted at its border is slower than in float,
 * however fast its kernels are. Known only when all nodes are placed. */
#include <math.h>

#include "base/fail.h"
#include "base/words.h"
#include "quant/place/place_state.h"

/* Each tensor at the border costs kernels of its own, which take as long as the conversion of so
 * many numbers (docs/benchmarks.md, "Islands of a Conv"). */
static const double NUMBERS_OF_A_KERNEL = 4096;

/* At positions whose number is known, and at one position of each tensor, where dims are open. */
typedef struct sums {
    /* multiplications of its Conv */
    double work;
    /* numbers that are converted, and tensors with them */
    double border, tensors;
} sums;

typedef struct island {
    /* of a node: the one that stands for its island */
    uint32_t parent;
    sums real, each;
    /* the smallest bound of its Conv; 0: it has none */
    int64_t work_max;
    bool is_open;
    /* it has what the model had in 8 bits, or no rule is about */
    bool stays;
} island;

typedef struct looking {
    qdq_placing *p;
    /* the target's first one about islands */
    const qdq_stay_float *rule;
    /* by node id */
    island *at;
    /* by value id: the node with it in its island, plus 1 */
    uint32_t *in;
} looking;

static island *island_of(const looking *x, uint32_t node)
{
    while (x->at[node].parent != node)
        node = x->at[node].parent = x->at[x->at[node].parent].parent;
    return &x->at[node];
}

static void add_sums(sums *to, const sums *from)
{
    to->work += from->work;
    to->border += from->border;
    to->tensors += from->tensors;
}

static void unite_islands(const looking *x, uint32_t a, uint32_t b)
{
    island *to = island_of(x, a), *from = island_of(x, b);

    if (to == from)
        return;
    add_sums(&to->real, &from->real);
    add_sums(&to->each, &from->each);
    if (from->work_max != 0 && (to->work_max == 0 || from->work_max < to->work_max))
        to->work_max = from->work_max;
    to->is_open |= from->is_open;
    to->stays |= from->stays;
    from->parent = to->parent;
}

/* Without the batch. NAN: not known. */
static double positions_of(const qdq_value *v)
{
    double n = 1;

    for (int i = 2; v->type != NULL && i < v->type->rank; i++)
        n *= v->type->dim[i].value >= 0 ? (double)v->type->dim[i].value : (double)NAN;
    return v->type != NULL ? n : (double)NAN;
}

static double channels_of(const qdq_value *v)
{
    return v->type != NULL && v->type->rank > 1 && v->type->dim[1].value >= 0
               ? (double)v->type->dim[1].value
               : (double)NAN;
}

/* `times`: how often its numbers count; `positions`: of the tensor, for one of those that its
 * island counts. */
static void count_border(island *of, const qdq_value *v, double times, double positions)
{
    const double channels = channels_of(v), all = channels * positions_of(v);

    of->stays |= isnan(channels);
    of->is_open |= isnan(all);
    of->real.border += times * all;
    of->real.tensors++;
    of->each.border += times * channels * positions;
}

/* Positions of the data for one of the result. */
static double stride_of(const qdq_node *n)
{
    const int64_t *ints;
    size_t count;
    double stride = 1;

    if (n->op == QDQ_OP_CONV && qdq_node_ints(n, "strides", &ints, &count))
        for (size_t i = 0; i < count; i++)
            stride *= (double)ints[i];
    return stride;
}

/* n reads v as codes, from 8 bits or from float. */
static void read_codes(const looking *x, const qdq_node *n, const qdq_value *v)
{
    if (x->in[v->id] != 0) {
        unite_islands(x, n->id, x->in[v->id] - 1);
        return;
    }
    x->in[v->id] = n->id + 1;
    island_of(x, n->id)->stays |= qdq_place_found(x->p, v) != NULL;
    count_border(island_of(x, n->id), v, 1, stride_of(n));
}

static void count_work(const looking *x, const qdq_node *n)
{
    const qdq_node_state *s = qdq_state_of(x->p, n);
    island *of = island_of(x, n->id);
    const qdq_found *found;

    of->stays |= s->preserved || (s->rule->kind != QDQ_KIND_JOINT &&
                                  s->rule->kind != QDQ_KIND_PASS && s->island == NULL);
    if (s->island == NULL)
        return;
    /* each number of a weight is multiplied once for each position of the result */
    const double work =
        (double)qdq_place_weight(x->p, qdq_node_in(n, s->rule->weight), &found)->count;
    of->work_max = s->island->island_work_max;
    of->real.work += work * positions_of(qdq_node_out(n, 0));
    of->each.work += work;
}

/* How often the numbers count that are converted for its float readers; 0: there are none. */
static double counts_of(const looking *x, const qdq_value *v)
{
    double counts = v->n_output > 0;

    QDQ_FOR_USES (u, v) {
        if (u->node->graph == x->p->model->graph && qdq_state_of(x->p, u->node)->eight)
            continue;
        counts = fmax(counts, qdq_word_is_in(u->node->type, x->rule->fused_in_float)
                                  ? (double)x->rule->fused_in_float_counts
                                  : 1);
    }
    return counts;
}

/* v has the codes that n gives. */
static void give_codes(const looking *x, const qdq_node *n, const qdq_value *v)
{
    if (v == NULL || !x->p->value[v->id].carries)
        return;
    x->in[v->id] = n->id + 1;
    const double counts = counts_of(x, v);
    if (counts > 0)
        count_border(island_of(x, n->id), v, counts, 1);
}

static void add_node(const looking *x, const qdq_node *n)
{
    const qdq_node_state *s = qdq_state_of(x->p, n);
    const qdq_found *found;

    count_work(x, n);
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = qdq_node_in(n, i);
        if (v != NULL && qdq_place_is_float(v) && qdq_place_weight(x->p, v, &found) == NULL)
            read_codes(x, n, v);
    }
    if (s->rule->kind != QDQ_KIND_PASS)
        give_codes(x, n, s->result);
    else
        for (uint32_t i = 0; i < n->n_out; i++)
            give_codes(x, n, n->out[i]);
}

static bool multiplies_too_little(const island *of)
{
    const sums *s = of->is_open ? &of->each : &of->real;
    const double numbers = s->border + (of->is_open ? 0 : s->tensors * NUMBERS_OF_A_KERNEL);

    return !of->stays && of->work_max != 0 && s->work <= (double)of->work_max * numbers;
}

qdq_status qdq_place_find_islands(qdq_placing *p, const qdq_stay_float *rule, bool *poor,
                                  qdq_error *err)
{
    const looking x = {p, rule, qdq_place_by_node(p, sizeof *x.at),
                       qdq_arena_array(&p->scratch, p->model->graph->values.n + 1, sizeof *x.in)};

    QDQ_NEED(x.at != NULL && x.in != NULL, err);
    QDQ_FOR_PLACED (n, p)
        x.at[n->id].parent = n->id;
    QDQ_FOR_PLACED (n, p)
        if (qdq_state_of(p, n)->eight)
            add_node(&x, n);
    QDQ_FOR_PLACED (n, p)
        poor[n->id] = qdq_state_of(p, n)->eight && qdq_state_of(p, n)->island != NULL &&
                      multiplies_too_little(island_of(&x, n->id));
    return QDQ_OK;
}
