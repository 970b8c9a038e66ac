/* worker_probe.c - tries out instructions that may kill the process: the exit status is the answer,
 * or the signal. */
#include "worker/worker.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)

/* oneDNN reads these; what they allow beyond AVX-512 with VNNI, BF16 or FP16 has AMX in its name,
 * or is everything. */
static bool environment_forbids_amx(void)
{
    static const char *const names[] = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *isa = getenv(names[i]);
        if (isa == NULL || *isa == '\0')
            continue;
        return strstr(isa, "AMX") == NULL && strcmp(isa, "ALL") != 0 && strcmp(isa, "DEFAULT") != 0;
    }
    return false;
}

/* One product of 16x64 bytes: tiles are configured, loaded, multiplied, stored, released. */
static bool multiply_tiles(void)
{
    enum { TILE = 1024 };
    static unsigned char config[64], a[TILE], b[TILE];
    static int c[TILE / 4];
    long stride = 64;

    config[0] = 1; /* palette */
    for (int t = 0; t < 3; t++) {
        config[16 + 2 * t] = 64; /* bytes of a row */
        config[48 + t] = 16;     /* rows */
    }
    memset(a, 1, sizeof a);
    memset(b, 2, sizeof b);
    __asm__ volatile(".byte 0xc4,0xe2,0x78,0x49,0x00\n\t"      /* ldtilecfg (%rax) */
                     ".byte 0xc4,0xe2,0x7b,0x49,0xc0\n\t"      /* tilezero %tmm0 */
                     ".byte 0xc4,0xe2,0x7b,0x4b,0x0c,0x0b\n\t" /* tileloadd (%rbx,%rcx), %tmm1 */
                     ".byte 0xc4,0xe2,0x7b,0x4b,0x14,0x0e\n\t" /* tileloadd (%rsi,%rcx), %tmm2 */
                     ".byte 0xc4,0xe2,0x6b,0x5e,0xc1\n\t"      /* tdpbssd %tmm2, %tmm1, %tmm0 */
                     ".byte 0xc4,0xe2,0x7a,0x4b,0x04,0x0f\n\t" /* tilestored %tmm0, (%rdi,%rcx) */
                     ".byte 0xc4,0xe2,0x78,0x49,0xc0"          /* tilerelease */
                     :
                     : "a"(config), "b"(a), "S"(b), "D"(c), "c"(stride)
                     : "memory");
    for (size_t i = 0; i < TILE / 4; i++)
        if (c[i] != 64 * 2)
            return false;
    return true;
}

int qdq_worker_probe_amx(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_TILE_DATA = 18 };

    if (environment_forbids_amx())
        return 0;
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_TILE_DATA) != 0)
        return 0; /* the kernel gives it to no one, and so to OpenVINO neither */
    if (!multiply_tiles())
        abort(); /* worse than a trap: wrong results */
    return 0;
}

#else

int qdq_worker_probe_amx(void)
{
    return 0;
}

#endif
