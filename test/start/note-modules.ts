import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// For `--import`: writes which packages a process has loaded when it ends, one a line, into a file of its own.

const packages = new Set<string>()
registerHooks({
  load(url, context, next) {
    const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url) ?? []
    if (name !== undefined) packages.add(name)
    return next(url, context)
  },
})
if (isMainThread)
  process.on('exit', () => writeFileSync(process.env.NOTED_MODULES!, [...packages].toSorted().join('\n')))
