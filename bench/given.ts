/** What a step is told. */
export interface Given {
  readonly url: string
  /** Process id of the PostgreSQL server that the step works on. */
  readonly postmaster: number
  readonly jobs: number
  /** A folder of this measurement's own. */
  readonly folder: string
  /** Where a profile of Node goes; null: none is made. */
  readonly profile: string | null
  readonly options: Readonly<Record<string, string>>
}

/** What this process was told. */
export function readGiven(): Given {
  return JSON.parse(process.env.BENCH_GIVEN!) as Given
}
