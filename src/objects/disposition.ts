/** `content-disposition` that saves a file under its name and never opens it in the page (RFC 6266, RFC 8187). */
export function attachmentDisposition(filename: string): string {
  const plain = filename.replaceAll(/[^\w.() -]/g, '_')
  if (plain === filename) return `attachment; filename="${plain}"`
  const encoded = encodeURIComponent(filename).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
