/* side_name.h - names of files of external data: "MODEL.HASH.data", where MODEL is the model's file
 * name and HASH the first 16 hexadecimal digits of SHA-256 of the content. A model and the data
 * that it names cannot be of different ages. */
#ifndef QDQ_SIDE_NAME_H
#define QDQ_SIDE_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { QDQ_SIDE_DIGITS = 16 };

/* What follows MODEL, in printf's form for one string: the hash. */
#define QDQ_SIDE_SUFFIX ".%.16s.data"

/* The digits in a file name (no folder) of this form; *model, which may be NULL: the length of
 * MODEL. Else NULL. */
const char *qdq_side_digits(const char *name, size_t *model);

/* Is it the name of a side file of this model's file name? */
bool qdq_side_is_of(const char *name, const char *model);

/* The last part of a path. */
const char *qdq_base_name(const char *path);

#endif /* QDQ_SIDE_NAME_H */
