import { statement } from './statement.ts'

export const isPattern = statement<[pattern: string], { valid: boolean }>(
  'is_pattern',
  `-- reads whether a text is a regular expression to this database
select mdm.matches_pattern('', $1) is not null as valid`,
)
