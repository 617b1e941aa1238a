import type { Service } from '../support/service.ts'

/** What a service answered to an operation. */
export interface Answer {
  readonly status: number
  // What a test asks for it knows the shape of.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
  readonly errors: readonly { readonly message: string; readonly extensions: Readonly<Record<string, unknown>> }[]
  /** The whole answer, to look for what must not be in it. */
  readonly text: string
}

/** Sends an operation with the development token, or the one that is given; null: with none. */
export async function ask(
  service: Service,
  query: string,
  variables: object = {},
  token?: string | null,
): Promise<Answer> {
  const bearer = token === undefined ? await service.token() : token
  return post(service, JSON.stringify({ query, variables }), {
    'content-type': 'application/json',
    ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
  })
}

/** Sends a body as it is. */
export async function post(
  service: Service,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<Answer> {
  const response = await fetch(`${await service.url()}/graphql`, {
    method: 'POST',
    headers,
    body,
    signal: AbortSignal.timeout(10_000),
  })
  const text = await response.text()
  const { data = null, errors = [] } = JSON.parse(text) as Partial<Answer>
  return { status: response.status, data, errors, text }
}

/** The status of /ready with the reasons that it gives. */
export async function readiness(
  service: Service,
): Promise<{ readonly status: number; readonly reasons: readonly string[] }> {
  const response = await fetch(`${await service.url()}/ready`)
  const { reasons } = (await response.json()) as { reasons: string[] }
  return { status: response.status, reasons }
}

/** Enqueues a job of any kind and answers its id. */
export async function enqueue(service: Service, kind: string, payload: object = {}): Promise<string> {
  const { data, text } = await ask(
    service,
    `mutation ($kind: String!, $payload: JSON!) { enqueueJob(input: { job: { custom: { kind: $kind, payload: $payload } } }) { job { id } } }`,
    { kind, payload },
  )
  const id = data?.enqueueJob.job?.id as string | undefined
  if (id === undefined) throw new Error(`The job was not enqueued: ${text}`)
  return id
}

export async function statusOf(service: Service, id: string): Promise<string> {
  const { data, text } = await ask(service, `query ($id: ID!) { job(id: $id) { status } }`, { id })
  return (data?.job?.status as string | undefined) ?? text
}
