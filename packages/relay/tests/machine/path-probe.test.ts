// A path probe answers as checkout.ts does. A blocked one is given up, does not hold up other questions, and leaves no process behind.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { guardMs } from '../../../../test/guard.ts'
import { until } from '../../../../test/until.ts'
import { answerPathQuestion } from '../../src/machine/checkout.ts'
import { PathProbe } from '../../src/machine/path-probe.ts'
import { makeRepository } from '../work/repository-world.ts'

let base: string
let pathProbe: PathProbe
/** Long enough that a busy machine does not pass for a file system that hangs. */
const answerMs = guardMs
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'relay-path-probe-')))
  for (const name of ['one', 'two']) makeRepository(join(base, name))
  pathProbe = new PathProbe({ answerMs })
})
afterEach(() => {
  pathProbe.close()
  rmSync(base, { recursive: true, force: true })
})

const asked = (name: string, file = 'a.txt') => ({ cwd: join(base, name), files: [file, 'sub'] })

/** The probe processes that this process has started. */
function processes(): number[] {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n')
  return lines.flatMap((line) => {
    const [pid, parent, ...args] = line.trim().split(/\s+/)
    return Number(parent) === process.pid && args.join(' ').includes('path-probe-process') ? [Number(pid)] : []
  })
}

/** Stops the probe's process, so that it answers nothing, as if a dead mount held it up. */
async function holdUp(): Promise<number> {
  const before = processes()
  await pathProbe.ask(asked('one'), 'Ann')
  const [pid] = processes().filter((each) => !before.includes(each))
  process.kill(pid as number, 'SIGSTOP')
  return pid as number
}

test('it sees what checkout.ts sees, one question after the other', async () => {
  const questions = [asked('one'), { ...asked('two'), trees: ['sub', 'a.txt'], directory: join(base, 'two', 'sub') }]
  const looked = await Promise.all(questions.map((question) => pathProbe.ask(question, 'Ann')))
  expect(looked).toEqual(questions.map((question) => JSON.parse(JSON.stringify(answerPathQuestion(question)))))
  expect(looked[1]?.root).toBe(join(base, 'two'))
  expect(looked[1]?.trees).toContain(join(base, 'two', 'sub'))
})

test('one that is held up is given up; the next question is answered, and that directory is not looked at again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const pid = await holdUp()
  const [stuck, waiting] = [pathProbe.ask(asked('one'), 'Ann'), pathProbe.ask(asked('two'), 'Ann')]
  vi.advanceTimersByTime(answerMs)
  expect(await stuck).toBeUndefined()
  expect((await waiting)?.places[0]?.file).toBe('a.txt')
  await until(() => !processes().includes(pid))
  // Without asking anybody: the process that is there now would know.
  expect(await pathProbe.ask(asked('one', 'c.txt'), 'Ann')).toBeUndefined()
  expect(await pathProbe.ask(asked('one', 'sub/b.txt'), 'Ann')).toBeUndefined()
  expect((await pathProbe.ask(asked('two', 'c.txt'), 'Ann'))?.places[0]?.file).toBe('c.txt')
})

test('whoever asks a lot waits for itself, and for nobody else', async () => {
  const answered: string[] = []
  const ask = (asker: string) => pathProbe.ask(asked('one'), asker).then(() => answered.push(asker))
  const many = Array.from({ length: 500 }, () => ask('Ann'))
  await ask('Bob')
  // Ann's answers from before Bob's turn say nothing.
  expect(answered.indexOf('Bob')).toBeLessThanOrEqual(2)
  await Promise.all(many)
  expect(answered).toHaveLength(501)
})

test('a process that is killed from outside is started again', async () => {
  const before = processes()
  await pathProbe.ask(asked('one'), 'Ann')
  const [pid] = processes().filter((each) => !before.includes(each))
  process.kill(pid as number, 'SIGKILL')
  await until(() => !processes().includes(pid as number))
  expect((await pathProbe.ask(asked('one'), 'Ann'))?.places[0]?.file).toBe('a.txt')
})

test.runIf(existsSync('/proc/self/cwd'))(
  'a path that names another file for each process is unclear, also behind a link; a descriptor is not',
  async () => {
    const cwd = join(base, 'one')
    symlinkSync('/proc/self/cwd/a.txt', join(cwd, 'link.txt'))
    const unclear = async (...files: string[]) => (await pathProbe.ask({ cwd, files }, 'Ann'))?.unclear
    for (const file of [
      ...['/proc/self/cwd/a.txt', '/proc/thread-self/cwd/a.txt', '/proc/self/cwd/sub/new.txt', 'link.txt'],
      ...['/proc/self/cwd/../one/a.txt', '/proc/self/task/1/cwd/a.txt', '/dev/fd/19/a.txt'],
    ])
      expect(await unclear('a.txt', file)).toBe(file)
    const plain = ['a.txt', '/dev/null', '/dev/stdout', '/dev/fd/2', '/proc/self/fd/1', `/proc/self/root${cwd}/a.txt`]
    expect(await unclear(...plain, `/proc/${process.pid}/cwd/a.txt`)).toBeUndefined()
    expect(await pathProbe.ask({ cwd, files: [], directory: '/proc/self/cwd' }, 'Ann')).toMatchObject({
      unclear: '/proc/self/cwd',
    })
  },
)
