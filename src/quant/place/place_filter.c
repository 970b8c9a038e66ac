/* place_filter.c - see the header. Patterns are matched against labels once each: patterns times
 * nodes. */
#include "quant/place/place_filter.h"

#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/regexp.h"

typedef struct filter {
    qdq_node *const *order;
    size_t n_order;
    const qdq_place_opts *opts;
    qdq_arena *scratch;
    const char **reason; /* by node id */
} filter;

static const char not_included[] = "not included by the user";
static const char not_asked_for[] = "operator not asked for";

bool qdq_place_goes_along(const char *reason)
{
    return reason == NULL || reason == not_included || reason == not_asked_for;
}

static void keep_out(const filter *f, const qdq_node *n, const char *option, const char *reason)
{
    f->reason[n->id] = reason;
    qdq_why_say(f->opts->why, n, option, true, "%s: it stays float", reason);
}

/* --- by name ---------------------------------------------------------------------------------- */

/* "=NAME" is a name, everything else a regular expression. */
typedef struct pattern {
    const char *text;
    const char *name; /* NULL: `re` */
    qdq_regexp re;
} pattern;

static qdq_status open_pattern(pattern *p, const char *text, bool any_case, qdq_error *err)
{
    p->text = text;
    p->name = text[0] == '=' ? text + 1 : NULL;
    return p->name != NULL ? QDQ_OK : qdq_regexp_open(text, any_case, &p->re, err);
}

static void close_pattern(pattern *p)
{
    if (p->name == NULL)
        qdq_regexp_close(&p->re);
}

static qdq_status matches(pattern *p, const char *label, bool any_case, bool *yes, qdq_error *err)
{
    if (p->name == NULL)
        return qdq_regexp_match(&p->re, label, yes, err);
    *yes = (any_case ? strcasecmp(p->name, label) : strcmp(p->name, label)) == 0;
    return QDQ_OK;
}

/* The first node that p would match if capitals did not count; NULL: none. The label is in
 * scratch. */
static const char *match_in_any_case(const filter *f, const char *text)
{
    const char *found = NULL;
    pattern p;

    if (open_pattern(&p, text, true, NULL) != QDQ_OK)
        return NULL;
    for (size_t i = 0; i < f->n_order && found == NULL; i++) {
        qdq_arena_mark mark = qdq_arena_get_mark(f->scratch);
        const char *label = qdq_node_label(f->order[i], f->scratch);
        bool yes;

        if (matches(&p, label, true, &yes, NULL) != QDQ_OK)
            break; /* a hint is not worth an error */
        if (yes)
            found = label;
        else
            qdq_arena_reset(f->scratch, mark);
    }
    close_pattern(&p);
    return found;
}

static void warn_of_no_match(const filter *f, const char *text)
{
    const char *kind = text[0] == '=' ? "name" : "regular expression";
    const char *near = match_in_any_case(f, text);

    if (near != NULL)
        qdq_job_log(f->opts->job, QDQ_LOG_WARNING,
                    "%s '%s' matches no node that is left after cleaning: capitals count, and "
                    "there is a node '%s'",
                    kind, text, near);
    else
        qdq_job_log(f->opts->job, QDQ_LOG_WARNING,
                    "%s '%s' matches no node that is left after cleaning", kind, text);
}

/* Marks in hit[], by place in the order, the nodes that the pattern matches. */
static qdq_status mark_matching(const filter *f, const char *text, bool *hit, qdq_error *err)
{
    size_t found = 0;
    qdq_status st = QDQ_OK;
    pattern p;

    QDQ_TRY(open_pattern(&p, text, false, err));
    for (size_t i = 0; i < f->n_order && st == QDQ_OK; i++) {
        qdq_arena_mark mark = qdq_arena_get_mark(f->scratch);
        bool yes;

        st = qdq_job_poll(f->opts->job, err);
        if (st == QDQ_OK)
            st = matches(&p, qdq_node_label(f->order[i], f->scratch), false, &yes, err);
        if (st == QDQ_OK && yes) {
            hit[i] = true;
            found++;
        }
        qdq_arena_reset(f->scratch, mark);
    }
    close_pattern(&p);
    if (st == QDQ_OK && found == 0)
        warn_of_no_match(f, text);
    return st;
}

/* Keeps out the nodes that one of the patterns matches, or with `others` those that none
 * matches. */
static qdq_status filter_names(const filter *f, const char *const *patterns, bool others,
                               const char *option, const char *reason, qdq_error *err)
{
    if (patterns == NULL)
        return QDQ_OK;
    bool *hit = qdq_arena_array(f->scratch, f->n_order + 1, sizeof *hit);
    if (hit == NULL)
        return qdq_nomem(err);
    for (size_t k = 0; patterns[k] != NULL; k++)
        QDQ_TRY(mark_matching(f, patterns[k], hit, err));
    for (size_t i = 0; i < f->n_order; i++)
        if (hit[i] != others)
            keep_out(f, f->order[i], option, reason);
    return QDQ_OK;
}

/* --- by operator ------------------------------------------------------------------------------ */

static bool lists(const char *const *types, const char *type)
{
    for (size_t k = 0; types[k] != NULL; k++)
        if (strcmp(types[k], type) == 0)
            return true;
    return false;
}

static void warn_of_absent_type(const filter *f, const char *type, const char *option)
{
    const char *near = NULL;

    for (size_t i = 0; i < f->n_order; i++) {
        if (strcmp(type, f->order[i]->type) == 0)
            return;
        if (strcasecmp(type, f->order[i]->type) == 0)
            near = f->order[i]->type;
    }
    if (near != NULL)
        qdq_job_log(f->opts->job, QDQ_LOG_WARNING,
                    "%s: the cleaned model has no '%s', did you mean '%s'?", option, type, near);
    else
        qdq_job_log(f->opts->job, QDQ_LOG_WARNING, "%s: the cleaned model has no '%s'", option,
                    type);
}

static void filter_types(const filter *f, const char *const *types, bool others, const char *option,
                         const char *reason)
{
    if (types == NULL)
        return;
    for (size_t k = 0; types[k] != NULL; k++)
        warn_of_absent_type(f, types[k], option);
    for (size_t i = 0; i < f->n_order; i++)
        if (lists(types, f->order[i]->type) != others)
            keep_out(f, f->order[i], option, reason);
}

/* --- by tensor -------------------------------------------------------------------------------- */

/* A value that the node reads or makes and that is in `names`; NULL: none. */
static const char *named_value(const qdq_map *names, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL && qdq_map_get(names, n->in[i].value->name) != NULL)
            return n->in[i].value->name;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && qdq_map_get(names, n->out[i]->name) != NULL)
            return n->out[i]->name;
    return NULL;
}

static bool keep_out_by_value(const filter *f, const qdq_map *names)
{
    for (size_t i = 0; i < f->n_order; i++) {
        const qdq_node *n = f->order[i];
        const char *found = named_value(names, n);

        if (found == NULL)
            continue;
        const char *reason =
            qdq_arena_printf(f->scratch, "'%s' took no finite value in calibration", found);
        if (reason == NULL)
            return false;
        keep_out(f, n, "no-range", reason);
    }
    return true;
}

/* Whoever reads or makes one of these tensors. */
static qdq_status filter_without_range(const filter *f, const char *const *tensors, qdq_error *err)
{
    qdq_map names = QDQ_MAP_INIT;
    bool ok = true;

    for (size_t i = 0; tensors != NULL && tensors[i] != NULL && ok; i++)
        ok = qdq_map_put(&names, tensors[i], NULL) != NULL;
    ok = ok && (names.n_live == 0 || keep_out_by_value(f, &names));
    qdq_map_free(&names);
    return ok ? QDQ_OK : qdq_nomem(err);
}

/* --- by label --------------------------------------------------------------------------------- */

static qdq_status filter_labels(const filter *f, const char *const *labels, const char *option,
                                const char *reason, qdq_error *err)
{
    qdq_map names = QDQ_MAP_INIT;
    bool ok = true;

    for (size_t i = 0; labels != NULL && labels[i] != NULL && ok; i++)
        ok = qdq_map_put(&names, labels[i], NULL) != NULL;
    for (size_t i = 0; i < f->n_order && ok && names.n_live > 0; i++)
        if (qdq_map_get(&names, qdq_node_label(f->order[i], f->scratch)) != NULL)
            keep_out(f, f->order[i], option, reason);
    qdq_map_free(&names);
    return ok ? QDQ_OK : qdq_nomem(err);
}

/* --- all -------------------------------------------------------------------------------------- */

/* The reason that a user reads is the most pointed one: the last that is said. */
qdq_status qdq_place_filter(const qdq_model *m, qdq_node *const *order, size_t n_order,
                            const qdq_place_opts *opts, qdq_arena *scratch, const char *const **out,
                            qdq_error *err)
{
    filter f = {order, n_order, opts, scratch, NULL};

    f.reason = qdq_arena_array(scratch, (size_t)m->graph->next_node_id + 1, sizeof *f.reason);
    if (f.reason == NULL)
        return qdq_nomem(err);
    *out = f.reason;
    if (opts == NULL)
        return QDQ_OK;
    filter_types(&f, opts->op_types, true, "op-types", not_asked_for);
    QDQ_TRY(filter_names(&f, opts->include, true, "include", not_included, err));
    filter_types(&f, opts->exclude_op_types, false, "exclude-op-types",
                 "operator excluded by the user");
    QDQ_TRY(filter_names(&f, opts->exclude, false, "exclude", "excluded by the user", err));
    QDQ_TRY(filter_without_range(&f, opts->no_range, err));
    QDQ_TRY(filter_labels(&f, opts->no_room, "bias-range",
                          "int32 cannot hold its bias beside one scale of its weight", err));
    return filter_labels(&f, opts->wrong, "engine-check",
                         "engine check: the engine computes it wrongly in 8 bits", err);
}
