/* verify_texts.h - the result of qdq_verify_engine() with the texts that it points to. */
#ifndef QDQ_VERIFY_TEXTS_H
#define QDQ_VERIFY_TEXTS_H

#include "base/arena.h"
#include "base/pack.h"
#include "qdq/check.h"

/* Packs the texts of *r (base/pack.h). */
void qdq_verify_pack(qdq_pack *p, qdq_verify_result *r);

/* Copies the texts of *r into the arena; false: out of memory. */
bool qdq_verify_copy_texts(qdq_verify_result *r, qdq_arena *arena);

/* A result without numbers: the verdict, and why. */
qdq_verify_result qdq_verify_bare(qdq_verify_verdict verdict, const char *why);

#endif /* QDQ_VERIFY_TEXTS_H */
