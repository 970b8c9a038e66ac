/* gen_hostile.c - writes one model of a seeded series that is made to break what reads it:
 * gen_hostile SEED NUMBER OUT.onnx
 *
 * NUMBER % KINDS is what is wrong with it: numbers in attributes, depth, names, shapes, loops,
 * external data, Q/DQ, sizes, bytes. The same SEED and NUMBER write the same bytes. Prints one line
 * that says what it wrote. */
#include "hostile_parts.h"

int main(int argc, char **argv)
{
    static void (*const kinds[])(bytes *) = {put_wrong_attributes, put_depth, put_hostile_names,
                                             put_wrong_shapes,     put_loops, put_external_data,
                                             put_wrong_qdq,        put_sizes, put_damaged_bytes};
    bytes m = {0};

    if (argc != 4) {
        fprintf(stderr, "usage: gen_hostile SEED NUMBER OUT.onnx\n");
        return 2;
    }
    const uint64_t number = strtoull(argv[2], NULL, 10);

    seed = strtoull(argv[1], NULL, 10) * 1000003 + number * 7919 + 1;
    for (int i = 0; i < 8; i++)
        draw(2);
    kinds[number % (sizeof kinds / sizeof *kinds)](&m);
    printf("%s\n", description);
    const int rc = write_file(argv[3], &m, 0);
    free(m.data);
    return rc;
}
