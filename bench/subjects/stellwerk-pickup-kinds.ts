import { pickupKind } from './stellwerk-orders.ts'

// The module of STELLWERK_KINDS of a worker that tells the process that started it of each start.
export const kinds = [pickupKind((i) => process.send!(i))]
