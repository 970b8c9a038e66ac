/* gen_graph.c - writes large models for measurements: gen_graph NODES OUT.onnx [--weights-gb X]
 *
 * Blocks of four nodes: Add (or MatMul with a 4 MiB weight), LeakyRelu, Mul with the block's input,
 * Relu; every node has a name, every value a shape. Weights are external data in OUT.onnx.data, a
 * file with holes that takes no space. */
#include "gen_proto.h"

enum { WIDTH = 1024, WEIGHT_BYTES = WIDTH * WIDTH * 4 };

/* ValueInfoProto: float [1, WIDTH] */
static void put_value(bytes *graph, unsigned number, const char *value)
{
    static bytes dim, shape, tensor, type, info;

    for (int i = 0; i < 2; i++) {
        put_int(&dim, 1, i == 0 ? 1 : WIDTH);
        put_message(&shape, 1, &dim);
    }
    put_int(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&info, 1, value);
    put_message(&info, 2, &type);
    put_message(graph, number, &info);
}

static void put_node(bytes *graph, const char *op, const char *node, const char *a, const char *b,
                     const char *out)
{
    static bytes n, attr;
    float alpha = 0.25f;

    put_text(&n, 1, a);
    if (b != NULL)
        put_text(&n, 1, b);
    put_text(&n, 2, out);
    put_text(&n, 3, node);
    put_text(&n, 4, op);
    if (strcmp(op, "LeakyRelu") == 0) {
        put_text(&attr, 1, "alpha");
        put_varint(&attr, 2 << 3 | 5);
        put(&attr, &alpha, sizeof alpha);
        put_int(&attr, 20, 1);
        put_message(&n, 5, &attr);
    }
    put_message(graph, 1, &n);
}

static void put_entry(bytes *tensor, const char *key, const char *value)
{
    static bytes entry;

    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(tensor, 13, &entry);
}

static void put_weight(bytes *graph, const char *weight, long index, const char *location)
{
    static bytes tensor;
    char text[24];

    put_int(&tensor, 1, WIDTH);
    put_int(&tensor, 1, WIDTH);
    put_int(&tensor, 2, 1);
    put_text(&tensor, 8, weight);
    put_entry(&tensor, "location", location);
    snprintf(text, sizeof text, "%lld", (long long)index * WEIGHT_BYTES);
    put_entry(&tensor, "offset", text);
    snprintf(text, sizeof text, "%d", WEIGHT_BYTES);
    put_entry(&tensor, "length", text);
    put_int(&tensor, 14, 1);
    put_message(graph, 5, &tensor);
}

static void put_scalar(bytes *graph, const char *scalar)
{
    static bytes tensor;
    float value = 0.5f;

    put_int(&tensor, 1, 1);
    put_int(&tensor, 2, 1);
    put_text(&tensor, 8, scalar);
    put_bytes(&tensor, 9, &value, sizeof value);
    put_message(graph, 5, &tensor);
}

/* Nodes 4 i to 4 i + 3 make block i. */
static void put_graph(bytes *graph, long nodes, long weights, const char *location)
{
    static const char *const ops[] = {"Add", "LeakyRelu", "Mul", "Relu"};
    label in = name("x", 0), block_in = in;

    put_value(graph, 11, in.text);
    for (long i = 0; i < nodes; i++) {
        long step = i % 4, block = i / 4;
        label out = name("t", i), constant = name("w", block);
        const char *second = step == 0 ? constant.text : step == 2 ? block_in.text : NULL;

        put_node(graph, step == 0 && block < weights ? "MatMul" : ops[step], name("node", i).text,
                 in.text, second, out.text);
        if (step == 0 && block < weights)
            put_weight(graph, constant.text, block, location);
        else if (step == 0)
            put_scalar(graph, constant.text);
        put_value(graph, i + 1 == nodes ? 12 : 13, out.text);
        if (step == 3)
            block_in = out;
        in = out;
    }
    put_text(graph, 2, "generated");
}

int main(int argc, char **argv)
{
    static bytes graph, opset, model;
    long nodes = argc > 2 ? strtol(argv[1], NULL, 10) : 0, weights = 0;
    char side[4096];

    if (argc == 5 && strcmp(argv[3], "--weights-gb") == 0)
        weights = (long)(strtod(argv[4], NULL) * 1e9 / WEIGHT_BYTES);
    if (nodes < 1 || weights < 0 || (argc != 3 && argc != 5)) {
        fprintf(stderr, "usage: gen_graph NODES OUT.onnx [--weights-gb X]\n");
        return 2;
    }
    if (weights > (nodes + 3) / 4)
        weights = (nodes + 3) / 4;
    snprintf(side, sizeof side, "%s.data", argv[2]);
    put_graph(&graph, nodes, weights, strrchr(side, '/') != NULL ? strrchr(side, '/') + 1 : side);
    put_int(&model, 1, 8);
    put_text(&model, 2, "gen_graph");
    put_message(&model, 7, &graph);
    put_int(&opset, 2, 17);
    put_message(&model, 8, &opset);
    if (weights > 0 && write_file(side, &(bytes){0}, (off_t)weights * WEIGHT_BYTES) != 0)
        return 1;
    return write_file(argv[2], &model, 0);
}
