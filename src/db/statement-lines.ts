// What may hide a semicolon: comments, strings, quoted names, dollar-quoted bodies.
const PIECE =
  /--[^\n]*|\/\*[\s\S]*?\*\/|\b[eE]'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1|;|[\w$]+|\s+|[\s\S]/g

/** The line, from 1, at which each statement of a script begins. */
export function statementLines(script: string): number[] {
  const lines: number[] = []
  let line = 1
  let inStatement = false
  for (const [piece] of script.matchAll(PIECE)) {
    if (piece === ';') inStatement = false
    else if (!inStatement && !isFiller(piece)) {
      inStatement = true
      lines.push(line)
    }
    line += piece.split('\n').length - 1
  }
  return lines
}

function isFiller(piece: string): boolean {
  return piece.startsWith('--') || piece.startsWith('/*') || piece.trim() === ''
}
