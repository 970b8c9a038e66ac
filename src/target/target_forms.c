/* target_forms.c - the formats that operators of a target may have beside its own: data that is
 * quantized at run time, or other weights in blocks. */
#include <stdio.h>

#include "target/target.h"

/* Kernels take blocks of up to 256. */
enum { FINE_BLOCK = 16, LARGE_BLOCK = 128, LEVEL_FLOAT = 1, LEVEL_INT8 = 4 };

static bool same_weights(const qdq_format *a, const qdq_format *b)
{
    return a->weight.type == b->weight.type && a->weight.symmetric == b->weight.symmetric &&
           a->weight_block == b->weight_block && a->accuracy_level == b->accuracy_level;
}

/* What users call it: type and blocks, and the rest where it is not the target's. */
static void name_form(const qdq_format *own, qdq_target_form *f)
{
    const qdq_format *is = &f->format;
    int n = snprintf(f->name, sizeof f->name, "%s, blocks of %lld", qdq_elem_name(is->weight.type),
                     (long long)is->weight_block);

    if (is->weight.symmetric != own->weight.symmetric)
        n += snprintf(f->name + n, sizeof f->name - (size_t)n, "%s",
                      is->weight.symmetric ? ", symmetric" : ", with zero points");
    if (is->accuracy_level != own->accuracy_level)
        snprintf(f->name + n, sizeof f->name - (size_t)n, ", level %d", is->accuracy_level);
}

static qdq_target_form *add_form(qdq_target_forms *out, const qdq_format *f)
{
    qdq_target_form *to = &out->at[out->n++];

    *to = (qdq_target_form){.format = *f};
    to->format.id = (uint32_t)out->n;
    return to;
}

static void add_blocks(qdq_target_forms *out, const qdq_format *own, const qdq_format *f,
                       bool for_goals)
{
    if (same_weights(f, own))
        return;
    qdq_target_form *to = add_form(out, f);
    to->for_goals = for_goals;
    name_form(own, to);
}

/* The same weights, with data that the model quantizes. */
static void add_dynamic(const qdq_target *t, qdq_target_forms *out)
{
    qdq_format f = t->format;
    bool any = false;

    for (size_t i = 0; i < t->ops.n; i++)
        any |= t->ops.at[i].dynamic;
    if (!any || (f.weight.type != QDQ_INT8 && f.weight.type != QDQ_UINT8))
        return;
    f.activation = (qdq_qscheme){.type = QDQ_FLOAT};
    f.unsigned_if_non_negative = f.int32_bias = false;
    f.weight_store = QDQ_WEIGHT_AS_DYNAMIC;
    f.weight_block = 0;
    qdq_target_form *to = add_form(out, &f);
    to->for_goals = true;
    snprintf(to->name, sizeof to->name, "at run time");
}

static qdq_elem with_8_bits(qdq_elem type)
{
    return type == QDQ_INT4 ? QDQ_INT8 : type == QDQ_UINT4 ? QDQ_UINT8 : type;
}

/* With zero points where the own ones are symmetric, and the other way round; kernels have signed
 * values without zero points. */
static qdq_format with_other_zeros(const qdq_format *own)
{
    const bool four = qdq_elem_bits(own->weight.type) == 4;
    qdq_format f = *own;

    f.weight.symmetric = !own->weight.symmetric;
    f.weight.type =
        f.weight.symmetric ? (four ? QDQ_INT4 : QDQ_INT8) : (four ? QDQ_UINT4 : QDQ_UINT8);
    return f;
}

/* In the order of what was measured to be fastest. Of those for goals, more bits come before
 * smaller blocks: these cost memory, and smaller blocks of more layers cost less of it. */
static void add_all_blocks(const qdq_target *t, qdq_target_forms *out)
{
    const qdq_format *own = &t->format, zeros = with_other_zeros(own);
    const bool nbits = own->weight_store == QDQ_WEIGHT_AS_NBITS;
    qdq_format wide = *own, more = *own, fine = *own, level = *own;

    wide.weight_block =
        own->weight_block < LARGE_BLOCK ? 4 * own->weight_block : own->weight_block / 4;
    more.weight.type = with_8_bits(own->weight.type);
    fine.weight_block = FINE_BLOCK;
    level.accuracy_level = own->accuracy_level == LEVEL_INT8 ? LEVEL_FLOAT : LEVEL_INT8;
    add_blocks(out, own, &wide, false);
    add_blocks(out, own, &more, nbits);
    add_blocks(out, own, &zeros, false);
    if (own->weight_block > FINE_BLOCK)
        add_blocks(out, own, &fine, nbits);
    if (!nbits)
        return;
    add_blocks(out, own, &level, false);
    level.weight_block = wide.weight_block;
    add_blocks(out, own, &level, false);
}

void qdq_target_list_forms(const qdq_target *t, qdq_target_forms *out)
{
    out->n = 0;
    if (t->overrides.n > 0)
        return;
    if (!qdq_format_weight_only(&t->format))
        add_dynamic(t, out);
    else if (t->format.weight_block > 0)
        add_all_blocks(t, out);
}
