/* hostile_tensors.c - models whose tensors are wrong: shapes, external data, Q/DQ, sizes, bytes. */
#include "hostile_parts.h"

/* --- shapes ----------------------------------------------------------------------------------- */

void put_wrong_shapes(bytes *m)
{
    static const struct {
        /* v: the extreme list */
        const char *op, *inputs;
        int n;
    } kinds[] = {
        {"Reshape", "x v", 4},       {"Expand", "x v", 4},      {"Tile", "x v", 4},
        {"ConstantOfShape", "v", 2}, {"Pad", "x v", 8},         {"Range", "s s s", 1},
        {"TopK", "x v", 1},          {"OneHot", "i s f", 1},    {"Slice", "x v v v v", 2},
        {"Slice", "x v v", 4},       {"Unsqueeze", "x v", 2},   {"Squeeze", "x v", 1},
        {"Resize", "x - - v", 4},    {"ReduceSum", "x v", 2},   {"CumSum", "x s", 1},
        {"GatherND", "x v", 3},      {"Gather", "x v", 3},      {"Split", "x v", 2},
        {"Trilu", "f s", 1},         {"ScatterND", "x v f", 1},
    };
    const size_t k = draw(sizeof kinds / sizeof *kinds + 4);
    bytes g = {0};
    int64_t v[100], dim[100];

    for (int i = 0; i < 100; i++) {
        v[i] = draw(3) == 0 ? (int64_t)draw(4) : extreme();
        dim[i] = draw(2) == 0 ? 1 : (int64_t)draw(5);
    }
    if (k >= sizeof kinds / sizeof *kinds) { /* an input of odd dims, or of many */
        const int rank = draw(2) == 0 ? 4 : (int)draw(100);

        snprintf(description, sizeof description, "an input of rank %d", rank);
        put_value(&g, 11, "x", F32, rank, rank == 4 ? v : dim);
        put_op(&g, "Relu", "x", "h", NULL);
        put_op(&g, draw(2) == 0 ? "Flatten" : "Neg", "h", "y", NULL);
    } else {
        snprintf(description, sizeof description, "%s(%s) of %lld, %lld, ...", kinds[k].op,
                 kinds[k].inputs, (long long)v[0], (long long)v[1]);
        put_conv(&g);
        put_ints(&g, "v", v, kinds[k].n);
        put_init(&g, "s", I64, 0, NULL, v, sizeof *v);
        put_init(&g, "i", I64, 0, NULL, v + 1, sizeof *v);
        put_floats(&g, "f", 1, (const int64_t[]){2});
        char inputs[64];

        snprintf(inputs, sizeof inputs, "%s", kinds[k].inputs);
        for (char *at = inputs; *at != '\0'; at++)
            if (*at == 'x')
                *at = 'h';
        put_op(&g, kinds[k].op, inputs, "y", NULL);
    }
    put_value(&g, 12, "y", F32, -1, NULL);
    put_model(m, &g, 17);
    free(g.data);
}

/* --- external data ---------------------------------------------------------------------------- */

static void put_entry(bytes *tensor, const char *key, const char *value)
{
    bytes e = {0};

    put_text(&e, 1, key);
    put_text(&e, 2, value);
    put_message(tensor, 13, &e);
    free(e.data);
}

void put_external_data(bytes *m)
{
    static const char *const places[] = {"none.data",
                                         "../../../../../../etc/passwd",
                                         "/etc/passwd",
                                         "/dev/zero",
                                         "",
                                         "/proc/self/mem",
                                         ".",
                                         "a/../b",
                                         "x\ny",
                                         "/dev/stdin"};
    static const char *const numbers[] = {
        "0", "-1", "4",   "9223372036854775807",  "9223372036854775808",
        "x", "",   "1e3", "18446744073709551615", "2304"};
    static const int64_t w[] = {8, 8, 3, 3};
    bytes g = {0}, t = {0};
    const char *place = places[draw(10)], *offset = numbers[draw(10)], *length = numbers[draw(10)];

    snprintf(description, sizeof description, "external data in '%s', offset %s, length %s",
             strchr(place, '\n') ? "?" : place, offset, length);
    put_value(&g, 11, "x", F32, 4, hostile_image);
    for (int i = 0; i < 4; i++)
        put_int(&t, 1, (uint64_t)(draw(6) == 0 ? extreme() : w[i]));
    put_int(&t, 2, draw(6) == 0 ? draw(40) : F32);
    put_text(&t, 8, "w");
    put_entry(&t, "location", place);
    if (draw(4) != 0)
        put_entry(&t, "offset", offset);
    if (draw(4) != 0)
        put_entry(&t, "length", length);
    put_int(&t, 14, 1);
    put_message(&g, 5, &t);
    put_op(&g, "Conv", "x w", "y", NULL);
    put_value(&g, 12, "y", F32, -1, NULL);
    put_model(m, &g, 17);
    free(g.data), free(t.data);
}

/* --- Q/DQ ------------------------------------------------------------------------------------- */

void put_wrong_qdq(bytes *m)
{
    static const float scales[] = {0, -1, 1e-45f, 3e38f, 0.5f, 1, 0.0f / 0.0f, 1.0f / 0.0f};
    static const int elems[] = {U8, I8, I32, F32, I64, 17, 21, 22, 4};
    bytes g = {0}, a = {0};
    const int elem = elems[draw(9)], other = elems[draw(9)];
    const float scale[8] = {scales[draw(8)], scales[draw(8)], 1, 1, 1, 1, 1, 1};
    const char zero[64] = {(char)draw(256)};
    const int64_t n = draw(2) == 0 ? 8 : (int64_t)draw(9);
    const int rank = (int)draw(2);

    snprintf(description, sizeof description, "Q/DQ of types %d and %d, scale %g", elem, other,
             (double)scale[0]);
    put_conv(&g);
    put_init(&g, "s", F32, rank, &n, scale, rank == 0 ? 4 : (size_t)n * 4);
    put_init(&g, "z", elem, rank, &n, zero,
             (rank == 0 ? 1 : (size_t)n) * (elem == I64                  ? 8
                                            : elem == I32 || elem == F32 ? 4
                                                                         : 1));
    put_init(&g, "z2", other, rank, &n, zero,
             (rank == 0 ? 1 : (size_t)n) * (other == I64                   ? 8
                                            : other == I32 || other == F32 ? 4
                                                                           : 1));
    if (draw(2) == 0)
        put_attr_int(&a, "axis", draw(2) == 0 ? 1 : extreme());
    put_op(&g, "QuantizeLinear", "h s z", "q", &a);
    if (draw(3) == 0)
        put_attr_int(&a, "axis", extreme());
    put_op(&g, "DequantizeLinear", draw(2) == 0 ? "q s z" : "q s z2", "d", &a);
    put_op(&g, draw(2) == 0 ? "Relu" : "Softmax", "d", "y", NULL);
    if (draw(3) == 0)
        put_op(&g, "QLinearConv", "q s z w s z2 s z", "r", NULL);
    put_value(&g, 12, "y", F32, -1, NULL);
    put_model(m, &g, draw(2) == 0 ? 21 : 13);
    free(g.data), free(a.data);
}

/* --- sizes ------------------------------------------------------------------------------------ */

void put_sizes(bytes *m)
{
    bytes g = {0}, a = {0};
    const int many = draw(3) == 0 ? 100000 : 3000, kind = (int)draw(5);
    /* engines: quadratic time */
    const int n = kind == 0 ? many / 10 : kind == 1 ? many / 100 : many;
    char in[64] = "h", out[64];

    snprintf(description, sizeof description, "%d of kind %d", n, kind);
    put_conv(&g);
    for (int i = 0; i < n; i++) {
        const label l = name("v", i);

        snprintf(out, sizeof out, "%s", l.text);
        switch (kind) {
        case 0: /* inputs */
            put_value(&g, 11, out, F32, 1, (const int64_t[]){1});
            break;
        case 1: /* outputs */
            put_op(&g, "Relu", "h", out, NULL);
            put_value(&g, 12, out, F32, -1, NULL);
            break;
        case 2: /* a chain */
            if (i < 3000) {
                put_op(&g, i % 2 == 0 ? "Neg" : "Abs", in, out, NULL);
                memcpy(in, out, sizeof in);
            }
            break;
        case 3: /* attributes of one node */
            put_attr_int(&a, out, i);
            break;
        default: /* initializers that nothing reads */
            put_init(&g, out, F32, 0, NULL, "\0\0\0\0", 4);
            break;
        }
    }
    put_op(&g, "Relu", in, "y", &a);
    put_value(&g, 12, "y", F32, -1, NULL);
    put_model(m, &g, 17);
    free(g.data), free(a.data);
}

/* --- bytes ------------------------------------------------------------------------------------ */

void put_damaged_bytes(bytes *m)
{
    static const char *const kinds[] = {"bytes changed", "cut", "bytes changed and cut",
                                        "one half twice"};
    const uint64_t kind = draw(4);
    bytes g = {0};

    put_conv(&g);
    put_op(&g, "Relu", "h", "y", NULL);
    put_value(&g, 12, "y", F32, 4, hostile_image);
    put_model(m, &g, 17);
    for (uint64_t i = 0; kind != 1 && kind != 3 && i < 1 + draw(20); i++) {
        /* mostly outside of the weights */
        const size_t at = draw(2) == 0 ? draw(60) : m->size - 1 - draw(200);

        m->data[at] = (unsigned char)draw(256);
    }
    if (kind == 1 || kind == 2)
        m->size = draw(m->size);
    if (kind == 3) {
        const size_t half = m->size / 2;

        put(m, m->data + half, m->size - half);
    }
    snprintf(description, sizeof description, "%s", kinds[kind]);
    free(g.data);
}
