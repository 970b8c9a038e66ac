/* edit.h - the only functions that change a graph. They keep use lists, names and counters right;
 * the caller keeps the meaning right. Functions that return a pointer return NULL only when out of
 * memory. */
#ifndef QDQ_EDIT_H
#define QDQ_EDIT_H

#include "ir/ir.h"

qdq_model *qdq_model_new(void); /* empty main graph, IR 9, no opset */
qdq_status qdq_model_set_opset_version(qdq_model *m, const char *domain, int64_t version,
                                       qdq_error *err);
/* For functions, too: f NULL is the model. */
bool qdq_model_add_opset(qdq_model *m, qdq_function *f, const char *domain, int64_t version);
void qdq_model_remove_opset(qdq_model *m, qdq_function *f, size_t i);
/* Removes function i, which nothing may call any more, with its body. */
void qdq_model_remove_function(qdq_model *m, size_t i);
qdq_status qdq_model_set_prop(qdq_model *m, const char *key, const char *value, qdq_error *err);
/* The model takes over the caller's reference of `map`, also when it fails or holds `map` already,
 * and drops it when it is freed. Needed once per mapping that tensors of the model lie in. False:
 * out of memory. */
bool qdq_model_hold(qdq_model *m, qdq_mapping *map);

/* The body g, with all that is inside of it, as a model of its own: values of the graphs around
 * that it reads are initializers if they are constant, else inputs behind its own. Calls of
 * functions are left without them. */
qdq_status qdq_graph_to_model(const qdq_graph *g, qdq_model **out, qdq_error *err);

/* A copy of the graph of `from` goes beside that of `to`, which shares its weights: names of
 * values, nodes and symbols get the prefix, so that nothing is called as what is there. Functions
 * come along, but for those that `to` has: of one name they are taken to be the same.
 * QDQ_E_UNSUPPORTED: of a domain they import two versions. On failure `to` is good for nothing but
 * freeing. */
qdq_status qdq_model_join(qdq_model *to, const qdq_model *from, const char *prefix, qdq_error *err);

qdq_graph *qdq_graph_new(qdq_model *m, qdq_node *owner, const char *name);

/* A name that no value of the graph, the graphs around it and inside it has: `base`, else base_1,
 * base_2 ... Node names do not count. */
const char *qdq_graph_unique_name(qdq_graph *g, const char *base);
/* The same for names of nodes: engines refuse two nodes of one name. */
const char *qdq_graph_unique_node_name(qdq_graph *g, const char *base);

/* A value. `name` must be free in g (an existing one gives QDQ_E_FORMAT through add; here it is a
 * defect). */
qdq_value *qdq_graph_add_value(qdq_graph *g, const char *name, const qdq_type *type);
qdq_value *qdq_graph_add_input(qdq_graph *g, const char *name, const qdq_type *type);
bool qdq_graph_make_input(qdq_graph *g, qdq_value *v); /* lists a value that is there as input */
bool qdq_graph_add_output(qdq_graph *g, qdq_value *v);
/* A value with data. The tensor is made over to the graph; its name becomes the value's. */
qdq_value *qdq_graph_add_init(qdq_graph *g, const char *name, qdq_tensor *t);
/* The same wherever g is: in function bodies, which have no initializers, a Constant node in front
 * of `before` (NULL: at the end). */
qdq_value *qdq_graph_add_constant(qdq_graph *g, qdq_node *before, const char *name, qdq_tensor *t);

/* Takes v out of the inputs; its uses and its initializer stay. */
void qdq_graph_remove_input(qdq_graph *g, qdq_value *v);
/* Takes all initializers out of the inputs (below IR 4 they had to be listed there), in one
 * pass. */
void qdq_graph_unlist_inits(qdq_graph *g);
void qdq_graph_set_output(qdq_graph *g, size_t i, qdq_value *v);
void qdq_graph_remove_output(qdq_graph *g, size_t i);

/* Other wire bytes for what the library does not model; they live as long as the model. */
void qdq_graph_set_rest(qdq_graph *g, qdq_span rest);

/* A node before `before` (NULL: at the end) with n_in empty input slots and n_out new values named
 * `out_names` (NULL entries: left out). domain "" is the default one. */
qdq_node *qdq_graph_add_node(qdq_graph *g, qdq_node *before, const char *domain, const char *type,
                             const char *name, uint32_t n_in, uint32_t n_out,
                             const char *const *out_names);
/* One of the default domain with these inputs and one output, called `out` or like it; so is the
 * node called like `name`, which may be "". */
qdq_node *qdq_graph_add_op(qdq_graph *g, qdq_node *before, const char *type, const char *name,
                           const char *out, uint32_t n_in, qdq_value *const *in);
/* Another node that computes the first output of n from the same inputs: names like those of n. */
qdq_node *qdq_node_copy(const qdq_node *n, qdq_graph *g, qdq_node *before);

void qdq_node_set_in(qdq_node *n, uint32_t i,
                     /* i < n_in; v may be NULL or of a graph around */
                     qdq_value *v);
/* may move n's uses: not inside QDQ_FOR_USES */
bool qdq_node_append_in(qdq_node *n, qdq_value *v);
void qdq_node_trim_in(qdq_node *n);             /* drops left-out inputs at the end */
void qdq_node_drop_in(qdq_node *n, uint32_t i); /* left out, and the value goes if it is unused */
bool qdq_node_append_out(qdq_node *n, qdq_value *v); /* v has no producer; NULL: left out */
/* drops left-out outputs at the end, the first stays */
void qdq_node_trim_out(qdq_node *n);
bool qdq_node_set_name(qdq_node *n, const char *name);
/* Its unknown fields, in the model's arena (onnx/node_props.h). */
void qdq_node_set_rest(qdq_node *n, qdq_span rest);
/* Nodes without a name of their own are called by their labels (qdq_node_label): engines call
 * layers after nodes. */
bool qdq_graph_name_nodes(qdq_graph *g);
bool qdq_node_set_type(qdq_node *n, const char *domain, const char *type);
void qdq_node_move_before(qdq_node *n, qdq_node *before); /* same graph; NULL: to the end */

/* Attributes: replaces one of the same name. */
bool qdq_node_set_attr(qdq_node *n, qdq_attr *a);
/* As set_attr, but looks for no older one: for readers, so that a million attributes are no trap.
 * The verifier finds duplicates. */
bool qdq_node_append_attr(qdq_node *n, qdq_attr *a);
/* All those of another node. */
bool qdq_node_set_attrs_of(qdq_node *n, const qdq_node *from);
bool qdq_node_set_int(qdq_node *n, const char *name, int64_t i);
bool qdq_node_set_float(qdq_node *n, const char *name, float f);
bool qdq_node_set_string(qdq_node *n, const char *name, const char *s);
/* copies */
bool qdq_node_set_ints(qdq_node *n, const char *name, const int64_t *ints, size_t count);
/* t is made over to the node */
bool qdq_node_set_tensor(qdq_node *n, const char *name, qdq_tensor *t);
void qdq_node_remove_attr(qdq_node *n, const char *name);

/* Every use of `from` reads `to` instead, in subgraphs too. If `from` is a graph output, its name
 * belongs to the caller: `to` takes over name and output when it may (it is of the same graph, has
 * a producer, and is itself neither input, initializer nor output) and `from` gets the name that
 * `to` had; otherwise nothing is changed and the answer is false. */
bool qdq_value_replace(qdq_value *from, qdq_value *to);

/* Renames; the old name is free afterwards. `name` must be free. False: out of memory. */
bool qdq_value_rename(qdq_value *v, const char *name);

/* The constant v, neither input nor output of its graph, goes to a graph around it under a name
 * that is free there: the value there, which everybody reads instead of v. NULL: out of memory. */
qdq_value *qdq_value_lift(qdq_value *v, qdq_graph *to);

void qdq_value_set_type(qdq_value *v, const qdq_type *type);

/* Makes v an initializer, or changes its data, or (NULL) takes the data away. v has no producer. */
bool qdq_value_set_init(qdq_value *v, qdq_tensor *t);
bool qdq_value_set_sparse(qdq_value *v, qdq_sparse *s);

/* Cuts a value off its producer: the node's output is then left out. Used when a value becomes a
 * constant. */
void qdq_value_detach(qdq_value *v);

/* Removes a node whose outputs have no uses and are no graph outputs; the outputs die with it, and
 * so do its subgraphs. Inputs that lose their last use stay: dead code is a pass's business. */
void qdq_node_remove(qdq_node *n);

/* A copy of `body` takes n's place: a branch of n, or the body of the function that n calls, whose
 * parameters get n's inputs and attributes. Outputs keep n's names, all else gets names that are
 * free; n goes, and its subgraphs with it. The caller has seen to it that n has no more inputs and
 * outputs than a function's body, and no inputs that the branch of an If would not expect; that
 * opsets fit; that graphs do not end up deeper than QDQ_MAX_NESTING; and that no output that is
 * read is a left out input. False: out of memory. */
bool qdq_node_inline(qdq_node *n, const qdq_graph *body);

/* Removes a value without producer and uses that is no output (an unused initializer). */
void qdq_value_remove(qdq_value *v);

/* True for such a value that is no graph input, which belongs to the caller. */
bool qdq_value_is_removable(const qdq_value *v);
void qdq_value_remove_if_unused(qdq_value *v); /* if it is; else nothing happens */

/* Types and tensors in the model's arena. */
const qdq_type *qdq_type_tensor(qdq_model *m, qdq_elem elem, int rank,
                                const qdq_dim *dim); /* dim is copied */
const qdq_type *qdq_type_fixed(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim);

/* A tensor with `bytes` of data. new_tensor: *data is zeroed heap memory of the right size, to be
 * filled before the tensor is used. new_on_disk: the same, but qdq_tensor_rest() gives the memory
 * of a large one back. view: shares the bytes of `t` under another type or shape of the same size.
 */
qdq_tensor *qdq_tensor_new(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim, void **data);
qdq_tensor *qdq_tensor_new_on_disk(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim,
                                   void **data);
qdq_tensor *qdq_tensor_view(qdq_model *m, const qdq_tensor *t, qdq_elem elem, int rank,
                            const int64_t *dim);
/* The same tensor for another model: shares the data. */
qdq_tensor *qdq_tensor_share(qdq_model *m, const qdq_tensor *t);
/* New ones with a copy of the data. */
qdq_tensor *qdq_tensor_of(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim,
                          const void *data);
qdq_tensor *qdq_tensor_of_floats(qdq_model *m, int rank, const int64_t *dim, const float *data);
qdq_tensor *qdq_tensor_of_ints(qdq_model *m, int rank, const int64_t *dim, const int64_t *data);

#endif /* QDQ_EDIT_H */
