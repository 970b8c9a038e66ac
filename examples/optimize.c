/* optimize.c - the optimizer as a program of its own uses it: a pipeline for an engine, a say in
 * what is computed, the report, and proof that the model still computes the same.
 *
 *     optimize MODEL OUT [DATA]      optimize model.onnx model.opt.onnx samples.npz
 *
 * Without DATA, random numbers are compared. Exit status: 0, 1 (the reason is on stderr), 2
 * (usage), 5 (no ONNX Runtime found). */
#include <qdq/qdq.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tables that would be written out large stay small: the engine can compute them. QuantizeLinear
 * and DequantizeLinear are never asked about, because they are never computed. */
static qdq_fold should_fold(void *ctx, const qdq_fold_node *n)
{
    (void)ctx;
    return strcmp(n->op, "ConstantOfShape") == 0 && n->out_bytes > 4096 ? QDQ_FOLD_NO
                                                                        : QDQ_FOLD_DEFAULT;
}

static void print_report(const qdq_optimize_report *r)
{
    printf("%zu nodes, were %zu; %llu bytes of constants, were %llu\n", r->nodes_after,
           r->nodes_before, (unsigned long long)r->bytes_after,
           (unsigned long long)r->bytes_before);
    for (size_t i = 0; i < r->n_passes; i++) {
        const qdq_pass_report *p = &r->passes[i];

        if (p->changes > 0)
            printf("  %-28s %6llu changes  %.3f ms\n", p->pass, (unsigned long long)p->changes,
                   p->seconds * 1e3);
        for (size_t k = 0; k < p->n_refusals; k++)
            printf("  %-28s %6zu refused: %s\n", p->pass, p->refusals[k].n, p->refusals[k].reason);
    }
}

static qdq_status optimize(qdq_model *model, const qdq_target *target, qdq_error *err)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *report = NULL;

    opts.target = target;
    opts.should_fold = should_fold;
    opts.verify_each = true;
    qdq_status st = qdq_model_optimize(model, &opts, &report, err);
    if (st == QDQ_OK)
        print_report(report);
    qdq_optimize_report_free(report);
    return st;
}

/* QDQ_E_FORMAT is as good a name as any for "not the same": the model is not handed over. */
static qdq_status compare(qdq_engine *engine, const qdq_model *before, const qdq_model *after,
                          const char *spec, qdq_error *err)
{
    qdq_same_result *r = NULL;
    qdq_data *data = NULL;
    qdq_status st = qdq_data_open(spec, before, NULL, &data, err);

    if (st == QDQ_OK)
        st = qdq_compare_same(engine, before, after, data, NULL, 0, &r, err);
    if (st == QDQ_OK && !r->same) {
        snprintf(err->text, sizeof err->text, "%s", r->why);
        st = QDQ_E_FORMAT;
    }
    qdq_same_result_free(r);
    qdq_data_close(data);
    return st;
}

int main(int argc, char **argv)
{
    static const char *const engine_dirs[] = {QDQ_ORT_DIR, NULL}; /* set by CMakeLists.txt */
    qdq_engine_opts engine_opts = QDQ_ENGINE_OPTS_INIT;
    qdq_save_opts save_opts = QDQ_SAVE_OPTS_INIT;
    qdq_engine *engine = NULL;
    qdq_model *model = NULL, *original = NULL;
    qdq_target *target = NULL;
    qdq_error err = QDQ_ERROR_INIT;
    int status = 1;

    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: optimize MODEL OUT [DATA]\n");
        return 2;
    }
    engine_opts.search_dirs = engine_dirs;
    engine_opts.ort_library = getenv("QDQ_ORT_LIBRARY");
    save_opts.allow_overwrite = true;

    if (qdq_engine_open("ort", &engine_opts, &engine, &err) != QDQ_OK)
        status = 5;
    else if (qdq_model_load(argv[1], NULL, &model, &err) == QDQ_OK &&
             qdq_model_clone(model, &original, &err) == QDQ_OK &&
             qdq_target_load("ort-cpu", &target, &err) == QDQ_OK &&
             optimize(model, target, &err) == QDQ_OK &&
             compare(engine, original, model, argc == 4 ? argv[3] : "random:0", &err) == QDQ_OK &&
             qdq_model_save(model, argv[2], &save_opts, &err) == QDQ_OK)
        status = 0;
    if (status != 0)
        fprintf(stderr, "optimize: error: %s\n", err.text);
    qdq_target_free(target);
    qdq_model_free(original);
    qdq_model_free(model);
    qdq_engine_close(engine);
    return status;
}
