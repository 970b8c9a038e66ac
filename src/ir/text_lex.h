/* text_lex.h - characters to words for the text form. Private to text_*.c. */
#ifndef QDQ_TEXT_LEX_H
#define QDQ_TEXT_LEX_H

#include "ir/ir.h"

/* Spaces and comments (# to the end of the line) are skipped in front of every word, never behind
 * it. The text need not end with a NUL and may hold any bytes. */
typedef struct qdq_lex {
    /* of the text, for messages */
    const char *name;
    const char *start, *at, *end;
    /* for strings with escapes */
    qdq_arena *arena;
    qdq_error *err;
} qdq_lex;

typedef struct qdq_number {
    /* with its sign */
    qdq_span text;
    /* has a point, an exponent, or is inf or nan */
    bool is_float;
} qdq_number;

/* "name:line:column: ..." at the next word; always an error. */
qdq_status qdq_lex_fail(qdq_lex *l, const char *fmt, ...) QDQ_PRINTF(2, 3);
/* "found 'x', expected WHAT" */
qdq_status qdq_lex_expected(qdq_lex *l, const char *what);

char qdq_lex_peek(qdq_lex *l); /* 0 at the end */
bool qdq_lex_at_end(qdq_lex *l);
bool qdq_lex_match(qdq_lex *l, char c);
qdq_status qdq_lex_need(qdq_lex *l, char c);

bool qdq_lex_id(qdq_lex *l, qdq_span *id); /* [A-Za-z_][A-Za-z0-9_]* */
bool qdq_lex_peek_id(qdq_lex *l, qdq_span *id);
qdq_status qdq_lex_string(qdq_lex *l, qdq_span *s);  /* "..." */
qdq_status qdq_lex_name(qdq_lex *l, qdq_span *name); /* identifier or string; no NUL inside */
qdq_status qdq_lex_number(qdq_lex *l, qdq_number *n);
bool qdq_lex_is_number(qdq_lex *l); /* a number is next, inf and nan included */

/* Values of numbers. False: out of range, or (int) not an integer. */
bool qdq_number_int(const qdq_number *n, int64_t *out);
bool qdq_number_uint(const qdq_number *n, uint64_t *out);
bool qdq_number_double(const qdq_number *n, double *out);

#endif /* QDQ_TEXT_LEX_H */
