/* sim_cost.h - the cost model of the `sim` engine: what its JSON file says (docs/sim.md), and what
 * that makes of a graph. */
#ifndef QDQ_SIM_COST_H
#define QDQ_SIM_COST_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "engine/layer_nodes.h"
#include "engine/sim/sim_fail.h"
#include "engine/sim/sim_wrong.h"
#include "ir/ir.h"

typedef struct qdq_sim_cost {
    /* per_k: for every 1000 elements of the first output */
    double float_us, float_us_per_k;
    /* int8_us < 0: no 8-bit kernel */
    double int8_us, int8_us_per_k;
    /* in float, with a DequantizeLinear before its weight (the second input); below 0: as other
     * float kernels */
    double weight_us;
    /* how many of its first inputs must come from DQ */
    int64_t inputs;
    /* its output must be read by one Q alone */
    bool output_q;
    /* operators that a kernel takes in for nothing; ends with NULL */
    const char *const *epilogue;
    /* By type: factor on the 8-bit kernel where its first input has these codes; 0: 1. NULL:
     * none */
    const double *type_times;
} qdq_sim_cost;

typedef struct qdq_sim {
    qdq_arena arena;
    const char *device;
    /* of what it computes: the keys "error", "dynamic_error" and "wrong" */
    char digits[17];
    uint64_t seed;
    double noise, outlier_rate, outlier_factor;
    /* of a profile as a whole, and of each of its layers */
    double profile_noise;
    double overhead_us;
    /* factor on the time of 8-bit kernels where no input dim is open */
    double int8_fixed_times;
    /* an engine that does not say where its time goes */
    bool no_profile;
    /* relative to a float tensor's deviation, for each node in 8 bits */
    double error;
    /* the same for each node whose data is quantized at run time */
    double dynamic_error;
    /* the same for each MatMulNBits of 4 bits; of 8 bits a sixteenth */
    double weight_error;
    /* Q and DQ that no kernel takes in: float_us, float_us_per_k */
    qdq_sim_cost convert;
    /* operators that are not named */
    qdq_sim_cost other;
    /* name -> qdq_sim_cost */
    qdq_map by_op, by_node;
    /* n_failure of them */
    qdq_sim_failure *failure;
    size_t n_failure;
    /* n_wrong of them */
    qdq_sim_wrong *wrong;
    size_t n_wrong;
} qdq_sim;

/* Reads the cost model; *out goes to qdq_sim_free(). */
qdq_status qdq_sim_load(const char *path, qdq_sim **out, qdq_error *err);
void qdq_sim_free(qdq_sim *sim); /* NULL is allowed */

/* One executed layer. */
typedef struct qdq_sim_layer {
    const qdq_node *node;
    double us;
    bool is_int8;
    /* in float, with its weight alone in 8 bits (`weight_us`) */
    bool has_weight;
} qdq_sim_layer;

typedef struct qdq_sim_estimate {
    /* in file order, what is taken in by others left out */
    QDQ_VEC(qdq_sim_layer) layers;
    /* with overhead */
    double total_us;
    size_t n_int8;
    /* nodes with data that is quantized at run time */
    size_t n_dynamic;
    /* of MatMulNBits nodes: sum of squared steps, that of 4 bits being 1 */
    double weight_noise;
    /* by node id: costs nothing, as a kernel takes it in or it is computed beforehand */
    const bool *is_taken;
    /* hash of which edges carry Q/DQ, and of which type; not of names of Q/DQ themselves */
    uint64_t assignment;
} qdq_sim_estimate;

/* The type of the codes that the first input of a node comes from; QDQ_UNDEFINED: it comes from
 * none. */
qdq_elem qdq_sim_input_codes(const qdq_node *n);

/* What one run of the main graph costs; shapes must have been inferred. Everything is in
 * `arena`. */
qdq_status qdq_sim_estimate_graph(const qdq_sim *sim, const qdq_graph *g, qdq_arena *arena,
                                  qdq_sim_estimate *out, qdq_error *err);

/* The nodes that a layer computes, its own included, appended to *nodes: what it reads through, its
 * epilogue, and the Q behind. False: out of memory. */
bool qdq_sim_layer_nodes(const qdq_sim *sim, const qdq_sim_estimate *e, const qdq_sim_layer *l,
                         qdq_arena *arena, qdq_layer_node_list *nodes);

#endif /* QDQ_SIM_COST_H */
