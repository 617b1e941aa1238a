import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options: { readonly type: 'minor' }) => void

const everyBytes = 4 * 1024 * 1024
let collect: Collect | undefined

/**
 * Keeps memory flat while a file passes: the buffers it came in hold memory that V8 does not count among its own, so that it frees them
 * only once they are some 60 MB. To be told of each piece that has passed; a collection of the young costs about a millisecond.
 */
export function freePassed(): (bytes: number) => void {
  let passed = 0
  return (bytes) => {
    passed += bytes
    if (passed < everyBytes) return
    passed = 0
    collect ??= makeCollect()
    collect({ type: 'minor' })
  }
}

function makeCollect(): Collect {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as Collect
}
