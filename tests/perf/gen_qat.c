/* gen_qat.c - writes the other form of a model with trained quantization (support/qat_form.h):
 * gen_qat TRAINED.onnx OUT.onnx */
#include <stdio.h>

#include "support/qat_form.h"

int main(int argc, char **argv)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    if (argc != 3) {
        fprintf(stderr, "usage: gen_qat TRAINED.onnx OUT.onnx\n");
        return 2;
    }
    opts.allow_overwrite = true;
    qdq_status st = qdq_model_load(argv[1], NULL, &m, &err);
    if (st == QDQ_OK)
        st = test_fold_qat(m, &err);
    if (st == QDQ_OK)
        st = qdq_model_save(m, argv[2], &opts, &err);
    if (st != QDQ_OK)
        fprintf(stderr, "gen_qat: %s\n", err.text);
    qdq_model_free(m);
    return st != QDQ_OK;
}
