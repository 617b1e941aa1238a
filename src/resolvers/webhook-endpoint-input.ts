import { isEmailAddress } from '../jobs/email-send-payload.ts'
import { isEventPattern } from '../jobs/event-types.ts'
import { refuseWebhookUrl } from '../jobs/webhook-address.ts'
import type { WebhookEndpointRow } from '../sql/webhook-endpoint-row.ts'
import type { RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

export interface WebhookEndpointResult {
  readonly endpoint: WebhookEndpointRow | null
  /** Shown this once. */
  readonly secret: string | null
  readonly errors: readonly UserError[]
}

export const refused = (...errors: UserError[]): WebhookEndpointResult => ({ endpoint: null, secret: null, errors })

/** An id that names none of the caller's endpoints. */
export function noSuchEndpoint(id: string, path: readonly string[]): UserError {
  return { type: 'NotFoundError', code: 'NOT_FOUND', message: 'No such endpoint among yours.', path, id }
}

const mostEventTypes = 100

interface EndpointParts {
  readonly url: string | null
  readonly eventTypes: readonly string[] | null
  readonly notifyEmail: string | null
}

/** What is wrong with where an endpoint lies, what it wants and who looks after it. Missing parts are not looked at. */
export function endpointProblems(
  { url, eventTypes, notifyEmail }: EndpointParts,
  { deps }: RequestContext,
): UserError[] {
  const refusal = url === null ? null : refuseWebhookUrl(url, deps.webhookReach)
  return [
    ...(refusal === null ? [] : [invalid(['url'], `The URL ${refusal}`)]),
    ...eventTypeProblems(eventTypes),
    ...(notifyEmail === null || isEmailAddress(notifyEmail)
      ? []
      : [invalid(['notifyEmail'], 'notifyEmail must be one plain address such as ada@example.org.')]),
  ]
}

function eventTypeProblems(eventTypes: readonly string[] | null): UserError[] {
  if (eventTypes === null) return []
  if (eventTypes.length < 1 || eventTypes.length > mostEventTypes)
    return [invalid(['eventTypes'], 'eventTypes must name 1 to 100 types; `*` is all.')]
  return eventTypes.flatMap((type, index) =>
    isEventPattern(type)
      ? []
      : [
          invalid(
            ['eventTypes', String(index)],
            'An event type is 1 to 128 of letters, digits and _ . : / -; `*` is all, `entity.*` all that begin with `entity.`.',
          ),
        ],
  )
}

/** Why nothing can be stored secretly here. */
export function noSecretKey(path: readonly string[]): UserError {
  return invalid(
    path,
    'This service has no key to store signing secrets with. Set STELLWERK_SECRET_KEY, e.g. from `openssl rand -hex 32`, to the same value in every instance, and restart it.',
  )
}
