import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { LEFT_OUT } from './leave-out.ts'

/** Ends a run with one line for each left-out suite, and the plain line `N passed, N failed`. */
export function summaryReporter(): Reporter {
  let summary = ''
  return {
    onInit() {
      // Other reporters and the teardown still write after a run: only the end of the process comes last.
      process.once('exit', () => process.stdout.write(summary))
    },
    onTestRunEnd(modules, unhandledErrors) {
      const tests = modules.flatMap((module) => [...module.children.allTests()])
      const count = (state: string) => tests.filter((test) => test.result().state === state).length
      // A file that does not load, a failing hook, and an error outside of any test have no test to count.
      const failedOutsideTests = modules.filter((module) => !module.ok() && !hasFailedTest(module)).length
      const failed = count('failed') + failedOutsideTests + unhandledErrors.length
      const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : ''
      const lines = tests.filter((test) => test.name.startsWith(LEFT_OUT)).map(leftOutLine)
      summary = [...lines, `${count('passed')} passed, ${failed} failed${skipped}`, ''].join('\n')
    },
  }
}

function hasFailedTest(module: TestModule): boolean {
  return [...module.children.allTests('failed')].length > 0
}

function leftOutLine(test: TestCase): string {
  const suite = test.parent.type === 'suite' ? ` > ${test.parent.fullName}` : ''
  return `left out: ${test.module.relativeModuleId}${suite}: ${test.name.slice(LEFT_OUT.length)}`
}
