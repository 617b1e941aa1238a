import { z } from 'zod'

/** What a provider says about a mail after it took it. */
export interface EmailReport {
  /** The provider's id of the message, or our Message-ID, without brackets. */
  readonly id: string
  readonly type: 'delivered' | 'bounced' | 'complained'
  /** A bounce that will not go away by itself; a mailbox that is full today is none. */
  readonly permanent: boolean
  readonly detail: string | null
}

const report = z.strictObject({
  id: z.string().min(1).max(998),
  type: z.enum(['delivered', 'bounced', 'complained']),
  permanent: z.boolean().default(true),
  detail: z.string().max(1_000).optional(),
})
const reports = z.strictObject({ events: z.array(report).min(1).max(1_000) })

/** Reads the generic form `{"events": [{"id", "type", "permanent"?, "detail"?}]}`; null when it is not that. */
export function parseEmailReports(body: unknown): EmailReport[] | null {
  const parsed = reports.safeParse(body)
  if (!parsed.success) return null
  return parsed.data.events.map(({ id, type, permanent, detail = null }) => ({ id: bare(id), type, permanent, detail }))
}

const recipients = z.array(z.looseObject({ diagnosticCode: z.string().optional() }))
const sesMail = z.looseObject({ messageId: z.string() })
const sesEvents = {
  Bounce: z.looseObject({
    mail: sesMail,
    bounce: z.looseObject({ bounceType: z.string(), bouncedRecipients: recipients }),
  }),
  Complaint: z.looseObject({
    mail: sesMail,
    complaint: z.looseObject({ complaintFeedbackType: z.string().nullish() }),
  }),
  Delivery: z.looseObject({ mail: sesMail }),
}

/** Reads a notification or event of Amazon SES; what is neither bounce nor complaint nor delivery is no report. Null when it is none of SES. */
export function parseSesEvent(body: unknown): EmailReport[] | null {
  const named = z
    .looseObject({ notificationType: z.string().optional(), eventType: z.string().optional() })
    .safeParse(body)
  const type = named.data?.notificationType ?? named.data?.eventType
  if (type === undefined) return null
  if (type === 'Bounce') {
    const event = sesEvents.Bounce.safeParse(body).data
    if (event === undefined) return null
    const [first] = event.bounce.bouncedRecipients
    const permanent = event.bounce.bounceType === 'Permanent'
    return [
      {
        id: bare(event.mail.messageId),
        type: 'bounced',
        permanent,
        detail: first?.diagnosticCode?.slice(0, 1_000) ?? null,
      },
    ]
  }
  if (type === 'Complaint') {
    const event = sesEvents.Complaint.safeParse(body).data
    if (event === undefined) return null
    const { complaintFeedbackType: feedback = null } = event.complaint
    // Somebody took it out of the junk folder.
    return feedback === 'not-spam'
      ? []
      : [{ id: bare(event.mail.messageId), type: 'complained', permanent: true, detail: feedback }]
  }
  if (type === 'Delivery') {
    const event = sesEvents.Delivery.safeParse(body).data
    return event === undefined
      ? null
      : [{ id: bare(event.mail.messageId), type: 'delivered', permanent: true, detail: null }]
  }
  return []
}

function bare(id: string): string {
  return id.trim().replace(/^<|>$/g, '')
}
