/* cpu.c - which 8-bit arithmetic the processor has. What the operating system does not save at a
 * switch of tasks, it does not report: hence the compiler's test for the registers, and CPUID
 * for the instructions that some compilers have no name for. */
#include "base/cpu.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

/* CPUID leaf 7 (Intel SDM, volume 2A, CPUID): subleaf 0, ECX bit 11 is AVX512_VNNI; subleaf 1, EAX
 * bit 4 AVX-VNNI. */
static bool has_vnni(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c >> 11 & 1) != 0 &&
        __builtin_cpu_supports("avx512f"))
        return true;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0 &&
           __builtin_cpu_supports("avx2");
}

qdq_cpu qdq_cpu_detect(void)
{
    if (has_vnni())
        return QDQ_CPU_VNNI;
    return __builtin_cpu_supports("avx512bw") ? QDQ_CPU_AVX512 : QDQ_CPU_AVX2;
}
#else
qdq_cpu qdq_cpu_detect(void)
{
    return QDQ_CPU_ARM; /* no processor but x86 saturates */
}
#endif

static const char *const names[] = {"auto", "avx2", "avx512", "vnni", "arm"};

const char *qdq_cpu_name(qdq_cpu cpu)
{
    return (size_t)cpu < sizeof names / sizeof *names ? names[cpu] : NULL;
}
