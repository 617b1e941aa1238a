declare module '@20minutes/s3rver' {
  import type { Readable } from 'node:stream'

  interface Options {
    readonly address: string
    readonly port: number
    readonly silent: boolean
    readonly directory: string
    readonly configureBuckets: readonly { readonly name: string }[]
  }
  /** An object on its way into the store. */
  export interface StoredObject {
    readonly bucket: string
    readonly key: string
    content: Buffer | Readable
  }
  /** Where the objects lie; its methods look each other up on it. */
  export interface Store {
    getObject(...args: unknown[]): Promise<unknown>
    putObject(object: StoredObject): Promise<unknown>
    copyObject(...args: unknown[]): Promise<unknown>
    deleteObject(...args: unknown[]): Promise<unknown>
    getResourcePath(bucket: string, key: string, resource: 'object'): string
  }
  export default class S3rver {
    constructor(options: Options)
    readonly store: Store
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
}
