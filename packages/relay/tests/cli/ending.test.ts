// Failing background tasks and the end of a daemon's process, tried in a separate process: such an end shows nowhere else.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a task that failed is told, and the process goes on; an exception ends it', async () => {
  const script = `
    const { reportFailedTasks } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/cli/ending.js'))})
    reportFailedTasks((error) => console.log(error.message))
    void Promise.reject(new Error('a task'))
    void Promise.reject('a word')
    setTimeout(() => { console.log('goes on'); throw new Error('an exception') }, 50)
    setTimeout(() => console.log('never said'), 5_000)`
  const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  await expect(run).rejects.toMatchObject({
    code: 1,
    stdout: 'a task\na word\ngoes on\n',
    stderr: expect.stringContaining('an exception'),
  })
})
