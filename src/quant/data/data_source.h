/* data_source.h - what the kinds of data sources share: data.c opens one of them and owns the
 * buffers, the source fills them. */
#ifndef QDQ_DATA_SOURCE_H
#define QDQ_DATA_SOURCE_H

#include "base/arena.h"
#include "qdq/data.h"
#include "target/qparam.h"

struct qdq_data {
    /* everything below that lives as long as the source */
    qdq_arena arena;
    /* as the caller gave it */
    const char *spec;
    /* of the model, with the caller's shapes put in */
    qdq_io *inputs;
    /* of inputs that take codes: how floats become those; type QDQ_UNDEFINED: they do not */
    qdq_qparam *codes;
    /* result of qdq_data_get(), one per input */
    qdq_named_array *arrays;
    /* bytes allocated for each of them */
    size_t *capacity;
    size_t n_inputs;
    /* samples; while a source is opened, runs of the model */
    size_t count;
    /* runs of a sample; 1 without states, 0: not known yet */
    size_t steps;
    qdq_state *states;
    size_t n_states;
    /* of each input: an output becomes it */
    bool *is_state;
    /* of each input: it is as long as the cache and what is new */
    bool *is_mask;
    size_t n_masks;
    /* with masks: the state that grows, and along which axis */
    size_t grows;
    int grows_along;
    /* its length at the first step of a sequence, by the first run of that sequence; and 1 + this
     * run, 0: of none yet */
    int64_t past;
    size_t past_of;
    /* of each state and mask: the sample has no array for it */
    bool *is_missing;
    /* the last answer of qdq_data_find_typical(): 1 + the sample of these, 0: none yet */
    size_t typical, typical_first, typical_count;
    /* 0: all */
    size_t max_samples;
    /* NULL: none wanted */
    const char *labels_key;
    /* of all samples, in order; NULL: none */
    int64_t *labels;
    size_t labels_per_sample;
    /* NULL: none wanted */
    const char *groups_key;
    /* of all runs, in the source's order; NULL: none */
    int64_t *groups;
    /* of them that were read */
    size_t n_groups;
    /* of samples, group by group; NULL: the source's */
    size_t *order;
    /* first samples of what belongs together; NULL: each sample alone */
    size_t *unit;
    size_t n_units;
    bool is_random;
    /* for samples that show nothing; then: */
    bool is_looked_through;
    /* of qdq_data_find_sameness() */
    const char *sameness;
    /* ... has been logged */
    bool is_warned_of;
    /* qdq_data_get() did once: what failed then says nothing of a model */
    bool has_failed;
    const qdq_job *job;
    void *source;
    /* fills all arrays */
    qdq_status (*get)(qdq_data *d, size_t run, qdq_error *err);
    /* NULL: nothing to do */
    void (*close)(qdq_data *d);
};

/* The kinds. Each sets count, source, get and close; on failure close is called all the same if it
 * was set. */
qdq_status qdq_data_open_arrays(qdq_data *d, const char *const *paths, size_t n_paths, bool folder,
                                qdq_error *err);
qdq_status qdq_data_open_memory(qdq_data *d, const qdq_named_array *arrays, size_t n,
                                qdq_error *err);
qdq_status qdq_data_open_source(qdq_data *d, const qdq_data_source *source, const char *temp_dir,
                                qdq_error *err);
qdq_status qdq_data_open_images(qdq_data *d, const char *const *paths, size_t n_paths,
                                const qdq_data_opts *opts, qdq_error *err);
/* Folders of input_K.pb, each a sample; or one file for a model with one input. */
qdq_status qdq_data_open_protos(qdq_data *d, const char *const *paths, size_t n_paths, bool folder,
                                qdq_error *err);
qdq_status qdq_data_open_random(qdq_data *d, const char *seed, qdq_error *err);

/* --- data_labels.c ---------------------------------------------------------------------------- */

bool qdq_data_is_label(qdq_elem elem);

/* The first n labels of an array, behind the `have` that are there. */
struct qdq_npz;
qdq_status qdq_data_add_labels(qdq_data *d, struct qdq_npz *z, size_t array, size_t have, size_t n,
                               qdq_error *err);

/* The same for n labels in memory. */
qdq_status qdq_data_copy_labels(qdq_data *d, qdq_elem elem, const void *data, size_t have, size_t n,
                                qdq_error *err);

/* Does it name a file, "x.npy" or "x.npz:KEY", and no array beside the samples? */
bool qdq_data_labels_are_apart(const char *spec);

/* Labels of that file, when the samples have been counted. */
qdq_status qdq_data_open_labels(qdq_data *d, const char *spec, qdq_error *err);

/* Labels are classes, numbers of the last axis of the model's first output. Before anything runs:
 * QDQ_E_FORMAT for one that is beyond its length, if that is fixed. d NULL: none. */
qdq_status qdq_data_check_labels(const qdq_data *d, const qdq_model *m, qdq_error *err);
/* The same for n labels of a sample, and an output with this number of classes. */
qdq_status qdq_data_check_classes(const int64_t *labels, size_t n, size_t sample,
                                  const char *output, int64_t classes, qdq_error *err);

/* n integers from the start of an array. */
qdq_status qdq_data_read_integers(struct qdq_npz *z, size_t array, size_t n, int64_t *to,
                                  qdq_error *err);

/* --- data_units.c: which samples belong together ---------------------------------------------- */

/* Groups of `runs` more runs, from n integers of an array: each stands for `share` runs, or where
 * share is 0 for none but as one of a batch. */
qdq_status qdq_data_add_groups(qdq_data *d, struct qdq_npz *z, size_t array, size_t runs, size_t n,
                               qdq_error *err);

/* After the samples were counted: puts groups one after the other. Without groups, the files that
 * begin at these runs are what belongs together. */
qdq_status qdq_data_find_units(qdq_data *d, qdq_error *err);
/* A file begins at the run d->count. */
qdq_status qdq_data_begin_file(qdq_data *d, qdq_error *err);

/* The first sample of fold `fold` of n_folds among the first n samples; where samples belong
 * together, at a border between units. NULL: no units. */
size_t qdq_data_fold_first(const qdq_data *d, size_t fold, size_t n_folds, size_t n);
/* The most folds of them, each with a unit. */
size_t qdq_data_most_folds(const qdq_data *d, size_t n);
/* The border between two groups that is next to a sample; `at` without groups. */
size_t qdq_data_group_border(const qdq_data *d, size_t at);

/* --- data_sameness.c -------------------------------------------------------------------------- */

/* What calibrates or compares calls it first: the job's log gets a warning if the samples show
 * nothing of a model, once for each source. NULL: no data. */
qdq_status qdq_data_warn_of_sameness(qdq_data *d, const qdq_job *job, qdq_error *err);

/* --- data_states.c ---------------------------------------------------------------------------- */

/* The states of the options, each with a type and shape that fit. */
qdq_status qdq_data_add_states(qdq_data *d, const qdq_model *m, const qdq_data_opts *opts,
                               qdq_error *err);
/* Zeros for the states in d->is_missing, and ones for the masks, in this run. Open dims of names
 * that other inputs have are theirs, so that these are filled first. */
qdq_status qdq_data_fill_missing(qdq_data *d, size_t run, qdq_error *err);
/* Of an open dim: that of the same name in an input that samples have; -1: there is none. */
int64_t qdq_data_shared_dim(const qdq_data *d, const qdq_io *io, int axis);
/* Is it neither a state nor a mask? */
bool qdq_data_is_plain(const qdq_data *d, size_t k);
/* From runs to samples, once the source is open. */
qdq_status qdq_data_count_sequences(qdq_data *d, qdq_error *err);
/* What makes sequences of samples, as text without spaces: "states=t=s|u=v masks=m steps=8"; ""
 * without states. Lives in the arena; NULL: out of memory. */
const char *qdq_data_states_text(const qdq_data *d, qdq_arena *memory);

/* --- data_masks.c: inputs that are as long as a cache and what is new ------------------------- */

/* The masks of the options, after the states. */
qdq_status qdq_data_add_masks(qdq_data *d, const qdq_data_opts *opts, qdq_error *err);
/* Ones for the missing masks of a run, whose other arrays are there. */
qdq_status qdq_data_fill_masks(qdq_data *d, size_t run, qdq_error *err);
/* Before a run is read: the first one of its sequence says how long the cache is. */
qdq_status qdq_data_find_past(qdq_data *d, size_t run, qdq_error *err);
/* After it was read: cuts its masks to their length. */
qdq_status qdq_data_cut_masks(qdq_data *d, size_t run, qdq_error *err);

/* --- data.c ----------------------------------------------------------------------------------- */

/* A sample could not be read: the failure of the call that wanted it is no verdict on a model or an
 * engine, and ends whatever runs. NULL: no. */
bool qdq_data_has_failed(const qdq_data *d);

/* Shapes array k, with room for its elements. */
qdq_status qdq_data_shape(qdq_data *d, size_t k, qdq_elem elem, int rank, const int64_t *dim,
                          qdq_error *err);
/* At least `bytes` of room in array k. */
qdq_status qdq_data_reserve(qdq_data *d, size_t k, size_t bytes, qdq_error *err);

/* What was read into array k as elements of type `from` becomes what the input takes: wider floats
 * are rounded, for an input of codes quantized, and what the type cannot hold, NaN and infinity are
 * refused. */
qdq_status qdq_data_finish(qdq_data *d, size_t k, qdq_elem from, qdq_error *err);

/* Do rank, dims, type and bytes of an array that a caller made belong together? QDQ_E_USAGE. */
qdq_status qdq_data_check_array(const qdq_array *a, qdq_error *err);

/* Are the elements and the shape of `a` what one run takes for input k? */
qdq_status qdq_data_check_fit(qdq_data *d, size_t k, const qdq_array *a, qdq_error *err);
/* Copies such an array: its elements become what the input takes. */
qdq_status qdq_data_copy(qdq_data *d, size_t k, const qdq_array *from, qdq_error *err);

/* True if elements of that type can be data of input k, as they are or converted. */
bool qdq_data_elem_fits(const qdq_data *d, size_t k, qdq_elem elem);
/* Fails with "WHY: it is FOUND, input 'x' is ...". */
qdq_status qdq_data_mismatch(qdq_data *d, size_t k, const char *found, const char *why,
                             qdq_error *err);
/* The same for a type that does not fit; says what to do where floats meet an input of codes. */
qdq_status qdq_data_mismatch_elem(qdq_data *d, size_t k, qdq_elem elem, const char *found,
                                  qdq_error *err);

/* Fails: "array 'z' is not an input of the model, whose inputs are 'x', 'y'". */
qdq_status qdq_data_surplus(qdq_data *d, const char *name, qdq_error *err);

/* "float [N, 1, 16, 16]": for messages; lives in the arena, and is "?" without memory. */
const char *qdq_io_text(const qdq_io *io, qdq_arena *a);
/* The same of an array. */
const char *qdq_data_type_text(qdq_data *d, qdq_elem elem, int rank, const int64_t *dim);

/* The samples of a batch: its first dim if that is fixed, else 1. */
int64_t qdq_io_batch(const qdq_io *io);

#endif /* QDQ_DATA_SOURCE_H */
