/* gen_transformer.c - writes a made transformer (support/transformer.h), or samples for it:
 * gen_transformer tiny|small FAMILY OUT.onnx
 * gen_transformer tiny|small FAMILY MODEL.onnx FOLDER SEED SEQUENCES TOKENS LENGTH... */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/test.h"
#include "support/transformer.h"

enum { FIRST_LENGTH = 8, MOST_LENGTHS = 64 };

static int usage(void)
{
    fprintf(stderr, "usage: gen_transformer tiny|small FAMILY OUT.onnx\n"
                    "       gen_transformer tiny|small FAMILY MODEL.onnx FOLDER SEED SEQUENCES "
                    "TOKENS LENGTH...\nfamilies:");
    for (int f = 0; f < TEST_FAMILIES; f++)
        fprintf(stderr, " %s", test_family_name((test_family)f));
    fprintf(stderr, "\n");
    return 2;
}

static qdq_status write_model(test_family f, const test_transformer *size, const char *path,
                              qdq_error *err)
{
    qdq_save_opts opts = QDQ_SAVE_OPTS_INIT;
    qdq_model *m = test_transformer_model(f, size);

    opts.allow_overwrite = true;
    qdq_status st = qdq_model_save(m, path, &opts, err);
    qdq_model_free(m);
    return st;
}

static qdq_status write_data(test_family f, const test_transformer *size, int argc, char **argv,
                             qdq_error *err)
{
    int64_t lengths[MOST_LENGTHS + 1];
    const test_sequences s = {strtoull(argv[5], NULL, 10), strtoul(argv[6], NULL, 10),
                              strtoll(argv[7], NULL, 10), lengths};
    qdq_engine *e = test_ort();
    qdq_model *m = NULL;
    int n = 0;

    for (int i = FIRST_LENGTH; i < argc && n < MOST_LENGTHS; i++)
        lengths[n++] = strtoll(argv[i], NULL, 10);
    lengths[n] = -1;
    if (e == NULL)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "ONNX Runtime is missing");
    (void)mkdir(argv[4], 0777); /* if it cannot, its files say so */
    QDQ_TRY(qdq_model_load(argv[3], NULL, &m, err));
    qdq_status st = test_sequences_write(f, size, &s, m, e, argv[4], err);
    qdq_model_free(m);
    return st;
}

int main(int argc, char **argv)
{
    qdq_error err = QDQ_ERROR_INIT;
    int f = 0;

    if (argc != 4 && argc <= FIRST_LENGTH)
        return usage();
    while (f < TEST_FAMILIES && strcmp(argv[2], test_family_name((test_family)f)) != 0)
        f++;
    if (f == TEST_FAMILIES)
        return usage();
    const test_transformer *size =
        strcmp(argv[1], "small") == 0 ? &test_transformer_small : &test_transformer_tiny;
    const qdq_status st = argc == 4 ? write_model((test_family)f, size, argv[3], &err)
                                    : write_data((test_family)f, size, argc, argv, &err);
    if (st != QDQ_OK)
        fprintf(stderr, "gen_transformer: %s\n", err.text);
    return st != QDQ_OK;
}
