/* fuzz_passes.c - runs all passes over models of hostile text. A model that is sound must be so behind every pass, its
 * inputs and outputs are the caller's, and what has come to rest stays at rest. */
#include <stdlib.h>
#include <string.h>

#include "ir/graph_check.h"
#include "ir/ir.h"
#include "qdq/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* True: it settled. What is wrong with the model from the start is refused; a pass may fail, but not break it. */
static bool run(qdq_model *m, const char *passes, uint64_t *changes)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r = NULL;
    bool was_sound = qdq_model_verify(m, NULL) == QDQ_OK, settled;

    opts.passes = passes;
    opts.verify_each = true;
    if (qdq_model_optimize(m, &opts, &r, &err) == QDQ_E_BUG ||
        (was_sound && qdq_model_verify(m, &err) != QDQ_OK))
        abort();
    settled = r != NULL && r->settled;
    *changes = r != NULL ? r->changes : 0;
    qdq_optimize_report_free(r);
    return settled;
}

static void same_interface(const qdq_model *m, const qdq_model *before)
{
    const qdq_graph *a = m->graph, *b = before->graph;

    if (a->inputs.n != b->inputs.n || a->outputs.n != b->outputs.n)
        abort();
    for (size_t i = 0; i < a->inputs.n; i++)
        if (strcmp(a->inputs.at[i]->name, b->inputs.at[i]->name) != 0)
            abort();
    for (size_t i = 0; i < a->outputs.n; i++)
        if (strcmp(a->outputs.at[i]->name, b->outputs.at[i]->name) != 0)
            abort();
}

static void run_all(qdq_model *m)
{
    const char *name;
    qdq_model *before = NULL;
    uint64_t changes;

    if (qdq_model_clone(m, &before, NULL) != QDQ_OK)
        return;
    if (run(m, "default", &changes)) {
        same_interface(m, before);
        if (run(m, "default", &changes) && changes > 0)
            abort();
    }
    for (size_t i = 0; (name = qdq_pass_name(i, NULL)) != NULL; i++)
        run(before, name, &changes);
    qdq_model_free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_model *m = NULL;
    char *text = malloc(size + 1);

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (strlen(text) == size && qdq_model_from_text(text, "fuzz", &m, NULL) == QDQ_OK)
        run_all(m);
    qdq_model_free(m);
    free(text);
    return 0;
}
