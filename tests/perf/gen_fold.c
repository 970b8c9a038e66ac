/* gen_fold.c - writes models that an optimizer has much to do with: gen_fold arithmetic|shapes
 * NODES OUT.onnx
 *
 * arithmetic   blocks of 14 nodes: float arithmetic on constants, integer arithmetic on the shape
 * of what flows through, and two nodes (Add, Relu) that are left when all that is known has been
 * computed shapes       one chain from Shape(x) over Gather, Unsqueeze, Concat, Slice, Mul, Add,
 * Div, as long as the model, whose end is the shape of a Reshape */
#include "gen_proto.h"

enum { FLOAT = 1, INT64 = 7, ROWS = 4, COLUMNS = 8 };

/* ValueInfoProto: float [ROWS, COLUMNS]; rows 0: a name in place of a number */
static void put_value(bytes *graph, unsigned number, const char *value, int rows)
{
    static bytes dim, shape, tensor, type, info;

    if (rows > 0)
        put_int(&dim, 1, (uint64_t)rows);
    else
        put_text(&dim, 2, "N");
    put_message(&shape, 1, &dim);
    put_int(&dim, 1, COLUMNS);
    put_message(&shape, 1, &dim);
    put_int(&tensor, 1, FLOAT);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&info, 1, value);
    put_message(&info, 2, &type);
    put_message(graph, number, &info);
}

/* `in`: names with blanks between; `attr`: an integer attribute, or NULL. */
static void put_node(bytes *graph, const char *op, const char *in, const char *out,
                     const char *attr, int value)
{
    static bytes n, a;

    for (size_t size; *in != '\0'; in += size + (in[size] == ' ')) {
        size = strcspn(in, " ");
        put_bytes(&n, 1, in, size);
    }
    put_text(&n, 2, out);
    put_text(&n, 4, op);
    if (attr != NULL) {
        put_text(&a, 1, attr);
        put_int(&a, 3, (uint64_t)value);
        put_int(&a, 20, 2);
        put_message(&n, 5, &a);
    }
    put_message(graph, 1, &n);
}

static void put_tensor(bytes *graph, const char *tensor, uint64_t elem, uint64_t rows,
                       uint64_t columns, const void *data, size_t size)
{
    static bytes t;

    if (rows > 0)
        put_int(&t, 1, rows);
    if (columns > 0)
        put_int(&t, 1, columns);
    put_int(&t, 2, elem);
    put_text(&t, 8, tensor);
    put_bytes(&t, 9, data, size);
    put_message(graph, 5, &t);
}

static void put_ints(bytes *graph, const char *tensor, uint64_t n, int64_t first, int64_t second)
{
    const int64_t data[2] = {first, second};

    put_tensor(graph, tensor, INT64, n, 0, data, n > 0 ? n * sizeof *data : sizeof *data);
}

/* "a_12 b": a step's inputs from names with %ld in them. */
static const char *inputs(char *room, size_t size, const char *pattern, long i)
{
    size_t used = 0;

    for (; *pattern != '\0' && used + 24 < size; pattern++)
        if (*pattern == '#')
            used += (size_t)snprintf(room + used, size - used, "_%ld", i);
        else
            room[used++] = *pattern;
    room[used] = '\0';
    return room;
}

typedef struct step {
    /* '#' stands for the number of the block */
    const char *op, *in, *out;
    const char *attr;
    int value;
} step;

static void put_block(bytes *graph, const step *steps, size_t n, long block, long *left)
{
    char in[120], out[40];

    for (size_t i = 0; i < n; i++, --*left)
        put_node(graph, steps[i].op, inputs(in, sizeof in, steps[i].in, block),
                 inputs(out, sizeof out, steps[i].out, block), steps[i].attr, steps[i].value);
}

/* --- arithmetic ------------------------------------------------------------------------------- */

static const step arithmetic[] = {
    {"Mul", "w# half", "a#", NULL, 0},       {"Add", "a# half", "b#", NULL, 0},
    {"Transpose", "b#", "c#", NULL, 0},      {"Reshape", "c# square", "d#", NULL, 0},
    {"Sub", "d# w#", "e#", NULL, 0},         {"Abs", "e#", "f#", NULL, 0},
    {"Div", "f# four", "g#", NULL, 0},       {"Add", "x# g#", "h#", NULL, 0},
    {"Shape", "h#", "s#", NULL, 0},          {"Gather", "s# first", "t#", NULL, 0},
    {"Concat", "t# minus", "u#", "axis", 0}, {"Cast", "u#", "v#", "to", INT64},
    {"Reshape", "h# v#", "r#", NULL, 0},
};

static void put_arithmetic(bytes *graph, long left)
{
    const float half = 0.5f, four = 4;
    char in[40], out[40], weight[40];
    float w[ROWS * COLUMNS];

    put_tensor(graph, "half", FLOAT, 0, 0, &half, sizeof half);
    put_tensor(graph, "four", FLOAT, 0, 0, &four, sizeof four);
    put_ints(graph, "square", 2, ROWS, COLUMNS);
    put_ints(graph, "first", 1, 0, 0);
    put_ints(graph, "minus", 1, -1, 0);
    put_value(graph, 11, "x_0", ROWS);
    for (long block = 0; left > 0; block++) {
        for (int i = 0; i < ROWS * COLUMNS; i++)
            w[i] = (float)((block * 31 + i * 7) % 97) / 97;
        put_tensor(graph, inputs(weight, sizeof weight, "w#", block), FLOAT, ROWS, COLUMNS, w,
                   sizeof w);
        put_block(graph, arithmetic, sizeof arithmetic / sizeof *arithmetic, block, &left);
        inputs(in, sizeof in, "r#", block);
        inputs(out, sizeof out, "x#", block + 1);
        put_node(graph, "Relu", in, out, NULL, 0);
        left--;
    }
    put_value(graph, 12, out, ROWS);
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* From the number n_i = 8 to n_(i+1) = 8: ((n * 3 + 8) / 4, by way of a vector of two. */
static const step shapes[] = {
    {"Unsqueeze", "n# zero", "a#", NULL, 0}, {"Concat", "a# two", "b#", "axis", 0},
    {"Slice", "b# zero one", "c#", NULL, 0}, {"Mul", "c# three", "d#", NULL, 0},
    {"Add", "d# eight", "e#", NULL, 0},      {"Div", "e# divisor", "f#", NULL, 0},
};

static void put_shapes(bytes *graph, long left)
{
    char in[40], out[40] = "n_0";
    long block = 0;

    put_ints(graph, "zero", 1, 0, 0);
    put_ints(graph, "one", 1, 1, 0);
    put_ints(graph, "two", 1, 2, 0);
    put_ints(graph, "three", 1, 3, 0);
    put_ints(graph, "eight", 1, 8, 0);
    put_ints(graph, "divisor", 1, 4, 0);
    put_ints(graph, "index", 0, 1, 0);
    put_ints(graph, "index0", 0, 0, 0);
    put_ints(graph, "minus", 1, -1, 0);
    put_value(graph, 11, "x", 0);
    put_node(graph, "Shape", "x", "s", NULL, 0);
    put_node(graph, "Gather", "s index", out, NULL, 0);
    for (left -= 5; left > 0; block++) {
        put_block(graph, shapes, sizeof shapes / sizeof *shapes, block, &left);
        inputs(in, sizeof in, "f# index0", block);
        inputs(out, sizeof out, "n#", block + 1);
        put_node(graph, "Gather", in, out, NULL, 0);
        left--;
    }
    snprintf(in, sizeof in, "%s zero", out);
    put_node(graph, "Unsqueeze", in, "last", NULL, 0);
    put_node(graph, "Concat", "minus last", "shape", "axis", 0);
    put_node(graph, "Reshape", "x shape", "y", NULL, 0);
    put_value(graph, 12, "y", 0);
}

int main(int argc, char **argv)
{
    static bytes graph, opset, model;
    long nodes = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    bool is_shapes = argc == 4 && strcmp(argv[1], "shapes") == 0;

    if (nodes < 1 || (!is_shapes && strcmp(argv[1], "arithmetic") != 0)) {
        fprintf(stderr, "usage: gen_fold arithmetic|shapes NODES OUT.onnx\n");
        return 2;
    }
    if (is_shapes)
        put_shapes(&graph, nodes);
    else
        put_arithmetic(&graph, nodes);
    put_text(&graph, 2, "generated");
    put_int(&model, 1, 8);
    put_text(&model, 2, "gen_fold");
    put_message(&model, 7, &graph);
    put_int(&opset, 2, 17);
    put_message(&model, 8, &opset);
    return write_file(argv[3], &model, 0);
}
