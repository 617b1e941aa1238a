import { z } from 'zod'
import { isEmailAddress } from './email-send-payload.ts'

export const importFormats = ['csv', 'xlsx', 'ndjson'] as const
export type ImportFormat = (typeof importFormats)[number]

/** Encodings that a file may be in; each is read strictly. */
export const fileEncodings = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'iso-8859-1', 'iso-8859-15'] as const
export type FileEncoding = (typeof fileEncodings)[number]

const aliases: Readonly<Record<string, FileEncoding | 'auto'>> = {
  utf8: 'utf-8',
  utf16le: 'utf-16le',
  utf16be: 'utf-16be',
  cp1252: 'windows-1252',
  'windows-1252': 'windows-1252',
  latin1: 'iso-8859-1',
  latin9: 'iso-8859-15',
}

/** What an import may hold. Larger is a business result: the import fails and says which limit. */
export const importLimits = {
  rows: 1_000_000,
  columns: 500,
  /** Characters of one record; stops a quote that nobody closed. */
  recordChars: 1024 * 1024,
  /** Of the file, packed. */
  xlsxBytes: 20 * 1024 * 1024,
  csvBytes: 200 * 1024 * 1024,
  /** A workbook's parts, unpacked: 20 MB of zeros could become 20 GB. */
  xlsxUnpackedBytes: 512 * 1024 * 1024,
  /** The texts that a workbook keeps in one list, which has to be in memory. */
  xlsxTextBytes: 64 * 1024 * 1024,
  externalKeyChars: 255,
  errorsPerRow: 10,
} as const

/** Target of a column that holds the key in the source, instead of an attribute. */
export const externalKeyTargets = ['externalKey', 'external_key'] as const

/** The form field `options` of `POST /imports`. */
export const importOptions = z.strictObject({
  /** Default: by the file's first bytes and its name. */
  format: z.enum(importFormats).optional(),
  /** One character, or `tab`. Default: found in the first lines. */
  delimiter: z
    .string()
    .transform((text) => ({ tab: '\t', '\\t': '\t', auto: undefined })[text] ?? (text === 'auto' ? undefined : text))
    .refine((text) => text === undefined || /^[^"\r\n\0]$/u.test(text), 'must be one character other than a quote')
    .optional(),
  encoding: z
    .string()
    .transform((text) => aliases[text.toLowerCase()] ?? text.toLowerCase())
    .pipe(z.enum(['auto', ...fileEncodings]))
    .default('auto'),
  /** Column of the file to attribute, to `externalKey`, or to null: left out. Columns not named go to the attribute of their name. */
  mapping: z.record(z.string().min(1).max(1_000), z.string().min(1).max(63).nullable()).default({}),
  mode: z.enum(['insert', 'upsert', 'update']).default('insert'),
  onError: z.enum(['skip', 'abort']).default('skip'),
  /** With more bad rows nothing is committed. Default: 0 with `abort`, any number with `skip`. */
  maxErrors: z.int().min(0).max(1_000_000).nullable().default(null),
  dryRun: z.boolean().default(false),
  /** Sheet of a workbook. Default: the first. */
  sheet: z.string().min(1).max(100).optional(),
  /** Who gets a mail at the end, `done` or `failed`. */
  notifyEmail: z.string().refine(isEmailAddress, 'must be one plain address such as ada@example.org').optional(),
  /** Events about entities: one for each batch that is committed, one for each entity, or none. */
  events: z.enum(['none', 'batch', 'entity']).default('batch'),
})

export type ImportOptions = z.infer<typeof importOptions>

/** How many bad rows an import may have before it is given up; null: any number. */
export function mostBadRows({ onError, maxErrors }: Pick<ImportOptions, 'onError' | 'maxErrors'>): number | null {
  return maxErrors ?? (onError === 'abort' ? 0 : null)
}
