/** Keys by the moment at which something becomes of them, earliest first (a binary heap). */
export interface Moments {
  add(at: number, key: string): void
  readonly first: () => { readonly at: number; readonly key: string } | undefined
  removeFirst(): void
}

export function createMoments(): Moments {
  const heap: { at: number; key: string }[] = []

  const swapUnlessInOrder = (above: number, below: number): boolean => {
    const [upper, lower] = [heap[above], heap[below]]
    if (upper === undefined || lower === undefined || upper.at <= lower.at) return false
    heap[above] = lower
    heap[below] = upper
    return true
  }

  return {
    add(at, key) {
      heap.push({ at, key })
      for (let place = heap.length - 1; place > 0;) {
        const above = (place - 1) >> 1
        if (!swapUnlessInOrder(above, place)) return
        place = above
      }
    },
    first: () => heap[0],
    removeFirst() {
      const last = heap.pop()
      if (heap.length === 0 || last === undefined) return
      heap[0] = last
      for (let place = 0; ;) {
        const [left, right] = [2 * place + 1, 2 * place + 2]
        const below = (heap[right]?.at ?? Infinity) < (heap[left]?.at ?? Infinity) ? right : left
        if (!swapUnlessInOrder(place, below)) return
        place = below
      }
    },
  }
}
