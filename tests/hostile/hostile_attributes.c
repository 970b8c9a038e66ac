/* hostile_attributes.c - operators with extreme numbers in their attributes. */
#include "hostile_parts.h"

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
    {"Attention", "f1,2,4,4 f1,2,4,4 f1,2,4,4",
     "is_causal qk_matmul_output_mode softmax_precision left_window_size right_window_size"},
    {"Attention", "f1,4,8 w1,4,8 w1,4,8", "q_num_heads kv_num_heads is_causal"},
    {"RotaryEmbedding", "f1,4,8 w4,2 w4,2 i1,4", "num_heads rotary_embedding_dim interleaved"},
    {"TensorScatter", "f1,4,4 f1,2,4 i1", "axis"},
    {"DeformConv", "f1,2,4,4 w2,2,1,1 f1,2,4,4", "group offset_group pads* strides* dilations*"},
    {"TfIdfVectorizer", "i4",
     "max_gram_length min_gram_length max_skip_count ngram_counts* ngram_indexes* pool_int64s*"},
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

void put_wrong_attributes(bytes *m)
{
    const size_t k = draw(sizeof ops / sizeof *ops);
    bytes g = {0}, a = {0};
    char names[200], attrs[200];
    size_t used = (size_t)snprintf(description, sizeof description, "%s", ops[k].op);

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
        if (used < sizeof description)
            used += (size_t)snprintf(description + used, sizeof description - used, " %s=%lld%s",
                                     at, (long long)v[0], is_list ? ",..." : "");
    }
    put_op(&g, ops[k].op, names, "y", &a);
    put_value(&g, 12, "y", F32, -1, NULL);
    put_model(m, &g, draw(3) == 0 ? 21 : draw(3) == 0 ? 11 : 17);
    free(g.data), free(a.data);
}
