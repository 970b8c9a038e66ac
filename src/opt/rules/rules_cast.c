/* rules_cast.c - Cast, where the element types are proven. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

static qdq_elem target_of(const qdq_node *cast)
{
    int64_t to = qdq_node_int(cast, "to", 0);

    return to > 0 && to < QDQ_ELEM_COUNT ? (qdq_elem)to : QDQ_UNDEFINED;
}

/* --- drop-noop-cast: y = Cast(x) to what x is  =>  x --------------------------------------------
 *
 * Q/DQ: SAFE. */

static const qdq_pat noop_pat[] = {{"y", QDQ_OP_CAST, {"x"}, 0}};

static const char *noop_check(const qdq_match *m)
{
    qdq_elem e = qdq_match_elem(m, qdq_match_value(m, "x"));

    return e != QDQ_UNDEFINED && e == target_of(m->root) ? NULL : qdq_not_this;
}

const qdq_rule qdq_rule_drop_noop_cast = {
    QDQ_RULE_PAT(noop_pat),
    .min_opset = 6, /* below, the type is a string */
    .check = noop_check,
    .build = qdq_rule_become_x,
};

/* --- castlike-to-cast: y = CastLike(x, like)  =>  Cast(x) to the type of `like` -----------------
 *
 * Q/DQ: SAFE. */

static const qdq_pat castlike_pat[] = {{"y", QDQ_OP_CASTLIKE, {"x", "like"}, 0}};

static const char *castlike_check(const qdq_match *m)
{
    if (qdq_match_elem(m, qdq_match_value(m, "like")) == QDQ_UNDEFINED)
        return "the type to cast to is not known";
    return NULL;
}

static qdq_status castlike_build(qdq_match *m, qdq_error *err)
{
    int64_t to = qdq_match_elem(m, qdq_match_value(m, "like"));
    int64_t saturate = qdq_node_int(m->root, "saturate", 1);

    QDQ_TRY(qdq_match_recast(m, "Cast", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err));
    if (!qdq_node_set_int(m->root, "to", to) ||
        (saturate != 1 && !qdq_node_set_int(m->root, "saturate", saturate)))
        return qdq_nomem(err);
    return QDQ_OK;
}

const qdq_rule qdq_rule_castlike_to_cast = {
    QDQ_RULE_PAT(castlike_pat),
    .check = castlike_check,
    .build = castlike_build,
};

/* --- merge-casts: y = Cast(Cast(x))  =>  Cast(x), where the first one loses nothing -------------
 *
 * What a type can hold: integers by their range, floating point by its bits. A value that goes
 * through a wider type unharmed is rounded or wrapped once, by the second Cast. Not merged where
 * what comes out is the engine's own choice: floating point to integers that may be out of range.
 * Q/DQ: SAFE, the codes and real values are the same. */

static const qdq_pat merge_pat[] = {
    {"y", QDQ_OP_CAST, {"t"}, 0},
    {"t", QDQ_OP_CAST, {"x"}, 0},
};

typedef struct holds {
    bool known, is_float, has_sign;
    /* all integers of this many bits, besides the sign */
    unsigned integer;
    /* of floating point types: bits */
    unsigned exponent;
} holds;

static holds what_holds(qdq_elem e)
{
    const qdq_elem_info *info = qdq_elem_get_info(e);

    if (info->kind == QDQ_ELEM_BOOL)
        return (holds){true, false, false, 1, 0};
    if (info->kind == QDQ_ELEM_UINT && info->bits >= 8)
        return (holds){true, false, false, info->bits, 0};
    if (info->kind == QDQ_ELEM_INT && info->bits >= 8)
        return (holds){true, false, true, info->bits - 1U, 0};
    if (info->digits > 0)
        return (holds){true, true, true, info->digits, info->exponent};
    return (holds){false, false, false, 0, 0};
}

/* Every value of `a` is one of `b`. */
static bool holds_all(holds b, holds a)
{
    if (!a.known || !b.known || (a.has_sign && !b.has_sign) || (a.is_float && !b.is_float))
        return false;
    return a.integer <= b.integer && a.exponent <= b.exponent;
}

static const char *merge_check(const qdq_match *m)
{
    qdq_elem source = qdq_match_elem(m, qdq_match_value(m, "x"));
    qdq_elem middle = target_of(qdq_match_node(m, "t")), last = target_of(m->root);
    holds x = what_holds(source), t = what_holds(middle), y = what_holds(last);

    if (source == QDQ_UNDEFINED)
        return "the type of what is cast first is not known";
    if (!holds_all(t, x))
        return "the first Cast rounds or wraps";
    if (!y.known)
        return "the second Cast is to a type with rules of its own";
    if (t.is_float && !y.is_float && last != QDQ_BOOL && !holds_all(y, x))
        return "floating point numbers out of the range of integers";
    return NULL;
}

const qdq_rule qdq_rule_merge_casts = {
    QDQ_RULE_PAT(merge_pat),
    .min_opset = 6,
    .check = merge_check,
    .build = qdq_rule_read_x,
};
