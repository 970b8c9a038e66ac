/* sha256.c - see the header. The hash itself is nettle's. */
#include "base/sha256.h"

#include <string.h>

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

void qdq_sha256_name(const char *text, char name[33])
{
    struct sha256_ctx h;

    sha256_init(&h);
    qdq_sha256_add(&h, text);
    qdq_sha256_end(&h, name);
}
