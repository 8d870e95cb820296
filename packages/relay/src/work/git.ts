// Runs git for the relay: with a list of arguments, a small environment, a timeout, and without hooks and other programs that a repository names.
// Filters of the user's own configuration (such as LFS) do run: a checkout without them would have other content. Filters that a repository's
// configuration names run only if a person has typed the command.

import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { programFolders } from '@agent-relay/sdk/internal/discover'
import { RefusalError } from '../core/refusal-error.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** A failure of git itself, with its message. */
export class GitError extends Error {
  readonly code: number | undefined
  /** Whether git was ended because it took longer than its timeout. */
  readonly isTimeout: boolean

  constructor(verb: string, code: number | undefined, stderr: string, isTimeout = false) {
    const said = stderr
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    super(
      `git ${verb}: ${(said.find((line) => /^(?:fatal|error):/.test(line)) ?? said.at(-1) ?? 'failed').slice(0, 500)}`,
    )
    this.code = code
    this.isTimeout = isTimeout
  }
}

/**
 * Settings of every call of git: no hook, file watcher, maintenance, network, pager, check of signatures or merge driver, and no directory inside a repository
 * that poses as a repository of its own. git waits 1.5 s for a branch that somebody else is writing.
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

/** git commands that check files out, compare them or write refs, and so would run filters and hooks that a configuration names. */
const guardedCommands = new Set(['status', 'diff', 'add', 'worktree', 'update-ref', 'merge'])

/** Environment variables that git needs to find the user's own configuration; no variable that begins with GIT_ is passed on. */
const passedVariables = ['HOME', 'XDG_CONFIG_HOME', 'USER', 'LOGNAME', 'TMPDIR']

/** Maximum number of git processes at once: looking at twenty worktrees must not start twenty programs. */
const processesMax = 4
const readMs = 30_000
const outputBytesMax = 64 * 1024 * 1024

export interface GitOptions {
  /** Additional environment variables for this call of git. */
  env?: Record<string, string>
  timeoutMs?: number
  /** The signal that ends git after its timeout. SIGKILL leaves git's lock files behind. */
  killSignal?: 'SIGTERM' | 'SIGKILL'
  /** Exit codes besides 0 that are answers, not failures. */
  mayExit?: readonly number[]
}

/** A git setting about a filter or a hook. `userValue`: its value in the user's and the system's configuration alone, without the repository's. */
interface GitSetting {
  key: string
  value: string
  userValue: string
}

export class Git {
  readonly #env: Env
  readonly #runsFilters: boolean
  readonly #waiting: (() => void)[] = []
  #running = 0

  /**
   * `env` is the caller's own environment, of which git gets PATH and the user's home. `runsFilters`: whether filters that the repository configures run too.
   */
  constructor(env: Env, { runsFilters = false } = {}) {
    this.#env = env
    this.#runsFilters = runsFilters
  }

  /** Returns the names of the filters in the repository's own configuration that would give checked-out files other content. */
  async repositoryFilters(directory: string): Promise<string[]> {
    const changing = (await this.#settings(directory)).filter(
      ({ key, value, userValue }) =>
        /^filter\..*\.(?:smudge|process)$/s.test(key) && !['', 'cat', userValue].includes(value),
    )
    return [...new Set(changing.map(({ key }) => key.slice('filter.'.length, key.lastIndexOf('.'))))]
  }

  /** Runs git and returns its output; rejects with a `GitError` if git fails. */
  async run(directory: string, args: readonly string[], options: GitOptions = {}): Promise<string> {
    while (this.#running >= processesMax) await new Promise<void>((next) => this.#waiting.push(next))
    this.#running++
    try {
      if (!guardedCommands.has(args[0] as string)) return await this.#start(directory, args, options)
      const env = { ...(await this.#guardVariables(directory, options)), ...options.env }
      return await this.#start(directory, args, { ...options, env })
    } finally {
      this.#running--
      this.#waiting.shift()?.()
    }
  }

  /** Returns environment variables that put the user's own filters, or none, in place of the repository's, and switch off hooks that a configuration names. */
  async #guardVariables(directory: string, options: GitOptions): Promise<Record<string, string>> {
    const over = new Map<string, string>()
    for (const { key, userValue } of await this.#settings(directory, options)) {
      if (key.startsWith('hook.')) over.set(`${key.slice(0, key.lastIndexOf('.'))}.enabled`, 'false')
      else if (!this.#runsFilters) over.set(key, userValue)
    }
    // GIT_CONFIG_KEY_n and GIT_CONFIG_VALUE_n work like `-c`, except that a name may contain any character.
    const pairs = [...over].flatMap(([key, value], n) => [
      [`GIT_CONFIG_KEY_${n}`, key],
      [`GIT_CONFIG_VALUE_${n}`, value],
    ])
    return { GIT_CONFIG_COUNT: `${over.size}`, ...Object.fromEntries(pairs) }
  }

  async #settings(directory: string, { timeoutMs, killSignal }: GitOptions = {}): Promise<GitSetting[]> {
    const asked = ['config', '--show-scope', '-z', '--get-regexp', '^(filter|hook)\\.']
    const words = (await this.#start(directory, asked, { timeoutMs, killSignal, mayExit: [1] })).split('\0')
    const found = new Map<string, GitSetting>()
    for (let n = 0; n + 1 < words.length; n += 2) {
      const [, key = '', value = ''] = /^([^\n]*)\n?(.*)$/s.exec(words[n + 1] as string) ?? []
      const isUsers = words[n] === 'system' || words[n] === 'global'
      found.set(key, { key, value, userValue: isUsers ? value : (found.get(key)?.userValue ?? '') })
    }
    return [...found.values()]
  }

  #start(directory: string, args: readonly string[], options: GitOptions): Promise<string> {
    const { timeoutMs = readMs, killSignal, mayExit = [] } = options
    const file = programOf(this.#env)
    return new Promise((done, fail) => {
      // git itself changes to the directory (-C): if this process did, a dead mount would block it for as long as the mount is dead.
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

  /**
   * Runs git and returns the first line of its output; undefined if the output is empty or git answers no (exit code 1). Rejects after any other
   * failure.
   */
  async firstLine(directory: string, args: readonly string[], options: GitOptions = {}): Promise<string | undefined> {
    return (await this.run(directory, args, { ...options, mayExit: [1] })).split('\n')[0] || undefined
  }

  #environment(more: Record<string, string> = {}): Record<string, string> {
    const kept = passedVariables.flatMap((name) => (this.#env[name] === undefined ? [] : [[name, this.#env[name]]]))
    return {
      ...Object.fromEntries(kept),
      PATH: programFolders(this.#env.PATH).join(delimiter),
      LC_ALL: 'C',
      GIT_TERMINAL_PROMPT: '0',
      GIT_EDITOR: 'true',
      // A repository's configuration could allow what the setting `protocol.allow` forbids, but cannot override this variable.
      GIT_ALLOW_PROTOCOL: 'none',
      // Reading a checkout must not write its index, nor keep the checkout's user from writing the index.
      GIT_OPTIONAL_LOCKS: '0',
      ...more,
    }
  }
}

function programOf(env: Env): string {
  for (const folder of programFolders(env.PATH)) {
    const file = join(folder, 'git')
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {}
  }
  throw new RefusalError('cli.not-installed', { program: 'git', install: 'https://git-scm.com/downloads' })
}
