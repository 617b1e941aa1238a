import { statement } from './statement.ts'

export const recordReaderKill = statement<[documentId: string], { readerKills: number }>(
  'record_reader_kill',
  `-- the reader of a document had to be killed: the next one reads less
update mdm.documents set reader_kills = reader_kills + 1 where id = $1::uuid
returning reader_kills as "readerKills"`,
)
