/* regexp.h - regular expressions that users write: POSIX extended, with bounds on size and time.
 *
 * The system's own functions have none: "(a{250}){250}" takes gigabytes, and "(.*)\1" takes
 * forever. */
#ifndef QDQ_REGEXP_H
#define QDQ_REGEXP_H

#include <regex.h>
#include <stdbool.h>

#include "qdq/status.h"

enum {
    /* bytes of an expression */
    QDQ_REGEXP_TEXT = 16384,
    /* characters once its repetitions are written out */
    QDQ_REGEXP_SIZE = 16384,
    QDQ_REGEXP_OPERATORS = 400,
    /* parentheses inside parentheses */
    QDQ_REGEXP_DEPTH = 64,
    /* bytes of a text that can match: a longer one matches nothing */
    QDQ_REGEXP_NAME = 1024,
    /* for all texts together */
    QDQ_REGEXP_SECONDS = 5,
};

typedef struct qdq_regexp {
    /* borrowed */
    const char *text;
    regex_t re;
    /* spent so far */
    double seconds;
} qdq_regexp;

/* Compiles `text`, which must outlive *out. A text that does not compile or is beyond the bounds is
 * QDQ_E_USAGE. After success qdq_regexp_close() frees *out. */
qdq_status qdq_regexp_open(const char *text, bool any_case, qdq_regexp *out, qdq_error *err);
void qdq_regexp_close(qdq_regexp *r);

/* Does some part of `name` match? QDQ_E_USAGE once the time is spent. */
qdq_status qdq_regexp_match(qdq_regexp *r, const char *name, bool *yes, qdq_error *err);

#endif /* QDQ_REGEXP_H */
