import { statement } from './statement.ts'

export const findClosedTenants = statement<[], { id: string }>(
  'find_closed_tenants',
  `-- reads which tenants are closed; a small table
select t.id from mdm.aa_tenant t where t.status = 'closed'`,
)
