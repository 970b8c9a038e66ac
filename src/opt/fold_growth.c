/* fold_growth.c - folding never makes the file larger.
 *
 * Whether a result pays is known at the end of the walk only: a mask of a megabyte may be on the
 * way to four numbers. So the walk computes within the limits, and this file then counts what the
 * model would gain and lose. The nodes are parted into groups that share results and constants; a
 * group weighs the results that are still read, less the constants that nothing reads any more and
 * the texts of its nodes. A group that is no heavier than before is folded. In one that is, each
 * result stands for itself: it replaces its node if it weighs no more than the node and the
 * cheapest form of those inputs that nothing else reads. Such inputs form trees that do not
 * overlap, so the sum does not grow, either.
 *
 * Results of up to FREE bytes weigh nothing: the names of a node take about as much, and shape
 * arithmetic ends there. Nor do scales and zero points of Q and DQ. */
#include <string.h>

#include "base/fail.h"
#include "base/union_find.h"
#include "opt/fold_state.h"

enum { FREE = 64 };

static const char too_large[] = "the file would become larger";

typedef struct growth {
    qdq_folder *f;
    /* by node id: index in f->nodes + 1; 0: not computed */
    uint32_t *at;
    /* by index: for qdq_part_of() */
    uint32_t *group;
    /* by index of a root: bytes */
    int64_t *grown;
    /* by value id: bytes of the cheapest form of a value that the file may do without */
    uint64_t *cheapest;
    /* by index */
    bool *stays;
    /* by value id, while nothing stays: 0 not asked for yet */
    unsigned char *state;
    /* by value id */
    bool *counted;
} growth;

/* --- sizes ------------------------------------------------------------------------------------ */

static uint64_t text_bytes(const qdq_node *n)
{
    uint64_t sum = strlen(n->type) + strlen(n->name);

    for (uint32_t i = 0; i < n->n_in; i++)
        sum += n->in[i].value != NULL ? strlen(n->in[i].value->name) : 0;
    for (uint32_t i = 0; i < n->n_attr; i++)
        sum += strlen(n->attr[i]->name);
    return sum;
}

static bool is_computed(const growth *w, const qdq_node *n)
{
    return n->graph == w->f->g && w->at[n->id] > 0 && !w->stays[w->at[n->id] - 1];
}

static bool is_read(const growth *w, const qdq_value *v)
{
    if (v->n_output > 0)
        return true;
    QDQ_FOR_USES (u, v)
        if (!is_computed(w, u->node))
            return true;
    return false;
}

static bool is_parameter(const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (qdq_fold_is_parameter(u->node, u->index))
            return true;
    return false;
}

/* What the results of n that are read weigh in the file. */
static uint64_t result_bytes(const growth *w, const qdq_node *n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && is_read(w, n->out[i]) && !is_parameter(n->out[i]))
            sum += w->f->result[n->out[i]->id].c.bytes;
    return sum > FREE ? sum : 0;
}

/* --- groups ----------------------------------------------------------------------------------- */

enum { FREED = 1, READ = 2 };

/* A constant or result that goes away when the nodes do. Each value is looked at once: many nodes
 * may read it. */
static bool is_freed(growth *w, const qdq_value *v)
{
    if (!qdq_fold_may_free(w->f, v) || v->id >= w->f->n_values)
        return false;
    if (w->state[v->id] == 0)
        w->state[v->id] = is_read(w, v) ? READ : FREED;
    return w->state[v->id] == FREED;
}

/* Small constants, which many nodes share, join no groups. */
static void join_readers(growth *w, size_t i)
{
    const qdq_node *n = w->f->nodes.at[i];

    for (uint32_t k = 0; k < n->n_in; k++) {
        const qdq_value *v = n->in[k].value;

        if (v == NULL || v->graph != w->f->g || v->id >= w->f->n_values)
            continue;
        if (v->producer != NULL && is_computed(w, v->producer))
            qdq_part_join(w->group, (uint32_t)i, w->at[v->producer->id] - 1);
        else if (v->first->node != n && qdq_fold_bytes_of(w->f, v) > FREE && is_freed(w, v))
            qdq_part_join(w->group, (uint32_t)i, w->at[v->first->node->id] - 1);
    }
}

static void weigh(growth *w, size_t i)
{
    const qdq_node *n = w->f->nodes.at[i];
    int64_t *sum = &w->grown[qdq_part_of(w->group, (uint32_t)i)];

    *sum += (int64_t)result_bytes(w, n) - (int64_t)text_bytes(n);
    for (uint32_t k = 0; k < n->n_in; k++) {
        const qdq_value *v = n->in[k].value;

        if (v == NULL || v->graph != w->f->g || v->id >= w->f->n_values || w->counted[v->id] ||
            w->f->result[v->id].c.data != NULL || !is_freed(w, v))
            continue;
        w->counted[v->id] = true;
        *sum -= (int64_t)qdq_fold_bytes_of(w->f, v);
    }
}

/* --- single results --------------------------------------------------------------------------- */

/* Bytes that node i and what serves it alone take, in their cheapest form. */
static uint64_t node_bytes(const growth *w, size_t i)
{
    const qdq_node *n = w->f->nodes.at[i];
    uint64_t sum = text_bytes(n);

    for (uint32_t k = 0; k < n->n_in; k++) {
        const qdq_value *v = n->in[k].value;

        if (v == NULL || v->n_use != 1 || !qdq_fold_may_free(w->f, v) || v->id >= w->f->n_values)
            continue;
        sum += w->f->result[v->id].c.data != NULL ? w->cheapest[v->id] : qdq_fold_bytes_of(w->f, v);
    }
    return sum;
}

static void find_cheapest(growth *w, size_t i)
{
    const qdq_node *n = w->f->nodes.at[i];
    const qdq_value *y = n->out[0];
    uint64_t bytes = node_bytes(w, i);

    if (n->n_out != 1 || y == NULL)
        return;
    w->cheapest[y->id] = w->f->result[y->id].c.bytes < bytes ? w->f->result[y->id].c.bytes : bytes;
}

/* --- the pass --------------------------------------------------------------------------------- */

static bool open_growth(growth *w, qdq_folder *f)
{
    size_t n = f->nodes.n;

    w->f = f;
    w->at = qdq_arena_array(&f->memory, (size_t)f->g->next_node_id + 1, sizeof *w->at);
    w->group = qdq_arena_array(&f->memory, n + 1, sizeof *w->group);
    w->grown = qdq_arena_array(&f->memory, n + 1, sizeof *w->grown);
    w->stays = qdq_arena_array(&f->memory, n + 1, sizeof *w->stays);
    w->cheapest = qdq_arena_array(&f->memory, f->n_values + 1, sizeof *w->cheapest);
    w->state = qdq_arena_array(&f->memory, f->n_values + 1, sizeof *w->state);
    w->counted = qdq_arena_array(&f->memory, f->n_values + 1, sizeof *w->counted);
    if (w->at == NULL || w->group == NULL || w->grown == NULL || w->stays == NULL ||
        w->cheapest == NULL || w->state == NULL || w->counted == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        w->at[f->nodes.at[i]->id] = (uint32_t)i + 1;
        w->group[i] = (uint32_t)i;
    }
    return true;
}

/* With a budget for growth that somebody gave, growth is what they want; the walk has kept to
 * it. */
static void choose(growth *w)
{
    size_t n = w->f->nodes.n;

    if (w->f->policy.growth_bytes > 0)
        return;
    for (size_t i = 0; i < n; i++)
        join_readers(w, i);
    for (size_t i = 0; i < n; i++)
        weigh(w, i);
    for (size_t i = 0; i < n; i++)
        find_cheapest(w, i);
    for (size_t i = n; i-- > 0;) {
        if (w->grown[qdq_part_of(w->group, (uint32_t)i)] <= 0 ||
            result_bytes(w, w->f->nodes.at[i]) <= node_bytes(w, i))
            continue;
        w->stays[i] = true; /* its inputs are read from now on */
        qdq_opt_refuse(w->f->o, w->f->nodes.at[i], too_large);
    }
}

/* The results of node n once more, for f->result. */
static qdq_status compute_again(qdq_folder *f, const qdq_node *n)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&f->work);
    qdq_const out[QDQ_EVAL_OUTPUTS];
    const char *why = NULL;
    uint64_t ignored = 0;
    qdq_status st = QDQ_OK;

    if (qdq_eval_knows(n->op) && qdq_fold_all_known(f, n)) {
        QDQ_TRY(qdq_fold_evaluate(f, n, SIZE_MAX, out, &why));
    } else {
        qdq_tensor *t = qdq_facts_tensor(f->facts, n->out[0], &st);

        QDQ_NEED(t != NULL, f->err);
        QDQ_TRY(qdq_const_of_tensor(t, &f->work, &out[0], &why, f->err));
    }
    if (why != NULL)
        return qdq_fail(f->err, QDQ_E_BUG, "constant folding: what was computed is not: %s", why);
    QDQ_NEED(qdq_fold_keep_results(f, n, out, &ignored), f->err);
    qdq_arena_reset(&f->work, mark);
    return st;
}

/* True if something that is folded is made of what node i makes. Asked from the last node to the
 * first. */
static bool is_needed(const growth *w, size_t i, const bool *needed)
{
    const qdq_node *n = w->f->nodes.at[i];

    if (!w->stays[i])
        return true;
    for (uint32_t k = 0; k < n->n_out; k++)
        if (n->out[k] != NULL)
            QDQ_FOR_USES (u, n->out[k])
                if (u->node->graph == n->graph && w->at[u->node->id] > 0 &&
                    needed[w->at[u->node->id] - 1])
                    return true;
    return false;
}

static qdq_status compute_needed(growth *w)
{
    qdq_folder *f = w->f;
    bool *needed = qdq_arena_array(&f->memory, f->nodes.n + 1, sizeof *needed);

    QDQ_NEED(needed != NULL, f->err);
    for (size_t i = f->nodes.n; i-- > 0;)
        needed[i] = is_needed(w, i, needed);
    for (size_t i = 0; i < f->nodes.n; i++) {
        if (needed[i])
            QDQ_TRY(compute_again(f, f->nodes.at[i]));
        if (!w->stays[i])
            qdq_fold_release_inputs(f, f->nodes.at[i]);
    }
    return QDQ_OK;
}

/* Data that a staying node reads may have been dropped: what is needed is computed again. */
static qdq_status leave_out(growth *w)
{
    qdq_folder *f = w->f;
    size_t kept = 0;

    for (size_t i = 0; i < f->n_values; i++) {
        qdq_fold_drop_result(&f->result[i]);
        f->result[i] = (qdq_fold_result){.heap = NULL};
        f->left[i] = f->g->values.at[i]->n_use;
    }
    QDQ_TRY(compute_needed(w));
    for (size_t i = 0; i < f->nodes.n; i++) {
        f->folded[f->nodes.at[i]->id] = !w->stays[i];
        if (!w->stays[i])
            f->nodes.at[kept++] = f->nodes.at[i];
    }
    f->nodes.n = kept;
    return QDQ_OK;
}

qdq_status qdq_fold_settle(qdq_folder *f)
{
    growth w;
    bool any = false;

    if (f->nodes.n == 0)
        return QDQ_OK;
    QDQ_NEED(open_growth(&w, f), f->err);
    choose(&w);
    for (size_t i = 0; i < f->nodes.n; i++) {
        w.stays[i] = w.stays[i] || !qdq_opt_take(f->o, f->nodes.at[i]);
        any = any || w.stays[i];
    }
    return any ? leave_out(&w) : QDQ_OK;
}
