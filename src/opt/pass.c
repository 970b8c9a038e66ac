/* pass.c - the pass manager: pipelines as text, run in order until nothing changes. The manager, not the pass,
 * finds out whether something changed: every edit counts itself. */
#include "qdq/pass.h"

#include <string.h>

#include "base/fail.h"
#include "ir/graph_check.h"
#include "opt/passes.h"

enum { MAX_ROUNDS = 20, MAX_PASSES = 64 };

static const struct {
    const char *name;
    qdq_pass_fn run;
    const char *help;
} passes[] = {
#define PASS(name, function, help) {name, function, help},
#include "opt/passes.def"
#undef PASS
};

const char *qdq_pass_name(size_t i, const char **help)
{
    if (i >= QDQ_COUNT(passes))
        return NULL;
    if (help != NULL)
        *help = passes[i].help;
    return passes[i].name;
}

const char *qdq_pass_default_pipeline(void)
{
    return "lift-constants,drop-identity,fold-batchnorm,drop-unused,drop-shared-names";
}

static qdq_status parse_pipeline(const char *text, size_t *chosen, size_t *n, qdq_error *err)
{
    *n = 0;
    while (*text != '\0') {
        size_t size = strcspn(text, ","), i = 0;

        while (i < QDQ_COUNT(passes) &&
               (strlen(passes[i].name) != size || strncmp(passes[i].name, text, size) != 0))
            i++;
        if (i == QDQ_COUNT(passes))
            return qdq_fail(err, QDQ_E_USAGE, "pipeline: '%.*s' is no pass; see the list of passes",
                            (int)size, text);
        if (*n == MAX_PASSES)
            return qdq_fail(err, QDQ_E_USAGE, "pipeline: more than %d passes", MAX_PASSES);
        chosen[(*n)++] = i;
        text += size + (text[size] == ',');
    }
    return QDQ_OK;
}

static uint64_t count_edits(const qdq_model *m)
{
    uint64_t edits = 0;

    for (size_t i = 0; i < m->graphs.n; i++)
        edits += m->graphs.at[i]->edits;
    return edits;
}

static qdq_status run_once(qdq_model *m, size_t pass, qdq_error *err)
{
    for (size_t i = 0; i < m->graphs.n; i++) {
        const qdq_graph *g = m->graphs.at[i];

        if (g->owner != NULL && g->owner->dead)
            continue;
        qdq_status st = passes[pass].run(m->graphs.at[i], err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "pass '%s'", passes[pass].name);
    }
    return QDQ_OK;
}

qdq_status qdq_model_run_passes(qdq_model *m, const char *pipeline, qdq_error *err)
{
    size_t chosen[MAX_PASSES], n;
    uint64_t before;
    int round = 0;

    QDQ_TRY(parse_pipeline(pipeline, chosen, &n, err));
    QDQ_TRY(qdq_model_verify(m, err)); /* what is wrong from the start is no pass's doing */
    do {
        before = count_edits(m);
        for (size_t i = 0; i < n; i++)
            QDQ_TRY(run_once(m, chosen[i], err));
    } while (count_edits(m) != before && ++round < MAX_ROUNDS);

    qdq_status st = round > 0 ? qdq_model_verify(m, err) : QDQ_OK;
    return st == QDQ_E_FORMAT ? qdq_within(err, QDQ_E_BUG, "after passes '%s'", pipeline) : st;
}
