import { workerData } from 'node:worker_threads'
import { endGroup } from './end-group.ts'

// Ends the reader and what it started when the service is gone: the reader itself may be in a loop that hears nothing.

const everyMs = 500
const parent = workerData as number

setInterval(() => {
  if (process.ppid !== parent) endGroup()
}, everyMs)
