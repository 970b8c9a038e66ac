/* program_path.h - programs of ours that are installed beside the running one. */
#ifndef QDQ_PROGRAM_PATH_H
#define QDQ_PROGRAM_PATH_H

#include "base/arena.h"

/* "FOLDER/name" if such a program lies in the running program's folder, else the bare name, which
 * is looked up in PATH. NULL: out of memory. */
const char *qdq_find_program(qdq_arena *arena, const char *name);

#endif /* QDQ_PROGRAM_PATH_H */
