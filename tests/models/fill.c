/* fill.c - regenerate the weights of the skeleton models.
 *
 * A skeleton NAME.onnx keeps its graph and small tensors; its large tensors are
 * ONNX external data in NAME.bin. NAME.fill lists them, one per line:
 *     byte-offset  element-count  mean  std
 * This program writes NAME.bin with normally distributed float32 values, the
 * same on every machine (own generator, no libm dependence in the bits that
 * matter). Usage: fill NAME.fill NAME.bin
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state;

static uint64_t next_u64(void) /* splitmix64 */
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Sum of four 16-bit uniforms: near normal, exact in integers. */
static float next_normal(double mean, double std)
{
    uint64_t r = next_u64();
    int64_t s = (int64_t)(r & 0xffff) + (int64_t)(r >> 16 & 0xffff) + (int64_t)(r >> 32 & 0xffff) +
                (int64_t)(r >> 48);
    double z = ((double)s - 4 * 32767.5) / 37837.22759291446; /* 65536/sqrt(3) */
    return (float)(mean + std * z);
}

int main(int argc, char **argv)
{
    FILE *in, *out;
    unsigned long long off, n;
    double mean, std;

    if (argc != 3) {
        fprintf(stderr, "usage: fill NAME.fill NAME.bin\n");
        return 2;
    }
    in = fopen(argv[1], "r");
    out = fopen(argv[2], "wb");
    if (!in || !out) {
        perror("fill");
        return 1;
    }
    while (fscanf(in, "%llu %llu %lf %lf", &off, &n, &mean, &std) == 4) {
        state = off * 31 + n;
        if (fseeko(out, (off_t)off, SEEK_SET) != 0)
            return 1;
        for (unsigned long long i = 0; i < n; i++) {
            float v = next_normal(mean, std);
            if (fwrite(&v, sizeof v, 1, out) != 1) {
                perror("fill");
                return 1;
            }
        }
    }
    return fclose(out) == 0 ? 0 : 1;
}
