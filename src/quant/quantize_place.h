/* quantize_place.h - placement and calibration as one step of quantize: they depend on each other
 * where a tensor turns out to have no range. */
#ifndef QDQ_QUANTIZE_PLACE_H
#define QDQ_QUANTIZE_PLACE_H

#include "quant/plan/plan.h"
#include "quant/place/place.h"
#include "quant/calib/calib.h"
#include "quant/calib/scales.h"

/* What a plan builds on where many are made for one clean model; any of it may be NULL. */
typedef struct qdq_plan_basis {
    qdq_scales *known;        /* its scales are taken, and new ones added */
    qdq_map *finite;          /* as in qdq_place_opts */
    const uint32_t *stay;     /* likewise */
    const qdq_target *bodies; /* for the bodies of If, Loop and Scan, if it is another one */
    unsigned folds;           /* as in qdq_calib_opts: of the main graph alone */
    bool means;               /* gather those that corrections of biases need, for a later plan */
    /* that of another plan, complete: it does not depend on where Q/DQ are */
    const qdq_plan_rest *rest;
} qdq_plan_basis;

/* Placement as `opts` want it, without scales. */
qdq_status qdq_place_for(const qdq_model *clean, const qdq_target *t, const qdq_quantize_opts *opts,
                         qdq_plan *p, qdq_error *err);

/* The same with scales. `data` NULL: random input; `basis` NULL: nothing is there yet. */
qdq_status qdq_place_with_scales(const qdq_model *clean, const qdq_target *t, qdq_engine *e,
                                 qdq_data *data, const qdq_quantize_opts *opts,
                                 const qdq_plan_basis *basis, qdq_plan *p, qdq_error *err);

/* Fills scales of a placed plan that are not there, as qdq_calibrate() does, for the options of
 * quantize. `folds` as in qdq_calib_opts. */
qdq_status qdq_find_scales(const qdq_model *clean, const qdq_target *t, qdq_engine *e,
                           qdq_data *data, const qdq_quantize_opts *opts, unsigned folds,
                           qdq_plan *p, qdq_calib_names *empty, qdq_error *err);

/* The precision of what is not quantized, and which nodes stay float32, as another plan for the
 * model has it. */
qdq_status qdq_take_rest(const qdq_plan_rest *from, qdq_plan *p, qdq_error *err);

#endif /* QDQ_QUANTIZE_PLACE_H */
