/** What is wrong with the name of a file; null: nothing. Names are shown, sent along and saved under: no path, no sign that hides what it is. */
export function badFilename(name: string): string | null {
  if (name.trim() === '' || name.trim() !== name) return 'must not be empty, nor begin or end with a blank.'
  if ([...name].length > 255) return 'must have at most 255 characters.'
  if (/[/\\]/.test(name) || name === '.' || name === '..') return 'must be a name without a path.'
  // Controls end header lines; marks of direction let `gpj.exe` look like `exe.jpg`.
  if (/[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u.test(name))
    return 'must not hold control characters or marks that change the direction of writing.'
  return null
}

const token = "[\\w!#$%&'*+.^`|~-]+"
const mediaType = new RegExp(`^${token}/${token}(?: ?; ?${token}=(?:${token}|"[\\w ./:+-]*"))*$`)

/** Whether a text is a media type, e.g. `text/csv; charset=utf-8` (RFC 9110). */
export function isMediaType(text: string): boolean {
  return text.length <= 255 && mediaType.test(text)
}
