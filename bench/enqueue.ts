export { drain as enqueue } from './drain.ts'
