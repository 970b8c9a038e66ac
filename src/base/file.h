/* file.h - mapped files, files that appear whole or not at all, private folders. */
#ifndef QDQ_FILE_H
#define QDQ_FILE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "qdq/status.h"

/* --- a file mapped for reading, or bytes in memory, counted ----------------------------------- */

typedef struct qdq_mapping qdq_mapping;

/* Maps a regular file, whole. An empty file is a mapping of size 0. */
qdq_status qdq_mapping_open(const char *path, qdq_mapping **out, qdq_error *err);

/* Maps `relative` below the folder `dir`, refusing absolute paths, "..", and symbolic links in any
 * part. */
qdq_status qdq_mapping_open_below(const char *dir, const char *relative, qdq_mapping **out,
                                  qdq_error *err);

/* Maps a file that is open for reading, and takes the descriptor in every case: it has no path. */
qdq_status qdq_mapping_of_fd(int fd, qdq_mapping **out, qdq_error *err);

/* `size` zeroed bytes on the heap; writable until it is shared. */
qdq_mapping *qdq_mapping_new_heap(size_t size);

/* The same, from 256 KiB on in a file in /tmp that has no name and ends with the mapping: so
 * qdq_mapping_rest() gives their memory back. On the heap where there is no room for the file. */
qdq_mapping *qdq_mapping_new_on_disk(size_t size);

/* Bytes of the caller, who keeps them unchanged as long as the mapping lives. NULL: out of
 * memory. */
qdq_mapping *qdq_mapping_borrow(const void *data, size_t size);

qdq_mapping *qdq_mapping_ref(qdq_mapping *m);
void qdq_mapping_unref(qdq_mapping *m); /* NULL is allowed */
const unsigned char *qdq_mapping_data(const qdq_mapping *m);
unsigned char *qdq_mapping_own_data(qdq_mapping *m); /* of one that is new; NULL: of no other */
size_t qdq_mapping_size(const qdq_mapping *m);
const char *qdq_mapping_path(const qdq_mapping *m); /* absolute and without links; NULL: none */
/* Gives the memory of a mapped file back until it is read again, which costs next to nothing while
 * the system has the file in its cache. The heap stays. */
void qdq_mapping_rest(const qdq_mapping *m);
/* The same for the pages that lie wholly in these bytes of it. */
void qdq_mapping_rest_part(const qdq_mapping *m, const void *data, size_t size);
/* The file, which is kept open for copy_file_range(); -1: none that was opened. */
int qdq_mapping_fd(const qdq_mapping *m);

/* --- write, sync, rename ---------------------------------------------------------------------- */

typedef struct qdq_outfile qdq_outfile;

/* Opens a temporary file beside `path`. Fails if `path` exists and !allow_overwrite, or if the
 * folder is missing. Nothing is at `path` until qdq_outfile_commit(). */
qdq_status qdq_outfile_open(const char *path, bool allow_overwrite, qdq_outfile **out,
                            qdq_error *err);
/* The same for a file whose name its content decides: `path` stands for it until
 * qdq_outfile_name(). Nothing is overwritten. */
qdq_status qdq_outfile_open_unnamed(const char *path, qdq_outfile **out, qdq_error *err);
/* in the same folder */
qdq_status qdq_outfile_name(qdq_outfile *f, const char *name, qdq_error *err);
/* Writing, syncing and placing end with QDQ_E_INTERRUPTED once the flag is set, soon. It is
 * borrowed; NULL: never. */
void qdq_outfile_end_by(qdq_outfile *f, const qdq_cancel *cancel);
qdq_status qdq_outfile_write(qdq_outfile *f, const void *data, size_t size, qdq_error *err);
qdq_status qdq_outfile_writev(qdq_outfile *f, const struct iovec *iov, int n, qdq_error *err);
/* Bytes [offset, offset + size) of a mapping: copy_file_range where the system can, else plain
 * writes. */
qdq_status qdq_outfile_write_mapping(qdq_outfile *f, const qdq_mapping *m, size_t offset,
                                     size_t size, qdq_error *err);
uint64_t qdq_outfile_size(const qdq_outfile *f); /* bytes written so far */

/* fsync without rename: several files that belong together are synced first, then committed one by
 * one. */
qdq_status qdq_outfile_sync(qdq_outfile *f, qdq_error *err);
/* Syncs, renames, syncs the folder. f stays open, and the file locked, until qdq_outfile_abort(),
 * which removes only what was not renamed. With `taken`, a name that may not be overwritten is no
 * failure: *taken is true, nothing was renamed. */
qdq_status qdq_outfile_place(qdq_outfile *f, bool *taken, qdq_error *err);
/* The same, and frees f in every case. */
qdq_status qdq_outfile_commit(qdq_outfile *f, qdq_error *err);
void qdq_outfile_abort(qdq_outfile *f);           /* removes the temporary file; NULL is allowed */
bool qdq_outfile_is_placed(const qdq_outfile *f); /* renamed, even if syncing the folder failed */
int qdq_outfile_fd(const qdq_outfile *f);         /* borrowed; readable */
int qdq_outfile_folder(const qdq_outfile *f);     /* borrowed; perhaps with O_PATH only */

/* To list the folder `name` in the folder `parent`, links not followed; or NULL. */
DIR *qdq_folder_list(int parent, const char *name);

/* Removes temporary files in the open folder `dir` that have no writer: of outputs whose names are
 * one of `names` (ends with NULL; NULL: any name), or begin with one and a dot. Files that are
 * locked stay. */
void qdq_outfile_sweep(int dir, const char *const *names);

/* Both in one: small results such as plans and reports. */
qdq_status qdq_write_file(const char *path, bool allow_overwrite, const void *data, size_t size,
                          qdq_error *err);

/* Moves all `size` bytes at *at of an open file, however few a call moves, and *at behind what was
 * moved. 0, or the system's reason; ENOSPC, EIO: a call moved nothing. */
int qdq_write_at(int fd, const void *data, size_t size, uint64_t *at);
int qdq_read_at(int fd, void *data, size_t size, uint64_t *at);

/* Whole of a file or stream (path "-" is stdin), at most max bytes. *data is freed with qdq_free()
 * and has a NUL behind its end. */
qdq_status qdq_read_file(const char *path, size_t max, char **data, size_t *size, qdq_error *err);

/* --- private folders -------------------------------------------------------------------------- */

typedef struct qdq_tempdir qdq_tempdir;

/* A new folder, mode 0700, below `parent` (NULL: the system's folder for temporary files, which the
 * caller may name because the library reads no environment: /tmp). */
qdq_status qdq_tempdir_new(const char *parent, qdq_tempdir **out, qdq_error *err);
/* The same with a name that begins with `prefix`, by which leftovers of dead processes are
 * known. */
qdq_status qdq_tempdir_new_as(const char *parent, const char *prefix, qdq_tempdir **out,
                              qdq_error *err);
const char *qdq_tempdir_path(const qdq_tempdir *d);
void qdq_tempdir_free(qdq_tempdir *d); /* with all that is in it; NULL is allowed */

/* What dead processes left in `dir`: private folders with this prefix, and temporary files of
 * outputs whose names are `names` (ends with NULL; NULL: of any). Only for who knows that no living
 * process has such folders there. */
void qdq_tempdir_sweep(const char *dir, const char *prefix, const char *const *names);
void qdq_tempdir_remove(const char *path); /* a folder with all that is in it, as far as possible */

#endif /* QDQ_FILE_H */
