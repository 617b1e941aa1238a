import { spawnSync, type SpawnOptions } from 'node:child_process'
import { chownSync, lstatSync, readFileSync } from 'node:fs'

/**
 * Under whose rights PostgreSQL runs, since it refuses to run as root: `self`, `namespace` (root, seen by the server as
 * an ordinary user, files stay root's), or `other`, an unprivileged account that the system already has.
 */
export type Account =
  | { readonly kind: 'self' }
  | { readonly kind: 'namespace' }
  | { readonly kind: 'other'; readonly uid: number; readonly gid: number }

const UNSHARE = ['--user', '--map-user=1', '--map-group=1']

/** Chooses the account; the owner of a cluster that is already there decides, since PostgreSQL opens no other. */
export function chooseAccount(clusterDir: string): Account {
  if (process.getuid?.() !== 0) return { kind: 'self' }
  const owner = ownerOf(clusterDir)
  if (owner && owner.uid !== 0) return { kind: 'other', ...owner }
  if (spawnSync('unshare', [...UNSHARE, 'true']).status === 0) return { kind: 'namespace' }
  const found = unprivilegedAccount()
  if (found) return { kind: 'other', ...found }
  throw new Error(
    'The embedded PostgreSQL cannot run as root here: user namespaces are forbidden and the system has neither an ' +
      'account postgres nor nobody. Run Stellwerk as an ordinary user, or set DATABASE_URL to a PostgreSQL of yours.',
  )
}

/** How to start a program under that account: file, arguments and options for spawn. */
export function commandAs(account: Account, file: string, args: readonly string[]): Command {
  if (account.kind === 'namespace') return { file: 'unshare', args: [...UNSHARE, file, ...args], options: { cwd: '/' } }
  if (account.kind === 'self') return { file, args: [...args], options: { cwd: '/' } }
  return { file, args: [...args], options: { cwd: '/', uid: account.uid, gid: account.gid } }
}

/** Gives a folder to the account, where that is another than this process' own. */
export function giveTo(account: Account, path: string): void {
  if (account.kind === 'other') chownSync(path, account.uid, account.gid)
}

export interface Command {
  readonly file: string
  readonly args: string[]
  readonly options: SpawnOptions
}

function ownerOf(path: string): { uid: number; gid: number } | null {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat ? { uid: stat.uid, gid: stat.gid } : null
}

function unprivilegedAccount(): { uid: number; gid: number } | null {
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = ['postgres', 'nobody'].map((name) => accounts.find((fields) => fields[0] === name)).find(Boolean)
  return found ? { uid: Number(found[2]), gid: Number(found[3]) } : null
}
