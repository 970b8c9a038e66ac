/* format.c - reads the number formats of a target, and their opsets. */
#include "target/format.h"

#include "base/regexp.h"

const char *const qdq_code_type_names[] = {"int8", "uint8", "int16",        "uint16",
                                           "int4", "uint4", "float8e4m3fn", NULL};
const char *const qdq_weight_store_names[] = {"codes", "float", "nbits", "dynamic", NULL};

enum { BLOCK_MAX = 1 << 20, NBITS_BLOCK_MIN = 16, CLIP_STEPS_MAX = 51 };

int qdq_codes_opset(qdq_elem type, bool blocked)
{
    if (blocked || qdq_elem_bits(type) == 4 || qdq_elem_bits(type) == 16)
        return 21;
    return type == QDQ_FLOAT8E4M3FN ? 19 : 13; /* 13: scales per channel */
}

int qdq_format_opset(const qdq_format *f)
{
    int weight = qdq_codes_opset(f->weight.type, f->weight_block != 0);
    int activation = qdq_format_weight_only(f) ? 0 : qdq_codes_opset(f->activation.type, false);

    if (f->weight_store == QDQ_WEIGHT_AS_NBITS) /* no DQ: but tables keep codes of 4 bits */
        weight = 21;
    return weight > activation ? weight : activation;
}

static qdq_elem unsigned_sibling(qdq_elem type)
{
    return type == QDQ_INT4    ? QDQ_UINT4
           : type == QDQ_INT8  ? QDQ_UINT8
           : type == QDQ_INT16 ? QDQ_UINT16
                               : QDQ_UNDEFINED;
}

bool qdq_format_unsigned(const qdq_format *f, qdq_qscheme *out)
{
    qdq_elem type = unsigned_sibling(f->activation.type);

    if (!f->unsigned_if_non_negative || !f->activation.symmetric || type == QDQ_UNDEFINED)
        return false;
    *out = f->activation;
    out->type = type;
    out->symmetric = false; /* the range begins at 0, and so do the codes */
    return true;
}

bool qdq_format_takes(const qdq_format *f, qdq_elem type, int32_t zero_point)
{
    const qdq_qscheme *s = &f->activation;
    qdq_qscheme other;

    if (qdq_format_unsigned(f, &other) && type == other.type)
        return zero_point == 0;
    return type == s->type && (!s->symmetric || zero_point == qdq_elem_middle_code(type));
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool flag(const qdq_json_place *p, const char *key, bool fallback)
{
    return qdq_json_has(p, key) ? qdq_json_bool(p, key) : fallback;
}

/* `types` begins with "float" where that is one of them: word 0 is then no code. */
static void read_scheme(const qdq_json_place *p, const char *const *types, qdq_qscheme *s)
{
    bool is_new = s->type == QDQ_UNDEFINED;

    if (is_new || qdq_json_has(p, "type"))
        s->type = qdq_elem_from_name(types[qdq_json_word(p, "type", types, -1)]);
    s->symmetric = flag(p, "symmetric", s->symmetric) || s->type == QDQ_FLOAT8E4M3FN;
    s->reduced = flag(p, "reduced", s->reduced);
    s->pow2 = flag(p, "pow2", s->pow2);
    if (s->reduced && s->type != QDQ_INT8 && s->type != QDQ_UINT8)
        qdq_json_wrong(p, "reduced",
                       "false: it is for 8-bit integers, whose products may saturate");
}

static void read_activation(const qdq_json_place *top, qdq_format *f)
{
    static const char *const keys[] = {
        "type", "symmetric", "reduced", "pow2", "unsigned_if_non_negative", NULL};
    static const char *const first_keys[] = {
        "type",   "symmetric", "reduced", "pow2", "unsigned_if_non_negative",
        "method", "min_range", NULL};
    static const char *const types[] = {"float", "int8",  "uint8",        "int16", "uint16",
                                        "int4",  "uint4", "float8e4m3fn", NULL};
    qdq_json_place p;

    if (!qdq_json_member(top, "activation", &p)) {
        if (f->activation.type == QDQ_UNDEFINED)
            qdq_json_wrong(top, "activation", "an object");
        return;
    }
    /* all have one "method" */
    qdq_json_known(&p, f->activation.type == QDQ_UNDEFINED ? first_keys : keys);
    f->min_range = qdq_json_number(&p, "min_range", 0, 1e30, f->min_range);
    f->unsigned_if_non_negative = flag(&p, "unsigned_if_non_negative", f->unsigned_if_non_negative);
    read_scheme(&p, types, &f->activation);
}

static void check_nbits(const qdq_json_place *p, const qdq_format *f)
{
    int64_t block = f->weight_block;

    if (!qdq_format_weight_only(f))
        qdq_json_wrong(p, "store",
                       "'codes' or 'float': 'nbits' is for activations of type 'float'");
    else if (qdq_elem_bits(f->weight.type) > 8 || f->weight.type == QDQ_FLOAT8E4M3FN)
        qdq_json_wrong(p, "type", "'int4', 'uint4', 'int8' or 'uint8', as 'store' is 'nbits'");
    else if (block < NBITS_BLOCK_MIN || (block & (block - 1)) != 0)
        qdq_json_wrong(p, "block", "a power of two from 16 on, as 'store' is 'nbits'");
}

/* MatMulInteger multiplies 8-bit integers, and has a scale for each column at most. */
static void check_dynamic(const qdq_json_place *p, const qdq_format *f)
{
    if (!qdq_format_weight_only(f))
        qdq_json_wrong(p, "store",
                       "'codes' or 'float': 'dynamic' is for activations of type 'float', which "
                       "the model quantizes while it runs");
    else if (f->weight.type != QDQ_INT8 && f->weight.type != QDQ_UINT8)
        qdq_json_wrong(p, "type", "'int8' or 'uint8', as 'store' is 'dynamic'");
    else if (f->weight_block != 0)
        qdq_json_wrong(p, "block", "0, as 'store' is 'dynamic'");
}

static bool is_float8(const qdq_qscheme *s)
{
    return s->type == QDQ_FLOAT8E4M3FN;
}

static bool is_int8_by_uint8(const qdq_format *f)
{
    return f->activation.type == QDQ_INT8 && f->weight.type == QDQ_UINT8;
}

bool qdq_format_has_kernels(const qdq_format *f)
{
    return !qdq_format_weight_only(f) && is_float8(&f->weight) == is_float8(&f->activation) &&
           !is_int8_by_uint8(f);
}

/* Can scales keep pairs of these codes below the limit? */
static bool has_pairs(const qdq_format *f)
{
    return f->weight.type == QDQ_INT8 && f->weight.symmetric && !f->weight.reduced;
}

/* What no engine multiplies, or no operator of ONNX says. */
static void check_weight(const qdq_json_place *p, const qdq_format *f)
{
    bool float8 = is_float8(&f->weight), awq = qdq_weight_method_is_awq(f->weight_method);

    if (!qdq_format_weight_only(f) && float8 != is_float8(&f->activation))
        qdq_json_wrong(
            p, "type",
            float8 ? "integers: no kernel multiplies float8 weights with activations that are none"
                   : "'float8e4m3fn', as activations are: no kernel multiplies them with integers");
    if (f->weight_pairs && !has_pairs(f))
        qdq_json_wrong(p, "pairs", "false: it is for symmetric int8 that is not 'reduced'");
    if (is_int8_by_uint8(f))
        qdq_json_wrong(p, "type",
                       "'int8': no kernel multiplies int8 activations with uint8 weights");
    if (awq && (!qdq_format_weight_only(f) || float8))
        qdq_json_wrong(
            p, "method",
            "'absmax' or 'mse': awq is for integer weights and activations of type 'float'");
    if (float8 && qdq_weight_method_is_gptq(f->weight_method))
        qdq_json_wrong(p, "method", "'absmax' or 'mse': gptq is for integer weights");
    if (f->weight_store == QDQ_WEIGHT_AS_NBITS)
        check_nbits(p, f);
    if (f->weight_store == QDQ_WEIGHT_AS_DYNAMIC)
        check_dynamic(p, f);
}

/* Model-Optimizer's defaults. A plan has a letter for each part of the range. */
static void read_awq(const qdq_json_place *p, qdq_awq_steps *s)
{
    if (s->alpha == 0)
        *s = (qdq_awq_steps){0.1, 0.05, 0.5};
    s->alpha = qdq_json_number(p, "alpha_step", 0.001, 1, s->alpha);
    s->clip = qdq_json_number(p, "clip_step", 0.001, 0.5, s->clip);
    s->clip_lowest = qdq_json_number(p, "clip_min", 0.01, 1, s->clip_lowest);
    if ((1 - s->clip_lowest) / s->clip > CLIP_STEPS_MAX)
        qdq_json_wrong(p, "clip_step", "at most 51 steps from 1 down to 'clip_min'");
}

/* The paper's damping. */
static void read_gptq(const qdq_json_place *p, qdq_gptq_opts *o)
{
    if (o->damping == 0)
        o->damping = 0.01;
    o->damping = qdq_json_number(p, "damping", 1e-6, 1, o->damping);
    o->act_order = flag(p, "act_order", o->act_order);
}

static void read_weight(const qdq_json_place *top, qdq_format *f)
{
    qdq_json_place p;

    if (!qdq_json_member(top, "weight", &p)) {
        if (f->weight.type == QDQ_UNDEFINED)
            qdq_json_wrong(top, "weight", "an object");
        else /* an override may change the activations only */
            check_weight(top, f);
        return;
    }
    QDQ_JSON_KNOWN(&p, "type", "symmetric", "reduced", "pairs", "pow2", "method", "per_channel",
                   "block", "store", "tables", "accuracy_level", "alpha_step", "clip_step",
                   "clip_min", "damping", "act_order");
    read_scheme(&p, qdq_code_type_names, &f->weight);
    f->weight_method = (qdq_weight_method)QDQ_JSON_WORD(
        &p, "method", (int)f->weight_method, "absmax", "mse", "awq-lite", "awq-clip", "awq-full",
        "gptq", "gptq-mse", "gptq-refine");
    f->weight_store =
        (qdq_weight_store)qdq_json_word(&p, "store", qdq_weight_store_names, (int)f->weight_store);
    f->weight_per_channel = flag(&p, "per_channel", f->weight_per_channel);
    f->weight_pairs = flag(&p, "pairs", f->weight_pairs && has_pairs(f));
    f->weight_tables = flag(&p, "tables", f->weight_tables);
    f->weight_block = qdq_json_int(&p, "block", -1, BLOCK_MAX, f->weight_block);
    f->accuracy_level = (int)qdq_json_int(&p, "accuracy_level", 0, 4, f->accuracy_level);
    read_awq(&p, &f->awq);
    read_gptq(&p, &f->gptq);
    if (f->weight_block < 0) { /* one block is a whole column */
        f->weight_block = 0;
        f->weight_per_channel = true;
    }
    check_weight(&p, f);
}

static void read_bias(const qdq_json_place *top, qdq_format *f)
{
    qdq_json_place p;

    if (!qdq_json_member(top, "bias", &p))
        return;
    QDQ_JSON_KNOWN(&p, "type");
    f->int32_bias = QDQ_JSON_WORD(&p, "type", -1, "float", "int32") == 1;
}

void qdq_format_read_activation(const qdq_json_place *p, qdq_format *f)
{
    read_activation(p, f);
}

void qdq_format_read(const qdq_json_place *p, qdq_format *f)
{
    read_activation(p, f);
    read_weight(p, f);
    read_bias(p, f);
}

static void check_pattern(const qdq_json_place *p, const char *pattern)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_regexp re;
    qdq_status st = qdq_regexp_open(pattern, false, &re, &err);

    if (st == QDQ_OK)
        qdq_regexp_close(&re);
    else if (st == QDQ_E_NOMEM)
        qdq_json_nomem(p);
    else
        qdq_json_fail(p, "key 'node': %s", err.text);
}

bool qdq_format_same_activation(const qdq_format *a, const qdq_format *b)
{
    return a->activation.type == b->activation.type &&
           a->activation.symmetric == b->activation.symmetric &&
           a->activation.reduced == b->activation.reduced &&
           a->activation.pow2 == b->activation.pow2 &&
           a->unsigned_if_non_negative == b->unsigned_if_non_negative;
}

const char *qdq_format_describe_activation(const qdq_format *f, char *text, size_t size)
{
    const char *type = qdq_elem_name(f->activation.type);

    snprintf(text, size, "%s %s%s%s%s", f->activation.symmetric ? "symmetric" : "asymmetric", type,
             f->unsigned_if_non_negative ? ", unsigned if not negative" : "",
             f->activation.reduced ? ", reduced" : "", f->activation.pow2 ? ", powers of 2" : "");
    return text;
}

/* Nodes next to each other with formats of their own agree about codes by their type alone, so one
 * type has one form among them. `first` [type] is the format that came first. */
static void check_form(const qdq_json_place *p, const qdq_format *f, qdq_format *first)
{
    const qdq_qscheme *s = &f->activation;
    qdq_format *known = &first[s->type];

    if (s->type == QDQ_FLOAT)
        return;
    if (known->activation.type == QDQ_UNDEFINED)
        *known = *f;
    else if (!qdq_format_same_activation(known, f))
        qdq_json_wrong(
            p, "activation",
            "'symmetric', 'reduced', 'pow2' and 'unsigned_if_non_negative' as other activations of "
            "this type have them, or another 'type'");
}

void qdq_overrides_read(const qdq_json_place *p, const qdq_format *base, qdq_overrides *out)
{
    qdq_format forms[QDQ_ELEM_COUNT] = {{0}};
    qdq_json_place item;

    check_form(p, base, forms);
    for (size_t i = 0; qdq_json_item(p, "overrides", i, &item); i++) {
        qdq_override o = {.format = *base};

        o.format.id = (uint32_t)i + 1;
        QDQ_JSON_KNOWN(&item, "node", "op", "activation", "weight", "bias");
        if (qdq_json_has(&item, "node"))
            check_pattern(&item, o.node = qdq_json_text(&item, "node", ""));
        if (qdq_json_has(&item, "op"))
            o.op = qdq_json_text(&item, "op", "");
        if (o.node == NULL && o.op == NULL)
            qdq_json_wrong(&item, "node", "a regular expression, or the key 'op'");
        qdq_format_read(&item, &o.format);
        check_form(&item, &o.format, forms);
        if (!QDQ_PUSH(p->reader->arena, out, o))
            qdq_json_nomem(p);
    }
}
