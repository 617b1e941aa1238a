/** What a measurement found, by name; each figure says its unit. */
export type Figures = Readonly<Record<string, number>>

/** One of the things compared: a script in `subjects/` whose steps run as processes of their own. */
export interface Subject {
  readonly name: string
  /** File in `subjects/`. */
  readonly script: string
  /** What the script's steps get. */
  readonly options?: Readonly<Record<string, string>>
  /** Share of the jobs, for what would take minutes otherwise. */
  readonly share?: number
  /** A program of the system without which it is left out. */
  readonly needs?: string
  /** The measured step is `stellwerk` in place of the script, as a user runs it. */
  readonly command?: Command
}

/** A command of the service that reports by itself (by a module of STELLWERK_KINDS), with its settings. */
export interface Command {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface Column {
  readonly figure: string
  readonly title: string
  readonly digits: number
}

export interface Bench {
  readonly name: string
  readonly about: string
  readonly jobs: number
  readonly columns: readonly Column[]
  /** The figure that subjects are compared by, and which of its ends is the good one. */
  readonly compared: { readonly figure: string; readonly better: 'more' | 'less' }
  /** With whom they are compared: the best of these in the same run. */
  readonly peers: readonly string[]
  readonly subjects: readonly Subject[]
}
