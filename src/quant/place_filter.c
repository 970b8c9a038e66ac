/* place_filter.c - see the header. */
#include "quant/place_filter.h"

#include <regex.h>
#include <string.h>

#include "base/fail.h"

typedef struct filter {
    qdq_node *const *order;
    size_t n_order;
    const qdq_place_opts *opts;
    qdq_arena *scratch;
    const char **reason; /* by node id */
} filter;

static qdq_status exclude_matching(const filter *f, const char *pattern, qdq_error *err)
{
    regex_t re;
    size_t found = 0;
    int code = regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB);

    if (code != 0) {
        char reason[128];

        regerror(code, &re, reason, sizeof reason);
        return qdq_fail(err, QDQ_E_USAGE, "regular expression '%s': %s", pattern, reason);
    }
    for (size_t i = 0; i < f->n_order; i++) {
        const qdq_node *n = f->order[i];

        if (regexec(&re, qdq_node_label(n, f->scratch), 0, NULL, 0) == 0) {
            f->reason[n->id] = "excluded by the user";
            found++;
        }
    }
    regfree(&re);
    if (found == 0)
        qdq_job_log(f->opts->job, QDQ_LOG_WARNING,
                    "regular expression '%s' matches no node that is left after cleaning", pattern);
    return QDQ_OK;
}

static void exclude_other_types(const filter *f, const char *const *types)
{
    for (size_t i = 0; i < f->n_order; i++) {
        bool listed = false;

        for (size_t k = 0; types[k] != NULL && !listed; k++)
            listed = strcmp(types[k], f->order[i]->type) == 0;
        if (!listed)
            f->reason[f->order[i]->id] = "operator not asked for";
    }
}

static void warn_of_unknown_types(const filter *f, const char *const *types)
{
    for (size_t k = 0; types[k] != NULL; k++) {
        size_t i = 0;

        while (i < f->n_order && strcmp(types[k], f->order[i]->type) != 0)
            i++;
        if (i == f->n_order)
            qdq_job_log(f->opts->job, QDQ_LOG_WARNING,
                        "operator '%s' was asked for: the cleaned model has none", types[k]);
    }
}

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
    if (opts->op_types != NULL) {
        exclude_other_types(&f, opts->op_types);
        warn_of_unknown_types(&f, opts->op_types);
    }
    for (size_t i = 0; opts->exclude != NULL && opts->exclude[i] != NULL; i++)
        QDQ_TRY(exclude_matching(&f, opts->exclude[i], err));
    return QDQ_OK;
}
