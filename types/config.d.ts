import type { SettingFamilyValues, SettingValues } from './settings.js';
/** Everything that is set from outside, checked; what each field means stands beside its setting in settings.ts. */
export type Config = DeepReadonly<ReturnType<typeof assemble>>;
/** What an operator changes about a kind; a field that is missing keeps the kind's own value. */
export type KindOverride = Config['kindOverrides'][string];
/** The settings cannot be used; `problems` holds a whole sentence for each thing that is wrong, all at once. */
export declare class ConfigError extends Error {
    readonly name = "ConfigError";
    readonly problems: readonly string[];
    constructor(problems: readonly string[]);
}
/** Reads and checks all settings of `env` at once; an empty string counts as not set. Throws ConfigError. */
export declare function loadConfig(env: Record<string, string | undefined>): Config;
/** A sentence for each STELLWERK_KIND_<NAME> whose kind this process does not know: a typing mistake that would change nothing. */
export declare function checkKindOverrides(config: Config, kindNames: readonly string[]): string[];
/** A sentence for each kind that a pool names and this process does not know: its jobs would wait without a word. */
export declare function checkPoolKinds({ pools }: Pick<Config, 'pools'>, kindNames: readonly string[]): string[];
type DeepReadonly<Of> = Of extends object ? {
    readonly [Key in keyof Of]: DeepReadonly<Of[Key]>;
} : Of;
declare function assemble(value: SettingValues, families: SettingFamilyValues, unheeded: readonly string[]): {
    env: "development" | "production";
    logLevel: "debug" | "error" | "fatal" | "info" | "silent" | "trace" | "warn";
    dataDir: string;
    kindsModule: string | null;
    http: {
        host: string;
        port: number;
    };
    api: boolean;
    /** `url` null: the embedded PostgreSQL; `directUrl` is `url` where no other is set. */
    database: {
        url: string | null;
        directUrl: string | null;
    };
    migrate: boolean;
    redisUrl: string | null;
    /** Names of settings that were given and have no effect yet. */
    unheeded: readonly string[];
    /** Empty: no workers in this process. */
    pools: {
        name: string;
        slots: number;
        kinds: string[] | null;
        tenants: string[] | null;
        dispatch: "fair" | "priority";
    }[];
    kindOverrides: {
        [k: string]: {
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
        };
    };
    providers: {
        [k: string]: {
            rps: number;
            burst: number;
        };
    };
    pollMs: number;
    heartbeatMs: number;
    deadAfterMs: number;
    maintenanceMs: number;
    cleanupTickMs: number;
    shutdownMs: number;
    abortGraceMs: number;
    abandonMs: number;
    retentionDays: number;
    auditMonths: number;
    auth: {
        jwtSecret: string | null;
        jwksUrl: string | null;
        audience: string;
        issuer: string | null;
    };
    allowedOrigins: readonly string[];
    trustProxy: readonly string[];
    metricsToken: string | null;
    serviceBudget: {
        limit: number;
        perSecond: number;
    } | null;
    secretKey: string | null;
    webhookAllow: readonly string[];
    smtpUrl: string | null;
    mail: {
        from: string;
        domain: string;
        senders: Record<string, string>;
    };
    /** Who may report bounces and complaints. */
    mailReports: {
        secret: string | null;
        snsTopics: readonly string[];
    };
    clamdUrl: string | null;
    archiveDir: string | null;
    /** Programs; null: looked for. Languages; null: those whose data comes with the packages. */
    ocr: {
        tesseract: string | null;
        pdftoppm: string | null;
        languages: readonly string[] | null;
    };
    s3: {
        bucket: string;
        endpoint: string | null;
        region: string;
        accessKeyId: string | null;
        secretAccessKey: string | null;
        pathStyle: boolean;
        prefix: string | null;
    } | null;
    objectsDir: string | null;
    publicUrl: string | null;
    maxUploadBytes: number;
};
export {};
