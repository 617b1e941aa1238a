import { createServer, type AddressInfo, type Socket } from 'node:net'

/** The moments at which a server answers. `dot` is the end of the message. */
export type SmtpStage = 'greeting' | 'ehlo' | 'auth' | 'mail' | 'rcpt' | 'data' | 'dot'

/** A reply without its line end; `drop` closes the connection instead, `hang` says nothing. Undefined: all is well. */
export type SmtpAnswer = 'drop' | 'hang' | (string & {}) | undefined

/** A mail as it came over the wire, whatever was answered to it. */
export interface HandedMail {
  readonly from: string
  readonly to: string
  readonly raw: string
  readonly taken: boolean
}

export interface SmtpScript {
  readonly url: string
  readonly mails: readonly HandedMail[]
  /** Every command line and connection so far, in order. */
  readonly lines: readonly string[]
  readonly connections: number
  /** Decides each answer; `to` is known from `rcpt` on. */
  answer: (stage: SmtpStage, to: string) => SmtpAnswer | Promise<SmtpAnswer>
  /** Cuts every open connection. */
  cut(): void
  stop(): Promise<void>
}

const fine: Record<SmtpStage, string> = {
  greeting: '220 script',
  ehlo: '250-script\r\n250-ENHANCEDSTATUSCODES\r\n250 AUTH PLAIN',
  auth: '235 2.7.0 ok',
  mail: '250 2.1.0 ok',
  rcpt: '250 2.1.5 ok',
  data: '354 go on',
  dot: '250 2.0.0 Ok: queued as ',
}

/** An SMTP server that ends conversations as oddly as one likes. */
export async function startSmtpScript({ port = 0 } = {}): Promise<SmtpScript> {
  const mails: HandedMail[] = []
  const lines: string[] = []
  const sockets = new Set<Socket>()
  let connections = 0

  const serve = async (socket: Socket): Promise<void> => {
    let from = ''
    let to = ''
    const say = async (stage: SmtpStage, ready = fine[stage]): Promise<boolean> => {
      const answer = (await script.answer(stage, to)) ?? ready
      if (answer === 'drop') socket.destroy()
      else if (answer !== 'hang') socket.write(`${answer}\r\n`)
      return answer.startsWith('2') || answer.startsWith('3')
    }
    await say('greeting')
    let message: string[] | null = null
    for await (const line of linesOf(socket)) {
      if (message !== null) {
        if (line !== '.') {
          message.push(line)
          continue
        }
        const raw = message.join('\r\n')
        message = null
        const id = `${from}${to}${mails.length}`.replaceAll(/\W/g, '')
        const mail = { from, to, raw, taken: false }
        mails.push(mail)
        mail.taken = await say('dot', `${fine.dot}${id}`)
        continue
      }
      lines.push(line)
      const [verb = ''] = line.toUpperCase().split(/[ :]/)
      if (verb === 'EHLO' || verb === 'HELO') await say('ehlo')
      else if (verb === 'AUTH') await say('auth')
      else if (verb === 'MAIL') {
        from = addressIn(line)
        await say('mail')
      } else if (verb === 'RCPT') {
        to = addressIn(line)
        await say('rcpt')
      } else if (verb === 'DATA') message = (await say('data')) ? [] : null
      else if (verb === 'QUIT') socket.end('221 2.0.0 bye\r\n')
      else socket.write('250 2.0.0 ok\r\n')
    }
  }

  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
    serve(socket).catch(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))

  const script: SmtpScript = {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    lines,
    get connections() {
      return connections
    },
    answer: () => undefined,
    cut: () => sockets.forEach((socket) => socket.destroy()),
    async stop() {
      script.cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return script
}

async function* linesOf(socket: Socket): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of socket) {
    const parts = (rest + String(chunk)).split('\r\n')
    rest = parts.pop()!
    yield* parts
  }
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? ''
}
