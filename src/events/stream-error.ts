import { StellwerkError } from '../jobs/errors.ts'

/** Why a stream cannot be: INVALID, what was asked for makes no sense; NOT_FOUND, there is no such job for this caller. */
export class StreamError extends StellwerkError {
  declare readonly code: 'INVALID' | 'NOT_FOUND'
  constructor(code: 'INVALID' | 'NOT_FOUND', message: string) {
    super(code, message)
  }
}
