/* gen_decoder.c - writes a made language model (support/decoder.h), or steps of sequences for it:
 * gen_decoder small|full OUT.onnx
 * gen_decoder small|full MODEL.onnx FOLDER SEED SEQUENCES TOKENS LENGTH... */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/decoder.h"
#include "support/test.h"

enum { FIRST_LENGTH = 7, MOST_LENGTHS = 64 };

static int usage(void)
{
    fprintf(stderr, "usage: gen_decoder small|full OUT.onnx\n"
                    "       gen_decoder small|full MODEL.onnx FOLDER SEED SEQUENCES TOKENS "
                    "LENGTH...\n");
    return 2;
}

static qdq_status write_model(const test_decoder *size, const char *path, qdq_error *err)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_model *m = test_decoder_model(size);

    opts.allow_overwrite = true;
    qdq_status st = qdq_model_save(m, path, &opts, err);
    qdq_model_free(m);
    return st;
}

static qdq_status write_data(const test_decoder *size, int argc, char **argv, qdq_error *err)
{
    int64_t lengths[MOST_LENGTHS + 1];
    const test_decoder_steps steps = {strtoull(argv[4], NULL, 10), strtoul(argv[5], NULL, 10),
                                      strtoll(argv[6], NULL, 10), lengths};
    qdq_engine *e = test_ort();
    qdq_model *m = NULL;
    int n = 0;

    for (int i = FIRST_LENGTH; i < argc && n < MOST_LENGTHS; i++)
        lengths[n++] = strtoll(argv[i], NULL, 10);
    lengths[n] = -1;
    if (e == NULL)
        return QDQ_E_UNSUPPORTED;
    (void)mkdir(argv[3], 0777); /* if it cannot, its files say so */
    QDQ_TRY(qdq_model_load(argv[2], NULL, &m, err));
    qdq_status st = test_decoder_write(size, &steps, m, e, argv[3], err);
    qdq_model_free(m);
    return st;
}

int main(int argc, char **argv)
{
    qdq_error err = QDQ_ERROR_INIT;

    if (argc != 3 && argc <= FIRST_LENGTH)
        return usage();
    const test_decoder *size =
        strcmp(argv[1], "full") == 0 ? &test_decoder_full : &test_decoder_small;
    const qdq_status st =
        argc == 3 ? write_model(size, argv[2], &err) : write_data(size, argc, argv, &err);
    if (st != QDQ_OK)
        fprintf(stderr, "gen_decoder: %s\n", err.text);
    return st != QDQ_OK;
}
