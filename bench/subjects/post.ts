import { request, type Agent } from 'node:http'

interface Post {
  readonly port: number
  readonly token: string
  readonly agent: Agent
  readonly body: string
}

/** One operation on /graphql; throws where its answer is none, or holds errors. */
export function post({ port, token, agent, body }: Post): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const call = request(
    {
      port,
      host: '127.0.0.1',
      path: '/graphql',
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    },
    (response) => {
      let said = ''
      response.setEncoding('utf8').on('data', (part) => (said += part))
      response.once('end', () =>
        response.statusCode === 200 && said.includes('"errors":[]') ? resolve() : reject(new Error(said.slice(0, 500))),
      )
    },
  )
  call.once('error', reject)
  call.end(body)
  return promise
}
