/* gen_hostile.c - writes one model of a seeded series that is made to break what reads it:
 * gen_hostile SEED NUMBER OUT.onnx
 *
 * NUMBER % KINDS is what is wrong with it: numbers in attributes, depth, names, shapes, loops,
 * external data, Q/DQ, sizes, bytes. The same SEED and NUMBER write the same bytes. Prints one line
 * that says what it wrote. */
#include "../perf/gen_proto.h"

#include <limits.h>

enum { F32 = 1, U8 = 2, I8 = 3, I32 = 6, I64 = 7, B8 = 9 };

static uint64_t seed;
static char what[200]; /* the line that is printed */

static uint64_t draw(uint64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 33) % n;
}

static int64_t extreme(void)
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

static void put_attr_int(bytes *node, const char *attr, int64_t v)
{
    static bytes a;

    put_text(&a, 1, attr);
    put_int(&a, 3, (uint64_t)v);
    put_int(&a, 20, 2);
    put_message(node, 5, &a);
}

static void put_attr_ints(bytes *node, const char *attr, const int64_t *v, size_t n)
{
    static bytes a;

    put_text(&a, 1, attr);
    for (size_t i = 0; i < n; i++)
        put_int(&a, 8, (uint64_t)v[i]);
    put_int(&a, 20, 7);
    put_message(node, 5, &a);
}

static void put_attr_graph(bytes *node, const char *attr, bytes *graph)
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

static void put_op(bytes *graph, const char *op, const char *in, const char *out, bytes *attrs)
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
static void put_value(bytes *graph, unsigned field, const char *value, int elem, int rank,
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

static void put_init(bytes *graph, const char *name, int elem, int rank, const int64_t *dim,
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

static void put_floats(bytes *graph, const char *name, int rank, const int64_t *dim)
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

static void put_ints(bytes *graph, const char *name, const int64_t *v, int64_t n)
{
    put_init(graph, name, I64, 1, &n, v, (size_t)n * sizeof *v);
}

static void put_opset(bytes *m, const char *domain, uint64_t version)
{
    bytes o = {0};

    put_text(&o, 1, domain);
    put_int(&o, 2, version);
    put_message(m, 8, &o);
    free(o.data);
}

static void put_model(bytes *m, bytes *graph, uint64_t opset)
{
    put_int(m, 1, 9);
    put_opset(m, "", opset);
    put_text(graph, 2, "g");
    put_message(m, 7, graph);
}

static const int64_t image[] = {1, 8, 6, 6};

/* x [1,8,6,6] -> Conv -> h, for models that are to be worth quantizing. */
static void put_conv(bytes *g)
{
    static const int64_t w[] = {8, 8, 3, 3}, pads[] = {1, 1, 1, 1};
    static bytes a;

    put_value(g, 11, "x", F32, 4, image);
    put_floats(g, "w", 4, w);
    put_attr_ints(&a, "pads", pads, 4);
    put_op(g, "Conv", "x w", "h", &a);
}

/* --- numbers in attributes -------------------------------------------------------------------- */

/* Inputs: f = a float input, w = float weights, i = int64 zeros, b = a bool. Attributes with '*'
 * are lists. */
static const struct {
    const char *op, *inputs, *attrs;
} ops[] = {
    {"Conv", "f1,8,6,6 w8,8,3,3", "group dilations* strides* pads* kernel_shape*"},
    {"ConvTranspose", "f1,8,6,6 w8,4,3,3",
     "group dilations* strides* pads* output_padding* output_shape* kernel_shape*"},
    {"MaxPool", "f1,8,6,6", "kernel_shape* strides* pads* dilations* ceil_mode storage_order"},
    {"AveragePool", "f1,8,6,6", "kernel_shape* strides* pads* ceil_mode count_include_pad"},
    {"LpPool", "f1,8,6,6", "kernel_shape* strides* pads* p"},
    {"DepthToSpace", "f1,8,6,6", "blocksize"},
    {"SpaceToDepth", "f1,8,6,6", "blocksize"},
    {"GatherND", "f1,8,6,6 i1,1", "batch_dims"},
    {"Gather", "f1,8,6,6 i2", "axis"},
    {"GatherElements", "f4,4 i4,4", "axis"},
    {"Transpose", "f1,8,6,6", "perm*"},
    {"Softmax", "f1,8,6,6", "axis"},
    {"Flatten", "f1,8,6,6", "axis"},
    {"Concat", "f1,8,6,6 f1,8,6,6", "axis"},
    {"Split", "f1,8,6,6", "axis num_outputs"},
    {"Cast", "f1,8,6,6", "to saturate"},
    {"ReduceMean", "f1,8,6,6", "axes* keepdims"},
    {"ReduceMax", "f1,8,6,6", "axes* keepdims"},
    {"ArgMax", "f1,8,6,6", "axis keepdims select_last_index"},
    {"TopK", "f1,8,6,6 i1", "axis largest sorted"},
    {"LRN", "f1,8,6,6", "size"},
    {"LayerNormalization", "f1,8,6,6 w6", "axis stash_type"},
    {"BatchNormalization", "f1,8,6,6 w8 w8 w8 w8", "training_mode"},
    {"Gemm", "f4,4 w4,4", "transA transB"},
    {"CumSum", "f4,4 i1", "exclusive reverse"},
    {"EyeLike", "f4,4", "dtype k"},
    {"RandomNormal", "", "shape* dtype"},
    {"RandomUniform", "", "shape* dtype"},
    {"Shape", "f1,8,6,6", "start end"},
    {"Trilu", "f4,4", "upper"},
    {"ReverseSequence", "f4,4 i4", "batch_axis time_axis"},
    {"ScatterElements", "f4,4 i1,1 f1,1", "axis"},
    {"OneHot", "i4 i1 w2", "axis"},
    {"QuantizeLinear", "f1,8,6,6 w8", "axis saturate block_size output_dtype"},
    {"LSTM", "f2,1,4 w1,16,4 w1,16,4", "hidden_size layout input_forget"},
    {"GRU", "f2,1,4 w1,12,4 w1,12,4", "hidden_size layout linear_before_reset"},
    {"RoiAlign", "f1,8,6,6 w1,4 i1", "output_height output_width sampling_ratio"},
    {"Unsqueeze", "f4,4 i1", "axes*"},
    {"Multinomial", "f4,4", "sample_size dtype"},
    {"Bernoulli", "f4,4", "dtype"},
    {"Mod", "f4,4 f4,4", "fmod"},
    {"GlobalLpPool", "f1,8,6,6", "p"},
    {"GridSample", "f1,8,6,6 w1,3,3,2", "align_corners"},
    {"Resize", "f1,8,6,6 - w4", "antialias axes* exclude_outside"},
    {"Einsum", "f4,4", "equation"},
    {"HannWindow", "i1", "output_datatype periodic"},
    {"Col2Im", "f1,8,6 i2 i2", "dilations* pads* strides*"},
};

static int parse_dims(const char *text, int64_t *dim)
{
    int rank = 0;

    for (const char *p = text; *p >= '0' && *p <= '9'; p += *p == ',')
        dim[rank++] = strtoll(p, (char **)&p, 10);
    return rank;
}

static void put_inputs(bytes *g, const char *inputs, char *names, size_t size)
{
    char copy[200], name[16];
    int i = 0;

    snprintf(copy, sizeof copy, "%s", inputs);
    names[0] = '\0';
    for (char *at = strtok(copy, " "); at != NULL; at = strtok(NULL, " "), i++) {
        int64_t dim[8];
        const int rank = parse_dims(at + 1, dim);
        int64_t zeros[64] = {0};

        snprintf(name, sizeof name, "in%d", i);
        if (*at == 'f')
            put_value(g, 11, name, F32, rank, dim);
        else if (*at == 'w')
            put_floats(g, name, rank, dim);
        else if (*at == 'i')
            put_init(g, name, I64, rank, dim, zeros,
                     sizeof *zeros * (size_t)dim[0] * (size_t)(rank > 1 ? dim[1] : 1));
        snprintf(names + strlen(names), size - strlen(names), "%s ", *at == '-' ? "-" : name);
    }
}

static void attributes(bytes *m)
{
    const size_t k = draw(sizeof ops / sizeof *ops);
    bytes g = {0}, a = {0};
    char names[200], attrs[200];
    size_t used = (size_t)snprintf(what, sizeof what, "%s", ops[k].op);

    put_inputs(&g, ops[k].inputs, names, sizeof names);
    snprintf(attrs, sizeof attrs, "%s", ops[k].attrs);
    bool any = false;
    for (char *at = strtok(attrs, " "), *next; at != NULL; at = next) {
        const bool is_list = at[strlen(at) - 1] == '*';
        int64_t v[64];
        size_t n = draw(8) == 0 ? 64 : draw(4) == 0 ? draw(8) : strstr(at, "pads") == at ? 4 : 2;

        next = strtok(NULL, " ");
        if (draw(2) == 0 && (any || next != NULL) && strcmp(at, "kernel_shape*") != 0)
            continue; /* a pool without a kernel is wrong already */
        any = true;
        for (size_t i = 0; i < 64; i++)
            v[i] = draw(3) == 0 ? extreme() : (int64_t)draw(3);
        v[0] = draw(4) == 0 ? 1 : extreme();
        if (is_list)
            at[strlen(at) - 1] = '\0';
        if (is_list)
            put_attr_ints(&a, at, v, n);
        else
            put_attr_int(&a, at, v[0]);
        if (used < sizeof what)
            used += (size_t)snprintf(what + used, sizeof what - used, " %s=%lld%s", at,
                                     (long long)v[0], is_list ? ",..." : "");
    }
    put_op(&g, ops[k].op, names, "y", &a);
    put_value(&g, 12, "y", F32, -1, NULL);
    put_model(m, &g, draw(3) == 0 ? 21 : draw(3) == 0 ? 11 : 17);
    free(g.data), free(a.data);
}

/* --- depth ------------------------------------------------------------------------------------ */

/* An If in an If in ...: each has the next one in its first branch. */
static void put_ifs(bytes *g, int depth, const char *out)
{
    bytes inner = {0}, other = {0}, a = {0};
    char name[40];

    snprintf(name, sizeof name, "b%d", depth);
    if (depth == 0) {
        put_op(&inner, "Relu", "x", name, NULL);
    } else {
        put_ifs(&inner, depth - 1, name);
    }
    put_text(&inner, 2, "then");
    put_value(&inner, 12, name, F32, -1, NULL);
    snprintf(name, sizeof name, "e%d", depth);
    put_op(&other, "Neg", "x", name, NULL);
    put_text(&other, 2, "else");
    put_value(&other, 12, name, F32, -1, NULL);
    put_attr_graph(&a, "then_branch", &inner);
    put_attr_graph(&a, "else_branch", &other);
    put_op(g, "If", "c", out, &a);
    free(inner.data), free(other.data), free(a.data);
}

static void put_function(bytes *m, int i, int last, int times)
{
    bytes f = {0}, n = {0}, o = {0};
    char name[40];

    snprintf(name, sizeof name, "F%d", i);
    put_text(&f, 1, name);
    put_text(&f, 4, "a");
    put_text(&f, 5, i == last ? "t" : "z");
    snprintf(name, sizeof name, "F%d", i + 1);
    for (int k = 0; k < (i == last ? 1 : times); k++) {
        put_text(&n, 1, k == 0 ? "a" : "t");
        put_text(&n, 2, i == last || k + 1 < times ? "t" : "z");
        put_text(&n, 4, i == last ? "Neg" : name);
        put_text(&n, 7, i == last ? "" : "my");
        put_message(&f, 7, &n);
    }
    for (int k = 0; k < 2; k++) {
        put_text(&o, 1, k == 0 ? "" : "my");
        put_int(&o, 2, k == 0 ? 17 : 1);
        put_message(&f, 9, &o);
    }
    put_text(&f, 10, "my");
    put_message(m, 25, &f);
    free(f.data), free(n.data), free(o.data);
}

static void functions(bytes *m, int levels, int times)
{
    bytes g = {0}, n = {0};

    put_value(&g, 11, "x", F32, 4, image);
    put_text(&n, 1, "x");
    put_text(&n, 2, "y");
    put_text(&n, 4, "F0");
    put_text(&n, 7, "my");
    put_message(&g, 1, &n);
    put_value(&g, 12, "y", F32, 4, image);
    put_model(m, &g, 17);
    put_opset(m, "my", 1);
    for (int i = 0; i <= levels; i++)
        put_function(m, i, levels, times);
    free(g.data), free(n.data);
}

static void depth(bytes *m)
{
    static const int levels[] = {1, 3, 30, 63, 64, 65, 100, 200};
    bytes g = {0}, type = {0}, info = {0};
    const int d = levels[draw(8)];

    switch (draw(4)) {
    case 0:
        snprintf(what, sizeof what, "If, %d deep", d);
        put_value(&g, 11, "x", F32, 4, image);
        put_value(&g, 11, "c", B8, 0, NULL);
        put_ifs(&g, d, "y");
        put_value(&g, 12, "y", F32, -1, NULL);
        put_model(m, &g, 17);
        break;
    case 1:
        snprintf(what, sizeof what, "functions, %d deep", d * 15);
        functions(m, d * 15, 1);
        break;
    case 2:
        snprintf(what, sizeof what, "functions that call twice, %d deep", d);
        functions(m, d, 2);
        break;
    default:
        snprintf(what, sizeof what, "a type %d deep", d * 100);
        put_int(&info, 1, F32);
        put_message(&type, 1, &info);
        for (int i = 0; i < d * 100; i++) {
            put_message(&info, 1, &type);
            put_message(&type, 4, &info);
        }
        put_text(&info, 1, "x");
        put_message(&info, 2, &type);
        put_message(&g, 11, &info);
        put_op(&g, "Identity", "x", "y", NULL);
        put_value(&g, 12, "y", F32, -1, NULL);
        put_model(m, &g, 17);
    }
    free(g.data), free(type.data), free(info.data);
}

/* --- names ------------------------------------------------------------------------------------ */

static void names(bytes *m)
{
    static const char *const odd[] = {"",
                                      "x",
                                      "%s%s%n%n",
                                      "../../etc/passwd",
                                      "a\x1b[2J\x1b]0;x\x07"
                                      "b",
                                      "\xc2\x9b"
                                      "31m",
                                      "\xff\xfe",
                                      "a\nerror: b",
                                      "w",
                                      "y",
                                      "/",
                                      "conv/.",
                                      "<script>a</script>",
                                      "'; drop",
                                      "\xf0\x9f\x98\x80"};
    bytes g = {0}, n = {0}, type = {0};
    const size_t size = draw(4) == 0 ? 1 << 20 : draw(3) == 0 ? 5000 : 0;
    char *name = malloc(size + 64);

    snprintf(name, 64, "%s", odd[draw(sizeof odd / sizeof *odd)]);
    if (size > 0) {
        memset(name, 'n', size);
        name[size] = '\0';
    }
    snprintf(what, sizeof what, "names, %zu bytes", strlen(name));
    put_conv(&g);
    /* nodes of one name; values that come twice or are called nothing */
    for (int i = 0; i < 3; i++) {
        put_text(&n, 1, i == 0 ? "h" : name);
        put_text(&n, 2, i < 2 || draw(2) == 0 ? name : "y");
        put_text(&n, 3, name);
        put_text(&n, 4, draw(6) == 0 ? name : "Relu");
        if (draw(5) == 0)
            put_text(&n, 7, name);
        put_message(&g, 1, &n);
        if (draw(2) == 0)
            break;
    }
    put_value(&g, 12, draw(3) == 0 ? "y" : name, F32, draw(2) == 0 ? 4 : -1, image);
    put_model(m, &g, 17);
    if (draw(4) == 0)
        put_opset(m, name, 1);
    free(name), free(g.data), free(n.data), free(type.data);
}

/* --- shapes ----------------------------------------------------------------------------------- */

static void shapes(bytes *m)
{
    static const struct {
        const char *op, *inputs; /* v: the extreme list */
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

        snprintf(what, sizeof what, "an input of rank %d", rank);
        put_value(&g, 11, "x", F32, rank, rank == 4 ? v : dim);
        put_op(&g, "Relu", "x", "h", NULL);
        put_op(&g, draw(2) == 0 ? "Flatten" : "Neg", "h", "y", NULL);
    } else {
        snprintf(what, sizeof what, "%s(%s) of %lld, %lld, ...", kinds[k].op, kinds[k].inputs,
                 (long long)v[0], (long long)v[1]);
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

/* --- loops ------------------------------------------------------------------------------------ */

static void loops(bytes *m)
{
    bytes g = {0}, body = {0}, a = {0};
    const int64_t drawn = draw(2) == 0 ? extreme() : (int64_t)draw(10);
    const int64_t trips =
        /* what is slow, but ends, is not hostile */
        drawn > 1000 && drawn <= 1 << 24 ? 1000 : drawn;
    /* what doubles 30 times takes all memory there is, on any engine */
    const bool scans = draw(3) == 0, ends = draw(3) != 0,
               grows = draw(2) == 0 && ((trips >= 0 && trips < 16) || !ends);
    const char yes = 1;

    snprintf(what, sizeof what, "%s of %lld%s%s", scans ? "Scan" : "Loop", (long long)trips,
             grows ? ", grows" : "", ends ? "" : ", runs for ever");
    put_value(&g, 11, "x", F32, 2, (const int64_t[]){4, 4});
    put_init(&g, "trips", I64, 0, NULL, &trips, sizeof trips);
    put_init(&g, "yes", B8, 0, NULL, &yes, 1);
    put_text(&body, 2, "body");
    if (!scans) {
        put_value(&body, 11, "it", I64, 0, NULL);
        put_value(&body, 11, "go", B8, 0, NULL);
    }
    put_value(&body, 11, "s", F32, -1, NULL);
    if (scans)
        put_value(&body, 11, "e", F32, -1, NULL);
    if (grows && !scans) {
        put_attr_int(&a, "axis", 0);
        put_op(&body, "Concat", "s s", "s1", &a);
    } else {
        put_op(&body, "Neg", "s", "s1", NULL);
    }
    if (!scans) {
        put_op(&body, "Identity", "go", "go1", NULL);
        put_value(&body, 12, "go1", B8, 0, NULL);
    }
    if (draw(6) != 0)
        put_value(&body, 12, "s1", F32, -1, NULL);
    if (scans || draw(3) == 0) {
        put_op(&body, "Identity", "s", "o", NULL);
        put_value(&body, 12, "o", F32, -1, NULL);
    }
    if (draw(10) != 0)
        put_attr_graph(&a, "body", &body);
    if (scans)
        put_attr_int(&a, "num_scan_inputs", draw(2) == 0 ? 1 : extreme());
    put_op(&g, scans ? "Scan" : "Loop",
           scans  ? "x x"
           : ends ? "trips yes x"
                  : "- yes x",
           scans ? "y z" : "y", &a);
    put_value(&g, 12, "y", F32, -1, NULL);
    if (draw(8) == 0) /* a circle */
        put_op(&g, "Add", "y q", "q", NULL);
    put_model(m, &g, 17);
    free(g.data), free(body.data), free(a.data);
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

static void external(bytes *m)
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

    snprintf(what, sizeof what, "external data in '%s', offset %s, length %s",
             strchr(place, '\n') ? "?" : place, offset, length);
    put_value(&g, 11, "x", F32, 4, image);
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

static void quantized(bytes *m)
{
    static const float scales[] = {0, -1, 1e-45f, 3e38f, 0.5f, 1, 0.0f / 0.0f, 1.0f / 0.0f};
    static const int elems[] = {U8, I8, I32, F32, I64, 17, 21, 22, 4};
    bytes g = {0}, a = {0};
    const int elem = elems[draw(9)], other = elems[draw(9)];
    const float scale[8] = {scales[draw(8)], scales[draw(8)], 1, 1, 1, 1, 1, 1};
    const char zero[64] = {(char)draw(256)};
    const int64_t n = draw(2) == 0 ? 8 : (int64_t)draw(9);
    const int rank = (int)draw(2);

    snprintf(what, sizeof what, "Q/DQ of types %d and %d, scale %g", elem, other, (double)scale[0]);
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

static void sizes(bytes *m)
{
    bytes g = {0}, a = {0};
    const int many = draw(3) == 0 ? 100000 : 3000, kind = (int)draw(5);
    /* engines: quadratic time */
    const int n = kind == 0 ? many / 10 : kind == 1 ? many / 100 : many;
    char in[64] = "h", out[64];

    snprintf(what, sizeof what, "%d of kind %d", n, kind);
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

static void damaged(bytes *m)
{
    static const char *const kinds[] = {"bytes changed", "cut", "bytes changed and cut",
                                        "one half twice"};
    const uint64_t kind = draw(4);
    bytes g = {0};

    put_conv(&g);
    put_op(&g, "Relu", "h", "y", NULL);
    put_value(&g, 12, "y", F32, 4, image);
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
    snprintf(what, sizeof what, "%s", kinds[kind]);
    free(g.data);
}

int main(int argc, char **argv)
{
    static void (*const kinds[])(bytes *) = {attributes, depth,     names, shapes, loops,
                                             external,   quantized, sizes, damaged};
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
    printf("%s\n", what);
    const int rc = write_file(argv[3], &m, 0);
    free(m.data);
    return rc;
}
