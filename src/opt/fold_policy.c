/* fold_policy.c - applies limits, lists and the caller's decision to nodes that could be folded. */
#include "opt/fold_policy.h"

#include <string.h>

bool qdq_fold_never(qdq_op op)
{
    return op == QDQ_OP_QUANTIZELINEAR || op == QDQ_OP_DEQUANTIZELINEAR ||
           op == QDQ_OP_DYNAMICQUANTIZELINEAR;
}

/* Unknown names were refused before (pass.c). */
static void mark(qdq_fold_policy *p, const char *const *names, bool never)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        p->never[qdq_op_find("", names[i])] = never;
}

/* --- arguments of the pass -------------------------------------------------------------------- */

typedef struct fold_arg {
    enum { NO, ONLY, INPUT, OUTPUT, GROWTH } kind;
    qdq_op op;
    uint64_t bytes;
} fold_arg;

/* At most 18 digits. */
static bool read_bytes(const char *text, size_t size, uint64_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *bytes = *bytes * 10 + (uint64_t)(text[i] - '0');
    }
    return size > 0 && size <= 18;
}

static bool read_op(const char *text, size_t size, qdq_op *op)
{
    char name[64];

    if (size >= sizeof name)
        return false;
    memcpy(name, text, size);
    name[size] = '\0';
    *op = qdq_op_find("", name);
    return *op != QDQ_OP_UNKNOWN;
}

static bool read_arg(const char *text, size_t size, fold_arg *a)
{
    static const char *const names[] = {"no=", "only=", "input=", "output=", "growth="};

    for (int k = NO; k <= GROWTH; k++) {
        size_t n = strlen(names[k]);

        if (size <= n || memcmp(text, names[k], n) != 0)
            continue;
        *a = (fold_arg){.kind = k};
        if (k > ONLY)
            return read_bytes(text + n, size - n, &a->bytes);
        return read_op(text + n, size - n, &a->op) && (k == NO || !qdq_fold_never(a->op));
    }
    return false;
}

bool qdq_fold_knows_arg(const char *text, size_t size)
{
    fold_arg a;

    return read_arg(text, size, &a);
}

static void apply_args(qdq_fold_policy *p, const char *text)
{
    uint64_t *const limits[] = {
        [INPUT] = &p->input_bytes, [OUTPUT] = &p->output_bytes, [GROWTH] = &p->growth_bytes};
    bool is_first = true;
    fold_arg a;

    for (size_t size; *text != '\0'; text += size + (text[size] == '+')) {
        size = strcspn(text, "+");
        if (!read_arg(text, size, &a))
            continue; /* refused before (pipeline.c) */
        if (a.kind > ONLY) {
            *limits[a.kind] = a.bytes;
            continue;
        }
        if (a.kind == ONLY && is_first)
            memset(p->never, true, sizeof p->never);
        is_first = is_first && a.kind != ONLY;
        p->never[a.op] = a.kind == NO;
    }
}

void qdq_fold_policy_open(qdq_fold_policy *p, qdq_opt *o)
{
    *p = (qdq_fold_policy){.o = o,
                           .input_bytes = o->opts->fold_input_bytes,
                           .output_bytes = o->opts->fold_output_bytes,
                           .growth_bytes = o->opts->growth_bytes};
    if (o->opts->fold_only != NULL)
        memset(p->never, true, sizeof p->never);
    mark(p, o->opts->fold_only, false);
    mark(p, o->opts->no_fold, true);
    apply_args(p, o->arg);
}

/* --- one node --------------------------------------------------------------------------------- */

static qdq_fold ask(const qdq_fold_policy *p, const qdq_fold_cost *c)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_fold answer = QDQ_FOLD_DEFAULT;

    if (p->o->opts->should_fold != NULL) {
        qdq_fold_node n = {.label = qdq_node_label(c->node, &scratch),
                           .op = c->node->type,
                           .in_bytes = c->in_bytes,
                           .out_bytes = c->out_bytes};
        answer = p->o->opts->should_fold(p->o->opts->ctx, &n);
    }
    qdq_arena_free(&scratch);
    return answer;
}

/* Without a budget the file does not grow in the end (fold_growth.c), but results on the way take
 * memory. */
static uint64_t growth_limit(const qdq_fold_policy *p)
{
    return p->growth_bytes != 0 ? p->growth_bytes : (uint64_t)1 << 20;
}

const char *qdq_fold_decide(qdq_fold_policy *p, const qdq_fold_cost *c, uint64_t *max_bytes)
{
    qdq_fold answer;

    if (p->never[c->node->op])
        return "the options exclude this operator";
    answer = ask(p, c);
    if (answer == QDQ_FOLD_NO)
        return "should_fold said no";
    *max_bytes = p->output_bytes;
    if (answer != QDQ_FOLD_YES && c->largest_input > p->input_bytes) {
        if (!c->inputs_are_its_own)
            return "an input is larger than the limit";
        *max_bytes = c->freed_bytes; /* no larger than what it replaces */
    }
    if (*max_bytes < c->freed_bytes)
        *max_bytes = c->freed_bytes;
    if (c->out_bytes != UINT64_MAX && c->out_bytes > *max_bytes)
        return "the result is larger than the limit";
    if (c->out_bytes != UINT64_MAX && c->out_bytes > c->freed_bytes &&
        (uint64_t)(p->grown > 0 ? p->grown : 0) + (c->out_bytes - c->freed_bytes) > growth_limit(p))
        return "the constants would grow beyond the budget";
    return NULL;
}

enum { SPELLED_NODES = 8 }; /* between a Cast to integers and the one to float */

static bool is_spelling(qdq_op op)
{
    return op == QDQ_OP_TRANSPOSE || op == QDQ_OP_RESHAPE || op == QDQ_OP_SQUEEZE ||
           op == QDQ_OP_UNSQUEEZE || op == QDQ_OP_FLATTEN || op == QDQ_OP_SUB || op == QDQ_OP_MUL ||
           op == QDQ_OP_DIV;
}

/* Integers: does each reader lead to a Cast to float? */
static bool becomes_float(const qdq_value *y, int depth)
{
    if (y == NULL || y->n_use == 0 || y->n_output > 0 || depth == 0)
        return false;
    QDQ_FOR_USES (u, y)
        if (u->node->op == QDQ_OP_CAST
                ? !qdq_elem_is_float((qdq_elem)qdq_node_int(u->node, "to", 0))
                : !is_spelling(u->node->op) || !becomes_float(qdq_node_out(u->node, 0), depth - 1))
            return false;
    return true;
}

bool qdq_is_spelled_dequantize(const qdq_node *n, qdq_elem from, qdq_elem to, int64_t count)
{
    const qdq_value *y = qdq_node_out(n, 0);
    bool is_larger = qdq_elem_bits(to) > qdq_elem_bits(from);

    if ((n->op != QDQ_OP_CAST && n->op != QDQ_OP_CASTLIKE) || count < 2 || !qdq_elem_is_int(from) ||
        from == QDQ_BOOL || y == NULL || y->n_use == 0 || y->n_output > 0)
        return false;
    if (!qdq_elem_is_float(to))
        return is_larger && qdq_elem_is_int(to) && qdq_elem_bits(from) <= 16 &&
               becomes_float(y, SPELLED_NODES);
    if (!is_larger && qdq_elem_bits(from) > 16)
        return false;
    QDQ_FOR_USES (u, y)
        if (!is_spelling(u->node->op))
            return false;
    return true;
}
