import { z } from 'zod';
import type { KindDefaults } from './kind.js';
/** The ranges of a kind's defaults; each field may be missing. */
export declare const kindDefaultsRanges: z.ZodObject<{
    priority: z.ZodOptional<z.ZodInt>;
    maxAttempts: z.ZodOptional<z.ZodInt>;
    backoff: z.ZodOptional<z.ZodObject<{
        baseMs: z.ZodOptional<z.ZodInt>;
        maxMs: z.ZodOptional<z.ZodInt>;
        jitter: z.ZodOptional<z.ZodNumber>;
    }, z.core.$strict>>;
    timeoutMs: z.ZodOptional<z.ZodInt>;
    staleAfterMs: z.ZodOptional<z.ZodInt>;
    maxConcurrency: z.ZodOptional<z.ZodNullable<z.ZodInt>>;
    retentionMs: z.ZodOptional<z.ZodNullable<z.ZodInt>>;
    rateLimit: z.ZodOptional<z.ZodNullable<z.ZodObject<{
        rps: z.ZodNumber;
        burst: z.ZodInt;
    }, z.core.$strict>>>;
    provider: z.ZodOptional<z.ZodNullable<z.ZodString>>;
}, z.core.$strict>;
/** Some of a kind's defaults: the others stay as they are. */
export type PartialKindDefaults = z.input<typeof kindDefaultsRanges>;
/** `base` with what `given` names; of the backoff single figures may be given. */
export declare function mergeKindDefaults(base: KindDefaults, given: PartialKindDefaults): KindDefaults;
