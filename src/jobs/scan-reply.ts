/** What a reply of clamd to INSTREAM says of the file, or of clamd itself. */
export type ScanReply =
  | { readonly verdict: 'clean'; readonly signature: null }
  | { readonly verdict: 'infected' | 'unscannable'; readonly signature: string }
  | { readonly verdict: 'fault'; readonly message: string }

/** Found, but not a finding: clamd could not look at all of it (`AlertExceedsMax`, `AlertEncrypted`). */
const notSeenThrough = /^Heuristics\.(?:Limits\.Exceeded|Encrypted)\b/

/** Reads clamd's answer, without its end mark. Whatever it does not know is a fault: never clean by default. */
export function parseScanReply(text: string): ScanReply {
  const reply = text.trim()
  if (reply === 'stream: OK') return { verdict: 'clean', signature: null }
  const [, signature] = /^stream: (\S.*) FOUND$/.exec(reply) ?? []
  if (signature !== undefined)
    return { verdict: notSeenThrough.test(signature) ? 'unscannable' : 'infected', signature }
  if (/^INSTREAM size limit exceeded\b/.test(reply))
    return { verdict: 'unscannable', signature: 'Limits.StreamMaxLength' }
  return { verdict: 'fault', message: `The scanner answered: ${reply === '' ? 'nothing' : reply.slice(0, 200)}` }
}
