/* quantize.c - the whole way of qdq/qdq.h in one small program: a float model and calibration data
 * go in, a model with QuantizeLinear and DequantizeLinear comes out.
 *
 *     quantize MODEL DATA OUT [MEAN STD]      quantize model.onnx photos/ model.qdq.onnx 127 128
 *
 * Exit status: 0, 1 (the reason is on stderr), 2 (usage), 5 (no ONNX Runtime found). */
#include <qdq/qdq.h>

#include <stdio.h>
#include <stdlib.h>

static void print_line(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    if (level <= QDQ_LOG_WARNING)
        fprintf(stderr, "quantize: %s: %s\n", level == QDQ_LOG_ERROR ? "error" : "warning", text);
}

int main(int argc, char **argv)
{
    static const char *const engine_dirs[] = {QDQ_ORT_DIR, NULL}; /* set by CMakeLists.txt */
    qdq_job job = QDQ_JOB_INIT;
    qdq_engine_opts engine_opts = QDQ_ENGINE_OPTS_INIT;
    qdq_data_opts data_opts = QDQ_DATA_OPTS_INIT;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_save_opts save_opts = QDQ_SAVE_OPTS_INIT;
    qdq_engine *engine = NULL;
    qdq_model *model = NULL, *quantized = NULL;
    qdq_target *target = NULL;
    qdq_data *data = NULL;
    qdq_plan *plan = NULL;
    qdq_error err = QDQ_ERROR_INIT;
    int status = 1;

    if (argc != 4 && argc != 6) {
        fprintf(stderr, "usage: quantize MODEL DATA OUT [MEAN STD]\n");
        return 2;
    }
    job.log = print_line;
    engine_opts.job = data_opts.job = opts.job = &job;
    engine_opts.search_dirs = engine_dirs;
    engine_opts.ort_library = getenv("QDQ_ORT_LIBRARY");
    if (argc == 6) {
        data_opts.mean[0] = strtof(argv[4], NULL);
        data_opts.std[0] = strtof(argv[5], NULL);
        data_opts.n_mean = data_opts.n_std = 1;
    }
    save_opts.allow_overwrite = true;

    if (qdq_engine_open("ort", &engine_opts, &engine, &err) != QDQ_OK) {
        status = 5;
    } else if (qdq_model_load(argv[1], NULL, &model, &err) == QDQ_OK &&
               qdq_target_load("ort-cpu", &target, &err) == QDQ_OK &&
               qdq_data_open(argv[2], model, &data_opts, &data, &err) == QDQ_OK &&
               qdq_quantize(model, target, engine, data, &opts, &plan, &quantized, &err) ==
                   QDQ_OK &&
               qdq_model_save(quantized, argv[3], &save_opts, &err) == QDQ_OK) {
        const qdq_plan_summary *s = qdq_plan_get_summary(plan);

        printf("%s: %zu tensors and %zu weights in 8 bits, %zu nodes left float\n", argv[3],
               s->n_tensors, s->n_weights, s->n_left_float);
        status = 0;
    }
    if (status != 0)
        fprintf(stderr, "quantize: error: %s\n", err.text);
    qdq_plan_free(plan);
    qdq_data_close(data);
    qdq_target_free(target);
    qdq_model_free(quantized);
    qdq_model_free(model);
    qdq_engine_close(engine);
    return status;
}
