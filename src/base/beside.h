/* beside.h - programs of ours that are installed beside the running one. */
#ifndef QDQ_BESIDE_H
#define QDQ_BESIDE_H

#include "base/arena.h"

/* "FOLDER/name" if such a program lies in the running program's folder, else the bare name, which
 * is looked up in PATH. NULL: out of memory. */
const char *qdq_program_beside(qdq_arena *arena, const char *name);

#endif /* QDQ_BESIDE_H */
