/* fuzz_optimize.c - optimizes hostile models, text or ONNX bytes, for each engine and with one pass
 * alone. A sound model stays sound after every pass, is done after one run, and keeps its inputs
 * and outputs; what cannot be done is an error, and no defect of ours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph_check.h"
#include "qdq/qdq.h"
#include "support/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void defect(const char *passes, const char *what, const char *text)
{
    fprintf(stderr, "%s: %s: %s\n", passes, what, text);
    abort();
}

static qdq_optimize_opts options(const char *passes, const qdq_target *t)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;

    opts.passes = passes;
    opts.target = t;
    opts.fold_input_bytes = opts.fold_output_bytes = opts.growth_bytes = 1 << 14;
    opts.verify_each = true;
    opts.max_applications = 1000; /* functions that call others twice become many nodes */
    return opts;
}

/* False: an error that is the model's own. */
static bool run(qdq_model *m, const qdq_optimize_opts *opts, qdq_optimize_report **r)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_status st = qdq_model_optimize(m, opts, r, &err);

    if (st == QDQ_E_BUG || st == QDQ_E_NOMEM)
        defect(opts->passes, "a run fails", err.text);
    return st == QDQ_OK;
}

static void optimize(const qdq_model *m, const qdq_optimize_opts *opts, const char *signature)
{
    qdq_model *copy = NULL;
    qdq_optimize_report *first = NULL, *second = NULL;

    if (qdq_model_clone(m, &copy, NULL) != QDQ_OK)
        return;
    if (run(copy, opts, &first)) {
        char *now = test_signature(copy);

        if (now != NULL && strcmp(opts->passes, "freeze-inputs") != 0 &&
            !test_same_signature(signature, now))
            defect(opts->passes, "inputs and outputs are now", now);
        qdq_free(now);
        if (first->settled && !run(copy, opts, &second))
            defect(opts->passes, "a second run", "fails");
        for (size_t i = 0; second != NULL && i < second->n_passes; i++)
            if (second->passes[i].changes > 0)
                defect(opts->passes, "a second run changes something", second->passes[i].pass);
    }
    qdq_optimize_report_free(first);
    qdq_optimize_report_free(second);
    qdq_model_free(copy);
}

/* A pass that depends on the input only. */
static const char *pick_pass(const uint8_t *data, size_t size)
{
    size_t n = 0, hash = 0;

    while (qdq_pass_name(n, NULL) != NULL)
        n++;
    for (size_t i = 0; i < size; i++)
        hash = hash * 31 + data[i];
    return qdq_pass_name(hash % n, NULL);
}

/* The engines' descriptions are read once. */
static const qdq_target *target(size_t i)
{
    static qdq_target *made[8];

    if (made[i] == NULL && qdq_target_load(qdq_target_name(i, NULL), &made[i], NULL) != QDQ_OK)
        abort();
    return made[i];
}

static qdq_model *read_model(const uint8_t *data, size_t size)
{
    qdq_model *m = NULL;
    char *text = malloc(size + 1);

    if (text == NULL)
        return NULL;
    memcpy(text, data, size);
    text[size] = '\0';
    if (strlen(text) < size)
        (void)!qdq_model_load_bytes(data, size, "fuzz", NULL, &m, NULL);
    else
        (void)!qdq_model_from_text(text, "fuzz", &m, NULL);
    free(text);
    return m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_model *m = read_model(data, size);
    qdq_optimize_opts opts = options(pick_pass(data, size), NULL);

    if (m == NULL)
        return 0;
    if (qdq_model_verify(m, NULL) != QDQ_OK) {
        if (qdq_model_optimize(m, &opts, NULL, NULL) != QDQ_E_FORMAT)
            defect(opts.passes, "a model that is not sound", "is not refused");
    } else {
        char *signature = test_signature(m);

        if (signature != NULL)
            optimize(m, &opts, signature);
        for (size_t i = 0; signature != NULL && qdq_target_name(i, NULL) != NULL; i++) {
            opts = options("quantize", target(i));
            optimize(m, &opts, signature);
        }
        qdq_free(signature);
    }
    qdq_model_free(m);
    return 0;
}
