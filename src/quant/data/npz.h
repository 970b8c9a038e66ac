/* npz.h - arrays in NumPy's .npz (a zip archive of .npy files), in one .npy file, or in memory,
 * read piece by piece.
 *
 * Nothing is unpacked that was not asked for. A member whose header and size disagree is refused,
 * so a small file cannot make us believe in more data than it unpacks to. One thread at a time. */
#ifndef QDQ_NPZ_H
#define QDQ_NPZ_H

#include "quant/data/npy.h"

typedef struct qdq_npz qdq_npz;

/* A .npy file is an archive of one array without a name (""). Told apart by content. */
qdq_status qdq_npz_open(const char *path, qdq_npz **out, qdq_error *err);

/* The same from memory, which is borrowed until qdq_npz_close(). */
qdq_status qdq_npz_open_bytes(const void *data, size_t size, qdq_npz **out, qdq_error *err);

/* Arrays in memory as such an archive: names and shapes are copied, elements borrowed. Each array
 * must be sound. QDQ_E_UNSUPPORTED for elements that are no whole bytes. */
qdq_status qdq_npz_open_arrays(const qdq_named_array *arrays, size_t n, qdq_npz **out,
                               qdq_error *err);
void qdq_npz_close(qdq_npz *z); /* NULL is allowed */

/* Arrays; members that are no .npy files are not counted. Names are without ".npy" and differ. */
size_t qdq_npz_count(const qdq_npz *z);
const char *qdq_npz_name(const qdq_npz *z, size_t i);

/* Type and shape; borrowed from the archive. */
qdq_status qdq_npz_header(qdq_npz *z, size_t i, const qdq_npy **out, qdq_error *err);

/* Bytes [offset, offset + size) of the data, little-endian; whole elements. Reading on from where
 * the last read of this array ended is cheap; going back unpacks it again from the start. A
 * member's checksum is verified when its data are read to their end. */
qdq_status qdq_npz_read(qdq_npz *z, size_t i, size_t offset, void *data, size_t size,
                        qdq_error *err);

/* Gives the memory of the file back until it is read again. */
void qdq_npz_rest(const qdq_npz *z);

#endif /* QDQ_NPZ_H */
