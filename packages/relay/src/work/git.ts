// Runs git for the relay: with a list of arguments, a small environment, a time limit, and without the programs that a repository can bring.
// Filters of the user's own configuration (such as LFS) do run: a checkout without them would have other content. Filters that a repository's
// configuration names do not, unless a person has typed the command.

import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { RefusalError } from '../core/refusal-error.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** A failure of git itself, with its message. */
export class GitError extends Error {
  readonly code: number | undefined
  /** git took longer than its time limit, and was ended. */
  readonly isLate: boolean

  constructor(verb: string, code: number | undefined, stderr: string, isLate = false) {
    const said = stderr
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    super(
      `git ${verb}: ${(said.find((line) => /^(?:fatal|error):/.test(line)) ?? said.at(-1) ?? 'failed').slice(0, 500)}`,
    )
    this.code = code
    this.isLate = isLate
  }
}

/**
 * Settings of every call: no hook, file watcher, maintenance, network, pager, check of signatures or merge driver, and no directory inside a
 * repository that poses as a repository of its own. git waits for a branch that is being written by somebody else.
 */
const settings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.quotePath=false',
  'core.pager=cat',
  'log.showSignature=false',
  'log.diffMerges=separate',
  'log.mailmap=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'core.filesRefLockTimeout=1500',
  'protocol.allow=never',
  'submodule.recurse=false',
  'safe.bareRepository=explicit',
].flatMap((each) => ['-c', each])

/** Commands that check files out, compare them or write refs, and so would run filters and hooks that a configuration names. */
const guarded = new Set(['status', 'diff', 'add', 'worktree', 'update-ref', 'merge'])

/** Variables that git needs to find the user's own configuration; none that begins with GIT_ is passed on. */
const passed = ['HOME', 'XDG_CONFIG_HOME', 'USER', 'LOGNAME', 'TMPDIR']

/** Most git processes at once: looking at twenty worktrees must not start twenty programs. */
const processesMax = 4
const readMs = 30_000
const outputBytesMax = 64 * 1024 * 1024

export interface GitOptions {
  /** More variables for this call. */
  env?: Record<string, string>
  timeoutMs?: number
  /** The signal that ends git when its time is up. After SIGKILL its locks stay behind. */
  killSignal?: 'SIGTERM' | 'SIGKILL'
  /** Exit codes that are answers, besides 0. */
  mayExit?: readonly number[]
}

/** A setting of a filter or a hook, and its value without the repository's own configuration. */
interface Setting {
  key: string
  value: string
  users: string
}

export class Git {
  readonly #env: Env
  readonly #runsFilters: boolean
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** `env` is the caller's own environment, of which git gets PATH and the user's home. `runsFilters`: the repository's filters run too. */
  constructor(env: Env, { runsFilters = false } = {}) {
    this.#env = env
    this.#runsFilters = runsFilters
  }

  /** The filters of the repository's own configuration that would give a checkout other content. */
  async ownFilters(directory: string): Promise<string[]> {
    const changing = (await this.#settings(directory)).filter(
      ({ key, value, users }) => /^filter\..*\.(?:smudge|process)$/s.test(key) && !['', 'cat', users].includes(value),
    )
    return [...new Set(changing.map(({ key }) => key.slice('filter.'.length, key.lastIndexOf('.'))))]
  }

  /** The output of git; rejects with a `GitError` if it fails. */
  async run(directory: string, args: readonly string[], options: GitOptions = {}): Promise<string> {
    while (this.#running >= processesMax) await new Promise<void>((next) => this.#waiting.push(next))
    this.#running++
    try {
      if (!guarded.has(args[0] as string)) return await this.#start(directory, args, options)
      const env = { ...(await this.#guard(directory, options)), ...options.env }
      return await this.#start(directory, args, { ...options, env })
    } finally {
      this.#running--
      this.#waiting.shift()?.()
    }
  }

  /** Variables that put the user's own filters, or none, in place of the repository's, and switch off hooks that a configuration names. */
  async #guard(directory: string, options: GitOptions): Promise<Record<string, string>> {
    const over = new Map<string, string>()
    for (const { key, users } of await this.#settings(directory, options)) {
      if (key.startsWith('hook.')) over.set(`${key.slice(0, key.lastIndexOf('.'))}.enabled`, 'false')
      else if (!this.#runsFilters) over.set(key, users)
    }
    // These variables work like `-c`, except that a name may contain any character.
    const pairs = [...over].flatMap(([key, value], n) => [
      [`GIT_CONFIG_KEY_${n}`, key],
      [`GIT_CONFIG_VALUE_${n}`, value],
    ])
    return { GIT_CONFIG_COUNT: `${over.size}`, ...Object.fromEntries(pairs) }
  }

  async #settings(directory: string, { timeoutMs, killSignal }: GitOptions = {}): Promise<Setting[]> {
    const asked = ['config', '--show-scope', '-z', '--get-regexp', '^(filter|hook)\\.']
    const words = (await this.#start(directory, asked, { timeoutMs, killSignal, mayExit: [1] })).split('\0')
    const found = new Map<string, Setting>()
    for (let n = 0; n + 1 < words.length; n += 2) {
      const [, key = '', value = ''] = /^([^\n]*)\n?(.*)$/s.exec(words[n + 1] as string) ?? []
      const isUsers = words[n] === 'system' || words[n] === 'global'
      found.set(key, { key, value, users: isUsers ? value : (found.get(key)?.users ?? '') })
    }
    return [...found.values()]
  }

  #start(directory: string, args: readonly string[], options: GitOptions): Promise<string> {
    const { timeoutMs = readMs, killSignal, mayExit = [] } = options
    const file = programOf(this.#env)
    return new Promise((done, fail) => {
      // git itself goes to the directory: this process would wait there for as long as a dead mount is dead.
      const all = ['-C', directory, '--no-pager', ...settings, ...args]
      const env = this.#environment(options.env)
      const started = { cwd: '/', env, timeout: timeoutMs, killSignal, maxBuffer: outputBytesMax }
      const child = execFile(file, all, started, (error, stdout, stderr) => {
        const { code, killed } = (error ?? {}) as { code?: unknown; killed?: boolean }
        if (!error || (typeof code === 'number' && mayExit.includes(code))) return done(stdout)
        const why = killed ? `took longer than ${timeoutMs / 1000} s` : typeof code === 'string' ? `${code}` : stderr
        fail(new GitError(args[0] as string, typeof code === 'number' ? code : undefined, why, killed === true))
      })
      child.stdin?.end()
    })
  }

  /** The first line of git's output; undefined where there is none, and where git says no (exit code 1). Any other failure is not a no: it rejects. */
  async line(directory: string, args: readonly string[], options: GitOptions = {}): Promise<string | undefined> {
    return (await this.run(directory, args, { ...options, mayExit: [1] })).split('\n')[0] || undefined
  }

  #environment(more: Record<string, string> = {}): Record<string, string> {
    const kept = passed.flatMap((name) => (this.#env[name] === undefined ? [] : [[name, this.#env[name]]]))
    return {
      ...Object.fromEntries(kept),
      PATH: foldersOf(this.#env).join(delimiter),
      LC_ALL: 'C',
      GIT_TERMINAL_PROMPT: '0',
      GIT_EDITOR: 'true',
      // A repository's configuration could allow what `protocol.allow` forbids, but cannot override this.
      GIT_ALLOW_PROTOCOL: 'none',
      // A look at a checkout must not write its index, nor keep its user from writing it.
      GIT_OPTIONAL_LOCKS: '0',
      ...more,
    }
  }
}

/** Relative folders are left out: one of them could be a repository's. */
function foldersOf(env: Env): string[] {
  return (env.PATH ?? '').split(delimiter).filter(isAbsolute)
}

function programOf(env: Env): string {
  for (const folder of foldersOf(env)) {
    const file = join(folder, 'git')
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {}
  }
  throw new RefusalError('cli.not-installed', { program: 'git', install: 'https://git-scm.com/downloads' })
}
