/* sha256.h - names that are hashes of a text, as Model-Optimizer makes them: the first half of
 * SHA-256. */
#ifndef QDQ_SHA256_H
#define QDQ_SHA256_H

#include <nettle/sha2.h>

#include "qdq/status.h"

/* The first 32 hexadecimal digits, and a NUL. */
void qdq_sha256_name(const char *text, char name[33]);

/* All 64 digits of a text, and a NUL. */
void qdq_sha256_text(const char *text, char hash[65]);

/* The same of bytes. */
void qdq_sha256_bytes(const void *data, size_t size, char hash[65]);

/* qdq_sha256_name() of a text in pieces, between sha256_init() of nettle and the end, which leaves
 * h as it was after that. */
void qdq_sha256_add(struct sha256_ctx *h, const char *text);
void qdq_sha256_end(struct sha256_ctx *h, char name[33]);

/* The same of a file's bytes from its start; *size: how many. The file offset stays. QDQ_E_IO: it
 * cannot be read. `path` is for messages.
 * QDQ_E_INTERRUPTED: `cancel` was set; it may be NULL. */
qdq_status qdq_sha256_file(int fd, const char *path, const qdq_cancel *cancel, char name[33],
                           uint64_t *size, qdq_error *err);

#endif /* QDQ_SHA256_H */
