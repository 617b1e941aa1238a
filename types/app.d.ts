import type { Logger } from 'pino';
import { type Config } from './config.js';
import { StartError } from './jobs/errors.js';
import type { OwnKind } from './workers/define-kind.js';
/** What a started service says of itself. */
export interface Started {
    readonly url: string;
    readonly port: number;
    readonly databaseUrl: string;
    /** Where the development token lies; null in production. */
    readonly tokenPath: string | null;
    /** Whether mails go to /dev/mailbox. */
    readonly hasMailbox: boolean;
}
export interface App {
    /** Starts everything in order; throws StartError with a sentence for people. */
    start(): Promise<Started>;
    /** Stops in reverse order, within STELLWERK_SHUTDOWN_MS. May be called at any moment, also twice. */
    stop(): Promise<void>;
    /** Ends what would outlive the process; for a second signal. */
    kill(): void;
}
interface AppOptions {
    readonly config: Config;
    readonly log: Logger;
    /** Kinds beside those of STELLWERK_KINDS. */
    readonly kinds?: readonly OwnKind[];
    /** Told when a started service can do nothing any more, and why. */
    readonly onLost?: (reason: StartError) => void;
}
/** Puts the parts together. Whatever has been started is on the list of what has to be stopped. */
export declare function createApp({ config, log, kinds: givenKinds, onLost }: AppOptions): App;
export {};
