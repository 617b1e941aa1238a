interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): unknown
}

const { parse, rawJSON } = JSON as unknown as ExactJson

/** Parses JSON for showing it again: numbers that JavaScript would change are written by JSON.stringify as they stood in the text. */
export function parseExactly(text: string): unknown {
  return parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value,
  )
}
