/* cpu.h - which 8-bit arithmetic the processor that runs has. */
#ifndef QDQ_CPU_H
#define QDQ_CPU_H

#include "qdq/quant.h"

/* Never QDQ_CPU_AUTO. Asks the processor, each time. */
qdq_cpu qdq_cpu_detect(void);

/* Kernels for u8 x s8 add pairs of products in int16, with saturation (vpmaddubsw)? */
static inline bool qdq_cpu_saturates(qdq_cpu cpu)
{
    return cpu == QDQ_CPU_AVX2 || cpu == QDQ_CPU_AVX512;
}

#endif /* QDQ_CPU_H */
