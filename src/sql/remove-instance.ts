import { statement } from './statement.ts'

export const removeInstance = statement<[id: string], never>(
  'remove_instance',
  `-- the instance is gone; what it still claimed is recovered by whoever looks next
delete from mdm.aa_instance where id = $1::uuid`,
)
