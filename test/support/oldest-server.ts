import { embeddedBinaries } from '../../src/db/embedded-binaries.ts'

/** Why `testDatabase({ version: 16 })` cannot be had here, to be handed to `leaveOut`; null where it can. */
export const oldestServerMissing =
  (await embeddedBinaries(16)) === null ? 'PostgreSQL 16 binaries are not on this platform' : null
