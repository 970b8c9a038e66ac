/* hostile_parts.c - seeded numbers, and parts of ONNX models, valid or not. */
#include "hostile_parts.h"

#include <limits.h>

uint64_t seed;
char description[200];

uint64_t draw(uint64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % n;
}

int64_t extreme(void)
{
    static const int64_t ends[] = {0,
                                   -1,
                                   1,
                                   2,
                                   3,
                                   4,
                                   5,
                                   7,
                                   16,
                                   63,
                                   64,
                                   65,
                                   255,
                                   32767,
                                   32768,
                                   65536,
                                   1 << 20,
                                   1 << 28,
                                   INT32_MAX,
                                   1LL << 31,
                                   1LL << 32,
                                   1LL << 40,
                                   1LL << 62,
                                   INT64_MAX,
                                   -2,
                                   -3,
                                   -64,
                                   -(1LL << 31),
                                   -(1LL << 32),
                                   -(1LL << 62),
                                   INT64_MIN,
                                   INT64_MIN + 1};

    return ends[draw(sizeof ends / sizeof *ends)];
}

/* --- parts of models -------------------------------------------------------------------------- */

void put_attr_int(bytes *node, const char *attr, int64_t v)
{
    static bytes a;

    put_text(&a, 1, attr);
    put_int(&a, 3, (uint64_t)v);
    put_int(&a, 20, 2);
    put_message(node, 5, &a);
}

void put_attr_ints(bytes *node, const char *attr, const int64_t *v, size_t n)
{
    static bytes a;

    put_text(&a, 1, attr);
    for (size_t i = 0; i < n; i++)
        put_int(&a, 8, (uint64_t)v[i]);
    put_int(&a, 20, 7);
    put_message(node, 5, &a);
}

void put_attr_graph(bytes *node, const char *attr, bytes *graph)
{
    bytes a = {0};

    put_text(&a, 1, attr);
    put_message(&a, 6, graph);
    put_int(&a, 20, 5);
    put_message(node, 5, &a);
    free(a.data);
}

/* Names are separated by spaces; "-" is an input that is left out. */
static void put_names(bytes *node, unsigned field, const char *names)
{
    char copy[400];

    snprintf(copy, sizeof copy, "%s", names);
    for (char *at = strtok(copy, " "); at != NULL; at = strtok(NULL, " "))
        put_text(node, field, strcmp(at, "-") == 0 ? "" : at);
}

void put_op(bytes *graph, const char *op, const char *in, const char *out, bytes *attrs)
{
    bytes n = {0};

    put_names(&n, 1, in);
    put_names(&n, 2, out);
    put_text(&n, 4, op);
    if (attrs != NULL) {
        put(&n, attrs->data, attrs->size);
        attrs->size = 0;
    }
    put_message(graph, 1, &n);
    free(n.data);
}

/* ValueInfoProto; rank < 0: no shape. A dim of -1 is the symbol N. */
void put_value(bytes *graph, unsigned field, const char *value, int elem, int rank,
               const int64_t *dim)
{
    bytes shape = {0}, tensor = {0}, type = {0}, info = {0}, d = {0};

    put_int(&tensor, 1, (uint64_t)elem);
    for (int i = 0; i < rank; i++) {
        if (dim[i] == -1)
            put_text(&d, 2, "N");
        else
            put_int(&d, 1, (uint64_t)dim[i]);
        put_message(&shape, 1, &d);
    }
    if (rank >= 0)
        put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&info, 1, value);
    put_message(&info, 2, &type);
    put_message(graph, field, &info);
    free(shape.data), free(tensor.data), free(type.data), free(info.data), free(d.data);
}

void put_init(bytes *graph, const char *name, int elem, int rank, const int64_t *dim,
              const void *data, size_t size)
{
    bytes t = {0};

    for (int i = 0; i < rank; i++)
        put_int(&t, 1, (uint64_t)dim[i]);
    put_int(&t, 2, (uint64_t)elem);
    put_text(&t, 8, name);
    if (data != NULL)
        put_bytes(&t, 9, data, size);
    put_message(graph, 5, &t);
    free(t.data);
}

void put_floats(bytes *graph, const char *name, int rank, const int64_t *dim)
{
    size_t n = 1;

    for (int i = 0; i < rank; i++)
        n *= (size_t)dim[i];
    float *f = calloc(n + 1, sizeof *f);

    for (size_t i = 0; f != NULL && i < n; i++)
        f[i] = (float)draw(2001) / 1000 - 1;
    put_init(graph, name, F32, rank, dim, f, n * sizeof *f);
    free(f);
}

void put_ints(bytes *graph, const char *name, const int64_t *v, int64_t n)
{
    put_init(graph, name, I64, 1, &n, v, (size_t)n * sizeof *v);
}

void put_opset(bytes *m, const char *domain, uint64_t version)
{
    bytes o = {0};

    put_text(&o, 1, domain);
    put_int(&o, 2, version);
    put_message(m, 8, &o);
    free(o.data);
}

void put_model(bytes *m, bytes *graph, uint64_t opset)
{
    put_int(m, 1, 9);
    put_opset(m, "", opset);
    put_text(graph, 2, "g");
    put_message(m, 7, graph);
}

const int64_t hostile_image[4] = {1, 8, 6, 6};

/* x [1,8,6,6] -> Conv -> h, for models that are to be worth quantizing. */
void put_conv(bytes *g)
{
    static const int64_t w[] = {8, 8, 3, 3}, pads[] = {1, 1, 1, 1};
    static bytes a;

    put_value(g, 11, "x", F32, 4, hostile_image);
    put_floats(g, "w", 4, w);
    put_attr_ints(&a, "pads", pads, 4);
    put_op(g, "Conv", "x w", "h", &a);
}
