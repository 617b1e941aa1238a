/** Where a job to enqueue stands in the input: by its place among several; null: it is the only one. */
export function jobPath(index: number | null): readonly string[] {
  return index === null ? [] : ['jobs', String(index)]
}
