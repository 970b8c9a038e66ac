/* qoperator_move.c - operators that compute on codes as they would on the floats behind them: they
 * move them, or pick the largest. Between Q and DQ they are taken for what they are on floats. */
#include <string.h>

#include "base/fail.h"
#include "opt/qdq/qoperator.h"

typedef enum moving {
    MOVES,   /* output 0, and those of Split, have the input's codes */
    INDEXES, /* its result is no code */
    JOINS,   /* all inputs have the same codes */
    PADS     /* a further input is a code, too */
} moving;

static const struct {
    const char *op;
    moving how;
} movers[] = {
    {"MaxPool", MOVES},      {"Reshape", MOVES},
    {"Transpose", MOVES},    {"Squeeze", MOVES},
    {"Unsqueeze", MOVES},    {"Flatten", MOVES},
    {"Slice", MOVES},        {"Gather", MOVES},
    {"GatherND", MOVES},     {"Split", MOVES},
    {"Expand", MOVES},       {"Tile", MOVES},
    {"Identity", MOVES},     {"DepthToSpace", MOVES},
    {"SpaceToDepth", MOVES}, {"GatherElements", MOVES},
    {"ReduceMax", MOVES},    {"ReduceMin", MOVES},
    {"ArgMax", INDEXES},     {"ArgMin", INDEXES},
    {"Concat", JOINS},       {"Pad", PADS},
    {"Resize", MOVES},
};

static bool is_mover(const qdq_node *n, moving *how)
{
    for (size_t i = 0; i < QDQ_COUNT(movers) && n->domain[0] == '\0'; i++)
        if (strcmp(n->type, movers[i].op) == 0) {
            *how = movers[i].how;
            return true;
        }
    return false;
}

static bool same_codes(const qdq_codes *a, const qdq_codes *b)
{
    return a != NULL && b != NULL && a->scale == b->scale && a->zero == b->zero &&
           a->elem == b->elem;
}

/* Why the node is not the same on floats, or NULL. */
static const char *check_mover(const qdq_qop *s, const qdq_node *n, moving how, const qdq_codes *c)
{
    for (uint32_t i = 1; how == JOINS && i < n->n_in; i++)
        if (qdq_node_in(n, i) == NULL || !same_codes(c, qdq_qop_codes(s, n->in[i].value)))
            return "it joins codes of different scales";
    if (strcmp(n->type, "Resize") == 0 && !qdq_node_string_is(n, "mode", "nearest", "nearest"))
        return "it interpolates codes";
    if (how == PADS && qdq_node_string_is(n, "mode", "constant", "constant") &&
        qdq_node_in(n, 2) == NULL)
        return "it pads with code 0";
    return n->n_out > 0 && n->out[0] != NULL ? NULL : "it has no output";
}

/* Inputs that are codes of `c`. */
static qdq_status dequantize_inputs(qdq_qop *s, qdq_node *n, moving how, const qdq_codes *c)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        bool is_code = i == 0 || how == JOINS || (how == PADS && i == 2);

        if (!is_code || qdq_node_in(n, i) == NULL)
            continue;
        qdq_value *v = qdq_qop_dequantize(s, n, n->in[i].value, c->scale, c->zero, -1);
        QDQ_NEED(v != NULL, s->err);
        qdq_node_set_in(n, i, v);
    }
    return QDQ_OK;
}

qdq_status qdq_qop_move(qdq_qop *s, qdq_node *n, bool *done)
{
    const qdq_value *v = qdq_node_in(n, 0);
    const qdq_codes *c = v != NULL ? qdq_qop_codes(s, v) : NULL;
    moving how = MOVES;

    *done = c != NULL && is_mover(n, &how);
    if (!*done)
        return QDQ_OK;
    if (!qdq_opt_take_unless(s->o, n, check_mover(s, n, how, c)))
        return QDQ_OK;
    bool all = strcmp(n->type, "Split") == 0; /* the second result of MaxPool is an index */
    QDQ_TRY(dequantize_inputs(s, n, how, c));
    for (uint32_t i = 0; i < (all ? n->n_out : 1) && how != INDEXES; i++)
        if (n->out[i] != NULL)
            QDQ_TRY(qdq_qop_requantize(s, n, i, *c));
    return QDQ_OK;
}
