/* upgrade.h - what the adapters of the opset upgrade share. Private to onnx/upgrade*.c; the rest of
 * the library sees qdq_model_set_opset(). */
#ifndef QDQ_UPGRADE_H
#define QDQ_UPGRADE_H

#include "ir/ir.h"

typedef struct qdq_upgrade {
    qdq_arena scratch;
    /* by address: Resize nodes that were Upsample, whose scales are 1 or more */
    qdq_map upsampled;
} qdq_upgrade;

/* Rewrites one node so that it means in the step's opset what it meant in the one before. It may
 * add nodes around n, in operators as the new opset has them, and may remove n. What it reports is
 * put behind the node's name. */
typedef qdq_status qdq_upgrade_fn(qdq_upgrade *u, qdq_node *n, qdq_error *err);

/* upgrade_inputs.c: attributes that became inputs. */
qdq_upgrade_fn qdq_upgrade_axes_to_input, qdq_upgrade_clip_11, qdq_upgrade_dft_20,
    qdq_upgrade_dropout_12, qdq_upgrade_pad_11, qdq_upgrade_slice_10, qdq_upgrade_split_13,
    qdq_upgrade_split_18, qdq_upgrade_topk_10, qdq_upgrade_upsample_9;

/* upgrade_meaning.c: operators that mean something else, or are gone. */
qdq_upgrade_fn qdq_upgrade_attention_25, qdq_upgrade_batchnorm_9, qdq_upgrade_batchnorm_14,
    qdq_upgrade_convtranspose_11, qdq_upgrade_dropout_10, qdq_upgrade_gridsample_20,
    qdq_upgrade_resize_11, qdq_upgrade_resize_13, qdq_upgrade_roialign_16, qdq_upgrade_scatter_11,
    qdq_upgrade_softmax_13, qdq_upgrade_upsample_10;

/* --- upgrade_const.c: constants next to a node ------------------------------------------------ */

/* Puts `t` into input slot i of n, which must be free: as an initializer, or as a Constant node in
 * a function. Its name is that of n's first output with `suffix`. */
qdq_status qdq_upgrade_put(qdq_upgrade *u, qdq_node *n, uint32_t i, const char *suffix,
                           qdq_tensor *t, qdq_error *err);
qdq_status qdq_upgrade_put_ints(qdq_upgrade *u, qdq_node *n, uint32_t i, const char *suffix,
                                const int64_t *ints, size_t count, qdq_error *err);
/* A scalar of n's first input's element type, which must be float16, float or double. */
qdq_status qdq_upgrade_put_like_input(qdq_upgrade *u, qdq_node *n, uint32_t i, const char *suffix,
                                      double value, qdq_error *err);

/* The list of integers of an attribute that is not there is NULL. One of another type is
 * QDQ_E_FORMAT. */
qdq_status qdq_upgrade_get_ints(const qdq_node *n, const char *name, bool required,
                                const int64_t **ints, size_t *count, qdq_error *err);

/* A free value name made from that of n's first output; NULL: out of memory. */
const char *qdq_upgrade_name(qdq_upgrade *u, const qdq_node *n, const char *suffix);

#endif /* QDQ_UPGRADE_H */
