import type { App } from './app.js';
import type { OwnKind } from './workers/define-kind.js';
/** How a process of one's own runs Stellwerk inside itself. */
export interface CreateAppOptions {
    /** Settings by their names, e.g. `process.env`; docs/settings.md. */
    readonly settings: Record<string, string | undefined>;
    /** Kinds beside those of STELLWERK_KINDS. */
    readonly kinds?: readonly OwnKind[];
}
/**
 * Makes the whole service, to be started and stopped by the caller; throws ConfigError where the settings cannot be used.
 * What it takes is loaded only here: who imports the library to enqueue pays nothing for it.
 */
export declare function createApp({ settings, kinds }: CreateAppOptions): Promise<App>;
