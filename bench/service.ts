import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** `stellwerk` as a user runs it, with the flags of Node that it gives itself. */
export const stellwerk = fileURLToPath(new URL('../bin/stellwerk.js', import.meta.url))

/** The environment of a service with this and nothing of the bench's own, on the Node that runs the bench. */
export function serviceEnv(settings: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const { HOME, PATH, NODE_OPTIONS } = process.env
  return {
    ...(HOME !== undefined && { HOME }),
    PATH: `${dirname(process.execPath)}:${PATH}`,
    ...(NODE_OPTIONS !== undefined && { NODE_OPTIONS }),
    ...settings,
  } as NodeJS.ProcessEnv
}
