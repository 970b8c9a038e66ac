/* place_filter.c - which nodes the user allows: the same for every way of placement. Patterns are
 * matched against labels once each: patterns times nodes. */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/regexp.h"
#include "base/suggest.h"
#include "base/words.h"
#include "quant/place/place_state.h"

static const char not_included[] = "not included by the user";
static const char not_asked_for[] = "operator not asked for";

bool qdq_place_goes_along(const char *reason)
{
    return reason == NULL || reason == not_included || reason == not_asked_for;
}

static void keep_out(qdq_placing *p, const qdq_node *n, const char *option, const char *reason)
{
    qdq_state_of(p, n)->reason = reason;
    qdq_why_say(p->opts->why, n, option, true, "%s: it stays float", reason);
}

/* --- by name ---------------------------------------------------------------------------------- */

/* "=NAME" is a name, everything else a regular expression. */
typedef struct pattern {
    const char *text;
    /* NULL: `re` */
    const char *name;
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

static qdq_status match_pattern(pattern *p, const char *label, bool any_case, bool *yes,
                                qdq_error *err)
{
    if (p->name == NULL)
        return qdq_regexp_match(&p->re, label, yes, err);
    *yes = (any_case ? strcasecmp(p->name, label) : strcmp(p->name, label)) == 0;
    return QDQ_OK;
}

/* The first node that the pattern would match if capitals did not count; NULL: none. The label is
 * in scratch. */
static const char *match_in_any_case(qdq_placing *p, const char *text)
{
    const char *found = NULL;
    pattern wanted;

    if (open_pattern(&wanted, text, true, NULL) != QDQ_OK)
        return NULL;
    for (size_t i = 0; i < p->n_order && found == NULL; i++) {
        qdq_arena_mark mark = qdq_arena_get_mark(&p->scratch);
        const char *label = qdq_node_label(p->order[i], &p->scratch);
        bool yes;

        if (match_pattern(&wanted, label, true, &yes, NULL) != QDQ_OK)
            break; /* a hint is not worth an error */
        if (yes)
            found = label;
        else
            qdq_arena_reset(&p->scratch, mark);
    }
    close_pattern(&wanted);
    return found;
}

/* The last part of a name without its number: "Add" of "/r1/Add_2", and of the pattern "^Add_1$".
 * Sets its length, 0 where no name can be seen in a regular expression. */
static const char *stem_of(const char *text, size_t *length)
{
    static const char operators[] = "\\.*+?()[]{}|^$";
    const char *slash = strrchr(text, '/');
    const char *start = slash != NULL ? slash + 1 : text + strspn(text, "=^");
    size_t n = strlen(start);

    n -= n > 0 && start[n - 1] == '$';
    while (n > 0 && strchr("_0123456789", start[n - 1]) != NULL)
        n--;
    *length = strcspn(start, operators) < n ? 0 : n;
    return start;
}

/* Names that differ from the pattern in their path and number only, else one of a similar spelling,
 * as "'/r1/Add', '/r2/Add'"; empty: none. A failed allocation loses the hint alone. */
static void list_near_names(qdq_placing *p, const char *text, qdq_buf *out)
{
    enum { NAMES = 3 };
    const char **labels = qdq_arena_array(&p->scratch, p->n_order + 1, sizeof *labels);
    size_t n = 0, length, other;
    const char *stem = stem_of(text, &length);

    for (size_t i = 0; labels != NULL && i < p->n_order; i++) {
        labels[i] = qdq_node_label(p->order[i], &p->scratch);
        const char *name = labels[i] != NULL ? stem_of(labels[i], &other) : "";
        if (labels[i] == NULL)
            return;
        if (n < NAMES && length > 1 && other == length && strncasecmp(name, stem, length) == 0)
            qdq_buf_printf(out, "%s'%s'", n++ > 0 ? ", " : "", labels[i]);
    }
    const char *near = n == 0 && labels != NULL
                           ? qdq_suggest(text + strspn(text, "=^"), labels, p->n_order)
                           : NULL;
    if (near != NULL)
        qdq_buf_printf(out, "'%s'", near);
}

static void warn_of_no_match(qdq_placing *p, const char *text)
{
    enum { TEXT_MAX = 1000 };
    const char *kind = text[0] == '=' ? "name" : "regular expression";
    const char *same = match_in_any_case(p, text);
    qdq_buf near = QDQ_BUF_INIT(TEXT_MAX);

    if (same == NULL)
        list_near_names(p, text, &near);
    if (same != NULL)
        qdq_job_log(p->opts->job, QDQ_LOG_WARNING,
                    "%s '%s' matches no node that is left after cleaning; expected capitals as in "
                    "'%s'",
                    kind, text, same);
    else
        qdq_job_log(p->opts->job, QDQ_LOG_WARNING,
                    "%s '%s' matches no node that is left after cleaning%s%.*s", kind, text,
                    near.size > 0 && !near.failed ? "; expected a name like " : "",
                    near.failed ? 0 : (int)near.size, near.size > 0 ? near.data : "");
    qdq_buf_free(&near);
}

/* Marks in hit[], by place in the order, the nodes that the pattern matches. */
static qdq_status mark_matching(qdq_placing *p, const char *option, const char *text, bool *hit,
                                qdq_error *err)
{
    size_t found = 0;
    qdq_status st = QDQ_OK;
    pattern wanted;

    QDQ_TRY(open_pattern(&wanted, text, false, err));
    for (size_t i = 0; i < p->n_order && st == QDQ_OK; i++) {
        qdq_arena_mark mark = qdq_arena_get_mark(&p->scratch);
        bool yes;

        st = qdq_job_poll(p->opts->job, err);
        if (st == QDQ_OK)
            st = match_pattern(&wanted, qdq_node_label(p->order[i], &p->scratch), false, &yes, err);
        if (st == QDQ_OK && yes) {
            hit[i] = true;
            found++;
        }
        qdq_arena_reset(&p->scratch, mark);
    }
    close_pattern(&wanted);
    if (st == QDQ_OK && found == 0)
        warn_of_no_match(p, text);
    else if (st == QDQ_OK && wanted.name == NULL)
        qdq_job_log(p->opts->job, QDQ_LOG_INFO, "%s '%s' matches %zu node%s", option, text, found,
                    found == 1 ? "" : "s");
    return st;
}

/* Keeps out the nodes that one of the patterns matches, or with `others` those that none
 * matches. */
static qdq_status filter_names(qdq_placing *p, const char *const *patterns, bool others,
                               const char *option, const char *reason, qdq_error *err)
{
    if (patterns == NULL)
        return QDQ_OK;
    bool *hit = qdq_arena_array(&p->scratch, p->n_order + 1, sizeof *hit);
    QDQ_NEED(hit != NULL, err);
    for (size_t k = 0; patterns[k] != NULL; k++)
        QDQ_TRY(mark_matching(p, option, patterns[k], hit, err));
    for (size_t i = 0; i < p->n_order; i++)
        if (hit[i] != others)
            keep_out(p, p->order[i], option, reason);
    return QDQ_OK;
}

/* --- by operator ------------------------------------------------------------------------------ */

static void warn_of_absent_type(qdq_placing *p, const char *type, const char *option)
{
    const char *near = NULL;

    QDQ_FOR_PLACED (n, p) {
        if (strcmp(type, n->type) == 0)
            return;
        if (strcasecmp(type, n->type) == 0)
            near = n->type;
    }
    if (near != NULL)
        qdq_job_log(p->opts->job, QDQ_LOG_WARNING,
                    "%s: the cleaned model has no '%s', did you mean '%s'?", option, type, near);
    else
        qdq_job_log(p->opts->job, QDQ_LOG_WARNING, "%s: the cleaned model has no '%s'", option,
                    type);
}

static void filter_types(qdq_placing *p, const char *const *types, bool others, const char *option,
                         const char *reason)
{
    if (types == NULL)
        return;
    for (size_t k = 0; types[k] != NULL; k++)
        warn_of_absent_type(p, types[k], option);
    QDQ_FOR_PLACED (n, p)
        if (qdq_word_is_in(n->type, types) != others)
            keep_out(p, n, option, reason);
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

static bool keep_out_by_value(qdq_placing *p, const qdq_map *names)
{
    QDQ_FOR_PLACED (n, p) {
        const char *found = named_value(names, n);

        if (found == NULL)
            continue;
        const char *reason =
            qdq_arena_printf(&p->scratch, "'%s' took no finite value in calibration", found);
        if (reason == NULL)
            return false;
        keep_out(p, n, "no-range", reason);
    }
    return true;
}

static bool put_all(qdq_map *names, const char *const *list)
{
    bool ok = true;

    for (size_t i = 0; list != NULL && list[i] != NULL && ok; i++)
        ok = qdq_map_put(names, list[i], NULL) != NULL;
    return ok;
}

/* Every node that reads or makes one of these tensors. */
static qdq_status filter_without_range(qdq_placing *p, const char *const *tensors, qdq_error *err)
{
    qdq_map names = QDQ_MAP_INIT;
    bool ok = put_all(&names, tensors) && (names.n_live == 0 || keep_out_by_value(p, &names));

    qdq_map_free(&names);
    return qdq_allocated(ok, err);
}

static qdq_status filter_labels(qdq_placing *p, const char *const *labels, const char *option,
                                const char *reason, qdq_error *err)
{
    qdq_map names = QDQ_MAP_INIT;
    bool ok = put_all(&names, labels);

    if (ok && names.n_live > 0)
        QDQ_FOR_PLACED (n, p)
            if (qdq_map_get(&names, qdq_node_label(n, &p->scratch)) != NULL)
                keep_out(p, n, option, reason);
    qdq_map_free(&names);
    return qdq_allocated(ok, err);
}

/* --- all -------------------------------------------------------------------------------------- */

/* The reason that a user reads is the most pointed one: the last that is said. */
qdq_status qdq_place_filter(qdq_placing *p, qdq_error *err)
{
    const qdq_place_opts *opts = p->opts;

    if (opts == NULL)
        return QDQ_OK;
    filter_types(p, opts->op_types, true, "op-types", not_asked_for);
    QDQ_TRY(filter_names(p, opts->include, true, "include", not_included, err));
    filter_types(p, opts->exclude_op_types, false, "exclude-op-types",
                 "operator excluded by the user");
    QDQ_TRY(filter_names(p, opts->exclude, false, "exclude", "excluded by the user", err));
    QDQ_TRY(filter_without_range(p, opts->no_range, err));
    QDQ_TRY(filter_labels(p, opts->no_room, "bias-range",
                          "int32 cannot hold its bias beside one scale of its weight", err));
    return filter_labels(p, opts->wrong, "engine-check",
                         "engine check: the engine computes it wrongly in 8 bits", err);
}
