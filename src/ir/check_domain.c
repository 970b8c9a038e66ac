/* check_domain.c - the verifier's view of numbers in attributes and constant inputs: engines
 * divide, allocate and index by them, some without a look, and end the process.
 *
 * Only what no engine can accept is an error: ranks and dims are those of initializers and of the
 * model's inputs, never of declared types inside. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "ir/checker.h"
#include "ir/graph_check.h"
#include "ir/qdq_node.h"

#define ERROR(...)   qdq_check_report(c, true, __VA_ARGS__)
#define WARNING(...) qdq_check_report(c, false, __VA_ARGS__)

enum { AXIS_MAX = 1000 }; /* where the rank is not known */
enum { ANY_RANK, SCALAR };
enum { CHECKED_MAX = 1 << 16 }; /* elements of a constant that are looked at */

typedef enum kind { WITHIN, POWER, USUAL, AXIS, TYPE, PERM } kind;

typedef struct domain {
    const char *attr;
    const char *ops;
    kind kind;
    int64_t low, high;
} domain;

static const domain domains[] = {
#define DOMAIN(attr, ops, kind, low, high) {attr, ops, kind, low, high},
#include "ir/attr_domains.def"
#undef DOMAIN
};

typedef struct input_domain {
    const char *ops;
    uint32_t input;
    /* says nothing of lists */
    bool scalars;
    int64_t low, high;
} input_domain;

static const input_domain input_domains[] = {
#define INPUT(ops, input, rank, low, high) {ops, input, (rank) == SCALAR, low, high},
#include "ir/input_domains.def"
#undef INPUT
};

/* --- lookup ----------------------------------------------------------------------------------- */

static size_t first_row(const char *attr)
{
    size_t low = 0, high = QDQ_COUNT(domains);

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(domains[mid].attr, attr) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool lists(const char *ops, const char *type)
{
    return ops == NULL || qdq_text_lists(ops, " ", type, strlen(type));
}

static const domain *find_domain(const qdq_node *n, const char *attr)
{
    for (size_t i = first_row(attr); i < QDQ_COUNT(domains) && strcmp(domains[i].attr, attr) == 0;
         i++)
        if (lists(domains[i].ops, n->type))
            return &domains[i];
    return NULL;
}

/* --- what is certain of an input -------------------------------------------------------------- */

static int rank_of(const qdq_value *v)
{
    if (v == NULL)
        return -1;
    if (v->init != NULL)
        return v->init->rank;
    return v->is_input && v->graph->owner == NULL && v->type != NULL &&
                   v->type->kind == QDQ_TYPE_TENSOR
               ? v->type->rank
               : -1;
}

static int64_t dim_of(const qdq_value *v, int axis)
{
    if (rank_of(v) <= axis)
        return -1;
    return v->init != NULL ? v->init->dim[axis] : v->type->dim[axis].value;
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void outside(qdq_checker *c, const qdq_node *n, const char *attr, int64_t value, int64_t low,
                    int64_t high)
{
    ERROR("%s: attribute '%s' of %s is %" PRId64 "; expected %" PRId64 " to %" PRId64,
          qdq_check_place(c, n), attr, n->type, value, low, high);
}

static void check_axis(qdq_checker *c, const qdq_node *n, const domain *d, int64_t value)
{
    const int rank = rank_of(qdq_node_in(n, 0));
    int64_t low = rank >= 0 ? -(int64_t)rank - d->high : -AXIS_MAX;
    int64_t high = rank >= 0 ? rank - 1 + d->high : AXIS_MAX;

    if (d->low == 1) /* counts from the front alone */
        low = 0;
    if (rank == 0 && (value == 0 || value == -1))
        return; /* engines take a scalar for a list of one */
    if (value < low || value > high)
        outside(c, n, d->attr, value, low, high);
}

/* Tables of float8 and float4 may have one scale for all, which is a block of 0. */
static bool is_one_block(const qdq_node *n, int64_t value)
{
    const qdq_tensor *codes = qdq_node_const(n, 0);

    return value == 0 && codes != NULL && qdq_elem_is_float(codes->elem);
}

static void check_int(qdq_checker *c, const qdq_node *n, const domain *d, int64_t value)
{
    switch (d->kind) {
    case WITHIN:
        if (value < d->low || value > d->high)
            outside(c, n, d->attr, value, d->low, d->high);
        break;
    case POWER:
        if ((value < d->low || value > d->high || (value & (value - 1)) != 0) &&
            !is_one_block(n, value))
            ERROR("%s: attribute '%s' of %s is %" PRId64 "; expected a power of two from %" PRId64
                  " to %" PRId64,
                  qdq_check_place(c, n), d->attr, n->type, value, d->low, d->high);
        break;
    case USUAL:
        if (value < d->low || value > d->high)
            WARNING("%s: attribute '%s' of %s is %" PRId64 "; expected %" PRId64 " to %" PRId64,
                    qdq_check_place(c, n), d->attr, n->type, value, d->low, d->high);
        break;
    case AXIS:
        check_axis(c, n, d, value);
        break;
    case TYPE:
        if (!(d->low == 0 && value == 0) &&
            (value <= 0 || value > INT32_MAX || qdq_elem_name((qdq_elem)value) == NULL))
            ERROR("%s: attribute '%s' of %s is %" PRId64 "; expected an element type",
                  qdq_check_place(c, n), d->attr, n->type, value);
        break;
    case PERM:
        break;
    }
}

static void check_perm(qdq_checker *c, const qdq_node *n, const qdq_attr *a)
{
    const int rank = rank_of(qdq_node_in(n, 0));
    bool seen[AXIS_MAX] = {false};
    bool right = a->count <= AXIS_MAX && (rank < 0 || a->count == (size_t)rank);

    for (size_t i = 0; right && i < a->count; i++) {
        const int64_t axis = a->v.ints[i];

        right = axis >= 0 && axis < (int64_t)a->count && !seen[axis];
        if (right)
            seen[axis] = true;
    }
    if (!right && rank >= 0)
        ERROR("%s: attribute 'perm' of %s has %zu entries; expected each of 0 to %d once",
              qdq_check_place(c, n), n->type, a->count, rank - 1);
    else if (!right)
        ERROR("%s: attribute 'perm' of %s is not a permutation of its %zu entries",
              qdq_check_place(c, n), n->type, a->count);
}

static void check_attr(qdq_checker *c, const qdq_node *n, const qdq_attr *a)
{
    const domain *d = a->ref == NULL ? find_domain(n, a->name) : NULL;

    if (d == NULL)
        return;
    if (a->type == QDQ_ATTR_INT)
        check_int(c, n, d, a->v.i);
    if (a->type != QDQ_ATTR_INTS)
        return;
    if (d->kind == PERM) {
        check_perm(c, n, a);
        return;
    }
    const size_t errors = c->n_error;

    for (size_t i = 0; i < a->count && c->n_error == errors; i++) /* one of a list is enough */
        check_int(c, n, d, a->v.ints[i]);
}

/* --- attributes and inputs that must fit each other ------------------------------------------- */

/* Every list has an entry for each dim of the kernel; pads have two. */
static void check_kernel(qdq_checker *c, const qdq_node *n)
{
    static const struct {
        const char *attr;
        size_t times;
    } lists_of[] = {{"strides", 1}, {"dilations", 1}, {"pads", 2}, {"output_padding", 1}};
    const qdq_value *w = qdq_node_in(n, n->op == QDQ_OP_QLINEARCONV ? 3 : 1);
    const bool is_conv = strstr(n->type, "Conv") != NULL;
    const int64_t *ints;
    size_t spatial = 0, count;

    if (qdq_node_ints(n, "kernel_shape", &ints, &spatial)) {
        if (is_conv && rank_of(w) >= 2 && spatial != (size_t)rank_of(w) - 2)
            ERROR("%s: attribute 'kernel_shape' of %s has %zu entries; expected %d, as its weight",
                  qdq_check_place(c, n), n->type, spatial, rank_of(w) - 2);
    } else if (is_conv && rank_of(w) > 2) {
        spatial = (size_t)rank_of(w) - 2;
    }
    for (size_t i = 0; spatial > 0 && i < QDQ_COUNT(lists_of); i++)
        if (qdq_node_ints(n, lists_of[i].attr, &ints, &count) && count > 0 &&
            count != spatial * lists_of[i].times)
            ERROR("%s: attribute '%s' of %s has %zu entries; expected %zu", qdq_check_place(c, n),
                  lists_of[i].attr, n->type, count, spatial * lists_of[i].times);
}

static void check_group(qdq_checker *c, const qdq_node *n)
{
    const bool is_q = n->op == QDQ_OP_QLINEARCONV, is_transposed = n->op == QDQ_OP_CONVTRANSPOSE;
    const qdq_value *w = qdq_node_in(n, is_q ? 3 : 1);
    const int64_t group = qdq_node_int(n, "group", 1), split = dim_of(w, 0);

    if (group < 1 || group > INT32_MAX)
        return; /* told before */
    if (split >= 0 && split % group != 0)
        ERROR("%s: attribute 'group' of %s is %" PRId64 "; expected a divisor of %" PRId64
              ", the %s channels of its weight",
              qdq_check_place(c, n), n->type, group, split, is_transposed ? "input" : "output");
}

static void check_blocks(qdq_checker *c, const qdq_node *n)
{
    const int64_t b = qdq_node_int(n, "blocksize", 1);
    const bool gathers = n->op == QDQ_OP_SPACETODEPTH;
    const qdq_value *x = qdq_node_in(n, 0);

    if (b < 1 || b > 32768)
        return; /* told before */
    for (int axis = gathers ? 2 : 1; axis < (gathers ? 4 : 2); axis++) {
        const int64_t dim = dim_of(x, axis), parts = gathers ? b : b * b;

        if (dim >= 0 && dim % parts != 0)
            ERROR("%s: attribute 'blocksize' of %s is %" PRId64 "; expected %" PRId64
                  " to divide dim %d, %" PRId64,
                  qdq_check_place(c, n), n->type, b, parts, axis, dim);
    }
}

static void check_split(qdq_checker *c, const qdq_node *n)
{
    const int64_t axis = qdq_node_int(n, "axis", 0), *ints;
    const int rank = rank_of(qdq_node_in(n, 0));
    const int64_t dim = dim_of(qdq_node_in(n, 0), rank > 0 ? (int)((axis + rank) % rank) : 0);
    int64_t sum = 0;
    size_t count;

    if (!qdq_node_ints(n, "split", &ints, &count) || axis < -rank || axis >= rank)
        return;
    if (count != n->n_out)
        ERROR("%s: attribute 'split' of Split has %zu entries; expected %u, as it has outputs",
              qdq_check_place(c, n), count, (unsigned)n->n_out);
    for (size_t i = 0; i < count; i++) {
        if (ints[i] < 0 || ints[i] > INT32_MAX || sum > INT64_MAX - ints[i])
            return; /* told before */
        sum += ints[i];
    }
    if (dim >= 0 && sum != dim)
        ERROR("%s: attribute 'split' of Split adds up to %" PRId64 "; expected %" PRId64,
              qdq_check_place(c, n), sum, dim);
}

/* --- constant inputs -------------------------------------------------------------------------- */

/* The integers or bools of a constant, in `scratch`; false: not known. */
static bool known_ints(const qdq_value *v, qdq_arena *scratch, qdq_elem *elem, qdq_span *bytes)
{
    const qdq_tensor *t = qdq_value_const(v);

    if (t == NULL || t->count > CHECKED_MAX ||
        (t->elem != QDQ_INT64 && t->elem != QDQ_INT32 && t->elem != QDQ_BOOL) ||
        qdq_tensor_data(t, scratch, bytes, NULL) != QDQ_OK)
        return false;
    *elem = t->elem;
    return true;
}

/* The one integer or bool of a constant; false: not known. */
static bool known_scalar(const qdq_value *v, int64_t *out)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_elem elem;
    qdq_span bytes;
    const bool known = known_ints(v, &scratch, &elem, &bytes) && qdq_value_const(v)->count == 1;

    if (known)
        *out = qdq_elem_int(elem, bytes.data, 0);
    qdq_arena_free(&scratch);
    return known;
}

static void check_input(qdq_checker *c, const qdq_node *n, const input_domain *d)
{
    const qdq_value *v = qdq_node_in(n, d->input);
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_elem elem;
    qdq_span bytes;

    if ((!d->scalars || rank_of(v) == 0) && known_ints(v, &scratch, &elem, &bytes)) {
        const size_t errors = c->n_error, count = (size_t)qdq_value_const(v)->count;

        for (size_t i = 0; i < count && c->n_error == errors; i++) { /* one of a list is enough */
            const int64_t value = qdq_elem_int(elem, bytes.data, i);

            if (value < d->low || value > d->high)
                ERROR("%s: input %u of %s is %" PRId64 "; expected %" PRId64 " to %" PRId64,
                      qdq_check_place(c, n), (unsigned)d->input, n->type, value, d->low, d->high);
        }
    }
    qdq_arena_free(&scratch);
}

static void check_inputs(qdq_checker *c, const qdq_node *n)
{
    for (size_t i = 0; i < QDQ_COUNT(input_domains); i++)
        if (n->n_in > input_domains[i].input && lists(input_domains[i].ops, n->type))
            check_input(c, n, &input_domains[i]);
}

/* --- loops ------------------------------------------------------------------------------------ */

enum { MAX_TRIPS = 1 << 24 }; /* a minute of the shortest body */

/* No iteration can make the condition false: it is true at first, and the body hands it on or sets
 * it. */
static bool never_stops(const qdq_node *n, const qdq_graph *body)
{
    const qdq_value *v = body->outputs.n > 0 ? body->outputs.at[0] : NULL;
    int64_t yes = 1;

    for (int i = 0;
         v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_IDENTITY && i < AXIS_MAX;
         i++)
        v = qdq_node_in(v->producer, 0);
    if (v == NULL)
        return false;
    if (body->inputs.n > 1 && v == body->inputs.at[1])
        return qdq_node_in(n, 1) == NULL || (known_scalar(qdq_node_in(n, 1), &yes) && yes != 0);
    return known_scalar(v, &yes) && yes != 0 &&
           (qdq_node_in(n, 1) == NULL || (known_scalar(qdq_node_in(n, 1), &yes) && yes != 0));
}

/* OpenVINO takes a negative count for none. */
static void check_loop(qdq_checker *c, const qdq_node *n)
{
    const qdq_attr *a = qdq_node_attr(n, "body");
    int64_t trips = INT64_MAX;

    if (a == NULL || a->type != QDQ_ATTR_GRAPH || a->v.g == NULL || !never_stops(n, a->v.g) ||
        (qdq_node_in(n, 0) != NULL && !known_scalar(qdq_node_in(n, 0), &trips)) ||
        (trips >= 0 && trips <= MAX_TRIPS))
        return;
    if (qdq_node_in(n, 0) == NULL)
        ERROR("%s: Loop has no trip count and a condition that stays true; expected an end",
              qdq_check_place(c, n));
    else
        ERROR("%s: Loop has a trip count of %" PRId64
              " and a condition that stays true; expected 0 to %d",
              qdq_check_place(c, n), trips, MAX_TRIPS);
}

static void check_scan(qdq_checker *c, const qdq_node *n)
{
    const int64_t inputs = qdq_node_int(n, "num_scan_inputs", 1);

    if (inputs > (int64_t)n->n_in)
        ERROR("%s: attribute 'num_scan_inputs' of Scan is %" PRId64
              "; expected 1 to %u, as it has inputs",
              qdq_check_place(c, n), inputs, (unsigned)n->n_in);
}

static void check_fit(qdq_checker *c, const qdq_node *n)
{
    switch ((int)n->op) {
    case QDQ_OP_CONV:
    case QDQ_OP_CONVINTEGER:
    case QDQ_OP_CONVTRANSPOSE:
    case QDQ_OP_QLINEARCONV:
        check_group(c, n);
        check_kernel(c, n);
        break;
    case QDQ_OP_AVERAGEPOOL:
    case QDQ_OP_MAXPOOL:
    case QDQ_OP_LPPOOL:
        check_kernel(c, n);
        break;
    case QDQ_OP_DEPTHTOSPACE:
    case QDQ_OP_SPACETODEPTH:
        check_blocks(c, n);
        break;
    case QDQ_OP_SPLIT:
        check_split(c, n);
        break;
    case QDQ_OP_SCAN:
        check_scan(c, n);
        break;
    case QDQ_OP_LOOP:
        check_loop(c, n);
        break;
    default:
        break;
    }
}

void qdq_check_domains(qdq_checker *c, const qdq_node *n)
{
    const size_t errors = c->n_error;
    const bool is_ours =
        qdq_node_is_contrib(n, "MatMulNBits") || qdq_node_is_contrib(n, "GatherBlockQuantized");

    if ((qdq_plain_domain(n->domain)[0] != '\0' && !is_ours) || qdq_check_is_call(c, n))
        return;
    for (uint32_t i = 0; i < n->n_attr; i++)
        check_attr(c, n, n->attr[i]);
    if (is_ours)
        return;
    check_inputs(c, n);
    if (c->n_error == errors && n->n_attr > 0)
        check_fit(c, n);
}

qdq_status qdq_model_check_domains(const qdq_model *m, qdq_error *err)
{
    qdq_checker c = {.m = m, .first_only = true, .wants_domains = true};

    qdq_check_functions(&c);
    QDQ_FOR_GRAPHS (g, m) {
        if (c.nomem || c.found.n > 0)
            break;
        QDQ_FOR_NODES (n, g)
            qdq_check_domains(&c, n);
    }
    return qdq_check_conclude(&c, err);
}

qdq_status qdq_node_check_domains(const qdq_node *n, qdq_error *err)
{
    qdq_checker c = {.m = n->graph->model, .first_only = true, .wants_domains = true};

    qdq_check_functions(&c);
    qdq_check_domains(&c, n);
    return qdq_check_conclude(&c, err);
}
