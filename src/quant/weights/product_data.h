/* product_data.h - which tensors of a plan are data of nothing but products with constant matrices
 * in 8 bits, whose channels can be treated one by one. */
#ifndef QDQ_PRODUCT_DATA_H
#define QDQ_PRODUCT_DATA_H

#include "base/map.h"
#include "quant/calib/quantizing.h"

typedef struct qdq_product_finder {
    const qdq_quantizing *q;
    /* weights whose rounding is searched count, too: it begins later */
    bool with_gptq;
    qdq_arena scratch;
    /* label -> node */
    qdq_map labels;
    /* name -> 1 + index into the plan's; 0: it has several entries */
    qdq_map weights;
    /* the same */
    qdq_map tensors;
    qdq_error *err;
} qdq_product_finder;

/* Reads q->plan; qdq_product_finder_free() also after an error. */
qdq_status qdq_product_finder_begin(qdq_product_finder *f);
void qdq_product_finder_free(qdq_product_finder *f);

/* The value of a plan's tensor that nothing but such products reads in 8 bits; else NULL.
 * *channels: its input channels. */
const qdq_value *qdq_find_product_data(const qdq_product_finder *f, const qdq_plan_tensor *t,
                                       int64_t *channels);

/* The entry of the weight of such a product. */
qdq_plan_weight *qdq_find_product_weight(const qdq_product_finder *f, const qdq_node *n);

#endif /* QDQ_PRODUCT_DATA_H */
