import { statement } from './statement.ts'

export const chainWebhook = statement<[endpointId: string], { started: boolean }>(
  'chain_webhook',
  `-- (nothing) -> pending: the job of an ordered endpoint's next delivery, unless one is under way
select mdm.chain_webhook($1) as started`,
)
