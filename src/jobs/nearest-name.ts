/**
 * The candidate that takes the fewest edits (insert, delete, replace, swap of neighbours; case does not count) to
 * become `name`: what somebody who mistyped it most likely meant. Null only when there is no candidate.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | null {
  return nearestWithin(Infinity, name, candidates)
}

/** The same where a mistype is likely, one edit in three letters at most; else null: a wild guess misleads. */
export function meantName(name: string, candidates: Iterable<string>): string | null {
  return nearestWithin(Math.ceil(name.length / 3), name, candidates)
}

function nearestWithin(mostEdits: number, name: string, candidates: Iterable<string>): string | null {
  let nearest: string | null = null
  let fewest = mostEdits + 1
  for (const candidate of candidates) {
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (edits < fewest) {
      fewest = edits
      nearest = candidate
    }
  }
  return nearest
}

function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, j) => j)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = last[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, replaced)
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      if (swapped) row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
    }
    beforeLast = last
    last = row
  }
  return last[to.length]!
}
