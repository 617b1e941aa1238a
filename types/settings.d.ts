import { z } from 'zod';
import { type PartialKindDefaults } from './jobs/kind-defaults.js';
import type { Reader } from './setting-readers.js';
declare const rateLimit: z.ZodObject<{
    rps: z.ZodNumber;
    burst: z.ZodInt;
}, z.core.$strict>;
/** One setting: how it is read, the text that stands for "not set" (null: there is none) and what it means. */
export interface Setting<Value> {
    readonly reader: Reader<Value>;
    readonly fallback: string | null;
    /** What "not set" means where no text stands for it. */
    readonly otherwise: string;
    readonly meaning: string;
}
/** Every setting of the product; `docs/settings.md` is written from this table. */
export declare const settings: {
    PORT: Setting<number> & {
        readonly fallback: string;
    };
    HOST: Setting<string> & {
        readonly fallback: string;
    };
    DATABASE_URL: Setting<string> & {
        readonly fallback: null;
    };
    DATABASE_DIRECT_URL: Setting<string> & {
        readonly fallback: null;
    };
    REDIS_URL: Setting<string> & {
        readonly fallback: null;
    };
    SMTP_URL: Setting<string> & {
        readonly fallback: null;
    };
    CLAMD_URL: Setting<string> & {
        readonly fallback: null;
    };
    LOG_LEVEL: Setting<"debug" | "error" | "fatal" | "info" | "silent" | "trace" | "warn"> & {
        readonly fallback: string;
    };
    STELLWERK_DATA_DIR: Setting<string> & {
        readonly fallback: string;
    };
    STELLWERK_KINDS: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_WORKERS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_POOLS: Setting<{
        name: string;
        slots: number;
        kinds: string[] | null;
        tenants: string[] | null;
        dispatch: "fair" | "priority";
    }[]> & {
        readonly fallback: null;
    };
    STELLWERK_API: Setting<boolean> & {
        readonly fallback: string;
    };
    STELLWERK_ENV: Setting<"development" | "production"> & {
        readonly fallback: null;
    };
    STELLWERK_JWT_SECRET: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_JWKS_URL: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_JWT_AUDIENCE: Setting<string> & {
        readonly fallback: string;
    };
    STELLWERK_JWT_ISSUER: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_ALLOWED_ORIGINS: Setting<readonly string[]> & {
        readonly fallback: null;
    };
    STELLWERK_TRUST_PROXY: Setting<readonly string[]> & {
        readonly fallback: null;
    };
    STELLWERK_METRICS_TOKEN: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_SERVICE_BUDGET: Setting<{
        limit: number;
        perSecond: number;
    }> & {
        readonly fallback: null;
    };
    STELLWERK_SECRET_KEY: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_WEBHOOK_ALLOW: Setting<readonly string[]> & {
        readonly fallback: null;
    };
    STELLWERK_MAIL_FROM: Setting<string> & {
        readonly fallback: string;
    };
    STELLWERK_MAIL_DOMAIN: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_MAIL_SENDERS: Setting<Record<string, string>> & {
        readonly fallback: null;
    };
    STELLWERK_MAIL_WEBHOOK_SECRET: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_MAIL_SNS_TOPICS: Setting<readonly string[]> & {
        readonly fallback: null;
    };
    STELLWERK_ARCHIVE_DIR: Setting<string> & {
        readonly fallback: null;
    };
    TESSERACT_BIN: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_OCR_LANGUAGES: Setting<readonly string[]> & {
        readonly fallback: null;
    };
    PDFTOPPM_BIN: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_OBJECTS_DIR: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_PUBLIC_URL: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_S3_BUCKET: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_S3_ENDPOINT: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_S3_REGION: Setting<string> & {
        readonly fallback: string;
    };
    STELLWERK_S3_ACCESS_KEY_ID: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_S3_SECRET_ACCESS_KEY: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_S3_PATH_STYLE: Setting<boolean> & {
        readonly fallback: string;
    };
    STELLWERK_S3_PREFIX: Setting<string> & {
        readonly fallback: null;
    };
    STELLWERK_MIGRATE: Setting<boolean> & {
        readonly fallback: string;
    };
    STELLWERK_MAX_UPLOAD_MB: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_POLL_MS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_HEARTBEAT_MS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_DEAD_AFTER_MS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_MAINTENANCE_MS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_CLEANUP_TICK_MS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_SHUTDOWN_MS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_ABORT_GRACE_MS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_ABANDON_MS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_RETENTION_DAYS: Setting<number> & {
        readonly fallback: string;
    };
    STELLWERK_AUDIT_MONTHS: Setting<number> & {
        readonly fallback: string;
    };
};
/** Settings whose names end in the lower-case name of a thing, in capitals. */
export declare const settingFamilies: readonly [{
    readonly of: 'kind';
    readonly prefix: 'STELLWERK_KIND_';
    readonly setting: Setting<{
        priority?: number | undefined;
        maxAttempts?: number | undefined;
        backoff?: {
            baseMs?: number | undefined;
            maxMs?: number | undefined;
            jitter?: number | undefined;
        } | undefined;
        timeoutMs?: number | undefined;
        staleAfterMs?: number | undefined;
        maxConcurrency?: number | null | undefined;
        retentionMs?: number | null | undefined;
        rateLimit?: {
            rps: number;
            burst: number;
        } | null | undefined;
        provider?: string | null | undefined;
    }> & {
        readonly fallback: null;
    };
}, {
    readonly of: 'provider';
    readonly prefix: 'STELLWERK_PROVIDER_';
    readonly setting: Setting<{
        rps: number;
        burst: number;
    }> & {
        readonly fallback: null;
    };
}];
/** The name of a setting of its own. */
export type SettingName = keyof typeof settings;
/** The settings as read: null where one is not set and has no default. */
export type SettingValues = {
    readonly [Name in SettingName]: SettingValue<(typeof settings)[Name]>;
};
type SettingValue<Of> = Of extends Setting<infer Value> & {
    readonly fallback: infer Fallback;
} ? Value | (Fallback extends string ? never : null) : never;
/** The settings whose names end in a name. */
export interface SettingFamilyValues {
    readonly kind: ReadonlyMap<string, PartialKindDefaults>;
    readonly provider: ReadonlyMap<string, z.infer<typeof rateLimit>>;
}
export {};
