/* partitions.c - reads what a target says of the kernels that its engine fuses over several nodes:
 * classes of operators, paths, and filters (docs/targets.md). */
#include "target/partitions.h"

#include <string.h>

enum { SIZE_MAX_KEPT = 1 << 20 };

/* --- paths ------------------------------------------------------------------------------------ */

/* One word of a path, of `size` bytes: "Conv", "Mul|Div", "BiasAdd?". */
static bool read_word(qdq_arena *arena, const char *text, size_t size, qdq_path *path)
{
    size_t n = 0;

    if (path->n == QDQ_PATH_WORDS)
        return false;
    path->word[path->n].optional = text[size - 1] == '?';
    size -= text[size - 1] == '?';
    for (size_t i = 0; i < size; n++) {
        size_t k = i;

        while (k < size && text[k] != '|')
            k++;
        if (k == i || k + 1 == size || n == QDQ_PATH_CHOICES)
            return false;
        path->word[path->n].op[n] = qdq_arena_strndup(arena, text + i, k - i);
        i = k + 1;
    }
    path->n++;
    return n > 0;
}

static void parse_path(const qdq_json_place *p, const char *key, const char *text, qdq_path *path)
{
    qdq_arena *arena = p->reader->arena;
    bool ok = true;

    path->text = text;
    for (const char *at = text + strspn(text, " "); *at != '\0' && ok; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");

        ok = read_word(arena, at, size, path);
        at += size;
    }
    if (!ok || path->n == 0)
        qdq_json_wrong(p, key,
                       "operators one behind the other: 'A B', 'A|B' for either, 'A?' for one that "
                       "may be missing");
    for (size_t i = 0; i < path->n && ok; i++)
        if (path->word[i].op[0] == NULL)
            qdq_json_nomem(p);
}

/* "key": ["A B", "A? C"] */
static void read_paths(const qdq_json_place *p, const char *key, qdq_paths *out)
{
    const char *const *texts = qdq_json_texts(p, key);

    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
        qdq_path path = {0};

        parse_path(p, key, texts[i], &path);
        if (!QDQ_PUSH(p->reader->arena, out, path))
            qdq_json_nomem(p);
    }
}

/* {"rule": ..., "path": "A B", "through": [...], "reason": ...} */
static qdq_path read_rule(const qdq_json_place *p)
{
    qdq_path path = {0};

    QDQ_JSON_KNOWN(p, "rule", "reason", "path", "through");
    path.rule = qdq_json_text(p, "rule", NULL);
    path.reason = qdq_json_text(p, "reason", NULL);
    path.through = qdq_json_texts(p, "through");
    parse_path(p, "path", qdq_json_text(p, "path", NULL), &path);
    return path;
}

static void read_rules(const qdq_json_place *p, const char *key, qdq_paths *out)
{
    qdq_json_place item;

    for (size_t i = 0; qdq_json_item(p, key, i, &item); i++) {
        qdq_path path = read_rule(&item);

        if (!QDQ_PUSH(p->reader->arena, out, path))
            qdq_json_nomem(p);
    }
}

/* --- filters ---------------------------------------------------------------------------------- */

static void read_conv_filter(const qdq_json_place *p, qdq_conv_filter *f)
{
    QDQ_JSON_KNOWN(p, "rule", "channels_min", "few_multiple", "depthwise_kernel_min",
                   "kernel_volume_max");
    f->rule = qdq_json_text(p, "rule", NULL);
    f->channels_min = qdq_json_int(p, "channels_min", 0, SIZE_MAX_KEPT, 0);
    f->few_multiple = qdq_json_int(p, "few_multiple", 0, SIZE_MAX_KEPT, 0);
    f->depthwise_kernel = qdq_json_int(p, "depthwise_kernel_min", 0, SIZE_MAX_KEPT, 0);
    f->kernel_volume_max = qdq_json_int(p, "kernel_volume_max", 0, SIZE_MAX_KEPT, 0);
}

static void read_gemm_filter(const qdq_json_place *p, qdq_gemm_filter *f)
{
    QDQ_JSON_KNOWN(p, "rule", "columns_min", "depth_min", "vectors");
    f->rule = qdq_json_text(p, "rule", NULL);
    f->columns_min = qdq_json_int(p, "columns_min", 0, SIZE_MAX_KEPT, 0);
    f->depth_min = qdq_json_int(p, "depth_min", 0, SIZE_MAX_KEPT, 0);
    f->vectors = qdq_json_bool(p, "vectors");
}

static void read_attention_filter(const qdq_json_place *p, qdq_attention_filter *f)
{
    QDQ_JSON_KNOWN(p, "rule", "path", "through", "length_max", "head_min", "head_max", "fused",
                   "fused_through");
    f->rule = qdq_json_text(p, "rule", NULL);
    f->path.through = qdq_json_texts(p, "through");
    parse_path(p, "path", qdq_json_text(p, "path", NULL), &f->path);
    if (f->path.n != 3)
        qdq_json_wrong(p, "path",
                       "three operators: the first product, what is between, the second product");
    f->length_max = qdq_json_int(p, "length_max", 0, SIZE_MAX_KEPT, 0);
    f->head_min = qdq_json_int(p, "head_min", 0, SIZE_MAX_KEPT, 0);
    f->head_max = qdq_json_int(p, "head_max", 0, SIZE_MAX_KEPT, 0);
    if (!qdq_json_has(p, "fused"))
        return;
    f->fused.through = qdq_json_texts(p, "fused_through");
    parse_path(p, "fused", qdq_json_text(p, "fused", NULL), &f->fused);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void read_classes(const qdq_json_place *p, qdq_partitions *out)
{
    out->pointwise = qdq_json_texts(p, "pointwise");
    out->pooling = qdq_json_texts(p, "pooling");
    out->convolutions = qdq_json_texts(p, "convolutions");
    out->behind_convolution = qdq_json_texts(p, "behind_convolution");
    out->resize = qdq_json_texts(p, "resize");
    out->sources = qdq_json_texts(p, "sources");
    out->kept_outputs = qdq_json_texts(p, "kept_outputs");
}

const qdq_partitions *qdq_partitions_read(const qdq_json_place *p)
{
    qdq_partitions *out = qdq_arena_alloc(p->reader->arena, sizeof *out);
    qdq_json_place part;

    if (out == NULL) {
        qdq_json_nomem(p);
        return NULL;
    }
    QDQ_JSON_KNOWN(p, "pointwise", "pooling", "convolutions", "behind_convolution", "resize",
                   "sources", "backbones", "mul_joins", "mul_stays", "kept_outputs", "frozen",
                   "residual_add", "mask_add", "trace_depth", "concat_groups", "quantize_outputs",
                   "conv_filter", "gemm_filter", "attention_filter");
    read_classes(p, out);
    read_paths(p, "backbones", &out->backbones);
    read_paths(p, "mul_joins", &out->mul_joins);
    read_paths(p, "mul_stays", &out->mul_stays);
    read_rules(p, "frozen", &out->frozen);
    out->residual_add =
        QDQ_JSON_WORD(p, "residual_add", 0, "both-branches", "main-branch-float") == 1;
    out->trace_depth = qdq_json_int(p, "trace_depth", 0, SIZE_MAX_KEPT, 10);
    out->concat_groups = qdq_json_bool(p, "concat_groups");
    out->quantize_outputs = qdq_json_bool(p, "quantize_outputs");
    if (qdq_json_member(p, "mask_add", &part))
        out->mask_add = read_rule(&part);
    if (qdq_json_member(p, "conv_filter", &part))
        read_conv_filter(&part, &out->conv);
    if (qdq_json_member(p, "gemm_filter", &part))
        read_gemm_filter(&part, &out->gemm);
    if (qdq_json_member(p, "attention_filter", &part))
        read_attention_filter(&part, &out->attention);
    return out;
}
