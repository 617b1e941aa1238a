export { ClientError } from './client-error.ts'
export { createClient, type Client, type ClientOptions, type Job } from './create-client.ts'
export { type JobUpdate, type WatchOptions } from './watch.ts'
export * from './generated/graphql.ts'
