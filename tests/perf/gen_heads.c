/* gen_heads.c - writes a made detector or a made DETR-like head (support/heads.h), and made images
 * for it: gen_heads detector|detr PIXELS apart|joined|read SEED COUNT OUT.onnx OUT.npz */
#include <stdio.h>
#include <stdlib.h>

#include "quant/data/npz_write.h"
#include "support/heads.h"
#include "support/test.h"

static int usage(void)
{
    fprintf(
        stderr,
        "usage: gen_heads detector|detr PIXELS apart|joined|read SEED COUNT OUT.onnx OUT.npz\n");
    return 2;
}

int main(int argc, char **argv)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;

    if (argc != 8)
        return usage();
    const test_head h = {.pixels = strtof(argv[2], NULL),
                         .is_apart = strcmp(argv[3], "apart") == 0,
                         .has_reader = strcmp(argv[3], "read") == 0};
    qdq_model *m = strcmp(argv[1], "detr") == 0 ? test_detr(&h) : test_detector(&h);
    opts.allow_overwrite = true;
    qdq_status st = qdq_model_save(m, argv[6], &opts, &err);
    if (st == QDQ_OK)
        st = test_head_write(m, strtoull(argv[4], NULL, 10), strtoul(argv[5], NULL, 10), argv[7],
                             &err);
    if (st != QDQ_OK)
        fprintf(stderr, "gen_heads: %s\n", err.text);
    qdq_model_free(m);
    return st != QDQ_OK;
}
