export { drain as pickup } from './drain.ts'
