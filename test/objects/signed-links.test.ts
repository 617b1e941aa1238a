import { expect, test } from 'vitest'
import { createLinkSigner } from '../../src/objects/signed-links.ts'

const upload = { sizeBytes: 12, contentType: 'text/plain; charset=utf-8', expiresInMs: 600_000 }
const download = { filename: 'a & b=ä.txt', contentType: 'text/plain', expiresInMs: 300_000 }
const key = 'incoming/tenant/file'

test('a link says what was signed', () => {
  const signer = createLinkSigner('secret')
  const { expiresInMs: _, ...said } = upload
  expect(signer.checkUpload(signer.upload(key, upload))).toEqual({ key, ...said })
  expect(signer.checkDownload(signer.download(key, download))).toEqual({
    key,
    filename: download.filename,
    contentType: download.contentType,
  })
})

test('a link holds until its end', () => {
  let now = 1_000_000
  const signer = createLinkSigner('secret', () => now)
  const link = signer.upload(key, upload)
  now += 599_000
  expect(signer.checkUpload(link)).toMatchObject({ key })
  now += 1_000
  expect(signer.checkUpload(link)).toBe('expired')
})

test.each([
  ['another key', (link: string) => link.replace('/file?', '/other?')],
  ['another size', (link: string) => link.replace('size=12', 'size=13')],
  ['another type', (link: string) => link.replace('text%2Fplain', 'text%2Fhtml')],
  ['a later end', (link: string) => link.replace(/expires=(\d+)/, (_, end) => `expires=${Number(end) + 1}`)],
  ['a second size', (link: string) => link.replace('size=12', 'size=12&size=13')],
  ['no signature', (link: string) => link.replace(/&signature=.*/, '')],
  ['half a signature', (link: string) => link.slice(0, -10)],
  ['another secret', () => createLinkSigner('guess').upload(key, upload)],
  ['the right to read', () => createLinkSigner('secret').download(key, download).replace('/downloads/', '/uploads/')],
])('%s is no link of ours', (_, forge) => {
  const signer = createLinkSigner('secret')
  const link = signer.upload(key, upload)
  const forged = forge(link)
  expect(forged).not.toBe(link)
  expect(signer.checkUpload(forged)).toBe('forged')
})

test('a link to read does not let write, nor the other way round', () => {
  const signer = createLinkSigner('secret')
  expect(signer.checkDownload(signer.upload(key, upload))).toBe('forged')
  expect(signer.checkUpload(signer.download(key, download))).toBe('forged')
})
