/* eval_einsum.c - sums of products over named dims. Every label of the equation is one loop; an
 * input moves along the labels that it has. Sums in double, in the order of the labels, rounded
 * once; integers wrap. */
#include "opt/eval/eval_kernel.h"

#include <string.h>

enum {
    OPERANDS = 8,
    LETTERS = 52,
    /* letters, then the dims of "...", which end at the last label */
    LABELS = LETTERS + QDQ_EVAL_RANK,
    LOOPS = 32,
    MAX_WORK = 1 << 26 /* products of one element each */
};

typedef struct term {
    int label[QDQ_EVAL_RANK];
    int n;
} term;

typedef struct einsum {
    term in[OPERANDS], out;
    uint32_t n_in;
    /* -1: not used */
    int64_t dim[LABELS];
    /* how often inputs name it */
    int count[LABELS];
    int64_t stride[OPERANDS][LABELS];
    /* labels: those of the result, then those that are summed */
    int loop[LOOPS];
    int n_loop;
} einsum;

static int letter_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Labels up to `end`. `rank`: of the array, whose dims without a letter are "..."; -1: `dots` of
 * them. */
static bool read_term(qdq_eval *c, const char *text, const char *end, int rank, int dots, term *t)
{
    int letters = 0, seen_dots = 0;

    for (const char *p = text; p < end; p++)
        letters += letter_of(*p) >= 0;
    if (rank >= 0)
        dots = rank - letters;
    t->n = 0;
    for (const char *p = text; p < end; p++) {
        bool is_dots = end - p >= 3 && memcmp(p, "...", 3) == 0;

        if (*p == ' ')
            continue;
        if ((!is_dots && letter_of(*p) < 0) || (is_dots && seen_dots++ > 0))
            return QDQ_REFUSE(c, "the equation is broken at '%c'", *p);
        if (dots < 0 || dots + letters > QDQ_EVAL_RANK)
            return QDQ_REFUSE(c, "the equation does not fit the ranks of the inputs");
        if (!is_dots)
            t->label[t->n++] = letter_of(*p);
        for (int k = 0; is_dots && k < dots; k++)
            t->label[t->n++] = LABELS - dots + k;
        p += is_dots ? 2 : 0;
    }
    if (rank >= 0 && t->n != rank)
        return QDQ_REFUSE(c, "the equation does not fit the ranks of the inputs");
    return true;
}

/* Dims of "..." are broadcast. */
static bool add_operand(qdq_eval *c, einsum *e, uint32_t i)
{
    const qdq_const *x = c->in[i];
    int64_t stride[QDQ_EVAL_RANK];

    qdq_eval_strides(x->rank, x->dim, stride);
    for (int k = 0; k < x->rank; k++) {
        int label = e->in[i].label[k];
        bool may_stretch = label >= LETTERS;

        if (e->dim[label] < 0 || (may_stretch && e->dim[label] == 1))
            e->dim[label] = x->dim[k];
        else if (e->dim[label] != x->dim[k] && !(may_stretch && x->dim[k] == 1))
            return QDQ_REFUSE(c, "dims of the same name that are not equal");
        e->count[label]++;
        e->stride[i][label] += may_stretch && x->dim[k] == 1 ? 0 : stride[k];
    }
    return true;
}

/* Without "->": the dims of "...", then every letter that is there once, in the order of the
 * alphabet. */
static bool implicit_result(qdq_eval *c, einsum *e)
{
    for (int k = 0; k < LABELS; k++) {
        int label = (k + LETTERS) % LABELS;

        if (e->dim[label] < 0 || (label < LETTERS && e->count[label] != 1))
            continue;
        if (e->out.n == QDQ_EVAL_RANK)
            return QDQ_REFUSE(c, "a result of more than %d dims", QDQ_EVAL_RANK);
        e->out.label[e->out.n++] = label;
    }
    return true;
}

static bool read_result(qdq_eval *c, einsum *e, const char *text, const char *end)
{
    bool seen[LABELS] = {false};
    int dots = 0;

    for (int label = LETTERS; label < LABELS; label++)
        dots += e->dim[label] >= 0;
    if (text == NULL)
        return implicit_result(c, e);
    if (!read_term(c, text, end, -1, dots, &e->out))
        return false;
    for (int k = 0; k < e->out.n; k++) {
        if (e->dim[e->out.label[k]] < 0 || seen[e->out.label[k]])
            return QDQ_REFUSE(c, "the result has a dim that no input has, or one twice");
        seen[e->out.label[k]] = true;
    }
    return true;
}

static bool read_equation(qdq_eval *c, einsum *e, const char *text, size_t size)
{
    const char *end = text + size, *arrow = end;

    for (const char *p = text; p + 1 < end && arrow == end; p++)
        if (p[0] == '-' && p[1] == '>')
            arrow = p;
    for (uint32_t i = 0; i < e->n_in; i++) {
        const char *comma = memchr(text, ',', (size_t)(arrow - text));

        if ((comma == NULL) != (i + 1 == e->n_in))
            return QDQ_REFUSE(c, "the equation has another number of inputs than the node");
        if (!read_term(c, text, comma != NULL ? comma : arrow, c->in[i]->rank, 0, &e->in[i]) ||
            !add_operand(c, e, i))
            return false;
        text = comma != NULL ? comma + 1 : arrow;
    }
    return read_result(c, e, arrow < end ? arrow + 2 : NULL, end);
}

/* The labels in the order of the loops, and how many products they make. */
static bool order_loops(qdq_eval *c, einsum *e, int64_t *work)
{
    bool seen[LABELS] = {false};

    for (int k = 0; k < e->out.n; k++) {
        e->loop[e->n_loop++] = e->out.label[k];
        seen[e->out.label[k]] = true;
    }
    *work = 1;
    for (int label = 0; label < LABELS; label++) {
        if (e->dim[label] < 0)
            continue;
        if (!seen[label] && e->n_loop == LOOPS)
            return QDQ_REFUSE(c, "more than %d dims", LOOPS);
        if (!seen[label])
            e->loop[e->n_loop++] = label;
        if (__builtin_mul_overflow(*work, e->dim[label], work) || *work > MAX_WORK)
            return QDQ_REFUSE(c, "more than %d multiplications", MAX_WORK);
    }
    return true;
}

/* --- the sums --------------------------------------------------------------------------------- */

static qdq_sum product_at(const qdq_eval *c, uint32_t n, const int64_t *at)
{
    qdq_sum p = {.u = 1};

    if (qdq_eval_is_float(c->in[0]->elem)) {
        p.f = qdq_eval_number(c->in[0], at[0]);
        for (uint32_t i = 1; i < n; i++)
            p.f *= qdq_eval_number(c->in[i], at[i]);
    } else
        for (uint32_t i = 0; i < n; i++)
            p.u *= (uint64_t)qdq_elem_int(c->in[i]->elem, c->in[i]->data, at[i]);
    return p;
}

/* The next place of all inputs; false: behind the last one of this result. */
static bool next_place(const einsum *e, int from, int64_t *index, int64_t *at)
{
    for (int k = e->n_loop; k-- > from;) {
        int label = e->loop[k];

        index[k]++;
        for (uint32_t i = 0; i < e->n_in; i++)
            at[i] += e->stride[i][label];
        if (index[k] < e->dim[label])
            return true;
        for (uint32_t i = 0; i < e->n_in; i++)
            at[i] -= e->stride[i][label] * index[k];
        index[k] = 0;
    }
    return false;
}

static void add_all(const qdq_eval *c, const einsum *e, void *out)
{
    qdq_elem elem = c->in[0]->elem;
    int64_t index[LOOPS] = {0}, at[OPERANDS] = {0}, to = 0;
    einsum results = *e; /* walks over the result alone */

    results.n_loop = e->out.n;
    do {
        qdq_sum s = {.u = 0};

        if (qdq_eval_is_float(elem))
            s.f = 0;
        do {
            qdq_sum p = product_at(c, e->n_in, at);

            if (qdq_eval_is_float(elem))
                s.f += p.f;
            else
                s.u += p.u;
        } while (next_place(e, e->out.n, index, at));
        qdq_eval_store(&s, 1, elem, out, to++);
    } while (next_place(&results, 0, index, at));
}

static bool check_inputs(qdq_eval *c)
{
    qdq_elem e = c->in[0]->elem;

    if (c->node->n_in > OPERANDS)
        return QDQ_REFUSE(c, "more than %d inputs", OPERANDS);
    for (uint32_t i = 1; i < c->node->n_in; i++)
        if (c->in[i] == NULL)
            return QDQ_REFUSE(c, "input %u is left out", (unsigned)i);
    if (!qdq_eval_same_types(c))
        return false;
    if (!qdq_eval_is_float(e) && e != QDQ_INT32 && e != QDQ_INT64 && e != QDQ_UINT32 &&
        e != QDQ_UINT64)
        return qdq_eval_refuse_type(c, 0);
    return true;
}

bool qdq_eval_einsum(qdq_eval *c)
{
    const qdq_attr *a = qdq_node_attr(c->node, "equation");
    int64_t dim[QDQ_EVAL_RANK], work;
    einsum e = {.n_in = c->node->n_in};

    if (!check_inputs(c))
        return false;
    if (a == NULL || a->type != QDQ_ATTR_STRING)
        return QDQ_REFUSE(c, "attribute 'equation' is not text");
    for (int label = 0; label < LABELS; label++)
        e.dim[label] = -1;
    if (!read_equation(c, &e, (const char *)a->v.s.data, a->v.s.size) || !order_loops(c, &e, &work))
        return false;
    for (int k = 0; k < e.out.n; k++)
        dim[k] = e.dim[e.out.label[k]];
    void *out = qdq_eval_output(c, 0, c->in[0]->elem, e.out.n, dim);
    if (out == NULL)
        return false;
    if (work > 0) /* a sum of nothing is 0 */
        add_all(c, &e, out);
    return true;
}
