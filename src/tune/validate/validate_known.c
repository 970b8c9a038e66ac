/* validate_known.c - decisions of an earlier run: those that it kept are measured together, the
 * others stand. */
#include "base/fail.h"
#include "tune/validate/validate_state.h"

static bool is_of(const qdq_validate_state *v, uint32_t item, int part)
{
    const qdq_validate_verdict known = v->p->known[item];

    return part == (known == QDQ_VALIDATE_KEPT ? 0 : known == QDQ_VALIDATE_UNDECIDED ? 1 : 2);
}

/* Kept items first, then open ones, then rejected ones; each in its former order. end[k]: of part
 * k. */
static qdq_status part(qdq_validate_state *v, size_t end[3], qdq_error *err)
{
    const size_t n = v->p->n_items;
    uint32_t *order = qdq_arena_array(&v->s.scratch, n + 1, sizeof *order);
    size_t at = 0;

    if (order == NULL)
        return qdq_nomem(err);
    for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++)
            if (is_of(v, v->order[i], k))
                order[at++] = v->order[i];
        end[k] = at;
    }
    v->order = order;
    return QDQ_OK;
}

static void take(qdq_validate_state *v, size_t low, size_t high, size_t trial)
{
    for (size_t i = low; i < high; i++) {
        const uint32_t item = v->order[i];
        qdq_validate_decide(v, &item, 1, v->p->known[item], trial);
        v->out->item[item].known = true;
        if (v->p->known[item] == QDQ_VALIDATE_KEPT)
            v->good++;
        else
            v->bad++;
    }
}

qdq_status qdq_validate_take_known(qdq_validate_state *v, size_t *low, size_t *high, qdq_error *err)
{
    qdq_validate_seen seen = {.kept = true, .trial = SIZE_MAX};
    size_t end[3];

    QDQ_TRY(part(v, end, err));
    if (end[0] > 0)
        QDQ_TRY(qdq_validate_try(v, v->order, end[0], "known groups", (double)end[0], &seen, err));
    if (!seen.kept)
        return v->s.over ? QDQ_OK : qdq_validate_arrange(v, err);
    take(v, 0, end[0], seen.trial);
    take(v, end[1], end[2], SIZE_MAX);
    *low = end[0];
    *high = end[1];
    return QDQ_OK;
}
