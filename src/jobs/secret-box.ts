import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts secrets that stand in the database: AES-256-GCM with a key that follows from STELLWERK_SECRET_KEY. */
export interface SecretBox {
  /** `bound` says whom the secret belongs to: moved to somebody else's row it does not open. */
  seal(secret: string, bound: string): Buffer
  /** Throws SecretUnreadable. */
  open(sealed: Buffer, bound: string): string
}

/** A stored secret does not open with this process' key. */
export class SecretUnreadable extends Error {
  override readonly name = 'SecretUnreadable'
}

// version 1 | 4 bytes that name the key | 12 bytes of nonce | 16 bytes of tag | the secret
const version = 1
const nonceAt = 5
const tagAt = 17
const secretAt = 33

export function createSecretBox(secretKey: string): SecretBox {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'stellwerk stored secrets', 32))
  const name = createHash('sha256').update(key).digest().subarray(0, 4)

  return {
    seal(secret, bound) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(bound))
      const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(version), name, nonce, cipher.getAuthTag(), sealed])
    },
    open(sealed, bound) {
      if (sealed[0] !== version || !sealed.subarray(1, nonceAt).equals(name))
        throw new SecretUnreadable(
          'The secret was stored under another STELLWERK_SECRET_KEY. Give this process the same key as the one that stored it.',
        )
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(nonceAt, tagAt))
          .setAAD(Buffer.from(bound))
          .setAuthTag(sealed.subarray(tagAt, secretAt))
        return decipher.update(sealed.subarray(secretAt), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        throw new SecretUnreadable('The stored secret is damaged. Rotate it.')
      }
    },
  }
}
