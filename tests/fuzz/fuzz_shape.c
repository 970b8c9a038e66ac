/* fuzz_shape.c - infers shapes of hostile text, then fixes the shapes of its inputs, and proves
 * what it can. A sound model must stay sound, a refusal must change nothing, and a second run must
 * find nothing new. */
#include <stdlib.h>
#include <string.h>

#include "ir/facts.h"
#include "ir/graph_check.h"
#include "ir/shape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void infer(qdq_model *m, bool strict)
{
    qdq_shape_opts opts = {false, strict, NULL};
    uint64_t edits = m->graph->edits;

    if (qdq_model_infer(m, &opts, NULL) != QDQ_OK) {
        if (m->graph->edits != edits)
            abort();
        return;
    }
    /* Where the model contradicts itself the second run may do with what the first one settled, and
     * where the verifier refuses it (a body whose output nobody computes) the second may find what
     * the first missed. */
    edits = m->graph->edits;
    qdq_status again = qdq_model_infer(m, &opts, NULL);
    if (qdq_model_verify(m, NULL) == QDQ_OK &&
        (again != QDQ_OK || (strict && m->graph->edits != edits)))
        abort();
}

/* Everything may be asked; tensors agree with the elements. */
static void prove(qdq_model *m)
{
    qdq_facts *f = NULL;

    if (qdq_facts_open(m, NULL, &f, NULL) != QDQ_OK)
        return;
    QDQ_FOR_GRAPHS (g, m)
        for (size_t i = 0; i < g->values.n; i++) {
            const qdq_value *v = g->values.at[i];
            qdq_fact_elem e[QDQ_MAX_RANK];
            const qdq_tensor *t;
            int rank, n = -1;
            qdq_status st;

            (void)qdq_facts_same_type(f, v, g->values.at[0]);
            if (!qdq_facts_elems(f, v, QDQ_MAX_RANK, &rank, &n, e))
                n = -1;
            t = qdq_facts_tensor(f, v, &st);
            if (t != NULL && n >= 0 && t->count != n)
                abort();
        }
    qdq_facts_close(f);
}

/* Twice the batch, and 3 for what is open. */
static void fix_inputs(qdq_model *m)
{
    bool was_sound = qdq_model_verify(m, NULL) == QDQ_OK;
    qdq_input_shape shape[4];
    uint64_t edits = m->graph->edits;
    size_t n = 0;
    qdq_io io;

    for (size_t i = 0; n < 4 && qdq_model_input(m, i, &io); i++) {
        if (io.rank < 1 || io.rank > QDQ_MAX_RANK)
            continue;
        shape[n].name = io.name;
        shape[n].rank = io.rank;
        for (int k = 0; k < io.rank; k++)
            shape[n].dim[k] = io.dim[k] < 0                         ? 3
                              : k == 0 && io.dim[k] < INT64_MAX / 2 ? 2 * io.dim[k]
                                                                    : io.dim[k];
        n++;
    }
    if (qdq_model_set_shapes(m, shape, n, NULL) != QDQ_OK) {
        if (m->graph->edits != edits)
            abort();
    } else if (was_sound && qdq_model_verify(m, NULL) != QDQ_OK) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_model *m = NULL;
    char *text = malloc(size + 1);

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (strlen(text) == size && qdq_model_from_text(text, "fuzz", &m, NULL) == QDQ_OK) {
        prove(m);
        infer(m, true);
        infer(m, false);
        prove(m);
        fix_inputs(m);
        infer(m, false);
    }
    qdq_model_free(m);
    free(text);
    return 0;
}
