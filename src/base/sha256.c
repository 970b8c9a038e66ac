/* sha256.c - hashes of texts as names. The hash itself is nettle's. */
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

void qdq_sha256_add(struct sha256_ctx *h, const char *text)
{
    sha256_update(h, strlen(text), (const uint8_t *)text);
}

void qdq_sha256_end(struct sha256_ctx *h, char name[33])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_digest(h, sizeof digest, digest);
    for (size_t i = 0; i < 16; i++) {
        name[2 * i] = hex[digest[i] >> 4];
        name[2 * i + 1] = hex[digest[i] & 15];
    }
    name[32] = '\0';
}

void qdq_sha256_bytes(const void *data, size_t size, char hash[65])
{
    struct sha256_ctx h;
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_init(&h);
    sha256_update(&h, size, data);
    sha256_digest(&h, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(&hash[2 * i], 3, "%02x", digest[i]);
}

void qdq_sha256_text(const char *text, char hash[65])
{
    qdq_sha256_bytes(text, strlen(text), hash);
}

void qdq_sha256_name(const char *text, char name[33])
{
    struct sha256_ctx h;

    sha256_init(&h);
    qdq_sha256_add(&h, text);
    qdq_sha256_end(&h, name);
}

qdq_status qdq_sha256_file(int fd, const char *path, const qdq_cancel *cancel, char name[33],
                           uint64_t *size, qdq_error *err)
{
    struct sha256_ctx h;
    uint8_t piece[1 << 16];
    ssize_t n;

    sha256_init(&h);
    *size = 0;
    do {
        QDQ_TRY(qdq_cancel_poll(cancel, err));
        n = pread(fd, piece, sizeof piece, (off_t)*size);
        if (n < 0 && errno != EINTR)
            return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot read", path);
        if (n > 0) {
            sha256_update(&h, (size_t)n, piece);
            *size += (uint64_t)n;
        }
    } while (n != 0);
    qdq_sha256_end(&h, name);
    return QDQ_OK;
}
