// A real git repository with a person's unfinished work in it, and helpers for tests of it. No tests.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const env = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  ...{ GIT_AUTHOR_NAME: 'Kim', GIT_AUTHOR_EMAIL: 'kim@example.org' },
  ...{ GIT_COMMITTER_NAME: 'Kim', GIT_COMMITTER_EMAIL: 'kim@example.org' },
}

export function git(directory: string, ...args: string[]): string {
  return execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], {
    cwd: directory,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trimEnd()
}

export function write(directory: string, name: string, text: string): void {
  mkdirSync(join(directory, name, '..'), { recursive: true })
  writeFileSync(join(directory, name), text)
}

/** Two commits on main. */
export function makeRepository(directory: string): void {
  mkdirSync(directory, { recursive: true })
  git(directory, 'init', '-q', '-b', 'main')
  git(directory, 'config', 'user.name', 'Kim')
  git(directory, 'config', 'user.email', 'kim@example.org')
  write(directory, 'a.txt', 'one\n')
  write(directory, 'sub/b.txt', 'two\n')
  write(directory, '.gitignore', '.env\nbuild/\n')
  git(directory, 'add', '.')
  git(directory, 'commit', '-qm', 'first')
  write(directory, 'c.txt', 'three\n')
  git(directory, 'add', '.')
  git(directory, 'commit', '-qm', 'second')
}

/** What a person has in hand: staged, changed, new, ignored and stashed work. */
export function leaveWork(directory: string): void {
  write(directory, 'c.txt', 'stashed\n')
  git(directory, 'stash', '-q')
  write(directory, 'a.txt', 'one, staged\n')
  git(directory, 'add', 'a.txt')
  write(directory, 'a.txt', 'one, staged and changed\n')
  write(directory, 'sub/b.txt', 'two, changed\n')
  write(directory, 'notes.txt', 'not yet in git\n')
  write(directory, '.env', 'SECRET=1\n')
}

/** Everything of the person's: files, index, HEAD, the branches that are not ours, stash. Without `.relay` and without git's other files. */
export function personsWork(directory: string): Record<string, string> {
  const refs = git(directory, 'for-each-ref', '--format=%(refname) %(objectname)')
  return {
    ...filesOf(directory, directory),
    index: readFileSync(join(directory, '.git', 'index')).toString('base64'),
    head: readFileSync(join(directory, '.git', 'HEAD'), 'utf8'),
    refs: refs
      .split('\n')
      .filter((line) => !line.startsWith('refs/heads/relay/'))
      .join('\n'),
    config: readFileSync(join(directory, '.git', 'config'), 'utf8'),
  }
}

function filesOf(root: string, directory: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (directory === root && ['.git', '.relay'].includes(entry.name)) continue
    if (entry.isDirectory()) Object.assign(found, filesOf(root, path))
    else if (entry.isSymbolicLink()) found[path] = `→ ${readlinkSync(path)}`
    else found[path] = readFileSync(path).toString('base64')
  }
  return found
}

/** What is left of ours: directories, branches, and git's lists of worktrees. */
export function oursIn(directory: string): { paths: string[]; branches: string[]; listed: string[] } {
  const home = join(directory, '.relay', 'worktrees')
  const lines = (text: string) => text.split('\n').filter((line) => line !== '')
  let paths: string[] = []
  try {
    paths = readdirSync(home).filter((name) => name !== '.gitignore')
  } catch {}
  const branches = lines(git(directory, 'for-each-ref', '--format=%(refname:short)', 'refs/heads/relay/'))
  const listed = lines(git(directory, 'worktree', 'list', '--porcelain')).filter((line) => line.startsWith('worktree '))
  return { paths, branches, listed: listed.slice(1).map((line) => line.slice('worktree '.length)) }
}
