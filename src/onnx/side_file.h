/* side_file.h - the file of external data that a model names: written beside the model under a name
 * that its content gives (base/side_name.h), and removed with the model that named it. */
#ifndef QDQ_SIDE_FILE_H
#define QDQ_SIDE_FILE_H

#include "base/file.h"
#include "base/vec.h"
#include "qdq/model.h"

/* --- writing ---------------------------------------------------------------------------------- */

/* One side file on its way. All zero but the descriptors: QDQ_SIDE_INIT. */
typedef struct qdq_side {
    /* to be written by the caller between open and seal */
    qdq_outfile *file;
    /* after seal: "MODEL.HASH.data", without a folder */
    char *name;
    /* the path of the model */
    char *model;
    char digest[33];
    uint64_t size;
    /* borrowed; NULL: none */
    const qdq_cancel *cancel;
    /* descriptor of the file that was there already, locked against removal; -1 */
    int existing;
} qdq_side;

#define QDQ_SIDE_INIT                                                                              \
    {                                                                                              \
        .existing = -1                                                                             \
    }

/* A temporary file beside the model. `cancel` (NULL: none) ends all that follows. */
qdq_status qdq_side_open(qdq_side *s, const char *model, const qdq_cancel *cancel, qdq_error *err);
/* The content is complete: syncs it and gives it its name. */
qdq_status qdq_side_seal(qdq_side *s, qdq_error *err);
/* Puts it in place. A file of that name and content is used as it is, one of other content is
 * QDQ_E_IO. */
qdq_status qdq_side_place(qdq_side *s, qdq_error *err);
/* Ends it: temporary files go, and so does what was put in place where `named` is false: no model
 * names it. Until then nothing removes the file. */
void qdq_side_close(qdq_side *s, bool named);

/* --- what is there ---------------------------------------------------------------------------- */

/* Side files beside a model. */
typedef struct qdq_old_side {
    /* without a folder */
    char *name;
    /* has our form of name for this model */
    bool is_ours;
    /* the model at that path names it */
    bool is_named;
} qdq_old_side;

typedef struct qdq_old_sides {
    qdq_arena *arena;
    QDQ_VEC(qdq_old_side) at;
} qdq_old_sides;

/* Side files of the model that is at `path`: those that have our form of name for it, and those
 * that it names. Nothing there, or nothing that can be read as a model: none is named. */
qdq_status qdq_side_list(const char *path, qdq_old_sides *out, qdq_error *err);

/* After the model at `path` was replaced or removed: removes what was ours and named, unless
 * another
 * *.onnx of its folder names it, too; `job` is told of what stays. `fresh`
 * (may be NULL) is named by the new model. */
void qdq_side_remove_old(const char *path, const qdq_old_sides *old, const char *fresh,
                         const qdq_job *job);

/* Removes the model at `path` and the side file of our form that it names. What is not there is no
 * failure. */
qdq_status qdq_model_remove(const char *path, qdq_error *err);

#endif /* QDQ_SIDE_FILE_H */
